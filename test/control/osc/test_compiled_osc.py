"""The compiled law is the law's own text: the same numbers, in every state, with every gain and tool."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from weakref import ref

import numpy as np
import pytest

from arm_control.compiler import llvm_compiler
from arm_control.control import CompiledOsc, OperationalSpaceController, OscParameters
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel, Terms, Tool
from arm_control.motion import Reference

Load = Callable[..., RobotModel]


def moving(model: RobotModel, rng: np.random.Generator, q: Array) -> Reference:
    """A target near the end effector that moves, or, one time in four, anywhere."""
    X = model.pose(q)
    reach, turn = (0.2, 0.5) if rng.random() < 0.75 else (2.0, 3.1)
    X_WT = Pose(rotation_from_vector(rng.uniform(-turn, turn, 3)) @ X.R, X.p + rng.uniform(-reach, reach, 3))
    return Reference(X_WT, rng.uniform(-0.3, 0.3, 6), rng.uniform(-1.0, 1.0, 6))


def flat(state: Terms) -> Array:
    return np.concatenate([np.ravel(x) for x in (*state.X_WE, *(y for y in state if y is not state.X_WE))])


def assert_same(
    model: RobotModel, compiled: CompiledOsc, page: OperationalSpaceController, q: Array, v: Array, r: Reference
):
    found, wanted = compiled.tick(q, v, r), page.tick(model.evaluate(q, v), r)
    size = 1.0 + np.abs(wanted.tau).max()
    np.testing.assert_allclose(found.tau, wanted.tau, rtol=0, atol=1e-9 * size)
    for name, term in wanted.terms.items():
        np.testing.assert_allclose(found.terms[name], term, rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(found.error, wanted.error, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.singular_values, wanted.singular_values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(flat(found.state), flat(wanted.state), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", ["panda", "double_pendulum"])
def test_it_computes_what_the_text_says(name: str, load_robot: Load):
    model = load_robot(name)
    rng = np.random.default_rng(0)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    p = OscParameters(posture=tuple(rng.uniform(low, high)))
    compiled, page = CompiledOsc(model, p), OperationalSpaceController(model, p)
    assert compiled.is_compiled
    for _ in range(30):
        q, v = rng.uniform(low, high), rng.uniform(-1.0, 1.0, model.nv)
        assert_same(model, compiled, page, q, v, moving(model, rng, q))


WAYS_IN = {
    "stretched": lambda x: np.array([0.2, -0.6, x, -1.9, -1.57, 0.0]),
    "wrist": lambda x: np.array([0.1, -1.6, 1.9, -0.3, x, 0.3]),
    "shoulder": lambda x: np.array([0.3, -np.pi / 2, x, -np.pi / 2, x, 0.0]),
}


def test_it_does_so_at_every_distance_from_a_singularity(ur5: RobotModel):
    rng = np.random.default_rng(1)
    p = OscParameters(posture=(0.1, -1.4, 1.5, -1.0, -1.5, 0.2))
    compiled, page = CompiledOsc(ur5, p), OperationalSpaceController(ur5, p)
    for way, x in product(WAYS_IN.values(), (0.0, *np.geomspace(1e-12, 1.0, 10))):
        q = way(x)
        r = moving(ur5, rng, q)
        found, wanted = compiled.tick(q, np.zeros(6), r).tau, page.tick(ur5.evaluate(q, np.zeros(6)), r).tau
        # sigma is the root of sigma^2: where it is zero but for rounding, it is good to 1e-8
        tolerance = 1e-9 if x > 1e-2 else 1e-8 if x > 1e-5 else 1e-6
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * (1 + np.abs(wanted).max()))


def test_a_state_has_one_torque_whichever_kernel_answered_before(ur5: RobotModel):
    """To the bit: that of both in regular states, of the second one where the wrist is nearly straight."""
    osc = CompiledOsc(ur5, OscParameters(posture=(0.1, -1.4, 1.5, -1.0, -1.5, 0.2)))
    for x in (0.8, 0.9, 1e-3, 2e-3, 0.8, 1e-3):
        q, v = WAYS_IN["wrist"](x), np.full(6, 0.1)
        X = ur5.pose(WAYS_IN["wrist"](x + 0.2))
        tau, both = osc.tick(q, v, Reference(X, np.zeros(6))).tau.tobytes(), []
        for kernel in osc.kernels:
            values = {"q": q, "v": v, "reference": [*X.R.ravel(), *X.p, *np.zeros(12)], "numbers": osc.page.numbers}
            for name, value in values.items():
                kernel.inputs[name][:] = value
            assert not kernel.call()
            assert (kernel.outputs["regularity"] > 0.0) == (x > 0.1)
            both.append(kernel.outputs["tau"].tobytes())
        assert (both[0] == both[1]) == (x > 0.1)
        assert tau == both[1]


def test_gains_change_without_compiling(ur5: RobotModel, monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(3)
    CompiledOsc(ur5, OscParameters(posture=(0.0,) * 6))
    monkeypatch.setattr(llvm_compiler, "compile_code", None)
    for _ in range(20):
        gains = {
            "kp_linear": rng.uniform(50, 300), "kp_angular": rng.uniform(50, 300), "damping_ratio": rng.uniform(0.9, 2),
            "speed_limit_linear": rng.uniform(0.1, 0.5), "joint_speed_share": rng.uniform(0.1, 1.0),
            "characteristic_length": rng.uniform(0.1, 0.5), "singular_value": rng.uniform(0.01, 0.1),
            "kp_posture": rng.uniform(0, 50), "kv_posture": rng.uniform(0, 50), "acceleration_limit_linear": 20.0,
            "acceleration_limit_angular": 40.0, "posture": tuple(rng.uniform(-2, 2, 6)),
        }  # fmt: skip
        p = OscParameters(**gains)
        q, v = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6)
        assert_same(ur5, CompiledOsc(ur5, p), OperationalSpaceController(ur5, p), q, v, moving(ur5, rng, q))


def test_it_knows_the_tool_at_once(load_robot: Load):
    model = load_robot("ur5")
    rng = np.random.default_rng(4)
    p = OscParameters(posture=(0.0,) * 6)
    compiled, page = CompiledOsc(model, p), OperationalSpaceController(model, p)
    model.attach(
        Tool(mass=2.0, centre=(0.0, 0.02, 0.1), X_ET=Pose(rotation_from_vector([0, 0.3, 0]), np.array([0, 0, 0.2])))
    )
    for _ in range(20):
        q, v = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6)
        assert_same(model, compiled, page, q, v, moving(model, rng, q))


@pytest.mark.parametrize(("q", "v"), [([0.0] * 6, [np.inf] * 6), ([0.0] * 5, [0.0] * 6)])
def test_bad_input_is_refused_like_everywhere(q: list[float], v: list[float], ur5: RobotModel):
    osc = CompiledOsc(ur5, OscParameters(posture=(0.0,) * 6))
    with pytest.raises(InputError, match=r"is not finite|has shape"):
        osc.tick(q, v, Reference(Pose(np.eye(3), np.zeros(3))))


@pytest.mark.parametrize("reference", [np.eye(4), Pose.identity(), None])
def test_what_is_no_reference_is_refused(reference: object, ur5: RobotModel):
    osc = CompiledOsc(ur5, OscParameters(posture=(0.0,) * 6))
    with pytest.raises(InputError, match=r"reference is a \w+; allowed: Reference\(pose or matrix\), Reference.at"):
        osc.tick(np.zeros(6), np.zeros(6), reference)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="v is 'fast'; allowed: numbers"):
        osc.tick(np.zeros(6), "fast", Reference(Pose.identity()))
    head, values = repr(osc).splitlines()
    assert head == "<CompiledOsc of ur5, 6 joints, compiled"
    assert "kp_linear=200.0" in values


def test_what_happened_before_does_not_matter(ur5: RobotModel):
    """A controller made anew gives the same bits, whatever happened before."""
    p, v = OscParameters(posture=(0.3,) * 6), np.full(6, 0.1)
    home, stretched = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0]), np.array([0.0, -1.5, 0.0, 0.0, 0.3, 0.0])
    osc, r, fading = CompiledOsc(ur5, p), Reference(ur5.pose(home)), []
    for q in (home, stretched, stretched, home, home):
        found, alone = osc.tick(q, v, r), CompiledOsc(ur5, p).tick(q, v, r)
        assert found.tau.tobytes() == alone.tau.tobytes()
        fading.append(osc._calls["tick"].run.record.is_fading[0])
    assert fading == [0, 1, 1, 0, 0]
    tick, gone, expected = osc.tick, ref(osc), osc.tick(home, v, r).tau.tobytes()
    del osc
    assert gone() is None, "the function does not hold it"
    assert tick(home, v, r).tau.tobytes() == expected
