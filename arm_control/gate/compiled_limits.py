"""Limits of the torque, compiled: one call of machine code a tick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from arm_control.compiler import (
    ArrayArgument,
    ArrayResult,
    BoundResult,
    CallForm,
    KernelCall,
    Law,
    NumberArgument,
    NumberResult,
    OwnWork,
    TupleArgument,
    TupleResult,
    builtin_call,
)
from arm_control.constraints import LimitNumbers
from arm_control.gate.joint_limits import JointLimits, LimitedTorque, limit_torque
from arm_control.maths import Array, Pose, mirrored
from arm_control.maths import largest as largest_entry
from arm_control.model import RobotModel, Terms

LimitFunction: TypeAlias = Callable[[Terms, Array, Array, float, float], LimitedTorque]
"""From terms, tau, tau_0, dt and is_on, as for :func:`limit_torque`."""


def compile_limits(model: RobotModel, limits: JointLimits) -> LimitFunction:
    """Return :meth:`JointLimits.limit_torque` as one call of machine code; as it stands where none can be made.

    The kernel depends on the number of joints and on which of them have no limit of position: all numbers are inputs.

    Parameters
    ----------
    model : RobotModel
        The arm.
    limits : JointLimits
        Its limits.
    """
    kernel = model.compile_law(limits_law(limits.is_unlimited), limit_samples(model.nv))
    if not kernel.is_compiled:
        return limits.limit_torque
    work = OwnWork(kernel)
    call = KernelCall(_form(model.nv), work, work.inputs, work.outputs, {"numbers": limits.numbers})

    def limit(t: Terms, tau: Array, tau_0: Array, dt: float, is_on: float) -> LimitedTorque:
        limited: LimitedTorque | None = call(t, tau, tau_0, dt, is_on)
        return limits.limit_torque(t, tau, tau_0, dt, is_on) if limited is None else limited

    return builtin_call(call, limit) or limit


def limits_law(is_unlimited: Array) -> Law:
    """Return the limits as a law, with inputs ``q v h M tau g tau_0 dt is_on numbers`` in this order.

    ``numbers`` are :attr:`JointLimits.numbers`; outputs are ``tau_1`` and ``cut``, the other items of a
    :class:`LimitedTorque`.

    Parameters
    ----------
    is_unlimited : ndarray of bool, shape (n,)
        Joints without limits of position.
    """
    n = len(is_unlimited)
    sizes = {"q": n, "v": n, "h": n, "M": n * n, "tau": n, "g": n, "tau_0": n, "dt": 1, "is_on": 1}
    function, structure = partial(limit_by_name, is_unlimited), is_unlimited.tolist()
    return Law("limits of the torque", function, {**sizes, "numbers": 2 + 6 * n}, structure)


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
    n, none = len(is_unlimited), np.zeros(0)
    M = mirrored(x["M"].reshape(n, n))
    t = Terms(x["q"], x["v"], Pose(none, none), none, none, none, M, x["g"], x["h"])
    numbers = LimitNumbers.of(x["numbers"], is_unlimited)
    result = limit_torque(t, x["tau"], x["tau_0"], x["dt"][0], x["is_on"][0], numbers)
    return {"tau_1": result.tau, "cut": result[1:]}


def compile_size_check(model: RobotModel, largest: Array) -> Callable[[Array], bool]:
    """Return a function of a torque (n,): whether no joint's is larger than its largest, and all are numbers.

    Parameters
    ----------
    model : RobotModel
        The arm.
    largest : ndarray, shape (nv,)
        Largest torque of each joint [N m or N].
    """

    def is_small(tau: Array) -> bool:
        return bool((np.abs(tau) <= largest).all())

    n = model.nv
    form = CallForm(
        "is_small", (ArrayArgument("tau", (n,)),), BoundResult("answer"), bound=("largest",), certificate="room"
    )
    law = Law("size of a torque", _room, {"tau": n, "largest": n}, has_masses=False)
    kernel = model.compile_law(law, {"tau": np.linspace(-2.0, 1.0, n)[None], "largest": np.ones((1, n))})
    work = OwnWork(kernel)
    call = KernelCall(form, work, work.inputs, work.outputs, {"largest": largest, "answer": True})
    return builtin_call(call, is_small) or is_small


def _room(x: Mapping[str, Array]) -> dict[str, Any]:
    """Smallest distance of a joint's torque to its largest one; where it is above zero, no more need be asked."""
    return {"room": -largest_entry(np.abs(x["tau"]) - x["largest"])}


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
