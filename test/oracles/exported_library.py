"""What the tests of exported controllers share."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from arm_control.maths import Array

SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def run(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(words, check=False, cwd=cwd, capture_output=True, text=True)


class Walk:
    """States of an arm that swings, as a measurement has them."""

    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self._t, self._middle = 0.0, rng.uniform(-1.0, 1.0, n)
        self._phase, self._size = rng.uniform(0.0, 6.0, n), rng.uniform(0.1, 0.8, n)

    def after(self, dt: float) -> tuple[Array, Array]:
        """The state ``dt`` seconds later."""
        self._t += dt
        angle = 8.0 * self._t + self._phase
        return self._middle + self._size * np.sin(angle), 8.0 * self._size * np.cos(angle)
