"""Friction, rotors, payload and links from recordings whose truth is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from body_inertia import centre_and_inertia

from arm_control import RobotModel
from arm_control.exceptions import InputError
from arm_control.identification import (
    NOTHING,
    PAYLOAD,
    JointRecording,
    TorqueFit,
    identify,
    links_of,
    parameters_of_arm,
    payload_of,
)
from arm_control.identification.momentum_regressor import N_PARAMETERS, LinkInertias, PointMass, own_frame
from arm_control.identification.torque_fit import _noise, fit_torque
from arm_control.identification.torque_rows import torque_rows
from arm_control.maths import Array
from arm_control.model import Tool
from arm_control.simulation import PlantProperties, RealArm, real_values

HALF = 0.1
CREEP = 1e-3
"""Speed of a joint that does not move for good [rad/s]."""
INERTIA = [0.5, 0.6, 0.4, 0.1, 0.1, 0.1]
COULOMB = [5.0, 6.0, 4.0, 1.0, 1.2, 0.8]
VISCOUS = [8.0, 7.0, 6.0, 2.0, 1.5, 1.0]
OFFSET = [0.5, -1.0, 0.3, 0.1, 0.0, -0.1]
MOTORS = np.array([INERTIA, COULOMB, VISCOUS, OFFSET]).T
CENTRE = np.array([0.0, -1.4, 1.6, -1.5, -1.2, 0.0])


def swing(t: Array, n: int = 6) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations: two sines for each joint."""
    rates = np.array([[0.8 + 0.17 * j, 2.1 + 0.23 * j] for j in range(n)])
    sizes = np.array([0.6, 0.2])
    phases = np.arange(n)[:, None] * np.array([1.0, 0.7])
    angle = t[:, None, None] * rates + phases
    q = (sizes * np.sin(angle)).sum(axis=2) + CENTRE[:n]
    return q, (sizes * rates * np.cos(angle)).sum(axis=2), -(sizes * rates**2 * np.sin(angle)).sum(axis=2)


def friction(v: Array, a: Array) -> Array:
    """What the motors add."""
    return a * MOTORS[:, 0] + np.sign(v) * MOTORS[:, 1] + v * MOTORS[:, 2] + MOTORS[:, 3]


@pytest.fixture(scope="module")
def record(load_robot: Callable[..., RobotModel]) -> Callable[..., JointRecording]:
    """Inverse dynamics of the motion, with motors, payload and noise."""
    model = load_robot("ur5")

    def recorded(
        tool: Tool | None = None, seconds: float = 16.0, noise: float = 1.0, still: int = -1
    ) -> JointRecording:
        rng = np.random.default_rng(0)
        t = np.sort(rng.uniform(0.0, seconds, round(250 * seconds)))
        q, v, a = swing(t)
        if still >= 0:
            q[:, still], v[:, still], a[:, still] = 0.3, CREEP, 0.0
        model.attach(tool)
        tau = model.batch("tau")(q, v, a, np.zeros((len(t), 6)))["tau"] + friction(v, a)
        tau += noise * rng.normal(scale=0.02 * tau.std(axis=0) + 1e-3, size=tau.shape)
        noises = noise * rng.normal(scale=3e-3, size=v.shape)
        return JointRecording(t, q, v + np.where(v == CREEP, 0.0, noises), tau)

    return recorded


def fitted_payload(ur5: RobotModel, recording: JointRecording) -> TorqueFit:
    return fit_torque(torque_rows(ur5, recording, [ur5.tree.tip], HALF), PointMass())


def test_friction_rotors_and_payload_are_found_with_honest_errors(ur5: RobotModel, record):
    fit = fitted_payload(ur5, record(Tool(mass=1.5, centre=(0.05, 0.0, 0.1))))
    np.testing.assert_allclose(fit.motor[:, 1:3], MOTORS[:, 1:3], rtol=0.05)
    np.testing.assert_allclose(fit.motor[:, 0], MOTORS[:, 0], rtol=0.1)
    np.testing.assert_allclose(fit.x, [1.5, 0.05, 0.0, 0.1], rtol=0.02, atol=5e-3)
    assert fit.is_identified.all()
    scores = np.r_[((fit.motor - MOTORS) / fit.motor_errors).ravel(), (fit.x - [1.5, 0.05, 0.0, 0.1]) / fit.x_errors]
    assert 0.3 < np.sqrt(np.mean(scores**2)) < 2.5
    assert (fit.r2 > 0.99).all()
    assert (fit.r2_model < fit.r2).all()
    assert 0.1 < fit.is_held_out.mean() < 0.4


def test_errors_that_are_alike_for_long_count_as_few():
    """First-order noise with a correlation of 0.8 from window to window is worth nine times fewer windows."""
    rng, errors = np.random.default_rng(0), np.zeros((20_000, 2))
    errors[:, 0] = rng.normal(size=len(errors))
    for k in range(1, len(errors)):
        errors[k, 1] = 0.8 * errors[k - 1, 1] + 0.6 * rng.normal()
    noise = _noise(errors, np.ones(errors.shape, dtype=bool), np.ones(2))
    assert noise[0] == pytest.approx(1.0, rel=0.05)
    assert noise[1] == pytest.approx(9.0, rel=0.2)


def test_an_arm_without_a_payload_has_none(ur5: RobotModel, record):
    recording = record(seconds=8.0)
    found = identify(ur5, recording)
    assert (found.bodies, payload_of(found), links_of(found)) == (NOTHING, None, [])
    assert [one.name for one in parameters_of_arm(ur5, found)] == ["armature", "coulomb_friction", "viscous_friction"]
    with pytest.raises(InputError, match="an effort of unknown scale tells no masses: payload cannot be"):
        identify(ur5, recording, PAYLOAD, fits_scale=True)


def test_held_out_windows_do_not_act_on_the_fit(ur5: RobotModel, record):
    recording = record()
    fit = fitted_payload(ur5, recording)
    middles, outside = fit.t[fit.is_held_out], fit.t[~fit.is_held_out]
    is_near = np.abs(recording.t[:, None] - middles).min(axis=1) < 0.5 * HALF
    is_near &= np.abs(recording.t[:, None] - outside).min(axis=1) > 1.1 * HALF
    assert is_near.any()
    spoiled = recording.tau + 50.0 * is_near[:, None]
    again = fitted_payload(ur5, recording._replace(tau=spoiled))
    np.testing.assert_array_equal(again.motor, fit.motor)
    assert (again.r2 < fit.r2).all()
    np.testing.assert_array_equal(again.error_used, fit.error_used)
    assert (again.error > 10.0 * fit.error).all()
    assert (fit.error < 2.0 * fit.error_used).all()
    assert (fit.error < fit.error_model).all()
    counts = fit.is_moving & fit.is_held_out[:, None]
    np.testing.assert_allclose(fit.error[2], np.std((fit.tau - fit.fitted)[counts[:, 2], 2]), rtol=0.1)


def test_a_joint_that_rests_is_not_identified(ur5: RobotModel, record):
    fit = fitted_payload(ur5, record(still=3))
    assert not fit.is_identified[3, :3].any()
    assert fit.is_identified[[0, 1, 2, 4, 5]].all()
    assert np.isnan(fit.r2[3])
    assert np.isnan(fit.error[3])
    np.testing.assert_allclose(np.delete(fit.motor[:, 1], 3), np.delete(MOTORS[:, 1], 3), rtol=0.05)


def test_an_effort_that_is_no_torque_has_a_scale(ur5: RobotModel, record):
    """Of a joint that carries weight, any unit and any sign."""
    recording = record()
    without_rotors = recording.tau - 1.5 * swing(recording.t)[2] * MOTORS[:, 0]  # none has less
    effort = without_rotors * [0.1, -0.1, 0.05, -2.0, 1.0, 1.0]
    fit = fit_torque(torque_rows(ur5, recording._replace(tau=effort), [], HALF), LinkInertias([]), fits_scale=True)
    np.testing.assert_allclose(fit.scale[1:4], [-0.1, 0.05, -2.0], rtol=0.1)
    np.testing.assert_allclose(fit.motor[1:4, 1] / fit.scale[1:4], MOTORS[1:4, 1], rtol=0.1)
    assert (fit.r2[1:4] > 0.9).all()
    assert (fit.motor[:, :3] * np.where(fit.motor[:, 1:2] < 0.0, -1.0, 1.0) >= 0.0).all()
    assert (fit.scale * fit.motor[:, 1] >= 0.0).all()
    assert fit.scale_errors[0] > 5.0 * fit.scale_errors[2]  # a vertical axis carries no weight


def test_links_are_deformed_into_possible_ones(ur5: RobotModel, record):
    """A recording of an arm with heavier links: the torque is explained, friction is right, and links are possible."""
    heavier = Tool(mass=0.3, centre=(0.0, 0.05, -0.1), inertia=0.003 * np.eye(3))
    links = LinkInertias([body.inertia for body in ur5.tree.bodies])
    rows = torque_rows(ur5, record(heavier, noise=0.3), [own_frame(i) for i in range(6)], HALF)
    fit = fit_torque(rows, links, is_whole=True)
    assert (fit.r2 > 0.99).all()
    np.testing.assert_allclose(fit.motor[:, 1:3], MOTORS[:, 1:3], rtol=0.05)
    masses = fit.bodies.reshape(-1, N_PARAMETERS)[:, 0]
    assert masses[3:].sum() - sum(body.inertia.m for body in ur5.tree.bodies[3:]) == pytest.approx(0.3, abs=0.2)
    for parameters in fit.bodies.reshape(-1, N_PARAMETERS):
        low, middle, high = np.linalg.eigvalsh(centre_and_inertia(parameters)[1])
        assert 0.0 < low <= middle <= high < low + middle


def test_a_simulated_arm_with_friction_and_a_payload_is_identified(ur5: RobotModel):
    """Stribeck friction, lag, delay, steps of torque, encoders, noise: friction within 5 %, payload within 2 %."""
    names = ("coulomb", "viscous", "stribeck", "rotor_inertia", "torque_resolution")
    values = {name: x for name, x in real_values(ur5).items() if name in names}
    others = {
        "actuator_time_constant": 1e-3,
        "actuator_delay": 1e-3,
        "velocity_noise": 1e-3,
        "encoder_resolution": 5e-5,
    }
    load = {"payload_mass": 1.0, "payload_position": (0.02, 0.0, 0.05)}
    t = 1e-3 * np.arange(8_000)
    q_des, v_des, a_des = swing(t)
    arm = RealArm(ur5, q_des[0], properties=PlantProperties.from_mapping({**values, **others, **load}))
    q, v, tau = (np.zeros((len(t), 6)) for _ in range(3))
    sent = np.zeros(6)
    for k in range(len(t)):
        q[k], v[k], tau[k] = arm.q, arm.v, sent
        a = a_des[k] + 40.0 * (v_des[k] - v[k]) + 400.0 * (q_des[k] - q[k])
        sent = ur5.inverse_dynamics(q[k], v[k], a) + values["rotor_inertia"] * a + values["viscous"] * v_des[k]
        arm.step(sent)
    fit = fitted_payload(ur5, JointRecording(t, q, v, tau))
    np.testing.assert_allclose(fit.motor[:, 1], values["coulomb"], rtol=0.05)
    np.testing.assert_allclose(fit.motor[:, 2], values["viscous"], rtol=0.05)
    np.testing.assert_allclose(fit.motor[:, 0], values["rotor_inertia"], rtol=0.1)
    assert fit.x[0] == pytest.approx(1.0, rel=0.02)
    np.testing.assert_allclose(fit.x[1:], [0.02, 0.0, 0.05], atol=2e-3)
    truth = np.stack([values["rotor_inertia"], values["coulomb"], values["viscous"]], axis=1)
    assert (np.abs(fit.motor[:, :3] - truth) < 4.0 * fit.motor_errors[:, :3]).all()
    assert (fit.r2 > 0.99).all()


@pytest.mark.parametrize("seconds", [0.15, 1.0])
def test_a_recording_that_is_too_short_is_refused(ur5: RobotModel, record, seconds: float):
    with pytest.raises(InputError, match=r"no window of 0.2 s is without a gap|no joint moves for 20 windows"):
        fitted_payload(ur5, record(seconds=seconds))


def test_windows_with_gaps_are_left_out(ur5: RobotModel, record):
    whole = record()
    kept = (whole.t < 5.0) | (whole.t > 7.0)
    rows = torque_rows(ur5, JointRecording(*(x[kept] for x in whole)), [], HALF)
    assert ((rows.t < 5.0 - 0.7 * HALF) | (rows.t > 7.0 + 0.7 * HALF)).all()
    assert len(rows.t) > 100
    with pytest.raises(InputError, match="no window"):
        torque_rows(ur5, JointRecording(*(x[::30] for x in whole)), [], HALF)
