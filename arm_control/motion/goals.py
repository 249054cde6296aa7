"""Goals: what a controller is asked to reach or to follow from a moment on."""

from __future__ import annotations

from typing import NamedTuple

from arm_control.maths.poses import Array
from arm_control.motion.pose_follower import PoseMotion
from arm_control.motion.references import Target
from arm_control.motion.waypoints import Waypoints


class JointGoal(NamedTuple):
    """A goal of the joints.

    Attributes
    ----------
    stamp_ns : int
        The goal acts from this stamp on [ns].
    destination : Waypoints or ndarray, shape (nv,)
        Points to pass, or joint positions to go to [rad or m].
    """

    stamp_ns: int
    destination: Waypoints | Array


Goal = Target | PoseMotion | JointGoal
