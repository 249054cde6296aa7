"""The node ``simulator``: a simulated arm that publishes joint states and obeys joint torque.

How it waits, steps and brakes is in :mod:`arm_control.nodes.support.plant_node`.
"""

from __future__ import annotations

from dataclasses import dataclass

from geometry_msgs.msg import WrenchStamped
from rclpy.publisher import Publisher

from arm_control.control import rotate_to
from arm_control.core import group, parameter
from arm_control.nodes.support.plant_node import PlantNode, PlantParameters, SensorTopics
from arm_control.nodes.support.topics import ros
from arm_control.simulation import (
    PREFIX,
    EngineParameters,
    PlantProperties,
    RealArm,
    SimulatedArm,
    SimulatedSensors,
    make_simulator,
    true_arm,
)


@dataclass(frozen=True)
class SimulatorParameters(PlantParameters):
    """Parameters of the node ``simulator``."""

    plant: PlantProperties = group(PlantProperties, PREFIX)
    physics: EngineParameters = group(EngineParameters)
    damping: float = parameter(0.0, "viscous damping of every joint", unit="N m s/rad", lower=0.0)


class SimulatorNode(PlantNode[SimulatorParameters]):
    """An engine of ``arm_control.simulation.engine`` as a node."""

    _sensors: SimulatedSensors

    def __init__(self) -> None:
        self._contact: Publisher | None = None
        self._topics: SensorTopics | None = None
        super().__init__("simulator", SimulatorParameters)

    def make_simulator(self) -> SimulatedArm | RealArm:
        """Build the arm in its engine."""
        p = self.parameters
        q = p.initial_position or None
        world, solids = self.scenario.world, self.scenario.world.solids
        if solids and self._contact is None:
            self._contact = self.create_publisher(WrenchStamped, "measured_wrench", self.state_qos())
        self._add_sensors()
        timestep, damping = p.timestep, p.damping
        simulator = make_simulator(
            *(self.model, q, p.plant),
            timestep=timestep,
            damping=damping,
            solids=solids,
            movers=world.movers,
            engine=p.physics,
        )
        for line in simulator.differences:
            self.get_logger().info(f"plant file: {line}")
        return simulator

    def _add_sensors(self) -> None:
        p, ranges = self.parameters, self.scenario.range_sensors
        if ranges or p.wrench_rate:
            self._sensors = SimulatedSensors(self.model, self.scenario.world, ranges, p.arm, p.plant)
            self._topics = self._topics or SensorTopics(self, ranges, p.wrench_rate)

    def publish_state(self) -> None:
        """Publish what the sensors beside those of the joints measure, and the state."""
        if self._contact is not None:
            tip = self.model.tip
            F_E = rotate_to(self.model.pose(self.simulator.q).R, self.simulator.contact_wrench)
            self._contact.publish(ros.wrench_stamped(F_E.tolist(), tip, self.stamp_ns))
        if self._topics is not None:
            self._sensors.observe(self.stamp_ns, true_arm(self.simulator))
            self._topics.publish(self.stamp_ns, self._sensors)
        super().publish_state()
