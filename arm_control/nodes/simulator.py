"""The node ``simulator``: an arm in MuJoCo that publishes joint states and obeys joint torque.

How it waits, steps and brakes is in :mod:`arm_control.nodes.simulated_arm`.
"""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.model import Terms
from arm_control.nodes.base import run
from arm_control.nodes.conversions import NANOSECONDS
from arm_control.nodes.simulated_arm import SimulatedArmNode
from arm_control.nodes.simulated_arm_parameters import SimulatedArmParameters
from arm_control.parameters import parameter
from arm_control.scenario import world_of
from arm_control.simulators.mujoco_simulator import MujocoSimulator
from arm_control.spatial import Array


@dataclass(frozen=True)
class SimulatorParameters(SimulatedArmParameters):
    """Parameters of the node ``simulator``."""

    damping: float = parameter(0.0, "viscous damping of every joint", unit="N m s/rad", lower=0.0)
    world: str = parameter("", "scenario with pushes on the end effector: a name, or the path of its file; empty: none")


class SimulatorNode(SimulatedArmNode):
    """MuJoCo as a node; the physics is in ``arm_control.simulators.mujoco_simulator``."""

    parameters: SimulatorParameters

    def __init__(self) -> None:
        super().__init__("simulator", SimulatorParameters)

    def make_simulator(self) -> MujocoSimulator:
        """Build the arm in MuJoCo."""
        p = self.parameters
        self._world = world_of(p.world)
        return MujocoSimulator(self.model, p.initial_position or None, timestep=p.timestep, damping=p.damping)

    def before_step(self, t: Terms, tau: Array) -> Array:
        """Push the end effector, where the scenario does."""
        if self._world.pushes:
            self.simulator.load(t.J.T @ self._world.wrench(self.stamp_ns / NANOSECONDS))
        return tau


def main() -> None:
    """Entry point of ``ros2 run arm_control simulator``."""
    run(SimulatorNode)


if __name__ == "__main__":
    main()
