"""Mathematics over any scalar: what laws and recursions are written in."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.maths.exponentials import matrix_exponential
    from arm_control.maths.free_axes import partial_turns
    from arm_control.maths.hulls import (
        MOST_TRIANGLES,
        Hull,
        Shape,
        balls_around,
        coal_hull,
        loader_reason,
        segment_to_facet,
        squared_segment_to_facet,
    )
    from arm_control.maths.linalg import (
        MIN_LENGTH,
        Cholesky,
        cholesky,
        congruent,
        cross,
        dot,
        eigen_symmetric,
        geometric_mean,
        inverse,
        is_numeric,
        length_and_direction,
        lower_triangle,
        mirrored,
        remove_range,
        skew,
        smallest_pivot,
        solve,
    )
    from arm_control.maths.obstacles import CENTRE, EXTENT, N_NUMBERS, PLACE, SIZE, TWIST, TYPES, Mover, Obstacle, Span
    from arm_control.maths.poses import (
        TINY,
        Pose,
        limit_magnitude,
        quaternion_from_rotation,
        rotation_from_quaternion,
        rotation_from_rpy,
        rotation_from_vector,
        rotation_vector,
        rotation_with_z,
        rotations_from_quaternions,
        rpy_from_rotation,
        wrap_angle,
    )
    from arm_control.maths.rays import floor_distances, ray_distances
    from arm_control.maths.scalars import (
        Array,
        Scalar,
        atan2,
        clamp,
        columns,
        cos,
        exp,
        largest,
        maximum,
        minimum,
        nearest,
        rows,
        select,
        sin,
        sqrt,
        stored,
    )
    from arm_control.maths.segments import (
        SLOPE_STEPS,
        TANGENT_STEPS,
        Bracket,
        Nearest,
        Probe,
        ShapeSearch,
        between_segments,
        closest_on_segment,
        segment_to_shape,
        smallest_by_tangents,
        squared_between_segments,
        squared_segment_to_box,
        to_point,
    )
    from arm_control.maths.shapes import (
        Box,
        Capsule,
        Cone,
        Cylinder,
        SignedDistance,
        Sphere,
        to_box,
        to_solid_of_revolution,
    )
else:
    __getattr__, __dir__, __all__ = face(__name__)
