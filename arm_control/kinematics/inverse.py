"""Inverse kinematics: joint positions, within their limits, that put the end effector at a pose.

    minimise |e(q)|^2 over the selected rows of the pose,  q_min <= q <= q_max

by the damped steps of :mod:`arm_control.kinematics.damped_step`, repeated in compiled code until every row is within
the tolerance. An iteration may end in a local minimum. It is then repeated from the points of Sobol's sequence, several
at once; the earliest start that leads to the pose counts, so that the result depends neither on the processor nor on
whether a pose is solved by itself or among others.

    >>> from arm_control import Pose, RobotModel, urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> ik = InverseKinematics(model)
    >>> result = ik.solve(Pose.at([0.4, 0.1, 0.4], [1.0, 0.0, 0.0, 0.0]))
    >>> result.converged, model.pose(result.q).p.round(5)
    (True, array([0.4, 0.1, 0.4]))
    >>> ik.solve(Pose.at([2.0, 0.0, 0.0])).why
    'out of reach...'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import RLock

import numpy as np
import numpy.typing as npt

from arm_control.core import exclusive
from arm_control.exceptions import FrameNotFound, InputError
from arm_control.kinematics.branches import Branches, BranchSearch, SelfMotion, self_motion
from arm_control.kinematics.damped_step import TURN, Task
from arm_control.kinematics.search import Search
from arm_control.kinematics.task_errors import Rows, chosen_rows, served_rows, task_error
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel

WHOLE_TURN = TURN - 1e-6
"""Range from which on a joint can turn to any angle [rad]."""
ROTATION_TOLERANCE = 1e-6
"""Largest entry of ``R R^T - 1`` of a target."""
N_STARTS = 400
"""Starts of a search that decides between a local minimum and a pose out of reach."""
SMALL_ERROR, SMALL_SINGULAR_VALUE = 1e-3, 1e-2
"""Error [m, rad] and singular value [m/rad, -] of what counts as a singular posture."""
BEYOND = 1e-6
"""Distance from a limit at which a joint counts as beyond it [rad or m]."""


@dataclass(frozen=True)
class IkResult:
    """What came of one pose.

    Attributes
    ----------
    q : ndarray, shape (nq,)
        Joint positions; where it did not converge, those nearest to the pose [rad or m].
    converged : bool
        Whether every selected row is within the tolerance.
    iterations : int
        Steps from all starts up to the one that led there.
    error : ndarray, shape (m,)
        Error of the selected rows at q, desired minus actual [m, rad].
    """

    q: Array
    converged: bool
    iterations: int
    error: Array
    _explain: Callable[[], str] = field(repr=False, compare=False, default=str)

    @cached_property
    def why(self) -> str:
        """Why it did not converge, in a sentence; empty where it did. It is found out when it is first asked for."""
        return "" if self.converged else self._explain()


@dataclass(frozen=True)
class IkBatch:
    """What came of many poses: arrays with a row for each; ``batch[i]`` is the :class:`IkResult` of one of them."""

    q: Array
    converged: Array
    iterations: Array
    error: Array
    _explain: Callable[[int], str] = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.q)

    def __getitem__(self, i: int) -> IkResult:
        i = range(len(self))[i]
        converged, iterations = bool(self.converged[i]), int(self.iterations[i])
        return IkResult(self.q[i].copy(), converged, iterations, self.error[i].copy(), lambda: self._explain(i))


class InverseKinematics:
    """Inverse kinematics of an arm.

    Parameters
    ----------
    model : RobotModel
        The arm. A tool that is attached to it counts, also one that is attached later.
    rows : str, optional
        Rows of the pose that count, such as ``"x y z"``; by default all that the arm serves, see
        :func:`~arm_control.kinematics.task_errors.served_rows`.
    task_frame : str
        Whose axes the rows are along: ``world``, ``end_effector`` or ``target``, as for the controllers.
    frame : str, optional
        The link that is placed; the end effector, with its tool, by default.
    q_min, q_max : array_like, shape (nq,), optional
        Limits of the joint positions; by default those of the model [rad or m].
    tolerance : float
        Largest error of a row [m, rad].
    posture : array_like, shape (nq,), optional
        Joint positions that the result shall be as near to as the pose allows, for an arm with more joints than rows;
        also the default of the first start, see :mod:`arm_control.kinematics.damped_step` [rad or m].

    Attributes
    ----------
    rows : Rows
        The rows that count, and whose axes they are along.
    lock : RLock
        Held while postures are searched: an object keeps work space, and one thread at a time uses it.

    Raises
    ------
    InputError
        When a row is unknown or no joint moves it, limits cross, or a number is out of bounds.
    FrameNotFound
        When the model has no such link.
    """

    def __init__(
        self,
        model: RobotModel,
        rows: str | None = None,
        *,
        task_frame: str = "world",
        frame: str | None = None,
        q_min: npt.ArrayLike | None = None,
        q_max: npt.ArrayLike | None = None,
        tolerance: float = 1e-6,
        n_starts: int = 200,
        posture: npt.ArrayLike | None = None,
    ) -> None:
        if frame is not None and frame not in model.frames:
            raise FrameNotFound(frame, model.frames)
        if not 1e-12 <= tolerance < np.inf:
            raise InputError(f"tolerance is {tolerance}; allowed: 1e-12 and more [m, rad]")
        if n_starts < 1:
            raise InputError(f"n_starts is {n_starts}; allowed: 1 and more")
        self.model, self.frame, self.tolerance, self.lock = model, frame, float(tolerance), RLock()
        self.q_min, self.q_max = limits(model, q_min, q_max)
        self.rows: Rows = served_rows(model, frame) if rows is None else chosen_rows(model, frame, rows, task_frame)
        turning = tuple((is_revolute(model) & (self.q_max - self.q_min >= WHOLE_TURN)).tolist())
        task = Task(frame, self.rows.numbers, self.rows.frame, turning)
        q_p = None if posture is None else model.in_joint_order(model.joint_names, _row(posture), "posture")
        self._search = Search(model, task, self.q_min, self.q_max, self.tolerance, int(n_starts), q_p)
        self._search.follow_tool()
        self._branches: BranchSearch | None = None
        self._R, self._p = self._search.target[:9].reshape(3, 3), self._search.target[9:]

    @property
    def n_starts(self) -> int:
        """Largest number of starts for a pose."""
        return self._search.n_starts

    def solve(self, X_WT: Pose, start: npt.ArrayLike | None = None) -> IkResult:
        """Joint positions that put the end effector at a pose.

        The start (nq,) is tried first, and angles are turned near to it; by default it is the middle of the limits [rad
        or m].

        Raises
        ------
        InputError
            When the pose is no pose, or the start is not finite or of another shape.
        """
        search = self._search
        if search.posture is not None:
            return self.solve_batch([X_WT], start)[0]
        self.lock.acquire()  # half the time of a with statement
        try:
            self._place(X_WT, start)
            first = search.first(None if start is None else search.reference)
            if first == search.n_starts:
                self._refuse(X_WT, start)
                return self.solve_batch([X_WT], start)[0]
            count = search.count[0, 0] if first == 0 else search.count[0, : first + 1].sum()
            return IkResult(search.q[:, first].copy(), True, int(count) - 1, search.error[:, first].copy())
        finally:
            self.lock.release()

    @exclusive
    def solve_batch(self, poses: Sequence[Pose] | Array, starts: npt.ArrayLike | None = None) -> IkBatch:
        """Joint positions for each of many poses, or matrices (N, 4, 4), in the world: what :meth:`solve` returns.

        There is one start (nq,) for all poses, or one for each (N, nq) [rad or m].

        Raises
        ------
        InputError
            When a pose is no pose, or a start is not finite or of another shape.
        """
        search = self._search
        search.follow_tool()
        targets = target_rows(poses)
        starts = search.posture if starts is None else starts
        first = None if starts is None else self._first_starts(starts, len(targets))
        references = np.broadcast_to(search.middle, (len(targets), self.model.nq)) if first is None else first
        attempts = search.all_poses(targets, references, first)

        def why(i: int) -> str:
            return explain(search, targets[i], attempts.q[i], attempts.error[i])

        return IkBatch(attempts.q, attempts.is_done, attempts.iterations, attempts.error, why)

    @exclusive
    def along(self, poses: Sequence[Pose] | Array, start: npt.ArrayLike) -> Array:
        """Joint positions along poses, each from those of the pose before alone, so that the branch stays.

        No other start is tried: it takes 2 us a pose, and an end soon where a pose is not reached.

        Returns
        -------
        ndarray, shape (k, nq)
            Those of as many poses as are reached in turn [rad or m].

        Raises
        ------
        InputError
            When a pose is no pose, or the start is not finite or of another shape.
        """
        self._search.follow_tool()
        return self._search.along(target_rows(poses), self._first_starts(start, 1)[0])

    @exclusive
    def all(self, X_WT: Pose, start: npt.ArrayLike | None = None) -> Branches:
        """All postures at a pose, of an arm with as many joints as rows; angles are turned near to the start.

        Raises
        ------
        InputError
            When the pose is no pose, the start not finite or of another shape, or the arm has more joints than rows.
        """
        self._place(X_WT, start)
        if self._branches is None:
            self._branches = BranchSearch(self._search)
        return self._branches.find(self._search.target, self._search.reference)

    @exclusive
    def self_motion(self, X_WT: Pose, start: npt.ArrayLike | None = None, step: float = 0.05) -> SelfMotion:
        """The curve of postures through which an arm with one joint more than rows moves at a pose.

        It goes through the posture that the start leads to, see :meth:`solve`; neighbours are a step apart [rad or m].

        Raises
        ------
        InputError
            When the arm has another number of joints, the pose is not reached, or a number is out of bounds.
        """
        n, m = self.model.nq, len(self.rows.numbers)
        if n != m + 1:
            raise InputError(f"{n} joints and {m} rows; allowed for a self-motion: one joint more than rows")
        if not 1e-3 <= step <= 0.5:
            raise InputError(f"step is {step}; allowed: 0.001 to 0.5 [rad or m]")
        result = self.solve(X_WT, start)
        if not result.converged:
            raise InputError(f"the pose is not reached: {result.why}")
        return self_motion(self._search, target_rows([X_WT])[0], result.q, step)

    def error(self, q: npt.ArrayLike, X_WT: Pose) -> Array:
        """Error of the selected rows at joint positions, desired minus actual, shape (m,) [m, rad]."""
        X_WE, J = self.model.pose(q, self.frame), self.model.jacobian(q, self.frame)
        return task_error(X_WE, X_WT, J, self.rows.numbers, self.rows.frame).e

    def _place(self, X_WT: Pose, start: npt.ArrayLike | None) -> None:
        """Write a target and a start, as far as they are some, to the arrays of the search."""
        search = self._search
        search.follow_tool()
        try:
            self._R[...], self._p[...] = X_WT
            search.reference[...] = search.middle if start is None else start
        except (TypeError, ValueError):
            self._refuse(X_WT, start)
            raise
        reference, R = search.reference, search.target[:9]
        if not (reference @ reference < np.inf and abs(R @ R - 3.0) < ROTATION_TOLERANCE):  # two quick checks of many
            self._refuse(X_WT, start)

    def _first_starts(self, starts: npt.ArrayLike, n: int) -> Array:
        array, allowed = np.asarray(starts, dtype=float), ((self.model.nq,), (n, self.model.nq))
        if array.shape not in allowed or not np.isfinite(array).all():
            raise InputError(
                f"starts have shape {array.shape}; allowed: finite numbers of shape {allowed[0]} or {allowed[1]}"
            )
        return np.broadcast_to(array, allowed[1])

    def _refuse(self, X_WT: Pose, start: npt.ArrayLike | None) -> None:
        """Raise an InputError where a pose or a start is none."""
        target_rows([X_WT])
        if start is not None:
            self.model.in_joint_order(self.model.joint_names, _row(start), "start")


def _row(values: npt.ArrayLike) -> Array:
    return np.atleast_1d(np.asarray(values, dtype=float))


def target_rows(poses: Sequence[Pose] | Array) -> Array:
    """The numbers of poses, or of matrices (N, 4, 4): R_WT and p_WT of each, shape (N, 12), checked to be poses.

    Raises
    ------
    InputError
        When one has another shape, a number that is not finite, or no rotation.
    """
    n = len(poses)
    try:
        if isinstance(poses, np.ndarray):
            R, p = poses[:, :3, :3].astype(float), poses[:, :3, 3].astype(float)
        else:
            R = np.array([X[0] for X in poses], dtype=float).reshape(n, 3, 3)
            p = np.array([X[1] for X in poses], dtype=float).reshape(n, 3)
    except (TypeError, ValueError, IndexError):
        raise InputError("a target is no pose; allowed: Pose.at(position, quaternion), or an array (N, 4, 4)") from None
    R = np.where(np.isfinite(R), R, 0.0)
    deviation = np.abs(R @ R.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2), initial=0.0)
    is_pose = (deviation < ROTATION_TOLERANCE) & (np.linalg.det(R) > 0.0) & np.isfinite(p).all(axis=1)
    if not is_pose.all():
        i = int(np.argmin(is_pose))
        raise InputError(f"pose {i} has R {R[i].tolist()}, p {p[i].tolist()}; allowed: a rotation and finite numbers")
    return np.hstack([R.reshape(n, 9), p])


def limits(model: RobotModel, q_min: npt.ArrayLike | None, q_max: npt.ArrayLike | None) -> tuple[Array, Array]:
    """Limits of the joint positions (nq,), those of the model where None, after checking them [rad or m]."""
    low, high = (np.array(own if x is None else x, dtype=float)
                 for own, x in ((model.q_min, q_min), (model.q_max, q_max)))  # fmt: skip
    for name, x in (("q_min", low), ("q_max", high)):
        if x.shape != (model.nq,):
            raise InputError(f"{name} has shape {x.shape}; allowed: ({model.nq},)")
    if crossing := [name for name, a, b in zip(model.joint_names, low, high, strict=True) if not a <= b]:
        raise InputError(f"limits of {', '.join(crossing)} cross: q_min {low.tolist()}, q_max {high.tolist()}")
    return low, high


def is_revolute(model: RobotModel) -> Array:
    """Which coordinates turn joints, and turn them once for a turn; shape (nq,)."""
    bodies = model.tree.bodies
    return np.array(
        [
            all(not body.is_prismatic and body.ratio == 1 for body in bodies if body.coordinate == i)
            for i in range(model.nq)
        ]
    )


# -- why a pose is not reached ---------------------------------------------------------------------------


def explain(search: Search, target: Array, q: Array, error: Array) -> str:
    """Why a search did not reach a pose, in a sentence: found out by further searches.

        more starts lead there                               the starts ended in local minima
        it is reached without limits                         joint limits
        it is missed by little, along what no joint moves    a singular posture, such as a stretched arm
        else                                                 out of reach, and how far

    That a pose is out of reach is a finding of a search, not a proof.
    """
    n_starts = max(N_STARTS, 4 * search.n_starts)
    if _search_again(search, n_starts).one_pose(target, q, q).is_done[0]:
        starts = "one start leads" if search.n_starts == 1 else f"{search.n_starts} starts lead"
        return f"{starts} to local minima only; the pose is within reach: allow more starts"
    free = _search_again(search, n_starts, is_limited=False).one_pose(target, q, q)
    if free.is_done[0]:
        return f"out of reach within the joint limits: {_beyond_limits(search, free.q[0])}"
    singular_value = float(np.linalg.svd(search.task_error(q, target).J, compute_uv=False)[-1])
    if np.abs(error).max() < SMALL_ERROR and singular_value < SMALL_SINGULAR_VALUE:
        return (
            f"a singular posture: the pose is missed by {np.linalg.norm(error):.1e}, in a direction in which no joint"
            f" moves the end effector (smallest singular value of the Jacobian {singular_value:.0e})"
        )
    return _out_of_reach(search, target, q, error)


def _search_again(
    search: Search, n_starts: int, rows: tuple[int, ...] | None = None, is_limited: bool = True
) -> Search:
    """The same search with more starts, and perhaps for other rows or without limits."""
    axes = "world" if rows == (0, 1, 2) else search.task.task_frame  # a whole position is one along any axes
    task = search.task if rows is None else replace(search.task, rows=rows, task_frame=axes)
    q_min, q_max = (search.q_min, search.q_max) if is_limited else np.full((2, search.model.nq), [[-np.inf], [np.inf]])
    again = Search(search.model, task, q_min, q_max, search.tolerance, n_starts)
    again.follow_tool()
    return again


def _beyond_limits(search: Search, q: Array) -> str:
    names = search.model.joint_names
    beyond = [
        f"{name} at {x:.3g}, allowed {low:.3g} to {high:.3g}"
        for name, x, low, high in zip(names, q, search.q_min, search.q_max, strict=True)
        if not low - BEYOND <= x <= high + BEYOND
    ]
    return f"it takes {'; '.join(beyond)}" if beyond else "it is reached without them"


def _out_of_reach(search: Search, target: Array, q: Array, error: Array) -> str:
    """How far from the pose the arm stays, and whether the orientation is to blame."""
    rows = search.task.rows
    n_linear = sum(row < 3 for row in rows)
    if n_linear and n_linear < len(rows):
        alone = _search_again(search, search.n_starts, rows[:n_linear]).one_pose(target, q, q)
        if not alone.is_done[0]:
            return f"out of reach: the end effector comes to {np.linalg.norm(alone.error[0]):.3g} m of the position"
        degrees = np.degrees(2.0 * np.arcsin(min(1.0, np.linalg.norm(error[n_linear:]) / 2.0)))
        off = f"the nearest is {np.linalg.norm(error[:n_linear]):.3g} m and {degrees:.3g} degrees off"
        too_many = ""
        if len(rows) > search.model.nq:
            too_many = f"; {search.model.nq} joints serve {served_rows(search.model, search.task.frame)}"
        return f"out of reach with this orientation: {off}{too_many}"
    unit = "m of the position" if n_linear else "rad of the orientation"
    return f"out of reach: the end effector comes to {np.linalg.norm(error):.3g} {unit}"
