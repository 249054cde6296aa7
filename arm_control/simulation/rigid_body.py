"""The package's own simulator: an arm's equations of motion, integrated by one of four schemes, without MuJoCo.

A step is one call of compiled code.


    (1)  M(q) a = tau - h(q, v) - b v - s(q, v)                                        equation of motion   [N m]
    (2)  s = K d + D v  where d != 0, else 0,   d = max(q - q_max, 0) - max(q_min - q, 0)      end stops    [N m]

A step dt [s] from q, v to q', v' is one of

    (3)  euler          v' = v + dt a,     q' = q + dt v
    (4)  lab            v' = v + dt a,     q' = q + dt v + dt^2 a / 2
    (5)  semi_implicit  v' = v + dt a*,    q' = q + dt v',    (M + dt B) a* = tau - h - b v - s
    (6)  rk4            the classical method of Runge and Kutta of order four on (q, v)

B = diag(b) makes the damping of (5) act with v' instead of v. It is forward dynamics with dt b as further inertia of
the rotors, and stable for any b.

Coulomb friction c [N m], with (5) only, is the torque f within its limits that stops a joint, or opposes its motion,

    (7)  v' = v + dt a* + dt (M + dt B)^-1 f,    f_i in [-c_i, c_i],    f_i = -c_i sign(v'_i) where v'_i != 0

solved by projected Gauss-Seidel sweeps from the friction of the step before.

K, D     end stops: stiffness [N m/rad] and damping [N m s/rad]        b    damping [N m s/rad]

Sources: M. Focchi, O. Villarreal, "Simulation of a 4-DoF Serial Manipulator", for (4), which that text calls improved
Euler; E. Hairer, S. Norsett, G. Wanner, "Solving Ordinary Differential Equations I", 1993, section II.1, for (6);
D. Baraff, "Fast contact force computation for nonpenetrating rigid bodies", 1994, for the form of (7).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Law
from arm_control.core import Parameters, parameter
from arm_control.exceptions import ModelError, ParameterError, SimulationDiverged
from arm_control.maths import Array, Obstacle, clamp, inverse, maximum, select
from arm_control.model import RobotModel, State, Tree, drawn_range

SCHEMES = ("euler", "lab", "semi_implicit", "rk4")
"""Names of (3) to (6)."""
STABILITY = {"euler": 2.0, "lab": 2.0, "semi_implicit": 2.0, "rk4": 2.785}
"""Bound of dt lambda_max(M^-1 B) for explicit damping B: from there on a decaying motion grows."""
SWEEPS = 30
"""Sweeps of (7) in a step."""

Inputs = Mapping[str, Array]


@dataclass(frozen=True)
class StepLaw:
    """The text of one step."""

    tree: Tree
    scheme: str
    has_stops: bool = False
    has_friction: bool = False

    def law(self) -> Law:
        """One step: from x, shape (2n,), and f, shape (n,), to those after it."""
        n = self.tree.n
        stops = dict.fromkeys(("q_min", "q_max", "K", "D"), n) if self.has_stops else {}
        friction = {"f": n, "c": n} if self.has_friction else {}
        inputs = {"x": 2 * n, "tau": n, "dt": 1, "load": n, "tau_max": n, "b": n, **stops, **friction}
        return Law("rigid body, step", self._step, inputs, [self.scheme, self.has_stops, self.has_friction])

    def _step(self, i: Inputs) -> dict[str, Any]:
        n, x, dt = self.tree.n, i["x"], i["dt"][0]
        q, v = x[:n], x[n:]
        tau = clamp(i["tau"], -i["tau_max"], i["tau_max"]) + i["load"]
        if self.scheme == "semi_implicit":
            return self._semi_implicit(i, q, v, tau)

        def slope(y: Array) -> Array:
            return np.concatenate([y[n:], self._acceleration(i, y[:n], y[n:], tau)])

        if self.scheme == "rk4":
            return {"x": runge_kutta(slope, x, dt)}  # (6)
        a = slope(x)[n:]
        q_new = q + dt * v if self.scheme == "euler" else q + dt * v + 0.5 * dt * dt * a
        return {"x": np.concatenate([q_new, v + dt * a])}  # (3), (4)

    def _semi_implicit(self, i: Inputs, q: Array, v: Array, tau: Array) -> dict[str, Any]:
        dt, friction = i["dt"][0], {}
        damped = replace(self.tree, armature=self.tree.armature + dt * i["b"])
        v_new = v + dt * self._acceleration(i, q, v, tau, damped)  # (5)
        if self.has_friction:
            A = dt * inverse(State(damped, {"q": q}).M)
            friction["f"] = bounded_torque(A, v_new, i["f"], i["c"])
            v_new = v_new + A @ friction["f"]  # (7)
        return {"x": np.concatenate([q + dt * v_new, v_new]), **friction}

    def _acceleration(self, i: Inputs, q: Array, v: Array, tau: Array, tree: Tree | None = None) -> Array:
        tau = tau - i["b"] * v - (self._stops(i, q, v) if self.has_stops else 0.0)
        return State(tree or self.tree, {"q": q, "v": v, "tau": tau}).a  # (1)

    def _stops(self, i: Inputs, q: Array, v: Array) -> Array:
        d = maximum(q - i["q_max"], 0.0) - maximum(i["q_min"] - q, 0.0)
        return select(d * d, i["K"] * d + i["D"] * v, 0.0)  # (2)


def runge_kutta(slope: Callable[[Array], Array], x: Array, dt: Any) -> Array:
    """Equation (6): the state x, shape (k,), after a step dt [s]; from a state ``slope`` gives its derivative."""
    k_1 = slope(x)
    k_2 = slope(x + 0.5 * dt * k_1)
    k_3 = slope(x + 0.5 * dt * k_2)
    k_4 = slope(x + dt * k_3)
    return x + dt / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + k_4)


def bounded_torque(A: Array, v: Array, f: Array, c: Array) -> Array:
    """Solve (7) for the friction f, shape (n,) [N m], from a first guess within its limits c, shape (n,) [N m].

    A (n, n) is the change of speed per friction, ``dt M^-1`` [rad/s per N m], v (n,) are the speeds without [rad/s].
    """
    f = clamp(f, -c, c)
    for _ in range(SWEEPS):
        for k in range(len(f)):
            speed = v[k] + A[k] @ f
            f = f.copy()
            f[k] = clamp(f[k] - speed / A[k, k], -c[k], c[k])
    return f


PREFIX = "rigid_body."
"""Beginning of the parameters' names in a scenario and in ROS."""
FAR = 1e9
"""What stands for a limit that is infinite; states beyond it are a divergence."""
N_POSTURES, N_POSITIONS, N_SWEEPS = 200, 33, 3
"""Search for the posture in which explicit damping is worst: random postures, then positions of one joint after the
other, so many times."""


@dataclass(frozen=True)
class RigidBodyParameters(Parameters):
    """The integration, and what acts on the joints beside the motors."""

    scheme: str = parameter("semi_implicit", "integration; the damping of semi_implicit is implicit", choices=SCHEMES)
    joint_damping: tuple[float, ...] = parameter(
        (), "viscous damping of each joint, beside the parameter damping", unit="N m s/rad", lower=0.0
    )
    stop_stiffness: tuple[float, ...] = parameter(
        (), "stiffness of the end stops, one for all joints or one for each; 0: none", unit="N m/rad", lower=0.0
    )
    stop_damping: tuple[float, ...] = parameter(
        (), "damping of a joint beyond its end stop, likewise", unit="N m s/rad", lower=0.0
    )
    stop_lower: tuple[float, ...] = parameter((), "lower end stop of each joint; empty: its limits", unit="rad")
    stop_upper: tuple[float, ...] = parameter((), "upper end stop of each joint; empty: its limits", unit="rad")

    @property
    def has_stops(self) -> bool:
        """Whether a joint has end stops."""
        return any(self.stop_stiffness)


class RigidBodySimulator:
    """A torque-controlled arm: motors without friction or delay, saturated at their effort limits.

    It has the interface of :class:`~arm_control.simulation.mujoco_simulator.MujocoSimulator`; nothing touches it.

    Parameters
    ----------
    model : RobotModel
        The arm; joints may mimic others.
    q_initial : array_like, shape (nq,), optional
        Joint positions at the start [rad or m]; zero by default.
    timestep : float
        Duration of one step [s].
    damping : float or ndarray, shape (nv,)
        Viscous damping of the joints, beside that of the parameters [N m s/rad].
    friction : ndarray, shape (nv,), optional
        Coulomb friction of the joints [N m or N]; by default none.
    solids : sequence of Obstacle
        Must be empty: this simulator has no contacts.

    Attributes
    ----------
    steps : int
        Steps since the start or the last :meth:`reset`.
    differences : tuple of str
        Differences to the model, of an arm from a file: none here.
    touching_steps : int
        Number of steps in which anything touched: none here.

    Raises
    ------
    ModelError
        When the number of initial positions is wrong, or something solid is around.
    ParameterError
        When a list does not suit the arm, stops cross, friction is to be integrated by an explicit scheme, or such a
        scheme is unstable with this damping.
    """

    differences: tuple[str, ...] = ()
    touching_steps = 0

    def __init__(
        self,
        model: RobotModel,
        q_initial: npt.ArrayLike | None = None,
        *,
        timestep: float = 1e-3,
        damping: float | Array = 0.0,
        friction: Array | None = None,
        solids: Sequence[Obstacle] = (),
        parameters: RigidBodyParameters | None = None,
    ) -> None:
        if solids:
            raise ModelError(
                "the engine rigid_body has no contacts, and something is solid: take mujoco, or plant.contacts = none"
            )
        p = parameters or RigidBodyParameters()
        self.timestep, self._model = timestep, model
        self._q_initial = np.zeros(model.nq) if q_initial is None else np.array(q_initial, dtype=float)
        if self._q_initial.shape != (model.nq,):
            raise ModelError(f"{self._q_initial.size} initial positions for {model.nq} joints")
        if friction is not None and p.scheme != "semi_implicit":
            raise ParameterError(f"{PREFIX}scheme = '{p.scheme}' has no Coulomb friction: take semi_implicit")
        self._constants = {
            "dt": np.array([timestep]),
            "load": np.zeros(model.nv),
            "tau_max": np.minimum(model.tau_max, FAR),
            "b": damping + _per_joint(model, p.joint_damping, "joint_damping", 0.0),
            **(_stops(model, p) if p.has_stops else {}),
            **({} if friction is None else {"c": np.array(friction, dtype=float)}),
        }
        self._law = StepLaw(model.tree, p.scheme, p.has_stops, friction is not None)
        self._refuse_unstable_damping(p.scheme)
        self._x, self._f = np.zeros(2 * model.nv), np.zeros(model.nv)
        self._compile()
        self.reset()

    @property
    def q(self) -> Array:
        """Joint positions, shape (nq,) [rad or m]."""
        return self._x[: self._model.nq].copy()

    @property
    def v(self) -> Array:
        """Joint velocities, shape (nv,) [rad/s or m/s]."""
        return self._x[self._model.nq :].copy()

    @property
    def contact_wrench(self) -> Array:
        """Wrench of solid obstacles on the end effector: zero, shape (6,) [N, N m]."""
        return np.zeros(6)

    def step(self, tau: Array) -> None:
        """Apply a torque, shape (nv,) [N m or N], for one time step.

        Raises
        ------
        SimulationDiverged
            When the state or the torque is not finite, or absurd; the state stays as it was.
        """
        self._inputs["tau"][:] = tau
        self._inputs["x"][:] = self._x
        is_bad = self._call()
        if is_bad or not self._largest(self._outputs["x"]) < FAR:
            raise SimulationDiverged(self.steps * self.timestep, self.q, self.v)
        self._x[:] = self._outputs["x"]
        if "f" in self._inputs:
            self._inputs["f"][:] = self._outputs["f"]
        self.steps += 1

    def run(self, n: int, tau: npt.ArrayLike = 0.0) -> Array:
        """Make many steps.

        Parameters
        ----------
        tau : array_like, shape (n, nv), (nv,) or ()
            Joint torque of every step, or of all [N m or N].

        Returns
        -------
        ndarray, shape (n, 2 nv)
            The state (q, v) after each step.

        Raises
        ------
        SimulationDiverged
            With the last state that is finite and not absurd.
        """
        states = np.empty((n, self._x.size))
        for state, torque in zip(states, np.broadcast_to(tau, (n, self._model.nv)), strict=True):
            self.step(torque)
            state[:] = self._x
        return states

    def load(self, tau: Array) -> None:
        """Set a torque on the joints beside that of the motors, shape (nv,) [N m or N], until the next call."""
        self._inputs["load"][:] = tau

    def set_friction(self, friction: Array) -> None:
        """Set the Coulomb friction of an arm that was made with some, shape (nv,) [N m or N], from now on."""
        self._inputs["c"][:] = friction

    def reset(self, q: Sequence[float] | Array | None = None) -> None:
        """Start again at rest, at time zero, at ``q``, shape (nq,) [rad or m], or the initial positions."""
        self._x[:] = np.concatenate([self._q_initial if q is None else q, np.zeros(self._model.nv)])
        self._inputs["load"][:] = 0.0
        if "f" in self._inputs:
            self._inputs["f"][:] = 0.0
        self.steps = 0

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix at ``q``, shape (nv, nv) [kg m^2 or kg]."""
        return self._model.mass_matrix(q)

    def _largest(self, x: Array) -> float:
        """Largest number in a state; nan where one is not finite."""
        return max(map(abs, x.tolist())) if math.isfinite(sum(x.tolist())) else math.nan

    def _compile(self) -> None:
        """Make the kernel, and put the constants where it reads them."""
        constants, n = self._constants, self._model.nv
        start = {"x": np.concatenate([self._q_initial, np.linspace(-0.5, 0.5, n)]), "tau": np.linspace(-1.0, 1.0, n)}
        start |= {"f": np.zeros(n)} if "c" in constants else {}
        samples = {name: values[None] for name, values in {**start, **constants}.items()}
        kernel = self._model.compile_law(self._law.law(), samples)
        self._inputs, self._outputs, self._call = kernel.inputs, kernel.outputs, kernel.call
        for name, values in constants.items():
            self._inputs[name][:] = values

    def _refuse_unstable_damping(self, scheme: str) -> None:
        """Raise where explicit damping would make a motion grow; one joint at a time is beyond its stop."""
        explicit, limit = np.zeros_like(self._constants["b"]), STABILITY[scheme]
        if scheme != "semi_implicit":
            explicit = self._constants["b"]
        cases = explicit[None] + (np.diag(self._constants["D"]) if "D" in self._constants else 0.0)
        if not cases.any():
            return
        largest = self.timestep * largest_decay(self._model, self._q_initial, cases)
        if not largest < limit:
            raise ParameterError(
                f"damping is unstable in steps of {self.timestep:g} s: b dt lambda_max(M^-1) = {largest:.2f} with the"
                f" scheme {scheme}, allowed below {limit:g}: take less damping, shorter steps, or semi_implicit,"
                " whose damping, apart from that of end stops, is implicit"
            )


def largest_decay(model: RobotModel, q: Array, b: Array) -> float:
    """Return the largest rate ``lambda_max(M^-1 B)`` at which damping slows an arm [1/s].

    Parameters
    ----------
    q : ndarray, shape (nq,)
        A posture that counts in any case, beside those within the limits that a search finds [rad or m].
    b : ndarray, shape (k, nv)
        Damping of the joints, in k cases [N m s/rad].
    """
    M_inv, roots = model.batch("M_inv"), np.sqrt(b)

    def rates(postures: Array) -> Array:
        """The largest rate in each posture, over the cases."""
        scaled = roots[:, None, :, None] * M_inv(postures)["M_inv"] * roots[:, None, None, :]
        return np.linalg.eigvalsh(scaled)[..., -1].max(axis=0)  # the eigenvalues of M^-1 B, of a symmetric matrix

    low, high = drawn_range(model.q_min, model.q_max)
    postures = np.vstack([q, np.random.default_rng(0).uniform(low, high, (N_POSTURES, model.nq))])
    worst = postures[np.argmax(rates(postures))]
    for joint in [*range(model.nq)] * N_SWEEPS:
        others = np.tile(worst, (N_POSITIONS + 1, 1))
        others[1:, joint] = np.linspace(low[joint], high[joint], N_POSITIONS)
        worst = others[np.argmax(rates(others))]
    return float(rates(worst[None])[0])


def end_stops(model: RobotModel, p: RigidBodyParameters) -> tuple[Array, Array]:
    """Return the lower and the upper end stops of the joints, shape (nq,) each [rad or m].

    A ParameterError where a list does not suit the arm, or stops cross.

    Parameters
    ----------
    p : RigidBodyParameters
        Its stops; without lists they are the joints' limits.
    """
    lower = _per_joint(model, p.stop_lower, "stop_lower", model.q_min)
    upper = _per_joint(model, p.stop_upper, "stop_upper", model.q_max)
    if not (lower < upper).all():
        raise ParameterError(
            f"{PREFIX}stop_lower = {lower.tolist()} must be below {PREFIX}stop_upper = {upper.tolist()}"
        )
    return lower, upper


def _stops(model: RobotModel, p: RigidBodyParameters) -> Mapping[str, Array]:
    """Ranges, stiffness and damping of the end stops."""
    lower, upper = (np.clip(ends, -FAR, FAR) for ends in end_stops(model, p))
    K = _per_joint(model, p.stop_stiffness, "stop_stiffness", 0.0)
    D = np.where(K > 0.0, _per_joint(model, p.stop_damping, "stop_damping", 0.0), 0.0)
    return {"q_min": lower, "q_max": upper, "K": K, "D": D}


def _per_joint(model: RobotModel, values: Sequence[float], name: str, default: Any) -> Array:
    """One number for all joints, or one for each; the default where there is none."""
    if len(values) not in (0, 1, model.nv):
        raise ParameterError(f"{PREFIX}{name} has {len(values)} numbers; allowed: 1, or {model.nv}")
    return np.array(np.broadcast_to(values or default, (model.nv,)), dtype=float)
