"""Control laws: pure functions of the state and the reference. No ROS here."""

from arm_control.controllers.avoidance import Avoidance, AvoidanceOutput, AvoidanceParameters
from arm_control.controllers.compiled_osc import CompiledOsc
from arm_control.controllers.joint import JointOutput, JointParameters, JointSpaceController
from arm_control.controllers.osc import OperationalSpaceController, OscOutput
from arm_control.controllers.osc_parameters import OscParameters

__all__ = [
    "Avoidance",
    "AvoidanceOutput",
    "AvoidanceParameters",
    "CompiledOsc",
    "JointOutput",
    "JointParameters",
    "JointSpaceController",
    "OperationalSpaceController",
    "OscOutput",
    "OscParameters",
]
