"""Operational space control, compiled: the law's own text together with the model's terms, one call a tick.

There may be two kernels: a quick one for states in which no direction fades, and one that computes eigenvalues, too
(:mod:`arm_control.control.osc.law_kernels`). The one that answered last is asked first, so near a singularity only one
of them runs; which one answers depends on nothing but the state. Where nothing can be compiled the law runs as it
stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt

from arm_control.compiler import Kernel, place_builtin
from arm_control.control.compiled_step import PASSES, StepOutput, step_kernels
from arm_control.control.osc.contact_parameters import ContactParameters
from arm_control.control.osc.law_kernels import FADING, cases, osc_law, osc_samples
from arm_control.control.osc.osc_controller import WITHOUT_CONTACT, OperationalSpaceController, OscOutput
from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.exceptions import InputError
from arm_control.gate import JointLimits
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.motion import Reference


class CompiledOsc:
    """The law of :mod:`arm_control.control.osc.osc_law`, from joint positions and velocities to torque in one call.

    Parameters
    ----------
    model : RobotModel
        The arm.
    parameters : OscParameters
        Gains, limits and structure; a ``posture`` is needed here, one angle per joint. Other numbers need no
        compilation.
    contact : ContactParameters, optional
        Impedance and force of the hand; by default neither.
    limits : JointLimits, optional
        Limits of a gate, for :meth:`step`; by default there is none.

    Attributes
    ----------
    kernels : list of Kernel
        One or two, see :mod:`arm_control.control.osc.law_kernels`; with limits those of
        :mod:`arm_control.control.compiled_step`.
    is_compiled : bool
        False where the law runs as it stands.
    structure : LawStructure
        Tasks, frame and variants.
    exert : callable
        Sets share and wrench of the force axes, from the next state on; see
        :meth:`~arm_control.control.osc.osc_controller.OperationalSpaceController.exert`.

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

    def __init__(
        self,
        model: RobotModel,
        parameters: OscParameters,
        contact: ContactParameters = WITHOUT_CONTACT,
        limits: JointLimits | None = None,
    ) -> None:
        self._page = page = OperationalSpaceController(model, parameters, contact)
        self.exert = page.exert
        self.parameters, self.structure, self._model = parameters, page.structure, model
        self.kernels = _kernels(model, page) if limits is None else step_kernels(model, page, limits)
        self.is_compiled = all(kernel.is_compiled for kernel in self.kernels)
        length, kinds = parameters.characteristic_length, cases(self.structure, model.nv)
        kept = [pair for pair in zip(self.kernels, kinds, strict=True) if pair[0].is_compiled]
        self._runs = [_bind(kernel, page.numbers, length, is_regular) for kernel, is_regular in kept]
        bound = {**PASSES, "avoidance": None, "numbers": page.numbers, "length": length}
        bound |= {} if limits is None else {"limits": limits.numbers}
        fading: dict[str, Callable[..., Any]] = {}
        for name in ("tick", "step"):
            place_builtin(self, CompiledOsc, name, partial(_builtin, ref(self), name, self.kernels, bound, fading))
        self._fading = fading

    @property
    def page(self) -> OperationalSpaceController:
        """The law on floats."""
        return self._page

    def tick(
        self, q: npt.ArrayLike, v: npt.ArrayLike, reference: Reference, tau_dist: npt.ArrayLike | None = None
    ) -> OscOutput:
        """Joint torque for one state.

        Parameters
        ----------
        q, v : array_like, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s].
        reference : Reference
            Desired motion of the end effector.
        tau_dist : array_like, shape (nv,), optional
            Torque that a known disturbance exerts on the joints [N m or N]; none by default.

        Raises
        ------
        InputError
            When an array has a wrong length or an entry that is not finite.
        """
        for run in self._runs:
            output = run(q, v, reference, tau_dist)
            if output is not None:
                return output
        t = self._model.evaluate(q, v)
        return self._page.tick(t, reference, None if tau_dist is None else _disturbance(tau_dist, self._model.nv))

    def step(
        self,
        q: Array,
        v: Array,
        reference: Reference,
        tau_0: Array,
        dt: float,
        is_on: float,
        tau_dist: Array | None = None,
    ) -> StepOutput | None:
        """Joint torque for one state, and what of it passes the gate: :meth:`tick` and the limits in one call.

        Parameters
        ----------
        q, v : ndarray, shape (nv,)
            Joint positions [rad or m] and velocities [rad/s or m/s].
        reference : Reference
            Desired motion of the end effector.
        tau_0, dt, is_on
            As :meth:`~arm_control.gate.effort_gate.EffortGate.next_limits` returns them.
        tau_dist : ndarray, shape (nv,), optional
            Torque that a known disturbance exerts on the joints [N m or N]; none by default.

        Returns
        -------
        StepOutput or None
            To the last bit what :meth:`tick` and a gate that passes commands return; None where they must be asked:
            without machine code or ``limits``, for arrays that are not of finite floats, and for a torque that the
            gate does not believe.
        """
        return None


def _disturbance(tau_dist: npt.ArrayLike, n: int) -> Array:
    tau = np.array(tau_dist, dtype=float)
    if tau.shape != (n,) or not np.isfinite(tau).all():
        raise InputError(f"tau_dist is {tau.tolist()}; {n} finite numbers are needed")
    return tau


def _kernels(model: RobotModel, page: OperationalSpaceController) -> list[Kernel]:
    """Kernels of the law alone: the one for regular states first, if there are such states at all."""
    samples = osc_samples(model.tree, page.numbers)
    return [
        model.compile_law(osc_law(model.tree, page, is_regular), samples)
        for is_regular in cases(page.structure, model.nv)
    ]


def _builtin(
    owner: ref[CompiledOsc],
    name: str,
    kernels: Sequence[Kernel],
    bound: Mapping[str, object],
    fading: dict[str, Callable[..., Any]],
    slow: Callable[..., Any],
    doc: str,
) -> Callable[..., Any] | None:
    """A method as a built-in function: of two kernels the one that answered last is asked first.

    Each leaves a state that is not its own to the other one, and that takes its place as the owner's method. Both find
    the same states regular, so the order does not matter to the answer. The function of fading states is kept in
    ``fading``.
    """
    if not all(name in kernel.calls for kernel in kernels):
        return None
    makers = [partial(_made, kernel, {**kernel.inputs, **bound}, doc) for kernel in kernels]
    for_all = makers[-1](name, slow)
    if len(kernels) == 1:
        return for_all

    def turn_to_fading(*arguments: Any, **named: Any) -> Any:
        if (osc := owner()) is not None:
            vars(osc)[name] = osc._fading[name]
        return for_all(*arguments, **named)

    regular = makers[0](name, turn_to_fading)

    def turn_to_regular(*arguments: Any, **named: Any) -> Any:
        if (osc := owner()) is not None:
            vars(osc)[name] = regular
        return regular(*arguments, **named)

    fading[name] = makers[1](name + FADING, turn_to_regular)
    return regular


def _made(
    kernel: Kernel, bound: Mapping[str, object], doc: str, name: str, slow: Callable[..., Any]
) -> Callable[..., Any]:
    """A built-in function of a kernel."""
    return kernel.calls[name].bind(slow, bound, doc)


def _bind(kernel: Kernel, numbers: Array, length: float, is_regular: bool) -> Callable[..., OscOutput | None]:
    """Return a function of q, v and a reference; it returns None in a state that the kernel is not for."""
    call, inputs, outputs = kernel.call, kernel.inputs, kernel.outputs
    q_in, v_in, tau_dist_in, n = inputs["q"], inputs["v"], inputs["tau_dist"], len(inputs["q"])
    R_in, p_in = inputs["reference"][:9].reshape(3, 3), inputs["reference"][9:12]
    V_in, A_in = inputs["reference"][12:18], inputs["reference"][18:]
    new: Any = tuple.__new__  # a named tuple's own costs half a microsecond for each
    numbers_in = inputs["numbers"]  # another controller of this arm may use the kernel, too
    regularity = outputs["regularity"] if is_regular else np.ones(())
    is_for, copy_q, copy_v = regularity.item, q_in.copy, v_in.copy
    R, p, V, J, Jdot_v, M, g, h, tau, parts, error = (x.copy for x in list(outputs.values())[:11])

    def run(q: Any, v: Any, reference: Reference, tau_dist: Any = None) -> OscOutput | None:
        X_WT, V_des, A_des = reference.X_WT, reference.V_des, reference.A_des
        if len(q) != n or len(v) != n or not (tau_dist is None or len(tau_dist) == n):
            return None
        with kernel.lock:
            q_in[...], v_in[...], numbers_in[...] = q, v, numbers
            tau_dist_in[...] = 0.0 if tau_dist is None else tau_dist
            R_in[...], p_in[...], V_in[...], A_in[...] = X_WT.R, X_WT.p, V_des, A_des
            if call() or not is_for() > 0.0:
                return None
            X_WE = new(Pose, (R(), p()))
            state = new(Terms, (copy_q(), copy_v(), X_WE, V(), J(), Jdot_v(), M(), g(), h()))
            return new(OscOutput, (tau(), parts(), error(), state, length))

    return run
