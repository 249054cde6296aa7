"""Operational space control, compiled: the law's own text together with the model's terms, one call a tick.

There are two kernels. The first is for states in which no direction fades, which its output ``regularity`` certifies
by a number above zero (:func:`~arm_control.control.osc.task_inertia.regularity`). In all other states the second one
counts, which computes eigenvalues, too. Where nothing can be compiled the law runs as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arm_control.compiler.builtin_methods import place_builtin
from arm_control.compiler.kernels import Kernel
from arm_control.control.osc.contact_parameters import ContactParameters
from arm_control.control.osc.law_kernels import cases, osc_law, osc_samples
from arm_control.control.osc.osc_controller import WITHOUT_CONTACT, OperationalSpaceController, OscOutput
from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.exceptions import InputError
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.motion.references import Reference


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

    Attributes
    ----------
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
        self, model: RobotModel, parameters: OscParameters, contact: ContactParameters = WITHOUT_CONTACT
    ) -> None:
        self._page = OperationalSpaceController(model, parameters, contact)
        self.exert = self._page.exert
        self.parameters, self.structure, self._model = parameters, self._page.structure, model
        samples = osc_samples(model.tree, self._page.numbers)
        kinds = cases(self.structure, model.nv)
        laws = [osc_law(model.tree, self._page, is_regular) for is_regular in kinds]
        kernels = [model.compile_law(law, samples) for law in laws]
        self.is_compiled = all(kernel.is_compiled for kernel in kernels)
        length = parameters.characteristic_length
        kept = [pair for pair in zip(kernels, kinds, strict=True) if pair[0].is_compiled]
        self._runs = [_bind(kernel, self._page.numbers, length, is_regular) for kernel, is_regular in kept]
        place_builtin(self, CompiledOsc, "tick", partial(_builtin_tick, kernels, self._page.numbers, length))

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


def _disturbance(tau_dist: npt.ArrayLike, n: int) -> Array:
    tau = np.array(tau_dist, dtype=float)
    if tau.shape != (n,) or not np.isfinite(tau).all():
        raise InputError(f"tau_dist is {tau.tolist()}; {n} finite numbers are needed")
    return tau


def _builtin_tick(
    kernels: Sequence[Kernel], numbers: Array, length: float, slow: Callable[..., Any], doc: str
) -> Callable[..., Any] | None:
    """A function of each kernel: the first one leaves a state that it is not for to the next, the last to ``slow``."""
    if not all("tick" in kernel.calls for kernel in kernels):
        return None
    for kernel in reversed(kernels):
        bound = {**kernel.inputs, "numbers": numbers, "length": length}
        slow = kernel.calls["tick"].bind(slow, bound, doc)
    return slow


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
