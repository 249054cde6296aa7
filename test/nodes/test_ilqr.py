"""The node ``ilqr``: in lock step its torque is that of the functions; what becomes of it when planning fails."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseArray, PoseStamped
from rcl_interfaces.msg import Parameter, ParameterValue
from rcl_interfaces.srv import SetParameters
from rig import HOME, LATCHED, Rig, target
from std_msgs.msg import Float64
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker, MarkerArray

from arm_control import Pose, RobotModel, urdf_path
from arm_control.gate import EffortGate, GateParameters
from arm_control.messages import pose_from_message
from arm_control.motion import FARTHEST
from arm_control.nodes import ros
from arm_control.nodes.support.topics import LOSSLESS
from arm_control.optimal import InlinePlanner, PlanFollower, ReachPlanner, RecedingParameters
from arm_control.simulation import Scenario, Simulation

MS = 1_000_000
START, STILL = np.array(HOME), np.zeros(6)


class Driver:
    """Sends states to the node in lock step, one by one, and waits for the answer to each."""

    def __init__(self, rig: Rig, model: RobotModel, **parameters: object) -> None:
        self.rig, self.model, self.ms = rig, model, 0
        description = Path(urdf_path("ur5")).read_text()
        rig.start("ilqr", lock_step=True, publish_effort_array=False, robot_description=description, **parameters)
        self.known: list[Float64] = []
        rig.hear(Float64, "controller_state/targets", self.known, LATCHED)
        self.states = rig.state_publisher()

    def answers(self, states: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Torque for each state (q, v), shape (n, 6)."""
        before, names = len(self.rig.commands), self.model.joint_names
        for q, v in states:
            self.rig.answer(self.states, ros.joint_state(names, self.ms * MS, position=q, velocity=v))
            self.ms += 1
        return np.array([m.effort for m in self.rig.commands[before:]])

    def send(self, X: Pose, ms: int) -> None:
        """Send a target that acts from a moment on, and wait until it is known."""
        n = int(self.known[-1].data) if self.known else 0
        self.rig.publisher(PoseStamped, "target_pose").publish(target(X.p.tolist(), X, ms * 1e-3))
        self.rig.spin(lambda: self.known and self.known[-1].data == n + 1, what="the target")

    def log(self, what: str) -> None:
        self.rig.spin(lambda: what in self.rig.log("ilqr"), what=what)


class Expected:
    """The same ticks without ROS."""

    def __init__(self, model: RobotModel, X_WT: Pose, at: int, **parameters: float) -> None:
        given = RecedingParameters(**parameters)
        self.model, self.X_WT, self.at, self.ms = model, X_WT, at, 0
        self.follower = PlanFollower(model, given, InlinePlanner(ReachPlanner(model, given)), True)
        self.follower.hold(START)
        self.gate = EffortGate(model, GateParameters())

    def answers(self, states: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        return np.array([self._tick(*state) for state in states])

    def _tick(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        terms, due = self.model.evaluate(q, v), self.ms >= self.at
        torque = self.follower.tick(self.ms * MS, terms, self.X_WT if due else None, self.X_WT)
        self.gate.offer(self.model.joint_names, torque.tau)
        self.ms += 1
        return self.gate.tick(terms, 1e-3).tau


def goal(model: RobotModel) -> Pose:
    X = model.pose(HOME)
    return Pose(X.R, X.p + [-0.1, -0.3, 0.15])


def refused_goal(model: RobotModel) -> Pose:
    """A target that messages may have, and that is too far from the hand for the planner."""
    p = model.pose(HOME).p
    return Pose(np.eye(3), -(FARTHEST - 0.1) * p / np.linalg.norm(p))


def heard_goal(model: RobotModel) -> Pose:
    """The same after its way through a message."""
    X = goal(model)
    return pose_from_message(target(X.p.tolist(), X))


def states(n: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """The start, and a little about it."""
    rng = np.random.default_rng(seed)
    return [(START + rng.uniform(-1e-3, 1e-3, 6), rng.uniform(-0.01, 0.01, 6)) for _ in range(n)]


def way(start: np.ndarray, end: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """From one position to another at 2 rad/s: an arm does not jump."""
    n = round(np.abs(end - start).max() / 2e-3)
    return [(start + (end - start) * k / n, (end - start) / n * 1e3) for k in range(1, n + 1)]


@pytest.mark.parametrize("rate", [0.0, 200.0])
def test_it_holds_until_a_target_is_due_and_then_gives_the_torque_of_the_functions(rig: Rig, ur5: RobotModel, rate):
    driver = Driver(rig, ur5, replan_rate=rate)
    driver.send(goal(ur5), 10)
    sent = [(START, STILL), *states(60)]
    taus = driver.answers(sent)
    np.testing.assert_array_equal(taus, Expected(ur5, heard_goal(ur5), 10, replan_rate=rate).answers(sent))
    assert np.abs(taus[0] - ur5.gravity(HOME)).max() < 1e-9
    assert np.abs(taus[-1] - ur5.gravity(HOME)).max() > 5.0


def test_a_failed_solve_is_said_and_the_next_one_is_followed(rig: Rig, ur5: RobotModel):
    heard: list[DiagnosticArray] = []
    rig.hear(DiagnosticArray, "/diagnostics", heard)
    driver, expected = Driver(rig, ur5, replan_rate=50.0), Expected(ur5, heard_goal(ur5), 0, replan_rate=50.0)
    driver.send(goal(ur5), 0)
    np.testing.assert_array_equal(driver.answers(states(20)), expected.answers(states(20)))
    driver.send(refused_goal(ur5), 20)
    assert np.isfinite(driver.answers(states(11))).all()
    driver.log("plan refused: ")
    rig.spin(lambda: heard and heard[-1].status[0].message.startswith("no plan: "), what="the diagnosis")
    figures = {item.key: item.value for item in heard[-1].status[0].values}
    assert (figures["plans"], figures["plans failed"]) == ("1", "1")
    driver.send(goal(ur5), 31)
    driver.answers(states(20))
    rig.spin(lambda: heard[-1].status[0].message == "passing commands", what="a plan again")


def planner_of(rig: Rig) -> int:
    """Number of the planner's process."""
    rig.spin(lambda: "the planner is process" in rig.log("ilqr"), what="the planner")
    return int(re.findall(r"the planner is process (\d+)", rig.log("ilqr"))[-1])


@pytest.mark.processes
def test_without_its_planner_it_brakes_and_enabling_does_not_help(rig: Rig, ur5: RobotModel):
    heard: list[DiagnosticArray] = []
    rig.hear(DiagnosticArray, "/diagnostics", heard)
    driver = Driver(rig, ur5, replan_rate=50.0)
    driver.send(goal(ur5), 0)
    assert np.abs(driver.answers(states(40))[-1] - ur5.gravity(HOME)).max() > 5.0
    os.kill(planner_of(rig), signal.SIGKILL)
    for _ in range(2):
        taus = driver.answers([(START, STILL)] * 200)
        np.testing.assert_allclose(taus[-1], ur5.gravity(HOME), atol=1e-6)
        rig.spin(lambda: heard and heard[-1].status[0].message == "the planner has died", what="the diagnosis")
        assert rig.call("ilqr/enable", SetBool.Request(data=True)).success
        heard.clear()


def test_a_planner_that_dies_in_the_middle_of_a_motion_ends_in_a_brake(rig: Rig, ur5: RobotModel):
    patient = {"max_missed": 1000, "max_age": 5.0}
    rig.start("ilqr", publish_effort_array=False, replan_rate=50.0, **patient)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.25, **patient)
    rig.until(0.02)
    X = goal(ur5)
    rig.publisher(PoseStamped, "target_pose").publish(target(X.p.tolist(), X))
    rig.spin(lambda: max(map(abs, rig.states[-1].velocity)) > 0.7, what="motion")
    rig.processes["ilqr"].node._planner.alive = False
    rig.spin(lambda: max(map(abs, rig.states[-1].velocity)) < 0.01, what="rest")
    reached = ur5.pose(np.array(rig.states[-1].position))
    assert np.linalg.norm(reached.p - X.p) > 0.02, "it has not gone on to the target"
    rig.until(rig.time + 0.2)
    assert np.abs(np.array(rig.states[-1].effort) - ur5.gravity(rig.states[-1].position)).max() < 0.5


@pytest.mark.campaign
@pytest.mark.parametrize("seconds", [0.03, 1.0, 10.0])
def test_a_planner_stopped_for_a_while_moves_nothing_when_it_goes_on(rig: Rig, ur5: RobotModel, seconds: float):
    """In simulated time; a plan made for a state of long ago is not followed."""
    patient = {"max_missed": 1000, "max_age": 5.0}
    rig.start("ilqr", publish_effort_array=False, replan_rate=50.0, **patient)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.25, **patient)
    rig.until(0.02)
    X = goal(ur5)
    rig.publisher(PoseStamped, "target_pose").publish(target(X.p.tolist(), X))
    rig.spin(lambda: max(map(abs, rig.states[-1].velocity)) > 0.7, what="motion")
    planner = planner_of(rig)
    os.kill(planner, signal.SIGSTOP)
    rig.until(rig.time + seconds)
    os.kill(planner, signal.SIGCONT)
    rig.until(rig.time + 1.0)
    efforts = np.array([state.effort for state in rig.states if state.effort])
    assert np.abs(np.diff(efforts, axis=0)).max() <= 1.0 + 1e-6
    assert max(map(abs, rig.states[-1].velocity)) < 0.3
    assert rig.processes["ilqr"].poll() is None


def test_after_a_brake_it_plans_for_a_new_target_from_where_the_arm_is(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    driver.send(goal(ur5), 0)
    driver.answers(states(40))
    rig.call("ilqr/enable", SetBool.Request(data=False))
    away = START + 0.05
    driver.answers(way(START, away))
    assert np.abs(driver.answers([(away, STILL)] * 150)[-1] - ur5.gravity(away)).max() < 1e-6
    rig.call("ilqr/enable", SetBool.Request(data=True))
    assert np.abs(driver.answers([(away, STILL)] * 50) - ur5.gravity(away)).max() < 1e-6, "the old target has ended"
    driver.send(goal(ur5), driver.ms)
    planner = ReachPlanner(ur5, RecedingParameters())
    plan = planner.plan(driver.ms * MS, np.concatenate([away, STILL]), heard_goal(ur5))
    gate, t, expected = EffortGate(ur5, GateParameters()), ur5.evaluate(away, STILL), []
    for k in range(10):
        gate.offer(ur5.joint_names, plan.command(k * 1e-3, t).tau)
        expected.append(gate.tick(t, 1e-3).tau)
    np.testing.assert_allclose(driver.answers([(away, STILL)] * 10), expected, atol=1e-6)
    assert np.abs(expected[-1] - t.g).max() > 5.0


def test_plan_figures_and_path_are_published(rig: Rig, ur5: RobotModel):
    heard: dict[str, list[Float64]] = {
        name: [] for name in ("plan_cost", "plan_iterations", "plan_ms", "tube_error", "position_error")
    }
    paths: list[PoseArray] = []
    lines: list[MarkerArray] = []
    for name, where in heard.items():
        rig.hear(Float64, f"controller_state/{name}", where)
    rig.hear(PoseArray, "planned_path", paths, LOSSLESS)
    rig.hear(MarkerArray, "plan_markers", lines, LOSSLESS)
    begun = time.monotonic()
    driver = Driver(rig, ur5)
    driver.send(goal(ur5), 0)
    driver.answers([(START, STILL)] * 60)
    rig.spin(lambda: all(heard.values()) and paths and lines, what="figures and path")
    plan = ReachPlanner(ur5, RecedingParameters()).plan(0, np.concatenate([START, STILL]), heard_goal(ur5))
    assert heard["plan_cost"][0].data == plan.cost
    assert heard["plan_iterations"][0].data == plan.iterations
    assert 0.0 < heard["plan_ms"][0].data < 1e3 * (time.monotonic() - begun)
    assert heard["position_error"][0].data == pytest.approx(0.35)
    tube = np.abs(plan.state(0.04)[:6] - START).max()
    rig.spin(lambda: any(message.data == pytest.approx(tube, abs=1e-9) for message in heard["tube_error"]), what="tube")
    ends = [ur5.pose(plan.xs[k, :6]).p for k in (0, -1)]
    for points in ([pose.position for pose in paths[0].poses], lines[0].markers[0].points):
        assert len(points) == 11
        for point, p in zip((points[0], points[-1]), ends, strict=True):
            np.testing.assert_allclose([point.x, point.y, point.z], p, atol=1e-12)
    assert lines[0].markers[0].type == Marker.LINE_STRIP
    assert paths[0].header.frame_id == lines[0].markers[0].header.frame_id == ur5.base


def test_what_it_must_not_reach_for_is_refused(rig: Rig, ur5: RobotModel):
    driver = Driver(rig, ur5)
    publisher = rig.publisher(PoseStamped, "target_pose")
    X = goal(ur5)
    publisher.publish(target(X.p.tolist(), X, frame="nowhere"))
    driver.log("target_pose refused: unknown frame 'nowhere'")
    publisher.publish(target([np.nan, 0.0, 0.0], X))
    driver.log("target_pose refused: position")
    rig.spin(lambda: bool(driver.known), what="the number of targets")
    assert driver.known[-1].data == 0.0
    np.testing.assert_allclose(driver.answers([(START, STILL)] * 3)[-1], ur5.gravity(HOME), atol=1e-9)


def test_tube_and_rate_may_change_while_it_runs(rig: Rig, ur5: RobotModel):
    driver, expected = Driver(rig, ur5), Expected(ur5, heard_goal(ur5), 0)
    driver.send(goal(ur5), 0)
    away = [*way(START, START + 0.02), *[(START + 0.02, STILL)] * 30]
    np.testing.assert_array_equal(driver.answers(away), expected.answers(away))
    tube = Parameter(name="tube", value=ParameterValue(type=3, double_value=0.01))
    weight = Parameter(name="position_weight", value=ParameterValue(type=3, double_value=1.0))
    asked = SetParameters.Request(parameters=[tube, weight])
    results = rig.call("ilqr/set_parameters", asked, SetParameters).results
    assert [result.successful for result in results] == [True, False]
    expected.follower.parameters = expected.follower.parameters.replace(tube=0.01)
    astray = [*way(START + 0.02, START - 0.1), *[(START - 0.1, STILL)] * 30]
    np.testing.assert_array_equal(driver.answers(astray), expected.answers(astray))
    assert expected.follower.plan.stamp_ns > 0


def headless(rig: Rig, name: str, seconds: float) -> dict[str, np.ndarray]:
    """The scenario from its start, in lock step."""
    file = rig.folder / f"{name}.npz"
    command = ["run", "ur5_ilqr", "--duration", str(seconds), "--headless"]
    assert rig.command(*command, "--record", str(file)) in (0, 1), rig.log("run")
    with np.load(file) as saved:
        return dict(saved)


def test_two_runs_in_lock_step_are_the_same_to_the_last_bit_and_what_a_simulation_gives(rig: Rig):
    """The simulation has its targets without the rounding of a message."""
    one, two = headless(rig, "one", 1.0), headless(rig, "two", 0.3)
    assert one["state_stamps"].tolist() == list(range(0, 1_000_000_001, MS))
    assert two["state_stamps"].tolist() == list(range(0, 300_000_001, MS))
    assert np.ptp(two["q"], axis=0).max() > 0.5
    for name, values in two.items():
        np.testing.assert_array_equal(one[name][:301], values, err_msg=name)
    trace = Simulation(Scenario.load("ur5_ilqr")).run(1.0)
    np.testing.assert_allclose(one["q"][:1000], trace.q, rtol=0, atol=2e-3)
    assert np.ptp(trace.q, axis=0).max() > 0.8
