"""Costs: derivatives against finite differences at log-spaced steps, for every residual and every form."""

from __future__ import annotations

import numpy as np
import pytest
from any_system import ArmSystem, UserCosts
from problems import UR5_HOME, everything

from arm_control.exceptions import InputError
from arm_control.maths import rotation_from_vector, rotation_vector
from arm_control.optimal import (
    SQUARE,
    Costs,
    Term,
    barrier,
    control_error,
    limit_distance,
    obstacle_distance,
    orientation_error,
    position_error,
    smooth_abs,
    state_error,
)
from arm_control.optimal.costs import Knot, log_derivative

STEPS = (1e-6, 1e-5, 1e-4, 1e-3)


def best(function, x, derivative) -> float:
    """Smallest relative error of central differences over the steps."""
    errors = []
    for h in STEPS:
        moves = h * np.eye(len(x))
        found = np.stack([(function(x + m) - function(x - m)) / (2 * h) for m in moves], axis=-1)
        errors.append(np.max(np.abs(found - derivative)) / max(1.0, np.max(np.abs(derivative))))
    return min(errors)


def residuals(p, R):
    return [
        state_error(np.linspace(-1, 1, 12)),
        state_error([0.1, 0.2]),
        control_error(np.ones(6)),
        position_error(p + 0.1),
        position_error(p, "forearm_link", (0.1, 0.2, 0.3)),
        orientation_error(R),
        orientation_error(rotation_from_vector([2.0, -1.0, 1.5]) @ R),
        limit_distance([-1.0, -np.inf, -2.0, -3.0, -3.0, -3.0], [1.0, np.inf, 2.0, 3.0, 3.0, 3.0]),
        obstacle_distance(p + [0.1, 0.2, 0.3], 0.05),
        obstacle_distance(p, 0.05, "wrist_1_link", (0.0, 0.1, 0.0)),
    ]


def test_residuals(ur5):
    rng, dynamics = np.random.default_rng(0), ArmSystem(ur5, 0.01)
    X = ur5.pose(UR5_HOME)
    for residual in residuals(X.p, X.R):
        xu = np.concatenate([UR5_HOME, np.zeros(12)]) + rng.uniform(-0.3, 0.3, 18)

        def value(xu, residual=residual):
            x, u = xu[:12], xu[12:]
            return np.asarray(residual.at(Knot(x, u, dynamics.arm(x, u)), residual.numbers)[0], dtype=float)

        knot = Knot(xu[:12], xu[12:], dynamics.arm(xu[:12], xu[12:]))
        r, derivative = residual.at(knot, residual.numbers)
        assert len(r) == residual.size
        np.testing.assert_allclose(np.asarray(r, dtype=float), value(xu), atol=1e-14)
        assert best(value, xu, np.asarray(derivative(), dtype=float)) < 1e-8, residual


@pytest.mark.parametrize("form", [SQUARE, smooth_abs(0.3), barrier(0.5)])
def test_forms(form):
    z = np.array(form.numbers)
    for r in (-0.7, -0.1, 0.0, 0.2, 0.49, 0.6, 3.0):
        x = np.array([r])
        phi, phi_r, phi_rr = form.phi(r, z)
        assert best(lambda x: np.array([form.phi(float(x[0]), z)[0]]), x, np.array([[phi_r]])) < 1e-8
        assert best(lambda x: np.array([form.phi(float(x[0]), z)[1]]), x, np.array([[phi_rr]])) < 1e-7
        assert phi >= 0.0
        assert phi_rr >= 0.0


def test_the_derivative_of_a_rotation_vector_at_every_angle():
    axis = np.array([0.36, 0.48, -0.8])
    for angle in [1e-12, 1e-8, 1e-4, 0.0316, 0.0317, 1.0, 3.0, 3.1]:
        r = angle * axis
        if angle > 3.1:
            continue

        def moved(delta, r=r):
            return rotation_vector(rotation_from_vector(delta) @ rotation_from_vector(r))

        assert best(moved, np.zeros(3), log_derivative(r)) < 1e-8, angle
    np.testing.assert_array_equal(log_derivative(np.array([0.0] * 3, dtype=object)).astype(float), np.eye(3))
    near = [log_derivative((np.sqrt(1e-3) + d) * axis) for d in (-1e-9, 1e-9)]
    np.testing.assert_allclose(*near, atol=1e-9)  # series and closed form meet


def test_the_sum_and_its_slope(ur5):
    dynamics, costs, rng = ArmSystem(ur5, 0.01), everything(ur5, "wrist_1_link"), np.random.default_rng(1)
    n = 2
    xs = np.concatenate([UR5_HOME, np.zeros(6)]) + rng.uniform(-0.2, 0.2, (n + 1, 12))
    us, weights = rng.uniform(-1, 1, (n + 1, 6)), costs.weights(n)
    both = UserCosts(others=costs)
    found = both.expansions(xs, us, weights, dynamics.arm)
    for k in range(n + 1):

        def value(xu, k=k):
            return both.values(xu[None, :12], xu[None, 12:], weights[k : k + 1], dynamics.arm)[0]

        slope = np.concatenate([found.l_x[k], found.l_u[k]])
        assert best(value, np.concatenate([xs[k], us[k]]), slope) < 1e-7
        assert np.linalg.eigvalsh(found.l_xx[k])[0] > -1e-9
    assert (found.l_u[-1] == 0.0).all()  # no running weight at the last knot


def test_the_last_knot_has_another_weight():
    terms = Term(control_error([0.0]), running=2.0, terminal=5.0), Term(control_error([0.0]), running=1.0)
    np.testing.assert_array_equal(Costs(*terms).weights(2), [[2.0, 1.0], [2.0, 1.0], [5.0, 0.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Costs, "there is no cost"),
        (lambda: Term(control_error([0.0]), running=-1.0), "running of control_error is -1"),
        (lambda: Term(control_error([0.0]), scale=[1.0, 2.0]), "scale has shape"),
        (lambda: position_error([0.0, 1.0]), "3 finite numbers"),
        (lambda: state_error([np.inf]), "finite"),
        (lambda: orientation_error(2.0 * np.eye(3)), "no rotation matrix"),
        (lambda: limit_distance([1.0], [-1.0]), "limits cross"),
        (
            lambda: UserCosts(others=Costs(Term(position_error([0.0] * 3)))).values(
                np.zeros((1, 2)), np.zeros((1, 1)), np.ones((1, 1)), None
            ),
            "an arm",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_in_the_middle_of_an_obstacle_the_slope_is_finite(ur5):
    x, u = np.concatenate([UR5_HOME, np.zeros(6)]), np.zeros(6)
    knot = Knot(x, u, ArmSystem(ur5, 0.01).arm(x, u))
    middle = obstacle_distance(np.asarray(knot.point(None, np.zeros(3))[0], dtype=float), 0.1)
    r, derivative = middle.at(knot, middle.numbers)
    assert float(r[0]) == pytest.approx(-0.1)
    assert np.isfinite(np.asarray(derivative(), dtype=float)).all()


def test_an_unknown_frame_is_refused(ur5):
    costs = Costs(Term(position_error([0.0] * 3, "nowhere"), running=1.0))
    with pytest.raises(InputError, match="unknown frame 'nowhere'"):
        UserCosts(others=costs).values(np.zeros((1, 12)), np.zeros((1, 6)), np.ones((1, 1)), ArmSystem(ur5, 0.01).arm)
