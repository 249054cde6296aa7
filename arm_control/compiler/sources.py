"""Digest of all texts that machine code is made from: a change in any of them outdates the kernels in the cache."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
"""Folder of this package."""
FOLDERS = (
    *("maths", "compiler", "model", "kinematics", "collision", "gate", "motion", "primitives", "neural", "optimal"),
    *("planning", "control", "simulation", "processes"),
)
"""Folders whose texts are compiled, or compile; ``motion`` because laws unpack its references."""


@cache
def source_digest(package: Path = PACKAGE) -> str:
    """Return the digest, in hexadecimal, of every module below :data:`FOLDERS`."""
    modules = [path for folder in FOLDERS for path in sorted((package / folder).rglob("*.py"))]
    texts = (f"{path.relative_to(package)}\n".encode() + path.read_bytes() for path in modules)
    return sha256(b"".join(texts)).hexdigest()
