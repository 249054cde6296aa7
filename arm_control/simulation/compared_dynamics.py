"""The same quantities of an arm from several libraries: how far they differ, and how long they take.

Every library reads the same URDF. A quantity is a function of joint positions q, velocities v and torque tau, all in
the model's order, and called from Python; its result is an array of its own.

    M    mass matrix; its upper triangle counts        h    bias C v + g
    J    Jacobian of the tip                           g    gravity torque
    a    forward dynamics, M^-1 (tau - h)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np

from arm_control.exceptions import MissingExtra, ModelError
from arm_control.maths import Array
from arm_control.model import RobotModel, drawn_range

try:
    import mujoco

    from arm_control.simulation.mujoco_simulator import build_mujoco_model
except ImportError:
    mujoco = None
try:
    import pinocchio as pin
except ImportError:
    pin = None

QUANTITIES = {
    "M": ("mass matrix", "kg m^2"),
    "h": ("bias C v + g", "N m"),
    "g": ("gravity torque", "N m"),
    "J": ("Jacobian of the tip", "m"),
    "a": ("forward dynamics", "rad/s^2"),
}
"""Name and unit of each quantity; those of a revolute arm."""
OURS = "arm_control"
N_ROUNDS = 21
"""Measurements of time, of all libraries in turns; their median counts."""
TOLERANCE = 1e-6
"""Largest difference that counts as agreement, as a share of the largest entry."""

ROUNDING = 1e-12
"""Difference that always counts as agreement: of a quantity that is zero."""

Dynamics = Mapping[str, Callable[[Array, Array, Array], Array]]
"""Functions of q, v and tau, by the names of :data:`QUANTITIES`."""


@dataclass(frozen=True)
class ComparedQuantity:
    """One quantity.

    Attributes
    ----------
    name : str
        One of :data:`QUANTITIES`.
    differences : dict of str to float
        Largest difference of an entry from this package's, by library.
    durations : dict of str to float
        Median time of a call [s], by library; this package's among them.
    """

    name: str
    largest: float
    differences: dict[str, float]
    durations: dict[str, float]

    @property
    def agrees(self) -> bool:
        """Whether all libraries compute the same."""
        return all(difference <= TOLERANCE * self.largest + ROUNDING for difference in self.differences.values())


def random_states(model: RobotModel, n: int, seed: int) -> list[tuple[Array, Array, Array]]:
    """Return positions within the limits, velocities and torque, shape (nv,) each."""
    rng = np.random.default_rng(seed)
    low, high = drawn_range(model.q_min, model.q_max)
    v_max, tau_max = (np.where(np.isfinite(limit), limit, 1.0) for limit in (model.v_max, model.tau_max))
    return [(rng.uniform(low, high), rng.uniform(-v_max, v_max), rng.uniform(-tau_max, tau_max)) for _ in range(n)]


def own_dynamics(model: RobotModel) -> Dynamics:
    """Return the functions of this package."""
    return {
        "M": lambda q, v, tau: model.mass_matrix(q),
        "h": lambda q, v, tau: model.bias(q, v),
        "g": lambda q, v, tau: model.gravity(q),
        "J": lambda q, v, tau: model.jacobian(q),
        "a": model.forward_dynamics,
    }


def pinocchio_dynamics(model: RobotModel) -> tuple[str, Dynamics]:
    """Return Pinocchio's version, and its functions for an arm: its own algorithms, and nothing around them.

    A ModelError where it is not installed; when its joints are others, or in another order: where a joint mimics
    another one, or the arm has branches.
    """
    if pin is None:
        raise ModelError(f"Pinocchio is not installed: {sys.executable} -m pip install pin")
    text, bodies = model.urdf.text.replace('type="continuous"', 'type="revolute"'), model.tree.bodies
    theirs = pin.buildModelFromXML(text)
    if len(bodies) != theirs.nv or theirs.nq != theirs.nv:
        raise ModelError(f"Pinocchio finds {theirs.nv} joints, expected {len(bodies)}")
    places = [(theirs.joints[theirs.getJointId(body.name)].idx_v, 1.0) for body in bodies]
    if places != [(body.coordinate, body.ratio) for body in bodies]:
        raise ModelError("Pinocchio has other joint coordinates: a joint mimics another one, or the arm has branches")
    theirs.gravity.linear, theirs.armature = model.tree.gravity, model.armature
    data, tip = theirs.createData(), theirs.getFrameId(model.tip, pin.FrameType.BODY)
    return pin.__version__, {
        "M": lambda q, v, tau: pin.crba(theirs, data, q),
        "h": lambda q, v, tau: pin.nonLinearEffects(theirs, data, q, v),
        "g": lambda q, v, tau: pin.computeGeneralizedGravity(theirs, data, q),
        "J": lambda q, v, tau: pin.computeFrameJacobian(theirs, data, q, tip, pin.LOCAL_WORLD_ALIGNED),
        "a": lambda q, v, tau: pin.aba(theirs, data, q, v, tau),
    }


def mujoco_dynamics(model: RobotModel) -> tuple[str, Dynamics]:
    """Return MuJoCo's version, and its functions for an arm.

    A MissingExtra or ModelError where it is not installed, or refuses the arm.
    """
    if mujoco is None:
        raise MissingExtra("mujoco", "mujoco")
    arm = _MujocoArm(model)
    functions = {"M": arm.mass_matrix, "h": arm.bias, "g": arm.gravity, "J": arm.jacobian, "a": arm.forward_dynamics}
    return mujoco.__version__, functions


class _MujocoArm:
    """MuJoCo's model of an arm, without contacts and limits of position."""

    def __init__(self, model: RobotModel) -> None:
        self._model = m = build_mujoco_model(model, 1e-3)
        self._data = mujoco.MjData(m)
        joints = [m.joint(name) for name in model.joint_names]
        self._qpos = np.array([joint.qposadr[0] for joint in joints])
        self._dof = np.array([joint.dofadr[0] for joint in joints])
        self._body = int(m.joint(model.urdf.chain(model.tip)[-1]).bodyid[0])
        rest, link = np.zeros(model.nq), m.body(self._body).name
        self._p_LE = (model.pose(rest, link).inverse() @ model.pose(rest)).p
        self._M, self._h, self._J = np.zeros((m.nv, m.nv)), np.zeros(m.nv), np.zeros((6, m.nv))
        self._inertia = getattr(mujoco, "mj_makeM", mujoco.mj_crb)
        sparse = getattr(self._data, "qM", None)  # of MuJoCo before 4
        arguments = (m, self._data, self._M) if sparse is None else (m, self._M, sparse)
        self._unpack = partial(mujoco.mj_fullM, *arguments)

    def _move(self, q: Array, v: Array | None = None) -> None:
        """Positions, and where they count velocities, of all bodies."""
        self._data.qpos[self._qpos] = q
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        if v is not None:
            self._data.qvel[self._dof] = v
            mujoco.mj_comVel(self._model, self._data)

    def mass_matrix(self, q: Array, v: Array, tau: Array) -> Array:
        self._move(q)
        self._inertia(self._model, self._data)
        self._unpack()
        return self._M[self._dof][:, self._dof]

    def bias(self, q: Array, v: Array, tau: Array) -> Array:
        self._move(q, v)
        mujoco.mj_rne(self._model, self._data, 0, self._h)
        return self._h[self._dof]

    def gravity(self, q: Array, v: Array, tau: Array) -> Array:
        return self.bias(q, np.zeros_like(v), tau)

    def jacobian(self, q: Array, v: Array, tau: Array) -> Array:
        self._move(q)
        d, body = self._data, self._body
        p_WE = d.xpos[body] + d.xmat[body].reshape(3, 3) @ self._p_LE
        mujoco.mj_jac(self._model, d, self._J[:3], self._J[3:], p_WE, body)
        return self._J[:, self._dof]

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        d = self._data
        d.qpos[self._qpos], d.qvel[self._dof], d.qfrc_applied[self._dof] = q, v, tau
        mujoco.mj_forward(self._model, d)
        return d.qacc[self._dof]


LIBRARIES = {"Pinocchio": pinocchio_dynamics, "MuJoCo": mujoco_dynamics}
"""The other libraries by name."""


def compare_dynamics(
    model: RobotModel, libraries: Mapping[str, Dynamics], n: int = 100, seed: int = 0
) -> list[ComparedQuantity]:
    """Compare libraries at random states."""
    states, ours = random_states(model, n, seed), own_dynamics(model)
    rows = []
    for name in QUANTITIES:
        expected = _values(name, ours, states)
        differences = {
            library: float(np.abs(_values(name, functions, states) - expected).max())
            for library, functions in libraries.items()
        }
        contenders = {OURS: ours[name], **{library: functions[name] for library, functions in libraries.items()}}
        rows.append(ComparedQuantity(name, float(np.abs(expected).max()), differences, _durations(contenders, states)))
    return rows


def _values(name: str, functions: Dynamics, states: list[tuple[Array, Array, Array]]) -> Array:
    """One quantity in every state, shape (n, ...)."""
    values = np.array([functions[name](*state) for state in states])
    return np.triu(values) if name == "M" else values


def _durations(
    contenders: Mapping[str, Callable[[Array, Array, Array], Array]], states: list[tuple[Array, Array, Array]]
) -> dict[str, float]:
    """Median time of a call [s]; the contenders take turns."""
    rounds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(N_ROUNDS):
        for name, function in contenders.items():
            begin = perf_counter()
            for q, v, tau in states:
                function(q, v, tau)
            rounds[name].append((perf_counter() - begin) / len(states))
    return {name: float(np.median(durations)) for name, durations in rounds.items()}
