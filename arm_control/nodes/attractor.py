"""The node ``attractor``: goals pass a point attractor, in spiking neurons or without, on their way to the node's law.

Topics, parameters and law are those of the node ``osc``, and the parameters ``attractor.*``.
"""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.core.parameters import group
from arm_control.motion.attractor_follower import AttractorFollower
from arm_control.motion.pose_follower import PoseFollower
from arm_control.neural.attractor_axes import AttractorParameters
from arm_control.nodes.osc import OscNode, OscNodeParameters
from arm_control.nodes.support.arm_node import run


@dataclass(frozen=True)
class AttractorNodeParameters(OscNodeParameters):
    """Parameters of the node ``attractor``."""

    attractor: AttractorParameters = group(AttractorParameters, "attractor.")


class AttractorNode(OscNode):
    """Operational space control of references that a point attractor makes, as a node."""

    name = "attractor"
    parameter_class = AttractorNodeParameters
    parameters: AttractorNodeParameters

    def reference_source(self, goals: PoseFollower) -> AttractorFollower:
        """Return the attractor, which moves towards the goals."""
        return AttractorFollower(self.model, self.parameters.attractor, self.parameters.control.rate, goals)


def main() -> None:
    """Entry point of ``ros2 run arm_control attractor``."""
    run(AttractorNode)


if __name__ == "__main__":
    main()
