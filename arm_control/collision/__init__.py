"""Shapes of arms and obstacles: distances, nearest pairs, and motions proven free of contact."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.collision.allowed_pairs import AllowedPairs, ContactMonitor, find_allowed_pairs
    from arm_control.collision.arm_shape import ArmShape, by_coordinate, point_reach
    from arm_control.collision.densities import density_warnings
    from arm_control.collision.kept_points import KeptPoint
    from arm_control.collision.motions import (
        PROGRESS,
        MotionChecks,
        MotionColumns,
        Motions,
        check_motions,
        covered,
        is_contact,
        is_free,
    )
    from arm_control.collision.near_pairs import Margins, NearPair, Pairs, Proximity, clearance
    from arm_control.collision.obstacle_rows import (
        Told,
        course,
        from_time,
        is_at_rest,
        movers_of,
        obstacle_tables,
        present,
    )
    from arm_control.collision.pair_distances import PLACES, SEARCHED, distance_loop, samples, search_loop
    from arm_control.collision.pair_procedures import (
        N_SHAPE,
        CloseSearch,
        find_pairs,
        order_obstacles,
        whole_blocks,
        write_obstacle,
    )
    from arm_control.collision.pair_search import (
        NEAR,
        NORMAL,
        POINT,
        RHO,
        ROOM,
        PairSearch,
        distance_rate,
        joint_axes,
        search_programs,
    )
    from arm_control.collision.pair_texts import ArmText
    from arm_control.collision.shape_proof import coal_shape
    from arm_control.collision.validity import DEGREE, DEVIATIONS, MOST_LOOKS_FIRST, Validity, chords, largest_value
else:
    __getattr__, __dir__, __all__ = face(__name__)
