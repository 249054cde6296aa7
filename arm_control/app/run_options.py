"""The options of ``arm_control run``, and their checks before anything starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arm_control.core import Parameters, file_parameters, require_writable_folder
from arm_control.exceptions import ArmControlError, InputError
from arm_control.model import find_description, link_capsules, load_urdf
from arm_control.simulation import Scenario, check_parameter_file, planned


@dataclass(frozen=True)
class RunOptions:
    """Options of ``arm_control run``.

    Attributes
    ----------
    scenario : str
        Name or path.
    duration : float
        Simulated time to run [s]; 0: until Ctrl-C.
    report : str
        Folder for pictures and the record; empty for none.
    bag : str
        Folder for a bag of all topics; empty for none.
    record : str
        NumPy file for the record; empty for none.
    robot, simulator, params_file, namespace : str
        As the launch file's arguments of these names.
    waypoints : str
        File for a trajectory through the postures that Enter, or the topic ``guide/waypoint``, takes; empty for none.
    viewer, control : bool
        Whether to open the page in the browser, and whether it may send targets, obstacles and gains.
    paced : bool
        Lock step at the pace of the clock: simulated time waits for a late controller.
    trust : bool
        Whether a xacro file that the scenario names is expanded.
    arm : mapping
        Parameters about the arm; they replace those of scenario and parameter file.
    title : str
        Name of the run in its output; empty: the scenario.
    is_own_arm : bool
        Whether the scenario was written for the robot, and is removed after the run.
    """

    scenario: str
    duration: float = 0.0
    headless: bool = False
    report: str = ""
    bag: str = ""
    record: str = ""
    waypoints: str = ""
    robot: str = ""
    simulator: str = "mujoco"
    params_file: str = ""
    namespace: str = ""
    single_process: bool = False
    targets: bool = True
    cache: bool = True
    variant: str = ""
    viewer: bool = False
    control: bool = False
    paced: bool = False
    planner: bool = False
    friction: str = "auto"
    trust: bool = False
    arm: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    is_own_arm: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.scenario)

    def load(self) -> Scenario:
        """Return the scenario with these options, after all checks that need no process.

        Raises
        ------
        ArmControlError
            When the scenario, the parameter file or an output path is invalid.
        """
        loaded = Scenario.load(self.scenario, trust=self.trust or self.is_own_arm)
        scenario = (planned(loaded, self.variant) if self.planner else loaded).with_options(
            variant="" if self.planner else self.variant,
            robot=self.robot,
            simulator=self.simulator,
            lock_step=self.headless,
            paced=self.paced and not self.headless,
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
        return self.headless or self.paced or self.simulator == "coppeliasim"


def require_writable_record(file: str | Path) -> None:
    """Check that a NumPy file can be written.

    Raises
    ------
    InputError
        When it cannot, or when its name does not end in ``.npz``: NumPy would add that.
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
