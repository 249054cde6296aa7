"""Imports go one way, and every foreign library stays in its own modules."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import arm_control
from arm_control.core.face import module_of_each_name

PACKAGE = Path(__file__).parents[1] / "arm_control"
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

PAGE = (PACKAGE.parent / "docs" / "architecture.md").read_text()
ORDER = ("exceptions", *re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE))
"""The table of folders in docs/architecture.md: a folder imports from itself and from those before it."""

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""Imports against the order, module by module, and the reason of each."""

# Where a foreign library may be imported; numpy and the standard library may be everywhere.
FOREIGN = {
    "pinocchio": ("simulation.compared_dynamics", "simulation.independent_arm"),
    "coal": (
        "model.urdf.mesh_capsules",
        "maths.hulls",
        "collision.joint_tables",
        "collision.shape_proof",
        "viewer.arm_shapes",
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
    "yaml": ("core.files", "app.processes"),
    "coppeliasim_zmqremoteapi_client": ("simulation.coppeliasim.coppeliasim_client",),
    "cbor2": ("simulation.coppeliasim.coppeliasim_client",),
    "zmq": ("simulation.coppeliasim.coppeliasim_client",),
    "mujoco": (
        *("simulation.mujoco_simulator", "simulation.tip_contact"),
        "simulation.compared_dynamics",
        "simulation.plant_file",
        "report.pictures.*",
    ),
    "matplotlib": ("report.pictures*",),
    "mpl_toolkits": ("report.pictures.*",),
    "PIL": ("report.pictures.*",),
    "rich": ("app.run",),
    "rosbags": ("bags*",),
    "dask": ("sweeps.dask_runs",),
    "fsspec": ("sweeps.bag_rows",),
    "distributed": ("sweeps.dask_runs",),
    "pyarrow": ("sweeps.row_files",),
    "scipy": ("sweeps.sample_points",),
    "rclpy": ("nodes.*", "app.run"),
    "*_msgs": ("nodes.*",),
    "*_interfaces": ("nodes.*",),
    "std_srvs": ("nodes.*",),
    "ament_index_python": ("app.launch_description",),
    "launch": ("app.launch_description",),
    "launch_ros": ("app.launch_description",),
}


@cache
def tree(module: str) -> ast.Module:
    """A module, read once."""
    return ast.parse(MODULES[module].read_text())


@cache
def imports(module: str) -> list[tuple[str, int]]:
    """Full names of what a module imports, anywhere in it, with the line."""
    names = []
    for node in ast.walk(tree(module)):
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


def may_import(module: str, imported: str) -> bool:
    """Whether that stands no higher; the package itself is for the command line and for pictures."""
    if not imported:
        return folder(module) == "app" or module.startswith("report.pictures.")
    return (module, imported) in EXCEPTIONS or ORDER.index(folder(imported)) <= ORDER.index(folder(module))


def test_imports_go_one_way():
    against = [
        f"arm_control/{MODULES[module].relative_to(PACKAGE)}:{line} imports {imported or 'the package itself'}"
        for module in MODULES
        if module != "__init__"
        for imported, line in inside(module)
        if not may_import(module, imported)
    ]
    assert against == []


def test_exceptions_are_few_and_needed():
    assert len(EXCEPTIONS) <= 10
    against = {(module, imported) for module in MODULES for imported, _ in inside(module)}
    assert EXCEPTIONS.keys() <= against


# -- faces ------------------------------------------------------------------------------------------------

FACES = {name: module_of_each_name(PACKAGE / name / "__init__.py") for name in ORDER[1:]}
"""Names on the face of each folder, with their modules."""
COMPOSE = {
    "control.loop": "one tick joins law, avoidance, estimates, limits and gate",
    "collision.validity": "capsules, tables, meshes, obstacles and points of one check",
    "planning.motion_planner": "path, timing, monitor and goals of one plan",
    "simulation.offline": "runs a scenario: arm, controller, simulator, sensors, goals",
    "nodes.*": "a node joins parameters, topics and processes",
}
"""Modules with more than twelve imports from inside the package, and why."""


def test_folders_import_each_other_s_faces_only():
    for module, path in MODULES.items():
        for imported, line in inside(module):
            is_face = imported in ("", "exceptions", "core.face", folder(imported))
            where = f"arm_control/{path.relative_to(PACKAGE)}:{line} imports {imported}"
            assert is_face or folder(imported) == folder(module) or module == "__init__", where


@pytest.mark.parametrize("name", FACES)
def test_a_face_has_names_of_its_folder_that_exist(name: str):
    package = import_module(f"arm_control.{name}")
    assert package.__doc__
    assert set(package.__all__) == set(FACES[name]) <= set(dir(package))
    for public, module in FACES[name].items():
        assert module.startswith(f"arm_control.{name}."), public
        assert f"{name}.{public}" not in MODULES, f"{public} is a module of {name}, too"
        assert public in names_of(module.removeprefix("arm_control.")), f"{public} is not of {module}"


@cache
def names_of(module: str) -> set[str]:
    """Return the names that a module defines, and does not import."""
    nodes = list(ast.walk(tree(module)))
    definitions = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return definitions | {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def test_a_module_is_one_idea():
    """It imports from at most twelve modules and faces of the package, but for those that join parts."""
    many = [module for module in MODULES if len({name for name, _ in inside(module)}) > 12 and module not in FACES]
    for module in many:
        assert module == "__init__" or any(fnmatch(module, pattern) for pattern in COMPOSE), module
    for pattern in COMPOSE:
        assert any(fnmatch(module, pattern) for module in many), f"{pattern} needs no exception"


def test_names_of_classes_are_unique():
    where: dict[str, str] = {}
    for module in MODULES:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef):
                assert where.setdefault(node.name, module) == module, f"{node.name} in {where[node.name]} and {module}"


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


@cache
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


def test_the_five_questions_name_files_that_exist():
    answers = PAGE.partition("## Five questions\n")[2].partition("\n## ")[0]
    files = re.findall(r"\]\(([^)]+)\)", answers)
    assert answers.count("?**") == 5
    assert len(files) > 12
    for file in files:
        assert (PACKAGE.parent / "docs" / file).is_file(), file


# -- the rules of the gate -----------------------------------------------------------------------------

RULES = [module for module in MODULES if folder(module) == "gate" or module == "export.tick_rules"]
"""Modules with rules of the gate."""
RUN_THEM = [
    module
    for module in MODULES
    if module.startswith(("export.", "messages.", "processes.", "nodes.", "simulation.", "control.loop"))
]
"""Modules that run them."""
TEMPLATE = PACKAGE.parent / "export" / "controller.c.in"
CONSTRAINTS = TEMPLATE.with_name("constraints.c.in")
GLUE = {
    *("are_within", "is_within", "is_switch", "is_rotation", "fault_of_damping", "fault_of_joint", "fault_of"),
    *("run_laws", "run_law_of", "limit_torque_of", "predicted_terms_of", "go_on_of", "init", "set_reference"),
    *("begin_with", "enable", "brake", "state", "describe", "tick"),
}
"""Functions of the template: checks of parameters, calls of compiled laws, the library's own functions."""


def own_text(node: ast.AST) -> str:
    """A definition without its name, its docstring and its decorators."""
    if isinstance(node, ast.FunctionDef):
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        return ast.dump(ast.Module(body, []))
    return ast.unparse(node)


def definitions(module: str) -> Iterator[tuple[str, str, str]]:
    """Kind, name and text of the functions and numbers that a module defines for all to use."""
    for node in tree(module).body:
        if isinstance(node, ast.FunctionDef):
            is_rule = any("procedure" in ast.unparse(decorator) for decorator in node.decorator_list)
            yield "procedure" if is_rule else "function", node.name, own_text(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            yield "number", node.targets[0].id, own_text(node.value)


def rules(kind: str) -> list[tuple[str, str, str]]:
    """Module, name and text of each rule of a kind."""
    return [(module, name, text) for module in RULES for k, name, text in definitions(module) if k == kind]


def test_each_procedure_of_the_gate_has_one_definition():
    """Nor does its text stand elsewhere under another name."""
    procedures = rules("procedure")
    names, texts = ({row[k]: row[0] for row in procedures} for k in (1, 2))
    assert len(names) == len(texts) == len(procedures) > 40
    for module in {*RUN_THEM, *RULES}:
        for kind, name, text in definitions(module):
            assert kind == "number" or texts.get(text, module) == module, f"{module}.{name}: a rule of {texts[text]}"


def test_each_number_of_the_gate_has_one_definition():
    numbers = {(name, text): module for module, name, text in rules("number")}
    assert len(numbers) == len(rules("number")) > 40
    for module in RUN_THEM:
        for _, name, text in definitions(module):
            assert numbers.get((name, text), module) == module, f"{module}.{name} is that of {numbers[name, text]}"


def test_the_c_of_an_exported_controller_is_glue():
    """Its functions are known; below the printed rules there is no bound and no number, only copies and calls."""
    lines = TEMPLATE.read_text().splitlines()
    assert len(lines) <= 324
    text = re.sub(r'/\*.*?\*/|"[^"\n]*"', "", "\n".join(lines), flags=re.DOTALL)
    assert set(re.findall(r"^[\w@ *]*?[ *](?:@PREFIX@_)?(\w+)\([^;{]*\)\n\{", text, flags=re.MULTILINE)) == GLUE
    glue = text[text.index("@FUNCTIONS@") :].replace("for (int i = 0; i < N; i++)", "").replace("->", ".")
    bounds = re.findall(r".*(?:[<>]|\bf(?:min|max|abs)\b).*", glue)
    assert {line.strip() for line in bounds} == {
        "if (c.is_near_singular || !(c.output.regularity[0] > 0.0))",
        "if (c.is_near_singular && c.output.regularity[0] > 0.0)",
        "c.is_near_singular = !(c.output.regularity[0] > 0.0);",
        "return (unsigned)cause <= @UPPER@_NOT_READY ? SENTENCES[cause] : ;",
    }
    assert set(re.findall(r"(?<![\w.])\d[\d.]*", glue)) <= {"0", "1", "0.0", "1.0", "4", "8"}
    kept = re.sub(r"/\*.*?\*/", "", CONSTRAINTS.read_text(), flags=re.DOTALL).replace("->", ".")
    bounds = {line.strip() for line in re.findall(r".*[<>].*", kept)}
    assert bounds == {"for (int j = 0; j < @N_POINTS@; j++) {", "for (int i = 0; i < N; i++)"}
