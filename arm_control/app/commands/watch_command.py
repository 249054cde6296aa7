"""``arm_control watch``."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from arm_control.core import printable

if TYPE_CHECKING:
    from arm_control.gate import GateReport

EXAMPLES = ("watch", "watch --once")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--namespace", default="", help="only gates in it")
    parser.add_argument("--once", action="store_true", help="show the present state of each gate, and end")


def run(options: argparse.Namespace) -> int:
    """Show each gate that runs, and each change of it until Ctrl-C: time, node, state, reason, success rate.

    Exit status: 0; with --once: 0 all gates pass commands, 1 some do not, 2 no gate was heard.
    """
    from arm_control.nodes import current_gates, watch_gates

    if not options.once:
        watch_gates(_show, options.namespace)
        return 0
    reports = current_gates(options.namespace)
    for report in reports:
        _show(report)
    if not reports:
        print("no gate was heard")
        return 2
    return 0 if all(report.is_passing for report in reports) else 1


def _show(report: GateReport) -> None:
    now = time.time()
    moment = f"{time.strftime('%H:%M:%S', time.localtime(now))}.{int(now % 1.0 * 1e3):03d}"
    print(f"{moment}  {printable(str(report))}", flush=True)
