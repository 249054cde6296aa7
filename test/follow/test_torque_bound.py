"""The bound of how a torque bends holds for every arm, with tools, prismatic joints and joints that mimic others."""

from __future__ import annotations

import numpy as np

from arm_control import urdf_path
from arm_control.follow.torque_bound import torque_bend, torque_law, torque_samples
from arm_control.maths import Array
from arm_control.model import RobotModel, Tool

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


def test_the_bound_is_near_for_one_joint_that_starts_to_turn():
    """tau'' is m g c a, upright at rest; beside it the bound has what one joint alone does not feel, 2 J a^2."""
    model = RobotModel.from_urdf(urdf_path("planar1"), gravity=(0.0, -9.81, 0.0))
    (body,) = model.tree.bodies
    bend = torque_bend(model.tree, np.zeros(1), np.zeros(1), np.array([3.0]), np.zeros(1))
    weight, turn = 9.81 * 3.0 * np.linalg.norm(body.inertia.h), 18.0 * np.linalg.norm(body.inertia.J)
    np.testing.assert_allclose(bend[0], weight + turn)
