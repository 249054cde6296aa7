"""Operational space control, compiled: the law's own text together with the model's terms, one call a tick.

There may be two kernels: a quick one for states in which no direction fades, and one that computes eigenvalues, too
(:mod:`arm_control.control.compiled_step`). The one that answered last is asked first, so near a singularity only one
of them runs; which one answers depends on nothing but the state. Where nothing can be compiled the law runs as it
stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from arm_control.compiler import KernelCall, in_machine_code
from arm_control.control.avoidance_law import Avoidance
from arm_control.control.compiled_step import PASSES, StepOutput, step_form, tick_form
from arm_control.control.osc.osc_controller import WITHOUT_CONTACT, OperationalSpaceController, OscOutput
from arm_control.control.osc.osc_parameters import ContactParameters, OscParameters
from arm_control.control.whole_step import Between, kernels_of, law_run, step_run
from arm_control.exceptions import InputError
from arm_control.gate import JointLimits
from arm_control.maths import Array, Obstacle
from arm_control.model import RobotModel
from arm_control.motion import Reference


class CompiledOsc:
    """The law of :mod:`arm_control.control.osc.osc_law`, from joint positions and velocities to torque in one call.

    Parameters
    ----------
    parameters : OscParameters
        Gains, limits and structure; a ``posture`` is needed here, one angle per joint. Other numbers need no
        compilation.
    limits : JointLimits, optional
        Limits of a gate, for :meth:`step`; by default there is none.
    between : Avoidance or ConstraintSet, optional
        What is between law and limits.

    Attributes
    ----------
    kernels : list of Kernel
        One or two, see :mod:`arm_control.control.compiled_step`; with limits those of
        :mod:`arm_control.control.compiled_step`.
    is_compiled : bool
        False where the law runs as it stands.
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
        between: Between | None = None,
    ) -> None:
        self._page = page = OperationalSpaceController(model, parameters, contact)
        self.exert = page.exert
        self.parameters, self.structure, self._model = parameters, page.structure, model
        self.kernels = kernels_of(model, page, limits, between)
        self.is_compiled = all(kernel.is_compiled for kernel in self.kernels)
        bound = {**PASSES, "avoidance": None, "numbers": page.numbers, "length": parameters.characteristic_length}
        if isinstance(between, Avoidance):
            bound |= {"current": between.current, "proximity": between.proximity}
        bound |= {"tool": self.kernels[0].inputs["tool"]} | ({} if limits is None else {"limits": limits.numbers})
        self._calls, self._in_python = (  # on memory of their own: one runs under Python's lock, one under its own
            self._made_calls(bound, limits, between) if self.is_compiled else {} for _ in range(2)
        )

    def _made_calls(
        self, bound: Mapping[str, object], limits: JointLimits | None, between: Between | None
    ) -> dict[str, KernelCall]:
        """The functions by their names."""
        n, kernels = self._model.nv, self.kernels
        run, x = law_run(kernels)
        calls = {"tick": KernelCall(tick_form(n), run, x.inputs, x.outputs, bound)}
        if limits is not None:
            form = step_form(n, avoids=isinstance(between, Avoidance))
            run, x = step_run(self._model, kernels, limits, between)
            calls["step"] = KernelCall(form, run, x.inputs, x.outputs, bound)
        return calls

    def __repr__(self) -> str:
        chosen = {"kp_linear", "kp_angular", "speed_limit_linear", "speed_limit_angular", "tasks", "null_space"}
        values = ", ".join(f"{name}={value!r}" for name, value in self.parameters.values().items() if name in chosen)
        how = "compiled" if self.is_compiled else "in Python"
        return f"<CompiledOsc of {self._model.urdf.robot.name}, {self._model.nv} joints, {how}\n {values}>"

    @property
    def page(self) -> OperationalSpaceController:
        """The law on floats."""
        return self._page

    @in_machine_code(lambda osc: osc._calls.get("tick"))
    def tick(
        self, q: npt.ArrayLike, v: npt.ArrayLike, reference: Reference, tau_dist: npt.ArrayLike | None = None
    ) -> OscOutput:
        """Joint torque for one state; an InputError when an array has a wrong length or an entry that is not finite."""
        if self.is_compiled:
            output: OscOutput | None = self._in_python["tick"](q, v, reference, tau_dist)
            if output is not None:
                return output
        t = self._model.evaluate(q, v)
        return self._page.tick(t, reference, None if tau_dist is None else _disturbance(tau_dist, self._model.nv))

    @in_machine_code(lambda osc: osc._calls.get("step"))
    def step(
        self,
        q: Array,
        v: Array,
        reference: Reference,
        tau_0: Array,
        dt: float,
        is_on: float,
        obstacles: Sequence[Obstacle] = (),
        tau_dist: Array | None = None,
    ) -> StepOutput | None:
        """Joint torque for one state, and what of it passes the gate: :meth:`tick` and the limits in one call.

        Parameters
        ----------
        tau_0, dt, is_on
            As :meth:`~arm_control.gate.effort_gate.EffortGate.next_limits` returns them.
        obstacles : sequence of Obstacle
            Those to avoid; needed with avoidance, else not looked at.

        Returns
        -------
        StepOutput or None
            To the last bit what :meth:`tick`, avoidance and a gate that passes commands return; None where they must
            be asked: without machine code or ``limits``, for arrays that are not of finite floats, for a torque that
            the gate does not believe, outside a constraint, for obstacles that are not those of the last tick of
            avoidance, and where more pairs are near than there is room for.
        """
        if "step" not in self._in_python:
            return None
        output: StepOutput | None = self._in_python["step"](q, v, reference, tau_0, dt, is_on, obstacles, tau_dist)
        return output


def _disturbance(tau_dist: npt.ArrayLike, n: int) -> Array:
    tau = np.array(tau_dist, dtype=float)
    if tau.shape != (n,) or not np.isfinite(tau).all():
        raise InputError(f"tau_dist is {tau.tolist()}; {n} finite numbers are needed")
    return tau
