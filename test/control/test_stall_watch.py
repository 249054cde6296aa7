"""A joint that is asked to move and does not is named, with what is too small for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from driven_arm import driven

from arm_control.control import FAULT, HandWrench, LawOutput, Measurement, StallWatch, TickResult, resolve_parameters
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.core import urdf_path
from arm_control.gate import GateOutput, GateState
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import ArmParameters, RobotModel, Terms
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, make_simulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
EVERY = 20


def watched(
    model: RobotModel,
    goal: Pose,
    plant: PlantProperties,
    seconds: float = 2.5,
    obstacles: Sequence[Obstacle] = (),
    **values: object,
) -> StallWatch:
    """Drive an arm to a goal, and watch it."""
    p = resolve_parameters(OscLoopParameters, values, model)
    loop, simulator = control_loop(model, p), make_simulator(model, HOME, plant)
    loop.controller.add(Target(0, model.frames[0], goal))
    watch = StallWatch(model, p.observer.observer_share if p.observer.disturbance_observer else 0.0)
    for k, result in enumerate(driven(loop, simulator, seconds, obstacles)):
        if k % EVERY == 0:
            watch.look(result)
    return watch


def tick(k: int, terms: Terms, tau: Array, gate: GateOutput) -> TickResult:
    """A tick of 20 ms of a law that misses its target by 0.1 m."""
    law = LawOutput(terms, tau, dict, terms.X_WE, lambda: {"position_error": 0.1})
    return TickResult(Measurement(k * 20_000_000, terms.q, terms.v, 0.02), law, None, tau, gate, None)


def turned(model: RobotModel, angle: float) -> Pose:
    """The pose of the hand after a turn of the last joint."""
    return model.pose(HOME + np.array([0.0, 0.0, 0.0, 0.0, 0.0, angle]))


OBSERVED = {"disturbance_observer": True, "inertia_floor": 0.02}


@pytest.mark.parametrize(
    ("friction", "effort_limits", "angle", "values", "reason"),
    [
        (0.5, (), 0.6, {}, r"0\.0\d* N m does not overcome what holds it: see disturbance_observer"),
        (2.0, ("wrist_3_joint:1.0",), 0.6, OBSERVED | {"observer_share": 1.0}, "at its effort limit of 1 N m"),
        (2.0, (), 0.2, OBSERVED | {"observer_share": 0.02},
         "what holds it is more than observer_share of its effort limit"),
    ],
)  # fmt: skip
def test_what_is_too_small_for_a_joint_that_sticks_is_named(
    friction: float, effort_limits: tuple[str, ...], angle: float, values: dict[str, object], reason: str
):
    model = ArmParameters(effort_limits=effort_limits).model(urdf_path("ur5").read_text())
    plant = PlantProperties(coulomb=(0.0, 0.0, 0.0, 0.0, 0.0, friction), rotor_inertia=(0.1,))
    sentence = watched(model, turned(model, angle), plant, **values).sentence
    assert re.fullmatch(rf"{FAULT}: wrist_3_joint \({reason}\)", sentence)


def test_what_avoidance_keeps_the_hand_from_is_named_before_friction(ur5: RobotModel):
    X, plant = ur5.pose(HOME), PlantProperties(coulomb=(0.1,) * 6)
    ahead, folded = Pose(X.R, X.p + [0.25, 0.0, 0.0]), ur5.pose(HOME + np.array([0.0, 0.0, 1.0, -1.0, 0.0, 0.0]))
    ball = Obstacle(Sphere(0.05), ahead)
    begin = f"{FAULT}: tool0 (avoidance holds it, "
    sentence = watched(ur5, ahead, plant, obstacles=[ball], avoid_obstacles=True).sentence
    assert re.fullmatch(re.escape(begin) + r"\d+ mm between wrist_3_link and obstacle 0: see threshold\)", sentence)
    sentence = watched(ur5, folded, plant, avoid_obstacles=True).sentence
    links = "shoulder_link and forearm_link: see self_threshold"
    assert re.fullmatch(re.escape(begin) + rf"\d+ mm between {links}\)", sentence)
    clear = Pose(X.R, X.p + [0.02, 0.0, 0.0])
    assert not watched(ur5, clear, PlantProperties(), 1.5, [ball], avoid_obstacles=True).last


def test_an_arm_that_moves_or_cannot_reach_is_left_alone(ur5: RobotModel):
    X = ur5.pose(HOME)
    assert watched(ur5, turned(ur5, 0.6), PlantProperties(set="real"), **OBSERVED).last == ""
    assert watched(ur5, Pose(X.R, X.p + [3.0, 0.0, 0.0]), PlantProperties(), 6.0).last == ""


def test_a_gate_that_brakes_ends_the_watch(ur5: RobotModel):
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), StallWatch(ur5, 0.0)
    tau = terms.h + np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    passing = GateOutput(tau, GateState.PASSING, "", False, False)
    for k in range(60):
        watch.look(tick(k, terms, tau, passing))
    assert watch.sentence
    watch.look(tick(61, terms, tau, passing._replace(state=GateState.BRAKING)))
    assert watch.sentence == ""
    assert watch.last
    for k in (62, 0):  # one look, and time that has started over
        watch.look(tick(k, terms, tau, passing))
        assert watch.sentence == ""


def test_a_known_disturbance_is_no_request(ur5: RobotModel):
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), StallWatch(ur5, 0.0)
    known = np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0])
    passing = GateOutput(terms.h - known, GateState.PASSING, "", False, False)
    for k in range(60):
        watch.look(tick(k, terms, terms.h - known, passing), known)
    assert watch.sentence == ""


@pytest.mark.parametrize("passed", [0.0, 0.05])
def test_a_gate_that_cuts_is_named_where_it_does_not_hold_the_arm_itself(ur5: RobotModel, passed: float):
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), StallWatch(ur5, 0.3)
    last = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    cutting = GateOutput(terms.h + passed * last, GateState.PASSING, "", False, False, True)
    for k in range(60):
        watch.look(tick(k, terms, terms.h + 0.5 * last, cutting))
    expected = f"{FAULT}: wrist_3_joint (the gate cuts its torque: see inertia_floor)" if passed else ""
    assert watch.sentence == expected


@pytest.mark.parametrize(
    ("way", "error", "is_measured", "share", "is_named"),
    [
        pytest.param(1e-3, 0.0, False, 1.0, True, id="held"),
        pytest.param(1e-3, 0.1, False, 1.0, True, id="held beside its target"),
        pytest.param(3e-3, 0.0, False, 1.0, False, id="moved"),
        pytest.param(1e-3, 0.0, True, 1.0, False, id="felt"),
        pytest.param(1e-3, 0.0, False, 0.9, False, id="rising"),
    ],
)
def test_a_hand_that_presses_and_never_moved_is_named_without_a_sensor(
    ur5: RobotModel, way: float, error: float, is_measured: bool, share: float, is_named: bool
):
    terms, F = ur5.evaluate(HOME, np.zeros(6)), np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    hand = HandWrench(np.sign(np.abs(F)), np.eye(3), share * F, F, is_measured)
    watch, gate = StallWatch(ur5, 0.3), GateOutput(terms.g, GateState.PASSING, "", False, False)
    for k in range(52):
        X = Pose(terms.X_WE.R, terms.X_WE.p - [0.0, 0.0, way if k == 20 else 0.0])
        state = tick(k, terms._replace(X_WE=X), terms.g, gate)
        watch.look(state._replace(law=state.law._replace(hand=hand, figures=lambda: {"position_error": error})))
        assert k > 49 or not watch.sentence
    expected = f"{FAULT}: tool0 (10 N do not overcome friction, or it touches already: see measured_wrench)"
    assert watch.sentence == watch.last == (expected if is_named else "")
