"""States that a brake without states remembers."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.gate.blind_brake import DOUBT, BlindBrake
from arm_control.gate.effort_gate import EffortGate, GateParameters
from arm_control.model import RobotModel


@pytest.mark.parametrize("period", [1e-4, 2.5e-4, 4.9e-4, 5e-4, 7e-4, 1e-3, 2e-3])
def test_states_are_kept_as_long_as_they_may_be_doubted(ur5: RobotModel, period: float):
    """At any rate: the oldest of them is older than that, and none is missing for longer than 2 ms."""
    brake = BlindBrake(ur5, EffortGate(ur5, GateParameters()), 0.02)
    for k in range(round(0.2 / period)):
        t = 5.0 + k * period
        brake.note(t, *np.zeros((3, 6)))
        at = np.sort(brake.moments.at[brake.moments.at > 0.0])
        assert at[-1] == t
        assert k < 1.1 * DOUBT / period or at[0] <= t - DOUBT
        assert len(at) < 2 or np.diff(at).max() <= 2e-3 + 1e-9
