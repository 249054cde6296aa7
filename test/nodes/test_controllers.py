"""The nodes of controllers in lock step: torque of the loop without ROS, what they refuse, and what changes live."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rig import HOME, LATCHED, Driver, Rig, target
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, MultiArrayDimension, MultiArrayLayout
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory
from visualization_msgs.msg import MarkerArray

from arm_control import Pose, RobotModel
from arm_control.controllers import control_loop
from arm_control.exceptions import InputError
from arm_control.maths import rotation_from_vector
from arm_control.messages import JointStateReader, goal_of, pose_points_from_message, waypoints_from_message
from arm_control.motion import PosePoints, Waypoints
from arm_control.nodes import ros
from arm_control.nodes.support.controller_node import GOALS, JOGS, TorquePipeline
from arm_control.nodes.viewer import matrix_of
from arm_control.simulation import Scenario, arm_and_parameters

MS = 1_000_000
GOAL = np.array(HOME) + [0.2, 0.1, -0.1, 0.0, 0.1, -0.3]
JOINT_POINTS = Waypoints(np.array([0.02, 0.3]), np.array([HOME, GOAL]), np.zeros((2, 6)), np.zeros((2, 6)))
TWIST = np.array([0.0, 0.0, 0.1, 0.3, 0.0, 0.0])


def pose_points(model: RobotModel, *, twists: bool = True) -> PosePoints:
    """From 10 ms to 60 ms, 2 cm and a little turn."""
    X = model.pose(HOME)
    there = Pose(rotation_from_vector([0.0, 0.05, 0.0]) @ X.R, X.p + [0.0, 0.02, 0.0])
    rest = np.zeros((2, 6)) if twists else None
    return PosePoints(np.array([0.01, 0.06]), (X, there), rest, rest)


def beside_home(model: RobotModel, ms: int, p: tuple[float, ...] = (-0.1, -0.3, 0.15)) -> Any:
    X = model.pose(HOME)
    return target((X.p + p).tolist(), X, ms * 1e-3)


def case(node: str, model: RobotModel) -> tuple[dict[str, Any], list[tuple[int, str, Any]], int]:
    """Parameters, goals with the state before which they come, and number of states."""
    names = model.joint_names
    match node:
        case "osc":
            motion = ros.pose_trajectory("tool0", pose_points(model), "base_link", 5 * MS)
            jog = ros.twist_stamped(TWIST, "tool0", 90 * MS)
            last = beside_home(model, 150)
            return {}, [(0, "pose_trajectory", motion), (80, "target_twist", jog), (130, "target_pose", last)], 200
        case "joint":
            motion = ros.joint_trajectory(names, JOINT_POINTS, 5 * MS)
            jog = ros.joint_state(["elbow_joint", "wrist_1_joint"], 90 * MS, velocity=np.array([0.3, -0.5]))
            last = ros.joint_state(names[::-1], 250 * MS, position=GOAL[::-1])
            return {}, [(0, "joint_trajectory", motion), (80, "target_velocity", jog), (130, "target_joint", last)], 300
        case "ilqr":
            return {"replan_rate": 200.0}, [(0, "target_pose", beside_home(model, 10))], 60
        case _:
            return {"attractor.radius": 0.25}, [(0, "target_pose", beside_home(model, 30, (0.1, 0.0, -0.2)))], 100


@pytest.mark.parametrize("node", ["osc", "joint", "ilqr", "attractor"])
def test_torque_is_that_of_the_loop_without_ros(rig: Rig, ur5: RobotModel, node: str):
    """To the last bit, for goals of every kind, each of which counts once."""
    parameters, goals, n = case(node, ur5)
    driver, n_known = Driver(rig, ur5, node, **parameters), 0
    publishers = {topic: rig.publisher((GOALS | JOGS)[topic], topic) for _, topic, _ in goals}
    loop = control_loop(*arm_and_parameters(Scenario("ur5", "", "ur5", {node: parameters})))
    reader, taus = JointStateReader(ur5, 0.0), []
    for k in range(n):
        for _, topic, message in (goal for goal in goals if goal[0] == k):
            publishers[topic].publish(message)
            n_known += topic in GOALS
            driver.wait_for_targets(n_known)
            loop.controller.add(goal_of(topic, message, ur5, max(0, k - 1) * MS))
        q, v = HOME + 0.1 * np.sin(1e-3 * k) * np.ones(6), 0.1 * np.cos(1e-3 * k) * np.ones(6)
        taus.append(driver.answers(1, q, v)[0])
        state: Any = ros.joint_state(ur5.joint_names, k * MS, position=q, velocity=v)
        np.testing.assert_array_equal(taus[-1], loop.tick(reader.read(state, {"source_timestamp": 0})).gate.tau)
    assert np.abs(taus[-1] - ur5.gravity(q)).max() > 0.3


def test_a_latched_target_counts_once(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5, "joint")
    goal = rig.publisher(JointState, "target_joint", LATCHED)
    goal.publish(ros.joint_state(ur5.joint_names, 0, position=GOAL))
    driver.wait_for_targets(1)
    driver.answers(50)
    assert max(m.data for m in driver.known) == 1.0


def wrong(node: str, model: RobotModel) -> list[tuple[str, Any, str]]:
    """Topics, messages that must not be followed, and why."""
    names, points = model.joint_names, Waypoints(np.array([1.0, 2.0]), np.array([HOME, HOME]), np.zeros((2, 6)))
    if node == "joint":
        some, effort = (ros.joint_trajectory(names, points, 0) for _ in range(2))
        some.points[0].velocities, effort.points[0].effort = [], [0.0] * 6
        return [
            ("joint_trajectory", some, "velocities at 1 of 2 points"),
            ("joint_trajectory", effort, "effort in a trajectory"),
            ("joint_trajectory", JointTrajectory(joint_names=list(names)), "no points"),
            ("joint_trajectory", ros.joint_trajectory(names, points, 10**15), "stamp too far ahead"),
            ("target_joint", ros.joint_state(names[1:], 0, position=np.array(HOME[1:])), "no position for joint"),
            ("target_velocity", ros.joint_state(["gripper"], 0, velocity=np.ones(1)), "unknown joint 'gripper'"),
            ("target_velocity", ros.joint_state(names[:1], 0, velocity=np.array([np.nan])), "velocity is not finite"),
        ]
    X, motion = model.pose(HOME), pose_points(model)
    some, no_rotation = ros.pose_trajectory("tool0", motion, "base_link", 0), target([0.4, 0.0, 0.4], X)
    some.points[0].velocities = []
    no_rotation.pose.orientation = type(no_rotation.pose.orientation)(w=0.0)
    return [
        ("pose_trajectory", ros.pose_trajectory("forearm_link", motion, "base_link", 0), "joint_names = ['forearm_li"),
        ("pose_trajectory", ros.pose_trajectory("tool0", motion, "nowhere", 0), "unknown frame 'nowhere'"),
        ("pose_trajectory", ros.pose_trajectory("tool0", motion, "base_link", 10**15), "stamp too far ahead"),
        ("pose_trajectory", some, "velocities at 1 of 2 points"),
        ("pose_trajectory", MultiDOFJointTrajectory(joint_names=["tool0"]), "no points"),
        ("target_pose", target([0.4, 0.0, 0.4], X, frame="kitchen"), "unknown frame 'kitchen'; the model has: base"),
        ("target_pose", target([float("inf"), 0.0, 0.4], X), "position"),
        ("target_pose", no_rotation, "quaternion"),
        ("disturbance", ros.joint_state(names[:5], 0, effort=np.ones(5)), "no effort for joint wrist_3_joint"),
        ("disturbance", ros.joint_state(names, 0, effort=np.full(6, np.nan)), "effort "),
        ("disturbance", JointState(name=list(names)), "6 joint names with 0 effort values"),
    ]


@pytest.mark.parametrize("node", ["joint", "osc"])
def test_what_must_not_be_followed_is_refused_with_the_reason(rig: Rig, ur5: RobotModel, node: str):
    driver = Driver(rig, ur5, node)
    kinds, publishers = GOALS | JOGS | {"disturbance": JointState}, dict[str, Any]()
    for topic, message, reason in wrong(node, ur5):
        publishers.setdefault(topic, rig.publisher(kinds[topic], topic) if topic not in publishers else None)
        publishers[topic].publish(message)
        driver.logged(f"{topic} refused: {reason}")
    driver.wait_for_targets(0)
    if node == "joint":
        publishers["joint_trajectory"].publish(
            ros.joint_trajectory(ur5.joint_names, Waypoints(np.array([0.01]), GOAL[None]), 0)
        )
        driver.wait_for_targets(1)
    np.testing.assert_allclose(driver.answers(5), [ur5.gravity(HOME)] * 5, atol=1e-9)
    if node == "joint":
        driver.logged("goal refused: velocity beyond the limit")


def test_chunks_of_a_policy_move_the_arm_and_what_becomes_of_them_is_in_the_diagnosis(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5, "follow")
    heard = rig.hear(DiagnosticArray, "/diagnostics")
    drawn = rig.hear(MarkerArray, "plan_markers")
    chunk, poses = rig.publisher(JointTrajectory, "joint_chunk"), rig.publisher(MultiDOFJointTrajectory, "pose_chunk")
    stiffness = rig.publisher(Float64, "follow/stiffness")

    def diagnosed(level: str, **values: str) -> bool:
        found = {pair.key: pair.value for pair in heard[-1].status[0].values} if heard else {}
        return bool(found) and heard[-1].status[0].message.startswith(level) and values.items() <= found.items()

    driver.answers(100)
    other = ros.joint_trajectory([f"panda_joint{k}" for k in range(6)], JOINT_POINTS, 0)
    chunk.publish(other)
    driver.until(lambda _: "goal refused: it has the joints panda_joint0" in rig.log("follow"))
    points = Waypoints(np.arange(1, 31) / 30.0, HOME + 0.05 * np.arange(1, 31)[:, None] / 30.0)
    chunk.publish(ros.joint_trajectory(ur5.joint_names, points, 0))
    driver.until(lambda tau: np.abs(tau - ur5.gravity(HOME)).max() > 0.3)
    rig.spin(lambda: diagnosed("passing", chunk="pass", stale="False"), what="the diagnosis")
    line = drawn[-1].markers[0]
    assert (line.ns, line.id, line.color.g) == ("chunk", 0, pytest.approx(0.7)), "green: it passes"
    hand = ur5.pose(points.qs[-1]).p
    np.testing.assert_allclose([line.points[-1].x, line.points[-1].y, line.points[-1].z], hand, atol=0.02)
    driver.answers(1500)
    rig.spin(lambda: diagnosed("no newer chunk", stale="True"), what="the diagnosis of silence")
    chunk.publish(ros.joint_trajectory(ur5.joint_names, Waypoints(points.times, points.qs + 0.5), 0))
    driver.until(lambda _: drawn[-1].markers[0].id == 1)
    assert drawn[-1].markers[0].color.r == pytest.approx(0.9), "red: it is refused"
    X = ur5.pose(HOME)
    poses.publish(ros.pose_trajectory("tool0", PosePoints(points.times, (X,) * 30), "kitchen", 0))
    driver.until(lambda _: "goal refused: unknown frame 'kitchen'" in rig.log("follow"))
    stiffness.publish(Float64(data=2.0))
    driver.until(lambda _: "follow/stiffness refused: stiffness 2: from 0.01 to 1 is allowed" in rig.log("follow"))


def test_an_arm_off_the_path_is_held_where_it_is(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5, "joint", path_tolerance=0.01)
    heard = rig.hear(DiagnosticArray, "/diagnostics")
    rig.publisher(JointState, "target_joint").publish(ros.joint_state(ur5.joint_names, 0, position=GOAL))
    driver.wait_for_targets(1)
    taus = driver.answers(300)
    assert np.abs(taus - ur5.gravity(HOME)).max() > 0.3
    assert np.abs(taus[-1] - ur5.gravity(HOME)).max() < 1e-9
    driver.logged("trajectory given up, off the path: ")
    rig.spin(lambda: heard and heard[-1].status[0].message.startswith("off the path"), what="the diagnosis")


def test_new_gains_act_from_the_next_state_on(rig: Rig, ur5: RobotModel):
    """Those of the law, and of adaptation; and a gate that is enabled again begins anew."""
    driver, away = Driver(rig, ur5, "joint", adaptive_torque=True, learning_rate=0.0), HOME + 0.01 * np.eye(6)[0]
    driver.answers()
    before = driver.answers(100, away)[-1] - ur5.gravity(away)
    assert driver.set(kp=50.0)[0].successful
    after = driver.answers(100, away)[-1] - ur5.gravity(away)
    np.testing.assert_allclose(after, before / 2.0, rtol=1e-9, atol=1e-9)
    assert driver.set(learning_rate=10.0)[0].successful
    learnt = driver.answers(50, away)[-1] - ur5.gravity(away)
    assert learnt[0] < 1.3 * after[0] < 0.0
    driver.ms = 0
    driver.answers(2, HOME + 1.3 * np.eye(6)[2])
    assert rig.log("joint").count("outside its limits, and is led back: elbow_joint at 3.2000, allowed -3.1416") == 1
    for data in (False, True):
        driver.call("enable", SetBool.Request(data=data))
    np.testing.assert_allclose(driver.answers(200)[-1], ur5.gravity(HOME), atol=1e-9)


def test_an_attractor_shows_its_neurons(rig: Rig, ur5: RobotModel):
    spikes = rig.hear(Float64MultiArray, "attractor/spikes")
    shown = rig.hear(Float64MultiArray, "attractor/neural_state")
    driver, X = Driver(rig, ur5, "attractor", **{"attractor.radius": 0.25}), ur5.pose(HOME)
    goal = Pose(X.R, X.p + [0.1, 0.0, -0.2])
    rig.publisher(*(GOALS["target_pose"], "target_pose")).publish(ros.pose_stamped(goal, ur5.base, 30 * MS))
    driver.answers(200)
    rig.spin(lambda: len(shown) >= 9 and spikes, what="what is shown")
    first, last = matrix_of(shown[0], 100), matrix_of(shown[-1], 100)
    np.testing.assert_allclose(first, X.p[:, None] * np.ones(3), atol=0.005)
    np.testing.assert_allclose(last[:, 2], goal.p, atol=1e-9)
    np.testing.assert_allclose(last[:, 0], last[:, 1], atol=0.005)
    assert 0.1 < ((last[:, 0] - X.p) / (goal.p - X.p + 1e-12))[0] < 0.4, "on the way"
    labels = [dim.label.partition(";")[0] for dim in shown[-1].layout.dim]
    assert labels == ["rows: x, y, z", "cols: decoded, reference, goal"]
    counts = matrix_of(spikes[0], 10_000)
    assert counts.shape[0] == 48
    assert 0.0 < counts.mean() < 1.0, "rates of neurons"


@pytest.mark.parametrize(
    ("sizes", "data"),
    [((2, 3), [1.0] * 5), ((6,), [1.0] * 6), ((2, 3), [1.0] * 5 + [np.nan]), ((0, 0), []), ((30, 1), [1.0] * 30)],
)
def test_a_message_that_is_no_matrix_is_refused(sizes: tuple[int, ...], data: list[float]):
    layout = MultiArrayLayout(dim=[MultiArrayDimension(size=size) for size in sizes])
    with pytest.raises(InputError, match=r"allowed: a matrix|not finite"):
        matrix_of(Float64MultiArray(layout=layout, data=data), 20)


def test_points_and_poses_survive_the_way_through_a_message(ur5: RobotModel):
    rows = [0.1 * np.random.default_rng(0).uniform(-1, 1, (3, 6)) for _ in range(3)]
    rows[1][-1] = 0.0
    for n in (1, 2, 3):
        points = Waypoints(np.array([0.0, 0.5, 1.25]), *rows[:n])
        back = waypoints_from_message(ur5, ros.joint_trajectory(ur5.joint_names, points, 0))
        for name in ("times", "qs", "vs", "as_"):
            np.testing.assert_array_equal(getattr(back, name), getattr(points, name))
    values = np.arange(12.0).reshape(2, 6)[::-1] * [[1], [0]]
    sent = pose_points(ur5, twists=False)
    for Vs, As in ((None, None), (values, None), (values, values + 1.0)):
        message = ros.pose_trajectory("tool0", PosePoints(sent.times, sent.poses, Vs, As), "base_link", 0)
        poses = pose_points_from_message(message, "tool0")
        np.testing.assert_array_equal(poses.times, sent.times)
        for a, b in zip(poses.poses, sent.poses, strict=True):
            np.testing.assert_array_equal(a.p, b.p)
            np.testing.assert_allclose(a.R, b.R, rtol=0, atol=1e-15)
        for one, other in ((poses.Vs, Vs), (poses.As, As)):
            assert (one is None) is (other is None)
            assert one is None or np.array_equal(one, other)
    message.points[1].velocities = message.points[1].velocities * 2
    with pytest.raises(InputError, match="2 twists at a point"):
        pose_points_from_message(message, "tool0")
    message.points[0].transforms = []
    with pytest.raises(InputError, match="one transform per point"):
        pose_points_from_message(message, "tool0")


@pytest.mark.parametrize("second", [{"trajectory": "ur5_tour"}, {"motion": "ur5_circle"}])
def test_one_thing_to_do_is_enough(rig: Rig, second: dict[str, str]):
    rig.start("targets", file="ur5_reach", **second)
    assert rig.wait("targets") == 2
    assert "file, trajectory, policy and motion: only one of them is allowed" in rig.log("targets")


def test_a_plant_that_has_started_over_is_named_and_what_was_stuck_before_is_no_fault_any_more(ur5: RobotModel):
    lines: list[str] = []
    node = SimpleNamespace(model=ur5, get_logger=lambda: SimpleNamespace(warning=lines.append))
    pipeline: Any = SimpleNamespace(_node=node, _now_ns=None, _stall_share=0.3, _stall=SimpleNamespace(last="stuck"))
    for now_ns in (None, 0, 2500 * MS):
        assert pipeline._stall.last == "stuck"
        pipeline._now_ns = now_ns
        TorquePipeline._warn_of_restart(pipeline, 0)
    assert lines == ["the plant has started over: its time went back from 2.500 s to 0.000 s"]
    assert pipeline._stall.last == ""


def told_of(gate: Any, push: Any) -> tuple[list[str], Callable[[], None]]:
    """What a node logs of a loop with this gate and this limit of a push, and the function that looks at a state."""
    lines: list[str] = []
    loop = SimpleNamespace(gate=gate, disturbance=SimpleNamespace(is_over=True), push=push)
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(info=lines.append, warning=lines.append))
    stall = SimpleNamespace(sentence="", look=lambda *_: None)
    pipeline: Any = SimpleNamespace(loop=loop, _node=node, _stall=stall, _velocity_lag=0.0, _pressed="")
    result: Any = SimpleNamespace(measurement=SimpleNamespace(stamp_ns=0))
    return lines, lambda: TorquePipeline._look_for_stall(pipeline, result)


def test_filtered_velocities_are_told_once_and_again_where_their_lag_grows_by_half():
    gate = SimpleNamespace(
        velocity_lag=0.0, describe_velocities=lambda: f"{gate.velocity_lag} s" * (gate.velocity_lag > 0)
    )
    lines, look = told_of(gate, None)
    for gate.velocity_lag in (0.0, 0.010, 0.014, 0.010, 0.016, 0.010, 0.0, 0.0):
        look()
    assert lines == ["0.01 s", "0.016 s", "velocities are used as they come"]


def test_a_force_that_is_cut_is_told_once_each_time():
    push = SimpleNamespace(sentence="")
    lines, look = told_of(SimpleNamespace(velocity_lag=0.0), push)
    for push.sentence in ("", "60 N", "60 N", "80 N"):
        look()
    assert lines == ["60 N", "80 N"]
