"""The recursions and their derivatives on floats: identities, finite differences, closed forms, Pinocchio.

Every robot at angles from 1e-12 to pi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

from arm_control.maths import Array
from arm_control.model import Arm, State, Tree, input_sizes, tool_numbers

ANGLES = [0.0, *np.logspace(-12, np.log10(np.pi), 4)]
STEP = 1e-6


def state(tree: Tree, q: npt.ArrayLike, frame: str | None = None, **inputs: npt.ArrayLike) -> State:
    """A state whose other inputs are zero."""
    values = {name: np.zeros(size) for name, size in input_sizes(tree.n).items()}
    values |= {"tool": tool_numbers(tree), "q": np.asarray(q, float)}
    return State(tree, values | {name: np.asarray(x, float) for name, x in inputs.items()}, frame)


def cases(tree: Tree) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Positions q of a size from 1e-12 to pi, with random v, a and tau."""
    rng = np.random.default_rng(1)
    for angle in ANGLES:
        yield angle * rng.choice([-1.0, 1.0], tree.n), *rng.uniform(-1.0, 1.0, (3, tree.n))


def derivative(f: Callable[[Array], Array], x: Array, step: float = STEP) -> Array:
    """Derivative of f by each entry of x by central differences, last axis."""
    units = step * np.eye(len(x))
    return np.stack([(np.asarray(f(x + d)) - np.asarray(f(x - d))) / (2 * step) for d in units], axis=-1)


def close(ours: npt.ArrayLike, oracle: npt.ArrayLike, tolerance: float = 1e-11) -> None:
    """Compare relative to the largest entry."""
    size = max(1.0, float(np.abs(oracle).max(initial=0.0)))
    np.testing.assert_allclose(ours, oracle, rtol=0, atol=tolerance * size)


def test_energies_and_centre_of_mass(tree: Tree):
    for q, v, *_ in cases(tree):
        s = state(tree, q, v=v)
        close(s.kinetic_energy, v @ s.M @ v / 2)
        mass = sum(body.inertia.m for body in tree.bodies)
        close(s.potential_energy, -mass * tree.gravity @ s.centre_of_mass)
        close(s.g, derivative(lambda q: state(tree, q).potential_energy, q), 1e-7)


def test_acceleration_undoes_torque(tree: Tree):
    for q, v, a, tau in cases(tree):
        close(state(tree, q, v=v, tau=state(tree, q, v=v, a=a).tau).a, a, 1e-8)
        s = state(tree, q, v=v, tau=tau)
        close(state(tree, q, v=v, a=s.a).tau, tau, 1e-8)
        close(s.a_solved, s.a, 1e-9)
        close(s.a_tau, s.M_inv)


def test_a_wrench_on_the_surroundings_costs_its_transposed_jacobian(tree: Tree):
    F_E = np.array([1.0, -2.0, 3.0, 0.4, 0.5, -0.6])
    for q, v, a, _ in cases(tree):
        s = state(tree, q, v=v, a=a)
        F_W = np.concatenate([s.R_WE @ F_E[:3], s.R_WE @ F_E[3:]])
        close(state(tree, q, v=v, a=a, F_E=F_E).tau - s.tau, s.J.T @ F_W)


def test_derivatives_of_torque_and_acceleration(tree: Tree):
    for q, v, a, tau in list(cases(tree))[::2]:
        s = state(tree, q, v=v, a=a)
        close(s.tau_q, derivative(lambda q, v=v, a=a: state(tree, q, v=v, a=a).tau, q), 1e-7)
        close(s.tau_v, derivative(lambda v, q=q, a=a: state(tree, q, v=v, a=a).tau, v), 1e-7)
        s = state(tree, q, v=v, tau=tau)
        close(s.a_q, derivative(lambda q, v=v, tau=tau: state(tree, q, v=v, tau=tau).a, q, 10 * STEP), 2e-6)
        close(s.a_v, derivative(lambda v, q=q, tau=tau: state(tree, q, v=v, tau=tau).a, v, 10 * STEP), 2e-6)


def test_small_robots_agree_with_pinocchio_projected_on_their_coordinates(every_small_arm: Arm):
    """Each body's joint is one of Pinocchio's; joints that mimic are put together by q_all = G q + offset."""
    tree = every_small_arm.tree
    model = pin.buildModelFromXML(every_small_arm.urdf.text.replace('type="continuous"', 'type="revolute"'))
    model.gravity.linear = tree.gravity
    data, tip = model.createData(), model.getFrameId("tip")
    G, offset = projection(every_small_arm, model)
    rotors = np.diag(tree.armature)
    for q, v, a, tau in cases(tree):
        s, Q, V, A = state(tree, q, v=v, a=a, tau=tau), G @ q + offset, G @ v, G @ a
        M = np.triu(pin.crba(model, data, Q))
        close(s.M, G.T @ (M + np.triu(M, 1).T) @ G + rotors)
        close(s.tau, G.T @ pin.rnea(model, data, Q, V, A) + rotors @ a)
        close(s.g, G.T @ pin.computeGeneralizedGravity(model, data, Q))
        close(s.C, G.T @ pin.computeCoriolisMatrix(model, data, Q, V) @ G)
        tau_q, tau_v, _ = pin.computeRNEADerivatives(model, data, Q, V, A)
        close(s.tau_q, G.T @ tau_q @ G)
        close(s.tau_v, G.T @ tau_v @ G)
        close(s.h, s.C @ v + s.g)
        close(s.tau_derived, s.tau)
        close(s.tau_a, s.M)
        close(s.a, np.linalg.solve(s.M, tau - s.h), 1e-10)
        pin.forwardKinematics(model, data, Q, V, A)
        pin.updateFramePlacements(model, data)
        close(s.p_WE, data.oMf[tip].translation)
        close(s.R_WE, data.oMf[tip].rotation)
        close(s.J @ a + s.Jdot_v, pin.getFrameClassicalAcceleration(model, data, tip, AXES).vector)
        close(s.J, pin.computeFrameJacobian(model, data, Q, tip, AXES).reshape(6, -1) @ G)
        close(s.centre_of_mass, pin.centerOfMass(model, data, Q))


AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def projection(arm: Arm, model: pin.Model) -> tuple[Array, Array]:
    """G and offset, read from the URDF."""
    G, offset = np.zeros((model.nv, arm.tree.n)), np.zeros(model.nv)
    for joint in arm.urdf.robot.joints:
        if joint.type != "fixed":
            at, mimic = model.joints[model.getJointId(joint.name)].idx_v, joint.mimic
            leader = joint.name if mimic is None else mimic.joint
            G[at, arm.tree.joint_names.index(leader)] = 1.0 if mimic is None else mimic.multiplier or 1.0
            offset[at] = 0.0 if mimic is None else mimic.offset or 0.0
    return G, offset


def test_fixed_links_are_lumped_and_the_base_carries_nothing(small_arm: Callable[[str], Arm]):
    tree = small_arm("oblique axes").tree
    assert [body.name for body in tree.bodies] == ["1", "2", "3"]
    assert [body.inertia.m for body in tree.bodies] == pytest.approx([1.0, 0.0, 2.3])
    assert [frame.body for frame in tree.frames.values()] == [-1, 0, 1, 2, 2, 2, 2]
    tree = small_arm("branches").tree
    assert sum(body.inertia.m for body in tree.bodies) == pytest.approx(5.3)
    assert [body.parent for body in tree.bodies] == [-1, 0, 1, 0, 3]
    assert tree.path(4) == [4, 3, 0]
