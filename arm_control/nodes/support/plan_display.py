"""Plans of the node ``planner`` on the page, with the obstacles that they were made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import MarkerArray

from arm_control.control import ArmNodeParameters
from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError
from arm_control.messages import nanoseconds, record_of
from arm_control.nodes.support.arm_node import ArmNode
from arm_control.nodes.support.polling import LatestMessages
from arm_control.nodes.support.topics import LATCHED

if TYPE_CHECKING:
    from arm_control.viewer import PlanView

PLAN, SCENE = "planner/plan", "planner/scene"


class PlanDisplay:
    """Reads the plan's topics and shows what they have.

    Parameters
    ----------
    node : ArmNode
        The node of the page.
    view : PlanView
        The page's view of plans.
    """

    def __init__(self, node: ArmNode[ArmNodeParameters], view: PlanView) -> None:
        self._node, self._view = node, view
        self._topics = LatestMessages(node)
        self._topics.subscribe(JointTrajectory, PLAN, LATCHED)
        self._topics.subscribe(MarkerArray, SCENE, LATCHED)
        self._plan: JointTrajectory | None = None
        self._scene: MarkerArray | None = None
        self._begin_ns = 0

    def update(self, now_ns: int) -> None:
        """Show a new plan, and the present time of it; called with the stamp of the newest state [ns]."""
        is_new = False
        for topic, message in self._topics.poll():
            is_new = True
            if topic == PLAN:
                self._plan = message
            else:
                self._scene = message
        if is_new and self._plan is not None and self._scene is not None:
            self._show(self._plan, self._scene)
        self._view.update((now_ns - self._begin_ns) / NANOSECONDS)

    def _show(self, plan: JointTrajectory, scene: MarkerArray) -> None:
        begin_ns = nanoseconds(plan.header.stamp)
        if not scene.markers or nanoseconds(scene.markers[0].header.stamp) != begin_ns:
            return  # the other message is on its way
        try:
            self._view.show(record_of(self._node.model, plan, scene))
        except ArmControlError as error:
            self._node.rejections.add(PLAN, error)
        self._begin_ns = begin_ns
