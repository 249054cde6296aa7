"""Messages read and built by field names and as bytes; obstacles from markers. No ROS here."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.messages.build import (
        FLOAT64,
        JOINT_STATE,
        MARKER_ARRAY,
        POSE_STAMPED,
        RANGE,
        STRING,
        WRENCH_STAMPED,
        MessageBuilder,
    )
    from arm_control.messages.fields import (
        BRAKED,
        POSE_GOALS,
        WRENCH_GOAL,
        brake_reason,
        braked_frame,
        goal_of,
        joint_goal_of,
        link_of,
        nanoseconds,
        pose_from_message,
        pose_goal_of,
        pose_points_from_message,
        sensor_reading_of,
        waypoints_from_message,
        wrench_numbers,
    )
    from arm_control.messages.joint_state_bytes import (
        FIELDS,
        HEAD,
        NATIVE,
        STAMP,
        Header,
        JointStateBytes,
        JointStateFields,
        JointStateLayout,
        JointStateWriter,
        Stamp,
        effort_array_head,
        encoded_text,
    )
    from arm_control.messages.joint_state_log import JointStateLog
    from arm_control.messages.joint_states import TIME_WENT_BACK, JointStateReader, Refused, Repeated
    from arm_control.messages.markers import (
        ADD,
        DELETE,
        DELETEALL,
        LINE_LIST,
        MOST,
        MOST_AHEAD,
        MOST_BYTES,
        MOST_MARKERS,
        MOST_POINTS,
        check_serialized_size,
        shapes_of,
    )
    from arm_control.messages.markers_of_plans import plan_markers, record_of, scene_markers
    from arm_control.messages.obstacle_tracker import (
        AHEAD_NS,
        DELETED_NS,
        MOST_LATE,
        MOST_MARKS,
        MOST_TRIANGLES,
        ObstacleTracker,
        StampOrder,
    )
    from arm_control.messages.publisher_lock import (
        ONLY_PUBLISHER,
        UNKNOWN_PUBLISHER,
        PublisherLock,
        Rejections,
        publisher_of,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
