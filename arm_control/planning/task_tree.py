"""The tree of a task-constrained search: vertices (q, q', s, s_dot, t), each with the edge that leads to it.

q' and s_dot are kept apart: at rest their product vanishes, and the direction in joint space would be lost with it.

A branch of the tree as a motion in time, and its proof.

Between the ends of two steps, a time T apart, the joints follow the polynomial with the positions and the derivatives
that the motion law has there,

    q_dot = rate q_r,    q_ddot = rate^2 q_rr + a q_r

a quintic of a dynamic plan, and a cubic, without q_ddot, of a kinematic one. The task holds at both ends with one or
two derivatives, so that its error in between falls with T^4 or T^6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.collision import DEGREE, Validity, largest_value
from arm_control.maths import Array
from arm_control.motion import JointTrajectory, cubic, powers, quintic
from arm_control.planning.edges import Chains, Flags, Integers, Start
from arm_control.planning.plans import DrawnTree, Effort, Plan, SearchOutcome
from arm_control.planning.task_problem import TaskConstrainedProblem
from arm_control.planning.trees import CAPACITY, NOBODY, SearchTree


class TaskTree(SearchTree):
    """Vertices in the order in which they were added.

    Columns besides those of each tree: ``q_r``, ``rate``, ``cap``, ``thrust``, ``level``, ``direction``; ``is_open``
    where chains may begin; and the ends of the steps of the edge to a vertex.
    """

    def __init__(self, n: int, steps: int) -> None:
        columns: dict[str, tuple[int, ...]] = {"q_r": (n,), "edge_rate": (steps + 1,), "edge_t": (steps + 1,)}
        columns |= dict.fromkeys(("rate", "cap", "thrust", "is_open"), ())
        columns |= dict.fromkeys(("edge_q", "edge_q_r", "edge_q_rr"), (steps + 1, n))
        super().__init__(n, columns=columns)
        self._columns |= {name: np.zeros(CAPACITY, np.int64) for name in ("level", "direction")}

    def add_roots(self, q: Array) -> None:
        """Add vertices at rest at the begin of the path, shape (k, n) [rad or m]."""
        k = len(q)
        self.add(np.full(k, NOBODY), q=q, cap=np.full(k, np.inf), is_open=np.ones(k))

    def add_chains(self, start: Start, parents: Integers, chains: Chains, lengths: Integers) -> Integers:
        """Add the first edges of chains, so many of each (W,), behind their parents (W,); returns the vertices."""
        l, lane = np.nonzero(np.arange(len(chains.thrust))[:, None] < lengths)
        numbers = np.zeros((len(chains.thrust), len(lengths)), int)
        numbers[l, lane] = self.size + np.arange(len(l))
        q, q_r, q_rr = (values[l, :, :, lane] for values in (chains.q, chains.q_r, chains.q_rr))
        rates, t = chains.rates[l, :, lane], chains.t[l, :, lane]
        return self.add(
            np.where(l > 0, numbers[l - 1, lane], parents[lane]),
            **{"q": q[:, -1], "q_r": q_r[:, -1], "rate": rates[:, -1], "t": t[:, -1]},
            **{"edge_q": q, "edge_q_r": q_r, "edge_q_rr": q_rr, "edge_rate": rates, "edge_t": t},
            cap=chains.cap[l, lane],
            thrust=chains.thrust[l, lane],
            direction=start.direction[lane],
            level=start.level[lane] + (l + 1) * start.direction[lane],
            is_open=np.ones(len(l)),
        )

    def drawn(self, levels: int) -> DrawnTree:
        """The tree for a picture; ``levels`` is the number of pieces of the path."""
        return DrawnTree(self["level"] / levels, self.t.copy(), self["parent"].copy(), self.q.copy())


def found(motion: TaskMotion, tree: DrawnTree | None, effort: Effort) -> Plan:
    """Return the plan of a motion: its states are the ends of its pieces."""
    joints = motion.joints
    ends = np.einsum("kp,kpn->kn", powers(np.diff(joints.knots))[0], joints.pieces)
    path = np.concatenate([joints.pieces[:1, 0], ends])
    return Plan(SearchOutcome.FOUND, "", path, joints.knots, (), effort, *motion, tree)


class Branch(NamedTuple):
    """Edges of a motion, one behind the other, each in M steps.

    Attributes
    ----------
    q, q_r, q_rr : ndarray, shape (k, M + 1, n)
        Joint positions at the ends of the steps and their derivatives by the way [rad or m].
    rate, t : ndarray, shape (k, M + 1)
        Rate [1/s] and time [s].
    thrust : ndarray, shape (k,)
        Acceleration of the rate [1/s^2].
    first, direction : ndarray of int, shape (k,)
        Sample of the task path at the begin, and 1, -1 or 0.
    """

    q: Array
    q_r: Array
    q_rr: Array
    rate: Array
    t: Array
    thrust: Array
    first: Integers
    direction: Integers

    @classmethod
    def of(cls, tree: TaskTree, vertices: Integers) -> Branch:
        """The edges that lead to vertices, by their numbers."""
        q, q_r, q_rr, rate, t = (tree[f"edge_{name}"][vertices] for name in ("q", "q_r", "q_rr", "rate", "t"))
        direction = tree["direction"][vertices]
        return cls(q, q_r, q_rr, rate, t, tree["thrust"][vertices], tree["level"][vertices] - direction, direction)


class TaskMotion(NamedTuple):
    """A motion along a task path: of the joints, and the place on the path as of one joint."""

    joints: JointTrajectory
    progress: JointTrajectory


def motion_of(branch: Branch, levels: int, is_dynamic: bool) -> TaskMotion:
    """Return the motion along edges of a path of so many pieces.

    Accelerations of a dynamic one are continuous along an edge.
    """
    q, q_r, q_rr, rate, t, a, first, direction = branch
    n = q.shape[2]
    qd, qdd = rate[..., None] * q_r, rate[..., None] ** 2 * q_rr + a[:, None, None] * q_r
    T = np.diff(t, axis=1)[..., None]
    begin, end = slice(None, -1), slice(1, None)
    if is_dynamic:
        pieces = quintic(q[:, begin], qd[:, begin], qdd[:, begin], q[:, end], qd[:, end], qdd[:, end], T)
    else:
        pieces = cubic(q[:, begin], qd[:, begin], q[:, end], qd[:, end], T)
    knots = np.concatenate([[t[0, 0]], t[:, 1:].ravel()])
    s = np.zeros((len(q), T.shape[1], 6, 1))
    shares = np.arange(T.shape[1]) / T.shape[1]
    s[:, :, 0, 0] = (first[:, None] + direction[:, None] * shares) / levels
    s[:, :, 1, 0] = direction[:, None] * rate[:, :-1]
    s[:, :, 2, 0] = 0.5 * (direction * a)[:, None]
    return TaskMotion(JointTrajectory(knots, pieces.reshape(-1, 6, n)), JointTrajectory(knots, s.reshape(-1, 6, 1)))


PLACES = np.linspace(0.0, 1.0, 9)
"""Shares of each piece at which limits are checked."""


def first_unproved(problem: TaskConstrainedProblem, motion: JointTrajectory) -> int | None:
    """The first piece of a motion that is not proved; None where all of it is."""
    is_good = keeps_limits(problem, motion)
    if is_good.all():
        is_good = is_free(problem.validity, motion)
    return None if is_good.all() else int(is_good.argmin())


def keeps_limits(problem: TaskConstrainedProblem, motion: JointTrajectory) -> Flags:
    """Whether each piece keeps limits of position, speed, torque, acceleration at its :data:`PLACES`, shape (m,)."""
    model, T = problem.model, np.diff(motion.knots)
    q, v, a = np.einsum("dmpk,mkn->dmpn", powers(T[:, None] * PLACES), motion.pieces)
    is_kept = (q >= model.q_min) & (q <= model.q_max) & (np.abs(v) <= problem.speed_limits)
    if problem.tau_max is not None:
        rows = [x.reshape(-1, model.nq) for x in (q, v, a)]
        tau = model.batch("tau")(*rows, np.zeros((len(rows[0]), 6)))["tau"].reshape(q.shape)
        is_kept &= np.abs(tau) <= problem.tau_max
    if problem.a_max is not None:
        is_kept &= np.abs(a) <= problem.a_max
    return np.logical_and.reduce(is_kept, axis=(1, 2))


def is_free(validity: Validity, motion: JointTrajectory) -> Flags:
    """Whether each piece is proved free of contact, shape (m,); behind the first one that is not some are left open.

    The chord of each piece is checked with the deviation of the piece from it; a piece that fails is divided.
    """
    qs, times = np.concatenate([motion.pieces[:, 0], motion.end.q_des[None]]), motion.knots
    is_good = validity.motions(qs[:-1], qs[1:], times[:-1], times[1:], deviations(motion)).is_free
    for k in np.flatnonzero(~is_good).tolist():
        piece = JointTrajectory(times[k : k + 2], motion.pieces[k : k + 1])
        is_good[k] = validity.first_contact_of(piece) is None
        if not is_good[k]:
            break
    return is_good


def deviations(motion: JointTrajectory) -> Array:
    """Largest distance of each joint from the chord of each piece, shape (m, n): max |q_ddot| T^2 / 8."""
    T = np.diff(motion.knots)
    degrees = np.arange(2, DEGREE + 3)
    c = (degrees * (degrees - 1))[:, None] * motion.pieces[:, 2:] * T[:, None, None] ** np.arange(DEGREE + 1)[:, None]
    return largest_value(c) * T[:, None] ** 2 / 8.0
