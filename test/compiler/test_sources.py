"""The digest of the sources: every module that a kernel may be made from counts, to the last byte."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from arm_control import CompiledOsc, OscParameters, RobotModel, urdf_path
from arm_control.compiler import law, source_digest
from arm_control.compiler.compiled_procedure import FOLDERS, PACKAGE
from arm_control.control import Avoidance, AvoidanceParameters
from arm_control.core import Cache
from arm_control.gate import EffortGate, GateParameters
from arm_control.kinematics import InverseKinematics
from arm_control.optimal import ArmDynamics, Costs, Ilqr, Term, control_error, position_error

MODULES = [path.relative_to(PACKAGE) for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package's sources."""
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in FOLDERS:
        shutil.copytree(PACKAGE / folder, tmp_path / "arm_control" / folder, ignore=ignore)
    return tmp_path / "arm_control"


def change_one_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def digests_with_one_byte_changed(package: Path, modules: list[Path]) -> list[str]:
    digests = []
    for module in modules:
        content = (package / module).read_bytes()
        change_one_byte(package / module)
        digests.append(source_digest.__wrapped__(package))
        (package / module).write_bytes(content)
    return digests


def test_one_byte_in_any_module_changes_the_digest(copy: Path, tmp_path: Path):
    """Of each folder by itself, since a digest reads everything; the last module of each in the whole package, too."""
    digest, last = source_digest.__wrapped__, []
    for folder in FOLDERS:
        alone = tmp_path / folder
        shutil.copytree(copy / folder, alone / folder)
        modules = [module for module in MODULES if module.parts[0] == folder and (copy / module).read_bytes()]
        before = digest(alone)
        assert len({before, *digests_with_one_byte_changed(alone, modules)}) == 1 + len(modules) > 1
        assert digest(alone) == before
        last.append(modules[-1])
    before = digest(copy)
    assert before == source_digest()
    assert len({before, *digests_with_one_byte_changed(copy, last)}) == 1 + len(FOLDERS)


@pytest.fixture
def folders_of_laws(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Folders of this package of which code runs while a law is written down."""
    folders: set[str] = set()
    write = law._program

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            folders.add(Path(frame.f_code.co_filename).relative_to(PACKAGE).parts[0])

    def watched(function: Callable[..., object], inputs: Mapping[str, int]) -> object:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            return write(function, inputs)
        finally:
            sys.setprofile(before)

    monkeypatch.setattr(law, "_program", watched)
    return folders


def test_laws_are_made_from_these_folders_only(folders_of_laws: set[str]):
    model = RobotModel.from_urdf(urdf_path("planar2"), cache=Cache(None))
    CompiledOsc(model, OscParameters(posture=(0.0,) * 2))
    EffortGate(model, GateParameters())
    Avoidance(model, AvoidanceParameters())
    costs = Costs(Term(control_error(np.zeros(2)), running=1e-4), Term(position_error([0.6, 0.2, 0.3]), terminal=10.0))
    Ilqr(ArmDynamics(model, 0.02), costs, 5, -np.full(2, 30.0), np.full(2, 30.0))
    InverseKinematics(model)
    assert {"maths", "compiler", "model", "kinematics", "control", "optimal"} <= folders_of_laws <= set(FOLDERS)
