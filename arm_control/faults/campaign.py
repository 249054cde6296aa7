"""The campaign: each fault in each arrangement, on each plant, and what came of it.

A run that brakes goes on until the arm is at rest and for 3 s more; then the fault is over, the gates are enabled, and
nothing may move for another 3 s. What is measured:

    at rest   every joint is slower than 0.01 rad/s for 0.25 s
    sunk      how much further down than on the exact plant the hand has moved, from the first wrong message to 3 s of
              rest
    fall      the same 0.6 s after the first wrong message, where no state can be used: allowed is 1.2 times what an
              ideal brake of the model does on that plant
    limited   speed of the fastest joint under a runaway controller, in its speed limits: the mean, and the largest one
    policy    sends 15 chunks a second, observed 50 ms before, that lead to the goal in 2 s

The largest speed of a limited arm is above its limits, by as much as torque is slow: with the default ``rate_limit`` of
1 N m a millisecond no torque stops six joints of a UR5 at once: they throw each other to 2.9 times their limits, for
tenths of a second (with 3 N m: to 1.2 times; without limits of speed: to 30 to 86 times).

A torque may change by what the rate limit allows in the time since the last change; after a pause by a quarter more
than in a period (:mod:`arm_control.gate.torque_rules`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from arm_control.control import LoopParameters, resolve_parameters
from arm_control.controllers import FollowLoopParameters, IlqrLoopParameters, JointLoopParameters, OscLoopParameters
from arm_control.core import NANOSECONDS, urdf_path
from arm_control.faults.catalogue import BRAKES, GOES_ON, HOLDS, KEEPS, LIMITED, STAYS, WITH_LOOKS, Fault
from arm_control.faults.chain import Chain
from arm_control.faults.chain_setup import (
    CONSTRAINTS,
    EXACT,
    GOAL,
    OBSTACLES,
    PLANTS,
    STEP,
    Record,
    Setup,
    Source,
    joint_trajectory,
)
from arm_control.faults.constraint_inputs import file_of
from arm_control.gate import AT_REST
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, JointReference, JointTrajectory, Target, Waypoints
from arm_control.sweeps import in_order

HOME = {
    "ur5": (0.0, -1.4, 1.9, -2.07, -1.5708, 0.0),
    "panda": (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
}
STEP_OF_TARGET = (-0.1, -0.3, 0.15)
"""Where the target is from the start [m]."""
STEP_OF_JOINTS = (-0.8, 0.3, -0.4, 0.3, 0.2, 0.5, 0.3)
"""Where the goal of the joints is from the start [rad]."""
CONTROLLERS = {"ur5": ("osc", "joint", "ilqr"), "panda": ("osc", "joint")}
"""What runs in the arrangements of nodes; the others have operational space control alone."""
OF_ALL_CONTROLLERS = ("controller", "gate", "simulator")

LATEST_BRAKE, LATEST_BRAKE_OF_STATES = 0.02, 0.035
"""Longest time to a braking torque [s]; where only a state that comes is answered."""
LATEST_REST, LATEST_REST_EXACT = 0.6, 0.26
"""Longest time to rest [s]; of an arm that is its model."""
REST = 0.25
"""Time below :data:`AT_REST` that is a rest [s]."""
PATIENCE = 1.5
"""Time after which an arm that is not at rest never is [s]."""
STANDSTILL = 3.0
"""Time at rest before and after *enable* [s]."""
LARGEST_SINK = 0.02
"""Largest way down of a braked arm [m]."""
BLIND_TIME = 0.6
"""Time at which the fall of an arm without states is measured [s]."""
FALL_FACTOR, FALL_ROUNDING = 1.2, 1e-3
"""What is allowed of the computed fall: a factor, and what is added [m]."""
FALL_DAMPING, FALL_RATE = 50.0, 1000.0
"""Damping of the ideal brake [1/s], and largest rate of its torque [N m/s]."""
SPEED_AFTER_ENABLE = 0.02
"""Largest joint speed after *enable* [rad/s]."""
LATEST_STOP, HOVER = 1.5, 0.01
"""Longest time to a stop behind the last chunk that counts, which has a second [s]; joint motion from then on [rad]."""
OUTSIDE = 0.5e-3
"""How far outside its constraints an arm may be that keeps them [m]."""
NEAR = 2e-3
"""Largest distance from the goal at the end of a run that goes on [m, or rad]."""
LIMITED_SPEED, LARGEST_LIMITED_SPEED = 1.02, 1.1
"""Mean and largest speed of the fastest joint of a runaway controller, in limits of speed."""
EFFORT_SHARE, RATE_SHARE = 1.0, 1.25
"""Largest torque, in effort limits; largest time that counts for a step of it, in periods."""
ROUNDING = 1e-9


class Case(NamedTuple):
    """A fault, and where it happens."""

    fault: Fault
    arrangement: str
    robot: str
    controller: str


class Run(NamedTuple):
    """A run of a case on a plant.

    Attributes
    ----------
    rest_ms : float or None
        Time until the arm is at rest [ms]; None: it is not.
    enabled_at : float
        When the gates were enabled [s]; infinite: never.
    """

    setup: Setup
    record: Record
    rest_ms: float | None
    enabled_at: float


@dataclass(frozen=True)
class Row:
    """What came of a fault.

    Attributes
    ----------
    brake_ms, rest_ms : float or None
        Time from the first wrong message to a braking torque, and until the arm rests [ms]; None: there was none.
    sunk_mm : float or None
        How far it has sunk; without states, how far it has fallen [mm].
    fall_mm : float or None
        Computed fall [mm]; None where states come.
    speed_after_enable, hand_speed_after_enable : float or None
        Largest joint speed [rad/s or m/s], and speed of the hand [m/s].
    reason : str
        Why the gate has braked; else why the controller has refused a goal, constraints or obstacles.
    peak : float
        Largest torque, as a share of the effort limit.
    step : float
        Largest change of a joint's torque in a millisecond [N m].
    speed : float
        Largest joint speed from the onset on [rad/s].
    """

    fault: str
    what: str
    arrangement: str
    plant: str
    robot: str
    controller: str
    verdict: str
    passed: bool
    is_blind: bool
    brake_ms: float | None
    rest_ms: float | None
    sunk_mm: float | None
    fall_mm: float | None
    speed_after_enable: float | None
    hand_speed_after_enable: float | None
    peak: float
    step: float
    speed: float
    reason: str
    said: dict[str, int]
    failure: str


# -- cases -----------------------------------------------------------------------------------------


def all_cases(faults: Sequence[Fault]) -> Iterator[Case]:
    """Yield each fault in each of its arrangements, with each robot and controller."""
    for fault in faults:
        for arrangement in fault.arrangements:
            for robot, controllers in CONTROLLERS.items():
                usual = controllers if arrangement in OF_ALL_CONTROLLERS else controllers[:1]
                for controller in [fault.controller] if fault.controller else usual:
                    yield Case(fault, arrangement, robot, controller)


def some_cases(faults: Sequence[Fault]) -> Iterator[Case]:
    """Yield each fault in each of its arrangements once: robots and controllers take turns."""
    for k, fault in enumerate(faults):
        for i, arrangement in enumerate(fault.arrangements):
            pairs = [case[2:] for case in all_cases([fault]) if case.arrangement == arrangement]
            yield Case(fault, arrangement, *pairs[(k + i) % len(pairs)])


def plants_of(fault: Fault) -> Sequence[str]:
    """Return the plants on which a fault is run: all where the arm must brake."""
    return tuple(PLANTS) if fault.verdict in (BRAKES, HOLDS) else (EXACT,)


@cache
def arm(robot: str) -> RobotModel:
    """Return the model of a robot."""
    model = RobotModel.from_urdf(urdf_path(robot))
    model.prepare("terms", "pose", "frames", progress=False)
    return model


@cache
def parameters_of(robot: str, controller: str) -> LoopParameters:
    """Return the parameters of a controller: those that are proposed for the arm."""
    if controller == "osc":
        return resolve_parameters(OscLoopParameters, {}, arm(robot))
    if controller == "joint":
        return JointLoopParameters()
    if controller == "follow":
        return FollowLoopParameters()
    return IlqrLoopParameters.from_mapping({"effort_share": 0.4})


def setup_of(case: Case, plant: str = EXACT) -> Setup:
    """Return one run of a case on one of :data:`PLANTS`."""
    fault, arrangement, robot, controller = case
    model, q = arm(robot), np.array(HOME[robot])
    goal: Target | JointGoal
    inputs: dict[str, Source] = {}
    if controller in ("joint", "follow"):
        goal = JointGoal(0, q + STEP_OF_JOINTS[: len(q)])
        inputs = {"joint_chunk": policy(model, q, np.asarray(goal.destination))} if controller == "follow" else {}
    else:
        start = model.pose(q)
        goal = Target(0, model.base, Pose(start.R, start.p + STEP_OF_TARGET))
    parameters = parameters_of(robot, controller)
    if fault.kept is not None:
        file = file_of(fault.kept(p=model.pose(q).p))
        parameters = replace(parameters, gate=parameters.gate.replace(constraints=file))
    return Setup(
        model,
        parameters,
        q,
        goal,
        robot,
        arrangement,
        PLANTS[plant],
        controller != "follow",
        inputs,
        {} if fault.make is None else {fault.topic: fault.make()},
        list(fault.events),
        period=fault.period,
    )


def policy(model: RobotModel, q: Array, goal: Array) -> Source:
    """Return a policy whose chunks lead from one posture to another, (nq,) each [rad or m]."""
    way = JointTrajectory.through(JointReference.at_rest(q), Waypoints(np.array([2.0]), goal[None]))
    ahead = np.arange(1, 31) / 30.0

    def chunk(now_ns: int) -> Any:
        observed_ns = max(now_ns - NANOSECONDS // 20, 0)
        points = np.array([way.sample(t).q_des for t in observed_ns / NANOSECONDS + ahead])
        return joint_trajectory(model.joint_names, observed_ns, ahead, points)

    return 0.066, chunk


# -- runs ------------------------------------------------------------------------------------------


def run_cases(cases: Sequence[Case]) -> Iterator[Row]:
    """Run cases and yield their rows, in order, on processes as :func:`arm_control.sweeps.in_order` has them.

    What is compiled is compiled once, before.
    """
    for setup in {case[1:]: setup_of(case) for case in cases}.values():
        Chain(setup).advance(2 * STEP)
    for rows in in_order(run_case, cases):
        yield from rows


def run_case(case: Case) -> list[Row]:
    """Run a case on all its plants and judge it; the exact one comes first."""
    rows, exact = [], None
    for plant in plants_of(case.fault):
        run = run_on(case, plant)
        exact = exact or run
        rows.append(_judged(case, plant, run, exact))
    return rows


def run_on(case: Case, plant: str) -> Run:
    """Run a case on a plant: parameters of :func:`setup_of`."""
    fault, setup = case.fault, setup_of(case, plant)
    chain, begin = Chain(setup), _begin(case, setup)
    if fault.verdict in (GOES_ON, LIMITED, STAYS, KEEPS) or is_blind(case):
        chain.advance(_first_wrong(case, setup) + 1.0 if is_blind(case) else 3.0)
        return Run(setup, chain.record(), _rest_since(chain.record(), begin), np.inf)
    end = setup.onset
    rest_ms = None
    while rest_ms is None and end < begin + PATIENCE and not chain.has_ended:
        end += REST
        chain.advance(end)
        rest_ms = _rest_since(chain.record(), begin) if end > begin + REST else None
    if rest_ms is None:
        return Run(setup, chain.record(), None, np.inf)
    enabled_at = begin + 1e-3 * rest_ms + STANDSTILL
    chain.advance(enabled_at)
    setup.interferences = {}
    chain.enable()
    chain.advance(enabled_at + STANDSTILL)
    return Run(setup, chain.record(), rest_ms, enabled_at)


def is_blind(case: Case) -> bool:
    """Whether the last gate must brake without states."""
    return case.fault.are_states_lost and case.arrangement != "simulator"


def _first_wrong(case: Case, setup: Setup) -> float:
    """Time of the first wrong message [s]."""
    return setup.onset + case.fault.n_right * setup.period


def _begin(case: Case, setup: Setup) -> float:
    """Time from which on the rest is counted: the first wrong message, or the last event of a brake that must hold."""
    last = max((t for t, _ in case.fault.events), default=0.0) if case.fault.verdict == HOLDS else 0.0
    return _first_wrong(case, setup) + last


def _rest_since(record: Record, begin: float) -> float | None:
    """Return when the arm begins to rest, for :data:`REST` [ms]; None: it does not."""
    after = record.t >= begin - ROUNDING
    t, speed = record.t[after] - begin, np.abs(record.v[after]).max(axis=1)
    if len(t) < 2:
        return None
    n = round(REST / (t[1] - t[0]))
    moving = np.concatenate([[-1], np.flatnonzero(speed > AT_REST), [len(t)]])
    rests = np.flatnonzero(np.diff(moving) > n)
    return 1e3 * max(float(t[moving[rests[0]] + 1]), 0.0) if len(rests) else None


# -- judgement -------------------------------------------------------------------------------------


def _judged(case: Case, plant: str, run: Run, exact: Run) -> Row:
    fault, arrangement, robot, controller = case
    setup, record = run.setup, run.record
    first_wrong = _first_wrong(case, setup)
    after = record.t >= setup.onset - ROUNDING
    braking = record.t[after & record.is_braked]
    brake_ms = 1e3 * (braking[0] - first_wrong) if len(braking) else None
    sunk = fallen = None
    if fault.verdict in (BRAKES, HOLDS) and not record.error:
        if is_blind(case):
            sunk = _drop(run, first_wrong, BLIND_TIME) - _drop(exact, first_wrong, BLIND_TIME)
            fallen = fall_of(robot, controller, plant, round(brake_ms or 0.0), fault.n_right) if plant != EXACT else 0.0
        elif run.rest_ms is not None and exact.rest_ms is not None:
            sunk = _drop_at_rest(run, first_wrong) - _drop_at_rest(exact, first_wrong)
    speeds = _speeds_after_enable(run)
    failure = _failure(case, plant, run, brake_ms, sunk, fallen, speeds)
    dt = record.t[1] - record.t[0]
    return Row(
        fault.name,
        fault.what,
        arrangement,
        plant,
        robot,
        controller,
        fault.verdict,
        not failure,
        is_blind(case),
        brake_ms,
        run.rest_ms,
        None if sunk is None else 1e3 * sunk,
        None if fallen is None else 1e3 * fallen,
        *speeds,
        float((np.abs(record.tau) / setup.model.tau_max).max()),
        float(np.abs(np.diff(record.tau, axis=0)).max() * 1e-3 / dt),
        float(np.abs(record.v[after]).max()),
        record.reason or _refusal(record),
        record.said,
        failure,
    )


def _refusal(record: Record) -> str:
    """Why an input was refused, the first time; empty: none was."""
    inputs = GOAL, f"{CONSTRAINTS}: ", f"{OBSTACLES}: "
    whys = [why.partition(": ")[2] for why in record.said if why.startswith(inputs)]
    return whys[0] if whys else ""


def _drop(run: Run, begin: float, duration: float) -> float:
    """How far the hand has moved down [m]."""
    before, after = np.searchsorted(run.record.t, [begin - ROUNDING, begin + duration - ROUNDING])
    heights = [run.setup.model.pose(run.record.q[min(k, len(run.record.q) - 1)]).p[2] for k in (before, after)]
    return float(heights[0] - heights[1])


def _drop_at_rest(run: Run, begin: float) -> float:
    """The same until the gates are enabled, or to the end."""
    return _drop(run, begin, min(run.enabled_at, run.record.t[-1]) - begin)


def _speeds_after_enable(run: Run) -> tuple[float | None, float | None]:
    """Largest joint speed, and speed of the hand."""
    after = run.record.t >= run.enabled_at - ROUNDING
    if not after.any():
        return None, None
    every = round(5e-3 / (run.record.t[1] - run.record.t[0]))
    p = np.array([run.setup.model.pose(q).p for q in run.record.q[after][::every]])
    hand = np.linalg.norm(np.diff(p, axis=0), axis=1).max() / 5e-3
    return float(np.abs(run.record.v[after]).max()), float(hand)


@cache
def fall_of(robot: str, controller: str, plant: str, brake_ms: int, n_right: int) -> float:
    """Return how much further down than the exact arm a plant falls that is braked by the model alone [m].

    Parameters
    ----------
    brake_ms : int
        Time for which the last torque has stayed [ms].
    n_right : int
        Messages from the onset on that were right all the same.
    """
    drops = []
    for name in (plant, EXACT):
        setup = setup_of(Case(Fault("none", ""), "controller", robot, controller), name)
        chain, model = Chain(setup), setup.model
        chain.advance(setup.onset + n_right * STEP)
        record = chain.record()
        q, v, tau = chain.simulator.q, chain.simulator.v, record.tau[-1]
        height = model.pose(record.q[-1]).p[2]
        for k in range(round(BLIND_TIME / STEP)):
            terms = model.evaluate(q, v)
            if k >= brake_ms:
                change = np.clip(terms.g - FALL_DAMPING * terms.M @ v, -model.tau_max, model.tau_max) - tau
                tau = tau + change * min(1.0, FALL_RATE * STEP / np.abs(change).max())
            v = v + STEP * np.linalg.solve(terms.M, tau - terms.h)
            q = q + STEP * v
            chain.simulator.step(tau)
        drops.append(float(height - model.pose(chain.true_q).p[2]))
    return drops[0] - drops[1]


def _failure(
    case: Case,
    plant: str,
    run: Run,
    brake_ms: float | None,
    sunk: float | None,
    fallen: float | None,
    speeds: tuple[float | None, float | None],
) -> str:
    """Say what was not as it must be; empty when all was."""
    fault, record = case.fault, run.record
    if why := record.error or failure_of_torque(record, run.setup):
        return why
    if fault.verdict in (GOES_ON, STAYS, KEEPS):
        judges = {GOES_ON: _failure_to_arrive, STAYS: _failure_to_stay, KEEPS: _failure_to_keep}
        return f"braked: {record.reason}" if brake_ms is not None else judges[fault.verdict](run)
    if fault.verdict == LIMITED:
        return _failure_to_limit(run)
    if brake_ms is None or brake_ms > 1e3 * _latest_brake(case) + 1e-6:
        return "no braking torque in time"
    if fallen is not None and plant != EXACT:
        return _failure_to_fall(sunk or 0.0, fallen)
    return _failure_to_rest(plant, run, sunk) or _failure_to_stand(run, speeds[0])


def _latest_brake(case: Case) -> float:
    """Longest time to a braking torque [s]."""
    usual = LATEST_BRAKE if case.arrangement in WITH_LOOKS else LATEST_BRAKE_OF_STATES
    return max(usual, case.fault.latest_brake)


def _failure_to_fall(sunk: float, fallen: float) -> str:
    """Say that an arm without states has fallen further than computed."""
    is_more = sunk > FALL_FACTOR * max(fallen, 0.0) + FALL_ROUNDING
    return f"fell by {1e3 * sunk:.1f} mm, computed {1e3 * fallen:.1f} mm" if is_more else ""


def _failure_to_rest(plant: str, run: Run, sunk: float | None) -> str:
    latest = LATEST_REST_EXACT if plant == EXACT else LATEST_REST
    if run.rest_ms is None or run.rest_ms > 1e3 * latest + 1e-6:
        return "not at rest in time"
    return f"sunk by {1e3 * sunk:.1f} mm" if sunk is not None and sunk > LARGEST_SINK else ""


def _failure_to_stand(run: Run, speed_after_enable: float | None) -> str:
    is_braked = run.record.is_braked[run.record.t < run.enabled_at - ROUNDING]
    if not is_braked[np.argmax(is_braked) :].all():
        return "the brake was released"
    is_moving = speed_after_enable is not None and speed_after_enable > SPEED_AFTER_ENABLE
    return f"moves with {speed_after_enable:.3f} rad/s after it was enabled" if is_moving else ""


def failure_of_torque(record: Record, setup: Setup) -> str:
    """Say which limit the torque has not kept, that of effort or that of rate; empty when it has kept both."""
    largest = EFFORT_SHARE * setup.model.tau_max * (1 + ROUNDING)
    if not np.isfinite(record.tau).all() or (np.abs(record.tau) > largest).any():
        return "the torque was above its limit"
    steps, dt = np.abs(np.diff(record.tau, axis=0)).max(axis=1), record.t[1] - record.t[0]
    usual, rate = max(STEP, setup.period), setup.parameters.gate.rate_limit
    period, left, elapsed = usual, usual, 0.0
    for step in steps:
        elapsed += dt
        if step > 0.0:
            longest = RATE_SHARE * max(period, min(elapsed, RATE_SHARE * period))
            left = min(left + elapsed, longest) - step / rate
            if left < -ROUNDING:
                return f"the torque changed by {step:.1f} N m in one step"
            period, elapsed = max(usual, min(elapsed, longest), period - (RATE_SHARE - 1.0) * elapsed), 0.0
    return ""


def _failure_to_limit(run: Run) -> str:
    after = run.record.t >= run.setup.onset
    fastest = (np.abs(run.record.v[after]) / run.setup.model.v_max).max(axis=1)
    mean, largest = float(fastest.mean()), float(fastest.max())
    is_above = mean > LIMITED_SPEED or largest > LARGEST_LIMITED_SPEED
    return f"{mean:.2f} times the limit of speed, at most {largest:.2f} times" if is_above else ""


def _failure_to_keep(run: Run) -> str:
    """Say that an arm is outside its constraints: in the end, or farther than at the start; empty where it is not."""
    left = run.record.left
    start, least, end = float(left[0]), float(left.min()), float(left[-1])
    is_kept = least >= min(start, 0.0) - OUTSIDE and end >= -OUTSIDE and np.isfinite(least)
    return "" if is_kept else f"{1e3 * least:.2f} mm left, {1e3 * end:.2f} mm in the end"


def _failure_to_stay(run: Run) -> str:
    """Say that an arm goes on, or has left the box of joints between start and goal; empty where it does neither."""
    record = run.record
    hover = float(np.ptp(record.q[record.t >= run.setup.onset + LATEST_STOP], axis=0).max())
    if hover > HOVER:
        return f"moves by {hover:.3f} in the end"
    assert isinstance(run.setup.goal, JointGoal)
    ends = np.array([run.setup.q, run.setup.goal.destination])
    away = float(np.maximum(ends.min(axis=0) - record.q, record.q - ends.max(axis=0)).max())
    return f"{away:.4f} away from its way" if away > NEAR else ""


def _failure_to_arrive(run: Run) -> str:
    goal, q = run.setup.goal, run.record.q[-1]
    if isinstance(goal, JointGoal):
        distance = float(np.abs(q - np.asarray(goal.destination)).max())
    else:
        assert isinstance(goal, Target)
        distance = float(np.linalg.norm(run.setup.model.pose(q).p - goal.X_FT.p))
    return f"{distance:.4f} from the goal at the end" if distance > NEAR else ""
