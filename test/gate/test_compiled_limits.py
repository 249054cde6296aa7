"""The compiled limits are the text's own: the same torque and the same flags, in every kind of state."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Law, Program, llvm_compiler
from arm_control.core import Cache
from arm_control.gate import (
    EffortGate,
    GateParameters,
    JointLimits,
    LimitedTorque,
    LimitFunction,
    compile_limits,
    limit_by_name,
    limit_samples,
)
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms

BENCHMARK = Path(__file__).parents[2] / "benchmark"
Load = Callable[..., RobotModel]
HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
MS = 1e-3


def limits(model: RobotModel, **changes: Any) -> JointLimits:
    p = GateParameters(**changes)
    return JointLimits(model, p, p.rate_limit)


def is_compiled(run: LimitFunction) -> bool:
    return isinstance(run, BuiltinFunctionType)


def flags(found: LimitedTorque) -> list[bool]:
    return [x > 0.0 for x in found[1:]]


def assert_same(law: JointLimits, run: LimitFunction, *arguments: Any) -> list[bool]:
    """The text and its kernel; returns the flags."""
    found, wanted = run(*arguments), law.limit_torque(*arguments)
    np.testing.assert_allclose(found.tau, wanted.tau, rtol=0, atol=1e-9 * (1.0 + np.abs(wanted.tau).max()))
    assert flags(found) == flags(wanted)
    return flags(found)


def near_limits(law: JointLimits, model: RobotModel, rng: np.random.Generator) -> Array:
    """Each joint anywhere, or within a tenth of a soft limit, on either side."""
    low, high = np.where(law.is_unlimited, [[-np.pi], [np.pi]], law.q_soft)
    close = np.where(rng.random(model.nv) < 0.5, low, high) + rng.uniform(-0.1, 0.1, model.nv)
    return np.where(rng.random(model.nv) < 0.5, close, rng.uniform(low, high))


@pytest.mark.parametrize("name", ["ur5", "panda", "kinova", "double_pendulum"])
def test_it_computes_what_the_text_says(name: str, load_robot: Load):
    model = load_robot(name)
    law, rng = limits(model), np.random.default_rng(0)
    run = compile_limits(model, law)
    assert is_compiled(run)
    seen = []
    for _ in range(500):
        t = model.evaluate(near_limits(law, model, rng), rng.choice([0.01, 0.3, 1.5]) * rng.uniform(-1, 1, model.nv))
        tau_0 = t.g + rng.uniform(-1.0, 1.0, model.nv)
        tau = tau_0 + rng.choice([0.1, 3.0, 300.0]) * rng.uniform(-1.0, 1.0, model.nv)
        seen.append(assert_same(law, run, t, tau, tau_0, float(rng.choice([0.0, MS, 0.02])), float(rng.random() < 0.8)))
    for kinds in zip(*seen, strict=True):
        assert set(kinds) == {True, False}, "every limit cuts at times, and at times not"


@pytest.mark.parametrize("name", ["ur5", "kinova"])
def test_it_computes_what_numpy_and_lapack_do(name: str, load_robot: Load, monkeypatch: pytest.MonkeyPatch):
    """The benchmark's contender, an independent text."""
    monkeypatch.syspath_prepend(BENCHMARK)
    careful_limits = importlib.import_module("careful_limits")
    model, rng = load_robot(name), np.random.default_rng(3)
    gate, careful = EffortGate(model, GateParameters()), careful_limits.CarefulLimits(model, GateParameters())
    limited = 0
    for _ in range(300):
        t = model.evaluate(near_limits(limits(model), model, rng), rng.uniform(-1.0, 1.0, model.nv))
        tau = t.h + t.M @ (rng.choice([5.0, 50.0]) * rng.uniform(-1.0, 1.0, model.nv))
        gate.offer(model.joint_names, tau)
        output = gate.tick(t, MS)
        np.testing.assert_allclose(output.tau, careful.tick(t, tau, MS), rtol=0, atol=1e-9 * np.abs(tau).max())
        limited += output.limited
    assert 0 < limited < 300


@pytest.mark.parametrize("size", [1e3, 1e100, 1e200, 1e300, 1.7e308])
def test_it_does_so_in_absurd_states(size: float, ur5: RobotModel):
    law, rng = limits(ur5), np.random.default_rng(1)
    run, t = compile_limits(ur5, law), ur5.evaluate(HOME, np.zeros(6))
    for what in ("q", "v", "g", "h", "tau"):
        for _ in range(20):
            x = {"tau": t.g, what: size * rng.uniform(-1.0, 1.0, 6)}
            tau = x.pop("tau")
            assert_same(law, run, t._replace(**x), tau, np.clip(t.g, -20.0, 20.0), MS, 1.0)


def test_a_state_that_is_no_state_gives_the_weight(ur5: RobotModel):
    law, t = limits(ur5, rate_limit=1e9), ur5.evaluate(HOME, np.zeros(6))
    run = compile_limits(ur5, law)
    for absurd in (
        t._replace(h=np.full(6, np.inf)),
        t._replace(h=np.array([1.7e308, -1.7e308] * 3)),
        t._replace(h=np.full(6, np.nan)),
        t._replace(v=np.full(6, np.nan)),
        t._replace(v=np.full(6, np.inf)),
    ):
        for passed in (run, law.limit_torque):
            found = passed(absurd, np.zeros(6), t.g, MS, 1.0)
            np.testing.assert_array_equal(found.tau, t.g)
            assert found.limited > 0.0


def test_what_nothing_is_cut_from_passes_to_the_last_bit(ur5: RobotModel):
    law, rng = limits(ur5), np.random.default_rng(2)
    run, low, high = compile_limits(ur5, law), 0.4 * law.q_soft[0], 0.4 * law.q_soft[1]
    for _ in range(200):
        t = ur5.evaluate(rng.uniform(low, high), rng.uniform(-0.5, 0.5, 6))
        tau = t.h + t.M @ rng.uniform(-10.0, 10.0, 6)
        found = run(t, tau, tau + rng.uniform(-0.9, 0.9, 6), MS, 1.0)
        np.testing.assert_array_equal(found.tau, tau)
        assert flags(found) == [False] * 3


def test_a_torque_just_at_its_bounds_is_not_cut(ur5: RobotModel):
    law, t = limits(ur5), ur5.evaluate(HOME, np.zeros(6))
    for passed in (compile_limits(ur5, law), law.limit_torque):
        found = passed(t, t.g, t.g, 0.0, 1.0)
        np.testing.assert_array_equal(found.tau, t.g)
        assert flags(found) == [False] * 3
        assert flags(passed(t, ur5.tau_max, ur5.tau_max, 0.0, 0.0)) == [False] * 3


def test_switched_off_the_joints_limits_cut_nothing(ur5: RobotModel):
    law, t = limits(ur5), ur5.evaluate(HOME + 10.0, np.full(6, 5.0))
    run, tau = compile_limits(ur5, law), np.full(6, 20.0)
    assert flags(run(t, tau, tau, MS, 1.0))[0]
    found = run(t, tau, tau, MS, 0.0)
    np.testing.assert_array_equal(found.tau, tau)
    assert flags(found) == [False] * 3


def test_two_gates_of_one_arm_keep_their_own_numbers(ur5: RobotModel, monkeypatch: pytest.MonkeyPatch):
    t = ur5.evaluate(HOME, np.zeros(6))
    laws = [limits(ur5, rate_limit=rate, limit_margin=margin) for rate, margin in ((500.0, 0.1), (2e3, 0.01))]
    compile_limits(ur5, laws[0])
    monkeypatch.setattr(llvm_compiler, "compile_code", None)  # other numbers need no compilation
    runs = [compile_limits(ur5, law) for law in laws]
    for _ in range(2):
        for run, step in zip(runs, (0.5, 2.0), strict=True):
            np.testing.assert_allclose(run(t, t.g + 5.0, t.g, MS, 0.0).tau, t.g + step, rtol=0, atol=1e-12)


def test_where_nothing_compiles_the_text_runs(load_robot: Load):
    model = load_robot("double_pendulum", backend="python")
    law = limits(model)
    run = compile_limits(model, law)
    assert not is_compiled(run)
    t = model.evaluate(np.full(2, 0.5), np.zeros(2))
    assert run(t, t.g + 5.0, t.g, MS, 0.0)[1:] == (0.0, 2.0, 2.0)


def test_a_kernel_that_is_wrong_is_refused(
    load_robot: Load, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    write = Law.program

    def spoilt(law: Law) -> Program:
        program = write(law)
        if not law.name.startswith("limits"):
            return program
        less = [line._replace(a=1.01 * line.a) if line.name == "constant" else line for line in program.lines]
        return replace(program, lines=tuple(less))

    monkeypatch.setattr(Law, "program", spoilt)
    monkeypatch.delenv("ARM_CONTROL_STRICT")
    model = load_robot("ur5", cache=Cache(None))
    assert not is_compiled(compile_limits(model, limits(model)))
    assert "off the float run" in caplog.text


def test_the_check_of_a_kernel_meets_every_case():
    """What it compares must not all be passed, or all be cut."""
    samples = limit_samples(6)
    law = partial(limit_by_name, np.zeros(6, bool))
    cases = [{name: x[i] for name, x in samples.items()} for i in range(len(samples["q"]))]
    cuts = np.array([law(case)["cut"] for case in cases]) > 0.0
    assert (np.any(cuts, axis=0) & ~np.all(cuts, axis=0)).all()


def test_results_are_the_callers_to_keep(ur5: RobotModel):
    run, t = compile_limits(ur5, limits(ur5)), ur5.evaluate(HOME, np.zeros(6))
    tau = run(t, t.g + 0.5, t.g, MS, 1.0).tau
    kept = tau.copy()
    run(Terms(*t), t.g - 0.5, t.g, MS, 1.0)
    np.testing.assert_array_equal(tau, kept)


def test_the_builtin_function_gives_the_answers_of_python(ur5: RobotModel):
    """With terms, numbers and arrays of every kind; what is not finite, too."""
    law = limits(ur5)
    run = compile_limits(ur5, law)
    in_python, rng = run.__self__[0], np.random.default_rng(3)  # type: ignore[attr-defined]
    for _ in range(100):
        t = ur5.evaluate(HOME + rng.uniform(-2.0, 2.0, 6), rng.uniform(-3.0, 3.0, 6))
        tau = t.g + rng.uniform(-50.0, 50.0, 6)
        odd = [t._replace(M=np.asfortranarray(t.M)), t._replace(q=t.q.tolist()), t._replace(v=np.full(6, np.inf))]
        states, taus = [t, t, t, *odd], [tau, tau, tau, tau.tolist(), tau.astype(np.float32), np.full(6, np.nan)]
        choice = (x[rng.integers(len(x))] for x in (states, taus, taus, [1e-3, 1, np.float64(1e-3)], [1.0, 0.0, 1]))
        arguments = tuple(choice)
        with np.errstate(invalid="ignore"):
            found, wanted = run(*arguments), in_python(*arguments)
        assert type(found) is LimitedTorque
        np.testing.assert_array_equal(found.tau, wanted.tau)
        np.testing.assert_array_equal(found[1:], wanted[1:])
