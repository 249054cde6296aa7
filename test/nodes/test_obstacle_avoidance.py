"""The node ``obstacle_avoidance`` as a process: in a chain with controller and simulator, and alone."""

from __future__ import annotations

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rig import HOME, repeating
from sensor_msgs.msg import JointState
from test_faults import home_state
from test_markers import marker
from visualization_msgs.msg import MarkerArray

from arm_control import Pose, RobotModel
from arm_control.control import Avoidance, AvoidanceParameters
from arm_control.maths import Obstacle, Sphere
from arm_control.messages import braked_frame
from arm_control.nodes import ros


def test_what_comes_out_is_the_law_and_a_bad_command_does_not(rig, ur5: RobotModel):
    rig.start("obstacle_avoidance", robot_description=ur5.urdf.text, lock_step=True, speed_limit_linear=0.01)
    out = rig.hear(JointState, "effort_out")
    health = rig.hear(DiagnosticArray, "/diagnostics")
    states, efforts = rig.publisher(JointState, "joint_states"), rig.publisher(JointState, "effort_in")
    obstacles = rig.publisher(MarkerArray, "obstacles")
    q, v = np.array(HOME), np.linspace(-0.1, 0.1, 6)
    tau = ur5.evaluate(q, v).h + 0.1 * np.arange(6.0)
    at = ur5.pose(q).p + [0.0, 0.13, 0.0]
    states.publish(ros.joint_state(ur5.joint_names, 1_000_000, position=q, velocity=v))
    efforts.publish(ros.joint_state(ur5.joint_names, 1_000_000, effort=tau))
    rig.spin(lambda: out, what="a command")
    np.testing.assert_array_equal(out[0].effort, tau)
    obstacles.publish(MarkerArray(markers=[marker(scale=(0.1, 0.1, 0.1), at=at), marker(id=1, scale=(0, 0, 0))]))
    law, around = Avoidance(ur5, AvoidanceParameters()), [Obstacle(Sphere(0.05), Pose(np.eye(3), at))]
    usual = law.tick(ur5.evaluate(q, v), around, tau)
    law.speed_limits = 0.01, 1.0
    wanted = law.tick(ur5.evaluate(q, v), around, tau)
    assert np.abs(wanted.tau).max() > 1e-3 < np.abs(wanted.tau - usual.tau).max()
    times = iter(range(2, 10_000))

    def answered() -> bool:
        now = next(times) * 1_000_000
        states.publish(ros.joint_state(ur5.joint_names, now, position=q, velocity=v))
        efforts.publish(ros.joint_state(ur5.joint_names, now, effort=tau))
        return bool(out) and not np.array_equal(out[-1].effort, tau)

    rig.spin(answered, what="avoidance")
    np.testing.assert_allclose(out[-1].effort, wanted.tau_total, rtol=0, atol=1e-9)
    assert out[-1].name == list(ur5.joint_names)

    def refusals() -> bool:
        answered()
        efforts.publish(ros.joint_state(ur5.joint_names, next(times) * 1_000_000, effort=tau * np.nan))
        figures = {pair.key for array in health for status in array.status for pair in status.values}
        return any("effort_in" in key for key in figures) and any("obstacles" in key for key in figures)

    rig.spin(refusals, what="both refusals in the diagnostics")
    assert all(np.isfinite(message.effort).all() for message in out)


MS = 1_000_000


def test_late_commands_are_refused_and_a_late_brake_is_not(rig, ur5: RobotModel):
    rig.start("obstacle_avoidance", robot_description=ur5.urdf.text, max_age=0.0)
    out = rig.hear(JointState, "effort_out")
    states, efforts = rig.publisher(JointState, "joint_states"), rig.publisher(JointState, "effort_in")

    def send(stamp_ns: int, pan: float, state_ns: int = 3 * MS, frame: str = "") -> None:
        states.publish(home_state(ur5, state_ns))
        command = ros.joint_state(ur5.joint_names, stamp_ns, effort=[pan, *[0.0] * 5])
        command.header.frame_id = frame
        efforts.publish(command)

    rig.spin(repeating(lambda: send(3 * MS, 1.0), lambda: out), what="a command")
    refused = lambda: "effort_in refused: out of order" in rig.log("obstacle_avoidance")  # noqa: E731
    rig.spin(repeating(lambda: send(2 * MS, 2.0), refused), what="a refusal")
    brakes = lambda: send(2 * MS, 3.0, frame=braked_frame("a test"))  # noqa: E731
    rig.spin(repeating(brakes, lambda: out[-1].effort[0] == 3.0), what="a brake")
    assert {m.effort[0] for m in out} == {1.0, 3.0}
    rig.spin(repeating(lambda: send(0, 4.0, state_ns=0), lambda: out[-1].effort[0] == 4.0), what="a new run")
