"""The motion laws against identities and differences; the signs that the source documents have wrong make them fail."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array
from arm_control.model import State
from arm_control.planning import TaskPath, circle
from arm_control.planning.motion_laws import curvature, path_point, slope, task_at

ROWS, H = [0, 1], 1e-4
Q = np.array([0.9, -1.2, -0.9, 0.3])
U = 0.01
"""Place on the fourth of 40 pieces of the path, a millimetre or two beside the end effector."""
ANGLE = 2.0 * np.pi * (3 / 40 + U)
END = 0.5 * np.array([np.cos(np.cumsum(Q)).sum(), np.sin(np.cumsum(Q)).sum()])
PATH: TaskPath = circle(END + [0.001, -0.002] - 0.4 * np.array([np.cos(ANGLE), np.sin(ANGLE)]), 0.4)
PIECE = PATH.pieces(40)[3].ravel()
GAINS = {"gain": np.array([40.0]), "gains": np.array([1600.0, 80.0, 40.0])}


@pytest.fixture(scope="module")
def planar4() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar4"))


def inputs(direction: float, rate: float = 0.1) -> dict[str, Array]:
    numbers = {"direction": np.array([direction]), "rate": np.array([rate]), "v_max": np.full(4, 0.5)}
    return {**numbers, **GAINS, "w": np.array([3.0, -2.0, 1.0, 4.0])}


def kinematic(model: RobotModel, q: Array, i: dict[str, Array]) -> tuple[Array, Array, Array]:
    """q_r, the Jacobian and the error of the task."""
    point = path_point(PIECE, U)
    task = task_at(State(model.tree, {"q": q}), ROWS, point, i)
    return slope(task, i), task.J, task.e


@pytest.mark.parametrize("direction", [1.0, -1.0, 0.0])
def test_the_task_is_followed_in_the_direction_and_its_error_decays_in_each(planar4: RobotModel, direction: float):
    """T3: the sign of y_d' is that of the direction; that of K e is always the same."""
    q_r, J, e = kinematic(planar4, Q, inputs(direction))
    y_s = path_point(PIECE, U).y_s
    np.testing.assert_allclose(J @ q_r, direction * y_s + 40.0 * e, atol=1e-6)
    wrong = J @ q_r - (y_s + 40.0 * e)
    assert direction == 1.0 or np.abs(wrong).max() > 0.1


def test_the_residual_takes_the_room_that_the_speed_limits_leave_and_no_more(planar4: RobotModel):
    fast, slow = (kinematic(planar4, Q, inputs(0.0, rate))[0] for rate in (0.2, 1e-3))
    assert 0.2 * np.abs(fast).max() == pytest.approx(0.5, rel=1e-6)
    J = planar4.jacobian(Q)[:2]
    e = path_point(PIECE, U).y - planar4.pose(Q).p[:2]
    w = inputs(0.0)["w"]
    lead = np.linalg.pinv(J) @ (40.0 * e)
    np.testing.assert_allclose(slow, lead + w - np.linalg.pinv(J) @ (J @ w), atol=1e-5)


def dynamic(model: RobotModel, q: Array, q_r: Array, i: dict[str, Array]) -> Array:
    return curvature(State(model.tree, {"q": q, "v": q_r}), path_point(PIECE, U), q_r, 0.1, i, ROWS)[0]


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_the_acceleration_of_the_task_is_that_of_the_path_and_the_feedback(planar4: RobotModel, direction: float):
    """T1: J_r q_r is taken off, and the null space is that of 1 - J# J."""
    i, point = inputs(direction), path_point(PIECE, U)
    q_r = kinematic(planar4, Q, i)[0] + np.array([0.1, 0.2, -0.1, 0.3])
    q_rr = dynamic(planar4, Q, q_r, i)
    J = planar4.jacobian(Q)[:2]
    e, e_r = point.y - planar4.pose(Q).p[:2], direction * point.y_s - J @ q_r
    expected = point.y_ss + 1600.0 * e + 80.0 * e_r

    def y(r: float) -> Array:
        return planar4.pose(Q + r * q_r + 0.5 * r * r * q_rr).p[:2]

    measured = (y(H) - 2.0 * y(0.0) + y(-H)) / H**2
    scale = np.abs(expected).max()
    np.testing.assert_allclose(measured, expected, atol=1e-4 * scale)
    J_r_q_r = State(planar4.tree, {"q": Q, "v": q_r}).Jdot_v[:2]
    for wrong in (q_rr + 2.0 * np.linalg.pinv(J) @ J_r_q_r, q_rr + np.linalg.pinv(J) @ J_r_q_r):
        assert np.abs(J @ wrong + J_r_q_r - expected).max() > 1e-3 * scale
