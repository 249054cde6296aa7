"""Cases of the benchmark of adaptation: plants, paths of a UR5's hand and joints, and contenders that follow them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arm_control import Pose, RobotModel
from arm_control.control import Controller, ControlLoop, Measurement, pose_error, resolve_parameters
from arm_control.controllers import JointController, JointLoopParameters, OscController, OscLoopParameters
from arm_control.maths import Array
from arm_control.motion import JogLimits, JointGoal, PoseGoal, Reference, Waypoints
from arm_control.simulation import PlantProperties, make_simulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
CONTENDERS: dict[str, dict[str, Any]] = {
    "law": {},
    "observer": {"disturbance_observer": True},
    "adaptation": {"adaptive_torque": True},
    "both": {"disturbance_observer": True, "adaptive_torque": True},
}
RADIUS = 0.08
"""Half width of the path of the hand [m]."""
SPRING = 300.0
"""Stiffness of the spring [N/m]."""
LOAD = np.array([0.0, 0.0, -19.6, 0.0, 0.0, 0.0])
"""Weight of 2 kg [N, N m]."""


class Part(NamedTuple):
    """Some periods of a path, from rest to rest.

    Attributes
    ----------
    period : float
        Duration of a period [s].
    periods : int
        Their number; a second is added for a gentle begin and a gentle end.
    pause : float
        Rest behind them [s].
    side : float
        1, or -1 for the path to the other side.
    """

    period: float = 1.5
    periods: int = 16
    pause: float = 0.0
    side: float = 1.0

    @property
    def duration(self) -> float:
        """Time of all [s]."""
        return self.period * self.periods + 1.0 + self.pause


class Case(NamedTuple):
    """A plant, a controller and a path.

    Attributes
    ----------
    plant : PlantProperties
        Differences of the arm from its model.
    rate : float
        Rate of the states [Hz].
    parts : tuple of Part
        The path.
    controller : str
        ``osc`` or ``joint``.
    has_spring : bool
        Whether a spring pulls the hand to where it starts.
    load_until : float
        Time at which the hand loses a load of 2 kg [s].
    """

    plant: PlantProperties
    rate: float = 1000.0
    parts: tuple[Part, ...] = (Part(),)
    controller: str = "osc"
    has_spring: bool = False
    load_until: float = 0.0

    @property
    def states_per_period(self) -> int:
        """Number of states in a period of the first part."""
        return round(self.parts[0].period * self.rate)


PAYLOAD = PlantProperties(payload_mass=2.0)
REAL = PlantProperties(set="real", payload_mass=2.0)
REPEATED = {
    "2 kg": Case(PAYLOAD),
    "2 kg, `real`": Case(REAL),
    "2 kg, `real`, 200 Hz": Case(REAL, 200.0),
    "2 kg, `real`, noise of 1e-2 rad/s": Case(REAL.replace(velocity_noise=1e-2)),
    "spring, `real`": Case(PlantProperties(set="real"), has_spring=True),
    "`joint`, 2 kg": Case(PAYLOAD, controller="joint"),
    "`joint`, 2 kg, `real`": Case(REAL, controller="joint"),
    "`joint`, 2 kg, `real`, 200 Hz": Case(REAL, 200.0, controller="joint"),
}
"""Cases in which one path is followed again and again."""
LEARNT = Part(1.5, 10)
CHANGED = {
    "the same path after 10 s at rest": Case(REAL, parts=(LEARNT._replace(pause=9.5), Part(1.5, 2))),
    "the same path, slower by half": Case(REAL, parts=(LEARNT._replace(pause=0.5), Part(2.25, 2))),
    "the path to the other side": Case(REAL, parts=(LEARNT._replace(pause=0.5), Part(1.5, 2, side=-1.0))),
}
"""Cases in which the second part is new; each pause ends on a whole period."""
DROPPED = Case(PlantProperties(set="real"), load_until=12.0)
"""The hand loses its load."""


class Outcome(NamedTuple):
    """Errors of the hand in each state [m, rad], torques as shares of the limits, states in which the gate braked."""

    errors: Array
    torques: Array
    braked: int

    @property
    def distances(self) -> Array:
        """Error of the position in each state [mm]."""
        return 1e3 * np.linalg.norm(self.errors[:, :3], axis=1)

    def rms(self, first: int, n: int) -> float:
        """Root mean square of the distances.

        Parameters
        ----------
        first, n : int
            First state, and number of states.
        """
        return float(np.sqrt(np.mean(self.distances[first : first + n] ** 2)))


class Figure8:
    """A path of the hand; a :class:`~arm_control.motion.pose_follower.ReferenceSource`."""

    jog_limits: JogLimits
    goal = refused = None
    is_holding = False

    def __init__(self, X_WE: Pose, parts: tuple[Part, ...]) -> None:
        self._X, self._parts = X_WE, parts

    def add(self, goal: PoseGoal) -> None:
        """Goals mean nothing here."""

    def restart(self, q: Array) -> None:
        """The path depends on time only."""

    def hold(self, stamp_ns: int, q: Array) -> None:
        """The path goes on."""

    def reference(self, stamp_ns: int, q: Array) -> Reference:
        """Pose, twist and acceleration at a time."""
        side, s, ds, dds = phase(stamp_ns * 1e-9, self._parts)
        size = RADIUS * np.array([1.0, side, 1.0])
        along = size * np.array([0.5 * np.sin(2.0 * s), np.sin(s), 1.0 - np.cos(s)])
        first = size * np.array([np.cos(2.0 * s), np.cos(s), np.sin(s)])
        second = size * np.array([-2.0 * np.sin(2.0 * s), -np.sin(s), np.cos(s)])
        V, A = np.zeros(6), np.zeros(6)
        V[:3], A[:3] = first * ds, second * ds * ds + first * dds
        return Reference(Pose(self._X.R, self._X.p + along), V, A)


def phase(t: float, parts: tuple[Part, ...]) -> tuple[float, float, float, float]:
    """Side of a path, its phase and the derivatives of the phase [rad, rad/s, rad/s^2].

    Parameters
    ----------
    t : float
        Time [s].
    parts : tuple of Part
        The path.
    """
    for part in parts[:-1]:
        if t < part.duration:
            break
        t -= part.duration
    else:
        part = parts[-1]
    w, end = 2.0 * np.pi / part.period, part.period * part.periods

    def ramp(t: float) -> tuple[float, float, float]:
        t = max(t, 0.0)
        return w * (t**3 - 0.5 * t**4), w * (3.0 * t**2 - 2.0 * t**3), w * 6.0 * (t - t**2)

    if t < 1.0:
        return part.side, *ramp(t)
    if t < end:
        return part.side, w * (t - 0.5), w, 0.0
    s, ds, dds = ramp(end + 1.0 - t)
    return part.side, w * end - s, ds, -dds


def swing(model: RobotModel, part: Part) -> JointGoal:
    """All joints to and fro.

    Parameters
    ----------
    model : RobotModel
        The arm.
    part : Part
        Periods.
    """
    times = np.linspace(0.0, part.duration, round(40.0 * part.duration) + 1)[1:]
    size = np.array([0.3, 0.2, 0.3, 0.4, 0.4, 0.4])
    s, ds, dds = np.array([phase(t, (part,))[1:] for t in times]).T[:, :, None]
    qs, vs, as_ = HOME + size * np.sin(s), size * np.cos(s) * ds, size * (np.cos(s) * dds - np.sin(s) * ds * ds)
    return JointGoal(0, Waypoints.checked(model, model.joint_names, times.tolist(), qs, vs, as_))


def make_loop(model: RobotModel, case: Case, contender: str) -> ControlLoop:
    """Return the control loop of a contender, with its goals.

    Parameters
    ----------
    model : RobotModel
        The arm.
    case : Case
        Plant, controller and path.
    contender : str
        One of :data:`CONTENDERS`.
    """
    values = {"inertia_floor": 0.02, **CONTENDERS[contender]}
    parameters: OscLoopParameters | JointLoopParameters
    controller: Controller
    if case.controller == "osc":
        osc = parameters = resolve_parameters(OscLoopParameters, {"rate": case.rate, **values}, model)
        controller = OscController(model, osc.control, Figure8(model.pose(HOME), case.parts))
    else:  # the law alone is far off its path, and is to follow it nevertheless
        joint = parameters = JointLoopParameters.from_mapping({"path_tolerance": 10.0, **values})
        controller = JointController(model, joint.control)
        controller.add(swing(model, case.parts[0]))
    p = parameters
    return ControlLoop(model, controller, p.gate, observer=p.observer, adaptation=p.adaptation, waits_for_commands=True)


def follow(model: RobotModel, case: Case, contender: str) -> Outcome:
    """Follow the path of a case.

    Parameters
    ----------
    model : RobotModel
        The arm.
    case : Case
        Plant, controller and path.
    contender : str
        One of :data:`CONTENDERS`.
    """
    dt, start = 1.0 / case.rate, model.pose(HOME).p
    n = round(sum(part.duration for part in case.parts) / dt)
    loop, simulator = make_loop(model, case, contender), make_simulator(model, HOME, case.plant, timestep=dt)
    errors, torques, braked = np.zeros((n, 6)), np.zeros((n, model.nv)), 0
    for k in range(n):
        X_WE, wrench = model.pose(simulator.arm.q), np.zeros(6)
        if k * dt < case.load_until:
            wrench = LOAD
        if case.has_spring:
            wrench = np.concatenate([SPRING * (start - X_WE.p), np.zeros(3)])
        simulator.load(model.jacobian(simulator.arm.q).T @ wrench)
        result = loop.tick(Measurement(round(k * dt * 1e9), simulator.q, simulator.v, dt if k else 0.0, k == 0))
        errors[k], torques[k] = pose_error(X_WE, result.law.X_WT), result.gate.tau / model.tau_max
        braked += not result.gate.is_passing
        simulator.step(result.gate.tau)
    return Outcome(errors, torques, braked)
