"""Run the cells of the notebooks in this process, and store what they print and draw.

python examples/notebooks/store_outputs.py [NAME ...]
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from PIL import Image

FOLDER = Path(__file__).resolve().parent
DPI, COLOURS = 90, 64


def outputs_of(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """Run the code cells in order, and return the outputs of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with np.printoptions():  # those that a cell sets end with it
        return [run_cell("".join(cell["source"]), names) for cell in code_cells(notebook)]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells with code."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one cell, and return what it prints and draws."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "<cell>", "exec"), names)
    pictures = [picture_of(plt.figure(number)) for number in plt.get_fignums()]
    plt.close("all")
    lines = printed.getvalue().splitlines(keepends=True)
    text = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    return text + [{"data": {"image/png": png}, "metadata": {}, "output_type": "display_data"} for png in pictures]


def picture_of(figure: Any) -> str:
    """Return a figure as a PNG of few colours, in base 64."""
    drawn, file = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    image = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    image.save(file, format="png", optimize=True)
    return base64.b64encode(file.getvalue()).decode() + "\n"


def store(path: Path) -> None:
    """Run a notebook and store its outputs."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for number, (cell, outputs) in enumerate(zip(code_cells(notebook), outputs_of(notebook), strict=True), start=1):
        cell["outputs"], cell["execution_count"] = outputs, number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path.name, path.stat().st_size)


if __name__ == "__main__":
    for notebook_path in sorted(FOLDER.glob("*.ipynb")):
        if notebook_path.stem in sys.argv[1:] or not sys.argv[1:]:
            store(notebook_path)
