"""The nodes' interfaces: what they publish, what they accept, how they end."""

import itertools
import os
import re
import runpy
import signal
import sys
from functools import partialmethod
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.node import Node
from rclpy.publisher import Publisher
from rig import HOME, LATCHED, Rig, stamp, target, tells_publishers_apart
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from std_srvs.srv import SetBool

from arm_control import OscParameters, RobotModel, urdf_path
from arm_control.control import task_inertia
from arm_control.messages import PublisherLock, nanoseconds, pose_from_message
from arm_control.nodes import NODES, MonitorNode, ros
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
    names = "jacobian", "mass_matrix", "gravity", "bias", "task_inertia"
    heard = {name: rig.hear(Float64MultiArray, f"dynamics/{name}") for name in names}
    joints = rig.hear(JointState, "dynamics/ik")
    failures = rig.hear(String, "dynamics/ik_failure")
    poses = rig.hear(PoseStamped, "dynamics/pose")
    twists = rig.hear(TwistStamped, "dynamics/twist")
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


def test_two_arms_have_one_clock(rig):
    """The first in the alphabet owns it, and the other one when that has ended; each describes its arm."""
    clocks = rig.hear(Clock, "/clock")
    descriptions = rig.hear(String, "/left/robot_description", LATCHED)
    names = ("left", "right")
    for name in names:
        rig.start("simulator", "-r", f"__ns:=/{name}", label=name, robot="ur5", real_time_factor=0.1)
    rig.spin(lambda: clocks and "/clock is left to /left/simulator" in rig.log("right"), what="one owner")
    assert "is left to" not in rig.log("left")
    rig.spin(lambda: descriptions, what="robot_description")
    assert RobotModel.from_urdf(descriptions[0].data).nv == 6
    assert clocks[-1].clock.nanosec % 1_000_000 == 0
    rig.processes["left"].send_signal(signal.SIGINT)
    rig.wait("left")
    newest = clocks[-1]
    rig.spin(lambda: rig.node.count_publishers("/clock") == 1, what="the end of the owner")
    heard = len(clocks)
    rig.spin(lambda: len(clocks) > heard + 5 and clocks[-1] != newest, what="the clock of the other one")


def test_osc_tells_what_its_torque_is_made_of(stepping):
    terms = {name: stepping.hear(JointState, f"torque_terms/{name}") for name in ("task", "posture", "bias", "gate")}
    condition = stepping.hear(Float64, "controller_state/condition_number")
    diagnostics = stepping.hear(DiagnosticArray, "/diagnostics")

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
    assert name != "osc" or any("stiffness of the position [1/s^2]" in one.description for one in described.descriptors)
    assert [(one.from_value, one.to_value) for one in bounds["limit_stiffness"]] == [(0.1, 200.0)]
    assert len(bounds["limit_margin"]) == 0, "one bound is no range"


@tells_publishers_apart
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
    process = rig.run("run", "-m", "arm_control.app.cli", "run", "ur5_osc", "--duration", "60")
    rig.until(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children}
    osc = next(int(pid) for pid, command in commands.items() if "arm_control.nodes\0osc" in command)
    os.kill(osc, signal.SIGKILL)
    assert rig.wait("run") == 3
    assert "osc ended (killed by SIGKILL)" in rig.log("run")
    assert not any(Path(f"/proc/{pid}").exists() for pid in children), "the rest is stopped"


def test_a_run_hears_of_a_brake_from_the_gate_itself(rig: Rig, monkeypatch: pytest.MonkeyPatch):
    """Not from diagnostics alone, of which the next may come when the run is over."""
    monkeypatch.setattr(Node, "__init__", partialmethod(Node.__init__, context=rig.context))
    monkeypatch.setattr(MonitorNode, "_on_diagnostics", lambda *_: None)
    monitor = MonitorNode({})
    monkeypatch.undo()
    rig.executor.add_node(monitor)
    rig.start("simulator", robot="ur5", initial_position=HOME, start_paused=True)
    assert rig.call("simulator/enable", SetBool.Request(data=False)).success
    rig.spin(lambda: monitor.diagnostics.get("simulator", {}).get("braked") == "True", what="the brake")
    rig.executor.remove_node(monitor)
    monitor.destroy_node()


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
    """A signal before ROS listens, and while a node compiles; a node that is refused."""
    rig.run("early", "-c", EARLY)
    rig.run("compiled", "-c", SIGNAL_WHILE_COMPILED, "SIGTERM")
    rig.run("refused", "-c", REFUSED)
    for name in ("early", "compiled"):
        assert rig.wait(name) == 0, rig.log(name)
        assert "Traceback" not in rig.log(name)
    assert rig.wait("refused") == 2
    assert "arm_control: no" in rig.log("refused")
    assert "gone before its context" in rig.log("refused")


def test_every_node_refuses_a_parameter_that_it_does_not_know(domain: int, monkeypatch, capsys):
    """How processes end is shown by others."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for name in NODES:
        monkeypatch.setattr(sys, "argv", ["nodes", name, "--ros-args", "-p", "no_such_parameter:=1"])
        with pytest.raises(SystemExit, match="2"):
            runpy.run_module("arm_control.nodes", run_name="__main__")
        assert f"node {name}: unknown no_such_parameter" in capsys.readouterr().err
    for number, handler in handlers.items():
        signal.signal(number, handler)
