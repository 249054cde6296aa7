"""The node coppeliasim_bridge: targets through ROS, and what happens when the two lose each other."""

import signal
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import stand_in as program
import yaml
from coppeliasim_zmqremoteapi_client import RemoteAPIClient
from geometry_msgs.msg import PoseStamped
from rig import HOME, PATIENCE, Rig, stamp
from sensor_msgs.msg import JointState, Range
from stand_in import REAL, StandIn
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import MarkerArray

from arm_control import RobotModel
from arm_control.messages import nanoseconds
from arm_control.nodes import ros
from arm_control.nodes.support.topics import LOSSLESS

only_stand_in = pytest.mark.skipif(bool(REAL), reason="a running CoppeliaSim is not killed")
BRIDGE = {"robot": "ur5", "initial_position": HOME, "watchdog_time": 10.0}
"""A bridge of which the simulator thinks only after a long stall that it is gone."""
ALERT = {**BRIDGE, "watchdog_time": 0.5}


class Server:
    """A stand-in that can be ended, stopped, and started again; or a CoppeliaSim that runs."""

    def __init__(self, version: int = 40900) -> None:
        self.version = version
        self.stand_in: StandIn | None = None
        self.port = int(REAL.rpartition(":")[2]) if REAL else 0
        self.start()

    def start(self) -> None:
        if not REAL:
            self.stand_in = StandIn(program.world_with({"version": self.version}), self.port)
            self.stand_in.__enter__()
            self.port = self.stand_in.port
        else:
            program.empty_the_scene("127.0.0.1", self.port)

    def close(self) -> None:
        if self.stand_in is not None and self.stand_in.running:
            self.stand_in.stop()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    started = Server(**getattr(request, "param", {}))
    yield started
    started.close()


@pytest.fixture
def client(server: Server) -> Callable[[], object]:
    """The API of the same program, for a look from outside."""

    def api() -> object:
        remote = RemoteAPIClient(port=server.port)
        remote.timeout = 1
        return remote.require("sim")

    return api


def answer(rig: Rig, model: RobotModel, publisher, until: float) -> None:
    """Answer every state with the torque that holds the arm, up to a time."""

    def done() -> bool:
        state = rig.states[-1]
        if stamp(state) >= until:
            return True
        tau = model.gravity(np.array(state.position))
        publisher.publish(ros.joint_state(model.joint_names, nanoseconds(state.header.stamp), effort=tau))
        return False

    rig.spin(lambda: rig.states, what="a state")
    rig.spin(done, what=f"t = {until} s")


@only_stand_in
def test_a_server_that_is_lost_is_found_again_and_the_arm_stays_braked(rig: Rig, ur5: RobotModel, server: Server):
    rig.start("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **BRIDGE)
    commands = rig.publisher(JointState, "joint_commands")
    answer(rig, ur5, commands, 0.05)
    server.close()
    answered = stamp(rig.states[-1])
    tau = ur5.gravity(np.array(rig.states[-1].position))
    commands.publish(ros.joint_state(ur5.joint_names, round(answered * 1e9), effort=tau))
    rig.spin(lambda: "lost: CoppeliaSim at" in rig.log("coppeliasim_bridge"), what="the loss to be said")
    assert not rig.call("coppeliasim_bridge/reset", Trigger.Request(), Trigger).success
    rig.states.clear()
    server.start()
    rig.spin(lambda: len(rig.states) > 10, what="states after the loss")
    assert stamp(rig.states[0]) == 0.0
    assert "braking: CoppeliaSim was lost; `arm_control enable`" in rig.log("coppeliasim_bridge")
    assert np.allclose(rig.states[-1].position, HOME, atol=1e-6), "held by the brake, on the scene that was built anew"
    assert np.allclose(rig.states[-1].effort, ur5.gravity(HOME), atol=1e-4)
    assert rig.call("coppeliasim_bridge/enable", SetBool.Request(data=True)).success
    reached = rig.time
    answer(rig, ur5, commands, reached + 0.05)


@pytest.mark.processes
def test_a_bridge_that_is_killed_leaves_the_simulator_safe(rig: Rig, ur5: RobotModel, server: Server, client):
    """The simulation waits for the dead client until it is forgotten, and ends in its first step after that."""
    bridge = rig.start_process("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **ALERT)
    answer(rig, ur5, rig.publisher(JointState, "joint_commands"), 0.1)
    bridge.kill()
    rig.wait("coppeliasim_bridge")
    sim = client()
    rig.spin(lambda: sim.getSimulationState() == sim.simulation_paused, what="the watchdog")
    assert sim.getSimulationTime() < 0.15
    joints = [sim.getObject(f"/{name}") for name in ur5.joint_names]
    assert [sim.getJointTargetForce(joint) for joint in joints] == [0.0] * 6
    rig.states.clear()
    rig.start("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **ALERT)
    rig.spin(lambda: rig.states and stamp(rig.states[0]) == 0.0, what="another bridge takes over")


@pytest.mark.parametrize("on_loss", ["zero", "pause"])
def test_a_lost_controller(on_loss: str, rig: Rig, ur5: RobotModel, server: Server, client):
    """The arm falls, or stands still in time, as it is told to; it is held by default, as in a lost simulation."""
    rig.start("coppeliasim_bridge", port=server.port, loss_time=0.2, on_loss=on_loss, **BRIDGE)
    said = {"pause": "no command for the state at 0.000 s: paused"}.get(on_loss, "0.000 s: braking")
    rig.spin(lambda: said in rig.log("coppeliasim_bridge"), what=said)
    if on_loss == "pause":
        heard = len(rig.states)
        rig.spin(lambda: len(rig.states) > heard + 2, what="the paused state again")
        assert rig.time == 0.0
        rig.call("coppeliasim_bridge/pause", SetBool.Request(data=False))
        answer(rig, ur5, rig.publisher(JointState, "joint_commands"), 0.05)
        return
    rig.until(0.3)
    assert np.abs(np.array(rig.states[-1].position) - HOME).max() > 0.1


def test_who_ends_regularly_leaves_a_stopped_simulation(rig: Rig, server: Server, client):
    bridge = rig.start("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **BRIDGE)
    rig.spin(lambda: rig.states, what="a state")
    bridge.send_signal(signal.SIGINT)
    assert rig.wait("coppeliasim_bridge") == 0
    sim = client()
    assert sim.getSimulationState() == sim.simulation_stopped


def test_what_the_scene_has_is_published(rig: Rig, ur5: RobotModel, server: Server, client):
    """Target and obstacles, and the distance that a sensor 0.2 m below the ball measures."""
    sim, world = client(), rig.folder / "eye.yaml"
    eye = sim.createProximitySensor(sim.proximitysensor_ray, 16, 0, [0] * 8, [0.0, 1.0, *[0.0] * 13])
    sim.setObjectAlias(eye, "eye")
    sim.setObjectPosition(eye, [0.49, 0.5, 0.2], sim.handle_world)
    world.write_text(yaml.safe_dump({"range_sensors": [{"name": "eye", "link": "base_link", "rate": 200.0}]}))
    distances = rig.hear(Range, "range/eye", LOSSLESS)
    ball = sim.createPrimitiveShape(sim.primitiveshape_spheroid, [0.2, 0.2, 0.2])
    sim.setObjectAlias(ball, "ball")
    sim.setObjectPosition(ball, [0.5, 0.5, 0.5], sim.handle_world)
    targets = rig.hear(PoseStamped, "target_pose")
    obstacles = rig.hear(MarkerArray, "obstacles", LOSSLESS)
    given = {"obstacle_objects": ["/ball"], "world": str(world), "wrench_rate": 100.0, **BRIDGE}
    rig.start("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **given)
    commands = rig.publisher(JointState, "joint_commands")
    answer(rig, ur5, commands, 0.05)
    assert "no wrench: the parameter force_sensor names" in rig.log("coppeliasim_bridge")
    assert targets == [], "the target stands where it was"
    (marker,) = obstacles[-1].markers
    assert (marker.type, marker.scale.x, marker.header.frame_id) == (marker.SPHERE, 0.2, "base_link")
    assert [marker.pose.position.x, marker.pose.position.y, marker.pose.position.z] == pytest.approx([0.5, 0.5, 0.5])
    sim.setObjectPosition(sim.getObject("/target"), [0.4, -0.2, 0.3], sim.handle_world)
    sim.setObjectPosition(ball, [0.6, 0.5, 0.5], sim.handle_world)
    answer(rig, ur5, commands, 0.1)
    rig.spin(lambda: targets, what="the target")
    place = targets[-1].pose.position
    assert [place.x, place.y, place.z] == pytest.approx([0.4, -0.2, 0.3])
    assert obstacles[-1].markers[0].pose.position.x == pytest.approx(0.6)
    exact = pytest.approx(0.3 - 0.0099**0.5, rel=1e-2 if REAL else 1e-6)  # CoppeliaSim's ball has facets
    assert (distances[0].range, distances[0].header.frame_id) == (exact, "base_link")
    assert (stamp(distances[0]), distances[-1].range) == (0.005, np.inf)


@only_stand_in
def test_an_arm_that_leaves_the_numbers_stops_and_can_be_reset(rig: Rig, ur5: RobotModel, server: Server, client):
    bridge = rig.start("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **BRIDGE)
    commands = rig.publisher(JointState, "joint_commands")
    answer(rig, ur5, commands, 0.05)
    sim = client()
    sim.setJointPosition(sim.getObject("/elbow_joint"), float("nan"))
    rig.spin(lambda: "stopped: the simulation diverged" in rig.log("coppeliasim_bridge"), what="a sentence")
    assert rig.call("coppeliasim_bridge/reset", Trigger.Request(), Trigger).success
    assert bridge.poll() is None
    rig.call("coppeliasim_bridge/pause", SetBool.Request(data=False))
    rig.states.clear()
    answer(rig, ur5, commands, 0.05)
    assert rig.log("coppeliasim_bridge").count("stopped: ") == 1


@pytest.mark.parametrize(
    "server", [{}, pytest.param({"version": 41000}, marks=only_stand_in)], ids=["4.9", "4.10"], indirect=True
)
def test_pause_play_and_stop_in_its_window_are_followed(rig: Rig, ur5: RobotModel, server: Server, client):
    """No loss: simulated time goes on where it was, or at zero after the reset that a stop asks for."""
    rig.start("coppeliasim_bridge", port=server.port, loss_time=PATIENCE, **BRIDGE)
    commands = rig.publisher(JointState, "joint_commands")
    answer(rig, ur5, commands, 0.05)
    sim = client()
    sim.pauseSimulation()
    rig.spin(lambda: rig.states, what="a state")
    tau = ur5.gravity(np.array(HOME))

    def send() -> None:
        commands.publish(ros.joint_state(ur5.joint_names, nanoseconds(rig.states[-1].header.stamp), effort=tau))

    def said(what: str) -> bool:
        send()
        return what in rig.log("coppeliasim_bridge")

    rig.spin(lambda: said("paused in CoppeliaSim: press play there to go on"), what="the pause to be said")
    stood = rig.time
    sim.startSimulation()
    answer(rig, ur5, commands, stood + 0.05)
    sim.stopSimulation()
    rig.spin(lambda: said("stopped in CoppeliaSim: call the service reset"), what="the stop to be said")
    refused = rig.call("coppeliasim_bridge/pause", SetBool.Request(data=False))
    assert (refused.success, refused.message) == (
        False,
        "stopped in CoppeliaSim: call the service reset to begin again",
    )
    rig.states.clear()
    assert rig.call("coppeliasim_bridge/reset", Trigger.Request(), Trigger).success
    rig.spin(lambda: rig.states and stamp(rig.states[-1]) == 0.0, what="time zero")
    rig.states.clear()
    answer(rig, ur5, commands, 0.05)
    assert "lost" not in rig.log("coppeliasim_bridge")
    assert "braking" not in rig.log("coppeliasim_bridge")
