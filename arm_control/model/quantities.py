"""What can be computed of an arm, each from the recursions, and what it needs to know.

:class:`State` computes every quantity once, and only when it is asked for. On floats it is the readable
reference; on the nodes of a tape it writes the program of a kernel (:func:`quantity_law`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from arm_control.compiler import Law
from arm_control.maths import Array, Pose, Scalar, inverse
from arm_control.model import recursions as rec
from arm_control.model.derivatives import (
    AccelerationDerivatives,
    TorqueDerivatives,
    acceleration_derivatives,
    torque_derivatives,
)
from arm_control.model.spatial_vectors import Force, Inertia, SpatialMotion
from arm_control.model.tree import Tree

TOOL = 22
"""Numbers of a tool on the last body B: R_BE (9), p_BE (3), then its mass, first moment (3) and second
moment xx, xy, xz, yy, yz, zz (6) in B; see :func:`tool_numbers`."""

SHARED = ("tool",)
"""Inputs that are the same for all states of a batch."""
N_SAMPLES = 9
"""Random states that new kernels are compared on: a block of any width and one more."""

INPUTS: dict[str, tuple[str, ...]] = {
    "R_WE": ("q", "tool"),
    "p_WE": ("q", "tool"),
    "V_WE": ("q", "v", "tool"),
    "J": ("q", "tool"),
    "Jdot_v": ("q", "v", "tool"),
    "M": ("q", "tool"),
    "M_inv": ("q", "tool"),
    "g": ("q", "tool"),
    "h": ("q", "v", "tool"),
    "C": ("q", "v", "tool"),
    "tau": ("q", "v", "a", "F_E", "tool"),
    "tau_derived": ("q", "v", "a", "tool"),
    "tau_q": ("q", "v", "a", "tool"),
    "tau_v": ("q", "v", "a", "tool"),
    "tau_a": ("q", "v", "a", "tool"),
    "a": ("q", "v", "tau", "tool"),
    "a_solved": ("q", "v", "tau", "tool"),
    "a_q": ("q", "v", "tau", "tool"),
    "a_v": ("q", "v", "tau", "tool"),
    "a_tau": ("q", "v", "tau", "tool"),
    "kinetic_energy": ("q", "v", "tool"),
    "potential_energy": ("q", "tool"),
    "centre_of_mass": ("q", "tool"),
    "frames": ("q",),
    "J_point": ("q", "point"),
}
"""What a quantity depends on. Its name is a property of :class:`State`."""

WITHOUT_MASSES = ("R_WE", "p_WE", "V_WE", "J", "Jdot_v", "frames", "J_point")
"""The quantities of kinematics."""


class State:
    """An arm at joint positions q, and as far as they are needed: v, a, tau (n,), F_E (6,), tool, point.

    ``frame`` is the link that ``J_point`` is about.
    """

    def __init__(self, tree: Tree, inputs: Mapping[str, Array], frame: str | None = None) -> None:
        self._in, self._frame = inputs, frame
        self.tree = tree.with_tool(*_tool(inputs["tool"])) if "tool" in inputs else tree

    @cached_property
    def X(self) -> list[Pose]:
        """Every body, seen from its parent."""
        return rec.joint_poses(self.tree, self._in["q"])

    @cached_property
    def X_W(self) -> list[Pose]:
        """Every body, seen from the world."""
        return rec.world_poses(self.tree, self.X)

    @cached_property
    def V(self) -> list[SpatialMotion]:
        """Velocity of every body, in its own frame."""
        return rec.velocities(self.tree, self.X, self._in["v"])

    @cached_property
    def A_rest(self) -> list[SpatialMotion]:
        """Acceleration of every body when no joint accelerates; free fall taken off."""
        return rec.accelerations(self.tree, self.X, self.V, self._in["v"], np.zeros(self.tree.n))

    @cached_property
    def Ic(self) -> list[Inertia]:
        """Every body with all it carries."""
        return rec.composite_inertias(self.tree, self.X)

    @cached_property
    def X_WE(self) -> Pose:
        """End effector, seen from the world."""
        return rec.frame_pose(self.tree.tip, self.X_W)

    def X_WF(self, link: str | None = None) -> Pose:
        """A link, seen from the world; the end effector, with its tool, where none is named."""
        return self.X_WE if link is None else rec.frame_pose(self.tree.frames[link], self.X_W)

    def p_WP(self, link: str | None, point: Array) -> Array:
        """A point fixed to a link, given in the link's frame, seen from the world, (3,) [m].

        Parameters
        ----------
        link : str or None
            The link; None: the end effector, with its tool.
        point : array, shape (3,)
            In the link's frame [m].
        """
        X_WF = self.X_WF(link)
        return X_WF.p + X_WF.R @ point

    def J_WP(self, link: str | None = None, point: Array | None = None) -> Array:
        """Jacobian of that point, of the link's origin where none is given, world axes, (6, n).

        Parameters
        ----------
        link : str or None
            The link; None: the end effector, with its tool.
        point : array, shape (3,), optional
            In the link's frame [m].
        """
        body = (self.tree.tip if link is None else self.tree.frames[link]).body
        p = self.X_WF(link).p if point is None else self.p_WP(link, point)
        return rec.jacobian(self.tree, self.X_W, body, p)

    @property
    def R_WE(self) -> Array:
        """Rotation of the end effector, (3, 3)."""
        return self.X_WE.R

    @property
    def p_WE(self) -> Array:
        """Position of the end effector, (3,) [m]."""
        return self.X_WE.p

    @property
    def V_WE(self) -> Array:
        """Twist of the end effector, (6,) [m/s, rad/s]."""
        return rec.frame_velocity(self.tree.tip, self.X_W, self.V).vector()

    @property
    def J(self) -> Array:
        """Jacobian of the end effector, (6, n)."""
        return self.J_WP()

    @property
    def Jdot_v(self) -> Array:
        """``Jdot v`` of the end effector, (6,)."""
        return rec.frame_acceleration(self.tree, self.tree.tip, self.X_W, self.V, self.A_rest).vector()

    @cached_property
    def M(self) -> Array:
        """Mass matrix, (n, n)."""
        return rec.mass_matrix(self.tree, self.X, self.Ic)

    @cached_property
    def M_inv(self) -> Array:
        """Its inverse, (n, n)."""
        return inverse(self.M)

    @property
    def g(self) -> Array:
        """Gravity torque, (n,)."""
        return rec.gravity_torque(self.tree, self.Ic, self.X_W)

    @cached_property
    def h(self) -> Array:
        """Bias ``C v + g``, (n,)."""
        return rec.inverse_dynamics(self.tree, self.X, self.V, self.A_rest)

    @property
    def C(self) -> Array:
        """Coriolis matrix with ``Mdot - 2 C`` skew, (n, n)."""
        return 0.5 * torque_derivatives(self.tree, self.X_W, self._in["v"], np.zeros(self.tree.n)).tau_v

    @property
    def tau(self) -> Array:
        """Torque for an acceleration and the wrench F_E on the surroundings, (n,)."""
        A = rec.accelerations(self.tree, self.X, self.V, self._in["v"], self._in["a"])
        F_E = Force(self._in["F_E"][:3], self._in["F_E"][3:])
        return rec.inverse_dynamics(self.tree, self.X, self.V, A, F_E) + self.tree.armature * self._in["a"]

    @cached_property
    def torque_derivatives(self) -> TorqueDerivatives:
        """Torque for an acceleration and its derivatives."""
        return torque_derivatives(self.tree, self.X_W, self._in["v"], self._in["a"])

    @property
    def tau_derived(self) -> Array:
        """Torque for an acceleration as it comes with its derivatives, (n,)."""
        return self.torque_derivatives.tau

    @property
    def tau_a(self) -> Array:
        """Derivative of the torque by a: M, as it comes with the others, (n, n)."""
        return self.torque_derivatives.tau_a

    @property
    def tau_q(self) -> Array:
        """Derivative of the torque by q, (n, n)."""
        return self.torque_derivatives.tau_q

    @property
    def tau_v(self) -> Array:
        """Derivative of the torque by v, (n, n)."""
        return self.torque_derivatives.tau_v

    @property
    def a(self) -> Array:
        """Acceleration from torque, (n,): the articulated-body algorithm where it applies."""
        if self.tree.has_mimic:
            return self.M_inv @ (self._in["tau"] - self.h)
        return rec.forward_dynamics(self.tree, self.X, self.V, self._in["v"], self._in["tau"])

    @cached_property
    def acceleration_derivatives(self) -> AccelerationDerivatives:
        """Acceleration from torque and its derivatives."""
        return acceleration_derivatives(self.tree, self.X_W, self._in["v"], self._in["tau"])

    @property
    def a_solved(self) -> Array:
        """Acceleration from torque by the inverse of M, (n,)."""
        return self.acceleration_derivatives.a

    @property
    def a_q(self) -> Array:
        """Derivative of the acceleration by q, (n, n)."""
        return self.acceleration_derivatives.a_q

    @property
    def a_v(self) -> Array:
        """Derivative of the acceleration by v, (n, n)."""
        return self.acceleration_derivatives.a_v

    @property
    def a_tau(self) -> Array:
        """Derivative of the acceleration by tau, (n, n)."""
        return self.acceleration_derivatives.a_tau

    @property
    def kinetic_energy(self) -> Scalar:
        """Kinetic energy [J]."""
        return rec.kinetic_energy(self.tree, self.V, self._in["v"])

    @property
    def potential_energy(self) -> Scalar:
        """Potential energy [J]."""
        return rec.potential_energy(self.tree, self.X_W)

    @property
    def centre_of_mass(self) -> Array:
        """Centre of mass of what moves, (3,) [m]."""
        return rec.centre_of_mass(self.tree, self.X_W)

    @property
    def frames(self) -> Array:
        """Every link, seen from the world: R and p, (n_links, 12)."""
        poses = [rec.frame_pose(frame, self.X_W) for frame in self.tree.frames.values()]
        return np.array([[*X.R.ravel(), *X.p] for X in poses])

    @property
    def J_point(self) -> Array:
        """Jacobian of a point fixed to a link, given in the link's frame, (6, n)."""
        return self.J_WP(self._frame, self._in["point"])


def _tool(values: Array) -> tuple[Pose, Inertia]:
    xx, xy, xz, yy, yz, zz = values[16:22]
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Pose(values[:9].reshape(3, 3), values[9:12]), Inertia(values[12], values[13:16], J)


def tool_numbers(tree: Tree, X_ET: Pose | None = None, load: Inertia | None = None) -> Array:
    """Return the input ``tool``, shape (22,), for a tool and its load; by default for none.

    Parameters
    ----------
    X_ET : Pose, optional
        Pose of the tool's tip in the frame of the arm's tip, E.
    load : Inertia, optional
        Mass, first and second moment of the load in E.
    """
    X_BE, inertia = tree.tip.X_BF, load or Inertia.zero()
    held, X_BT = inertia.in_parent(X_BE), X_BE @ (X_ET or Pose.identity())
    upper = held.J[np.triu_indices(3)]
    return np.concatenate([X_BT.R.ravel(), X_BT.p, [held.m], held.h, upper]).astype(float)


def input_sizes(n: int) -> dict[str, int]:
    """Entries of every possible input, for n joints."""
    return {"q": n, "v": n, "a": n, "tau": n, "F_E": 6, "point": 3, "tool": TOOL}


def quantity_law(tree: Tree, quantities: Sequence[str], frame: str | None = None, has_tool: bool = True) -> Law:
    """Return the law that computes some quantities together."""
    needed = {name for quantity in quantities for name in INPUTS[quantity] if has_tool or name != "tool"}
    name = ", ".join([*quantities, *([] if frame is None else [f"of {frame}"])])
    return state_law(tree, name, needed, lambda s: {name: getattr(s, name) for name in quantities}, frame)


def state_law(
    tree: Tree, name: str, needed: Collection[str], compute: Callable[[State], Mapping[str, Any]], frame: str | None
) -> Law:
    """Return a law of the arm's state.

    Parameters
    ----------
    name : str
        Everything the law is made from besides the arm.
    needed : collection of str
        Its inputs, names of :func:`input_sizes`.
    """
    sizes = {key: size for key, size in input_sizes(tree.n).items() if key in needed}
    return Law(name, lambda inputs: compute(State(tree, inputs, frame)), sizes)


def sample_states(tree: Tree, law: Law) -> dict[str, Array]:
    """Random states, with a tool, to compare a kernel of :func:`quantity_law` on: rows, shape (N_SAMPLES, size).

    Parameters
    ----------
    law : Law
        What the states are for: they have its inputs.
    """
    rng = np.random.default_rng(0)
    samples = {name: rng.uniform(-1.0, 1.0, (N_SAMPLES, size)) for name, size in law.inputs.items()}
    load = Inertia(0.5, np.array([0.01, -0.02, 0.03]), 0.01 * np.eye(3))
    tool = tool_numbers(tree, Pose(np.eye(3), np.array([0.1, 0.2, -0.3])), load)
    return {name: np.tile(tool, (N_SAMPLES, 1)) if name == "tool" else x for name, x in samples.items()}


def reference(
    tree: Tree, quantities: Sequence[str], inputs: Mapping[str, Any], frame: str | None = None
) -> dict[str, Array]:
    """Compute quantities on floats, step by step: what every back end is compared with.

    Parameters
    ----------
    inputs : mapping of str to array_like
        Inputs by name; without ``tool`` there is none.
    """
    arrays = {name: np.asarray(values, dtype=float) for name, values in inputs.items()}
    state = State(tree, {"tool": tool_numbers(tree), **arrays}, frame)
    return {quantity: np.asarray(getattr(state, quantity), dtype=float) for quantity in quantities}
