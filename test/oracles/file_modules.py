"""Modules by their files: examples, benchmarks and scripts of pages and robots."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def module_of(path: Path) -> ModuleType:
    """The module of a file, known as no other file's."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, path.stem, module)  # dataclasses look there for their annotations
        specification.loader.exec_module(module)
    return module
