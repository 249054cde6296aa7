"""What is around in a scenario reaches the nodes: obstacles as markers on the states' time, pushes as torque."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rig import HOME, PATIENCE, Rig, tells_publishers_apart
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import RobotModel, urdf_path
from arm_control.bags import SimulatedBag
from arm_control.gate import EffortGate, GateParameters
from arm_control.maths import Box, Capsule, Cone, Cylinder, Hull, Obstacle, Pose, Shape, Sphere, rotation_from_rpy
from arm_control.messages import ObstacleTracker, nanoseconds, shapes_of
from arm_control.nodes import ros
from arm_control.simulation import MujocoSimulator, Scenario, Simulation, World

MS = 1_000_000
WORLD = {
    "obstacles": [
        {"shape": "sphere", "size": 0.1, "position": [0.4, 0.2, 0.3], "velocity": [0.1, 0.0, -0.2], "until": 0.5},
        {"shape": "cone", "size": [0.1, 0.3], "position": [-0.4, 0.2, 0.3], "quat_xyzw": [0, 0, 1, 1], "from": 0.1},
        {"shape": "box", "size": [0.1, 0.2, 0.3], "position": [0.0, 2.0, 0.0], "from": 0.2, "until": 0.3},
    ]
}


def scenario_file(folder: Path, name: str, world: dict[str, Any]) -> str:
    content = {"robot": "ur5", "start": HOME, "nodes": {"simulator": {}, "osc": {}}, **world}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return str(folder / f"{name}.yaml")


HULL = Hull.of_points(np.random.default_rng(1).normal(size=(30, 3)) * [0.1, 0.2, 0.3])
SHAPES = (Sphere(0.1), Box((0.1, 0.2, 0.3)), Cylinder(0.1, 0.4), Cone(0.1, 0.4), Capsule(0.05, 0.3), HULL)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_an_obstacle_survives_the_way_through_a_marker(shape: Shape, ur5: RobotModel):
    X = Pose(rotation_from_rpy([0.3, -0.4, 2.0]), np.array([0.1, 0.2, 0.3]))
    obstacle = Obstacle(shape, X)
    message = ros.marker(obstacle)
    book = ObstacleTracker(ur5)
    assert book.update(MarkerArray(markers=[message])) == []
    (found,) = book.obstacles(0, np.array(HOME))
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 3)) + X.p
    seen, true = (x.shape.signed_distance((points - x.X_WO.p) @ x.X_WO.R).distance for x in (found, obstacle))
    np.testing.assert_allclose(seen, true, rtol=0, atol=1e-6)
    assert shapes_of(message)
    assert message.color.a > 0.0


def state_at(ms: int, names: tuple[str, ...] = ()) -> JointState:
    return ros.joint_state(names, ms * MS, position=np.array(HOME[: len(names)]))


@tells_publishers_apart
def test_the_markers_follow_the_time_of_the_states(rig: Rig, ur5: RobotModel):
    heard = rig.hear(MarkerArray, "obstacles")
    description = Path(urdf_path("ur5")).read_text()
    rig.start("targets", world=scenario_file(rig.folder, "a", WORLD), robot_description=description, lock_step=True)
    rig.spin(lambda: len(heard) >= 6, what="what is around at time 0, before the first state")
    states = rig.publisher(JointState, "joint_states")

    def tell(ms: int, times: list[int]) -> list[list[int]]:
        """Send a state; return numbers of the markers told for these times."""
        heard.clear()
        states.publish(state_at(ms, ur5.joint_names))
        rig.spin(lambda: heard and stamps()[-1] == times[-1], what=f"markers for {times[-1]} ms")
        rig.spin(lambda: len(heard) >= len(times), what=f"{len(times)} messages")
        assert set(stamps()[: -len(times)]) <= set(first), "published again and again until the first state has come"
        del heard[: -len(times)]
        assert stamps() == times
        assert {m.header.frame_id for message in heard for m in message.markers} == {"base_link"}
        return [[m.id for m in message.markers if m.action == Marker.ADD] for message in heard]

    def stamps() -> list[int]:
        return [nanoseconds(message.markers[0].header.stamp) // MS for message in heard]

    rig.spin(lambda: heard[-1].markers[0].header.stamp.nanosec == 100 * MS)
    first = [0, 20, 40, 60, 80, 100]
    assert tell(0, first) == [[0]] * 5 + [[0, 1]]
    assert tell(0, first) == [[0]] * 5 + [[0, 1]], "a state that comes again is for somebody who came late"
    states.publish(state_at(10, ur5.joint_names))
    assert tell(20, [120]) == [[0, 1]], "nothing new at 10 ms"
    assert tell(210, [200, 220, 240, 260, 280, 300]) == [[0, 1, 2]] * 5 + [[0, 1]], "after a gap"
    assert tell(410, [400, 420, 440, 460, 480, 500]) == [[0, 1]] * 5 + [[1]]
    assert [m.action for m in heard[-1].markers] == [Marker.DELETE, Marker.ADD]
    assert tell(0, [0]) == [[0]], "time starts over: the controllers have to see that before they look ahead"
    assert tell(1, first[1:]) == [[0]] * 4 + [[0, 1]]

    moved = ros.marker(Obstacle(Sphere(0.1), Pose(np.eye(3), np.array([0.7, 0.0, 0.0]))))
    moved.ns, moved.id, moved.header.stamp.nanosec = "scenario", 0, 1 * MS
    heard.clear()
    rig.publisher(MarkerArray, "obstacles").publish(MarkerArray(markers=[moved]))
    rig.spin(lambda: len(heard) == 2, what="it, and the scenario's last word")
    book = ObstacleTracker(ur5)
    book.set_state(1 * MS, np.array(HOME))
    for message in heard:
        book.update(message)
    assert [nanoseconds(message.markers[0].header.stamp) for message in heard] == [1 * MS, 0]
    assert book.obstacles(2 * MS, np.array(HOME))[0].X_WO.p.tolist() == [0.7, 0.0, 0.0]
    assert tell(20, [120]) == [[1]], "who has moved it has it from then on"


def test_a_push_does_to_the_simulator_s_arm_what_it_does_in_a_simulation(rig: Rig, ur5: RobotModel):
    """The arm is held by torque that a test sends; pushed, it goes where MuJoCo and J^T F send it."""
    push = {"pushes": [{"force": [0.0, 30.0, 0.0], "moment": [0.0, 0.0, 1.0], "from": 0.01, "until": 0.05}]}
    file = scenario_file(rig.folder, "b", push)
    arm, world = MujocoSimulator(ur5, HOME), World.from_mapping(push, "world")
    gate = EffortGate(ur5, GateParameters(rate_limit=1e9))
    given = {"lock_step": True, "loss_time": PATIENCE, "rate_limit": 1e9}
    rig.start("simulator", robot="ur5", initial_position=HOME, world=file, **given)
    commands = rig.publisher(JointState, "joint_commands")
    rig.spin(lambda: rig.states, what="states")
    for k in range(80):
        rig.spin(lambda k=k: nanoseconds(rig.states[-1].header.stamp) == k * MS, what=f"state {k}")
        t = ur5.evaluate(arm.q, arm.v)
        np.testing.assert_allclose(rig.states[-1].position, arm.q, rtol=0, atol=1e-9)
        commands.publish(ros.joint_state(ur5.joint_names, k * MS, effort=t.h))
        arm.mujoco_data.qfrc_applied[:] = t.J.T @ world.wrench(k * 1e-3, t)
        gate.offer(ur5.joint_names, t.h.tolist())
        arm.step(gate.tick(t, 1e-3).tau)
    assert np.abs(arm.v).max() > 0.05


def test_a_scenario_with_an_obstacle_does_as_nodes_what_it_does_in_a_simulation_that_tells_it(rig: Rig):
    """The obstacles are told ahead of their time, so it does not matter when the messages come."""
    name, record = "ur5_moving_obstacle", rig.folder / "run.npz"
    options = ["--variant", "with", "--duration", "0.35", "--headless", "--record", str(record)]
    command = ["run", name, *options]
    assert rig.command(*command) in (0, 1), rig.log("run")
    recorded, scenario = np.load(record), Scenario.load(name)
    simulation = Simulation(scenario, "with")
    with SimulatedBag(rig.folder / "bag", simulation, scenario, "with") as bag:
        trace = simulation.run(0.35, recorder=bag)
    assert trace.distance.min() < 0.1, "the arm has to give way"
    np.testing.assert_allclose(recorded["q"][:350], trace.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(recorded["tau"][:350], trace.tau, rtol=0, atol=1e-6)
