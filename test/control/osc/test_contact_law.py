"""The law of contact: a spring in newtons per metre, a force along an axis, and the law of motion for the rest."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.control import CompiledOsc, OperationalSpaceController, OscParameters, OscTuning
from arm_control.control.osc.contact_law import damping, task_inertias
from arm_control.control.osc.null_space import build_hierarchy
from arm_control.control.osc.osc_parameters import ContactNumbers, ContactParameters
from arm_control.control.osc.task_inertia import plain_inertia
from arm_control.exceptions import ParameterError
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.motion import Reference

HOME = np.array([0.1, -1.4, 1.9, -2.07, -1.5, 0.2])
OSC = OscParameters(posture=tuple(HOME + 0.3))
K = (300.0, 400.0, 500.0, 30.0, 40.0, 50.0)


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    """A UR5 with rotors: bare, its wrist weighs next to nothing."""
    return RobotModel.from_urdf(urdf_path("ur5"), armature=(0.5, 0.5, 0.5, 0.1, 0.1, 0.1))


def state_and_reference(model: RobotModel, rng: np.random.Generator) -> tuple[Array, Array, Reference]:
    q, v = HOME + rng.uniform(-0.2, 0.2, 6), rng.uniform(-0.3, 0.3, 6)
    X = model.pose(q)
    X_WT = Pose(rotation_from_vector(rng.uniform(-0.1, 0.1, 3)) @ X.R, X.p + rng.uniform(-0.1, 0.1, 3))
    return q, v, Reference(X_WT, rng.uniform(-0.1, 0.1, 6), rng.uniform(-0.5, 0.5, 6))


def hand_force(model: RobotModel, q: Array, tau: Array) -> Array:
    """What a torque pushes with at the hand of an arm at rest, if nothing else moves it."""
    t = model.evaluate(q, np.zeros(6))
    M_inv = np.linalg.inv(t.M)
    return np.linalg.solve(t.J @ M_inv @ t.J.T, t.J @ M_inv @ (tau - t.g))


@pytest.mark.parametrize(
    "contact",
    [ContactParameters(force_axes=("z",)), ContactParameters(impedance=True, force_axes=("z",))],
    ids=["motion", "spring"],
)
def test_the_compiled_law_is_the_page(arm: RobotModel, contact: ContactParameters):
    compiled, page = (law(arm, OSC, contact) for law in (CompiledOsc, OperationalSpaceController))
    assert compiled.is_compiled
    rng = np.random.default_rng(0)
    for share in np.linspace(0.0, 1.0, 10):
        q, v, reference = state_and_reference(arm, rng)
        F = rng.uniform(-20.0, 20.0, 6)
        for law in (compiled, page):
            law.exert(share, F)
        found, wanted = compiled.tick(q, v, reference), page.tick(arm.evaluate(q, v), reference)
        np.testing.assert_allclose(found.tau, wanted.tau, rtol=0, atol=1e-8)
    stretched = np.array([0.2, -0.6, 0.0, -1.9, -1.57, 0.0])
    found, wanted = compiled.tick(stretched, v, reference), page.tick(arm.evaluate(stretched, v), reference)
    np.testing.assert_allclose(found.tau, wanted.tau, rtol=0, atol=1e-6)


def test_without_a_wrench_the_law_is_that_of_motion(arm: RobotModel):
    with_axes = OperationalSpaceController(arm, OSC, ContactParameters(force_axes=("z", "ry")))
    without = OperationalSpaceController(arm, OSC)
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, v, reference = state_and_reference(arm, rng)
        terms = arm.evaluate(q, v)
        np.testing.assert_allclose(with_axes.tick(terms, reference).tau, without.tick(terms, reference).tau, atol=1e-12)
        with_axes.exert(0.0, rng.uniform(-9.0, 9.0, 6))


def test_an_arm_at_rest_exerts_the_wrench_along_the_force_axes_whatever_its_target_and_posture(arm: RobotModel):
    law = OperationalSpaceController(arm, OSC, ContactParameters(force_axes=("z", "rx")))
    F = np.array([1.0, 2.0, -10.0, 0.5, 1.0, 2.0])
    law.exert(1.0, F)
    for offset in ([0.0, 0.0, 0.5], [0.05, -0.03, 0.0]):
        X = arm.pose(HOME)
        tau = law.tick(arm.evaluate(HOME, np.zeros(6)), Reference(Pose(X.R, X.p + offset))).tau
        np.testing.assert_allclose(hand_force(arm, HOME, tau)[[2, 3]], F[[2, 3]], atol=1e-9)


def test_a_spring_at_rest_pulls_with_its_stiffness_times_the_error(arm: RobotModel):
    law = OperationalSpaceController(arm, OSC, ContactParameters(impedance=True, hand_stiffness=K))
    X, offset, turn = arm.pose(HOME), np.array([0.02, -0.03, 0.01]), np.array([0.02, 0.01, -0.03])
    target = Reference(Pose(rotation_from_vector(turn) @ X.R, X.p + offset))
    tau = law.tick(arm.evaluate(HOME, np.zeros(6)), target).tau
    np.testing.assert_allclose(hand_force(arm, HOME, tau), K * np.concatenate([offset, turn]), rtol=1e-9)


def test_every_mode_of_the_hand_has_the_damping_ratio(arm: RobotModel):
    zeta = 0.5
    t = arm.evaluate(HOME, np.zeros(6))
    law = OperationalSpaceController(arm, OSC, ContactParameters(impedance=True, hand_stiffness=K))
    contact = ContactNumbers.of(ContactParameters(impedance=True, hand_stiffness=K).numbers(zeta))
    levels = build_hierarchy(t.J, t.M, law._gains, ((0, 1, 2, 3, 4, 5),), plain_inertia)
    (_, Lambda), *_ = task_inertias(levels, t.M, law._gains, plain_inertia).blocks
    (_, D), *_ = damping(task_inertias(levels, t.M, law._gains, plain_inertia), contact).blocks
    to_state = np.block(
        [[np.zeros((6, 6)), np.eye(6)], [-np.linalg.solve(Lambda, np.diag(K)), -np.linalg.solve(Lambda, D)]]
    )
    poles = np.linalg.eigvals(to_state)
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(Lambda, np.diag(K))).real)
    wanted = np.concatenate([omega * (-zeta + sign * np.sqrt(complex(zeta**2 - 1.0))) for sign in (-1.0, 1.0)])
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(wanted), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hand_stiffness": (1.0, 2.0, 3.0)}, "hand_stiffness has 3 numbers"),
        ({"hand_damping": (1.0,)}, "hand_damping has 1 numbers"),
        ({"force_axes": ("w",)}, "force_axes: unknown w"),
        ({"force_axes": ("z", "z")}, "no axis may come twice"),
        ({"impedance": True, "null_space": "pseudo_inverse"}, "need null_space = consistent"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(values: dict, message: str):
    with pytest.raises(ParameterError, match=message):
        OscTuning.from_mapping(values)
