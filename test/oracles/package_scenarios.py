"""Every scenario of the package, read once: YAML takes its time."""

from arm_control.simulation import Scenario, scenario_names

SCENARIOS = {name: Scenario.load(name) for name in scenario_names()}
