"""What others want to have drawn, from markers: things in space, without a renderer.

Markers are read by what they have, as in :mod:`arm_control.messages.markers`; no ROS here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arm_control.exceptions import ArmControlError
from arm_control.maths.poses import Array, Pose
from arm_control.maths.shapes import Shape
from arm_control.messages.fields import nanoseconds, pose_from_message
from arm_control.messages.markers import ADD, DELETE, DELETEALL, shapes_of
from arm_control.messages.obstacle_tracker import AHEAD_NS
from arm_control.viewer.solids import joined, mesh_of

MOST = 500
"""Drawings at a time; more are left out."""
TINY = 1e-6
"""An arrow that is shorter is not drawn [m]."""
SHAFT = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
"""An arrow without points is along its x axis, ``scale.x`` long."""


@dataclass(frozen=True)
class Drawing:
    """One thing to draw.

    Attributes
    ----------
    kind : str
        ``mesh`` (``points`` are corners of triangles, three each), ``lines`` (two each), ``points``, ``arrow``
        (two points) or ``text``.
    X : Pose
        Its pose in the base's frame.
    points : ndarray, shape (n, 3)
        In its own frame [m].
    rgba : tuple of float
        Colour and opacity, 0 to 1.
    width : float
        Of lines, points and an arrow's shaft [m]; height of a text.
    text : str
        Of a text.
    """

    kind: str
    X: Pose
    points: Array
    rgba: tuple[float, ...]
    width: float = 0.005
    text: str = ""


class Thing(NamedTuple):
    """An obstacle that is shown: solids with their place in its own frame, its pose and colour.

    Two things of the same ``form`` differ in their pose at most.
    """

    solids: tuple[tuple[Shape, Pose], ...]
    X: Pose
    rgba: tuple[float, ...]
    form: Hashable


class MarkerBook:
    """The markers of a topic that hold now, by namespace and number.

    Parameters
    ----------
    pose_of : callable
        Pose in the base's frame of a frame, by its name; raises when there is no such frame.
    ignored : tuple of str
        Namespaces that are passed over.
    by_stamp : bool
        Whether a marker waits until the time of its stamp, as obstacles do
        (:mod:`arm_control.messages.obstacle_tracker`).
    """

    def __init__(
        self, pose_of: Callable[[str], Pose], ignored: tuple[str, ...] = (), *, by_stamp: bool = False
    ) -> None:
        self._pose_of, self._ignored, self._ahead_ns = pose_of, ignored, AHEAD_NS if by_stamp else 0
        self._coming: dict[tuple[str, int], dict[int, Any]] = {}
        self.markers: dict[tuple[str, int], tuple[Any, int]] = {}
        self._solids: dict[Hashable, tuple[tuple[Shape, Pose], ...]] = {}

    def take(self, message: Any, now_ns: int) -> None:
        """Take an array of markers that came at a time [ns]."""
        for marker in message.markers:
            key, stamp_ns = (marker.ns, marker.id), nanoseconds(marker.header.stamp)
            if marker.action == DELETEALL:
                self.markers, self._coming = _others(self.markers, marker.ns), _others(self._coming, marker.ns)
            elif now_ns < stamp_ns <= now_ns + self._ahead_ns and self._has_room(key):
                self._coming.setdefault(key, {})[stamp_ns] = marker
            else:
                self._coming.pop(key, None)
                self._act(key, marker, now_ns)

    def _act(self, key: tuple[str, int], marker: Any, now_ns: int) -> None:
        if marker.action == DELETE:
            self.markers.pop(key, None)
        elif marker.action == ADD and self._has_room(key):
            self.markers[key] = marker, now_ns

    def _has_room(self, key: tuple[str, int]) -> bool:
        return key[0] not in self._ignored and (key in self.markers or len(self.markers) < MOST)

    def holding(self, now_ns: int) -> dict[tuple[str, int], Any]:
        """Markers whose lifetime is not over; the others are dropped.

        When time has started over, all hold, and what was far ahead is not coming.
        """
        far = now_ns + self._ahead_ns
        for key, coming in self._coming.items():
            for stamp_ns in sorted(stamp_ns for stamp_ns in coming if stamp_ns <= now_ns):
                self._act(key, coming.pop(stamp_ns), stamp_ns)
        self._coming = {key: coming for key, coming in self._coming.items() if coming and min(coming) <= far}
        held = {}
        for key, (marker, came_ns) in self.markers.items():
            lifetime_ns = nanoseconds(marker.lifetime)
            if not lifetime_ns or now_ns - came_ns <= lifetime_ns:
                held[key] = marker, min(came_ns, now_ns)
        self.markers = held
        return {key: marker for key, (marker, _) in held.items()}

    def things(self, now_ns: int) -> dict[Hashable, Thing]:
        """The obstacles among them; a marker that is none is passed over."""
        found: dict[Hashable, Thing] = {}
        for key, marker in self.holding(now_ns).items():
            form = form_of(marker)
            try:
                if form not in self._solids:
                    self._solids[form] = tuple(shapes_of(marker))
                found[key] = Thing(self._solids[form], self._pose(marker), rgba_of(marker), form)
            except ArmControlError:
                continue
        self._solids = {thing.form: thing.solids for thing in found.values()}
        return found

    def drawings(self, now_ns: int) -> dict[Hashable, Drawing]:
        """Everything that can be drawn of them."""
        found: dict[Hashable, Drawing] = {}
        for key, marker in self.holding(now_ns).items():
            try:
                drawing = drawing_of(marker, self._pose(marker))
            except ArmControlError:
                continue
            if drawing is not None:
                found[key] = drawing
        return found

    def _pose(self, marker: Any) -> Pose:
        return self._pose_of(marker.header.frame_id) @ pose_from_message(marker)


def _others(kept: dict[tuple[str, int], Any], namespace: str) -> dict[tuple[str, int], Any]:
    """What is left when a namespace is cleared; nothing where it is empty."""
    return {key: one for key, one in kept.items() if namespace and key[0] != namespace}


def form_of(marker: Any) -> Hashable:
    """What a marker looks like, wherever it is."""
    scale = marker.scale.x, marker.scale.y, marker.scale.z
    return marker.type, scale, tuple((p.x, p.y, p.z) for p in marker.points), rgba_of(marker)


def rgba_of(marker: Any) -> tuple[float, ...]:
    """Colour of a marker, 0 to 1; one without opacity is seen nevertheless: that is how a colour is forgotten."""
    colour = marker.color
    return (colour.r, colour.g, colour.b, colour.a) if colour.a > 0.0 else (0.6, 0.6, 0.6, 1.0)


def drawing_of(marker: Any, X: Pose) -> Drawing | None:
    """Return what to draw of a marker at a pose; None for a kind that is not known, or nothing to draw."""
    scale = np.array([marker.scale.x, marker.scale.y, marker.scale.z])
    points = np.array([(p.x, p.y, p.z) for p in marker.points], dtype=float).reshape(-1, 3)
    if not (np.isfinite(points).all() and np.isfinite(scale).all()):
        return None
    kind, width = "", float(scale[0])
    match marker.type:
        case 9:  # TEXT_VIEW_FACING
            return Drawing("text", X, points[:0], rgba_of(marker), float(scale[2]), str(marker.text)[:200])
        case 0:  # ARROW: between two points, or along x
            along = SHAFT * scale[0] if len(points) != 2 else points
            width = float(scale[0] if len(points) == 2 else scale[1])
            kind, points = "arrow", along if np.ptp(along, axis=0).max() > TINY else points[:0]
        case 4:  # LINE_STRIP
            kind, points = "lines", np.repeat(points, 2, axis=0)[1:-1]
        case 5:  # LINE_LIST
            kind, points = "lines", points[: len(points) // 2 * 2]
        case 7 | 8:  # SPHERE_LIST, POINTS
            kind = "points"
        case 11:  # TRIANGLE_LIST
            kind, points = "mesh", points[: len(points) // 3 * 3] * scale
        case 1 | 2 | 3:  # CUBE, SPHERE, CYLINDER
            mesh = joined([mesh_of(shape).moved(X_MO.R, X_MO.p) for shape, X_MO in shapes_of(marker)])
            kind, points = "mesh", mesh.corners[mesh.faces.ravel()]
    return Drawing(kind, X, points, rgba_of(marker), width) if kind and len(points) else None
