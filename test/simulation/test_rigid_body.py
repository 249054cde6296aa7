"""The package's own simulator, against closed forms, orders of convergence, Pinocchio and MuJoCo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arm_control import RobotModel, urdf_path
from arm_control.exceptions import ModelError, ParameterError, SimulationDiverged
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.simulation import EngineParameters, PlantProperties, RealArm, make_simulator
from arm_control.simulation.rigid_body import (
    SCHEMES,
    RigidBodyParameters,
    RigidBodySimulator,
    bounded_torque,
    largest_decay,
)

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


@pytest.fixture(scope="module")
def ur4() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur4"))


def simulator(model: RobotModel, q: Array, scheme: str = "rk4", **options: object) -> RigidBodySimulator:
    own = {name: options.pop(name) for name in list(options) if name in RigidBodyParameters.types()}
    return RigidBodySimulator(model, q, parameters=RigidBodyParameters(scheme=scheme, **own), **options)


def pendulum() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar1"), gravity=(0.0, -9.81, 0.0))


def energies(model: RobotModel, states: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy."""
    energy = model.batch("kinetic_energy", "potential_energy")(*np.split(states, 2, axis=1))
    return energy["kinetic_energy"].ravel(), energy["potential_energy"].ravel()


@pytest.mark.parametrize(
    ("scheme", "fine", "coarse"),
    [("euler", 4.04, 32.8), ("lab", 2.20, 19.5), ("semi_implicit", 0.36, 14.6), ("rk4", 4.3e-8, -2.9e-3)],
)
def test_a_free_fall_of_the_ur4_gains_as_much_energy_as_its_scheme_has_error(
    ur4: RobotModel, scheme: str, fine: float, coarse: float
):
    rest = np.append(START, np.zeros(4))
    for timestep, expected in ((1e-3, fine), (1e-2, coarse)):
        states = simulator(ur4, START, scheme, timestep=timestep).run(round(5.0 / timestep))
        change = sum(energies(ur4, states)) - sum(energies(ur4, rest[None]))
        assert change[-1] == pytest.approx(expected, rel=0.02)
        if (scheme, timestep) == ("semi_implicit", 1e-3):
            assert np.abs(change).max() == pytest.approx(1.92, abs=0.005)


def test_damping_takes_the_energy_out(ur4: RobotModel):
    kinetic = [energies(ur4, simulator(ur4, START, damping=b).run(5000))[0][-1] for b in (1.0, 5.0, 20.0)]
    np.testing.assert_allclose(kinetic, [0.365, 3.7e-3, 2.7e-6], rtol=0.015)


@pytest.mark.parametrize(("scheme", "overshoot"), [("lab", 0.026), ("semi_implicit", 0.021), ("rk4", 0.020)])
def test_end_stops_hold_the_arm(ur4: RobotModel, scheme: str, overshoot: float):
    q = simulator(ur4, START, scheme, **STOPS).run(5000)[:, :4]
    beyond = np.maximum(q - STOPS["stop_upper"], np.array(STOPS["stop_lower"]) - q).max(axis=0)
    assert beyond[1] == pytest.approx(overshoot, abs=5e-4)
    assert (beyond[[0, 2, 3]] < 0.0).all()


def test_a_joint_rests_on_its_stop_where_the_spring_holds_its_weight():
    model = pendulum()
    lower, upper = -1.0, 0.4
    arm = simulator(
        model, np.array([0.3]), stop_stiffness=(1e4,), stop_damping=(50.0,), stop_lower=(lower,), stop_upper=(upper,)
    )
    q = arm.run(20_000)[-1, 0]
    d = max(q - upper, 0.0) - max(lower - q, 0.0)
    assert 1e4 * d == pytest.approx(-model.gravity([q])[0], rel=1e-6)
    assert d != 0.0


def test_a_pendulum_swings_with_the_period_of_the_elliptic_integral():
    model = pendulum()
    low = next(q for q in np.linspace(-np.pi, np.pi, 9) if abs(model.gravity([q])[0]) < 1e-9 and _is_low(model, q))
    M, amplitude = model.mass_matrix([low])[0, 0], 2.0
    weight = abs(model.gravity([low + np.pi / 2])[0])
    arm = simulator(model, np.array([low + amplitude]))
    v = arm.run(8000)[:, 1]
    ends = np.flatnonzero((v[:-1] < 0.0) & (v[1:] >= 0.0))  # back at rest on the other side: half a period
    crossing = ends[0] + v[ends[0]] / (v[ends[0]] - v[ends[0] + 1])
    k, a, g = np.sin(amplitude / 2), 1.0, np.cos(amplitude / 2)
    while abs(a - g) > 1e-15:
        a, g = 0.5 * (a + g), np.sqrt(a * g)
    assert 0.0 < k < 1.0
    period = 4.0 * np.sqrt(M / weight) * np.pi / (2.0 * a)  # 4 sqrt(M / m g l) K(k)
    assert 2.0 * (crossing + 1.0) * 1e-3 == pytest.approx(period, abs=1e-6)


def _is_low(model: RobotModel, q: float) -> bool:
    return model.potential_energy([q]) < model.potential_energy([q + 0.1])


@pytest.mark.parametrize(("scheme", "order"), [("euler", 1), ("lab", 1), ("semi_implicit", 1), ("rk4", 4)])
def test_halving_the_step_divides_the_error_by_the_order(ur4: RobotModel, scheme: str, order: int):
    exact = simulator(ur4, START, timestep=1e-4, damping=2.0).run(2000)[-1]
    errors = [
        np.linalg.norm(simulator(ur4, START, scheme, timestep=0.2 / n, damping=2.0).run(n)[-1] - exact)
        for n in (50, 100)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


def test_one_step_of_each_scheme_is_that_of_pinocchios_accelerations(ur5: RobotModel):
    pin = pytest.importorskip("pinocchio")
    theirs = pin.buildModelFromXML(ur5.urdf.text)
    data, rng, dt = theirs.createData(), np.random.default_rng(1), 1e-3
    q, v, tau = rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6), rng.uniform(-5, 5, 6)
    a = pin.aba(theirs, data, q, v, tau)
    expected = {
        "euler": (q + dt * v, v + dt * a),
        "lab": (q + dt * v + dt**2 / 2 * a, v + dt * a),
        "semi_implicit": (q + dt * (v + dt * a), v + dt * a),
    }
    for scheme, (q_new, v_new) in expected.items():
        arm = simulator(ur5, q, scheme)
        arm.reset(q, v)
        arm.step(tau)
        np.testing.assert_allclose(arm.q, q_new, rtol=0, atol=1e-12)
        np.testing.assert_allclose(arm.v, v_new, rtol=0, atol=1e-9)


def test_it_moves_as_mujoco_does(ur5: RobotModel):
    pytest.importorskip("mujoco")
    options = {"timestep": 1e-3, "damping": 0.5}
    arms = [make_simulator(ur5, HOME, PlantProperties(), **options, engine=e) for e in (None, RIGID_BODY)]
    for k in range(300):  # the first motor saturates
        tau = ur5.gravity(arms[0].q) + np.array([200.0, -30.0, 10.0, 3.0, 1.0, 0.1]) * np.sin(0.02 * k)
        for arm in arms:
            arm.load(np.array([0.0, 0.0, 2.0, 0.0, 0.0, 0.0]))
            arm.step(tau)
    assert np.abs(arms[0].v).max() > 0.1
    np.testing.assert_allclose(arms[1].q, arms[0].q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(arms[1].v, arms[0].v, rtol=0, atol=1e-7)


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


def test_bounded_friction_stops_a_joint_or_is_at_its_limit():
    rng = np.random.default_rng(2)
    for _ in range(20):
        L = rng.normal(size=(4, 4))
        A, v, c = L @ L.T + np.eye(4), rng.normal(size=4), rng.uniform(0.0, 1.0, 4)
        f = bounded_torque(A, v, np.zeros(4), c)
        after = v + A @ f
        is_held = np.abs(f) < c - 1e-6
        assert np.abs(after[is_held]).max(initial=0.0) < 1e-3
        assert (after[~is_held] * f[~is_held] <= 1e-9).all()


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


def test_a_joint_that_mimics_another_keeps_its_energy():
    """MuJoCo cannot simulate one."""
    text = Path(urdf_path("planar2")).read_text(encoding="utf-8")
    names = RobotModel.from_urdf(urdf_path("planar2")).joint_names
    mark = f'<joint name="{names[1]}"'
    begin = text.index(mark)
    end = text.index("</joint>", begin)
    model = RobotModel.from_urdf(
        text[:end] + f'<mimic joint="{names[0]}" multiplier="-0.5"/>' + text[end:], gravity=(0.0, -9.81, 0.0)
    )
    assert model.nv == 1
    states = simulator(model, np.array([0.3])).run(2000)
    kinetic, potential = energies(model, np.vstack([[0.3, 0.0], states]))
    assert kinetic.max() > 0.1
    np.testing.assert_allclose(kinetic + potential, potential[0], rtol=0, atol=1e-7)


def test_it_needs_no_mujoco():
    code = (
        "import sys; sys.modules['mujoco'] = None\n"
        "from arm_control.simulation.offline import Simulation\n"
        "from arm_control.simulation.scenario import Scenario, merged\n"
        "from dataclasses import replace\n"
        "s = Scenario.load('planar2_reach').variant('real')\n"
        "s = replace(s, nodes=merged(s.nodes, {'simulator': {'engine': 'rigid_body'}}))\n"
        "print(len(Simulation(s).run(0.02).t))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)
    assert done.stdout.strip() == "20", done.stderr
