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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, pi
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Law, compile_law, plain_compiler
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, Scalar
from arm_control.motion import JointReference, Reference
from arm_control.primitives.discrete_law import END, DiscreteState, DiscreteTask, discrete_acceleration, discrete_step
from arm_control.primitives.obstacle_coupling import ObstacleCoupling, obstacle_force
from arm_control.primitives.orientation import rotation_motion
from arm_control.primitives.primitive import Place, Primitive
from arm_control.primitives.rhythmic_law import TURN, RhythmicState, RhythmicTask, rhythmic_acceleration, rhythmic_step

LONGEST_STEP = 1.0
"""A longer step is taken as one of this length [s]: a caller that was away must not make the motion leap."""


@dataclass(frozen=True)
class LiveLaw:
    """Sizes of a live step.

    Attributes
    ----------
    has_orientation : bool
        Whether the last three of six coordinates are a rotation vector.
    """

    kind: str
    n: int
    n_basis: int
    n_obstacles: int = 0
    has_orientation: bool = False

    @property
    def n_space(self) -> int:
        """Number of coordinates that obstacles act on."""
        return 3 if self.has_orientation else self.n

    @property
    def inputs(self) -> dict[str, int]:
        """Name and size of each input.

        ``state`` is the state of the law in a row, ``task`` its task without weights, ``numbers`` are dt and the
        slowing of the phase.
        """
        n = self.n
        sizes = (
            {"state": 1 + 5 * n, "task": 4 * n + 2} if self.kind == "discrete" else {"state": 3 + 3 * n, "task": n + 2}
        )
        sizes |= {"weights": n * self.n_basis, "numbers": 2}
        if self.has_orientation:
            sizes["R_ref"] = 9
        if self.n_obstacles:
            sizes |= {"obstacles": self.n_obstacles * (self.n_space + 2), "coupling": 3}
        return sizes

    def law(self) -> Law:
        """Return the law."""
        structure = [self.kind, self.n, self.n_basis, self.n_obstacles, self.has_orientation]
        return Law(f"{self.kind} primitive", partial(_live_step, self), self.inputs, structure, has_masses=False)

    def samples(self) -> dict[str, Array]:
        """Inputs to compare the kernel on: within the motion, at its end, dead ahead of an obstacle, at rest."""
        rng, k = np.random.default_rng(0), 4
        samples = {name: rng.uniform(-1.0, 1.0, (k, size)) for name, size in self.inputs.items()}
        samples["task"][:, -2:] = rng.uniform(0.5, 1.5, (k, 2))
        samples["numbers"][:] = [[0.01, 1.0], [0.02, 1.5], [0.1, 1.0], [0.01, 1.0]]
        n = self.n
        if self.kind == "discrete":
            samples["state"][:, 0] = 0.3, 0.99, 1.0, 0.0
        else:
            samples["state"][:, 0] = 0.1, 3.0, TURN - 1e-3, 0.0
            samples["state"][:, -2:] = rng.uniform(0.5, 1.5, (k, 2))
        samples["state"][3, 1 + n : 1 + 2 * n] = 0.0
        if self.n_obstacles:
            samples["coupling"][:] = 1000.0, 6.0, 0.3
            obstacles = samples["obstacles"].reshape(k, self.n_obstacles, -1)
            obstacles[:, :, -2:] = rng.uniform(0.1, 1.0, (k, self.n_obstacles, 2))
            y, v = samples["state"][1, 1 : 1 + n], samples["state"][1, 1 + n : 1 + 2 * n]
            obstacles[1, 0, : self.n_space] = (y + 2.0 * v)[: self.n_space]
            obstacles[2, 0, -1] = 0.0
        return samples


def _live_step(sizes: LiveLaw, x: Mapping[str, Array]) -> dict[str, Any]:
    """From inputs by name to the state after the step, and the reference there."""
    dt, slowing = x["numbers"]
    weights = x["weights"].reshape(sizes.n, sizes.n_basis)
    if sizes.kind == "discrete":
        state, y, v, a = _discrete(sizes, x, weights, dt, slowing)
    else:
        state, y, v, a = _rhythmic(sizes, x, weights, dt, slowing)
    if not sizes.has_orientation:
        return {"state": state, "q": y, "v": v, "a": a}
    R, omega, alpha = rotation_motion(y[3:], v[3:], a[3:])
    return {
        "state": state,
        "R": R @ x["R_ref"].reshape(3, 3),
        "p": y[:3],
        "V": np.append(v[:3], omega),
        "A": np.append(a[:3], alpha),
    }


def _discrete(sizes: LiveLaw, x: Mapping[str, Array], weights: Array, dt: Scalar, slowing: Scalar) -> tuple[Array, ...]:
    n = sizes.n
    before = DiscreteState(x["state"][0], *x["state"][1:].reshape(5, n))
    y_0, v_0, v_g, goal = x["task"][: 4 * n].reshape(4, n)
    task = DiscreteTask(y_0, v_0, v_g, goal, weights, *x["task"][4 * n :])
    C = _coupling(sizes, x, before.y, before.v, task.T)
    after = discrete_step(before, task, dt, slowing, C)
    a = discrete_acceleration(after, task, slowing, _coupling(sizes, x, after.y, after.v, task.T))
    return np.concatenate([[after.s], *after[1:]]), after.y, after.v, a


def _rhythmic(sizes: LiveLaw, x: Mapping[str, Array], weights: Array, dt: Scalar, slowing: Scalar) -> tuple[Array, ...]:
    n = sizes.n
    before = RhythmicState(x["state"][0], *x["state"][1:-2].reshape(3, n), *x["state"][-2:])
    task = RhythmicTask(x["task"][:n], weights, *x["task"][n:])
    C = _coupling(sizes, x, before.y, before.v, before.P / TURN)
    after = rhythmic_step(before, task, dt, slowing, C)
    a = rhythmic_acceleration(after, task, _coupling(sizes, x, after.y, after.v, after.P / TURN))
    return np.concatenate([[after.phi], *after[1:4], after[4:]]), after.y, after.v, a


def _coupling(sizes: LiveLaw, x: Mapping[str, Array], y: Array, v: Array, tau: Scalar) -> Array:
    """C of all coordinates; obstacles do not turn an orientation."""
    if not sizes.n_obstacles:
        return np.zeros(sizes.n)
    n = sizes.n_space
    C = obstacle_force(y[:n], v[:n], x["obstacles"].reshape(sizes.n_obstacles, n + 2), x["coupling"], tau)
    return np.append(C, np.zeros(sizes.n - n))


class PrimitiveRun:
    """A primitive on its way.

    Parameters
    ----------
    phase_stopping : float
        k_e: the phase runs at ``1 / (1 + k_e e^2)`` of its speed while the tracking error is e.
    **begin
        Start, goal, duration and so on: arguments of :meth:`.Primitive.rollout` but for the times.

    Raises
    ------
    InputError
        When a shape is wrong, a number is not finite, or there are obstacles in one dimension.
    """

    def __init__(
        self,
        primitive: Primitive,
        *,
        phase_stopping: float = 0.0,
        n_obstacles: int = 0,
        coupling: ObstacleCoupling = ObstacleCoupling(),  # noqa: B008 - frozen
        **begin: Any,
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
        self.restart(**begin)

    def restart(self, **begin: Any) -> None:
        """Begin anew, with what is compiled already; arguments and errors are those of the class."""
        one, n = self.primitive, self.primitive.size
        first = one.rollout([0.0], **begin)
        y_g, self._quat = one.places(begin.get("start"), begin.get("goal"))[1:]
        if first.R_ref is not None:
            self._inputs["R_ref"][:] = first.R_ref.ravel()
        given = {name: value for name, value in begin.items() if value is not None}
        T, amplitude = float(given.get("duration", one.duration)), given.get("amplitude", 1.0)
        q, v = first.q[0], first.v[0]
        if one.kind == "discrete":
            v_g = np.asarray(given.get("final_velocity", one.final_velocity), dtype=float)
            self._state[:] = np.concatenate([[0.0], q, v, y_g, np.zeros(2 * n)])
            self._task[:] = np.concatenate([q, v, v_g, y_g, [T, amplitude]])
            self._goal = self._task[3 * n : 4 * n]
        else:
            phase = given.get("phase", 0.0) % (2.0 * pi)
            self._state[:] = np.concatenate([[phase], q, v, y_g, [amplitude, T]])
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
        """Move the goal, or the centre; an InputError where its shape is wrong or a number is not finite."""
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
        """Replace the obstacles: centres (3,) or (n,) in coordinates of the position; a radius of 0 makes a point.

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

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that brings the run back to where it is now."""
        inputs = [self._inputs[name] for name in ("state", "task", "R_ref") if name in self._inputs]
        before, last, quat = [values.copy() for values in inputs], self._last, self._quat

        def go_back() -> None:
            for values, old in zip(inputs, before, strict=True):
                values[:] = old
            self._last, self._quat = last, quat

        return go_back

    def preview(self, durations: float, n: int) -> tuple[Array, list[JointReference | Reference]]:
        """Return n times from now on [s], up to some durations or periods, and the references; the run stays here."""
        go_back, dt = self.checkpoint(), min(durations * self.duration / n, LONGEST_STEP)
        references = [self.step(dt) for _ in range(n)]
        go_back()
        return dt * np.arange(1, n + 1), references

    def step(self, dt: float, error: float = 0.0) -> JointReference | Reference:
        """Return the reference after a time dt since the last step [s], in the primitive's frame.

        Where dt is zero or less, the motion waits; the tracking error is for phase stopping [rad or m].

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
