"""Runs a scenario without ``ros2 launch``: starts its nodes, watches them, reports, stops them.

Each node is a process of its own. One that dies is reported by name; the simulator then brakes by
itself, and the rest is stopped once the arm is at rest.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from arm_control.scenario import Scenario

PARENT = "ARM_CONTROL_PARENT"
"""Environment variable with the process that a node must not outlive."""

BRAKING_TIME = 1.5
"""Time the rest of a run is given to brake when a node has died [s]."""


@dataclass
class Processes:
    """The nodes of a scenario as processes.

    Parameters
    ----------
    scenario : Scenario
        Which nodes, with which parameters.
    params_file : str
        A ROS parameter file whose values come last; empty for none.
    namespace : str
        Namespace of all nodes; empty for none.
    single : bool
        All nodes in one process with one executor.
    """

    scenario: Scenario
    params_file: str = ""
    namespace: str = ""
    single: bool = False
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Processes:
        self._folder = tempfile.TemporaryDirectory(prefix="arm_control_")
        parameters = Path(self._folder.name) / "parameters.yaml"
        self._output = Path(self._folder.name) / "output.txt"
        parameters.write_text(yaml.safe_dump(parameter_file(self.scenario.nodes)))
        arguments = ["--ros-args", "--params-file", str(parameters)]
        arguments += ["--params-file", self.params_file] if self.params_file else []
        arguments += ["-r", f"__ns:=/{self.namespace.strip('/')}"] if self.namespace else []
        names = list(self.scenario.nodes)
        modules = {"+".join(names): ["compose", *names]} if self.single else {name: [name] for name in names}
        for label, (module, *rest) in modules.items():
            self.running[label] = self._start(f"arm_control.nodes.{module}", [*rest, *arguments])
        self._reading = self._output.open(errors="replace")
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.running.values():
            _signal(process, signal.SIGINT)
        for process in self.running.values():
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
                process.wait()
        self._reading.close()
        self._folder.cleanup()

    def _start(self, module: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        """Start a module in a session of its own, so that Ctrl-C reaches it through us only."""
        with self._output.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"},
            )

    def new_output(self) -> list[str]:
        """Lines that the nodes have printed since the last call."""
        return self._reading.read().splitlines()

    def dead(self) -> str:
        """Say which nodes have ended and how; empty while all of them run."""
        ended = {name: process.poll() for name, process in self.running.items()}
        return ", ".join(f"{name} ended ({_cause(code)})" for name, code in ended.items() if code is not None)


def parameter_file(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the parameters of nodes in the form of a ROS parameter file, for any namespace."""
    return {f"/**/{name}": {"ros__parameters": dict(values)} for name, values in nodes.items() if values}


def localhost_unless_told() -> None:
    """Let DDS find nodes on this machine only, unless the user's environment says otherwise."""
    if "ROS_LOCALHOST_ONLY" not in os.environ:
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_HOME", str(_ros_home()))


def _ros_home() -> Path:
    try:
        return Path.home() / ".ros"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"ros-{os.getuid()}"


def wait_for_rest(seconds: float = BRAKING_TIME) -> None:
    """Give the simulator, or whatever brakes the arm, the time it needs."""
    time.sleep(seconds)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"
