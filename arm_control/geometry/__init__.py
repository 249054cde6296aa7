"""Exact distances between what an arm may touch: capsules and convex shapes. NumPy only."""

from arm_control.geometry.segments import Nearest, between_segments, segments_to_shape
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
    "segments_to_shape",
]
