"""The compiled law is the law's own text: the same numbers, in every state, with every gain and tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, SimpleNamespace
from weakref import ref

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.compiler import Law, Program, llvm_compiler
from arm_control.control import CompiledOsc, OperationalSpaceController, OscParameters, scaled_jacobian
from arm_control.control.compiled_step import osc_law, osc_samples
from arm_control.control.osc.compiled_osc import compute_law
from arm_control.control.osc.osc_parameters import ContactParameters
from arm_control.control.osc.task_inertia import regularity
from arm_control.core import Cache
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


@pytest.mark.parametrize("name", ["ur5", "panda", "kinova", "koch", "double_pendulum"])
def test_it_computes_what_the_text_says(name: str, load_robot: Load):
    model = load_robot(name)
    rng = np.random.default_rng(0)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    p = OscParameters(posture=tuple(rng.uniform(low, high)))
    compiled, page = CompiledOsc(model, p), OperationalSpaceController(model, p)
    assert compiled.is_compiled
    for _ in range(200):
        q, v = rng.uniform(low, high), rng.uniform(-1.0, 1.0, model.nv)
        assert_same(model, compiled, page, q, v, moving(model, rng, q))


WAYS_IN = {
    "stretched": lambda x: np.array([0.2, -0.6, x, -1.9, -1.57, 0.0]),
    "wrist": lambda x: np.array([0.1, -1.6, 1.9, -0.3, x, 0.3]),
    "shoulder": lambda x: np.array([0.3, -np.pi / 2, x, -np.pi / 2, x, 0.0]),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_it_does_so_at_every_distance_from_a_singularity(way: str, ur5: RobotModel):
    rng = np.random.default_rng(1)
    p = OscParameters(posture=(0.1, -1.4, 1.5, -1.0, -1.5, 0.2))
    compiled, page = CompiledOsc(ur5, p), OperationalSpaceController(ur5, p)
    for x in (0.0, *np.geomspace(1e-12, 1.0, 60)):
        q = WAYS_IN[way](x)
        r = moving(ur5, rng, q)
        found, wanted = compiled.tick(q, np.zeros(6), r).tau, page.tick(ur5.evaluate(q, np.zeros(6)), r).tau
        # sigma is the root of sigma^2: where it is zero but for rounding, it is good to 1e-8
        tolerance = 1e-9 if x > 1e-2 else 1e-8 if x > 1e-5 else 1e-6
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * (1 + np.abs(wanted).max()))
        assert np.abs(found / ur5.tau_max).max() < 1.5


def test_regularity_is_above_zero_exactly_where_no_direction_fades(ur5: RobotModel):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(500):
        J = ur5.jacobian(rng.uniform(-np.pi, np.pi, 6))
        smallest = np.linalg.svd(scaled_jacobian(J, 0.3), compute_uv=False)[-1]
        for threshold in (0.999 * smallest, 1.001 * smallest):
            found.append(regularity(J, 0.3, threshold) > 0.0)
    assert found == [True, False] * 500


def test_the_law_that_answered_last_is_asked_first():
    asked: list[str] = []
    t = SimpleNamespace(regularity=np.ones(1), is_fading=np.zeros(1, np.int64))
    t.regular, t.fading = (lambda name=name: asked.append(name) for name in ("regular", "fading"))
    for t.regularity[0] in (1.0, -1.0, -1.0, 1.0, 1.0):
        asked.append("state")
        compute_law(t)
    assert " ".join(asked) == "state regular state regular fading state fading state fading regular state regular"


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


def test_two_controllers_of_one_arm_keep_their_own_gains(ur5: RobotModel):
    q = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
    X = ur5.pose(q)
    away = Reference(Pose(X.R, X.p + [0.01, 0.0, 0.0]))
    soft, stiff = (CompiledOsc(ur5, OscParameters(posture=tuple(q), kp_linear=kp)) for kp in (50.0, 200.0))
    before = soft.tick(q, np.zeros(6), away).terms["task"]
    assert not np.allclose(stiff.tick(q, np.zeros(6), away).terms["task"], before)
    np.testing.assert_array_equal(soft.tick(q, np.zeros(6), away).terms["task"], before)


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


@pytest.mark.parametrize("backend", ["python", "pinocchio"])
def test_where_nothing_compiles_the_law_runs_as_it_stands(backend: str, load_robot: Load):
    model = load_robot("ur5", backend=backend)
    rng = np.random.default_rng(5)
    p = OscParameters(posture=(0.0,) * 6)
    osc, page = CompiledOsc(model, p), OperationalSpaceController(model, p)
    assert not osc.is_compiled
    q, v = rng.uniform(-2, 2, 6), rng.uniform(-1, 1, 6)
    assert_same(model, osc, page, q, v, moving(model, rng, q))


def test_a_law_compiled_wrongly_runs_as_it_stands(
    load_robot: Load, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    write = Law.program

    def spoilt(law: Law) -> Program:
        program = write(law)
        if not law.name.startswith("operational"):
            return program
        heavier = [line._replace(a=1.01 * line.a) if line.name == "constant" else line for line in program.lines]
        return replace(program, lines=tuple(heavier))

    monkeypatch.setattr(Law, "program", spoilt)
    monkeypatch.delenv("ARM_CONTROL_STRICT")
    osc = CompiledOsc(load_robot("ur5", cache=Cache(None)), OscParameters(posture=(0.0,) * 6))
    assert not osc.is_compiled
    assert "off the float run" in caplog.text


@pytest.mark.parametrize(("q", "v"), [([np.nan] * 6, [0.0] * 6), ([0.0] * 6, [np.inf] * 6), ([0.0] * 5, [0.0] * 6)])
def test_bad_input_is_refused_like_everywhere(q: list[float], v: list[float], ur5: RobotModel):
    osc = CompiledOsc(ur5, OscParameters(posture=(0.0,) * 6))
    with pytest.raises(InputError, match=r"is not finite|has shape"):
        osc.tick(q, v, Reference(Pose(np.eye(3), np.zeros(3))))


class Loud(Reference):
    """No plain reference."""


def variants(x: Array) -> list[object]:
    """An array, and what stands for it or does not."""
    return [x, x, x, x.tolist(), tuple(x), x.astype(np.float32), x[:-1], x[:, None], np.full(6, np.nan), None, "abcdef"]


def outcome(call: Callable[..., object], arguments: tuple[object, ...]) -> object:
    try:
        output = call(*arguments)
    except Exception as error:
        return type(error), str(error)
    arrays = (*output[:3], output.state.q, output.state.v, *output.state.X_WE, *output.state[3:])
    return type(output), output.length, [(x.shape, x.flags.owndata, x.flags.carray, x.tobytes()) for x in arrays]


@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_builtin_function_gives_the_answers_of_the_method(ur5: RobotModel):
    """In regular states and in others, with arguments of every kind: the same bits, the same messages."""
    rng, home = np.random.default_rng(5), np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
    osc, in_python = (CompiledOsc(ur5, OscParameters(posture=tuple(home))) for _ in range(2))
    assert type(osc.tick) is BuiltinFunctionType
    stretched, n_errors = np.array([0.0, -1.5, 0.0, 0.0, 0.3, 0.0]), 0
    for _ in range(150):
        q, v = (home if rng.random() < 0.6 else stretched) + rng.uniform(-0.3, 0.3, 6), rng.uniform(-1.0, 1.0, 6)
        r = moving(ur5, rng, q)
        references = [r, r, r, Loud(r.X_WT), Reference(r.X_WT._replace(R=np.asfortranarray(r.X_WT.R))), None, r.X_WT]
        values = [variants(q), variants(v), references, [rng.uniform(-1, 1, 6), None, [1.0] * 6, np.zeros(5), np.inf]]
        n = rng.choice([1, 2, 3, 3, 3, 3, 4, 4, 5])
        arguments = tuple(x[int(len(x) * rng.random() ** 2)] for x in (*values, [0])[:n])
        found = outcome(osc.tick, arguments)
        n_errors += issubclass(found[0], Exception)
        assert found == outcome(partial(CompiledOsc.tick, in_python), arguments)
    assert 20 < n_errors < 130


def test_a_tool_and_the_wrench_reach_the_builtin_function(load_robot: Load):
    model = load_robot("ur5")
    home = np.array([0.0, -1.4, 1.9, -2.07, -1.57, 0.0])
    contact = ContactParameters(force_axes=("z",))
    osc, r = CompiledOsc(model, OscParameters(posture=tuple(home)), contact), Reference(model.pose(home))
    rest = osc.tick(home, np.zeros(6), r)
    osc.exert(1.0, np.array([0.0, 0.0, 5.0, 0.0, 0.0, 0.0]))
    pressed = osc.tick(home, np.zeros(6), r)
    assert np.abs(pressed.tau - rest.tau).max() > 0.1
    model.attach(Tool(mass=2.0, centre=(0.0, 0.0, 0.1)))
    loaded = osc.tick(home, np.zeros(6), r)
    assert np.abs(loaded.state.g - pressed.state.g).max() > 1.0
    for tick in (osc.tick, partial(CompiledOsc.tick, osc)):
        np.testing.assert_array_equal(tick(home, np.zeros(6), r).tau, loaded.tau)


@pytest.mark.parametrize(("name", "tasks"), [("ur5", ()), ("planar3", ("x", "z"))])
def test_both_kernels_find_the_same_states_regular_and_give_the_same_torque_there(name: str, tasks: tuple[str, ...]):
    """So the state alone decides which of them answers, whichever is asked first."""
    model, rng = RobotModel.from_urdf(urdf_path(name)), np.random.default_rng(0)
    parameters = OscParameters(posture=(0.3,) * model.nv, tasks=tasks)
    page = OperationalSpaceController(model, parameters)
    samples = osc_samples(model.tree, page.numbers)
    kernels = [model.compile_law(osc_law(model.tree, page, is_regular), samples) for is_regular in (True, False)]
    regular = []
    for k, (q, v) in enumerate(rng.uniform(-1.5, 1.5, (300, 2, model.nv))):
        for kernel in kernels:
            for name in ("reference", "tau_dist", "numbers"):
                kernel.inputs[name][:] = samples[name][0]
            kernel.inputs["q"][:], kernel.inputs["v"][:] = (0.03 * q if k % 2 else q), v  # near 0 it is stretched
            kernel.call()
        quick, whole = (kernel.outputs for kernel in kernels)
        assert quick["regularity"].tobytes() == whole["regularity"].tobytes()
        regular.append(quick["regularity"] > 0.0)
        if regular[-1]:
            np.testing.assert_allclose(quick["tau"], whole["tau"], rtol=0, atol=1e-11 * np.abs(quick["tau"]).max())
    assert 0.1 < np.mean(regular) < 0.9, "both kinds of states"


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


def test_without_limits_there_is_no_step(ur5: RobotModel):
    osc, q = CompiledOsc(ur5, OscParameters(posture=(0.3,) * 6)), np.zeros(6)
    assert osc.step(q, q, Reference(ur5.pose(q)), q, 1e-3, 1.0) is None
