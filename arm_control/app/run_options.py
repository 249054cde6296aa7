"""What the command line of ``arm_control run`` says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arm_control.app.outputs import need_folder, need_record
from arm_control.simulation.scenario import Scenario, check_parameter_file


@dataclass(frozen=True)
class RunOptions:
    """What the command line of ``arm_control run`` says.

    Attributes
    ----------
    scenario : str
        Name or path.
    duration : float
        Simulated time to run [s]; 0: until Ctrl-C.
    headless : bool
        Lock step and no live table.
    report : str
        Folder for pictures and the record; empty for none.
    bag : str
        Folder for a bag of all topics; empty for none.
    record : str
        NumPy file for the record; empty for none.
    robot, simulator, params_file, namespace : str
        As the launch file's arguments of these names.
    single_process : bool
        All nodes in one process.
    targets : bool
        Whether the scenario's own targets are published.
    cache : bool
        Whether compiled kernels are kept, and taken from earlier runs.
    variant : str
        One of the scenario's variants; empty: the first.
    viewer, control : bool
        Whether to open the page in the browser, and whether it may do more than look.
    paced : bool
        Lock step at the pace of the clock: simulated time waits for a late controller.
    """

    scenario: str
    duration: float = 0.0
    headless: bool = False
    report: str = ""
    bag: str = ""
    record: str = ""
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

    def load(self) -> Scenario:
        """Return the scenario as these options want it; everything that can be checked is."""
        scenario = Scenario.load(self.scenario).with_options(
            variant=self.variant,
            robot=self.robot,
            simulator=self.simulator,
            lock_step=self.headless,
            paced=self.paced and not self.headless,
            start_paused=True,
            targets=self.targets,
        )
        if self.params_file:
            check_parameter_file(self.params_file, scenario.nodes, self.namespace)
        if self.bag:
            need_folder(Path(self.bag).parent)
        if self.record:
            need_record(self.record)
        if self.report:
            need_folder(self.report)
        target_list = scenario.targets()
        if target_list and self.duration:
            scenario.nodes["targets"]["count"] = max(1, round(self.duration / target_list.period))
        return scenario

    @property
    def in_lock_step(self) -> bool:
        """Whether every state waits for its command."""
        return self.headless or self.paced or self.simulator == "coppeliasim"
