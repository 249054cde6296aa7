"""Obstacles and lines as markers; :mod:`arm_control.messages.markers` reads them."""

from __future__ import annotations

from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from arm_control.control.avoidance.proximity import Obstacle
from arm_control.maths.poses import Array
from arm_control.messages.markers import marker_form, shapes_of
from arm_control.nodes.support.conversions import pose_message, time_message

__all__ = ["line_marker", "marker_of", "shapes_of"]


def marker_of(obstacle: Obstacle) -> Marker:
    """The marker that :func:`shapes_of` reads back as this obstacle; its header is left empty."""
    kind, scale, points = marker_form(obstacle.shape)
    marker = Marker(type=kind, action=Marker.ADD, color=ColorRGBA(r=0.8, g=0.3, b=0.2, a=0.9))
    marker.pose = pose_message(obstacle.X_WO, "", 0).pose
    marker.scale.x, marker.scale.y, marker.scale.z = map(float, scale)
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in points.tolist()]
    return marker


def line_marker(points: Array, frame: str, stamp_ns: int, width: float = 0.005) -> Marker:
    """A line through points (N, 3) [m] in a frame, so wide [m]."""
    marker = Marker(ns="plan", type=Marker.LINE_STRIP, action=Marker.ADD, color=ColorRGBA(r=0.1, g=0.5, b=0.9, a=0.9))
    marker.header.frame_id, marker.header.stamp = frame, time_message(stamp_ns)
    marker.pose.orientation.w, marker.scale.x = 1.0, width
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in points.tolist()]
    return marker
