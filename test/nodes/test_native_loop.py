"""The node ``osc`` with ``loop: native``: the commands of Python alone, to the last byte, and an end in time."""

from __future__ import annotations

import ctypes
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rig import HOME, PATIENCE, Rig, tells_publishers_apart
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import SetBool
from visualization_msgs.msg import MarkerArray

from arm_control import RobotModel, urdf_path
from arm_control.compiler import Callback
from arm_control.control import ControlLoop, OscTuning, resolve_parameters
from arm_control.controllers import AttractorNodeParameters, OscController, OscNodeParameters
from arm_control.exceptions import ParameterError
from arm_control.gate import GateParameters
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.messages import ONLY_PUBLISHER, JointStateBytes, JointStateWriter
from arm_control.nodes import LATCHED, STATE, poll, ros
from arm_control.nodes.support import native_loop
from arm_control.nodes.support.native_loop import NativeThread, RclFunctions, check_layouts
from arm_control.nodes.support.topics import LATEST
from arm_control.processes import ControllerProcess
from arm_control.simulation import ObstacleUpdate

pytestmark = tells_publishers_apart

MS = 1_000_000
N_STATES = 60
INFO = {"source_timestamp": 0, "received_timestamp": 0, "publisher_gid": ONLY_PUBLISHER}


def state_bytes(model: RobotModel, k: int) -> bytes:
    """The k-th state of an arm in motion, 1 ms after the one before."""
    turns, writer = np.ones(6), JointStateWriter(model.joint_names, ("position", "velocity"))
    t = 1e-3 * k
    return writer.message(k * MS, HOME + 0.1 * np.sin(t) * turns, 0.1 * np.cos(t) * turns)


def python_commands(model: RobotModel, constraints: str = "", obstacles: Sequence[Obstacle] = ()) -> list[bytes]:
    """Commands of Python alone."""
    controller = OscController(model, resolve_parameters(OscTuning, {}, model))
    loop = ControlLoop(model, controller, GateParameters(constraints=constraints), waits_for_commands=True)
    process, reader, writer = (
        ControllerProcess(model, loop, 0.0),
        JointStateBytes(),
        JointStateWriter(model.joint_names),
    )
    commands = []
    for k in range(1, N_STATES):
        there = obstacles if k >= N_STATES // 2 else ()
        command = process.on_state(reader.read(state_bytes(model, k)), INFO, lambda _, there=there: there).command
        assert command is not None
        commands.append(writer.message(command.stamp_ns, command.tau))
    return commands


def test_a_node_answers_without_python_what_python_answers(rig: Rig, ur5: RobotModel, tmp_path: Path):
    """From the middle on a ball is in the way of the hand."""
    kept, ball = tmp_path / "kept.yaml", Obstacle(Sphere(0.05), Pose.at(ur5.pose(HOME).p + [-0.026, 0.049, -0.087]))
    kept.write_text("constraints: [{name: ball, kind: clearance, distance: 0.02}]")
    commands = rig.hear(JointState, "joint_commands", raw=True)
    errors = rig.hear(Float64, "controller_state/position_error")
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    counts = rig.hear(Float64, "controller_state/obstacles", LATCHED)
    description = Path(urdf_path("ur5")).read_text()
    osc = rig.start("osc", robot_description=description, loop="native", lock_step=True, constraints=str(kept))
    states, markers = rig.state_publisher(), rig.publisher(MarkerArray, "obstacles")

    def show(k: int) -> bytes:
        answer: bytes = rig.answer(states, state_bytes(ur5, k), commands)
        return answer

    answers = [show(k) for k in range(1, N_STATES // 2)]
    markers.publish(ros.markers([ObstacleUpdate(0, ball)], "", 0))
    rig.spin(lambda: counts and counts[-1].data == 1.0, what="an obstacle")
    rig.spin(lambda: errors, what="controller_state")
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value="")
    request = SetParameters.Request(parameters=[Parameter(name="constraints", value=value)])
    (result,) = rig.call("osc/set_parameters", request, SetParameters).results
    assert result.reason == "loop: native keeps the constraints that it has begun with"
    answers += [show(k) for k in range(N_STATES // 2, N_STATES)]
    assert answers == python_commands(ur5, str(kept), [ball])
    assert answers != python_commands(ur5, str(kept))
    rig.call("osc/enable", SetBool.Request(data=False))
    frame_id = JointStateBytes().read(show(N_STATES)).header.frame_id
    assert frame_id.endswith("disabled")
    rig.spin(lambda: figures(diagnostics).get("braked") == "True", what="diagnostics")
    assert int(figures(diagnostics)["states answered without Python"]) >= N_STATES - 4
    osc.send_signal(signal.SIGTERM)
    assert rig.wait("osc") == 0
    assert "Traceback" not in rig.log("osc")


@pytest.mark.parametrize(("lock_step", "reliability"), [(False, "BEST_EFFORT"), (True, "RELIABLE")])
def test_no_state_is_acknowledged_in_real_time(rig: Rig, lock_step: bool, reliability: str):
    rig.start("osc", robot_description=Path(urdf_path("ur5")).read_text(), loop="native", lock_step=lock_step)
    rig.publisher(JointState, "joint_states")
    listeners: list[Any] = rig.spin(lambda: of_node(rig, "osc"), what="the subscription")
    assert [one.qos_profile.reliability.name for one in listeners] == [reliability]


def of_node(rig: Rig, name: str) -> list[Any]:
    return [one for one in rig.node.get_subscriptions_info_by_topic("joint_states") if one.node_name == name]


def test_a_best_effort_driver_is_answered_without_python(rig: Rig, ur5: RobotModel):
    """The node listens anew: another subscription calls back."""
    commands = rig.hear(JointState, "joint_commands", raw=True)
    diagnostics = rig.hear(DiagnosticArray, "/diagnostics")
    rig.start("osc", robot_description=Path(urdf_path("ur5")).read_text(), loop="native", lock_step=True)
    rig.spin(lambda: all(rig.matched()[1:]), what="commands")
    states = rig.node.create_publisher(JointState, "joint_states", LATEST)
    rig.spin(lambda: "best-effort publisher" in rig.log("osc"), what="a new subscription")
    rig.spin(lambda: states.get_subscription_count() > 0, what="a listener")
    answers = [rig.answer(states, state_bytes(ur5, k), commands) for k in range(1, N_STATES)]
    assert answers == python_commands(ur5)
    rig.spin(lambda: int(figures(diagnostics).get("states answered without Python", 0)) > 0, what="diagnostics")


def figures(diagnostics: list[DiagnosticArray]) -> dict[str, str]:
    found: dict[str, Any] = {}
    for array in diagnostics:
        found |= {value.key: value.value for value in array.status[0].values}
    return found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("avoid_obstacles", True),
        ("impedance", True),
        ("force_axes", ("z",)),
        ("disturbance_observer", True),
        ("adaptive_torque", True),
        ("inertia_floor", 0.01),
    ],
)
def test_what_the_loop_does_not_know_is_refused(name: str, value: object):
    with pytest.raises(ParameterError, match=f"loop: native serves operational space control alone, not {name}"):
        OscNodeParameters.from_mapping({"loop": "native", name: value})
    OscNodeParameters.from_mapping({name: value})
    with pytest.raises(ParameterError, match="alone, not an attractor in front of it"):
        AttractorNodeParameters.from_mapping({"loop": "native"})


class CountsCalls:
    """In the place of a native controller: counts how often the middleware calls."""

    def __init__(self) -> None:
        self.n_calls = self.n_turns = 0
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(self._count)
        self.callback = Callback(ctypes.cast(self._call, ctypes.c_void_p).value or 0, 0)

    def _count(self, *_: int) -> None:
        self.n_calls += 1

    def end_turn(self) -> None:
        """Notice that the thread runs."""
        self.n_turns += 1


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(1e-3)


def test_behind_the_end_nobody_calls(domain: int, ur5: RobotModel):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node: Any = rclpy.create_node("ended", context=context)
    node.parameters = OscNodeParameters()
    commands, states = (node.create_publisher(JointState, topic, STATE) for topic in ("commands", "joint_states"))
    native: Any = CountsCalls()
    thread = NativeThread(node, RclFunctions.load(), (commands, None), lambda *_: None)
    thread.start(lambda _: native)
    try:
        wait_for(lambda: native.n_turns == 1 and states.get_subscription_count() == 1)
        states.publish(state_bytes(ur5, 1))
        wait_for(lambda: native.n_calls == 1)
        started = thread._thread
        thread.end()
        assert thread._thread is None
        assert started is not None
        assert not started.is_alive()
        states.publish(state_bytes(ur5, 2))
        wait_for(lambda: any(message == state_bytes(ur5, 2) for message, _ in poll(thread._subscription)))
        assert native.n_calls == 1
    finally:
        thread.end()
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_layouts_are_checked_against_rclpy(domain: int, monkeypatch: pytest.MonkeyPatch):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node, functions = rclpy.create_node("checked", context=context), RclFunctions.load()
    try:
        assert check_layouts(node, functions) == ""
        with monkeypatch.context() as another:
            another.setattr(native_loop, "get_rmw_implementation_identifier", lambda: "rmw_other")
            assert check_layouts(node, functions).startswith("rmw_other calls back, but may a callback publish?")
        monkeypatch.setattr(native_loop, "PUBLISHER", 3)
        assert "rmw_message_info_t is laid out differently" in check_layouts(node, functions)
        monkeypatch.setattr(native_loop, "CAPACITY", 1)
        monkeypatch.setattr(native_loop, "MESSAGE_WORDS", 7)
        assert "rcutils_uint8_array_t is laid out differently" in check_layouts(node, functions)
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)
