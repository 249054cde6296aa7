"""The node's gate on states and commands at random: what holds for each answer, and another gate beside it.

Commands come in time, late, twice, early, out of order, from a second publisher, marked as braking, and with numbers
that must not pass; somebody brakes and enables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from random_messages import MS, START_NS, Step, Wire, gate_parameters, steps

from arm_control import RobotModel, urdf_path
from arm_control.core import NANOSECONDS
from arm_control.faults import OTHER, OWN, joint_state
from arm_control.gate import GROWTH, GateParameters, GateState
from arm_control.maths import Array
from arm_control.messages import braked_frame
from arm_control.processes import GateProcess
from arm_control.processes.gate_process import GateAnswer

ROBOTS = ("ur5", "planar3", pytest.param("panda", marks=pytest.mark.campaign))
N_STEPS = 600
"""States of a sequence."""
SEEDS = [pytest.param(range(1, 3)), pytest.param(range(100, 190), marks=pytest.mark.campaign)]
"""Sequences of each robot, with and without lock step: in a campaign some 10^6 states and commands together."""
KINDS = {
    **{"answer": 0.72, "none": 0.05, "again": 0.05, "early": 0.03, "old": 0.05, "future": 0.01, "rival": 0.02},
    **{"marked": 0.01, "marked old": 0.02, "not finite": 0.02, "absurd": 0.01, "nameless": 0.01},
}
"""What comes in the place of a command, and how often."""
ROUNDING = 1e-9
"""Largest rounding of a torque [N m or N]."""


class Sent(NamedTuple):
    """A command on its way.

    Attributes
    ----------
    stamp_ns : int
        Its stamp [ns].
    tau : ndarray, shape (n,)
        Torque [N m or N].
    frame_id : str
        Its mark.
    publisher : dict
        Who sends it.
    names : tuple of str
        Its joints.
    """

    stamp_ns: int
    tau: Array
    frame_id: str
    publisher: dict[str, bytes]
    names: tuple[str, ...]

    @property
    def message(self) -> Any:
        """The message."""
        return joint_state(self.names, self.stamp_ns, effort=self.tau, frame_id=self.frame_id)


class Sender:
    """Draws the commands of a controller that begins with the torque in which the arm is held."""

    def __init__(self, model: RobotModel, seed: int, kinds: dict[str, float]) -> None:
        self._model, self._rng, self._kinds = model, np.random.default_rng([seed, 1]), kinds
        self._shares = np.array([*kinds.values()]) / sum(kinds.values())
        self._sent: list[Sent] = []
        self.drawn = Counter[str]()

    def commands(self, stamp_ns: int, tau: Array) -> Iterator[Sent]:
        """Commands behind a state with this stamp, where the motors have this torque."""
        while True:
            kind = str(self._rng.choice([*self._kinds], p=self._shares))
            if not self._sent:  # a gate that has answered nothing knows no period
                kind = "answer"
            self.drawn[kind] += 1
            if kind != "none":
                command = self._command(kind, stamp_ns, tau)
                self._sent = [*self._sent[-40:], command]
                yield command
            if kind in ("answer", "none"):
                return

    def _command(self, kind: str, stamp_ns: int, tau: Array) -> Sent:
        rng, n = self._rng, self._model.nv
        tau = tau + rng.choice([0.0, 1e-6, 1.0, 100.0], p=[0.3, 0.2, 0.4, 0.1]) * rng.standard_normal(n)
        command = Sent(stamp_ns, tau, "", OWN, self._model.joint_names)
        ago_ns = int(rng.choice([1, 2, 5, 19, 20, 21, 40])) * MS
        match kind:
            case "again" | "old" if self._sent:
                return self._sent[-1 if kind == "again" else int(rng.integers(len(self._sent)))]
            case "early":
                return command._replace(stamp_ns=stamp_ns + int(rng.choice([1, MS // 2, MS, MS + 1])))
            case "future":
                return command._replace(stamp_ns=stamp_ns + ago_ns)
            case "rival":
                return command._replace(publisher=OTHER)
            case "marked":
                return command._replace(frame_id=braked_frame("a test"))
            case "marked old":
                return command._replace(frame_id=braked_frame("a test"), stamp_ns=max(0, stamp_ns - ago_ns))
            case "not finite":
                return command._replace(
                    tau=np.where(np.arange(n) == rng.integers(n), rng.choice([np.nan, np.inf]), tau)
                )
            case "absurd":
                return command._replace(tau=tau + 1e4 * self._model.tau_max)
            case "nameless":
                return command._replace(names=command.names[1:], tau=tau[1:])
        return command


class Rig:
    """A gate, its driver and a clock; what holds for each answer is checked here."""

    def __init__(self, model: RobotModel, gate: GateParameters, *, lock_step: bool) -> None:
        self.model, self.lock_step, self.limits = model, lock_step, gate
        self.now_ns = START_NS
        self.refused = Counter[str]()
        self.process = GateProcess(
            model,
            gate,
            lambda what, error: self.refused.update([f"{what}: {str(error).partition(':')[0]}"]),
            lock_step=lock_step,
            clock=lambda: (self.now_ns - START_NS) / NANOSECONDS,
            clock_ns=lambda: self.now_ns,
        )
        self.last: GateAnswer | None = None
        self.answered_ns = self.now_ns
        self.states = Counter[GateState]()

    @property
    def gate(self) -> Any:
        return self.process.gate

    def info(self, publisher: dict[str, bytes], age_ns: int = 0) -> dict[str, Any]:
        times = {"source_timestamp": self.now_ns - age_ns, "received_timestamp": self.now_ns}
        return {**times, "publisher_gid": publisher}

    def wait(self, until_ns: int) -> None:
        """Look at the clock until then."""
        period_ns = round(self.process.looking_period * NANOSECONDS)
        for now_ns in range(self.now_ns + period_ns, min(until_ns, self.now_ns + 100 * period_ns), period_ns):
            self.now_ns = now_ns
            was_braked = self.gate.is_braked
            self.take(self.process.look(), was_braked)
        self.now_ns = until_ns

    def state(self, step: Step) -> list[GateAnswer]:
        was_braked = self.gate.is_braked
        message = joint_state(self.model.joint_names, step.stamp_ns, position=step.q, velocity=step.v)
        answers = self.process.on_state(message, self.info((OWN, OTHER)[step.sender], step.age_ns))
        return self.take(answers, was_braked)

    def command(self, command: Sent) -> list[GateAnswer]:
        was_braked, before, was_open = self.gate.is_braked, self.last, self.process._open is not None
        answers = self.take(self.process.on_effort(command.message, self.info(command.publisher)), was_braked)
        if was_braked and answers and before is not None and before.output.state is GateState.BRAKING and not was_open:
            np.testing.assert_array_equal(answers[-1].output.tau, before.output.tau)  # no command moves a braked arm
        return answers

    def take(self, answers: list[GateAnswer], was_braked: bool) -> list[GateAnswer]:
        """Check what holds for all answers."""
        for answer in answers:
            output, before = answer.output, self.last
            assert np.isfinite(output.tau).all()
            assert (np.abs(output.tau) <= self.model.tau_max + ROUNDING).all()
            assert not (was_braked and output.state is not GateState.BRAKING), "a braked gate passes nothing"
            assert (output.state is GateState.BRAKING) <= self.gate.is_braked
            assert (output.state is GateState.PASSING) == (output.reason == "")
            if before is not None:
                self.check_rate(answer, before)
            self.last = answer
            self.states[output.state] += 1
        if answers:
            self.answered_ns = self.now_ns
        if self.gate.is_braked:
            assert self.process._open is None, "a braked gate answers each state by itself"
        return answers

    def check_rate(self, answer: GateAnswer, before: GateAnswer) -> None:
        """The torque goes on from the last one, also behind a brake, a repeated answer and a new start."""
        change = float(np.abs(answer.output.tau - before.output.tau).max())
        if not self.lock_step:
            allowed = GROWTH * max((self.now_ns - self.answered_ns) / NANOSECONDS, self.gate.period)
        elif answer.stamp_ns < before.stamp_ns:  # a simulation that begins anew, with the weight of its arm
            return
        else:
            by_stamps = (answer.stamp_ns - before.stamp_ns) / NANOSECONDS
            allowed = self.gate.period if self.process.is_blind else by_stamps
        assert change <= self.limits.rate_limit * allowed + ROUNDING, (change, allowed)


def run(rig: Rig, sender: Sender, step: Step) -> tuple[list[GateAnswer], list[Sent]]:
    """An order, a state and the commands behind it."""
    if step.order.name == "brake":
        rig.gate.brake("asked to")
    elif step.order.name == "enable":
        rig.gate.enable()
        rig.process.release()
    rig.wait(step.now_ns)
    answers = rig.state(step)
    tau = rig.model.gravity(np.zeros(rig.model.nq)) if rig.last is None else rig.last.output.tau
    commands = list(sender.commands(step.stamp_ns, tau))
    for command in commands:
        answers += rig.command(command)
    return answers, commands


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lock_step", [False, True], ids=["clock", "lock step"])
@pytest.mark.parametrize("robot", ROBOTS)
def test_what_holds_for_each_answer(robot: str, lock_step: bool, seeds: range):
    model = RobotModel.from_urdf(urdf_path(robot))
    states, drawn, n = Counter[GateState](), Counter[str](), 0
    wire = Wire(delays=0.0, times=0.0) if lock_step else Wire()
    for seed in seeds:
        rig = Rig(model, gate_parameters(np.random.default_rng(seed)), lock_step=lock_step)
        sender = Sender(model, seed, KINDS)
        for k, step in enumerate(steps(model, seed, N_STEPS, wire)):
            try:
                run(rig, sender, step)
            except AssertionError as error:
                raise AssertionError(f"{robot}, seed {seed}, state {k}") from error
            n += 1
        states += rig.states
        drawn += sender.drawn
    print(f"\n{robot}, lock step {lock_step}: {n} states, {drawn.total() - drawn['none']} commands, {states}")
    assert set(states) == set(GateState)
    assert set(drawn) == set(KINDS)
