"""``arm_control scenarios``."""

from __future__ import annotations

import argparse

from arm_control.simulation import Scenario, scenario_names

EXAMPLES = ("scenarios",)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def run(_: argparse.Namespace) -> int:
    """List the scenarios that come with the package."""
    for name in scenario_names():
        print(f"{name:20} {Scenario.load(name).description}")
    return 0
