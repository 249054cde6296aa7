"""Lines of C: indentation, comments, and breaks in lines that are too long."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

WIDTH, INDENT = 120, 4
_ROLE = re.compile(r":\w+:`(?:~[\w.]*?(\w+)|([^`]+))`")
_FOR_TOOLS = ("noqa", "type:", "fmt:")
"""Beginnings of comments that are for tools of Python."""
_BREAK = re.compile(r"(?<=,) | (?=&& |\|\| |\? |: |\+ |- )")
"""Where a line may be broken."""


class Comments:
    """The comments of a procedure.

    Parameters
    ----------
    source : str
        Its text.
    first : int
        Its first line that counts.
    """

    def __init__(self, source: str, first: int) -> None:
        self._behind: dict[int, str] = {}
        self._above: dict[int, str] = {}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            text = token.string.lstrip("# ")
            if token.type == tokenize.COMMENT and token.start[0] >= first and not text.startswith(_FOR_TOOLS):
                is_alone = token.line.lstrip().startswith("#")
                (self._above if is_alone else self._behind)[token.start[0]] = text

    def above(self, node: ast.stmt) -> list[str]:
        """Return comments on lines of their own, above a statement, as lines of C; each once."""
        lines = sorted(line for line in self._above if line < node.lineno)
        return [comment(self._above.pop(line)) for line in lines]

    def behind(self, node: ast.stmt) -> str:
        """Return the comments behind a statement, or behind the head of a loop or branch, with a blank in front."""
        head = getattr(node, "test", getattr(node, "iter", node))
        lines = range(node.lineno, (head.end_lineno or node.lineno) + 1)
        text = " ".join(self._behind[line] for line in lines if line in self._behind)
        return f" {comment(text)}" if text else ""


def comment(text: str) -> str:
    """Return a text as a comment."""
    return f"/* {text.replace('*/', '* /').replace('/*', '/ *')} */"


def doc_comment(doc: str | None) -> Iterator[str]:
    """Return a docstring as a comment, without marks of Sphinx."""
    if doc:
        text = _ROLE.sub(lambda role: role[1] or role[2], inspect.cleandoc(doc)).replace("``", "")
        first, *others = comment(text)[:-3].split("\n")
        yield from [first, *(f" * {line}".rstrip() for line in others), " */"] if others else [f"{first} */"]


def shifted(lines: Iterable[str]) -> list[str]:
    """Return the lines of a block."""
    return [" " * INDENT + line for line in lines]


def is_single(lines: list[str]) -> bool:
    """Whether a block needs no braces."""
    return len(lines) == 1 and not lines[0].startswith("/*")


def wrapped(line: str) -> Iterator[str]:
    """Break a line that is too long where it is least nested, as late as possible."""
    code, mark, behind = line.partition(" /* ") if not line.lstrip().startswith("/*") else (line, "", "")
    start = " " * (len(line) - len(line.lstrip()))
    if mark and len(line) > WIDTH:
        yield f"{start}/* {behind}"
        line = code
    is_text = line.lstrip().startswith(("/*", "* "))
    while len(line) > WIDTH and not is_text:
        places = [place.start() for place in _BREAK.finditer(line, len(start) + 2 * INDENT, WIDTH + 1)]
        if not places:
            break
        best = min(places, key=lambda place: (_depth(line[:place]), -place))
        yield line[:best]
        line = f"{start}{' ' * 2 * INDENT}{line[best:].lstrip()}"
    yield line


def _depth(text: str) -> int:
    return sum(text.count(opened) for opened in "([") - sum(text.count(closed) for closed in ")]")
