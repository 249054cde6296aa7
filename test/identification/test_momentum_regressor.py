"""The momentum regressor against Pinocchio's torque regressor, and against the model's own terms."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from arm_control import RobotModel
from arm_control.identification.momentum_regressor import (
    UPPER,
    body_motions,
    inertia_of,
    momentum_terms,
    own_frame,
    parameters_of,
)
from arm_control.maths import Array
from arm_control.model import Tool

STEP = 1e-5
ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
"""Pinocchio's order of J is xx, xy, yy, xz, yz, zz."""


def torque_regressor(model: RobotModel, q: Array, v: Array, a: Array) -> Array:
    """Equation (1): the rate of the momentum along the motion by differences, shape (n, 10 n)."""
    times = np.array([-STEP, 0.0, STEP])[:, None]
    motions = body_motions(model.tree, q + times * v + 0.5 * times**2 * a, v + times * a)
    parts = [momentum_terms(model.tree, motions, own_frame(i)) for i in range(len(model.tree.bodies))]
    return np.hstack([(p[2] - p[0]) / (2.0 * STEP) - CTv[1] + g[1] for p, CTv, g in parts])


def test_it_is_pinocchios_torque_regressor(panda: RobotModel):
    """All axes of a Panda are z, so that frames agree."""
    theirs = pinocchio.buildModelFromXML(panda.urdf.text)
    data = theirs.createData()
    order = np.concatenate([np.array(ORDER) + 10 * i for i in range(7)])
    rng = np.random.default_rng(1)
    for q, v, a in rng.uniform(-1.5, 1.5, (5, 3, 7)):
        expected = pinocchio.computeJointTorqueRegressor(theirs, data, q, v, a)
        np.testing.assert_allclose(torque_regressor(panda, q, v, a)[:, order], expected, rtol=0, atol=1e-7)


def test_its_terms_are_those_of_the_model(robot: RobotModel, states):
    """With the parameters of the links it gives M v, C^T v and g, also with mimic and prismatic joints."""
    qs, vs = (np.array(rows) for rows in zip(*states(robot, 6), strict=True))
    motions = body_motions(robot.tree, qs, vs)
    total = [0.0, 0.0, 0.0]
    for i, body in enumerate(robot.tree.bodies):
        terms = momentum_terms(robot.tree, motions, own_frame(i), parameters_of(body.inertia)[:, None])
        total = [sum_ + x[..., 0] for sum_, x in zip(total, terms, strict=True)]
    for k, (q, v) in enumerate(zip(qs, vs, strict=True)):
        expected = (robot.mass_matrix(q) @ v, robot.coriolis_matrix(q, v).T @ v, robot.gravity(q))
        for sums, x in zip(total, expected, strict=True):
            np.testing.assert_allclose(sums[k], x, rtol=0, atol=1e-9 * max(1.0, np.abs(x).max()))


def test_a_payload_is_a_body_in_the_frame_of_the_tip(ur5: RobotModel, load_robot):
    model = load_robot("ur5")
    tool = Tool(mass=2.0, centre=(0.1, -0.2, 0.3), inertia=np.diag([0.02, 0.03, 0.04]))
    model.attach(tool)
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 6))
    p, _, g = momentum_terms(ur5.tree, body_motions(ur5.tree, q[None], v[None]), ur5.tree.tip)
    parameters = parameters_of(tool.numbers()[1])
    momentum = (model.mass_matrix(q) - ur5.mass_matrix(q)) @ v
    np.testing.assert_allclose(p[0] @ parameters, momentum, rtol=0, atol=1e-12)
    np.testing.assert_allclose(g[0] @ parameters, model.gravity(q) - ur5.gravity(q), rtol=0, atol=1e-11)


def test_parameters_of_a_body_go_forth_and_back():
    parameters = np.arange(1.0, 11.0)
    body = inertia_of(parameters)
    np.testing.assert_array_equal(parameters_of(body), parameters)
    assert body.J[0, 2] == body.J[2, 0] == pytest.approx(parameters[4:][list(zip(*UPPER, strict=True)).index((0, 2))])
