"""What the tests of neurons share."""

from __future__ import annotations

import pytest

from arm_control.compiler.llvm_kernels import LlvmCompiler
from arm_control.core.cache import Cache


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> LlvmCompiler:
    """A compiler that belongs to no robot."""
    return LlvmCompiler("no robot", "neurons", Cache(tmp_path_factory.mktemp("kernels")))
