"""The folder of an exported controller: object files, header, source, CMake file, examples and a check.

The laws are machine code, the rules around them are C: text that whoever answers for a robot can read, and that a
compiler for its processor checks once more. It is printed from the procedures that run in Python
(:mod:`arm_control.export.tick_rules`); the check, which is part of the folder, compares the two on a machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arm_control.compiler import PROCESSORS, number, object_file
from arm_control.core import require_writable_folder, write_text
from arm_control.exceptions import InputError
from arm_control.export.c_check import check_pieces, checked_runs
from arm_control.export.c_pieces import N_OBSTACLES, ExportedController, filled, pieces_of, step_programs
from arm_control.gate import EffortGate, JointLimits

SOURCES = {
    **{f"controller.{end}": f"{{}}.{end}" for end in ("h", "c")},
    **{name: name for name in ("check.h", "check.c", "main.c", "CMakeLists.txt", "README.md", "package.xml")},
    **{f"ros2_control/{name}": f"ros2_control/{name}" for name in ("controller.cpp", "plugin.xml", "controllers.yaml")},
}
"""Files of text below ``export/``, and their names in the folder; ``{}`` is the controller's name."""
MARK = "Made by `arm_control export`"
"""Words in each of them, by which a later export knows what it may replace."""
EXAMPLE_ARM = "arm.mjb"
"""The arm for the example with MuJoCo, which is made elsewhere."""
SHIFT = 0.05
"""Way of the end effector in the example, along each axis [m]."""


def write_folder(folder: str | Path, controller: ExportedController, processors: Sequence[str]) -> list[str]:
    """Write an exported controller; return the names of the files.

    An InputError when the folder cannot be written or has files of these names that no export has written, or a
    processor is unknown.
    """
    for name in processors:
        if name not in PROCESSORS:
            raise InputError(f"cpu '{name}' is unknown, allowed {', '.join(PROCESSORS)}")
    require_writable_folder(folder)
    model, prefix = controller.model, controller.name
    objects = {f"{prefix}_{name}.o": PROCESSORS[name] for name in processors}
    _refuse_foreign_files(Path(folder), [name.format(prefix) for name in SOURCES.values()], [*objects, EXAMPLE_ARM])
    limits = JointLimits(model, controller.gate, controller.gate.rate_limit)
    programs = step_programs(model, controller.law, limits)
    kept = EffortGate(model, controller.gate, knows_obstacles=True).constraints
    parts, near = (None, None) if kept is None else (kept.point_parts, kept.pair_parts(N_OBSTACLES))
    pieces = pieces_of(controller, limits, programs, parts, near) | check_pieces(checked_runs(controller))
    pieces |= {"CPUS": " ".join(processors), "FIRST_CPU": processors[0], "SHIFT": number(SHIFT)}
    texts = {name.format(prefix): filled(template, pieces) for template, name in SOURCES.items()}
    Path(folder, "ros2_control").mkdir(exist_ok=True)
    for name, text in texts.items():
        write_text(Path(folder, name), text)
    programs |= {} if parts is None else {"rows": parts.state, "point": parts.point}
    programs |= {} if near is None else near.programs
    functions = {f"{prefix}_step_{name}": program for name, program in programs.items()}
    for name, processor in objects.items():
        Path(folder, name).write_bytes(object_file(functions, processor))
    return [*texts, *objects]


def _refuse_foreign_files(folder: Path, texts: Sequence[str], binaries: Sequence[str]) -> None:
    """Refuse to replace what no export has written; binary files are those of the CMake file beside them."""
    foreign = [name for name in texts if (folder / name).exists() and not _is_marked(folder / name)]
    if not _is_marked(folder / "CMakeLists.txt"):
        foreign += [name for name in binaries if (folder / name).exists()]
    if foreign:
        names = ", ".join(foreign)
        raise InputError(f"{folder} has files that no export has written, {names}: name another folder with --out")


def _is_marked(path: Path) -> bool:
    return path.is_file() and MARK in path.read_text(encoding="utf-8", errors="replace")
