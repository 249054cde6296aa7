"""What every node of the package shares: parameters from a dataclass, the robot model, a clean exit."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

from arm_control.control.effort_gate import EffortGate
from arm_control.core.parameters import parameter, refuse_unknown
from arm_control.exceptions import ArmControlError, InputError
from arm_control.model import RobotModel
from arm_control.model.arm_parameters import ArmChoices
from arm_control.nodes.support.polling import ControlPath, SpinLoop
from arm_control.nodes.support.publisher_lock import Rejections, State, StateReader

STATE = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LOSSLESS = QoSProfile(depth=20_000, reliability=ReliabilityPolicy.RELIABLE)
"""For streams of which nothing may be missing: what is lost is sent again after up to 3 s, and so much waits for it."""
EVENTS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_EVENTS = QoSProfile(
    depth=1000, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
MAX_DOMAIN = 232
ROS_OWN = ("use_sim_time", "start_type_description_service", "qos_overrides.")
"""How parameters begin that every node has by itself."""


@dataclass(frozen=True)
class ArmParameters(ArmChoices):
    """What every node has to know of the arm."""

    robot_description: str = parameter("", "text of the URDF; empty: taken from the topic robot_description")
    lock_step: bool = parameter(False, "each state waits for its command: nothing is stale, no clock matters")


class ArmNode(Node):
    """A node with one dataclass of parameters, and the robot model once it is known.

    Attributes
    ----------
    parameters : ArmParameters
        The node's parameters as they are now.
    given : dict
        Those of them that somebody gave, at the start or later.
    control_path : ControlPath
        What is served at once; everything else may wait 50 ms.
    ready : bool
        Whether the robot is known.
    model : RobotModel
        The robot; only there when ``ready``.
    reader, gate : StateReader, EffortGate
        Made by the node's :meth:`on_model`, where it reads states or has a gate.
    rejections : Rejections
        What was refused.

    Parameters
    ----------
    name : str
        Name of the node.
    parameter_class : type
        The dataclass; its fields are declared, its checks decide about every change.

    Raises
    ------
    ParameterError
        When a parameter given from outside is unknown or not allowed.
    """

    parameters: Any
    model: RobotModel
    reader: StateReader
    gate: EffortGate
    NICE = 0
    """How far its process steps back for others."""

    def __init__(self, name: str, parameter_class: type[ArmParameters]) -> None:
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        self.control_path = ControlPath(self)
        self.rejections = Rejections(self.get_logger())
        self.ready, self._class, self._is_showing = False, parameter_class, False
        self._known_description = ""
        self.given = self._overrides()
        self.parameters = self.completed(self.given, None)
        self._declare()
        self.add_on_set_parameters_callback(self._on_set_parameters)

    def state_qos(self) -> QoSProfile:
        """QoS of a publisher of states or commands.

        Real time: only the newest counts, and nothing waits for a lost one. Lock step: nothing may be lost,
        not even for somebody who only listens.
        """
        return LOSSLESS if self.parameters.lock_step else STATE

    def find_model(self) -> None:
        """Build the model from the parameter ``robot_description``, or wait for the topic of that name."""
        if self.parameters.robot_description:
            self._take_model(self.parameters.robot_description)
        else:
            self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    def completed(self, given: dict[str, Any], model: RobotModel | None) -> Any:
        """Return all parameters, of those given and what is known of the robot, if it is known.

        Raises
        ------
        ParameterError
            When what is given is not allowed.
        """
        return self._class.from_mapping(given)

    def on_model(self, first: bool) -> None:
        """Called when the robot is known, and again, with ``first`` False, when another one is published."""

    def on_parameters(self) -> None:
        """Called after a live change of ``self.parameters``."""

    def on_enabled(self) -> None:
        """Called when ``~/enable`` has enabled the gate."""

    def read_state(self, message: JointState, info: dict[str, Any]) -> State | None:
        """Return a state by ``self.reader``, or None when it repeats the last one or is refused (and counted)."""
        try:
            return self.reader.read(message, info)
        except InputError as error:
            self.rejections.add("joint_states", error)
            return None

    def serve_enable(self) -> None:
        """Offer ``~/enable``, which enables ``self.gate`` (true) or makes it brake (false)."""
        self.create_service(SetBool, "~/enable", self._on_enable)

    def _on_enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if not self.ready:
            response.message = "no robot yet"
            return response
        if request.data:
            self.gate.enable()
            self.on_enabled()
        else:
            self.gate.brake("disabled")
        response.success, response.message = True, self.gate.braking or "enabled"
        return response

    def _overrides(self) -> dict[str, Any]:
        """What was given at the start."""
        given = {name: value.value for name, value in self.get_parameters_by_prefix("").items()}
        given = {name: value for name, value in given.items() if not name.startswith(ROS_OWN)}
        refuse_unknown(given, self._class.types(), f"node {self.get_name()}")
        return {name: value for name, value in given.items() if value is not None}

    def _declare(self) -> None:
        for name, kind in self._class.types().items():
            if self.has_parameter(name):
                self.undeclare_parameter(name)
            spec = self._class.spec(name)
            value = _ros_value(getattr(self.parameters, name), kind)
            unset = isinstance(value, Parameter.Type)
            descriptor = ParameterDescriptor(description=str(spec), read_only=not spec.live, dynamic_typing=not unset)
            self.declare_parameter(name, value, descriptor, ignore_override=True)

    def _on_set_parameters(self, changes: Sequence[Parameter[Any]]) -> SetParametersResult:
        if self._is_showing:
            return SetParametersResult(successful=True)
        own = {p.name: () if p.value is None else p.value for p in changes if not p.name.startswith(ROS_OWN)}
        given, before = {**self.given, **own}, self.parameters
        try:
            self.parameters = self.completed(given, self.model if self.ready else None)
            self.on_parameters()
        except ArmControlError as error:
            self.parameters = before
            return SetParametersResult(successful=False, reason=str(error))
        self.given = given
        if self.executor is not None:  # not while ROS is in the middle of a change
            self.executor.create_task(self._show_parameters)
        return SetParametersResult(successful=True)

    def _show_parameters(self) -> None:
        """Let ROS see parameters that follow from others."""
        now = {name: getattr(self.parameters, name) for name, kind in self._class.types().items() if kind is float}
        changed = {name: value for name, value in now.items() if self.get_parameter(name).value != value}
        if changed:
            self._is_showing = True
            self.set_parameters_atomically([Parameter(name, value=value) for name, value in changed.items()])
            self._is_showing = False

    def _on_description(self, message: String) -> None:
        """Take a robot; a second publisher of the same one (robot_state_publisher) changes nothing."""
        if message.data == self._known_description:
            return
        try:
            self._take_model(message.data)
            self._known_description = message.data
        except ArmControlError as error:
            self.get_logger().error(f"robot_description refused: {error}")

    def _take_model(self, description: str) -> None:
        model = self.parameters.model(description)
        self.parameters = self.completed(self.given, model)
        model.prepare("terms", "pose", "frames", progress=False)  # not in the middle of the control loop
        first, self.ready, self.model = not self.ready, True, model
        self._show_parameters()
        joints = ", ".join(model.joint_names)
        self.get_logger().info(f"robot with joints {joints}; end effector {model.tip}; back end {model.backend}")
        self.on_model(first)


def _ros_value(value: Any, kind: Any) -> Any:
    """A parameter's value as rclpy takes it. It cannot tell the type of an empty list: that one stays unset."""
    if not isinstance(value, tuple):
        return value
    empty = Parameter.Type.DOUBLE_ARRAY if kind == tuple[float, ...] else Parameter.Type.STRING_ARRAY
    return list(value) or empty


def run(*factories: Callable[[], ArmNode], arguments: Sequence[str] | None = None) -> None:
    """Run nodes in one process with one single-threaded executor, until a signal ends it.

    Parameters
    ----------
    *factories : callable
        Each makes one node.
    arguments : sequence of str, optional
        Command line, ``sys.argv`` by default.
    """
    check_environment()
    die_with_parent()
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))  # rclpy's own handler ends the loop,
    rclpy.init(args=sys.argv if arguments is None else list(arguments))  # no KeyboardInterrupt in the middle of it
    nodes: list[ArmNode] = []
    try:
        if asked:  # before rclpy listened
            return
        nodes.extend(factory() for factory in factories)
        os.nice(min(node.NICE for node in nodes))
        executor = SingleThreadedExecutor()
        for node in nodes:
            executor.add_node(node)
        gc.collect()
        gc.freeze()
        SpinLoop(executor, [node.control_path for node in nodes]).spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except ArmControlError as error:
        print(f"arm_control: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except Exception:
        if rclpy.ok():  # else a signal has shut the context down in the middle of a callback
            raise
    finally:
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()


def die_with_parent() -> None:
    """Linux: get a SIGINT when the process that started us is gone, however it went, if it asked for that."""
    parent = os.environ.get("ARM_CONTROL_PARENT")
    if parent is None or sys.platform != "linux":
        return
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGINT)
    if os.getppid() != int(parent):
        raise SystemExit(1)


def check_environment() -> None:
    """Refuse to start where DDS security is asked for and would silently not be there, or in no domain."""
    enabled = os.environ.get("ROS_SECURITY_ENABLE", "").lower() == "true"
    enforced = os.environ.get("ROS_SECURITY_STRATEGY", "").lower() == "enforce"
    if enabled and not enforced:
        print("arm_control: ROS_SECURITY_ENABLE is set: set ROS_SECURITY_STRATEGY=Enforce too", file=sys.stderr)
        raise SystemExit(2)
    domain = os.environ.get("ROS_DOMAIN_ID") or "0"
    if not (domain.isascii() and domain.isdecimal() and int(domain) <= MAX_DOMAIN):
        print(f"arm_control: ROS_DOMAIN_ID is '{domain}'; allowed: 0 to {MAX_DOMAIN}", file=sys.stderr)
        raise SystemExit(2)
