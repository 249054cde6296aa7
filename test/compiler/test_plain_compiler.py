"""A compiler without a robot."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from arm_control.compiler import Law, compile_law, plain_compiler
from arm_control.maths import exp


def test_laws_that_belong_to_no_robot_are_compiled():
    law = Law("of a test", lambda x: {"y": exp(x["a"])}, {"a": 2}, has_masses=False)
    kernel = compile_law(plain_compiler(), law, {"a": np.array([[0.0, 1.0]])})
    assert kernel.is_compiled
    kernel.inputs["a"][:] = -1.0, 2.0
    assert not kernel.call()
    np.testing.assert_allclose(kernel.outputs["y"], np.exp([-1.0, 2.0]), rtol=4e-16)


def test_without_llvmlite_it_is_none(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setitem(sys.modules, "arm_control.compiler.llvm_kernels", None)
    assert plain_compiler() is None
    assert "no machine code" in caplog.text
