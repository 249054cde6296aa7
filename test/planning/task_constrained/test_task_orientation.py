"""Tasks with an orientation or a direction: path, motion laws, plans and certificates, against Pinocchio and SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from line_task import check_blocked, least_share
from scipy.spatial.transform import Rotation

from arm_control import RobotModel, urdf_path
from arm_control.collision import Validity
from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import State
from arm_control.planning import (
    Plan,
    SearchOutcome,
    TaskConstrainedProblem,
    TaskOrientation,
    TaskParameters,
    TaskPlanner,
    direction,
    line,
    orientation,
)
from arm_control.planning import task_feasibility as feasibility
from arm_control.planning.motion_laws import curvature, path_point, slope, task_at
from arm_control.planning.task_feasibility import known_points, new_posture_search, why_blocked
from arm_control.simulation import IndependentArm

DOWN, TILTED = [0.0, 0.0, -1.0], [0.4, 0.2, -0.9]
QUAT, TURNED = [1.0, 0.0, 0.0, 0.0], [0.9, 0.3, 0.1, -0.2]
TASKS: dict[str, TaskOrientation] = {
    "direction": direction("z", DOWN),
    "other axis": direction("x", DOWN, [0.3, 0.1, -0.9]),
    "tilts": direction("z", DOWN, TILTED),
    "whole": orientation(QUAT),
    "turns": orientation(QUAT, TURNED),
}
LINE = line([0.45, -0.15, 0.3], [0.55, 0.2, 0.35])
N, PIECE, U = 40, 15, 0.01
S = PIECE / N + U
"""The place on the path that the laws are looked at."""
BENT = np.array([0.1, 0.2, 0.0, -1.9, 0.1, 2.1, 0.8])
V_MAX = np.full(7, 1.0)


@pytest.fixture(scope="module")
def panda() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("panda"))


@pytest.fixture(scope="module")
def arm(panda: RobotModel) -> IndependentArm:
    return IndependentArm(panda, ())


def task_path(name: str):
    return replace(LINE, orientation=TASKS[name])


def posture(panda: RobotModel, name: str, s: float) -> Array:
    """A posture at a place of the path."""
    (R,), p = TASKS[name].at([s]), LINE.at([s]).y[0]
    rows = "x y z " + " ".join(("rx", "ry", "rz")[row - 3] for row in TASKS[name].rows)
    found = InverseKinematics(panda, rows, task_frame="end_effector", tolerance=1e-11).solve(Pose(R, p), BENT)
    assert found.converged
    return found.q


def off(name: str, X: Pose, s: float) -> float:
    """Angle between the end effector and the task, by SciPy [rad]."""
    turned = TASKS[name]
    R = (Rotation.from_rotvec(s * turned.turn) * Rotation.from_matrix(turned.R)).as_matrix()
    if not turned.axis:
        return float(Rotation.from_matrix(R @ X.R.T).magnitude())
    k = "xyz".index(turned.axis)
    return float(np.linalg.norm(np.cross(R[:, k], X.R[:, k])))


# -- the path


@pytest.mark.parametrize("name", TASKS)
def test_orientations_are_those_of_scipy(name: str):
    rng, turned = np.random.default_rng(0), TASKS[name]
    s, R = rng.random(20), Rotation.random(20, random_state=1).as_matrix()
    measured = turned.angles(s, R)
    for place, angle, matrix in zip(s, measured, R, strict=True):
        expected = off(name, Pose(matrix, np.zeros(3)), place)
        assert (angle if not turned.axis else np.sin(angle)) == pytest.approx(expected, abs=1e-9)


def test_directions_and_orientations_go_from_one_to_the_other():
    tilts, turns = TASKS["tilts"].at([0.0, 0.5, 1.0])[:, :, 2], TASKS["turns"].at([0.0, 1.0])
    end = np.array(TILTED) / np.linalg.norm(TILTED)
    middle = (end + DOWN) / np.linalg.norm(end + DOWN)
    np.testing.assert_allclose(tilts, [DOWN, middle, end], atol=1e-12)
    np.testing.assert_allclose(turns, Rotation.from_quat([QUAT, TURNED]).as_matrix(), atol=1e-12)
    for axis, column in (("x", 0), ("y", 1), ("z", 2)):
        R = direction(axis, TILTED).R
        np.testing.assert_allclose(R[:, column], end, atol=1e-12)
        assert np.linalg.det(R) == pytest.approx(1.0)
    targets = task_path("tilts").targets([0.0, 1.0])
    np.testing.assert_allclose(targets[:, [2, 5, 8]], [DOWN, end], atol=1e-12)
    np.testing.assert_allclose(targets[:, 9:], [[0.45, -0.15, 0.3], [0.55, 0.2, 0.35]])
    angles = task_path("tilts").pieces(4)[:, :2, 3]
    np.testing.assert_allclose(angles[:, 0], TASKS["tilts"].angle * np.array([0.0, 0.25, 0.5, 0.75]))
    np.testing.assert_allclose(angles[:, 1], TASKS["tilts"].angle)


def test_what_is_no_orientation_is_refused():
    for arguments, sentence in (
        (("w", DOWN), "axis = 'w'; allowed: x, y, z of the end effector"),
        (("z", [0.0, 0.0]), r"along = \[0.0, 0.0\]: three numbers, not all zero"),
        (("z", DOWN, [0.0, 0.0, 0.0]), r"end = \[0.0, 0.0, 0.0\]: three numbers"),
        (("z", DOWN, [0.0, 0.0, 2.0]), "opposite directions"),
    ):
        with pytest.raises(InputError, match=sentence):
            direction(*arguments)
    with pytest.raises(InputError, match="with an orientation x, y and z are needed"):
        replace(line([0.0, 0.0], [1.0, 0.0]), orientation=TASKS["whole"])
    ur5 = Validity(RobotModel.from_urdf(urdf_path("ur5")))
    with pytest.raises(InputError, match="a task of 6 rows leaves 6 joints nothing to choose"):
        TaskConstrainedProblem(ur5, task_path("whole"), 5.0)
    assert TaskConstrainedProblem(ur5, task_path("direction"), 5.0).path.task_rows == (0, 1, 2, 3, 4)


# -- the motion laws


def inputs(name: str, d: float) -> dict[str, Array]:
    turned = TASKS[name]
    numbers = {"direction": [d], "rate": [0.1], "gain": [40.0], "gains": [1600.0, 80.0, 40.0]}
    arrays = {key: np.array(value) for key, value in numbers.items()}
    w = np.array([1.0, -2.0, 1.5, 0.5, -1.0, 1.0, 3.0])
    return {**arrays, "v_max": V_MAX, "w": w, "R_WT": turned.R.ravel(), "axis": turned.turning_axis}


@pytest.mark.parametrize("d", [1.0, -1.0, 0.0])
@pytest.mark.parametrize("name", TASKS)
def test_laws_keep_the_task_to_second_order(name: str, d: float, panda: RobotModel, arm: IndependentArm):
    """From a posture on the path, along q_r and q_rr; a part of q_r is null motion, about the axis, too."""
    q, i, rows = posture(panda, name, S), inputs(name, d), task_path(name).task_rows
    point = path_point(task_path(name).pieces(N)[PIECE].ravel(), U)
    q_r = slope(task_at(State(panda.tree, {"q": q}), rows, point, i), i)
    still = slope(task_at(State(panda.tree, {"q": q}), rows, point, i | {"w": np.zeros(7)}), i | {"w": np.zeros(7)})
    assert np.linalg.norm(q_r - still) > 0.1
    state = State(panda.tree, {"q": q, "v": q_r})
    q_rr, *_ = curvature(state, point, q_r, 0.1, i, rows)
    for h in (1e-3, -1e-3):
        first, second = q + h * q_r, q + h * q_r + 0.5 * h * h * q_rr
        s = S + d * h
        assert np.linalg.norm(arm.pose(first).p - LINE.at([s]).y[0]) < 2e-5
        assert off(name, arm.pose(first), s) < 2e-5
        assert np.linalg.norm(arm.pose(second).p - LINE.at([s]).y[0]) < 2e-8
        assert off(name, arm.pose(second), s) < 2e-8


@pytest.mark.parametrize("name", TASKS)
def test_an_angle_decays(name: str, panda: RobotModel, arm: IndependentArm):
    q, i, rows = posture(panda, name, S), inputs(name, 0.0), task_path(name).task_rows
    q += 1e-3 * np.random.default_rng(0).normal(size=7)
    point = path_point(task_path(name).pieces(N)[PIECE].ravel(), U)
    q_r = slope(task_at(State(panda.tree, {"q": q}), rows, point, i), i)
    before, after = (off(name, arm.pose(x), S) for x in (q, q + 1e-4 * q_r))
    assert before > 3e-4
    assert (before - after) / (1e-4 * before) == pytest.approx(40.0, rel=0.02)


# -- plans


BALL = Obstacle(Sphere(0.08), Pose.at([0.3, -0.6, 0.62]), [0.0, 0.15, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def validity(panda: RobotModel) -> Validity:
    return Validity(panda)


def problem(validity: Validity, name: str, **changes: object) -> TaskConstrainedProblem:
    q = posture(validity.shape.model, name, 0.0)
    return TaskConstrainedProblem(validity, task_path(name), 15.0, q, V_MAX, **changes)


def assert_keeps_the_task(name: str, plan: Plan, arm: IndependentArm) -> None:
    q, s = plan.at(np.linspace(0.0, plan.duration, 201))
    poses = [arm.pose(state) for state in q]
    assert max(np.linalg.norm(X.p - y) for X, y in zip(poses, LINE.at(s).y, strict=True)) < 3e-5
    assert max(off(name, X, place) for X, place in zip(poses, s, strict=True)) < 3e-5
    assert s[-1] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("name", "kind"), [("tilts", {}), ("turns", {}), ("tilts", {"a_max": np.full(7, 4.0)})])
def test_plans_keep_the_orientation(name: str, kind: dict, validity: Validity, arm: IndependentArm):
    validity.place([BALL])
    planner = TaskPlanner(problem(validity, name, **kind))
    plan = planner.plan(0)
    assert plan.is_found, plan.reason
    assert_keeps_the_task(name, plan, arm)
    better = planner.improve(plan, 3)
    assert better.duration < plan.duration or kind  # from rest to rest the first one is direct
    assert_keeps_the_task(name, better, arm)
    times = np.linspace(0.0, better.duration, 301)
    assert validity.free_states(better.at(times)[0], times).all()


def test_a_start_that_is_turned_is_refused(validity: Validity):
    turned = problem(validity, "whole")
    q = turned.q_start + np.eye(7)[6] * 0.1  # about the tool's own axis
    with pytest.raises(InputError, match=r"the start is turned by 0\.1 rad from the orientation at the begin"):
        TaskPlanner(replace(turned, q_start=q))
    pen = problem(validity, "direction")
    TaskPlanner(replace(pen, q_start=pen.q_start + np.eye(7)[6] * 0.1))  # which may turn
    along = replace(LINE, orientation=direction("z", TILTED))
    with pytest.raises(InputError, match=r"the start is turned by .* rad from the direction of z at the begin"):
        TaskPlanner(replace(pen, path=along, q_start=pen.q_start))


def test_an_orientation_that_is_out_of_reach_is_no_plan(validity: Validity):
    """Upwards from below: the hand is long, and its tip is at the table."""
    up = replace(line([0.75, 0.0, 0.05], [0.75, 0.1, 0.05]), orientation=direction("z", [0.0, 0.0, 1.0]))
    free = TaskPlanner(TaskConstrainedProblem(validity, replace(up, orientation=None), 5.0), TaskParameters(rounds=1))
    assert free.plan().outcome is not SearchOutcome.UNREACHABLE
    plan = TaskPlanner(TaskConstrainedProblem(validity, up, 5.0), TaskParameters(rounds=1)).plan()
    assert plan.outcome is SearchOutcome.UNREACHABLE
    assert plan.reason.startswith(
        "the task cannot be held with its orientation at s = 0, x = 0.75, y = 0, z = 0.05 m: "
    )


# -- what is certain


def test_a_pen_blocks_its_path_above_the_tip(validity: Validity):
    """What is beside the tip is touched by a pen that is held upright there, and by no other."""
    pen, whole = problem(validity, "direction"), problem(validity, "whole")
    free = replace(pen, path=LINE)
    assert len(known_points(free)[0]) <= 1
    along, _ = known_points(pen)
    np.testing.assert_array_equal(along[:, :2], 0.0)
    assert along[:, 2].min() < -0.05
    assert known_points(whole)[0][:, 2].min() < -0.05
    across, _ = known_points(problem(validity, "other axis"))  # the hand is long across the axis x, and thin along it
    np.testing.assert_array_equal(across[:, 1:], 0.0)
    assert len(across)
    validity.place([Obstacle(Sphere(0.02), Pose.at([*LINE.at([0.5]).y[0, :2], 0.42]))])
    assert why_blocked(free) == ""
    assert "the task path lies in obstacle 0" in why_blocked(pen)
    assert "the task path lies in obstacle 0" in why_blocked(whole)


@pytest.mark.parametrize("name", ["tilts", "turns"])
def test_every_posture_at_a_blocked_place_is_in_contact(name: str, validity: Validity):
    rng, task = np.random.default_rng(2), problem(validity, name)
    search, n_blocked = new_posture_search(task), 0
    for _ in range(6):
        away = rng.uniform(0.0, 0.1) * -TASKS[name].at([0.5])[0][:, 2] + rng.normal(0.0, 0.01, 3)
        validity.place([Obstacle(Sphere(rng.uniform(0.01, 0.04)), Pose.at(LINE.at([0.5]).y[0] + away))])
        n_blocked += check_blocked(task, search, rng, 5)
    assert n_blocked >= 8


def test_torque_at_the_start_is_bounded_by_a_linear_program(validity: Validity):
    task = problem(validity, "tilts", tau_max=np.full(7, 50.0))
    model, q = task.model, task.q_start
    tau_max = 0.3 * np.abs(model.gravity(q)) + 0.1
    J, y_s = feasibility.task_rates(task, q, 0.0)
    h = 1e-6
    ahead = task.path.orientation.at([h])[0]  # the direction z of the task, seen in the end effector's axes
    R = model.pose(q).R
    np.testing.assert_allclose((R.T @ ahead[:, 2])[:2] / h, [y_s[4], -y_s[3]], atol=1e-4)
    expected = least_share(task, J, y_s, tau_max)
    computed = feasibility._share_at_start(task, tau_max)
    assert 0.6 * expected <= computed <= expected + 1e-9
