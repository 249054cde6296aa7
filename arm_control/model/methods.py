"""The terms of one state, and the methods of a model that call a kernel: which one, what it takes, what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

from arm_control.compiler import ArrayArgument, ArrayResult, CallForm, NumberResult, Result, TupleResult
from arm_control.maths import Array, Pose
from arm_control.model.derivatives import AccelerationDerivatives, TorqueDerivatives
from arm_control.model.quantities import INPUTS, SHARED, input_sizes


class Terms(NamedTuple):
    """Kinematics and dynamics of an arm in one state; ``M a + C v + g = tau`` is the sign convention.

    Attributes
    ----------
    q, v : ndarray, shape (nv,)
        Joint positions [rad or m] and velocities [rad/s or m/s].
    X_WE : Pose
        Pose of the end effector (the model's ``tip``) in the world.
    V_WE : ndarray, shape (6,)
        Its twist, linear [m/s] then angular [rad/s], world axes.
    J : ndarray, shape (6, nv)
        Its Jacobian: ``V_WE = J v``.
    Jdot_v : ndarray, shape (6,)
        Its acceleration at zero joint acceleration: ``dV_WE/dt = J a + Jdot_v`` [m/s^2, rad/s^2].
    M : ndarray, shape (nv, nv)
        Mass matrix, armature included [kg m^2 or kg].
    g : ndarray, shape (nv,)
        Gravity torque [N m or N].
    h : ndarray, shape (nv,)
        Bias ``C v + g`` [N m or N].
    """

    q: Array
    v: Array
    X_WE: Pose
    V_WE: Array
    J: Array
    Jdot_v: Array
    M: Array
    g: Array
    h: Array


TERMS = ("R_WE", "p_WE", "V_WE", "J", "Jdot_v", "M", "g", "h")
POSE_QUANTITIES = ("R_WE", "p_WE")
KINEMATIC_QUANTITIES = ("R_WE", "p_WE", "J")
ENERGY = ("kinetic_energy", "potential_energy", "centre_of_mass")
TORQUE_QUANTITIES = ("tau_derived", "tau_q", "tau_v", "tau_a")
ACCELERATION_QUANTITIES = ("a_solved", "a_q", "a_v", "a_tau")
KERNELS = {
    "terms": TERMS,
    "pose": POSE_QUANTITIES,
    "kinematics": KINEMATIC_QUANTITIES,
    "frames": ("frames",),
    "mass_matrix": ("M",),
    "gravity": ("g",),
    "bias": ("h",),
    "inverse_dynamics": ("tau",),
    "forward_dynamics": ("a",),
    "energy": ENERGY,
    "torque_derivatives": TORQUE_QUANTITIES,
    "acceleration_derivatives": ACCELERATION_QUANTITIES,
}
"""The kernels of the model's methods; Jacobians of links other than the tip have one each besides."""

Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class Method(Generic[Result_co]):
    """A function of one state, with a result of this type.

    Attributes
    ----------
    name : str
        Name of the method of :class:`~arm_control.RobotModel`, or of a step of one.
    quantities : tuple of str
        What the kernel computes: names of :data:`arm_control.model.quantities.INPUTS`.
    arguments : tuple of str
        Inputs that it takes, in their order; others are zero, but for the tool.
    n_required : int, optional
        Number of arguments that must be there; all by default.
    is_finite : bool
        Whether a result that is too large for a float is refused; not in a control step, which needs the other terms.
    """

    name: str
    quantities: tuple[str, ...]
    arguments: tuple[str, ...]
    result: Result
    n_required: int | None = None
    is_finite: bool = False

    def form(self, n: int) -> CallForm:
        """Form of a built-in call for n joints."""
        sizes = input_sizes(n)
        arguments = tuple(ArrayArgument(name, (sizes[name],)) for name in self.arguments)
        bound = tuple(name for name in SHARED if any(name in INPUTS[quantity] for quantity in self.quantities))
        finite: Literal["inputs", "all"] = "all" if self.is_finite else "inputs"
        return CallForm(self.name, arguments, self.result, self.n_required, bound, finite=finite)


def _arrays(names: Sequence[str]) -> tuple[ArrayResult, ...]:
    return tuple(map(ArrayResult, names))


_POSE = TupleResult(Pose, _arrays(POSE_QUANTITIES))
TERMS_RESULT = TupleResult(Terms, (ArrayResult("q"), ArrayResult("v"), _POSE, *_arrays(TERMS[2:])))
_TORQUE_DERIVATIVES = TupleResult(TorqueDerivatives, _arrays(TORQUE_QUANTITIES))
_ACCELERATION_DERIVATIVES = TupleResult(AccelerationDerivatives, _arrays(ACCELERATION_QUANTITIES))

EVALUATE = Method[Terms]("evaluate", TERMS, ("q", "v"), TERMS_RESULT)
POSE = Method[Pose]("pose", POSE_QUANTITIES, ("q",), _POSE)
JACOBIAN = Method[Array]("jacobian", KINEMATIC_QUANTITIES, ("q",), ArrayResult("J"))
MASS_MATRIX = Method[Array]("mass_matrix", ("M",), ("q",), ArrayResult("M"))
GRAVITY = Method[Array]("gravity", ("g",), ("q",), ArrayResult("g"))
BIAS = Method[Array]("bias", ("h",), ("q", "v"), ArrayResult("h"), is_finite=True)
INVERSE_DYNAMICS = Method[Array](
    "inverse_dynamics", ("tau",), ("q", "v", "a", "F_E"), ArrayResult("tau"), n_required=3, is_finite=True
)
FORWARD_DYNAMICS = Method[Array]("forward_dynamics", ("a",), ("q", "v", "tau"), ArrayResult("a"), is_finite=True)
TORQUE_DERIVATIVES = Method[TorqueDerivatives](
    "torque_derivatives", TORQUE_QUANTITIES, ("q", "v", "a"), _TORQUE_DERIVATIVES, is_finite=True
)
ACCELERATION_DERIVATIVES = Method[AccelerationDerivatives](
    "acceleration_derivatives", ACCELERATION_QUANTITIES, ("q", "v", "tau"), _ACCELERATION_DERIVATIVES, is_finite=True
)
KINETIC_ENERGY = Method[float]("kinetic_energy", ENERGY, ("q", "v"), NumberResult("kinetic_energy"), is_finite=True)
POTENTIAL_ENERGY = Method[float]("potential_energy", ENERGY, ("q",), NumberResult("potential_energy"))
CENTRE_OF_MASS = Method[Array]("centre_of_mass", ENERGY, ("q",), ArrayResult("centre_of_mass"))
KINEMATICS = Method[tuple[Array, Array, Array]](
    "rotation_position_jacobian", KINEMATIC_QUANTITIES, ("q",), TupleResult(tuple, _arrays(KINEMATIC_QUANTITIES))
)
FRAMES = Method[Array]("frame_poses", ("frames",), ("q",), ArrayResult("frames"))
POINT_JACOBIAN = Method[Array]("point_jacobian", ("J_point",), ("q", "point"), ArrayResult("J_point"))
