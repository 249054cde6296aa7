"""Costs of a plan: sums of terms, each a weighted residual under a form phi.

At knot k, with the weight w_k of the term, the scale s_i and the residual r_i of each entry,

    (1)  l = w_k sum_i s_i phi(r_i(x, u))
    (2)  l_x = w_k sum_i s_i phi'(r_i) dr_i/dx,     l_xx = w_k sum_i s_i phi''(r_i) (dr_i/dx) (dr_i/dx)^T

and likewise by u. (2) is exact in the first derivatives, Gauss-Newton in the second; l_xx is never negative, as no
phi'' is. The unit of ``w_k s_i phi`` is that of the cost, so a running weight that is not to depend on the length of
a step is multiplied by it. Forms are

    (3)  square       phi = r^2 / 2
    (4)  smooth_abs   phi = sqrt(r^2 + width^2) - width
    (5)  barrier      phi = max(1 - r / zone, 0)^3

with width and zone in the unit of r. Residuals, with exact derivatives, are

    state_error          r = x - target                          of the first states                  [rad, rad/s]
    control_error        r = u - target                                                               [N m]
    position_error       r = p - p_target                        of a point of a link, in the world   [m]
    orientation_error    r = log(R_WE R_WT^T)                    rotation vector, world axes          [rad]
    limit_distance       r = (q - q_min, q_max - q)              of the first states                  [rad]
    obstacle_distance    r = |p - p_obstacle| - radius           of a point of a link, from a sphere  [m]

When the end effector turns by a small rotation delta, the orientation error changes by

    (6)  dr = (1 - [r]/2 + c [r]^2) delta,     c = (1 - (|r|/2) cot(|r|/2)) / |r|^2

which is finite up to half a turn (the inverse of the left Jacobian of SO(3)); ``[r]`` is the matrix of ``r x``.

Everything is written over any scalar. Numbers such as targets, weights and scales are inputs of the compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.exceptions import InputError
from arm_control.maths import Array, Scalar, cos, maximum, rotation_vector, select, sin, skew, sqrt
from arm_control.model import State, frame_pose, jacobian
from arm_control.optimal.riccati import Cost

_SMALL = 1e-3
"""Square of an angle [rad^2] below which a series gives c of (6)."""


class Knot:
    """State x (n_x,) and control u (n_u,) at one moment of a plan, over any scalar; of an arm also its kinematics."""

    def __init__(self, x: Array, u: Array, arm: State | None = None) -> None:
        self.x = x
        self.u = u
        self._arm = arm

    @property
    def arm(self) -> State:
        """The arm in this state."""
        if self._arm is None:
            raise InputError("this cost is about an arm, but the dynamics are not an arm's")
        return self._arm

    def point(self, frame: str | None, point: Array) -> tuple[Array, Callable[[], Array]]:
        """Position of a point in the world (3,) [m], and a function that computes its Jacobian (6, n).

        The point (3,) is along the axes of a link, or of the end effector (None) [m].
        """
        arm, tree = self.arm, self.arm.tree
        if frame is not None and frame not in tree.frames:
            raise InputError(f"unknown frame '{frame}'; the model has: {', '.join(tree.frames)}")
        if frame is None:
            body, X = tree.tip.body, arm.X_WE
        else:
            body, X = tree.frames[frame].body, frame_pose(tree.frames[frame], arm.X_W)
        p = X.p + X.R @ point
        return p, lambda: jacobian(tree, arm.X_W, body, p)


class Residual(NamedTuple):
    """An error that a cost keeps small.

    Attributes
    ----------
    name, structure : str
        Of the function that made it, and its compile-time part.
    numbers : ndarray
        Parameters at run time, such as a target.
    at : callable
        From a knot and the numbers, over any scalar, to r, shape (size,), and a function that computes its derivative
        by x and u, shape (size, n_x + n_u).
    """

    name: str
    structure: str
    size: int
    numbers: Array
    at: Callable[[Knot, Array], tuple[Array, Callable[[], Array]]]


def state_error(target: npt.ArrayLike) -> Residual:
    """``x - target``, of the first states: as many as the target has."""
    numbers, columns = _checked(target, "state_error"), np.arange(np.size(target))
    return Residual(
        *("state_error", "state_error", len(columns), numbers),
        lambda knot, z: (knot.x[columns] - z, lambda: _unit_rows(knot, columns)),
    )


def control_error(target: npt.ArrayLike) -> Residual:
    """``u - target``."""
    numbers, columns = _checked(target, "control_error"), np.arange(np.size(target))
    return Residual(
        *("control_error", "control_error", len(columns), numbers),
        lambda knot, z: (knot.u - z, lambda: _unit_rows(knot, len(knot.x) + columns)),
    )


def position_error(target: npt.ArrayLike, frame: str | None = None, point: npt.ArrayLike = (0.0, 0.0, 0.0)) -> Residual:
    """``p - target`` of the end effector, or of a point of a link, in the world [m]."""

    def at(knot: Knot, z: Array) -> tuple[Array, Callable[[], Array]]:
        p, J = knot.point(frame, z[3:])
        return p - z[:3], lambda: _by_positions(knot, J()[:3])

    numbers = np.concatenate([_checked(target, "target", 3), _checked(point, "point", 3)])
    return Residual("position_error", f"position_error of {frame}", 3, numbers, at)


def orientation_error(R_WT: npt.ArrayLike) -> Residual:
    """Rotation vector from the target ``R_WT`` to the end effector, in the world's axes [rad]."""

    def at(knot: Knot, z: Array) -> tuple[Array, Callable[[], Array]]:
        r = rotation_vector(knot.arm.R_WE @ z.reshape(3, 3).T)
        return r, lambda: _by_positions(knot, log_derivative(r) @ knot.arm.J[3:])

    R = np.asarray(R_WT, dtype=float)
    if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6) or np.linalg.det(R) < 0.0:
        raise InputError(f"R_WT is no rotation matrix: {R.tolist()}")
    return Residual("orientation_error", "orientation_error", 3, R.ravel(), at)


def limit_distance(q_min: npt.ArrayLike, q_max: npt.ArrayLike) -> Residual:
    """Distance of joints (or any first states) from their lower and upper limits; to be used with a barrier."""
    low, high = np.asarray(q_min, dtype=float), np.asarray(q_max, dtype=float)
    if low.shape != high.shape or not (low < high).all():
        raise InputError(f"limits cross: q_min {low}, q_max {high}")
    limited = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    m = len(limited)

    def at(knot: Knot, z: Array) -> tuple[Array, Callable[[], Array]]:
        q = knot.x[limited]
        rows = np.concatenate([_unit_rows(knot, limited), -_unit_rows(knot, limited)])
        return np.concatenate([q - z[:m], z[m:] - q]), lambda: rows

    numbers = np.concatenate([low[limited], high[limited]])
    return Residual("limit_distance", f"limit_distance of {limited.tolist()}", 2 * m, numbers, at)


def obstacle_distance(
    centre: npt.ArrayLike, radius: float, frame: str | None = None, point: npt.ArrayLike = (0.0, 0.0, 0.0)
) -> Residual:
    """Distance of a sphere about a point of the arm from a sphere in the world [m]; to be used with a barrier.

    ``radius`` is the sum of both radii.
    """

    def at(knot: Knot, z: Array) -> tuple[Array, Callable[[], Array]]:
        p, J = knot.point(frame, z[4:])
        difference = p - z[:3]
        distance = sqrt(maximum(difference @ difference, 1e-24))
        r = np.array([distance - z[3]])
        return r, lambda: _by_positions(knot, ((difference / distance) @ J()[:3])[None])

    sphere = _checked(np.append(np.asarray(centre, dtype=float), radius), "obstacle", 4)
    numbers = np.concatenate([sphere, _checked(point, "point", 3)])
    return Residual("obstacle_distance", f"obstacle_distance of {frame}", 1, numbers, at)


def log_derivative(r: Array) -> Array:
    """Matrix of equation (6), shape (3, 3)."""
    square = r @ r
    is_small = _SMALL - square
    safe = select(is_small, 1.0, square)
    half = 0.5 * sqrt(safe)
    series = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square * (1.0 / 1209600.0)))
    c = select(is_small, series, (1.0 - half * cos(half) / sin(half)) / safe)
    X = skew(r)
    return np.eye(3) - 0.5 * X + c * (X @ X)


def _by_positions(knot: Knot, r_q: Array) -> Array:
    """Derivative by x and u of a residual that depends on joint positions only."""
    rest = len(knot.x) + len(knot.u) - r_q.shape[1]
    return np.hstack([r_q, np.zeros((len(r_q), rest))])


def _unit_rows(knot: Knot, columns: Array) -> Array:
    """Derivative by x and u of some of their entries."""
    rows = np.zeros((len(columns), len(knot.x) + len(knot.u)))
    rows[np.arange(len(columns)), columns] = 1.0
    return rows


def _checked(values: npt.ArrayLike, name: str, size: int | None = None) -> Array:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not np.isfinite(array).all() or (size is not None and len(array) != size):
        raise InputError(f"{name} is {array.tolist()}; {size or 'a row of'} finite numbers are needed")
    return array


class Form(NamedTuple):
    """A function phi of one number.

    Attributes
    ----------
    phi : callable
        From r and the numbers to ``phi, phi', phi''``.
    """

    name: str
    numbers: tuple[float, ...]
    phi: Callable[[Scalar, Array], tuple[Scalar, Scalar, Scalar]]


SQUARE = Form("square", (), lambda r, z: (0.5 * (r * r), r, 1.0))
"""``r^2 / 2``, equation (3)."""


def smooth_abs(width: float) -> Form:
    """Equation (4): round within ``width`` of zero, then straight."""

    def phi(r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        width = z[0]
        s = sqrt(r * r + width * width)
        return s - width, r / s, width * width / (s * s * s)

    return Form("smooth_abs", (width,), phi)


def barrier(zone: float) -> Form:
    """Equation (5): zero beyond the zone, 1 where r is zero, growing further below."""

    def phi(r: Scalar, z: Array) -> tuple[Scalar, Scalar, Scalar]:
        zone = z[0]
        x = maximum(1.0 - r / zone, 0.0)
        return x * x * x, -3.0 * (x * x) / zone, 6.0 * x / (zone * zone)

    return Form("barrier", (zone,), phi)


@dataclass(frozen=True, eq=False)
class Term:
    """One cost: a residual, its form and its weights.

    Parameters
    ----------
    running, terminal : float
        Weight w_k at each knot before the last one, and at the last.
    scale : array_like, shape (size,), optional
        Scale s_i of each entry of the residual; 1 by default.

    Raises
    ------
    InputError
        When a weight is negative or not finite, or the scale has a wrong length.
    """

    residual: Residual
    running: float = 0.0
    terminal: float = 0.0
    form: Form = SQUARE
    scale: npt.ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("running", "terminal", "scale"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value).all() and np.min(value) >= 0.0):
                raise InputError(f"{name} of {self.residual.name} is {value}; weights are finite, 0 or above")
        if self.scale is not None and np.shape(self.scale) != (self.residual.size,):
            raise InputError(f"scale has shape {np.shape(self.scale)}, {self.residual.size} numbers are needed")

    @property
    def numbers(self) -> Array:
        """Run-time numbers of the term: scale, those of the form, those of the residual."""
        scale = np.ones(self.residual.size) if self.scale is None else np.asarray(self.scale, dtype=float)
        return np.concatenate([scale, self.form.numbers, self.residual.numbers]).astype(float)

    @property
    def structure(self) -> str:
        """Compile-time part of the term."""
        return f"{self.form.name}({self.residual.structure}, {self.residual.size})"

    def split(self, z: Array) -> tuple[Array, Array, Array]:
        """Split the numbers of the term into scale, those of the form and those of the residual."""
        m, f = self.residual.size, self.residual.size + len(self.form.numbers)
        return z[:m], z[m:f], z[f:]


class Costs:
    """The sum of terms, one at least."""

    def __init__(self, *terms: Term) -> None:
        if not terms:
            raise InputError("there is no cost: at least one term is needed")
        self.terms = terms
        self.structure = ", ".join(term.structure for term in terms)
        self.numbers = np.concatenate([term.numbers for term in terms])
        self._ends = np.cumsum([len(term.numbers) for term in terms]).tolist()

    def weights(self, n: int) -> Array:
        """Weight of each term at each of n + 1 knots, shape (n + 1, terms)."""
        return np.array([[term.running] * n + [term.terminal] for term in self.terms], dtype=float).T

    def value(self, knot: Knot, weights: Array, z: Array) -> Scalar:
        """Cost l at one knot, equation (1), with each term's weight there (terms,), and the numbers of all terms."""
        total: Scalar = 0.0
        for (term, scale, form, own), weight in zip(self._split(z), weights, strict=True):
            r, _ = term.residual.at(knot, own)
            phis = [s * term.form.phi(r_i, form)[0] for s, r_i in zip(scale, r, strict=True)]
            total = total + weight * sum(phis[1:], phis[0])
        return total

    def _split(self, z: Array) -> Iterator[tuple[Term, Array, Array, Array]]:
        """Each term with its scale and the numbers of its form and residual."""
        for term, first, last in zip(self.terms, [0, *self._ends], self._ends, strict=False):
            yield term, *term.split(z[first:last])

    def expand(self, knot: Knot, weights: Array, z: Array) -> Cost:
        """Derivatives of the cost at one knot, equation (2); parameters of :meth:`value`."""
        n_x, n_u = len(knot.x), len(knot.u)
        l_xu = np.zeros(n_x + n_u, dtype=object)
        l_xuxu = np.zeros((n_x + n_u, n_x + n_u), dtype=object)
        for (term, scale, form, own), weight in zip(self._split(z), weights, strict=True):
            r, derivative = term.residual.at(knot, own)
            for s_i, r_i, row in zip(scale, r, derivative(), strict=True):
                _, phi_r, phi_rr = term.form.phi(r_i, form)
                w = s_i * weight
                _add_derivatives(l_xu, l_xuxu, row, w * phi_r, w * phi_rr)
        below = np.tril_indices(n_x + n_u, -1)
        l_xuxu[below] = l_xuxu.T[below]
        x, u = slice(0, n_x), slice(n_x, None)
        return Cost(l_xu[x], l_xu[u], l_xuxu[x, x], l_xuxu[u, x], l_xuxu[u, u])


def _add_derivatives(l_xu: Array, l_xuxu: Array, row: Array, slope: Scalar, curvature: Scalar) -> None:
    """Add one entry of equation (2), upper triangle only; zeros of ``dr_i/d(x, u)`` cost nothing."""
    used = [j for j, entry in enumerate(row) if not (isinstance(entry, (int, float)) and entry == 0.0)]
    for j in used:
        l_xu[j] = l_xu[j] + slope * row[j]
        scaled = curvature * row[j]
        for m in (m for m in used if m >= j):
            l_xuxu[j, m] = l_xuxu[j, m] + scaled * row[m]
