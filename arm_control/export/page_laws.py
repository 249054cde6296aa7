"""Laws of a page in the browser that no controller has: avoidance of one ball, and what fades at a singularity.

The ball is avoided by the texts of :mod:`arm_control.control.avoidance_law`, in one straight program: the nearest point
of every link is computed in every tick, and what is beyond the threshold counts nothing. Links do not avoid each other,
and the ball rests.

The directions of :mod:`arm_control.control.osc.task_inertia` and their shares, of a task with all its rows, are what
that law computes on its way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arm_control.compiler import Law
from arm_control.control import (
    OperationalSpaceController,
    inverse_factors,
    pair_repulsion,
    row_scales,
    shorten_torque,
    takeover_torque,
)
from arm_control.maths import Array, Pose, Scalar, eigen_symmetric, maximum, minimum, select, sqrt, to_point
from arm_control.model import LinkCapsule, RobotModel, State, jacobian, link_capsules

BALL = 4
"""Numbers of a ball: its centre and its radius [m]."""
FAR = 10.0
"""Distance of a ball that nothing is near to [m]."""


def avoided_links(model: RobotModel) -> dict[str, list[LinkCapsule]]:
    """Return the capsules of the links that move, by their names."""
    links: dict[str, list[LinkCapsule]] = {}
    for capsule in link_capsules(model.urdf)[0]:
        if model.tree.frames[capsule.link].body >= 0:
            links.setdefault(capsule.link, []).append(capsule)
    return links


def ball_law(model: RobotModel, n_numbers: int) -> Law:
    """Return avoidance of a ball: the torque of a task to that of both, ``share`` of the task and the distance.

    The second of so many numbers of avoidance is the threshold.
    """
    n, tree, links = model.nv, model.tree, avoided_links(model)

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        state, ball = State(tree, {"q": x["q"]}), x["ball"]
        pair = {"v": x["v"], "numbers": x["avoidance"], **inverse_factors(x)}
        pair |= {"twist": np.zeros(6), "sign": np.ones(n), "is_self": np.zeros(1)}
        tau, escape, share, distance = np.zeros(n), np.zeros(n * (n + 1) // 2), 1.0, FAR
        for link, capsules in links.items():
            rho, normal, p = _nearest(state.X_WF(link), capsules, ball)
            axes = jacobian(tree, state.X_W, tree.frames[link].body, np.zeros(3)).reshape(-1)
            at_point = {"rho": np.array([rho]), "n": normal, "p": p, "axes": axes}
            push, left = pair_repulsion({**pair, **at_point}, np.eye(n)), x["avoidance"][1] - rho
            tau, escape = tau + select(left, push["obstacles"], 0.0), escape + select(left, push["escape"], 0.0)
            share, distance = minimum(share, select(left, push["share"][0], 1.0)), minimum(distance, rho)
        instead = takeover_torque({**x, "escape": escape})["takeover"]
        task = share * x["tau"] + (1.0 - share) * instead
        torques = {"links": np.zeros(n), "obstacles": tau, "other": task - x["h"]}
        push = shorten_torque({**x, **pair, **torques})["tau"]
        return {"tau": task + push, "tau_avoid": push, "share": np.array([share]), "distance": np.array([distance])}

    sizes = {"q": n, "v": n, "M": n * n, "h": n, "J": 6 * n, "tau": n, "tau_max": n, "floor": n, "V_max": 2}
    return Law("avoidance of a ball", compute, {**sizes, "ball": BALL, "avoidance": n_numbers, "damping": 1})


def _nearest(X: Pose, capsules: Sequence[LinkCapsule], ball: Array) -> tuple[Scalar, Array, Array]:
    """Distance of a link from a ball, the normal, and the link's nearest point on the segments of its capsules."""
    rho, normal, p = FAR, np.zeros(3), np.zeros(3)
    for c in capsules:
        near = to_point(X.R @ c.a + X.p, X.R @ c.b + X.p, ball[:3])
        nearer = rho - (near.distance - c.radius - ball[3])
        normal, p = select(nearer, near.normal, normal), select(nearer, near.p, p)
        rho = select(nearer, near.distance - c.radius - ball[3], rho)
    return rho, normal, p


def fading_law(model: RobotModel, page: OperationalSpaceController) -> Law:
    """Return singular values [m], the shares of their directions, and these directions, scaled as the rows."""
    rows, n = page.structure.rows, model.nv

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        gains = page.gains(x["numbers"])
        SJ = row_scales(gains.length, rows)[:, None] * x["J"].reshape(6, n)[rows]
        values, U = eigen_symmetric(SJ @ SJ.T)
        sigma = np.array([sqrt(maximum(value, 0.0)) for value in values])
        y = np.array([select(gains.singular_value - s, s / gains.singular_value, 1.0) for s in sigma])
        return {"sigma": sigma, "shares": y * y * (3.0 - 2.0 * y), "directions": U.T}

    return Law("what fades", compute, {"J": 6 * n, "numbers": len(page.numbers)})


def frames_law(model: RobotModel) -> Law:
    """Return the pose of every link, R and p, in the order of the model's frames."""
    return Law("frames", lambda x: {"frames": State(model.tree, x).frames}, {"q": model.nv})


def motion_terms(model: RobotModel) -> Law:
    """Return mass matrix and bias."""

    def compute(x: Mapping[str, Array]) -> dict[str, Any]:
        state = State(model.tree, x)
        return {"M": state.M, "h": state.h}

    return Law("terms of a prediction", compute, {"q": model.nv, "v": model.nv, "tool": 22})
