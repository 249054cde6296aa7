"""A primitive that runs: one step a tick, changed from outside while it runs.

    >>> from arm_control.primitives.demonstration import Demonstration
    >>> t = np.linspace(0.0, 1.0, 101)
    >>> primitive = Primitive.learn(Demonstration(t, np.column_stack([np.sin(np.pi * t / 2) ** 2, t**2 * (3 - 2 * t)])))
    >>> run = PrimitiveRun(primitive, start=[0.1, 0.2])
    >>> for k in range(2500):
    ...     if k == 500:
    ...         run.set_goal([1.5, 2.0])
    ...     reference = run.step(1e-3)
    >>> reference.q_des.round(6), run.is_done
    (array([1.5, 2. ]), True)

The laws are :mod:`~arm_control.primitives.discrete_law` and :mod:`~arm_control.primitives.rhythmic_law`.
Position and velocity are their states: whatever is changed between two steps, neither jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, pi
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arm_control.compiler import compile_law, plain_compiler
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.motion import JointReference, Reference
from arm_control.primitives.discrete_law import END
from arm_control.primitives.live_law import LiveLaw
from arm_control.primitives.obstacle_coupling import ObstacleCoupling
from arm_control.primitives.primitive import Place, Primitive

LONGEST_STEP = 1.0
"""A longer step is taken as one of this length [s]: a caller that was away must not make the motion leap."""


class RunSnapshot(NamedTuple):
    """All numbers of a run at one moment.

    Attributes
    ----------
    state, task : ndarray
        State and task of the law, in a row.
    reference : JointReference or Reference
        The present reference.
    quat_xyzw : ndarray, shape (4,), or None
        Reference orientation.
    R_ref : ndarray, shape (9,), or None
        The same as a matrix, row by row.
    """

    state: Array
    task: Array
    reference: JointReference | Reference
    quat_xyzw: Array | None
    R_ref: Array | None


class PrimitiveRun:
    """A primitive on its way.

    Parameters
    ----------
    primitive : Primitive
    start, goal : Pose or array_like, shape (n,), optional
        Start, and goal or centre; as learned by default.
    duration : float, optional
        Duration, or period [s]; as learned by default.
    amplitude : float
        Factor of the shape.
    start_velocity, final_velocity : array_like, shape (n,), optional
        Velocity at the start, by default at rest or that of the cycle; and at the goal, as learned by default.
    phase : float
        Phase of a cycle at the start [rad].
    phase_stopping : float
        k_e: the phase runs at ``1 / (1 + k_e e^2)`` of its speed while the tracking error is e.
    n_obstacles : int
        Largest number of obstacles.
    coupling : ObstacleCoupling
        How strongly they turn the motion.

    Attributes
    ----------
    is_compiled : bool
        Whether the step is machine code.

    Raises
    ------
    InputError
        When a shape is wrong, a number is not finite, or there are obstacles in one dimension.
    """

    def __init__(
        self,
        primitive: Primitive,
        *,
        start: Place | None = None,
        goal: Place | None = None,
        duration: float | None = None,
        amplitude: float = 1.0,
        start_velocity: npt.ArrayLike | None = None,
        final_velocity: npt.ArrayLike | None = None,
        phase: float = 0.0,
        phase_stopping: float = 0.0,
        n_obstacles: int = 0,
        coupling: ObstacleCoupling = ObstacleCoupling(),  # noqa: B008 - frozen
    ) -> None:
        n, is_pose = primitive.size, primitive.quat_xyzw is not None
        if n_obstacles and n < 2:
            raise InputError("obstacles in one dimension cannot be passed: two coordinates at least are needed")
        if not 0.0 <= phase_stopping < np.inf:
            raise InputError(f"phase_stopping = {phase_stopping}: a number that is not negative is needed")
        self.primitive, self._k_e = primitive, float(phase_stopping)
        self._duration, self._amplitude = (-2, -1) if primitive.kind == "discrete" else (-1, -2)  # entries of the task
        sizes = LiveLaw(primitive.kind, n, primitive.n_basis, n_obstacles, is_pose)
        kernel = compile_law(plain_compiler(), sizes.law(), sizes.samples())
        self.is_compiled = kernel.is_compiled
        self._call, self._sizes = kernel.call, sizes
        self._inputs, self._state = kernel.inputs, kernel.inputs["state"]
        self._state_after, self._numbers, self._task = (
            kernel.outputs["state"],
            kernel.inputs["numbers"],
            kernel.inputs["task"],
        )
        self._inputs["weights"][:] = primitive.weights.ravel()
        if n_obstacles:
            self._inputs["coupling"][:] = coupling.numbers()
        self._copies = [view.copy for name, view in kernel.outputs.items() if name != "state"]
        self.restart(
            start=start,
            goal=goal,
            duration=duration,
            amplitude=amplitude,
            start_velocity=start_velocity,
            final_velocity=final_velocity,
            phase=phase,
        )

    def restart(
        self,
        *,
        start: Place | None = None,
        goal: Place | None = None,
        duration: float | None = None,
        amplitude: float = 1.0,
        start_velocity: npt.ArrayLike | None = None,
        final_velocity: npt.ArrayLike | None = None,
        phase: float = 0.0,
    ) -> None:
        """Begin anew, with what is compiled already; arguments and errors are those of the class."""
        one, n = self.primitive, self.primitive.size
        first = one.rollout(
            [0.0],
            start=start,
            goal=goal,
            duration=duration,
            amplitude=amplitude,
            start_velocity=start_velocity,
            final_velocity=final_velocity,
            phase=phase,
        )
        y_g, self._quat = one.places(start, goal)[1:]
        if first.R_ref is not None:
            self._inputs["R_ref"][:] = first.R_ref.ravel()
        T = one.duration if duration is None else float(duration)
        q, v = first.q[0], first.v[0]
        if one.kind == "discrete":
            v_g = one.final_velocity if final_velocity is None else np.asarray(final_velocity, dtype=float)
            self._state[:] = np.concatenate([[0.0], q, v, y_g, np.zeros(2 * n)])
            self._task[:] = np.concatenate([q, v, v_g, y_g, [T, amplitude]])
            self._goal = self._task[3 * n : 4 * n]
        else:
            self._state[:] = np.concatenate([[phase % (2.0 * pi)], q, v, y_g, [amplitude, T]])
            self._task[:] = np.concatenate([y_g, [amplitude, T]])
            self._goal = self._task[:n]
        self._last: JointReference | Reference
        self._last = first.joint_reference(0) if first.R_ref is None else first.reference(0)

    @property
    def phase(self) -> float:
        """Phase: from 0 to 1, or the angle of a cycle [rad]."""
        return float(self._state[0])

    @property
    def is_done(self) -> bool:
        """Whether the end of a discrete motion is reached; a cycle has none."""
        return self.primitive.kind == "discrete" and bool(self._state[0] >= END)

    @property
    def duration(self) -> float:
        """Duration, or period, that was set last [s]."""
        return float(self._task[self._duration])

    @property
    def goal(self) -> Array:
        """Goal, or centre, that was set last, shape (n,)."""
        return self._goal.copy()

    @property
    def amplitude(self) -> float:
        """Factor of the shape that was set last."""
        return float(self._task[self._amplitude])

    def set_goal(self, goal: Place) -> None:
        """Move the goal, or the centre.

        Parameters
        ----------
        goal : Pose or array_like, shape (n,)

        Raises
        ------
        InputError
            When its shape is wrong or a number is not finite.
        """
        self._goal[:] = self.primitive.coordinates(goal, self._quat, self._goal)

    def set_amplitude(self, amplitude: float) -> None:
        """Change the factor of the shape."""
        if not isfinite(amplitude):
            raise InputError(f"amplitude = {amplitude}: a finite number is needed")
        self._task[self._amplitude] = amplitude

    def set_duration(self, duration: float) -> None:
        """Change the duration, or the period [s]."""
        if not 0.0 < duration < np.inf:
            raise InputError(f"duration = {duration}: a positive time [s] is needed")
        self._task[self._duration] = duration

    def set_obstacles(self, centres: Sequence[npt.ArrayLike] | Array, radii: Sequence[float] | Array) -> None:
        """Put obstacles in the place of those before.

        Parameters
        ----------
        centres : sequence of array_like, shape (3,) or (n,)
            Centres, in coordinates of the position.
        radii : sequence of float
            Radii; 0 for a point.

        Raises
        ------
        InputError
            When there are more than the run has room for, a shape is wrong, or a number is not finite.
        """
        k, n = self._sizes.n_obstacles, self._sizes.n_space
        if len(centres) != len(radii) or len(centres) > k:
            raise InputError(f"{len(centres)} centres, {len(radii)} radii; allowed: the same number, at most {k}")
        if not k:
            return
        rows = np.zeros((k, n + 2))
        for row, centre, radius in zip(rows, centres, radii, strict=False):
            place = np.asarray(centre, dtype=float)
            if place.shape != (n,) or not np.isfinite(place).all() or not 0.0 <= radius < np.inf:
                raise InputError(f"obstacle {place.tolist()} of radius {radius}: {n} finite numbers are needed")
            row[:n], row[n], row[n + 1] = place, radius, 1.0
        self._inputs["obstacles"][:] = rows.ravel()

    def snapshot(self) -> RunSnapshot:
        """Return all that :meth:`restore` needs to go back here."""
        R_ref = self._inputs["R_ref"].copy() if "R_ref" in self._inputs else None
        return RunSnapshot(self._state.copy(), self._task.copy(), self._last, self._quat, R_ref)

    def restore(self, snapshot: RunSnapshot) -> None:
        """Go back to where a snapshot was taken."""
        self._state[:], self._task[:], self._last = snapshot.state, snapshot.task, snapshot.reference
        self._quat = snapshot.quat_xyzw
        if snapshot.R_ref is not None:
            self._inputs["R_ref"][:] = snapshot.R_ref

    def preview(self, durations: float, n: int) -> tuple[Array, list[JointReference | Reference]]:
        """Return what comes if nothing is changed; the run stays where it is.

        Parameters
        ----------
        durations : float
            How far, in durations or periods.
        n : int
            Number of moments.

        Returns
        -------
        ndarray, shape (n,)
            Times from now on [s].
        list of JointReference or Reference
            The references there.
        """
        before, dt = self.snapshot(), min(durations * self.duration / n, LONGEST_STEP)
        references = [self.step(dt) for _ in range(n)]
        self.restore(before)
        return dt * np.arange(1, n + 1), references

    def step(self, dt: float, error: float = 0.0) -> JointReference | Reference:
        """Return the reference after a time, in the primitive's frame.

        Parameters
        ----------
        dt : float
            Time since the last step [s]; zero or less: the motion waits.
        error : float
            Tracking error, for phase stopping [rad or m].

        Returns
        -------
        JointReference or Reference
            A Reference for a primitive with an orientation.

        Raises
        ------
        InputError
            When a number is not finite.
        """
        if not dt <= 0.0:
            self._numbers[0] = min(dt, LONGEST_STEP)
            self._numbers[1] = 1.0 + self._k_e * error * error
            if self._call():
                raise InputError(f"dt = {dt}, error = {error}: finite numbers are needed")
            self._state[...] = self._state_after
            self._last = self._read()
        return self._last

    def _read(self) -> JointReference | Reference:
        """The reference in the state at hand."""
        if not self._sizes.has_orientation:
            q, v, a = self._copies
            return JointReference(q(), v(), a())
        R, p, V, A = self._copies
        return Reference(Pose(R(), p()), V(), A())
