"""Is a state free of contact, is a motion, when is the first contact, and how near is what?

    validity = Validity(model)
    validity.place([Obstacle(Sphere(0.1), X_WO, V_WO), ...])
    validity.free_states(qs)                    # (N,) of bool
    validity.free_motions(a, b)                 # (N,) of bool: free without a gap
    validity.first_contact(path, times)         # what touches what, when, how deep
    validity.first_contact_of(trajectory)       # the same of a smooth one
    validity.distances(qs)                      # labelled by pair

What is called free is free for the arm's capsules and all obstacles as they are told, between the ends, too
(:mod:`~arm_control.collision.motions`). What is not called free touches something, comes nearer than the
margin, or could not be proved free with a limited number of looks; results say which.

A smooth trajectory is checked by its chords, with how far it is from them at most. Between two moments a time h apart a
curve q(t) is no further from its chord, at the same moment, than

    |q(t) - chord(t)| <= max |q''| h^2 / 8.

q'' of a piece is a polynomial of degree 3; on the part of a chord it lies between the smallest and the largest of its
Bernstein coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb
from threading import RLock
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from arm_control.collision.allowed_pairs import AllowedPairs, Tables, contact_tables, find_allowed_pairs
from arm_control.collision.arm_shape import SLIDING_TOLERANCE, ArmShape
from arm_control.collision.joint_tables import JointTable
from arm_control.collision.kept_points import KeptPoint, KeptPoints
from arm_control.collision.motions import MotionChecks, MotionColumns, Motions
from arm_control.collision.near_pairs import REACH, NearPair, Proximity
from arm_control.collision.obstacle_rows import (
    LARGEST,
    LARGEST_POSITION,
    LATEST,
    Told,
    check_range,
    obstacle_tables,
    placed_at,
)
from arm_control.collision.pair_texts import ArmText
from arm_control.collision.shape_proof import ShapeProof, resting
from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel

DEGREE = 3
"""Of the acceleration of a piece."""
MOST_CHORDS = 10_000
"""Of one piece."""


class PolynomialCurve(Protocol):
    """A curve of polynomial pieces, such as :class:`~arm_control.motion.joint_trajectory.JointTrajectory`.

    Attributes
    ----------
    knots : ndarray, shape (m + 1,)
        Ends of the pieces [s].
    pieces : sequence of ndarray, shape (n, nv)
        Coefficients of each piece, by powers of the time since its begin.
    end : reference with ``q_des``, shape (nv,)
        Its last point.
    """

    knots: Array
    pieces: Any
    end: Any


def chords(trajectory: PolynomialCurve, largest: float) -> tuple[Array, Array, Array]:
    """Divide a trajectory into chords, with a deviation that is aimed at [rad or m].

    Returns
    -------
    qs, times : ndarray, shape (m + 1, nv) and (m + 1,)
        Begin of each chord, and end of the last one [rad or m], [s].
    deviations : ndarray, shape (m, nv)
        Largest distance of each joint from each chord [rad or m], which holds in any case.
    """
    times, qs, deviations = [], [], []
    for begin, T, piece in zip(trajectory.knots[:-1], np.diff(trajectory.knots), trajectory.pieces, strict=True):
        whole = _largest_acceleration(piece, np.zeros(1), float(T)).max()
        n = int(np.clip(np.ceil(T * np.sqrt(whole / (8.0 * largest))), 1, MOST_CHORDS))
        h = T / n
        s = h * np.arange(n)
        times.append(begin + s)
        qs.append((s[:, None] ** np.arange(len(piece))) @ piece)
        deviations.append(_largest_acceleration(piece, s, h) * h**2 / 8.0)
    times.append(trajectory.knots[-1:])
    qs.append(trajectory.end.q_des[None])
    return np.concatenate(qs), np.concatenate(times), np.concatenate(deviations)


def _largest_acceleration(piece: Array, s: Array, h: float) -> Array:
    """Bound of the acceleration of a piece between s and s + h, shape (n, nv)."""
    k = np.arange(2, len(piece))
    acceleration = (k * (k - 1))[:, None] * piece[2:]  # of degree 3, in the time of the piece
    shifted = np.zeros((len(s), DEGREE + 1, piece.shape[1]))  # in the share of the chord
    for i in range(DEGREE + 1):
        for j in range(i, DEGREE + 1):
            shifted[:, i] += comb(j, i) * h**i * s[:, None] ** (j - i) * acceleration[j]
    return largest_value(shifted)


def largest_value(coefficients: Array) -> Array:
    """Bound of polynomials of degree :data:`DEGREE` between 0 and 1, shape (m, n): the largest Bernstein coefficient.

    Their coefficients are of shape (m, DEGREE + 1, n).
    """
    c = coefficients
    bernstein = [sum(comb(i, j) / comb(DEGREE, j) * c[:, j] for j in range(i + 1)) for i in range(DEGREE + 1)]
    return np.abs(np.array(bernstein)).max(axis=0)


MOST_LOOKS, MOST_LOOKS_FIRST = 200, 100_000
"""Largest number of places of one motion that are looked at, and of one segment of a path for the first contact."""
DEVIATIONS = (1e-2, 1e-3, 1e-4)
"""Of the chords of a trajectory [rad or m]."""
TOUCH = 1e-6
"""Two that are nearer than the margin and this touch each other at a contact [m]."""


class Distances(NamedTuple):
    """Distances in N states [m]; those beyond the reach are given as the reach.

    Attributes
    ----------
    to_obstacles : ndarray, shape (N, L)
        From each of them to the nearest obstacle.
    nearest : ndarray of int, shape (N, L)
        Number of that obstacle; -1 for none.
    between_links : ndarray, shape (N, P)
        Of each pair of links that is checked.
    """

    links: tuple[str, ...]
    to_obstacles: Array
    nearest: npt.NDArray[np.int_]
    link_pairs: tuple[tuple[str, str], ...]
    between_links: Array


class Contact(NamedTuple):
    """The first contact of a path.

    Attributes
    ----------
    share : float
        Share of the segment: before it the path is free.
    t : float
        Time [s]; where the path has no times, the number of the segment plus the share.
    q : ndarray, shape (n,)
        Joint positions there [rad or m].
    pairs : tuple of NearPair
        What is nearer than the margins there, the deepest first.
    is_seen : bool
        Whether a contact was seen; else the number of looks was not enough to prove the segment free.
    """

    segment: int
    share: float
    t: float
    q: Array
    pairs: tuple[NearPair, ...]
    is_seen: bool


class Validity:
    """Checks states and motions of one arm among obstacles.

    Parameters
    ----------
    shape : ArmShape, optional
        By default capsules around its collision shapes.
    allowed : AllowedPairs, optional
        Pairs of links that may touch; by default found by sampling.
    margin, link_margin : float
        Smallest distance that counts as free, to obstacles and between links [m].
    kept : sequence of KeptPoint
        Points that functions keep to their places: what does not keep them is not free.
    kept_margin : float
        What is left of these functions at least, but of those of an angle [m].
    has_meshes : bool
        Whether :meth:`free_by_shapes` looks at meshes; else the capsules around them count alone.

    Attributes
    ----------
    link_pairs : tuple of tuple of str
        Names of the links of each pair that is checked.
    tables : dict of frozenset of str to JointTable
        Of some of them the postures in which they touch: what their real shapes say where their capsules overlap.
    placed : tuple
        The obstacles of the last :meth:`place`.
    lock : RLock
        Threads may share an object: placing and checking hold this lock. A thread with obstacles of its own holds it
        from :meth:`place` to the last check among them, as planners do.

    Raises
    ------
    InputError
        When a margin is negative, or beyond the largest one.
    """

    def __init__(
        self,
        model: RobotModel,
        shape: ArmShape | None = None,
        allowed: AllowedPairs | None = None,
        margin: float = 0.0,
        link_margin: float = 0.0,
        kept: Sequence[KeptPoint] = (),
        kept_margin: float = 0.0,
        has_meshes: bool = True,
    ) -> None:
        if not all(0.0 <= x <= LARGEST for x in (margin, link_margin, kept_margin)):
            raise InputError(
                f"margins are {margin} and {link_margin} m, {kept_margin} m of points; allowed: 0 to {LARGEST:g} m"
            )
        self.lock = RLock()
        self.shape = ArmShape(model) if shape is None else shape
        self.allowed = find_allowed_pairs(self.shape) if allowed is None else allowed
        self._model, self._margin, self._largest_margin = model, margin, max(margin, link_margin)
        self._link_margin = link_margin
        pairs = self.allowed.checked(self.shape)
        tables: Tables = {
            pair: table for pair, table in contact_tables(self.shape, link_margin).items() if pair in pairs
        }
        self.tables: dict[frozenset[str], JointTable] = {
            frozenset(*self.shape.names_of([pair])): table for pair, table in tables.items()
        }
        self._kept, self._has_meshes = KeptPoints(model, kept, kept_margin), has_meshes
        arm = ArmText(self.shape, pairs, link_margin, tables, self._kept if self._kept.points else None)
        self._checks = MotionChecks(arm, (margin, link_margin, kept_margin))
        self.placed: tuple[Told, ...] = ()
        self.link_pairs = self.shape.names_of(arm.pairs)
        self._sliding = [body.coordinate for body in model.tree.bodies if body.is_prismatic]

    @cached_property
    def _proximity(self) -> Proximity:
        """What measures the distances of states."""
        return Proximity(self._model, self.link_pairs, self.shape)

    @cached_property
    def _shape_proof(self) -> ShapeProof | None:
        """What proves motions by the shapes of the URDF; None without meshes, which capsules are larger than."""
        shape = self.shape
        has_meshes = self._has_meshes and shape.is_described and not shape.notes
        if not has_meshes or not shape.has_mesh(*range(len(shape.names))):
            return None
        try:
            return ShapeProof(shape, self.link_pairs, self._margin, self._link_margin, self._kept)
        except (ImportError, OSError, ValueError):
            return None

    @exclusive
    def place(self, obstacles: Sequence[Told]) -> None:
        """Check against these obstacles from now on.

        The twist of an Obstacle holds from time 0 on; a Mover is there in its span of time; of several Movers in a row,
        as :func:`~arm_control.collision.obstacle_rows.course` makes them, one follows the other.
        """
        self._checks.place(obstacle_tables(obstacles))
        self.placed = tuple(obstacles)

    def free_states(self, qs: npt.ArrayLike, t: npt.ArrayLike = 0.0) -> npt.NDArray[np.bool_]:
        """Whether states (N, n) [rad or m] are free of contact at times (N,), or at one time [s]: shape (N,)."""
        return self.motions(qs, qs, t, t).is_free

    def free_motions(
        self, a: npt.ArrayLike, b: npt.ArrayLike, t_a: npt.ArrayLike = 0.0, t_b: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.bool_]:
        """Whether straight motions are free of contact, shape (N,); parameters of :meth:`motions`."""
        return self.motions(a, b, t_a, t_b).is_free

    def motions(
        self,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        t_a: npt.ArrayLike = 0.0,
        t_b: npt.ArrayLike | None = None,
        deviation: npt.ArrayLike | None = None,
        is_first: bool = False,
        most_looks: int = MOST_LOOKS,
    ) -> Motions:
        """Check motions that go straight from a to b in joint space.

        Parameters
        ----------
        a, b : array_like, shape (N, n)
            Joint positions [rad or m].
        t_a, t_b : array_like, shape (N,) or float
            Times [s]; without the second, time stands still.
        deviation : array_like, shape (N, n) or (n,), optional
            Largest deviation of each joint from the straight motion: all motions within it are checked [rad or m].
        is_first : bool
            Whether the first contact is searched for; else any.
        most_looks : int
            Largest number of places of one motion that are looked at.

        Raises
        ------
        InputError
            When an array has a wrong shape or an entry that is not finite, a time is below zero, or a prismatic joint
            is beyond its limits.
        """
        a, b = self._states(a, "a"), self._states(b, "b")
        n = len(a)
        if len(b) != n:
            raise InputError(f"{n} motions begin, {len(b)} end")
        if not n:
            return Motions(np.zeros(0, bool), np.zeros(0, bool), np.zeros(0), np.zeros(0), np.zeros(0, int))
        self.lock.acquire()  # half the time of a with statement
        try:
            memory = self._checks.reserve(n)
            memory["a"][:, :n] = a.T
            memory["b"][:, :n] = b.T
            times = memory["times"][:, :n]
            times[0] = t_a = _times(t_a, n)
            times[1] = t_a if t_b is None else _times(t_b, n)
            if not (times.min() >= 0.0 and times.max() <= LATEST):
                raise InputError(f"times of motions must be finite, 0 s or later, and up to {LATEST:g} s")
            if deviation is not None:
                deviations = self._deviations(deviation, n)
                memory["deviation"][:, :n] = deviations.T
                for q in (a, b):
                    self._check_sliding(q - deviations, "a motion with its deviation")
                    self._check_sliding(q + deviations, "a motion with its deviation")
            return self._checks.check(n, deviation is not None, is_first, most_looks)
        finally:
            self.lock.release()

    @exclusive
    def free_by_shapes(
        self, a: npt.ArrayLike, b: npt.ArrayLike, deviation: npt.ArrayLike | None = None
    ) -> npt.NDArray[np.bool_]:
        """Whether straight motions are free by the shapes in the URDF, where their capsules touch, shape (N,).

        It takes milliseconds a motion (:mod:`arm_control.collision.shape_proof`). None is where no link is a mesh, in a
        shape of other capsules, without coal, and among obstacles that move. Arguments are those of :meth:`motions`.
        """
        a, b = self._states(a, "a"), self._states(b, "b")
        deviations = self._deviations(np.zeros(self._model.nq) if deviation is None else deviation, len(a))
        obstacles, proof = resting(self.placed), self._shape_proof
        if obstacles is None or proof is None:
            return np.zeros(len(a), bool)
        proof.place(obstacles)
        return np.array([proof.is_free(*motion) for motion in zip(a, b, deviations, strict=True)], dtype=bool)

    def columns(self, n: int) -> MotionColumns:
        """Return memory for n motions to procedures: :mod:`arm_control.collision.motions`.

        It holds until other kinds of obstacles are placed, or more motions than that are checked at once: a thread that
        uses it holds the lock.
        """
        return self._checks.columns(n)

    @exclusive
    def first_contact(
        self, path: npt.ArrayLike, times: npt.ArrayLike | None = None, deviation: npt.ArrayLike | None = None
    ) -> Contact | None:
        """The first contact of a path of straight segments; None where all of it is proved free.

        Where capsules touch, :meth:`free_by_shapes` counts, too.

        Parameters
        ----------
        path : array_like, shape (m, n)
            Joint positions, at least two [rad or m].
        times : array_like, shape (m,), optional
            Times [s]; without them, time stands still.
        deviation : array_like, shape (m - 1, n) or (n,), optional
            Of the joints from each segment [rad or m].

        Raises
        ------
        InputError
            As :meth:`motions`, and when the path has less than two states, or another number of times.
        """
        qs = self._states(path, "path")
        if len(qs) < 2:
            raise InputError(f"a path has two states or more, not {len(qs)}")
        stamps = np.zeros(len(qs)) if times is None else np.asarray(times, dtype=float)
        if stamps.shape != (len(qs),):
            raise InputError(f"times have shape {stamps.shape}; {len(qs)} are needed, one for each state")
        found = self.motions(
            qs[:-1], qs[1:], stamps[:-1], stamps[1:], deviation, is_first=True, most_looks=MOST_LOOKS_FIRST
        )
        rows = None if deviation is None else self._deviations(deviation, len(found.is_free))
        touching = iter(np.flatnonzero(~found.is_free).tolist())
        k = next((k for k in touching if not self._is_free_by_shapes(qs[k : k + 2], rows, k)), None)
        if k is None:
            return None
        is_seen = bool(found.is_contact[k])
        share = float(found.contact[k] if is_seen else found.covered[k])
        q = qs[k] + share * (qs[k + 1] - qs[k])
        t = float(stamps[k] + share * (stamps[k + 1] - stamps[k]))
        more, aside = TOUCH, 0.0
        if rows is not None:
            more += 2.0 * max(float(self.shape.reach(i) @ rows[k]) for i in self.shape.moving)
            aside = float(rows[k].max())
        near = self.pairs(q, t, self._largest_margin + more, aside)
        margins = {True: self._link_margin + more, False: self._margin + more}
        pairs = tuple(pair for pair in near if pair.distance < margins[pair.is_self])
        return Contact(k, share, t, q, pairs, is_seen)

    def _is_free_by_shapes(self, ends: Array, deviations: Array | None, k: int) -> bool:
        """Whether segment k of a path is free by the shapes of the URDF."""
        return bool(self.free_by_shapes(ends[:1], ends[1:], None if deviations is None else deviations[k])[0])

    @exclusive
    def first_contact_of(self, trajectory: PolynomialCurve) -> Contact | None:
        """The first contact of a smooth trajectory; None where all of it is proved free.

        Its chords are checked with their deviations, which are made smaller as long as something is in the way. What is
        nearer than a ten-thousandth of a radian of each joint in the end counts as contact.
        """
        contact = None
        for largest in DEVIATIONS:
            contact = self.first_contact(*chords(trajectory, largest))
            if contact is None:
                break
        return contact

    @exclusive
    def distances(self, qs: npt.ArrayLike, t: npt.ArrayLike = 0.0, reach: float = REACH) -> Distances:
        """Distances in states (N, n) [rad or m] at times (N,) or one time [s]; none beyond a reach [m] is measured."""
        q = self._states(qs, "qs")
        links = tuple(self.shape.names[k] for k in self.shape.moving)
        to_obstacles, between = (np.full((len(q), len(names)), reach) for names in (links, self.link_pairs))
        nearest = np.full(to_obstacles.shape, -1)
        column = {frozenset(pair): k for k, pair in enumerate(self.link_pairs)}
        for i, moment in enumerate(np.broadcast_to(_times(t, len(q)), len(q)).tolist()):
            for pair in reversed(self.pairs(q[i], moment, reach)):  # the nearest last
                if pair.is_self:
                    between[i, column[frozenset(pair[:2])]] = pair.distance
                else:
                    k = links.index(pair.link)
                    to_obstacles[i, k], nearest[i, k] = pair.distance, pair.obstacle
        return Distances(links, to_obstacles, nearest, self.link_pairs, between)

    @exclusive
    def pairs(self, q: npt.ArrayLike, t: float = 0.0, reach: float = 0.0, aside: float = 0.0) -> tuple[NearPair, ...]:
        """All pairs nearer than a reach [m] in one state (n,), the nearest first: links and obstacles, or two links.

        Two links whose capsules overlap, though their real shapes are free as far as the joints go aside [rad or m],
        are left out.
        """
        state = self._states(np.asarray(q, dtype=float)[None], "q")[0]
        check_range(t, LATEST, "times")
        if np.isnan(reach):
            raise InputError("the reach is nan; a distance is needed")
        placed = placed_at(self.placed, t)
        numbers, there = list(placed), list(placed.values())
        names = [f"obstacle {number}" for number in numbers]
        near = self._proximity.nearest(state, there, names, max(reach, TOUCH))
        near = [pair if pair.is_self else pair._replace(obstacle=numbers[pair.obstacle]) for pair in near]
        return tuple(pair for pair in near if pair.distance < reach and not self._is_apart(pair, state, aside))

    def broken(self, q: npt.ArrayLike) -> tuple[str, ...]:
        """A sentence for each point that is not kept to its place in a state (n,) [rad or m], the worst first."""
        return self._kept.broken(self._states(np.asarray(q, dtype=float)[None], "q")[0])

    def pulled(self, qs: Array) -> Array:
        """States (N, n) moved until points keep their places, as far as some steps bring them [rad or m]."""
        return self._kept.pulled(qs)

    def _is_apart(self, pair: NearPair, q: Array, aside: float) -> bool:
        """Whether two links are free by their table, though not by their capsules."""
        table = self.tables.get(frozenset(pair[:2])) if pair.is_self else None
        is_near = pair.distance <= self._largest_margin
        return is_near and table is not None and float(table.distance(q)) > aside + TOUCH

    def _states(self, qs: npt.ArrayLike, name: str) -> Array:
        """Joint positions, shape (N, n), after a check."""
        q = np.asarray(qs, dtype=float)
        if q.ndim != 2 or q.shape[1] != self._model.nq:
            raise InputError(f"{name} has shape {q.shape}; needed is (N, {self._model.nq})")
        if not np.abs(q).max(initial=0.0) <= LARGEST_POSITION:
            raise InputError(f"{name} has an entry that is not finite, or beyond {LARGEST_POSITION:g}")
        self._check_sliding(q, name)
        return q

    def _check_sliding(self, q: Array, name: str) -> None:
        """Refuse joints that slide beyond their limits, which the reach of the joints before them depends on."""
        for j in self._sliding:
            low, high = self._model.q_min[j], self._model.q_max[j]
            if len(q) and (q[:, j].min() < low - SLIDING_TOLERANCE or q[:, j].max() > high + SLIDING_TOLERANCE):
                raise InputError(f"{name}: '{self._model.joint_names[j]}' slides beyond {low} to {high} m")

    def _deviations(self, deviation: npt.ArrayLike, n: int) -> Array:
        """Deviations of the joints, shape (n, nq), after a check."""
        given = np.asarray(deviation, dtype=float)
        is_good = ((given >= 0.0) & (given <= LARGEST_POSITION)).all()
        if given.shape not in ((self._model.nq,), (n, self._model.nq)) or not is_good:
            raise InputError(
                f"deviation has shape {given.shape}; needed are {self._model.nq} numbers >= 0 for each motion, up to"
                f" {LARGEST_POSITION:g}"
            )
        return np.broadcast_to(given, (n, self._model.nq))


def _times(t: npt.ArrayLike, n: int) -> Array:
    """One time, or one for each of n states [s]."""
    times = np.asarray(t, dtype=float)
    if times.shape not in ((), (n,)):
        raise InputError(f"times have shape {times.shape}; needed is one time, or {n}")
    return times
