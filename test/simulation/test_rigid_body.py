"""The package's own simulator, against closed forms, orders of convergence, Pinocchio and MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.exceptions import ModelError, ParameterError, SimulationDiverged
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.simulation import EngineParameters, PlantProperties, RealArm
from arm_control.simulation.rigid_body import SCHEMES, RigidBodyParameters, RigidBodySimulator, largest_decay

START = np.array([np.pi, -np.pi / 8, -np.pi / 6, 0.0])
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
RIGID_BODY = EngineParameters(engine="rigid_body")
TURN = 2.0 * np.pi
STOPS = {
    "stop_stiffness": (1e5,),
    "stop_damping": (100.0,),
    "stop_lower": (-TURN, -0.5, -TURN, -TURN),
    "stop_upper": (TURN, 0.5, TURN, TURN),
}


def simulator(model: RobotModel, q: Array, scheme: str = "rk4", **options: object) -> RigidBodySimulator:
    own = {name: options.pop(name) for name in list(options) if name in RigidBodyParameters.types()}
    return RigidBodySimulator(model, q, parameters=RigidBodyParameters(scheme=scheme, **own), **options)


@pytest.mark.parametrize(
    ("scheme", "expected"), [("euler", 32.8), ("lab", 19.5), ("semi_implicit", 14.6), ("rk4", -2.9e-3)]
)
def test_a_free_fall_of_the_ur4_gains_as_much_energy_as_its_scheme_has_error(
    ur4: RobotModel, scheme: str, expected: float
):
    """In steps of 10 ms; the scenarios ``ur4_free_fall`` and ``ur4_end_stops`` have 1 ms, and end stops."""
    states = simulator(ur4, START, scheme, timestep=1e-2).run(500)
    q, v = np.split(np.vstack([[*START, 0.0, 0.0, 0.0, 0.0], states]), 2, axis=1)
    energy = sum(ur4.batch("kinetic_energy", "potential_energy")(q, v).values()).ravel()
    assert energy[-1] - energy[0] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("scheme", "order"), [("euler", 1), ("lab", 1), ("semi_implicit", 1), ("rk4", 4)])
def test_halving_the_step_divides_the_error_by_the_order(ur4: RobotModel, scheme: str, order: int):
    exact = simulator(ur4, START, timestep=1e-4, damping=2.0).run(2000)[-1]
    errors = [
        np.linalg.norm(simulator(ur4, START, scheme, timestep=0.2 / n, damping=2.0).run(n)[-1] - exact)
        for n in (50, 100)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_a_plant_that_is_not_its_model_is_the_same_in_both_engines(ur5: RobotModel):
    pytest.importorskip("mujoco")
    """Without Coulomb friction, which MuJoCo has softer."""
    bodies = {"mass_error": 0.05, "com_error": 0.005, "inertia_error": 0.2, "payload_mass": 1.5, "base_tilt": 0.1}
    motors = {"actuator_delay": 2e-3, "actuator_time_constant": 3e-3, "viscous": (2.0,), "rotor_inertia": (0.05,)}
    sensors = {"torque_resolution": (0.1,), "velocity_noise": 1e-3, "encoder_resolution": 1e-4}
    p = PlantProperties(**bodies, **motors, **sensors, payload_position=(0.02, 0.0, 0.1), seed=4)
    ours, theirs = (RealArm(ur5, HOME, properties=p, engine=engine) for engine in (RIGID_BODY, EngineParameters()))
    for q in (HOME, HOME + 0.4):
        np.testing.assert_allclose(ours.arm.mass_matrix(q), theirs.arm.mass_matrix(q), rtol=0, atol=1e-6)
    for k in range(200):
        tau = ur5.gravity(HOME) + np.array([10.0, -20.0, 5.0, 2.0, 2.0, 0.1]) * np.sin(0.02 * k)
        ours.step(tau)
        theirs.step(tau)
    assert np.abs(theirs.arm.q - HOME).max() > 0.01
    np.testing.assert_allclose(ours.arm.q, theirs.arm.q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(ours.v, theirs.v, rtol=0, atol=1e-5)


def test_friction_holds_what_is_smaller_and_slows_what_is_larger(ur5: RobotModel):
    values = {"coulomb": (2.0, 100.0, 100.0, 28.0, 28.0, 28.0)}
    for push, speed in ((1.9, 0.0), (5.0, 3.0 / ur5.mass_matrix(HOME)[0, 0] * 0.1)):
        arm = RealArm(ur5, HOME, properties=PlantProperties(**values), engine=RIGID_BODY)
        for _ in range(100):
            arm.step(ur5.gravity(arm.q) + np.array([push, 0, 0, 0, 0, 0]))
        assert arm.v[0] == pytest.approx(speed, rel=1e-3, abs=1e-9)  # (5 - 2) N m for 0.1 s
        assert np.abs(arm.v[1:]).max() < 1e-6


def test_friction_goes_on_from_that_of_the_step_before(ur4: RobotModel):
    """One step alone leaves 1e-7 rad/s here; the steps after it take that away, and a reset begins anew."""
    q = np.array([2.96, 1.69, -0.09, -0.46])
    arm = simulator(ur4, q, "semi_implicit", friction=0.03 * ur4.tau_max)
    speeds = [[] for _ in range(2)]
    for run in speeds:
        arm.reset()
        for _ in range(10):
            arm.step(ur4.gravity(arm.q) + 0.02 * ur4.tau_max * np.array([1, -1, 1, -1]))
            run.append(np.abs(arm.v).max())
    assert speeds[0] == speeds[1]
    assert speeds[0][0] > 1e-9
    assert speeds[0][-1] < 1e-14


def test_many_steps_are_one_step_many_times(ur4: RobotModel):
    taus = np.random.default_rng(3).normal(size=(50, 4))
    friction = {"friction": np.full(4, 0.3)}
    for scheme, more in (*((scheme, {}) for scheme in SCHEMES), ("semi_implicit", friction)):
        first, second = (simulator(ur4, START, scheme, **STOPS, **more) for _ in range(2))
        states = first.run(50, taus)
        for k, tau in enumerate(taus):
            second.step(tau)
            np.testing.assert_array_equal(np.append(second.q, second.v), states[k])
        assert first.steps == second.steps == 50
        first.load(np.ones(4))
        first.reset()
        np.testing.assert_array_equal(first.run(50, taus), states)


def test_what_leaves_the_finite_numbers_is_said_with_the_last_state(ur4: RobotModel):
    arm = simulator(ur4, START)
    arm.run(10)
    before = arm.q
    with pytest.raises(SimulationDiverged, match=r"t = 0\.010000"):
        arm.step(np.full(4, np.nan))
    np.testing.assert_array_equal(arm.q, before)
    stiff = simulator(ur4, START, "euler", **{**STOPS, "stop_stiffness": (1e9,)})
    with pytest.raises(SimulationDiverged) as caught:
        stiff.run(5000)
    assert np.isfinite([*caught.value.q, *caught.value.v]).all()
    assert 0.1 < caught.value.t < 5.0


def test_unstable_damping_is_refused_with_its_number(ur4: RobotModel):
    rate = largest_decay(ur4, START, np.ones((1, 4)))
    hanging = ur4.mass_matrix([0.0, np.pi / 2, 0.0, 0.0])
    assert rate >= 1.0 / np.linalg.eigvalsh(hanging)[0] > 1.3 / np.linalg.eigvalsh(ur4.mass_matrix(START))[0]
    for scheme, limit in (("euler", 2.0), ("lab", 2.0), ("rk4", 2.785)):
        b = limit / (1e-3 * rate)
        simulator(ur4, START, scheme, damping=0.99 * b)
        with pytest.raises(ParameterError, match=rf"b dt lambda_max\(M\^-1\) = {1.01 * limit:.2f} with the scheme"):
            simulator(ur4, START, scheme, damping=1.01 * b)
    assert np.abs(simulator(ur4, START, "semi_implicit", damping=1e6).run(1000)[:, 4:]).max() < 1e-3
    with pytest.raises(ParameterError, match="unstable"):
        simulator(ur4, START, "semi_implicit", **{**STOPS, "stop_damping": (1e5,)})
    one = {"stop_stiffness": (0.0, 1e5, 0.0, 0.0), "stop_damping": (1e5, 100.0, 1e5, 1e5)}
    assert np.isfinite(simulator(ur4, START, "semi_implicit", **{**STOPS, **one}).run(500)).all()


def test_bad_options_are_refused_in_a_sentence(ur4: RobotModel):
    ball = Obstacle(Sphere(0.1), Pose(np.eye(3), np.ones(3)))
    for expected, error, options in (
        ("3 initial positions for 4", ModelError, {"q": np.zeros(3)}),
        ("no contacts", ModelError, {"solids": [ball]}),
        ("joint_damping has 3 numbers; allowed: 1, or 4", ParameterError, {"joint_damping": (1.0, 1.0, 1.0)}),
        ("must be below", ParameterError, {**STOPS, "stop_upper": (-7.0,)}),
        ("no Coulomb friction", ParameterError, {"friction": np.ones(4)}),
    ):
        with pytest.raises(error, match=expected):
            simulator(ur4, options.pop("q", START), **options)
