"""The base of every node: parameters from a dataclass, the robot model, a clean exit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from arm_control.control import ArmNodeParameters
from arm_control.core import Spec, refuse_unknown
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.messages import Rejections
from arm_control.model import RobotModel
from arm_control.nodes.support.diagnostics import WARN, Health, status_of
from arm_control.nodes.support.message_bytes import layout_differences
from arm_control.nodes.support.node_parameters import ROS_OWN, own_parameters
from arm_control.nodes.support.node_process import ProcessEnd
from arm_control.nodes.support.polling import ControlPath
from arm_control.nodes.support.topics import LATCHED, LOSSLESS, STATE

ARRAYS = {tuple[float, ...]: Parameter.Type.DOUBLE_ARRAY, tuple[str, ...]: Parameter.Type.STRING_ARRAY}
"""Types of lists in ROS."""
IN_USE = "another robot is taken only while the arm is braked and at rest"
STILL_THERE = "a robot with other joints is taken only once the states of this one have stopped for a second"
"""Why a node that moves an arm keeps its model."""
REFUSED = "robot_description refused"
"""Begin of what a node says, in its log and in ``/diagnostics``, of a robot that it cannot control."""


P_co = TypeVar("P_co", bound=ArmNodeParameters, covariant=True)


class ArmNode(Node, Generic[P_co]):
    """A node with one dataclass of parameters, and the robot model once it is known.

    Attributes
    ----------
    overrides : dict
        The values that somebody has set, at the start or later, by name.
    at_end : ExitStack
        What is closed before the node is destroyed.
    at_model : list of callable
        Called when another robot is taken, before :meth:`on_model`.
    changed : collection of str
        Names of the parameters of the last live change.
    control_path : ControlPath
        Subscriptions that are served at once; everything else may wait 50 ms.
    why_model_stays : callable
        Returns why another robot must not be taken now; empty when it may.
    may_take : callable
        Returns whether this one may, where another one may.

    Parameters
    ----------
    parameter_class : type
        The dataclass; its fields are declared, its checks decide about every change.

    Raises
    ------
    ParameterError
        When a parameter given from outside is unknown or not allowed.
    """

    parameters: P_co
    model: RobotModel
    NICE = 0
    """Nice level of its process."""
    NEEDS_NO_MASSES = False
    """Whether kinematics are enough for it."""
    ENDS_AT_REST = False
    """Whether a signal asks it to bring the arm to rest first, see :meth:`may_end`."""

    def __init__(self, name: str, parameter_class: type[P_co]) -> None:
        self.at_end = contextlib.ExitStack()
        self.at_model: list[Callable[[], None]] = []
        super().__init__(name, automatically_declare_parameters_from_overrides=True)
        self.control_path = ControlPath(self)
        self.rejections = Rejections(self.get_logger())
        self.why_model_stays: Callable[[], str] = lambda: ""
        self.may_take: Callable[[RobotModel], bool] = lambda _: True
        if moved := layout_differences():
            self.get_logger().warning(f"{moved}: rclpy reads and writes them, which is slower")
        self.ready = False
        self._class = parameter_class
        self.changed: Collection[str] = ()
        self._is_showing = False
        self._known_description = self._why_refused = ""
        self.overrides = self._initial_overrides()
        self.parameters = self.resolve_parameters(self.overrides, None)
        self._declare()
        self.add_on_set_parameters_callback(self._on_set_parameters)
        if type(self).health is not ArmNode.health:
            self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
            self.steady_timer(1.0, self._publish_health)

    def declare_parameters(self, namespace: str, parameters: list[Any], ignore_override: bool = False) -> list[Any]:
        """Declare parameters; empty lists of a parameter file, which have no type there, are left to their defaults.

        ``ros2 param dump`` writes such lists, and rclpy would raise.
        """
        typed = [entry for entry in parameters if len(entry) < 2 or entry[1] is not None]
        return super().declare_parameters(namespace, typed, ignore_override)

    def set_parameters(self, parameter_list: list[Parameter[Any]]) -> list[SetParametersResult]:
        """Set parameters one after the other; the services of ROS call this and the next one."""
        return [self.set_parameters_atomically([one]) for one in parameter_list]

    def set_parameters_atomically(self, parameter_list: list[Parameter[Any]]) -> SetParametersResult:
        """Set parameters of other types without loss, as ``ros2 param`` sends them; all or none.

        The value that a read-only parameter has is no change, so that a node takes its own ``ros2 param dump``.
        """
        typed = [_typed(one, self._class.types().get(one.name)) for one in parameter_list]
        changes = [one for one in typed if not self._stays(one)]
        unknown = {one.name: one.value for one in changes if not self.has_parameter(one.name)}
        try:
            refuse_unknown(unknown, self._class.types(), self.get_name())
        except ParameterError as error:  # ROS would say "undeclared parameter(s): []"
            return SetParametersResult(successful=False, reason=str(error))
        return super().set_parameters_atomically(changes) if changes else SetParametersResult(successful=True)

    def _stays(self, change: Parameter[Any]) -> bool:
        """Whether a parameter is read-only, and has this value already."""
        if not self.has_parameter(change.name) or not self.describe_parameter(change.name).read_only:
            return False
        own = self.get_parameter(change.name)
        return own.type_ == change.type_ and np.array_equal(own.value, change.value)

    def steady_timer(self, period: float, callback: Callable[[], None]) -> Any:
        """Return a timer on the steady clock, which goes on while simulated time stands still."""
        return self.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def destroy_node(self) -> None:
        """End what the node has begun, and the node."""
        self.at_end.close()
        super().destroy_node()

    def state_qos(self) -> QoSProfile:
        """QoS of a publisher of states or commands.

        Real time: only the newest counts, and nothing waits for a lost one. Lock step: nothing may be lost,
        not even for somebody who only listens.
        """
        return LOSSLESS if self.parameters.lock_step else STATE

    def frame(self, link: str) -> str:
        """Return the name of a link's frame in messages."""
        return self.parameters.frame_prefix + link

    def link(self, frame: str) -> str:
        """Return the link of a frame in messages, which may have the prefix of this arm's frames or not."""
        return frame.removeprefix(self.parameters.frame_prefix)

    def find_model(self) -> None:
        """Build the model from the parameter ``robot_description``, or wait for the topic of that name."""
        if self.parameters.robot_description:
            self.take_model(self.parameters.robot_description)
        else:
            self.create_subscription(String, "robot_description", self._on_description, LATCHED)

    def resolve_parameters(self, overrides: dict[str, Any], model: RobotModel | None) -> P_co:
        """Return all parameters; a ParameterError when a value is not allowed."""
        return self._class.from_mapping(overrides)

    def on_model(self, first: bool) -> None:
        """Called when the robot is known, and again, with ``first`` False, when another one is published.

        What raises comes before what the first robot begins, such as subscriptions: after an ArmControlError a node
        without a robot is called with ``first`` again.
        """

    def on_parameters(self) -> None:
        """Called after a live change of ``self.parameters``."""

    def health(self) -> Health:
        """Level, sentence and figures for ``/diagnostics``, beside the refused messages; nodes without it have none."""
        raise NotImplementedError

    def may_end(self) -> bool:
        """Return whether a node that ends at rest may end; called every 50 ms after a signal."""
        return True

    def _publish_health(self) -> None:
        level, sentence, figures = self.health()
        if not self.ready:
            level, sentence = WARN, self._why_refused or "no robot_description yet"
        health = level, sentence, {**figures, **self.rejections.figures()}
        array = DiagnosticArray(status=[status_of(self.get_fully_qualified_name(), *health)])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    def _initial_overrides(self) -> dict[str, Any]:
        """The values set at the start."""
        values = {name: value.value for name, value in self.get_parameters_by_prefix("").items()}
        own = own_parameters(values, self._class.types(), self.get_name())
        return {name: value for name, value in own.items() if value is not None}

    def _declare(self) -> None:
        values = self.parameters.values()
        for name, type_ in self._class.types().items():
            if self.has_parameter(name):
                self.undeclare_parameter(name)
            descriptor = _descriptor(self._class.spec(name), type_)
            if values[name] == ():  # rclpy would take an empty list for one of bytes
                descriptor.type = ARRAYS[type_].value
                self.declare_parameter(name, ARRAYS[type_], ignore_override=True)
                super().set_parameters_atomically([Parameter(name, ARRAYS[type_], [])])
                self.set_descriptor(name, descriptor)
            else:
                value = list(values[name]) if isinstance(values[name], tuple) else values[name]
                self.declare_parameter(name, value, descriptor, ignore_override=True)

    def _on_set_parameters(self, changes: Sequence[Parameter[Any]]) -> SetParametersResult:
        if self._is_showing:
            return SetParametersResult(successful=True)
        own = {p.name: () if p.value is None else p.value for p in changes if not p.name.startswith(ROS_OWN)}
        overrides = {**self.overrides, **own}
        before, self.changed = self.parameters, own.keys()
        try:
            self.parameters = self.resolve_parameters(overrides, self.model if self.ready else None)
            self.on_parameters()
        except ArmControlError as error:
            self.parameters = before
            return SetParametersResult(successful=False, reason=str(error))
        self.overrides = overrides
        if self.executor is not None:  # not while ROS is in the middle of a change
            self.executor.create_task(self._show_parameters)
        return SetParametersResult(successful=True)

    def _show_parameters(self) -> None:
        """Let ROS see parameters that follow from others."""
        values = self.parameters.values()
        floats = {name: values[name] for name, type_ in self._class.types().items() if type_ is float}
        changed = {name: value for name, value in floats.items() if self.get_parameter(name).value != value}
        if changed:
            self._is_showing = True
            self.set_parameters_atomically([Parameter(name, value=value) for name, value in changed.items()])
            self._is_showing = False

    def _on_description(self, message: String) -> None:
        """Take a robot; a second publisher of the same one (robot_state_publisher) changes nothing."""
        if message.data == self._known_description:
            return
        if why := self.why_model_stays():
            self.get_logger().error(f"{REFUSED}: {why}")
            return
        try:
            self.take_model(message.data)
            self._known_description = message.data
        except ArmControlError as error:
            self._why_refused = f"{REFUSED}: {error}"
            self.get_logger().error(self._why_refused)

    def take_model(self, description: str) -> None:
        """Build the model of a robot, and tell the node; a signal ends the first time in the middle."""
        with contextlib.nullcontext() if self.ready else ProcessEnd.interrupting():
            self._take_model(description)

    def _take_model(self, description: str) -> None:
        model = self.parameters.arm.model(description, kinematics_only=self.NEEDS_NO_MASSES)
        if not self.may_take(model):
            raise InputError(STILL_THERE)
        self.parameters = self.resolve_parameters(self.overrides, model)
        kernels = () if self.NEEDS_NO_MASSES else ("terms",)
        model.prepare(*kernels, "pose", "frames", progress=False)  # not in the middle of the control loop
        first, self.ready, self.model = not self.ready, True, model
        self._show_parameters()
        joints = ", ".join(model.joint_names)
        n_warnings = f"; {len(model.warnings)} warning(s): see `arm_control check`" if model.warnings else ""
        what = f"robot with joints {joints}; end effector {model.tip}; back end {model.backend}"
        self.get_logger().info(what + n_warnings)
        try:
            for take_model in self.at_model:
                take_model()
            self.on_model(first)
        except ArmControlError:  # a controller that cannot be made for it: the node waits for another robot
            self.ready = not first
            raise


def _typed(change: Parameter[Any], type_: Any) -> Parameter[Any]:
    """Return a change with the type of its parameter: whole numbers are floats, an empty list has no own type."""
    if type_ is float and change.type_ == Parameter.Type.INTEGER:
        return Parameter(change.name, Parameter.Type.DOUBLE, float(change.value))
    array = ARRAYS.get(type_)
    if array is not None and isinstance(change.value, Sequence) and not change.value:
        return Parameter(change.name, array, [])
    if type_ == tuple[float, ...] and change.type_ == Parameter.Type.INTEGER_ARRAY:
        return Parameter(change.name, array, [float(x) for x in change.value])
    return change


def _descriptor(spec: Spec, type_: Any) -> ParameterDescriptor:
    """Return what ROS shows of a parameter: its sentence, and its bounds where it has two, for sliders."""
    descriptor = ParameterDescriptor(description=str(spec), read_only=not spec.live)
    if spec.lower is not None and spec.upper is not None:
        if type_ is float:
            descriptor.floating_point_range = [FloatingPointRange(from_value=spec.lower, to_value=spec.upper)]
        elif type_ is int:
            descriptor.integer_range = [IntegerRange(from_value=int(spec.lower), to_value=int(spec.upper))]
    return descriptor
