"""Sweeps: many runs of a scenario, or of a function, over axes of values, on Dask; one row of figures a run."""

from typing import TYPE_CHECKING

from arm_control.core.face import face

if TYPE_CHECKING:
    from arm_control.sweeps.bag_rows import BAG_FIGURES, content_of_bags
    from arm_control.sweeps.dask_runs import BATCH, TRIES, begin_cluster, run_sweep, task_results
    from arm_control.sweeps.ordered_results import in_order
    from arm_control.sweeps.row_files import begin_rows, read_rows, write_rows
    from arm_control.sweeps.sample_points import Axis, SamplePoints
    from arm_control.sweeps.single_run import VARYING, RunPlan, run_row
    from arm_control.sweeps.sweep import Sweep
    from arm_control.sweeps.sweep_report import SweepReport, explained_share, levels, pareto_front, repeat_commands
else:
    __getattr__, __dir__, __all__ = face(__name__)
