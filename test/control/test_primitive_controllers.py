"""Controllers of primitives in the control loop: which law, how it brakes, what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.bags import (
    ReplayOptions,
    SimulatedBag,
    compare,
    controller_of,
    read_bag,
    recorded_commands,
    replayed_commands,
)
from arm_control.control import ControlLoop, Measurement, resolve_parameters
from arm_control.controllers import (
    JointPrimitiveController,
    PosePrimitiveController,
    PrimitiveLoopParameters,
    control_loop,
)
from arm_control.exceptions import ParameterError
from arm_control.maths import Pose
from arm_control.motion import JointGoal, Modulation, Target
from arm_control.primitives import Demonstration, Primitive, PrimitiveFile
from arm_control.simulation import Scenario, Simulation

MS = 1_000_000
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
T = np.linspace(0.0, 2.0, 201)


@pytest.fixture(scope="module")
def wave(ur5: RobotModel, tmp_path_factory: pytest.TempPathFactory) -> str:
    """File of a rhythm of the joints, in another order than the arm's."""
    q = HOME + 0.2 * np.sin(np.pi * T)[:, None] * [1.0, 0.5, 0.0, 0.0, 0.0, 1.0]
    names = ur5.joint_names[::-1]
    path = tmp_path_factory.mktemp("primitives") / "wave.yaml"
    PrimitiveFile(Primitive.learn(Demonstration(T, q[:, ::-1], names=names), "rhythmic")).save(path)
    return str(path)


def loop_of(model: RobotModel, file: str, **values: object) -> ControlLoop:
    parameters = resolve_parameters(PrimitiveLoopParameters, {"file": file, **values}, model)
    return control_loop(model, parameters)


def test_the_file_says_which_law_follows(ur5: RobotModel, wave: str):
    joints, hand = loop_of(ur5, wave, **{"joint.kp": 50.0}), loop_of(ur5, "sweep", kp_linear=150.0)
    assert isinstance(joints.controller, JointPrimitiveController)
    assert isinstance(hand.controller, PosePrimitiveController)
    assert (joints.controller.has_schedule, hand.controller.has_schedule) == (True, False)
    state = Measurement(0, HOME, np.zeros(6), 0.0, is_restart=True)
    assert set(joints.tick(state).torque_terms) == {"feedback", "feedforward", "bias"}
    assert set(hand.tick(state).torque_terms) >= {"task", "posture", "bias"}
    np.testing.assert_allclose(joints.tick(state).law.tau, ur5.gravity(HOME), atol=1e-9)


def test_joints_reach_their_goal_and_stay_where_a_brake_finds_them(ur5: RobotModel, wave: str):
    """The arm is where the reference is: what matters here is what the loop does with it."""
    loop, q = loop_of(ur5, wave), HOME
    loop.controller.add(JointGoal(0, HOME + 0.1))
    follower = loop.controller.follower
    for ms in range(0, 4000, 5):
        result = loop.tick(Measurement(ms * MS, q, np.zeros(6), 5e-3 if ms else 0.0, is_restart=ms == 0))
        q = follower.now.q_des
    figures = result.law.figures()
    assert figures["phase"] == pytest.approx(3.995 / 2.0 % 1.0, abs=1e-3)
    np.testing.assert_allclose(result.law.X_WT.p, ur5.pose(q).p)
    loop.gate.brake("a test")
    for ms in range(4000, 4500, 5):
        held = loop.tick(Measurement(ms * MS, q, np.zeros(6), 5e-3))
        np.testing.assert_allclose(held.law.tau, ur5.gravity(q), atol=1e-9)
    assert held.law.figures()["phase"] == 0.0


def test_what_does_not_fit_is_refused_in_a_sentence(ur5: RobotModel, wave: str):
    for file, values, sentence in (
        ("", {}, "file: name the primitive"),
        (wave, {"obstacle_gain": 1000.0}, "obstacles turn paths of the end effector"),
        ("sweep", {"impedance": True}, "the node osc presses"),
        ("nowhere", {}, "no 'nowhere' in config/primitives"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            loop_of(ur5, file, **values)
    other = RobotModel.from_urdf(ur5.urdf.text.replace("elbow_joint", "ellbow"))
    with pytest.raises(ParameterError, match="the primitive does not move ellbow of this arm"):
        loop_of(other, wave)


def test_a_goal_that_is_passed_over_is_told_with_the_tick(ur5: RobotModel, wave: str):
    for file in (wave, "sweep"):
        loop = loop_of(ur5, file)
        loop.controller.add(JointGoal(0, HOME + 50.0) if file == wave else Target(0, "no_link", Pose.identity()))
        state = Measurement(0, HOME, np.zeros(6), 0.0, is_restart=True)
        told = str(loop.tick(state).law.refused)
        assert ("position beyond the limit" if file == wave else "unknown frame 'no_link'") in told


def test_avoidance_knows_the_limits_of_the_hand(ur5: RobotModel):
    avoidance = loop_of(ur5, "sweep", avoid_obstacles=True, speed_limit_linear=0.3).avoidance
    assert avoidance is not None
    assert avoidance.speed_limits == (0.3, 1.0)


def test_a_start_waits_for_obstacles_that_bend_the_path():
    scenario = Scenario.load("ur5_obstacle")
    for gain, n in ((0.0, None), (1000.0, 1)):
        own = replace(scenario, nodes={"primitive": {"file": "sweep", "obstacle_gain": gain}})
        assert own.awaited().get("obstacles") == n


def test_a_simulated_run_replays_to_the_same_bits(wave: str, tmp_path: Path):
    scenario = Scenario.load("ur5_primitive")
    scenario.nodes["primitive"] = {"file": wave, "period": 1.0}
    del scenario.nodes["targets"]
    simulation = Simulation(scenario)
    goal = JointGoal(50 * MS, HOME + 0.05)
    simulation.queue = [goal, Modulation(200 * MS, "amplitude", 0.4), Modulation(250 * MS, "period", 1.2)]
    with SimulatedBag(tmp_path / "bag", simulation, scenario) as bag:
        trace = simulation.run(0.4, recorder=bag)
    assert np.abs(trace.v).max() > 0.03
    recording = read_bag(tmp_path / "bag")
    file = tmp_path / "own.yaml"
    file.write_text(f"primitive: {{ros__parameters: {{file: '{scenario.nodes['primitive']['file']}'}}}}\n")
    changes = {"period": scenario.nodes["primitive"]["period"]}
    model, parameters = controller_of(recording, ReplayOptions(params_file=str(file), changes=changes))
    replayed = replayed_commands(recording, model, parameters)
    assert not recording.malformed
    assert compare(recorded_commands(recording, model), replayed, model, 0.0).identical
    before = [m for m in recording.messages if "/primitive/" not in m.topic.name]
    assert len(before) == len(recording.messages) - 2
    recording.messages = before
    without = replayed_commands(recording, model, parameters)
    assert not np.array_equal(without.tau, replayed.tau), "amplitude and period are in the bag"
