"""The campaign: each fault in both arrangements with each controller, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from arm_control.control.loop_parameters import (
    IlqrLoopParameters,
    JointLoopParameters,
    LoopParameters,
    OscLoopParameters,
)
from arm_control.control.osc.tuning import resolve_parameters
from arm_control.core.files import urdf_path
from arm_control.faults.catalogue import BRAKES, GOES_ON, HOLDS, Fault
from arm_control.faults.chain import Chain
from arm_control.faults.chain_setup import Record, Setup
from arm_control.gate.torque_rules import AT_REST
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion.goals import JointGoal, Target

HOME = (0.0, -1.4, 1.9, -2.07, -1.5708, 0.0)
STEP_OF_TARGET = (-0.1, -0.3, 0.15)
"""Where the target is from the start [m]."""
STEP_OF_JOINTS = (-0.8, 0.3, -0.4, 0.3, 0.2, 0.5)
"""Where the goal of the joints is from the start [rad]."""
LATEST_BRAKE = 0.02
"""Longest time to a braking torque [s]."""
LATEST_REST = 0.5
"""Longest time to rest [s]."""
REST = 0.25
"""Time below :data:`AT_REST` that is a rest [s]."""
LARGEST_DRIFT = 0.2
"""Largest joint speed at the end, a second after the onset [rad/s]: balanced without feedback, an arm falls at last."""
NEAR = 2e-3
"""Largest distance from the goal at the end of a run that goes on [m, or rad]."""
CONTROLLERS = ("osc", "joint", "ilqr")
ROUNDING = 1e-9


@dataclass(frozen=True)
class Row:
    """What came of a fault.

    Attributes
    ----------
    fault, what, arrangement, controller : str
        What was run.
    verdict : str
        What must come of it.
    passed : bool
        Whether it did, or no software can serve it.
    brake_ms : float or None
        Time from the first wrong message to a braking torque [ms]; None: there was none.
    rest_ms : float or None
        Time from the first wrong message until the arm rests [ms]; None: it does not.
    peak : float
        Largest torque, as a share of the effort limit.
    step : float
        Largest change of a joint's torque in a millisecond [N m].
    speed, drift : float
        Largest joint speed from the onset on, and at the end [rad/s].
    reason : str
        Which guard acted, in its own words.
    said : dict of str to int
        Refusals, with their number.
    failure : str
        What was not as it must be.
    unservable : str
        Why no software can serve it.
    """

    fault: str
    what: str
    arrangement: str
    controller: str
    verdict: str
    passed: bool
    brake_ms: float | None
    rest_ms: float | None
    peak: float
    step: float
    speed: float
    drift: float
    reason: str
    said: dict[str, int]
    failure: str
    unservable: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@cache
def arm() -> RobotModel:
    """Return the arm of the campaign."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    model.prepare("terms", "pose", "frames", progress=False)
    return model


@cache
def parameters_of(controller: str) -> LoopParameters:
    """Return the parameters of a controller: those that are proposed for the arm."""
    if controller == "osc":
        return resolve_parameters(OscLoopParameters, {}, arm())
    if controller == "joint":
        return JointLoopParameters()
    return IlqrLoopParameters.from_mapping({"effort_share": 0.4})


def setup_of(fault: Fault, arrangement: str, controller: str) -> Setup:
    """Return one run of a fault.

    Parameters
    ----------
    fault : Fault
        The fault.
    arrangement : str
        ``simulator`` or ``hardware``.
    controller : str
        ``osc``, ``joint`` or ``ilqr``.
    """
    model, q = arm(), np.array(HOME)
    goal: Target | JointGoal
    if controller == "joint":
        goal = JointGoal(0, q + STEP_OF_JOINTS)
    else:
        start = model.pose(q)
        goal = Target(0, model.base, Pose(start.R, start.p + STEP_OF_TARGET))
    return Setup(
        model,
        parameters_of(controller),
        q,
        goal,
        arrangement == "hardware",
        fault.plant,
        None if fault.states is None else fault.states(),
        None if fault.commands is None else fault.commands(),
        list(fault.events),
        period=fault.period,
        duration=3.0 if fault.verdict in (GOES_ON, HOLDS) else 1.5,
    )


def run_fault(fault: Fault, arrangement: str, controller: str) -> Row:
    """Run a fault and judge it; parameters of :func:`setup_of`."""
    setup = setup_of(fault, arrangement, controller)
    chain = Chain(setup)
    record = chain.run()
    after = record.t >= setup.onset - 1e-9
    speed = np.abs(record.v).max(axis=1)
    braking = record.t[after & record.is_braked]
    first_wrong = setup.onset + fault.n_right * fault.period
    brake_ms = 1e3 * (braking[0] - first_wrong) if len(braking) else None
    rest_ms = _time_to_rest(record.t[after] - first_wrong, speed[after])
    failure = _failure(fault, record, chain, brake_ms, rest_ms)
    dt = record.t[1] - record.t[0]
    return Row(
        fault.name,
        fault.what,
        arrangement,
        controller,
        fault.verdict,
        not failure or bool(fault.unservable),
        brake_ms,
        rest_ms,
        float((np.abs(record.tau) / setup.model.tau_max).max()),
        float(np.abs(np.diff(record.tau, axis=0)).max() * 1e-3 / dt),
        float(speed[after].max()),
        float(speed[-1]),
        record.reason,
        record.said,
        failure,
        fault.unservable,
    )


def _time_to_rest(t: Array, speed: Array) -> float | None:
    """Return when the arm begins to rest, for :data:`REST` or for good [ms]; None: it does not."""
    n = round(REST / (t[1] - t[0]))
    moving = np.concatenate([[-1], np.flatnonzero(speed > AT_REST), [len(t)]])
    rests = np.flatnonzero(np.diff(moving) > n)
    return 1e3 * float(t[moving[rests[0]] + 1]) if len(rests) else None


def _failure(fault: Fault, record: Record, chain: Chain, brake_ms: float | None, rest_ms: float | None) -> str:
    """Say what was not as it must be; empty when all was."""
    if record.error:
        return record.error
    if why := failure_of_torque(record, chain.setup):
        return why
    if fault.verdict == GOES_ON:
        return f"braked: {record.reason}" if brake_ms is not None else _failure_to_arrive(record, chain)
    return _failure_to_brake(fault, record, brake_ms, rest_ms) if fault.verdict in (BRAKES, HOLDS) else ""


def _failure_to_brake(fault: Fault, record: Record, brake_ms: float | None, rest_ms: float | None) -> str:
    latest_rest = np.inf if fault.verdict == HOLDS else 1e3 * LATEST_REST
    if brake_ms is None or brake_ms > 1e3 * LATEST_BRAKE + 1e-6:
        return "no braking torque in time"
    if rest_ms is None or rest_ms > latest_rest:
        return "not at rest in time"
    if np.abs(record.v[-1]).max() > LARGEST_DRIFT:
        return "moves again at the end"
    return "" if record.is_braked[-1] else "the brake was released"


def failure_of_torque(record: Record, setup: Setup) -> str:
    """Say which limit the torque has not kept, that of effort or that of rate; empty when it has kept both.

    Parameters
    ----------
    record : Record
        The run.
    setup : Setup
        What was run.
    """
    if not np.isfinite(record.tau).all() or (np.abs(record.tau) > setup.model.tau_max * (1 + ROUNDING)).any():
        return "the torque was above its limit"
    step = np.abs(np.diff(record.tau, axis=0)).max()
    longest = max(np.diff(record.t).max(), setup.period) + _blind(setup)
    if step > 1.25 * setup.parameters.gate.rate_limit * longest * (1 + ROUNDING):
        return f"the torque changed by {step:.1f} N m in one step"
    return ""


def _blind(setup: Setup) -> float:
    """Time between two looks of a blind gate, which are rarer than its ticks [s]."""
    return LATEST_BRAKE / 8 if setup.is_hardware else 0.0


def _failure_to_arrive(record: Record, chain: Chain) -> str:
    goal, q = chain.setup.goal, record.q[-1]
    if isinstance(goal, JointGoal):
        distance = float(np.abs(q - np.asarray(goal.destination)).max())
    else:
        distance = float(np.linalg.norm(chain.setup.model.pose(q).p - goal.X_FT.p))
    return f"{distance:.4f} from the goal at the end" if distance > NEAR else ""


def campaign(faults: Iterable[Fault], controllers: Iterable[str] = CONTROLLERS) -> Iterator[tuple[Fault, str, str]]:
    """Yield every run of the campaign: fault, arrangement, controller.

    Parameters
    ----------
    faults : iterable of Fault
        The faults.
    controllers : iterable of str
        The controllers.
    """
    for fault in faults:
        for arrangement in fault.arrangements:
            for controller in controllers:
                yield fault, arrangement, controller
