"""The node ``viewer``: a page in the browser that shows an arm, and with which a person works with it.

It prints the page's address, with the token that opens it. What the page shows is looked up 30 times a second, and of
topics that come at the rate of the states only while somebody has the page open. Whether a page may do more than look
is the parameter ``control``; without it this node has no publisher, and asks nobody for anything but names and values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from visualization_msgs.msg import MarkerArray

from arm_control.core.files import urdf_path
from arm_control.core.parameters import parameter
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths.poses import Pose
from arm_control.messages.fields import link_of, nanoseconds
from arm_control.model.urdf.load import read_source
from arm_control.nodes.support.arm_node import EVENTS, LATCHED, ArmNode, ArmParameters, run
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.goal_subscription import PoseGoals
from arm_control.nodes.support.latest_messages import NewestOnly
from arm_control.nodes.support.page_command_runner import Wished
from arm_control.nodes.support.service_clients import Remote, may_be_braked, told

if TYPE_CHECKING:
    from arm_control.viewer.panel import Line

PERIOD = 1.0 / 30.0
SLOW_EVERY, PLOT_EVERY = 30, 6
"""Rounds between two looks at who is there, and between two pictures of curves."""
ALONE_AFTER = 3
"""Looks around without anybody else who drives the arm, until the sliders do: others are not found at once."""
FIGURES, TERMS = "controller_state/", "torque_terms/"
DRAWN_HERE = ("target", "trace")
"""Namespaces of ``markers`` that the page has itself."""


@dataclass(frozen=True)
class ViewerParameters(ArmParameters):
    """Parameters of the node ``viewer``."""

    robot: str = parameter(
        "", "robot to show: a name, or a URDF or xacro file; empty: what is published as robot_description"
    )
    port: int = parameter(8150, "where the page is, or the next free port after it; 0: any", lower=0, upper=65535)
    control: bool = parameter(False, "whether the page may do more than look: sliders, targets, gains, buttons")


class ViewerNode(ArmNode):
    """Shows, and passes on what people want; the page is in ``arm_control.viewer``."""

    parameters: ViewerParameters
    NICE = 10  # the control loop comes first

    def __init__(self) -> None:
        from arm_control.viewer.drawings import MarkerBook
        from arm_control.viewer.page import Page

        super().__init__("viewer", ViewerParameters)
        self.page = Page(self.parameters.control, self.parameters.port)
        self.now_ns, self.q = 0, np.zeros(0)
        self.obstacles = MarkerBook(self._pose_of, by_stamp=True)
        self.remote = Remote(self, self.page.panel.say)
        self._markers = {topic: MarkerBook(self._place_of, DRAWN_HERE) for topic in ("markers", "plan_markers")}
        self._fast, self._calm = NewestOnly(self), NewestOnly(self)
        self._health: dict[str, DiagnosticStatus] = {}
        self._figures: dict[str, float] = {}
        self._terms: dict[str, dict[str, float]] = {}
        self._round, self._lonely, self._shown_gains = 0, 0, ""
        self._heard_state = False
        self._wished = Wished(self) if self.parameters.control else None
        self._calm.listen(DiagnosticArray, "/diagnostics", 10)
        for topic in ("obstacles", *self._markers):
            self._calm.listen(MarkerArray, topic, EVENTS)
        if self.parameters.robot:
            self._show(self.parameters.robot)
        else:
            self.find_model()
        self.control_path.every(PERIOD, self._on_round)
        print(f"viewer: {self.page.address}", flush=True)

    def destroy_node(self) -> None:
        """End the page, too."""
        self.page.close()
        super().destroy_node()

    def on_model(self, first: bool) -> None:
        """Draw this robot."""
        from arm_control.viewer.arm_shapes import arm_parts, mesh_roots

        path = Path(self.parameters.robot)
        parts, notes = arm_parts(self.model, mesh_roots(path if path.is_file() else None))
        for note in notes:
            self.get_logger().warning(note)
        self.q = np.clip(np.zeros(self.model.nq), self.model.q_min, self.model.q_max)
        self.page.set_arm(self.model, parts)
        if first:
            self._orders = PoseGoals(self, lambda: self.now_ns)
        self._orders.on_model()
        self._orders.follower.restart(self.q)
        self._heard_state = False

    def _show(self, robot: str) -> None:
        """Show a robot by name, and let others know of it if nobody else does."""
        description, _ = read_source(urdf_path(robot))
        self._take_model(description)
        if self.parameters.control and not self.count_publishers(self.resolve_topic_name("robot_description")):
            self._description = self.create_publisher(String, "robot_description", LATCHED)
            self._description.publish(String(data=description))

    # -- a round -------------------------------------------------------------------------------------

    @property
    def is_alone(self) -> bool:
        """Whether nobody else drives the arm, and has not for a while."""
        return self._lonely >= ALONE_AFTER

    def _on_round(self) -> None:
        self._round += 1
        if self._round % SLOW_EVERY == 1:
            self._look_around()
        self._take_calm()
        wishes = self.page.wishes.take()
        if not self.ready:
            return
        for wish in wishes:
            if wish.kind == "joint":
                self._turn(wish.name, wish.value)
            elif self._wished is not None:
                self._wished.take(wish)
        if self._wished is not None:
            self._wished.publish()
        if self.page.is_watched:
            self._draw()
        elif self._wished is not None and self._wished.tells:  # obstacles have the stamp of the newest state
            self._fast.listen(JointState, "joint_states")
            self._fast.stop(but=("joint_states",))
            self._take_fast()
        else:
            self._fast.stop()

    def _turn(self, joint: str, value: float) -> None:
        """Turn a joint of the picture, where nobody else drives the arm."""
        if self.is_alone and joint in self.model.joint_names and np.isfinite(value):
            i = self.model.joint_names.index(joint)
            self.q[i] = np.clip(value, self.model.q_min[i], self.model.q_max[i])

    def has_company(self) -> bool:
        """Whether somebody else tells where the arm is, or commands it."""
        own = int(self._wished is not None and self._wished.drives)
        states, commands = (
            self.count_publishers(self.resolve_topic_name(topic)) for topic in ("joint_states", "joint_commands")
        )
        return states - own + commands > 0 or bool(self.remote.gates)

    def _look_around(self) -> None:
        """Who is there: now and then, since the graph is large."""
        self.remote.look()
        has_company = self.has_company()
        self._lonely = 0 if has_company else self._lonely + 1
        self.page.offer(bool(self.remote.simulator), bool(self.remote.gates), has_company)
        if self.page.is_watched:
            self._fast.listen(JointState, "joint_states")
            self._fast.listen(PoseArray, "planned_path")
            prefix = self.get_namespace().rstrip("/") + "/"
            for name, kinds in self.get_topic_names_and_types():
                topic = name.removeprefix(prefix)
                if topic.startswith(FIGURES) and "std_msgs/msg/Float64" in kinds:
                    self._fast.listen(Float64, topic)
                elif topic.startswith(TERMS) and "sensor_msgs/msg/JointState" in kinds:
                    self._fast.listen(JointState, topic)

    def _take_calm(self) -> None:
        """What comes seldom is taken in whether somebody looks or not: it may not come again."""
        self.remote.follow()
        for topic, message in self._calm.look():
            if topic == "obstacles":
                self.obstacles.take(message, self.now_ns)
            elif topic in self._markers:
                self._markers[topic].take(message, self.now_ns)
            else:
                for status in message.status:
                    where, _, name = status.name.rpartition("/")
                    if where == self.get_namespace().rstrip("/"):  # all arms share this topic
                        self._health[name] = status

    def _take_fast(self) -> None:
        for topic, message in self._fast.look():
            if topic == "joint_states":
                self._take_state(message)
            elif topic == "planned_path":
                points = [(pose.position.x, pose.position.y, pose.position.z) for pose in message.poses]
                self.page.scene.set_path(np.array(points).reshape(-1, 3))
            elif topic.startswith(FIGURES):
                self._figures[topic.removeprefix(FIGURES)] = message.data
            else:
                efforts = zip(message.name, message.effort, strict=False)
                self._terms[topic.removeprefix(TERMS)] = {str(name): float(tau) for name, tau in efforts}

    def _take_state(self, message: JointState) -> None:
        if self.is_alone:
            return
        try:
            q = self.model.in_joint_order(message.name, message.position)
        except InputError as error:
            self.rejections.add("joint_states", error)
            return
        stamp_ns = nanoseconds(message.header.stamp)
        if stamp_ns < self.now_ns or not self._heard_state:
            self._orders.follower.restart(q)
            self.page.scene.clear_trace()
        self.q, self.now_ns, self._heard_state = q, stamp_ns, True

    # -- what is shown ---------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Send the page what has changed."""
        self._take_fast()
        page, alone = self.page, self.is_alone
        X_WE = page.scene.set_joints(self.q)
        page.scene.add_to_trace(X_WE.p)
        X_WT = self._orders.follower.reference(self.now_ns, self.q).X_WT if self._heard_state else X_WE
        page.scene.set_target(X_WT)
        page.panel.show_target(X_WT)
        page.panel.show_joints(dict(zip(self.model.joint_names, self.q.tolist(), strict=True)), not alone)
        page.scene.set_obstacles(self.obstacles.things(self.now_ns))
        drawings = [book.drawings(self.now_ns) for book in self._markers.values()]
        page.scene.set_drawings({(i, key): d for i, found in enumerate(drawings) for key, d in found.items()})
        self._show_gains()
        if self._figures or self._terms:
            page.plot(self.now_ns / NANOSECONDS, self._figures, self._terms)
        if self._round % PLOT_EVERY == 0:
            page.plots.draw()
        if self._round % SLOW_EVERY == 0:
            page.panel.set_status(self.status())
            page.panel.set_braked(any(may_be_braked(self._health.get(name)) for name in self.remote.gates))

    def _show_gains(self) -> None:
        remote, panel = self.remote, self.page.panel
        if remote.controller + str(bool(remote.gains)) != self._shown_gains:
            self._shown_gains = remote.controller + str(bool(remote.gains))
            panel.set_gains(remote.controller, {n: (x, remote.spec(n)) for n, x in remote.gains.items()})
        for name, value in remote.gains.items():
            if not remote.is_changing(name):
                panel.show_gain(name, value)
        if remote.factor is not None and not remote.is_changing("real_time_factor"):
            panel.set_speed(remote.factor)

    def status(self) -> dict[str, Line]:
        """What is going on, in a few words."""
        from arm_control.viewer.panel import Line

        if self.is_alone:
            moved = "sliders" if self.parameters.control else "sliders, in this picture only"
            return {"robot": Line(str(self.model.urdf.robot.name)), "moved by": Line(moved)}
        lines = {"time": Line("", figure=f"{self.now_ns / NANOSECONDS:.2f} s")}
        for name in filter(None, dict.fromkeys((self.remote.controller, self.remote.simulator, *self.remote.gates))):
            status = self._health.get(name, DiagnosticStatus(message="-"))
            lines[name] = Line(*told(name, status, self.parameters.control))
        return lines

    def _pose_of(self, frame: str) -> Pose:
        """Pose of a link in the newest state; an empty name is the base."""
        return self.model.pose(self.q, link_of(frame, self.model))

    def _place_of(self, frame: str) -> Pose:
        """The same for what is only drawn: as on TF, ``world`` is the base where no link has that name."""
        return self._pose_of("" if frame == "world" and frame not in self.model.frames else frame)

    def publish_joints(self, publisher: Any) -> None:
        """Publish where the sliders are, on the system's time."""
        stamp_ns = self.get_clock().now().nanoseconds
        publisher.publish(ros.joint_state(self.model.joint_names, stamp_ns, position=self.q))


def main(given: Mapping[str, Any] | None = None) -> None:
    """Entry point of ``ros2 run arm_control viewer``; with parameters given, of ``arm_control view``."""
    parameters = [f"{name}:={json.dumps(value)}" for name, value in (given or {}).items()]
    arguments = [word for one in parameters for word in ("-p", one)]
    run(ViewerNode, arguments=None if given is None else ["viewer", "--ros-args", *arguments])


if __name__ == "__main__":
    main()
