"""The nodes' interfaces: what they publish, what they accept, how they end."""

import itertools
import os
import pkgutil
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from fork_server import ForkServer
from geometry_msgs.msg import PoseStamped, TwistStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.publisher import Publisher
from rig import HOME, LATCHED, PATIENCE, Rig, spin_through_stalls, stamp, target
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from std_srvs.srv import SetBool

from arm_control import OscParameters, RobotModel, nodes, urdf_path
from arm_control.control import task_inertia
from arm_control.messages import PublisherLock, nanoseconds, pose_from_message
from arm_control.nodes import ros
from arm_control.nodes.support.topics import LATEST


def matrix(message: Float64MultiArray, *names: str) -> np.ndarray:
    """The array of a message, by its labelled dimensions."""
    labels = [f"{axis}: {part}" for axis, part in zip(("rows", "cols"), names, strict=False)]
    first, *others = [dim.label for dim in message.layout.dim]
    assert re.sub(r"; stamp: 0\.\d{9}$", "", first) == labels[0] != first
    assert others == labels[1:]
    return np.array(message.data).reshape([dim.size for dim in message.layout.dim])


def test_dynamics_publishes_what_the_model_says(rig, ur5):
    rig.start("dynamics", robot_description=urdf_path("ur5").read_text(), rate=0.0)
    heard = {name: [] for name in ("jacobian", "mass_matrix", "gravity", "bias", "task_inertia")}
    for name, messages in heard.items():
        rig.hear(Float64MultiArray, f"dynamics/{name}", messages)
    poses, twists, joints, failures = [], [], [], []
    rig.hear(JointState, "dynamics/ik", joints)
    rig.hear(String, "dynamics/ik_failure", failures)
    rig.hear(PoseStamped, "dynamics/pose", poses)
    rig.hear(TwistStamped, "dynamics/twist", twists)
    states = rig.publisher(JointState, "joint_states")
    q, v = np.array(HOME), np.linspace(-0.5, 0.5, 6)
    stamps = itertools.count(5_000_000, 1_000_000)

    def complete() -> bool:
        """Nodes that have not matched yet do not hear the first messages, and one state is answered once."""
        states.publish(ros.joint_state(ur5.joint_names, next(stamps), position=q, velocity=v))
        return bool(all(heard.values()) and poses and twists)

    rig.spin(complete, what="all topics")
    t = ur5.evaluate(q, v)
    Lambda = task_inertia(t.J, t.M, OscParameters().characteristic_length, OscParameters().singular_value)
    wanted = {"jacobian": t.J, "mass_matrix": t.M, "gravity": t.g, "bias": t.h, "task_inertia": Lambda}
    columns, twist = ", ".join(ur5.joint_names), "x, y, z, rx, ry, rz"
    for name, values in wanted.items():
        rows = twist if name in ("jacobian", "task_inertia") else columns
        names = (rows, twist if name == "task_inertia" else columns)[: values.ndim]
        assert np.allclose(matrix(heard[name][0], *names), values, rtol=1e-9, atol=1e-12), name
    assert np.allclose(pose_from_message(poses[0]).p, t.X_WE.p)
    assert np.allclose(pose_from_message(poses[0]).R, t.X_WE.R)
    assert poses[0].header.frame_id == "base_link"
    assert 0.005 <= min(stamp(poses[0]), stamp(twists[0])) <= next(stamps) * 1e-9
    linear, angular = twists[0].twist.linear, twists[0].twist.angular
    assert np.allclose([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z], t.V_WE)
    wanted_poses = rig.publisher(PoseStamped, "ik_target")
    wanted_poses.publish(target((t.X_WE.p + [0.0, 0.05, 0.0]).tolist(), t.X_WE, seconds=7.0))
    wanted_poses.publish(target([3.0, 0.0, 0.0], t.X_WE))
    rig.spin(lambda: joints and failures, what="answers to both")
    assert np.allclose(ur5.pose(np.array(joints[0].position)).p, t.X_WE.p + [0.0, 0.05, 0.0], atol=1e-5)
    assert np.abs(np.array(joints[0].position) - q).max() < 0.3, "near to the measured ones"
    assert stamp(joints[0]) == 7.0
    assert failures[0].data.startswith("out of reach")


def test_simulator_publishes_description_states_and_clock(rig, ur5):
    descriptions, clocks = [], []
    rig.hear(String, "robot_description", descriptions, LATCHED)
    rig.hear(Clock, "/clock", clocks)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.5)
    rig.until(0.05)
    rig.spin(lambda: descriptions, what="robot_description")
    assert RobotModel.from_urdf(descriptions[0].data).joint_names == ur5.joint_names
    assert np.allclose(rig.states[-1].position, HOME, atol=1e-9), "held until the first command"
    assert clocks[-1].clock.nanosec % 1_000_000 == 0
    assert len(clocks) >= len(rig.states) - 5


def test_two_arms_have_one_clock(rig):
    """The first in the alphabet owns it, and the other one when that has ended."""
    clocks = []
    rig.hear(Clock, "/clock", clocks)
    names = ("left", "right")
    for name in names:
        rig.start("simulator", "-r", f"__ns:=/{name}", label=name, robot="ur5", real_time_factor=0.1)
    rig.spin(lambda: clocks and "/clock is left to /left/simulator" in rig.log("right"), what="one owner")
    assert "is left to" not in rig.log("left")
    rig.processes["left"].send_signal(signal.SIGINT)
    rig.wait("left")
    newest = clocks[-1]
    rig.spin(lambda: rig.node.count_publishers("/clock") == 1, what="the end of the owner")
    heard = len(clocks)
    rig.spin(lambda: len(clocks) > heard + 5 and clocks[-1] != newest, what="the clock of the other one")


def test_osc_tells_what_its_torque_is_made_of(stepping, ur5):
    terms = {name: [] for name in ("task", "posture", "bias", "gate")}
    for name, messages in terms.items():
        stepping.hear(JointState, f"torque_terms/{name}", messages)
    condition, diagnostics = [], []
    stepping.hear(Float64, "controller_state/condition_number", condition)
    stepping.hear(DiagnosticArray, "/diagnostics", diagnostics)

    def complete() -> set[float]:
        return set.intersection(*({stamp(m) for m in messages} for messages in [stepping.commands, *terms.values()]))

    def reporting() -> set[str]:
        return {status.name for array in diagnostics for status in array.status}

    stepping.spin(lambda: len(complete()) > 3 and condition and reporting() >= {"/osc", "/simulator"})
    for at in sorted(complete())[1:3]:
        parts = [next(np.array(m.effort) for m in messages if stamp(m) == at) for messages in terms.values()]
        command = next(np.array(m.effort) for m in stepping.commands if stamp(m) == at)
        assert np.allclose(sum(parts), command, atol=1e-9)
    assert 1.0 < condition[-1].data < 100.0
    assert stepping.node.count_publishers("effort_controller/commands") == 0, "publish_effort_array is false"


def test_gains_change_live_and_bad_ones_are_refused(stepping, ur5):
    def set_parameter(name: str, value: ParameterValue):
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        return stepping.call("osc/set_parameters", request, SetParameters).results[0]

    def number(value: float) -> ParameterValue:
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)

    assert set_parameter("kp_linear", number(100.0)).successful
    whole = ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=150)
    assert set_parameter("kp_linear", whole).successful, "a whole number is a number"
    shown = GetParameters.Request(names=["kp_linear"])
    is_float = lambda: stepping.call("osc/get_parameters", shown, GetParameters).values[0].type == number(0.0).type  # noqa: E731
    stepping.spin(is_float, what="a float for the whole number")
    refused = set_parameter("kp_linear", number(-1.0))
    assert not refused.successful
    assert "kp_linear = -1.0 is out of bounds" in refused.reason
    assert set_parameter("acceleration_limit_linear", number(5.0)).successful
    too_fast = set_parameter("speed_limit_linear", number(50.0))
    assert not too_fast.successful
    assert "acceleration_limit_linear" in too_fast.reason
    assert not set_parameter("tip", ParameterValue(type=ParameterType.PARAMETER_STRING, string_value="x")).successful
    described = stepping.call(
        "osc/describe_parameters", DescribeParameters.Request(names=["kp_linear"]), DescribeParameters
    )
    assert "stiffness of the position [1/s^2]" in described.descriptors[0].description
    efforts = np.array([m.effort for m in stepping.commands])
    assert np.abs(np.diff(efforts, axis=0)).max() <= 1.0 + 1e-9, "smooth while the gains changed"
    stepping.spin(lambda: np.allclose(ur5.pose(np.array(stepping.states[-1].position)).p, goal(stepping), atol=1e-3))


def test_best_effort_states_are_heard_and_best_effort_targets_are_said_not_to_be(rig: Rig, ur5: RobotModel):
    rig.start("osc", publish_effort_array=False, robot_description=Path(urdf_path("ur5")).read_text())
    states = rig.node.create_publisher(JointState, "joint_states", LATEST)
    rig.node.create_publisher(PoseStamped, "target_pose", LATEST)
    rig.spin(states.get_subscription_count, what="osc")
    numbers = itertools.count(1)

    def is_answered() -> bool:
        states.publish(ros.joint_state(ur5.joint_names, next(numbers) * 1_000_000, position=HOME, velocity=[0.0] * 6))
        return len(rig.commands) > 5

    rig.spin(is_answered, what="commands")
    assert "/joint_states has a best-effort publisher: messages that are lost" in rig.log("osc")
    rig.spin(
        lambda: "/target_pose has a best-effort publisher that is not heard" in rig.log("osc"), what="the sentence"
    )


@pytest.mark.parametrize("name", ["osc", "simulator"])
def test_every_parameter_has_a_value_and_bounds_are_ranges(rig: Rig, name: str):
    """``ros2 param dump`` shows nothing where one value is missing; sliders need a range."""
    rig.start(name, **({"robot": "ur5"} if name == "simulator" else {}))
    names = rig.call(f"{name}/list_parameters", ListParameters.Request(), ListParameters).result.names
    values = rig.call(f"{name}/get_parameters", GetParameters.Request(names=names), GetParameters).values
    assert len(values) == len(names) > 20
    types = {one: value.type for one, value in zip(names, values, strict=True)}
    assert types["effort_limits"] == ParameterType.PARAMETER_STRING_ARRAY
    assert ParameterType.PARAMETER_NOT_SET not in types.values()
    described = rig.call(f"{name}/describe_parameters", DescribeParameters.Request(names=names), DescribeParameters)
    bounds = {one.name: one.floating_point_range for one in described.descriptors}
    assert [(one.from_value, one.to_value) for one in bounds["limit_stiffness"]] == [(0.1, 200.0)]
    assert len(bounds["limit_margin"]) == 0, "one bound is no range"


def goal(rig) -> list[float]:
    p = rig.goal.pose.position
    return [p.x, p.y, p.z]


def test_a_target_in_a_moving_frame_is_fixed_when_it_becomes_active(rig, ur5):
    """10 cm ahead of the tool means: from where the tool is now."""
    rig.start("osc", lock_step=True, publish_effort_array=False)
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=True, loss_time=PATIENCE)
    targets = rig.publisher(PoseStamped, "target_pose")
    rig.until(0.1)
    ahead = PoseStamped()
    ahead.header.frame_id = "tool0"
    ahead.pose.position.z = 0.1
    targets.publish(ahead)
    start = ur5.pose(HOME)
    wanted = start.p + 0.1 * start.R[:, 2]
    rig.spin(lambda: np.allclose(ur5.pose(np.array(rig.states[-1].position)).p, wanted, atol=1e-4))


def test_a_command_without_a_stamp(rig, ur5):
    """``effort_controller/commands``, as for ros2_control, moves the arm too."""
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.25, max_missed=1000)
    controller = rig.publisher(Float64MultiArray, "effort_controller/commands")
    rig.until(0.01)
    push = ur5.gravity(HOME) + [20.0, 0.0, 0.0, 0.0, 0.0, 0.0]

    def moves() -> bool:
        controller.publish(Float64MultiArray(data=push.tolist()))
        return rig.states[-1].velocity[0] > 0.2

    rig.spin(moves)


@pytest.mark.parametrize("lock_step", [True, False])
def test_the_simulator_obeys_one_publisher_until_it_is_enabled(lock_step: bool, rig: Rig, ur5: RobotModel):
    """Or, in real time, until that one has been silent; commands with stamps replace those without."""
    rig.start("simulator", robot="ur5", initial_position=HOME, lock_step=lock_step, max_missed=100_000, max_age=5.0)
    first, second = (rig.publisher(JointState, "joint_commands") for _ in range(2))
    array = rig.publisher(Float64MultiArray, "effort_controller/commands")
    tau = ur5.gravity(HOME)
    rig.spin(lambda: rig.states, what="a state")

    def pushed_by(publisher: Publisher, push: float, n: int = 3) -> list[float]:
        """Push the first joint for some states; return the torque there is."""
        efforts = tau + [push, 0.0, 0.0, 0.0, 0.0, 0.0]
        for _ in range(n):
            state, heard = rig.states[-1], len(rig.states)
            message = ros.joint_state(ur5.joint_names, nanoseconds(state.header.stamp), effort=efforts)
            publisher.publish(message if publisher is not array else Float64MultiArray(data=efforts.tolist()))
            rig.spin(lambda heard=heard: len(rig.states) > heard, what="a state")
        return list(rig.states[-1].effort)

    def log() -> str:
        return rig.log("simulator")

    assert pushed_by(array, 0.5)[0] == pytest.approx(0.5, abs=1e-3), "without stamps"
    assert pushed_by(first, 0.25)[0] == pytest.approx(0.25, abs=1e-3)
    assert pushed_by(array, 0.5)[0] == pytest.approx(0.25, abs=1e-3), "stamps are there now"
    assert pushed_by(second, -0.25)[0] == pytest.approx(0.25, abs=1e-3)
    assert "joint_commands refused: second publisher" in log()
    rig.call("simulator/pause", SetBool.Request(data=True))
    silent_until = rig.clock.now + PublisherLock.SILENCE + 0.1
    rig.spin(lambda: rig.clock.now > silent_until, what="silence")
    expected = 0.25 if lock_step else -0.25
    rig.call("simulator/pause", SetBool.Request(data=False))
    assert pushed_by(second, -0.25)[0] == pytest.approx(expected, abs=1e-3)
    for data in (False, True):
        assert rig.call("simulator/enable", SetBool.Request(data=data)).success
    rig.spin(lambda: len(rig.states) > 5, what="states")
    assert pushed_by(second, -0.25, 20)[0] == pytest.approx(-0.25, abs=1e-3)


def test_gate_as_a_node_of_its_own(rig, ur5):
    """Controller -> gate -> simulator; the controller dies, and the gate brakes."""
    rig.start("gate", max_age=5.0)
    rig.start("osc", "-r", "joint_commands:=effort_in", max_age=5.0)
    rig.start("simulator", robot="ur5", initial_position=HOME, real_time_factor=0.2, max_missed=200, max_age=5.0)
    rig.until(0.1)
    array = rig.node.get_publishers_info_by_topic("effort_controller/commands")
    assert [info.node_name for info in array] == ["gate"], "nothing goes around the gate"
    targets = rig.publisher(PoseStamped, "target_pose")
    start = ur5.pose(HOME)
    goal = target((start.p + [-0.1, -0.3, 0.15]).tolist(), start)
    targets.publish(goal)
    spin_through_stalls(
        rig, lambda: max(map(abs, rig.states[-1].velocity)) > 0.5, "motion", lambda: targets.publish(goal)
    )
    rig.processes["osc"].kill()
    rig.wait("osc")
    heard = len(rig.states)
    rig.spin(lambda: len(rig.states) > heard, what="the states until then")
    killed = rig.time
    rig.spin(lambda: max(map(abs, rig.states[-1].velocity)) < 0.01, what="rest")
    rest = next(s for s in rig.states if stamp(s) > killed and max(map(abs, s.velocity)) < 0.01)
    assert stamp(rest) - killed < 0.6
    rig.until(rig.time + 0.3)
    assert "braking: the controller brakes: no command for 20 states" in rig.log("simulator"), "the gate says so"
    assert max(map(abs, rig.states[-1].velocity)) < 0.01


@pytest.mark.processes
def test_clean_exit(rig):
    parameters = {"simulator": {"robot": "ur5"}, "targets": {"file": "ur5_reach"}}
    names = ("dynamics", "gate", "osc", "simulator", "targets")
    nodes = {name: rig.start_process(name, **parameters.get(name, {})) for name in names}
    rig.spin(lambda: set(nodes) <= set(rig.node.get_node_names()), what="all nodes")
    rig.spin(lambda: rig.node.count_publishers("/parameter_events") > len(nodes))
    for (name, process), number in zip(nodes.items(), itertools.cycle([signal.SIGINT, signal.SIGTERM])):
        process.send_signal(number)
        assert rig.wait(name) == 0, name
        assert "Traceback" not in rig.log(name)


SIGNAL_WHILE_MADE = """
import os, signal, rclpy
from arm_control.nodes.support.running import run
from arm_control.nodes.dynamics import DynamicsNode

def node():
    made = DynamicsNode()
    os.kill(os.getpid(), signal.SIGINT)
    while rclpy.ok():
        pass
    return made

run(node)
"""


SIGNAL_WHILE_COMPILED = """
import os, signal, sys, rclpy
from arm_control import urdf_path
from arm_control.control.controller import ArmNodeParameters
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.running import run

class Node(ArmNode):
    def __init__(self):
        super().__init__("slow", ArmNodeParameters)
        self.take_model(urdf_path("planar1").read_text())

    def on_model(self, first):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        while True:
            pass

run(Node, arguments=[])
"""


REFUSED = """
import sys, weakref, rclpy
from arm_control.exceptions import ParameterError
from arm_control.control.controller import ArmNodeParameters
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.running import run

class Node(ArmNode):
    def __init__(self):
        global node
        super().__init__("refused", ArmNodeParameters)
        node = weakref.ref(self)
        raise ParameterError("no")

end = rclpy.try_shutdown
def shutdown():
    print("gone before its context" if node() is None else "still there")
    end()
rclpy.try_shutdown = shutdown
run(Node, arguments=[])
"""


@pytest.mark.processes
def test_run_reports_a_node_that_dies_by_name(rig):
    process = rig.run("run", "-m", "arm_control.app.cli", "run", "ur5_osc", "--duration", "60", is_forked=False)
    rig.until(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children}
    osc = next(int(pid) for pid, command in commands.items() if "arm_control.nodes\0osc" in command)
    os.kill(osc, signal.SIGKILL)
    assert rig.wait("run") == 3
    assert "osc ended (killed by SIGKILL)" in rig.log("run")
    assert not any(Path(f"/proc/{pid}").exists() for pid in children), "the rest is stopped"


def test_run_refuses_a_parameter_file_with_an_unknown_node_or_key(rig):
    wrong_node = rig.folder / "node.yaml"
    wrong_node.write_text("ocs:\n  ros__parameters:\n    kp_linear: 100.0\n")
    status = rig.command("run", "ur5_osc", "--params-file", str(wrong_node), label="node")
    assert status == 2
    assert "'ocs' is not a node of the scenario" in rig.log("node")
    wrong_key = rig.folder / "key.yaml"
    wrong_key.write_text("osc:\n  ros__parameters:\n    kp_liner: 100.0\n")
    status = rig.command("run", "ur5_osc", "--params-file", str(wrong_key), label="key")
    assert status == 2
    assert "key.yaml: osc: unknown kp_liner; allowed: " in rig.log("key")
    assert "did you mean 'kp_linear'?" in rig.log("key")


EARLY = """
import os, signal, rclpy
from arm_control.nodes.support.running import run
start = rclpy.init
def interrupted(*args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    start(*args, **options)
rclpy.init = interrupted
run(lambda: exit("a node was made"), arguments=[])
"""


@pytest.mark.processes
def test_a_process_ends_at_any_moment_of_its_start(rig):
    """A signal before ROS listens, while a node is made, and while it compiles; a node that is refused."""
    rig.run("early", "-c", EARLY)
    rig.run("made", "-c", SIGNAL_WHILE_MADE)
    rig.run("compiled", "-c", SIGNAL_WHILE_COMPILED, "SIGINT")
    rig.run("compiled too", "-c", SIGNAL_WHILE_COMPILED, "SIGTERM")
    rig.run("refused", "-c", REFUSED)
    for name in ("early", "made", "compiled", "compiled too"):
        assert rig.wait(name) == 0, rig.log(name)
        assert "Traceback" not in rig.log(name)
    assert rig.wait("refused") == 2
    assert "arm_control: no" in rig.log("refused")
    assert "gone before its context" in rig.log("refused")


@pytest.mark.processes
def test_every_executable_starts_as_a_module_of_its_own(rig):
    """Forked from a process that has imported only what every node has; in other tests that process has everything."""
    server = ForkServer.launch(rig.environment(), f"{nodes.__name__}.support.arm_node")
    rig.server = lambda: server
    modules = (module.name for module in pkgutil.iter_modules(nodes.__path__) if not module.ispkg)
    names = [name for name in modules if name != "__main__"]
    assert {"osc", "joint", "ilqr", "simulator", "gate"} <= set(names)
    for name in names:
        options = ["--ros-args", "-p", "no_such_parameter:=1"]
        rig.run(name, "-m", f"{nodes.__name__}.{name}", *options)
    for by_name in ("osc", "guide"):
        rig.run(f"named {by_name}", "-m", nodes.__name__, by_name, *options)
    for name in (*names, "named osc", "named guide"):
        assert rig.wait(name) == 2, rig.log(name)
        assert "unknown no_such_parameter" in rig.log(name)
    server.close()
