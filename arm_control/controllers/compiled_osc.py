"""Operational space control, compiled: the law's own text on a tape, together with the model's terms.

There are two kernels. One is for states in which no direction fades; it says so by a number above zero
(:func:`~arm_control.controllers.task_inertia.regularity`). Where that is not so the other one, which computes
eigenvalues too, has its turn. Where nothing can be compiled the law runs as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.controllers.osc import Drive, Gains, OperationalSpaceController, OscOutput, OscParameters, torque
from arm_control.controllers.task_inertia import regularity
from arm_control.exceptions import ModelError
from arm_control.model import RobotModel, Terms
from arm_control.model.engine import AGREEMENT, TERMS
from arm_control.model.kernels import Kernel
from arm_control.model.program import Program
from arm_control.model.quantities import State, input_sizes, tool_numbers
from arm_control.model.tape import Tape
from arm_control.model.tree import Tree
from arm_control.reference import Reference
from arm_control.spatial import Array, Pose, rotation_from_vector

REFERENCE = 24
"""Numbers of a reference: R_WT (9), p_WT (3), V_des (6), A_des (6)."""


class CompiledOsc:
    """The law of :mod:`arm_control.controllers.osc`, from joint positions and velocities to torque in one call.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscParameters
        Gains and limits; a ``posture`` is needed here, one angle per joint. Other numbers need no compilation.

    Attributes
    ----------
    is_compiled : bool
        False where the law runs as it stands.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("ur5"))
    >>> q = np.array([0.0, -1.6, 1.8, -1.8, -1.57, 0.0])
    >>> osc = CompiledOsc(model, OscParameters(posture=tuple(q)))
    >>> output = osc.tick(q, np.zeros(6), Reference(model.pose(q)))
    >>> bool(np.allclose(output.tau, output.state.g))
    True
    """

    def __init__(self, model: RobotModel, parameters: OscParameters) -> None:
        self._page = OperationalSpaceController(model, parameters)
        self.parameters, self._model = parameters, model
        cases = (True, False) if model.nv >= 6 else (False,)  # with fewer joints a direction is always missing
        kernels = [_kernel(model, self._page, is_regular) for is_regular in cases]
        self.is_compiled = all(kernel is not None for kernel in kernels)
        self._runs = [_bound(k, self._page.numbers, parameters.characteristic_length) for k in kernels if k is not None]

    def tick(self, q: npt.ArrayLike, v: npt.ArrayLike, reference: Reference) -> OscOutput:
        """Joint torque for one state.

        Parameters
        ----------
        q, v : array_like, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s].
        reference : Reference
            The motion wanted.

        Raises
        ------
        InputError
            When an array has a wrong length or an entry that is not finite.
        """
        for run in self._runs:
            output = run(q, v, reference)
            if output is not None:
                return output
        return self._page.tick(self._model.evaluate(q, v), reference)


def _kernel(model: RobotModel, page: OperationalSpaceController, is_regular: bool) -> Kernel | None:
    drive = page.drive
    made_from = sha256(repr([*map(np.ndarray.tolist, drive), is_regular]).encode() + _sources()).hexdigest()
    name = f"operational space control{', regular' if is_regular else ''} {made_from}"
    write = partial(write_down, model.tree, drive, is_regular)
    return model.compile(name, write, partial(_compare, model.tree, page, is_regular))


@cache
def _sources() -> bytes:
    """The texts the law consists of besides those that every program of the model is made by."""
    return b"".join(
        Path(__file__).with_name(f"{name}.py").read_bytes() for name in ("osc", "task_inertia", "compiled_osc")
    )


def write_down(tree: Tree, drive: Drive, is_regular: bool) -> Program:
    """Return the program of the model's terms and the law."""
    tape, n = Tape(), tree.n
    sizes = {**{name: input_sizes(n)[name] for name in ("q", "v", "tool")}, "reference": REFERENCE, "numbers": 13 + n}
    return tape.program(_everything(tree, drive, is_regular, {name: tape.inputs(name, k) for name, k in sizes.items()}))


def _everything(tree: Tree, drive: Drive, is_regular: bool, x: Mapping[str, Array]) -> dict[str, Any]:
    """Terms, torque and regularity, of any scalars."""
    state = State(tree, {name: x[name] for name in ("q", "v", "tool")})
    s = {name: getattr(state, name) for name in TERMS}
    t = Terms(x["q"], x["v"], Pose(s["R_WE"], s["p_WE"]), *(s[name] for name in TERMS[2:]))
    r, gains = x["reference"], Gains.of(x["numbers"])
    reference = Reference(Pose(r[:9].reshape(3, 3), r[9:12]), r[12:18], r[18:])
    found = torque(t, reference, gains, drive, is_regular)
    certificate = {"regularity": regularity(t.J, gains.length, gains.singular_value)} if is_regular else {}
    return {**s, **found._asdict(), **certificate}


def _compare(tree: Tree, page: OperationalSpaceController, is_regular: bool, kernel: Kernel) -> None:
    """Refuse a kernel that does not compute what the law's text says."""
    rng = np.random.default_rng(0)
    for name in ("q", "v"):
        kernel.inputs[name][:] = rng.uniform(-1.0, 1.0, tree.n)
    turn = rotation_from_vector(rng.uniform(-1.0, 1.0, 3)).ravel()
    kernel.inputs["reference"][:] = [*turn, *rng.uniform(-0.5, 0.5, REFERENCE - 9)]
    kernel.inputs["tool"][:], kernel.inputs["numbers"][:] = tool_numbers(tree), page.numbers
    if kernel.call():
        raise ModelError("the kernel finds its input not finite")
    expected = _everything(tree, page.drive, is_regular, kernel.inputs)
    for name in ("tau", "task", "posture", "error", "M", "h"):
        error = np.max(np.abs(kernel.outputs[name] - expected[name]))
        if not error <= AGREEMENT * max(1.0, np.max(np.abs(expected[name]))):
            raise ModelError(f"'{name}' is {error:.1e} off the law as it stands")


def _bound(kernel: Kernel, numbers: Array, length: float) -> Callable[..., OscOutput | None]:
    """Return a function of q, v and a reference; it returns None where the kernel is not the one to ask."""
    call, inputs, outputs = kernel.call, kernel.inputs, kernel.outputs
    q_in, v_in, numbers_in, n = inputs["q"], inputs["v"], inputs["numbers"], len(inputs["q"])
    R_in, p_in = inputs["reference"][:9].reshape(3, 3), inputs["reference"][9:12]
    V_in, A_in = inputs["reference"][12:18], inputs["reference"][18:]
    regular, copy_q, copy_v = outputs.get("regularity", np.ones(())), q_in.copy, v_in.copy
    R, p, V, J, Jdot_v, M, g, h, tau, task, posture, error = (x.copy for x in list(outputs.values())[:12])

    def run(q: Any, v: Any, reference: Reference) -> OscOutput | None:
        X_WT, V_des, A_des = reference.X_WT, reference.V_des, reference.A_des
        if len(q) != n or len(v) != n:
            return None
        q_in[...], v_in[...], numbers_in[...] = q, v, numbers
        R_in[...], p_in[...], V_in[...], A_in[...] = X_WT.R, X_WT.p, V_des, A_des
        if call() or not regular > 0.0:
            return None
        state = Terms(copy_q(), copy_v(), Pose(R(), p()), V(), J(), Jdot_v(), M(), g(), h())
        return OscOutput(tau(), {"task": task(), "posture": posture(), "bias": state.h}, error(), state, length)

    return run
