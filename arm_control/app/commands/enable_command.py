"""``arm_control enable``."""

from __future__ import annotations

import argparse

from arm_control.core import printable

EXAMPLES = ("enable", "enable --namespace left")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--namespace", default="", help="only gates in it")


def run(options: argparse.Namespace) -> int:
    """Call the enable service of every running gate, and show what each does before and after.

    Enabled gates hold the measured posture; goals from before are void. Exit status: 0 all enabled, 1 some not, 2 no
    gate is running.
    """
    from arm_control.nodes import enable_gates

    results = enable_gates(options.namespace, lambda line: print(printable(line), flush=True))
    return 0 if all(enabled for _, enabled, _ in results) else 1
