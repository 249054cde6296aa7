"""Law, avoidance and limits in one call give the bits of the separate calls, or leave a state to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from long_arm import long_arm
from moving_obstacles import NEARBY, moving_obstacles

from arm_control.collision import NEAR, ROOM
from arm_control.constraints import ConstraintSet, HalfSpaceConstraint, SpeedConstraint
from arm_control.control import Avoidance, AvoidanceOutput, AvoidanceParameters, CompiledOsc, OscParameters, StepOutput
from arm_control.gate import (
    LARGEST_SHARE,
    GateOutput,
    GateParameters,
    GateState,
    JointLimits,
    LimitFunction,
    compile_limits,
)
from arm_control.maths import Array, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.model import RobotModel, Tool
from arm_control.motion import Reference

HOMES = {
    "ur5": (0.0, -1.4, 1.9, -2.07, -1.57, 0.0),
    "planar2": (0.5, 0.9),
}
WIDE = AvoidanceParameters(threshold=0.2, takeover_distance=0.05)


class Apart(NamedTuple):
    """Law, avoidance and limits, called one after the other."""

    osc: CompiledOsc
    avoidance: Avoidance
    limit: LimitFunction

    def step(self, q: Array, v: Array, r: Reference, *more: Any) -> StepOutput:
        """As :meth:`CompiledOsc.step`."""
        tau_0, dt, is_on, obstacles, *tau_dist = more
        law = self.osc.tick(q, v, r, *tau_dist)
        avoided = self.avoidance.tick(law.state, obstacles, law.tau)
        tau, limited, saturated, rate_limited = self.limit(law.state, avoided.tau_total, tau_0, dt, is_on)
        cuts = saturated > 0.0, rate_limited > 0.0, limited > 0.0
        return StepOutput(law, GateOutput(tau, GateState.PASSING, "", *cuts), avoided)


def limits_of(model: RobotModel) -> JointLimits:
    p = GateParameters()
    return JointLimits(model, p, p.rate_limit)


def pair(
    model: RobotModel, home: Sequence[float], p: AvoidanceParameters = WIDE, **gains: Any
) -> tuple[CompiledOsc, Avoidance, Apart]:
    """A step, its avoidance, and the separate calls."""
    law, avoidance, limits = OscParameters(posture=tuple(home), **gains), Avoidance(model, p), limits_of(model)
    apart = Apart(CompiledOsc(model, law), Avoidance(model, p), compile_limits(model, limits))
    return CompiledOsc(model, law, limits=limits, between=avoidance), avoidance, apart


def bits(item: object) -> list[object]:
    """Types, arrays and objects of a result; each avoidance has a search of its own."""
    if isinstance(item, tuple):
        parts = item[:-1] if isinstance(item, AvoidanceOutput) else item
        return [type(item), *(x for part in parts for x in bits(part))]
    return [(item.shape, item.tobytes()) if isinstance(item, np.ndarray) else item]


def arguments(model: RobotModel, rng: np.random.Generator, middle: Array, obstacles: Sequence[Obstacle]) -> list[Any]:
    """Those of one step, near a state or far from it."""
    n = model.nv
    q = middle + rng.choice([0.02, 0.5]) * rng.uniform(-1.0, 1.0, n)
    v = rng.choice([0.3, 3.0]) * rng.uniform(-1.0, 1.0, n)
    X, A_des = model.pose(q), rng.choice([0.5, 50.0]) * rng.uniform(-1.0, 1.0, 6)
    X_WT = Pose(rotation_from_vector(rng.uniform(-0.5, 0.5, 3)) @ X.R, X.p + rng.uniform(-0.2, 0.2, 3))
    tau_0 = model.gravity(q) + rng.choice([0.1, 30.0]) * rng.uniform(-1.0, 1.0, n)
    limits = tau_0, float(rng.choice([1e-3, 0.0, 1e-2])), float(rng.random() < 0.8)
    tau_dist = rng.uniform(-1.0, 1.0, n) if rng.random() < 0.5 else None
    return [q, v, Reference(X_WT, rng.uniform(-0.3, 0.3, 6), A_des), *limits, obstacles, tau_dist]


@pytest.mark.parametrize("n", [6, 9])
def test_with_the_limits_alone_it_gives_the_bits_of_the_separate_calls(n: int):
    """Near limits of position, of speed, and of torque, of which weight takes its share."""
    model, middle = long_arm(n, 60.0), np.full(n, 1.6)
    limits, rng = limits_of(model), np.random.default_rng(3)
    p = OscParameters(posture=tuple(middle))
    together, law, limit = CompiledOsc(model, p, limits=limits), CompiledOsc(model, p), compile_limits(model, limits)
    n_limited = 0
    for _ in range(100):
        q, v, r, *asked, obstacles, tau_dist = arguments(model, rng, middle, ())
        output = law.tick(q, v, r, tau_dist)
        tau, limited, saturated, rate_limited = limit(output.state, output.tau, *asked)
        cuts = saturated > 0.0, rate_limited > 0.0, limited > 0.0
        wanted = StepOutput(output, GateOutput(tau, GateState.PASSING, "", *cuts))
        assert bits(together.step(q, v, r, *asked, obstacles, tau_dist)) == bits(wanted)
        n_limited += limited > 0.0
    assert 20 < n_limited < 95


def test_with_constraints_it_gives_the_bits_of_the_separate_calls_and_leaves_to_them_what_is_outside(
    load_robot: Callable[..., RobotModel],
):
    model, middle, rng = load_robot("ur5"), np.array(HOMES["ur5"]), np.random.default_rng(11)
    model.attach(Tool(mass=2.0, X_ET=Pose(np.eye(3), np.array([0.1, 0.0, 0.2]))))
    limits, p, X = limits_of(model), OscParameters(posture=HOMES["ur5"]), model.pose(middle)
    asked = [HalfSpaceConstraint("wall", tuple(X.p - 0.1), (1.0, 0.0, 0.0)), SpeedConstraint("slow", 0.3)]
    rows, own = (ConstraintSet(model, asked, limits.numbers, limits.is_unlimited) for _ in range(2))
    together, law = CompiledOsc(model, p, limits=limits, between=own), CompiledOsc(model, p)
    limit, n_outside, n_limited = compile_limits(model, limits), 0, 0
    for _ in range(200):
        q, v, r, tau_0, dt, is_on, _, tau_dist = arguments(model, rng, middle, ())
        output = law.tick(q, 0.1 * v, r, tau_dist)
        kept = rows.limit(output.state, output.tau, tau_0, dt)
        tau, limited, saturated, rate_limited = limit(output.state, kept, tau_0, dt, is_on)
        cuts = saturated > 0.0, rate_limited > 0.0, limited > 0.0
        wanted = StepOutput(output, GateOutput(tau, GateState.PASSING, "", *cuts))
        found = together.step(q, 0.1 * v, r, tau_0, dt, is_on, (), tau_dist)
        assert (found is None) == (rows.outside is not None)
        assert found is None or bits(found) == bits(wanted)
        n_outside += found is None
        n_limited += any(cuts)
    assert 20 < n_outside < 180
    assert 20 < n_limited < 180


def test_other_obstacles_and_more_of_them_are_left_to_the_separate_calls(ur5: RobotModel):
    """Until avoidance has placed them, and has room for all pairs: then the same bits again."""
    rng = np.random.default_rng(5)
    together, avoidance, apart = pair(ur5, HOMES["ur5"])
    small = moving_obstacles(10, rng)
    crowd = moving_obstacles(ROOM + 20, rng)
    moved = [replace(small[0], X_WO=Pose(np.eye(3), NEARBY)), *small[1:]]
    n_near = 0
    for obstacles in (small, moved, small[:5], crowd, [], crowd[:500], small):
        x = arguments(ur5, rng, np.array(HOMES["ur5"]), obstacles)
        assert together.step(*x) is None
        wanted = apart.step(*x)
        avoidance.tick(wanted.law.state, obstacles, wanted.law.tau)
        assert bits(together.step(*x)) == bits(wanted)
        x[6] = iter(obstacles)
        assert together.step(*x) is None
        n_near = max(n_near, len(wanted.avoidance.pairs.rho))
    assert n_near > NEAR


def test_more_near_pairs_than_there_is_room_for_are_left_to_the_separate_calls(ur5: RobotModel):
    rng = np.random.default_rng(5)
    together, avoidance, apart = pair(ur5, HOMES["ur5"])
    crowd = moving_obstacles(110, rng)
    x = arguments(ur5, rng, np.array(HOMES["ur5"]), crowd)
    away = avoidance.tick(ur5.evaluate(x[0] + np.pi * np.eye(6)[0], np.zeros(6)), crowd)
    assert together.step(*x) is None
    wanted = apart.step(*x)
    assert len(away.pairs.rho) <= NEAR < len(wanted.avoidance.pairs.rho)
    avoidance.tick(wanted.law.state, crowd, wanted.law.tau)
    for _ in range(10):  # avoidance has seen another state
        assert bits(together.step(*x)) == bits(apart.step(*x))
        x = arguments(ur5, rng, np.array(HOMES["ur5"]), crowd)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("is_constrained", [True, False])
def test_what_is_not_finite_is_left_to_the_separate_calls(ur5: RobotModel, bad: float, *, is_constrained: bool):
    """An angular acceleration, too, which the law of a position does not count."""
    limits, p = limits_of(ur5), OscParameters(posture=HOMES["ur5"], tasks=("x y z",))
    rows = ConstraintSet(ur5, [SpeedConstraint("s", 9.0)], limits.numbers, limits.is_unlimited)
    step = CompiledOsc(ur5, p, limits=limits, between=rows if is_constrained else None).step
    x = arguments(ur5, np.random.default_rng(0), np.array(HOMES["ur5"]), ())
    turning = Reference(x[2].X_WT, x[2].V_des, np.array([0.0, 0.0, 0.0, 0.0, 0.0, bad]))
    many = np.full(6, bad)
    for i, value in ((0, many), (1, many), (2, turning), (3, many), (4, bad), (5, bad), (7, many)):
        assert step(*x) is not None
        assert step(*x[:i], value, *x[i + 1 :]) is None


def test_a_torque_that_the_gate_refuses_is_left_to_it(ur5: RobotModel):
    rng, obstacles = np.random.default_rng(7), moving_obstacles(5, np.random.default_rng(8))
    together, avoidance, apart = pair(ur5, HOMES["ur5"])
    x = arguments(ur5, rng, np.array(HOMES["ur5"]), obstacles)
    avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
    assert together.step(*x) is not None
    for speed in (1e4, 1e200):  # the torque of the last one is no number
        x[1] = np.full(6, speed)
        assert together.step(*x) is None
    with np.errstate(all="ignore"):
        tau = apart.step(*x).avoidance.tau_total
    assert not np.isfinite(tau).all()


def test_the_gate_believes_the_torque_before_and_behind_what_is_between(ur5: RobotModel):
    q, limits, largest = np.array(HOMES["ur5"]), limits_of(ur5), LARGEST_SHARE * ur5.tau_max
    r, rest, ball = Reference(ur5.pose(q)), (ur5.gravity(q), 1e-3, 1.0), [Obstacle(Sphere(0.06), ur5.pose(q))]
    together, avoidance, apart = pair(ur5, HOMES["ur5"], WIDE.replace(takeover_damping=200.0))
    avoidance.tick(ur5.evaluate(q, 0.0 * q), ball)
    v = np.array([-7.0, -878.0, 446.0, 740.0, 626.0, -435.0])
    wanted = apart.step(q, v, r, *rest, ball)
    assert (np.abs(wanted.law.tau) < largest).all()
    assert (np.abs(wanted.avoidance.tau_total) > largest).any()
    assert together.step(q, v, r, *rest, ball) is None
    rows = ConstraintSet(ur5, [SpeedConstraint("s", 0.1)], limits.numbers, limits.is_unlimited)
    within = CompiledOsc(ur5, OscParameters(posture=HOMES["ur5"]), limits=limits, between=rows)
    assert within.step(q, 0.0 * q, r, *rest) is not None
    tau_dist = np.full(6, 1e6)
    law = within.tick(q, 0.0 * q, r, tau_dist)
    assert (np.abs(law.tau) > largest).any()
    assert (np.abs(rows.limit(law.state, law.tau, rest[0], 1e-3)) < largest).all()
    assert within.step(q, 0.0 * q, r, *rest, (), tau_dist) is None


def test_results_hold_no_reference_too_many_and_outlive_their_step(ur5: RobotModel):
    rng = np.random.default_rng(13)
    obstacles = moving_obstacles(5, rng)
    together, avoidance, apart = pair(ur5, HOMES["ur5"], WIDE.replace(eta=1e-3))
    x = arguments(ur5, rng, np.array(HOMES["ur5"]), obstacles)
    held = avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
    objects = [*x[:4], x[2].X_WT, obstacles, held.obstacles, held.parameters, held.proximity, *obstacles]
    step = together.step
    before = list(map(sys.getrefcount, objects))
    for _ in range(100):
        step(*x)
    assert list(map(sys.getrefcount, objects)) == before
    step, wanted = together.step, bits(together.step(*x))
    del together, avoidance, apart, held
    assert bits(step(*x)) == wanted, "the function keeps all memory that it works on"
