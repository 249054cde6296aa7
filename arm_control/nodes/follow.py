"""The node ``follow``: joint states and chunks of a policy in, joint torque out, through the gate."""

from __future__ import annotations

from arm_control.controllers import CONTROLLERS, FollowController, FollowNodeParameters
from arm_control.nodes.support.controller_node import ControllerNode
from arm_control.nodes.support.diagnostics import WARN, Health


class FollowNode(ControllerNode[FollowNodeParameters]):
    """Chunks followed as a node; ``/diagnostics`` says what has become of them."""

    def __init__(self) -> None:
        super().__init__(CONTROLLERS["follow"])

    def make(self) -> FollowController:
        """Return the controller of this robot."""
        self._controller = FollowController(self.model, self.parameters.control)
        self._controller.prepare_poses()
        return self._controller

    def health(self) -> Health:
        level, sentence, figures = self.pipeline.health()
        if not self.ready:
            return level, sentence, figures
        follower = self._controller.follower
        is_stale, last = follower.is_stale(self.pipeline.now_ns), follower.last
        figures |= {f"chunks, {band}": n for band, n in follower.counts.items()}
        figures["stale"] = is_stale
        if last is not None:
            figures |= {"chunk": last.band, "chunk latency [ms]": 1e3 * last.latency, "chunk error": last.error}
            if level != WARN and (is_stale or last.reason):
                level, sentence = WARN, "no newer chunk: the arm rests" if is_stale else f"{last.band}: {last.reason}"
        return level, sentence, figures
