"""Random schedules: faults drawn, combined and timed at random, and what must hold whatever comes.

The torque stays within the limits of effort and rate, nothing releases a brake but ``enable``, and no process ends.
Then the faults are over: an arm that is braked comes to rest, sinks no more, and does not move when it is enabled. A
schedule is given by its number alone; one that fails is made shorter, by leaving out parts of it, while it still fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from arm_control.exceptions import ArmControlError
from arm_control.faults.campaign import OF_ALL_CONTROLLERS, REST, SPEED_AFTER_ENABLE, Case, failure_of_torque, setup_of
from arm_control.faults.catalogue import LIMITED, Fault, all_faults
from arm_control.faults.chain import ARRANGEMENTS, Chain
from arm_control.faults.chain_setup import OWN, PLANTS, Delivery, Interference, Record, Setup
from arm_control.sweeps import in_order

MOST_PARTS = 4
"""Largest number of faults in a schedule."""
DURATION = 0.4
"""Time after the onset in which there are faults [s]."""
RECOVERY, SETTLING = 0.85, 0.4
"""Time after the faults, and time of it after which a braked arm sinks no more [s]."""
ENABLED = 0.5
"""Time after *enable* at the end [s]."""
CREEP = 5e-3
"""Largest way down of a hand that is held, until the end of the recovery [m]."""
CONTROLLERS = ("osc", "joint")
ROBOT = "ur5"


@dataclass(frozen=True)
class TimedFault:
    """A fault of a schedule.

    Attributes
    ----------
    begin, end : int
        Numbers of the first message that it concerns, and of the first one after it.
    """

    fault: Fault
    begin: int
    end: int

    def __str__(self) -> str:
        return f"{self.fault.name} [{self.begin}, {self.end})"


@dataclass(frozen=True)
class Schedule:
    """Faults in time.

    Attributes
    ----------
    enabled_at : float
        When every gate is enabled [s after the onset]; negative: never.
    failure : str
        What did not hold; empty when all did.
    """

    seed: int
    controller: str
    arrangement: str
    plant: str
    parts: tuple[TimedFault, ...]
    enabled_at: float
    failure: str = ""

    def __str__(self) -> str:
        parts = "; ".join(map(str, self.parts))
        what = f"{self.controller}, {self.arrangement}, {self.plant}: {parts}; enable at {self.enabled_at:.3f} s"
        return f"{self.seed} ({what}): {self.failure}"


def draw(seed: int) -> Schedule:
    """Return the schedule of this number."""
    rng = np.random.default_rng(seed)
    arrangement = tuple(ARRANGEMENTS)[int(rng.integers(len(ARRANGEMENTS)))]
    plant = tuple(PLANTS)[int(rng.integers(len(PLANTS)))]
    controllers = CONTROLLERS if arrangement in OF_ALL_CONTROLLERS else CONTROLLERS[:1]
    usual = [x for x in all_faults() if x.verdict != LIMITED and not x.controller and x.kept is None]
    faults = [fault for fault in usual if arrangement in fault.arrangements]
    parts = []
    for _ in range(int(rng.integers(1, MOST_PARTS + 1))):
        begin = int(rng.integers(0, 300))
        parts.append(TimedFault(faults[int(rng.integers(len(faults)))], begin, begin + int(rng.geometric(0.03))))
    enabled_at = float(rng.uniform(0.0, DURATION)) if rng.random() < 0.3 else -1.0
    controller = controllers[int(rng.integers(len(controllers)))]
    return Schedule(seed, controller, arrangement, plant, tuple(parts), enabled_at)


def tried(schedule: Schedule) -> Schedule:
    """Run a schedule."""
    chain = _chain(schedule.arrangement, schedule.controller, schedule.plant)
    return replace(schedule, failure=_failure(chain, schedule))


def run_schedules(seeds: Sequence[int], n_processes: int = 0) -> Iterator[Schedule]:
    """Run the schedules of these numbers, and yield them in their order with what did not hold.

    Processes are those of :func:`arm_control.sweeps.in_order`.
    """
    for seed, failure in zip(seeds, in_order(failure_of, seeds, n_processes), strict=True):
        yield replace(draw(seed), failure=failure)


def failure_of(seed: int) -> str:
    """Run a schedule; return what did not hold.

    What comes before the onset is the same for many: it is run once, and each schedule goes on from there in a fork of
    this process, which is the copy of a chain with its native loops.
    """
    schedule = draw(seed)
    chain = _chain_at_onset(schedule.arrangement, schedule.controller, schedule.plant)
    read, write = os.pipe()
    if process := os.fork():
        os.close(write)
        with os.fdopen(read) as text:
            failure = text.read()
        _, status = os.waitpid(process, 0)
        return failure or (f"its process ended with {status}" if status else "")
    status = 1
    try:
        chain.arrangement.part()
        os.write(write, _failure(chain, schedule).encode())
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's is ended twice


def schedule_figures(number: int) -> dict[str, float]:
    """Run a schedule, as a row of the sweep ``faults``.

    Raises
    ------
    ArmControlError
        What did not hold.
    """
    if failure := failure_of(number):
        raise ArmControlError(failure)
    return {"faults": float(len(draw(number).parts))}


@cache
def _chain_at_onset(arrangement: str, controller: str, plant: str) -> Chain:
    chain = _chain(arrangement, controller, plant)
    chain.advance(chain.setup.onset)
    return chain


def _chain(arrangement: str, controller: str, plant: str) -> Chain:
    return Chain(setup_of(Case(Fault("none", "nothing"), arrangement, ROBOT, controller), plant))


def _failure(chain: Chain, schedule: Schedule) -> str:
    """Go on with the faults of a schedule, and say what did not hold."""
    setup = chain.setup
    setup.interferences = _combined(schedule.parts)
    setup.events = [(1e-3 * part.begin + t, act) for part in schedule.parts for t, act in part.fault.events]
    if schedule.enabled_at >= 0.0:
        setup.events.append((schedule.enabled_at, Chain.enable))
    end = setup.onset + DURATION
    chain.advance(end)
    setup.interferences = {}
    chain.advance(end + RECOVERY)
    record = chain.record()
    why = record.error or failure_of_torque(record, setup) or _release(record, schedule, setup)
    if why or not record.is_braked[-1]:
        return why
    if why := _failure_to_rest(record, setup, end):
        return why
    chain.enable()
    chain.advance(end + RECOVERY + ENABLED)
    record = chain.record()
    speed = np.abs(record.v[record.t >= end + RECOVERY]).max()
    moves = f"moves with {speed:.3f} rad/s after it was enabled at the end" if speed > SPEED_AFTER_ENABLE else ""
    return record.error or failure_of_torque(record, setup) or moves


def _failure_to_rest(record: Record, setup: Setup, end: float) -> str:
    """Say that an arm that is braked moves, or sinks, after the faults are over; empty where it does not."""
    speed = np.abs(record.v[record.t >= end + RECOVERY - REST]).max()
    if speed > SPEED_AFTER_ENABLE:
        return f"moves with {speed:.3f} rad/s after the faults"
    k = int(np.searchsorted(record.t, end + SETTLING))
    sunk = float(setup.model.pose(record.q[k]).p[2] - setup.model.pose(record.q[-1]).p[2])
    return f"sinks by {1e3 * sunk:.1f} mm after the faults" if sunk > CREEP else ""


def shortened(schedule: Schedule) -> Schedule:
    """Return a failing schedule without the parts that it does not need to fail."""
    for k in reversed(range(len(schedule.parts))):
        parts = schedule.parts[:k] + schedule.parts[k + 1 :]
        shorter = tried(replace(schedule, parts=parts))
        schedule = shorter if shorter.failure else schedule
    return schedule


def _release(record: Record, schedule: Schedule, setup: Setup) -> str:
    released = record.t[1:][record.is_braked[:-1] & ~record.is_braked[1:]] - setup.onset
    wrong = [when for when in released if not 0.0 <= when - schedule.enabled_at < 2e-3 or schedule.enabled_at < 0.0]
    return f"the brake was released {wrong[0]:.3f} s after the onset" if wrong else ""


def _combined(parts: Iterable[TimedFault]) -> dict[str, Interference]:
    """Return what sends each message through all faults that concern it, one after the other, by topic."""
    acts: dict[str, list[tuple[TimedFault, Interference]]] = {}
    for part in parts:
        if part.fault.make is not None:
            acts.setdefault(part.fault.topic, []).append((part, part.fault.make()))
    return {topic: _in_a_row(parts) for topic, parts in acts.items()}


def _in_a_row(parts: list[tuple[TimedFault, Interference]]) -> Interference:

    def interfere(k: int, message: Any) -> Iterable[Delivery]:
        deliveries = [Delivery(message)]
        for part, act in parts:
            if part.begin <= k < part.end:
                deliveries = [
                    Delivery(after.message, before.delay + after.delay, _publisher(before, after))
                    for before in deliveries
                    for after in act(k - part.begin, before.message)
                ]
        return deliveries

    return interfere


def _publisher(before: Delivery, after: Delivery) -> dict[str, bytes]:
    """Return who sends a message that two faults concern."""
    return before.publisher if after.publisher == OWN else after.publisher
