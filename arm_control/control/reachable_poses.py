"""Whether an arm can reach a pose: inverse kinematics within the joints' limits; and its progress on the way.

Inverse kinematics (:mod:`arm_control.kinematics`) begins at the present posture and at others; the nearest result
counts. That a pose is out of reach is therefore a finding of a search, not a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arm_control.control.osc.osc_controller import movable_rows
from arm_control.control.osc.task import pose_error
from arm_control.kinematics import TWIST_ROWS, InverseKinematics
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel

LENGTH = 0.3
"""Length that compares metres with radians [m]."""
N_STARTS = 12
"""Starts of a search."""
POSITION_TOLERANCE, ORIENTATION_TOLERANCE = 1e-3, np.radians(0.2)
"""Errors of a pose that counts as reached [m], [rad]."""
AT_LIMIT = 1e-3
"""Distance from a limit at which a joint is at it [rad or m]."""
ON_THE_WAY, REACHED, STOPPED = "on the way", "reached", "stopped"
STALL_TIME = 1.5
"""Time without progress after which an arm has stopped [s]."""
PROGRESS = 0.98
"""Share of its least error below which an arm makes progress."""
NEAR = 0.08
"""Distance of an obstacle that may hold an arm [m]."""


@dataclass(frozen=True)
class Reachability:
    """The nearest that an arm comes to a pose.

    Attributes
    ----------
    position_error, orientation_error : float
        What is left of the way [m], [rad].
    joints_at_limit : tuple of str
        Joints at a limit of position in that posture.
    is_position_reached : bool
        Whether the position alone can be reached, with another orientation.
    """

    q: Array
    position_error: float
    orientation_error: float
    joints_at_limit: tuple[str, ...]
    is_position_reached: bool

    @property
    def is_reached(self) -> bool:
        """Whether the pose is reached within the tolerances."""
        return self.position_error <= POSITION_TOLERANCE and self.orientation_error <= ORIENTATION_TOLERANCE

    def __str__(self) -> str:
        if self.is_reached:
            return "within reach"
        degrees = np.degrees(self.orientation_error)
        left = f"the hand comes to {1e3 * self.position_error:.0f} mm and {degrees:.0f} degrees of it"
        at_limit = f", with {', '.join(self.joints_at_limit)} at the limit" if self.joints_at_limit else ""
        if self.is_position_reached:
            return f"out of reach with this orientation: {left}{at_limit}"
        return f"out of reach: {left}{at_limit}"


def reachability(model: RobotModel, X_WT: Pose, q: Array) -> Reachability:
    """Return the nearest that an arm comes to a pose.

    Parameters
    ----------
    X_WT : Pose
        The pose, in the world; counted are the rows of the twist that the arm can move.
    """
    tasks = movable_rows(model)
    rows = sorted(row for task in tasks for row in task)
    best = _nearest(model, X_WT, q, rows)
    error = pose_error(model.pose(best), X_WT, rows)
    position_error, orientation_error = float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
    margin = np.minimum(best - model.q_min, model.q_max - best)
    at_limit = tuple(name for name, x in zip(model.joint_names, margin.tolist(), strict=True) if x < AT_LIMIT)
    linear = [row for row in rows if row < 3]
    is_position_reached = position_error <= POSITION_TOLERANCE
    if not is_position_reached and orientation_error > ORIENTATION_TOLERANCE:
        alone = model.pose(_nearest(model, X_WT, q, linear))
        is_position_reached = float(np.linalg.norm(pose_error(alone, X_WT, linear))) <= POSITION_TOLERANCE
    return Reachability(best, position_error, orientation_error, at_limit, is_position_reached)


def _nearest(model: RobotModel, X_WT: Pose, q: Array, rows: list[int]) -> Array:
    """The posture with the least error in some rows, shape (nq,) [rad or m]."""
    names = " ".join(TWIST_ROWS[row] for row in rows)
    return InverseKinematics(model, names, tolerance=POSITION_TOLERANCE / 10, n_starts=N_STARTS).solve(X_WT, q).q


# -- the way to a target ---------------------------------------------------------------------------------


class Approach:
    """The way of an arm to a target: whether it is on the way, there, or has stopped before.

    Attributes
    ----------
    state : str
        :data:`ON_THE_WAY`, :data:`REACHED` or :data:`STOPPED`.
    position_error, orientation_error : float
        What is left in the newest state [m], [rad], in the rows that the arm can move.
    """

    def __init__(self, model: RobotModel, X_WT: Pose) -> None:
        self.X_WT = X_WT
        self.state = ON_THE_WAY
        self.position_error = self.orientation_error = np.inf
        self._model = model
        self._rows = sorted(row for task in movable_rows(model) for row in task)
        self._least = np.inf
        self._progress_ns = 0
        self._reason = ""

    def update(self, stamp_ns: int, q: Array) -> None:
        """Take a state."""
        error = pose_error(self._model.pose(q), self.X_WT, self._rows)
        self.position_error, self.orientation_error = (float(np.linalg.norm(part)) for part in (error[:3], error[3:]))
        left = self.position_error + LENGTH * self.orientation_error
        if left < PROGRESS * self._least or stamp_ns < self._progress_ns:
            self._least, self._progress_ns = left, stamp_ns
        is_there = self.position_error <= POSITION_TOLERANCE and self.orientation_error <= ORIENTATION_TOLERANCE
        is_late = stamp_ns - self._progress_ns > STALL_TIME * 1e9
        self.state = REACHED if is_there else STOPPED if is_late else ON_THE_WAY

    def reason(self, q: Array, nearest_distance: float = np.inf) -> str:
        """Return why the arm has stopped; computed once."""
        self._reason = self._reason or self._find_reason(q, nearest_distance)
        return self._reason

    def _find_reason(self, q: Array, nearest_distance: float) -> str:
        found = reachability(self._model, self.X_WT, q)
        if not found.is_reached:
            return str(found)
        if nearest_distance < NEAR:
            return f"within reach, but an obstacle, or the arm itself, is {1e3 * nearest_distance:.0f} mm away"
        return "within reach, but held: by friction or a payload, at a joint's limit, or by a brake"

    def __str__(self) -> str:
        left = f"{1e3 * self.position_error:.2f} mm and {np.degrees(self.orientation_error):.2f} degrees left"
        return f"{self.state}, {left}"
