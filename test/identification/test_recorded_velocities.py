"""Velocities of recordings: as they are, or of the positions where they come in steps, and what is identified then."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.identification import JointRecording, TorqueFit, motion_of_states
from arm_control.identification.momentum_regressor import LinkInertias
from arm_control.identification.recorded_velocities import smoothed
from arm_control.identification.torque_fit import fit_torque
from arm_control.identification.torque_rows import torque_rows
from arm_control.maths import Array
from arm_control.simulation import PlantProperties, RealArm

BITS = (12, 17)
MOTORS = np.array([[0.5, 5.0, 8.0], [0.6, 6.0, 7.0], [0.4, 4.0, 6.0], [0.1, 1.0, 2.0], [0.1, 1.2, 1.5], [0.1, 0.8, 1]])
CENTRE = np.array([0.0, -1.4, 1.6, -1.5, -1.2, 0.0])


def slow_swing(t: Array, seed: int) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations: two sines for each joint, at most 0.4 rad/s fast."""
    rng = np.random.default_rng(seed)
    rates = 0.4 * np.array([[0.8 + 0.17 * j, 2.1 + 0.23 * j] for j in range(6)]) * rng.uniform(0.85, 1.15, (6, 2))
    sizes, angle = np.array([0.6, 0.2]), t[:, None, None] * rates + rng.uniform(0.0, 6.0, (6, 2))
    q = CENTRE + (sizes * np.sin(angle)).sum(axis=2)
    return q, (sizes * rates * np.cos(angle)).sum(axis=2), -(sizes * rates**2 * np.sin(angle)).sum(axis=2)


def counted(bits: int, seed: int, ur5: RobotModel) -> JointRecording:
    """The torque of an exact motion with noise, its positions in counts, and as velocities their differences."""
    t = 1e-3 * np.arange(16_000)
    q, v, a = slow_swing(t, seed)
    tau = ur5.batch("tau")(q, v, a, np.zeros((len(t), 6)))["tau"]
    tau += a * MOTORS[:, 0] + np.sign(v) * MOTORS[:, 1] + v * MOTORS[:, 2]
    tau += np.random.default_rng(seed).normal(scale=0.01 * tau.std(axis=0), size=tau.shape)
    count = 2.0 * np.pi / 2**bits
    q = count * np.round(q / count)
    return JointRecording(t, q, np.diff(q, axis=0, prepend=q[:1]) / 1e-3, tau)


def fitted_motors(ur5: RobotModel, recording: JointRecording) -> TorqueFit:
    return fit_torque(torque_rows(ur5, recording, [], 0.1), LinkInertias([]))


@pytest.mark.parametrize("bits", BITS)
def test_standard_errors_are_honest_where_velocities_are_differences_of_counts(ur5: RobotModel, bits: int):
    """Of I, c and b. With the differences themselves 12 bits explain nothing, and errors are up to six deviations."""
    scores = []
    for seed in range(2):
        recording = counted(bits, seed, ur5)
        q, v, sentence = motion_of_states(recording.t, recording.q, recording.v)
        step = 2.0 * np.pi / 2**bits / 1e-3
        assert sentence == f"velocities come in steps of {step:.2g} rad/s: those of the positions are used"
        fit = fitted_motors(ur5, recording._replace(q=q, v=v))
        scores.append((fit.motor[:, :3] - MOTORS) / fit.motor_errors[:, :3])
        assert (fit.r2 > 0.999).all()
        np.testing.assert_allclose(fit.motor[:, 1:3], MOTORS[:, 1:3], rtol=0.02)
    assert 0.4 < np.sqrt(np.mean(np.square(scores))) < 1.3
    assert np.abs(scores).max() < 3.0


def test_differences_of_counts_as_velocities_explain_less(ur5: RobotModel):
    recording = counted(12, 1, ur5)
    q, v, _ = motion_of_states(recording.t, recording.q, recording.v)
    raw = fitted_motors(ur5, recording)
    fit = fitted_motors(ur5, recording._replace(q=q, v=v))
    assert raw.r2.min() < 0.99 < fit.r2.min()


@pytest.mark.parametrize("bits", BITS)
def test_a_simulated_arm_with_counts_is_identified(ur5: RobotModel, bits: int):
    """Its driver has better velocities than it publishes."""
    motors = dict(zip(("rotor_inertia", "coulomb", "viscous"), MOTORS.T, strict=True))
    counts = {"encoder_resolution": 2.0 * np.pi / 2**bits, "velocity_from": "encoder"}
    dt = 2e-3
    t = dt * np.arange(8_000)
    q_des, v_des, a_des = slow_swing(t, 5)
    arm = RealArm(ur5, q_des[0], timestep=dt, properties=PlantProperties.from_mapping(motors | counts))
    q, v, true_v, tau = (np.zeros((len(t), 6)) for _ in range(4))
    for k in range(len(t)):
        q[k], v[k], true_v[k] = arm.q, arm.v, arm.arm.v
        a = a_des[k] + 30.0 * (v_des[k] - true_v[k]) + 225.0 * (q_des[k] - arm.arm.q)
        friction = MOTORS[:, 1] * np.tanh(v_des[k] / 0.02) + MOTORS[:, 2] * v_des[k]
        tau[k] = ur5.inverse_dynamics(q[k], true_v[k], a) + MOTORS[:, 0] * a + friction
        arm.step(tau[k])
    q_used, v_used, _ = motion_of_states(t, q, v)
    assert np.sqrt(np.mean(np.square(v_used - true_v))) < 0.1 * np.sqrt(np.mean(np.square(v - true_v)))
    fit = fitted_motors(ur5, JointRecording(t, q_used, v_used, tau))
    np.testing.assert_allclose(fit.motor[:, 1:3], MOTORS[:, 1:3], rtol=0.05)
    assert (np.abs(fit.motor[:, :3] - MOTORS) < 4.0 * fit.motor_errors[:, :3]).all()


def test_velocities_without_steps_are_used_as_recorded():
    t = 1e-3 * np.arange(3_000)
    q, v, _ = slow_swing(t, 0)
    noisy = v + np.random.default_rng(0).normal(scale=1e-3, size=v.shape)
    count = 2.0 * np.pi / 2**17
    _, v_used, sentence = motion_of_states(t, count * np.round(q / count), noisy)
    assert v_used is noisy
    assert not sentence


def test_velocities_that_were_not_recorded_are_those_of_the_positions():
    t = np.sort(np.random.default_rng(0).uniform(0.0, 8.0, 800))
    q, v, _ = slow_swing(t, 0)
    q_used, v_used, sentence = motion_of_states(t, q, np.full_like(q, np.nan))
    assert sentence == "no velocities were recorded: those of the positions are used"
    np.testing.assert_allclose(q_used, q, atol=1e-5)
    np.testing.assert_allclose(v_used, v, atol=2e-3)


@pytest.mark.parametrize("rate", [20.0, 100.0])
def test_windows_grow_where_states_are_rare(rate: float):
    t = np.arange(0.0, 4.0, 1.0 / rate)
    value, slope = smoothed(t, np.stack([t**3, 1.0 + t], axis=1))
    np.testing.assert_allclose(value, np.stack([t**3, 1.0 + t], axis=1), atol=1e-8)
    np.testing.assert_allclose(slope, np.stack([3.0 * t**2, np.ones_like(t)], axis=1), atol=1e-6)


def test_three_states_are_enough_for_a_number():
    value, slope = smoothed(np.arange(3.0), np.arange(3.0)[:, None])
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()
