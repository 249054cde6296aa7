"""Files of an arm's goals, in YAML: targets, motions of the end effector, joint trajectories; listed or by a rule.

Targets are positions: a star, a grid, at random. Motions of the end effector are points with times: circles, polylines,
curves, digits. Every motion starts and ends at rest. Along a line of length L it takes the shortest time in which the
quintic ``s = L (10 u^3 - 15 u^4 + 6 u^5)``, u from 0 to 1, keeps the limits of speed and acceleration:

    T = max(15/8 L/speed, sqrt(10/sqrt(3) L/acceleration))
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arm_control.core import as_mapping, refuse_unknown, yaml_content, yaml_text
from arm_control.exceptions import InputError, ParameterError
from arm_control.maths import Array, Pose, quaternion_from_rotation, rotation_from_quaternion
from arm_control.motion.goals import WrenchGoal
from arm_control.motion.joint_trajectory import Waypoints
from arm_control.motion.pose_trajectory import PosePoints, join_points
from arm_control.motion.references import check_distance

SPACING = 0.04
"""Time between two points of a curve [s]."""
ACCELERATION = 1.0
"""Default limit of the acceleration [m/s^2]."""
WAYPOINT_SHARE, WAYPOINT_ACCELERATION = 0.3, 2.0
"""Share of the speed limits between waypoints, and acceleration [rad/s^2 or m/s^2]."""
MOST_POINTS = 100_000
"""Most points of a rule."""
CORNER = math.radians(40.0)
"""A stroke rests at a point where its direction changes by more than this angle [rad]."""
ARC_STEP = math.radians(9.0)
"""Angle between two points of an arc [rad]."""

# -- targets -------------------------------------------------------------------------------------------


def star(center: npt.ArrayLike, radius: float, directions: int = 8, plane: str = "xy") -> Array:
    """Return positions [m] around a centre, shape (2 directions + 1, 3), with the centre between two of them.

    They lie in a plane, named by two of the axes x, y, z, and go from its first axis towards its second; the centre is
    also the first and the last one.
    """
    if len(plane) != 2 or plane[0] == plane[1] or not set(plane) <= set("xyz"):
        raise InputError(f"plane = {plane!r}: two different axes are needed, such as 'xz'")
    _positive(radius=radius, directions=directions)
    _bounded(2 * directions + 1)
    angles = math.tau * np.arange(directions) / directions
    offsets = np.zeros((directions, 3))
    offsets[:, "xyz".index(plane[0])] = radius * np.cos(angles)
    offsets[:, "xyz".index(plane[1])] = radius * np.sin(angles)
    positions = np.zeros((2 * directions + 1, 3))
    positions[1::2] = offsets
    return positions + _position(center)


def grid(center: npt.ArrayLike, size: npt.ArrayLike, count: npt.ArrayLike) -> Array:
    """Return the corners of a grid in a box [m], shape (n, 3), each a neighbour of the one before.

    x runs fastest, in alternating direction; then y; then z.
    """
    n = np.array(count, dtype=int)
    if n.shape != (3,) or (n < 1).any():
        raise InputError(f"count = {count!r}: three numbers from 1 on are needed")
    _bounded(math.prod(n.tolist()))
    x, y, z = ((np.arange(k) - (k - 1) / 2) / max(k - 1, 1) for k in n.tolist())
    rows, forth = [], 1
    for j, height in enumerate(z):
        for depth in y[:: -1 if j % 2 else 1]:
            rows += [(width, depth, height) for width in x[::forth]]
            forth = -forth
    return np.array(rows) * _position(size) + _position(center)


def random(
    center: npt.ArrayLike, count: int, seed: int = 0, radius: float = 0.0, size: npt.ArrayLike | None = None
) -> Array:
    """Return random positions [m], shape (count, 3), uniform in a ball with a radius or in a box of a size (3,)."""
    _positive(count=count)
    _bounded(count)
    rng = np.random.default_rng(seed)
    if (size is None) == (radius == 0.0):
        raise InputError("radius or size: one of them is needed, not both")
    if size is not None:
        return rng.uniform(-0.5, 0.5, (count, 3)) * _position(size) + _position(center)
    _positive(radius=radius)
    direction = rng.normal(size=(count, 3))
    length = radius * rng.uniform(size=(count, 1)) ** (1 / 3)
    return direction / np.linalg.norm(direction, axis=1, keepdims=True) * length + _position(center)


def _position(values: npt.ArrayLike) -> Array:
    position = np.array(values, dtype=float)
    if position.shape != (3,) or not np.isfinite(position).all():
        raise InputError(f"{values!r}: three finite numbers are needed")
    return position


# -- motions -------------------------------------------------------------------------------------------


def circle(X: Pose, radius: float, period: float, turns: float = 1.0, R: Array | None = None) -> PosePoints:
    """Return a motion along a circle.

    Parameters
    ----------
    X : Pose
        Frame of the circle, which lies in its x-y plane, around its origin, and begins on its x axis.
    radius : float
        Radius [m].
    period : float
        Time of one turn at full speed [s].
    turns : float
        Number of turns. The first one accelerates, the last one brakes; below two turns, half of the circle each.
    R : ndarray, shape (3, 3), optional
        Constant orientation; that of ``X`` by default.
    """
    _positive(radius=radius, period=period, turns=turns)
    ramp = min(1.0, turns / 2.0)  # turns of the acceleration; at half the mean speed, so in twice the time
    end = (turns + 2.0 * ramp) * period
    _bounded(end / SPACING)
    times = np.linspace(0.0, end, max(8, math.ceil(end / SPACING)) + 1)
    up, down = (np.clip(t / (2.0 * ramp * period), 0.0, 1.0) for t in (times, end - times))
    # speed u^3 (10 - 15 u + 6 u^2) of the acceleration: angle, speed and acceleration in turns
    cruise = np.clip(times, 2.0 * ramp * period, end - 2.0 * ramp * period) - 2.0 * ramp * period
    angle = 2.0 * ramp * (_ramp(up, -1) + 0.5 - _ramp(down, -1)) + cruise / period
    speed = np.minimum(_ramp(up, 0), _ramp(down, 0)) / period
    acceleration = (_ramp(up, 1) - _ramp(down, 1)) / (2.0 * ramp * period**2)
    c, s = np.cos(math.tau * angle), np.sin(math.tau * angle)
    radial, tangential = (np.array(rows).T for rows in ((c, s, 0 * c), (-s, c, 0 * c)))
    w, dw = math.tau * speed[:, None], math.tau * acceleration[:, None]
    rows = radius * radial, radius * w * tangential, radius * (dw * tangential - w * w * radial)
    return _points(times, X, rows, X.R if R is None else R)


def polyline(
    X: Pose, corners: npt.ArrayLike, speed: float, acceleration: float = ACCELERATION, R: Array | None = None
) -> PosePoints:
    """Return a motion along straight lines, with a rest at every corner.

    Corners (n, 3) from start to end are in the frame of ``X`` [m], speed and acceleration limits [m/s], [m/s^2]; R is a
    constant orientation, that of ``X`` by default.
    """
    _positive(speed=speed, acceleration=acceleration)
    p = _without_repeats(np.array(corners, dtype=float))
    lengths = np.linalg.norm(np.diff(p, axis=0), axis=1)
    times = np.concatenate([[0.0], np.cumsum([_shortest(L, speed, acceleration) for L in lengths])])
    return _points(times, X, (p, np.zeros_like(p), np.zeros_like(p)), X.R if R is None else R)


def curve(
    X: Pose, dense: npt.ArrayLike, speed: float, acceleration: float = ACCELERATION, R: Array | None = None
) -> PosePoints:
    """Return a motion along a curve, without a rest in between.

    Dense points (n, 3) along the curve are close enough for straight lines between them [m]; the rest as for
    :func:`polyline`.
    """
    _positive(speed=speed, acceleration=acceleration)
    p = _without_repeats(np.array(dense, dtype=float))
    if len(p) == 2:
        return polyline(X, p, speed, acceleration, R)
    arc_length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
    end = _shortest(arc_length[-1], speed, acceleration)
    _bounded(end / SPACING)
    times = np.linspace(0.0, end, max(8, math.ceil(end / SPACING)) + 1)
    s = arc_length[-1] * _ramp(times / end, 0)
    x = np.array([np.interp(s, arc_length, column) for column in p.T]).T
    rows = [x]
    for _ in range(2):
        rows.append(np.gradient(rows[-1], times, axis=0))
        rows[-1][[0, -1]] = 0.0
    return _points(times, X, tuple(rows), X.R if R is None else R)


def digits(
    text: str,
    X: Pose,
    height: float,
    speed: float,
    *,
    lift: float = 0.02,
    acceleration: float = ACCELERATION,
    R: Array | None = None,
) -> PosePoints:
    """Return a motion that writes digits.

    Parameters
    ----------
    X : Pose
        Frame of the sheet: x along the line, y up, z towards the pen; the origin is the lower left corner.
    height : float
        Height of a digit [m].
    speed, acceleration : float
        Limits [m/s], [m/s^2].
    lift : float
        Height of the pen between two strokes [m].
    R : ndarray, shape (3, 3), optional
        Orientation of the pen; that of ``X`` by default.

    Raises
    ------
    InputError
        When a character is neither a digit nor a space, or there is no digit.
    """
    _positive(height=height, lift=lift)
    strokes = list(strokes_of(text, height))
    if not strokes:
        raise InputError(f"'{text}' has no digit")
    parts = []
    lifted = np.array([0.0, 0.0, lift])
    pen = strokes[0][0] + lifted
    for stroke in strokes:
        parts.append(polyline(X, [pen, stroke[0] + lifted, stroke[0]], speed, acceleration, R))
        parts += [curve(X, piece, speed, acceleration, R) for piece in split_at_corners(stroke)]
        pen = stroke[-1] + lifted
        parts.append(polyline(X, [stroke[-1], pen], speed, acceleration, R))
    return join_points(*parts)


# -- strokes -------------------------------------------------------------------------------------------

WIDTH, GAP = 0.6, 0.3
"""Width of a digit, and gap between two, as shares of the height."""

Arc = tuple[float, float, float, float, float, float]
"""Centre x, y; radii x, y; first and last angle from the x axis, counter-clockwise [deg]."""

FONT: dict[str, tuple[tuple[tuple[float, float] | Arc, ...], ...]] = {
    "0": (((0.3, 0.5, 0.28, 0.48, 90, 450),),),
    "1": (((0.12, 0.78), (0.34, 0.98), (0.34, 0.02)),),
    "2": (((0.3, 0.7, 0.26, 0.28, 160, -25), (0.04, 0.02), (0.57, 0.02)),),
    "3": (((0.28, 0.75, 0.24, 0.23, 150, -90), (0.28, 0.27, 0.28, 0.25, 90, -150)),),
    "4": (((0.4, 0.98), (0.03, 0.3), (0.57, 0.3)), ((0.42, 0.62), (0.42, 0.02))),
    "5": (((0.5, 0.98), (0.1, 0.98), (0.07, 0.55), (0.27, 0.32, 0.28, 0.3, 120, -150)),),
    "6": (((0.52, 0.55, 0.49, 0.43, 100, 185), (0.3, 0.3, 0.26, 0.28, 175, 535)),),
    "7": (((0.04, 0.98), (0.56, 0.98), (0.2, 0.02)),),
    "8": (((0.3, 0.74, 0.22, 0.24, -90, 270), (0.3, 0.26, 0.27, 0.24, 90, -270)),),
    "9": (((0.3, 0.7, 0.26, 0.28, -5, -365), (0.08, 0.45, 0.49, 0.43, 5, -80)),),
}
"""Strokes of each digit, in a box 0.6 wide and 1 high: points and arcs in their order."""


def strokes_of(text: str, height: float) -> Iterable[Array]:
    """Yield the strokes of a line of digits of a height [m], each as dense points, shape (n, 3) [m].

    An InputError when a character is neither a digit nor a space.
    """
    for column, character in enumerate(text):
        if character not in (*FONT, " "):
            raise InputError(f"'{character}' is neither a digit nor a space")
        for stroke in FONT.get(character, ()):
            flat = np.array([point for element in stroke for point in _points_of(element)])
            flat[:, 0] += column * (WIDTH + GAP)
            yield height * np.column_stack([flat, np.zeros(len(flat))])


def split_at_corners(stroke: Array) -> list[Array]:
    """Split a stroke, shape (n, 3) [m], into pieces without a corner inside."""
    stroke = _without_repeats(stroke)
    steps = np.diff(stroke, axis=0)
    steps = steps / np.linalg.norm(steps, axis=1)[:, None]
    corners = np.flatnonzero(np.sum(steps[:-1] * steps[1:], axis=1) < math.cos(CORNER)) + 1
    edges = [0, *corners.tolist(), len(stroke) - 1]
    return [stroke[a : b + 1] for a, b in itertools.pairwise(edges)]


def _points_of(element: tuple[float, float] | Arc) -> list[tuple[float, float]]:
    if len(element) == 2:
        return [element]
    x, y, r_x, r_y, begin, end = element
    n = math.ceil(abs(math.radians(end - begin)) / ARC_STEP)
    angles = np.radians(np.linspace(begin, end, n + 1)).tolist()
    return [(x + r_x * math.cos(angle), y + r_y * math.sin(angle)) for angle in angles]


# -- time ----------------------------------------------------------------------------------------------


def _ramp(u: Array, order: int) -> Array:
    """Return ``10 u^3 - 15 u^4 + 6 u^5``; its integral (order -1), or its derivative (order 1)."""
    if order < 0:
        return u**4 * (2.5 - 3.0 * u + u * u)
    return 30.0 * (u * (1.0 - u)) ** 2 if order else u**3 * (10.0 - 15.0 * u + 6.0 * u * u)


def _shortest(length: float, speed: float, acceleration: float) -> float:
    """Return the shortest time along a line [s]."""
    return max(15 / 8 * length / speed, math.sqrt(10 / math.sqrt(3) * length / acceleration))


def _points(times: Array, X: Pose, rows: Sequence[Array], R: Array) -> PosePoints:
    """Return points from positions, velocities and accelerations in the frame of ``X``, with one orientation."""
    p, v, a = rows
    poses = tuple(Pose(R, X.R @ row + X.p) for row in p)
    V, A = (np.hstack([x @ X.R.T, np.zeros_like(x)]) for x in (v, a))
    return PosePoints(times, poses, V, A)


def _without_repeats(p: Array) -> Array:
    if p.ndim != 2 or p.shape[1] != 3 or not np.isfinite(p).all():
        raise InputError("rows of 3 finite numbers are needed")
    kept = p[np.concatenate([[True], np.linalg.norm(np.diff(p, axis=0), axis=1) > 1e-9])]
    if len(kept) < 2:
        raise InputError("at least two different points are needed")
    return kept


def _bounded(n: float) -> None:
    """Refuse more points than any arm can use, before there are any."""
    if not n <= MOST_POINTS:
        raise InputError(f"{n:.3g} points: at most {MOST_POINTS} are allowed")


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise InputError(f"{name} = {value}: a positive number is needed")


PATTERNS: dict[str, Callable[..., Array]] = {
    "star": star,
    "grid": grid,
    "random": random,
}
"""Generators of a list's positions; the entries below ``pattern`` are their arguments."""
MOTIONS: dict[str, Callable[..., PosePoints]] = {
    "circle": circle,
    "polyline": polyline,
    "curve": curve,
    "digits": digits,
}
"""Generators of a motion; the entries below ``motion`` are their arguments."""
G = TypeVar("G")
WRENCH_PERIOD = 0.2
"""Time between two messages of one wrench [s]: less than the time after which it is too old."""
TOLERANCES = ("position_tolerance", "orientation_tolerance")


@dataclass(frozen=True)
class TargetList:
    """Poses to reach, one after the other.

    Attributes
    ----------
    frame : str
        The link in whose frame the poses are.
    period : float
        Time for each target [s].
    position_tolerance, orientation_tolerance : float
        Largest errors of a reached target at the end of its period [m], [rad].
    wrenches : tuple of (tuple of float)
        For each pose six numbers, the wrench that the end effector exerts meanwhile [N, N m]; zero: none.
    on_the_way : tuple of bool
        For each pose whether the next one comes before it is reached; empty: for none.
    """

    frame: str
    period: float
    position_tolerance: float
    orientation_tolerance: float
    targets: tuple[Pose, ...]
    wrenches: tuple[tuple[float, ...], ...] = ()
    on_the_way: tuple[bool, ...] = ()

    def is_judged(self, number: int) -> bool:
        """Whether the target with this number, from 0 and with repetitions of the list, is to be reached."""
        return not self.on_the_way or not self.on_the_way[number % len(self.on_the_way)]

    def wrench_goals(self, count: int, first: int = 0) -> list[WrenchGoal]:
        """Return the wrenches of so many targets from one on, with repetitions of the list.

        Each is repeated before it is too old. A target without a wrench, after one with a wrench, ends it.
        """
        goals = []
        wrenches, n = self.wrenches, len(self.wrenches)
        for number in range(first, first + count) if any(map(any, wrenches)) else ():
            wrench = wrenches[number % n]
            ends = number > 0 and any(wrenches[(number - 1) % n])
            repeats = np.arange(0.0, self.period, WRENCH_PERIOD) if any(wrench) else [0.0] if ends else []
            begin = number * self.period
            goals += [WrenchGoal(round((begin + t) * 1e9), self.frame, wrench) for t in repeats]
        return goals

    @classmethod
    def load(cls, name: str) -> TargetList:
        """Read a list by name (``config/targets/<name>.yaml``) or path.

        The poses are listed below ``targets``, or generated: ``pattern`` has the ``kind`` of the generator, its
        arguments and the orientation of all, ``quat_xyzw``. A listed one may have a ``force`` and a ``moment`` that
        the end effector exerts meanwhile, and be ``on_the_way``: the next one comes before it is reached.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not a list of targets.
        """
        keys = ("frame", "period", *TOLERANCES)
        with yaml_content("targets", name, (*keys, "robot", "description", "targets", "pattern")) as content:
            if "pattern" in content and "targets" in content:
                raise ParameterError("targets and pattern: one of them is needed, not both")
            if "pattern" in content:
                poses = _generated_poses(as_mapping(content["pattern"], "pattern"))
                wrenches: tuple[tuple[float, ...], ...] = ()
                on_the_way: tuple[bool, ...] = ()
            else:
                entries = [dict(entry) for entry in content["targets"]]
                wrenches = tuple(_take_wrench(entry) for entry in entries)
                on_the_way = tuple(bool(entry.pop("on_the_way", False)) for entry in entries)
                poses = tuple(_pose(entry, "target") for entry in entries)
            period, position, orientation = (float(content[key]) for key in keys[1:])
            return cls(str(content["frame"]), period, position, orientation, poses, wrenches, on_the_way)


def target_entry(X: Pose, smallest_singular_value: float) -> dict[str, Any]:
    """Return a target as an entry of a file, for :meth:`TargetList.load`.

    The smallest singular value of the Jacobian there is a note.
    """
    return {
        "position": X.p.round(6).tolist(),
        "quat_xyzw": quaternion_from_rotation(X.R).round(9).tolist(),
        "smallest_singular_value": round(smallest_singular_value, 4),
    }


@dataclass(frozen=True)
class Motion:
    """A motion of the end effector.

    Attributes
    ----------
    frame : str
        The link in whose frame the poses are.
    position_tolerance, orientation_tolerance : float
        Largest allowed errors [m], [rad].
    """

    frame: str
    position_tolerance: float
    orientation_tolerance: float
    points: PosePoints

    @classmethod
    def load(cls, name: str) -> Motion:
        """Read a motion by name (``config/motions/<name>.yaml``) or path.

        ``motion`` has the ``kind`` of its generator, one of :data:`MOTIONS`, the frame as ``position`` and
        ``quat_xyzw``, optionally another ``orientation`` (a quaternion), and the generator's own arguments. Or ``kind``
        is ``points``, and ``points`` has a ``time``, a ``position`` and a ``quat_xyzw`` for each pose.

        Raises
        ------
        ArmControlError
            When there is no such file.
        ParameterError
            When its content is not a motion.
        """
        known = ("frame", *TOLERANCES, "robot", "description", "start", "motion")
        with yaml_content("motions", name, known) as content:
            points = _motion_points(as_mapping(content["motion"], "motion"))
            points = points.delayed(float(content.get("start", 0.0)))
            position, orientation = (float(content[key]) for key in TOLERANCES)
            checked = PosePoints.checked(points.times, points.poses, points.Vs, points.As)
            return cls(str(content["frame"]), position, orientation, checked)


def load_trajectory(name: str) -> tuple[tuple[str, ...], Waypoints]:
    """Read a joint trajectory by name (``config/trajectories/<name>.yaml``) or path.

    A ParameterError when there is no such file, or its content is not a trajectory.
    """
    rows = ("positions", "velocities", "accelerations")
    with yaml_content("trajectories", name, ("robot", "description", "joints", "points")) as content:
        joints = tuple(map(str, content["joints"]))
        points = content["points"]
        for point in points:
            refuse_unknown(point, ("time", *rows), "point")
        times = np.array([point["time"] for point in points], dtype=float)
        vs, as_ = (_column(points, row) if row in points[0] else None for row in rows[1:])
        return joints, Waypoints(times, _column(points, "positions"), vs, as_)


def trajectory_text(description: str, robot: str, joints: Sequence[str], points: Waypoints) -> str:
    """Return a file for :func:`load_trajectory`."""
    lines = [
        f"description: {description}",
        f"robot: {yaml_text(robot)}",
        f"joints: {yaml_text(tuple(joints))}",
        "points:",
    ]
    rows = (points.qs, points.vs, points.as_)
    for k, time in enumerate(points.times.tolist()):
        lines.append(f"  - time: {yaml_text(time)}")
        for name, values in zip(("positions", "velocities", "accelerations"), rows, strict=True):
            if values is not None:
                lines.append(f"    {name}: {yaml_text(values[k].round(9).tolist())}")
    return "\n".join(lines) + "\n"


def timed_waypoints(qs: Array, v_max: Array) -> Waypoints:
    """Return postures (n, nv) with times at which joints pass them slowly; the first is after half a turn's time.

    Of the speed limits (nv,) :data:`WAYPOINT_SHARE` is used at most between two postures at rest [rad/s or m/s].
    """
    ways = [np.full(len(v_max), math.pi), *np.abs(np.diff(qs, axis=0))]
    speeds = np.where(np.isfinite(v_max), WAYPOINT_SHARE * v_max, 1.0)
    steps = [
        max(0.1, *(_shortest(x, v, WAYPOINT_ACCELERATION) for x, v in zip(way, speeds, strict=True))) for way in ways
    ]
    return Waypoints(np.cumsum(steps).round(3), qs)


def _column(points: Sequence[Mapping[str, Any]], key: str) -> Array:
    """Return one entry of all points, shape (n, number of joints)."""
    return np.array([point[key] for point in points], dtype=float)


def _pose(entry: Mapping[str, Any], title: str) -> Pose:
    refuse_unknown(entry, ("position", "quat_xyzw", "smallest_singular_value"), title)
    x, y, z = (float(value) for value in entry["position"])
    check_distance(math.hypot(x, y, z), f"{title} [{x}, {y}, {z}]")
    return Pose(rotation_from_quaternion(entry["quat_xyzw"]), np.array([x, y, z]))


def _take_wrench(entry: dict[str, Any]) -> tuple[float, ...]:
    """Remove ``force`` and ``moment`` from a target, and return both."""
    wrench = tuple(float(x) for key in ("force", "moment") for x in entry.pop(key, (0.0, 0.0, 0.0)))
    if len(wrench) != 6 or not np.isfinite(wrench).all():
        raise ValueError(f"force and moment {list(wrench)}: three finite numbers are needed for each")
    return wrench


def _generated_poses(rule: dict[str, Any]) -> tuple[Pose, ...]:
    """Return the poses of a ``pattern``."""
    generator = _take_generator(rule, PATTERNS)
    R = rotation_from_quaternion(rule.pop("quat_xyzw"))
    return tuple(Pose(R, p) for p in generator(**rule))


def _motion_points(rule: dict[str, Any]) -> PosePoints:
    """Return the points of a ``motion``."""
    if rule.get("kind") == "points":
        refuse_unknown(rule, ("kind", "points"), "motion")
        points = [dict(point) for point in rule["points"]]
        times = np.array([float(point.pop("time")) for point in points])
        return PosePoints(times, tuple(_pose(point, "point") for point in points))
    generator = _take_generator(rule, MOTIONS)
    X = _pose({key: rule.pop(key) for key in ("position", "quat_xyzw")}, "motion")
    R = rotation_from_quaternion(rule.pop("orientation")) if "orientation" in rule else None
    if generator is digits:
        return digits(str(rule.pop("text")), X, R=R, **rule)
    return generator(X, R=R, **rule)


def _take_generator(rule: dict[str, Any], table: Mapping[str, Callable[..., G]]) -> Callable[..., G]:
    """Remove ``kind`` from a rule, and return the generator of that name."""
    name = rule.pop("kind")
    if name not in table:
        raise InputError(f"kind = {name!r}; there are: {', '.join(table)}")
    return table[name]
