"""Parameters of control loops, and of the nodes that run one.

Those of a controller's loop count in simulation and replay, too; the others say how its node fits into a robot.
"""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.control.adaptive_torque import AdaptationParameters
from arm_control.control.disturbance_observer import ObserverParameters
from arm_control.core import Parameters, group, parameter
from arm_control.gate import GateParameters
from arm_control.model import ArmParameters


@dataclass(frozen=True)
class LoopParameters(Parameters):
    """What every control loop has beside its controller."""

    observer: ObserverParameters = group(ObserverParameters)
    adaptation: AdaptationParameters = group(AdaptationParameters)
    gate: GateParameters = group(GateParameters)
    arm: ArmParameters = group(ArmParameters)


@dataclass(frozen=True)
class ArmNodeParameters(Parameters):
    """Parameters of every node."""

    arm: ArmParameters = group(ArmParameters)
    robot_description: str = parameter("", "text of the URDF; empty: taken from the topic robot_description")
    frame_prefix: str = parameter("", "prefix of the frames in messages, as that of robot_state_publisher")
    lock_step: bool = parameter(False, "each state waits for its command: nothing is stale, no clock matters")


@dataclass(frozen=True)
class DriverStopParameters(Parameters):
    """Where a driver says that it has stopped."""

    driver_stop_topic: str = parameter(
        "", "topic (std_msgs/Bool) with true while the driver has stopped the arm: the gate brakes; empty: none"
    )


@dataclass(frozen=True)
class RealTimeParameters(Parameters):
    """Scheduling of a node with a control loop."""

    real_time_priority: int = parameter(
        0, "SCHED_FIFO priority of the process, on Linux and with rights; 0: the usual scheduler", lower=0, upper=99
    )


@dataclass(frozen=True)
class ControllerNodeParameters(LoopParameters, ArmNodeParameters):
    """Parameters of every node with a controller."""

    driver: DriverStopParameters = group(DriverStopParameters)
    gates_behind: tuple[str, ...] = parameter(
        (), "nodes with a gate between controller and motors, such as gate and simulator: their brakes hold it, too"
    )
    real_time: RealTimeParameters = group(RealTimeParameters)
    telemetry_every: int = parameter(20, "states between two sets of torque_terms and controller_state", lower=15)
    publish_effort_array: bool = parameter(
        True, "also publish effort_controller/commands, for ros2_control's effort controllers"
    )
