"""An arm that weighs far more than its model is stopped before it has moved far."""

from __future__ import annotations

import numpy as np
import pytest
from driven_arm import driven, observing

from arm_control.control import LoopParameters, Measurement, WeightWatch
from arm_control.controllers import FollowLoopParameters, IlqrLoopParameters, JointLoopParameters, control_loop
from arm_control.gate import GateState
from arm_control.maths import Pose
from arm_control.model import RobotModel
from arm_control.motion import Chunk, ChunkGoal, Goal, JointGoal, JointJog, Target, Waypoints
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


WAY = np.array([0.1, 0.1, -0.1, 0.1, 0.1, 0.1])
T = np.array([0.0, 0.25, 0.5])
STREAM = Chunk(400_000_000, T + 0.05, HOME + 0.02 * T[:, None])
TIMED: dict[str, tuple[type[LoopParameters], Goal]] = {
    "action": (JointLoopParameters, JointGoal(100_000_000, Waypoints(T[1:], HOME + [0.5 * WAY, WAY]), is_single=True)),
    "velocity": (JointLoopParameters, JointJog(450_000_000, 450_000_000, 0.2 * np.sign(WAY))),
    "chunk": (FollowLoopParameters, ChunkGoal(400_000_000, Chunk(400_000_000, T + 0.05, HOME + 0.02 * T[:, None]))),
    "plan": (IlqrLoopParameters, Target(0, "base_link", Pose.at([0.4, 0.1, 0.3], [1.0, 0.0, 0.0, 0.0]))),
}


@pytest.mark.parametrize("name", TIMED)
def test_a_motion_with_times_waits_while_the_arm_is_weighed_and_then_begins_from_rest(ur5: RobotModel, name: str):
    parameters, goal = TIMED[name]
    loop = control_loop(ur5, parameters.from_mapping({"disturbance_observer": True, "weighing_time": WEIGHED}))
    loop.controller.add(goal)
    arm = RealArm(ur5, HOME, timestep=DT, properties=PlantProperties())
    ways, torques = [], []
    for result in driven(loop, arm, WEIGHED + 0.55):
        ways.append(np.abs(arm.arm.q - HOME).max())
        torques.append(result.tau)
    held = round(WEIGHED / DT)
    assert max(ways[:held]) < 1e-6
    assert ways[-1] > 2e-3
    if name != "plan":  # a plan of least effort begins with its largest torque
        assert np.abs(np.diff(torques, axis=0)[: held + 20]).max() < 4.0, "the torque does not jump as it begins"
    if name == "action":
        assert ways[held + 250] == pytest.approx(0.05, abs=0.01)
        assert ways[-1] == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(("load", "is_heavy"), [(2.6, True), (0.4, False)])
def test_an_arm_is_weighed_again_when_it_is_enabled(ur5: RobotModel, load: float, is_heavy: bool):
    """It is braked before a goal moves it: what the gate carries shows the weight."""
    arm = RealArm(ur5, HOME, timestep=DT, properties=PlantProperties(set="real"))
    loop = control_loop(ur5, observing(ur5, 1000.0))
    for k, result in enumerate(driven(loop, arm, 1.2)):
        if k == 100:
            loop.gate.brake("a test")
        if k > 100:
            arm.load(-load * result.law.terms.g)
        if k == 800:
            q = arm.arm.q.copy()
            loop.gate.enable()
    assert loop.gate.is_braked is is_heavy
    assert loop.gate.reason.startswith("joints 2 to 3 carry at least " if is_heavy else "enabled")
    assert np.abs(arm.arm.q - q).max() < 1e-3


def test_an_arm_that_still_moves_is_not_weighed_by_what_the_gate_carries(ur5: RobotModel):
    loop = control_loop(ur5, observing(ur5, 1000.0))
    for k in range(200):
        v = np.full(6, 0.02 if k < 120 else 0.0)
        loop.tick(Measurement(k * 1_000_000, HOME, v, DT if k else 0.0, is_restart=k == 0))
        if k == 10:
            loop.gate.brake("a test")
        if k == 20:
            loop.gate.enable()
            loop.gate.hold_with(3.6 * ur5.gravity(HOME))
        assert loop.gate.is_resuming or k not in (30, 119)
    assert "at least " in loop.gate.reason


def test_the_first_second_counts_anew_behind_the_hold_after_a_brake(ur5: RobotModel):
    arm, X = RealArm(ur5, HOME, timestep=DT, properties=PlantProperties(set="real")), ur5.pose(HOME)
    loop = control_loop(ur5, observing(ur5, 1000.0))
    for k, result in enumerate(driven(loop, arm, 1.7)):
        if k == 20:
            loop.gate.brake("a test")
        if k == 300:
            loop.gate.enable()
        if k == 1400:
            assert loop.gate.is_resuming
            loop.controller.add(Target(k * 1_000_000, ur5.frames[0], X))
        if k > 1450:
            arm.load(-2.6 * result.law.terms.g)
    assert "at least " in loop.gate.reason


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
