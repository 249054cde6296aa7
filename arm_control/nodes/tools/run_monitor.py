"""The node ``monitor``: starts a run, records states and commands, keeps the newest figures.

Messages are fetched in batches of bytes, which become arrays, so that recording costs the control loop next to nothing.
The newest ten minutes at 1 kHz are kept.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Mapping

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Empty, Float64
from std_srvs.srv import SetBool

from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.messages import JointStateLog, nanoseconds, pose_from_message, wrench_numbers
from arm_control.model import RobotModel
from arm_control.motion import Target
from arm_control.nodes.support.arm_node import REFUSED
from arm_control.nodes.support.plant_node import AwaitedCounts
from arm_control.nodes.support.polling import poll, polled_subscription
from arm_control.nodes.support.topics import EVENTS, LATCHED, LATCHED_EVENTS, LOSSLESS, recorded_qos
from arm_control.report import HAND_PERIOD
from arm_control.simulation import Recording, WrenchSeries

RECORDER_READY = "recorder/ready"
"""Latched topic of a recorder that has subscribed to states and commands."""
HAND_PERIOD_NS = round(HAND_PERIOD * NANOSECONDS)
MANY_TARGETS = 1000
"""Newest targets, among which one that came already is searched."""
WRENCHES = ("estimated_wrench", "commanded_wrench")
"""Topics with wrenches of the hand, where a controller publishes them."""
KEPT = 600_000
"""States, and commands, that are kept whole: ten minutes at 1 kHz, 100 MB of an arm of six joints."""
WAYPOINT = "guide/waypoint"
"""Topic on which each message takes the posture of then as a waypoint."""
GUIDED = ("hand_x", "hand_y", "hand_z", "hand_force")
FIGURES = ("position_error", "orientation_error", "condition_number", "saturation", "braking", *GUIDED)


class MonitorNode(Node):
    """Starts and records a run.

    Parameters
    ----------
    awaited : mapping of str to int
        Number of ``targets``, and of ``obstacles``, that the controller must know before the simulator is started.
    first_target : PoseStamped, optional
        The scenario's own target for now; any other one for now is by hand. With it, a target must have come before the
        simulator is started.

    Attributes
    ----------
    figures : dict of str to float
        The newest values of ``controller_state/*``.
    diagnostics : dict of str to dict
        The newest status of each node, by its name; ``"message"`` is its text.
    left_out : Counter
        Number of messages with other joints or wrong values, by cause; counted by :meth:`recording`.
    hand_ns : int or None
        Stamp of the state at which the first target for now came, not one of a list [ns]; None without one.
    waypoints_ns : list of int
        Stamps of the states that are waypoints [ns].
    waits_for_recorder : bool
        Whether a recorder must have subscribed before the simulator is started.
    """

    def __init__(
        self,
        awaited: Mapping[str, int],
        simulator: str = "simulator",
        first_target: PoseStamped | None = None,
    ) -> None:
        super().__init__("monitor", start_parameter_services=False)
        self.waits_for_recorder = False
        self.waypoints_ns: list[int] = []
        self.create_subscription(Empty, WAYPOINT, lambda _: self.waypoints_ns.append(self.stamp_ns), EVENTS)
        self._waypoint = self.create_publisher(Empty, WAYPOINT, EVENTS)
        self.left_out = Counter[str]()
        self.started = False
        self._simulator = simulator
        self.state_log = JointStateLog(KEPT, "position", "velocity")
        self.command_log = JointStateLog(KEPT, "effort")
        self._target_messages: dict[int, PoseStamped] = {}
        self._known_targets: deque[PoseStamped] = deque(maxlen=MANY_TARGETS)
        self._first_target = first_target
        self.hand_ns: int | None = None
        self.figures = dict.fromkeys(FIGURES, math.nan)
        self.diagnostics: dict[str, dict[str, str]] = {}
        states = LOSSLESS if simulator else recorded_qos(latched=False, reliable=False)  # a driver's may be best-effort
        self._states = polled_subscription(self, JointState, "joint_states", states, raw=True)
        self._commands = polled_subscription(self, JointState, "joint_commands", LOSSLESS, raw=True)
        for qos in (EVENTS, LATCHED_EVENTS):
            self.create_subscription(PoseStamped, "target_pose", self._on_target, qos)
        self._wrench_topics = {name: polled_subscription(self, WrenchStamped, name, EVENTS) for name in WRENCHES}
        self._wrenches: dict[str, deque[WrenchStamped]] = {name: deque(maxlen=KEPT // 10) for name in WRENCHES}
        self._awaited = AwaitedCounts(self, awaited)
        self.create_subscription(Bool, RECORDER_READY, self._on_recorder, LATCHED)
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._motors = simulator or "gate"
        self.create_subscription(DiagnosticStatus, f"{self._motors}/state", self._on_gate, LATCHED)
        self._newest = {name: polled_subscription(self, Float64, f"controller_state/{name}", 1) for name in FIGURES}
        self._pause = self.create_client(SetBool, f"{simulator or 'simulator'}/pause")
        self.create_timer(0.05, self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def stamp_ns(self) -> int:
        """Stamp of the newest state, -1 before the first [ns]."""
        return self.state_log.newest_ns

    @property
    def command_ns(self) -> int:
        """Stamp of the newest command, -1 before the first [ns]."""
        return self.command_log.newest_ns

    @property
    def begin_ns(self) -> int:
        """Begin of the run: 0 in a simulation, which starts with it, else the first state's stamp [ns]."""
        return 0 if self._simulator else max(self.state_log.first_ns, 0)

    @property
    def newest_ns(self) -> tuple[int, int]:
        """Newest state and command, from the begin of the run; negative before the first [ns]."""
        return self.stamp_ns - self.begin_ns, self.command_ns - self.begin_ns

    @property
    def active_target(self) -> int:
        """Number of the target that is active now, counted from 1; 0 before the first."""
        return sum(stamp_ns <= self.stamp_ns for stamp_ns in self._target_messages)

    @property
    def has_company(self) -> bool:
        """Whether several simulators have this name, or one sends states before this node has started its own."""
        publishers = self.get_publishers_info_by_topic("joint_states")
        is_heard = self.stamp_ns >= 0 and not self.started
        return is_heard or sum(info.node_name == self._simulator for info in publishers) > 1

    @property
    def refusal(self) -> str:
        """What a node says that waits for another robot than the run's; empty where none does."""
        said = (f"{name}: {status['message']}" for name, status in self.diagnostics.items())
        return next((sentence for sentence in said if REFUSED in sentence), "")

    def take_waypoint(self) -> None:
        """Take the posture of now as a waypoint, and say so on the topic, which a bag has."""
        self._waypoint.publish(Empty())

    def pause(self) -> None:
        """Pause the simulator, if this node has started it."""
        if self.started:
            self._pause.call_async(SetBool.Request(data=True))

    def recording(self, model: RobotModel) -> Recording:
        """Return the run so far, or its last ten minutes, in the model's joint order, also after the node's end."""
        causes = {"joint_states": Counter[str](), "joint_commands": Counter[str]()}
        stamps, q, v = self.state_log.in_joint_order(model, causes["joint_states"])
        command_stamps, tau = self.command_log.in_joint_order(model, causes["joint_commands"])
        for topic, counts in causes.items():
            self.left_out.update({f"{topic}: {cause}": count for cause, count in counts.items()})
        wrenches = {name: wrench_series(messages) for name, messages in self._wrenches.items() if messages}
        has_first = not self.command_log.n_dropped
        return Recording(
            stamps, q, v, command_stamps, tau, self._targets(model), wrenches=wrenches, has_first=has_first
        )

    def _targets(self, model: RobotModel) -> tuple[Target, ...]:
        """Targets with valid poses; the others are counted."""
        targets = []
        for stamp_ns, message in sorted(self._target_messages.items()):
            try:
                frame = message.header.frame_id or model.base
                targets.append(Target(stamp_ns, frame, pose_from_message(message)))
            except InputError as error:
                self.left_out[f"target_pose: {error}"] += 1
        return tuple(targets)

    def fetch(self) -> None:
        """Take the messages that have come."""
        self.state_log.extend(raw for raw, _ in poll(self._states))
        self.command_log.extend(raw for raw, _ in poll(self._commands))
        for name, subscription in self._wrench_topics.items():
            self._wrenches[name].extend(message for message, _ in poll(subscription))
        for name, subscription in self._newest.items():
            for message, _ in poll(subscription):
                self.figures[name] = message.data

    def _on_target(self, message: PoseStamped) -> None:
        """Keep a target once: both subscriptions receive a latched one.

        One for now replaces those that wait, and those that came less than a period before: a target that is dragged.
        """
        if message in self._known_targets:
            return
        self._known_targets.append(message)
        stamp_ns = nanoseconds(message.header.stamp)
        if not stamp_ns and self.stamp_ns > 0 and message != self._first_target:
            stamp_ns = self.stamp_ns
            begin_ns = self.hand_ns = stamp_ns if self.hand_ns is None else self.hand_ns
            latest_ns = stamp_ns - HAND_PERIOD_NS
            self._target_messages = {
                ns: kept for ns, kept in self._target_messages.items() if ns < begin_ns or ns <= latest_ns
            }
        self._target_messages[stamp_ns] = message

    def _on_timer(self) -> None:
        """Fetch messages; start the simulator when the controller has its targets and both topics have publishers."""
        self.fetch()
        connected = self._states.get_publisher_count() and self._commands.get_publisher_count()
        knows_targets = bool(self._first_target is None or self._known_targets)  # as the controller does
        is_recorded = knows_targets and not self.waits_for_recorder
        if not self.started and connected and is_recorded and not self._awaited.missing and not self.has_company:
            self.started = self._pause.service_is_ready()
            if self.started:
                self._pause.call_async(SetBool.Request(data=False))

    def _on_recorder(self, _: Bool) -> None:
        self.waits_for_recorder = False

    def _on_gate(self, status: DiagnosticStatus) -> None:
        """Note a brake at once: a run may end before the next diagnostics."""
        known = self.diagnostics.get(self._motors, {})
        is_braked = status.level == DiagnosticStatus.ERROR
        if is_braked != (known.get("braked") == "True"):
            self.diagnostics[self._motors] = {**known, "message": status.message, "braked": str(is_braked)}

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            namespace, _, name = status.name.rpartition("/")
            if namespace != self.get_namespace().rstrip("/"):
                continue
            values = {item.key: item.value for item in status.values}
            self.diagnostics[name] = {"message": status.message, **values}


def wrench_series(messages: Iterable[WrenchStamped]) -> WrenchSeries:
    """Return the wrenches of messages; those that are not finite are left out."""
    pairs = [(nanoseconds(message.header.stamp), wrench_numbers(message)) for message in messages]
    finite = [(stamp_ns, values) for stamp_ns, values in pairs if np.isfinite(values).all()]
    stamps = np.array([stamp_ns for stamp_ns, _ in finite], dtype=np.int64)
    return WrenchSeries(stamps, np.array([values for _, values in finite]).reshape(-1, 6))
