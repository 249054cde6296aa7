"""Law, avoidance and limits in one call give the bits of the separate calls, or leave a state to them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import BuiltinFunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.collision import NEAR, ROOM
from arm_control.control import (
    Avoidance,
    AvoidanceOutput,
    AvoidanceParameters,
    AvoidingStep,
    CompiledOsc,
    OscParameters,
    StepOutput,
)
from arm_control.gate import GateOutput, GateParameters, GateState, JointLimits, LimitFunction, compile_limits
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.model import RobotModel, Tool
from arm_control.motion import Reference

HOMES = {
    "ur5": (0.0, -1.4, 1.9, -2.07, -1.57, 0.0),
    "panda": (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8),
    "planar3": (0.5, 0.7, 0.9),
    "planar2": (0.5, 0.9),
}
STRETCHED = {"ur5": (0.0, -1.5, 0.0, 0.0, 0.0, 0.0), "panda": (0.0,) * 7, "planar3": (0.4, 0.0, 0.0)}
SHAPES = (Sphere(0.06), Capsule(0.05, 0.2), Box((0.1, 0.12, 0.14)), Cylinder(0.06, 0.2), Cone(0.08, 0.2))
NEARBY = np.array([0.3, 0.1, 0.4])
WIDE = AvoidanceParameters(threshold=0.2, takeover_distance=0.05)


class Apart(NamedTuple):
    """Law, avoidance and limits, called one after the other."""

    osc: CompiledOsc
    avoidance: Avoidance
    limit: LimitFunction

    def step(self, q: Array, v: Array, r: Reference, *more: Any) -> StepOutput:
        """As :meth:`AvoidingStep.step`."""
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
) -> tuple[AvoidingStep, Avoidance, Apart]:
    """A step, its avoidance, and the separate calls."""
    osc, avoidance = CompiledOsc(model, OscParameters(posture=tuple(home), **gains)), Avoidance(model, p)
    limits = limits_of(model)
    apart = Apart(osc, Avoidance(model, p), compile_limits(model, limits))
    return AvoidingStep(model, osc, avoidance, limits), avoidance, apart


def bits(item: object) -> list[object]:
    """Types, arrays and objects of a result; each avoidance has a reader of its own."""
    if isinstance(item, tuple):
        parts = item[:-1] if isinstance(item, AvoidanceOutput) else item
        return [type(item), *(x for part in parts for x in bits(part))]
    return [(item.shape, item.tobytes()) if isinstance(item, np.ndarray) else item]


def scene(n: int, rng: np.random.Generator, centre: Array, spread: float = 0.6) -> list[Obstacle]:
    """Obstacles of all shapes, all moving."""
    return [
        Obstacle(
            SHAPES[rng.integers(len(SHAPES))],
            Pose(rotation_from_vector(rng.normal(size=3)), centre + rng.uniform(-spread, spread, 3)),
            rng.uniform(-0.2, 0.2, 6),
        )
        for _ in range(n)
    ]


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


@pytest.mark.parametrize("name", HOMES)
def test_one_call_gives_the_bits_of_three(name: str):
    """In regular states and others, at limits and not, among obstacles, far from them and without."""
    model, rng, seen = RobotModel.from_urdf(urdf_path(name)), np.random.default_rng(0), []
    together, avoidance, apart = pair(model, HOMES[name])
    assert len(apart.osc.kernels) == 1 + (name in STRETCHED)
    assert isinstance(together.step, BuiltinFunctionType)
    for n, away in ((12, 0.0), (1, 0.0), (1, 0.2), (2, 3.0), (0, 0.0)):
        obstacles = scene(n, rng, model.pose(HOMES[name]).p + away, spread=0.3)
        avoidance.tick(model.evaluate(HOMES[name], np.zeros(model.nv)), obstacles)
        for _ in range(100):
            middle = STRETCHED.get(name, HOMES[name]) if rng.random() < 0.4 else HOMES[name]
            x = arguments(model, rng, np.array(middle), obstacles)
            found, wanted = together.step(*x), apart.step(*x)
            assert bits(found) == bits(wanted)
            share, is_near = found.avoidance.task_share, found.avoidance.distance < 1.0
            is_fading = bool(apart.osc._calls["tick"].run.record.is_fading[0])
            seen.append([*found.gate[3:6], is_near, 0.0 < share < 1.0, share == 0.0, is_fading])
    if model.nv > 3:
        assert np.any(seen, axis=0).all(), "every limit cuts at times, and every case of law and avoidance is there"
        assert not np.all(seen, axis=0).any()


def test_the_state_alone_says_which_law_answers(ur5: RobotModel):
    rng, obstacles = np.random.default_rng(1), scene(5, np.random.default_rng(2), NEARBY)
    step, avoidance, _ = pair(ur5, HOMES["ur5"])
    avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
    for name in (0, 1, 1, 0, 0, 1, 0):
        x = arguments(ur5, rng, np.array((HOMES, STRETCHED)[name]["ur5"]), obstacles)
        new, its_avoidance, _ = pair(ur5, HOMES["ur5"])
        its_avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
        assert bits(step.step(*x)) == bits(new.step(*x))


def test_other_obstacles_and_more_of_them_are_left_to_the_separate_calls(ur5: RobotModel):
    """Until avoidance has placed them, and has room for all pairs: then the same bits again."""
    rng = np.random.default_rng(5)
    together, avoidance, apart = pair(ur5, HOMES["ur5"])
    small = scene(10, rng, NEARBY)
    crowd = scene(ROOM + 20, rng, NEARBY)
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


def test_pairs_beyond_the_room_for_them_are_left_to_the_separate_calls(ur5: RobotModel):
    """The obstacles are those of the tick before; the arm comes near."""
    rng, home = np.random.default_rng(6), np.array(HOMES["ur5"])
    together, avoidance, apart = pair(ur5, home)
    obstacles = scene(100, rng, ur5.pose(home).p, spread=0.1)
    far = arguments(ur5, rng, home + [np.pi, 0.0, 0.0, 0.0, 0.0, 0.0], obstacles)
    near = arguments(ur5, rng, home, obstacles)
    avoidance.tick(ur5.evaluate(far[0], far[1]), obstacles)
    wanted = apart.step(*far)
    assert len(wanted.avoidance.pairs.rho) <= NEAR
    assert bits(together.step(*far)) == bits(wanted)
    wanted = apart.step(*near)
    assert len(wanted.avoidance.pairs.rho) > NEAR
    assert together.step(*near) is None
    avoidance.tick(wanted.law.state, obstacles)
    assert bits(together.step(*near)) == bits(wanted)


def test_a_torque_that_the_gate_refuses_is_left_to_it(ur5: RobotModel):
    rng, obstacles = np.random.default_rng(7), scene(5, np.random.default_rng(8), NEARBY)
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


def test_arguments_that_are_not_as_expected_are_left_to_the_separate_calls(ur5: RobotModel):
    """What can become an array or a number gives the bits of the separate calls."""
    rng, obstacles = np.random.default_rng(9), scene(5, np.random.default_rng(10), NEARBY)
    together, avoidance, apart = pair(ur5, HOMES["ur5"])
    x = arguments(ur5, rng, np.array(HOMES["ur5"]), obstacles)
    avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
    wanted = bits(together.step(*x[:7]))
    assert bits(together.step(*x[:7], None)) == bits(together.step(*x[:6], tuple(obstacles))) == wanted
    assert bits(together.step(*x[:7], np.zeros(6))) == wanted
    wrong = [x[0].tolist(), np.full(6, np.nan), None, 1, 0.001, np.float32(0.0), "abcdef", np.zeros(5), x]
    for place in range(8):
        for value in wrong:
            y = [*x[:place], value, *x[place + 1 :]]
            is_fine = (place in (4, 5) and isinstance(value, int | float | np.float32)) or (
                (place in (0, 1, 3, 7) and value is wrong[0]) or (place == 7 and value is None)
            )
            found = together.step(*y)
            assert (found is not None) == is_fine, (place, value)
            if is_fine:
                assert bits(found) == bits(apart.step(*y))
    with pytest.raises(TypeError):
        together.step(*x[:6])


def test_a_number_that_is_none_is_noticed_also_where_it_does_not_reach_the_torque(ur5: RobotModel):
    together, avoidance, _ = pair(ur5, HOMES["ur5"], tasks=("x y z",))
    avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), [])
    x = arguments(ur5, np.random.default_rng(15), np.array(HOMES["ur5"]), [])
    assert together.step(*x) is not None
    x[2] = replace(x[2], A_des=np.array([0.0, 0.0, 0.0, np.nan, 0.0, 0.0]))
    assert together.step(*x) is None


def test_gains_of_avoidance_and_a_tool_count_at_once(load_robot: Callable[..., RobotModel]):
    model, rng = load_robot("ur5"), np.random.default_rng(11)
    obstacles = scene(8, rng, NEARBY)
    together, avoidance, apart = pair(model, HOMES["ur5"])
    avoidance.tick(model.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
    x = arguments(model, rng, np.array(HOMES["ur5"]), obstacles)
    results = [bits(together.step(*x))]
    avoidance.parameters = apart.avoidance.parameters = WIDE.replace(eta=1e-2)
    results.append(bits(together.step(*x)))
    assert results[1] == bits(apart.step(*x)) != results[0]
    model.attach(Tool(mass=2.0, centre=(0.0, 0.0, 0.1)))
    results.append(bits(together.step(*x)))
    assert results[2] == bits(apart.step(*x)) != results[1]


def test_controllers_of_one_arm_do_not_disturb_each_other_in_any_thread(ur5: RobotModel):
    rng = np.random.default_rng(12)
    work: list[tuple[AvoidingStep, list[tuple[list[Any], list[object]]]]] = []
    for k in range(3):
        obstacles = scene(4 + 4 * k, rng, NEARBY)
        together, avoidance, apart = pair(ur5, HOMES["ur5"], WIDE.replace(eta=1e-3 * (k + 1)), kp_linear=50.0 * (k + 1))
        avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
        given = [arguments(ur5, rng, np.array(HOMES["ur5"]), obstacles) for _ in range(20)]
        work.append((together, [(x, bits(apart.step(*x))) for x in given]))

    def run(k: int) -> int:
        step, cases = work[k % 3]
        return sum(bits(step.step(*x)) == wanted for _ in range(30) for x, wanted in cases)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:  # two threads for each controller
            assert list(pool.map(run, range(6))) == [600] * 6
    finally:
        sys.setswitchinterval(interval)


def test_results_hold_no_reference_too_many_and_outlive_their_step(ur5: RobotModel):
    rng = np.random.default_rng(13)
    obstacles = scene(5, rng, NEARBY)
    together, avoidance, apart = pair(ur5, HOMES["ur5"], WIDE.replace(eta=1e-3))
    x = arguments(ur5, rng, np.array(HOMES["ur5"]), obstacles)
    held = avoidance.tick(ur5.evaluate(HOMES["ur5"], np.zeros(6)), obstacles)
    objects = [*x[:4], x[2].X_WT, obstacles, held.obstacles, held.parameters, held.reader, *obstacles]
    step = together.step
    before = list(map(sys.getrefcount, objects))
    for _ in range(100):
        step(*x)
    assert list(map(sys.getrefcount, objects)) == before
    step, wanted = together.step, bits(together.step(*x))
    del together, avoidance, apart, held
    assert bits(step(*x)) == wanted, "the function keeps all memory that it works on"


def test_without_machine_code_there_is_no_step(load_robot: Callable[..., RobotModel]):
    model = load_robot("ur5", backend="python")
    together, _, _ = pair(model, HOMES["ur5"])
    x = arguments(model, np.random.default_rng(14), np.array(HOMES["ur5"]), [])
    assert together.step(*x) is None
