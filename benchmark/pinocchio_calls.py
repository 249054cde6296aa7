"""What a careful user of Pinocchio would write in Python for the same results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from measure import Contender

from arm_control import RobotModel

AXES = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
EXAMPLES = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
"""Where the package example-robot-data keeps its robots: beside Pinocchio."""


class PinocchioArm:
    """Pinocchio's model, data and tip of the arm of a :class:`RobotModel`, one number for each joint."""

    def __init__(self, model: RobotModel) -> None:
        text = model.urdf.text.replace('type="continuous"', 'type="revolute"')
        self.model = pin.buildModelFromXML(text)
        self.data, self.tip = self.model.createData(), self.model.getFrameId(model.tip)

    def fused(self) -> dict[str, Callable[..., tuple[Any, ...]]]:
        """Every term of a control tick as an array, in four ways: R, p, V, J, Jdot_v, M, g, h.

        Those with views return what the next call overwrites; those with copies return what may be kept,
        as ``RobotModel.evaluate`` does.
        """
        model, data, tip, rest = self.model, self.data, self.tip, np.zeros(self.model.nv)
        all_terms, kinematics, place = pin.computeAllTerms, pin.forwardKinematics, pin.updateFramePlacement
        frame_jacobian, velocity = pin.getFrameJacobian, pin.getFrameVelocity
        acceleration, jacobian = pin.getFrameClassicalAcceleration, pin.computeFrameJacobian
        crba, effects, gravity = pin.crba, pin.nonLinearEffects, pin.computeGeneralizedGravity

        def all_terms_views(q: Any, v: Any) -> tuple[Any, ...]:
            all_terms(model, data, q, v)
            kinematics(model, data, q, v, rest)
            X, V = place(model, data, tip), velocity(model, data, tip, AXES)
            A, J = acceleration(model, data, tip, AXES), frame_jacobian(model, data, tip, AXES)
            return X.rotation, X.translation, V.vector, J, A.vector, data.M, data.g, data.nle

        def all_terms_copies(q: Any, v: Any) -> tuple[Any, ...]:
            R, p, V, J, A, M, g, h = all_terms_views(q, v)
            return R.copy(), p.copy(), V, J, A, M.copy(), g.copy(), h.copy()

        def separate_views(q: Any, v: Any) -> tuple[Any, ...]:
            M, g, h = crba(model, data, q), gravity(model, data, q), effects(model, data, q, v)
            J = jacobian(model, data, q, tip, AXES)
            kinematics(model, data, q, v, rest)
            X, V = place(model, data, tip), velocity(model, data, tip, AXES)
            A = acceleration(model, data, tip, AXES)
            return X.rotation, X.translation, V.vector, J, A.vector, M, g, h

        def separate_copies(q: Any, v: Any) -> tuple[Any, ...]:
            R, p, *others = separate_views(q, v)
            return R.copy(), p.copy(), *others

        found = (all_terms_views, all_terms_copies, separate_views, separate_copies)
        return {function.__name__: function for function in found}

    def calls(self) -> dict[str, Callable[..., Any]]:
        """Pinocchio's counterpart of methods of a RobotModel, by the method's name."""
        model, data, tip = self.model, self.data, self.tip
        kinematics, place, jacobian = pin.forwardKinematics, pin.updateFramePlacement, pin.computeFrameJacobian

        def pose(q: Any) -> Any:
            kinematics(model, data, q)
            return place(model, data, tip)

        algorithms = {
            "mass_matrix": pin.crba,
            "gravity": pin.computeGeneralizedGravity,
            "bias": pin.nonLinearEffects,
            "inverse_dynamics": pin.rnea,
            "forward_dynamics": pin.aba,
            "torque_derivatives": pin.computeRNEADerivatives,
            "acceleration_derivatives": pin.computeABADerivatives,
        }
        bound = {name: partial(algorithm, model, data) for name, algorithm in algorithms.items()}
        return {"pose": pose, "jacobian": lambda q: jacobian(model, data, q, tip, AXES), **bound}

    def loops(self) -> dict[str, Callable[[list[Any]], None]]:
        """Pose, Jacobian and mass matrix of many states as arrays, one after the other; nothing is kept.

        Computing the Jacobian leaves the frame's pose behind: one loop reads it from the data, the other
        lets ``updateFramePlacement`` hand it over, which is the quicker way to get it into Python.
        """
        model, data, tip = self.model, self.data, self.tip
        jacobian, crba, place = pin.computeFrameJacobian, pin.crba, pin.updateFramePlacement

        def by_index(rows: list[Any]) -> None:
            for q in rows:
                jacobian(model, data, q, tip, AXES)
                crba(model, data, q)
                X = data.oMf[tip]
                _ = X.rotation, X.translation

        def by_update(rows: list[Any]) -> None:
            for q in rows:
                jacobian(model, data, q, tip, AXES)
                crba(model, data, q)
                X = place(model, data, tip)
                _ = X.rotation, X.translation

        return {"by_index": by_index, "by_update": by_update}


def numbers(result: Any) -> Any:
    """All numbers of a result of either library in one row, so that they can be compared."""
    if isinstance(result, pin.SE3):
        result = (result.rotation, result.translation)
    if isinstance(result, pin.Motion):
        result = result.vector
    if isinstance(result, tuple):
        return np.concatenate([numbers(part) for part in result])
    return np.ravel(result)


def first_numbers(ours: Contender, theirs: Contender) -> tuple[Any, Any]:
    """Numbers of both for their first arguments; what ours returns before what theirs does is left out.

    Terms begin with the state they are of, derivatives with what they are derived from.
    """
    found, expected = (numbers(contender.function(*contender.arguments[0])) for contender in (ours, theirs))
    return found[-len(expected) :], expected
