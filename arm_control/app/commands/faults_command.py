"""``arm_control faults``: every fault between a controller, its gates and a driver, and what comes of it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from arm_control.core import require_writable_folder, write_text
from arm_control.exceptions import ArmControlError

ARRANGEMENTS = ("controller", "gate", "simulator", "native", "serve", "serve-native", "exported")
"""Those of :mod:`arm_control.faults.arrangements`, which is not needed for the help."""
EXAMPLES = ("faults", "faults states --controller osc --arrangement gate exported")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="only faults whose name contains this; default: all")
    parser.add_argument("--arrangement", nargs="+", choices=ARRANGEMENTS, help="default: all")
    parser.add_argument("--controller", nargs="+", choices=("osc", "joint", "ilqr", "follow"), help="default: all")
    parser.add_argument(
        "--full", action="store_true", help="each with every robot and controller; default: these take turns"
    )
    parser.add_argument("--schedules", type=int, default=0, metavar="N", help="also run N random schedules of faults")
    parser.add_argument("--seed", type=int, default=0, help="number of the first schedule; default: 0")
    parser.add_argument("--json", metavar="FILE", help="write the rows to a file")
    parser.add_argument("--page", metavar="FILE", help="write the table as a page in Markdown")


def run(options: argparse.Namespace) -> int:
    """Run the campaign in simulated time and print a table. Exit status: 0 all passed, 1 something did not."""
    from arm_control.core import progress_bar
    from arm_control.faults import (
        all_cases,
        all_faults,
        can_compile,
        page,
        plants_of,
        row_text,
        run_cases,
        run_schedules,
        shortened,
        some_cases,
        summary,
    )

    faults = [fault for fault in all_faults() if options.name in fault.name]
    if not faults and not options.schedules:
        raise ArmControlError(f"no fault has '{options.name}' in its name")
    for file in filter(None, (options.page, options.json)):
        require_writable_folder(Path(file).parent)  # before a run of minutes
    arrangements = options.arrangement or ARRANGEMENTS
    if "exported" in arrangements and not can_compile():
        print("exported: skipped, it needs a C compiler and an x86-64 processor")
        arrangements = [name for name in arrangements if name != "exported"]
    takes_all = options.full or options.controller
    cases = [
        case
        for case in (all_cases if takes_all else some_cases)(faults)
        if case.arrangement in arrangements and case.controller in (options.controller or [case.controller])
    ]
    rows = []
    outcomes = run_cases(cases)
    for case in progress_bar(cases, "faults"):
        for _ in plants_of(case.fault):
            rows.append(next(outcomes))
            print(row_text(rows[-1]))
    failed = []
    seeds = range(options.seed, options.seed + options.schedules)
    schedules = run_schedules(seeds)
    for _ in progress_bar(seeds, "schedules"):
        if (outcome := next(schedules)).failure:
            failed.append(shortened(outcome))
            print(f"schedule {failed[-1]}")
    worst = summary(rows)
    print(
        f"{len(rows)} rows, {worst['failed_rows']} failed; sunk by {worst['worst_sink_mm']:.1f} mm at most,"
        f" after enable {worst['worst_speed_after_enable']:.4f} rad/s;"
        f" {options.schedules} schedules, {len(failed)} failed"
    )
    if options.page:
        write_text(options.page, page(rows) + "\n")
    content = {
        "rows": [asdict(row) for row in rows],
        **worst,
        "schedules": options.schedules,
        "failed_schedules": len(failed),
    }
    if options.json:
        write_text(options.json, json.dumps(content, indent=1) + "\n")
    return 1 if worst["failed_rows"] or failed else 0
