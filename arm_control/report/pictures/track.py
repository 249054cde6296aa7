"""Actual and desired motion of the end effector in a recording, for the pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.control import pose_errors
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.report.figures import end_effector_motion, goal_pose, linear_angular_norms
from arm_control.simulation import Recording, Stamps

MAX_SAMPLES = 25_000
"""States a picture is drawn from; of a longer recording every second, third ... one is taken."""


@dataclass(frozen=True)
class Track:
    """Motion of the end effector and of its targets, sampled from a recording.

    Attributes
    ----------
    t : ndarray, shape (n,)
        Time since the first state [s].
    q : ndarray, shape (n, nq)
        Joint positions [rad or m].
    p : ndarray, shape (n, 3)
        Position of the end effector in the world [m].
    position_error, orientation_error : ndarray, shape (n,)
        Distance [m] and angle [rad] to the active target; NaN before the first.
    speed, angular_speed : ndarray, shape (n,)
        Magnitudes of the end effector's twist [m/s], [rad/s].
    goals : tuple of Pose
        Targets in the world, by the moment they act from.
    goal_times : ndarray, shape (k,)
        Those moments [s].
    active : ndarray of int, shape (n,)
        Index of the active target; -1 before the first.
    """

    t: Array
    q: Array
    p: Array
    position_error: Array
    orientation_error: Array
    speed: Array
    angular_speed: Array
    goals: tuple[Pose, ...]
    goal_times: Array
    active: npt.NDArray[np.int64]

    def at(self, times: Array) -> npt.NDArray[np.int64]:
        """Index of the last sample that is not after each time [s]."""
        return np.clip(np.searchsorted(self.t, times + 1e-9, side="right") - 1, 0, len(self.t) - 1)

    def starts(self) -> Array:
        """Where the end effector was when each target became active, shape (k, 3) [m]."""
        return self.p[self.at(self.goal_times)]


def make_track(recording: Recording, model: RobotModel) -> Track:
    """Compute the motion a recording holds.

    Parameters
    ----------
    recording : Recording
        What went over the topics.
    model : RobotModel
        The arm, with the tip the controller had.

    Raises
    ------
    InputError
        When the recording has no state.
    """
    if not recording.state_stamps.size:
        raise InputError("a recording without a state cannot be drawn")
    stride = -(-recording.state_stamps.size // MAX_SAMPLES)
    stamps = recording.state_stamps[::stride]
    q = recording.q[::stride]
    poses, twists = end_effector_motion(q, recording.v[::stride], model)
    goals, goal_stamps = _goals(recording, model)
    active = np.searchsorted(goal_stamps, stamps, side="right") - 1
    errors, due = np.full((len(poses), 6), np.nan), np.flatnonzero(active >= 0)
    errors[due] = pose_errors([poses[k] for k in due], [goals[active[k]] for k in due])
    position_error, orientation_error = linear_angular_norms(errors)
    speed, angular_speed = linear_angular_norms(twists)
    goal_times = np.maximum((goal_stamps - stamps[0]) * 1e-9, 0.0)
    p = np.array([X.p for X in poses])
    t = (stamps - stamps[0]) * 1e-9
    return Track(t, q, p, position_error, orientation_error, speed, angular_speed, goals, goal_times, active)


def _goals(recording: Recording, model: RobotModel) -> tuple[tuple[Pose, ...], Stamps]:
    """Targets that became active, in the world, and their stamps [ns]."""
    last = recording.state_stamps[-1]
    targets = [target for target in recording.targets if target.stamp_ns <= last]
    stamps = np.array([target.stamp_ns for target in targets], dtype=np.int64)
    return tuple(goal_pose(target, recording, model) for target in targets), stamps
