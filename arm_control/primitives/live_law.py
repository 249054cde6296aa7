"""One live step of a primitive as a law for the compiler: state, wishes and obstacles in, reference out.

The maths is in :mod:`~arm_control.primitives.discrete_law`,
:mod:`~arm_control.primitives.rhythmic_law`, :mod:`~arm_control.primitives.obstacle_coupling` and
:mod:`~arm_control.primitives.orientation`; here it is put together, and numbers get their places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from arm_control.compiler import Law
from arm_control.maths import Array, Scalar
from arm_control.primitives.discrete_law import (
    DiscreteState,
    DiscreteTask,
    discrete_acceleration,
    discrete_step,
)
from arm_control.primitives.obstacle_coupling import obstacle_force
from arm_control.primitives.orientation import rotation_motion
from arm_control.primitives.rhythmic_law import (
    TURN,
    RhythmicState,
    RhythmicTask,
    rhythmic_acceleration,
    rhythmic_step,
)


@dataclass(frozen=True)
class LiveLaw:
    """Sizes of a live step.

    Attributes
    ----------
    kind : "discrete" or "rhythmic"
    n, n_basis : int
        Number of coordinates and of basis functions.
    n_obstacles : int
        Number of obstacles at most.
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
