"""Force control of robot arms: a URDF goes in, safe and fast joint torque comes out."""

from arm_control.control.osc.compiled_osc import CompiledOsc
from arm_control.control.osc.osc_controller import OperationalSpaceController
from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.core.files import urdf_path
from arm_control.exceptions import ArmControlError
from arm_control.maths.poses import Pose
from arm_control.model import RobotModel, Terms
from arm_control.motion.references import Reference

__version__ = "0.2.0"

__all__ = [
    "ArmControlError",
    "CompiledOsc",
    "OperationalSpaceController",
    "OscParameters",
    "Pose",
    "Reference",
    "RobotModel",
    "Terms",
    "urdf_path",
]
