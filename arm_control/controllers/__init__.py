"""The controllers, a file each: the controller, its parameters, and its row.

Everything else reads the rows (``CONTROLLERS``): another controller is another file here.
"""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.controllers._rows import (
        CONTROLLERS,
        DEFAULT_CONTROLLER,
        control_loop,
        controller_file,
        new_loop,
        row_of,
    )
    from arm_control.controllers.attractor import AttractorLoopParameters, AttractorNodeParameters
    from arm_control.controllers.follow import FollowController, FollowLoopParameters, FollowNodeParameters
    from arm_control.controllers.ilqr import IlqrController, IlqrLoopParameters, IlqrNodeParameters
    from arm_control.controllers.joint import (
        JointController,
        JointControlParameters,
        JointLoopParameters,
        JointNodeParameters,
    )
    from arm_control.controllers.osc import NATIVE, OscController, OscLoopParameters, OscNodeParameters, make_osc
    from arm_control.controllers.primitive import (
        JointPrimitiveController,
        PosePrimitiveController,
        PrimitiveController,
        PrimitiveLoopParameters,
        PrimitiveNodeParameters,
        load_primitive,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
