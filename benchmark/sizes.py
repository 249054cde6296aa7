"""Sizes of the repository: lines, modules, classes, words; what is large, named twice, or imported past a face.

    python benchmark/sizes.py [--json FILE]

A line of code is a line with a token that is neither comment nor docstring. A name is imported past a face when tests,
benchmarks, examples or pages take it from a module of the package and not from the ``__init__`` of a folder.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import statistics
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("arm_control", "benchmark", "examples", "test")
GENERATED = ("faults.md", "parameters.md", "scenario_figures.md", "topics.md")
"""Pages of docs that are made from the code."""
NO_CODE = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.COMMENT}
LARGE = 800
"""Lines of code above which a module is named."""
LONG = 40
"""Lines above which a function's body is named."""


@dataclass
class Sizes:
    """What is counted below one folder.

    Attributes
    ----------
    code, docstrings : int
        Lines.
    modules : dict of str to int
        Lines of code of each module.
    classes : Counter
        How often each name of a class is defined.
    bodies : list of (int, str)
        Length of each function's body without docstring, and where it is.
    past_faces : int
        Names that are imported from modules below a folder of the package.
    """

    code: int = 0
    docstrings: int = 0
    modules: dict[str, int] = field(default_factory=dict)
    classes: Counter[str] = field(default_factory=Counter)
    bodies: list[tuple[int, str]] = field(default_factory=list)
    past_faces: int = 0


def sizes_of(folder: str) -> Sizes:
    """Count what is below a folder of the repository."""
    sizes = Sizes()
    for path in sorted((ROOT / folder).rglob("*.py")):
        text, where = path.read_text(), str(path.relative_to(ROOT))
        tree = ast.parse(text)
        docstrings = set(docstring_lines(tree))
        code = len(code_lines(text) - docstrings)
        sizes.code, sizes.docstrings = sizes.code + code, sizes.docstrings + len(docstrings)
        sizes.modules[where] = code
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                sizes.classes[node.name] += 1
            elif isinstance(node, ast.FunctionDef):
                sizes.bodies.append((body_length(node), f"{where}:{node.lineno} {node.name}"))
            elif isinstance(node, ast.ImportFrom) and (node.module or "").count(".") >= 2:
                sizes.past_faces += len(node.names) * node.module.startswith("arm_control.")
    return sizes


def code_lines(text: str) -> set[int]:
    """Return the numbers of the lines with code or docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}


def docstring_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of the lines of all docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            yield from range(node.body[0].lineno, node.body[0].end_lineno + 1)


def body_length(function: ast.FunctionDef) -> int:
    """Return the number of lines of a function's body without its docstring."""
    begin = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    return function.end_lineno - begin.lineno + 1


def words_of(*paths: Path) -> int:
    """Return the number of words in some pages."""
    return sum(len(path.read_text().split()) for path in paths)


def figures() -> dict[str, float]:
    """Return all figures, by what they count."""
    package, *others = (sizes_of(folder) for folder in FOLDERS)
    pages = [path for path in (ROOT / "docs").glob("*.md") if path.name not in GENERATED]
    bodies = [length for length, _ in package.bodies]
    named = dict(zip(FOLDERS[1:], others, strict=True))
    return {
        "code of the package": package.code,
        "docstring lines of the package": package.docstrings,
        "modules of the package": len(package.modules),
        "classes of the package": sum(package.classes.values()),
        "names of classes that occur twice": sum(count > 1 for count in package.classes.values()),
        **{f"code of {folder}": sizes.code for folder, sizes in named.items()},
        "names imported past a face": sum(sizes.past_faces for sizes in others),
        "words of docs without generated tables": words_of(*pages),
        "words of README.md": words_of(ROOT / "README.md"),
        "lines of a function's body, median": statistics.median(bodies),
        "lines of a function's body, longest": max(bodies),
    }


def main() -> None:
    """Print the figures, and what stands out."""
    parser = argparse.ArgumentParser(description="Sizes of the repository.")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file")
    options = parser.parse_args()
    found, package = figures(), sizes_of("arm_control")
    for what, value in found.items():
        print(f"{value:8,g}  {what}")
    large = (f"large: {name} has {code} lines of code" for name, code in package.modules.items() if code > LARGE)
    long = (f"long: {where} has {length} lines" for length, where in sorted(package.bodies) if length > LONG)
    twice = sorted(name for name, count in package.classes.items() if count > 1)
    print(*large, *long, f"twice: {', '.join(twice) or 'no class'}", sep="\n")
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
