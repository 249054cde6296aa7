"""Primitives: what was learned from a demonstration, and every motion that follows from it.

    >>> t = np.linspace(0.0, 2.0, 201)
    >>> wave = Demonstration(t, np.column_stack([t**2 * (3.0 - t) / 4.0 + 0.2 * np.sin(np.pi * t / 2.0) ** 2]))
    >>> primitive = Primitive.learn(wave)
    >>> motion = primitive.rollout(np.linspace(0.0, 3.0, 31), goal=[0.5], duration=3.0)
    >>> motion.q[-1].round(9), abs(motion.v[-1]) < 1e-9
    (array([0.5]), array([ True]))

The equations are in :mod:`~arm_control.primitives.discrete_law`,
:mod:`~arm_control.primitives.rhythmic_law` and :mod:`~arm_control.primitives.learning`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from arm_control.core import file_names, read_yaml, refuse_unknown, write_text, yaml_content, yaml_path, yaml_text
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.maths import Array, Pose, quaternion_from_rotation, rotation_from_quaternion, rotation_vector
from arm_control.motion import JointReference, Reference, check_distance
from arm_control.primitives import learning
from arm_control.primitives.demonstration import Demonstration
from arm_control.primitives.orientation import nearest_turn, rotation_coordinates, rotation_motion
from arm_control.primitives.responses import discrete_matrix, rhythmic_matrix

Kind: TypeAlias = Literal["discrete", "rhythmic"]
Method: TypeAlias = Literal["least_squares", "locally_weighted"]
Place: TypeAlias = "Pose | npt.ArrayLike"
"""Coordinates, or a pose where the primitive has an orientation."""

KEYS = ("kind", "names", "frame", "duration", "start", "goal", "final_velocity", "quat_xyzw", "weights")
"""Keys of a primitive as a mapping."""
MOST = {"discrete": 200, "rhythmic": 1000}
"""Largest number of basis functions."""


@dataclass(frozen=True)
class Rollout:
    """Coordinates of a primitive at some times.

    Attributes
    ----------
    times : ndarray, shape (N,)
        Times from the start [s].
    q, v, a : ndarray, shape (N, n)
        Coordinates, velocities and accelerations: of joints; of a link's position; or of position and rotation vector.
    R_ref : ndarray, shape (3, 3), or None
        Orientation that the rotation vectors are about.
    """

    times: Array
    q: Array
    v: Array
    a: Array
    R_ref: Array | None = None

    def joint_reference(self, i: int) -> JointReference:
        """Return the reference of the joints at the i-th time."""
        return JointReference(self.q[i], self.v[i], self.a[i])

    def reference(self, i: int) -> Reference:
        """Return the reference of the end effector at the i-th time, in the primitive's frame.

        Raises
        ------
        InputError
            When the primitive has no orientation.
        """
        if self.R_ref is None:
            raise InputError("a rollout without orientation: its coordinates are q, v and a")
        R, omega, alpha = rotation_motion(self.q[i, 3:], self.v[i, 3:], self.a[i, 3:])
        X = Pose(R @ self.R_ref, self.q[i, :3])
        return Reference(X, np.concatenate([self.v[i, :3], omega]), np.concatenate([self.a[i, :3], alpha]))

    def pose(self, i: int) -> Pose:
        """Return the pose at the i-th time; see :meth:`reference`."""
        return self.reference(i).X_WT


@dataclass(frozen=True)
class Primitive:
    """A motion that was learned.

    Its coordinates are joint positions [rad or m]; or the position of a link [m]; or position and rotation vector of a
    link [m, rad], from a reference orientation.

    Attributes
    ----------
    kind : "discrete" or "rhythmic"
        One motion to a goal, or a cycle about a centre.
    duration : float
        Duration, or period [s].
    start : ndarray, shape (n,)
        Coordinates at the start; of a cycle at its phase 0.
    goal : ndarray, shape (n,)
        Coordinates at the end; of a cycle the centre.
    weights : ndarray, shape (n, n_basis)
        Weights of the force.
    final_velocity : ndarray, shape (n,)
        Velocity at the goal; zero for a cycle.
    names : tuple of str
        Joints; empty for the end effector.
    frame : str
        Link in whose frame the positions are; empty where that does not matter.
    quat_xyzw : ndarray, shape (4,), or None
        Reference orientation; of a discrete primitive that at the start.

    Raises
    ------
    InputError
        When a shape is wrong, a number is not finite, or the duration is not positive.
    """

    kind: Kind
    duration: float
    start: Array
    goal: Array
    weights: Array
    final_velocity: Array
    names: tuple[str, ...] = ()
    frame: str = ""
    quat_xyzw: Array | None = None

    def __post_init__(self) -> None:
        if self.kind not in tuple(MOST):
            raise InputError(f"kind = {self.kind!r}; allowed: {', '.join(MOST)}")
        _check_duration(self.duration)
        weights = _floats(self.weights, "weights")
        if weights.ndim != 2 or not weights.shape[0] or not np.isfinite(weights).all():
            raise InputError(f"weights of shape {weights.shape}: finite numbers (n, n_basis) are needed")
        _check_number(self.kind, weights.shape[1])
        arrays = {"weights": weights}
        for name in ("start", "goal", "final_velocity"):
            arrays[name] = _vector(getattr(self, name), name, len(weights))
        if self.names and len(self.names) != len(weights):
            raise InputError(f"weights of {len(weights)} joints, names of {len(self.names)}")
        if self.quat_xyzw is not None:
            arrays["quat_xyzw"] = quat = _vector(self.quat_xyzw, "quat_xyzw", 4)
            if len(weights) != 6 or self.names or not abs(np.linalg.norm(quat) - 1.0) < 1e-6:
                raise InputError("quat_xyzw, of length 1, belongs to a link's primitive of 6 coordinates")
        for name, value in arrays.items():
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "duration", float(self.duration))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.weights)

    @property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return int(self.weights.shape[1])

    @classmethod
    def learn(
        cls,
        demonstration: Demonstration,
        kind: Kind = "discrete",
        n_basis: int = 25,
        method: Method = "least_squares",
        period: float | None = None,
        final_velocity: npt.ArrayLike | None = None,
    ) -> Primitive:
        """Return the primitive of a demonstration; see :mod:`~arm_control.primitives.learning`.

        Parameters
        ----------
        demonstration : Demonstration
            One motion from rest; or one or more cycles, the last sample one period after a first one.
        n_basis : int
            Number of basis functions, from 2 to 200 (discrete) or 1000 (rhythmic).
        method : "least_squares" or "locally_weighted"
            By positions, all weights together; or by forces, one weight after the other.
        period : float, optional
            Period of a cycle [s]; by default the demonstration's duration.
        final_velocity : array_like, shape (n,), optional
            Velocity at the end of a discrete motion; at rest by default.

        Raises
        ------
        InputError
            When an argument is not allowed, a cycle does not end where it began, or the orientation turns about.
        """
        if kind not in MOST or method not in ("least_squares", "locally_weighted"):
            raise InputError(f"kind = {kind!r}, method = {method!r}; allowed: {', '.join(MOST)}; {Method}")
        _check_number(kind, n_basis)
        quat = None if demonstration.orientations is None else demonstration.orientations[0]
        lesson = learning.Lesson(demonstration.times - demonstration.times[0], _all_coordinates(demonstration, quat))
        if kind == "rhythmic":
            if final_velocity is not None:
                raise InputError("a cycle has no final velocity")
            duration = demonstration.duration if period is None else float(period)
            _check_duration(duration)
            learned = learning.learn_cycle(lesson, duration, n_basis, method)
        else:
            if period is not None:
                raise InputError("a discrete motion has no period")
            duration = demonstration.duration
            n = lesson.y.shape[1]
            v_g = _vector(np.zeros(n) if final_velocity is None else final_velocity, "final_velocity", n)
            learned = learning.learn_motion(lesson, v_g, n_basis, method)
        return cls(kind, duration, *learned, demonstration.names, demonstration.frame, quat)

    def rollout(
        self,
        times: npt.ArrayLike,
        *,
        start: Place | None = None,
        goal: Place | None = None,
        duration: float | None = None,
        amplitude: float = 1.0,
        start_velocity: npt.ArrayLike | None = None,
        final_velocity: npt.ArrayLike | None = None,
        phase: float = 0.0,
    ) -> Rollout:
        """Return the motion without coupling: exact at every time, whatever the distance to the next one.

        Parameters
        ----------
        times : array_like, shape (N,)
            Times from the start of the motion [s].
        start : Pose or array_like, shape (n,)
            Where it starts; by default as learned, of a cycle on the cycle.
        goal : Pose or array_like, shape (n,)
            Goal, or centre; by default as learned.
        duration : float
            Duration, or period [s]; by default as learned.
        amplitude : float
            Factor of the shape.
        start_velocity : array_like, shape (n,)
            Velocity at the start; at rest by default, where a start is given for a cycle, too.
        final_velocity : array_like, shape (n,)
            Velocity at the goal; by default as learned.
        phase : float
            Phase of a cycle at the start [rad].

        Raises
        ------
        InputError
            When a shape is wrong or a number is not finite.
        """
        t = np.atleast_1d(_floats(times, "times"))
        if t.ndim != 1 or not np.isfinite(t).all() or not np.isfinite([amplitude, phase]).all():
            raise InputError("times, amplitude and phase must be finite numbers")
        T = self.duration if duration is None else float(duration)
        _check_duration(T)
        y_0, y_g, quat = self.places(start, goal)
        v_0 = np.zeros(self.size) if start_velocity is None else _vector(start_velocity, "velocity", self.size)
        weights = amplitude * self.weights
        if self.kind == "rhythmic":
            is_on_cycle = start is None and start_velocity is None
            matrices = rhythmic_matrix(t, T, self.n_basis, phase, is_on_cycle)
            columns = np.column_stack([y_0, v_0, y_g, weights])
        else:
            v_g = self.final_velocity if final_velocity is None else _vector(final_velocity, "velocity", self.size)
            matrices = discrete_matrix(t, T, self.n_basis)
            columns = np.column_stack([y_0, y_g, v_0, v_g, weights])
        q, v, a = (matrix @ columns.T for matrix in matrices)
        return Rollout(t, q, v, a, None if quat is None else rotation_from_quaternion(quat))

    def places(self, start: Place | None, goal: Place | None) -> tuple[Array, Array, Array | None]:
        """Return start and goal in coordinates, as learned where None, and the reference orientation of both."""
        quat = self.quat_xyzw
        if quat is not None and self.kind == "discrete" and isinstance(start, Pose):
            goal = self.learned_goal() if goal is None else goal
            quat = quaternion_from_rotation(start.R)
        y_0 = self.start if start is None else self.coordinates(start, quat, self.start)
        y_g = self.goal if goal is None else self.coordinates(goal, quat, self.goal)
        return y_0, y_g, quat

    def learned_goal(self) -> Pose:
        """Return the goal that was learned, as a pose; of a primitive with an orientation."""
        at_rest = np.zeros((1, self.size))
        return Rollout(np.zeros(1), self.goal[None], at_rest, at_rest, self._reference()).pose(0)

    def coordinates(self, place: Place, quat_xyzw: Array | None, near: Array) -> Array:
        """Return the coordinates of a place, shape (n,), about a reference orientation.

        Of the two rotation vectors of an orientation, the one nearer to other coordinates is taken.
        """
        if not isinstance(place, Pose):
            values = _vector(place, "place", self.size)
            check_distance(float(np.abs(values).max()), "place")
            return values
        if quat_xyzw is None:
            raise InputError("a pose for a primitive without orientation: give its coordinates")
        phi = rotation_vector(place.R @ rotation_from_quaternion(quat_xyzw).T)
        check_distance(float(np.linalg.norm(place.p)), "pose")
        return np.concatenate([place.p, nearest_turn(phi, near[3:])])

    def _reference(self) -> Array | None:
        return None if self.quat_xyzw is None else rotation_from_quaternion(self.quat_xyzw)

    def as_mapping(self) -> dict[str, Any]:
        """Return the primitive as plain numbers, lists and words, for a file."""
        values = {key: getattr(self, key) for key in KEYS if key != "quat_xyzw" or self.quat_xyzw is not None}
        plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in values.items()}
        return {**plain, "names": list(self.names)}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], *, where: str = "primitive") -> Primitive:
        """Return the primitive that :meth:`as_mapping` wrote; ``frame`` and ``quat_xyzw`` may be missing.

        Raises
        ------
        InputError, ParameterError
            When a value is missing or not allowed, or a key is unknown; the message begins with ``where``.
        """
        refuse_unknown(values, KEYS, where)
        if missing := [key for key in KEYS if key not in values and key not in ("frame", "quat_xyzw")]:
            raise InputError(f"{where}: {', '.join(missing)} missing")
        names, frame = values["names"], values.get("frame", "")
        if not isinstance(names, (list, tuple)) or not all(isinstance(x, str) for x in (*names, frame)):
            raise InputError(f"{where}: names = {names!r}, frame = {frame!r}: words are needed")
        try:
            return cls(**{**values, "names": tuple(names)})
        except InputError as error:
            raise InputError(f"{where}: {error}") from None


def _all_coordinates(demonstration: Demonstration, quat: Array | None) -> Array:
    if quat is None or demonstration.orientations is None:
        return demonstration.positions
    return np.hstack([demonstration.positions, rotation_coordinates(demonstration.orientations, quat)])


def _check_number(kind: str, n_basis: int) -> None:
    if isinstance(n_basis, bool) or not isinstance(n_basis, (int, np.integer)) or not 2 <= n_basis <= MOST[kind]:
        raise InputError(f"{n_basis} basis functions; allowed for a {kind} primitive: 2 to {MOST[kind]}")


def _check_duration(duration: float) -> None:
    is_number = isinstance(duration, (int, float)) and not isinstance(duration, bool)
    if not is_number or not 0.0 < duration < np.inf:
        raise InputError(f"duration = {duration!r}: a positive time [s] is needed")


def _vector(values: npt.ArrayLike, what: str, n: int) -> Array:
    array = _floats(values, what)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise InputError(f"{what} has shape {array.shape}; allowed: {n} finite numbers")
    return array


def _floats(values: npt.ArrayLike, what: str) -> Array:
    try:
        return np.array(values, dtype=float, order="C")  # the order decides the last bit of a product
    except (TypeError, ValueError):
        raise InputError(f"{what} is not an array of numbers") from None


VERSION = 1
"""Version of the files; a primitive of another one would move otherwise."""
FOLDER = "primitives"
"""Folder of the package's primitives, below ``config``."""
WIDTH = 116
"""Columns of a line."""
POSITION, ROTATION = ("x", "y", "z"), ("rx", "ry", "rz")
"""Coordinates of the end effector."""


class PrimitiveFile(NamedTuple):
    """A primitive, and one sentence about it."""

    primitive: Primitive
    description: str = ""

    @classmethod
    def load(cls, name: str) -> PrimitiveFile:
        """Read a primitive by name (``config/primitives/<name>.yaml``) or path.

        Raises
        ------
        ParameterError
            When there is no such file, or its content is no primitive of this version.
        """
        path = yaml_path(FOLDER, name)
        content = read_yaml(path)
        version, description = content.pop("version", None), content.pop("description", "")
        if version != VERSION:
            raise ParameterError(f"{path}: version {version!r}; this package reads version {VERSION}: learn it again")
        try:
            return cls(Primitive.from_mapping(content, where=str(path)), str(description))
        except ParameterError:
            raise
        except ArmControlError as error:
            raise ParameterError(str(error)) from None

    def save(self, path: str | Path) -> None:
        """Write the file; :meth:`load` reads every number back to the last bit.

        Raises
        ------
        ArmControlError
            When it cannot be written.
        """
        values = {"version": VERSION, "description": self.description, **self.primitive.as_mapping()}
        rows = zip(coordinate_names(self.primitive), values.pop("weights"), strict=True)
        lines = [f"{key}: {yaml_text(value)}" for key, value in values.items()]
        lines.append("weights:")
        for name, row in rows:
            lines.append(f"  # {name}")
            lines += textwrap.wrap(yaml_text(row), WIDTH, initial_indent="  - ", subsequent_indent="     ")
        write_text(path, "\n".join(lines) + "\n")


def primitive_names() -> tuple[str, ...]:
    """Return the names of the primitives that come with the package."""
    return file_names(f"config/{FOLDER}", ".yaml")


def coordinate_names(primitive: Primitive) -> tuple[str, ...]:
    """Return a name for each coordinate of a primitive: its joints, or axes of the end effector."""
    return primitive.names or (POSITION + ROTATION)[: primitive.size]


def for_joints(primitive: Primitive, joints: Sequence[str]) -> Primitive:
    """Return a primitive of joints with its coordinates in the order of an arm's; it may have others beside them.

    Raises
    ------
    ParameterError
        When it is no primitive of these joints.
    """
    if missing := [name for name in joints if name not in primitive.names]:
        has = f"it has {', '.join(primitive.names)}" if primitive.names else "it is one of the end effector"
        raise ParameterError(f"the primitive does not move {', '.join(missing)} of this arm: {has}")
    rows = [primitive.names.index(name) for name in joints]
    return replace(
        primitive,
        names=tuple(joints),
        start=primitive.start[rows],
        goal=primitive.goal[rows],
        weights=primitive.weights[rows],
        final_velocity=primitive.final_velocity[rows],
    )


def load_demonstration(name: str) -> Demonstration:
    """Read a demonstration by name (``config/demonstrations/<name>.yaml``) or path.

    Each joint has degrees over the percent of a period; with factor and offset they become joint positions [rad].

    Raises
    ------
    ParameterError
        When there is no such file, or its content is not a demonstration.
    """
    known = ("description", "source", "robot", "period", "percent", "joints")
    with yaml_content("demonstrations", name, known) as content:
        joints = content["joints"]
        for joint in joints:
            refuse_unknown(joint, ("name", "angle", "factor", "offset", "degrees"), "joint")
        times = 0.01 * float(content["period"]) * np.array(content["percent"], dtype=float)
        columns = [joint["factor"] * np.array(joint["degrees"], dtype=float) + joint["offset"] for joint in joints]
        names = tuple(str(joint["name"]) for joint in joints)
        return Demonstration(times, np.radians(np.column_stack(columns)), names=names)
