"""Faults of nodes: a clear message or a brake, never a jump, never a crash."""

import itertools
import signal
from functools import partial

import numpy as np
import pytest
import rclpy.subscription
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from rig import HOME, LATCHED, in_motion, spin_through_stalls, stamp, target
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool

from arm_control import RobotModel, urdf_path
from arm_control.gate import AT_REST, EffortGate, GateParameters
from arm_control.messages import brake_reason, nanoseconds
from arm_control.nodes import ros
from arm_control.nodes.tools.gate_commands import OUTLOOK

RATE = GateParameters().rate_limit
DAMPING = GateParameters().brake_damping


def speeds(states) -> np.ndarray:
    return np.array([np.abs(state.velocity).max() for state in states])


def assert_no_jump(states, model: RobotModel) -> None:
    """No torque above a limit, no step above the rate limit, no state that is not finite."""
    applied = [state for state in states if state.effort]
    stamps = np.array([nanoseconds(state.header.stamp) for state in applied])
    efforts = np.array([state.effort for state in applied])
    new = np.flatnonzero(np.diff(stamps) > 0)
    steps = np.abs(np.diff(efforts, axis=0))[new] / (np.diff(stamps)[new, None] * 1e-9)
    assert np.isfinite(efforts).all()
    assert (np.abs(efforts) <= model.tau_max).all()
    assert steps.max() <= RATE * (1 + 1e-6)


def assert_brakes(rig, model: RobotModel, lost_at: float) -> None:
    """Braking torque within 20 steps of the last command, at rest within 0.5 s, by simulated time."""
    rig.spin(lambda: rig.time > lost_at and (speeds(rig.states[-1:]) < AT_REST or rig.time >= lost_at + 0.6), "rest")
    after = [state for state in rig.states if stamp(state) > lost_at]
    rest = next(stamp(s) for s, v in zip(after, speeds(after), strict=True) if v < AT_REST)
    assert rest - lost_at < 0.5
    peak = max(speeds(after))
    damped = [s for s in after if lost_at + 0.03 < stamp(s) < rest and max(map(abs, s.velocity)) > 0.15 * peak]
    for before, state in itertools.pairwise(damped):  # the spring has not joined yet
        if stamp(state) - stamp(before) > 0.0015:
            continue
        q, v = np.array(before.position), np.array(before.velocity)
        t = model.evaluate(q, v)
        last = np.array(before.effort)
        change = np.clip(t.g - DAMPING * t.M @ v, -model.tau_max, model.tau_max) - last
        assert np.allclose(state.effort, last + change * min(1.0, 1.0 / np.abs(change).max()), atol=1e-6)
    assert_no_jump(rig.states, model)


def assert_reaches(rig, model: RobotModel, goal: PoseStamped) -> None:
    wanted = [goal.pose.position.x, goal.pose.position.y, goal.pose.position.z]

    def there() -> bool:
        newest = next(state for state in reversed(rig.states) if state.effort)  # the simulator's, not an intruder's
        return np.allclose(model.pose(np.array(newest.position)).p, wanted, atol=1e-3)

    spin_through_stalls(rig, there, f"arrival at {wanted}", lambda: rig.target_publisher.publish(goal))


def next_state(rig) -> None:
    heard = len(rig.states)
    rig.spin(lambda: len(rig.states) > heard)


def enable(rig, nodes=("osc", "simulator")) -> None:
    """All gates: the controller's own, the simulator's, and one between them."""
    for node in nodes:
        assert rig.call(f"{node}/enable", SetBool.Request(data=True)).success


def test_controller_killed(moving_alert, ur5):
    moving_alert.processes["osc"].kill()
    moving_alert.wait("osc")
    moving_alert.spin(lambda: "braking: no command for 20 states" in moving_alert.log("simulator"), what="the brake")
    assert_brakes(moving_alert, ur5, stamp(moving_alert.commands[-1]))
    said: list[DiagnosticArray] = []
    moving_alert.hear(DiagnosticArray, "/diagnostics", said)

    def braked() -> list[str]:
        statuses = [status for message in said for status in message.status if status.name.endswith("simulator")]
        return [item.value for status in statuses for item in status.values if item.key == "braked"]

    moving_alert.spin(braked, what="what the simulator says of itself")
    assert set(braked()) == {"True"}


@pytest.mark.processes
def test_a_process_that_is_killed_or_ends_in_motion_leaves_the_arm_at_rest(rig, ur5):
    """The controller by SIGKILL: the gate brakes. The gate by SIGTERM: the arm rests before it ends."""
    rig.start_process("osc", "-r", "joint_commands:=effort_in", publish_effort_array=False, **PATIENT)
    rig.start_process("gate", publish_effort_array=False, **PATIENT)
    rig.start_process("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.5, **PATIENT)
    in_motion(rig, ur5)
    rig.processes["osc"].kill()
    assert rig.wait("osc") == -signal.SIGKILL
    rig.spin(lambda: "braking: the controller brakes: no command for 1000 states" in rig.log("simulator"), "the brake")
    rig.spin(lambda: speeds(rig.states[-1:]) < AT_REST, what="rest")
    rig.processes["gate"].send_signal(signal.SIGTERM)
    assert rig.wait("gate") == 0
    assert "the arm rests: the node ends" in rig.log("gate")
    assert_no_jump(rig.states, ur5)


@pytest.mark.parametrize("seconds", [0.04, 0.2, *[pytest.param(s, marks=pytest.mark.campaign) for s in (2.0, 10.0)]])
def test_controller_stopped_for_a_while(moving_alert, ur5, seconds):
    """For a while of simulated time, in which five times as much goes by for the controller, or more."""
    osc = moving_alert.processes["osc"]
    osc.send_signal(signal.SIGSTOP)
    moving_alert.until(moving_alert.time + seconds)
    moving_alert.spin(lambda: "braking: no command for 20 states" in moving_alert.log("simulator"), what="the brake")
    lost_at = stamp(moving_alert.commands[-1])
    osc.send_signal(signal.SIGCONT)
    assert_brakes(moving_alert, ur5, lost_at)
    moving_alert.spin(lambda: "refused: stale" in moving_alert.log("osc") or "no state for" in moving_alert.log("osc"))
    held = np.array(moving_alert.states[-1].position)
    moving_alert.until(moving_alert.time + 0.2)
    assert np.allclose(moving_alert.states[-1].position, held, atol=1e-3), "braked until enabled"
    enable(moving_alert)
    assert_reaches(moving_alert, ur5, moving_alert.goal)
    assert_no_jump(moving_alert.states, ur5)


@pytest.mark.campaign
@pytest.mark.parametrize("seconds", [0.03, 1.0, 10.0])
def test_a_simulator_that_was_stopped_goes_on_where_it_was(moving, ur5, seconds):
    """Its time stops with it, so nothing is late: the arm goes on."""
    simulator = moving.processes["simulator"]
    simulator.send_signal(signal.SIGSTOP)
    end = moving.clock.now + seconds
    moving.spin(lambda: moving.clock.now >= end)
    simulator.send_signal(signal.SIGCONT)
    assert_reaches(moving, ur5, moving.goal)
    assert_no_jump(moving.states, ur5)


@pytest.mark.campaign
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_nothing_depends_on_the_node_that_publishes_terms(moving, ur5, number):
    terms: list[Float64MultiArray] = []
    moving.start("dynamics", robot_description=urdf_path("ur5").read_text(), rate=0.0)
    moving.hear(Float64MultiArray, "dynamics/mass_matrix", terms)
    moving.spin(lambda: terms, "terms of the model")
    moving.processes["dynamics"].send_signal(number)
    assert_reaches(moving, ur5, moving.goal)
    assert_no_jump(moving.states, ur5)


BAD = {
    "nan": lambda m: m.position.__setitem__(2, float("nan")),
    "wrong length": lambda m: m.position.pop(),
    "renamed": lambda m: setattr(m, "name", ["other_joint", *m.name[1:]]),
    "duplicated": lambda m: setattr(m, "name", [m.name[1], *m.name[1:]]),
}
SAYS = {
    "nan": "position is not finite",
    "wrong length": "6 joint names with 5 position values",
    "renamed": "no position for joint shoulder_pan_joint",
    "duplicated": "joint named twice: shoulder_lift_joint",
}


tells_publishers_apart = pytest.mark.skipif(
    not hasattr(rclpy.subscription, "MessageInfo"), reason="this release of ROS does not say who published a message"
)


@tells_publishers_apart
def test_a_second_publisher_of_states_is_refused(moving, ur5):
    """With newer stamps, at another place: nothing of it is believed."""
    intruder = moving.publisher(JointState, "joint_states")

    def intrude() -> bool:
        next_state(moving)
        newer = nanoseconds(moving.states[-1].header.stamp) + 2_000_000
        intruder.publish(
            ros.joint_state(ur5.joint_names, newer, position=np.array(HOME) + 0.5, velocity=np.full(6, 9.0))
        )
        return "joint_states refused: second publisher of joint states" in moving.log("osc")

    moving.spin(intrude, what="the refusal")
    for _ in range(50):
        intrude()
    moving.states[:] = [state for state in moving.states if state.effort]
    assert_reaches(moving, ur5, moving.goal)
    assert_no_jump([state for state in moving.states if state.effort], ur5)


def test_bad_joint_states(rig, ur5):
    """Each is refused by name; whoever waits hears that at once; the next good state is answered."""
    rig.start("osc", robot_description=urdf_path("ur5").read_text(), lock_step=True)
    driver = rig.state_publisher()
    rig.driver = driver
    rig.spin(lambda: all(rig.matched()), what="the controller's commands")
    rig.answer(driver, home_state(ur5, MS))
    driver.publish(bytes([0, 1, 0, 0]))
    rig.spin(lambda: "joint_states refused: not a JointState: it ends after 4 bytes" in rig.log("osc"))
    for step, kind in enumerate([*BAD], start=2):
        message = ros.joint_state(ur5.joint_names, step * MS, position=np.array(HOME), velocity=np.zeros(6))
        BAD[kind](message)
        driver.publish(message)
        rig.spin(lambda kind=kind: f"joint_states refused: {SAYS[kind]}" in rig.log("osc"), what=SAYS[kind])
        rig.spin(lambda step=step: nanoseconds(rig.commands[-1].header.stamp) == step * MS)
        assert brake_reason(rig.commands[-1])
    show_state(rig, ur5, 10 * MS)
    rig.spin(lambda: nanoseconds(rig.commands[-1].header.stamp) == 10 * MS)
    assert not brake_reason(rig.commands[-1])


def test_bad_commands(rig, ur5):
    """The simulator refuses them, says why, and holds the arm."""
    rig.start("simulator", robot="ur5", initial_position=HOME)
    controller = rig.publisher(JointState, "joint_commands")
    rig.until(0.1)

    def send_bad(kind: str) -> bool:
        """Send a bad command; whether the simulator has refused one of this sort: it hears only the newest."""
        message = ros.joint_state(ur5.joint_names, 0, position=np.zeros(6), effort=np.full(6, 20.0))
        BAD[kind](message)
        message.effort, message.position = message.position, []
        message.header.stamp = rig.states[-1].header.stamp
        controller.publish(message)
        next_state(rig)
        return f"joint_commands refused: {SAYS[kind].replace('position', 'effort')}" in rig.log("simulator")

    for kind in [*BAD] * 10:
        send_bad(kind)
    for kind in BAD:
        rig.spin(partial(send_bad, kind), what=SAYS[kind])
    assert np.allclose(rig.states[-1].position, HOME, atol=1e-6)
    assert_no_jump(rig.states, ur5)


def test_states_in_any_order_and_with_other_joints(rig, ur5):
    """The same state, joints shuffled and strangers among them, gives the same torque."""
    rig.start("osc", robot_description=urdf_path("ur5").read_text(), lock_step=True)
    states = rig.state_publisher()
    q, v = np.array(HOME), np.linspace(-0.3, 0.3, 6)
    rig.answer(states, ros.joint_state(ur5.joint_names, 1_000_000, position=q, velocity=v))
    order = [3, 0, 5, 1, 4, 2]
    names = ["finger", *(ur5.joint_names[i] for i in order)]
    shuffled = ros.joint_state(
        names, 2_000_000, position=np.array([7.0, *q[order]]), velocity=np.array([7.0, *v[order]])
    )
    states.publish(shuffled)
    rig.spin(lambda: len(rig.commands) == 2)
    first, second = rig.commands
    assert list(first.name) == list(second.name) == list(ur5.joint_names)
    assert np.allclose(first.effort, second.effort, atol=1.0 + 1e-9)  # one step of the rate limit
    states.publish(ros.joint_state(names, 3_000_000, position=shuffled.position, velocity=shuffled.velocity))
    assert "refused" not in rig.log("osc")


def test_targets_in_an_unknown_frame_or_that_are_no_pose(moving, ur5):
    moving.target_publisher.publish(target([0.4, 0.0, 0.4], ur5.pose(HOME), frame="kitchen"))
    moving.spin(lambda: "target_pose refused: unknown frame 'kitchen'" in moving.log("osc"))
    assert "base_link" in moving.log("osc")
    bad = target([float("inf"), 0.0, 0.4], ur5.pose(HOME))
    moving.target_publisher.publish(bad)
    moving.spin(lambda: "target_pose refused: position" in moving.log("osc"))
    no_rotation = target([0.4, 0.0, 0.4], ur5.pose(HOME))
    no_rotation.pose.orientation.w = no_rotation.pose.orientation.x = 0.0
    no_rotation.pose.orientation.y = no_rotation.pose.orientation.z = 0.0
    moving.target_publisher.publish(no_rotation)
    moving.spin(lambda: "target_pose refused: quaternion" in moving.log("osc"))
    assert_reaches(moving, ur5, moving.goal)


@tells_publishers_apart
def test_second_publisher_on_the_command_topic(moving, ur5):
    intruder = moving.publisher(JointState, "joint_commands")

    def intrude() -> bool:
        next_state(moving)
        bad = ros.joint_state(ur5.joint_names, nanoseconds(moving.states[-1].header.stamp), effort=np.full(6, 25.0))
        intruder.publish(bad)
        return "joint_commands refused: second publisher" in moving.log("simulator")

    for _ in range(50):
        intrude()
    moving.spin(intrude)
    assert_reaches(moving, ur5, moving.goal)
    assert_no_jump(moving.states, ur5)


@pytest.fixture
def alone(rig, ur5):
    """The node ``gate`` in lock step, with a driver and two controllers that are the test's own."""
    description = urdf_path("ur5").read_text()
    rig.start("gate", robot_description=description, lock_step=True, max_missed=1000, driver_adds_gravity=True)
    rig.driver = rig.state_publisher()
    rig.first, rig.second = (rig.publisher(JointState, "effort_in") for _ in range(2))
    return rig


def show_state(rig, model: RobotModel, stamp_ns: int) -> None:
    rig.driver.publish(home_state(model, stamp_ns))


def home_state(model: RobotModel, stamp_ns: int) -> JointState:
    return ros.joint_state(model.joint_names, stamp_ns, position=np.array(HOME), velocity=np.zeros(6))


def send(publisher, model: RobotModel, stamp_ns: int, pan: float) -> None:
    publisher.publish(ros.joint_state(model.joint_names, stamp_ns, effort=[pan, *model.gravity(HOME)[1:]]))


def answers(rig) -> list[tuple[int, float]]:
    """Stamps and torques of the first joint that the gate has sent."""
    return [(nanoseconds(command.header.stamp), command.effort[0]) for command in rig.commands]


MS = 1_000_000


def test_the_gate_listens_to_one_publisher_until_it_is_enabled(alone, ur5):
    for step, (publisher, pan) in enumerate([(alone.first, 0.25), (alone.first, 0.5)], start=1):
        show_state(alone, ur5, step * MS)
        send(publisher, ur5, step * MS, pan)
        alone.spin(lambda n=step: len(alone.commands) == n)
    assert np.abs(alone.commands[-1].effort[1:]).max() < 1e-9, "its driver adds gravity"
    show_state(alone, ur5, 3 * MS)
    send(alone.second, ur5, 3 * MS, -0.25)
    alone.spin(lambda: "effort_in refused: second publisher on the topic" in alone.log("gate"))
    send(alone.first, ur5, 3 * MS, 0.75)
    alone.spin(lambda: len(alone.commands) == 3)
    for data in (False, True):
        assert alone.call("gate/enable", SetBool.Request(data=data)).success
    show_state(alone, ur5, 4 * MS)
    send(alone.second, ur5, 4 * MS, 0.5)
    alone.spin(lambda: len(alone.commands) == 4)
    assert answers(alone) == [(1 * MS, 0.0), (2 * MS, 0.5), (3 * MS, 0.75), (4 * MS, 0.5)]


def test_repeated_stamps_are_answered_from_the_cache(alone, ur5):
    """The first tick has no period yet, so its torque is the weight; a step per computed tick would follow."""
    for step in (1, 2):
        show_state(alone, ur5, step * MS)
        send(alone.first, ur5, step * MS, 20.0)
        alone.spin(lambda n=step: len(alone.commands) == n)
    for count in (3, 4, 5):
        send(alone.first, ur5, 2 * MS, -20.0)
        alone.spin(lambda n=count: len(alone.commands) == n)
    show_state(alone, ur5, 2 * MS)
    alone.spin(lambda: len(alone.commands) == 6)
    show_state(alone, ur5, 3 * MS)
    send(alone.first, ur5, 3 * MS, 20.0)
    alone.spin(lambda: len(alone.commands) == 7)
    stamps, torques = zip(*answers(alone), strict=True)
    assert stamps == (MS, *[2 * MS] * 5, 3 * MS)
    assert np.allclose(torques, [0.0, *[1.0] * 5, 2.0], atol=1e-12), "1 N m more for each new state"


def test_a_command_may_come_one_period_before_its_state_but_not_from_the_future(alone, ur5):
    for step in (1, 2):
        show_state(alone, ur5, step * MS)
        send(alone.first, ur5, step * MS, 0.5)
        alone.spin(lambda n=step: len(alone.commands) == n)
    send(alone.first, ur5, 3 * MS, 0.75)
    show_state(alone, ur5, 3 * MS)
    alone.spin(lambda: len(alone.commands) == 3)
    send(alone.first, ur5, 5 * MS, 0.25)
    alone.spin(lambda: "effort_in refused: from the future: 2.0 ms ahead, allowed 1.0 ms" in alone.log("gate"))
    assert answers(alone)[-1] == (3 * MS, 0.75)


def test_the_gate_brakes_where_another_node_commands_its_driver(alone, ur5):
    show_state(alone, ur5, MS)
    send(alone.first, ur5, MS, 0.5)
    alone.spin(lambda: len(alone.commands) == 1)
    for topic, kind in (("joint_commands", JointState), ("effort_controller/commands", Float64MultiArray)):
        rival = alone.node.create_publisher(kind, topic, 10)
        reason = f"/{topic} has other publishers than this gate: "
        said = f"braking: {reason}/test"
        alone.spin(lambda said=said: said in alone.log("gate"), what=said)
        shown = alone.call("gate/enable", SetBool.Request(data=False)).message
        assert shown.removeprefix(reason) in ("/test", "one that is not known yet"), "as the middleware has told so far"
        alone.node.destroy_publisher(rival)
        alone.spin(lambda topic=topic: alone.node.count_publishers(topic) == 1, what="the end of the rival")
        assert alone.call("gate/enable", SetBool.Request(data=True)).message == EffortGate.ENABLED_REASON


PATIENT = {"max_missed": 1000, "max_age": 5.0}


def test_the_command_line_enables_every_gate_and_nothing_else(rig, ur5):
    rig.start("osc", "-r", "__ns:=/cell", publish_effort_array=False, **PATIENT)
    slow = {"real_time_factor": 0.1, **PATIENT}
    rig.start("simulator", "-r", "__ns:=/cell", robot="ur5", initial_position=HOME, **slow)
    called = []
    rig.node.create_service(SetBool, "/cell/camera/enable", lambda request, response: called.append(1) or response)
    for name in ("simulator", "osc"):  # the other way round the simulator would brake because the controller does
        rig.spin(lambda n=name: "robot with joints" in rig.log(n))
        assert rig.call(f"cell/{name}/enable", SetBool.Request(data=False)).message == "disabled"
    assert rig.command("enable", "--namespace", "elsewhere", label="elsewhere") == 2
    assert rig.command("enable", "--namespace", "cell") == 0
    assert "no gate is running in elsewhere" in rig.log("elsewhere")
    *before, outlook, simulator, osc, simulator_now, osc_now = rig.log("enable").splitlines()
    assert [line.split()[:3] for line in before] == [
        ["/cell/simulator", "braking", "disabled"],
        ["/cell/osc", "braking", "disabled"],
    ]
    assert outlook == OUTLOOK
    assert [line.split(":")[0] for line in (simulator, osc)] == ["/cell/simulator", "/cell/osc"]
    assert "disabled" not in simulator + osc
    assert [line.split()[0] for line in (simulator_now, osc_now)] == ["/cell/simulator", "/cell/osc"]
    assert all(line.split()[1] in ("passing", "holding") for line in (simulator_now, osc_now))
    assert not called


def test_unknown_parameter(rig):
    rig.start("osc", kp_liner=100.0)
    assert rig.wait("osc") == 2
    assert "node osc: unknown kp_liner" in rig.log("osc")
    assert "kp_linear" in rig.log("osc")
    assert "Traceback" not in rig.log("osc")


def test_parameter_out_of_bounds(rig):
    rig.start("osc", kp_linear=-1.0)
    assert rig.wait("osc") == 2
    assert "kp_linear = -1.0 is out of bounds" in rig.log("osc")


def test_ros_own_parameters_are_no_unknown_ones(rig):
    """Nor are empty lists, which ``ros2 param dump`` writes, and which have no type."""
    rig.start("osc", use_sim_time=True, qos_overrides={"/clock": {"subscription": {"depth": 1}}}, armature=[])
    rig.start("simulator", robot="ur5", initial_position=HOME)
    rig.spin(lambda: rig.commands, what="commands")


def test_urdf_with_a_mass_of_nan_as_parameter(rig):
    rig.start("osc", robot_description=urdf_with_nan())
    assert rig.wait("osc") == 2
    assert "link 'upper_arm_link'" in rig.log("osc")
    assert "Traceback" not in rig.log("osc")


def test_urdf_with_a_mass_of_nan_on_the_topic(rig):
    """The node says so and waits for a better one."""
    process = rig.start("osc")
    description = rig.publisher(String, "robot_description", LATCHED)
    description.publish(String(data=urdf_with_nan()))
    rig.spin(lambda: "robot_description refused" in rig.log("osc"))
    assert process.poll() is None
    description.publish(String(data=urdf_path("ur5").read_text()))
    rig.spin(lambda: "robot with joints shoulder_pan_joint" in rig.log("osc"))


def urdf_with_nan() -> str:
    text = urdf_path("ur5").read_text()
    assert text.count('<mass value="8.393"/>') == 1
    return text.replace('<mass value="8.393"/>', '<mass value="nan"/>')


def test_a_gate_that_ends_brings_the_arm_to_rest_first(moving_behind_a_gate):
    """A driver holds the last torque that it got."""
    rig = moving_behind_a_gate
    rig.processes["gate"].send_signal(signal.SIGINT)
    assert rig.wait("gate") == 0
    assert "the arm rests: the node ends" in rig.log("gate")
    ended_at = stamp(rig.states[-1])
    rig.spin(lambda: stamp(rig.states[-1]) > ended_at + 0.5, what="half a second")
    assert max(map(abs, rig.states[-1].velocity)) < 2 * AT_REST


@pytest.mark.campaign
def test_gate_killed(moving_behind_an_alert_gate, ur5):
    rig = moving_behind_an_alert_gate
    rig.processes["gate"].kill()
    rig.wait("gate")
    rig.spin(lambda: "braking: no command for 20 states" in rig.log("simulator"), what="the brake")
    assert_brakes(rig, ur5, stamp(rig.commands[-1]))


@pytest.mark.campaign
@pytest.mark.parametrize("seconds", [0.04, 1.0, 10.0])
def test_gate_stopped_for_a_while(moving_behind_an_alert_gate, ur5, seconds):
    """What it makes of the messages that waited for it moves nothing: the driver stays braked until it is enabled."""
    rig = moving_behind_an_alert_gate
    gate = rig.processes["gate"]
    gate.send_signal(signal.SIGSTOP)
    rig.until(rig.time + seconds)
    rig.spin(lambda: "braking: no command for 20 states" in rig.log("simulator"), what="the brake")
    lost_at = stamp(rig.commands[-1])
    gate.send_signal(signal.SIGCONT)
    assert_brakes(rig, ur5, lost_at)
    held = np.array(rig.states[-1].position)
    rig.until(rig.time + 0.2)
    assert np.allclose(rig.states[-1].position, held, atol=1e-3)
    enable(rig, ("osc", "gate", "simulator"))
    assert_reaches(rig, ur5, rig.goal)
    assert_no_jump(rig.states, ur5)
