"""An arm that is not its model: each difference by itself, against a closed form."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel
from arm_control.simulation import MujocoSimulator, PlantProperties, RealArm, Scenario, real_values, scenario_names
from arm_control.simulation.plant_properties import properties_of

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])


def arm(model: RobotModel, **values: object) -> RealArm:
    return RealArm(model, HOME, properties=PlantProperties(**values))


def held(model: RobotModel, simulator: RealArm, extra: np.ndarray, n: int) -> np.ndarray:
    """True speeds under the weight and a torque."""
    for _ in range(n):
        simulator.step(model.gravity(simulator.arm.q) + extra)
    return simulator.arm.v


def test_coulomb_friction_holds_what_is_smaller_and_slows_what_is_larger(ur5: RobotModel):
    stuck = held(ur5, arm(ur5, coulomb=(2.0,)), np.array([1.8, 0, 0, 0, 0, 0]), 500)
    assert np.abs(stuck).max() < 1e-3
    last = ur5.mass_matrix(HOME)[0, 0]
    moving = arm(ur5, coulomb=(2.0, 100.0, 100.0, 28.0, 28.0, 28.0))
    held(ur5, moving, np.array([5.0, 0, 0, 0, 0, 0]), 100)
    assert moving.arm.v[0] == pytest.approx(3.0 / last * 0.1, rel=0.03)  # (5 - 2) N m for 0.1 s


def test_friction_at_rest_is_more_than_in_motion(ur5: RobotModel):
    push = np.array([2.5, 0, 0, 0, 0, 0])
    values = {"coulomb": (2.0, 100.0, 100.0, 28.0, 28.0, 28.0), "stribeck": (1.0,), "stribeck_velocity": 0.05}
    assert np.abs(held(ur5, arm(ur5, **values), push, 300)).max() < 1e-3
    moving = arm(ur5, **values)
    held(ur5, moving, 4.0 * push, 50)
    before = moving.arm.v[0]
    assert held(ur5, moving, push, 100)[0] > before


def test_rotor_inertia_and_viscous_friction_are_per_joint(ur5: RobotModel):
    rotors = (0.1, 0.2, 0.3, 0.01, 0.02, 0.03)
    simulator = arm(ur5, rotor_inertia=rotors, viscous=rotors)
    np.testing.assert_allclose(simulator.arm.mass_matrix(HOME) - ur5.mass_matrix(HOME), np.diag(rotors), atol=1e-9)
    np.testing.assert_array_equal(simulator.arm.mujoco_model.dof_damping, rotors)


def test_a_base_that_is_not_level_feels_its_weight_sideways(ur5: RobotModel):
    """The axis of the first joint, upright in the model, turns from z towards -y; seen from the arm, gravity does."""
    simulator = arm(ur5, base_tilt=0.1)
    gravity = simulator.arm.mujoco_model.opt.gravity
    np.testing.assert_allclose(gravity, ur5.gravity_W[2] * np.array([0.0, np.sin(0.1), np.cos(0.1)]), atol=1e-12)
    level, tilted = arm(ur5), arm(ur5, base_tilt=0.1)
    weights = [x.arm.mujoco_data.qfrc_bias[0] for x in (level, tilted)]
    assert abs(weights[0]) < 1e-9
    assert abs(weights[1]) > 0.5


def test_errors_of_links_are_drawn_once_for_a_seed(ur5: RobotModel):
    one, same, other = (arm(ur5, com_error=0.01, inertia_error=0.2, seed=seed) for seed in (1, 1, 2))
    M = [simulator.arm.mass_matrix(HOME) for simulator in (one, same, other)]
    np.testing.assert_array_equal(M[0], M[1])
    assert np.abs(M[0] - M[2]).max() > 1e-3
    shift = one.arm.mujoco_model.body_ipos - MujocoSimulator(ur5, HOME).mujoco_model.body_ipos
    np.testing.assert_allclose(np.linalg.norm(shift[1:], axis=1), 0.01, rtol=1e-9)


def test_a_motor_lags_and_is_late(ur5: RobotModel):
    """A step of the command arrives two steps later, and with a lag."""
    simulator = arm(ur5, actuator_delay=2e-3, actuator_time_constant=4e-3)
    applied = []
    for k in range(10):
        simulator.step(np.full(6, 0.0 if k == 0 else 1.0))
        applied.append(simulator.arm.mujoco_data.ctrl[0])
    np.testing.assert_allclose(applied, [0, 0, 0, *(1.0 - 0.75 ** np.arange(1, 8))], atol=1e-12)


def test_torque_and_positions_have_steps(ur5: RobotModel):
    simulator = arm(ur5, torque_resolution=(0.5,), encoder_resolution=1e-3)
    simulator.step(np.array([0.7, 0.8, -0.7, 0.1, 0.2, 0.3]))
    np.testing.assert_allclose(simulator.arm.mujoco_data.ctrl, [0.5, 1.0, -0.5, 0.0, 0.0, 0.5])
    np.testing.assert_allclose(simulator.q, np.round(simulator.arm.q / 1e-3) * 1e-3, atol=1e-12)
    assert np.abs(simulator.q - simulator.arm.q).max() > 1e-5


def test_noise_of_velocities_starts_again_with_a_run(ur5: RobotModel):
    simulator = arm(ur5, velocity_noise=3e-3, seed=7)
    runs = []
    for _ in range(2):
        simulator.reset()
        rows = []
        for _ in range(500):
            simulator.step(ur5.gravity(simulator.arm.q))
            np.testing.assert_array_equal(simulator.v, simulator.v)  # one measurement a step, however often it is read
            rows.append(simulator.v - simulator.arm.v)
        runs.append(np.array(rows))
    np.testing.assert_array_equal(*runs)
    assert runs[0].std() == pytest.approx(3e-3, rel=0.05)


def test_the_set_real_follows_the_limits_of_the_arm_and_can_be_changed(ur5: RobotModel):
    p = PlantProperties(set="real", coulomb=(1.0,), velocity_noise=0.0).of(ur5)
    assert p.coulomb == (1.0,) * 6
    np.testing.assert_allclose(p.viscous, real_values(ur5)["viscous"])
    assert p.mass_error == 0.05
    assert not any(PlantProperties().of(ur5).coulomb)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"coulomb": (1.0, 2.0)}, "plant.coulomb has 2 numbers: one is needed, or one for each of 6 joints"),
        ({"payload_position": (0.0, 1.0)}, "three numbers are needed"),
        ({"set": "perfect"}, "one of ideal, real"),
        ({"mass_error": -1.0}, "allowed >= -0.9"),
    ],
)
def test_what_no_arm_can_have_is_refused(ur5: RobotModel, values: dict[str, object], message: str):
    with pytest.raises(ParameterError, match=message):
        arm(ur5, **values)


def test_a_scenario_gives_properties_with_a_prefix():
    values = {"timestep": 0.002, "plant.set": "real", "plant.payload_mass": 1}
    assert properties_of(values, "here") == PlantProperties(set="real", payload_mass=1.0)
    with pytest.raises(ParameterError, match="here: unknown grease"):
        properties_of({"plant.grease": 1.0}, "here")


def test_every_scenario_has_a_variant_real():
    for name in scenario_names():
        scenario = Scenario.load(name)
        real = scenario.variant("real")
        assert real.nodes["simulator"]["plant.set"] == "real"
        assert not real.controller or real.nodes[real.controller]["disturbance_observer"] is True
        assert real.variants == {}
        assert scenario.required("real") == scenario.checks.get("real", {})


def test_ripple_is_a_torque_that_the_position_tells(ur5: RobotModel):
    simulator = arm(ur5, torque_ripple=(0.5,), ripple_periods=40)
    tau = ur5.gravity(HOME)
    for _ in range(3):
        q = simulator.arm.q
        simulator.step(tau)
        np.testing.assert_allclose(simulator.arm.mujoco_data.ctrl - tau, 0.5 * np.sin(40 * q), atol=1e-12)
    assert not arm(ur5, torque_ripple=(0.5,)).properties.is_ideal
    assert PlantProperties(ripple_periods=7).is_ideal


def test_velocities_of_an_encoder_are_differences_of_its_counts(ur5: RobotModel):
    p = 2.0 * np.pi / 2**12
    simulator = arm(ur5, encoder_resolution=p, velocity_from="encoder", velocity_noise=1e-3)
    assert not simulator.v.any()
    last = simulator.q
    for _ in range(50):
        simulator.step(np.full(6, 20.0))
        q = simulator.q
        np.testing.assert_allclose(simulator.v, (q - last) / simulator.timestep, rtol=1e-12)
        np.testing.assert_allclose(q / p, np.round(q / p), atol=1e-9)
        last = q
    assert simulator.v.any()
    simulator.reset()
    assert not simulator.v.any()
