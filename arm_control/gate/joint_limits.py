"""Limits of the torque: a command is cut to what the joints and their motors can afford in the measured state.

A command within the limits of effort and of its rate passes where its acceleration, before and after that, is within
equation (4) of :mod:`arm_control.constraints.joint_rows`, so that each joint can still be stopped before its limits:

    (6)  tau_b = clamp(clamp(tau, -tau_max, tau_max), tau_0 - step, tau_0 + step),   step = rate_limit dt
    (7)  tau_1 = tau_b                        where a_lo <= M^-1 (tau - h), M^-1 (tau_b - h) <= a_hi
         tau_1 = tau, changed least by (5) there, else

Where not all can hold, the joints' limits give way, least, never those of effort and rate. The other joints keep
the acceleration that they are asked for, as far as torque allows, and gravity and Coriolis torque stay compensated. A
command from which nothing is cut comes back as it is, to the last bit.

    M, g, h           mass matrix, gravity torque, bias       [kg m^2; N m; N m]
    tau, tau_0        commanded torque, last torque           [N m]
    tau_b             torque within (6)                       [N m]
    tau_1             torque that may pass                    [N m]
    dt                time since the last torque              [s]

The laws are written over any scalar: they run on floats as they stand, and compiled, one call a tick
(:func:`compile_limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    CallForm,
    Floats,
    KernelCall,
    Law,
    NumberArgument,
    NumberResult,
    OwnWork,
    RunsKernel,
    TupleArgument,
    TupleResult,
    builtin_call,
    compile_procedure,
    procedure,
)
from arm_control.constraints import (
    NOT_FINITE,
    JointProgram,
    LimitNumbers,
    Solver,
    acceleration_bounds,
    keep_joints,
    new_joint_program,
    rows_of_joints,
)
from arm_control.core import Parameters, parameter
from arm_control.maths import TINY, Array, Pose, Scalar, clamp, maximum, mirrored, select, solve
from arm_control.model import RobotModel, Terms

LARGEST_STIFFNESS = 0.25
"""Largest ``k_p`` in shares of ``limit_damping``: a higher one would overshoot."""
LARGEST_SHARE = 1e3
"""A command of more than so many times the effort limit is absurd, and refused."""
HUGE = 1e300
"""Accelerations that are larger in all, or NaN, come from an absurd state; it is ``limited`` of such a state, too."""


@dataclass(frozen=True)
class LimitParameters(Parameters):
    """How a joint is stopped at its limits."""

    joint_limits: bool = parameter(True, "keep joints within their limits of position and speed")
    limit_margin: float = parameter(
        0.05, "distance of the soft limits from the hard ones, at most 5 % of the range", unit="rad or m", lower=0.0
    )
    limit_stiffness: float = parameter(
        25.0, "speed towards a limit per distance left", unit="1/s", lower=0.1, upper=200.0
    )
    limit_damping: float = parameter(
        100.0, "deceleration per speed above the bound; four times the stiffness or more", unit="1/s", lower=1.0
    )


class LimitedTorque(NamedTuple):
    """Torque that may pass (n,) [N m or N]; above zero: whether (7), effort or its rate in (6) have cut it."""

    tau: Array
    limited: Scalar
    saturated: Scalar
    rate_limited: Scalar


NextLimits: TypeAlias = tuple[Array, float, float]
"""What limits depend on beside a command and the state: ``tau_0``, ``dt`` and ``is_on`` of :func:`limit_torque`."""


def limit_torque(
    terms: Terms, tau: Array, tau_0: Array, dt: Scalar, is_on: Scalar, numbers: LimitNumbers
) -> LimitedTorque:
    """Return the torque within (6), and whether (7) has to change it.

    ``dt`` is the time between tau_0 and tau [s]. In an absurd state the torque is that of gravity.

    Parameters
    ----------
    is_on : float
        1 when the joints' limits of position and speed count, 0 when not.
    """
    tau_max, step = numbers.tau_max, numbers.rate_limit * dt
    low, high = tau_0 - step, tau_0 + step
    tau_a = clamp(tau, -tau_max, tau_max)
    tau_b = clamp(tau_a, low, high)  # (6)
    bounds = acceleration_bounds(terms, dt, numbers)
    a, a_b = solve(terms.M, tau - terms.h), solve(terms.M, tau_b - terms.h)
    limited = maximum(_outside(a, *bounds), _outside(a_b, *bounds)).sum()  # (7)
    sanity = HUGE - np.abs(a).sum() - np.abs(bounds).sum()
    is_limited = is_on * select(sanity, limited, HUGE)
    saturated = select(np.abs(tau) - tau_max, 1.0, 0.0).sum()
    tau_1 = select(select(is_on, sanity, 1.0), tau_b, clamp(clamp(terms.g, -tau_max, tau_max), low, high))
    return LimitedTorque(tau_1, is_limited, saturated, _outside(tau_a, low, high).sum())


def _outside(x: Array, low: Array, high: Array) -> Array:
    """1 for each entry that is below its lower or above its upper bound, or NaN, else 0."""
    return select(high - x + TINY, 0.0, 1.0) + select(x - low + TINY, 0.0, 1.0)


class JointLimits:
    """The law of this module for one arm, on floats; without state.

    Soft limits of the URDF (``safety_controller``) hold where they are tighter than ``limit_margin``; its
    ``k_position`` replaces ``limit_stiffness``; its ``k_velocity`` [N m s/rad] counts where it is more than
    ``limit_damping`` times the joint's inertia. Continuous joints have no limit of position.

    Parameters
    ----------
    rate_limit : float
        Largest rate of change of the torque [N m/s].

    Attributes
    ----------
    q_soft : ndarray, shape (2, nv)
        Lower and upper soft limits [rad or m].
    is_unlimited : ndarray of bool, shape (nv,)
        Joints without limits of position.
    numbers : ndarray, shape (2 + 6 nv,)
        Numbers of the law, finite: zero for missing limits.
    """

    def __init__(self, model: RobotModel, parameters: LimitParameters, rate_limit: float) -> None:
        self.q_soft, k_position, k_velocity = _soft_limits(model, parameters)
        self.is_unlimited = np.isinf(self.q_soft[1])
        k_p = np.minimum(k_position, LARGEST_STIFFNESS * parameters.limit_damping)
        rows = [k_p, k_velocity, model.v_max, model.tau_max, *np.where(self.is_unlimited, 0.0, self.q_soft)]
        self.numbers = np.concatenate([[rate_limit, parameters.limit_damping], *rows])
        self._numbers = LimitNumbers.of(self.numbers, self.is_unlimited)

    def are_those_of(self, other: JointLimits) -> bool:
        """Whether other limits are the same."""
        return np.array_equal(self.numbers, other.numbers) and np.array_equal(self.is_unlimited, other.is_unlimited)

    def limit_torque(self, terms: Terms, tau: Array, tau_0: Array, dt: float, is_on: float = 1.0) -> LimitedTorque:
        """Return the torque that may pass, equations (6) and (7); parameters of :func:`limit_torque`."""
        with np.errstate(over="ignore", invalid="ignore"):
            tau_1, *cut = limit_torque(terms, tau, tau_0, dt, is_on, self._numbers)
            if 0.0 < cut[0] < HUGE:
                tau_1 = self._changed_least(terms, tau, tau_1, tau_0, dt)
        return LimitedTorque(tau_1, *map(float, cut))

    def _changed_least(self, terms: Terms, tau: Array, tau_b: Array, tau_0: Array, dt: float) -> Array:
        """Equation (7); ``tau_b`` where the numbers are not finite."""
        n = len(tau)
        rows = rows_of_joints(terms, tau, tau_0, dt, self._numbers)
        answer = Solver(n, 4 * n).solve(rows.G, rows.need, np.repeat([0, 1], 2 * n))
        return tau_b if answer.status == NOT_FINITE else np.clip(tau + rows.T @ answer.y, *rows.limits)


def _soft_limits(model: RobotModel, p: LimitParameters) -> tuple[Array, Array, Array]:
    """Soft limits (2, nv), ``k_position`` (nv,) [1/s] and ``k_velocity`` (nv,) [N m s/rad], 0 if not stated."""
    margin = np.minimum(p.limit_margin, 0.05 * (model.q_max - model.q_min))
    soft = np.stack((model.q_min + margin, model.q_max - margin))
    k_position, k_velocity = np.full(model.nv, p.limit_stiffness), np.zeros(model.nv)
    for i, name in enumerate(model.joint_names):
        safety = model.urdf.robot.joint_map[name].safety_controller
        if safety is None:
            continue
        k_position[i] = safety.k_position or p.limit_stiffness
        k_velocity[i] = safety.k_velocity or 0.0
        lower = max(soft[0, i], safety.soft_lower_limit or 0.0)
        upper = min(soft[1, i], safety.soft_upper_limit or 0.0)
        if lower < upper and np.isfinite(model.q_min[i]):
            soft[:, i] = lower, upper
    return soft, k_position, k_velocity


# -- one call of machine code a tick


LimitFunction: TypeAlias = Callable[[Terms, Array, Array, float, float], LimitedTorque]
"""From terms, tau, tau_0, dt and is_on, as for :func:`limit_torque`."""


class LimitTick(NamedTuple):
    """The limits, and the program for what they change.

    Attributes
    ----------
    check : RunsKernel
        The law :func:`limit_torque`; its memory:
    inputs, tau_1, cut : ndarray
    joints : JointProgram
        The program; ``row_inputs`` are the inputs of its rows, laid out as those of the law.
    n_inputs : int
    """

    check: RunsKernel
    inputs: Floats
    tau_1: Floats
    cut: Floats
    joints: JointProgram
    row_inputs: Floats
    n_inputs: int


@procedure
def apply_limits(t: LimitTick) -> float:
    """Equations (6) and (7); return what the law returns."""
    result = t.check()
    if is_changed(t.cut) and result == 0.0:
        for i in range(t.n_inputs):
            t.row_inputs[i] = t.inputs[i]
        keep_joints(t.joints, t.tau_1)
    return result


@procedure
def is_changed(cut: Floats) -> bool:
    """Whether a program changes a torque of which (6) has let something pass."""
    return 0.0 < cut[0] < HUGE


def limit_run(model: RobotModel, limits: JointLimits) -> tuple[RunsKernel, OwnWork] | None:
    """Return what computes :meth:`JointLimits.limit_torque`, and its memory; None where no machine code can be made.

    The kernels depend on the number of joints and on which of them have no limit of position: all numbers are inputs.
    """
    kernel = model.compile_law(limits_law(limits.is_unlimited), limit_samples(model.nv))
    if not kernel.is_compiled:
        return None
    check = OwnWork(kernel)
    inputs, _ = check.parts
    joints, row_inputs = program_of_joints(model, limits)
    tau_1, cut = check.outputs["tau_1"], check.outputs["cut"]
    record = LimitTick(check, inputs, tau_1, cut, joints, row_inputs, len(inputs))
    run = compile_procedure(apply_limits, keeps_lock=True)(record)
    return run, check


def program_of_joints(model: RobotModel, limits: JointLimits) -> tuple[JointProgram, Array]:
    """Return the program of :attr:`LimitTick.joints`, and the inputs of its rows."""
    rows = OwnWork(model.compile_law(joint_rows_law(limits.is_unlimited), limit_samples(model.nv)))
    joints = new_joint_program(rows, rows.inputs["tau"], **rows.outputs)
    return joints, rows.parts[0]


def compile_limits(model: RobotModel, limits: JointLimits) -> LimitFunction:
    """Return :meth:`JointLimits.limit_torque` as one call of machine code; as it stands where none can be made."""
    made = limit_run(model, limits)
    if made is None:
        return limits.limit_torque
    run, memory = made
    call = KernelCall(_form(model.nv), run, memory.inputs, memory.outputs, {"numbers": limits.numbers})

    def limit(t: Terms, tau: Array, tau_0: Array, dt: float, is_on: float) -> LimitedTorque:
        limited: LimitedTorque | None = call(t, tau, tau_0, dt, is_on)
        return limits.limit_torque(t, tau, tau_0, dt, is_on) if limited is None else limited

    return builtin_call(call, limit) or limit


def limits_law(is_unlimited: Array) -> Law:
    """Return the limits as a law, with inputs ``q v h M tau g tau_0 dt is_on numbers`` in this order.

    ``numbers`` are :attr:`JointLimits.numbers`; outputs are ``tau_1`` and ``cut``, the other items of a
    :class:`LimitedTorque`.
    """
    function, structure = partial(limit_by_name, is_unlimited), is_unlimited.tolist()
    return Law("limits of the torque", function, _input_sizes(len(is_unlimited)), structure)


def joint_rows_law(is_unlimited: Array) -> Law:
    """Return the rows of the joints as a law, with the inputs of :func:`limits_law`; outputs ``G need T limits``."""
    function, structure = partial(_rows_by_name, is_unlimited), is_unlimited.tolist()
    return Law("rows of the joints", function, _input_sizes(len(is_unlimited)), structure)


def _input_sizes(n: int) -> dict[str, int]:
    sizes = {"q": n, "v": n, "h": n, "M": n * n, "tau": n, "g": n, "tau_0": n, "dt": 1, "is_on": 1}
    return {**sizes, "numbers": 2 + 6 * n}


def _form(n: int) -> CallForm:
    """Form of :data:`LimitFunction` as a built-in call."""
    q, v, g, h, tau, tau_0 = (ArrayArgument(name, (n,)) for name in ("q", "v", "g", "h", "tau", "tau_0"))
    M = ArrayArgument("M", (n, n))
    parts = {"q": q, "v": v, "M": M, "g": g, "h": h}
    terms = TupleArgument(Terms, tuple(parts.get(name) for name in Terms._fields))
    result = TupleResult(LimitedTorque, (ArrayResult("tau_1"), *(NumberResult("cut", k) for k in range(3))))
    arguments = (terms, tau, tau_0, NumberArgument("dt"), NumberArgument("is_on"))
    return CallForm("limit", arguments, result, bound=("numbers",), finite="nothing")  # else the law gives the weight


def limit_by_name(is_unlimited: Array, x: Mapping[str, Array]) -> dict[str, Any]:
    """:func:`limit_torque` as a law: from inputs by name to outputs by name."""
    t, numbers = _state(is_unlimited, x)
    result = limit_torque(t, x["tau"], x["tau_0"], x["dt"][0], x["is_on"][0], numbers)
    return {"tau_1": result.tau, "cut": result[1:]}


def _rows_by_name(is_unlimited: Array, x: Mapping[str, Array]) -> dict[str, Any]:
    t, numbers = _state(is_unlimited, x)
    rows = rows_of_joints(t, x["tau"], x["tau_0"], x["dt"][0], numbers)
    return {"G": rows.G, "need": rows.need, "T": rows.T, "limits": rows.limits}


def _state(is_unlimited: Array, x: Mapping[str, Array]) -> tuple[Terms, LimitNumbers]:
    """State and numbers, from inputs by name."""
    n, none = len(is_unlimited), np.zeros(0)
    M = mirrored(x["M"].reshape(n, n))
    t = Terms(x["q"], x["v"], Pose(none, none), none, none, none, M, x["g"], x["h"])
    return t, LimitNumbers.of(x["numbers"], is_unlimited)


_SCALES = {"v": (1.0, 5.0, 5.0, 1.0, 1.0), "tau": (1.0, 1.0, 30.0, 30.0, 0.0), "tau_0": (1.0, 1.0, 1.0, 1.0, 0.0)}
"""Scales of random inputs in five samples, 1 for all others: every case of the law is among them."""
_MIDDLES = (20.0, 100.0, 2.5, 15.0, -2.5, 2.5)
_SPREADS = (5.0, 100.0, 0.5, 5.0, 0.5, 0.5)
"""Of ``k_p k_velocity v_max tau_max`` and the two soft limits in the samples."""


def limit_samples(n: int) -> dict[str, Array]:
    """Inputs to compare a kernel on, one sample a row; joint limits count in all but one."""
    rng, k = np.random.default_rng(0), 5
    vectors = {
        name: rng.uniform(-1.0, 1.0, (k, n)) * np.array(_SCALES.get(name, (1.0,) * k))[:, None]
        for name in ("q", "v", "g", "h", "tau", "tau_0")
    }
    A = rng.uniform(-0.5, 0.5, (k, n, n))
    M = (A @ A.swapaxes(1, 2) + np.eye(n)).reshape(k, -1)
    middles, spreads = np.array(_MIDDLES)[:, None], np.array(_SPREADS)[:, None]
    rows = (middles + spreads * rng.uniform(-1.0, 1.0, (k, 6, n))).reshape(k, -1)
    numbers = np.hstack([np.full((k, 1), 1000.0), np.full((k, 1), 100.0), rows])
    is_on = np.array([[1.0], [1.0], [1.0], [0.0], [1.0]])
    return {**vectors, "M": M, "dt": np.full((k, 1), 1e-3), "is_on": is_on, "numbers": numbers}
