"""Digest of all texts that machine code is made from: a change in any of them outdates what is in the cache."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

FOLDERS = ("maths", "compiler", "model", "control", "planning")
"""Folders whose texts are compiled, or compile."""


@cache
def source_digest() -> str:
    """Return the digest, in hexadecimal, of every module below :data:`FOLDERS`."""
    package = Path(__file__).parents[1]
    modules = [path for folder in FOLDERS for path in sorted((package / folder).rglob("*.py"))]
    texts = (f"{path.relative_to(package)}\n".encode() + path.read_bytes() for path in modules)
    return sha256(b"".join(texts)).hexdigest()
