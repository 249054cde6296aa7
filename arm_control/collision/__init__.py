"""Shapes of arms and obstacles: distances, nearest pairs, and motions proven free of contact."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.collision.allowed_pairs import AllowedPairs, find_allowed_pairs
    from arm_control.collision.arm_shape import ArmShape
    from arm_control.collision.contact_monitor import ContactMonitor, Margins, NearPair
    from arm_control.collision.curve_chords import DEGREE, chords, largest_value
    from arm_control.collision.distances import Pair
    from arm_control.collision.hulls import Hull, HullObstacle
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
    from arm_control.collision.near_pairs import Pairs, Proximity, clearance
    from arm_control.collision.obstacle_rows import Placed, Told, course, from_time, obstacle_tables, present
    from arm_control.collision.pair_distances import PLACES, SEARCHED, distance_loop, samples, search_loop
    from arm_control.collision.pair_procedures import CloseSearch, find_pairs, whole_blocks
    from arm_control.collision.pair_search import NEAR, NORMAL, POINT, RHO, ROOM, PairSearch
    from arm_control.collision.pair_texts import ArmText
    from arm_control.collision.validity import DEVIATIONS, MOST_LOOKS_FIRST, Validity
else:
    __getattr__, __dir__, __all__ = face(__name__)
