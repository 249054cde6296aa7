"""The node ``primitive``: joint states, goals, amplitude and period in, joint torque out, through the gate.

The primitive is read from a file, which says whether joints or the end effector move. Obstacles may bend the path of an
end effector, and be avoided as in the node ``osc``.
"""

from __future__ import annotations

from arm_control.controllers import (
    CONTROLLERS,
    JointPrimitiveController,
    PosePrimitiveController,
    PrimitiveController,
    PrimitiveNodeParameters,
    load_primitive,
)
from arm_control.nodes.support.controller_node import ControllerNode


class PrimitiveNode(ControllerNode[PrimitiveNodeParameters]):
    """A movement primitive as a node; its laws are in ``arm_control.primitives``."""

    def __init__(self) -> None:
        self._controller: PrimitiveController | None = None
        super().__init__(CONTROLLERS["primitive"])

    def prepare(self) -> None:
        """Refuse a missing file before a robot is waited for."""
        load_primitive(self.parameters.control.primitive.file)

    def n_goals(self) -> int:
        return 0 if self._controller is None else len(self._controller.follower.goals)

    def make(self) -> PrimitiveController:
        """Return the controller of the primitive, with the goals that have come so far."""
        before, controller = self._controller, super().make()
        assert isinstance(controller, JointPrimitiveController | PosePrimitiveController)
        if isinstance(controller, JointPrimitiveController):
            controller.prepare_poses()
        else:
            self.log_proposals(self.parameters.control.osc)
        if before is not None:
            controller.follower.take_goals(before.follower)
        self._controller = controller
        return controller

    def on_parameters(self) -> None:
        super().on_parameters()
        if self.pipeline.loop is not None and self.pipeline.loop.avoidance is not None:
            self.pipeline.loop.avoidance.parameters = self.parameters.control.osc.avoidance

    def own_health(self) -> tuple[str, dict[str, object]]:
        return "", {} if self._controller is None else {"phase": f"{self._controller.follower.phase:.3f}"}
