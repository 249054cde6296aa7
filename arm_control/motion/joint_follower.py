"""Following joint trajectories: start, preempt, watch how closely, hold at the end.

The :class:`Follower` is asked once per state for the desired motion. It goes on from what it asked for before,
never from what was measured, so nothing jumps when a trajectory takes over from another one. There is one
exception: when the arm cannot follow, it lets go and holds the arm where it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arm_control.core.parameters import Parameters, parameter
from arm_control.maths.poses import Array, wrap_angle
from arm_control.model import RobotModel
from arm_control.motion.joint_trajectory import JointTrajectory, rest_to_rest, whole_turns
from arm_control.motion.references import JointReference
from arm_control.motion.waypoints import Waypoints, refuse_beyond

HOLDING, FOLLOWING, REACHED = "holding", "following", "reached"
OFF_PATH, MISSED = "off the path", "goal missed"


@dataclass(frozen=True)
class FollowingParameters(Parameters):
    """Tolerances of following, and the pace of targets without a time of their own."""

    path_tolerance: float = parameter(
        0.0, "error of a joint at which a trajectory is given up; 0: none", unit="rad or m", lower=0.0, live=True
    )
    goal_tolerance: float = parameter(
        0.01, "error of every joint that counts as reached", unit="rad or m", lower=1e-9, live=True
    )
    goal_time: float = parameter(
        0.0, "time after the end in which the goal must be reached; 0: any", unit="s", lower=0.0, live=True
    )
    start_tolerance: float = parameter(
        0.01, "how far a point at time 0 may be from where a joint should be now", unit="rad or m", lower=0.0, live=True
    )
    target_speed: float = parameter(
        0.25, "share of the speed limits that a target without a time is gone to with", lower=0.01, upper=1.0, live=True
    )
    target_acceleration: float = parameter(
        2.0, "acceleration that a target without a time is gone to with", unit="rad/s^2", lower=1e-3, live=True
    )


@dataclass(frozen=True)
class Outcome:
    """How it goes, or went.

    Attributes
    ----------
    state : str
        ``holding``, ``following``, ``reached``, ``off the path`` or ``goal missed``.
    joint : str
        The joint with the largest error.
    error : float
        Its error [rad or m].
    """

    state: str
    joint: str
    error: float

    @property
    def failed(self) -> bool:
        """Whether the arm could not follow."""
        return self.state in (OFF_PATH, MISSED)

    def __str__(self) -> str:
        return f"{self.state}: {self.joint} is {self.error:.4f} away" if self.failed else self.state


class Follower:
    """Where the joints should be, state by state.

    Parameters
    ----------
    model : RobotModel
        The arm: joint names and limits.
    parameters : FollowingParameters
        Tolerances; may be replaced at any time.
    q : array_like, shape (nq,)
        Where to hold until the first trajectory starts [rad or m].

    Attributes
    ----------
    outcome : Outcome
        Of the newest trajectory.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> follower = Follower(RobotModel.from_urdf(urdf_path("ur5")), FollowingParameters(), np.zeros(6))
    >>> follower.go_to(np.full(6, 0.2), 0)
    >>> follower.tick(5_000_000_000, np.full(6, 0.2)).q_des, follower.outcome.state
    (array([0.2, 0.2, 0.2, 0.2, 0.2, 0.2]), 'reached')
    """

    def __init__(self, model: RobotModel, parameters: FollowingParameters, q: npt.ArrayLike) -> None:
        self.parameters = parameters
        self._model = model
        self._continuous = np.isinf(model.q_max)
        self._trajectory: JointTrajectory | None = None
        self._start_ns = 0
        self._held = JointReference.at_rest(np.array(q, dtype=float))
        self.outcome = Outcome(HOLDING, "", 0.0)

    def follow(self, points: Waypoints, now_ns: int) -> None:
        """Go through these points from now [ns] on; whatever was going on ends here.

        Raises
        ------
        InputError
            When a point at time 0 is not where the joints should be now, or the way to the points leaves the
            joints' limits. Then everything goes on as before.
        """
        start = self.desired(now_ns)
        tolerance = self.parameters.start_tolerance
        self._take(
            JointTrajectory.through(start, points, continuous=self._continuous, start_tolerance=tolerance),
            start,
            now_ns,
        )

    def go_to(self, q_goal: Array, now_ns: int) -> None:
        """Go to these positions, shape (nv,) [rad or m], from now [ns] on, at the pace of the parameters.

        Raises
        ------
        InputError
            As :meth:`follow`.
        """
        start, p = self.desired(now_ns), self.parameters
        q_goal = q_goal - whole_turns(q_goal - start.q_des, self._continuous)
        a_max = np.full_like(q_goal, p.target_acceleration)
        self._take(rest_to_rest(start, q_goal, p.target_speed * self._model.v_max, a_max), start, now_ns)

    def desired(self, now_ns: int) -> JointReference:
        """Where the joints should be at a moment [ns], and how they should move."""
        if self._trajectory is None:
            return self._held
        return self._trajectory.sample((now_ns - self._start_ns) * 1e-9)

    def tick(self, now_ns: int, q: Array) -> JointReference:
        """Desired motion for a measured state; judges how it goes.

        Parameters
        ----------
        now_ns : int
            Stamp of the state [ns].
        q : ndarray, shape (nq,)
            Measured positions [rad or m].

        Returns
        -------
        JointReference
        """
        reference = self.desired(now_ns)
        if self._trajectory is None:
            return reference
        late = (now_ns - self._start_ns) * 1e-9 - self._trajectory.duration
        self.outcome = self._judge(late, reference.q_des - q)
        if self.outcome.failed:
            self._trajectory, self._held = None, JointReference.at_rest(q)
            return self._held
        return reference

    def _take(self, trajectory: JointTrajectory, start: JointReference, now_ns: int) -> None:
        times, q, v, _ = trajectory.samples()
        refuse_beyond(self._model, q, v, times, start)
        self._trajectory, self._start_ns = trajectory, now_ns
        self.outcome = Outcome(FOLLOWING, "", 0.0)

    def _judge(self, late: float, e: Array) -> Outcome:
        """The outcome ``late`` seconds after the end; ``reached`` stays, whatever pushes the arm later."""
        e = np.abs(np.where(self._continuous, wrap_angle(e), e))
        worst = int(e.argmax())
        p, state = self.parameters, FOLLOWING
        if late < 0.0:
            state = OFF_PATH if 0.0 < p.path_tolerance < e[worst] else FOLLOWING
        elif self.outcome.state == REACHED or e[worst] <= p.goal_tolerance:
            state = REACHED
        elif 0.0 < p.goal_time < late:
            state = MISSED
        return Outcome(state, self._model.joint_names[worst], float(e[worst]))
