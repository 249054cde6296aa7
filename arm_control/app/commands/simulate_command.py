"""``arm_control simulate``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control.app.commands import shared
from arm_control.app.commands.shared import positive
from arm_control.core import printable, require_writable_folder
from arm_control.exceptions import ArmControlError
from arm_control.simulation import ENGINES, Scenario, merged, save_scenario, with_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from arm_control.motion import TargetList
    from arm_control.simulation import FreeMotion, Simulation, Trace

EXAMPLES = (
    "simulate --robot my_arm.urdf",
    "simulate ur5_obstacle --report pictures",
    "simulate ur5_osc --variant real",
    "simulate ur5_osc --set osc.kp_linear=150.0 --set payload=2.0",
)


def add_options(parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument(
        "--set",
        dest="values",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another value in all variants: node.parameter, robot or payload; repeatable",
    )
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
    from arm_control.report import failed_checks, variants_table

    if options.bag and not scenario.controller:
        raise ArmControlError(f"{scenario.name} has no controller: nothing is commanded, so there is no bag")
    variants = options.variant or tuple(scenario.variants) or ("",)
    options.values = dict(shared.named_value(text) for text in options.values)
    _check_outputs(options, scenario, variants)
    runs: dict[str, Simulation | FreeMotion] = {}
    traces: dict[str, Any] = {}
    figures: dict[str, dict[str, Any]] = {}
    failed: list[str] = []
    for name in variants:
        runs[name], traces[name], figures[name] = _simulated(scenario, name, options)
        required, trace = scenario.required(name), traces[name]
        failed += [f"{name}: {text}".lstrip(": ") for text in failed_checks(figures[name], required)]
        failed += [trace.end_reason] if trace.end_reason and "diverged" not in required else []
    print(f"{scenario.description}\n\n{variants_table(figures)}\n")
    _print_notes(runs, traces)
    if options.report:
        _draw(scenario, traces, runs[variants[-1]], options.report)
    return _verdict(failed, is_checked=any(scenario.required(name) for name in variants))


def _simulated(
    scenario: Scenario, name: str, options: argparse.Namespace
) -> tuple[Simulation | FreeMotion, Any, dict[str, Any]]:
    """Simulate a variant, with or without a controller, and write its bag; return it, its trace and its figures."""
    from arm_control.report import figures_of_free_motion, figures_of_simulation
    from arm_control.simulation import FreeMotion, Simulation

    title, path = f"{scenario.name} {name}".strip(), _bag_path(options, scenario, name)
    if options.values:
        scenario, name = with_values(scenario, options.values, name), ""
        if options.bag:  # a bag names its scenario
            scenario = save_scenario(scenario, path.with_name(f"{path.name}.yaml"))
    if not scenario.controller:
        motion = FreeMotion(scenario, name)
        free = motion.run(options.duration, title)
        return motion, free, figures_of_free_motion(free)
    run = Simulation(scenario, name)
    if options.bag:
        from arm_control.bags import SimulatedBag

        with SimulatedBag(path, run, scenario, name) as bag:
            trace = run.run(options.duration, title, bag)
    else:
        trace = run.run(options.duration, title)
    return run, trace, figures_of_simulation(trace, run.model, run.targets, run.motion, run.task)


def _print_notes(runs: Mapping[str, Simulation | FreeMotion], traces: Mapping[str, Any]) -> None:
    """Print what is known of the motion, the plant and the arm of the variants with a controller."""
    from arm_control.simulation import Simulation

    simulations = {name: run for name, run in runs.items() if isinstance(run, Simulation)}
    if not simulations:
        return
    last, run = list(simulations.items())[-1]
    if run.planned is not None:
        print(f"motion: {run.planned.history}\n")
    for line in dict.fromkeys(line for simulation in simulations.values() for line in simulation.plant):
        print(printable(f"plant file: {line}"))
    for line in dict.fromkeys(simulation.velocities for simulation in simulations.values() if simulation.velocities):
        print(line)
    for name, simulation in simulations.items():
        if simulation.self_pairs:
            print(printable(f"{name}: {simulation.self_pairs}".lstrip(": ")))
    held = [(name, told) for name, run in simulations.items() for told in (run.stall, run.pressed) if told]
    stalls = [f"{name}: {told}".lstrip(": ") for name, told in held]
    for warning in [*run.model.warnings, *stalls, *_too_short(run.targets, traces[last])]:
        print(printable(f"warning: {warning}"))


def _too_short(targets: TargetList | None, trace: Trace) -> list[str]:
    """A sentence where no target had its time, and nothing has gone wrong."""
    if targets is None or trace.end_reason or trace.t[-1] + 2e-3 >= targets.period:
        return []
    return [f"too short to judge: no target had its {targets.period:g} s; give more with --duration"]


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
            refuse_existing(_bag_path(options, scenario, name))
    for folder in filter(None, (options.bag, options.report)):
        require_writable_folder(folder)


def _bag_path(options: argparse.Namespace, scenario: Scenario, variant: str) -> Path:
    """Folder of a variant's bag; its name with ``_set`` is that of a scenario with other values, too."""
    name = f"{scenario.name} {variant}".strip() + " set" * bool(options.values)
    return Path(options.bag) / name.replace(" ", "_")


def _draw(scenario: Scenario, traces: Mapping[str, Any], run: Simulation | FreeMotion, folder: str) -> None:
    """Write the record of each variant, and the picture of all."""
    from arm_control.report import draw_comparison, draw_energy

    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, trace in traces.items():
        trace.save(str(Path(folder) / f"{'_'.join(filter(None, [scenario.name, name]))}.npz"))
    path = Path(folder) / f"{scenario.name}.png"
    if scenario.controller:
        draw_comparison(path, scenario, traces, run.model)
    else:
        draw_energy(path, scenario, traces, run.model.joint_names)
    print(f"wrote {path}")
