"""The predicted state: its equations, its steps, and what it does with numbers that are none."""

from __future__ import annotations

import numpy as np
import pytest
from urdf_parts import joint, link, robot_of

from arm_control.gate import BlindBrake, EffortGate, GateParameters, PredictedState, is_at_rest
from arm_control.gate.state_prediction import LARGEST, new_prediction, predict
from arm_control.model import RobotModel

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
TABLE = robot_of(
    *(link("base"), link("x", 0.05, 0.01), link("y", 0.05, 0.01)),
    joint("x", "base", "x", "1 0 0", "prismatic"),
    joint("y", "x", "y", "0 1 0", "prismatic"),
)


def predicted(model: RobotModel, q: np.ndarray, v: np.ndarray, tau: np.ndarray, duration: float) -> PredictedState:
    """The state after a time with a torque, as a gate that has no more states predicts it."""
    blind = BlindBrake(model, EffortGate(model, GateParameters()), longest_step=1.0)
    blind.note(0, q, v, tau)
    blind.tick(round(1e9 * duration), 0.0)
    return blind._memory.prediction


@pytest.mark.parametrize(
    ("duration", "steps"), [(1e-3, [1e-3]), (2e-4, [2e-4]), (2.5e-3, [1e-3, 1e-3, 5e-4]), (0.0, [])]
)
def test_it_goes_on_by_the_model_in_steps_of_a_millisecond_at_most(ur5: RobotModel, duration: float, steps: list):
    q, v, tau = HOME, np.linspace(-0.5, 0.5, 6), ur5.gravity(HOME) + 3.0
    prediction = predicted(ur5, q, v, tau, duration)
    for dt in steps:
        t = ur5.evaluate(q, v)
        v = v + np.linalg.solve(t.M, tau - t.h) * dt
        q = q + v * dt
    np.testing.assert_allclose(prediction.q, q, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(prediction.v, v, rtol=1e-12, atol=1e-14)


def filled(v: list[float], tau: list[float], dt: float) -> PredictedState:
    """A state of an arm whose mass matrix is the identity."""
    state = new_prediction(len(v))
    state.v[:], state.tau[:], state.M[:], state.dt[0] = v, tau, np.eye(len(v)).ravel(), dt
    return state


def test_its_text_runs_in_python_and_keeps_to_its_arrays():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    M, tau, h, v = A @ A.T + np.eye(4), *rng.normal(size=(3, 4))
    state = filled(v, tau, 0.1)
    state.M[:], state.h[:] = M.ravel(), h
    assert predict(state) == 0.0
    np.testing.assert_allclose(state.v, v + np.linalg.solve(M, tau - h) * 0.1, rtol=1e-12)
    np.testing.assert_allclose(state.M.reshape(4, 4)[np.triu_indices(4, 1)], M[np.triu_indices(4, 1)])  # as it was


@pytest.mark.parametrize(
    ("v", "tau", "dt", "moves"),
    [
        (LARGEST, 0.0, 0.5, True),
        (LARGEST, 1.0, 0.5, True),  # lost in rounding
        (LARGEST, LARGEST, 0.5, False),
        (-LARGEST, -LARGEST, 0.5, False),
        (LARGEST, -LARGEST, 0.5, True),
        (0.0, LARGEST, 0.5, True),
    ],
)
def test_only_a_speed_within_the_largest_one_goes_on(v: float, tau: float, dt: float, moves: bool):
    state = filled([0.0, v], [0.0, tau], dt)
    with np.errstate(over="ignore"):
        assert predict(state) == 0.0
    assert state.v[1] == (v + dt * tau if moves else v)
    assert (state.q[1] != 0.0) == moves


def test_where_one_speed_is_not_finite_the_state_stays():
    """The first slide gets more than a float can hold, the second nothing."""
    none = np.zeros(2)
    prediction = predicted(RobotModel.from_urdf(TABLE), none, none, np.array([1.7e308, 0.0]), 3e-3)
    np.testing.assert_array_equal([prediction.q, prediction.v], np.zeros((2, 2)))


def test_an_arm_rests_when_its_fastest_joint_does():
    slow = np.array([0.0, -0.0099, 0.0099])
    assert is_at_rest(slow)
    for speed in (0.01, -0.01, 1.0):
        assert not is_at_rest(np.append(slow, speed))
