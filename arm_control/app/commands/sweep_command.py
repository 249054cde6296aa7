"""``arm_control sweep``: many runs of a scenario or a function, on Dask, and a report on their rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.core import write_text
from arm_control.exceptions import ArmControlError

if TYPE_CHECKING:
    from arm_control.sweeps import SweepReport

REPORT, BEST = "report", "best"
EXAMPLES = (
    "sweep ur5_gains --workers 2",
    "sweep my_sweep.yaml --out rows.parquet --resume",
    "sweep report ur5_gains.parquet --best final_error --pareto final_error torque_share",
    "sweep report --bags 'folder/**/*.mcap' --workers 2",
    "sweep best ur5_gains.parquet --best final_error --set gains.yaml",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="name below config/sweeps, or a YAML file; or the word report, or best")
    parser.add_argument("rows", nargs="?", default="", metavar="FILE.parquet", help="behind these: rows of a sweep")
    parser.add_argument(
        "-o", "--out", default="", metavar="FILE", help="rows; default: NAME.parquet; of a report its folder"
    )
    parser.add_argument(
        "--bags",
        default="",
        metavar="PATTERN",
        help="a row for each bag, such as 'folder/**/*.mcap'; report, identify or replay stands in place of FILE",
    )
    shared.add_robot_option(parser)
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
    parser.add_argument("--best", default="", metavar="FIGURE", help="order of rows; max:FIGURE where more is better")
    parser.add_argument("--pareto", nargs=2, default=(), metavar="FIGURE", help="report: figures of the Pareto front")
    parser.add_argument("--number", type=shared.count, default=5, metavar="N", help="report: best rows; default: 5")
    parser.add_argument(
        "--set", default="", metavar="FILE.yaml", help="best: the best row's parameters, for --params-file"
    )
    shared.add_force_option(parser)


def run(options: argparse.Namespace) -> int:
    """Run a sweep, or report on its rows. Exit status: 0 when no run failed, 130 after Ctrl-C, which keeps rows."""
    from arm_control.sweeps import BAG_FIGURES, Sweep, SweepReport, content_of_bags

    if options.bags and options.file not in BAG_FIGURES:
        raise ArmControlError(f"--bags: one of {', '.join(BAG_FIGURES)} is needed, not {options.file}")
    from arm_control.sweeps import read_rows

    if options.file in (REPORT, BEST) and not options.bags:
        if not options.rows:
            raise ArmControlError(f"{options.file}: rows of a sweep are needed, such as ur5_gains.parquet")
        report = SweepReport(*read_rows(Path(options.rows)), options.best, options.pareto, options.number)
        return (_write_page if options.file == REPORT else _write_parameters)(report, options)
    if options.rows:
        raise ArmControlError(f"{options.rows}: one sweep only; rows are named with --out")
    if options.bags:
        content = content_of_bags(options.bags, options.file, options.robot)
        loaded = Sweep.from_content(content, f"bags_{options.file}", trust=True)
    else:
        loaded = Sweep.load(options.file, trust=options.trust)
    from arm_control.sweeps import run_sweep

    out = Path(options.out or f"{loaded.name}.parquet")
    where = {"workers": options.workers, "scheduler": options.scheduler}
    try:
        run_sweep(loaded, out, **where, resume=options.resume, report=lambda text: print(text, flush=True))
    except KeyboardInterrupt:
        print(f"\nrows so far are in {out}; --resume runs the others")
        return 130
    report = SweepReport(*read_rows(out))
    print(f"{report.text()}\n\nwrote {out}")
    return 1 if report.n_failed else 0


def _write_page(report: SweepReport, options: argparse.Namespace) -> int:
    """Print the report, and write its page."""
    print(report.text(), flush=True)
    name = Path(options.rows).resolve().stem
    print(f"\nwrote {report.write(Path(options.out or f'{name}_report'), name)}")
    return 0


def _write_parameters(report: SweepReport, options: argparse.Namespace) -> int:
    """Write the best row's parameters, or print them."""
    text = report.parameter_file(options.rows)
    if not options.set:
        print(text, end="")
        return 0
    shared.refuse_existing_file(Path(options.set), options)
    write_text(options.set, text)
    print(f"wrote {options.set}")
    return 0
