"""Figures of made-up runs: known errors give those figures, and every figure tells when its cause is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from arm_control.control import OscParameters
from arm_control.gate import GateParameters
from arm_control.maths import Array, Pose, rotation_from_vector, rotation_vector
from arm_control.model import RobotModel
from arm_control.motion import Target, TargetList
from arm_control.report import Report, make_report
from arm_control.report.figures import Figure, reaches
from arm_control.simulation import Recording, motion_record

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
STEP_NS = 10_000_000
N = 100  # states in each period of 1 s
WAY, TURN = np.array([0.12, 0.16, 0.15]), np.array([0.3, 0.0, -0.4])
LEFT, TILT = np.array([0.0, 0.0005, 0.0]), np.array([0.0, 0.0, np.radians(0.1)])

Change = Callable[["MadeUp"], Recording]


def solve_ik(model: RobotModel, X: Pose, q: Array) -> Array:
    for _ in range(8):
        now = model.pose(q)
        e = np.concatenate([X.p - now.p, rotation_vector(X.R @ now.R.T)])
        q = q + np.linalg.solve(model.jacobian(q), e)
    return q


@dataclass(frozen=True)
class MadeUp:
    """A recording, and the model to change it with."""

    model: RobotModel
    recording: Recording

    def replace(self, **arrays: Any) -> Recording:
        return replace(self.recording, **arrays)


def straight(model: RobotModel, q: Array, way: Array, turn: Array) -> tuple[Array, Array]:
    """Joint positions and velocities of a straight way at constant speed in 60 states, then rest."""
    X = model.pose(q)
    qs, vs = [], []
    for k in range(N):
        share = min(k / 60, 1.0)
        q = solve_ik(model, Pose(rotation_from_vector(share * turn) @ X.R, X.p + share * way), q)
        V = np.concatenate([way, turn]) / 0.6 * (k < 60)
        qs.append(q)
        vs.append(np.linalg.solve(model.jacobian(q), V))
    return np.array(qs), np.array(vs)


@pytest.fixture(scope="module")
def made_up(ur5: RobotModel) -> MadeUp:
    """There and back; each target is 0.5 mm and 0.1 degrees beyond the place where the arm stops."""
    there = straight(ur5, HOME, WAY, TURN)
    back = straight(ur5, there[0][-1], -WAY, -TURN)
    q = np.vstack([there[0], back[0], back[0][-1:]])
    v = np.vstack([there[1], back[1], np.zeros((1, 6))])
    stamps = np.arange(len(q)) * STEP_NS
    ends = (ur5.pose(there[0][-1]), ur5.pose(back[0][-1]))
    goals = [Pose(rotation_from_vector(TILT) @ X.R, X.p + LEFT) for X in ends]
    targets = tuple(Target(k * N * STEP_NS, "base_link", X) for k, X in enumerate(goals))
    tau = np.array([ur5.gravity(row) for row in q])
    return MadeUp(ur5, Recording(stamps, q, v, stamps, tau, targets))


def report_on(model: RobotModel, recording: Recording) -> Report:
    targets = TargetList("base_link", 1.0, 1e-3, np.radians(0.2), tuple(t.X_FT for t in recording.targets))
    return make_report(recording, model, targets, OscParameters(), GateParameters())


def test_only_straight_lines_have_speed_limits(made_up: MadeUp):
    targets = TargetList("base_link", 1.0, 1e-3, np.radians(0.2), tuple(t.X_FT for t in made_up.recording.targets))
    straight_lines = report_on(made_up.model, made_up.recording)
    plans = make_report(made_up.recording, made_up.model, targets, None, GateParameters())
    gone = {f.text for f in straight_lines.figures} - {f.text for f in plans.figures}
    assert gone == {"path off the straight line", "speed", "angular speed"}
    assert plans.reaches == straight_lines.reaches
    assert plans.success


def test_a_target_on_the_way_is_not_judged(made_up: MadeUp):
    poses = tuple(t.X_FT for t in made_up.recording.targets)
    targets = TargetList("base_link", 1.0, 1e-3, np.radians(0.2), poses, on_the_way=(True, False))
    report = make_report(made_up.recording, made_up.model, targets, None, GateParameters())
    assert [reach.number for reach in report.reaches] == [2]


def figure(report: Report, text: str) -> Figure:
    (found,) = [figure for figure in report.figures if figure.text.startswith(text)]
    return found


def test_known_errors_give_those_figures(made_up: MadeUp):
    report = report_on(made_up.model, made_up.recording)
    assert report.success
    assert all(figure.kept for figure in report.figures)
    assert [reach.number for reach in report.reaches] == [1, 2]
    for reach, way, turn in zip(report.reaches, (WAY, -WAY), (TURN, -TURN), strict=True):
        tilted = rotation_vector(rotation_from_vector(TILT) @ rotation_from_vector(turn))
        assert reach.length == pytest.approx(np.linalg.norm(way + LEFT), rel=1e-9)
        assert reach.angle == pytest.approx(np.linalg.norm(tilted), rel=1e-9)
        assert reach.position_error == pytest.approx(0.0005, rel=1e-6)
        assert reach.orientation_error == pytest.approx(np.radians(0.1), rel=1e-6)
        assert reach.speed == pytest.approx(0.25 / 0.6, rel=1e-9)
        assert reach.angular_speed == pytest.approx(0.5 / 0.6, rel=1e-9)
        off_line = np.linalg.norm(np.cross(way, way + LEFT)) / np.linalg.norm(way + LEFT) ** 2
        assert reach.straightness == pytest.approx(off_line, rel=1e-6)
    assert figure(report, "position error").value == pytest.approx(0.5, rel=1e-6)
    assert figure(report, "orientation error").value == pytest.approx(0.1, rel=1e-6)
    assert figure(report, "speed").value == pytest.approx(0.25 / 0.6, rel=1e-9)
    assert figure(report, "first torque").value == pytest.approx(0.0, abs=1e-9)
    assert figure(report, "states without").value == figure(report, "states missing").value == 0.0
    newest = report_on(made_up.model, replace(made_up.recording, has_first=False))
    assert {x.text for x in report.figures} - {x.text for x in newest.figures} == {
        "first torque, away from gravity compensation"
    }
    share = (np.abs(made_up.recording.tau) / made_up.model.tau_max).max()
    assert figure(report, "torque, share").value == pytest.approx(share, rel=1e-12)


def moved_target(made_up: MadeUp, number: int, way: Any = (0, 0, 0), turn: Any = (0, 0, 0)) -> Recording:
    targets = list(made_up.recording.targets)
    X = targets[number].X_FT
    moved = Pose(rotation_from_vector(turn) @ X.R, X.p + np.asarray(way))
    targets[number] = replace(targets[number], X_FT=moved)
    return made_up.replace(targets=tuple(targets))


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(
    ("text", "way", "turn"),
    [("position error", (0, 0.0006, 0), (0, 0, 0)), ("orientation error", (0, 0, 0), (0, 0, np.radians(0.11)))],
)
def test_a_missed_target_is_no_success(made_up: MadeUp, number: int, text: str, way: Any, turn: Any):
    report = report_on(made_up.model, moved_target(made_up, number, way, turn))
    assert not report.success
    assert next(figure.text for figure in report.figures if not figure.kept).startswith(text)
    assert str(figure(report, text)).startswith("MISS")
    reaches = [reach.position_error > 1e-3 or reach.orientation_error > np.radians(0.2) for reach in report.reaches]
    assert reaches == [number == 0, number == 1]


def test_a_run_without_a_finished_target_is_no_success(made_up: MadeUp):
    for recording in (made_up.recording.until(98 * STEP_NS), made_up.replace(targets=())):
        report = report_on(made_up.model, recording)
        assert report.reaches == ()
        assert not report.success
        assert not Report((), ()).success
        assert not figure(report, "position error").kept


def test_a_target_by_hand_is_judged_before_the_next_one(made_up: MadeUp):
    """Those of less than their period among them: later states belong to the next one."""
    by_hand = TargetList("base_link", 0.9, 1e-3, np.radians(0.2), ())
    first, second = made_up.recording.targets
    early = replace(second, stamp_ns=30 * STEP_NS)
    for target, n_states in ((second, 100), (early, 30)):
        recording = made_up.replace(targets=(first, target))
        reached = reaches(motion_record(recording, made_up.model), by_hand)
        assert [reach.number for reach in reached] == [1, 2]
        way = made_up.model.pose(made_up.recording.q[n_states - 1]).p - first.X_FT.p
        assert reached[0].position_error == pytest.approx(np.linalg.norm(way), rel=1e-9)
        assert reached[0].is_reached is (target is second)


def test_a_run_without_a_command_is_no_success(made_up: MadeUp):
    report = report_on(made_up.model, made_up.replace(command_stamps=np.zeros(0, np.int64), tau=np.zeros((0, 6))))
    assert not report.success
    assert not figure(report, "runs without a command").kept


def scaled_velocity(rows: slice, factor: float, at: int = 30) -> Change:
    def change(made_up: MadeUp) -> Recording:
        model, recording = made_up.model, made_up.recording
        J = model.jacobian(recording.q[at])
        V = J @ recording.v[at]
        V[rows] *= factor
        v = recording.v.copy()
        v[at] = np.linalg.solve(J, V)
        return made_up.replace(v=v)

    return change


def detour(made_up: MadeUp) -> Recording:
    q = made_up.recording.q.copy()
    X = made_up.model.pose(q[30])
    across = np.cross(WAY, [0, 0, 1.0])
    q[30] = solve_ik(made_up.model, Pose(X.R, X.p + 0.025 * 0.25 * across / np.linalg.norm(across)), q[30])
    return made_up.replace(q=q)


def torque(at: slice, change: Callable[[Array], Array]) -> Change:
    def changed(made_up: MadeUp) -> Recording:
        tau = made_up.recording.tau.copy()
        tau[at] = change(tau[at])
        return made_up.replace(tau=tau)

    return changed


def without_commands(*left_out: int) -> Change:
    def change(made_up: MadeUp) -> Recording:
        kept = np.delete(np.arange(len(made_up.recording.tau)), left_out)
        return made_up.replace(command_stamps=made_up.recording.command_stamps[kept], tau=made_up.recording.tau[kept])

    return change


def without_a_state(made_up: MadeUp) -> Recording:
    r, kept = made_up.recording, np.delete(np.arange(len(made_up.recording.q)), 70)
    arrays = {name: getattr(r, name)[kept] for name in ("state_stamps", "q", "v", "command_stamps", "tau")}
    return made_up.replace(**arrays)


def with_a_second_publisher(made_up: MadeUp) -> Recording:
    """Three states of the start again, each among those of much later."""
    again = np.insert(np.arange(len(made_up.recording.q)), [40, 80, 120], [0, 1, 2])
    return made_up.replace(**{name: getattr(made_up.recording, name)[again] for name in ("state_stamps", "q", "v")})


ELBOW = np.array([0, 0, 1.0, 0, 0, 0])
CAUSES = {
    "speed": (scaled_velocity(slice(0, 3), 0.51 / (0.25 / 0.6)), 0.51),
    "angular speed": (scaled_velocity(slice(3, 6), 1.02 / (0.5 / 0.6)), 1.02),
    "path off the straight line": (detour, 2.5),
    "torque, share of the joint's limit": (torque(slice(50, None), lambda tau: 0 * tau - 150.3 * ELBOW), 1.002),
    "change of torque": (torque(slice(50, None), lambda tau: tau + 20.0 * ELBOW), 2000.0),
    "first torque": (torque(slice(None), lambda tau: tau + 1.5 * ELBOW), 1.5),
    "states without a command": (without_commands(10, 20, 30), 300 / 201),
    "states missing from the record": (without_a_state, 1.0),
}


@pytest.mark.parametrize("text", CAUSES)
def test_each_figure_tells_when_its_cause_is_there(made_up: MadeUp, text: str):
    change, value = CAUSES[text]
    report = report_on(made_up.model, change(made_up))
    assert not figure(report, text).kept
    assert figure(report, text).value == pytest.approx(value, rel=0.03)
    assert str(figure(report, text)).startswith("over")
    followers = {"torque, share of the joint's limit": {"change of torque"}}.get(text, set())
    others = {figure.text for figure in report.figures if not figure.kept and not figure.text.startswith(text)}
    assert others == followers
    assert report.success  # every target was reached all the same


def test_states_of_two_publishers_are_no_good_record(made_up: MadeUp):
    report = report_on(made_up.model, with_a_second_publisher(made_up))
    disordered = figure(report, "states out of order (two publishers?)")
    assert (disordered.value, disordered.kept) == (3.0, False)
    assert str(disordered).startswith("over")
    assert "started over" not in str(report)
    assert figure(report, "states missing").value == 0.0, "which is never negative"


def test_a_plant_that_has_started_over_is_a_miss_with_a_line_of_its_own(made_up: MadeUp):
    """The targets are judged by the part since; nobody blames two publishers."""
    r = made_up.recording
    names = ("state_stamps", "q", "v", "command_stamps", "tau")
    arrays = {name: np.concatenate([getattr(r, name), getattr(r, name)]) for name in names}
    arrays["q"][: len(r.q)] += 0.05
    report = report_on(made_up.model, made_up.replace(**arrays))
    line = next(line for line in str(report).splitlines() if "started over" in line)
    assert " ".join(line.split()) == "MISS times the plant has started over 1 allowed 0"
    assert (report.success, report.has_reached_all) == (False, True)
    assert report.reaches == report_on(made_up.model, r).reaches
    assert figure(report, "states out of order (two publishers?)").kept
    assert "started over" not in str(report_on(made_up.model, r))


def test_a_target_may_be_given_in_the_frame_of_a_moving_link(made_up: MadeUp):
    """It is where the link was when the target was set."""
    first = made_up.recording.targets[0]
    X_WF = made_up.model.pose(made_up.recording.q[0], "tool0")
    moved = replace(first, frame="tool0", X_FT=X_WF.inverse() @ first.X_FT)
    report = report_on(made_up.model, made_up.replace(targets=(moved, made_up.recording.targets[1])))
    assert report.reaches[0].position_error == pytest.approx(0.0005, rel=1e-6)


def test_the_report_prints_a_line_for_each_target_and_each_figure(made_up: MadeUp):
    report = report_on(made_up.model, made_up.recording)
    lines = str(report).splitlines()
    assert len(lines) == 1 + len(report.reaches) + 1 + len(report.figures)
    assert "0.50000" in lines[1]
    assert all(line.startswith("ok") for line in lines[4:])
