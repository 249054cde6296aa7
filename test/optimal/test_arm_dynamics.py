"""Dynamics: derivatives against finite differences at log-spaced steps, steps against their equation."""

from __future__ import annotations

import numpy as np
import pytest
from any_system import ArmSystem, UserDynamics, differences
from problems import car_step

from arm_control.exceptions import InputError
from arm_control.optimal import ArmDynamics


@pytest.mark.parametrize("name", ["ur5", "koch"])
def test_an_arm_makes_a_semi_implicit_step_and_knows_its_derivatives(name, load_robot, states):
    robot = load_robot(name)
    dynamics = ArmSystem(robot, 0.01)
    rng, n = np.random.default_rng(0), robot.nv
    xs = np.array([np.concatenate(state) for state in states(robot, 2)])
    us = np.array([robot.gravity(x[:n]) for x in xs])
    us += rng.uniform(-1, 1, (2, n)) * robot.mass_matrix(np.zeros(n)).max()
    after = dynamics.step(xs, us)
    for x, u, y in zip(xs, us, after, strict=True):
        v = x[n:] + 0.01 * robot.forward_dynamics(x[:n], x[n:], u)
        np.testing.assert_allclose(y, np.concatenate([x[:n] + 0.01 * v, v]), rtol=1e-9, atol=1e-9)
    f_x, f_u = dynamics.derivatives(xs, us)
    both = np.hstack([xs, us])
    errors = []
    for h in (1e-6, 1e-5, 1e-4):
        found = differences(lambda xu: dynamics.step(xu[:, : 2 * n], xu[:, 2 * n :]), both, h)
        errors.append(np.max(np.abs(found - np.concatenate([f_x, f_u], axis=2)) / (1.0 + np.abs(found))))
    assert min(errors) < 2e-7


def test_a_user_function_and_its_second_derivatives():
    rng = np.random.default_rng(1)
    xs, us = rng.uniform(-1, 1, (3, 4)), rng.uniform(-0.4, 0.4, (3, 2))
    dynamics = UserDynamics(car_step, 4, 2, second_order=True)
    f_x, f_u = dynamics.derivatives(xs, us)
    assert f_x.shape == (3, 4, 4)
    assert f_u.shape == (3, 4, 2)
    heading, speed, wheel = xs[:, 2], xs[:, 3], us[:, 0]
    f = 0.03 * speed
    turn_by_wheel = np.cos(wheel) * f / 2.0 / np.sqrt(1.0 - (np.sin(wheel) * f / 2.0) ** 2)
    np.testing.assert_allclose(f_u[:, 2, 0], turn_by_wheel, rtol=1e-7, atol=1e-10)
    b = 2.0 + f * np.cos(wheel) - np.sqrt(4.0 - (f * np.sin(wheel)) ** 2)
    np.testing.assert_allclose(f_x[:, 0, 2], -b * np.sin(heading), rtol=0, atol=1e-10)
    curvature = dynamics.curvature(xs, us)
    np.testing.assert_allclose(curvature[:, 0, 2, 2], -b * np.cos(heading), rtol=0, atol=1e-6)
    assert UserDynamics(car_step, 4, 2).curvature(xs, us) is None


def test_bad_input_is_refused(ur5):
    with pytest.raises(InputError, match="dt is 0"):
        ArmDynamics(ur5, 0.0)
    with pytest.raises(InputError, match="the dynamics give shape"):
        UserDynamics(lambda x, u: x[..., :1], 2, 1).step(np.zeros((1, 2)), np.zeros((1, 1)))
