"""Run what the README shows, with the package installed in the environment of this Python.

Its example in Python; the demo, with a target from another terminal; an arm of one's own, with its page.
"""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from arm_control import urdf_path

README = Path(__file__).parents[1] / "README.md"
PROGRAM = str(Path(sys.executable).parent / "arm_control")
PATIENCE = 300.0
"""Longest time for a command [s]."""


def lines() -> list[list[str]]:
    """The command lines of ``arm_control`` in the README."""
    found = re.findall(r"^arm_control ([^#\n]*)", README.read_text(), re.MULTILINE)
    return [[PROGRAM, *shlex.split(line)] for line in found]


def run(command: list[str], folder: str) -> None:
    """Run a command that has to end well."""
    print("$", *command[1:], flush=True)
    subprocess.run(command, cwd=folder, check=True, timeout=PATIENCE)


def main() -> None:
    """Run all of them, in a folder of their own."""
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    with TemporaryDirectory() as folder:
        run([sys.executable, "-c", example], folder)
        shutil.copy(urdf_path("ur5"), f"{folder}/my_arm.urdf")
        beside_demo = [line for line in lines() if line[1] == "target"]
        for line in (line for line in lines() if line not in beside_demo):
            run([*line, *(["--duration", "4"] if line[1] == "run" else [])], folder)
        demo = subprocess.Popen([PROGRAM, "demo", "--no-targets"], cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert demo.stdout is not None
            next(line for line in demo.stdout if "friction and payloads" in line)
            for line in beside_demo:
                run(line, folder)
        finally:
            demo.send_signal(signal.SIGINT)
            print(demo.communicate(timeout=PATIENCE)[0])
        if demo.returncode:
            raise SystemExit(f"the demo ended with {demo.returncode}")


if __name__ == "__main__":
    main()
