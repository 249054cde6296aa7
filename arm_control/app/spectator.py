"""The page beside a run: ``viewer``, and ``visuals`` for it, in a process that only looks on.

When it ends, the run goes on.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arm_control.app.processes import PrintedLines, cause, end, interrupt, start
from arm_control.app.runner import parameter_text

NODES = ("viewer", "visuals")
ADDRESS = "viewer: http"
"""How the line begins in which it tells where the page is."""


class Spectator:
    """A viewer that runs, or one that does not.

    Parameters
    ----------
    process : Popen or None
        The node's process.
    output : callable
        Returns the lines it has printed since the last time.

    Attributes
    ----------
    address : str
        Where the page is; empty until it is known, and when it has ended.
    """

    def __init__(self, process: subprocess.Popen[bytes] | None, output: Callable[[], list[str]]) -> None:
        self._process, self._output, self.address = process, output, ""

    def news(self) -> list[str]:
        """What it has printed since the last call; and, once, that it has ended."""
        code = self._process.poll() if self._process is not None else None
        lines = self._output()
        self.address = next((line for line in lines if line.startswith(ADDRESS)), self.address)
        if code is not None:
            self._process, self.address = None, ""
            lines.append(f"the viewer ended ({cause(code)}); the run goes on")
        return lines


@contextlib.contextmanager
def spectator(wanted: bool, arm: Mapping[str, Any], control: bool, namespace: str = "") -> Iterator[Spectator]:
    """Run the nodes ``viewer`` and ``visuals`` in one process meanwhile, if they are wanted and can be.

    Parameters
    ----------
    wanted : bool
        Whether to.
    arm : mapping
        What every node has to know of the arm.
    control : bool
        Whether the page may do more than look.
    namespace : str
        Where it is; empty for the root.
    """
    if not wanted or find_spec("viser") is None:
        missing = ["no viewer: 'viser' is not installed: pip install 'arm_control[viewer]'"] if wanted else []
        yield Spectator(None, lambda: [missing.pop()] if missing else [])
        return
    with tempfile.TemporaryDirectory(prefix="arm_control_") as folder:  # nobody else reads it: it has the token
        given, output = Path(folder) / "parameters.yaml", Path(folder) / "output.txt"
        given.write_text(parameter_text({"viewer": {**arm, "control": control}, "visuals": arm}))
        renamed = ["-r", f"__ns:=/{namespace.strip('/')}"] if namespace else []
        process = start(
            "arm_control.nodes.compose", [*NODES, "--ros-args", "--params-file", str(given), *renamed], output
        )
        printed = PrintedLines(output)
        try:
            yield Spectator(process, printed.new)
        finally:
            interrupt(process)
            end(process)
            printed.close()
