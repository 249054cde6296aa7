"""The obstacles that hold now, by the markers that came. No ROS here.

The pose of a marker is that in ``header.frame_id`` at the moment it arrives. The velocity is the difference to the
marker's last pose by the difference of their stamps, where both have one. A marker acts from its stamp on, on the
clock of the states: who knows where an obstacle is going to be says so ahead of time, and then it does not matter when
exactly the message came, nor whether it comes again. One whose stamp is past or empty, or so far ahead that it must be
of another clock, acts at once, unless it was told before, with this stamp; what was foreseen does not come then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arm_control.control.avoidance.proximity import Obstacle
from arm_control.core.time import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths.poses import Array, Pose, rotation_vector
from arm_control.messages.fields import link_of, nanoseconds, pose_from_message
from arm_control.messages.markers import ADD, DELETE, DELETEALL, MOST, name_of, shapes_of
from arm_control.model import RobotModel

FASTEST = 5.0
"""Above this speed [m/s] a new pose is a jump, not a motion."""
AHEAD_NS = 10 * NANOSECONDS
"""Stamps that are further apart than this are of two clocks [ns]."""
REMEMBERED_NS = NANOSECONDS
"""For so long a marker that is deleted stays so, when what was told of it before is told again [ns]."""
MOMENT_NS = 1000
"""Stamps that are closer than this are the same moment [ns]."""

Key = tuple[str, int]
"""Namespace and number of a marker."""


@dataclass(frozen=True)
class Seen:
    """A marker: obstacles, none where it is deleted; its stamp, from when it acts, for how long (0: for ever) [ns]."""

    obstacles: tuple[Obstacle, ...]
    stamp_ns: int
    acts_ns: int
    lifetime_ns: int

    def holds(self, now_ns: int) -> bool:
        """Whether its lifetime is not over [ns]."""
        return not self.lifetime_ns or now_ns - self.acts_ns <= self.lifetime_ns


@dataclass
class Track:
    """What is known of one marker: what acts now, what is coming by its stamp [ns], and what was told so far."""

    now: Seen | None = None
    coming: dict[int, Seen] = field(default_factory=dict)
    told: dict[int, tuple[Obstacle, ...]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether there is anything to know of it: what acts, or is coming."""
        return self.now is not None or bool(self.coming)

    @property
    def most(self) -> int:
        """Obstacles of it, now or later."""
        return max((len(seen.obstacles) for seen in (self.now, *self.coming.values()) if seen is not None), default=0)

    def take(self, seen: Seen) -> None:
        """Take what acts at once, unless it was told before: then only its lifetime begins anew, if it acts still."""
        if not seen.stamp_ns or not self._told_before(seen):
            self.coming.clear()
            self._act(seen)
        elif self.now is not None and seen.stamp_ns == self.now.stamp_ns:
            self.now = replace(self.now, acts_ns=seen.acts_ns, lifetime_ns=seen.lifetime_ns)

    def foresee(self, seen: Seen) -> None:
        """Take what acts from its stamp on."""
        self.coming[seen.stamp_ns] = seen

    def advance(self, now_ns: int) -> None:
        """Let what is due act, and forget what is over [ns]."""
        for stamp_ns in sorted(stamp_ns for stamp_ns in self.coming if stamp_ns < now_ns + MOMENT_NS):
            self._act(self.coming.pop(stamp_ns))
        if self.now is not None and not self.now.holds(now_ns):
            self.now = None
        if not self.is_known:
            self.told = {}

    def begin(self, now_ns: int) -> None:
        """The first state is here [ns]: what acts already does so from now on."""
        self.now = None if self.now is None else replace(self.now, acts_ns=now_ns)

    def restart(self, now_ns: int) -> None:
        """Time has started over: what is there has come just now, and what was ahead of the old time is not coming."""
        self.now = None if self.now is None else replace(self.now, stamp_ns=now_ns, acts_ns=now_ns)
        self.coming, self.told = {}, {}

    def _told_before(self, seen: Seen) -> bool:
        told = self.told.get(seen.stamp_ns)
        return told is not None and _are_equal(told, seen.obstacles)

    def _act(self, seen: Seen) -> None:
        last, obstacles = self.now, seen.obstacles
        if last is not None and len(last.obstacles) == len(obstacles) and (last.stamp_ns or not seen.stamp_ns):
            seconds, pairs = (seen.stamp_ns - last.stamp_ns) / NANOSECONDS, zip(obstacles, last.obstacles, strict=True)
            obstacles = tuple(_moving(obstacle, before, seconds) for obstacle, before in pairs)
        self.now = replace(seen, obstacles=obstacles)
        self.told = dict([*self.told.items(), (seen.stamp_ns, seen.obstacles)][-MOST:])


class ObstacleBook:
    """The obstacles that hold now.

    Parameters
    ----------
    pose_of : callable
        Pose in the world of a frame, by its name; raises when there is no such frame.
    """

    def __init__(self, pose_of: Callable[[str], Pose]) -> None:
        self._pose_of = pose_of
        self._tracks: dict[Key, Track] = {}

    def take(self, message: Any, now_ns: int) -> list[ArmControlError]:
        """Take an array of markers; a wrong one is left out and its error returned.

        Parameters
        ----------
        message : visualization_msgs/MarkerArray
            What came.
        now_ns : int
            When, on the clock of the states [ns].
        """
        errors = []
        for marker in message.markers:
            try:
                self._take(marker, now_ns)
            except ArmControlError as error:
                errors.append(error)
        return errors

    def obstacles(self, now_ns: int) -> list[Obstacle]:
        """Obstacles that act and whose lifetime is not over; the others are dropped."""
        for track in self._tracks.values():
            track.advance(now_ns)
        self._tracks = {key: track for key, track in self._tracks.items() if track.is_known}
        acting = [track.now for track in self._tracks.values() if track.now is not None]
        return [obstacle for seen in acting for obstacle in seen.obstacles]

    @property
    def known(self) -> int:
        """Obstacles, now or later."""
        return sum(track.most for track in self._tracks.values())

    def begin(self, now_ns: int) -> None:
        """The first state is here, with this stamp [ns]: nothing that was told before knew the time."""
        for track in self._tracks.values():
            track.begin(now_ns)

    def restart(self, now_ns: int) -> None:
        """Time has started over, with this stamp [ns]."""
        for track in self._tracks.values():
            track.restart(now_ns)

    def _take(self, marker: Any, now_ns: int) -> None:
        if marker.action == DELETEALL:
            self._tracks = {key: track for key, track in self._tracks.items() if marker.ns and key[0] != marker.ns}
            return
        if marker.action not in (ADD, DELETE):
            raise InputError(f"action {marker.action} of marker {name_of(marker)}: ADD, DELETE or DELETEALL is needed")
        obstacles, stamp_ns = self._placed(marker) if marker.action == ADD else (), nanoseconds(marker.header.stamp)
        is_ahead = now_ns + MOMENT_NS <= stamp_ns <= now_ns + AHEAD_NS
        lifetime_ns = nanoseconds(marker.lifetime) if obstacles else REMEMBERED_NS
        track = self._track(marker, len(obstacles), now_ns)
        if is_ahead:
            track.foresee(Seen(obstacles, stamp_ns, stamp_ns, lifetime_ns))
        else:
            track.take(Seen(obstacles, stamp_ns, now_ns, lifetime_ns))

    def _placed(self, marker: Any) -> tuple[Obstacle, ...]:
        shapes = shapes_of(marker)
        X_WM = self._pose_of(marker.header.frame_id) @ pose_from_message(marker)
        return tuple(Obstacle(shape, X_WM @ X_MO) for shape, X_MO in shapes)

    def _track(self, marker: Any, n: int, now_ns: int) -> Track:
        """The track, as it is now [ns], that is to take n obstacles, where there is room for them."""
        key = marker.ns, marker.id
        track = self._tracks.get(key) or Track()
        track.advance(now_ns)
        if n + sum(other.most for other in self._tracks.values() if other is not track) > MOST:
            raise InputError(f"too many obstacles: at most {MOST} at a time")
        if len(track.coming) >= MOST:
            raise InputError(f"marker {name_of(marker)} is told too often ahead of time: at most {MOST} times")
        self._tracks[key] = track
        return track


class HeardObstacles:
    """Obstacles from messages, with the arm where it was in the newest state.

    Parameters
    ----------
    model : RobotModel
        The arm.
    """

    def __init__(self, model: RobotModel) -> None:
        self._book = ObstacleBook(self._pose_of)
        self._now_ns: int | None = None
        self.on_model(model)

    def on_model(self, model: RobotModel) -> None:
        """The arm is another one from now on."""
        self._model = model
        self._q: Array | None = None

    def at(self, stamp_ns: int, q: Array) -> list[Obstacle]:
        """What is there in a state: its stamp [ns] and positions (nv,) [rad or m]."""
        self.on_state(stamp_ns, q)
        return self._book.obstacles(stamp_ns)

    def on_state(self, stamp_ns: int, q: Array) -> None:
        """The newest state: markers may be in the frame of a link."""
        if self._now_ns is None:
            self._book.begin(stamp_ns)
        self._now_ns, self._q = stamp_ns, q

    def take(self, message: Any) -> list[ArmControlError]:
        """Take an array of markers; return what is wrong with those that are left out."""
        return self._book.take(message, self._now_ns or 0)

    def restart(self, stamp_ns: int) -> None:
        """Time has started over, with this stamp [ns]; a first state is no such thing."""
        if self._now_ns is not None:
            self._book.restart(stamp_ns)

    @property
    def known(self) -> int:
        """Obstacles, now or later."""
        return self._book.known

    def _pose_of(self, frame: str) -> Pose:
        """Pose of a link in the newest state; an empty name is the base."""
        frame = link_of(frame, self._model)
        if self._q is None:
            if frame == self._model.base:
                return self._model.pose([0.0] * self._model.nq, frame)
            raise InputError(f"no state yet, so link '{frame}' is nowhere: send the marker again")
        return self._model.pose(self._q, frame)


def _are_equal(some: tuple[Obstacle, ...], others: tuple[Obstacle, ...]) -> bool:
    """Whether they are the same shapes in the same places."""
    return len(some) == len(others) and all(
        a.shape == b.shape and np.array_equal(a.X_WO.p, b.X_WO.p) and np.array_equal(a.X_WO.R, b.X_WO.R)
        for a, b in zip(some, others, strict=True)
    )


def _moving(obstacle: Obstacle, before: Obstacle, seconds: float) -> Obstacle:
    """The obstacle with the velocity that it had since before; the old one where no time has gone by."""
    if seconds <= 0.0:
        return replace(obstacle, V_WO=before.V_WO)
    X, X_before = obstacle.X_WO, before.X_WO
    V = np.concatenate([X.p - X_before.p, rotation_vector(X.R @ X_before.R.T)]) / seconds
    return replace(obstacle, V_WO=V) if np.linalg.norm(V[:3]) <= FASTEST else obstacle
