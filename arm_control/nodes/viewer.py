"""The node ``viewer``: a page in the browser that shows an arm and lets a person operate it.

It prints the page's address, with the token that opens it. The page is updated 30 times a second; fast topics are
subscribed only while the page is open. Targets, obstacles, gains and buttons need the parameter ``control``; without it
this node has no publisher, and requests nothing but names and values.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from arm_control.constraints import Constraint, read_constraints
from arm_control.control import FAULT, REACHED, STOPPED, Approach, ArmNodeParameters
from arm_control.core import NANOSECONDS, parameter
from arm_control.exceptions import ArmControlError, InputError
from arm_control.kinematics import IkResult, InverseKinematics
from arm_control.maths import Array, Pose
from arm_control.messages import link_of, nanoseconds, record_of
from arm_control.model import find_description, read_description
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.page_requests import (
    PageCommandRunner,
    ServiceClients,
    figures_in,
    may_be_braked,
    status_line,
)
from arm_control.nodes.support.polling import LatestMessages
from arm_control.nodes.support.subscriptions import pose_goals_of
from arm_control.nodes.support.topics import EVENTS, LATCHED, ros
from arm_control.viewer import Drawing, Line, MarkerStore, arm_parts, drawings_of_constraints, mesh_roots

PERIOD = 1.0 / 30.0
"""Time between two updates of the page [s]."""
SLOW_ROUNDS = 30
"""Updates between two discoveries of nodes and topics, and between two updates of the status."""
PLOT_ROUNDS = 6
"""Updates between two updates of the plots."""
ALONE_AFTER = 3
"""Discoveries without another node that drives the arm until the sliders do: discovery takes its time."""
FIGURES, TERMS = "controller_state/", "torque_terms/"
PLAN, SCENE = "planner/plan", "planner/scene"
NEURAL_TOPICS = ("attractor/neural_state", "attractor/spikes")
MARKER_TOPICS = ("markers", "plan_markers")
LARGEST_MATRIX = 10_000
"""Most numbers of a message about neurons."""
OWN_NAMESPACES = ("target", "trace", "plan_posture", "plan_obstacle")
"""Namespaces of ``markers`` that the page draws itself."""


@dataclass(frozen=True)
class ViewerParameters(ArmNodeParameters):
    """Parameters of the node ``viewer``."""

    robot: str = parameter(
        "", "robot to show: a name, or a URDF or xacro file; empty: from the topic robot_description"
    )
    port: int = parameter(8150, "port of the page, or the next free one; 0: any", lower=0, upper=65535)
    control: bool = parameter(False, "whether the page may control: sliders, targets, obstacles, gains, buttons")


class ViewerNode(ArmNode[ViewerParameters]):
    """Shows the arm and carries out the page's commands; the page is in ``arm_control.viewer``.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        Joint positions of the newest state, or of the sliders [rad or m].
    now_ns : int
        Stamp of the newest state [ns].
    """

    NICE = 10  # the control loop comes first
    NEEDS_NO_MASSES = True

    def __init__(self) -> None:
        from arm_control.viewer import Page

        super().__init__("viewer", ViewerParameters)
        self.page = Page(self.parameters.control, self.parameters.port)
        self.at_end.callback(self.page.close)
        self.now_ns = 0
        self.q = np.zeros(0)
        self.obstacles = MarkerStore(self._pose_of, are_obstacles=True)
        self.service_clients = ServiceClients(self, self.page.panel.notify)
        self._markers = {topic: MarkerStore(self._drawing_pose_of, OWN_NAMESPACES) for topic in MARKER_TOPICS}
        self._plan: dict[str, Any] = {}
        self._plan_topics = LatestMessages(self)
        self._plan_topics.subscribe(JointTrajectory, PLAN, LATCHED)
        self._plan_topics.subscribe(MarkerArray, SCENE, LATCHED)
        self._plan_begin_ns = 0
        self._fast_topics = LatestMessages(self)
        self._slow_topics = LatestMessages(self)
        self._diagnostics: dict[str, DiagnosticStatus] = {}
        self._constraints: dict[str, tuple[Constraint, ...]] = {}
        self._figures: dict[str, float] = {}
        self._terms: dict[str, dict[str, float]] = {}
        self._round = 0
        self._paced = (0.0, 0)
        self._rounds_alone = 0
        self._shown_gains = ""
        self._has_state = False
        self._approach: Approach | None = None
        self._reach: IkResult | None = None
        self._runner: PageCommandRunner | None = None
        if self.parameters.control:
            self._runner = PageCommandRunner(self, self.service_clients, self.obstacles, self.page.panel.notify)
        self._slow_topics.subscribe(DiagnosticArray, "/diagnostics", 10)
        for topic in ("obstacles", *MARKER_TOPICS):
            self._slow_topics.subscribe(MarkerArray, topic, EVENTS)
        if self.parameters.robot:
            self._show_robot(self.parameters.robot)
        else:
            self.find_model()
        self.control_path.every(PERIOD, self._on_round)
        print(f"viewer: {self.page.address}", flush=True)

    def on_model(self, first: bool) -> None:
        """Show this robot from now on; ``first``: it is the first one."""
        robot = self.parameters.robot
        self.obstacles.folders = tuple(mesh_roots(find_description(robot)[0] if robot else None))
        parts, notes = arm_parts(self.model, self.obstacles.folders)
        for note in notes:
            self.get_logger().warning(note)
        self.q = np.clip(np.zeros(self.model.nq), self.model.q_min, self.model.q_max)
        self.page.set_arm(self.model, parts)
        self._approach, self._inverse_kinematics = None, InverseKinematics(self.model)
        if first:
            self._goals = pose_goals_of(self, lambda: self.now_ns)
        self._goals.restart(self.q)
        self._has_state = False

    def _show_robot(self, robot: str) -> None:
        """Show a robot by name; publish its description if no other node does."""
        description = read_description(robot)
        self.take_model(description)
        if self.parameters.control and not self.count_publishers(self.resolve_topic_name("robot_description")):
            self._description = self.create_publisher(String, "robot_description", LATCHED)
            self._description.publish(String(data=description))

    # -- an update -----------------------------------------------------------------------------------

    @property
    def is_alone(self) -> bool:
        """Whether no other node drives the arm, for a while."""
        return self._rounds_alone >= ALONE_AFTER

    def _on_round(self) -> None:
        self._round += 1
        if self._round % SLOW_ROUNDS == 1:
            self._discover()
        self._read_slow_topics()
        commands = self.page.commands.take()
        if not self.ready:
            return
        for command in commands:
            if command.type == "joint":
                self._move_joint(command.name, command.value)
            elif self._runner is not None:
                self._runner.run(command)
        if self._runner is not None:
            self._runner.publish()
        if self.page.is_open:
            self._draw()
        elif self._runner is not None and self._runner.has_obstacles:  # they need the stamp of the newest state
            self._fast_topics.subscribe(JointState, "joint_states")
            self._fast_topics.keep_only(("joint_states",))
            self._read_fast_topics()
        else:
            self._fast_topics.keep_only(())

    def _move_joint(self, joint: str, value: float) -> None:
        """Move a joint of the picture, unless another node drives the arm."""
        if self.is_alone and joint in self.model.joint_names and np.isfinite(value):
            i = self.model.joint_names.index(joint)
            self.q[i] = np.clip(value, self.model.q_min[i], self.model.q_max[i])

    def has_company(self) -> bool:
        """Return whether another node publishes joint states or commands, or has a gate."""
        own = int(self._runner is not None and self._runner.publishes_joint_states)
        states, commands = (
            self.count_publishers(self.resolve_topic_name(topic)) for topic in ("joint_states", "joint_commands")
        )
        return states - own + commands > 0 or bool(self.service_clients.gates)

    def _discover(self) -> None:
        """Update the running nodes and the topics: only now and then, since the graph is large."""
        self.service_clients.discover()
        has_company = self.has_company()
        self._rounds_alone = 0 if has_company else self._rounds_alone + 1
        self.page.offer(bool(self.service_clients.simulator), bool(self.service_clients.gates), has_company)
        if self.page.is_open:
            self._fast_topics.subscribe(JointState, "joint_states")
            self._fast_topics.subscribe(PoseArray, "planned_path")
            prefix = self.get_namespace().rstrip("/") + "/"
            for name, types in self.get_topic_names_and_types():
                topic = name.removeprefix(prefix)
                if topic.startswith(FIGURES) and "std_msgs/msg/Float64" in types:
                    self._fast_topics.subscribe(Float64, topic)
                elif topic in NEURAL_TOPICS and "std_msgs/msg/Float64MultiArray" in types:
                    self._fast_topics.subscribe(Float64MultiArray, topic)
                elif topic.startswith(TERMS) and "sensor_msgs/msg/JointState" in types:
                    self._fast_topics.subscribe(JointState, topic)

    def _read_slow_topics(self) -> None:
        """Read rare messages also while the page is closed: they may not come again."""
        self.service_clients.update()
        for topic, message in self._slow_topics.poll():
            if topic == "obstacles":
                self.obstacles.update(message, self.now_ns)
            elif topic in self._markers:
                self._markers[topic].update(message, self.now_ns)
            else:
                for status in message.status:
                    namespace, _, name = status.name.rpartition("/")
                    if namespace == self.get_namespace().rstrip("/"):  # all arms share this topic
                        self._diagnostics[name] = status

    def _read_fast_topics(self) -> None:
        for topic, message in self._fast_topics.poll():
            if topic == "joint_states":
                self._read_state(message)
            elif topic == "planned_path":
                points = [(pose.position.x, pose.position.y, pose.position.z) for pose in message.poses]
                self.page.scene.set_path(np.array(points).reshape(-1, 3))
            elif topic in NEURAL_TOPICS:
                self._read_neurons(topic, message)
            elif topic.startswith(FIGURES):
                self._figures[topic.removeprefix(FIGURES)] = message.data
            else:
                efforts = zip(message.name, message.effort, strict=False)
                self._terms[topic.removeprefix(TERMS)] = {str(name): float(tau) for name, tau in efforts}

    def _read_neurons(self, topic: str, message: Float64MultiArray) -> None:
        try:
            matrix = matrix_of(message, LARGEST_MATRIX)
        except InputError as error:
            self.rejections.add(topic, error)
            return
        if topic == NEURAL_TOPICS[0] and matrix.shape == (3, 3):
            self.page.neurons.add_state(self.now_ns / NANOSECONDS, matrix[:, [0, 2]])
        elif topic == NEURAL_TOPICS[1]:
            self.page.neurons.add_spikes(matrix)

    def _read_state(self, message: JointState) -> None:
        if self.is_alone:
            return
        try:
            q = self.model.in_joint_order(message.name, message.position)
        except InputError as error:
            self.rejections.add("joint_states", error)
            return
        stamp_ns = nanoseconds(message.header.stamp)
        if stamp_ns < self.now_ns or not self._has_state:
            self._goals.restart(q)
            self.page.scene.clear_trace()
        self.q = q
        self.now_ns = stamp_ns
        self._has_state = True

    # -- the page --------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Send changes to the page."""
        self._read_fast_topics()
        page = self.page
        X_WE = page.scene.set_joints(self.q)
        page.scene.add_to_trace(X_WE.p)
        X_WT = self._goals.reference(self.now_ns, self.q).X_WT if self._has_state else X_WE
        page.scene.set_target(X_WT)
        page.panel.show_target(X_WT)
        self._watch_approach(X_WT)
        page.panel.show_joints(dict(zip(self.model.joint_names, self.q.tolist(), strict=True)), not self.is_alone)
        page.scene.set_obstacles(self.obstacles.obstacles(self.now_ns))
        drawings = {topic: store.drawings(self.now_ns) for topic, store in self._markers.items()}
        by_key = {(topic, key): d for topic, group in drawings.items() for key, d in group.items()}
        page.scene.set_drawings(by_key | self._drawn_constraints())
        self._draw_plan()
        self._show_gains()
        if self._figures or self._terms:
            page.plot(self.now_ns / NANOSECONDS, self._figures, self._terms)
        if self._round % PLOT_ROUNDS == 0:
            page.draw_plots()
        if self._round % SLOW_ROUNDS == 0:
            page.panel.set_status(self.status())
            page.panel.set_braked(self._is_braked())

    def _drawn_constraints(self) -> dict[Hashable, Drawing]:
        """Return drawings of the constraints of all nodes, those that act in another colour."""
        nodes: dict[str, list[str]] = {}
        for name, file in self.service_clients.constraints.items():
            if file:
                nodes.setdefault(file, []).append(name)
        known = self._constraints
        self._constraints = {f: known[f] if f in known else self._read_constraints(f) for f in nodes}
        drawings: dict[Hashable, Drawing] = {}
        for file, names in nodes.items():
            figures = [figures_in(self._diagnostics.get(name)) for name in names]
            active = {c for values in figures for c in values.get("active constraints", "").split(", ")}
            drawn = drawings_of_constraints(self._constraints[file], active, self.model, self.q)
            drawings |= {(names[0], key): drawing for key, drawing in drawn.items()}
        return drawings

    def _read_constraints(self, file: str) -> tuple[Constraint, ...]:
        """Return those of a file; none, and a warning, where they cannot be read and drawn."""
        try:
            constraints = read_constraints(file).constraints
            drawings_of_constraints(constraints, (), self.model, self.q)
        except ArmControlError as error:
            self.get_logger().warning(f"constraints are not shown: {error}")
            return ()
        return constraints

    def _draw_plan(self) -> None:
        """Show a new plan, once it and the obstacles that it was made for are there, and the present time of it."""
        if news := dict(self._plan_topics.poll()):
            self._plan |= news
        if news and len(self._plan) == 2:
            self._take_plan(self._plan[PLAN], self._plan[SCENE])
        self.page.plan.update((self.now_ns - self._plan_begin_ns) / NANOSECONDS)

    def _take_plan(self, plan: JointTrajectory, scene: MarkerArray) -> None:
        begin_ns = nanoseconds(plan.header.stamp)
        if not scene.markers or nanoseconds(scene.markers[0].header.stamp) != begin_ns:
            return  # the other message is on its way
        try:
            self.page.plan.show(record_of(self.model, plan, scene))
        except ArmControlError as error:
            self.rejections.add(PLAN, error)
        self._plan_begin_ns = begin_ns

    def _watch_approach(self, X_WT: Pose) -> None:
        """Follow the way to the target, now and then; a target that moves is a new one."""
        if self._round % PLOT_ROUNDS or not self._has_state:
            return
        if self._approach is None or self._approach.X_WT is not X_WT:
            self._approach = Approach(self.model, X_WT)
            is_sought = self._goals.active
            self._reach = self._inverse_kinematics.solve(X_WT, self.q) if is_sought else None
            self.page.scene.show_reach(self._reach is None or self._reach.converged)
        self._approach.update(self.now_ns, self.q)

    def _target_line(self) -> Line | None:
        """Return whether the target is reached, and why not when the arm has stopped before."""
        if self._approach is None or not self._goals.active or self._is_braked():
            return None
        if self._reach is not None and not self._reach.converged and self._approach.state != REACHED:
            return Line(self._reach.why, 1)
        if self._approach.state == STOPPED:
            controller = self._diagnostics.get(self.service_clients.controller, DiagnosticStatus())
            if controller.message.startswith(FAULT):  # it knows its torque
                return Line(f"within reach, but held: {controller.message.removeprefix(f'{FAULT}: ')}", 1)
            nearest_distance = self._figures.get("nearest_distance", np.inf)
            return Line(self._approach.reason(self.q, nearest_distance), 1)
        return Line("reached" if self._approach.state == REACHED else "on the way")

    def _is_braked(self) -> bool:
        return any(may_be_braked(self._diagnostics.get(name)) for name in self.service_clients.gates)

    def _show_gains(self) -> None:
        clients, panel = self.service_clients, self.page.panel
        if clients.controller + str(bool(clients.gains)) != self._shown_gains:
            self._shown_gains = clients.controller + str(bool(clients.gains))
            panel.set_gains(clients.controller, {n: (x, clients.spec(n)) for n, x in clients.gains.items()})
        for name, value in clients.gains.items():
            if not clients.is_changing(name):
                panel.show_gain(name, value)
        if clients.factor is not None and not clients.is_changing("real_time_factor"):
            panel.set_speed(clients.factor)

    def status(self) -> dict[str, Line]:
        """Return the lines of the page's status, by their short names."""
        if self.is_alone:
            source = "sliders" if self.parameters.control else "sliders, in this picture only"
            return {"robot": Line(str(self.model.urdf.robot.name)), "moved by": Line(source)}
        lines = {"time": Line("", figure=f"{self.now_ns / NANOSECONDS:.2f} s{self._pace()}")}
        clients, planner = self.service_clients, "planner" if "planner" in self._diagnostics else ""
        names = clients.controller, planner, clients.simulator, *clients.gates
        for name in filter(None, dict.fromkeys(names)):
            status = self._diagnostics.get(name, DiagnosticStatus(message="-"))
            lines[name] = Line(*status_line(name, status, self.parameters.control))
        for name in (name for name, file in self.service_clients.constraints.items() if file):
            figures = figures_in(self._diagnostics.get(name))
            active, margin = figures.get("active constraints"), figures.get("smallest margin", "")
            lines["constraints"] = Line(f"{active or 'none'} acting" + (", least" if margin else ""), figure=margin)
        if target := self._target_line():
            lines["target"] = target
        return lines

    def _pace(self) -> str:
        """Simulated time per wall time since the last call, in words; empty where the arm has stood still or begun."""
        (wall, now_ns), self._paced = self._paced, (time.monotonic(), self.now_ns)
        elapsed = self._paced[0] - wall
        if not now_ns or self.now_ns <= now_ns or elapsed <= 0.0:
            return ""
        return f", {(self.now_ns - now_ns) / NANOSECONDS / elapsed:.2f} times real time"

    def _pose_of(self, frame: str) -> Pose:
        """Return the pose of a link in the newest state; an empty name is the base."""
        return self.model.pose(self.q, link_of(self.link(frame), self.model))

    def _drawing_pose_of(self, frame: str) -> Pose:
        """Return the pose of a frame for drawings: as on TF, ``world`` is the base if no link has that name."""
        return self._pose_of("" if frame == "world" and frame not in self.model.frames else frame)

    def publish_joints(self, publisher: Any) -> None:
        """Publish the joint positions of the sliders, on the system's time."""
        stamp_ns = self.get_clock().now().nanoseconds
        publisher.publish(ros.joint_state(self.model.joint_names, stamp_ns, position=self.q))


def matrix_of(message: Any, largest: int) -> Array:
    """Return the numbers of a ``Float64MultiArray`` with rows and columns.

    An InputError when it has no rows and columns, too many numbers, other than finite ones, or not as many as it says.
    """
    sizes, n = tuple(dimension.size for dimension in message.layout.dim), len(message.data)
    if len(sizes) != 2 or sizes[0] * sizes[1] != n or not 0 < n <= largest:
        raise InputError(f"{n} numbers in the dimensions {list(sizes)}; allowed: a matrix of up to {largest} numbers")
    matrix = np.array(message.data).reshape(sizes)
    if not np.isfinite(matrix).all():
        raise InputError("a number is not finite")
    return matrix
