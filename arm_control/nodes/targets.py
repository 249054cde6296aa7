"""The node ``targets``: publishes a file's targets, each with the moment it acts from.

Poses go to ``target_pose``, one after the other; a joint trajectory goes to ``joint_trajectory``, once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from trajectory_msgs.msg import JointTrajectory

from arm_control.exceptions import ParameterError
from arm_control.nodes.base import LATCHED_EVENTS, ArmNode, ArmParameters, run
from arm_control.nodes.conversions import NANOSECONDS, pose_message, trajectory_message
from arm_control.parameters import parameter
from arm_control.scenario import TargetList, load_trajectory


@dataclass(frozen=True)
class TargetsParameters(ArmParameters):
    """Parameters of the node ``targets``."""

    file: str = parameter("", "list of targets: a name below config/targets, or the path of a YAML file")
    trajectory: str = parameter(
        "", "joint trajectory instead of a list: a name below config/trajectories, or the path of a YAML file"
    )
    count: int = parameter(0, "targets to publish, going round the list; 0: go on for ever", lower=0)


class TargetsNode(ArmNode):
    """Publishes targets ahead of their time, latched, so that a controller has them when they are due."""

    parameters: TargetsParameters
    AHEAD = 5

    def __init__(self) -> None:
        super().__init__("targets", TargetsParameters)
        if self.parameters.trajectory:
            self._publish_trajectory()
        else:
            self._publish_list()

    def _publish_trajectory(self) -> None:
        if self.parameters.file:
            raise ParameterError("file and trajectory: one of them is needed, not both")
        joints, points = load_trajectory(self.parameters.trajectory)
        self._trajectory = self.create_publisher(JointTrajectory, "joint_trajectory", LATCHED_EVENTS)
        self._trajectory.publish(trajectory_message(joints, points, 0))

    def _publish_list(self) -> None:
        self._list = TargetList.load(self.parameters.file)
        self._publisher = self.create_publisher(PoseStamped, "target_pose", LATCHED_EVENTS)
        self._numbers = itertools.count()
        if self.parameters.count:
            self._publish(self.parameters.count)
        else:
            self._publish(self.AHEAD)
            refill = Clock(clock_type=ClockType.STEADY_TIME)
            self.create_timer(self._list.period, lambda: self._publish(1), clock=refill)

    def _publish(self, count: int) -> None:
        for number in itertools.islice(self._numbers, count):
            target = self._list.targets[number % len(self._list.targets)]
            stamp_ns = round(number * self._list.period * NANOSECONDS)
            self._publisher.publish(pose_message(target, self._list.frame, stamp_ns))


def main() -> None:
    """Entry point of ``ros2 run arm_control targets``."""
    run(TargetsNode)


if __name__ == "__main__":
    main()
