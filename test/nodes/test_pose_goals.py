"""The node ``osc`` follows pose trajectories: the torque of the functions, once each, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.publisher import Publisher
from rig import HOME, LATCHED, Rig, target
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import MultiDOFJointTrajectory

from arm_control import RobotModel, urdf_path
from arm_control.control import CompiledOsc, OscTuning, propose, resolve_parameters
from arm_control.controllers import OscController
from arm_control.exceptions import InputError
from arm_control.gate import EffortGate, GateParameters
from arm_control.maths import Pose, rotation_from_vector
from arm_control.messages import pose_points_from_message
from arm_control.motion import PoseFollower, PoseMotion, PosePoints, TwistJog
from arm_control.nodes import ros
from arm_control.simulation import Scenario, Simulation

MS = 1_000_000
START = np.array(HOME)
STILL = np.zeros(6)


def points(model: RobotModel, *, twists: bool = True) -> PosePoints:
    """From 10 ms to 60 ms, 2 cm and a little turn."""
    X = model.pose(HOME)
    there = Pose(rotation_from_vector([0.0, 0.05, 0.0]) @ X.R, X.p + [0.0, 0.02, 0.0])
    rest = np.zeros((2, 6)) if twists else None
    return PosePoints(np.array([0.01, 0.06]), (X, there), rest, rest)


def answers(rig: Rig, model: RobotModel, n: int, states: Publisher | None = None) -> np.ndarray:
    """Torque for the states up to the n-th, all at the start and at rest, shape (n, 6)."""
    states = states or rig.state_publisher()
    for k in range(len(rig.commands), n):
        rig.answer(states, ros.joint_state(model.joint_names, k * MS, position=START, velocity=STILL))
    return np.array([m.effort for m in rig.commands])


def start(rig: Rig) -> list[Float64]:
    known: list[Float64] = []
    rig.hear(Float64, "controller_state/targets", known, LATCHED)
    description = Path(urdf_path("ur5")).read_text()
    rig.start("osc", lock_step=True, publish_effort_array=False, robot_description=description)
    return known


def test_a_trajectory_and_a_twist_give_the_torque_of_the_functions_and_a_latched_one_counts_once(
    rig: Rig, ur5: RobotModel
):
    known = start(rig)
    rig.spin(lambda: known, what="the count of 0, which the next one replaces")
    twists = rig.publisher(TwistStamped, "target_twist")
    publisher = rig.publisher(MultiDOFJointTrajectory, "pose_trajectory", LATCHED)
    publisher.publish(ros.pose_trajectory("tool0", points(ur5), "base_link", 5 * MS))
    rig.spin(lambda: known and known[-1].data == 1, what="the motion")
    states = rig.publisher(JointState, "joint_states")
    answers(rig, ur5, 80, states)
    jog = TwistJog(90 * MS, 90 * MS, "tool0", np.array([0.0, 0.0, 0.1, 0.3, 0.0, 0.0]))
    twists.publish(ros.twist_stamped(jog.velocity, "tool0", jog.stamp_ns))
    taus = answers(rig, ur5, 160, states)
    follower, gate = PoseFollower(ur5), EffortGate(ur5, GateParameters())
    follower.restart(START)
    OscController(ur5, resolve_parameters(OscTuning, {}, ur5), follower)  # the limits of jogging
    follower.add(PoseMotion(5 * MS, "base_link", points(ur5)))
    follower.add(jog)
    osc, expected = CompiledOsc(ur5, propose(ur5, posture=tuple(HOME))), []
    for k in range(160):
        output = osc.tick(START, STILL, follower.reference(k * MS, START))
        gate.offer(ur5.joint_names, output.tau)
        expected.append(gate.tick(output.state, 1e-3).tau)
    assert np.abs(taus[80] - ur5.gravity(HOME)).max() > 0.3
    assert np.abs(taus[150] - taus[90]).max() > 0.3
    np.testing.assert_allclose(taus, expected, rtol=0, atol=1e-10)  # a rotation has gone through a quaternion
    assert [m.data for m in known] == [0.0, 1.0]


def test_what_it_must_not_follow_is_refused_with_the_reason(rig: Rig, ur5: RobotModel):
    known = start(rig)
    publisher = rig.publisher(MultiDOFJointTrajectory, "pose_trajectory")
    other = ros.pose_trajectory("forearm_link", points(ur5), "base_link", 0)
    nowhere = ros.pose_trajectory("tool0", points(ur5), "nowhere", 0)
    far = ros.pose_trajectory("tool0", points(ur5), "base_link", 10**15)
    some = ros.pose_trajectory("tool0", points(ur5), "base_link", 0)
    some.points[0].velocities = []
    for message, reason in (
        (other, "joint_names = ['forearm_link']: the end effector is ['tool0']"),
        (nowhere, "unknown frame 'nowhere'"),
        (far, "stamp too far ahead"),
        (some, "velocities at 1 of 2 points"),
        (MultiDOFJointTrajectory(joint_names=["tool0"]), "no points"),
    ):
        publisher.publish(message)
        rig.spin(lambda r=reason: f"pose_trajectory refused: {r}" in rig.log("osc"), what=reason)
    assert np.abs(answers(rig, ur5, 20) - ur5.gravity(HOME)).max() < 1e-9
    assert known[-1].data == 0.0
    rig.publisher(PoseStamped, "target_pose").publish(target([0.5, 0.1, 0.3], ur5.pose(HOME)))
    rig.spin(lambda: known[-1].data == 1.0, what="a good target after that")


def test_poses_survive_the_way_through_a_message(ur5: RobotModel):
    assert len(pose_points_from_message(ros.pose_trajectory("", points(ur5), "", 0), "tool0").poses) == 2
    for twists in (False, True):
        sent = points(ur5, twists=twists)
        back = pose_points_from_message(ros.pose_trajectory("tool0", sent, "base_link", 0), "tool0")
        np.testing.assert_array_equal(back.times, sent.times)
        for a, b in zip(back.poses, sent.poses, strict=True):
            np.testing.assert_array_equal(a.p, b.p)
            np.testing.assert_allclose(a.R, b.R, rtol=0, atol=1e-15)
        assert (back.Vs is None) is (sent.Vs is None)
    values = np.arange(12.0).reshape(2, 6)[::-1] * [[1], [0]]
    full = PosePoints(sent.times, sent.poses, values, values + 1.0)
    back = pose_points_from_message(ros.pose_trajectory("tool0", full, "base_link", 0), "tool0")
    np.testing.assert_array_equal(back.Vs, values)
    np.testing.assert_array_equal(back.As, values + 1.0)


def test_a_point_without_one_transform_or_one_twist_is_refused(ur5: RobotModel):
    message = ros.pose_trajectory("tool0", points(ur5), "", 0)
    message.points[1].velocities = message.points[1].velocities * 2
    with pytest.raises(InputError, match="2 twists at a point"):
        pose_points_from_message(message, "tool0")
    message.points[0].transforms = []
    with pytest.raises(InputError, match="one transform per point"):
        pose_points_from_message(message, "tool0")


def test_a_scenario_with_a_motion_does_as_nodes_what_it_does_in_the_simulation(rig: Rig):
    record = rig.folder / "run.npz"
    options = ["--duration", "0.5", "--headless", "--record", str(record)]
    command = ["run", "ur5_moving_target", *options]
    assert rig.command(*command) in (0, 1), rig.log("run")
    recorded, trace = np.load(record), Simulation(Scenario.load("ur5_moving_target")).run(0.5)
    assert len(recorded["q"]) >= 500
    assert np.abs(trace.q[-1] - trace.q[0]).max() > 0.05
    np.testing.assert_allclose(recorded["q"][:500], trace.q, rtol=0, atol=1e-6)


def test_one_thing_to_do_is_enough(rig: Rig):
    rig.start("targets", file="ur5_reach", motion="ur5_circle")
    assert rig.wait("targets") == 2
    assert "file, trajectory and motion: only one of them is allowed" in rig.log("targets")
