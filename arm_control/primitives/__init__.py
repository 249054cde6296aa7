"""Movement primitives: learned from demonstrations, rolled out, run live beside goals and obstacles."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.primitives.attractor import ALPHA, BETA
    from arm_control.primitives.demonstration import Demonstration
    from arm_control.primitives.discrete_law import DiscreteState, DiscreteTask, discrete_step, gate, gaussians
    from arm_control.primitives.obstacle_coupling import ObstacleCoupling, obstacle_force
    from arm_control.primitives.orientation import rotation_coordinates, rotation_motion
    from arm_control.primitives.primitive import (
        POSITION,
        Method,
        Primitive,
        PrimitiveFile,
        Rollout,
        coordinate_names,
        for_joints,
        load_demonstration,
        primitive_names,
    )
    from arm_control.primitives.primitive_follower import (
        MOST_OBSTACLES,
        JointSpace,
        PoseSpace,
        PrimitiveFollower,
        PrimitiveParameters,
        check_frame,
    )
    from arm_control.primitives.primitive_run import PrimitiveRun
    from arm_control.primitives.responses import discrete_matrix
    from arm_control.primitives.rhythmic_law import TURN, rhythmic_basis
else:
    __getattr__, __dir__, __all__ = face(__name__)
