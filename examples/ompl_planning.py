"""Planners of OMPL (extra ``ompl``) with the motion checks of this package.

A motion validator asks :class:`~arm_control.collision.validity.Validity` whether a motion is free without a
gap, where that of OMPL looks at places of it at a resolution. RRTConnect, RRT, RRTstar, BITstar, KPIECE1, PRM and
PathSimplifier were tried with it.

Source: I. A. Sucan, M. Moll, L. E. Kavraki, "The Open Motion Planning Library", IEEE Robotics & Automation Magazine
19 (2012).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from arm_control.collision import Validity
from arm_control.exceptions import MissingExtra
from arm_control.maths import Array
from arm_control.planning.joint_space import SearchSpace


def ompl_space(validity: Validity, t: float = 0.0) -> Any:
    """Return the joint space of an arm for planners of OMPL, with its checks of states and motions.

    States are ``RealVectorStateSpace``; joints without limits are searched over a turn. Lengths count all joints alike.

    Parameters
    ----------
    validity : Validity
        Arm and obstacles; what is placed later counts, too.
    t : float
        Time at which the obstacles are where they are [s].

    Returns
    -------
    ompl.base.SpaceInformation
        Set up.

    Raises
    ------
    MissingExtra
        When ompl is not installed.
    """
    try:
        from ompl import base  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtra("ompl", "ompl") from error
    limits = SearchSpace.of(validity)
    n = limits.model.nq

    class StateChecker(base.StateValidityChecker):
        def isValid(self, state: Any) -> bool:
            return bool(validity.free_states(limits.within(np.array([state[0:n]])), t)[0])

    class MotionChecker(base.MotionValidator):
        def checkMotion(self, a: Any, b: Any) -> bool:
            ends = limits.within(np.array([a[0:n], b[0:n]]))
            return bool(validity.free_motions(ends[:1], ends[1:], t)[0])

    space = base.RealVectorStateSpace(n)
    bounds = base.RealVectorBounds(n)
    for joint, (low, high) in enumerate(zip(limits.low.tolist(), limits.high.tolist(), strict=True)):
        bounds.setLow(joint, low)
        bounds.setHigh(joint, high)
    space.setBounds(bounds)
    information = base.SpaceInformation(space)
    information.setStateValidityChecker(StateChecker(information))
    information.setMotionValidator(MotionChecker(information))
    information.setup()
    return information


def ompl_state(space: Any, q: Array) -> Any:
    """Return a state of OMPL.

    Parameters
    ----------
    space : ompl.base.SpaceInformation
        As :func:`ompl_space` returns it.
    q : array_like, shape (n,)
        Joint positions [rad or m].
    """
    state = space.allocState()
    state[0 : len(q)] = np.asarray(q, dtype=float).tolist()
    return state


def path_of(found: Any, n: int) -> Array:
    """Return the states of a path of OMPL, shape (m, n) [rad or m]."""
    return np.array([state[0:n] for state in found.getStates()])
