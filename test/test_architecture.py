"""Imports go one way, and every foreign library stays in its own modules."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import arm_control

PACKAGE = Path(__file__).parents[1] / "arm_control"
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

# A module, or a folder as a whole, imports from the layers above its own line only.
LAYERS = (
    ("exceptions",),
    ("scalars",),
    ("columns",),
    ("spatial",),
    ("parameters", "matrices", "entrywise", "resources", "private_files", "cache", "progress", "yaml_files")
    + ("signals", "processes", "outputs"),
    ("geometry",),
    ("description",),
    ("model",),
    ("reference", "limits", "compiled_limits", "gate", "recording", "waypoints", "arm_choices")
    + ("trajectory", "pose_trajectory"),
    ("motions", "patterns", "following", "pose_following", "messages", "states"),
    ("controllers", "planners", "simulators", "targets", "world", "tuning", "scenario", "report", "pictures", "check")
    + ("orders",),
    ("laws", "metrics", "markers", "scenery", "run_options"),
    ("control", "obstacle_book"),
    ("simulation", "viewer"),
    ("bags",),
    ("nodes",),
    ("runner", "run", "conclusion", "spectator", "display", "cli", "cli_bags", "launching"),
)

# Within a layer there are these exceptions.
SIBLINGS = {
    ("compiled_limits", "limits"): "what is compiled",
    ("gate", "limits"): "the numbers of its limits",
    ("gate", "compiled_limits"): "one of its checks",
    ("cache", "private_files"): "the files it consists of",
    ("recording", "reference"): "a recording holds the targets that were set",
    ("waypoints", "reference"): "where the joints should be when points take over",
    ("trajectory", "reference"): "what a trajectory gives at any moment",
    ("trajectory", "waypoints"): "the points a trajectory goes through",
    ("pose_trajectory", "reference"): "what it gives at any moment",
    ("pose_trajectory", "trajectory"): "the polynomials",
    ("yaml_files", "resources"): "where the package's files are",
    ("world", "controllers"): "what is kept away from",
    ("states", "messages"): "what a message says",
    ("scenario", "targets"): "what there is to do",
    ("scenario", "world"): "what is around",
    ("scenario", "tuning"): "what of its parameters is for one arm only",
    ("tuning", "controllers"): "what is proposed, and what avoidance adds",
    ("report", "controllers"): "the speed limits that held",
    ("report", "targets"): "the list of targets, and what counts as reached",
    ("pictures", "controllers"): "the speed limits that are drawn",
    ("pictures", "targets"): "the list of targets",
    ("pictures", "scenario"): "whose variants are compared",
    ("pictures", "world"): "the obstacles and pushes that are drawn",
    ("run", "runner"): "the processes of a run",
    ("run", "display"): "what a run shows",
    ("run", "conclusion"): "what it says at the end",
    ("conclusion", "display"): "where it says it",
    ("cli", "cli_bags"): "the commands about bags",
    ("cli", "run"): "the command that runs a scenario",
    ("cli", "runner"): "a node that a command runs",
    ("run", "spectator"): "the page beside a run",
    ("spectator", "runner"): "parameters as ROS reads them",
}

# Where a foreign library may be imported; numpy and the standard library may be everywhere.
FOREIGN = {
    "pinocchio": ("model.backends.pinocchio_backend",),
    "coal": ("description.capsules", "viewer.arm_shapes"),
    "viser": ("viewer.server",),
    "msgspec": ("viewer.server",),
    "websockets": ("viewer.server",),
    "llvmlite": ("model.backends.llvm_compiler",),
    "sympy": ("model.symbolic",),
    "cloudpickle": ("model.symbolic",),
    "urdf_parser_py": ("description.urdf",),
    "xacro": ("description.xacro_file",),
    "yaml": ("yaml_files", "runner"),
    "coppeliasim_zmqremoteapi_client": ("simulators.coppeliasim_client",),
    "zmq": ("simulators.coppeliasim_client",),
    "mujoco": ("simulators.mujoco_simulator", "pictures.*"),
    "matplotlib": ("pictures*",),
    "mpl_toolkits": ("pictures.*",),
    "PIL": ("pictures.*",),
    "rich": ("display",),
    "rosbags": ("bags*",),
    "rclpy": ("nodes.*", "run"),
    "*_msgs": ("nodes.*",),
    "*_interfaces": ("nodes.*",),
    "std_srvs": ("nodes.*",),
    "launch": ("launching",),
    "launch_ros": ("launching",),
}


@cache
def imports(module: str) -> list[tuple[str, int]]:
    """Full names of what a module imports, anywhere in it, with the line."""
    found = []
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{MODULES[module]}:{node.lineno}: a relative import"
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return found


def inside(module: str) -> Iterator[tuple[str, int]]:
    """Modules of this package that a module imports; the package itself is the empty name."""
    for name, line in imports(module):
        if name.partition(".")[0] == "arm_control":
            parts = name.split(".")[1:]
            while parts and ".".join(parts) not in MODULES:
                parts.pop()
            yield ".".join(parts), line


def unit(module: str) -> str:
    return module.partition(".")[0]


def layer(module: str) -> int:
    (found,) = [i for i, names in enumerate(LAYERS) if unit(module) in names]
    return found


def test_every_module_has_a_layer():
    units = {unit(module) for module in MODULES} - {"__init__"}
    named = [name for names in LAYERS for name in names]
    assert units == set(named), "a module is missing from LAYERS, or a name in it is out of date"
    assert len(named) == len(set(named))


@pytest.mark.parametrize("module", [module for module in MODULES if module != "__init__"])
def test_imports_go_one_way(module: str):
    for imported, line in inside(module):
        where = f"arm_control/{MODULES[module].relative_to(PACKAGE)}:{line} imports {imported or 'the package itself'}"
        if not imported:
            assert layer(module) == len(LAYERS) - 1 or module.startswith("pictures."), where
        elif unit(imported) != unit(module) and (unit(module), unit(imported)) not in SIBLINGS:
            assert layer(imported) < layer(module), f"{where}, which is not in a layer above its own"


def test_no_exception_is_out_of_date():
    used = {(unit(module), unit(imported)) for module in MODULES for imported, _ in inside(module)}
    assert set(SIBLINGS) <= used, f"nobody needs {set(SIBLINGS) - used}"


@pytest.mark.parametrize("folder", sorted({unit(module) for module in MODULES if "." in module}))
def test_modules_of_a_folder_do_not_import_each_other_in_a_circle(folder: str):
    graph = {
        module: {imported for imported, _ in inside(module) if unit(imported) == folder and imported != folder}
        for module in MODULES
        if module.startswith(f"{folder}.")
    }
    while graph:
        free = [module for module, needed in graph.items() if not needed & graph.keys()]
        assert free, f"a circle among {sorted(graph)}"
        graph = {module: needed for module, needed in graph.items() if module not in free}


def foreign_imports() -> list[tuple[str, str, str]]:
    """Library, module, and where: of every import that is in FOREIGN."""
    return [
        (library, module, f"arm_control/{MODULES[module].relative_to(PACKAGE)}:{line} imports {name}")
        for module in MODULES
        for name, line in imports(module)
        for library in FOREIGN
        if fnmatch(name.partition(".")[0], library)
    ]


@pytest.mark.parametrize("library", FOREIGN)
def test_a_foreign_library_stays_in_its_own_modules(library: str):
    found = [(module, where) for name, module, where in foreign_imports() if name == library]
    for module, where in found:
        assert any(fnmatch(module, allowed) for allowed in FOREIGN[library]), where
    assert found, f"nobody imports {library}"


def test_every_foreign_library_is_known():
    known = {*sys.stdlib_module_names, "numpy", "arm_control"}
    for module, path in MODULES.items():
        for name, line in imports(module):
            top = name.partition(".")[0]
            where = f"arm_control/{path.relative_to(PACKAGE)}:{line} imports {top}, which FOREIGN lacks"
            assert top in known or any(fnmatch(top, library) for library in FOREIGN), where


def test_the_package_offers_few_names_and_has_them_all():
    assert 0 < len(arm_control.__all__) <= 15
    assert list(arm_control.__all__) == sorted(set(arm_control.__all__))
    for name in arm_control.__all__:
        assert getattr(arm_control, name) is not None


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_at_most_300_lines(module: str):
    n = len(MODULES[module].read_text().splitlines())
    assert n <= 300, f"{MODULES[module].relative_to(PACKAGE)} has {n} lines"
