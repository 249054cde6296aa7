"""A brake without states: what it remembers, and what it predicts from that."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.gate.blind_brake import DOUBT, N_MOMENTS, SPACING, BlindBrake
from arm_control.gate.effort_gate import EffortGate, GateParameters
from arm_control.gate.state_prediction import LONGEST_STEP
from arm_control.model import RobotModel


@pytest.fixture(scope="module")
def double() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar2"), gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("period", [1e-4, 2.5e-4, 4.9e-4, 5e-4, 7e-4, 1e-3, 2e-3])
def test_states_are_kept_as_long_as_they_may_be_doubted(ur5: RobotModel, period: float):
    """At any rate: the oldest of them is older than that, and none is missing for longer than 2 ms."""
    brake = BlindBrake(ur5, EffortGate(ur5, GateParameters()), 0.02)
    for k in range(round(0.1 / period)):
        t = 5.0 + k * period
        brake.note(t, *np.zeros((3, 6)))
        at = np.sort(brake.moments.at[brake.moments.at > 0.0])
        assert at[-1] == t
        assert k < 1.1 * DOUBT / period or at[0] <= t - DOUBT
        assert len(at) < 2 or np.diff(at).max() <= 2e-3 + 1e-9


# -- the prediction, against another text --------------------------------------------------------------


class Blind:
    """States that are remembered as a list, and the model's equations on vectors."""

    def __init__(self, model: RobotModel, longest_step: float) -> None:
        self.model, self.longest_step = model, longest_step
        self.moments: list[tuple[float, np.ndarray, np.ndarray, np.ndarray]] = []

    def note(self, *moment: Any) -> None:
        is_dense = len(self.moments) > 1 and self.moments[-1][0] - self.moments[-2][0] < SPACING
        self.moments = [*(self.moments[:-1] if is_dense else self.moments), moment][-N_MOMENTS:]

    def begin(self, now: float, doubt: float) -> None:
        trusted = [k for k, moment in enumerate(self.moments) if moment[0] <= now - doubt]
        first = max(trusted, default=0)
        ends = [moment[0] for moment in self.moments[first + 1 :]] + [now]
        _, self.q, self.v, _ = self.moments[first]
        for (t, _, _, tau), end in zip(self.moments[first:], ends, strict=True):
            self.go_on(tau, end - t)

    def go_on(self, tau: np.ndarray, duration: float) -> None:
        rest = min(duration, self.longest_step)
        while rest > 0.0:
            step, rest = min(rest, LONGEST_STEP), rest - min(rest, LONGEST_STEP)
            t = self.model.evaluate(self.q, self.v)
            self.v = self.v + np.linalg.solve(t.M, tau - t.h) * step
            self.q = self.q + self.v * step


@pytest.mark.parametrize(
    ("period", "doubt", "longest_step"),
    [
        (1e-3, 0.0, 0.02),
        (1e-3, DOUBT, 0.02),
        (2e-4, DOUBT, 0.02),
        (5e-3, DOUBT, 0.02),
        (5e-3, 1.0, 2e-3),
        (0.2, 0.0, 0.02),
    ],
)
def test_it_brakes_on_what_the_model_says_of_the_last_states_that_are_trusted(
    double: RobotModel, period: float, doubt: float, longest_step: float
):
    rng, gate = np.random.default_rng(0), EffortGate(double, GateParameters())
    brake, other = BlindBrake(double, gate, longest_step), Blind(double, longest_step)
    gate.brake("no state")
    now = 7.0
    for n_states in (1, 2, 60):
        for _ in range(n_states):
            now += period * rng.uniform(0.9, 1.1)
            moment = now, *rng.uniform(-1.0, 1.0, (3, 2))
            brake.note(*moment)
            other.note(*moment)
        assert not brake.is_blind
        before = None
        for dt in (1.3e-3, 4e-3, 1e-3, 0.0, 0.03):
            last, now = now, now + dt
            output = brake.tick(now, dt, doubt)
            other.begin(now, doubt) if before is None else other.go_on(before, now - last)
            before, prediction = output.tau, brake._memory.prediction
            np.testing.assert_allclose(prediction.q, other.q, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(prediction.v, other.v, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(brake.g, double.gravity(other.q), rtol=1e-9, atol=1e-12)
            assert (brake.tau is output.tau, brake.is_blind) == (True, True)
        brake.end()
        assert not gate.is_held


def test_after_a_second_the_arm_counts_as_standing_where_it_was_predicted(double: RobotModel):
    brake = BlindBrake(double, EffortGate(double, GateParameters()), 0.02)
    brake.note(5.0, *np.ones((2, 2)), np.zeros(2))
    prediction = brake._memory.prediction
    for now in (5.0, 5.99, np.nextafter(6.0, 0.0)):
        brake.tick(now, 0.0)
        assert prediction.v.all()
    q = prediction.q.copy()
    for now in (6.0, 6.5):
        brake.tick(now, 0.0)
        np.testing.assert_array_equal([prediction.q, prediction.v], [q, np.zeros(2)])


def test_ending_what_has_not_begun_keeps_the_place_where_the_arm_is_held(double: RobotModel):
    gate = EffortGate(double, GateParameters())
    brake = BlindBrake(double, gate, 0.02)
    brake.note(5.0, *np.zeros((3, 2)))
    gate.tick(double.evaluate(np.zeros(2), np.zeros(2)), 1e-3)
    brake.end()
    assert gate.is_held
    brake.tick(5.0, 0.0)
    brake.end()
    assert not gate.is_held
