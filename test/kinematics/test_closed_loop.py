"""The inverse kinematics of the lab: its iterations, minima, and what its hyper-parameters do."""

from __future__ import annotations

import numpy as np
import pytest
from closed_loop import closed_loop, position_and_roll, with_low_torque, with_posture

from arm_control.core import urdf_path
from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Pose, rpy_from_rotation, wrap_angle
from arm_control.model import RobotModel

ELBOW_UP, Q_0 = (0.5, -1.5, 1.0, -np.pi), (np.pi, -np.pi / 8, -np.pi / 6, 0.0)
TARGET, OUTSIDE, ROLL = (-0.5, -0.2, 0.5), (-1.0, -0.2, 0.5), np.pi / 3
POSTURE = np.array([0.0, 0.8, -0.8, -0.8, -0.8, 0.0])


@pytest.fixture(scope="module")
def ur4() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur4"))


@pytest.fixture(scope="module")
def ur5_lab() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur5_lab"), tip="ee_link")


def test_the_line_search_takes_ten_steps_and_q0_five(ur4: RobotModel):
    task = position_and_roll(ur4, TARGET, ROLL)
    for start, iterations in ((ELBOW_UP, 10), (Q_0, 5)):
        result = closed_loop(task, start)
        assert (result.converged, result.iterations) == (True, iterations)
        X = ur4.pose(result.q)  # checked by forward kinematics
        np.testing.assert_allclose([*X.p, rpy_from_rotation(X.R)[0]], [*TARGET, ROLL], rtol=0, atol=1e-7)
    without = closed_loop(task, ELBOW_UP, line_search=False)
    assert without.converged
    assert without.iterations > 10  # how many depends on the last bit
    assert (np.diff(without.errors) > 0.0).any()
    assert (np.diff(closed_loop(task, ELBOW_UP).errors) <= 0.0).all()


def test_the_error_after_three_four_and_five_steps(ur4: RobotModel):
    task = position_and_roll(ur4, TARGET, ROLL)
    errors = [closed_loop(task, Q_0, max_iterations=n).errors[-1] for n in (3, 4, 5)]
    np.testing.assert_allclose(errors, [9.58e-3, 1.13e-4, 1.51e-8], rtol=0.005)


def test_there_are_four_solutions(ur4: RobotModel):
    task = position_and_roll(ur4, TARGET, ROLL)
    starts = np.random.default_rng(0).uniform(-np.pi, np.pi, (24, 4))
    found: list[Array] = []
    for result in (closed_loop(task, start, tolerance=1e-9) for start in starts):
        q = wrap_angle(result.q)
        if result.converged and result.errors[-1] < 1e-8 and all(np.abs(wrap_angle(q - x)).max() > 1e-3 for x in found):
            found.append(q)
    expected = [
        [-2.96708, -1.38591, 1.49041, -2.19890], [-2.96708, 0.03058, -1.49041, -0.63457],
        [0.58650, -3.09602, 1.10098, -0.09936], [0.58650, -2.04422, -1.10098, 1.05080],
    ]  # fmt: skip
    np.testing.assert_allclose(sorted(found, key=lambda q: q.round(3).tolist()), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("regularisation", "iterations", "error"), [(1e-8, 200, 0.31982), (0.01, 23, 0.20804)])
def test_a_target_outside_needs_regularisation(ur4: RobotModel, regularisation: float, iterations: int, error: float):
    result = closed_loop(position_and_roll(ur4, OUTSIDE, ROLL), ELBOW_UP, regularisation=regularisation)
    assert (result.converged, result.iterations) == (iterations < 200, iterations)
    np.testing.assert_allclose(result.errors[-1], error, rtol=0, atol=5e-6)


def test_the_flow_charts_decrease_breaks_the_regularised_iteration(ur4: RobotModel):
    task = position_and_roll(ur4, OUTSIDE, ROLL)
    result = closed_loop(task, ELBOW_UP, regularisation=0.01, decrease=0.5)
    assert not result.converged
    assert result.errors[-1] > 0.5


@pytest.mark.parametrize(("weight", "distances"), [(1e-3, (1.3397, 2.6387)), (1e-2, (1.3391, 2.6295))])
def test_a_posture_has_two_minima(ur5_lab: RobotModel, weight: float, distances: tuple[float, float]):
    """From zero, and from starts near zero: the nearest posture is not always the same."""
    tolerance = min(1e-9, 1e-3 * weight**2)
    task = position_and_roll(ur5_lab, (0.5, -0.2, 0.5))
    both = with_posture(task, POSTURE, weight, tolerance)
    starts = [np.zeros(6), *np.random.default_rng(0).normal(0.0, 0.1, (12, 6))]
    results = [closed_loop(both, start, regularisation=0.0, tolerance=tolerance) for start in starts]
    assert all(result.converged for result in results)
    for result in results:
        e, J = both(result.q)
        assert np.linalg.norm(J.T @ e) < 1e-9
        assert np.linalg.norm(task(result.q)[0]) < 20.0 * weight**2
    found = np.array([np.linalg.norm(result.q - POSTURE) for result in results])
    np.testing.assert_allclose(found[0], distances[0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(np.unique(found.round(4)), distances, rtol=0, atol=1.1e-4)


def test_the_middle_of_the_ranges_and_the_least_gravity_torque_are_postures(ur5_lab: RobotModel):
    task = position_and_roll(ur5_lab, (0.5, -0.2, 0.5))
    middle, start = (ur5_lab.q_min + ur5_lab.q_max) / 2.0, np.array(POSTURE) + 0.3
    near = closed_loop(with_posture(task, middle, 1e-2, 1e-8), start, regularisation=0.0, tolerance=1e-8)
    light = closed_loop(with_low_torque(task, ur5_lab, 1e-3, 1e-9), start, tolerance=1e-9, regularisation=1e-4)
    plain = closed_loop(task, start)
    assert near.converged
    assert light.converged
    assert max(np.linalg.norm(task(result.q)[0]) for result in (near, light)) < 2e-3
    assert np.linalg.norm(near.q - middle) < np.linalg.norm(plain.q - middle)
    torques = [float(np.linalg.norm(ur5_lab.gravity(result.q))) for result in (light, near, plain)]
    assert torques[0] < min(torques[1:]) - 0.1
    h, e_J = 1e-6, with_low_torque(task, ur5_lab, 1e-3, 1e-9)
    differences = [(e_J(light.q - h * d)[0] - e_J(light.q + h * d)[0]) / (2 * h) for d in np.eye(6)]
    np.testing.assert_allclose(e_J(light.q)[1], np.array(differences).T, rtol=0, atol=1e-8)
    with pytest.raises(InputError, match=r"tolerance is 1e-06 with a posture of weight 0.001"):
        with_low_torque(task, ur5_lab, 1e-3)


def test_limits_afterwards_miss_what_limits_inside_reach(ur5_lab: RobotModel):
    """The constrained optimisation that the Locosim lab mentions."""
    start = np.array([0.0, -1.0, 1.0, 0.0, 0.0, 0.0])
    task, low, high = position_and_roll(ur5_lab, (0.5, -0.2, 0.5)), ur5_lab.q_min.copy(), ur5_lab.q_max
    free = closed_loop(task, start).q
    low[1] = free[1] + 0.1
    clipped, ik = np.clip(free, low, high), InverseKinematics(ur5_lab, "x y z", q_min=low)
    result = ik.solve(Pose.at([0.5, -0.2, 0.5]), start)
    assert result.converged
    assert ((result.q >= low) & (result.q <= high)).all()
    assert np.linalg.norm(task(clipped)[0]) > 0.01


def test_a_tolerance_that_hides_the_posture_is_refused(ur5_lab: RobotModel):
    task = position_and_roll(ur5_lab, (0.5, -0.2, 0.5))
    with pytest.raises(
        InputError, match=r"tolerance is 1e-06 with a posture of weight 0.001; allowed: below 0.01 weig"
    ):
        with_posture(task, POSTURE, 1e-3)


@pytest.mark.parametrize("choice", [{"tolerance": 0.0}, {"shrinking": 1.0}, {"regularisation": -1.0}, {"step_size": 0}])
def test_numbers_out_of_bounds_are_refused(ur4: RobotModel, choice: dict[str, float]):
    with pytest.raises(InputError, match="allowed: above 0"):
        closed_loop(position_and_roll(ur4, TARGET), Q_0, **choice)


def test_a_target_that_is_no_number_is_refused(ur4: RobotModel):
    for position, roll in (((np.nan, 0.0, 0.0), 0.0), ((0.0, 0.0, 0.0), np.nan), ((0.0, 0.0), 0.0)):
        with pytest.raises(InputError, match="allowed: three finite numbers"):
            position_and_roll(ur4, position, roll)
