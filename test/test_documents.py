"""What people read is true: the README's law is the code's, the tables are complete, examples run."""

import importlib
import inspect
import json
import re
import textwrap
from pathlib import Path

import pytest
from file_modules import module_of

import arm_control.control.osc.osc_law as osc
from arm_control import RobotModel, urdf_path
from arm_control.compiler import ArrayArgument, ArrayResult, CallForm, Law, scalar_code
from arm_control.compiler.builtin_calls import CallWriter
from arm_control.core import Cache
from arm_control.model import quantity_law, recursions, reference
from arm_control.nodes import NODES, check_node_parameters, parameter_class
from arm_control.primitives import discrete_law, learning, obstacle_coupling, orientation, rhythmic_law
from arm_control.simulation import Scenario, Simulation

ROOT = Path(__file__).parents[1]


def parameter_tables() -> str:
    """docs/parameters.md, from the dataclasses."""
    lines = ["# Parameters", "", "Made from the code. Live ones may be changed while the node runs."]
    classes = {node: parameter_class(node) for node in NODES}
    for node, kind in classes.items():
        base = next((other for other, others in classes.items() if others in kind.__mro__[1:]), "")
        lines += ["", f"## {node}", *(["", f"Those of `{base}`, and:"] if base else [])]
        lines += ["", "| name | default | what | live |", "|---|---|---|---|"]
        known = classes[base].types() if base else {}
        for name in (name for name in kind.types() if name not in known):
            spec, default = kind.spec(name), kind().values()[name]
            shown = "empty" if default in ("", ()) else str(default).lower()
            lines.append(f"| `{name}` | {shown} | {spec} | {'yes' if spec.live else ''} |")
    return "\n".join(lines) + "\n"


def test_parameter_tables_are_complete():
    """Written anew, in test/: PYTHONPATH=oracles python -c "import test_documents as t; t.write_parameter_tables()"."""
    assert (ROOT / "docs" / "parameters.md").read_text() == parameter_tables()


def write_parameter_tables() -> None:
    (ROOT / "docs" / "parameters.md").write_text(parameter_tables())


def test_the_readme_shows_the_law_of_the_code():
    equations = re.findall(r"^ +(\([1-5]\).*)$", osc.__doc__, re.MULTILINE)
    assert len(equations) == 5
    readme = (ROOT / "README.md").read_text()
    assert "\n".join(equations) in readme


def test_the_page_of_primitives_shows_the_laws_of_the_code():
    page = (ROOT / "docs" / "primitive_law.md").read_text()
    shown = re.findall(r"^ {4}\(\d\).*$", page, re.MULTILINE)
    texts = (discrete_law, rhythmic_law, learning, orientation, obstacle_coupling)
    lines = {line for text in texts for line in (text.__doc__ or "").splitlines()}
    assert len(shown) == 17
    assert set(shown) <= lines


PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
SNIPPETS = [str(page.relative_to(ROOT)) for page in PAGES if "```python\n" in page.read_text()]
"""Pages whose blocks of Python are one program, which prints an array; a fragment is marked as py instead."""


def test_the_page_of_built_in_calls_shows_the_text_that_the_compiler_gets():
    form = CallForm("twice", (ArrayArgument("a", (2,)),), ArrayResult("y"))
    kernel = scalar_code(Law("twice", lambda x: {"y": 2.0 * x["a"]}, {"a": 2}).program(), "kernel")
    lines = iter([*kernel.splitlines(), *CallWriter(form, {"a": 2}, {"y": (2,)}, on_stack=True).text().splitlines()])
    blocks = re.findall(r"```llvm\n(.*?)```", (ROOT / "docs/compiled_calls.md").read_text(), re.DOTALL)
    shown = [line.partition(";")[0].rstrip() for block in blocks for line in block.splitlines()]
    assert len(shown) > 40
    for line in filter(None, shown):
        assert line in lines, line  # behind the one before it


@pytest.mark.parametrize("page", SNIPPETS)
def test_the_library_s_snippet_runs_as_it_stands(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec("".join(snippets), {})
    assert capsys.readouterr().out.startswith("[")


FRAGMENT_NAMES = """
from __future__ import annotations
from typing import NamedTuple
import numpy as np
from arm_control.compiler import Ints, Rows, compile_procedure, procedure
points = np.random.default_rng(0).normal(size=(3, 100_000))
"""


def test_the_procedure_of_built_in_calls_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (fragment,) = fragments("compiled_calls", "class Points")
    (tmp_path / "fragment_of_a_page.py").write_text(f"{FRAGMENT_NAMES}{fragment}")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("fragment_of_a_page")
    assert module.run() == module.points[0].min()


def test_the_planner_of_ompl_runs_as_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("ompl")
    monkeypatch.syspath_prepend(ROOT / "examples")
    (fragment,) = fragments("planning", "from ompl")
    exec(fragment, {})
    assert "Exact solution" in capsys.readouterr().out


def test_there_are_no_other_fragments():
    """What is not run is shown as it stands in the code, or is one method."""
    found = {(page.stem, part.split("\n")[0]) for page in PAGES for part in fragments(page.stem)}
    assert {(page, line) for page, line in found if page not in ("compiled_calls", "planning")} == {
        ("model", one_algorithm()["TEXT"].split("\n")[0])
    }
    assert len([page for page, _ in found if page == "compiled_calls"]) == 2


def fragments(page: str, part: str = "") -> list[str]:
    """The blocks marked as py of a page that contain some text."""
    file = next(file for file in PAGES if file.stem == page)
    return [text for text in re.findall(r"```py\n(.*?)```", file.read_text(), re.DOTALL) if part in text]


FILES = [
    (page.stem, textwrap.dedent(text))
    for page in PAGES
    for text in re.findall(r"^ *```yaml\n(.*?)^ *```", page.read_text(), re.DOTALL | re.MULTILINE)
    if "ros__parameters" in text and "controller_manager" not in text
]


@pytest.mark.parametrize(("page", "text"), FILES, ids=[f"{page}-{k}" for k, (page, _) in enumerate(FILES)])
def test_a_parameter_file_of_a_page_has_parameters_of_its_nodes(page: str, text: str, tmp_path: Path):
    (tmp_path / "file.yaml").write_text(text)
    check_node_parameters({name: {} for name in NODES}, str(tmp_path / "file.yaml"))


def test_the_scenario_of_its_page_is_one(tmp_path: Path):
    (text,) = re.findall(r"```yaml\n(description:.*?)```", (ROOT / "docs/scenarios.md").read_text(), re.DOTALL)
    (tmp_path / "own.yaml").write_text(text)
    scenario = Scenario.load(str(tmp_path / "own.yaml"))
    assert list(scenario.variants) == ["with", "without"]
    assert Simulation(scenario, "with").targets is not None


def test_every_name_of_the_library_s_page_is_imported_as_it_says():
    page = (ROOT / "docs" / "api.md").read_text()
    lines = re.findall(r"^\| `(from arm_control[^`]* import [^`]*)` \|", page, re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        exec(line, {})


def test_the_example_reaches_its_target():
    assert module_of(ROOT / "examples" / "osc_without_ros.py").main() < 1e-3


def test_the_benchmark_measures_every_part(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmark")
    benchmark = module_of(ROOT / "benchmark" / "control.py")
    times = benchmark.measure("ur5", RobotModel.from_urdf(urdf_path("ur5")), 1)
    with_gate = ("tick_and_gate", "tick_then_gate", "tick_fading", "loop")
    assert list(times) == ["tick", "text", "numpy", *with_gate, "evaluate", "evaluate_into"]
    assert all(microseconds.median > 0.0 for microseconds in times.values())


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path):
    for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert link.startswith("http") or (page.parent / link).exists(), link


def one_algorithm() -> dict[str, str]:
    """What docs/model.md shows of the mass matrix: its text, its float run, its formula, its size."""
    model = RobotModel.from_urdf(urdf_path("planar2"), cache=Cache(None))
    source = inspect.getsource(recursions.mass_matrix)
    head, _, rest = source.partition('    """')
    text = head + rest.partition('"""\n')[2]
    M = reference(model.tree, ["M"], {"q": [0.5, 1.0]})["M"]
    floats = f'>>> reference(model.tree, ["M"], {{"q": [0.5, 1.0]}})["M"]\n{M.round(6)!r}'
    operations = str(quantity_law(model.tree, ["M"]).program().n_operations)
    latex = model.symbolic().formula("M").latex()
    return {"TEXT": text.strip(), "FLOATS": floats, "LATEX": latex, "OPERATIONS": operations}


def test_the_model_page_shows_one_algorithm_as_it_is():
    page = (ROOT / "docs" / "model.md").read_text()
    for what, text in one_algorithm().items():
        assert text in page, f"{what} should read\n{text}"
    assert not re.search("@[A-Z]+@", page)


def test_pictures_are_of_the_code_as_it_is():
    """An old one is drawn anew by its command; docs/picture_sources.py says what to do when it looks the same."""
    sources = module_of(ROOT / "docs" / "picture_sources.py")
    assert sources.old() == {}
    drawn = {f"docs/pictures/{name}" for name in json.loads(sources.FILE.read_text())}
    assert all((ROOT / name).is_file() for name in drawn)


def test_a_picture_is_old_when_the_code_of_its_sources_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = module_of(ROOT / "docs" / "picture_sources.py")
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    monkeypatch.setattr(sources, "FILE", tmp_path / "sources.json")
    entry = {"command": "draw", "sources": ["*.py"], "digest": ""}
    sources.FILE.write_text(json.dumps({"a.png": entry}))
    (tmp_path / "a.py").write_text('"""Text."""\nx = 1\n')
    assert sources.old() == {"a.png": "draw"}
    sources.record(["a.png"])
    (tmp_path / "a.py").write_text('"""Another text."""\nx = (1)  # a comment\n')
    assert sources.old() == {}
    (tmp_path / "a.py").write_text("x = 2\n")
    assert sources.old() == {"a.png": "draw"}


def test_every_picture_of_the_gallery_has_its_command():
    page = (ROOT / "docs" / "gallery.md").read_text()
    rows = re.findall(r"^\| !\[(.*?)\]\(pictures/gallery/(\w+)\.png\) \1 \|.*makers (\w+)` \|$", page, re.MULTILINE)
    arms = re.findall(r'^    Arm\("(.*?)"', (ROOT / "docs" / "draw_gallery.py").read_text(), re.MULTILINE)
    assert [name for name, *_ in rows] == arms
    assert len(rows) == 12
    assert all(picture == command == re.sub("-", "", name.lower().replace(" ", "_")) for name, picture, command in rows)
    assert (ROOT / "docs" / "pictures" / "gallery" / "row.png").stat().st_size < 300_000


def test_badges_state_what_the_package_declares():
    badges = {path.stem: path.read_text() for path in (ROOT / "docs" / "pictures" / "badges").glob("*.svg")}
    declared = (ROOT / "setup.py").read_text()
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    versions = sorted(set(re.findall(r'"(3\.\d+)"', workflow)), key=lambda version: int(version[2:]))
    assert f">{versions[0]} to {versions[-1]}<" in badges["python"]
    assert f'python_requires=">={versions[0]}"' in declared
    assert 'license="Apache-2.0"' in declared
    assert ">Apache-2.0<" in badges["licence"]
    assert ">Jazzy, Kilted<" in badges["ros"]
    assert "Tested on Kilted" in (ROOT / "README.md").read_text()
