"""The floor of joint inertia: it rises, and is taken back where a joint chatters."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.gate import EffortGate, GateParameters, GateState, inertia_floor
from arm_control.gate.inertia_floor import (
    BANDWIDTH,
    FIRST,
    GROWTH,
    LARGEST_SHARE,
    RESPITE,
    RETREAT,
    InertiaFloor,
    smallest_inertias,
)
from arm_control.model import ArmParameters, RobotModel, Terms

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
DT = 1e-3


def add(floor: InertiaFloor, terms: Terms) -> Terms:
    """A tick in which the weight is carried."""
    return floor.add_to(terms, terms.h, DT)


def at(model: RobotModel, v: np.ndarray):
    return model.evaluate(HOME, v)


def test_the_proposal_is_what_a_motor_can_accelerate(ur5: RobotModel):
    """T tau_max / v_max, less what the joint has anyway."""
    own = smallest_inertias(ur5)
    assert own[5] == pytest.approx(1.3e-4, rel=0.05)
    proposed = InertiaFloor(ur5, 0.02).proposed
    np.testing.assert_allclose(proposed, 0.02 * ur5.tau_max / ur5.v_max - own, rtol=1e-12)
    assert not InertiaFloor(ur5, 1e-6).proposed.any()  # no joint is lighter than that


@pytest.mark.parametrize(("lower", "upper"), [(-0.5, 1.0), (-1.0, 0.5), (0.0, 0.0)])
def test_the_smallest_inertia_is_that_of_the_most_bent_posture(lower: float, upper: float):
    """M_00 of two rods falls with the cosine of the angle between them; M_11 is constant."""
    joint = '<joint name="joint1" type="continuous">'
    before, behind = urdf_path("planar2").read_text().split(joint)
    if upper > lower:
        joint = joint.replace("continuous", "revolute")
        behind = behind.replace("<limit ", f'<limit lower="{lower}" upper="{upper}" ')
    model = RobotModel.from_urdf(before + joint + behind)
    least = np.diag(model.mass_matrix([0.3, max(upper, -lower) or np.pi]))
    own = smallest_inertias(model)
    assert least[0] <= own[0] <= 1.02 * least[0]
    assert own[1] == pytest.approx(least[1])


def test_it_rises_to_the_proposal_at_rest(ur5: RobotModel):
    floor, terms = InertiaFloor(ur5, 0.02), at(ur5, np.zeros(6))
    np.testing.assert_allclose(floor.inertia, FIRST * smallest_inertias(ur5), rtol=1e-12)
    M = add(floor, terms).M
    second = np.minimum(GROWTH * FIRST * smallest_inertias(ur5), floor.proposed)
    np.testing.assert_allclose(np.diag(M - terms.M), second, rtol=1e-6)
    for _ in range(400):
        add(floor, terms)
    np.testing.assert_allclose(floor.inertia, floor.proposed, rtol=1e-12)
    floor.restart()
    np.testing.assert_allclose(floor.inertia, FIRST * smallest_inertias(ur5), rtol=1e-12)


@pytest.mark.parametrize(("period", "size"), [(2, 0.05), (24, 1.0)])
def test_chatter_of_one_joint_takes_its_floor_back(ur5: RobotModel, period: int, size: float):
    floor, v = InertiaFloor(ur5, 0.02), np.zeros(6)
    for _ in range(400):
        add(floor, at(ur5, v))
    for k in range(4 * period + 4):
        if floor.inertia[5] < 0.5 * floor.proposed[5]:
            break
        v[5] = size * np.cos(2.0 * np.pi * k / period)  # changes of 0.025 rad/s and more, above 0.5 % of 3.14 rad/s
        add(floor, at(ur5, v))
    expected = floor.proposed.copy()
    expected[5] /= RETREAT
    v[5] = 0.0
    for _ in range(400):
        add(floor, at(ur5, v))
    np.testing.assert_allclose(floor.inertia, expected, rtol=1e-12)


@pytest.mark.parametrize("v_max", [3.14, 0.63])
def test_neither_motion_nor_noise_counts_as_chatter(ur5: RobotModel, v_max: float):
    slow = ArmParameters(velocity_limits=tuple(f"{name}:{v_max}" for name in ur5.joint_names))
    floor, rng = InertiaFloor(slow.model(urdf_path("ur5").read_text()), 0.02), np.random.default_rng(0)
    for k in range(3000):
        v = np.full(6, 0.5 * np.sin(0.02 * k)) + rng.normal(0.0, 3e-3, 6)
        add(floor, at(ur5, v))
    np.testing.assert_allclose(floor.inertia, floor.proposed, rtol=1e-12)


def test_the_check_of_the_kernel_meets_every_case():
    """Chatter, large changes, a floor below its ceiling, a torque at its bound, a ceiling that comes back, a sign that
    changes: each in some joints, not in all."""
    cases = []
    for k in range(len(inertia_floor._samples(6)["v"])):
        x = {name: rows[k] for name, rows in inertia_floor._samples(6).items()}
        f, c, s, _, e, _, t, d, sign, _ = inertia_floor._by_name(x)["state"].reshape(10, 6)
        returns, turns = (t == 0.0) & (s != RESPITE), sign == -x["state"][48:54]
        bound = np.abs(d) == x["bounds"][6:12]
        cases.append([s == RESPITE, e == x["v"] - x["state"][18:24], f < c, bound, returns, turns])
    met = np.array(cases).swapaxes(0, 1).reshape(6, -1)
    assert (met.any(axis=1) & ~met.all(axis=1)).all()


def test_a_gate_without_a_floor_lets_through_what_it_did(ur5: RobotModel):
    terms = at(ur5, np.zeros(6))
    gates = [EffortGate(ur5, GateParameters(inertia_floor=T, rate_limit=1e6)) for T in (0.0, 0.02)]
    assert not gates[0].inertia.any()
    assert gates[0].describe_floor() == ""
    floors = gates[1].describe_floor()
    assert floors.startswith("shoulder_pan_joint 0.783, ")
    assert floors.endswith(" kg m^2")
    assert [floor.split()[0] for floor in floors.split(", ")] == list(ur5.joint_names)
    push = terms.g + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])  # 1 N m at 1.3e-4 kg m^2: 7700 rad/s^2
    passed = []
    for gate in gates:
        for _ in range(400):
            gate.offer_in_order(terms.g)
            gate.tick(terms, 1e-3)
        gate.offer_in_order(push)
        passed.append(gate.tick(terms, 1e-3))
    assert passed[0].limited
    assert not passed[1].limited
    np.testing.assert_array_equal(passed[1].tau, push)
    gates[1].reset()
    np.testing.assert_allclose(gates[1].inertia, FIRST * smallest_inertias(ur5), rtol=1e-12)


def test_what_holds_a_joint_at_rest_counts_as_part_of_its_weight(ur5: RobotModel):
    """Equations (5) and (6): ``d = -(1 - exp(-K t)) (tau_0 - h)`` at rest, until its bound."""
    floor, terms = InertiaFloor(ur5, 0.02), at(ur5, np.zeros(6))
    push = np.array([0.0, 5.0, 0.0, 0.0, 0.0, -1.0])
    for _ in range(101):
        h = floor.add_to(terms, terms.h + push, DT).h
    np.testing.assert_allclose(h - terms.h, (1.0 - np.exp(-0.1 * BANDWIDTH)) * push, rtol=1e-9)
    for _ in range(1000):
        h = floor.add_to(terms, terms.h - 1e3, DT).h
    np.testing.assert_allclose(h - terms.h, -LARGEST_SHARE * ur5.tau_max, rtol=1e-9)
    floor.restart()
    np.testing.assert_array_equal(floor.add_to(terms, terms.h - 1e3, DT).h, terms.h)


def test_an_acceleration_is_nothing_that_holds_a_joint(ur5: RobotModel):
    floor, v = InertiaFloor(ur5, 1e-6), np.zeros(6)
    a = np.array([0.0, 1.0, 0.0, -2.0, 0.0, 3.0])
    for _ in range(100):
        terms = at(ur5, v)
        h = floor.add_to(terms, terms.M @ a + terms.h, DT).h
        np.testing.assert_allclose(h - terms.h, np.zeros(6), atol=0.01)
        v = v + DT * a


def test_a_light_joint_whose_floor_is_gone_may_push_against_friction(ur5: RobotModel):
    terms, passed = at(ur5, np.zeros(6)), []
    gate = EffortGate(ur5, GateParameters(inertia_floor=0.02, rate_limit=1e6))
    gate._floor._floor.c[:] = gate._floor.inertia  # chatter has taken it back
    push = terms.g + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])  # 5000 rad/s^2, if it were free
    for _ in range(1000):
        gate.offer_in_order(push)
        passed.append(gate.tick(terms, DT).tau[5] - terms.g[5])
    assert passed[0] < 0.1
    assert passed[-1] == pytest.approx(1.0)
    assert (np.diff(passed) >= 0.0).all()


# -- the equations, against another text ---------------------------------------------------------------


class Floor:
    """Equations (1) to (6) joint by joint, in numbers of Python."""

    def __init__(self, model: RobotModel, time: float) -> None:
        own = smallest_inertias(model).tolist()
        self.c = [max(time * tau / v - m, 0.0) for tau, v, m in zip(model.tau_max, model.v_max, own, strict=True)]
        self.f = [min(0.5 * m, c) for m, c in zip(own, self.c, strict=True)]
        self.dv_0 = [max(0.005 * v, min(0.012, 0.02 * v)) for v in model.v_max.tolist()]
        self.d_max = (0.3 * model.tau_max).tolist()
        self.F, self.first = list(self.c), list(self.f)
        self.s, self.e, self.d, self.w, self.t = ([0.0] * model.nv for _ in range(5))
        self.v: list[float] | None = None

    def expect(self, i: int, step: float) -> None:
        """Let a joint's floor start again, whose velocities come in steps from now on."""
        self.dv_0[i], self.f[i], self.c[i], self.s[i], self.w[i] = 3.0 * step, self.first[i], self.F[i], 0.0, 0.0

    def h(self, t: Terms, tau_0: np.ndarray, dt: float) -> np.ndarray:
        """Bias of the next state, equation (6)."""
        before, self.v = self.v, t.v.tolist()
        dv = [0.0 if before is None else v - b for v, b in zip(self.v, before or self.v, strict=True)]
        for i, x in enumerate(dv):
            is_large = abs(x) > self.dv_0[i]
            self.s[i] = 0.95 * self.s[i] + (is_large and abs(self.e[i]) > self.dv_0[i] and x * self.e[i] < 0.0)
            self.e[i] = x if is_large else self.e[i] / 2.0
            if self.s[i] > 2.0:
                self.c[i], self.s[i] = self.f[i] / 4.0, -4.0
                self.w[i], self.t[i] = max(2.0 * self.w[i], 1.0), 0.0
            elif self.t[i] > self.w[i]:
                self.c[i], self.t[i] = min(4.0 * self.c[i], self.F[i]), 0.0
            else:
                self.t[i] += dt if before is not None else 1e-9
            self.f[i] = min(1.03 * self.f[i], self.c[i])
        if before is not None:
            y = (t.M + np.diag(self.f)) @ dv / dt + t.h - tau_0
            for i, x in enumerate(self.d):
                d = x + (1.0 - np.exp(-20.0 * dt)) * (y[i] - x)
                self.d[i] = min(max(d, -self.d_max[i]), self.d_max[i])
        return t.h - self.d


@pytest.mark.parametrize("seed", range(2))
def test_any_sequence_of_velocities_has_the_floor_of_the_equations(ur5: RobotModel, seed: int):
    """Speed limits of all three kinds of dv_0, and steps of two joints; changes of speed on both sides of it."""
    rng = np.random.default_rng(seed)
    v_max = dict(zip(ur5.joint_names, (3.0, 1.0, 0.3, 3.0, 1.0, 0.3), strict=True))
    model = RobotModel.from_urdf(urdf_path("ur5"), velocity_limits=v_max)
    floor, other, v = InertiaFloor(model, 0.02), Floor(model, 0.02), np.zeros(6)
    n_reversals = n_returns = 0
    steps, begins = np.zeros(6), {31: 3, 500: 4}
    np.testing.assert_allclose(floor.inertia, other.f, rtol=1e-14)
    for k in range(1000):
        share = rng.choice([0.02, 0.51, 0.98, 1.02, 1.9, 2.1, 5.0], 6, p=[0.2, 0.2, 0.1, 0.2, 0.1, 0.1, 0.1])
        sign = rng.choice([-1.0, 1.0], 6) if k % 50 < 25 or k % 500 > 60 else (-1.0) ** k
        share = share if k % 500 < 60 else 0.1 * share  # quiet: ceilings come back
        v = v + share * sign * other.dv_0
        if k in begins:
            i = begins[k]
            assert other.s[i] if k < 60 else other.w[i]
            steps[i] = other.dv_0[i]
            floor.expect(steps.copy())
            other.expect(i, steps[i])
        t, dt = at(model, v), rng.choice([5e-4, 1e-3, 0.02])
        tau_0 = t.h + rng.choice([0.0, 1.0, 200.0]) * rng.uniform(-1.0, 1.0, 6)
        ceilings = list(other.c)
        found, wanted = floor.add_to(t, tau_0, dt), other.h(t, tau_0, dt)
        n_reversals += any(c < before for c, before in zip(other.c, ceilings, strict=True))
        n_returns += any(c > before for c, before in zip(other.c, ceilings, strict=True))
        np.testing.assert_allclose(found.M, t.M + np.diag(other.f), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(floor.inertia, other.f, rtol=1e-12)
        np.testing.assert_allclose(found.h, wanted, rtol=1e-9, atol=1e-9)
    assert n_reversals > 3
    assert n_returns > 3


# -- arms that shake -----------------------------------------------------------------------------------


def swing(ur5: RobotModel, hertz: float, torque: float, speed: float, seconds: float = 1.0) -> EffortGate:
    """A gate that passes a torque that swings about the weight at joint 3, while the joint swings, too."""
    gate = EffortGate(ur5, GateParameters(inertia_floor=0.02, rate_limit=1e6, joint_limits=False))
    for k in range(round(seconds / DT)):
        phase = 2.0 * np.pi * hertz * k * DT
        v = np.zeros(6)
        v[2] = speed * ur5.v_max[2] * np.cos(phase)
        terms = at(ur5, v)
        if gate.state is not GateState.BRAKING:
            gate.offer_in_order(terms.h + torque * ur5.tau_max[2] * np.sin(phase) * np.eye(6)[2])
        gate.tick(terms, DT)
    return gate


def test_an_arm_that_shakes_is_braked(ur5: RobotModel):
    reason = "the arm shakes: the torque of joint 'elbow_joint' changes its sign over and over at speed"
    assert swing(ur5, 12.0, 0.3, 0.3).reason == reason


@pytest.mark.parametrize(("hertz", "torque", "speed"), [(4.0, 0.5, 0.5), (12.0, 0.15, 0.3), (12.0, 0.3, 0.04)])
def test_slow_weak_or_small_swings_do_not_shake(ur5: RobotModel, hertz: float, torque: float, speed: float):
    assert swing(ur5, hertz, torque, speed, 2.0).state is GateState.PASSING
