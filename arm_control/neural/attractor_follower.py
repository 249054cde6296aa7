"""References that a point attractor makes of goals: the reference moves smoothly, however far a goal jumps.

Each axis of the position follows its attractor, in units of r, a little more than the radius, about the position c
at the start:

    (1)  x = ((p_hat - c) / r,  v_hat / (w r)),    u = (p* - c) / r        the state of the axes
    (2)  a_hat = alpha (beta (p* - p_hat) - v_hat)                         the attractor's own acceleration

Without neurons that is the reference. The state of neurons is noisy, and its velocity is not quite the derivative of
its position. So the reference follows it as its own double integrator: consistent, and without lag, since what
the attractor is about to do is fed forward:

    (3)  A_des = a_hat + 2 (v_hat - V_des) / T + (p_hat - p) / T^2,    dV_des/dt = A_des,    dp/dt = V_des

The orientation follows the same attractor without neurons: noise of 1 % of half a turn would be 2 degrees. With the
rotation vector phi from the goal,

    (4)  phi = log(R R*^T),    d^2 phi/dt^2 = -alpha (beta phi + d phi/dt)              solved exactly for each step
    (5)  omega = J d phi/dt,   d omega/dt = J d^2 phi/dt^2 + dJ/dt d phi/dt             J: left Jacobian of rotations

A goal that moves is followed with the attractor's lag, about 4 / alpha. Goals act between two states as they were
in the first one. From :meth:`AttractorFollower.hold` until the next goal the attractor is at rest where the arm was.

The attractor of each axis, for itself, is realised in one of four ways:

    ideal         x_{k+1} = A_d x_k + B_d u_k                                      the system itself
    discrete      x_{k+1} = a x_k + (1 - a) (A' x_k + B' u_k)                      a synapse, discrete compensation
    continuous    the same, A' and B' of the continuous compensation               Euler's method
    neurons       x_{k+1} = a x_k + (1 - a) (A' d_k + B' u_k),   d_k ~ x_k         decoded from spikes, discrete

The state is that of :func:`~arm_control.neural.linear_systems.scaled_attractor`: position and velocity / w, in units
of a radius, so that neurons can represent it. Every axis has neurons of its own: axes do not depend on each other, the
decoders of one are found in an eighth of the time of two together, and an axis more changes nothing for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from arm_control.compiler import Kernel, Law, Samples
from arm_control.core import NANOSECONDS, Parameters, parameter
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array, Pose, rotation_vector
from arm_control.model import RobotModel
from arm_control.motion import JogLimits, PoseFollower, PoseGoal, Reference, left_jacobian
from arm_control.neural.linear_systems import point_attractor, scaled_attractor, velocity_scale
from arm_control.neural.populations import (
    CompileLoop,
    NeuralSystem,
    Population,
    SpikeRecord,
    decoders,
    even_tuning,
    points_in_cube,
    random_tuning,
)
from arm_control.neural.synapses import compensate, pole
from arm_control.primitives import rotation_motion

NEURONS = "neurons"
NOISE = 0.02
"""Noise for which the decoders are solved: the synapse averages spikes over its time constant, and what is left of an
error of the decoders moves the attractor from its goal by 4 / (alpha tau) times as much."""
VARIANTS = (NEURONS, "discrete", "continuous", "ideal")


@dataclass(frozen=True)
class AttractorParameters(Parameters):
    """A point attractor, and how it is realised."""

    variant: str = parameter(
        NEURONS,
        "what the attractor consists of; all but neurons are the same equations without noise",
        choices=VARIANTS,
    )
    alpha: float = parameter(
        10.0, "damping of the attractor; a goal is reached after about 10 / alpha", unit="1/s", lower=0.5, upper=1000.0
    )
    synapse: float = parameter(0.1, "time constant of the synapse in the feedback", unit="s", lower=0.01, upper=1.0)
    neurons: int = parameter(1000, "number of neurons of each axis", lower=8, upper=20000)
    seed: int = parameter(0, "seed of the neurons; 0: spread evenly, not drawn", lower=0)
    radius: float = parameter(
        0.5, "largest distance from the start, along an axis, that the neurons represent", unit="m", lower=0.01
    )
    smoothing: float = parameter(
        0.05, "time constant with which the reference follows the noisy state of neurons", unit="s", lower=0.005
    )


def make_axes(p: AttractorParameters, dt: float, n: int, compile_loop: CompileLoop) -> PlainAxes | NeuralAxes:
    """Return the attractors of n axes, with steps of dt [s]."""
    system = scaled_attractor(p.alpha)
    discrete = system.discretized(dt)
    if p.variant == "ideal":
        return PlainAxes(discrete.A, discrete.B, n)
    matrices = compensate(system if p.variant == "continuous" else discrete, p.synapse)
    if p.variant != NEURONS:
        a, (A, B) = pole(p.synapse, dt), matrices
        return PlainAxes(a * np.eye(2) + (1.0 - a) * A, (1.0 - a) * B, n)
    tunings = [random_tuning(p.neurons, 2, p.seed + k) if p.seed else even_tuning(p.neurons, 2) for k in range(n)]
    points = points_in_cube(2)
    D = [decoders(tuning, points, NOISE) for tuning in (tunings if p.seed else tunings[:1])]
    populations = [Population(compile_loop, tuning, D[k % len(D)], dt) for k, tuning in enumerate(tunings)]
    return NeuralAxes([NeuralSystem(population, matrices, p.synapse, dt) for population in populations])


class PlainAxes:
    """Attractors that are their equations: ``x <- G x + H u``, with G (2, 2) and H (2, 1) of one axis.

    Attributes
    ----------
    x : ndarray, shape (2, n)
        Positions, and velocities over w, in units of the radius.
    """

    def __init__(self, G: Array, H: Array, n: int) -> None:
        self._G, self._H = G, H
        self.x = np.zeros((2, n))

    def restart(self, x: Array) -> None:
        """Start from a state, shape (2, n)."""
        self.x = x

    def hold(self, x: Array) -> None:
        """Keep a state, shape (2, n), for a step."""
        self.x = x

    def step(self, u: Array) -> None:
        """Go one step towards goals, shape (n,), in units of the radius."""
        self.x = self._G @ self.x + self._H * u


class NeuralAxes:
    """Attractors in spiking neurons, one system for each axis."""

    def __init__(self, axes: list[NeuralSystem]) -> None:
        self._axes = axes
        self.populations = [axis.population for axis in axes]

    @property
    def x(self) -> Array:
        """See :class:`PlainAxes`."""
        return np.array([axis.x for axis in self._axes]).T

    def restart(self, x: Array) -> None:
        """See :class:`PlainAxes`; the neurons begin as they did the first time."""
        for axis, start in zip(self._axes, x.T, strict=True):
            axis.restart(start)

    def hold(self, x: Array) -> None:
        """See :class:`PlainAxes`."""
        for axis, state in zip(self._axes, x.T, strict=True):
            axis.hold(state)

    def step(self, u: Array) -> None:
        """See :class:`PlainAxes`."""
        for axis, goal in zip(self._axes, u[:, None], strict=True):
            axis.step(goal)


LONGEST_STEP = 1e-3
"""Longest step of the attractor [s]; there are several between states that are farther apart."""
AT_REST = 1e-12
"""Rotation vector [rad] and rate [rad/s] below which the orientation is that of the goal."""
RANGE = 0.85
"""Share of the range of the neurons that is used: few are tuned to its ends."""
N_SHOWN = 16
"""Neurons of each axis whose spikes are recorded."""
LONGEST_GAP = 0.1
"""Time without a state after which the attractor has waited, not moved on [s]."""


class AttractorFollower:
    """Reference of the end effector, state by state.

    Parameters
    ----------
    rate : float
        Rate of the states [Hz].
    goals : PoseFollower, optional
        What to reach; by default no goal.

    Attributes
    ----------
    refused : ArmControlError or None
        Why the goal of the last state is passed over.
    is_holding : bool
        Whether no goal has acted since :meth:`hold`.
    """

    def __init__(
        self, model: RobotModel, parameters: AttractorParameters, rate: float, goals: PoseFollower | None = None
    ) -> None:
        self.goals = PoseFollower(model) if goals is None else goals
        n_steps = int(np.ceil(1.0 / (rate * LONGEST_STEP) - 1e-9))
        self._dt = 1.0 / (rate * n_steps)
        unit, spring = parameters.radius / RANGE, point_attractor(parameters.alpha)
        units = unit * np.array([1.0, velocity_scale(parameters.alpha)])
        self._radius, self._unit = parameters.radius, unit
        self._K = np.vstack([np.diag(units), spring.A[1] * units])  # (1) and (2), of x
        self._L = np.vstack([np.zeros((2, 1)), spring.B[1:] * unit])  # of u
        self._feedback = np.array([1.0 / parameters.smoothing**2, 2.0 / parameters.smoothing])  # (3)
        self._integrator = np.array([[1.0, self._dt, 0.5 * self._dt**2], [0.0, 1.0, self._dt]])
        self._axes = make_axes(parameters, self._dt, 3, model.compile_law)
        self.neurons = self._axes if isinstance(self._axes, NeuralAxes) else None
        self.spikes = None if self.neurons is None else SpikeRecord(self.neurons.populations, N_SHOWN, self._dt)
        self._turn = _Turn(parameters.alpha, self._dt, model.compile_law)
        self._centre, self._u = np.zeros(3), np.zeros(3)
        self._des = np.zeros((3, 3))  # position, velocity and acceleration of the reference
        self._since_ns: int | None = None
        self._n_done = 0
        self._held = Reference(Pose.identity())
        self.is_holding = False
        self.goal: Pose | None = None
        self.refused: ArmControlError | None = None
        self._passed_over: Pose | None = None

    @property
    def jog_limits(self) -> JogLimits:
        """Limits of jogging."""
        return self.goals.jog_limits

    @jog_limits.setter
    def jog_limits(self, limits: JogLimits) -> None:
        self.goals.jog_limits = limits

    @property
    def position(self) -> Array:
        """Position of the attractor, as decoded from neurons where it consists of such, shape (3,) [m]."""
        return self._motion()[0]

    @property
    def reference_position(self) -> Array:
        """Position of the reference, shape (3,) [m]."""
        return self._des[0]

    def add(self, goal: PoseGoal) -> None:
        """Add a goal."""
        self.goals.add(goal)

    def restart(self, q: Array) -> None:
        """Hold the pose of the arm at ``q``, shape (nq,) [rad or m], until a goal is due."""
        self.goals.restart(q)
        X_WE = self.goals.model.pose(q)
        self._centre = X_WE.p
        self._hold(X_WE, self._axes.restart)
        self._since_ns, self._n_done = None, 0
        self._passed_over = None
        self.is_holding = False

    def hold(self, stamp_ns: int, q: Array) -> None:
        """See :class:`~arm_control.motion.pose_follower.ReferenceSource`."""
        self.goals.hold(stamp_ns, q)
        self._held = Reference(self.goals.model.pose(q))
        self._hold(self._held.X_WT, self._axes.hold)
        self.is_holding = True

    def reference(self, stamp_ns: int, q: Array) -> Reference:
        """Return the reference in a state.

        Measured positions q, shape (nq,), are for the frame of a goal that becomes active now [rad or m].
        """
        n_steps = self._steps_until(stamp_ns)
        for k in range(0 if self.is_holding else n_steps):
            if k:
                self._update()
            self._step()
        X_WT, self.refused = self.goals.reference(stamp_ns, q).X_WT, None
        if not self.goals.is_holding:
            self._take(X_WT)
        self.is_holding = self.is_holding and self.goal is None
        if self.is_holding:
            return self._held
        self._update()
        R, omega, omega_dot = self._turn.reference()
        p_des, v_des, a_des = self._des
        return Reference(Pose(R, p_des.copy()), np.concatenate([v_des, omega]), np.concatenate([a_des, omega_dot]))

    def _hold(self, X: Pose, hold: Callable[[Array], None]) -> None:
        """Be at rest in a pose."""
        self._des = np.array([X.p, np.zeros(3), np.zeros(3)])
        self._u, self.goal = (X.p - self._centre) / self._unit, None
        hold(np.array([self._u, np.zeros(3)]))
        self._turn.hold(X.R)

    def _steps_until(self, stamp_ns: int) -> int:
        """Return the number of steps from the state before to this one."""
        if self._since_ns is None:
            self._since_ns = stamp_ns
        n = round((stamp_ns - self._since_ns) / (self._dt * NANOSECONDS))
        n_steps = n - self._n_done
        self._n_done = n
        return n_steps if n_steps * self._dt <= LONGEST_GAP else 0

    def _take(self, X_WT: Pose) -> None:
        """Move towards a goal from now on, unless neurons cannot represent it."""
        if X_WT is self.goal or X_WT is self._passed_over:
            return
        way = X_WT.p - self._centre
        farthest = float(np.abs(way).max())
        if self.neurons is None or farthest <= self._radius:
            self._u, self.goal = way / self._unit, X_WT
            self._turn.take(X_WT.R)
            return
        self._passed_over = X_WT
        self.refused = InputError(
            f"the goal is {farthest:.3g} m from the start, along an axis; the neurons represent up to "
            f"attractor.radius = {self._radius:g} m"
        )

    def _step(self) -> None:
        """Go on for one step with the present goal."""
        self._des[:2] = self._integrator @ self._des
        self._axes.step(self._u)
        if self.spikes is not None:
            self.spikes.add()
        self._turn.step()

    def _update(self) -> None:
        """Take the reference from the attractor, equation (3) with neurons."""
        motion = self._motion()
        if self.neurons is not None:
            motion[2] += self._feedback @ (motion[:2] - self._des[:2])
            motion[:2] = self._des[:2]
        self._des = motion

    def _motion(self) -> Array:
        """Position, velocity and acceleration of the attractor, equations (1) and (2), shape (3, 3)."""
        motion: Array = self._K @ self._axes.x + self._L * self._u
        motion[0] += self._centre
        return motion


def turn_motion(x: Mapping[str, Array]) -> dict[str, Array]:
    """Equations (4) and (5) as a law: ``R`` (3, 3), ``omega`` and ``omega_dot`` (3,).

    Of ``phi`` and ``rate`` (3,), ``spring`` (2,): -alpha beta and -alpha, and ``R_goal`` (9,).
    """
    phi, rate = x["phi"], x["rate"]
    second = x["spring"][0] * phi + x["spring"][1] * rate
    R, omega, omega_dot = rotation_motion(phi, rate, second)
    return {"R": R @ x["R_goal"].reshape(3, 3), "omega": omega, "omega_dot": omega_dot}


class _Turn:
    """The orientation: an attractor with steps of dt [s]."""

    def __init__(self, alpha: float, dt: float, compile_law: Callable[[Law, Samples], Kernel]) -> None:
        system = point_attractor(alpha)
        self._G = system.discretized(dt).A
        sizes = {"phi": 3, "rate": 3, "spring": 2, "R_goal": 9}
        rng = np.random.default_rng(0)
        samples = {name: rng.uniform(-1.5, 1.5, (3, size)) for name, size in sizes.items()}
        samples["phi"] *= [[1e-3], [1.0], [1.0]]  # of the series, and of the closed form
        self._kernel = compile_law(Law("turn of an attractor", turn_motion, sizes, has_masses=False), samples)
        self._kernel.inputs["spring"][:] = system.A[1]
        self._x = np.zeros((2, 3))  # rotation vector from the goal, and its rate
        self.hold(np.eye(3))

    def hold(self, R: Array) -> None:
        """Be at rest in an orientation, shape (3, 3)."""
        self._aim(R, np.zeros((2, 3)))

    def take(self, R_goal: Array) -> None:
        """Turn towards another orientation, shape (3, 3), from now on; without a jump."""
        if R_goal is not self._R_goal:
            R, omega, _ = self.reference()
            phi = rotation_vector(R @ R_goal.T)
            J, _ = left_jacobian(phi, np.zeros(3))
            self._aim(R_goal, np.array([phi, np.linalg.solve(J, omega)]))

    def _aim(self, R_goal: Array, x: Array) -> None:
        self._R_goal, self._x = R_goal, x
        self._kernel.inputs["R_goal"][:] = R_goal.ravel()

    def step(self) -> None:
        """Go one step."""
        self._x = self._G @ self._x
        if np.abs(self._x).max() < AT_REST:
            self._x = np.zeros((2, 3))

    def reference(self) -> tuple[Array, Array, Array]:
        """Return orientation, shape (3, 3), angular velocity and acceleration [rad/s, rad/s^2]."""
        inputs, outputs = self._kernel.inputs, self._kernel.outputs
        inputs["phi"][:], inputs["rate"][:] = self._x
        self._kernel.call()
        return outputs["R"].copy(), outputs["omega"], outputs["omega_dot"]
