"""Lock step: every state gets exactly one command, nothing depends on the wall clock."""

import signal
from collections import Counter

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, PATIENCE, stamp, target
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from arm_control import Pose, urdf_path
from arm_control.gate import EffortGate, GateParameters
from arm_control.messages import nanoseconds
from arm_control.nodes import ros


@pytest.mark.processes
def test_runs_are_bit_identical_whatever_serves_the_nodes(rig):
    """As processes, in one process, and in this one; the one process is a new interpreter, the others are forked."""
    words = ("run", "ur5_osc", "--duration", "0.2", "--headless", "--record")
    files = {name: str(rig.folder / f"{name}.npz") for name in ("many", "one", "here")}
    assert rig.command(*words, files["here"]) in (0, 1), rig.log("run")
    program = ("-m", "arm_control.app.cli", *words)
    assert rig.finish("many", *program, files["many"]) in (0, 1), rig.log("many")
    assert "the nodes end, then the report is made" in rig.log("many"), "what takes long after Ctrl-C"
    assert rig.finish("one", *program, files["one"], "--single-process", is_forked=False) in (0, 1), rig.log("one")
    here, many, one = (dict(np.load(files[name])) for name in ("here", "many", "one"))
    assert here["state_stamps"].tolist() == list(range(0, 200_000_001, 1_000_000))
    assert np.ptp(here["q"], axis=0).max() > 0.1, "nothing moves"
    assert (here["command_stamps"] == here["state_stamps"]).all()
    for name, values in here.items():
        assert np.array_equal(values, many[name]), name
    assert np.array_equal(here["q"], one["q"])
    assert np.array_equal(here["tau"], one["tau"])


def test_paced_it_keeps_to_the_clock_and_a_late_controller_changes_no_bit(rig):
    """A controller that stands still for 0.3 s slows simulated time; in real time it would end in a brake."""
    rig.start("osc", lock_step=True, publish_effort_array=False)
    how = {"lock_step": True, "paced": True, "loss_time": PATIENCE, "start_paused": True}
    rig.start("simulator", robot="ur5", initial_position=HOME, **how)
    goal = rig.publisher(PoseStamped, "target_pose", LATCHED)
    goal.publish(target([0.4, -0.2, 0.35], Pose(np.diag([1.0, -1.0, -1.0]), np.zeros(3)), 0.05))
    rig.spin(lambda: all(rig.matched()), what="both nodes")
    begun = rig.clock.now
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.until(0.25)
    rig.processes["osc"].send_signal(signal.SIGSTOP)
    rig.spin(lambda: len({stamp(state) for state in rig.states[-4:]}) == 1, what="the state three more times, 0.3 s")
    rig.processes["osc"].send_signal(signal.SIGCONT)
    rig.until(0.5)
    assert rig.clock.now - begun > rig.time, "no faster than the clock"
    assert "braking" not in rig.log("simulator")
    assert "braking" not in rig.log("osc")
    paced = {stamp(m): m.effort for m in rig.commands}
    rig.commands.clear()
    assert rig.call("simulator/reset", Trigger.Request(), Trigger).success
    rig.spin(lambda: any(0.4 < stamp(m) < 0.5 for m in rig.commands), what="the same again, without a stop")
    again = {stamp(m): m.effort for m in rig.commands if stamp(m) < 0.4}
    common = again.keys() & paced.keys()
    assert len(common) > 350
    assert all(again[t] == paced[t] for t in common)


def test_every_state_gets_exactly_one_command(rig):
    waiting = {"resend_period": PATIENCE, "loss_time": PATIENCE}
    rig.start("osc", lock_step=True, publish_effort_array=False)
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=True, start_paused=True, **waiting)
    count: list[Float64] = []
    rig.hear(Float64, "controller_state/targets", count, LATCHED)
    rig.spin(lambda: count and all(rig.matched()), what="the controller")
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.until(0.5)
    rig.call("simulator/pause", SetBool.Request(data=True))
    end = nanoseconds(rig.states[-1].header.stamp)
    rig.spin(lambda: nanoseconds(rig.commands[-1].header.stamp) >= end - 1_000_000, what="the last answer")
    answers = Counter(nanoseconds(m.header.stamp) for m in rig.commands if nanoseconds(m.header.stamp) < end)
    assert answers == Counter(range(0, end, 1_000_000))


def test_a_repeated_state_is_answered_from_the_cache(rig, ur5):
    """The same stamp gets the same answer, and the controller's own time does not go on."""
    rig.start("osc", lock_step=True, robot_description=urdf_path("ur5").read_text())
    states = rig.state_publisher()
    q = np.array(HOME)
    for stamp_ns, velocity in [(0, 0.0), (1_000_000, 0.1), (1_000_000, 5.0), (2_000_000, 0.1)]:
        rig.answer(states, ros.joint_state(ur5.joint_names, stamp_ns, position=q, velocity=np.full(6, velocity)))
    assert [stamp(m) for m in rig.commands] == [0.0, 0.001, 0.001, 0.002]
    assert rig.commands[1].effort == rig.commands[2].effort
    assert np.abs(np.subtract(rig.commands[3].effort, rig.commands[1].effort)).max() <= 1.0 + 1e-9


def test_an_unanswered_state_is_sent_again_and_then_the_arm_brakes(rig, ur5):
    """No controller: the state comes again every 100 ms; after loss_time time goes on, braked, and says so."""
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=True, loss_time=2.0, start_paused=True)
    rig.spin(lambda: rig.matched()[0], what="the simulator")
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.spin(lambda: len(rig.states) >= 6, what="the state again")
    assert {stamp(state) for state in rig.states[:6]} == {0.0}
    rig.until(0.2)
    assert "no command for the state at 0.000 s: braking" in rig.log("simulator")
    assert np.allclose(rig.states[-1].position, HOME, atol=1e-9)
    assert np.allclose(rig.states[-1].effort, ur5.gravity(HOME), atol=1e-6)


def test_a_state_waits_as_long_as_somebody_is_there_who_may_answer(rig, ur5):
    """However long that takes: a busy machine changes no run. When the last of them is gone, the arm brakes."""
    waiting = {"lock_step": True, "start_paused": True, "loss_time": 0.2, "resend_period": 0.02}
    rig.start("simulator", robot="ur5", initial_position=HOME, **waiting)
    controller = rig.publisher(JointState, "joint_commands")
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.spin(lambda: len(rig.states) >= 30, what="the state again")
    assert {stamp(state) for state in rig.states} == {0.0}
    assert "braking" not in rig.log("simulator")
    rig.node.destroy_publisher(controller)
    rig.spin(lambda: "no command for the state at 0.000 s: braking" in rig.log("simulator"), what="the brake")


@pytest.mark.parametrize("lock_step", [False, True])
def test_time_begins_when_the_controller_knows_its_targets_and_with_its_first_command(lock_step: bool, rig, ur5):
    waiting = {"awaited_targets": 2, "resend_period": 0.02, "max_missed": 1000, "max_age": 5.0, "loss_time": PATIENCE}
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=lock_step, **waiting)
    known = rig.publisher(Float64, "controller_state/targets", LATCHED)
    rig.spin(lambda: rig.matched()[0], what="the simulator")
    known.publish(Float64(data=1.0))
    rig.call("simulator/step", Trigger.Request(), Trigger)
    assert not rig.states, "one of two"
    known.publish(Float64(data=2.0))
    rig.spin(lambda: len(rig.states) >= 5, what="the first state, again and again")
    assert {stamp(state) for state in rig.states} == {0.0}
    controller = rig.publisher(JointState, "joint_commands")
    controller.publish(ros.joint_state(ur5.joint_names, 0, effort=ur5.gravity(HOME)))
    rig.spin(lambda: rig.time > 0.0, what="time")
    assert "braking" not in rig.log("simulator")


def test_a_simulator_that_waits_ends_where_another_one_runs(rig):
    states = rig.node.create_publisher(JointState, "joint_states", 10)
    rig.start("simulator", robot="ur5", awaited_targets=0)
    assert rig.wait("simulator") == 2
    assert "arm_control: /joint_states has another publisher: end that one" in rig.log("simulator")
    rig.node.destroy_publisher(states)


def test_a_command_for_another_state_is_not_an_answer(rig, ur5):
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=True, loss_time=PATIENCE)
    controller = rig.publisher(JointState, "joint_commands")
    rig.spin(lambda: rig.states)
    controller.publish(ros.joint_state(ur5.joint_names, 1_000_000, effort=ur5.gravity(HOME)))
    rig.spin(lambda: len(rig.states) >= 4)
    assert {stamp(state) for state in rig.states} == {0.0}
    controller.publish(ros.joint_state(ur5.joint_names, 0, effort=ur5.gravity(HOME)))
    rig.spin(lambda: rig.time == 0.001)


def test_targets_act_from_the_first_state_not_before_their_stamp(rig, ur5):
    """A target for t = 0.0105 s changes nothing at 0.010 s and acts at 0.011 s."""
    rig.start("osc", lock_step=True, robot_description=urdf_path("ur5").read_text())
    targets = rig.publisher(PoseStamped, "target_pose")
    start = ur5.pose(HOME)
    targets.publish(target((start.p + [0.2, 0.0, 0.0]).tolist(), start, seconds=0.0105))
    count: list[Float64] = []
    rig.hear(Float64, "controller_state/targets", count, LATCHED)
    rig.spin(lambda: count and count[-1].data == 1.0, what="the target to be known")
    states = rig.state_publisher()
    for step in range(13):
        q, v = np.array(HOME), np.zeros(6)
        rig.answer(states, ros.joint_state(ur5.joint_names, step * 1_000_000, position=q, velocity=v))
    away = [np.abs(np.array(m.effort) - ur5.gravity(HOME)).max() for m in rig.commands]
    assert max(away[:11]) < 1e-9
    assert away[11] > 0.5


def test_pause_step_and_reset(rig):
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.5)
    rig.until(0.05)
    assert rig.call("simulator/pause", SetBool.Request(data=True)).success
    heard = len(rig.states)
    rig.spin(lambda: len(rig.states) > heard + 2 and stamp(rig.states[-2]) == rig.time, what="the paused state again")
    paused = rig.time
    assert rig.call("simulator/step", Trigger.Request(), Trigger).success
    rig.spin(lambda: abs(rig.time - paused - 0.001) < 1e-9, what="one step")
    assert rig.call("simulator/reset", Trigger.Request(), Trigger).success
    rig.spin(lambda: rig.time == 0.0, what="time zero")
    assert np.allclose(rig.states[-1].position, HOME)
    assert rig.call("simulator/pause", SetBool.Request(data=False)).success
    rig.until(0.01)
    assert not rig.call("simulator/step", Trigger.Request(), Trigger).success


def test_a_reset_starts_the_targets_again(rig, ur5):
    """Time starts over: the controller goes from the start to the first target, without a jump."""
    waiting = {"lock_step": True, "start_paused": True, "loss_time": PATIENCE}
    rig.start("simulator", robot="ur5", initial_position=HOME, **waiting)
    rig.start("osc", lock_step=True, publish_effort_array=False)
    targets = rig.publisher(PoseStamped, "target_pose")
    start = ur5.pose(HOME)
    targets.publish(target((start.p + [0.1, 0.0, 0.05]).tolist(), start, seconds=0.05))
    rig.spin(lambda: all(rig.matched()))
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.until(0.5)
    rig.call("simulator/pause", SetBool.Request(data=True))
    first = {stamp(m): m.effort for m in rig.commands}
    assert rig.call("simulator/reset", Trigger.Request(), Trigger).success
    rig.spin(lambda: rig.time == 0.0, what="time zero")
    rig.commands.clear()
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.spin(lambda: any(0.4 < stamp(m) < 0.5 for m in rig.commands), what="the same again")
    again = {stamp(m): m.effort for m in rig.commands if stamp(m) < 0.4}
    begun = again.keys() & first.keys()
    assert len(begun) > 350
    assert all(again[t] == first[t] for t in begun)


def test_the_simulators_gate_is_the_gate(rig, ur5):
    """A torque step is cut to 1 N m per step, as the class says."""
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=True, loss_time=PATIENCE)
    controller = rig.publisher(JointState, "joint_commands")
    gate, applied = EffortGate(ur5, GateParameters()), []
    wanted = ur5.gravity(HOME) + [5.0, 2.0, 0.5, 0.0, -3.0, 0.1]
    for step in range(4):
        rig.spin(lambda n=step: rig.time == n * 1e-3 or abs(rig.time - n * 1e-3) < 1e-9)
        state = rig.states[-1]
        gate.offer(ur5.joint_names, wanted)
        applied.append(gate.tick(ur5.evaluate(state.position, state.velocity), 1e-3).tau)
        controller.publish(ros.joint_state(ur5.joint_names, step * 1_000_000, effort=wanted))
        rig.spin(lambda n=step: rig.time > n * 1e-3 + 1e-9)
        assert np.array_equal(rig.states[-1].effort, applied[-1])
    assert np.abs(applied[0] - ur5.gravity(HOME)).max() == pytest.approx(1.0)
