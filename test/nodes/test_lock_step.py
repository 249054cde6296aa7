"""Lock step: every state gets exactly one command, nothing depends on the wall clock."""

import signal

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, PATIENCE, stamp, target
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool, Trigger

from arm_control import Pose
from arm_control.bags import ReplayOptions, compare, controller_of, read_bag, recorded_commands, replayed_commands
from arm_control.nodes import ros


@pytest.mark.processes
def test_runs_are_bit_identical_whatever_serves_the_nodes_and_their_bag_replays(rig):
    """As processes and in this one; with the values of a parameter file, which the bag has, too."""
    changed, path = rig.folder / "changed.yaml", rig.folder / "bag"
    changed.write_text("osc: {ros__parameters: {kp_linear: 120.0}}")
    words = ("run", "ur5_osc", "--duration", "0.2", "--headless", "--params-file", str(changed), "--record")
    files = {name: str(rig.folder / f"{name}.npz") for name in ("many", "here")}
    assert rig.command(*words, files["here"]) in (0, 1), rig.log("run")
    program = ("-m", "arm_control.app.cli", *words)
    assert rig.finish("many", *program, files["many"], "--bag", str(path)) in (0, 1), rig.log("many")
    assert "the nodes end, then the report is made" in rig.log("many"), "what takes long after Ctrl-C"
    here, many = (dict(np.load(files[name])) for name in ("here", "many"))
    stamps = list(range(0, 200_000_001, 1_000_000))
    assert here["state_stamps"].tolist() == here["command_stamps"].tolist() == stamps
    assert np.ptp(here["q"], axis=0).max() > 0.1, "nothing moves"
    for name, values in here.items():
        assert np.array_equal(values, many[name]), name
    bag = read_bag(path)
    model, parameters = controller_of(bag, ReplayOptions())
    assert parameters.control.law.kp_linear == 120.0
    recorded, replayed = recorded_commands(bag, model), replayed_commands(bag, model, parameters)
    assert recorded.stamps[:200].tolist() == stamps[:200], f"something was lost: {rig.log('many')}"
    assert np.array_equal(replayed.stamps, recorded.stamps)
    assert np.array_equal(replayed.tau, recorded.tau), str(compare(recorded, replayed, model, 0.0))
    assert {"/robot_description", "/target_pose"} <= {message.topic.name for message in bag.messages}
    assert "/robot_description" in {topic.name for topic in bag.topics if topic.latched}
    assert not bag.damage
    assert not bag.malformed


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
    assert "the plant has started over: its time went back from 0." in rig.log("osc")


def test_a_state_waits_as_long_as_somebody_is_there_who_may_answer(rig, ur5):
    """However long that takes: a busy machine changes no run. When the last of them is gone, the arm brakes, held."""
    waiting = {"lock_step": True, "start_paused": True, "loss_time": 0.2, "resend_period": 0.02}
    rig.start("simulator", robot="ur5", initial_position=HOME, **waiting)
    controller = rig.publisher(JointState, "joint_commands")
    rig.call("simulator/pause", SetBool.Request(data=False))
    rig.spin(lambda: len(rig.states) >= 30, what="the state again")
    assert {stamp(state) for state in rig.states} == {0.0}
    assert "braking" not in rig.log("simulator")
    rig.node.destroy_publisher(controller)
    rig.until(0.2)
    assert "no command for the state at 0.000 s: braking" in rig.log("simulator")
    assert np.allclose(rig.states[-1].position, HOME, atol=1e-9)
    assert np.allclose(rig.states[-1].effort, ur5.gravity(HOME), atol=1e-6)


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
