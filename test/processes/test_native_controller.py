"""The native loop: for one sequence of states the same commands, byte for byte, as Python alone."""

from __future__ import annotations

import itertools
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from native_rig import FakeMiddleware, MeddledWords

from arm_control import Pose, RobotModel
from arm_control.control import ControlLoop, OscParameters, OscTuning
from arm_control.controllers import OscController
from arm_control.exceptions import InputError
from arm_control.gate import GateParameters
from arm_control.maths import Array
from arm_control.messages import JointStateBytes, JointStateWriter, effort_array_head, nanoseconds
from arm_control.model import Tool
from arm_control.motion import Goal, PoseMotion, PosePoints, Target, TwistJog
from arm_control.processes import NOT_TAKEN, ControllerProcess, NativeController, step_kernels_of
from arm_control.processes.native_controller import read_orders

MS = 1_000_000
START_NS = 10_000 * MS
"""Time of the middleware's clock at stamp 0 [ns]."""
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
OWNER, RIVAL = ({"data": bytes([k]) * 16} for k in (1, 2))
MAX_AGE = 0.02

State = tuple[bytes, dict[str, Any]]
Event = Callable[[ControlLoop], None]


class PythonController:
    """The ordinary way: every state through the controller process."""

    def __init__(self, model: RobotModel) -> None:
        self.controller = OscController(model, OscTuning())
        self.loop = ControlLoop(model, self.controller, GateParameters(max_age=MAX_AGE))
        self.now_ns = 0
        self.process = ControllerProcess(model, self.loop, MAX_AGE, lambda: self.now_ns)
        self.commands: list[bytes] = []
        self._reader, self._writer = JointStateBytes(), JointStateWriter(model.joint_names)

    def answer(self, data: bytes, info: dict[str, Any]) -> None:
        """Answer one state."""
        try:
            message = self._reader.read(data)
        except InputError:
            return
        command = self.process.on_state(message, info).command
        if command is not None:
            self.commands.append(self._writer.message(command.stamp_ns, command.tau, frame_id=command.frame_id))


class NativeRun(PythonController):
    """The same with the native loop."""

    def __init__(self, model: RobotModel) -> None:
        super().__init__(model)
        self.middleware = FakeMiddleware()
        self.commands = self.middleware.commands
        kernels = step_kernels_of(model, self.loop, self.controller)
        self.native = NativeController(model, self.process, self.controller, kernels, self.middleware.record(), MAX_AGE)
        self.native.end_turn()

    def show(self, data: bytes, info: dict[str, Any]) -> None:
        """Answer a state."""
        self.middleware.waiting.append((data, info))
        self.middleware.call(self.native.callback)
        self.take_turns()

    def take_turns(self) -> None:
        """Answer what is left to Python."""
        while reason := self.middleware.reason():
            self.native.take_over(reason)
            data, info = self.native.message()
            self.answer(data, info)
            self.native.hand_over(data, info)
            self.native.end_turn()


def states(model: RobotModel, n: int, start: int = 0, names: Sequence[str] = ()) -> list[State]:
    """States of an arm in motion, 1 ms apart; names in another order, or of more joints."""
    names = list(names) or list(model.joint_names)
    writer, rng = JointStateWriter(names, ("position", "velocity")), np.random.default_rng(0)
    speed, phase = rng.uniform(0.5, 2.0, (2, 6))
    t = 1e-3 * (np.arange(start, start + n)[:, None] + 1)
    q, v = HOME + 0.3 * np.sin(speed * t + phase) / speed, 0.3 * np.cos(speed * t + phase)
    places = [model.joint_names.index(name) if name in model.joint_names else 0 for name in names]
    numbers = zip(q[:, places], v[:, places], strict=True)
    return [state(writer, (start + k + 1) * MS, *pair) for k, pair in enumerate(numbers)]


def state(writer: JointStateWriter, stamp_ns: int, q: Array, v: Array, **info: Any) -> State:
    return writer.message(stamp_ns, q, v), info_at(stamp_ns, **info)


def info_at(time_ns: int, owner: dict[str, bytes] = OWNER, age_ns: int = 0) -> dict[str, Any]:
    now_ns = START_NS + time_ns
    return {"source_timestamp": now_ns - age_ns, "received_timestamp": now_ns, "publisher_gid": owner}


def stamp_of(one: State) -> int:
    return int(one[1]["received_timestamp"]) - START_NS


def both(model: RobotModel, sequence: Iterable[State | Event]) -> tuple[PythonController, NativeRun]:
    """Show a sequence of states and events to both."""
    python, native = PythonController(model), NativeRun(model)
    for item in sequence:
        if callable(item):
            item(python)
            item(native)
            native.native.refresh()
            continue
        data, info = item
        python.now_ns = native.now_ns = native.middleware.now_ns = info["received_timestamp"]
        python.answer(data, info)
        native.show(data, info)
    return python, native


def array_of(command: bytes) -> bytes:
    """The same torque as a ``Float64MultiArray``."""
    return effort_array_head(6) + JointStateBytes().read(command).effort.tobytes()


# -- sequences -----------------------------------------------------------------------------------------


def changed(model: RobotModel, change: Callable[[State], Iterable[State]]) -> list[State | Event]:
    """States of which one is changed, or has others beside it."""
    before, (one, *after) = states(model, 50), states(model, 100, start=50)
    return [*before, *change(one), *after]


def with_numbers(model: RobotModel, one: State, q: float | None = None) -> State:
    """A state whose first position is another one."""
    fields = JointStateBytes().read(one[0])
    position = fields.position.copy()
    position[0] = q
    writer = JointStateWriter(model.joint_names, ("position", "velocity"))
    return state(writer, stamp_of(one), position, fields.velocity)


def gap(model: RobotModel) -> list[State | Event]:
    """Missing states: the gate brakes, and is enabled again."""
    return [*states(model, 50), *states(model, 20, start=90), *enable(model, 110), *states(model, 50, 110)]


def enable(model: RobotModel, at_ms: int) -> list[Event]:
    """The gate is enabled, and a new goal comes, without which the arm would be held."""
    return [lambda c: c.loop.gate.enable(), add_goal(Target(at_ms * MS, "base_link", model.pose(HOME)))]


def ramp(joint: int, start: float, speed: float, acceleration: float = 0.0) -> Callable[[RobotModel], list[State]]:
    """One joint in steady or accelerated motion, all others at rest."""

    def sequence(model: RobotModel) -> list[State]:
        writer, n = JointStateWriter(model.joint_names, ("position", "velocity")), 200
        t = 1e-3 * np.arange(1, n + 1)
        q, v = np.tile(HOME, (n, 1)), np.zeros((n, 6))
        q[:, joint] = start + speed * t + 0.5 * acceleration * t * t
        v[:, joint] = speed + acceleration * t
        return [state(writer, (k + 1) * MS, q[k], v[k]) for k in range(n)]

    return sequence


def false_speeds(model: RobotModel) -> list[State | Event]:
    """Velocities that are not those of the positions."""
    writer, before = JointStateWriter(model.joint_names, ("position", "velocity")), states(model, 30)
    after = [(stamp_of(one), JointStateBytes().read(one[0])) for one in states(model, 100, start=30)]
    return [*before, *(state(writer, stamp_ns, s.position, s.velocity - 0.4) for stamp_ns, s in after)]


def irregular(model: RobotModel) -> list[State | Event]:
    """Times between states that change, while the torque is limited in its rate; some states are missing."""
    X, all_states = model.pose(HOME), states(model, 400)
    kept = [k for k in range(400) if k % 10 not in (3, 4, 7)]
    kept = [k for k in kept if not 100 < k < 105]
    all_states[20] = between(model, *all_states[19:21])
    goal = add_goal(Target(40 * MS, "base_link", Pose(X.R, X.p + [0.0, 0.3, 0.0])))
    return [*(all_states[k] for k in kept[:20]), goal, *(all_states[k] for k in kept[20:])]


def between(model: RobotModel, one: State, other: State) -> State:
    """A state in the middle of two others."""
    a, b = (JointStateBytes().read(data) for data, _ in (one, other))
    writer = JointStateWriter(model.joint_names, ("position", "velocity"))
    stamp_ns = (stamp_of(one) + stamp_of(other)) // 2
    return state(writer, stamp_ns, 0.5 * (a.position + b.position), 0.5 * (a.velocity + b.velocity))


def absurd_torque(model: RobotModel) -> list[State | Event]:
    """A known disturbance of a torque that no gate believes."""
    tau_dist = np.full(6, 1e9)
    return [*states(model, 30), lambda c: c.loop.disturbance.set(30 * MS, tau_dist), *states(model, 150, start=30)]


def absurd_torques(model: RobotModel) -> list[State | Event]:
    """The same, two times for fewer states than make the gate brake."""
    absurd, none = np.full(6, 1e9), np.zeros(6)

    def disturb(k: int, tau_dist: Array) -> Event:
        return lambda c: c.loop.disturbance.set(k * MS, tau_dist)

    parts = ((0, none), (30, absurd), (42, none), (70, absurd), (82, none), (110, none))
    return [
        item
        for (k, tau_dist), (end, _) in itertools.pairwise(parts)
        for item in (disturb(k, tau_dist), *states(model, end - k, start=k))
    ]


def in_other_words(one: State) -> list[State]:
    """The same stamp with more nanoseconds than a second has."""
    data = bytearray(one[0])
    seconds, nanoseconds = struct.unpack_from("<iI", data, 4)
    struct.pack_into("<iI", data, 4, seconds - 1, nanoseconds + 1_000_000_000)
    return [(bytes(data), one[1])]


def cut_off(one: State) -> list[State]:
    """A message that is too short, and the whole one."""
    return [(one[0][:-8], one[1]), one]


def frozen(model: RobotModel) -> list[State | Event]:
    """One state with new stamps, again and again."""
    *before, (data, _) = states(model, 50)
    fields = JointStateBytes().read(data)
    writer = JointStateWriter(model.joint_names, ("position", "velocity"))
    return [*before, *(state(writer, (50 + k) * MS, fields.position, fields.velocity) for k in range(40))]


def add_goal(goal: Goal) -> Event:
    return lambda c: c.controller.add(goal)


def goals(model: RobotModel) -> list[State | Event]:
    """A target for later, one for now, a motion, a velocity, and a target again."""
    X = model.pose(HOME)
    there = Pose(X.R, X.p + [0.0, 0.1, 0.05])
    motion = PosePoints(np.array([0.0, 0.03]), (X, there), np.zeros((2, 6)), np.zeros((2, 6)))
    return [
        *states(model, 20),
        add_goal(Target(30 * MS, "base_link", there)),
        *states(model, 40, start=20),
        add_goal(Target(60 * MS, "tool0", Pose(np.eye(3), np.array([0.0, 0.0, 0.02])))),
        *states(model, 40, start=60),
        add_goal(PoseMotion(100 * MS, "base_link", motion)),
        *states(model, 60, start=100),
        add_goal(TwistJog(160 * MS, 160 * MS, "base_link", np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0]))),
        *states(model, 30, start=160),
        add_goal(Target(190 * MS, "base_link", X)),
        *states(model, 30, start=190),
    ]


def disturbance(model: RobotModel) -> list[State | Event]:
    """A known torque, until it is old."""
    tau_dist = np.array([3.0, -2.0, 1.0, 0.5, -0.5, 0.2])
    return [*states(model, 30), lambda c: c.loop.disturbance.set(30 * MS, tau_dist), *states(model, 150, start=30)]


def gains(model: RobotModel) -> list[State | Event]:
    """Another gain while the arm moves."""
    tuning = OscTuning(law=OscParameters(kp_linear=300.0))
    return [*states(model, 30), lambda c: c.controller.configure(tuning), *states(model, 30, start=30)]


def brake(model: RobotModel) -> list[State | Event]:
    """The gate is made to brake, and enabled."""
    return [
        *states(model, 30),
        lambda c: c.loop.gate.brake("disabled"),
        *states(model, 5, start=30),
        *enable(model, 35),
        *states(model, 30, start=35),
    ]


def restart(model: RobotModel) -> list[State | Event]:
    """Time starts over with a stamp of 0."""
    zero = states(model, 1, start=-1)
    return [*states(model, 30), *zero, *states(model, 30)]


def rivals(model: RobotModel) -> list[State | Event]:
    """A second publisher beside the first one, and after it."""
    own, other = states(model, 100), [(data, {**info, "publisher_gid": RIVAL}) for data, info in states(model, 130)]
    return [*own[:30], *itertools.chain(*zip(other[30:50], own[30:50], strict=True)), *own[50:], *other[100:]]


def stale(one: State) -> list[State]:
    return [(one[0], info_at(stamp_of(one), age_ns=30 * MS)), one]


CASES: dict[str, tuple[Callable[[RobotModel], list[State | Event]], int, str, int]] = {
    # sequence, states of which Python answers at most so many, reason, commands that brake at least
    "nothing special": (lambda m: states(m, 300), 3, "Python answers", 0),
    "missing states": (gap, 25, "missing states", 20),
    "a stamp again": (lambda m: changed(m, lambda one: [one, one]), 5, "a stamp that is not later than the last", 0),
    "an old stamp": (lambda m: changed(m, lambda one: [one, *states(m, 1)]), 5, "a stamp that is not later", 0),
    "a second publisher": (rivals, 25, "a state of another publisher", 0),
    "a stale state": (lambda m: changed(m, stale), 5, "a stale state", 0),
    "not a number": (lambda m: changed(m, lambda one: [with_numbers(m, one, np.nan)]), 7, "not finite", 0),
    "infinite": (lambda m: changed(m, lambda one: [with_numbers(m, one, np.inf)]), 7, "not finite", 0),
    "a jump": (lambda m: changed(m, lambda one: [with_numbers(m, one, 1.0)]), 200, "not believed", 50),
    "a frozen arm": (frozen, 60, "not believed", 1),
    "false speeds": (false_speeds, 130, "not believed", 1),
    "far outside": (ramp(2, 3 * np.pi - 0.02, 0.5), 200, "not believed", 50),
    "too fast": (ramp(0, 0.0, 0.0, 200.0), 200, "not believed", 20),
    "irregular states": (irregular, 10, "a goal or a disturbance", 0),
    "an absurd torque": (absurd_torque, 180, "a torque that the gate refuses", 1),
    "absurd torques": (absurd_torques, 80, "a torque that the gate refuses", 0),
    "a stamp in other words": (lambda m: changed(m, in_other_words), 5, "not later", 0),
    "a message cut off": (lambda m: changed(m, cut_off), 5, "layout", 0),
    "another order": (
        lambda m: [*states(m, 50), *states(m, 50, start=50, names=m.joint_names[::-1])], 5, "layout", 0
    ),
    "more joints": (
        lambda m: [*states(m, 50), *states(m, 50, start=50, names=["finger", *m.joint_names])], 5, "layout", 0
    ),
    "goals": (goals, 130, "a goal or a disturbance", 0),
    "a disturbance": (disturbance, 6, "a goal or a disturbance", 0),
    "other gains": (gains, 3, "Python answers", 0),
    "a brake": (brake, 12, "Python answers", 5),
    "a restart": (restart, 7, "not later", 0),
    "a stretched arm": (ramp(2, 0.3, -4.0), 3, "Python answers", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_commands_are_those_of_python(ur5: RobotModel, name: str):
    sequence, n_python, reason, n_brakes = CASES[name]
    python, native = both(ur5, sequence(ur5))
    assert native.commands == python.commands
    assert set(native.middleware.arrays) <= {array_of(command) for command in python.commands}
    assert len(native.middleware.arrays) == native.native.n_answered
    native.native.take_over(NOT_TAKEN)
    assert native.loop.gaps.skipped == python.loop.gaps.skipped
    assert native.loop.gate.success_rate == python.loop.gate.success_rate
    assert native.native.n_answered >= len(python.commands) - n_python
    assert any(reason in said for said in native.native.reasons), native.native.reasons
    braked = [JointStateBytes().read(command).header.frame_id for command in python.commands]
    assert sum(map(bool, braked)) >= n_brakes


def test_a_payload_is_carried(ur5: RobotModel):
    bare, _ = both(ur5, goals(ur5))
    ur5.attach(Tool(mass=2.0, centre=(0.0, 0.0, 0.1)))
    try:
        python, native = both(ur5, goals(ur5))
    finally:
        ur5.attach(None)
    assert native.commands == python.commands != bare.commands
    assert native.native.n_answered > 0


def test_a_state_whose_command_is_not_sent_is_python_s(ur5: RobotModel):
    run, (*before, last) = NativeRun(ur5), states(ur5, 10)
    for one in before:
        run.show(*one)
    n_answered = run.native.n_answered
    run.middleware.fails = {"publish"}
    run.show(*last)
    assert run.native.reasons["the middleware did not send"] == 1
    assert run.native.n_answered == n_answered
    assert run.process.last is not None
    assert run.process.last.measurement.stamp_ns == 10 * MS


def stamps_of(commands: Iterable[bytes]) -> list[int]:
    return [nanoseconds(JointStateBytes().read(command).header.stamp) for command in commands]


def test_states_that_come_in_python_s_turn_are_answered_behind_it(ur5: RobotModel):
    run, (*before, left, one, another) = NativeRun(ur5), states(ur5, 13)
    for earlier in before:
        run.show(*earlier)
    n_answered = run.native.n_answered
    run.native.pause()
    for late in (left, one, another):
        run.middleware.waiting.append(late)
        run.middleware.call(run.native.callback)
    assert stamps_of(run.commands) == [stamp_of(earlier) for earlier in before]
    run.take_turns()
    assert stamps_of(run.commands) == [stamp_of(each) for each in (*before, left, one, another)]
    assert run.native.n_answered == n_answered + 2


def test_a_state_that_comes_when_the_last_one_is_answered_does_not_wait(ur5: RobotModel):
    run, (*before, one, another) = NativeRun(ur5), states(ur5, 12)
    for earlier in before:
        run.show(*earlier)
    late = [another]

    def come() -> None:
        """Behind the last look, and before the end of the turn."""
        while late:
            run.middleware.waiting.append(late.pop())
            run.middleware.call(run.native.callback)

    run.middleware.on_empty = come
    run.middleware.waiting.append(one)
    run.middleware.call(run.native.callback)
    assert stamps_of(run.commands)[-2:] == [stamp_of(one), stamp_of(another)]
    assert run.native.n_answered == 10  # Python has answered the first two


@pytest.mark.parametrize("n", [3000, pytest.param(100_000, marks=pytest.mark.campaign)])
def test_every_state_is_answered_once_whoever_has_the_turn(ur5: RobotModel, n: int):
    """A thread receives, Python asks for turns at times of its own; the threads change as often as they can."""
    python, run, rng = PythonController(ur5), NativeRun(ur5), np.random.default_rng(0)
    sequence = states(ur5, n)

    def receive() -> None:
        for one in sequence:
            while len(run.middleware.waiting) > 5:
                time.sleep(0)  # older states would be stale
            run.now_ns = run.middleware.now_ns = one[1]["received_timestamp"]
            run.middleware.waiting.append(one)
            run.middleware.call(run.native.callback)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        receiver = threading.Thread(target=receive)
        receiver.start()
        while receiver.is_alive():
            run.take_turns()
            if rng.random() < 0.05:
                run.native.pause()
            time.sleep(0)
        receiver.join()
        run.take_turns()
    finally:
        sys.setswitchinterval(interval)
    for data, info in sequence:
        python.now_ns = info["received_timestamp"]
        python.answer(data, info)
    assert run.commands == python.commands
    assert len(run.commands) == n
    assert 0 < run.native.n_answered < n
    assert run.native.reasons["Python answers"] > 1


def test_an_order_that_is_being_written_changes_nothing(ur5: RobotModel):
    run = NativeRun(ur5)
    for one in states(ur5, 10):
        run.show(*one)
    loop = run.native._loop
    order, inputs = loop.order.copy(), loop.step.kernel.inputs.copy()
    loop.orders.words[:] += 1
    loop.orders.sequence[0] += 2
    words: Any = MeddledWords(loop.orders)
    read_orders(loop._replace(draft=words))
    np.testing.assert_array_equal(loop.order, order)
    np.testing.assert_array_equal(loop.step.kernel.inputs, inputs)
    read_orders(loop)
    np.testing.assert_array_equal(loop.order, order + 1)
    assert not np.array_equal(loop.step.kernel.inputs, inputs)


def test_the_result_is_that_of_the_controller(ur5: RobotModel):
    python, native = both(ur5, states(ur5, 40))
    expected, result = python.process.last, native.native.newest()
    assert expected is not None
    assert result is not None
    assert native.native.newest(every=1) is None
    assert native.native.stamp_ns == expected.measurement.stamp_ns == 40 * MS
    assert result.measurement.dt == expected.measurement.dt
    assert result.gate.state is expected.gate.state
    assert result.law.figures() == expected.law.figures()
    terms = zip(result.torque_terms.items(), expected.torque_terms.items(), strict=True)
    for (name, tau), (expected_name, expected_tau) in terms:
        assert name == expected_name
        np.testing.assert_array_equal(tau, expected_tau)
    np.testing.assert_array_equal(result.law.terms.J, expected.law.terms.J)
    np.testing.assert_array_equal(result.law.terms.X_WE.p, expected.law.terms.X_WE.p)
    assert len(native.native.durations()) == native.native.n_answered
    assert native.native.durations() == []
