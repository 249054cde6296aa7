"""Pieces of C: numbers, arrays, fields of structures; and texts in which names stand for such pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from arm_control.compiler import number
from arm_control.core import share_path

WIDTH = 120
"""Characters of a line."""
PLACE = re.compile(r"@([A-Z][A-Z_0-9]*)@")
"""A name that stands for a piece of text."""


def numbers(values: Iterable[float]) -> str:
    """Return numbers with commas between them, in as many lines as they need."""
    return wrapped([number(value) for value in values])


def wrapped(words: Iterable[str]) -> str:
    """Return words with commas between them, in as many lines as they need."""
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > WIDTH - 14:
            lines.append("")
        lines[-1] += f"{word}, "
    return "\n        ".join(line.rstrip() for line in lines).rstrip(",")


def text_of(word: str) -> str:
    """Return a string of C; bytes that are neither letters nor digits are written as numbers.

    Examples
    --------
    >>> print(text_of("tool0"), text_of('"').count("042"))
    "tool0" 1
    """
    return f'"{"".join(map(_letter, word.encode()))}"'


def _letter(byte: int) -> str:
    letter = chr(byte)
    return letter if letter.isascii() and (letter.isalnum() or letter in "_-. ") else f"\\{byte:03o}"


def comment(word: str) -> str:
    """Return a word that cannot end a comment of C."""
    return re.sub(r"[^\w .:+-]", "_", word)


def fields(shapes: Mapping[str, int]) -> str:
    """Return fields of a structure: arrays of numbers by their names and sizes."""
    return "\n".join(f"    double {name}[{size}];" for name, size in shapes.items())


def identifier(name: str) -> str:
    """Return a name of C that is like another name.

    Examples
    --------
    >>> identifier("my-arm 2"), identifier("7dof")
    ('my_arm_2', 'arm_7dof')
    """
    word = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "arm"
    return f"arm_{word}" if word[0].isdigit() else word


def filled(template: str, pieces: Mapping[str, str]) -> str:
    """Return a text that comes with the package, below ``export/``, with the pieces in their places.

    Parameters
    ----------
    template : str
        Name of the file, without ``.in``.
    pieces : mapping of str to str
        Text for each ``@NAME@``; all names of the file must be among them.
    """
    text = share_path("export", f"{template}.in").read_text(encoding="utf-8")
    return PLACE.sub(lambda place: pieces[place[1]], text)
