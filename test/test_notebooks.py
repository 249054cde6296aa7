"""The notebooks run as they are stored, use public names only, and stay small."""

import json
import re
from pathlib import Path

import pytest
from notebooks.store_outputs import FOLDER, code_cells, outputs_of

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def load(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def printed(outputs: list[dict]) -> str:
    return "".join(line for output in outputs for line in output.get("text", ()))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_and_draws_what_it_shows(path: Path):
    """Its outputs anew: python examples/notebooks/store_outputs.py NAME."""
    notebook = load(path)
    for cell, outputs in zip(code_cells(notebook), outputs_of(notebook), strict=True):
        assert printed(outputs) == printed(cell["outputs"])
        assert [output["output_type"] for output in outputs] == [output["output_type"] for output in cell["outputs"]]


def test_notebooks_are_pages_of_public_names():
    assert len(NOTEBOOKS) == 8
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 1_500_000
    for path in NOTEBOOKS:
        cells = ["".join(cell["source"]) for cell in code_cells(load(path))]
        assert max(len(cell.splitlines()) for cell in cells) <= 25, path.name
        modules = re.findall(r"^(?:from|import) (arm_control\S*)", "\n".join(cells), re.MULTILINE)
        assert modules, path.name
        assert all(module.count(".") <= 1 for module in modules), path.name  # faces


def test_the_list_of_notebooks_is_complete():
    links = re.findall(r"\]\(([^)#]+)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    assert {path.name for path in NOTEBOOKS} <= {*links}
    own = [link for path in NOTEBOOKS for link in re.findall(r"\]\(([^)#]+)\)", path.read_text(encoding="utf-8"))]
    assert own
    assert all((FOLDER / link).exists() for link in [*links, *own])
