"""Rows and frames of a task: the error of what is controlled, whatever else turns."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from arm_control.control import orientation_error, pose_error, pose_errors, rotate_to, rows_of, task_rotation
from arm_control.control.osc.task import TWIST_ROWS
from arm_control.exceptions import ParameterError
from arm_control.maths import Pose, rotation_from_vector


def poses(seed: int, n: int = 12) -> list[tuple[Pose, Pose]]:
    rng = np.random.default_rng(seed)
    return [
        (Pose(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)),
         Pose(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)))
        for _ in range(n)
    ]  # fmt: skip


def test_rows_are_read_by_name():
    assert rows_of(["z x", "ry"]) == ((0, 2), (4,))
    assert rows_of([]) == ()
    assert rows_of([" ".join(TWIST_ROWS)]) == (tuple(range(6)),)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [(["x q"], "unknown q; allowed: x y z rx ry rz"), (["x", "x y"], "no row may come twice"), ([""], "needs rows")],
)
def test_tasks_that_make_no_sense_are_refused(tasks: list[str], message: str):
    with pytest.raises(ParameterError, match=message):
        rows_of(tasks)


@pytest.mark.parametrize("frame", ["world", "end_effector", "target"])
def test_all_rows_are_the_pose_error_along_other_axes(frame: str):
    for X_WE, X_WT in poses(0):
        R_WF = task_rotation(frame, X_WE, X_WT)
        expected = np.concatenate(
            [X_WT.p - X_WE.p, (Rotation.from_matrix(X_WT.R) * Rotation.from_matrix(X_WE.R).inv()).as_rotvec()]
        )
        np.testing.assert_allclose(
            pose_error(X_WE, X_WT, range(6), R_WF), rotate_to(R_WF, expected), rtol=0, atol=1e-9
        )  # fmt: skip


def test_many_errors_at_once_are_those_one_by_one():
    X_WE, X_WT = map(list, zip(*poses(3), strict=True))
    X_WE += [X_WE[0], X_WE[1]]
    X_WT += [X_WE[0], Pose(Rotation.from_euler("y", 180, degrees=True).as_matrix() @ X_WE[1].R, X_WT[1].p)]
    expected = np.array(list(map(pose_error, X_WE, X_WT)))
    np.testing.assert_allclose(pose_errors(X_WE, X_WT), expected, rtol=0, atol=1e-14)
    assert pose_errors([], []).shape == (0, 6)


@pytest.mark.parametrize("free", [0, 1, 2])
def test_two_turns_see_the_angle_of_the_free_axis_and_no_spin_about_it(free: int):
    rows = tuple(row for row in (3, 4, 5) if row - 3 != free)
    axis = np.eye(3)[free]
    for X_WE, X_WT in poses(2):
        e = pose_error(X_WE, X_WT, rows, X_WE.R)
        assert e[3 + free] == 0.0
        cosine = X_WE.R[:, free] @ X_WT.R[:, free]
        assert np.linalg.norm(e) == pytest.approx(np.arccos(np.clip(cosine, -1, 1)), abs=1e-7)
        np.testing.assert_allclose(
            X_WE.R @ rotation_from_vector(e[3:]) @ axis, X_WT.R[:, free], rtol=0, atol=1e-12
        )  # fmt: skip
        spun = Pose(X_WT.R @ rotation_from_vector(1.7 * axis), X_WT.p)
        np.testing.assert_allclose(pose_error(X_WE, spun, rows, X_WE.R), e, rtol=0, atol=1e-12)


def test_turns_are_exact_at_every_angle():
    for angle, k in product([*np.geomspace(1e-12, 3.1, 15), np.pi], range(3)):
        np.testing.assert_allclose(
            orientation_error(rotation_from_vector(angle * np.eye(3)[k]), [k]),
            angle * np.eye(3)[k],
            rtol=1e-9,
            atol=1e-15,
        )
        if angle < 3.12:
            e = orientation_error(rotation_from_vector(angle * np.eye(3)[k]), sorted({k, (k + 1) % 3}))
            np.testing.assert_allclose(e, angle * np.eye(3)[k], rtol=1e-9, atol=1e-15)


def test_an_axis_the_opposite_way_has_no_nearest_way_round():
    np.testing.assert_allclose(orientation_error(rotation_from_vector([np.pi, 0, 0]), [0, 1]), np.zeros(3), atol=4.0)
    assert np.isfinite(orientation_error(np.diag([1.0, -1.0, -1.0]), [0, 1])).all()
