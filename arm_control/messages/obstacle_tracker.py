"""Current obstacles from ``visualization_msgs/MarkerArray`` messages. No ROS here.

The pose of a marker is that in ``header.frame_id`` at the moment of its arrival. Its velocity is the difference to the
marker's last pose by the difference of their stamps, where both have one. A marker takes effect at its stamp, on the
clock of the states, so that a publisher may send poses ahead of time, and neither late nor repeated messages matter. A
marker takes effect at once when its stamp is past or 0, or so far ahead that it belongs to another clock; it cancels
the poses sent ahead. A repeated pose of the past, with the same stamp, cancels nothing. A late marker, with an older
stamp than the pose in effect, is refused; a pose without a stamp is as old as its arrival. Stamps of another clock are
not older, and after ``MOST_LATE`` late markers in a row the publisher's clock has started over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths import Array, Hull, Obstacle, Pose, rotation_vector
from arm_control.messages.fields import link_of, nanoseconds, pose_from_message
from arm_control.messages.markers import ADD, DELETE, DELETEALL, MOST, MOST_AHEAD, check_size, name_of, shapes_of
from arm_control.model import RobotModel

TOP_SPEED = 5.0
"""Speed [m/s] above which a new pose is a jump, not a motion."""
AHEAD_NS = 10 * NANOSECONDS
"""Difference of stamps above which they are of two clocks [ns]."""
DELETED_NS = NANOSECONDS
"""Time for which repeated older poses do not bring a deleted marker back [ns]."""
MOMENT_NS = 1000
"""Difference of stamps below which they are the same moment [ns]."""
MOST_LATE = 20
"""Late poses of a marker in a row that are refused."""

MOST_MARKS = 2 * MOST
"""Bound on the markers whose states are kept."""
MOST_TRIANGLES = 50_000
"""Bound on the triangles of all hulls: among so many near an arm a tick takes a millisecond."""

MarkerKey = tuple[str, int]
"""Namespace and number of a marker."""


@dataclass(frozen=True)
class MarkerState:
    """A marker from one moment on.

    Attributes
    ----------
    obstacles : tuple of Obstacle
        Its obstacles; none when it is deleted.
    begin_ns : int
        Moment at which it takes effect [ns].
    lifetime_ns : int
        Time for which it holds [ns]; 0: until the next state of the marker.
    """

    obstacles: tuple[Obstacle, ...]
    stamp_ns: int
    begin_ns: int
    lifetime_ns: int

    @property
    def end_ns(self) -> float:
        """The first time at which it does not hold any more [ns]; infinite without a lifetime."""
        return self.begin_ns + self.lifetime_ns + 1 if self.lifetime_ns else math.inf


@dataclass
class StampOrder:
    """The order of the stamps of one marker: an older one than that in effect is late.

    Attributes
    ----------
    newest_ns : float
        Stamp of the last state that has taken effect, or its arrival where it has no stamp [ns]; -inf: unknown.
    n_late : int
        Late states since then.
    """

    newest_ns: float = -math.inf
    n_late: int = 0

    def check(self, stamp_ns: int) -> None:
        """Count a late stamp [ns]; 0 is none.

        Raises
        ------
        InputError
            It is late, and not of another clock.
        """
        late_ns = self.newest_ns - stamp_ns
        if stamp_ns and MOMENT_NS <= late_ns <= AHEAD_NS and self.n_late < MOST_LATE:
            self.n_late += 1
            raise InputError(f"late: {late_ns / NANOSECONDS:.3f} s older than the marker's pose in effect")

    def take(self, stamp_ns: int, begin_ns: int) -> None:
        """Take the stamp of a state that takes effect, and the moment from which it does [ns]."""
        self.newest_ns, self.n_late = stamp_ns or begin_ns, 0


@dataclass
class MarkerTrack:
    """The states of one marker.

    Attributes
    ----------
    ahead : dict of int to MarkerState
        States that take effect later, by their stamps [ns].
    past : dict of int to tuple of Obstacle
        Obstacles of the states that have taken effect, by their stamps [ns].
    n_triangles : int
        Largest number of triangles of a hull that it has had.
    """

    current: MarkerState | None = None
    ahead: dict[int, MarkerState] = field(default_factory=dict)
    past: dict[int, tuple[Obstacle, ...]] = field(default_factory=dict)
    order: StampOrder = field(default_factory=StampOrder)
    n_triangles: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether no state is in effect or ahead."""
        return self.current is None and not self.ahead

    @property
    def size(self) -> int:
        """Largest number of obstacles, now or later."""
        states = (self.current, *self.ahead.values())
        return max((len(state.obstacles) for state in states if state is not None), default=0)

    @property
    def next_change_ns(self) -> float:
        """Time at which :meth:`advance` has something to do next [ns]; infinite: never."""
        end = math.inf if self.current is None else self.current.end_ns
        return min(end, min(self.ahead, default=math.inf) - MOMENT_NS + 1)

    def set_current(self, state: MarkerState) -> None:
        """Let a state take effect at once; a repeated one only renews the lifetime, if it is in effect.

        Raises
        ------
        InputError
            The state is older than the one in effect.
        """
        if not state.stamp_ns or not self._is_repeated(state):
            self.order.check(state.stamp_ns)
            self.ahead.clear()
            self._take_effect(state)
        elif self.current is not None and state.stamp_ns == self.current.stamp_ns:
            self.current = replace(self.current, begin_ns=state.begin_ns, lifetime_ns=state.lifetime_ns)

    def advance(self, now_ns: int) -> None:
        """Let the states that are due take effect, and end the one whose lifetime is over [ns]."""
        for stamp_ns in sorted(stamp_ns for stamp_ns in self.ahead if stamp_ns < now_ns + MOMENT_NS):
            self._take_effect(self.ahead.pop(stamp_ns))
        if self.current is not None and now_ns >= self.current.end_ns:
            self.current = None
        if self.is_empty:
            self._forget()

    def begin(self, now_ns: int) -> None:
        """Let the current state begin with the first joint state [ns]."""
        self.current = None if self.current is None else replace(self.current, begin_ns=now_ns)

    def restart(self, now_ns: int) -> None:
        """Let the current state begin anew when time has started over [ns]; drop the states ahead of the old time."""
        self.current = None if self.current is None else replace(self.current, stamp_ns=now_ns, begin_ns=now_ns)
        self.ahead = {}
        self._forget()

    def _forget(self) -> None:
        """Forget the stamps of the past."""
        self.past, self.order = {}, StampOrder()

    def _is_repeated(self, state: MarkerState) -> bool:
        obstacles = self.past.get(state.stamp_ns)
        return obstacles is not None and _are_equal(obstacles, state.obstacles)

    def _take_effect(self, state: MarkerState) -> None:
        last = self.current
        obstacles = state.obstacles
        if last is not None and len(last.obstacles) == len(obstacles) and (last.stamp_ns or not state.stamp_ns):
            seconds = (state.stamp_ns - last.stamp_ns) / NANOSECONDS
            pairs = zip(obstacles, last.obstacles, strict=True)
            obstacles = tuple(_with_velocity(obstacle, before, seconds) for obstacle, before in pairs)
        self.current = replace(state, obstacles=obstacles)
        self.order.take(state.stamp_ns, state.begin_ns)
        self.past = dict([*self.past.items(), (state.stamp_ns, state.obstacles)][-MOST_AHEAD:])


class ObstacleTracker:
    """Obstacles from messages, in the frames of an arm in its newest state: the tracks of all markers."""

    def __init__(self, model: RobotModel) -> None:
        self._tracks: dict[MarkerKey, MarkerTrack] = {}
        self._n_obstacles = 0
        self._in_effect: list[Obstacle] = []
        self._since_ns, self._until_ns = 0.0, -math.inf
        self._now_ns: int | None = None
        self.set_model(model)

    def set_model(self, model: RobotModel) -> None:
        """Replace the arm; its state is unknown until the next one."""
        self._model = model
        self._q: Array | None = None

    def set_state(self, stamp_ns: int, q: Array) -> None:
        """Take the newest state; with the first one, markers from before it begin."""
        if self._now_ns is None:
            for track in self._tracks.values():
                track.begin(stamp_ns)
            self._keep(self._tracks)
        self._now_ns = stamp_ns
        self._q = q

    def update(self, message: Any) -> list[ArmControlError]:
        """Apply an array of markers; leave wrong ones out, and return their errors.

        An array with too many markers is left out as a whole.
        """
        try:
            check_size(len(message.markers))
        except InputError as error:
            return [error]
        self._until_ns = -math.inf
        errors: list[ArmControlError] = []
        for marker in message.markers:
            try:
                self._apply(marker, self._now_ns or 0)
            except ArmControlError as error:
                errors.append(error)
        return errors

    def obstacles(self, stamp_ns: int, q: Array) -> list[Obstacle]:
        """Take the newest state, and return the obstacles in effect; tracks that are over are dropped.

        The list is the same object until something changes.
        """
        self.set_state(stamp_ns, q)
        if not self._since_ns <= stamp_ns < self._until_ns:
            for track in self._tracks.values():
                track.advance(stamp_ns)
            self._keep({key: track for key, track in self._tracks.items() if not track.is_empty})
            self._in_effect = [obstacle for _, state in self._states() for obstacle in state.obstacles]
            self._since_ns = stamp_ns
            self._until_ns = min((track.next_change_ns for track in self._tracks.values()), default=math.inf)
        return self._in_effect

    @property
    def until_ns(self) -> float:
        """First stamp from which on other obstacles may be in effect than :meth:`obstacles` returned last [ns]."""
        return self._until_ns

    @property
    def names(self) -> list[str]:
        """Namespace and number of the marker of each obstacle, in the order of the last :meth:`obstacles`."""
        return [f"{namespace}/{number}" for (namespace, number), state in self._states() for _ in state.obstacles]

    @property
    def n_obstacles(self) -> int:
        """Number of obstacles, now or later; before the first state those in effect: a run may begin with them."""
        return len(self.names) if self._now_ns is None else self._n_obstacles

    def restart(self, stamp_ns: int) -> None:
        """Take the stamp with which time has started over [ns]; nothing happens before the first state."""
        if self._now_ns is not None:
            for track in self._tracks.values():
                track.restart(stamp_ns)
            self._keep(self._tracks)

    def _states(self) -> list[tuple[MarkerKey, MarkerState]]:
        """The states in effect."""
        return [(key, track.current) for key, track in self._tracks.items() if track.current is not None]

    def _keep(self, tracks: dict[MarkerKey, MarkerTrack]) -> None:
        """Keep these tracks only, as they are now."""
        self._tracks = tracks
        self._n_obstacles = sum(track.size for track in tracks.values())
        self._until_ns = -math.inf

    def _apply(self, marker: Any, now_ns: int) -> None:
        if marker.action == DELETEALL:
            self._keep({key: track for key, track in self._tracks.items() if marker.ns and key[0] != marker.ns})
            return
        if marker.action not in (ADD, DELETE):
            raise InputError(f"action {marker.action} of marker {name_of(marker)}: ADD, DELETE or DELETEALL is needed")
        obstacles = self._obstacles_of(marker) if marker.action == ADD else ()
        stamp_ns = nanoseconds(marker.header.stamp)
        lifetime_ns = nanoseconds(marker.lifetime) if obstacles else DELETED_NS
        track = self._track(marker, len(obstacles), now_ns)
        track.n_triangles = self._checked_triangles(track, obstacles)
        before = track.size
        if now_ns + MOMENT_NS <= stamp_ns <= now_ns + AHEAD_NS:
            track.ahead[stamp_ns] = MarkerState(obstacles, stamp_ns, stamp_ns, lifetime_ns)
        else:
            track.set_current(MarkerState(obstacles, stamp_ns, now_ns, lifetime_ns))
        self._n_obstacles += track.size - before

    def _obstacles_of(self, marker: Any) -> tuple[Obstacle, ...]:
        shapes = shapes_of(marker, self._model.urdf.folders)
        X_WM = self._pose_of(marker.header.frame_id) @ pose_from_message(marker)
        return tuple(Obstacle(shape, X_WM @ X_MO) for shape, X_MO in shapes)

    def _track(self, marker: Any, n: int, now_ns: int) -> MarkerTrack:
        """The track of a marker at a time [ns], with room for n obstacles."""
        key = marker.ns, marker.id
        if key not in self._tracks and len(self._tracks) >= MOST_MARKS:
            raise InputError(f"too many markers: at most {MOST_MARKS} at a time, deleted ones included")
        track = self._tracks.get(key) or MarkerTrack()
        before = track.size
        track.advance(now_ns)
        self._n_obstacles += track.size - before
        if n + self._n_obstacles - track.size > MOST:
            raise InputError(f"too many obstacles: at most {MOST} at a time")
        if len(track.ahead) >= MOST_AHEAD:
            raise InputError(f"too many poses ahead of time of marker {name_of(marker)}: at most {MOST_AHEAD}")
        self._tracks[key] = track
        return track

    def _checked_triangles(self, track: MarkerTrack, obstacles: tuple[Obstacle, ...]) -> int:
        """Triangles of a track that has obstacles, too; an InputError where all tracks would have too many."""
        own = sum(len(obstacle.shape.triangles) for obstacle in obstacles if isinstance(obstacle.shape, Hull))
        if own > track.n_triangles:
            others = sum(other.n_triangles for other in self._tracks.values() if other is not track)
            if own + others > MOST_TRIANGLES:
                raise InputError(f"too many triangles of hulls: at most {MOST_TRIANGLES} at a time")
        return max(own, track.n_triangles)

    def _pose_of(self, frame: str) -> Pose:
        """Pose of a link in the newest state; an empty name is the base."""
        frame = link_of(frame, self._model)
        if self._q is None:
            if frame == self._model.base:
                return self._model.pose([0.0] * self._model.nq, frame)
            raise InputError(f"no state yet, so the pose of link '{frame}' is unknown: send the marker again")
        return self._model.pose(self._q, frame)


def _are_equal(some: tuple[Obstacle, ...], others: tuple[Obstacle, ...]) -> bool:
    """Whether shapes and poses are the same."""
    return len(some) == len(others) and all(
        a.shape == b.shape and np.array_equal(a.X_WO.p, b.X_WO.p) and np.array_equal(a.X_WO.R, b.X_WO.R)
        for a, b in zip(some, others, strict=True)
    )


def _with_velocity(obstacle: Obstacle, before: Obstacle, seconds: float) -> Obstacle:
    """The obstacle with its mean velocity since a pose before; with the velocity before where no time has passed."""
    if seconds <= 0.0:
        return replace(obstacle, V_WO=before.V_WO)
    X, X_before = obstacle.X_WO, before.X_WO
    V = np.concatenate([X.p - X_before.p, rotation_vector(X.R @ X_before.R.T)]) / seconds
    return replace(obstacle, V_WO=V) if np.linalg.norm(V[:3]) <= TOP_SPEED else obstacle
