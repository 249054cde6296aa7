"""Velocities that come in steps are found and filtered; all others stay as they are, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from driven_arm import driven, observing

from arm_control.control import ControlLoop, Measurement, pose_error
from arm_control.controllers import control_loop
from arm_control.gate import EffortGate, GateParameters, GateState
from arm_control.gate import velocity_filter as filters
from arm_control.gate.inertia_floor import GROWTH
from arm_control.gate.velocity_filter import LAG_ACCELERATION, VelocityFilter
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, RealArm

DT = 1e-3
States = Iterator[tuple[Array, Array, float]]


def way(t: Array | float) -> Array:
    """A smooth motion of two joints that begins at rest [rad]."""
    t = np.asarray(t, dtype=float)
    return np.stack([0.3 * (1.0 - np.cos(2.0 * t)), 0.2 * (1.0 - np.cos(3.1 * t))], axis=-1)


def counted(bits: int, n: int = 600, *, lag: float = 0.0, jitter: float = 0.0, seed: int = 0) -> States:
    """Positions in counts, and velocities that are their differences, behind a lag."""
    rng, p = np.random.default_rng(seed), 2.0 * np.pi / 2**bits
    dts = DT * (1.0 + jitter * rng.uniform(-1.0, 1.0, n))
    q = np.round(way(np.cumsum(dts)) / p) * p
    last, v = q[0], np.zeros(2)
    for q_k, dt in zip(q, dts, strict=True):
        share = 1.0 if not lag else 1.0 - np.exp(-dt / lag)
        v = v + share * ((q_k - last) / dt - v)
        last = q_k
        yield q_k, v, float(dt)


def run(states: States) -> tuple[VelocityFilter, list[Array], list[Array], list[Array]]:
    """The filter behind some states; their positions, velocities, and filtered velocities."""
    velocities, rows = VelocityFilter(2), []
    for k, (q, v, dt) in enumerate(states):
        rows.append((q, v, velocities.filtered(q, v, dt if k else 0.0)))
    return velocities, *(list(x) for x in zip(*rows, strict=True))


@pytest.mark.parametrize("bits", [19, 17, 14, 12])
@pytest.mark.parametrize(("lag", "jitter"), [(0.0, 0.0), (0.0, 0.05), (0.01, 0.0)])
def test_differences_of_counts_are_filtered(bits: int, lag: float, jitter: float):
    velocities, _, _, filtered = run(counted(bits, lag=lag, jitter=jitter))
    T = np.sqrt(2.0 * np.pi / 2**bits / 1.5)
    assert velocities.lag == pytest.approx(T, rel=0.03)
    np.testing.assert_allclose(velocities.left, 1.5 * T, rtol=0.03)
    true = (way(0.6) - way(0.6 - DT)) / DT
    assert np.abs(filtered[-1] - true).max() < 5.0 * 1.5 * T  # the lag of 2 rad/s^2, and a few steps


def test_the_filter_is_its_equation():
    velocities, q, _, filtered = run(counted(14))
    T = np.sqrt(2.0 * np.pi / 2**14 / LAG_ACCELERATION)
    v = filtered[300]
    for k in range(301, 600):
        v = v + DT / (T + DT) * ((q[k] - q[k - 1]) / DT - v)
        np.testing.assert_allclose(filtered[k], v, rtol=1e-9)
    assert velocities.sentence == "velocities come in steps of 0.38 rad/s: filtered, 16 ms"
    assert velocities.fault == ""


def test_a_state_of_the_same_time_changes_nothing():
    states = list(counted(14))
    states[300:300] = [(*states[299][:2], 0.0)]
    _, _, _, filtered = run(iter(states))
    np.testing.assert_array_equal(filtered.pop(300), filtered[299])
    np.testing.assert_array_equal(filtered, run(counted(14))[-1])


@pytest.mark.parametrize("is_of_positions", [True, False])
def test_a_grid_is_believed_with_the_fourth_turn(*, is_of_positions: bool):
    """A turn is no change, a change, and its opposite, behind a first change and its opposite."""
    velocities, step, q, v = VelocityFilter(1), 0.024, np.zeros(1), np.zeros(1)
    for k in range(3 + 3 * 4):
        assert velocities.lag == 0.0
        d = step * (k % 3 == 1)
        q, v = (q + DT * d, v + 0.1 * (d - v)) if is_of_positions else (q, np.array([d]))
        velocities.filtered(q, v, DT if k else 0.0)
    assert velocities.lag == pytest.approx(np.sqrt(step * DT / LAG_ACCELERATION))


def test_late_differences_and_units_of_a_motor_are_filtered():
    """Velocities of the state before; velocities in units of 0.024 rad/s beside smooth positions."""
    before = [np.zeros(2)]

    def late() -> States:
        for q, v, dt in counted(14):
            before.append(v)
            yield q, before[-2], dt

    velocities, *_ = run(late())
    assert velocities.lag == pytest.approx(np.sqrt(2.0 * np.pi / 2**14 / 1.5), rel=0.03)
    v = np.diff(way(DT * np.arange(601)), axis=0) / DT + np.random.default_rng(0).normal(0.0, 0.01, (600, 2))
    velocities, *_ = run(zip(way(DT * np.arange(600)), np.round(v / 0.024) * 0.024, [DT] * 600, strict=True))
    assert velocities.lag == pytest.approx(np.sqrt(0.024 * DT / 1.5), rel=1e-6)


def smooth() -> States:
    q = way(DT * np.arange(601))
    yield from zip(q[1:], np.diff(q, axis=0) / DT, [DT] * 600, strict=True)


def noisy() -> States:
    """Positions of 17 bits beside measured velocities with noise."""
    rng, p = np.random.default_rng(0), 2.0 * np.pi / 2**17
    for q, v, dt in smooth():
        yield np.round(q / p) * p, v + rng.normal(0.0, 1e-3, 2), dt


def measured() -> States:
    """Exact velocities beside positions of 17 bits, slow and then fast: a count is small beside a change of speed."""
    t, p = 4.0 * DT * np.arange(601), 2.0 * np.pi / 2**17
    q = way(0.3 * t + 6.0 * np.maximum(t - 1.5, 0.0))
    yield from zip(np.round(q[1:] / p) * p, np.diff(q, axis=0) / (4.0 * DT), [4.0 * DT] * 600, strict=True)


def accelerated() -> States:
    """A constant acceleration, then a constant speed: the same change of speed over and over, then none."""
    q, v = np.zeros(2), np.zeros(2)
    for k in range(600):
        v = v + DT * np.array([20.0, -7.0]) * (k % 100 < 50)
        q = q + DT * v
        yield q, v, DT


def chattering() -> States:
    """A speed that reverses each tick, rests, and reverses again, by a size that grows; after a quiet beginning."""
    q = np.zeros(2)
    for k in range(600):
        v = (-1.0) ** k * np.full(2, 0.02 * 1.001**k) * (k % 8 < 4) * (k > 110)
        q = q + DT * v
        yield q, v, DT


def still() -> States:
    yield from ((np.ones(2), np.zeros(2), DT) for _ in range(600))


@pytest.mark.parametrize("states", [smooth, noisy, measured, accelerated, chattering, still])
def test_other_velocities_stay_as_they_are(states: Callable[[], States]):
    velocities, _, v, filtered = run(states())
    assert all(a is b for a, b in zip(v, filtered, strict=True))
    assert velocities.lag == 0.0
    assert velocities.sentence == velocities.fault == ""


def test_a_joint_of_which_nothing_is_known_is_filtered_with_the_others():
    """Its first counts come long after the other joint's."""
    velocities, p = VelocityFilter(2), 2.0 * np.pi / 2**12
    last = np.zeros(2)
    for k in range(400):
        q = np.array([way(k * DT)[0], 0.5 * p + (0.02 if k > 300 else 0.0)])
        q = np.round(q / p) * p
        v = (q - last) / DT if k else np.zeros(2)
        last, filtered = q, velocities.filtered(q, v, DT if k else 0.0)
        if k == 301:
            assert v[1] == pytest.approx(0.02 / DT, rel=0.1)
            assert filtered[1] == pytest.approx(v[1] * DT / (velocities.lag + DT), rel=1e-6)


def test_a_run_begins_with_nothing_known():
    velocities, *_ = run(counted(14))
    assert velocities.lag > 0.0
    velocities.reset()
    assert velocities.lag == 0.0
    v = np.ones(2)
    assert velocities.filtered(np.zeros(2), v, 0.0) is v


def test_the_machine_code_is_the_procedure():
    compiled, text = VelocityFilter(2), VelocityFilter(2)
    for k, (q, v, dt) in enumerate(counted(12, jitter=0.02)):
        m = text._memory
        m.q[:], m.v[:], m.numbers[0] = q, v, dt if k else 0.0
        filters.filter_velocities(m)
        np.testing.assert_array_equal(compiled.filtered(q, v, dt if k else 0.0), m.v)
    np.testing.assert_array_equal(compiled._memory.rows, m.rows)


# -- in a gate -----------------------------------------------------------------------------------------


def test_steps_that_no_filter_helps_brake_the_arm(ur5: RobotModel):
    gate, p, last = EffortGate(ur5, GateParameters(inertia_floor=0.02)), 2.0 * np.pi / 2**10, np.zeros(6)
    for k in range(600):
        q = np.round(np.resize(way(k * DT), 6) / p) * p
        gate.filtered(q, (q - last) / DT if k else 0.0 * q, DT if k else 0.0)
        last = q
    wanted = "a filter would need 64 ms, at most 50 ms are allowed"
    assert gate.reason == f"velocities come in steps of 6.1 rad/s: {wanted}"
    assert gate.state is GateState.BRAKING


def test_a_floor_that_steps_have_taken_back_starts_again(ur5: RobotModel):
    """Steps of one joint look like chatter until they are found."""
    gate, p, last = EffortGate(ur5, GateParameters(inertia_floor=0.02)), 2.0 * np.pi / 2**12, np.zeros(6)
    lost = False
    for k in range(900):
        q = np.round(np.resize(way(k * DT), 6) / p) * p
        v = gate.filtered(q, (q - last) / DT if k else 0.0 * q, DT if k else 0.0)
        last = q
        terms = ur5.evaluate(q, v)
        lost = lost or bool((gate.inertia < 1e-3).any())
        gate.tick(terms, DT)
    assert lost
    np.testing.assert_allclose(gate.inertia, gate._floor.proposed, rtol=1e-9)


def test_a_gate_without_a_floor_takes_velocities_as_they_are(ur5: RobotModel):
    gate = EffortGate(ur5, GateParameters())
    v = np.ones(6)
    assert gate.filtered(np.zeros(6), v, DT) is v
    assert gate.describe_velocities() == ""


def moved(model: RobotModel, plant: PlantProperties, n: int, dt: float = DT) -> tuple[ControlLoop, float, float]:
    """The loop behind n states of a motion to a target, and the errors of the hand there [m, deg]."""
    start = np.array([0.2, -1.3, 1.7, -1.9, -1.5, 0.1])
    arm = RealArm(model, start, timestep=dt, properties=plant)
    loop, goal = control_loop(model, observing(model, 1.0 / dt)), model.pose(start + [0.3, 0.2, -0.3, 0.2, 0.3, -0.2])
    loop.controller.add(Target(0, model.frames[0], goal))
    for _ in driven(loop, arm, n * dt):
        pass
    e = pose_error(model.pose(arm.arm.q), goal)
    return loop, float(np.linalg.norm(e[:3])), float(np.degrees(np.linalg.norm(e[3:])))


def test_an_arm_reaches_its_target_with_velocities_of_counts(ur5: RobotModel):
    """With friction, rotors, wrong masses, lag and delay of the motors; without the filter it is half a metre off."""
    plant = PlantProperties(set="real", encoder_resolution=2.0 * np.pi / 2**12, velocity_from="encoder")
    loop, metres, degrees = moved(ur5, plant, 2200)
    assert metres < 5e-3
    assert degrees < 1.0
    assert loop.gate.state is GateState.PASSING
    assert loop.gate.describe_velocities().startswith("velocities come in steps of ")
    assert loop.gate.velocity_lag > 0.0
    loop.tick(Measurement(0, np.zeros(6), np.zeros(6), 0.0, is_restart=True))
    assert loop.gate.velocity_lag == 0.0  # nothing is known of a new run, nor does the observer slow down in it


# -- noise ---------------------------------------------------------------------------------------------


def noise(sigma: float, n: int, seed: int = 0) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(seed)
    return [(way(k * DT), (way(k * DT) - way((k - 1) * DT)) / DT + rng.normal(0.0, sigma, 2)) for k in range(n)]


@pytest.mark.parametrize(("sigma", "lag"), [(3e-3, 0.0), (0.01, 5.6e-3), (0.02, 0.022), (0.2, 0.05)])
def test_noise_is_measured_twice_in_a_tenth_of_a_second_and_filtered(sigma: float, lag: float):
    """Once where it is small."""
    velocities = VelocityFilter(2)
    for k, (q, v) in enumerate(noise(sigma, 200)):
        assert velocities.filtered(q, v, DT if k else 0.0) is v
        assert velocities.doubts == (k >= 100 and lag > 0.0)
    for q, v in noise(sigma, 50, seed=1):
        velocities.filtered(q, v, DT)
    assert not velocities.doubts
    assert velocities.lag == pytest.approx(lag, rel=0.8)
    assert velocities.sentence.startswith("velocities have a noise of 0.") == (lag > 0.0)
    assert velocities.fault == ""


def test_steps_that_are_known_are_not_measured_as_noise():
    velocities, p = VelocityFilter(2), 2.0 * np.pi / 2**14
    q = np.round(np.outer(np.arange(1, 301), [0.3, 0.6]) * DT / p) * p
    for k in range(1, 300):
        velocities.filtered(q[k], (q[k] - q[k - 1]) / DT, DT if k > 1 else 0.0)
        assert velocities.step > 0.0 or k < 90
        assert not velocities.doubts
    assert (velocities._memory.rows[filters.NOISE] > filters.NOISY * filters.SECOND_DIFFERENCE).all()


def test_chatter_that_ends_with_the_smallest_floor_is_no_noise(ur5: RobotModel):
    """A speed that reverses in each tick, but not while noise is measured once more."""
    gate, rng = EffortGate(ur5, GateParameters(inertia_floor=0.02)), np.random.default_rng(0)
    second = np.minimum(GROWTH * gate.inertia, gate._floor.proposed)
    for k in range(300):
        is_quiet = gate.velocities.doubts
        assert is_quiet == (101 <= k < 201)
        v = rng.normal(0.0, 1e-3, 6) + (0.0 if is_quiet else 0.02 * (-1.0) ** k)
        terms = ur5.evaluate(np.zeros(6), gate.filtered(np.zeros(6), v, DT if k else 0.0))
        gate.offer_in_order(terms.g)
        gate.tick(terms, DT)
        assert not gate.velocities.doubts or np.allclose(gate.inertia, second)
    assert gate.velocity_lag == 0.0


def test_behind_that_noise_is_measured_while_the_arm_is_held():
    """A quiet arm whose noise begins later: what looks like noise in motion is none, in a hold it is."""
    velocities = VelocityFilter(2)
    for k, (q, v) in enumerate(noise(1e-4, 100)):
        velocities.filtered(q, v, DT if k else 0.0)
    for q, v in noise(0.01, 200):
        assert velocities.filtered(q, v, DT) is v
    for q, v in noise(0.01, 200):
        velocities.filtered(q, v, DT, is_held=True)
    assert velocities.lag == pytest.approx(5.6e-3, rel=0.8)


def test_an_arm_that_flails_in_a_brake_shows_no_noise(ur5: RobotModel):
    """Until the spring of the brake holds it."""
    gate, rng = EffortGate(ur5, GateParameters(inertia_floor=0.02)), np.random.default_rng(0)
    for k in range(1200):
        v = rng.normal(0.0, 1e-3 if k < 150 else 1.0 if k < 400 else 0.02, 6)
        terms = ur5.evaluate(np.zeros(6), gate.filtered(np.zeros(6), v, DT if k else 0.0))
        if k < 200:
            gate.offer_in_order(terms.g)
        elif k == 200:
            gate.brake("a test")
        assert gate.velocity_lag == 0.0 or k > 400
        gate.tick(terms, DT)
    assert gate.velocity_lag > 0.0


def test_a_noisy_arm_reaches_its_target(ur5: RobotModel):
    """Without the filter its wrist ends 38 degrees off."""
    _, metres, degrees = moved(ur5, PlantProperties(set="real", velocity_noise=0.01), 2000)
    assert metres < 1e-3
    assert degrees < 0.5


@pytest.mark.parametrize(("rate", "seed"), [(500, 0), (250, 0), (250, 1)])
def test_a_noisy_arm_without_rotors_reaches_its_target(ur5: RobotModel, rate: int, seed: int):
    """Chatter behind the filter was slower, and its changes smaller, than what the floor looked for: the arm flew."""
    plant = PlantProperties(velocity_noise=0.01, seed=seed)
    loop, metres, degrees = moved(ur5, plant, round(2.5 * rate), 1.0 / rate)
    assert loop.gate.state is GateState.PASSING
    assert metres < 1e-3
    assert degrees < 0.2
