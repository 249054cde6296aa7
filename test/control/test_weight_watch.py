"""An arm that weighs far more than its model is stopped before it has moved far."""

from __future__ import annotations

import numpy as np
import pytest
from driven_arm import driven, observing

from arm_control.control import WeightWatch
from arm_control.controllers import JointLoopParameters, control_loop
from arm_control.gate import GateState
from arm_control.maths import Pose
from arm_control.model import RobotModel
from arm_control.motion import JointGoal, Target
from arm_control.simulation import PlantProperties, RealArm

DT = 1e-3
HOME = np.array([0.2, -1.3, 1.7, -1.9, -1.5, 0.1])


def moved(
    model: RobotModel,
    plant: PlantProperties,
    seconds: float = 1.5,
    *,
    rate: float = 1000.0,
    height: float = 0.2,
    **values: object,
) -> tuple[str, float, float]:
    """Why the gate brakes an arm that begins to go up; how far its hand was then, and at the end [m]."""
    arm = RealArm(model, HOME, timestep=1.0 / rate, properties=plant)
    loop, X = control_loop(model, observing(model, rate, **values)), model.pose(HOME)
    loop.controller.add(Target(0, model.frames[0], Pose(X.R, X.p + [0.0, 0.0, height])))
    braked = np.inf
    for result in driven(loop, arm, seconds):
        way = float(np.linalg.norm(model.pose(arm.arm.q).p - X.p))
        braked = min(braked, way) if result.gate.state is GateState.BRAKING else braked
    assert not loop.gate.reason or np.abs(arm.arm.v).max() < 0.01
    return loop.gate.reason, braked, way


def test_an_arm_of_several_times_its_models_weight_is_stopped(ur5: RobotModel):
    reason, braked, way = moved(ur5, PlantProperties(set="real", mass_error=2.6))
    start = "joints 2 to 3 carry at least "
    end = " kg or more; compare with `check`, find the masses with `identify --inertias`"
    assert reason.startswith(start)
    assert reason.endswith(end)
    assert 2.3 < float(reason.removeprefix(start).split()[0]) < 3.6
    assert ": the description is too light, or a payload of " in reason
    assert braked < 0.05
    assert way < 0.12


@pytest.mark.parametrize(
    ("plant", "values"),
    [
        (PlantProperties(set="real", payload_mass=2.0), {}),
        (PlantProperties(set="real", mass_error=0.4), {}),
        (PlantProperties(set="real", mass_error=1.0), {"weight_share": 0.0}),
    ],
    ids=["payload", "heavier by 40 %", "any weight"],
)
def test_a_payload_friction_and_wrong_masses_pass(ur5: RobotModel, plant: PlantProperties, values: dict[str, float]):
    reason, _, way = moved(ur5, plant, 2.5, **values)
    assert reason == ""
    assert way == pytest.approx(0.2, abs=5e-3)


WEIGHED = 0.5
"""``weighing_time`` of real arms [s]."""


@pytest.mark.parametrize("rate", [1000.0, 250.0])
def test_damping_that_carries_a_falling_arm_does_not_hide_its_weight_at_rest(ur5: RobotModel, rate: float):
    """The first motion leads down: in it damping and inertia take away what the weight lacks."""
    damped = PlantProperties(set="real", mass_error=2.6, viscous=tuple((1.5 * ur5.tau_max / ur5.v_max).tolist()))
    down = -0.4
    assert moved(ur5, damped, 2.5, rate=rate, height=down)[0] == ""
    reason, braked, way = moved(ur5, damped, rate=rate, height=down, weighing_time=WEIGHED)
    assert reason.startswith("joints 2 to 3 carry at least 2.")
    assert braked < 0.012
    assert way < 0.03


@pytest.mark.parametrize("mass_error", [0.05, 0.4])
def test_an_arm_is_held_while_it_is_weighed_and_its_goal_waits(ur5: RobotModel, mass_error: float):
    plant = PlantProperties(set="real", mass_error=mass_error)
    reason, _, way = moved(ur5, plant, WEIGHED, weighing_time=WEIGHED)
    assert reason == ""
    assert way < 2e-3
    reason, _, way = moved(ur5, plant, 3.0, weighing_time=WEIGHED)
    assert reason == ""
    assert way == pytest.approx(0.2, abs=5e-3)


def test_the_first_second_of_a_motion_begins_behind_the_weighing(ur5: RobotModel):
    """A load that is first carried then, as that of a posture without weight, is seen."""
    arm = RealArm(ur5, HOME, timestep=DT, properties=PlantProperties(set="real"))
    loop = control_loop(ur5, observing(ur5, 1000.0, weighing_time=WEIGHED))
    for k, result in enumerate(driven(loop, arm, WEIGHED + 0.95)):
        if k * DT > WEIGHED + 0.8:
            arm.load(-3.0 * result.law.terms.g)
    assert "at least " in loop.gate.reason


def test_goals_that_a_brake_has_ended_do_not_act_after_the_weighing(ur5: RobotModel):
    arm = RealArm(ur5, HOME, timestep=DT, properties=PlantProperties(set="real", mass_error=0.4))
    loop, X = control_loop(ur5, observing(ur5, 1000.0, weighing_time=WEIGHED)), ur5.pose(HOME)
    loop.controller.add(Target(0, ur5.frames[0], Pose(X.R, X.p + [0.0, 0.0, 0.2])))
    held = X.p
    for k, result in enumerate(driven(loop, arm, 1.5)):
        if k < 100:  # the reference does not follow an arm that sinks
            held = held if k else result.law.X_WT.p
            np.testing.assert_array_equal(result.law.X_WT.p, held)
        if k == 100:
            loop.gate.brake("stopped")
        if k == 200:
            loop.gate.enable()
    assert loop.gate.state is GateState.PASSING or loop.gate.is_resuming
    assert np.linalg.norm(ur5.pose(arm.arm.q).p - X.p) < 2e-3


def test_motions_with_a_schedule_begin_at_once(ur5: RobotModel):
    values = {"disturbance_observer": True, "weighing_time": WEIGHED}
    loop = control_loop(ur5, JointLoopParameters.from_mapping(values))
    loop.controller.add(JointGoal(0, HOME + 0.1))
    arm = RealArm(ur5, HOME, timestep=DT, properties=PlantProperties())
    for _ in driven(loop, arm, WEIGHED):
        pass
    assert np.abs(arm.arm.q - HOME).min() > 0.01


def test_the_estimate_is_that_of_a_steady_weight_from_the_first_state_on(ur5: RobotModel):
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), WeightWatch(ur5, 1.3)
    friction = 0.06 * ur5.tau_max * np.sign(terms.g) * 5.0  # more than what does not count, before it is scaled
    sentences = [watch.look(terms, -2.6 * terms.g - friction, DT) for _ in range(60)]
    first = next(k for k, sentence in enumerate(sentences) if sentence)
    assert 29 <= first < 50


def test_a_payload_at_the_tip_is_named_by_its_mass(ur5: RobotModel):
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), WeightWatch(ur5, 0.2)
    weight = terms.J[:3].T @ (9.0 * ur5.gravity_W)
    sentence = [watch.look(terms, weight, DT) for _ in range(200)][-1]
    assert "or a payload of " in sentence
    named = float(sentence.partition("payload of ")[2].split()[0])
    assert 7.0 < named < 9.0  # what friction may be is left out


def test_only_the_first_second_counts(ur5: RobotModel):
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), WeightWatch(ur5, 1.3)
    for _ in range(1001):
        assert watch.look(terms, np.zeros(6), DT) == ""
    assert not any(watch.look(terms, -3.0 * terms.g, DT) for _ in range(60))
    watch.restart()
    assert any(watch.look(terms, -3.0 * terms.g, DT) for _ in range(60))


def test_an_arm_without_a_weight_is_not_compared(ur5: RobotModel):
    """Gravity torque below a hundredth of the limits says nothing about masses."""
    terms, watch = ur5.evaluate(HOME, np.zeros(6)), WeightWatch(ur5, 1.3)
    light = terms._replace(g=1e-3 * terms.g)
    assert not any(watch.look(light, -2.0 * light.g, DT) for _ in range(100))
