"""The control step: law and limits in one kernel give the bits of the separate calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from arm_control.compiler import Kernel
from arm_control.control import CompiledOsc, OperationalSpaceController, OscOutput, OscParameters, step_kernels
from arm_control.gate import GateParameters, JointLimits, LimitedTorque, compile_limits
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel
from arm_control.motion import Reference

HOMES = {"ur5": (0.0, -1.4, 1.9, -2.07, -1.57, 0.0), "double_pendulum": (0.3, 0.5)}


def limits_of(model: RobotModel) -> JointLimits:
    p = GateParameters()
    return JointLimits(model, p, p.rate_limit)


def flat(reference: Reference) -> Array:
    return np.concatenate([reference.X_WT.R.ravel(), reference.X_WT.p, reference.V_des, reference.A_des])


def answer(kernels: list[Kernel], **values: Array | float) -> dict[str, Array]:
    """Outputs of the first kernel that is for the state."""
    for kernel in kernels:
        for name, value in values.items():
            kernel.inputs[name][:] = value
        assert not kernel.call()
        if kernel.outputs.get("regularity", 1.0) > 0.0:
            break
    return kernel.outputs


def assert_same_bits(found: dict[str, Array], law: OscOutput, limited: LimitedTorque) -> None:
    t = law.state
    wanted = {"tau": law.tau, "parts": law.parts, "error": law.error, "M": t.M, "h": t.h, "J": t.J}
    wanted |= {"tau_1": limited.tau, "cut": np.array(limited[1:])}
    assert {name: found[name].tobytes() for name in wanted} == {name: x.tobytes() for name, x in wanted.items()}


@pytest.mark.parametrize("name", HOMES)
def test_one_kernel_gives_the_bits_of_two(name: str, load_robot: Callable[..., RobotModel]):
    model, home = load_robot(name), HOMES[name]
    n, rng = model.nv, np.random.default_rng(0)
    p = OscParameters(posture=home)
    osc, page, limits = CompiledOsc(model, p), OperationalSpaceController(model, p), limits_of(model)
    kernels, limit = step_kernels(model, page, limits), compile_limits(model, limits)
    cuts = []
    for _ in range(300):
        q, v = home + rng.uniform(-1.0, 1.0, n), rng.choice([0.3, 3.0]) * rng.uniform(-1.0, 1.0, n)
        X_WT = Pose(rotation_from_vector(rng.uniform(-1.0, 1.0, 3)), rng.uniform(-0.5, 0.5, 3))
        A_des = rng.choice([0.5, 50.0]) * rng.uniform(-1.0, 1.0, 6)
        r, tau_dist = Reference(X_WT, rng.uniform(-0.5, 0.5, 6), A_des), rng.uniform(-1.0, 1.0, n)
        law = osc.tick(q, v, r, tau_dist)
        tau_0 = law.tau + rng.choice([0.1, 10.0]) * rng.uniform(-1.0, 1.0, n)
        step = {"tau_0": tau_0, "dt": 1e-3, "is_on": float(rng.random() < 0.8)}
        limited = limit(law.state, law.tau, *step.values())
        state = {"q": q, "v": v, "reference": flat(r), "tau_dist": tau_dist, "numbers": page.numbers}
        found = answer(kernels, **state, **step, limits=limits.numbers)
        assert_same_bits(found, law, limited)
        cuts.append([x > 0.0 for x in limited[1:]])
    assert np.any(cuts, axis=0).all(), "every limit cuts at times"
    assert not np.all(cuts, axis=0).any(), "and at times not"


def test_a_torque_that_the_gate_refuses_is_not_believable(ur5: RobotModel):
    page, limits = OperationalSpaceController(ur5, OscParameters(posture=HOMES["ur5"])), limits_of(ur5)
    kernels = step_kernels(ur5, page, limits)
    state = {"q": np.array(HOMES["ur5"]), "numbers": page.numbers, "limits": limits.numbers, "dt": 1e-3}
    state["reference"] = flat(Reference(ur5.pose(HOMES["ur5"])))
    for v, is_believable in ((0.0, True), (1e4, False), (1e200, False)):  # the last one's torque is no number
        assert (answer(kernels, **state, v=v)["believable"] > 0.0) == is_believable


def test_a_kernel_has_an_address(load_robot: Callable[..., RobotModel]):
    ur5 = load_robot("ur5")  # its own: the inputs of a kernel are written, and built-in calls read the tool there
    page, limits = OperationalSpaceController(ur5, OscParameters(posture=HOMES["ur5"])), limits_of(ur5)
    kernel = step_kernels(ur5, page, limits)[0]
    sizes = [sum(x.size for x in views.values()) for views in (kernel.inputs, kernel.outputs)]
    rng = np.random.default_rng(1)
    work = np.concatenate([rng.uniform(0.1, 1.0, sizes[0]), np.zeros(sizes[1])])
    first = 0
    for view in kernel.inputs.values():
        view[:] = work[first : first + view.size]
        first += view.size
    compute = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(kernel.address)
    assert (compute(work.ctypes.data), kernel.call()) == (0.0, False)
    assert work[sizes[0] :].tobytes() == b"".join(x.tobytes() for x in kernel.outputs.values())
    work[0] = np.nan
    assert np.isnan(compute(work.ctypes.data))
