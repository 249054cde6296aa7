"""Stepping towards a target by the transposed Jacobian, for arms that take positions only.

    python examples/jacobian_transpose.py

With the position p of the end effector [m], its linear Jacobian ``J_p`` [m or 1], the step size alpha [-] and the
stiffness k_p [rad/m^2],

    (1)  dx = p_target - p(q)
    (2)  q <- q + alpha k_p J_p^T dx

is a gradient step down ``|dx|^2 / 2``. Where J_p changes little, ``dx <- (1 - alpha k_p J_p J_p^T) dx``: a step
brings the arm nearer only while

    (3)  alpha k_p lambda_max(J_p J_p^T) < 2.

The gain of each step is lowered to keep (3) with room to spare, so no choice of gains makes the arm swing. Near a
singularity a direction becomes slow; nothing grows.

Source: L. Sciavicco and B. Siciliano, "A solution algorithm to the inverse kinematic problem for redundant
manipulators", 1988.
"""

from __future__ import annotations

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array

ALPHA = 1e-3
"""Size of a step."""
STABILITY = 1.0
"""Largest alpha k_p lambda_max(J J^T); 2 is unstable."""
LARGEST_STEP = 0.05
"""Largest change of a joint in one step [rad or m]."""
TOLERANCE, MOST_STEPS = 1e-3, 10_000
"""Distance that counts as reached [m]; steps after which to give up."""


def step(
    model: RobotModel,
    q: Array,
    p_target: Array,
    kp: float,
    stability: float = STABILITY,
    largest_step: float = LARGEST_STEP,
) -> Array:
    """Return the next joint positions, equations (1) to (3); joints stay within their limits."""
    dx = p_target - model.pose(q).p  # (1)
    J_p = model.jacobian(q)[:3]
    gain = min(ALPHA * kp, stability / max(float(np.linalg.eigvalsh(J_p @ J_p.T)[-1]), 1e-12))  # (3)
    dq = gain * J_p.T @ dx  # (2)
    dq *= min(1.0, largest_step / max(float(np.abs(dq).max()), 1e-12))
    return np.clip(q + dq, model.q_min, model.q_max)


def solve(model: RobotModel, q: Array, p_target: Array, kp: float) -> tuple[Array, int, float]:
    """Step until the target is reached or the steps are used up; return positions, steps and remaining distance [m]."""
    for steps in range(MOST_STEPS + 1):
        distance = float(np.linalg.norm(p_target - model.pose(q).p))
        if distance < TOLERANCE or steps == MOST_STEPS:
            return q, steps, distance
        q = step(model, q, p_target, kp)
    raise AssertionError


def main() -> None:
    """Print the steps of a UR5 over 0.22 m, by stiffness."""
    model = RobotModel.from_urdf(urdf_path("ur5"))
    q, p_target = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]), np.array([0.4, 0.2, 0.4])
    for kp in (1.0, 100.0, 1e3, 1e5):
        _, steps, distance = solve(model, q, p_target, kp)
        print(f"k_p = {kp:g}: {steps} steps, {1e3 * distance:.1f} mm left")


if __name__ == "__main__":
    main()
