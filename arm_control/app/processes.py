"""Processes of a run: the scenario's nodes, the recorder and the viewer; their start, output and end.

Each node is a process of its own. The name of one that ends too early is reported; the simulator then brakes by
itself, and the others are stopped after :data:`BRAKING_TIME`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from arm_control.app.run_options import RunOptions
from arm_control.app.torque_chain import remappings_of, with_gates_behind
from arm_control.controllers import controller_file
from arm_control.core import PARENT
from arm_control.exceptions import MissingExtra
from arm_control.simulation import Scenario, scenario_names

BRAKING_TIME = 1.5
"""Time for the arm to brake after a node has ended, before the others are stopped [s]."""
RECORDER = "arm_control.nodes.tools.bag_recorder"
RECORDER_TIME = 15.0
"""Time for the recorder to end [s]; longer than it waits for lost messages."""
ADDRESS = "viewer: http"
"""Begin of the line in which the viewer prints the page's address."""


# -- one process ---------------------------------------------------------------------------------------


def start_module(module: str, arguments: Sequence[str], output: Path) -> subprocess.Popen[bytes]:
    """Start a module in a session of its own: Ctrl-C reaches it through this process only.

    Its output is appended to a file.
    """
    with output.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, PARENT: str(os.getpid()), "PYTHONUNBUFFERED": "1"},
        )


def interrupt(process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to a running process, and let a stopped one continue."""
    if process.poll() is None:
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)


def wait_or_kill(process: subprocess.Popen[bytes], seconds: float = 5.0) -> None:
    """Wait for the end of an interrupted process; kill it after a time."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        interrupt(process, signal.SIGKILL)
        process.wait()


def describe_exit(code: int | None) -> str:
    """Return how a process ended, such as ``exit status 1`` or ``killed by SIGKILL``."""
    if code is not None and code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit status {code}"


# -- the nodes of a scenario ---------------------------------------------------------------------------


@dataclass
class ScenarioProcesses:
    """The nodes of a scenario as processes, and beside them the recorder and the viewer, without which a run goes on.

    Parameters
    ----------
    params_file : str
        A ROS parameter file that replaces values; empty for none.
    arm : mapping
        Parameters about the arm for all nodes, which replace those of the files.
    recorder : sequence of str
        Command line of the recorder beside the nodes; empty for none.
    viewer : mapping of str to mapping
        Parameters of the nodes of the viewer, which share a process; none for no viewer. Without the package viser
        there is a note instead.

    Attributes
    ----------
    address : str
        Address of the viewer's page; empty before it is known, and after the viewer has ended.
    """

    scenario: Scenario
    params_file: str = ""
    namespace: str = ""
    single: bool = False
    arm: Mapping[str, Any] = field(default_factory=dict)
    recorder: Sequence[str] = ()
    viewer: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    address: str = ""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> ScenarioProcesses:
        self._folder = tempfile.TemporaryDirectory(prefix="arm_control_")  # readable by this user only: for the token
        parameters = Path(self._folder.name) / "parameters.yaml"
        output = Path(self._folder.name) / "output.txt"
        parameters.write_text(parameter_text(with_gates_behind(self.scenario.nodes)))
        ros_arguments = ["--ros-args", "--params-file", str(parameters)]
        ros_arguments += ["--params-file", self.params_file] if self.params_file else []
        if self.arm:
            arm = Path(self._folder.name) / "arm.yaml"
            arm.write_text(parameter_text(dict.fromkeys(self.scenario.nodes, self.arm)))
            ros_arguments += ["--params-file", str(arm)]
        ros_arguments += namespace_arguments(self.namespace)
        for node, renamed in remappings_of(self.scenario.nodes).items():
            ros_arguments += [word for topic, name in renamed for word in ("-r", f"{node}:{topic}:={name}")]
        names = list(self.scenario.nodes)
        groups = [names] if self.single else [[name] for name in names]
        for group in groups:
            self.running["+".join(group)] = start_module("arm_control.nodes", [*group, *ros_arguments], output)
        if self.recorder:
            self.running["recorder"] = start_module(RECORDER, [*self.recorder, *ros_arguments], output)
        self._viewer: subprocess.Popen[bytes] | None = None
        self._notes: list[str] = []
        if self.viewer and find_spec("viser") is None:
            self._notes.append(f"no viewer: {MissingExtra('viser', 'viewer')}")
        elif self.viewer:
            shown = Path(self._folder.name) / "viewer.yaml"
            shown.write_text(parameter_text(self.viewer))
            words = [*self.viewer, "--ros-args", "--params-file", str(shown), *namespace_arguments(self.namespace)]
            self._viewer = start_module("arm_control.nodes", words, output)
        self._output, self._incomplete = output.open(errors="replace"), ""
        return self

    def __exit__(self, *_: object) -> None:
        if self.recorder:  # it ends while the recorded nodes still run
            interrupt(self.running["recorder"])
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.running["recorder"].wait(RECORDER_TIME)
        processes = [*self.running.values(), *filter(None, [self._viewer])]
        for process in processes:
            interrupt(process)
        for process in processes:
            wait_or_kill(process)
        self._output.close()
        self._folder.cleanup()

    def new_output(self) -> list[str]:
        """Return complete lines that were printed since the last call; and, once, that the viewer has ended."""
        code = self._viewer.poll() if self._viewer is not None else None
        *printed, self._incomplete = (self._incomplete + self._output.read()).split("\n")
        lines, self._notes = [*self._notes, *printed], []
        self.address = next((line for line in lines if line.startswith(ADDRESS)), self.address)
        if code is not None:
            self._viewer, self.address = None, ""
            lines.append(f"the viewer ended ({describe_exit(code)}); the run goes on")
        return lines

    def describe_ended(self) -> str:
        """Return which nodes have ended, and how; empty while all of them run."""
        codes = {name: process.poll() for name, process in self.running.items()}
        ended = [f"{name} ended ({describe_exit(code)})" for name, code in codes.items() if code is not None]
        return ", ".join(ended)


def recorder_arguments(scenario: Scenario, options: RunOptions) -> list[str]:
    """Return the command line of the recorder, with everything a replay needs; empty without ``--bag``."""
    if not options.bag:
        return []
    node = scenario.controller
    parameters = controller_file(options.params_file, node) | dict(options.arm)
    custom = {"robot": scenario.robot}
    if options.is_own_arm:  # its scenario is gone after the run
        custom |= {"controller": node, "parameters": json.dumps({node: scenario.nodes[node] | parameters})}
    else:
        name = scenario.name if scenario.name in scenario_names() else scenario.source
        variant = options.variant or next(iter(Scenario.load(options.scenario, trust=options.trust).variants), "")
        custom |= {"scenario": name, "variant": variant, "parameters": json.dumps({node: parameters})}
    arguments = [word for key, value in custom.items() for word in ("--custom", f"{key}={value}")]
    arguments += [word for node in scenario.nodes for word in ("--node", node)]
    return ["-o", options.bag, "--namespace", options.namespace, *arguments]


def parameter_text(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a ROS parameter file for nodes in any namespace.

    Lists that two nodes share are written twice, because ROS does not read YAML aliases.
    """
    content = {f"/**/{name}": {"ros__parameters": dict(values)} for name, values in nodes.items() if values}
    return str(yaml.dump(content, Dumper=_WithoutAliases))


class _WithoutAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def namespace_arguments(namespace: str) -> list[str]:
    """Return the arguments of ROS that put nodes into a namespace; none for the root."""
    return ["-r", f"__ns:=/{namespace.strip('/')}"] if namespace else []


def set_ros_defaults() -> None:
    """Restrict discovery to this machine and set ROS's log folder, unless the environment sets them already."""
    if "ROS_LOCALHOST_ONLY" not in os.environ:
        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_HOME", str(_ros_home()))


def _ros_home() -> Path:
    try:
        return Path.home() / ".ros"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"ros-{os.getuid()}"
