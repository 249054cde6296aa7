"""The gate's process and an arm that carries more than its model: how far a brake lets it move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.bags import plain
from arm_control.control import Measurement
from arm_control.gate import GateParameters, GateState
from arm_control.maths import Array
from arm_control.messages import JointStateReader
from arm_control.processes import GateProcess
from arm_control.simulation import MujocoSimulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
V = np.array([0.2, 0.1, -0.1, 0.1, 0.1, 0.2])
MOVING = 1500
"""States with a command each, before the commands end."""


class Run(NamedTuple):
    """States after the last command.

    Attributes
    ----------
    process : GateProcess
        The gate.
    hands : ndarray, shape (N, 3)
        Places of the hand [m].
    speeds : ndarray, shape (N,)
        Largest joint speeds [rad/s].
    """

    process: GateProcess
    hands: Array
    speeds: Array

    @property
    def way(self) -> float:
        """Of the hand since the last command [m]."""
        return float(np.linalg.norm(self.hands - self.hands[0], axis=1).max())


def run(payload: float, old_ms: int, speed: float = 1.0, seconds: float = 3.0) -> Run:
    """A good controller, which knows the payload, moves the arm; then its commands end, and states may look old."""
    model, true = (RobotModel.from_urdf(urdf_path("ur5"), payload_mass=mass) for mass in (0.0, payload))
    simulator, t, refused = MujocoSimulator(true, HOME), [10.0], []
    process = GateProcess(
        model,
        GateParameters(),
        lambda *error: refused.append(error),
        clock=lambda: t[0],
        clock_ns=lambda: round(t[0] * 1e9),
    )
    tau, next_look = true.gravity(HOME), 0.0
    hands, speeds = [], []
    for k in range(MOVING + round(1e3 * seconds)):
        t[0] = 10.0 + k * 1e-3
        now_ns = round(t[0] * 1e9)
        old_ns = old_ms * 1_000_000 if k >= MOVING else 0
        info = {"source_timestamp": now_ns, "received_timestamp": now_ns, "publisher_gid": {"data": b"a" * 16}}
        state = plain.joint_state(model.joint_names, now_ns, position=simulator.q, velocity=simulator.v)
        answers = process.on_state(state, info | {"source_timestamp": now_ns - old_ns})
        if k < MOVING:
            share = min(k / 500.0, 1.0)
            a = 20.0 * (share * speed * V - simulator.v) + (speed * V / 0.5 if share < 1.0 else 0.0)
            effort = true.inverse_dynamics(simulator.q, simulator.v, a)
            answers += process.on_effort(plain.joint_state(model.joint_names, now_ns, effort=effort), info)
        if t[0] >= next_look:
            next_look = t[0] + process.looking_period
            answers += process.look()
        tau = answers[-1].output.tau if answers else tau
        simulator.step(tau)
        if k >= MOVING:
            hands.append(model.pose(simulator.q).p)
            speeds.append(float(np.abs(simulator.v).max()))
    return Run(process, np.array(hands), np.array(speeds))


@pytest.mark.parametrize(("payload", "largest_way"), [(0.0, 0.006), (0.5, 0.012), (1.0, 0.018), (2.0, 0.03)])
def test_an_arm_with_a_payload_that_nobody_told_stops_within_centimetres(payload: float, largest_way: float):
    """It is at rest within a second; the spring carries what the weight of the model does not."""
    result = run(payload, 0)
    assert result.process.gate.reason == "no command for 20 states"
    assert result.speeds[1000:].max() < 0.01
    assert result.speeds[-1] < 1e-3
    assert result.way < largest_way


@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_states_that_look_old_brake_an_arm_as_well_as_fresh_ones(speed: float):
    """The clock of a driver that is set by 50 ms must not make the gate blind beside good measurements."""
    fresh, old = (run(2.0, old_ms, speed) for old_ms in (0, 50))
    for result in (fresh, old):
        assert result.process.gate.state is GateState.BRAKING
        assert not result.process.is_blind
        assert result.speeds[-1] < 1e-3
    assert old.way < fresh.way + 2e-3
    assert old.process.gate.reason.startswith("no state for ")


@pytest.mark.parametrize("speed", [0.5, -0.5])
def test_a_continuous_joint_that_a_driver_wraps_is_read_without_a_jump(ur5: RobotModel, speed: float):
    model = RobotModel.from_urdf(ur5.urdf.text.replace('type="revolute"', 'type="continuous"'))
    reader, v = JointStateReader(model, 0.0, drives_arm=True), np.full(6, speed)
    for k in range(1000):
        q = np.sign(speed) * 2.9 + v * k * 1e-3
        wrapped = (q + np.pi) % (2.0 * np.pi) - np.pi
        message = plain.joint_state(model.joint_names, (k + 1) * 1_000_000, position=wrapped, velocity=v)
        info = {"source_timestamp": 0, "received_timestamp": k * 1_000_000, "publisher_gid": {"data": b"a" * 16}}
        reading = reader.read(message, info)
        assert isinstance(reading, Measurement)
        assert reading.fault == ""
        np.testing.assert_allclose(reading.q, q, rtol=0, atol=1e-12)
