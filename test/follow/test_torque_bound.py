"""The bound of how a torque bends holds for every arm, with tools, prismatic joints and joints that mimic others."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.follow.torque_bound import torque_bend, torque_law, torque_samples
from arm_control.maths import Array, Pose
from arm_control.model import Body, Frame, Inertia, RobotModel, Tool, Tree

STEP = 1e-3


def worst_ratio(model: RobotModel, n: int = 40) -> Array:
    """Largest true second derivative of the torque over its bound, of each joint, in random motions."""
    rng, ratios = np.random.default_rng(0), []
    low, high = np.maximum(model.q_min, -3.0), np.minimum(model.q_max, 3.0)
    kernel = model.compile_law(torque_law(model), torque_samples(model))
    for _ in range(n):
        q, v = rng.uniform(low, high), rng.uniform(-2.0, 2.0, model.nv) * rng.integers(0, 2, model.nv)
        a, j = rng.uniform(-5.0, 5.0, model.nv), rng.uniform(-50.0, 50.0, model.nv)
        tau = []
        for t in (-STEP, 0.0, STEP):
            state = q + v * t + a * t**2 / 2 + j * t**3 / 6, v + a * t + j * t**2 / 2, a + j * t
            tau.append(model.inverse_dynamics(*state))
        most = abs(v) + (abs(a) + abs(j) * STEP) * STEP, abs(a) + abs(j) * STEP, abs(j)
        for name, values in zip(("q", "v", "a", "v_most", "a_most", "j_most"), (q, v, a, *most), strict=True):
            kernel.inputs[name][:] = values
        kernel.call()
        np.testing.assert_allclose(kernel.outputs["tau"], tau[1], atol=1e-9 * abs(tau[1]).max())
        ratios.append(abs(tau[0] - 2.0 * tau[1] + tau[2]) / STEP**2 / np.maximum(kernel.outputs["bend"], 1e-3))
    return np.max(ratios, axis=0)


def test_no_torque_bends_more_than_its_bound(robot: RobotModel):
    assert worst_ratio(robot).max() < 1.0
    robot.attach(Tool(mass=2.0, centre=(0.1, 0.0, 0.2)))
    try:
        assert worst_ratio(robot).max() < 1.0
    finally:
        robot.attach(None)


def body(parent: int, k: int, m: float, h: float, J: float, arm: float = 0.0, **more: float) -> Body:
    """A body with these moments about its origin, at the end of an arm."""
    inertia = Inertia(m, np.array([h, 0.0, 0.0]), np.diag([J, 0.0, 0.0]))
    return Body("", parent, Pose(np.eye(3), np.array([0.0, arm, 0.0])), inertia, k, **more)


def bends(bodies: list[Body], g: float, v: Array, a: Array, j: Array, reach: float = 0.0) -> Array:
    n = len(v)
    tree = Tree(tuple(bodies), ("",) * n, {}, Frame(0, Pose.identity()), np.zeros(n), np.array([0.0, 0.0, g]))
    return torque_bend(tree, np.full(n, reach), np.array(v), np.array(a), np.array(j)).astype(float)


def test_the_bound_of_two_joints_is_that_of_the_page():
    """Only the first one accelerates: what it carries swings on an arm L."""
    (m1, h1, J1), (m2, h2, J2), L, g, a = (3.0, 0.5, 0.2), (2.0, 0.7, 0.3), 0.9, 9.81, 1.7
    found = bends([body(-1, 0, m1, h1, J1), body(0, 1, m2, h2, J2, L)], g, [0.0, 0.0], [a, 0.0], [0.0, 0.0])
    far = g * a + 2.0 * L * a**2
    second = 2.0 * J2 * a**2 + h2 * far
    first = 2.0 * J1 * a**2 + h1 * g * a + second + L * (m2 * far + 2.0 * h2 * a**2)
    np.testing.assert_allclose(found, [first, second])


def test_the_bound_of_a_mass_that_slides_on_an_arm_that_turns():
    m, w, u, b, R = 2.0, 0.8, 0.6, 1.1, 0.4
    found = bends([body(-1, 0, 0.0, 0.0, 0.0), body(0, 1, m, 0.0, 0.0, is_prismatic=True)], 0.0,
                  [w, u], [0.0, b], [0.0, 0.0], R)  # fmt: skip
    size, rate, bend = w**2 * R + b + 2.0 * w * u, w**2 * u + 2.0 * w * b, w**2 * b
    np.testing.assert_allclose(found, m * np.array([b * size + 2.0 * u * rate + R * bend, bend]))


def test_a_joint_that_mimics_another_one_counts_by_its_ratio():
    h, g, a, k = 0.5, 9.81, 1.7, -2.0
    (found,) = bends([body(-1, 0, 1.0, h, 0.0), body(-1, 0, 1.0, h, 0.0, ratio=k)], g, [0.0], [a], [0.0])
    assert found == pytest.approx((1.0 + k**2) * h * g * a)
