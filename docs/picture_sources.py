"""From which code pictures of pages were drawn: a picture is old when that has changed.

``docs/pictures/sources.json`` has, for each picture, the command that draws it, its sources, and their digest at that
time. Comments, docstrings and line breaks do not count. A picture that looks the same may be kept:

    python docs/picture_sources.py PICTURE ...      # I have looked: it is as the code draws it
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "pictures" / "sources.json"


def digest(sources: Sequence[str]) -> str:
    """Digest of the code of files, by patterns below the repository."""
    files = sorted({file for pattern in sources for file in ROOT.glob(pattern)})
    names = [f"{file.relative_to(ROOT)} {_code(file)}" for file in files]
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]


def _code(file: Path) -> str:
    tree = ast.parse(file.read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            is_text = [isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant) for x in body]
            node.body = [x for x, is_out in zip(body, is_text, strict=True) if not is_out]  # type: ignore[attr-defined]
    return ast.dump(tree)


def old() -> dict[str, str]:
    """The command of each picture whose sources have changed, by its name."""
    entries = json.loads(FILE.read_text())
    return {name: x["command"] for name, x in entries.items() if x["digest"] != digest(x["sources"])}


def record(names: Iterable[str]) -> None:
    """Note that these pictures are as the code draws them now."""
    entries = json.loads(FILE.read_text())
    for name in names:
        entries[name]["digest"] = digest(entries[name]["sources"])
    FILE.write_text(json.dumps(entries, indent=1) + "\n")


if __name__ == "__main__":
    record(sys.argv[1:])
