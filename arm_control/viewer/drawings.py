"""Drawings and obstacles from markers, without a renderer.

Markers are read by the names of their fields, as in :mod:`arm_control.messages.markers`; no ROS here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array, Pose, Shape
from arm_control.messages import (
    ADD,
    AHEAD_NS,
    DELETE,
    DELETEALL,
    DELETED_NS,
    StampOrder,
    nanoseconds,
    pose_from_message,
    shapes_of,
)
from arm_control.viewer.arm_shapes import joined, mesh_of

MAX_MARKERS = 500
"""Markers of a topic; more are ignored."""
MIN_ARROW = 1e-6
"""A shorter arrow is not drawn [m]."""
UNIT_ARROW = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
"""An arrow without points lies on its x axis and has the length ``scale.x``."""
DEFAULT_RGBA = (0.6, 0.6, 0.6, 1.0)

Key = tuple[str, int]
"""Namespace and number of a marker."""


@dataclass(frozen=True)
class Drawing:
    """A drawing.

    Attributes
    ----------
    type : str
        ``mesh`` (``points`` are corners of triangles, three each), ``lines`` (two each), ``points``, ``arrow``
        (two points) or ``text``.
    points : ndarray, shape (n, 3)
        Points in its own frame [m].
    width : float
        Width of lines, points and an arrow's shaft; height of a text [m].
    is_movable : bool
        Whether a person may drag it, on a page with control.
    """

    type: str
    X: Pose
    points: Array
    rgba: tuple[float, ...]
    width: float = 0.005
    text: str = ""
    is_movable: bool = False


class ShownObstacle(NamedTuple):
    """An obstacle to show.

    Attributes
    ----------
    solids : tuple of (Shape, Pose)
        Its shapes, with their poses in its own frame.
    appearance : hashable
        Equal for obstacles that differ in their pose only.
    """

    solids: tuple[tuple[Shape, Pose], ...]
    X: Pose
    rgba: tuple[float, ...]
    appearance: Hashable


class MarkerStore:
    """The active markers of a topic, by namespace and number.

    A late marker does not replace a newer one (:class:`~arm_control.messages.obstacle_tracker.StampOrder`).

    Parameters
    ----------
    pose_of : callable
        Returns the pose of a frame in the base's frame, by its name; raises when there is no such frame.
    are_obstacles : bool
        Whether a marker takes effect at the time of its stamp, where its frame was when it came, as obstacles do
        (:mod:`arm_control.messages.obstacle_tracker`); drawings move with their frames.

    Attributes
    ----------
    markers : dict
        Each active marker with the time from which it counts [ns], and the pose of an obstacle.
    folders : tuple of Path
        Where mesh files may be, beside the packages that the environment names.
    """

    folders: tuple[Path, ...] = ()

    def __init__(
        self, pose_of: Callable[[str], Pose], ignored: tuple[str, ...] = (), *, are_obstacles: bool = False
    ) -> None:
        self._pose_of = pose_of
        self._ignored = ignored
        self._are_obstacles, self._ahead_ns = are_obstacles, AHEAD_NS if are_obstacles else 0
        self._waiting: dict[Key, dict[int, tuple[Any, Pose | None]]] = {}
        self.markers: dict[Key, tuple[Any, int, Pose | None]] = {}
        self._orders: dict[Key, StampOrder] = {}
        self._last_ns = 0
        self._solids: dict[Hashable, tuple[tuple[Shape, Pose], ...]] = {}

    def update(self, message: Any, now_ns: int) -> None:
        """Apply an array of markers that has come at a time [ns]."""
        self._forget_orders(now_ns)
        for marker in message.markers:
            key, stamp_ns = (marker.ns, marker.id), nanoseconds(marker.header.stamp)
            if marker.action == DELETEALL:
                self.markers = _without_namespace(self.markers, marker.ns)
                self._waiting = _without_namespace(self._waiting, marker.ns)
                self._orders = _without_namespace(self._orders, marker.ns)
                continue
            try:
                X = self._pose(marker) if self._are_obstacles and marker.action == ADD else None
            except ArmControlError:
                continue
            if now_ns < stamp_ns <= now_ns + self._ahead_ns and self._has_room(key):
                self._waiting.setdefault(key, {})[stamp_ns] = marker, X
            elif not self._is_late(key, stamp_ns):
                self._waiting.pop(key, None)
                self._apply(key, marker, X, now_ns)

    def _is_late(self, key: Key, stamp_ns: int) -> bool:
        try:
            self._orders.get(key, StampOrder()).check(stamp_ns)
        except InputError:
            return True
        return False

    def _apply(self, key: Key, marker: Any, X: Pose | None, now_ns: int) -> None:
        if key in self.markers or self._has_room(key):
            self._orders.setdefault(key, StampOrder()).take(nanoseconds(marker.header.stamp), now_ns)
        if marker.action == DELETE:
            self.markers.pop(key, None)
        elif marker.action == ADD and self._has_room(key):
            self.markers[key] = marker, now_ns, X

    def _has_room(self, key: Key) -> bool:
        return key[0] not in self._ignored and (key in self.markers or len(self.markers) < MAX_MARKERS)

    def active(self, now_ns: int) -> dict[Key, tuple[Any, Pose | None]]:
        """Return the markers whose lifetime is not over at a time [ns], with poses of obstacles; others are removed.

        When time has started over, all are active, and markers far ahead of it are removed.
        """
        for key, waiting in self._waiting.items():
            for stamp_ns in sorted(stamp_ns for stamp_ns in waiting if stamp_ns <= now_ns):
                self._apply(key, *waiting.pop(stamp_ns), stamp_ns)
        latest_ns = now_ns + self._ahead_ns
        self._waiting = {key: stamps for key, stamps in self._waiting.items() if stamps and min(stamps) <= latest_ns}
        active = {}
        for key, (marker, since_ns, X) in self.markers.items():
            lifetime_ns = nanoseconds(marker.lifetime)
            if not lifetime_ns or now_ns - since_ns <= lifetime_ns:
                active[key] = marker, min(since_ns, now_ns), X
        self.markers = active
        self._forget_orders(now_ns)
        return {key: (marker, X) for key, (marker, _, X) in active.items()}

    def _forget_orders(self, now_ns: int) -> None:
        """Forget the stamps of markers that ended some time ago, and all when time [ns] has started over."""
        oldest_ns = math.inf if now_ns < self._last_ns else now_ns - DELETED_NS
        self._orders = {
            key: order
            for key, order in self._orders.items()
            if order.newest_ns >= oldest_ns or (key in self.markers and now_ns >= self._last_ns)
        }
        self._last_ns = now_ns

    def obstacles(self, now_ns: int) -> dict[Hashable, ShownObstacle]:
        """Return the active markers at a time [ns] that are obstacles."""
        obstacles: dict[Hashable, ShownObstacle] = {}
        for key, (marker, X) in self.active(now_ns).items():
            appearance = appearance_of(marker)
            try:
                if appearance not in self._solids:
                    self._solids[appearance] = tuple(shapes_of(marker, self.folders))
                solids = self._solids[appearance]
                obstacles[key] = ShownObstacle(solids, X or self._pose(marker), rgba_of(marker), appearance)
            except ArmControlError:
                continue
        self._solids = {obstacle.appearance: obstacle.solids for obstacle in obstacles.values()}
        return obstacles

    def drawings(self, now_ns: int) -> dict[Hashable, Drawing]:
        """Return drawings of the active markers at a time [ns]."""
        drawings: dict[Hashable, Drawing] = {}
        for key, (marker, _) in self.active(now_ns).items():
            try:
                drawing = drawing_of(marker, self._pose(marker))
            except ArmControlError:
                continue
            if drawing is not None:
                drawings[key] = drawing
        return drawings

    def _pose(self, marker: Any) -> Pose:
        return self._pose_of(marker.header.frame_id) @ pose_from_message(marker)


def _without_namespace(entries: dict[Key, Any], namespace: str) -> dict[Key, Any]:
    """Return the entries of other namespaces; none for an empty namespace, which means all."""
    return {key: entry for key, entry in entries.items() if namespace and key[0] != namespace}


def appearance_of(marker: Any) -> Hashable:
    """Return a marker's type, size, points or mesh file, and colour: all but its pose."""
    scale, points = (marker.scale.x, marker.scale.y, marker.scale.z), tuple((p.x, p.y, p.z) for p in marker.points)
    return marker.type, scale, points, marker.mesh_resource, rgba_of(marker)


def rgba_of(marker: Any) -> tuple[float, ...]:
    """Return a marker's colour, 0 to 1; without opacity :data:`DEFAULT_RGBA`, since the colour was probably not set."""
    colour = marker.color
    return (colour.r, colour.g, colour.b, colour.a) if colour.a > 0.0 else DEFAULT_RGBA


def drawing_of(marker: Any, X: Pose) -> Drawing | None:
    """Return the drawing of a marker; None for an unknown type, or without points."""
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    points = np.array([(p.x, p.y, p.z) for p in marker.points], dtype=float).reshape(-1, 3)
    if not (np.isfinite(points).all() and np.isfinite(scale).all()):
        return None
    drawing_type = ""
    width = float(scale[0])
    match marker.type:
        case 9:  # TEXT_VIEW_FACING
            return Drawing("text", X, points[:0], rgba_of(marker), float(scale[2]), str(marker.text)[:200])
        case 0:  # ARROW: between two points, or along x
            ends = UNIT_ARROW * scale[0] if len(points) != 2 else points
            width = float(scale[0] if len(points) == 2 else scale[1])
            drawing_type, points = "arrow", ends if np.ptp(ends, axis=0).max() > MIN_ARROW else points[:0]
        case 4:  # LINE_STRIP
            drawing_type, points = "lines", np.repeat(points, 2, axis=0)[1:-1]
        case 5:  # LINE_LIST
            drawing_type, points = "lines", points[: len(points) // 2 * 2]
        case 7 | 8:  # SPHERE_LIST, POINTS
            drawing_type = "points"
        case 11:  # TRIANGLE_LIST
            drawing_type, points = "mesh", points[: len(points) // 3 * 3] * scale
        case 1 | 2 | 3:  # CUBE, SPHERE, CYLINDER
            mesh = joined([mesh_of(shape).moved(X_MO.R, X_MO.p) for shape, X_MO in shapes_of(marker)])
            drawing_type, points = "mesh", mesh.corners[mesh.faces.ravel()]
    return Drawing(drawing_type, X, points, rgba_of(marker), width) if drawing_type and len(points) else None
