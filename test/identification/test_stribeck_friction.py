"""Stribeck friction: its columns between grid speeds, and what is found of it where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.exceptions import InputError
from arm_control.identification import LINKS, NOTHING, Identified, JointRecording, identify, links_of, payload_of
from arm_control.identification.identified_arm import parameters_of_arm, parameters_of_plant
from arm_control.identification.momentum_regressor import PointMass
from arm_control.identification.stribeck_friction import (
    SPEEDS,
    StribeckFriction,
    interpolation,
    stribeck_columns,
    stribeck_fit,
)
from arm_control.maths import Array
from arm_control.model import Tool

COULOMB = np.array([5.0, 6.0, 4.0, 1.0, 1.2, 0.8])
STRIBECK = np.array([2.0, 3.0, 1.5, 0.5, 0.4, 0.3])
LOAD = Tool(mass=1.0, centre=(0.02, 0.0, 0.05))


def recorded(load_robot, v_s: float, seed: int, stribeck: Array = STRIBECK, seconds: float = 16.0) -> JointRecording:
    """Inverse dynamics of a slow motion with friction, rotors of 0.3, a payload and 1 % of noise."""
    model, rng = load_robot("ur5"), np.random.default_rng(seed)
    t = np.arange(0.0, seconds, 4e-3)
    rates = 0.5 * np.array([[0.8 + 0.17 * j, 2.1 + 0.23 * j] for j in range(6)])
    sizes, angle = np.array([0.6, 0.2]), t[:, None, None] * rates + rng.uniform(0.0, 6.0, (6, 2))
    q = (sizes * np.sin(angle)).sum(axis=2) + [0.0, -1.4, 1.6, -1.5, -1.2, 0.0]
    v, a = (sizes * rates * np.cos(angle)).sum(axis=2), -(sizes * rates**2 * np.sin(angle)).sum(axis=2)
    model.attach(LOAD)
    tau = model.batch("tau")(q, v, a, np.zeros((len(t), 6)))["tau"] + 0.3 * a + 2.0 * v
    tau += np.sign(v) * (COULOMB + stribeck * np.exp(-np.square(v / v_s)))
    return JointRecording(t, q, v, tau + rng.normal(scale=0.01 * tau.std(axis=0), size=tau.shape))


def found(ur5: RobotModel, recording: JointRecording, *bodies: str) -> Identified:
    return identify(ur5, recording, *bodies, fits_stribeck=True, half=0.05)


@pytest.mark.parametrize("v_s", [0.02, 0.05, 0.15])
def test_friction_and_speed_are_found_with_honest_errors(ur5: RobotModel, load_robot, v_s: float):
    scores = []
    for seed in range(2):
        identified = found(ur5, recorded(load_robot, v_s, seed))
        stribeck = identified.stribeck
        assert stribeck.is_identified.sum() >= 5
        assert stribeck.velocity == pytest.approx(v_s, rel=0.1)
        assert payload_of(identified).mass == pytest.approx(LOAD.mass, rel=0.02)
        np.testing.assert_allclose(identified.fit.motor[:, 1], COULOMB, rtol=0.05)
        scores += [(stribeck.velocity - v_s) / stribeck.velocity_error]
        scores += ((stribeck.friction - STRIBECK) / stribeck.friction_errors).tolist()
    assert 0.3 < np.sqrt(np.mean(np.square(scores))) < 2.0
    assert np.abs(scores).max() < 4.5


def test_the_held_out_part_is_better_explained_with_it(ur5: RobotModel, load_robot):
    recording = recorded(load_robot, 0.15, 0)
    plain = identify(ur5, recording, half=0.05)
    assert plain.stribeck is None
    fit = found(ur5, recording).fit
    assert (fit.error < 0.7 * plain.fit.error).any()
    bias = plain.fit.motor[:, 1] - COULOMB
    assert np.abs(bias).max() > 10.0 * np.abs(fit.motor[:, 1] - COULOMB).max()


def test_joints_without_it_have_none(ur5: RobotModel, load_robot):
    recording = recorded(load_robot, 0.05, 0, 0.0 * STRIBECK)
    identified = found(ur5, recording)
    assert identified.stribeck is None
    np.testing.assert_array_equal(identified.fit.motor, identify(ur5, recording, half=0.05).fit.motor)
    names = [one.name for one in parameters_of_plant(identified, parameters_of_arm(ur5, identified))]
    assert names == ["plant.coulomb", "plant.viscous"]


def test_a_speed_that_is_known_to_half_its_size_only_tells_no_friction():
    """And friction with a standard error of half the joint's torque is not told."""
    x, errors = np.array([np.log(0.05), 1.0, 1.0]), np.array([0.1, 0.1, 0.6])
    assert stribeck_fit(x, errors, np.ones(2)).is_identified.tolist() == [True, False]
    assert stribeck_fit(x, errors, np.ones(2)).velocity_error == pytest.approx(0.005)
    errors[0] = 0.6
    assert not stribeck_fit(x, errors, np.ones(2)).is_identified.any()


def test_a_simulator_gets_it_and_links_are_found_beside_it(ur5: RobotModel, load_robot):
    identified = found(ur5, recorded(load_robot, 0.05, 1), LINKS)
    assert len(links_of(identified)) == 6
    parameters = {one.name: one.value for one in parameters_of_plant(identified, parameters_of_arm(ur5, identified))}
    np.testing.assert_allclose(parameters["plant.stribeck"], STRIBECK, rtol=0.3)
    assert parameters["plant.stribeck_velocity"] == pytest.approx(0.05, rel=0.1)


def test_an_effort_without_scale_tells_none(ur5: RobotModel, load_robot):
    with pytest.raises(InputError, match="an effort of unknown scale tells no Stribeck friction"):
        identify(ur5, recorded(load_robot, 0.05, 0, seconds=2.0), NOTHING, fits_scale=True, fits_stribeck=True)


def test_columns_between_grid_speeds_are_those_of_the_law():
    v = np.concatenate([-np.geomspace(1e-3, 3.0, 50), np.geomspace(1e-3, 3.0, 50)])[:, None]
    for v_s in np.geomspace(SPEEDS[1], SPEEDS[-2], 40):
        w, _ = interpolation(np.log(v_s))
        expected = np.sign(v) * np.exp(-np.square(v / v_s))
        np.testing.assert_allclose(stribeck_columns(v) @ w, expected, rtol=0, atol=3e-3)


def test_derivatives_are_those_of_differences():
    friction = StribeckFriction(np.ones(2), PointMass())
    x = friction.start + np.array([0.37, 1.0, 2.0, 0.1, 0.2, -0.1, 0.3])
    steps = 1e-6 * np.eye(len(x))
    expected = [(friction.numbers(x + step) - friction.numbers(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(friction.jacobian(x), np.array(expected).T, rtol=0, atol=1e-7)
