"""Force control of robot arms: a URDF goes in, safe and fast joint torque comes out."""

from typing import TYPE_CHECKING

from arm_control.core.lazy_names import lazy_names

if TYPE_CHECKING:
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # else a type checker would find every name here
    __getattr__ = lazy_names(
        __name__,
        {
            "ArmControlError": "exceptions",
            "CompiledOsc": "control.osc.compiled_osc",
            "OperationalSpaceController": "control.osc.osc_controller",
            "OscParameters": "control.osc.osc_parameters",
            "Pose": "maths.poses",
            "Reference": "motion.references",
            "RobotModel": "model.robot_model",
            "Terms": "model.terms",
            "urdf_path": "core.files",
        },
    )
