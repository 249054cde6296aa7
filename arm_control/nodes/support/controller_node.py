"""The node of a controller: joint states and goals in, joint torque out, through the gate."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, MultiDOFJointTrajectory

from arm_control.compiler import Kernel
from arm_control.control import (
    FAULT,
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    ControlLoop,
    Measurement,
    OscTuning,
    StallWatch,
    TickResult,
    compensated_share,
    describe_proposals,
    resolve_parameters,
)
from arm_control.controllers import CONTROLLERS, OscController, new_loop
from arm_control.exceptions import InputError, ParameterError
from arm_control.gate import EffortGate, GatesBehind, describe_outside
from arm_control.maths import Array
from arm_control.messages import goal_of
from arm_control.model import RobotModel
from arm_control.nodes.support.arm_node import IN_USE, ArmNode
from arm_control.nodes.support.diagnostics import OK, WARN, Durations, Health
from arm_control.nodes.support.gates import GateControl, listen_to_gates
from arm_control.nodes.support.message_bytes import effort_array_writer, joint_state_reader, joint_state_writer
from arm_control.nodes.support.native_loop import NativeThread
from arm_control.nodes.support.subscriptions import ObstacleSubscription, subscribe_to_goals, subscribe_to_values
from arm_control.nodes.support.topics import EVENTS, LATCHED, LATEST, STATE, ros
from arm_control.processes import ControllerProcess, NativeController, step_kernels_of

GOALS = {
    "target_pose": PoseStamped,
    "pose_trajectory": MultiDOFJointTrajectory,
    "target_joint": JointState,
    "joint_trajectory": JointTrajectory,
    "target_wrench": WrenchStamped,
    "joint_stiffness": JointState,
}
"""Topics with goals, of which every message counts, and their types."""
JOGS = {
    "target_twist": TwistStamped,
    "target_velocity": JointState,
    "joint_chunk": JointTrajectory,
    "pose_chunk": MultiDOFJointTrajectory,
}
"""Topics with velocities and chunks, of which the newest counts."""
REPORT_PERIOD = 0.02
"""Time between two looks at what the native loop has done [s]."""
Telemetry = list[tuple[Publisher, Any]]
"""Messages beside the torque, each with its publisher."""


class TorquePipeline:
    """States in, torque out; telemetry follows, one message behind each of the next commands.

    Parameters
    ----------
    torque_terms : sequence of str
        Names of the torque's terms, published as ``torque_terms/*``.
    figures : sequence of str
        Names of the law's figures, published as ``controller_state/*``.

    Attributes
    ----------
    loop : ControlLoop or None
        The control loop; None while the robot is unknown.
    after : callable or None
        Called with the result of each tick, once its torque is published.
    native : OscController or None
        The loop's controller, where the native loop is to answer ordinary states; only without the others.
    """

    obstacles: ObstacleSubscription | None = None
    after: Callable[[TickResult], None] | None = None
    telemetry: Callable[[TickResult], Telemetry] | None = None
    native: OscController | None = None

    def __init__(
        self,
        node: ArmNode[ControllerNodeParameters],
        torque_terms: Sequence[str],
        figures: Sequence[str],
        n_goals: Callable[[], int],
    ) -> None:
        self._node = node
        self._n_goals = n_goals
        self.loop: ControlLoop | None = None
        self._now_ns: int | None = None
        self._telemetry: Telemetry = []
        self._duration = Durations()
        self._read = joint_state_reader()
        self._states = 0
        self._thread: NativeThread | None = None
        self._commands = node.create_publisher(JointState, "joint_commands", node.state_qos())
        is_last = not self._commands.topic_name.endswith("/effort_in")  # else a gate stands before the driver
        driver = node.parameters.driver
        self._is_weightless = is_last and driver.driver_adds_gravity and not node.parameters.gates_behind
        has_array = is_last and driver.publish_effort_array
        self._array = (
            node.create_publisher(Float64MultiArray, "effort_controller/commands", STATE) if has_array else None
        )
        self._goal_count = node.create_publisher(Float64, "controller_state/targets", LATCHED)
        self._figure_set = node.create_publisher(Float64MultiArray, "controller_state/figures", STATE)
        self._figures: dict[str, Publisher] = {
            name: node.create_publisher(Float64, f"controller_state/{name}", STATE)
            for name in (*figures, "saturation", "braking")
        }
        self._terms: dict[str, Publisher] = {
            name: node.create_publisher(JointState, f"torque_terms/{name}", STATE)
            for name in (*torque_terms, "observer", "adaptation", "gate")
        }
        self._gates_behind: GatesBehind | None = None
        self._has_named_unheard = False
        self._gate_control = GateControl(node, self._gate, self._release, driver.driver_stop_topic)
        node.why_model_stays = self._why_model_stays
        node.may_take = lambda model: self.loop is None or self._process.may_take(model)

    def start(self, loop: ControlLoop) -> None:
        """Run a loop on the states of the node's robot, from now on."""
        p, model = self._node.parameters, self._node.model
        before, self.loop = self.loop, loop
        if floor := loop.gate.describe_floor():
            self._node.get_logger().info(f"inertia of motors, assumed until a joint chatters: {floor}")
        if loop.observer is not None and not loop.controller.follows_hand:
            self._node.get_logger().info("friction and payloads are compensated: the arm is stiff where it is pushed")
        self._stall_share = compensated_share(model, p.observer, p.adaptation)
        self._stall = StallWatch(model, self._stall_share)
        self._velocity_lag, self._pressed = 0.0, ""
        max_age = 0.0 if p.lock_step else p.gate.max_age
        self._process = ControllerProcess(model, loop, max_age)
        self._write, self._array_bytes = joint_state_writer(model.joint_names), effort_array_writer(model.nv)
        kernels = [] if self.native is None else step_kernels_of(model, loop, self.native)
        if before is None:
            self._listen(kernels)
            self._gates_behind = listen_to_gates(self._node, p.gates_behind) if p.gates_behind else None
        else:
            loop.gate.succeed(before.gate)
        loop.gates_behind = self._gates_behind
        self._gate_control.apply_stop()
        if self._thread is not None and self.native is not None:
            process, controller = self._process, self.native
            until = {} if self.obstacles is None else {"obstacles_until_ns": self.obstacles.until_ns}
            self._thread.start(lambda m: NativeController(model, process, controller, kernels, m, max_age, **until))
        self.publish_goal_count()

    def end(self) -> None:
        """End the native loop, if there is one."""
        if self._thread is not None:
            self._thread.end()

    def _listen(self, kernels: Sequence[Kernel]) -> None:
        """Subscribe to states: by the native loop where there are kernels for it, and nothing is in its way."""
        path = self._node.control_path
        if kernels:
            functions, reason = NativeThread.needed_functions(self._node, kernels)
            if self._is_weightless:
                functions, reason = None, "driver_adds_gravity is true, and no gate is behind this node"
            if functions is not None:
                publishers = self._commands, self._array
                self._thread = path.turn = NativeThread(self._node, functions, publishers, self._on_joint_state)
                path.every(REPORT_PERIOD, self._report)
                return
            self._node.get_logger().warning(f"loop: native is not possible, Python answers all states: {reason}")
        path.subscribe(JointState, "joint_states", self._on_joint_state, STATE, raw=True)

    def change_constraints(self, loop: ControlLoop, file: str) -> None:
        """Let a gate keep other constraints from the next state on.

        Raises
        ------
        ParameterError
            As for the gate; and where the native loop runs, whose memory they are part of.
        """
        if self._thread is not None:
            raise ParameterError("loop: native keeps the constraints that it has begun with")
        loop.gate.change_constraints(file)

    def configure(self) -> None:
        """Take live changes of what every controller has; they act from the next state on."""
        if self.loop is not None and self.loop.adaptation is not None:
            self.loop.adaptation.configure(self._node.parameters.adaptation)
        self._refresh()

    def _refresh(self) -> None:
        """Let the native loop know at once what has changed, not only when this turn of the node ends."""
        if self._thread is not None:
            with self._thread:
                pass

    @property
    def _native_loop(self) -> NativeController | None:
        return None if self._thread is None else self._thread.native

    @property
    def now_ns(self) -> int:
        """Stamp of the newest state [ns]; 0 before the first."""
        native = self._native_loop
        return (native.stamp_ns if native is not None else self._now_ns) or 0

    def newest_state(self) -> Measurement | None:
        """Return the newest state that was answered without Python, or behind one; None before the first."""
        return None if self._native_loop is None else self._native_loop.newest_state

    def publish_goal_count(self) -> None:
        """Publish the number of goals: a run waits for that before it starts."""
        self._refresh()
        self._goal_count.publish(Float64(data=float(self._n_goals())))

    def _gate(self) -> EffortGate | None:
        """The gate, for somebody who will make it brake, or enable it."""
        if self._native_loop is not None:
            self._native_loop.pause()
        return None if self.loop is None else self.loop.gate

    def _release(self) -> None:
        self._process.release()

    def _why_model_stays(self) -> str:
        return "" if self.loop is None or self._process.may_take_model else IN_USE

    # -- one tick --------------------------------------------------------------------------------

    def _on_joint_state(self, data: bytes, info: dict[str, Any]) -> None:
        """Publish the torque; the rest may wait."""
        start = time.perf_counter()
        try:
            message = self._read(data)
        except InputError as error:
            self._node.rejections.add("joint_states", error)
            return
        obstacles = None if self.obstacles is None else self.obstacles.at
        command, result, refused = self._process.on_state(message, info, obstacles)
        if command is not None:
            tau = command.tau - command.g if self._is_weightless else command.tau
            self._commands.publish(self._write(command.stamp_ns, tau, frame_id=command.frame_id))
            if self._array is not None:
                self._array.publish(self._array_bytes(tau))
        if refused is not None:
            self._node.rejections.add("joint_states", refused)
        if result is not None:
            if result.measurement.is_restart:
                self._warn_of_restart(result.measurement.stamp_ns)
                self._warn_of_limits(result.measurement.q)
            self._now_ns = result.measurement.stamp_ns
            if result.refused is not None:
                self._node.rejections.add("torque", result.refused)
            if result.law.refused is not None:
                self._node.rejections.add("goal", result.law.refused)
            if self.after is not None:
                self.after(result)
            if self._states % self._node.parameters.telemetry_every == 0:
                more = [] if self.telemetry is None else self.telemetry(result)
                self._telemetry = [*self._telemetry_of(result), *more]
            self._states += 1
        if self._telemetry:
            publisher, report = self._telemetry.pop()
            publisher.publish(report)
        self._duration.add(time.perf_counter() - start)

    def _report(self) -> None:
        """Publish what the native loop has done since the last report."""
        assert self._thread is not None
        self._thread.watch()
        native = self._native_loop
        if native is None:
            return
        for seconds in native.durations():
            self._duration.add(seconds)
        if (result := native.newest(self._node.parameters.telemetry_every)) is not None:
            self._now_ns = result.measurement.stamp_ns
            self._telemetry = self._telemetry_of(result)
        while self._telemetry:
            publisher, message = self._telemetry.pop()
            publisher.publish(message)

    def _warn_of_restart(self, stamp_ns: int) -> None:
        """Say that the plant has started over; what did not move before that is no fault any more."""
        if self._now_ns is not None and self._now_ns > stamp_ns:
            went_back = f"its time went back from {1e-9 * self._now_ns:.3f} s to {1e-9 * stamp_ns:.3f} s"
            self._node.get_logger().warning(f"the plant has started over: {went_back}")
            self._stall = StallWatch(self._node.model, self._stall_share)

    def _warn_of_limits(self, q: Array) -> None:
        """Say that the arm starts outside its limits; the gate lets joints move towards them only."""
        if outside := describe_outside(self._node.model, q):
            self._node.get_logger().warning(f"the arm starts outside its limits, and is led back: {outside}")

    # -- what goes out beside the torque ---------------------------------------------------------

    def _telemetry_of(self, result: TickResult) -> Telemetry:
        names, stamp_ns = self._node.model.joint_names, result.measurement.stamp_ns
        terms = {**result.torque_terms, "gate": result.gate.tau - result.tau}
        self._look_for_stall(result)
        figures = {
            **result.law.figures(),
            "saturation": float(np.abs(result.tau / self._node.model.tau_max).max()),
            "braking": float(not result.gate.is_passing),
        }
        if result.avoidance is not None:
            figures["nearest_distance"] = result.avoidance.distance
            figures["task_share"] = result.avoidance.task_share
        values = np.array(list(figures.values()), dtype=float)
        return [
            (self._figure_set, ros.multi_array(values, (tuple(figures),), stamp_ns)),
            *((self._terms[name], ros.joint_state(names, stamp_ns, effort=tau)) for name, tau in terms.items()),
            *((self._figures[name], Float64(data=value)) for name, value in figures.items()),
        ]

    def _look_for_stall(self, result: TickResult) -> None:
        """Warn once when a commanded joint does not move (stall), and when the force of a hand is cut."""
        loop, stamp_ns, before = self.loop, result.measurement.stamp_ns, self._stall.sentence
        if loop is None:
            return
        tau_dist = None if loop.disturbance.is_over else loop.disturbance.at(stamp_ns)
        self._stall.look(result, tau_dist)
        if self._stall.sentence and not before:
            self._node.get_logger().warning(self._stall.sentence)
        if loop.push is not None and loop.push.sentence != self._pressed:
            self._pressed = loop.push.sentence
            self._node.get_logger().warning(self._pressed)
        if (lag := loop.gate.velocity_lag) > 1.5 * self._velocity_lag or (self._velocity_lag and not lag):
            self._velocity_lag = lag  # with the time between two states step and lag change all the time
            self._node.get_logger().info(loop.gate.describe_velocities() or "velocities are used as they come")

    def _why_held(self, loop: ControlLoop) -> str:
        """Why commands do not pass: the brake of the own gate comes first, since a gate behind brakes with it."""
        held_by = "" if self._gates_behind is None else self._gates_behind.held_by
        return f"held: {held_by}" if held_by and not loop.gate.is_braked else loop.gate.reason

    def _name_unheard(self) -> None:
        """Warn once of gates behind that have never been heard."""
        if self._gates_behind is None or self._has_named_unheard or not (unheard := self._gates_behind.unheard()):
            return
        self._has_named_unheard = True
        names = ", ".join(f"{name}/state" for name in unheard)
        self._node.get_logger().warning(f"not heard yet: {names}: a brake there is not noticed here (gates_behind)")

    def health(self) -> Health:
        loop = self.loop
        reason = "" if loop is None else self._why_held(loop) or self._stall.sentence
        self._name_unheard()
        figures: dict[str, object] = {
            "rate [Hz]": self._duration.read(),
            **self._duration.figures("tick"),
            "tick longest [ms]": 1e3 * self._duration.longest,
            "states skipped": 0 if loop is None else loop.gaps.skipped,
            "targets": self._n_goals(),
            "braked": loop is not None and loop.gate.is_braked,
            FAULT: "" if loop is None else self._stall.last.removeprefix(f"{FAULT}: "),
            **({} if self._native_loop is None else self._native_loop.figures()),
            **({} if loop is None else loop.gate.constraint_figures()),
        }
        return (WARN, reason, figures) if reason else (OK, "passing commands", figures)


C_co = TypeVar("C_co", bound=ControllerNodeParameters, covariant=True)


class ControllerNode(ArmNode[C_co]):
    """A controller as a node; a controller with more topics than those of its row has a class of its own.

    Attributes
    ----------
    taken : Counter
        Number of goals that the controller has taken, by topic.
    """

    def __init__(self, row: ControllerRow[Any]) -> None:
        self.row = row
        self.taken = Counter[str]()
        self._obstacles: ObstacleSubscription | None = None
        super().__init__(row.name, row.node_parameters)  # type: ignore[arg-type]
        self.pipeline = TorquePipeline(self, row.torque_terms, row.figures, self.n_goals)
        self.at_end.callback(self.pipeline.end)
        self.prepare()
        self.find_model()

    def prepare(self) -> None:
        """Make what is needed before the robot is known."""

    def n_goals(self) -> int:
        """Return the number of goals known so far."""
        return sum(self.taken[topic] for topic in GOALS)

    def resolve_parameters(self, overrides: dict[str, Any], model: RobotModel | None) -> C_co:
        """Return all parameters; gains that nobody has set are proposed for the arm where the controller has such."""
        if not self.row.proposes_gains:
            return super().resolve_parameters(overrides, model)
        parameters: C_co = resolve_parameters(self.row.node_parameters, overrides, model)  # type: ignore[assignment]
        return parameters

    def on_model(self, first: bool) -> None:
        """Make the controller for this robot, and run it."""
        p = self.parameters
        controller = self.make()
        loop = new_loop(self.model, p, controller, waits_for_commands=p.lock_step)
        if first:
            self.subscribe()
        if self.row.sees_obstacles(p) or p.gate.constraints:
            self._obstacles = self._obstacles or ObstacleSubscription(self, is_counted=True)
            self._obstacles.newest_state = self.pipeline.newest_state
        self.pipeline.obstacles = self._obstacles
        self.on_loop(loop)
        self.pipeline.start(loop)

    def make(self) -> Controller:
        """Return the controller of this robot."""
        return self.row.make(self.model, self.parameters)

    def on_loop(self, loop: ControlLoop) -> None:
        """Called with a new loop before it runs; the node may set what it adds to its pipeline."""

    def on_parameters(self) -> None:
        """Take live changes; they act from the next state on, and the gate smooths the step."""
        if self.pipeline.loop is not None:
            if "constraints" in self.changed:
                self.pipeline.change_constraints(self.pipeline.loop, self.parameters.gate.constraints)
            parameters: Any = self.parameters
            self.pipeline.loop.controller.configure(parameters.control)
            self.pipeline.configure()

    def health(self) -> Health:
        level, sentence, figures = self.pipeline.health()
        warning, own = self.own_health() if self.ready else ("", {})
        return (WARN, warning, figures | own) if warning and level != WARN else (level, sentence, figures | own)

    def own_health(self) -> tuple[str, dict[str, object]]:
        """Return a warning, or nothing, and figures of the controller, whose robot is known."""
        return "", {}

    def log_proposals(self, tuning: OscTuning) -> None:
        """Log the gains and limits that are proposed for this arm."""
        if proposals := describe_proposals(tuning, self.overrides):
            self.get_logger().info(f"proposed for this arm: {proposals}")

    def subscribe(self) -> None:
        """Subscribe to the goals of the row; the robot is known."""
        goals = {topic: GOALS[topic] for topic in self.row.goals if topic in GOALS}
        subscribe_to_goals(self, goals, self.add_goal, self.pipeline.publish_goal_count)
        for topic in self.row.goals:
            if topic in JOGS:
                subscribe_to_values(self, JOGS[topic], topic, self.add_goal, LATEST)
        for topic in self.row.number_topics:
            subscribe_to_values(self, Float64, topic, self.add_goal, EVENTS)

    def add_goal(self, topic: str, message: Any) -> None:
        """Give a goal to the controller.

        An ArmControlError when its values are wrong, or the controller does not follow such a goal.
        """
        assert self.pipeline.loop is not None
        self.pipeline.loop.controller.add(goal_of(topic, message, self.model, self.pipeline.now_ns))
        self.taken[topic] += 1


def controller_node(name: str) -> ControllerNode[ControllerNodeParameters]:
    """Return the node of a controller that has no class of its own."""
    return ControllerNode(CONTROLLERS[name])
