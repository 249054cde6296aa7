"""What has to be known of an arm to simulate it as a node."""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.control.effort_gate import GateParameters
from arm_control.core.parameters import group, parameter
from arm_control.nodes.support.arm_node import ArmNodeParameters


@dataclass(frozen=True)
class PlantParameters(ArmNodeParameters):
    """Parameters of a node that simulates an arm."""

    gate: GateParameters = group(GateParameters)
    robot: str = parameter(
        "", "robot to simulate and publish as robot_description: a name, or a URDF or xacro file; empty: see there"
    )
    initial_position: tuple[float, ...] = parameter((), "joint positions at the start; empty: zero", unit="rad")
    timestep: float = parameter(0.001, "simulated time of one step", unit="s", lower=1e-5, upper=0.02)
    real_time_factor: float = parameter(
        1.0, "simulated time per wall time: 0.25 is slow motion", lower=0.001, upper=10.0, live=True
    )
    paced: bool = parameter(
        False, "lock step at the pace of the clock: a late command slows simulated time, and nothing else"
    )
    world: str = parameter("", "scenario with pushes on the end effector: a name, or the path of its file; empty: none")
    start_paused: bool = parameter(False, "publish no state until ~/pause is called with false")
    resend_period: float = parameter(0.1, "lock step: wall time until a state is sent again", unit="s", lower=1e-3)
    loss_time: float = parameter(1.0, "lock step: wall time after which the controller is lost", unit="s", lower=0.01)
