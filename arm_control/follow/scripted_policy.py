"""Chunks as a learned policy sends them, without one: of a known intent, late, irregular, contradicting each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.maths import Array
from arm_control.motion import Chunk, JointReference, JointTrajectory, Waypoints


class Script(NamedTuple):
    """How a policy sends chunks.

    Attributes
    ----------
    rate, point_rate : float
        Chunks, and points of a chunk, in a second [Hz].
    jitter : float
        Largest change of the time between two chunks, as a share of it.
    latency : float
        Largest time from an observation to its chunk [s].
    lost, repeated, swapped : float
        Share of chunks that never come, come twice, or come behind a newer one.
    offset : float
        Largest distance of a chunk from the intent [rad or m].
    """

    rate: float = 15.0
    point_rate: float = 30.0
    n_points: int = 30
    jitter: float = 0.3
    latency: float = 0.3
    lost: float = 0.05
    repeated: float = 0.05
    swapped: float = 0.05
    offset: float = 0.04


def scripted_chunks(
    intent: Callable[[Array], Array], duration: float, seed: int, script: Script | None = None
) -> list[tuple[int, Chunk]]:
    """Return chunks, and when each comes [ns].

    Parameters
    ----------
    intent : callable
        Returns positions, shape (k, nv) [rad or m], at times, shape (k,), from 0 on [s].
    duration : float
        Time until the last chunk [s].
    """
    s, rng = Script() if script is None else script, np.random.default_rng(seed)
    step_ns, period_ns = round(NANOSECONDS / s.point_rate), NANOSECONDS / s.rate
    times = np.arange(1, s.n_points + 1) * (step_ns / NANOSECONDS)
    chunks: list[tuple[int, Chunk]] = []
    now_ns = newest_ns = 0
    while True:
        now_ns += round(period_ns * rng.uniform(1.0 - s.jitter, 1.0 + s.jitter))
        observed_ns = now_ns - round(rng.uniform(0.0, s.latency) * NANOSECONDS)
        observed_ns = max(observed_ns // step_ns, 1) * step_ns  # 0 would mean now
        if rng.uniform() >= s.swapped:
            observed_ns = newest_ns = min(max(observed_ns, newest_ns + step_ns), now_ns // step_ns * step_ns)
        points = intent(observed_ns / NANOSECONDS + times)
        points = points + rng.uniform(-s.offset, s.offset, points.shape[1])
        kind = rng.uniform()
        if now_ns > duration * NANOSECONDS:
            return chunks
        if kind >= s.lost:
            chunks.append((now_ns, Chunk(observed_ns, times, points)))
        if kind >= 1.0 - s.repeated:
            chunks.append((now_ns + 1_000_000, chunks[-1][1]))


def chunks_along(points: Waypoints, q: Array, duration: float = math.inf) -> list[tuple[int, Chunk]]:
    """Return the chunks of a policy that means a trajectory, from rest at q, (nv,); see :func:`scripted_chunks`."""
    trajectory = JointTrajectory.through(JointReference.at_rest(q), points)

    def intent(times: Array) -> Array:
        return np.array([trajectory.sample(float(t)).q_des for t in times])

    return scripted_chunks(intent, min(duration, trajectory.duration), seed=0)
