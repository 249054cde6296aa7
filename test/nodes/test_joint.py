"""The node ``joint`` in lock step: its torque is that of the functions, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rig import HOME, LATCHED, Rig
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory

from arm_control import RobotModel, urdf_path
from arm_control.control import JointParameters, JointSpaceController, Measurement
from arm_control.controllers import JointController, JointControlParameters
from arm_control.gate import EffortGate, GateParameters
from arm_control.messages import waypoints_from_message
from arm_control.motion import FollowingParameters, JointFollower, JointGoal, JointJog, Waypoints, load_trajectory
from arm_control.nodes import ros

MS = 1_000_000
START = np.array(HOME)
GOAL = START + [0.2, 0.1, -0.1, 0.0, 0.1, -0.3]
STILL = np.zeros(6)


class Driver:
    """Sends states to the node, one by one, and waits for the answer to each."""

    def __init__(self, rig: Rig, model: RobotModel, **parameters: object) -> None:
        self.rig, self.model, self.ms = rig, model, 0
        description = Path(urdf_path("ur5")).read_text()
        rig.start("joint", lock_step=True, publish_effort_array=False, robot_description=description, **parameters)
        self.known: list[Float64] = []
        rig.hear(Float64, "controller_state/targets", self.known, LATCHED)
        self.states = rig.state_publisher()

    def answers(self, n: int, q: np.ndarray = START) -> np.ndarray:
        """Torque for the next n states, all at q and at rest, shape (n, 6)."""
        before, names = len(self.rig.commands), self.model.joint_names
        for _ in range(n):
            self.rig.answer(self.states, ros.joint_state(names, self.ms * MS, position=q, velocity=STILL))
            self.ms += 1
        return np.array([m.effort for m in self.rig.commands[before:]])

    def wait_for_targets(self, n: int) -> None:
        self.rig.spin(lambda: self.known and self.known[-1].data == n, what=f"{n} targets")

    def refused(self, what: str) -> None:
        self.rig.spin(lambda: what in self.rig.log("joint"), what=what)


def expected(model: RobotModel, steps: int, order: Waypoints | np.ndarray, at: int) -> np.ndarray:
    """The same ticks without ROS, the order from step ``at`` on."""
    controller, gate = JointSpaceController(model, JointParameters()), EffortGate(model, GateParameters())
    follower, taus = JointFollower(model, FollowingParameters(), HOME), []
    for step in range(steps):
        if step == at:
            (follower.follow if isinstance(order, Waypoints) else follower.go_to)(order, step * MS)
        terms = model.evaluate(HOME, STILL)
        tau = controller.tick(terms, follower.tick(step * MS, START)).tau
        gate.offer(model.joint_names, tau)
        taus.append(gate.tick(terms, 1e-3).tau)
    return np.array(taus)


def test_velocities_move_the_joints_until_they_time_out_or_a_target_comes(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    velocity = rig.publisher(JointState, "target_velocity")
    driver.answers(5)
    names = ["elbow_joint", "wrist_1_joint"]
    velocity.publish(ros.joint_state(names, 10 * MS, velocity=np.array([0.3, -0.5])))
    rig.publisher(JointState, "target_joint").publish(ros.joint_state(ur5.joint_names, 160 * MS, position=GOAL))
    driver.wait_for_targets(1)
    driver.answers(195)
    controller, gate = JointController(ur5, JointControlParameters()), EffortGate(ur5, GateParameters())
    controller.add(JointJog(10 * MS, 10 * MS, np.array([0.0, 0.0, 0.3, -0.5, 0.0, 0.0])))
    controller.add(JointGoal(160 * MS, GOAL))
    controller.restart(START)
    taus = []
    for k in range(200):
        law = controller.tick(Measurement(k * MS, START, STILL, 1e-3), None)
        gate.offer(ur5.joint_names, law.tau)
        taus.append(gate.tick(law.terms, 1e-3).tau)
    assert not controller.follower.outcome.failed
    assert np.abs(taus[110] - ur5.gravity(HOME)).max() > 0.1
    np.testing.assert_array_equal([m.effort for m in rig.commands], taus)
    velocity.publish(ros.joint_state(["elbow_joint", "gripper"], 0, velocity=np.array([0.3, 0.1])))
    driver.refused("target_velocity refused: unknown joint 'gripper'")
    velocity.publish(ros.joint_state(["elbow_joint"], 0, velocity=np.array([np.nan])))
    driver.refused("target_velocity refused: velocity is not finite")


def test_it_holds_the_first_position_until_a_target_is_due(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    target = rig.publisher(JointState, "target_joint")
    target.publish(ros.joint_state(ur5.joint_names[::-1], 10 * MS, position=GOAL[::-1]))
    driver.wait_for_targets(1)
    taus = driver.answers(60)
    assert np.abs(taus[:10] - ur5.gravity(HOME)).max() < 1e-9
    assert np.abs(taus[-1] - ur5.gravity(HOME)).max() > 0.5
    np.testing.assert_array_equal(taus, expected(ur5, 60, GOAL, 10))


def test_a_trajectory_gives_the_torque_of_the_functions(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    points = Waypoints(np.array([0.02, 0.3]), np.array([HOME, GOAL]), np.zeros((2, 6)), np.zeros((2, 6)))
    rig.publisher(JointTrajectory, "joint_trajectory").publish(ros.joint_trajectory(ur5.joint_names, points, 5 * MS))
    driver.wait_for_targets(1)
    taus = driver.answers(100)
    assert np.abs(taus[-1] - ur5.gravity(HOME)).max() > 0.5
    np.testing.assert_array_equal(taus, expected(ur5, 100, points, 5))


def test_a_latched_target_counts_once(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    target = rig.publisher(JointState, "target_joint", LATCHED)
    target.publish(ros.joint_state(ur5.joint_names, 0, position=GOAL))
    driver.wait_for_targets(1)
    driver.answers(50)
    assert max(m.data for m in driver.known) == driver.known[-1].data == 1.0


def test_what_it_must_not_follow_is_refused_with_the_reason(rig: Rig, ur5: RobotModel):
    driver, names = Driver(rig, ur5), ur5.joint_names
    trajectory, target = rig.publisher(JointTrajectory, "joint_trajectory"), rig.publisher(JointState, "target_joint")
    driver.answers(1)
    good = Waypoints(np.array([1.0, 2.0]), np.array([HOME, HOME]), np.zeros((2, 6)))
    some = ros.joint_trajectory(names, good, 0)
    some.points[0].velocities = []
    trajectory.publish(some)
    driver.refused("joint_trajectory refused: velocities at 1 of 2 points")
    effort = ros.joint_trajectory(names, good, 0)
    effort.points[0].effort = [0.0] * 6
    trajectory.publish(effort)
    driver.refused("joint_trajectory refused: effort in a trajectory")
    trajectory.publish(JointTrajectory(joint_names=list(names)))
    driver.refused("joint_trajectory refused: no points")
    trajectory.publish(ros.joint_trajectory(names, good, 10**15))
    driver.refused("joint_trajectory refused: stamp too far ahead")
    target.publish(ros.joint_state(names[1:], 0, position=np.array(HOME[1:])))
    driver.refused("target_joint refused")
    assert driver.known[-1].data == 0.0
    trajectory.publish(ros.joint_trajectory(names, Waypoints(np.array([0.01]), GOAL[None]), 0))
    driver.wait_for_targets(1)
    taus = driver.answers(5)
    driver.refused("goal refused: velocity beyond the limit")
    assert np.abs(taus - ur5.gravity(HOME)).max() < 1e-9


def test_an_arm_off_the_path_is_held_where_it_is(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5, path_tolerance=0.01)
    heard: list[DiagnosticArray] = []
    rig.hear(DiagnosticArray, "/diagnostics", heard)
    rig.publisher(JointState, "target_joint").publish(ros.joint_state(ur5.joint_names, 0, position=GOAL))
    driver.wait_for_targets(1)
    taus = driver.answers(300)
    assert np.abs(taus - ur5.gravity(HOME)).max() > 0.3
    assert np.abs(taus[-1] - ur5.gravity(HOME)).max() < 1e-9
    assert "trajectory given up, off the path: " in rig.log("joint")
    rig.spin(lambda: heard and heard[-1].status[0].message.startswith("off the path"), what="the diagnosis")


def test_after_a_brake_the_arm_is_held_where_it_is_then(rig: Rig, ur5: RobotModel):
    """The trajectory ends with the brake: enabled again, the arm does not run after it."""
    driver = Driver(rig, ur5)
    rig.publisher(JointState, "target_joint").publish(ros.joint_state(ur5.joint_names, 0, position=GOAL))
    driver.wait_for_targets(1)
    assert np.abs(driver.answers(200)[-1] - ur5.gravity(HOME)).max() > 0.5
    rig.call("joint/enable", SetBool.Request(data=False))
    driver.answers(50)
    rig.call("joint/enable", SetBool.Request(data=True))
    assert np.abs(driver.answers(200)[-1] - ur5.gravity(HOME)).max() < 1e-9


def test_when_time_starts_over_so_do_the_targets(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    target = rig.publisher(JointState, "target_joint")
    target.publish(ros.joint_state(ur5.joint_names, 10 * MS, position=GOAL))
    driver.wait_for_targets(1)
    first = driver.answers(40)
    driver.ms = 0
    np.testing.assert_array_equal(driver.answers(40), first)
    assert "outside its limits" not in rig.log("joint")
    driver.ms = 0
    driver.answers(2, START + [0.0, 0.0, 1.3, 0.0, 0.0, 0.0])
    assert rig.log("joint").count("outside its limits, and is led back: elbow_joint at 3.2000, allowed -3.1416") == 1


def test_new_gains_act_from_the_next_state_on(rig: Rig, ur5: RobotModel):
    """Those of the law, and of adaptation: what holds the arm away from its place is learnt, and pushed against."""
    from rcl_interfaces.msg import Parameter, ParameterValue
    from rcl_interfaces.srv import SetParameters

    def change(name: str, value: float) -> None:
        gain = Parameter(name=name, value=ParameterValue(type=3, double_value=value))
        response = rig.call("joint/set_parameters", SetParameters.Request(parameters=[gain]), SetParameters)
        assert response.results[0].successful

    driver = Driver(rig, ur5, adaptive_torque=True, learning_rate=0.0)
    away = START + [0.01, 0, 0, 0, 0, 0]
    driver.answers(1)
    before = driver.answers(100, away)[-1] - ur5.gravity(away)
    change("kp", 50.0)
    after = driver.answers(100, away)[-1] - ur5.gravity(away)
    np.testing.assert_allclose(after, before / 2.0, rtol=1e-9, atol=1e-9)
    change("learning_rate", 10.0)
    learnt = driver.answers(50, away)[-1] - ur5.gravity(away)
    assert learnt[0] < 1.3 * after[0] < 0.0


def test_points_survive_the_way_through_a_message(ur5: RobotModel):
    rng = np.random.default_rng(0)
    rows = [0.1 * rng.uniform(-1, 1, (3, 6)) for _ in range(3)]
    rows[1][-1] = 0.0
    for n in (1, 2, 3):
        points = Waypoints(np.array([0.0, 0.5, 1.25]), *rows[:n])
        back = waypoints_from_message(ur5, ros.joint_trajectory(ur5.joint_names, points, 0))
        for name in ("times", "qs", "vs", "as_"):
            np.testing.assert_array_equal(getattr(back, name), getattr(points, name))


@pytest.mark.parametrize(
    ("seconds", "news", "travel"),
    [(0.8, "", 0.27), pytest.param(9.5, "trajectory reached", 1.7, marks=pytest.mark.campaign)],
)
def test_the_scenario_follows_its_trajectory(rig: Rig, ur5: RobotModel, seconds: float, news: str, travel: float):
    """From its beginning, or from end to end."""
    record = rig.folder / "run.npz"
    options = ["--duration", str(seconds), "--headless", "--record", str(record)]
    assert rig.command("run", "ur5_joint", *options) == 0, rig.log("run")
    assert news in rig.log("run")
    recorded = np.load(record)
    follower = JointFollower(ur5, FollowingParameters(), HOME)
    follower.follow(load_trajectory("ur5_tour")[1], 0)
    desired = np.array([follower.desired(int(stamp)).q_des for stamp in recorded["state_stamps"]])
    assert len(desired) == round(1000 * seconds) + 1
    assert np.abs(recorded["q"] - desired).max() < 2e-4
    assert np.ptp(desired, axis=0)[0] == pytest.approx(travel, abs=0.05)


def test_a_file_and_a_trajectory_together_are_refused(rig: Rig):
    rig.start("targets", file="ur5_reach", trajectory="ur5_tour")
    assert rig.wait("targets") == 2
    assert "file, trajectory and motion: only one of them is allowed" in rig.log("targets")
