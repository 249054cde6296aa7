"""The node ``follow``: joint states and chunks of a policy in, joint torque out, through the gate."""

from __future__ import annotations

import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import MarkerArray

from arm_control.control import TickResult
from arm_control.controllers import CONTROLLERS, FollowController, FollowNodeParameters
from arm_control.follow import PASS, REFUSE, SLEW, ChunkReport
from arm_control.nodes.support.controller_node import ControllerNode, Telemetry
from arm_control.nodes.support.topics import STATE, ros

COLOURS = {PASS: (0.2, 0.7, 0.2), SLEW: (0.95, 0.55, 0.1), REFUSE: (0.9, 0.2, 0.2)}
"""Red, green and blue of a chunk of each band."""
MOST_PLACES, SHOWN = 25, 2.0
"""Places of the hand that are drawn of a chunk, and how long [s]."""


class FollowNode(ControllerNode[FollowNodeParameters]):
    """Chunks followed as a node; ``/diagnostics`` says what has become of them."""

    def __init__(self) -> None:
        super().__init__(CONTROLLERS["follow"])

    def prepare(self) -> None:
        """Show chunks."""
        self._drawn: ChunkReport | None = None
        self._markers = self.create_publisher(MarkerArray, "plan_markers", STATE)
        self.pipeline.telemetry = self._newest_chunk

    def make(self) -> FollowController:
        """Return the controller of this robot."""
        self._controller = FollowController(self.model, self.parameters.control)
        self._controller.prepare_poses()
        return self._controller

    def _newest_chunk(self, result: TickResult) -> Telemetry:
        """Return the newest chunk as a line of the hand in the colour of its band; a refused one beside the last."""
        follower = self._controller.follower
        last, points = follower.last, follower.points
        if last is None or last is self._drawn or not len(points) or not np.isfinite(points).all():
            return []
        self._drawn = last
        places = np.array([self.model.pose(q).p for q in points[:: -(-len(points) // MOST_PLACES)]])
        line = ros.line_marker(places, self.frame(self.model.base), result.measurement.stamp_ns)
        r, g, b = COLOURS[last.band]
        line.ns, line.id, line.color = "chunk", int(last.band == REFUSE), ColorRGBA(r=r, g=g, b=b, a=1.0)
        line.lifetime = ros.duration(SHOWN)
        return [(self._markers, MarkerArray(markers=[line]))]

    def own_health(self) -> tuple[str, dict[str, object]]:
        follower = self._controller.follower
        is_stale, last = follower.is_stale(self.pipeline.now_ns), follower.last
        figures: dict[str, object] = {
            **{f"chunks, {band}": n for band, n in follower.counts.items()},
            "stale": is_stale,
        }
        if last is None:
            return "", figures
        figures |= {"chunk": last.band, "chunk latency [ms]": 1e3 * last.latency, "chunk error": last.error}
        reason = f"{last.band}: {last.reason}" if last.reason else ""
        return "no newer chunk: the arm rests" if is_stale else reason, figures
