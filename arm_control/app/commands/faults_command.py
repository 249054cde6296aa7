"""``arm_control faults``: every fault between a controller, a gate and a driver, and what comes of it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from arm_control.core.files import require_writable_folder, write_text
from arm_control.exceptions import ArmControlError

EXAMPLES = ("faults", "faults states --controller osc")
"""For the help."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    faults = commands.add_parser("faults", description=_faults.__doc__)
    faults.add_argument("name", nargs="?", default="", help="only faults whose name contains this; default: all")
    faults.add_argument("--controller", action="append", choices=("osc", "joint", "ilqr"), help="default: all three")
    faults.add_argument("--schedules", type=int, default=0, metavar="N", help="also run N random schedules of faults")
    faults.add_argument("--seed", type=int, default=0, help="number of the first schedule; default: 0")
    faults.add_argument("--json", metavar="FILE", help="write the rows to a file")
    faults.add_argument("--page", metavar="FILE", help="write the table as a page in Markdown")
    faults.set_defaults(command=_faults)


def _faults(options: argparse.Namespace) -> int:
    """Run the campaign in simulated time and print a table. Exit status: 0 all passed, 1 something did not."""
    from arm_control.core.progress import progress_bar
    from arm_control.faults.campaign import CONTROLLERS, campaign, run_fault
    from arm_control.faults.catalogue import all_faults
    from arm_control.faults.fault_table import page, row_text
    from arm_control.faults.schedules import run_schedules, shortened

    faults = [fault for fault in all_faults() if options.name in fault.name]
    if not faults and not options.schedules:
        raise ArmControlError(f"no fault has '{options.name}' in its name")
    for file in filter(None, (options.page, options.json)):
        require_writable_folder(Path(file).parent)  # before a run of minutes
    runs = list(campaign(faults, options.controller or CONTROLLERS))
    rows = [run_fault(*run) for run in progress_bar(runs, "faults")]
    for row in rows:
        print(row_text(row))
    failed = []
    seeds = range(options.seed, options.seed + options.schedules)
    outcomes = run_schedules(seeds, os.cpu_count() or 1)
    for _ in progress_bar(seeds, "schedules"):
        if (outcome := next(outcomes)).failure:
            failed.append(shortened(outcome))
            print(f"schedule {failed[-1]}")
    n_failed = sum(not row.passed for row in rows)
    print(f"{len(rows)} rows, {n_failed} failed; {options.schedules} schedules, {len(failed)} failed")
    if options.page:
        write_text(options.page, page(rows) + "\n")
    content = {
        "rows": [row.as_dict() for row in rows],
        "failed_rows": n_failed,
        "schedules": options.schedules,
        "failed_schedules": len(failed),
    }
    if options.json:
        write_text(options.json, json.dumps(content, indent=1) + "\n")
    return 1 if n_failed or failed else 0
