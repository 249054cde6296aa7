"""Chunks of a policy move an arm, a brake ends them, and what is refused is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arm_control.bags import (
    ReplayOptions,
    SimulatedBag,
    compare,
    controller_of,
    plain,
    read_bag,
    recorded_commands,
    replayed_commands,
)
from arm_control.control import ControlLoop, Measurement, TickResult
from arm_control.controllers import control_loop
from arm_control.controllers.follow import FollowLoopParameters
from arm_control.exceptions import InputError
from arm_control.follow import Script, scripted_chunks
from arm_control.gate import GateState
from arm_control.maths import Array, quaternion_from_rotation
from arm_control.messages import goal_of
from arm_control.model import RobotModel
from arm_control.motion import Chunk, ChunkGoal, JointJog, JointStiffness, Modulation, PoseChunk, PosePoints, Waypoints
from arm_control.simulation import MujocoSimulator, Scenario, Simulation

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1_000_000
TIMES = np.arange(1, 31) / 30.0


class Run:
    """A UR5 in MuJoCo that follows chunks."""

    def __init__(self, model: RobotModel, **values: float) -> None:
        self.model, self.k = model, 0
        self.loop: ControlLoop = control_loop(model, FollowLoopParameters.from_mapping(values))
        self.simulator = MujocoSimulator(model, HOME)
        self.controller = self.loop.controller

    def go(self, n: int, push: float = 0.0) -> TickResult:
        """Go on for some milliseconds, while something pushes the first joint [N m]; returns the last tick."""
        for _ in range(n):
            now = Measurement(self.k * MS, self.simulator.q, self.simulator.v, 1e-3 if self.k else 0.0, self.k == 0)
            result = self.loop.tick(now)
            self.simulator.step(result.gate.tau + push * np.eye(6)[0])
            self.k += 1
        return result

    def send(self, path: Array | float, late_ms: int = 30) -> None:
        """Let a chunk of all joints, beside HOME, come now."""
        points = HOME + np.broadcast_to(path, (30,))[:, None]
        self.controller.add(ChunkGoal(self.k * MS, Chunk((self.k - late_ms) * MS, TIMES, points)))


def test_chunks_are_followed_and_the_arm_rests_behind_the_last_one(ur5: RobotModel):
    run = Run(ur5)
    run.go(50)
    assert run.go(1).law.figures()["stale"] == 1.0
    for _ in range(8):
        run.send(0.1 * ((run.k - 30) / 1e3 + TIMES))
        figures = run.go(66).law.figures()
    assert figures["joint_error"] < 1e-3
    assert figures["chunk_latency"] == 0.03
    assert (figures["chunks_refused"], figures["chunks_slewed"], figures["stale"]) == (0.0, 0.0, 0.0)
    np.testing.assert_allclose(run.simulator.v, 0.1, atol=5e-3)
    figures = run.go(1600).law.figures()
    assert figures["stale"] == 1.0
    assert abs(run.simulator.v).max() < 1e-3
    np.testing.assert_allclose(run.simulator.q, HOME + 0.1 * ((run.k - 1600 - 66 - 30) / 1e3 + 1.0), atol=2e-3)


def test_a_chunk_that_is_refused_is_told_and_the_last_one_goes_on(ur5: RobotModel):
    run = Run(ur5)
    run.go(50)
    run.send(0.1 * TIMES)
    run.go(10)
    run.send(0.9)
    result = run.go(1)
    assert str(result.law.refused).startswith("shoulder_pan_joint begins 0.89")
    assert run.go(1).law.refused is None
    assert run.go(600).law.figures()["chunks_refused"] == 1.0
    np.testing.assert_allclose(run.simulator.v, 0.1, atol=5e-3)


def test_a_brake_ends_the_chunk_and_a_newer_one_moves_the_arm_again(ur5: RobotModel):
    run = Run(ur5)
    run.go(50)
    run.send(0.3 * TIMES)
    run.go(400)
    run.loop.gate.brake("a test")
    run.go(100)
    run.send(0.1 + 0.3 * TIMES)  # a brake ends it, too
    run.go(200)
    run.loop.gate.enable()
    held = run.simulator.q
    assert run.go(300).gate.state is GateState.HOLDING
    np.testing.assert_allclose(run.simulator.q, held, atol=2e-3)
    run.send(0.9)
    assert run.go(5).gate.state is GateState.HOLDING, "a chunk that is refused moves nothing"
    run.send(float(held[0]))
    assert run.go(5).gate.state is GateState.PASSING
    run.go(1500)
    np.testing.assert_allclose(run.simulator.q, HOME + held[0], atol=2e-3)


def test_time_that_starts_over_forgets_chunks_of_before(ur5: RobotModel):
    run = Run(ur5)
    run.send(0.0, 0)
    run.go(500)
    run.send(0.1)
    run.k = 0
    run.go(600)
    np.testing.assert_allclose(run.simulator.q, HOME, atol=1e-3)


def test_other_goals_are_refused_and_gains_change_at_once(ur5: RobotModel):
    run = Run(ur5)
    with pytest.raises(InputError, match="chunks are followed"):
        run.controller.add(JointJog(0, 0, np.zeros(6)))
    stiffer = FollowLoopParameters.from_mapping({"kp": 400.0, "law": "pd"})
    run.controller.configure(stiffer.control)
    assert not run.controller.scales_with_inertia


def test_streams_within_the_limits_never_brake_the_gate(ur5: RobotModel):
    """Jitter 30 %, latency up to 300 ms, contradictions of 20 mm; docs/follow.md has the campaign."""
    run = Run(ur5, newest_weight=0.5)

    def intent(t: Array) -> Array:
        return HOME + 0.3 * np.sin(1.5 * t)[:, None]

    for at_ns, chunk in scripted_chunks(intent, 2.0, 0, Script()):
        run.controller.add(ChunkGoal(at_ns, chunk))
    assert run.go(2000).gate.is_passing
    assert run.controller.follower.counts["refuse"] < 10
    assert abs(run.simulator.q - intent(np.array([2.0]))[0]).max() < 0.05


@pytest.mark.parametrize("fault", ["killed", "frozen", "flooding", "another arm's"])
def test_a_broken_policy_brakes_nothing_and_leaves_the_arm_at_rest(ur5: RobotModel, fault: str):
    run = Run(ur5)
    run.go(50)
    for _ in range(6):
        run.send(0.2 * ((run.k - 30) / 1e3 + TIMES))
        run.go(66)
    (good,) = [run.controller.follower.counts["pass"]]
    last = Chunk((run.k - 30) * MS, TIMES, HOME + 0.2 * ((run.k - 30) / 1e3 + TIMES)[:, None])
    run.controller.add(ChunkGoal(run.k * MS, last))
    for _ in range(1500):
        for k in range(10 if fault == "flooding" else 1 if fault != "killed" else 0):
            moved = Chunk(run.k * MS - 1000 + k, TIMES, np.array(last.positions) + 0.001 * k)
            other = last._replace(stamp_ns=run.k * MS, names=[f"panda_joint{i}" for i in range(1, 7)])
            sent = {"frozen": last, "flooding": moved}.get(fault, other)
            run.controller.add(ChunkGoal(run.k * MS, sent))
        result = run.go(1)
        assert result.gate.is_passing
    counts = run.controller.follower.counts
    assert good == 6
    assert counts["refuse"] == {"killed": 0, "flooding": 0}.get(fault, 1500 - (fault == "frozen"))
    assert abs(run.simulator.v).max() < 2e-3
    assert 0.02 < (run.simulator.q - HOME).min() < 0.4


def test_a_policy_makes_the_arm_softer_and_stiffer_again(ur5: RobotModel):
    """At a bounded rate, a push moves it in proportion, a brake leaves it soft, and a run begins stiff."""
    run = Run(ur5, law="pd")
    run.go(1000, push=5.0)
    stiff = run.simulator.q[0]
    run.controller.add(Modulation(run.k * MS, "stiffness", 0.5))
    run.controller.add(Modulation(run.k * MS, "damping", 0.8))
    assert run.go(101, push=5.0).law.figures()["stiffness"] == pytest.approx(0.8, abs=0.01)
    assert run.go(1500, push=5.0).law.figures()["stiffness"] == 0.5
    assert run.controller.stiffness.damping == pytest.approx(0.8 * 0.5**0.5)
    assert run.simulator.q[0] == pytest.approx(2.0 * stiff, rel=0.05)
    assert stiff > 1e-3
    run.loop.gate.brake("a test")
    run.go(100)
    assert run.controller.stiffness.stiffness == 0.5
    run.k = 0
    assert run.go(10).law.figures()["stiffness"] == 1.0
    for quantity, value in (("stiffness", 1.01), ("stiffness", 0.0), ("damping", 0.09)):
        with pytest.raises(InputError, match=f"{quantity} .* is allowed"):
            run.controller.add(Modulation(0, quantity, value))


def test_stiffness_of_each_joint_acts_with_the_chunk_that_it_belongs_to(ur5: RobotModel):
    """Not before, not with a chunk that is refused, and with a newer one where that one never comes."""
    run, soft = Run(ur5), np.array([1.0, 0.2, 1.0, 1.0, 0.5, 1.0])
    nothing = np.zeros(0)
    run.go(50)
    run.send(0.0)
    run.controller.add(JointStiffness(run.k * MS, (run.k + 70) * MS, soft, nothing))
    run.go(100)
    run.send(0.9)
    assert run.go(1).law.refused is not None
    assert run.go(10).law.figures()["stiffness"] == 1.0
    run.send(0.0)
    assert run.go(100).law.figures()["stiffness"] == pytest.approx(0.8)
    run.go(400)
    np.testing.assert_allclose(run.controller.stiffness.stiffness, soft)
    run.controller.add(JointStiffness((run.k + 20) * MS, 0, nothing, np.full(6, 0.5)))
    run.go(20)
    np.testing.assert_allclose(run.controller.stiffness.damping, np.sqrt(soft))
    run.go(400)
    np.testing.assert_allclose(run.controller.stiffness.damping, 0.5 * np.sqrt(soft))
    run.controller.add(Modulation(run.k * MS, "stiffness", 1.0))
    assert run.go(500).law.figures()["stiffness"] == 1.0
    for wrong in (JointStiffness(0, 0, 1.2 * soft, nothing), JointStiffness(0, 0, nothing, soft * np.nan)):
        with pytest.raises(InputError, match="is allowed"):
            run.controller.add(wrong)


def test_a_spring_that_is_held_stretched_takes_no_more_than_its_tank(ur5: RobotModel):
    """Both laws: what the stiffness adds while an arm is held away from its reference."""
    for law in ("pd", "computed_torque"):
        parameters = FollowLoopParameters.from_mapping({"law": law, "stiffness_energy": 0.2})
        loop = control_loop(ur5, parameters)
        controller, q = loop.controller, HOME + 0.05

        def energy(k: int, at: Array, controller=controller) -> float:
            output = controller.tick(Measurement(k * MS, at, np.zeros(6), 1e-3), None)
            return 0.5 * float((HOME - at) @ output.split()["feedback"])

        controller.restart(HOME)
        controller.add(Modulation(0, "stiffness", 0.1))
        for k in range(600):
            energy(k, HOME)
        controller.add(Modulation(600 * MS, "stiffness", 1.0))
        before = energy(599, q)
        added = [energy(k, q) - before for k in range(600, 1600)]
        assert max(added) == pytest.approx(0.2, rel=1e-6), law
        assert controller.stiffness.stiffness < 0.9


def test_poses_of_a_policy_move_the_hand_and_a_bag_has_them(ur5: RobotModel, tmp_path: Path):
    """A simulation of poses and a softer arm replays to the same bits."""
    scenario = Scenario.load("ur5_policy")
    del scenario.nodes["targets"]
    simulation = Simulation(scenario)
    X = ur5.pose(HOME)
    rows = [[*X.p + [0.0, 0.05 * t, 0.0], *quaternion_from_rotation(X.R)] for t in TIMES]
    simulation.queue = [
        JointStiffness(15 * MS, 10 * MS, np.linspace(0.3, 0.8, 6), np.full(6, 0.9)),
        ChunkGoal(20 * MS, PoseChunk(10 * MS, TIMES, rows)),
        Modulation(150 * MS, "stiffness", 0.5),
    ]
    with SimulatedBag(tmp_path / "bag", simulation, scenario) as bag:
        trace = simulation.run(0.25, recorder=bag)
    np.testing.assert_allclose(ur5.pose(trace.q[-1]).p - X.p, [0.0, 0.05 * 0.23, 0.0], atol=2e-3)
    recording = read_bag(tmp_path / "bag")
    model, parameters = controller_of(recording, ReplayOptions(changes={"newest_weight": 0.5}))
    replayed = replayed_commands(recording, model, parameters)
    assert compare(recorded_commands(recording, model), replayed, model, 0.0).identical


def test_a_message_becomes_shares_of_each_joint(ur5: RobotModel):
    names, s = ur5.joint_names[::-1], np.linspace(0.2, 0.7, 6)
    goal = goal_of("joint_stiffness", plain.joint_state(names, 40 * MS, position=s), ur5, 500 * MS)
    assert goal[:2] == (500 * MS, 40 * MS)
    np.testing.assert_array_equal(goal.stiffness, s[::-1])
    assert not len(goal.damping)
    with pytest.raises(InputError, match="wrist"):
        goal_of("joint_stiffness", plain.joint_state(names[1:], 0, velocity=s[1:]), ur5, 0)


def test_a_message_becomes_poses_of_the_end_effector_in_a_frame(ur5: RobotModel):
    X = ur5.pose(HOME)
    message = plain.pose_trajectory("tool0", PosePoints(TIMES[:2], (X, X)), "base", 400 * MS)
    message.points[1].transforms[0].rotation.w = np.nan
    goal = goal_of("pose_chunk", message, ur5, 500 * MS)
    assert (goal.stamp_ns, goal.chunk.stamp_ns, goal.chunk.frame) == (500 * MS, 400 * MS, "base")
    np.testing.assert_allclose(goal.chunk.poses[0], [*X.p, *quaternion_from_rotation(X.R)])
    assert np.isnan(goal.chunk.poses[1][6]), "judged where it is joined"
    np.testing.assert_allclose(goal.chunk.times, TIMES[:2], atol=1e-9)
    message.joint_names = ["panda_hand"]
    with pytest.raises(InputError, match="the end effector is"):
        goal_of("pose_chunk", message, ur5, 0)


def test_a_message_becomes_a_chunk_of_its_observation(ur5: RobotModel):
    points = Waypoints(TIMES, HOME + 0.1 * TIMES[:, None])
    message = plain.joint_trajectory(ur5.joint_names, points, 400 * MS)
    goal = goal_of("joint_chunk", message, ur5, 500 * MS)
    assert (goal.stamp_ns, goal.chunk.stamp_ns, goal.chunk.names) == (500 * MS, 400 * MS, ur5.joint_names)
    np.testing.assert_allclose(goal.chunk.positions, points.qs)
    np.testing.assert_allclose(goal.chunk.times, TIMES, atol=1e-9)
    message = plain.joint_trajectory(ur5.joint_names, points, 0)
    assert goal_of("joint_chunk", message, ur5, 500 * MS).chunk.stamp_ns == 500 * MS, "0: now"
    message.points[3].positions = message.points[3].positions[:5]
    with pytest.raises(InputError, match="different numbers"):
        goal_of("joint_chunk", message, ur5, 500 * MS)
