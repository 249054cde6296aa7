"""No method has a body that does not run: where machine code takes its place, both give the same bits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

from arm_control.compiler.builtin_calls import MachineCodeMethod
from arm_control.constraints import ClearanceConstraint, ConstraintSet, SpeedConstraint
from arm_control.control import Avoidance, AvoidanceParameters, CompiledOsc, OscParameters
from arm_control.gate import GateParameters, JointLimits
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.model import RobotModel
from arm_control.motion import Reference

HOME, STRETCHED = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0]), np.array([0.0, -1.5, 0.0, 0.0, 0.3, 0.0])
ARGUMENTS = {
    "evaluate": 2, "pose": 1, "jacobian": 1, "mass_matrix": 1, "gravity": 1, "bias": 2, "inverse_dynamics": 3,
    "forward_dynamics": 3, "torque_derivatives": 3, "acceleration_derivatives": 3, "kinetic_energy": 2,
    "potential_energy": 1, "centre_of_mass": 1,
}  # fmt: skip
"""Methods of a model, and how many arrays each takes."""
OTHERS = "CompiledOsc.tick", "CompiledOsc.step", "Avoidance.tick", "ConstraintSet.limit"
AMONG_OBSTACLES = "CompiledOsc.step among obstacles"
Cases = tuple[object, Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[object, ...]]]


def bits(item: object) -> list[object]:
    """Types and numbers of a result."""
    if isinstance(item, tuple):
        return [type(item), *(x for part in item for x in bits(part))]
    return [(item.shape, item.tobytes()) if isinstance(item, np.ndarray) else item]


@pytest.fixture(scope="module")
def cases(ur5: RobotModel) -> dict[str, Cases]:
    """The objects, and their methods' arguments from q, v and another array."""
    p, gate = OscParameters(posture=tuple(HOME)), GateParameters()
    limits, X = JointLimits(ur5, gate, gate.rate_limit), ur5.pose(HOME)
    reference = Reference(replace_position(X, 0.1), np.full(6, 0.05), np.full(6, 0.1))
    osc, avoidance = CompiledOsc(ur5, p, limits=limits), Avoidance(ur5, AvoidanceParameters(threshold=0.2))
    among = CompiledOsc(ur5, p, limits=limits, between=avoidance)
    ball = [Obstacle(Sphere(0.05), replace_position(X, 0.15))]
    avoidance.tick(ur5.evaluate(HOME, 0.0 * HOME), ball)
    rows = ConstraintSet(
        ur5, [SpeedConstraint("s", 0.1), ClearanceConstraint("c")], limits.numbers, limits.is_unlimited
    )
    rows.place(ball)
    ur5.prepare(progress=False)
    of_model = {f"RobotModel.{name}": (ur5, lambda *x, n=n: x[:n]) for name, n in ARGUMENTS.items()}
    return of_model | {
        "CompiledOsc.tick": (osc, lambda q, v, x: (q, v, reference, x)),
        "CompiledOsc.step": (osc, lambda q, v, x: (q, v, reference, ur5.gravity(q), 1e-3, 1.0, (), x)),
        "Avoidance.tick": (avoidance, lambda q, v, x: (ur5.evaluate(q, v), ball, x)),
        "ConstraintSet.limit": (rows, lambda q, v, x: (ur5.evaluate(q, v), 99.0 * x, 9.0 * v, 1e-3, x)),
        AMONG_OBSTACLES: (among, lambda q, v, x: (q, v, reference, ur5.gravity(q), 1e-3, 1.0, ball, x)),
    }


def replace_position(X: Pose, away: float) -> Pose:
    return X._replace(p=X.p + away)


def test_every_such_method_is_listed(cases: dict[str, Cases]):
    modules = [module for name, module in sys.modules.items() if name.startswith("arm_control.")]
    classes: set[Any] = {item for module in modules for item in vars(module).values() if isinstance(item, type)}
    found = {
        f"{kind.__name__}.{name}"
        for kind in classes
        for name, x in vars(kind).items()
        if isinstance(x, MachineCodeMethod)
    }
    assert found == cases.keys() - {AMONG_OBSTACLES} == {*(f"RobotModel.{name}" for name in ARGUMENTS), *OTHERS}


@pytest.mark.parametrize("name", [*(f"RobotModel.{name}" for name in ARGUMENTS), *OTHERS, AMONG_OBSTACLES])
def test_machine_code_and_body_give_the_same_bits(name: str, cases: dict[str, Cases]):
    instance, arguments_of = cases[name]
    method = name.partition(".")[2].partition(" ")[0]
    function, body, rng = (
        getattr(instance, method),
        partial(getattr(type(instance), method), instance),
        np.random.default_rng(0),
    )
    assert type(function) is BuiltinFunctionType
    for home in (HOME, STRETCHED) * 10:
        q, v, x = home + rng.uniform(-0.1, 0.1, 6), *rng.uniform(-0.5, 0.5, (2, 6))
        found, wanted = function(*arguments_of(q, v, x)), body(*arguments_of(q, v, x))
        assert found is not None
        assert bits(found) == bits(wanted)
