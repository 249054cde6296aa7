"""Several nodes in one process, with one single-threaded executor: ``compose NODE... [--ros-args ...]``."""

from __future__ import annotations

import itertools
import sys

from arm_control.core.parameters import refuse_unknown
from arm_control.exceptions import ParameterError
from arm_control.nodes.attractor import AttractorNode
from arm_control.nodes.coppeliasim_bridge import CoppeliasimBridgeNode
from arm_control.nodes.dynamics import DynamicsNode
from arm_control.nodes.gate import GateNode
from arm_control.nodes.ilqr import IlqrNode
from arm_control.nodes.joint import JointNode
from arm_control.nodes.obstacle_avoidance import ObstacleAvoidanceNode
from arm_control.nodes.osc import OscNode
from arm_control.nodes.planner import PlannerNode
from arm_control.nodes.primitive import PrimitiveNode
from arm_control.nodes.proximity import ProximityNode
from arm_control.nodes.simulator import SimulatorNode
from arm_control.nodes.support.arm_node import ArmNode, ArmNodeParameters, run
from arm_control.nodes.targets import TargetsNode
from arm_control.nodes.viewer import ViewerNode
from arm_control.nodes.visuals import VisualsNode

NODE_CLASSES: dict[str, type[ArmNode[ArmNodeParameters]]] = {
    "attractor": AttractorNode,
    "coppeliasim_bridge": CoppeliasimBridgeNode,
    "dynamics": DynamicsNode,
    "gate": GateNode,
    "ilqr": IlqrNode,
    "joint": JointNode,
    "obstacle_avoidance": ObstacleAvoidanceNode,
    "osc": OscNode,
    "planner": PlannerNode,
    "primitive": PrimitiveNode,
    "proximity": ProximityNode,
    "simulator": SimulatorNode,
    "targets": TargetsNode,
    "viewer": ViewerNode,
    "visuals": VisualsNode,
}


def main() -> None:
    """Entry point: run the nodes named on the command line."""
    program, *arguments = sys.argv
    names = list(itertools.takewhile(lambda argument: not argument.startswith("-"), arguments))
    try:
        refuse_unknown(dict.fromkeys(names), NODE_CLASSES, "compose")
    except ParameterError as error:
        sys.exit(f"arm_control: {error}")
    run(*(NODE_CLASSES[name] for name in names), arguments=[program, *arguments[len(names) :]])


if __name__ == "__main__":
    main()
