"""``arm_control simulate``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.app.commands.shared import positive
from arm_control.core import printable, require_writable_folder
from arm_control.exceptions import ArmControlError
from arm_control.simulation import ENGINES, Scenario, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arm_control.motion import TargetList
    from arm_control.simulation import FreeTrace, Simulation, Trace

EXAMPLES = (
    "simulate --robot my_arm.urdf",
    "simulate ur5_obstacle --report pictures",
    "simulate ur5_osc --variant real",
)
"""For the help."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "scenario", nargs="?", default="", help="name, or path of a YAML file; left out: --robot by itself"
    )
    shared.add_robot_option(parser)
    shared.add_arm_options(parser)
    shared.add_xacro_options(parser)
    shared.add_trust_option(parser)
    parser.add_argument("--variant", action="append", default=[], help="one variant; repeatable; default: all")
    parser.add_argument("--duration", type=positive, default=0.0, metavar="S", help="simulated time [s]")
    parser.add_argument("--report", default="", metavar="DIR", help="write the picture and the records there")
    parser.add_argument("--bag", default="", metavar="DIR", help="write a bag of every variant there")
    parser.add_argument("--engine", choices=ENGINES, help="what computes the motion; default: the scenario's")


def run(options: argparse.Namespace) -> int:
    """Simulate every variant of a scenario, and compare. Exit status: 0 when every check of the scenario holds."""
    shared.take_robot_for_scenario(options)
    if options.scenario:
        if options.robot:
            raise ArmControlError("--robot simulates an arm by itself: leave the scenario out")
        scenario = _with_engine(Scenario.load(options.scenario, trust=options.trust), options.engine)
        return _compare(replace(scenario, robot=shared.robot_of(options, scenario.robot)), options)
    options.robot = shared.robot_of(options, options.robot)
    with shared.scenario_of(options) as path:
        scenario = _with_engine(Scenario.load(path, trust=True), options.engine)
        return _compare(replace(scenario, name=Path(options.robot.split()[0]).stem), options)


def _with_engine(scenario: Scenario, engine: str | None) -> Scenario:
    """Return the scenario with an engine of the simulator; None changes nothing."""
    changes = {"simulator": {"engine": engine}} if engine else {}
    return replace(scenario, nodes=merged(scenario.nodes, changes))


def _compare(scenario: Scenario, options: argparse.Namespace) -> int:
    """Simulate and compare the variants; return the exit status."""
    if not scenario.controller:
        return _compare_free_motion(scenario, options)
    from arm_control.report import failed_checks, figures_of_simulation, variants_table
    from arm_control.simulation import Simulation

    variants = options.variant or tuple(scenario.variants) or ("",)
    _check_outputs(options, scenario, variants)
    traces, figures, failed, stalls = {}, {}, [], []
    is_checked = any(scenario.required(name) for name in variants)
    plants: dict[str, None] = {}
    for name in variants:
        simulation = Simulation(scenario, name)
        trace = traces[name] = _run(simulation, scenario, name, options)
        figures[name] = figures_of_simulation(
            trace, simulation.model, simulation.targets, simulation.motion, simulation.task
        )
        plants |= dict.fromkeys(simulation.plant)
        failed += [f"{name}: {text}".lstrip(": ") for text in failed_checks(figures[name], scenario.required(name))]
        stalls += [f"{name}: {simulation.stall}".lstrip(": ")] if simulation.stall else []
        failed += [trace.end_reason] if trace.end_reason and "diverged" not in scenario.required(name) else []
    print(f"{scenario.description}\n\n{variants_table(figures)}\n")
    if simulation.planned is not None:
        print(f"motion: {simulation.planned.history}\n")
    for line in plants:
        print(printable(f"plant file: {line}"))
    for warning in [*simulation.model.warnings, *stalls, *_too_short(simulation.targets, trace)]:
        print(printable(f"warning: {warning}"))
    if options.report:
        _draw_comparison(scenario, traces, simulation, options.report)
    return _verdict(failed, is_checked=is_checked)


def _too_short(targets: TargetList | None, trace: Trace) -> list[str]:
    """A sentence where no target had its time, and nothing has gone wrong."""
    if targets is None or trace.end_reason or trace.t[-1] + 2e-3 >= targets.period:
        return []
    return [f"too short to judge: no target had its {targets.period:g} s; give more with --duration"]


def _compare_free_motion(scenario: Scenario, options: argparse.Namespace) -> int:
    """The same for a scenario without a controller."""
    from arm_control.report import failed_checks, figures_of_free_motion, variants_table
    from arm_control.simulation import FreeMotion

    if options.bag:
        raise ArmControlError(f"{scenario.name} has no controller: nothing is commanded, so there is no bag")
    variants = options.variant or tuple(scenario.variants) or ("",)
    _check_outputs(options, scenario, variants)
    traces, figures, failed = {}, {}, []
    for name in variants:
        motion = FreeMotion(scenario, name)
        trace = traces[name] = motion.run(options.duration, f"{scenario.name} {name}".strip())
        figures[name] = figures_of_free_motion(trace)
        failed += [f"{name}: {text}".lstrip(": ") for text in failed_checks(figures[name], scenario.required(name))]
        failed += [trace.end_reason] if trace.end_reason else []
    print(f"{scenario.description}\n\n{variants_table(figures)}\n")
    if options.report:
        from arm_control.report import draw_energy

        path = _save_records(scenario, traces, options.report)
        draw_energy(path, scenario, traces, motion.model.joint_names)
        print(f"wrote {path}")
    return _verdict(failed, is_checked=any(scenario.required(name) for name in variants))


def _verdict(failed: list[str], *, is_checked: bool) -> int:
    """Print which checks failed; return the exit status."""
    passed = "every check holds" if is_checked else "nothing was checked: the scenario has no checks for this"
    print("\n".join(f"MISS  {text}" for text in failed) or passed)
    return 1 if failed else 0


def _check_outputs(options: argparse.Namespace, scenario: Scenario, variants: tuple[str, ...]) -> None:
    """Refuse folders that cannot be written, before the first simulation."""
    if options.bag:
        from arm_control.bags import refuse_existing

        for name in variants:
            refuse_existing(_bag_path(options.bag, scenario, name))
    for folder in filter(None, (options.bag, options.report)):
        require_writable_folder(folder)


def _bag_path(folder: str, scenario: Scenario, variant: str) -> Path:
    return Path(folder) / f"{scenario.name} {variant}".strip().replace(" ", "_")


def _run(simulation: Simulation, scenario: Scenario, variant: str, options: argparse.Namespace) -> Trace:
    """Simulate a variant; write its bag if there is an option for it."""
    title = f"{scenario.name} {variant}".strip()
    if not options.bag:
        return simulation.run(options.duration, title)
    from arm_control.bags import SimulatedBag

    with SimulatedBag(_bag_path(options.bag, scenario, variant), simulation, scenario, variant) as bag:
        return simulation.run(options.duration, title, bag)


def _draw_comparison(scenario: Scenario, traces: dict[str, Trace], simulation: Simulation, folder: str) -> None:
    """Write the record of each variant and the picture of all."""
    from arm_control.report import draw_comparison

    path = _save_records(scenario, traces, folder)
    draw_comparison(path, scenario, traces, simulation.model)
    print(f"wrote {path}")


def _save_records(scenario: Scenario, traces: Mapping[str, Trace | FreeTrace], folder: str) -> Path:
    """Write the record of each variant; return the path of the picture."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, trace in traces.items():
        trace.save(str(Path(folder) / f"{'_'.join(filter(None, [scenario.name, name]))}.npz"))
    return Path(folder) / f"{scenario.name}.png"
