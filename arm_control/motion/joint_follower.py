"""Following of joint trajectories, poses and jogged velocities: start, preemption, tolerances, hold at the end.

The :class:`JointFollower` gives the reference of each state. A new trajectory begins at the present reference, not at
the measured position, so the reference never jumps. One exception: when the arm cannot follow, the follower gives the
trajectory up and holds the measured position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arm_control.core import Parameters, parameter
from arm_control.exceptions import InputError
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Pose, rotation_vector, wrap_angle
from arm_control.model import RobotModel
from arm_control.motion.goals import JointJog, JointTolerances, Target
from arm_control.motion.jogging import JogLimits, JointJogging
from arm_control.motion.joint_trajectory import JointTrajectory, Waypoints, check_limits, rest_to_rest, whole_turns
from arm_control.motion.references import FARTHEST, JointReference

HOLDING, FOLLOWING, REACHED, JOGGING = "holding", "following", "reached", "jogging"
OFF_PATH, MISSED = "off the path", "goal missed"


@dataclass(frozen=True)
class FollowingParameters(Parameters):
    """Tolerances of trajectories, and speed and acceleration for goals without a time."""

    path_tolerance: float = parameter(
        0.0, "joint error at which a trajectory is aborted; 0: no limit", unit="rad or m", lower=0.0, live=True
    )
    goal_tolerance: float = parameter(
        0.01, "largest joint error that counts as reached", unit="rad or m", lower=1e-9, live=True
    )
    goal_time: float = parameter(
        0.0, "time after the end within which the goal must be reached; 0: no limit", unit="s", lower=0.0, live=True
    )
    start_tolerance: float = parameter(
        0.01,
        "largest distance of a point at time 0 from a joint's desired position",
        unit="rad or m",
        lower=0.0,
        live=True,
    )
    target_speed: float = parameter(
        0.25, "speed of goals without a time, as a share of the speed limits", lower=0.01, upper=1.0, live=True
    )
    target_acceleration: float = parameter(
        2.0, "acceleration of goals without a time, and of jogging", unit="rad/s^2", lower=1e-3, live=True
    )
    velocity_timeout: float = parameter(
        0.1, "a target_velocity that is older, by the states' stamps, has ended", unit="s", lower=0.01, live=True
    )


@dataclass(frozen=True)
class Outcome:
    """State or result of a trajectory.

    Attributes
    ----------
    state : str
        ``holding``, ``following``, ``reached``, ``jogging``, ``off the path`` or ``goal missed``.
    error : float
        Largest error [rad or m].
    """

    state: str
    joint: str
    error: float

    @property
    def failed(self) -> bool:
        """Whether a tolerance was exceeded."""
        return self.state in (OFF_PATH, MISSED)

    def __str__(self) -> str:
        return f"{self.state}: {self.joint} has an error of {self.error:.3g}" if self.failed else self.state


class JointFollower:
    """Reference of the joints, state by state.

    Parameters
    ----------
    parameters : FollowingParameters
        Tolerances; may be replaced at any time.
    q : array_like, shape (nq,)
        Position to hold until the first trajectory starts [rad or m].
    """

    def __init__(self, model: RobotModel, parameters: FollowingParameters, q: npt.ArrayLike) -> None:
        self.parameters = parameters
        self._model = model
        self._continuous = np.isinf(model.q_max)
        self._trajectory: JointTrajectory | None = None
        self._start_ns = 0
        self._none = JointTolerances(np.zeros(model.nv), np.zeros(model.nv), 0.0)
        self._tolerances = self._none
        self._jogging: JointJogging | None = None
        self._jog: JointJog | None = None
        self._held = JointReference.at_rest(np.array(q, dtype=float))
        self.outcome = Outcome(HOLDING, "", 0.0)

    def follow(self, points: Waypoints, now_ns: int, tolerances: JointTolerances | None = None) -> None:
        """Follow points whose time 0 is now; this ends the trajectory before.

        Raises
        ------
        InputError
            When a point at time 0 is too far from the present reference, or the trajectory exceeds the joints'
            limits. The trajectory before then goes on.
        """
        start = self.desired(now_ns)
        tolerance = self.parameters.start_tolerance
        trajectory = JointTrajectory.through(start, points, continuous=self._continuous, start_tolerance=tolerance)
        self._start(trajectory, start, now_ns)
        self._tolerances = self._none if tolerances is None else tolerances

    def go_to(self, q_goal: Array, now_ns: int) -> None:
        """Move to a position [rad or m] with the speed and acceleration of the parameters; errors as :meth:`follow`."""
        p = self.parameters
        start = self.desired(now_ns)
        q_goal = q_goal - whole_turns(q_goal - start.q_des, self._continuous)
        a_max = np.full_like(q_goal, p.target_acceleration)
        self._start(rest_to_rest(start, q_goal, p.target_speed * self._model.v_max, a_max), start, now_ns)

    def jog(self, jog: JointJog, now_ns: int) -> None:
        """Follow velocities from the present state on; this ends a trajectory."""
        self._jog = jog
        if self._jogging is None:
            self._jogging = JointJogging(self.desired(now_ns), now_ns, self._model.q_min, self._model.q_max)

    def desired(self, now_ns: int) -> JointReference:
        """Return the reference at a time [ns]; of joints that are jogged, the present one."""
        if self._jogging is not None:
            return self._jogging.reference
        if self._trajectory is None:
            return self._held
        return self._trajectory.sample((now_ns - self._start_ns) * 1e-9)

    def tick(self, now_ns: int, q: Array) -> JointReference:
        """Return the reference for a measured state, and update the outcome."""
        if self._jogging is not None and self._jog is not None:
            return self._jogged(self._jogging, self._jog, now_ns, q)
        reference = self.desired(now_ns)
        if self._trajectory is None:
            return reference
        time_after_end = (now_ns - self._start_ns) * 1e-9 - self._trajectory.duration
        self.outcome = self._judge(time_after_end, reference.q_des - q)
        if self.outcome.failed:
            self._trajectory = None
            self._held = JointReference.at_rest(q)
            return self._held
        return reference

    def _jogged(self, jogging: JointJogging, jog: JointJog, now_ns: int, q: Array) -> JointReference:
        p = self.parameters
        acceleration = np.full_like(q, p.target_acceleration)
        reference = jogging.tick(jog, now_ns, JogLimits(self._model.v_max, acceleration, p.velocity_timeout), q)
        self.outcome = Outcome(JOGGING if reference.v_des.any() else HOLDING, "", 0.0)
        return reference

    def _start(self, trajectory: JointTrajectory, start: JointReference, now_ns: int) -> None:
        times, q, v, _ = trajectory.samples()
        check_limits(self._model, q, v, times, start)
        self._jogging = None
        self._tolerances = self._none
        self._trajectory = trajectory
        self._start_ns = now_ns
        self.outcome = Outcome(FOLLOWING, "", 0.0)

    def _judge(self, time_after_end: float, e: Array) -> Outcome:
        """Return the outcome for joint errors, shape (nv,); ``reached`` stays, even if the arm is pushed later."""
        e = np.abs(np.where(self._continuous, wrap_angle(e), e))
        p, own = self.parameters, self._tolerances
        path, goal = _resolved(own.path, p.path_tolerance), _resolved(own.goal, p.goal_tolerance)
        goal_time = own.goal_time or p.goal_time
        worst = int((e - (path if time_after_end < 0.0 else goal)).argmax())
        state = FOLLOWING
        if time_after_end < 0.0:
            state = OFF_PATH if (e > path).any() else FOLLOWING
        elif self.outcome.state == REACHED or (e <= goal).all():
            state = REACHED
        elif 0.0 < goal_time < time_after_end:
            state = MISSED
        return Outcome(state, self._model.joint_names[worst], float(e[worst]))


def _resolved(own: Array, default: float) -> Array:
    """Tolerance of each joint: its own, the default where that is 0, no limit where it is negative or both are 0."""
    tolerance = np.where(own == 0.0, default, own)
    return np.where(tolerance > 0.0, tolerance, FARTHEST)


class JointsOfPose:
    """Inverse kinematics of the targets of an arm, compiled when it is first needed."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model

    def prepare(self) -> None:
        """Compile it, which takes longer than a tick."""
        model = self._model
        self._inverse_kinematics.solve(model.pose(np.clip(np.zeros(model.nq), model.q_min, model.q_max)))

    def solve(self, target: Target, q: Array, near: Array) -> Array:
        """Return joint positions at which the end effector is at a target, shape (nq,) [rad or m].

        The measured positions q are those of the target's frame; the result is near to other ones.

        An InputError when no joint positions within the limits are found.
        """
        X_WT = self._model.pose(q, target.frame) @ target.X_FT
        result = self._inverse_kinematics.solve(X_WT, near)
        if not result.converged:
            X_WE = self._model.pose(result.q)
            raise InputError(
                f"pose at {X_WT.p.round(3).tolist()} m: no joint positions within the limits; the nearest found are"
                f" {1e3 * np.linalg.norm(X_WT.p - X_WE.p):.0f} mm and {_degrees_between(X_WE, X_WT):.0f} degrees away"
            )
        return result.q

    @cached_property
    def _inverse_kinematics(self) -> InverseKinematics:
        return InverseKinematics(self._model)


def _degrees_between(X_WA: Pose, X_WB: Pose) -> float:
    """Angle between two orientations [deg]."""
    return float(np.degrees(np.linalg.norm(rotation_vector(X_WA.R.T @ X_WB.R))))
