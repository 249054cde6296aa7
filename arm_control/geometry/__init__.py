"""Exact distances between what an arm may touch: capsules and convex shapes, over any scalar."""

from arm_control.geometry.segments import Nearest, between_segments, segment_to_shape, to_point
from arm_control.geometry.shapes import Box, Capsule, Cone, Cylinder, Shape, Sphere

__all__ = [
    "Box",
    "Capsule",
    "Cone",
    "Cylinder",
    "Nearest",
    "Shape",
    "Sphere",
    "between_segments",
    "segment_to_shape",
    "to_point",
]
