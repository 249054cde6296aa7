"""An arm that weighs far more than its model is stopped before it has moved far."""

from __future__ import annotations

import numpy as np
import pytest
from driven_arm import driven, observing

from arm_control.control import WeightWatch
from arm_control.controllers import control_loop
from arm_control.gate import GateState
from arm_control.maths import Pose
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.simulation import PlantProperties, RealArm

DT = 1e-3
HOME = np.array([0.2, -1.3, 1.7, -1.9, -1.5, 0.1])


def moved(
    model: RobotModel, plant: PlantProperties, seconds: float = 1.5, **values: object
) -> tuple[str, float, float]:
    """Why the gate brakes an arm that begins a motion of 0.2 m; how far its hand was then, and at the end [m]."""
    arm = RealArm(model, HOME, timestep=DT, properties=plant)
    loop, X = control_loop(model, observing(model, 1000.0, **values)), model.pose(HOME)
    loop.controller.add(Target(0, model.frames[0], Pose(X.R, X.p + [0.0, 0.0, 0.2])))
    braked = np.inf
    for result in driven(loop, arm, seconds):
        way = float(np.linalg.norm(model.pose(arm.arm.q).p - X.p))
        braked = min(braked, way) if result.gate.state is GateState.BRAKING else braked
    assert np.abs(arm.arm.v).max() < 0.01
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
