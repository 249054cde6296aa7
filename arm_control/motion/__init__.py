"""References and where they come from: trajectories, followers, generated motions, target files."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.motion.cartesian_motion import arc, blended, follow_path, line
    from arm_control.motion.goals import (
        Chunk,
        ChunkGoal,
        Goal,
        GoalQueue,
        JointGoal,
        JointJog,
        JointStiffness,
        JointTolerances,
        Modulation,
        PoseChunk,
        PoseGoal,
        PoseMotion,
        Target,
        TwistJog,
        WrenchGoal,
    )
    from arm_control.motion.jogging import JogLimits
    from arm_control.motion.joint_follower import (
        OFF_PATH,
        REACHED,
        FollowingParameters,
        JointFollower,
        JointsOfPose,
        Outcome,
    )
    from arm_control.motion.joint_trajectory import (
        JointTrajectory,
        Waypoints,
        check_limits,
        cubic,
        powers,
        quintic,
        spline_path,
        whole_turns,
    )
    from arm_control.motion.pose_follower import PoseFollower, ReferenceSource
    from arm_control.motion.pose_trajectory import PosePoints, PoseTrajectory, left_jacobian
    from arm_control.motion.references import FARTHEST, JointReference, Reference, check_distance, stacked
    from arm_control.motion.target_files import (
        Motion,
        TargetList,
        load_trajectory,
        target_entry,
        timed_waypoints,
        trajectory_text,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
