"""Run the tests of built-in calls with other versions of Python and NumPy, each in a new environment.

python benchmark/other_pythons.py PYTHON:NUMPY ...      such as  /usr/bin/python3.12:2.2.6 python3.10:1.26.4

For each pair it makes a virtual environment in a temporary directory, installs what the tests need, and prints which
versions were run and how the tests ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("test/compiler/test_builtin_calls.py", "test/model/test_methods.py")
PACKAGES = ("llvmlite", "pytest", "hypothesis", "cloudpickle", "urdf-parser-py", "xacro", "PyYAML", "scipy")
VERSIONS = "import sys, numpy, llvmlite; print(sys.version.split()[0], numpy.__version__, llvmlite.__version__)"


def run(python: str, numpy: str) -> bool:
    """Run the tests once; returns whether they pass.

    Parameters
    ----------
    python : str
        The interpreter.
    numpy : str
        Version of NumPy.
    """
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([python, "-m", "venv", directory], check=True)
        own = str(Path(directory) / "bin" / "python")
        install = [own, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"numpy=={numpy}", *PACKAGES]
        subprocess.run(install, check=True)
        versions = subprocess.run([own, "-c", VERSIONS], check=True, capture_output=True, text=True).stdout.split()
        print("Python {}, NumPy {}, llvmlite {}".format(*versions), flush=True)
        command = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib", *TESTS]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "ARM_CONTROL_CACHE": str(Path(directory) / "cache")}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> None:
    """Run all pairs; the exit status is 1 where one fails."""
    pairs = [word.rpartition(":") for word in sys.argv[1:]]
    if not pairs or not all(python and numpy for python, _, numpy in pairs):
        raise SystemExit(__doc__)
    passed = [run(python, numpy) for python, _, numpy in pairs]
    raise SystemExit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
