"""Runs a scenario without ``ros2 launch``: starts its nodes, watches them, reports, stops them.

Each node is a process of its own. One that dies is reported by name; the simulator then brakes by
itself, and the rest is stopped once the arm is at rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from arm_control.app.processes import PrintedLines, cause, end, interrupt, start
from arm_control.core.yaml_files import file_parameters
from arm_control.simulation.scenario import Scenario, scenario_names

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
    beside : dict of str to list of str
        Nodes that are none of the scenario's, as processes of their own: arguments by name.
    """

    scenario: Scenario
    params_file: str = ""
    namespace: str = ""
    single: bool = False
    beside: dict[str, list[str]] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Processes:
        self._folder = tempfile.TemporaryDirectory(prefix="arm_control_")
        parameters = Path(self._folder.name) / "parameters.yaml"
        output = Path(self._folder.name) / "output.txt"
        parameters.write_text(parameter_text(self.scenario.nodes))
        arguments = ["--ros-args", "--params-file", str(parameters)]
        arguments += ["--params-file", self.params_file] if self.params_file else []
        arguments += ["-r", f"__ns:=/{self.namespace.strip('/')}"] if self.namespace else []
        names = list(self.scenario.nodes)
        modules = {"+".join(names): ["compose", *names]} if self.single else {name: [name] for name in names}
        for label, (module, *rest) in modules.items():
            self.running[label] = start(f"arm_control.nodes.{module}", [*rest, *arguments], output)
        for name, (module, *rest) in self.beside.items():
            self.running[name] = start(f"arm_control.nodes.{module}", [*rest, *arguments], output)
        self._lines = PrintedLines(output)
        return self

    def __exit__(self, *_: object) -> None:
        for name in self.beside:  # a recorder ends while those it hears are still there
            interrupt(self.running[name])
        for name in self.beside:
            with suppress(subprocess.TimeoutExpired):
                self.running[name].wait(15.0)  # longer than it waits for lost messages
        for process in self.running.values():
            interrupt(process)
        for process in self.running.values():
            end(process)
        self._lines.close()
        self._folder.cleanup()

    def new_output(self) -> list[str]:
        """Lines that the nodes have printed since the last call."""
        return self._lines.new()

    def dead(self) -> str:
        """Say which nodes have ended and how; empty while all of them run."""
        ended = {name: process.poll() for name, process in self.running.items()}
        return ", ".join(f"{name} ended ({cause(code)})" for name, code in ended.items() if code is not None)


def parameter_file(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the parameters of nodes in the form of a ROS parameter file, for any namespace."""
    return {f"/**/{name}": {"ros__parameters": dict(values)} for name, values in nodes.items() if values}


def recorder_arguments(scenario: Scenario, options: Any) -> dict[str, list[str]]:
    """Return the recorder of a run, as a process beside it, with what a replay has to know; none without ``--bag``."""
    if not options.bag:
        return {}
    own = {scenario.controller: file_parameters(options.params_file, scenario.controller)}
    custom = {
        "scenario": scenario.name if scenario.name in scenario_names() else scenario.source,
        "variant": options.variant or next(iter(Scenario.load(options.scenario).variants), ""),
        "robot": scenario.robot,
        "parameters": json.dumps(own),
    }
    told = [word for key, value in custom.items() for word in ("--custom", f"{key}={value}")]
    told += [word for node in scenario.nodes for word in ("--node", node)]
    return {"recorder": ["tools.bag_recorder", "-o", options.bag, "--namespace", options.namespace, *told]}


def parameter_text(nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a ROS parameter file for these nodes; ROS reads no alias, so a list of two nodes is written twice."""
    return str(yaml.dump(parameter_file(nodes), Dumper=_WithoutAliases))


class _WithoutAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


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
