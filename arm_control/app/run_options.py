"""The options of ``arm_control run``, and their checks before anything starts."""

from __future__ import annotations

import os
from argparse import BooleanOptionalAction
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arm_control.app.commands.shared import option, positive
from arm_control.core import Parameters, file_parameters, require_writable_folder
from arm_control.exceptions import ArmControlError, InputError
from arm_control.model import find_description, link_capsules, load_urdf
from arm_control.simulation import CHOICES, SIMULATORS, Scenario, check_parameter_file, planned

EITHER = BooleanOptionalAction
"""With ``--no-`` before its name, too."""


@dataclass(frozen=True)
class RunOptions:
    """Options of ``arm_control run``; those with a text are on the command line, and have it as their help.

    Attributes
    ----------
    waypoints : str
        File for a trajectory through the postures that Enter, or the topic ``guide/waypoint``, takes; empty for none.
    arm : mapping
        Parameters about the arm; they replace those of scenario and parameter file.
    title : str
        Name of the run in its output; empty: the scenario.
    is_own_arm : bool
        Whether the scenario was written for the robot, and is removed after the run.
    """

    scenario: str
    duration: float = option(0.0, "simulated time [s], then a report", type=positive, metavar="S")
    headless: bool = option(False, "lock step, as fast as possible, without live table")
    report: str = option("", "write pictures and the record there at the end", metavar="DIR")
    bag: str = option("", "record all topics there, as a bag (see replay)", metavar="FOLDER")
    record: str = option("", "write the record there, as NumPy arrays (.npz)", metavar="FILE")
    simulator: str = option("mujoco", "none: another program publishes the states", choices=SIMULATORS)
    params_file: str = option("", "a ROS parameter file; replaces the scenario's values", metavar="FILE")
    namespace: str = option("", "namespace of all nodes")
    single_process: bool = option(False, "all nodes in one process")
    targets: bool = option(True, "hold until a target_pose is sent")
    cache: bool = option(True, "compile everything again, and store nothing")
    variant: str = option("", "one of the scenario's variants; default: the first")
    viewer: bool = option(False, "show the arm in the browser; prints the page's address", action=EITHER)
    control: bool = option(False, "allow the page to send targets, obstacles and gains")
    paced: bool | None = option(
        None, "real time, but a late controller slows simulated time; the default with --viewer", action=EITHER
    )
    planner: bool = option(False, "plan motions to the targets, past the obstacles")
    friction: str = option(
        "auto",
        "compensate friction, payloads and rotors; auto: with --simulator none, and where the plant has them",
        choices=CHOICES,
    )
    robot: str = ""
    trust: bool = False
    waypoints: str = ""
    arm: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    is_own_arm: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.scenario)

    def load(self) -> Scenario:
        """Return the scenario with these options, after all checks that need no process.

        An ArmControlError when the scenario, the parameter file or an output path is invalid.
        """
        loaded = Scenario.load(self.scenario, trust=self.trust or self.is_own_arm)
        scenario = (planned(loaded, self.variant) if self.planner else loaded).with_options(
            variant="" if self.planner else self.variant,
            robot=self.robot,
            simulator=self.simulator,
            lock_step=self.headless,
            paced=bool(self.paced) and not self.headless,
            start_paused=True,
            targets=self.targets,
            gate=self.simulator == "none",
            friction=self.friction,
            plant=file_parameters(self.params_file, "simulator"),
        )
        if not scenario.controller:
            raise ArmControlError(
                f"{scenario.name} has no controller: `arm_control simulate {self.scenario}` simulates it; for a"
                f" controller of yours, ros2 launch arm_control scenario.launch.py scenario:={self.scenario}"
            )
        if self.params_file:
            check_parameter_file(self.params_file, scenario.nodes, self.namespace, trust=self.trust)
        if self.bag:
            require_writable_folder(Path(self.bag).parent)
        if self.waypoints:
            require_writable_folder(Path(self.waypoints).parent)
        if self.record:
            require_writable_record(self.record)
        if self.report:
            require_writable_folder(self.report)
        target_list = scenario.targets()
        if target_list and self.duration:
            scenario.nodes["targets"]["count"] = max(1, round(self.duration / target_list.period))
        may_avoid = self.is_interactive and scenario.reaches_poses and not scenario.world.movers
        if may_avoid and _has_whole_shape(scenario.robot):
            scenario.nodes[scenario.controller].setdefault("avoid_obstacles", True)
        return scenario

    def controller_parameters(self, parameter_class: type[Parameters], scenario: Scenario) -> dict[str, Any]:
        """Return the controller's parameters that belong to one class.

        Parameters
        ----------
        scenario : Scenario
            The scenario; values of ``params_file`` replace its values.
        """
        node = scenario.controller
        values = {**scenario.nodes.get(node, {}), **file_parameters(self.params_file, node), **self.arm}
        return {name: value for name, value in values.items() if name in parameter_class.types()}

    @property
    def is_interactive(self) -> bool:
        """Whether a person may set targets, obstacles and gains in the page."""
        return self.viewer and self.control and not self.headless

    @property
    def in_lock_step(self) -> bool:
        """Whether every state waits for its command."""
        return self.headless or bool(self.paced) or self.simulator == "coppeliasim"


def require_writable_record(file: str | Path) -> None:
    """Check that a NumPy file can be written.

    An InputError when it cannot, or when its name does not end in ``.npz``: NumPy would add that.
    """
    path = Path(file)
    if path.suffix != ".npz":
        raise InputError(f"{file}: the name of a record ends in .npz")
    if not path.parent.is_dir():
        raise InputError(f"{file}: there is no folder {path.parent}")
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise InputError(f"{file} exists and cannot be overwritten: choose another name")
    require_writable_folder(path.parent)


def _has_whole_shape(robot: str) -> bool:
    """Whether all collision shapes of a robot can be read, as avoidance needs them."""
    path, arguments = find_description(robot)
    try:
        capsules, notes = link_capsules(load_urdf(path, xacro_args=arguments or None, needs_maxima=False))
    except ArmControlError:  # the controller says why
        return False
    return bool(capsules) and not notes
