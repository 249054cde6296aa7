"""Ways out of capsules: from a state that is free by the shapes of the links only, to states whose capsules are free.

Trees grow where capsules are free. A start or a goal whose capsules touch, though the meshes in them do not, is an end
of the path, and the motion between it and a root of the tree is proved by the shapes
(:mod:`arm_control.collision.shape_proof`):

    for one radius after the other:   of random states at most that far away those whose capsules are free, the nearest
                                      first; a few of them are tried
"""

from __future__ import annotations

import numpy as np

from arm_control.collision import Validity
from arm_control.maths import Array
from arm_control.planning.joint_space import SearchSpace

RADII = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Largest distances of each joint, divided by its weight [rad or m]."""
SAMPLES, TRIES, ENOUGH, MOST_STATES = 64, 4, 3, 4
"""Random states of a radius, those of them that are tried, ways that are enough, and states whose ways are searched."""


def ways_out(validity: Validity, space: SearchSpace, q: Array, seed: int = 0) -> Array:
    """States with free capsules to which the motion from a state, shape (n,), is proved: shape (k, n) [rad or m]."""
    found: list[Array] = []
    rng = np.random.default_rng([seed, 41])
    for radius in RADII if validity.free_by_shapes(q[None], q[None])[0] else ():
        steps = rng.uniform(-radius, radius, (SAMPLES, len(q))) / space.weights
        states = np.clip(q + steps, space.model.q_min, space.model.q_max)
        free = states[validity.free_states(states)]
        near = free[np.argsort(space.lengths(free - q), kind="stable")][:TRIES]
        found += [state for state in near if validity.free_by_shapes(q[None], state[None])[0]]
        if len(found) >= ENOUGH:
            break
    return np.array(found).reshape(-1, len(q))


def free_roots(validity: Validity, space: SearchSpace, states: Array, seed: int = 0) -> tuple[Array, Array]:
    """Those of states, shape (k, n), that are free, or else the ends of their ways out; and the state of each."""
    free = np.flatnonzero(validity.free_states(states))
    if len(free):
        return states[free], states[free]
    ways = [ways_out(validity, space, q, seed) for q in states[:MOST_STATES]]
    origins = [np.tile(q, (len(way), 1)) for q, way in zip(states, ways, strict=False)]
    return np.concatenate(ways), np.concatenate(origins)
