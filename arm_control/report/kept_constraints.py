"""Which constraints a posture keeps, and which targets of a list they forbid; without obstacles, which nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.constraints import OUTSIDE, Constraint, ConstraintSet, Violation
from arm_control.gate import GateParameters, JointLimits
from arm_control.kinematics import InverseKinematics
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel

TOO_FAST = 1e-3
"""Excess over a limit of speed that counts in a motion [m/s]."""


class CheckedTarget(NamedTuple):
    """A target of the hand.

    Attributes
    ----------
    X : Pose
        Where it is in the world.
    why : str
        Why no posture is at it; empty where one is.
    broken : tuple of Violation
        Constraints that forbid it, in the posture that keeps most; empty where one keeps all.
    """

    X: Pose
    why: str
    broken: tuple[Violation, ...]


class KeptConstraints:
    """The constraints of an arm at rest, in any posture.

    Raises
    ------
    ArmControlError
        When the arm cannot have these constraints.
    """

    def __init__(self, model: RobotModel, constraints: Sequence[Constraint]) -> None:
        p, self._model = GateParameters(), model
        limits = JointLimits(model, p, p.rate_limit)
        self._rows = ConstraintSet(model, constraints, limits.numbers, limits.is_unlimited)
        self._ik = InverseKinematics(model)

    def at(self, q: Array, v: Array | None = None) -> dict[str, Violation]:
        """Return where each constraint holds least, by name, in joint positions of shape (nq,), at rest or in motion.

        A clearance without near links is left out.
        """
        terms = self._model.evaluate(q, np.zeros(self._model.nv) if v is None else v)
        self._rows.limit(terms, terms.g, terms.g, 0.0)
        return self._rows.least

    def broken(self, q: Array) -> tuple[Violation, ...]:
        """Return the constraints with which a gate would not let the arm start in a posture."""
        return tuple(x for x in self.at(q).values() if is_broken(x))

    def along(self, times: Array, q: Array, v: Array) -> tuple[str, ...]:
        """Return a sentence for each constraint that a motion breaks: by how much at most, and when.

        Parameters
        ----------
        times : ndarray, shape (k,)
            [s].
        q, v : ndarray, shape (k, n)
            Joint positions and velocities [rad or m, rad/s or m/s].
        """
        worst: dict[str, tuple[float, Violation]] = {}
        for t, *state in zip(times.tolist(), q, v, strict=True):
            for name, x in self.at(*state).items():
                if x.h < -OUTSIDE.get(x.unit, TOO_FAST) and (name not in worst or x.h < worst[name][1].h):
                    worst[name] = t, x
        return tuple(f"{x}, most at {t:.3f} s" for t, x in worst.values())

    def check(self, X_WT: Pose, start: Array) -> CheckedTarget:
        """Check a target: the posture nearest to the start, and all others of an arm with as many joints as rows."""
        nearest = self._ik.solve(X_WT, start)
        if not nearest.converged:
            return CheckedTarget(X_WT, nearest.why, ())
        broken = self.broken(nearest.q)
        if broken and len(self._ik.rows.numbers) == self._model.nq:
            broken = min([broken, *(self.broken(q) for _, q in self._ik.all(X_WT, start))], key=len)
        return CheckedTarget(X_WT, "", broken)


def is_broken(x: Violation) -> bool:
    """Whether a gate would not let an arm start so."""
    return x.h < -OUTSIDE.get(x.unit, np.inf)
