"""What the tests of neurons share."""

from __future__ import annotations

from functools import partial

import pytest

from arm_control.compiler import LlvmCompiler, compile_law
from arm_control.core import Cache
from arm_control.neural.populations import CompileLoop


@pytest.fixture(scope="session")
def compile_loop(tmp_path_factory: pytest.TempPathFactory) -> CompileLoop:
    """Machine code that belongs to no robot."""
    return partial(compile_law, LlvmCompiler("no robot", "neurons", Cache(tmp_path_factory.mktemp("kernels"))))
