"""The control loop: what each of its parts does to the torque."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_control.control import (
    Avoidance,
    AvoidanceParameters,
    ControlLoop,
    LawOutput,
    Measurement,
    OscParameters,
    OscTuning,
    TickResult,
    step_limits,
)
from arm_control.control.loop import KnownDisturbance
from arm_control.controllers import OscController, OscLoopParameters, control_loop
from arm_control.gate import GateParameters, GateState, JointLimits
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import RobotModel
from arm_control.motion import Goal, JointGoal, Target

Q = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
PERIOD = 1_000_000


class HoldingLaw:
    """Carries the weight; records how it is called."""

    limits = avoidance = None
    has_contact = False

    def __init__(self, model: RobotModel) -> None:
        self.model, self.fault = model, ""
        self.extra: Array = np.zeros(model.nv)
        self.restarts: list[Array] = []
        self.holds: list[int] = []
        self.disturbances: list[Array | None] = []
        self.is_holding = False

    def add(self, goal: Goal) -> None:
        raise NotImplementedError

    def restart(self, q: Array) -> None:
        self.restarts.append(q)

    def hold(self, stamp_ns: int, q: Array) -> None:
        self.holds.append(stamp_ns)

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        self.disturbances.append(tau_dist)
        t = self.model.evaluate(measurement.q, measurement.v)
        return LawOutput(t, t.g + self.extra, lambda: {"task": self.extra, "bias": t.g}, t.X_WE, dict, self.fault)


def state(k: int, dt: float = 1e-3, v: float = 0.0) -> Measurement:
    return Measurement(k * PERIOD, Q, np.full(6, v), 0.0 if k == 0 else dt, is_restart=k == 0)


def test_a_restart_resets_gate_law_gap_and_disturbance(ur5: RobotModel):
    law = HoldingLaw(ur5)
    loop = ControlLoop(ur5, law, GateParameters())
    for k in range(3):
        loop.tick(state(k))
    loop.disturbance.set(2 * PERIOD, np.ones(6))
    loop.gate.brake("a test")
    assert loop.tick(state(3)).gate.state is GateState.BRAKING
    assert law.holds == [3 * PERIOD]
    np.testing.assert_array_equal(law.disturbances[-1], np.ones(6))
    assert loop.tick(state(0)).gate.state is GateState.BRAKING, "no message releases a brake"
    loop.gate.enable()
    result = loop.tick(state(1))
    assert result.gate.state is GateState.PASSING
    assert law.holds == [3 * PERIOD, 0]
    assert law.disturbances[-1] is None
    assert [q.tolist() for q in law.restarts] == [Q.tolist()] * 2
    assert not loop.tick(state(4, dt=0.004)).gate.reason, "the period is unknown after a restart"


@pytest.mark.parametrize("starts", [(0, 10**16), (7, 10**16, 10**15)])
def test_goals_begin_with_the_first_state_and_again_where_time_starts_over(ur5: RobotModel, starts: tuple[int, ...]):
    loop = osc_loop(ur5, None)
    X = ur5.pose(Q)
    there = [Pose(X.R, X.p + [0.0, 0.01 * k, 0.0]) for k in (1, 2, 3)]
    loop.goals = [Target(2 * k * PERIOD, "base_link", one, is_immediate=k == 0) for k, one in enumerate(there)]
    for start in starts:
        for k in range(9):
            measurement = state(k)._replace(stamp_ns=start + k * PERIOD)
            X_WT = loop.tick(measurement).law.X_WT
            np.testing.assert_array_equal(X_WT.p, there[min(k // 2, 2)].p)


def test_a_state_with_a_fault_brakes_and_keeps_the_last_torque(ur5: RobotModel):
    """Also where the fault is that time has started over."""
    for is_restart in (False, True):
        law = HoldingLaw(ur5)
        loop = ControlLoop(ur5, law, GateParameters())
        law.extra = np.full(6, 3.0)
        for k in range(10):
            before = loop.tick(state(k)).gate.tau
        result = loop.tick(state(10)._replace(is_restart=is_restart, fault="a test"))
        assert result.gate.reason == "a test"
        assert np.abs(result.gate.tau - before).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("n_before", [0, 3])
def test_the_first_state_of_a_run_stands_for_a_millisecond(ur5: RobotModel, n_before: int):
    """From the weight, the torque changes by rate_limit times 1 ms, and in the next tick by a quarter more at most."""
    law = HoldingLaw(ur5)
    loop = ControlLoop(ur5, law, GateParameters(rate_limit=1000.0, joint_limits=False))
    for k in range(n_before):
        loop.tick(state(k))
    law.extra = 100.0 * np.eye(6)[0]
    steps = [loop.tick(measurement).gate.tau - ur5.gravity(Q) for measurement in (state(0), state(1, dt=0.01))]
    np.testing.assert_allclose(steps, np.outer([1.0, 1.0 + 1.25], np.eye(6)[0]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("waits", [False, True])
def test_a_gap_brakes_unless_states_wait_for_commands(ur5: RobotModel, waits: bool):
    loop = ControlLoop(ur5, HoldingLaw(ur5), GateParameters(max_missed=20), waits_for_commands=waits)
    for k in range(3):
        loop.tick(state(k))
    assert loop.tick(state(23, dt=0.02)).gate.is_passing
    assert loop.gaps.skipped == 19
    result = loop.tick(state(45, dt=0.021))
    assert result.gate.reason == ("" if waits else "no state for 21 ms")
    assert (result.refused is None) == waits, "a braked gate refuses the torque of the law"


def test_a_fault_of_the_law_brakes_before_its_torque_passes(ur5: RobotModel):
    law = HoldingLaw(ur5)
    loop = ControlLoop(ur5, law, GateParameters(rate_limit=1e9))
    loop.tick(state(0))
    law.fault, law.extra = "the planner has died", np.full(6, 5.0)
    result = loop.tick(state(1))
    assert result.gate.reason == "the planner has died"
    np.testing.assert_allclose(result.gate.tau, ur5.gravity(Q), rtol=0, atol=1e-9)


def test_torque_that_is_no_number_is_refused_with_a_reason(ur5: RobotModel):
    law = HoldingLaw(ur5)
    loop = ControlLoop(ur5, law, GateParameters())
    loop.tick(state(0))
    law.extra = np.full(6, np.nan)
    result = loop.tick(state(1))
    assert "finite" in str(result.refused)
    assert np.isfinite(result.gate.tau).all()


def test_a_disturbance_ends_when_nobody_repeats_it():
    disturbance = KnownDisturbance(timeout=0.1)
    assert disturbance.at(0) is None
    disturbance.set(5, np.ones(2))
    np.testing.assert_array_equal(disturbance.at(5 + 100_000_000), np.ones(2))
    assert disturbance.at(6 + 100_000_000) is None


def test_the_terms_add_up_with_avoidance_also_where_it_takes_over(ur5: RobotModel):
    law = HoldingLaw(ur5)
    law.extra = np.arange(6.0)
    loop = ControlLoop(ur5, law, GateParameters(), Avoidance(ur5, AvoidanceParameters()))
    X_WE = ur5.pose(Q)
    for k, distance in enumerate((0.2, 0.1, 0.0)):
        ball = Obstacle(Sphere(0.05), Pose(np.eye(3), X_WE.p + [0.0, 0.05 + distance, 0.0]))
        result = loop.tick(state(k, v=0.2), [ball])
        assert result.avoidance is not None
        np.testing.assert_array_equal(result.tau, result.avoidance.tau_total)
        np.testing.assert_allclose(sum(result.torque_terms.values()), result.tau, rtol=0, atol=1e-9)
    assert result.avoidance.takeover


def test_the_posture_nobody_gives_is_that_of_the_first_restart(ur5: RobotModel):
    controller = OscController(ur5, OscTuning())
    controller.restart(Q)
    held = controller.tick(state(0), None).split()
    controller.restart(Q + 0.1)
    controller.configure(OscTuning())
    np.testing.assert_allclose(controller.tick(state(1), None).split()["posture"], held["posture"])


def test_a_controller_refuses_goals_of_the_other_sort(ur5: RobotModel):
    with pytest.raises(Exception, match="follows poses, not joints"):
        OscController(ur5, OscTuning()).add(JointGoal(0, Q))


LIMITS = GateParameters(rate_limit=300.0, max_missed=3)
WIDE = AvoidanceParameters(threshold=0.2, takeover_distance=0.05)


def osc_loop(
    model: RobotModel,
    limits: GateParameters | None,
    avoidance: Avoidance | None = None,
    gate: GateParameters = LIMITS,
    *,
    is_between: bool = True,
) -> ControlLoop:
    tuning = OscTuning(law=OscParameters(posture=tuple(Q)))
    own = None if limits is None else JointLimits(model, limits, limits.rate_limit)
    controller = OscController(model, tuning, None, own, avoidance if is_between else None)
    return ControlLoop(model, controller, gate, avoidance)


def bits(result: TickResult) -> list[object]:
    """All that a tick has decided."""
    law, gate, avoidance = result.law, result.gate, result.avoidance
    arrays = [law.tau, law.terms.M, law.X_WT.R, *law.split().values(), *law.figures().values(), result.tau, gate.tau]
    arrays += [] if avoidance is None else [*avoidance[:5], *avoidance.pairs[1:]]
    arrays += result.torque_terms.values()
    return [str(result.refused), law.fault, *gate[1:], *(np.asarray(x).tobytes() for x in arrays)]


def balls(rng: np.random.Generator, n: int, away: float) -> list[Obstacle]:
    """So many around the end effector at Q, or so far in front of it."""
    p = np.array([0.4 + away, 0.1, 0.4])
    return [Obstacle(Sphere(0.04), Pose(np.eye(3), p + rng.uniform(-0.3, 0.3, 3))) for _ in range(n)]


KEPT = """
constraints:
  - {name: wall, kind: half_space, point: [0, 0.15, 0], normal: [0, -1, 0]}
  - {name: low, kind: half_space, point: [0, 0, 0.43], normal: [0, 0, -1]}
  - {name: slow, kind: speed, limit: 0.3}
  - {name: balls, kind: clearance, distance: 0.01}
"""


@pytest.mark.parametrize("between", ["avoidance", "constraints"])
def test_one_call_decides_what_the_separate_calls_decide(between: str, ur5: RobotModel, tmp_path: Path):
    """In regular states, singular ones, at limits; after brakes, gaps, faults and restarts; under a disturbance.

    Obstacles are none, few and many, and change at times. A gate that is enabled holds the arm until a goal acts.
    """
    gate = LIMITS
    if between == "constraints":
        (tmp_path / "kept.yaml").write_text(KEPT)
        gate = LIMITS.replace(constraints=str(tmp_path / "kept.yaml"))
    avoidance = [Avoidance(ur5, WIDE) if gate is LIMITS else None for _ in range(2)]
    together, apart = (osc_loop(ur5, x, y, gate) for x, y in zip((LIMITS, None), avoidance, strict=True))
    rng, middle, obstacles, away = np.random.default_rng(0), Q.copy(), [], 0.0 if gate is LIMITS else 0.55
    target = Target(0, "base_link", ur5.pose(Q + 0.3))
    faults, gaps, absurd = {150}, {250, 350}, {300, 320}
    n_together = 0
    for k in range(500):
        middle = rng.choice([0.0, 1.0]) * Q if k % 50 == 0 else middle
        q, v = middle + rng.uniform(-0.05, 0.05, 6), rng.choice([0.1, 3.0]) * rng.uniform(-1.0, 1.0, 6)
        v = 1e6 * v if k in absurd else v
        dt = 1e-2 if k in gaps else float(rng.choice([1e-3, 1e-3, 1e-3, 0.0, 2e-3]))
        measurement = Measurement(k * PERIOD, q, v, dt, k % 400 == 0, "a fault" if k in faults else "")
        obstacles = balls(rng, int(rng.choice([0, 3, 60])), away) if k % 25 == 0 else [*obstacles]
        results = []
        for loop in (together, apart):
            if k == 10:
                loop.controller.add(target)
            if k % 100 == 30:
                loop.disturbance.set(k * PERIOD, np.full(6, 2.0))
            if k % 20 == 0:
                loop.gate.enable()
            if k % 20 == 3 and k > 100:
                loop.controller.add(replace(target, stamp_ns=k * PERIOD))
            results.append(loop.tick(measurement, obstacles))
        assert bits(results[0]) == bits(results[1]), k
        assert together.gate.period == apart.gate.period
        n_together += results[0].law.passed is not None
        assert results[1].law.passed is None
    assert 200 < n_together < 460, "both ways"


@pytest.mark.parametrize("values", [{"impedance": True}, {"force_axes": ("z",)}, {"inertia_floor": 0.05}])
def test_contact_and_a_floor_come_between_law_and_gate(values: dict[str, Any], ur5: RobotModel):
    parameters = OscLoopParameters.from_mapping(values)
    assert step_limits(ur5, parameters.gate, parameters) is None


@pytest.mark.parametrize(
    ("values", "is_together"),
    [
        ({}, True),
        ({"avoid_obstacles": True}, True),
        ({"disturbance_observer": True}, False),
        ({"adaptive_torque": True, "avoid_obstacles": True}, False),
        ({"constraints": "ur5_cell"}, True),
        ({"constraints": "ur5_cell", "avoid_obstacles": True}, False),
    ],
)
def test_law_avoidance_and_gate_are_one_call_where_nothing_else_comes_between(
    values: dict[str, Any], is_together: bool, ur5: RobotModel
):
    parameters = OscLoopParameters.from_mapping(values)
    assert (step_limits(ur5, parameters.gate, parameters) is not None) == is_together
    loop = control_loop(ur5, parameters)
    passed = [loop.tick(state(k)).law.passed is not None for k in range(3)]
    assert passed == [False, is_together, is_together]
