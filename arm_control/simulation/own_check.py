"""The arm that checks plans: in Pinocchio and coal where they are installed, else the model that made them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Protocol

from arm_control.collision import Placed, Validity
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.simulation.scene import FAR

LOG = logging.getLogger("arm_control.plans")
OWN = "Pinocchio and coal are not installed (pip install pin): plans are checked by the model that made them"


class CheckingArm(Protocol):
    """An arm and obstacles that move as told."""

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """Torque of positions, velocities and accelerations of the joints, shape (n,) each [N m or N]."""

    def pose(self, q: Array) -> Pose:
        """Pose of the end effector at joint positions, shape (n,) [rad or m]."""

    def distances(self, q: Array, t: float) -> tuple[float, float]:
        """Smallest distance from obstacles, and of links that must not touch [m]; negative within each other.

        Parameters
        ----------
        q : ndarray, shape (n,)
            Joint positions [rad or m].
        t : float
            Time [s].
        """


def checking_arm(
    model: RobotModel, obstacles: Sequence[Placed], link_pairs: Sequence[tuple[str, str]] = ()
) -> CheckingArm:
    """Return an arm for checks; one that does not check independently says so in the log.

    Parameters
    ----------
    link_pairs : sequence of tuple of str
        Names of links that must not touch each other.
    """
    if find_spec("pinocchio") is None or find_spec("coal") is None:
        LOG.warning(OWN)
        return OwnArm(model, obstacles)
    from arm_control.simulation.independent_arm import IndependentArm  # noqa: PLC0415  only with Pinocchio

    return IndependentArm(model, obstacles, link_pairs)


class OwnArm:
    """The model itself, with the capsules around its shapes."""

    def __init__(self, model: RobotModel, obstacles: Sequence[Placed]) -> None:
        self._model, self._validity = model, Validity(model)
        self._validity.place(obstacles)

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """See :class:`CheckingArm`."""
        return self._model.inverse_dynamics(q, v, a)

    def pose(self, q: Array) -> Pose:
        """See :class:`CheckingArm`."""
        return self._model.pose(q)

    def distances(self, q: Array, t: float) -> tuple[float, float]:
        """See :class:`CheckingArm`."""
        pairs = self._validity.pairs(q, t, FAR)
        smallest = [min((p.distance for p in pairs if p.is_self == is_self), default=FAR) for is_self in (False, True)]
        return smallest[0], smallest[1]
