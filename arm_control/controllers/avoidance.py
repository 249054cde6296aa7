"""Obstacle avoidance with the whole arm: every link is pushed away from what is near it.

For each link and obstacle (and each two links) let rho be the distance between their surfaces, n the unit
vector from the obstacle to the nearest point of the link, J_n = n^T J_p the Jacobian of that point along n, and
``rho_dot = J_n v - n^T V_O`` how fast the distance grows. With the threshold rho0,

    (1)  m = 1 / (J_n M^-1 J_n^T + 1/m_max)                       mass felt along n, bounded
    (2)  f = eta (1/rho - 1/rho0) / rho^2                         acceleration away, with rho >= rho_min
    (3)  d = k (1 - rho/rho0) max(0, -rho_dot)                    damping, of an approach only
    (4)  tau_avoid = nu sum J_n^T m (f + d)                       over links and obstacles

and nothing beyond rho0; nu shortens the whole torque, so that no joint needs more than its effort limit and the
direction stays. Sums over the near pairs have no order. The torque is added to that of the task as it
is, not filtered by a null space: what is near may pre-empt the task. Where it is nearer still, the task goes:
with the share s, which falls from 1 to 0 between twice the takeover distance and the takeover distance,

    (5)  tau = s tau_task + (1 - s) (h - P d0 M v) + tau_avoid

so that below the takeover distance only avoidance, compensation of gravity (and Coriolis terms) and damping
remain. P takes out of the damping what would slow an escape,

    (6)  P = 1 - J_e^T (J_e M^-1 J_e^T)^+ J_e M^-1               J_e: rows J_n of the pairs with rho_dot > 0

The unit of (2) is an acceleration: a lone pair accelerates by f + d away, whatever the arm's posture, where
the arm can move along n with less than m_max. Where it cannot (a link that only turns on the spot), (1) lets
the push fade, ``|J_n^T m| <= sqrt(m_max lambda_max(M)) / 2`` bounds it, and (5) does not take over for it.
Inside an obstacle rho_min holds, so that nothing explodes, and n points out of it.

Sources: O. Khatib, "Real-time obstacle avoidance for manipulators and mobile robots", 1986, for the potential
of (2), without its n-ellipsoids, which cut corners; the gradient is the unit vector, the link has a radius, and
the takeover acts on the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arm_control.controllers.proximity import Obstacle, Pairs, Proximity
from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel, Terms
from arm_control.parameters import Parameters, parameter
from arm_control.spatial import Array


@dataclass(frozen=True)
class AvoidanceParameters(Parameters):
    """Reach and strength of obstacle avoidance."""

    eta: float = parameter(5e-4, "strength of the push", unit="m^4/s^2", lower=0.0, live=True)
    threshold: float = parameter(0.1, "distance from an obstacle at which it begins", unit="m", lower=1e-3, live=True)
    self_threshold: float = parameter(
        0.03, "the same between two links of the arm; 0: they do not avoid each other", unit="m", lower=0.0, live=True
    )
    smallest_distance: float = parameter(
        0.015, "the push grows no more below this distance", unit="m", lower=1e-4, live=True
    )
    takeover_distance: float = parameter(
        0.01,
        "below it avoidance acts alone; the task fades from twice this distance on",
        unit="m",
        lower=0.0,
        live=True,
    )
    approach_damping: float = parameter(
        30.0, "damping of the approach to an obstacle", unit="1/s", lower=0.0, upper=200.0, live=True
    )
    takeover_damping: float = parameter(
        10.0,
        "damping of all joints where avoidance acts alone, times M(q)",
        unit="1/s",
        lower=0.0,
        upper=200.0,
        live=True,
    )
    mass_limit: float = parameter(
        100.0, "mass above which an arm counts as unable to move a point away", unit="kg", lower=0.1, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest_distance >= self.threshold or 2.0 * self.takeover_distance >= self.threshold:
            raise ParameterError(
                f"threshold = {self.threshold} must be larger than smallest_distance = {self.smallest_distance}"
                f" and than twice takeover_distance = {self.takeover_distance}"
            )


@dataclass(frozen=True)
class AvoidanceOutput:
    """What one tick gives.

    Attributes
    ----------
    tau : ndarray, shape (nv,)
        ``tau_avoid`` of equation (4) [N m or N].
    alone : ndarray, shape (nv,)
        What takes the place of the task's torque in (5) [N m or N].
    task_share : float
        s of equation (5).
    distance : float
        Distance of the nearest pair [m]; infinite when nothing is near.
    takeover : bool
        Whether the task has no share any more.
    pairs : Pairs
        The near pairs.
    """

    tau: Array
    alone: Array
    task_share: float
    distance: float
    takeover: bool
    pairs: Pairs

    def combined(self, tau_task: Array) -> Array:
        """Torque for the gate, equation (5), shape (nv,) [N m or N].

        Parameters
        ----------
        tau_task : ndarray, shape (nv,)
            Torque of any controller, gravity compensation included [N m or N].
        """
        return self.task_share * tau_task + (1.0 - self.task_share) * self.alone + self.tau


class Avoidance:
    """The law of this module for one arm. Nothing in it changes from tick to tick.

    Parameters
    ----------
    model : RobotModel
        The arm; its links are the capsules around the collision shapes of its URDF.
    parameters : AvoidanceParameters
        Reach and strength.

    Attributes
    ----------
    proximity : Proximity
        What finds the near pairs; its ``notes`` tell of shapes that could not be read.

    Examples
    --------
    >>> from arm_control import Pose, urdf_path
    >>> from arm_control.geometry import Sphere
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> terms = model.evaluate([0.0, -1.6, 1.8, -1.8, -1.57, 0.0], np.zeros(6))
    >>> ball = Obstacle(Sphere(0.05), Pose(np.eye(3), terms.X_WE.p + [0.15, 0.0, 0.0]))
    >>> output = Avoidance(model, AvoidanceParameters()).tick(terms, [ball])
    >>> bool((terms.J @ np.linalg.solve(terms.M, output.tau))[0] < 0.0), output.takeover
    (True, False)
    """

    def __init__(self, model: RobotModel, parameters: AvoidanceParameters) -> None:
        self.parameters = parameters
        self.proximity = Proximity(model)
        self._tau_max = model.tau_max

    def tick(self, t: Terms, obstacles: Sequence[Obstacle]) -> AvoidanceOutput:
        """Avoidance in one state, equations (1) to (6).

        Parameters
        ----------
        t : Terms
            The arm in the measured state.
        obstacles : sequence of Obstacle
            What is around now.

        Returns
        -------
        AvoidanceOutput
        """
        p = self.parameters
        pairs = self.proximity.near(t.q, obstacles, p.threshold, p.self_threshold)
        rho0 = np.where(pairs.is_self, p.self_threshold, p.threshold)
        rho = np.maximum(pairs.rho, np.minimum(p.smallest_distance, rho0))
        rho_dot = pairs.J_n @ t.v - pairs.v_n
        M_inv = np.linalg.inv(t.M)
        mobility = np.einsum("ni,ij,nj->n", pairs.J_n, M_inv, pairs.J_n)
        m = 1.0 / (mobility + 1.0 / p.mass_limit)  # (1)
        f = p.eta * (1.0 / rho - 1.0 / rho0) / rho**2  # (2)
        d = p.approach_damping * (1.0 - rho / rho0) * np.maximum(0.0, -rho_dot)  # (3)
        tau = pairs.J_n.T @ (m * (f + d))
        tau /= max(1.0, float(np.abs(tau / self._tau_max).max()))  # (4)
        share = self._task_share(pairs, mobility)
        alone = t.h - damping_but_of_an_escape(pairs.J_n[rho_dot > 0.0], M_inv, p.takeover_damping * (t.M @ t.v))
        nearest = float(pairs.rho.min(initial=np.inf))
        return AvoidanceOutput(tau, alone, share, nearest, share == 0.0, pairs)

    def _task_share(self, pairs: Pairs, mobility: Array) -> float:
        """Share s of the task in (5); a pair that the arm cannot pull apart has no say."""
        a = self.parameters.takeover_distance
        can_move = np.clip(2.0 * mobility * self.parameters.mass_limit - 1.0, 0.0, 1.0)
        x = np.clip((pairs.rho - a) / max(a, 1e-6), 0.0, 1.0)
        return float((1.0 - can_move * (1.0 - x * x * (3.0 - 2.0 * x))).min(initial=1.0))


def damping_but_of_an_escape(J_e: Array, M_inv: Array, damping: Array) -> Array:
    """Damping torque without what would slow an escape: P of equation (6) times it.

    Parameters
    ----------
    J_e : ndarray, shape (n, nv)
        Rows of the pairs whose distance grows.
    M_inv : ndarray, shape (nv, nv)
        ``M^-1``.
    damping : ndarray, shape (nv,)
        Torque that is subtracted [N m or N].

    Returns
    -------
    ndarray, shape (nv,)
        It accelerates none of these points along their normals.
    """
    if not len(J_e):
        return damping
    A = J_e @ M_inv @ J_e.T
    return damping - J_e.T @ (np.linalg.pinv(A, rcond=1e-9, hermitian=True) @ (J_e @ (M_inv @ damping)))
