"""Law, avoidance and gate together: whatever state, target, obstacles and gains, the torque is fit for an actuator."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arm_control.control import Avoidance, AvoidanceParameters, CompiledOsc, OscParameters
from arm_control.exceptions import InputError
from arm_control.gate import LARGEST_SHARE, EffortGate, GateParameters
from arm_control.maths import Array, Box, Capsule, Cone, Cylinder, Obstacle, Pose, Sphere, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.motion import Reference

SHAPES = (Sphere(0.05), Capsule(0.04, 0.3), Box((0.1, 0.2, 0.05)), Cylinder(0.05, 0.2), Cone(0.08, 0.15))
FORMS = (
    {},
    {"tasks": ("x y z", "rx ry rz"), "speed_limit_form": "scaled"},
    {"singularity": "truncate", "speed_limit_form": "per_axis"},
    {"singularity": "none", "null_space": "pseudo_inverse"},
)
SIZES = st.sampled_from([0.0, 1e-12, 1e-3, 1.0, 1e3, 1e9])


@cache
def avoidance(model: RobotModel, seed: int) -> Avoidance:
    rng = np.random.default_rng([seed, 1])
    p = AvoidanceParameters(
        eta=float(rng.choice([0.0, 5e-4, 1.0])), threshold=float(rng.uniform(0.05, 0.3)),
        approach_damping=float(rng.uniform(0, 200)), mass_limit=float(10 ** rng.uniform(-1, 4)),
    )  # fmt: skip
    return Avoidance(model, p)


@cache
def controller(model: RobotModel, seed: int) -> CompiledOsc:
    rng = np.random.default_rng([seed, 0])
    kp = 10 ** rng.uniform(-2, 4, 2)
    p = OscParameters(
        **FORMS[seed % len(FORMS)], posture=tuple(rng.uniform(-3, 3, model.nv)), kp_linear=kp[0], kp_angular=kp[1],
        acceleration_limit_linear=1e4, acceleration_limit_angular=1e4, singular_value=float(10 ** rng.uniform(-4, 0)),
        kp_posture=float(10 ** rng.uniform(-1, 3)), joint_limit_weight=float(rng.choice([0.0, 10.0, 1e3])),
    )  # fmt: skip
    return CompiledOsc(model, p)


def scene(rng: np.random.Generator, X_WE: Pose) -> list[Obstacle]:
    return [
        Obstacle(
            SHAPES[rng.integers(len(SHAPES))],
            Pose(rotation_from_vector(rng.normal(size=3)), X_WE.p + rng.normal(size=3) * 10 ** rng.uniform(-3, 0)),
            rng.normal(size=6) * rng.choice([0.0, 0.2, 100.0]),
        )
        for _ in range(rng.integers(4))
    ]


def state(model: RobotModel, rng: np.random.Generator, speed: float) -> tuple[Array, Array]:
    """Anywhere; one in four exactly at limits or at zero, where many singularities are."""
    low, high = np.maximum(model.q_min, -7.0), np.minimum(model.q_max, 7.0)
    q = rng.uniform(low - 0.1, high + 0.1)
    if rng.random() < 0.25:
        q = np.where(rng.random(model.nv) < 0.7, rng.choice([0.0, 1.0, 2.0], model.nv) * np.pi / 2, q)
    return q, speed * rng.normal(size=model.nv)


@settings(
    max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    seed=st.integers(0, 2**32 - 1), setting=st.integers(0, len(FORMS) - 1), speed=SIZES, way=SIZES,
    disturbance=SIZES, dt=st.sampled_from([1e-4, 1e-3, 4e-3, 0.1]), rate=st.sampled_from([1.0, 1e3, 1e6]),
)  # fmt: skip
def test_every_torque_is_finite_within_limits_and_within_rate(
    ur5: RobotModel, seed: int, setting: int, speed: float, way: float, disturbance: float, dt: float, rate: float
):  # fmt: skip
    model, rng = ur5, np.random.default_rng(seed)
    gate, osc, avoid = (
        EffortGate(model, GateParameters(rate_limit=rate)),
        controller(model, setting),
        avoidance(model, setting),
    )
    tau = None
    for _ in range(2):
        q, v = state(model, rng, speed)
        X = model.pose(q)
        X_WT = Pose(rotation_from_vector(rng.normal(size=3) * 3) @ X.R, X.p + way * rng.normal(size=3))
        reference = Reference(X_WT, speed * rng.normal(size=6), speed * rng.normal(size=6))
        with np.errstate(all="ignore"):
            output = osc.tick(q, v, reference, disturbance * rng.normal(size=model.nv))
            asked = avoid.tick(output.state, scene(rng, X), output.tau).tau_total
        if (np.abs(asked) <= LARGEST_SHARE * model.tau_max).all():
            gate.offer(model.joint_names, asked)
        else:
            with pytest.raises(InputError, match=r"finite|absurd"):
                gate.offer(model.joint_names, asked)
        before, tau = tau, gate.tick(output.state, dt).tau
        assert np.isfinite(tau).all()
        assert (np.abs(tau) <= model.tau_max).all()
        start = np.clip(output.state.g, -model.tau_max, model.tau_max) if before is None else before
        assert (np.abs(tau - start) <= rate * dt * (1 + 1e-9) + 1e-9).all()
