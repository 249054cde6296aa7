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
from arm_control.maths import Pose
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


def test_reach_and_acceleration_scale_as_they_must(ur5: RobotModel):
    """Twice the torque beside no weight: twice the acceleration; the reach is the arm's length."""
    free, strong = (
        RobotModel.from_urdf(
            ur5.urdf.text, tip="tool0", gravity=(0.0, 0.0, 0.0),
            effort_limits=dict(zip(ur5.joint_names, k * ur5.tau_max, strict=True)),
        )
        for k in (1.0, 2.0)
    )  # fmt: skip
    (reach, a), (same_reach, b) = capability(free, 1e6), capability(strong, 1e6)
    np.testing.assert_allclose(b, 2.0 * np.array(a), rtol=1e-12)
    assert reach == same_reach
    assert 0.8 < reach < 0.95


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


def test_a_planar_arm_with_joints_to_spare_is_not_singular_everywhere():
    """Four joints in a plane move three rows: the fourth singular value is always 0, and says nothing."""
    three, four = (propose(RobotModel.from_urdf(urdf_path(name)), rate_limit=1e6) for name in ("planar3", "planar4"))
    assert four.speed_limit_linear > 0.3
    assert four.acceleration_limit_linear > 0.2 * three.acceleration_limit_linear


def test_postures_that_the_arm_cannot_hold_do_not_count(ur5: RobotModel):
    """A counterbalanced or submerged arm, whose motors cannot hold it everywhere, has proposals all the same."""
    weak = RobotModel.from_urdf(ur5.urdf.text, tip="tool0", effort_limits={"shoulder_lift_joint": 30.0})
    postures = np.random.default_rng(0).uniform(-np.pi, np.pi, (100, 6))
    assert np.mean([np.any(np.abs(weak.gravity(q)) > weak.tau_max) for q in postures]) > 0.3
    assert propose(weak).speed_limit_linear > 0.03


@pytest.mark.parametrize("name", ["planar3", "ur5"])
def test_a_heavy_arm_behind_a_gate_of_the_default_rate_comes_to_rest(name: str):
    """planar3 has links of 100 kg and motors of 3000 N m."""
    model = RobotModel.from_urdf(urdf_path(name))
    q0 = np.array([0.3, -1.4, 1.9, -2.07, -1.57, 0.0])[: model.nv]
    X_WT = model.pose(q0 + 0.3)
    osc = CompiledOsc(model, propose(model, posture=tuple(q0)))
    gate, simulator = EffortGate(model, GateParameters()), MujocoSimulator(model, q0, timestep=1e-3)
    for _ in range(8000):
        output = osc.tick(simulator.q, simulator.v, Reference(X_WT))
        gate.offer(model.joint_names, output.tau.tolist())
        simulator.step(gate.tick(output.state, 1e-3).tau)
    assert np.linalg.norm(output.error[:3]) < 1e-3
    assert np.abs(simulator.v).max() < 1e-2


ARMS = ("ur5", "panda", "kinova", "koch", "planar2", "planar3", "arm6", "ur4")


@pytest.mark.parametrize(("name", "rate"), [*((name, 1000) for name in ARMS), ("ur5", 250), ("planar2", 250)])
def test_an_untuned_arm_reaches_a_target(name: str, rate: int, load_robot, request: pytest.FixtureRequest):
    in_tests = ("ur5", "panda", "kinova", "koch")
    model = load_robot(name) if name in in_tests else RobotModel.from_urdf(urdf_path(name))
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


def test_an_arm_that_turns_its_tip_on_the_spot_has_proposals_too():
    model = RobotModel.from_urdf(urdf_path("ur4_2links"))
    p = propose(model)
    X = model.pose(np.zeros(model.nv))
    output = CompiledOsc(model, p.replace(posture=(0.0,) * model.nv)).tick(
        np.zeros(model.nv), np.zeros(model.nv), Reference(Pose(X.R, X.p))
    )
    assert np.isfinite(output.tau).all()
