"""Problems that the planners' tests share: those of Tassa 2014, reaches of planar arms, random linear ones."""

from __future__ import annotations

from functools import partial

import numpy as np
from any_system import UserDynamics
from scipy.linalg import expm

from arm_control import RobotModel, urdf_path
from arm_control.maths import Array, rotation_from_vector
from arm_control.optimal import (
    Costs,
    Term,
    barrier,
    control_error,
    limit_distance,
    obstacle_distance,
    orientation_error,
    position_error,
    smooth_abs,
    state_error,
)

CAR_START = np.array([1.0, 1.0, 1.5 * np.pi, 0.0])
CAR_LIMITS = np.array([0.5, 2.0])
UR5_HOME = np.array([0.0, -1.2, 1.2, -1.0, -1.57, 0.0])


def car_step(x: Array, u: Array, h: float = 0.03) -> Array:
    """A car with its axles d apart: x is (x, y, heading, speed), u the angle of its front wheels and acceleration."""
    d = 2.0
    heading, speed, wheel = x[..., 2], x[..., 3], u[..., 0]
    f = h * speed  # what a front wheel rolls
    b = d + f * np.cos(wheel) - np.sqrt(d * d - (f * np.sin(wheel)) ** 2)  # a rear wheel
    turn = np.arcsin(np.sin(wheel) * f / d)
    return x + np.stack([b * np.cos(heading), b * np.sin(heading), turn, h * u[..., 1]], axis=-1)


def car(second_order: bool = False, period: float = 0.03) -> tuple[UserDynamics, Costs]:
    """Park at the origin, heading along x; a step takes so long [s]."""
    final = [
        Term(state_error([0.0] * 4), terminal=c, scale=np.eye(4)[i], form=smooth_abs(p))
        for i, (c, p) in enumerate(zip((0.1, 0.1, 1.0, 0.3), (0.01, 0.01, 0.01, 1.0), strict=True))
    ]
    control = Term(control_error([0.0, 0.0]), running=2e-2, scale=[1.0, 0.01])  # 1e-2 u^2, not half of it
    running = Term(state_error([0.0, 0.0]), running=1e-3, form=smooth_abs(0.1))
    return UserDynamics(partial(car_step, h=period), 4, 2, second_order=second_order), Costs(control, *final, running)


def random_linear(seed: int, n: int = 10, m: int = 2, h: float = 0.01) -> tuple[UserDynamics, Costs, Array, Array]:
    """Turning and not controlled along all axes: dynamics, costs, A and B."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((n, n))
    A, B = expm(h * (S - S.T)), h * rng.standard_normal((n, m))
    linear = UserDynamics(lambda x, u: x @ A.T + u @ B.T, n, m)
    costs = Costs(
        Term(state_error(np.zeros(n)), running=h, terminal=h), Term(control_error(np.zeros(m)), running=0.1 * h)
    )
    return linear, costs, A, B


def everything(model: RobotModel, frame: str) -> Costs:
    """Every kind of cost at once, for a UR5 about its home."""
    p, R = model.pose(UR5_HOME).p, model.pose(UR5_HOME).R
    return Costs(
        Term(control_error(np.ones(6)), running=1e-4),
        Term(state_error(np.linspace(-1, 1, 12)), running=0.02, terminal=0.5, scale=np.linspace(0.1, 1, 12)),
        Term(position_error(p + [-0.1, 0.2, 0.1]), running=0.3, terminal=50.0, scale=[1.0, 2.0, 3.0]),
        Term(position_error(p, frame, (0.01, 0.02, 0.03)), running=0.1, form=smooth_abs(0.05)),
        Term(orientation_error(rotation_from_vector([0.3, -0.2, 0.5]) @ R), running=0.1, terminal=5.0),
        Term(limit_distance(UR5_HOME - 0.8, UR5_HOME + 0.8), running=0.1, terminal=0.1, form=barrier(1.0)),
        Term(obstacle_distance(p + [0.0, 0.15, 0.0], 0.05), running=0.2, form=barrier(0.3)),
        Term(obstacle_distance(p + [0.2, 0.15, 0.0], 0.1, frame, (0.0, 0.0, 0.05)), running=0.2, form=barrier(0.5)),
    )


def planar(joints: int) -> RobotModel:
    return RobotModel.from_urdf(urdf_path(f"planar{joints}"))
