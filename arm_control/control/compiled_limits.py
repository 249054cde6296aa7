"""Limits of the torque, compiled: the text of :mod:`arm_control.control.joint_limits` on a tape, one call a tick.

The kernel knows nothing of the arm but its number of joints and which of them have no limit of position: all
numbers are inputs. Where it cannot be compiled the text runs as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from arm_control.compiler.kernels import Kernel
from arm_control.compiler.program import Program
from arm_control.compiler.tape import Tape
from arm_control.control.joint_limits import JointLimits, LimitedTorque, LimitNumbers, limit_torque
from arm_control.exceptions import ModelError
from arm_control.maths.linalg import mirrored
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.model.engine import AGREEMENT

Run = Callable[[Terms, Array, Array, float, float], LimitedTorque]
"""Torque wanted, last torque, time between them and whether joint limits count, to what may pass."""


def compiled(model: RobotModel, limits: JointLimits) -> Run:
    """Return :meth:`arm_control.control.joint_limits.JointLimits.limit_torque`, as fast as it can be had.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> from arm_control.control.joint_limits import LimitParameters
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> run = compiled(model, JointLimits(model, LimitParameters(), 1000.0))
    >>> t = model.evaluate(np.zeros(6), np.zeros(6))
    >>> (run(t, t.g + 5.0, t.g, 0.001, 0.0).tau - t.g).round(6)
    array([1., 1., 1., 1., 1., 1.])
    """
    is_unlimited = limits.is_unlimited
    write, check = partial(write_down, is_unlimited), partial(_compare, is_unlimited)
    kernel = model.compile("limits of the torque", write, check)
    return limits.limit_torque if kernel is None else _bound(kernel, limits)


def write_down(is_unlimited: Array) -> Program:
    """Return the program of the law, for so many joints."""
    tape = Tape()
    return tape.program(_everything(is_unlimited, {k: tape.inputs(k, m) for k, m in _sizes(len(is_unlimited)).items()}))


def _sizes(n: int) -> dict[str, int]:
    vectors = dict.fromkeys(("q", "v", "g", "h", "tau", "tau_0"), n)
    return {**vectors, "M": n * n, "dt": 1, "is_on": 1, "numbers": 2 + 6 * n}


def _everything(is_unlimited: Array, x: Mapping[str, Array]) -> dict[str, Any]:
    """What passes and what cut it, of any scalars."""
    n, none = len(is_unlimited), np.zeros(0)
    M = mirrored(x["M"].reshape(n, n))
    t = Terms(x["q"], x["v"], Pose(none, none), none, none, none, M, x["g"], x["h"])
    numbers = LimitNumbers.of(x["numbers"], is_unlimited)
    found = limit_torque(t, x["tau"], x["tau_0"], x["dt"][0], x["is_on"][0], numbers)
    return {"tau_1": found.tau, "cut": found[1:]}


_SAMPLES: tuple[dict[str, float], ...] = (
    {},
    {"v": 5.0},
    {"v": 5.0, "tau": 30.0},
    {"tau": 30.0, "is_on": 0.0},
    {"tau": 0.0, "tau_0": 0.0},
)
"""Sizes of random inputs, 1 where none is given: each case of the law is among those that are compared."""
_MIDDLES, _SPREADS = (20.0, 100.0, 2.5, 15.0, -2.5, 2.5), (5.0, 100.0, 0.5, 5.0, 0.5, 0.5)
"""Of ``k_p k_velocity v_max tau_max`` and the soft limits there."""


def _fill(x: Mapping[str, Array], sizes: Mapping[str, float], n: int, rng: np.random.Generator) -> None:
    for name in ("q", "v", "g", "h", "tau", "tau_0"):
        x[name][:] = sizes.get(name, 1.0) * rng.uniform(-1.0, 1.0, n)
    A = rng.uniform(-0.5, 0.5, (n, n))
    x["M"][:], x["dt"][:], x["is_on"][:] = (A @ A.T + np.eye(n)).ravel(), 1e-3, sizes.get("is_on", 1.0)
    numbers = np.array(_MIDDLES)[:, None] + np.array(_SPREADS)[:, None] * rng.uniform(-1.0, 1.0, (6, n))
    x["numbers"][:] = [1000.0, 100.0, *numbers.ravel()]


def _compare(is_unlimited: Array, kernel: Kernel) -> None:
    """Refuse a kernel that does not compute what the law's text says."""
    rng = np.random.default_rng(0)
    for sizes in _SAMPLES:
        _fill(kernel.inputs, sizes, len(is_unlimited), rng)
        if kernel.call():
            raise ModelError("the kernel finds its input not finite")
        for name, expected in _everything(is_unlimited, kernel.inputs).items():
            error = np.max(np.abs(kernel.outputs[name] - expected))
            if not error <= AGREEMENT * max(1.0, np.max(np.abs(expected))):
                raise ModelError(f"'{name}' is {error:.1e} off the law as it stands")


def _bound(kernel: Kernel, limits: JointLimits) -> Run:
    """Return a function that fills in, calls and copies; what it needs is bound once: looking up shows."""
    call, x, numbers, n = kernel.call, kernel.inputs, limits.numbers, len(limits.is_unlimited)
    q_in, v_in, g_in, h_in, tau_in, tau_0_in = (x[name] for name in ("q", "v", "g", "h", "tau", "tau_0"))
    M_in, dt_in, is_on_in, numbers_in = x["M"].reshape(n, n), x["dt"], x["is_on"], x["numbers"]
    tau_1, cut, new = kernel.outputs["tau_1"].copy, kernel.outputs["cut"].tolist, tuple.__new__

    def run(t: Terms, tau: Array, tau_0: Array, dt: float, is_on: float) -> LimitedTorque:
        q_in[...], v_in[...], g_in[...], h_in[...], M_in[...] = t.q, t.v, t.g, t.h, t.M
        tau_in[...], tau_0_in[...], numbers_in[...] = tau, tau_0, numbers
        dt_in[0], is_on_in[0] = dt, is_on
        call()  # whether all is finite does not matter: the law gives the weight where it is not
        return new(LimitedTorque, (tau_1(), *cut()))

    return run
