"""The node ``simulator``: a simulated arm that publishes joint states and obeys joint torque.

How it waits, steps and brakes is in :mod:`arm_control.nodes.support.plant_node`.
"""

from __future__ import annotations

from dataclasses import dataclass

from geometry_msgs.msg import WrenchStamped
from rclpy.publisher import Publisher

from arm_control.control.osc.task import rotate_to
from arm_control.core.parameters import group, parameter
from arm_control.nodes.support.arm_node import run
from arm_control.nodes.support.conversions import ros
from arm_control.nodes.support.plant_node import PlantNode, PlantParameters
from arm_control.simulation.engine import EngineParameters, SimulatedArm
from arm_control.simulation.plant_properties import PREFIX, PlantProperties
from arm_control.simulation.real_arm import RealArm, make_simulator
from arm_control.simulation.scenario import world_of


@dataclass(frozen=True)
class SimulatorParameters(PlantParameters):
    """Parameters of the node ``simulator``."""

    plant: PlantProperties = group(PlantProperties, PREFIX)
    physics: EngineParameters = group(EngineParameters)
    damping: float = parameter(0.0, "viscous damping of every joint", unit="N m s/rad", lower=0.0)


class SimulatorNode(PlantNode[SimulatorParameters]):
    """An engine of ``arm_control.simulation.engine`` as a node."""

    def __init__(self) -> None:
        self._wrench: Publisher | None = None
        super().__init__("simulator", SimulatorParameters)

    def make_simulator(self) -> SimulatedArm | RealArm:
        """Build the arm in its engine."""
        p = self.parameters
        q = p.initial_position or None
        solids = world_of(p.world).solids
        if solids and self._wrench is None:
            self._wrench = self.create_publisher(WrenchStamped, "measured_wrench", self.state_qos())
        timestep, damping = p.timestep, p.damping
        simulator = make_simulator(
            self.model, q, p.plant, timestep=timestep, damping=damping, solids=solids, engine=p.physics
        )
        for line in simulator.differences:
            self.get_logger().info(f"plant file: {line}")
        return simulator

    def publish_state(self) -> None:
        """Publish what a sensor of force at the end effector measures, and the state."""
        if self._wrench is not None:
            tip = self.model.tip
            F_E = rotate_to(self.model.pose(self.simulator.q).R, self.simulator.contact_wrench)
            self._wrench.publish(ros.wrench_stamped(F_E.tolist(), tip, self.stamp_ns))
        super().publish_state()


def main() -> None:
    """Entry point of ``ros2 run arm_control simulator``."""
    run(SimulatorNode)


if __name__ == "__main__":
    main()
