"""The node ``obstacle_avoidance`` as a process: in a chain with controller and simulator, and alone."""

from __future__ import annotations

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, PATIENCE, repeating, stamp, target
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool
from test_faults import home_state, tells_publishers_apart
from test_markers import marker
from visualization_msgs.msg import MarkerArray

from arm_control import Pose, RobotModel
from arm_control.control import Avoidance, AvoidanceParameters
from arm_control.maths import Obstacle, Sphere
from arm_control.messages import braked_frame, nanoseconds
from arm_control.nodes import ros


def test_what_comes_out_is_the_law_and_a_bad_command_does_not(rig, ur5: RobotModel):
    rig.start("obstacle_avoidance", robot_description=ur5.urdf.text, lock_step=True)
    out, health = [], []
    rig.hear(JointState, "effort_out", out)
    rig.hear(DiagnosticArray, "/diagnostics", health)
    states, efforts = rig.publisher(JointState, "joint_states"), rig.publisher(JointState, "effort_in")
    obstacles = rig.publisher(MarkerArray, "obstacles")
    q, v, tau = np.array(HOME), np.linspace(-0.1, 0.1, 6), np.arange(6.0)
    at = ur5.pose(q).p + [0.0, 0.16, 0.0]
    states.publish(ros.joint_state(ur5.joint_names, 1_000_000, position=q, velocity=v))
    efforts.publish(ros.joint_state(ur5.joint_names, 1_000_000, effort=tau))
    rig.spin(lambda: out, what="a command")
    np.testing.assert_array_equal(out[0].effort, tau)
    obstacles.publish(MarkerArray(markers=[marker(scale=(0.1, 0.1, 0.1), at=at), marker(id=1, scale=(0, 0, 0))]))
    wanted = Avoidance(ur5, AvoidanceParameters()).tick(
        ur5.evaluate(q, v), [Obstacle(Sphere(0.05), Pose(np.eye(3), at))]
    )
    assert np.abs(wanted.tau).max() > 1e-3
    times = iter(range(2, 10_000))

    def answered() -> bool:
        now = next(times) * 1_000_000
        states.publish(ros.joint_state(ur5.joint_names, now, position=q, velocity=v))
        efforts.publish(ros.joint_state(ur5.joint_names, now, effort=tau))
        return bool(out) and not np.array_equal(out[-1].effort, tau)

    rig.spin(answered, what="avoidance")
    np.testing.assert_allclose(out[-1].effort, wanted.combined(tau), rtol=0, atol=1e-9)
    assert out[-1].name == list(ur5.joint_names)

    def refusals() -> bool:
        answered()
        efforts.publish(ros.joint_state(ur5.joint_names, next(times) * 1_000_000, effort=tau * np.nan))
        figures = {pair.key for array in health for status in array.status for pair in status.values}
        return any("effort_in" in key for key in figures) and any("obstacles" in key for key in figures)

    rig.spin(refusals, what="both refusals in the diagnostics")
    assert all(np.isfinite(message.effort).all() for message in out)


MS = 1_000_000


@tells_publishers_apart
def test_the_commands_of_one_publisher_pass_until_time_starts_over(rig, ur5: RobotModel):
    """In lock step, where no silence counts. The gate behind this node cannot tell the publishers apart."""
    rig.start("obstacle_avoidance", robot_description=ur5.urdf.text, lock_step=True)
    out: list[JointState] = []
    rig.hear(JointState, "effort_out", out)
    states = rig.publisher(JointState, "joint_states")
    first, second = (rig.publisher(JointState, "effort_in") for _ in range(2))

    def send(publisher, stamp_ns: int, pan: float) -> None:
        states.publish(home_state(ur5, stamp_ns))
        publisher.publish(ros.joint_state(ur5.joint_names, stamp_ns, effort=[pan, *[0.0] * 5]))

    rig.spin(repeating(lambda: send(first, MS, 1.0), lambda: out), what="a command")
    refusals = lambda: rig.log("obstacle_avoidance").count("refused: second publisher on the topic")  # noqa: E731
    rig.spin(repeating(lambda: send(second, 2 * MS, 2.0), refusals), what="a refusal")
    is_last = lambda stamp_ns: nanoseconds(out[-1].header.stamp) == stamp_ns  # noqa: E731
    rig.spin(repeating(lambda: send(first, 3 * MS, 1.0), lambda: is_last(3 * MS)), what="its next command")
    n = len(out)
    rig.spin(repeating(lambda: send(first, 3 * MS, 1.0), lambda: len(out) > n), what="the same again")
    assert {m.effort[0] for m in out} == {1.0}
    rig.spin(repeating(lambda: send(second, 0, 2.0), lambda: out[-1].effort[0] == 2.0), what="another owner")


@pytest.mark.parametrize("late_ns", [2 * MS, 3 * MS])
def test_late_and_repeated_commands_are_refused_and_a_late_brake_is_not(rig, ur5: RobotModel, late_ns: int):
    rig.start("obstacle_avoidance", robot_description=ur5.urdf.text, max_age=0.0)
    out: list[JointState] = []
    rig.hear(JointState, "effort_out", out)
    states, efforts = rig.publisher(JointState, "joint_states"), rig.publisher(JointState, "effort_in")

    def send(stamp_ns: int, pan: float, state_ns: int = 3 * MS, frame: str = "") -> None:
        states.publish(home_state(ur5, state_ns))
        command = ros.joint_state(ur5.joint_names, stamp_ns, effort=[pan, *[0.0] * 5])
        command.header.frame_id = frame
        efforts.publish(command)

    rig.spin(repeating(lambda: send(3 * MS, 1.0), lambda: out), what="a command")
    refused = lambda: "effort_in refused: out of order" in rig.log("obstacle_avoidance")  # noqa: E731
    rig.spin(repeating(lambda: send(late_ns, 2.0), refused), what="a refusal")
    brakes = lambda: send(late_ns, 3.0, frame=braked_frame("a test"))  # noqa: E731
    rig.spin(repeating(brakes, lambda: out[-1].effort[0] == 3.0), what="a brake")
    assert {m.effort[0] for m in out} == {1.0, 3.0}
    rig.spin(repeating(lambda: send(0, 4.0, state_ns=0), lambda: out[-1].effort[0] == 4.0), what="a new run")


@pytest.mark.parametrize("with_obstacle", [False, True])
def test_between_controller_and_simulator_it_keeps_the_arm_clear(rig, ur5: RobotModel, with_obstacle: bool):
    start = ur5.pose(HOME)
    goal, ball = start.p + [0.0, -0.3, 0.0], start.p + [0.02, -0.2, 0.02]
    given = {"robot_description": ur5.urdf.text, "lock_step": True}
    rig.start("osc", "-r", "joint_commands:=effort_in", publish_effort_array=False, **given)
    rig.start("obstacle_avoidance", "-r", "effort_out:=joint_commands", **given)
    rig.spin(lambda: all("robot with joints" in rig.log(name) for name in rig.processes), what="both nodes")
    rig.start("simulator", robot="ur5", initial_position=HOME, start_paused=True, loss_time=PATIENCE, lock_step=True)
    distances, known = [], []
    rig.hear(Float64, "avoidance/distance", distances)
    rig.hear(Float64, "controller_state/targets", known, LATCHED)
    obstacles, targets = rig.publisher(MarkerArray, "obstacles"), rig.publisher(PoseStamped, "target_pose")
    rig.spin(lambda: known and all(rig.matched()), what="all nodes")
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.until(0.02)
    if with_obstacle:
        obstacles.publish(MarkerArray(markers=[marker(scale=(0.1, 0.1, 0.1), at=ball)]))
        rig.spin(lambda: np.isfinite([d.data for d in distances]).any(), what="the obstacle")
    targets.publish(target(goal.tolist(), start))
    rig.spin(lambda: known and known[-1].data == 1.0, what="the target")  # lock step goes on while it is on its way

    def moved() -> float:
        return float(np.linalg.norm(ur5.pose(rig.states[-1].position).p - start.p))

    rig.spin(lambda: moved() > 0.03, what="motion")  # states may be read long after the controller knows its target
    rig.until(rig.time + 0.7)
    law, obstacle = Avoidance(ur5, AvoidanceParameters()), Obstacle(Sphere(0.05), Pose(np.eye(3), ball))
    nearest = min(law.tick(ur5.evaluate(m.position, m.velocity), [obstacle]).distance for m in rig.states)
    assert "braking" not in rig.log("simulator"), "there is time enough to find two nodes"
    assert (nearest > 0.0) == with_obstacle
    assert moved() > 0.03
    commands = {stamp(m): m for m in rig.commands}
    assert len(commands) > 700
    assert all((np.abs(m.effort) <= ur5.tau_max * 4).all() for m in commands.values())
