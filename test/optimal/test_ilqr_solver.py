"""The solver: LQR on linear systems, Tassa's two problems, what it promises of costs and limits, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from any_system import UserCosts, UserDynamics, ilqr
from linear_quadratic import finite_horizon
from problems import random_linear

from arm_control.exceptions import InputError, ParameterError
from arm_control.optimal import Costs, IlqrParameters, Term, control_error, state_error


def linear_problem():
    dynamics, costs, A, B = random_linear(0)
    rng = np.random.default_rng(100)
    return dynamics, costs, A, B, rng.standard_normal(10), 0.1 * rng.standard_normal((200, 2))


def test_on_a_linear_system_it_is_lqr_in_one_iteration():
    _, costs, A, B, x0, us = linear_problem()

    def derivatives(xs, us):
        return np.tile(A, (len(xs), 1, 1)), np.tile(B, (len(xs), 1, 1))

    exact = UserDynamics(lambda x, u: x @ A.T + u @ B.T, 10, 2, derivatives)
    result = ilqr(exact, costs, 200, parameters=IlqrParameters(max_iterations=1)).solve(x0, us)
    K, P = finite_horizon(A, B, 0.01 * np.eye(10), 1e-3 * np.eye(2), 0.01 * np.eye(10), 200)
    x, xs = x0, [x0]
    for i in range(200):
        x = A @ x - B @ (K[i] @ x)
        xs.append(x)
    np.testing.assert_allclose(result.xs, xs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.K, -K, rtol=0, atol=1e-9)
    assert result.cost == pytest.approx(0.5 * x0 @ P[0] @ x0, rel=1e-9)
    assert result.alphas == (1.0,)


def test_the_random_linear_system_within_limits():
    """Optimal by the conditions: the gradient by each control, zero or towards a limit it is at."""
    dynamics, costs, A, B, x0, us = linear_problem()
    p = IlqrParameters(lambda_start=1.0, gradient_tolerance=1e-9, cost_tolerance=1e-13)
    result = ilqr(dynamics, costs, 200, [-0.6] * 2, [0.6] * 2, p).solve(x0, us)
    assert result.converged
    assert (np.diff(result.costs) <= 0.0).all()
    slope = 0.01 * result.xs[-1]
    for i in reversed(range(200)):
        l_u = 1e-3 * result.us[i] + B.T @ slope
        assert np.max(np.abs(np.clip(result.us[i] - l_u / 1e-3, -0.6, 0.6) - result.us[i])) < 1e-3
        slope = 0.01 * result.xs[i] + A.T @ slope
    assert 0.1 < np.mean(np.abs(result.us) == 0.6) < 0.99
    assert ((result.held != 0) == (np.abs(result.us) == 0.6)).all()


def pendulum(second_order: bool = False):
    """Swing up a pendulum with little torque, an hourglass for solvers."""

    def function(x, u):
        v = x[..., 1] + 0.05 * (-9.81 * np.sin(x[..., 0]) + u[..., 0])
        return np.stack([x[..., 0] + 0.05 * v, v], axis=-1)

    costs = Costs(Term(state_error([np.pi, 0.0]), terminal=100.0), Term(control_error([0.0]), running=0.01))
    return UserDynamics(function, 2, 1, second_order=second_order), costs


@pytest.mark.parametrize("second_order", [True, False])
def test_a_pendulum_swings_up_within_its_torque(second_order):
    dynamics, costs = pendulum(second_order)
    p = IlqrParameters(max_iterations=400, lambda_start=1.0)
    result = ilqr(dynamics, costs, 80, [-3.0], [3.0], p).solve([0.0, 0.0], np.full((80, 1), 0.1))
    assert result.converged, result.reason
    assert abs(result.xs[-1, 0] - np.pi) < 0.1
    assert np.abs(result.us).max() == 3.0
    assert 0.0 in result.lambdas
    assert all(lamb == 0.0 or lamb > 1e-6 for lamb in result.lambdas)
    assert (np.diff(result.costs) <= 0.0).all()


def test_a_warm_start_takes_fewer_iterations_and_the_same_input_gives_the_same_plan():
    dynamics, costs = pendulum()
    solver = ilqr(dynamics, costs, 60, [-4.0], [4.0], IlqrParameters(max_iterations=300, lambda_start=1.0))
    first = solver.solve([0.0, 0.0], np.full((60, 1), 0.1))
    again = solver.solve([0.0, 0.0], np.full((60, 1), 0.1))
    for a, b in zip((first.xs, first.us, first.K), (again.xs, again.us, again.K), strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.costs == again.costs
    warm = solver.solve([0.02, 0.0], first.us, (first.xs, first.K))
    open_loop = solver.solve([0.02, 0.0], first.us)
    assert warm.iterations < first.iterations
    assert warm.costs[0] < open_loop.costs[0]
    np.testing.assert_array_equal(first.shifted(2)[:-2], first.us[2:])
    np.testing.assert_array_equal(first.shifted(2)[-2:], first.us[[-1, -1]])


class Breaks:
    """A function that raises, or gives nan, from its so many-th call on."""

    def __init__(self, function, after: int, how: str) -> None:
        self.function, self.left, self.how = function, after, how

    def __call__(self, *arguments):
        self.left -= 1
        if self.left > 0:
            return self.function(*arguments)
        if self.how == "raises":
            raise ZeroDivisionError("of a test")
        return np.full_like(self.function(*arguments), np.nan)


@pytest.mark.parametrize(("what", "how"), [("dynamics", "raises"), ("cost", "nan")])
def test_the_last_valid_plan_is_kept(what: str, how: str):
    dynamics, costs = pendulum()
    weights = costs.weights(80)
    step_, cost = dynamics._function, lambda xs, us, knots: UserCosts(others=costs).values(xs, us, weights, None)
    calls = {"dynamics": 80 * 3 + 20, "cost": 40}[what]
    broken = UserDynamics(Breaks(step_, calls, how) if what == "dynamics" else step_, 2, 1)
    user = UserCosts(Breaks(cost, calls, how) if what == "cost" else cost)
    p = IlqrParameters(max_iterations=50, lambda_start=1.0, lambda_max=1e4)
    result = ilqr(broken, user, 80, parameters=p).solve([0.0, 0.0], np.full((80, 1), 0.1))
    assert not result.converged
    if how == "raises":
        assert f"{what.replace('cost', 'a cost')}" in result.reason
        assert "raised ZeroDivisionError: of a test" in result.reason
    assert np.isfinite(result.xs).all()
    assert np.isfinite(result.us).all()
    x = np.zeros(2)
    for u, after in zip(result.us, result.xs[1:], strict=True):  # it is a plan: its controls lead to its states
        x = step_(x, u)
        np.testing.assert_allclose(x, after, atol=1e-12)


def test_a_step_that_leaves_the_numbers_is_refused_before_the_dynamics_see_it():
    def careful(x, u):
        assert np.isfinite(x).all()
        assert np.isfinite(u).all()
        with np.errstate(all="ignore"):
            return x * x + u

    costs = Costs(Term(control_error([0.0]), running=1.0))
    passes = ilqr(UserDynamics(careful, 1, 1), costs, 12).passes
    assert np.isfinite(passes.start(np.zeros(1), np.zeros((12, 1)), None))
    for k in (1e200, np.inf):  # of states, of controls
        passes.k[:] = k
        assert passes.rollout(1.0) == np.inf


def test_where_the_cost_curves_down_lambda_grows_until_it_does_not():
    """Two valleys, begun near the ridge between them."""
    valleys = UserCosts(lambda xs, us, knots: np.where(knots < 3, (us[:, 0] ** 2 - 1.0) ** 2 / 4.0, 0.0))
    solver = ilqr(UserDynamics(lambda x, u: x + u, 1, 1), valleys, 3)
    passes = solver.passes
    passes.start(np.zeros(1), np.full((3, 1), 0.1), None)
    passes.expand()
    assert passes.backward(0.0).failed_at == 2
    assert passes.backward(2.0).failed_at == -1
    result = solver.solve([0.0], np.full((3, 1), 0.1))
    assert result.converged
    assert max(result.lambdas) > 0.0
    np.testing.assert_allclose(result.us, 1.0, atol=1e-3)
    given_up = ilqr(solver.dynamics, valleys, 3, parameters=IlqrParameters(lambda_max=0.1)).solve(
        [0.0], np.zeros((3, 1))
    )
    assert not given_up.converged
    assert "not positive definite at knot 2, and lambda is at its largest" in given_up.reason


@pytest.mark.parametrize("what", ["the dynamics' derivatives", "a cost's derivatives"])
def test_derivatives_that_are_not_finite_are_named(what: str):
    def derivatives(xs, us):
        return np.full((len(xs), 1, 1), np.nan), np.ones((len(xs), 1, 1))

    dynamics = UserDynamics(lambda x, u: x + u, 1, 1, derivatives if "dynamics" in what else None)
    root = UserCosts(lambda xs, us, knots: np.sqrt(xs[:, 0] - 1.0) + us[:, 0] ** 2)
    plain = Costs(Term(control_error([1.0]), running=1.0))
    result = ilqr(dynamics, plain if "dynamics" in what else root, 3).solve([1.0], np.zeros((3, 1)))
    assert result.reason.startswith(f"{what} are not finite")
    assert result.costs == (result.cost,)


@pytest.mark.parametrize(
    ("x0", "us", "message"),
    [
        ([np.nan, 0.0], np.zeros((80, 1)), "x0 is not finite"),
        ([0.0], np.zeros((80, 1)), "x0 has shape"),
        ([0.0, 0.0], np.zeros((79, 1)), "us has shape"),
        ([0.0, 0.0], np.full((80, 1), np.inf), "us is not finite"),
        ([0.0, 0.0], np.full((80, 1), 1e200), "have a cost of inf"),
    ],
)
def test_bad_starts_are_refused(x0, us, message):
    with pytest.raises(InputError, match=message):
        ilqr(*pendulum(), 80).solve(x0, us)


def test_a_function_that_raises_at_once_is_an_error_that_names_it():
    def broken(x, u):
        raise KeyError("no such thing")

    with pytest.raises(InputError, match="the dynamics raised KeyError"):
        ilqr(UserDynamics(broken, 2, 1), pendulum()[1], 5).solve([0.0, 0.0], np.zeros((5, 1)))


def test_bad_problems_are_refused():
    with pytest.raises(InputError, match="horizon has 0 steps"):
        ilqr(*pendulum(), 0)
    for low, high in (([1.0], [-1.0]), ([np.nan], [1.0]), ([-1.0, -1.0], [1.0])):
        with pytest.raises(InputError, match="limits cross"):
            ilqr(*pendulum(), 5, low, high)


@pytest.mark.parametrize(
    "wrong",
    [
        {"alphas": ()},
        {"alphas": (2.0,)},
        {"lambda_min": 0.0},
    ],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        IlqrParameters(**wrong)
