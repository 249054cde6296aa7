"""Imports go one way, and every foreign library stays in its own modules."""

from __future__ import annotations

import ast
import re
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

ORDER = (
    *("exceptions", "core", "maths", "compiler", "neural", "model", "kinematics", "gate", "motion", "planning"),
    *(
        "control",
        "controllers",
        "identification",
        "simulation",
        "export",
        "messages",
        "faults",
        "report",
        "viewer",
        "nodes",
        "app",
    ),
)
"""A folder imports from itself and from those before it."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""Imports against the order, module by module, and the reason of each."""

# Where a foreign library may be imported; numpy and the standard library may be everywhere.
FOREIGN = {
    "pinocchio": (
        *("model.backends.pinocchio_backend", "simulation.pinocchio_dynamics", "simulation.independent_arm"),
    ),
    "coal": (
        "model.urdf.capsules",
        "planning.validity.hulls",
        "viewer.arm_shapes",
        "simulation.coal_shapes",
        "simulation.independent_arm",
    ),
    "viser": ("viewer.server",),
    "msgspec": ("viewer.server",),
    "websockets": ("viewer.server",),
    "llvmlite": ("compiler.llvm_compiler",),
    "sympy": ("model.symbolic",),
    "cloudpickle": ("model.symbolic",),
    "urdf_parser_py": ("model.urdf.load",),
    "xacro": ("model.urdf.xacro",),
    "ruckig": ("motion.jerk_limited",),
    "nengo": ("neural.nengo_networks",),
    "ompl": ("planning.rrt.ompl_adapter",),
    "yaml": ("core.yaml_limits", "app.processes"),
    "coppeliasim_zmqremoteapi_client": ("simulation.coppeliasim.coppeliasim_client",),
    "zmq": ("simulation.coppeliasim.coppeliasim_client",),
    "mujoco": (
        *("simulation.mujoco_simulator", "simulation.mujoco_changes", "simulation.tip_contact"),
        "simulation.moving_geoms",
        "simulation.mujoco_dynamics",
        "simulation.plant_file",
        "report.pictures.*",
    ),
    "matplotlib": ("report.pictures*",),
    "mpl_toolkits": ("report.pictures.*",),
    "PIL": ("report.pictures.*",),
    "rich": ("app.display",),
    "rosbags": ("messages.bags*",),
    "rclpy": ("nodes.*", "app.run"),
    "*_msgs": ("nodes.*",),
    "*_interfaces": ("nodes.*",),
    "std_srvs": ("nodes.*",),
    "ament_index_python": ("app.launch_description",),
    "launch": ("app.launch_description", "app.launch_nodes"),
    "launch_ros": ("app.launch_description", "app.launch_nodes"),
}


@cache
def imports(module: str) -> list[tuple[str, int]]:
    """Full names of what a module imports, anywhere in it, with the line."""
    names = []
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{MODULES[module]}:{node.lineno}: a relative import"
            names += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return names


def inside(module: str) -> Iterator[tuple[str, int]]:
    """Modules of this package that a module imports; the package itself is the empty name."""
    for name, line in imports(module):
        if name.partition(".")[0] == "arm_control":
            parts = name.split(".")[1:]
            while parts and ".".join(parts) not in MODULES:
                parts.pop()
            yield ".".join(parts), line


def folder(module: str) -> str:
    return module.partition(".")[0]


def test_the_order_names_every_folder():
    assert {folder(module) for module in MODULES} - {"__init__"} == set(ORDER)


@pytest.mark.parametrize("module", [module for module in MODULES if module != "__init__"])
def test_imports_go_one_way(module: str):
    for imported, line in inside(module):
        where = f"arm_control/{MODULES[module].relative_to(PACKAGE)}:{line} imports {imported or 'the package itself'}"
        if not imported:
            assert folder(module) == "app" or module.startswith("report.pictures."), where
        elif (module, imported) not in EXCEPTIONS:
            assert ORDER.index(folder(imported)) <= ORDER.index(folder(module)), f"{where}, which comes after it"


def test_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= 10
    against = {(module, imported) for module in MODULES for imported, _ in inside(module)}
    assert EXCEPTIONS.keys() <= against


@pytest.mark.parametrize("name", ORDER[1:])
def test_modules_of_a_folder_do_not_import_each_other_in_a_circle(name: str):
    graph = {
        module: {imported for imported, _ in inside(module) if folder(imported) == name and imported != name}
        for module in MODULES
        if module.startswith(f"{name}.")
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
    importers = [(module, where) for name, module, where in foreign_imports() if name == library]
    for module, where in importers:
        assert any(fnmatch(module, allowed) for allowed in FOREIGN[library]), where
    assert importers, f"nobody imports {library}"


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


def test_test_files_suit_the_pytest_of_a_ros_installation():
    """Its plugin for launch files imports each file by its base name, and a skip while it does so hides all files."""
    paths = sorted(Path(__file__).parent.rglob("test_*.py"))
    names = [path.name for path in paths]
    assert {name for name in names if names.count(name) > 1} == set()
    skips = re.compile(r"^(\w+ = )?pytest\.importorskip", re.MULTILINE)
    assert [path for path in paths if skips.search(path.read_text())] == []
