"""The controller's process without a gate behind it: what its driver gets where states must not be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.bags import plain
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.maths import Array
from arm_control.processes import ControllerProcess
from arm_control.processes.controller_process import ControllerAnswer

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000
MAX_MISSED = 20


class Driver:
    """Sends a state each millisecond, of an arm that turns slowly."""

    def __init__(self, model: RobotModel, max_age: float = 0.02) -> None:
        parameters = OscLoopParameters.from_mapping({"posture": HOME.tolist(), "max_missed": MAX_MISSED})
        self.loop = control_loop(model, parameters, waits_for_commands=max_age == 0.0)
        self.process = ControllerProcess(model, self.loop, max_age, lambda: self.now_ns)
        self.model, self.now_ns = model, 0

    def send(self, n: int, change: Callable[[Any], None] = lambda message: None) -> list[ControllerAnswer]:
        return [self._send_one(change) for _ in range(n)]

    def _send_one(self, change: Callable[[Any], None]) -> ControllerAnswer:
        self.now_ns += MS
        v = np.full(6, 0.05)
        q = HOME + v * self.now_ns * 1e-9
        message = plain.joint_state(self.model.joint_names, self.now_ns, position=q, velocity=v)
        change(message)
        times = {"source_timestamp": self.now_ns, "received_timestamp": self.now_ns}
        return self.process.on_state(message, {**times, "publisher_gid": {"data": b"1" * 16}})


def lose_a_number(message: Any) -> None:
    message.position[1] = np.nan


def stand_still(message: Any) -> None:
    message.header.stamp.sec, message.header.stamp.nanosec = 0, 50 * MS


def torque(answer: ControllerAnswer) -> Array:
    assert answer.command is not None
    return answer.command.tau


@pytest.mark.parametrize("change", [lose_a_number, stand_still])
def test_after_so_many_states_that_must_not_be_used_it_sends_marked_torque_that_brakes(
    ur5: RobotModel, change: Callable[[Any], None]
):
    driver = Driver(ur5)
    *_, last = driver.send(50)
    assert last.command is not None
    assert last.command.frame_id == ""
    before = driver.send(MAX_MISSED - 1, change)
    assert not [answer for answer in before if answer.command is not None and answer.command.frame_id]
    assert not driver.loop.gate.is_braked
    answers = driver.send(500, change)
    assert driver.loop.gate.is_braked
    assert all(answer.command is not None and "in a row were refused" in answer.command.frame_id for answer in answers)
    taus = np.array([torque(last), *map(torque, answers)])
    assert np.abs(np.diff(taus, axis=0)).max(axis=1)[1:].max() <= 1.0 + 1e-9
    prediction = driver.process.blind._memory.prediction
    assert np.abs(prediction.v).max() < 1e-3, "it is brought to rest"
    np.testing.assert_allclose(taus[-1], ur5.gravity(prediction.q), rtol=0, atol=0.1)


def test_where_somebody_waits_for_the_answer_a_state_that_must_not_be_used_has_one(ur5: RobotModel):
    """In lock step it is the last torque, marked: nothing moves while nobody answers."""
    driver = Driver(ur5, max_age=0.0)
    *_, last = driver.send(50)
    (answer,) = driver.send(1, lose_a_number)
    np.testing.assert_array_equal(torque(answer), torque(last))
    assert answer.command is not None
    assert answer.command.frame_id
