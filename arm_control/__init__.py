"""Force control of robot arms: a URDF goes in, safe and fast joint torque comes out."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.control.osc.compiled_osc import CompiledOsc
    from arm_control.control.osc.osc_controller import OperationalSpaceController
    from arm_control.control.osc.osc_parameters import OscParameters
    from arm_control.core.files import urdf_path
    from arm_control.exceptions import ArmControlError
    from arm_control.maths.poses import Pose
    from arm_control.model import RobotModel, Terms
    from arm_control.motion.references import Reference
else:
    __getattr__, __dir__, __all__ = face(__name__)

__version__ = "1.0.0rc1"
