"""What the command line asks a running arm: where its hand is, and to go to a target."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from arm_control.control import ON_THE_WAY, Approach
from arm_control.controllers import CONTROLLERS
from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.messages import link_of, nanoseconds
from arm_control.model import ArmParameters, RobotModel
from arm_control.nodes.support.topics import LATCHED, LATEST, TARGETS, ros
from arm_control.nodes.tools.command_line_node import PARAMETER_SERVICE, CommandLineNode

HEARING_TIME = 6.0
"""Longest time until description and state are heard [s]."""
FIGURES = ("braking", "nearest_distance")


class ArmClient:
    """A running arm, heard by a node of the command line.

    Parameters
    ----------
    client : CommandLineNode
        The node.
    namespace : str
        Namespace of the arm; empty for the root.

    Attributes
    ----------
    model : RobotModel
        The arm, as its controller has it.
    controller : str
        Full name of the controller's node; empty without one.
    q : ndarray, shape (nq,)
        Joint positions of the newest state [rad or m].
    stamp_ns : int
        Its stamp [ns].
    figures : dict of str to float
        Newest values of ``controller_state/*``.

    Raises
    ------
    InputError
        When no arm is heard.
    """

    def __init__(self, client: CommandLineNode, namespace: str = "") -> None:
        self._client = client
        self._prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else "/"
        self._description = ""
        self._state: JointState | None = None
        self.figures: dict[str, float] = {}
        client.subscribe(String, f"{self._prefix}robot_description", self._on_description, LATCHED)
        client.subscribe(JointState, f"{self._prefix}joint_states", self._on_state, LATEST)
        for name in FIGURES:
            topic = f"{self._prefix}controller_state/{name}"
            client.subscribe(Float64, topic, partial(self._on_figure, name), 1)
        if not client.spin_until(lambda: self._state is not None and bool(self._description), HEARING_TIME):
            missing = "robot_description" if self._state is not None else "joint_states"
            raise InputError(
                f"no {self._prefix}{missing} within {HEARING_TIME:.0f} s: is an arm running, with the same"
                " ROS_DOMAIN_ID and --namespace?"
            )
        self.controller = self._find_controller()
        values = self._parameters()
        self._frame_prefix = str(values.pop("frame_prefix", ""))
        self.model: RobotModel = ArmParameters.from_mapping(values).model(self._description)
        self._read_state()

    def go_to(self, X_WT: Pose, seconds: float) -> Approach:
        """Send a target, and wait until the arm is there, or has stopped.

        Parameters
        ----------
        X_WT : Pose
            The target, in the base.
        seconds : float
            Longest time of the states [s].

        Raises
        ------
        InputError
            When no node follows targets, or states end.
        """
        topic = f"{self._prefix}target_pose"
        publisher = self._client.publisher(PoseStamped, topic, TARGETS)
        if not self._client.spin_until(lambda: publisher.get_subscription_count() > 0, HEARING_TIME):
            raise InputError(f"no node listens to {topic}: is a controller running?")
        publisher.publish(ros.pose_stamped(X_WT, self._frame_prefix + self.model.base, 0))
        approach, begin_ns, heard_at = Approach(self.model, X_WT), self.stamp_ns, time.monotonic()
        while approach.state == ON_THE_WAY and self.stamp_ns - begin_ns < seconds * NANOSECONDS:
            before_ns = self.stamp_ns
            self._client.spin_until(partial(self._is_newer, before_ns), 1.0)
            self._read_state()
            heard_at = heard_at if self.stamp_ns == before_ns else time.monotonic()
            if time.monotonic() - heard_at > HEARING_TIME:
                raise InputError(f"no state for {HEARING_TIME:.0f} s: the arm is paused, or its driver has ended")
            approach.update(self.stamp_ns, self.q)
        return approach

    def pose_in(self, frame: str, X: Pose) -> Pose:
        """Return a pose in the base.

        Parameters
        ----------
        frame : str
            The link in whose frame the pose is; empty: the base.
        X : Pose
            The pose.
        """
        return self.model.pose(self.q, link_of(frame, self.model)) @ X

    def _find_controller(self) -> str:
        """Full name of the node that controls the arm; empty without one."""
        names = {f"{self._prefix}{name}" for name in CONTROLLERS}
        self._client.spin_until(lambda: bool(names & self._client.owners(*PARAMETER_SERVICE)), 2.0)
        found = names & self._client.owners(*PARAMETER_SERVICE)
        return next((name for name in sorted(found, reverse=True)), "")

    def _parameters(self) -> dict[str, Any]:
        """The controller's parameters about the arm."""
        if not self.controller:
            return {}
        names = [*ArmParameters.types(), "frame_prefix"]
        response = self._client.call(
            GetParameters, f"{self.controller}/get_parameters", GetParameters.Request(names=names)
        )
        if response is None:
            raise InputError(f"{self.controller} does not answer: is it still running?")
        values = dict(zip(names, map(parameter_value_to_python, response.values), strict=True))
        return {name: value for name, value in values.items() if value is not None}

    def _on_description(self, message: String) -> None:
        self._description = message.data

    def _on_state(self, message: JointState) -> None:
        self._state = message

    def _on_figure(self, name: str, message: Float64) -> None:
        self.figures[name] = message.data

    def _is_newer(self, stamp_ns: int) -> bool:
        return self._newest_ns() != stamp_ns

    def _newest_ns(self) -> int:
        return -1 if self._state is None else nanoseconds(self._state.header.stamp)

    def _read_state(self) -> None:
        assert self._state is not None
        self.q: Array = np.array(self.model.in_joint_order(self._state.name, self._state.position))
        self.stamp_ns = self._newest_ns()
