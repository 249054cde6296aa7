"""``arm_control scenarios``."""

from __future__ import annotations

import argparse
from typing import Any

from arm_control.simulation import Scenario, scenario_names

EXAMPLES = ("scenarios",)
"""For the help."""


def add_command(commands: Any) -> None:
    """Add the command to the subparsers of ``arm_control``."""
    scenarios = commands.add_parser("scenarios", description=_scenarios.__doc__)
    scenarios.set_defaults(command=_scenarios)


def _scenarios(_: argparse.Namespace) -> int:
    """List the scenarios that come with the package."""
    for name in scenario_names():
        print(f"{name:20} {Scenario.load(name).description}")
    return 0
