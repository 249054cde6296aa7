"""An exported controller and an arm in MuJoCo: a brake holds a payload that nobody has told."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.faults import EXACT, Case, CController, all_faults, can_compile, compiled, run_on
from arm_control.gate import MODE_BRAKING
from arm_control.maths import Array, Pose
from arm_control.motion import Reference

pytestmark = [
    pytest.mark.skipif(not can_compile(), reason="there is no C compiler"),
    pytest.mark.skipif(find_spec("mujoco") is None, reason="mujoco is not installed"),
]

DT = 1e-3
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])


def brake_with(payload: float) -> tuple[Array, float]:
    """Brake an arm in motion; return heights of the hand since [m], and the speed at the end."""
    from arm_control.simulation import MujocoSimulator

    model, c = RobotModel.from_urdf(urdf_path("ur5")), CController(*compiled("ur5"), 6)
    simulator = MujocoSimulator(RobotModel.from_urdf(urdf_path("ur5"), payload_mass=payload), HOME)
    X, heights = model.pose(HOME), list[float]()
    c.set_reference(Reference(Pose(X.R, X.p + [-0.1, 0.3, -0.1])))
    for k in range(4800):
        if k == 800:
            c.call("brake")
        if k >= 800:
            heights.append(model.pose(simulator.q).p[2])
        simulator.step(c.tick(simulator.q.copy(), simulator.v.copy(), DT)[0])
    assert c.state()[0] == MODE_BRAKING
    return np.array(heights), float(np.abs(simulator.v).max())


@pytest.mark.parametrize("payload", [0.0, 1.0])
def test_a_brake_holds_an_unknown_payload(payload: float):
    heights, speed = brake_with(payload)
    assert heights[0] - heights[-1] <= 0.02
    assert speed < 1e-3


@pytest.mark.parametrize(
    ("name", "latest_brake_ms"),
    [("states:frozen", 10), ("states:position-jumps", 0), ("states:position-nan", 20)],
)
def test_after_a_wrong_state_an_arm_rests_as_soon_as_behind_a_node(name: str, latest_brake_ms: float):
    """Measured from the first wrong state on, of an arm at 1 rad/s; the last one on a prediction alone."""
    fault = next(fault for fault in all_faults() if fault.name == name)
    run = run_on(Case(fault, "exported", "ur5", "osc"), EXACT)
    record, begin = run.record, run.setup.onset + fault.n_right * fault.period
    assert np.abs(record.v[record.t < begin]).max() > 1.0
    assert record.t[record.is_braked][0] <= begin + 1e-3 * latest_brake_ms + 1e-9
    assert run.rest_ms is not None
    assert run.rest_ms <= 260.0
    assert np.abs(record.v[-1]).max() < 0.01
