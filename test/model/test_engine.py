"""Which back end answers, what is done when one fails, and what is kept for the next time."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

from arm_control import urdf_path
from arm_control.compiler import compiled_law as compile_law
from arm_control.compiler import kernels, llvm_compiler, llvm_kernels
from arm_control.core import Cache
from arm_control.exceptions import ModelError
from arm_control.model import TERMS, Arm, RobotModel, engine
from arm_control.model import arm as arm_module
from arm_control.model.engine import Engine
from arm_control.model.methods import KERNELS

UR5 = urdf_path("ur5")
Q, V = np.linspace(-1.0, 1.0, 6), np.linspace(2.0, -1.0, 6)
Patch = pytest.MonkeyPatch


def model(cache: Cache | None = None, **choices: object) -> RobotModel:
    return RobotModel.from_urdf(UR5, cache=cache or Cache(None), **choices)


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    """What Pinocchio says: the bias."""
    theirs = pin.buildModelFromXML(model().urdf.text)
    return pin.nonLinearEffects(theirs, theirs.createData(), Q, V)


def assert_right(robot: RobotModel, expected: np.ndarray) -> None:
    np.testing.assert_allclose(robot.bias(Q, V), expected, rtol=0, atol=1e-12)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    def messages() -> list[str]:
        return [r.message for r in caplog.records if (r.name, r.levelno) == ("arm_control.model", logging.WARNING)]

    return messages


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("on purpose")


def test_machine_code_is_the_first_choice(expected: np.ndarray, warnings: Callable[[], list[str]]):
    robot = model()
    assert_right(robot, expected)
    assert (robot.backend, robot.backend_reasons, warnings()) == ("llvm", (), [])


def test_without_llvmlite_python_answers(expected: np.ndarray, monkeypatch: Patch, warnings: Callable[[], list[str]]):
    for name in [name for name in sys.modules if name.startswith("arm_control.") and ".llvm_" in name]:
        monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(name)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    robot = model()
    assert robot.backend == "python"
    assert_right(robot, expected)
    (reason,) = robot.backend_reasons
    assert reason.startswith("back end llvm: ModuleNotFoundError: ")
    assert "llvmlite" in reason
    (warning,) = warnings()
    assert warning.endswith(f": {reason}; the next one is taken")


def test_when_compiling_fails_python_answers(expected: np.ndarray, monkeypatch: Patch):
    monkeypatch.setattr(llvm_compiler, "compile_code", fail)
    robot = model()
    assert_right(robot, expected)
    assert (robot.backend, robot.backend_reasons) == ("python", ("back end llvm: RuntimeError: on purpose",))


@pytest.mark.parametrize("backend", engine.BACKENDS)
def test_a_back_end_that_was_asked_for_is_not_replaced(backend: str, monkeypatch: Patch):
    monkeypatch.setattr(engine, "quantity_law", fail)
    robot = model(backend=backend)
    message = rf"no kernel for ur5\w*; back end {backend}: RuntimeError: on purpose$"
    with pytest.raises(ModelError, match=message):
        robot.gravity(Q)


def test_when_all_fail_all_reasons_are_told(monkeypatch: Patch):
    monkeypatch.setattr(engine, "quantity_law", fail)
    with pytest.raises(ModelError, match=r"no kernel for ur5\w*; back end llvm: .*; back end python: "):
        model().gravity(Q)


@pytest.mark.parametrize("backend", ["", "LLVM"])
def test_an_unknown_back_end_is_refused(backend: str):
    with pytest.raises(ModelError, match=f"backend is '{backend}', allowed: auto, llvm, python$"):
        model(backend=backend)


# -- wrong code --------------------------------------------------------------------------------------


SWAPPED = {"fmul": "fadd", "fadd": "fmul", "fsub": "fadd"}


def spoil(code: str) -> str:
    """Put another operation in place of the 40th of a program."""
    place = list(re.finditer("(fmul|fadd|fsub) contract ", code))[40]
    return code[: place.start()] + SWAPPED[place[1]] + code[place.end(1) :]


def spoil_writers(monkeypatch: Patch) -> None:
    write = llvm_kernels.scalar_code
    monkeypatch.setattr(llvm_kernels, "scalar_code", lambda *arguments: spoil(write(*arguments)))


def test_a_kernel_with_wrong_code_is_noticed_and_never_kept(
    expected: np.ndarray, cache: Cache, warnings: Callable[[], list[str]]
):
    with pytest.MonkeyPatch.context() as patch:
        spoil_writers(patch)
        robot = model(cache)
        assert_right(robot, expected)
    assert robot.backend == "python"
    assert re.match(r"back end llvm: ModelError: 'h' is \S+ off the float run", robot.backend_reasons[0])
    assert len(warnings()) == 1
    assert cache.entries() == []
    again = model(cache)
    assert_right(again, expected)
    assert again.backend == "llvm"


def test_a_python_function_that_is_wrong_is_noticed(monkeypatch: Patch):
    write = kernels.python_source
    monkeypatch.setattr(kernels, "python_source", lambda program: write(program).replace(" - ", " + ", 1))
    with pytest.raises(ModelError, match=r"back end python: ModelError: 'g' is \S+ off the float run"):
        model(backend="python").gravity(Q)


def test_a_kernel_that_finds_good_input_not_finite_is_noticed(monkeypatch: Patch):
    write = llvm_kernels.scalar_code
    monkeypatch.setattr(llvm_kernels, "scalar_code", lambda *x: re.sub("ret double .*", "ret double 1.0", write(*x)))
    with pytest.raises(ModelError, match="finds its input not finite"):
        model(backend="llvm").gravity(Q)


def test_a_kernel_that_forgets_the_tool_is_noticed(monkeypatch: Patch, small_arm: Callable[[str], Arm]):
    write = llvm_kernels.scalar_code
    arm = small_arm("branches")

    def without_tool(*arguments: object) -> str:
        code = write(*arguments)
        n_q = arm.tree.n
        for place in (n_q + 9, n_q + 10, n_q + 12):  # position and mass are loaded from elsewhere
            code = code.replace(f"ptr %w, i64 {place}\n", f"ptr %w, i64 {n_q + 1}\n")
        return code

    monkeypatch.setattr(llvm_kernels, "scalar_code", without_tool)
    with pytest.raises(ModelError, match=r"'g' is .* off the float run"):
        Engine(arm.tree, "r", arm.identity, Cache(None), "llvm").kernel(("g",))


# -- the cache ---------------------------------------------------------------------------------------


def test_a_second_model_compiles_nothing(expected: np.ndarray, cache: Cache, monkeypatch: Patch):
    first = model(cache)
    first.prepare(progress=False)
    first.batch("M", "p_WE")
    monkeypatch.setattr(llvm_compiler, "compile_code", fail)
    for check in ("check_kernel", "check_loop"):
        monkeypatch.setattr(compile_law, check, fail)
    second = model(cache, backend="llvm")
    second.prepare(progress=False)
    assert_right(second, expected)
    rows = second.batch("M", "p_WE")([Q])
    np.testing.assert_array_equal(rows["M"][0].round(12), first.mass_matrix(Q).round(12))
    for name in ("J", "M", "g", "h", "Jdot_v", "V_WE"):
        np.testing.assert_array_equal(getattr(second.evaluate(Q, V), name), getattr(first.evaluate(Q, V), name))
    titles = {entry.title for entry in cache.entries()}
    assert len(titles) == len(KERNELS) + 1
    assert any(title.endswith(f": {', '.join(TERMS)} (one)") for title in titles)


def test_other_arms_other_processors_and_other_generators_share_nothing(cache: Cache):
    model(cache).gravity(Q)
    model(cache).gravity(Q)
    assert len(cache.entries()) == 1
    model(cache, armature=1e-9).gravity(Q)
    assert len(cache.entries()) == 2
    for module, name in ((llvm_compiler, "processor"), (arm_module, "source_digest")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, lambda: "another")
            model(cache).gravity(Q)
    assert len(cache.entries()) == 4
