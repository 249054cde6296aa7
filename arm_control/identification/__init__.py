"""Identification: friction, rotors, payload and links of an arm from its recording, and motions that show them."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.identification.excitation import Excitation, ExcitationParameters, IsFree, excite
    from arm_control.identification.identified_arm import (
        LINKS,
        NOTHING,
        PAYLOAD,
        Identified,
        identified_urdf,
        identify,
        links_of,
        parameters_of_arm,
        parameters_of_plant,
        payload_of,
    )
    from arm_control.identification.recorded_velocities import motion_of_states
    from arm_control.identification.stribeck_friction import StribeckFit
    from arm_control.identification.torque_fit import MOTOR, TorqueFit, explained
    from arm_control.identification.torque_rows import JointRecording
else:
    __getattr__, __dir__, __all__ = face(__name__)
