"""Gains nobody chose: they work on arms of every size, and keep to what was given."""

from __future__ import annotations

import math

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.control import CompiledOsc, capability, propose, resolve_parameters
from arm_control.controllers import OscLoopParameters
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateParameters
from arm_control.model import RobotModel
from arm_control.motion import Reference
from arm_control.simulation import MujocoSimulator


def test_what_is_given_stays_and_the_rest_suits_it(ur5: RobotModel):
    p = propose(ur5, kp_linear=600.0, speed_limit_linear=1.5, kv_posture=3.0)
    assert (p.kp_linear, p.speed_limit_linear, p.kv_posture) == (600.0, 1.5, 3.0)
    assert p.acceleration_limit_linear >= 1.5 * math.sqrt(600.0) / 2
    assert propose(ur5, damping_ratio=2.0).kp_linear == pytest.approx(200.0 / 4.0)
    with pytest.raises(ParameterError, match=r"acceleration_limit_linear = 1\.0 is too small"):
        propose(ur5, acceleration_limit_linear=1.0, speed_limit_linear=2.0)
    with pytest.raises(ParameterError, match="unknown stiffness"):
        propose(ur5, stiffness=1.0)


def test_slow_loops_get_soft_gains(ur5: RobotModel):
    for rate in (100.0, 125.0, 250.0, 1000.0):
        p = propose(ur5, rate)
        kv = 2.0 * p.damping_ratio * math.sqrt(p.kp_linear)
        assert kv / rate <= 0.1 + 1e-12
        assert p.kv_posture / rate <= 0.1
    assert propose(ur5, 1000.0).kp_linear == pytest.approx(200.0)


def test_a_torque_counts_as_far_as_the_gate_lets_it_through_in_time(ur5: RobotModel):
    """With motors far stronger than the gate is fast, the acceleration is that of 0.1 s of the gate."""
    strong = RobotModel.from_urdf(
        ur5.urdf.text, tip="tool0", effort_limits=dict.fromkeys(ur5.joint_names, 1e6)
    )  # fmt: skip
    (_, a), (_, b) = capability(strong, 1000.0), capability(strong, 2000.0)
    np.testing.assert_allclose(b, 2.0 * np.array(a), rtol=1e-12)
    assert capability(ur5, 1e9) == capability(ur5, 1e6)
    given = resolve_parameters(OscLoopParameters, {"rate_limit": 100.0}, ur5).values()["acceleration_limit_linear"]
    assert given == propose(ur5, rate_limit=100.0).acceleration_limit_linear < propose(ur5).acceleration_limit_linear


@pytest.mark.parametrize(("name", "rate"), [("koch", 1000), ("planar2", 250)])
def test_an_untuned_arm_reaches_a_target(name: str, rate: int, load_robot):
    model = load_robot(name) if name == "koch" else RobotModel.from_urdf(urdf_path(name))
    rng = np.random.default_rng(5)
    low, high = np.maximum(model.q_min, -1.5), np.minimum(model.q_max, 1.5)
    middle, span = (low + high) / 2, (high - low) / 2
    q0 = middle + 0.3 * span * rng.uniform(-1, 1, model.nv) + 0.25 * span
    X_WT = model.pose(q0 + 0.15 * span * rng.uniform(-1, 1, model.nv))
    osc = CompiledOsc(model, propose(model, rate, 1e5, posture=tuple(q0)))
    gate, simulator = EffortGate(model, GateParameters(rate_limit=1e5)), MujocoSimulator(model, q0, timestep=1.0 / rate)
    start = osc.tick(q0, np.zeros(model.nv), Reference(X_WT)).error
    peak = 0.0
    for _ in range(4 * rate):
        output = osc.tick(simulator.q, simulator.v, Reference(X_WT))
        gate.offer(model.joint_names, output.tau.tolist())
        tau = gate.tick(output.state, 1.0 / rate).tau
        peak = max(peak, float(np.abs(output.tau / model.tau_max).max()))
        simulator.step(tau)
    assert np.linalg.norm(output.error[:3]) < max(1e-3, 0.01 * np.linalg.norm(start[:3]))
    assert np.linalg.norm(output.state.V_WE[:3]) < 0.01
    assert peak < 1.0
