"""Time scaling: the fastest motion along a given path within limits of speed, acceleration, torque and tip speed.

With ``x = s_dot^2`` and ``u = s_ddot``, constant in each interval of the grid, all limits are lines in the plane of x
and u (:mod:`~arm_control.planning.path_limits`). Two passes over the intervals, of length D, give the motion:

    (1)  K_i = min(cap_i, min_j (alpha_ij K_{i+1} + beta_ij)),      K_n = 0      backwards: x from which it can go on
    (2)  x_{i+1} = min(K_{i+1}, min_j (gamma_ij x_i + eta_ij)),     x_0 = 0      forwards: as fast as possible
    (3)  u_i = (x_{i+1} - x_i) / 2 D_i,     t_{i+1} = t_i + 2 D_i / (sqrt x_i + sqrt x_{i+1})

The limits hold between the points of the grid as well as in them; the lines of an interval include the bends of
everything in it. Speeds on the grid are the largest there are for these lines, since the set of (x, u) that a grid
point leaves is convex (Pham and Pham, 2018).

The arm must be able to stand still everywhere on the path. Friction of the joints is not counted.

Source: H. Pham, Q.-C. Pham, "A new approach to time-optimal path parameterization based on reachability analysis",
IEEE Transactions on Robotics, 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Loop, LoopKernel
from arm_control.core import exclusive
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import TOOL, RobotModel, tool_numbers
from arm_control.motion import JointReference, JointTrajectory
from arm_control.planning.path_limits import NEVER, backward_loop, forward_loop, interval_loop, line_count, point_loop

FREE = 1e9
"""Stands for no limit."""
STILL = 1e-6
"""Length of q' below which a path stands still."""
CORNER = 1e-6
"""Step of q' at a knot that is a corner."""


@dataclass(frozen=True)
class PathLimits:
    """Limits of a motion.

    Attributes
    ----------
    v_max, tau_max : ndarray, shape (nv,)
        Largest speed [rad/s or m/s] and torque [N m or N] of each joint.
    a_max : ndarray, shape (nv,), or None
        Largest acceleration [rad/s^2 or m/s^2]; None: torque alone decides.
    tip_speed : float
        Largest speed of the end effector [m/s].
    """

    v_max: Array
    tau_max: Array
    a_max: Array | None = None
    tip_speed: float = FREE

    def __post_init__(self) -> None:
        for name, values in (("v_max", self.v_max), ("tau_max", self.tau_max), ("a_max", self.a_max)):
            if values is not None and not (np.asarray(values) > 0.0).all():
                raise InputError(f"{name} = {np.asarray(values).tolist()}: positive numbers are needed")
        if not self.tip_speed > 0.0:
            raise InputError(f"tip_speed = {self.tip_speed}: a positive number is needed [m/s]")

    @classmethod
    def of(
        cls, model: RobotModel, *, a_max: npt.ArrayLike | None = None, tip_speed: float = FREE, share: float = 1.0
    ) -> PathLimits:
        """Return the limits of an arm.

        A share of its limits of speed and torque is used, such as 0.9: feedback needs the rest. Largest accelerations
        are one number or one of each joint [rad/s^2 or m/s^2].
        """
        if not 0.0 < share <= 1.0:
            raise InputError(f"share = {share}: allowed is a part of the arm's limits, above 0 and up to 1")
        a = None if a_max is None else np.asarray(a_max, dtype=float)
        if a is not None and a.shape not in ((), (model.nv,)):
            raise InputError(f"a_max has shape {a.shape}; allowed: one number, or {model.nv}")
        return cls(share * model.v_max, share * model.tau_max, a if a is None else np.full(model.nv, a), tip_speed)


class ScaledMotion:
    """A motion along a path, from rest to rest.

    Attributes
    ----------
    s, x : ndarray, shape (n + 1,)
        Grid, and the square of the path's speed there.
    u : ndarray, shape (n,)
        Acceleration of s in each interval.
    times : ndarray, shape (n + 1,)
        Time of each grid point [s].
    duration : float
        Time of the whole motion [s].
    """

    def __init__(self, path: JointTrajectory, s: Array, x: Array) -> None:
        self.path, self.s, self.x = path, s, x
        D, speed = np.diff(s), np.sqrt(x)
        self.u = np.diff(x) / (2.0 * D)  # (3)
        self.times = np.concatenate([[0.0], np.cumsum(2.0 * D / (speed[:-1] + speed[1:]))])
        self.duration = float(self.times[-1])
        self.end = path.end

    def sample(self, t: float) -> JointReference:
        """Return the reference at time ``t`` [s]; at rest before the start and after the end."""
        if t >= self.duration:
            return self.end
        i = max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)
        after, u = max(t, 0.0) - self.times[i], float(self.u[i])
        speed = float(np.sqrt(self.x[i]))
        s = min(self.s[i] + after * (speed + 0.5 * u * after), self.s[i + 1])
        speed = max(speed + u * after, 0.0)
        way = self.path.sample(min(float(s), np.nextafter(self.s[-1], 0.0)))
        at_rest = t < 0.0
        a = 0.0 * way.v_des if at_rest else way.v_des * u + way.a_des * speed**2
        return JointReference(way.q_des, way.v_des * speed, a)


class TimeScaler:
    """Finds the fastest motions of one arm. Keeps its work space: of threads that share it one at a time computes.

    Parameters
    ----------
    model : RobotModel
        The arm. What is attached to it counts, also what is attached later.
    n : int
        Number of intervals of the grid.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> from arm_control.motion import spline_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> scaler = TimeScaler(model, PathLimits.of(model, a_max=10.0, tip_speed=1.0))
    >>> path = spline_path([[0.0, -1.2, 1.5, -1.8, -1.5, 0.0], [1.0, -1.0, 1.0, -1.6, -1.2, 0.5]])
    >>> motion = scaler.fastest(path)
    >>> 0.5 < motion.duration < 2.0
    True
    """

    def __init__(self, model: RobotModel, limits: PathLimits, n: int = 1000) -> None:
        if n < 3:
            raise InputError(f"n = {n}: a grid needs at least 3 intervals")
        for name, values in (("v_max", limits.v_max), ("tau_max", limits.tau_max), ("a_max", limits.a_max)):
            if values is not None and np.shape(values) != (model.nv,):
                raise InputError(f"{name} has shape {np.shape(values)}; allowed: ({model.nv},)")
        self._n, self._limits, self._model, self.lock = n, limits, model, RLock()
        has_acceleration = limits.a_max is not None
        self._k = line_count(model.nv, has_acceleration)
        loops = {
            "points": point_loop(model.tree),
            "intervals": interval_loop(model.nv, has_acceleration),
            "backward": backward_loop(self._k),
            "forward": forward_loop(self._k),
        }
        self._kernels = {name: model.compile_law(loop, _samples(loop, model)) for name, loop in loops.items()}
        self._grids: dict[int, _Grid] = {}

    @exclusive
    def fastest(self, path: JointTrajectory) -> ScaledMotion:
        """Return the fastest motion along a path within the limits, from rest to rest.

        The path, for example of :func:`~arm_control.motion.joint_trajectory.spline_path`, must not stand still; its
        parameter need not be time.

        Raises
        ------
        InputError
            When the path has a corner or stands still, another number of joints, or a place where the arm cannot.
        """
        grid = self._grid(path)
        s = grid.place(path)
        grid.arrays["tool"][:] = self._model.tool
        grid.calls["points"]()
        self._check(path, grid, s)
        grid.measure()
        grid.calls["intervals"]()
        self._check_rest(grid, s)
        x = grid.solve()
        keep = np.concatenate([[True], np.diff(s) > 0.0])
        return ScaledMotion(path, s[keep], x[keep])

    def _grid(self, path: JointTrajectory) -> _Grid:
        joints = path.pieces.shape[2]
        if joints != self._model.nv:
            raise InputError(f"a path of {joints} joints; the arm has {self._model.nv}")
        count = len(path.pieces)
        if count not in self._grids:
            if len(self._grids) >= 8:
                self._grids.clear()
            self._grids[count] = _Grid(self._n, count, joints, self._k, self._limits, self._kernels)
        return self._grids[count]

    def _check(self, path: JointTrajectory, grid: _Grid, s: Array) -> None:
        """Refuse a path that stands still or has a corner."""
        dq = grid.directions
        still = np.abs(dq).max(axis=1).argmin()
        if not np.abs(dq[still]).max() > STILL:
            raise InputError(f"the path stands still at s = {s[still]:.4g}: its derivative by s must not vanish")
        for k in np.flatnonzero(np.diff(s) == 0.0):
            if np.abs(dq[k + 1] - dq[k]).max() > CORNER * max(1.0, float(np.abs(dq[k]).max())):
                raise InputError(f"the path has a corner at s = {s[k]:.4g}: a motion along it would have to stop there")

    def _check_rest(self, grid: _Grid, s: Array) -> None:
        """Refuse a path on which the arm cannot stand still."""
        worst = int(grid.room.argmin())
        if grid.room[worst] > 0.0:
            return
        g, tau_max = grid.weights[worst], self._limits.tau_max
        j = int((np.abs(g) / tau_max).argmax())
        if abs(g[j]) < tau_max[j]:
            raise InputError(
                f"{self._n} intervals are too few near s = {s[worst]:.4g}: what the path bends between two points of"
                " the grid takes all of a limit"
            )
        raise InputError(
            f"the arm cannot stand still at s = {s[worst]:.4g}: {self._model.joint_names[j]} holds a weight of"
            f" {abs(g[j]):.4g}, allowed are {tau_max[j]:.4g}"
        )


class _Grid:
    """Arrays for paths with one number of pieces, and kernels bound to them.

    Node after node along the path; a knot between two pieces has two nodes, one of each, with an interval of length 0
    between them. The middles of the intervals follow behind the nodes.
    """

    def __init__(
        self,
        n: int,
        n_pieces: int,
        nv: int,
        k: int,
        limits: PathLimits,
        kernels: Mapping[str, LoopKernel],
    ) -> None:
        self._nv, self._wanted, self._n_pieces = nv, n, n_pieces
        width = max(kernel.width for kernel in kernels.values())
        self._most = n + 2 * n_pieces
        half = self._most + 1 + width
        half += -half % width
        size = 5 * nv + 3
        a_max = np.full(nv, FREE) if limits.a_max is None else limits.a_max
        self.arrays = {
            "s": np.zeros((2 * half, 1)),
            "coefficients": np.zeros((2 * half, 6 * nv)),
            "values": np.zeros((2 * half, size)),
            "bend": np.zeros((half, size)),
            "step": np.ones((half, 1)),
            **{name: np.zeros((half, k)) for name in ("alpha", "beta", "gamma", "eta")},
            **{name: np.zeros((half, 1)) for name in ("cap", "ceiling", "room", "reach", "speed")},
            **{"K": np.zeros(1), "x": np.zeros(1), "tool": np.zeros(TOOL)},
            **{"tau_max": limits.tau_max.copy(), "v_max": limits.v_max.copy(), "a_max": a_max.copy()},
            "tip_speed": np.array([limits.tip_speed]),
        }
        self._half, self._kernels = half, kernels
        self._n_intervals = 0
        self.calls: dict[str, Callable[[], float]] = {}

    def place(self, path: JointTrajectory) -> Array:
        """Spread nodes over the path; returns s of each, shape (n_intervals + 1,)."""
        lengths = np.diff(path.knots)
        counts = np.maximum(np.round(self._wanted * lengths / lengths.sum()), 1).astype(int)
        piece = np.repeat(np.arange(len(counts)), counts + 1)
        first = np.concatenate([[0], np.cumsum(counts + 1)[:-1]])
        D = (lengths / counts)[piece]
        t = (np.arange(len(piece)) - first[piece]) * D
        self._bind(len(piece) - 1)
        n, a, half = self._n_intervals, self.arrays, self._half
        a["s"][: n + 1, 0], a["s"][half : half + n + 1, 0] = t, t + 0.5 * D
        np.take(path.pieces.reshape(len(counts), -1), piece, axis=0, out=a["coefficients"][: n + 1])
        a["coefficients"][half : half + n + 1] = a["coefficients"][: n + 1]
        self._between = first[1:] - 1
        a["step"][:n, 0] = D[:-1]
        a["step"][self._between, 0] = 1.0
        s = path.knots[piece] + t
        s[self._between] = path.knots[1:-1]
        return s

    def _bind(self, n: int) -> None:
        if n == self._n_intervals:
            return
        if n > self._most:
            raise InputError(
                f"a path of {self._n_pieces} pieces in {self._wanted} intervals: more intervals are needed"
            )
        self._n_intervals = n
        a, half = self.arrays, self._half
        width = self._kernels["intervals"].width
        rounded = n + -n % width
        rows = {"start": a["values"][:half], "end": a["values"][1:half]}
        self.calls = {
            "points": self._kernels["points"].bind(a),
            "intervals": self._kernels["intervals"].bind({**a, **rows}, rounded),
            "backward": self._kernels["backward"].bind(a, n),
            "forward": self._kernels["forward"].bind({**a, "reach": a["reach"][1:]}, n),
        }

    @property
    def directions(self) -> Array:
        """``q'`` of the nodes, shape (n + 1, nv)."""
        return self.arrays["values"][: self._n_intervals + 1, 3 * self._nv : 4 * self._nv]

    @property
    def weights(self) -> Array:
        """Torque of gravity at the nodes, shape (n + 1, nv)."""
        return self.arrays["values"][: self._n_intervals + 1, 2 * self._nv : 3 * self._nv]

    @property
    def room(self) -> Array:
        """What is left of the limits at rest, in each interval, shape (n,)."""
        room = self.arrays["room"][: self._n_intervals, 0]
        room[self._between] = np.inf
        return room

    def measure(self) -> None:
        """Measure how far everything bends away from its chords: the largest of an interval and its neighbours."""
        a, n, half = self.arrays, self._n_intervals, self._half
        values = a["values"]
        bend = np.abs(values[half : half + n] - 0.5 * (values[:n] + values[1 : n + 1]))
        bend[self._between] = 0.0
        near = a["bend"][:n]
        near[:] = bend
        np.maximum(near[1:], bend[:-1], out=near[1:])
        np.maximum(near[:-1], bend[1:], out=near[:-1])

    def solve(self) -> Array:
        """Equations (1) and (2); returns x of the nodes, shape (n + 1,)."""
        a, n, between = self.arrays, self._n_intervals, self._between
        a["alpha"][between], a["beta"][between] = 1.0, 0.0
        a["gamma"][between], a["eta"][between] = 1.0, 0.0
        cap, ceiling = a["cap"][:n, 0], a["ceiling"][:n, 0]
        cap[between] = ceiling[between] = np.inf
        np.minimum(cap[1:], ceiling[:-1], out=cap[1:])
        a["alpha"][n - 1, -1], a["beta"][n - 1, -1] = 0.0, 1.0 / NEVER  # which ends at rest
        a["K"][0] = a["x"][0] = 0.0
        a["reach"][n] = 0.0
        self.calls["backward"]()
        self.calls["forward"]()
        return np.concatenate([[0.0], a["speed"][:n, 0]])


def _samples(loop: Loop, model: RobotModel) -> Mapping[str, Array]:
    """Rows to compare a kernel on."""
    rng = np.random.default_rng(0)
    samples = {name: rng.uniform(0.1, 1.0, loop.shape(name, size, 3)) for name, size in loop.law.inputs.items()}
    n = model.nv
    fixed = {"tool": tool_numbers(model.tree), "tau_max": np.full(n, 3.0), "a_max": np.full(n, 2.0)}
    if "bend" in samples:
        samples["bend"] *= 1e-3
        samples["step"] *= 1e-2
        samples["end"] = samples["start"] + samples["step"] * (samples["end"] - 0.5)
    return samples | {name: values for name, values in fixed.items() if name in samples}
