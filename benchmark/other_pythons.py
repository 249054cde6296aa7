"""Run the tests of built-in calls with other versions of Python and NumPy, each in a new environment.

python benchmark/other_pythons.py                       the versions below, as far as they are on the PATH
python benchmark/other_pythons.py PYTHON:NUMPY ...      such as  /usr/bin/python3.12:2.2.6 python3.10:1.26.4

For each pair it makes a virtual environment in a temporary directory, installs what the tests need, and says which
versions were run and how the tests ended; at the end, which were not found. A free-threaded Python must be refused;
there the methods answer, and the tests of their answers are run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ALL = (
    *("python3.10:1.26.4", "python3.11:1.26.4", "python3.11:2.4.6", "python3.12:2.2.6", "python3.13:2.4.6"),
    *("python3.14:2.5.5", "python3.14t:2.5.5"),
)
TESTS = (
    *("test/compiler/test_builtin_calls.py", "test/compiler/test_procedure.py", "test/model/test_methods.py"),
    *("test/model/test_filling.py", "test/control/osc/test_compiled_osc.py", "test/control/test_whole_step.py"),
)
TESTS_OF_METHODS = (
    *("test/model/test_calls.py", "test/model/test_filling.py", "test/model/test_symbolic.py"),
    "test/control/test_whole_step.py",
)
"""Tests of the answers, whichever way they come."""
OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"),
    *("-m", "not campaign", "-k", "not pinocchio"),
)
PACKAGES = ("llvmlite", "pytest", "hypothesis", "cloudpickle", "urdf-parser-py", "xacro", "PyYAML", "scipy", "sympy")
FREE_THREADED = "a free-threaded Python"
"""Why it is refused."""
VERSIONS = """
import sys, sysconfig, numpy, llvmlite
from arm_control.compiler.builtin_calls import unsupported
print(sys.version.split()[0], numpy.__version__, llvmlite.__version__, sep=", ")
print(bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
print(unsupported())
"""


def is_found(python: str) -> bool:
    """Whether an interpreter runs."""
    try:
        return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def run(python: str, numpy: str) -> str:
    """Run the tests once; returns the versions, and how the tests ended.

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
        if subprocess.run(install, check=False).returncode:
            return f"{python}, NumPy {numpy}: FAILED to install"
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "ARM_CONTROL_CACHE": str(Path(directory) / "cache")}
        printed = subprocess.run([own, "-c", VERSIONS], check=True, capture_output=True, text=True, env=environment)
        versions, is_free_threaded, reason = printed.stdout.split("\n")[:3]
        name = f"Python, NumPy, llvmlite {versions}" + (f" ({reason})" if reason else "")
        print(name, flush=True)
        if reason != (FREE_THREADED if is_free_threaded == "True" else ""):
            return f"{name}: FAILED, refused without need or not refused"
        tests = TESTS_OF_METHODS if reason else TESTS
        command = [own, "-m", "pytest", *OPTIONS, *tests]
        ended = subprocess.run(command, cwd=ROOT, env=environment, check=False)
        return f"{name}: {'FAILED' if ended.returncode else 'passed'}"


def main() -> None:
    """Run all pairs; the exit status is 1 where one fails."""
    pairs = [word.rpartition(":") for word in sys.argv[1:] or ALL]
    if not all(python and numpy for python, _, numpy in pairs):
        raise SystemExit(__doc__)
    ends = [run(python, numpy) if is_found(python) else f"{python}: not found" for python, _, numpy in pairs]
    print(*ends, sep="\n")
    raise SystemExit(1 if any("FAILED" in end for end in ends) else 0)


if __name__ == "__main__":
    main()
