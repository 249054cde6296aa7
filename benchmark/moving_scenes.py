"""Random scenes of moving spheres, and which of them can be solved: a roadmap in space-time, without the planner.

The roadmap has random states, many of them near the start and the goal, at equally spaced times. From a state at a time
the arm may wait, or go to its nearest neighbours at a speed within the limits. Every motion from a state that has been
reached is checked; the goal at any time ends the search. What the roadmap reaches is feasible. Where it reaches nothing
after some time, every state of it is left without a way; at its resolution the scene is infeasible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from arm_control.collision import Validity
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.model import RobotModel
from arm_control.planning import Travel

N_SPHERES, RADIUS, SPEED = 20, 0.08, 0.3
"""Number of spheres, their radius [m] and the largest of each component of their velocity [m/s]."""
HORIZON = 6.0
"""Latest arrival [s]."""
SPREAD = 0.4
"""Standard deviation of states near the start and the goal [rad]."""


class Scene(NamedTuple):
    """Spheres that move, a start and a goal."""

    spheres: tuple[Obstacle, ...]
    start: Array
    goal: Array


def random_scenes(model: RobotModel, validity: Validity, travel: Travel, n: int, seed: int = 0) -> list[Scene]:
    """Draw scenes: the start is free, the goal at some time, and the straight motion at full speed is not free.

    Parameters
    ----------
    model : RobotModel
    validity : Validity
        Its obstacles change.
    travel : Travel
        Joint speeds, and the latest arrival.
    n : int
        How many.
    seed : int
        Of the random numbers.
    """
    rng, scenes = np.random.default_rng(seed), []
    times = np.linspace(1.0, travel.horizon, 24)
    while len(scenes) < n:
        places = rng.uniform(-0.9, 0.9, (N_SPHERES, 3)) + [0.0, 0.0, 0.5]
        velocities = rng.uniform(-SPEED, SPEED, (N_SPHERES, 3))
        spheres = tuple(
            Obstacle(Sphere(RADIUS), Pose(np.eye(3), p), np.array([*v, 0.0, 0.0, 0.0]))
            for p, v in zip(places, velocities, strict=True)
        )
        start, goal = rng.uniform(model.q_min, model.q_max, (2, model.nq))
        validity.place(spheres)
        if not validity.free_states(start[None])[0] or not validity.free_states([goal] * len(times), times).any():
            continue
        if not validity.free_motions(start[None], goal[None], 0.0, float(travel.need(goal - start)))[0]:
            scenes.append(Scene(spheres, start, goal))
    return scenes


def roadmap_reaches(
    validity: Validity, travel: Travel, scene: Scene, n: int = 600, n_times: int = 40, neighbours: int = 12
) -> tuple[bool, float]:
    """Whether a roadmap leads from the start to the goal; and the last time at which it is anywhere [s].

    Parameters
    ----------
    validity : Validity
        With the scene's obstacles.
    travel : Travel
        Joint speeds, and the latest arrival.
    scene : Scene
    n : int
        Random states of each of three kinds: anywhere, near the start, near the goal.
    n_times : int
        Steps of time.
    neighbours : int
        Nearest states to which a state is connected.
    """
    model, rng = validity.shape.model, np.random.default_rng(1)
    near = [rng.normal(q, SPREAD, (n // 4, model.nq)) for q in (scene.start, scene.goal)]
    anywhere = rng.uniform(model.q_min, model.q_max, (n, model.nq))
    states = np.clip(np.concatenate([[scene.start, scene.goal], *near, anywhere]), model.q_min, model.q_max)
    need = np.array([travel.need(states - q) for q in states])
    order = np.argsort(need, axis=1)[:, : neighbours + 1]  # the first one is the state itself: waiting
    order = np.concatenate([order, np.ones((len(states), 1), int)], axis=1)  # and the goal
    dt = travel.horizon / n_times
    steps = np.maximum(np.ceil(np.take_along_axis(need, order, axis=1) / dt), 1.0).astype(int)
    is_reached = np.zeros((n_times + 1, len(states)), bool)
    is_reached[0, 0] = True
    for k in range(n_times):
        i = np.flatnonzero(is_reached[k])
        if not len(i):
            return False, (k - 1) * dt
        begin, end, step = np.repeat(i, order.shape[1]), order[i].ravel(), steps[i].ravel()
        is_new = k + step <= n_times
        begin, end, step = begin[is_new], end[is_new], step[is_new]
        is_new = ~is_reached[k + step, end]
        begin, end, step = begin[is_new], end[is_new], step[is_new]
        if len(begin):
            free = validity.free_motions(states[begin], states[end], np.full(len(begin), k * dt), (k + step) * dt)
            is_reached[(k + step)[free], end[free]] = True
        if is_reached[:, 1].any():
            return True, k * dt
    return False, travel.horizon
