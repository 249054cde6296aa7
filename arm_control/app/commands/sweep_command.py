"""``arm_control sweep``: many runs of a scenario or a function, on Dask, and a report on their rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from arm_control.app.commands import shared
from arm_control.core import printable
from arm_control.exceptions import ArmControlError

REPORT = "report"
EXAMPLES = (
    "sweep ur5_gains --workers 2",
    "sweep my_sweep.yaml --out rows.parquet --resume",
    "sweep report ur5_gains.parquet --best final_error --pareto final_error torque_share",
)
"""For the help."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("file", help="name below config/sweeps, or a YAML file; or the word report")
    parser.add_argument("rows", nargs="?", default="", metavar="FILE.parquet", help="behind report: rows of a sweep")
    parser.add_argument("-o", "--out", default="", metavar="FILE.parquet", help="rows; default: NAME.parquet")
    parser.add_argument("--workers", type=shared.count, default=0, metavar="N", help="processes; default: one a core")
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="one of Dask that runs already, such as tcp://host:8786; default: DASK_SCHEDULER_ADDRESS, or none;"
        " use one that you trust: it runs code as you",
    )
    parser.add_argument("--resume", action="store_true", help="run what has no row yet")
    shared.add_trust_option(parser, "a function or xacro file that the sweep names")
    parser.add_argument("--best", default="", metavar="FIGURE", help="report: order; max:FIGURE where more is better")
    parser.add_argument("--pareto", nargs=2, default=(), metavar="FIGURE", help="report: figures of the Pareto front")
    parser.add_argument("--number", type=shared.count, default=5, metavar="N", help="report: best rows; default: 5")


def run(options: argparse.Namespace) -> int:
    """Run a sweep, or report on its rows. Exit status: 0 when no run failed, 130 after Ctrl-C, which keeps rows."""
    from arm_control.sweeps import Sweep, read_rows, report_text

    if options.file == REPORT:
        sweep, columns = read_rows(Path(options.rows or "."))
        print(_printable(report_text(sweep, columns, options.best, options.pareto, options.number)))
        return 0
    if options.rows:
        raise ArmControlError(f"{options.rows}: one sweep only; rows are named with --out")
    loaded = Sweep.load(options.file, trust=options.trust)
    from arm_control.sweeps import run_sweep

    out = Path(options.out or f"{loaded.name}.parquet")
    where = {"workers": options.workers, "scheduler": options.scheduler}
    try:
        run_sweep(loaded, out, **where, resume=options.resume, report=lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print(f"\nrows so far are in {out}; --resume runs the others")
        return 130
    sweep, columns = read_rows(out)
    print(_printable(report_text(sweep, columns)) + f"\n\nwrote {out}")
    return 1 if any(columns["error"]) else 0


def _printable(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))
