"""The recursions and their derivatives on floats: identities, finite differences, closed forms, Pinocchio.

Every robot at angles from 1e-12 to pi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest

from arm_control.maths import Array, inverse, rotation_vector
from arm_control.model import Arm, State, Tree, describe, input_sizes, reference, tool_numbers
from arm_control.model.quantities import INPUTS

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


def test_the_mass_matrix_is_symmetric_and_positive(tree: Tree):
    for q, *_ in cases(tree):
        M = state(tree, q).M
        np.testing.assert_array_equal(M, M.T)
        assert np.linalg.eigvalsh(M).min() > 1e-7
        close(state(tree, q).M_inv @ M, np.eye(tree.n), 1e-9)


def test_inverse_of_any_positive_matrix():
    rng = np.random.default_rng(3)
    for n in range(1, 9):
        A = rng.uniform(-1, 1, (n, n))
        M = A @ A.T + 0.5 * np.eye(n)
        close(inverse(M.astype(object)).astype(float), np.linalg.inv(M))


def test_coriolis_matrix_is_that_of_christoffel_symbols(tree: Tree):
    """C_ij = sum over k of (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k / 2; so Mdot - 2 C is skew."""
    for q, v, *_ in list(cases(tree))[::2]:
        C, M_q = state(tree, q, v=v).C, derivative(lambda q: state(tree, q).M, q)
        symbols = (M_q + M_q.transpose(0, 2, 1) - M_q.transpose(2, 0, 1)) / 2
        close(C, symbols @ v, 1e-8)
        rest = M_q @ v - 2 * C
        close(rest, -rest.T, 1e-8)


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


def test_the_jacobian_is_the_derivative_of_every_pose(tree: Tree):
    point = np.array([0.1, -0.2, 0.3])
    names = list(tree.frames)
    for q, *_ in list(cases(tree))[::2]:
        before, after = [[state(tree, q + d).frames for d in sign * STEP * np.eye(tree.n)] for sign in (-1, 1)]
        for k, name in enumerate(names):
            V = [_motion_between(b[k], f[k], point) / (2 * STEP) for b, f in zip(before, after, strict=True)]
            close(state(tree, q, name, point=point).J_point, np.transpose(V), 1e-8)
        s = state(tree, q)
        np.testing.assert_array_equal([*s.R_WE.ravel(), *s.p_WE], s.frames[_tip(tree)])
        np.testing.assert_allclose(s.J, state(tree, q, names[_tip(tree)]).J_point, rtol=0, atol=1e-14)


def _tip(tree: Tree) -> int:
    return [frame is tree.tip for frame in tree.frames.values()].index(True)


def _motion_between(before: Array, after: Array, point: Array) -> Array:
    """How far a point of a link and its axes go; the link's pose is R and p in a row."""
    R0, R1 = before[:9].reshape(3, 3), after[:9].reshape(3, 3)
    return np.concatenate([R1 @ point + after[9:] - R0 @ point - before[9:], rotation_vector(R1 @ R0.T)])


def test_velocity_and_acceleration_of_the_end_effector(tree: Tree):
    for q, v, a, _ in cases(tree):
        s = state(tree, q, v=v)
        close(s.V_WE, s.J @ v)
        ahead, behind = (state(tree, q + t * v + t * t / 2 * a, v=v + t * a).V_WE for t in (STEP, -STEP))
        close(s.J @ a + s.Jdot_v, (ahead - behind) / (2 * STEP), 1e-8)


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


@pytest.mark.parametrize("name", ["branches", "mimic", "oblique axes"])
@pytest.mark.parametrize("quantity", ["tau_q", "a_q"])
def test_the_error_of_finite_differences_falls_with_the_square_of_the_step_then_rises(
    small_arm: Callable[[str], Arm], name: str, quantity: str
):
    """An analytic derivative that is slightly off would leave a floor between the two."""
    tree = small_arm(name).tree
    *_, (q, v, a, tau) = cases(tree)
    inputs = {"v": v, "a": a, "tau": tau}
    exact = getattr(state(tree, q, **inputs), quantity)
    errors = {}
    for step in np.logspace(-1, -11, 11):
        quotient = derivative(lambda q: getattr(state(tree, q, **inputs), quantity[:-2]), q, step)
        errors[round(np.log10(step))] = float(np.abs(quotient - exact).max())
    assert errors[-2] / errors[-3] == pytest.approx(100.0, rel=0.1)
    assert min(errors.values()) < 1e-5 * errors[-1]
    assert errors[-11] > 100.0 * min(errors.values())


def test_every_quantity_is_computed_and_finite(tree: Tree):
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(-1, 1, size) for name, size in input_sizes(tree.n).items() if name != "tool"}
    results = reference(tree, list(INPUTS), inputs, next(iter(tree.frames)))
    assert list(results) == list(INPUTS)
    assert all(np.isfinite(values).all() for values in results.values())


def box(mass: float, x: float, inertia: float) -> str:
    moments = " ".join(f'{name}="{value}"' for name, value in {"ixx": 1, "iyy": 1, "izz": inertia}.items())
    zeros = 'ixy="0" ixz="0" iyz="0"'
    return f'<inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/><inertia {moments} {zeros}/></inertial>'


def chain(kind: str, axis: str) -> Tree:
    """Two links of 2 kg and 3 kg, 0.7 m apart; their centres are at 0.3 m and 0.4 m, the tip is at 0.9 m."""
    limit = '<limit lower="-9" upper="9" effort="9" velocity="9"/>'
    return describe(
        f'<robot name="r"><link name="base"/><link name="a">{box(2, 0.3, 1.1)}</link>'
        f'<link name="b">{box(3, 0.4, 1.2)}</link><link name="tip"/>'
        f'<joint name="1" type="{kind}"><parent link="base"/><child link="a"/><axis xyz="{axis}"/>{limit}</joint>'
        f'<joint name="2" type="{kind}"><parent link="a"/><child link="b"/><origin xyz="0.7 0 0"/>'
        f'<axis xyz="{axis}"/>{limit}</joint>'
        '<joint name="3" type="fixed"><parent link="b"/><child link="tip"/><origin xyz="0.9 0 0"/></joint></robot>',
        gravity=(0.0, -9.81, 0.0),
    ).tree


@pytest.mark.parametrize("angle", ANGLES)
def test_planar_arm_of_two_links(angle: float):
    """The textbook's formulas: M, C by Christoffel symbols, g, J (Siciliano et al. 2009, section 7.3.2)."""
    q, v = np.array([0.3, angle]), np.array([0.7, -1.3])
    s = state(chain("revolute", "0 0 1"), q, v=v)
    c2, s2, c1, c12, s1, s12 = *_cs(q[1]), np.cos(q[0]), np.cos(q.sum()), np.sin(q[0]), np.sin(q.sum())
    m12 = 1.2 + 3 * (0.4**2 + 0.7 * 0.4 * c2)
    m11 = 1.1 + 2 * 0.3**2 + 1.2 + 3 * (0.7**2 + 0.4**2 + 2 * 0.7 * 0.4 * c2)
    close(s.M, [[m11, m12], [m12, 1.2 + 3 * 0.4**2]], 1e-14)
    k = -3 * 0.7 * 0.4 * s2
    close(s.C, [[k * v[1], k * (v[0] + v[1])], [-k * v[0], 0]], 1e-14)
    g2 = 3 * 9.81 * 0.4 * c12
    close(s.g, [(2 * 0.3 + 3 * 0.7) * 9.81 * c1 + g2, g2], 1e-14)
    close(s.p_WE, [0.7 * c1 + 0.9 * c12, 0.7 * s1 + 0.9 * s12, 0], 1e-14)
    rows = [[-0.7 * s1 - 0.9 * s12, -0.9 * s12], [0.7 * c1 + 0.9 * c12, 0.9 * c12], [0, 0], [0, 0], [0, 0], [1, 1]]
    close(s.J, rows, 1e-14)
    w1, w2 = v[0], v.sum()
    close(s.Jdot_v[:2], [-0.7 * c1 * w1**2 - 0.9 * c12 * w2**2, -0.7 * s1 * w1**2 - 0.9 * s12 * w2**2], 1e-14)


def _cs(x: float) -> tuple[float, float]:
    return float(np.cos(x)), float(np.sin(x))


def test_two_slides_along_one_line():
    s = state(chain("prismatic", "0 1 0"), [0.4, -0.1], v=[3.0, 2.0])
    close(s.M, [[5, 3], [3, 3]], 1e-15)
    close(s.C, np.zeros((2, 2)), 1e-15)
    close(s.g, [5 * 9.81, 3 * 9.81], 1e-15)
    close(s.J, [[0, 0], [1, 1], *[[0, 0]] * 4], 1e-15)
    close(s.p_WE, [1.6, 0.3, 0], 1e-15)
    close(s.potential_energy, 9.81 * (2 * 0.4 + 3 * 0.3), 1e-15)
    close(s.centre_of_mass, [(2 * 0.3 + 3 * 1.1) / 5, (2 * 0.4 + 3 * 0.3) / 5, 0], 1e-15)
    close(s.kinetic_energy, 2 * 3**2 / 2 + 3 * 5**2 / 2, 1e-15)


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


def test_an_axis_of_any_direction_becomes_z(every_small_arm: Arm):
    """A link's pose at q = 0 does not know of the axis; turning about it leaves it where it is."""
    tree = every_small_arm.tree
    for joint in every_small_arm.urdf.robot.joints:
        if joint.type in ("revolute", "continuous") and joint.mimic is None:
            q = np.zeros(tree.n)
            q[tree.joint_names.index(joint.name)] = 1.0
            k = list(tree.frames).index(joint.child)
            before, after = (state(tree, x).frames[k, :9].reshape(3, 3) for x in (np.zeros(tree.n), q))
            leads = [j for j in every_small_arm.urdf.robot.joints if j.mimic and j.mimic.joint == joint.name]
            if not leads:
                close(rotation_vector(before.T @ after), joint.axis, 1e-14)


def test_fixed_links_are_lumped_and_the_base_carries_nothing(small_arm: Callable[[str], Arm]):
    tree = small_arm("oblique axes").tree
    assert [body.name for body in tree.bodies] == ["1", "2", "3"]
    assert [body.inertia.m for body in tree.bodies] == pytest.approx([1.0, 0.0, 2.3])
    assert [frame.body for frame in tree.frames.values()] == [-1, 0, 1, 2, 2, 2, 2]
    tree = small_arm("branches").tree
    assert sum(body.inertia.m for body in tree.bodies) == pytest.approx(5.3)
    assert [body.parent for body in tree.bodies] == [-1, 0, 1, 0, 3]
    assert tree.path(4) == [4, 3, 0]
