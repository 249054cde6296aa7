"""The command ``arm_control``."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arm_control import __version__
from arm_control.app.cli_bags import add_commands, positive, refuse_namespace
from arm_control.app.outputs import need_folder
from arm_control.core.cache import Cache, default_directory
from arm_control.core.files import urdf_path
from arm_control.exceptions import ArmControlError
from arm_control.model.urdf.xml import printable
from arm_control.simulation.scenario import SIMULATORS, Scenario, scenario_names

if TYPE_CHECKING:
    from arm_control.simulation.offline import Simulation
    from arm_control.simulation.recording import Trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        refuse_namespace(getattr(options, "namespace", ""))
        return int(options.command(options))
    except KeyboardInterrupt:  # Ctrl-C is no error to explain
        return 130
    except BrokenPipeError:  # whoever reads the output has seen enough
        sys.stdout = None  # type: ignore[assignment]
        return 0
    except ArmControlError as error:
        lines = map(printable, f"arm_control: {error}".split("\n"))
        print("\n".join(lines), file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="arm_control", description="Force control of robot arms.")
    parser.add_argument("--version", action="version", version=f"arm_control {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a scenario: simulator, controller and all", description=_run.__doc__)
    run.add_argument("scenario", help=f"name ({', '.join(scenario_names())}) or path of a YAML file")
    run.add_argument("--duration", type=positive, default=0.0, metavar="S", help="simulated time [s], then a report")
    run.add_argument("--headless", action="store_true", help="lock step, as fast as it goes, no live table")
    run.add_argument("--report", default="", metavar="DIR", help="write pictures and the record there at the end")
    run.add_argument("--bag", default="", metavar="FOLDER", help="record all topics there, as a bag (see replay)")
    run.add_argument("--record", default="", metavar="FILE", help="write the record there, as NumPy arrays (.npz)")
    run.add_argument("--robot", default="", help="another robot: a name below urdf/, or a URDF or xacro file")
    run.add_argument("--simulator", default="mujoco", choices=SIMULATORS, help="none: states come from elsewhere")
    run.add_argument("--params-file", default="", metavar="FILE", help="a ROS parameter file; its values come last")
    run.add_argument("--namespace", default="", help="namespace of all nodes")
    run.add_argument("--single-process", action="store_true", help="all nodes in one process")
    run.add_argument("--no-targets", dest="targets", action="store_false", help="hold until a target_pose is sent")
    run.add_argument("--no-cache", dest="cache", action="store_false", help="compile anew, and keep nothing")
    run.add_argument("--variant", default="", help="one of the scenario's variants; the first, if not given")
    run.set_defaults(command=_run)
    _add_page(run, commands)
    simulate = commands.add_parser("simulate", help="run a scenario without ROS", description=_simulate.__doc__)
    simulate.add_argument("scenario", help="name, or path of a YAML file")
    simulate.add_argument("--variant", action="append", default=[], help="one variant; may be repeated; all by default")
    simulate.add_argument("--duration", type=positive, default=0.0, metavar="S", help="simulated time [s]")
    simulate.add_argument("--report", default="", metavar="DIR", help="write the picture and the records there")
    simulate.add_argument("--bag", default="", metavar="DIR", help="write a bag of every variant there")
    simulate.set_defaults(command=_simulate)
    add_commands(commands)
    scenarios = commands.add_parser("scenarios", help="list the scenarios")
    scenarios.set_defaults(command=_scenarios)
    check = commands.add_parser("check", help="say what is in a URDF, and what is wrong", description=_check.__doc__)
    check.add_argument("file", help="a URDF or xacro file, or the name of a robot below urdf/")
    check.add_argument("--tip", metavar="LINK", help="end of the chain that is to move")
    check.add_argument("--base", metavar="LINK", help="start of the chain; the root if not given")
    check.add_argument("--mesh-root", action="append", default=[], metavar="DIR", help="folder with packages of meshes")
    check.add_argument("--json", action="store_true", help="the same for machines")
    check.set_defaults(command=_check)
    enable = commands.add_parser("enable", help="let gates that braked pass commands", description=_enable.__doc__)
    enable.add_argument("--namespace", default="", help="only gates below it")
    enable.set_defaults(command=_enable)
    tune = commands.add_parser("tune", help="save the gains of a running node", description=_tune.__doc__)
    tune.add_argument("action", choices=("save",))
    tune.add_argument("file", help="ROS parameter file to write; --params-file takes it")
    tune.add_argument("--node", default="osc", help="name of the node; osc if not given")
    tune.add_argument("--namespace", default="", help="where the node is")
    tune.add_argument("--force", action="store_true", help="overwrite the file if it is there")
    tune.set_defaults(command=_tune)
    cache = commands.add_parser("cache", help="list or clear what is kept between runs", description=_cache.__doc__)
    cache.add_argument("action", choices=("list", "clear"))
    cache.set_defaults(command=_cache)
    return parser


def _add_page(run: argparse.ArgumentParser, commands: Any) -> None:
    """What opens the page in the browser."""
    run.add_argument(
        "--viewer", action=argparse.BooleanOptionalAction, default=False, help="open the page; it prints its address"
    )
    run.add_argument("--control", action="store_true", help="let that page do more than look")
    run.add_argument("--paced", action="store_true", help="real time, but a late controller slows simulated time")
    view = commands.add_parser("view", help="show a robot in the browser", description=_view.__doc__)
    view.add_argument("robot", help="a robot's name, or a URDF or xacro file")
    view.add_argument("--read-only", action="store_true", help="the page turns its picture, and publishes nothing")
    view.add_argument("--tip", default="", metavar="LINK", help="end of the chain that moves")
    view.add_argument("--port", type=int, default=8150, help="where the page is, or the next free port after it")
    view.set_defaults(command=_view)


def _run(options: argparse.Namespace) -> int:
    """Run a scenario: start its nodes, show what they do, report at the end."""
    from arm_control.app.run import run_scenario
    from arm_control.app.run_options import RunOptions

    if options.headless and not options.duration:
        raise ArmControlError("--headless runs in lock step: say how long with --duration S")
    _refuse_existing([Path(options.bag)] if options.bag else [])
    values = {name: value for name, value in vars(options).items() if name != "command"}
    return run_scenario(RunOptions(**values))


def _view(options: argparse.Namespace) -> int:
    """Show a robot with sliders for its joints, in the browser; publishes joint_states unless somebody else does."""
    from arm_control.app.runner import localhost_unless_told
    from arm_control.nodes.viewer import main as view

    urdf_path(options.robot)  # says what is wrong before ROS starts
    localhost_unless_told()
    given = {"robot": options.robot, "control": not options.read_only, "tip": options.tip, "port": options.port}
    view(given)
    return 0


def _simulate(options: argparse.Namespace) -> int:
    """Simulate every variant of a scenario, and compare. Exit status: 0 when every check of the scenario holds."""
    from arm_control.report.metrics import failures, figures_of, table
    from arm_control.simulation.offline import Simulation

    scenario = Scenario.load(options.scenario)
    runs, figures, missed = {}, {}, []
    names = options.variant or tuple(scenario.variants) or ("",)
    _refuse_existing([_bag_path(options.bag, scenario, name) for name in names if options.bag])
    for folder in filter(None, (options.bag, options.report)):
        need_folder(folder)
    for name in names:
        simulation = Simulation(scenario, name)
        trace = runs[name] = _traced(simulation, scenario, name, options)
        figures[name] = figures_of(trace, simulation.model, simulation.targets, simulation.motion)
        missed += [f"{name}: {text}".lstrip(": ") for text in failures(figures[name], scenario.required(name))]
        missed += [trace.trouble] if trace.trouble and "diverged" not in scenario.required(name) else []
    print(f"{scenario.description}\n\n{table(figures)}\n")
    if options.report:
        _draw_comparison(scenario, runs, simulation, options.report)
    print("\n".join(f"MISS  {text}" for text in missed) or "every check holds")
    return 1 if missed else 0


def _bag_path(folder: str, scenario: Scenario, variant: str) -> Path:
    return Path(folder) / f"{scenario.name} {variant}".strip().replace(" ", "_")


def _refuse_existing(bags: Iterable[Path]) -> None:
    """Before anything starts, not when a bag is opened."""
    for path in bags:
        from arm_control.messages.bags.writer import refuse_existing

        refuse_existing(path)


def _traced(simulation: Simulation, scenario: Scenario, name: str, options: argparse.Namespace) -> Trace:
    """Simulate a variant; with a bag of it, if that is asked for."""
    title = f"{scenario.name} {name}".strip()
    if not options.bag:
        return simulation.run(options.duration, title)
    from arm_control.messages.bags.simulated_bag import SimulatedBag

    with SimulatedBag(_bag_path(options.bag, scenario, name), simulation, scenario, name) as bag:
        return simulation.run(options.duration, title, bag)


def _draw_comparison(scenario: Scenario, runs: dict[str, Trace], simulation: Simulation, folder: str) -> None:
    from arm_control.report.pictures.comparison import draw_comparison

    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, trace in runs.items():
        trace.save(str(Path(folder) / f"{'_'.join(filter(None, [scenario.name, name]))}.npz"))
    path = Path(folder) / f"{scenario.name}.png"
    draw_comparison(path, scenario, runs, simulation.model)
    print(f"wrote {path}")


def _scenarios(_: argparse.Namespace) -> int:
    for name in scenario_names():
        print(f"{name:20} {Scenario.load(name).description}")
    return 0


def _check(options: argparse.Namespace) -> int:
    """Say what is in a URDF, and what is wrong. Exit status: 0 usable, 1 problems, 2 not readable."""
    from arm_control.app.check import as_json, as_text, check_file

    found = check_file(options.file, tip=options.tip, base=options.base, mesh_roots=options.mesh_root)
    encoding = sys.stdout.encoding or "utf-8"
    text = as_json(found) if options.json else as_text(found)
    print(text.encode(encoding, "backslashreplace").decode(encoding))
    return 1 if found.problems else 0


def _enable(options: argparse.Namespace) -> int:
    """Call the enable service of every gate that runs. Exit status: 0 all enabled, 1 some not, 2 none found."""
    from arm_control.nodes.tools.enabling import enable_gates

    results = enable_gates(options.namespace)
    for gate, enabled, message in results:
        print(f"{printable(gate)}: {'' if enabled else 'not enabled: '}{printable(message)}")
    return 0 if all(enabled for _, enabled, _ in results) else 1


def _tune(options: argparse.Namespace) -> int:
    """Save what a running node's live parameters are, gains that were proposed or set while it runs among them."""
    from arm_control.control.osc.tuning import parameter_text
    from arm_control.nodes.tools.live_parameters import live_parameters

    path = Path(options.file)
    if path.exists() and not options.force:
        raise ArmControlError(f"{path} is there already: choose another name, or --force to overwrite it")
    found = live_parameters(options.node, options.namespace)
    try:
        path.write_text(parameter_text(options.node, found))
    except OSError as error:
        raise ArmControlError(f"{path} cannot be written: {error.strerror}") from None
    print(f"{path}: {len(found)} parameters of {printable(options.node)}")
    return 0


def _cache(options: argparse.Namespace) -> int:
    """List, or clear, what is kept between runs: compiled code and long computations of each robot."""
    directory = default_directory()
    if directory is None:
        print("the cache is off")
    elif options.action == "clear":
        print(f"{directory}: {Cache(directory).clear()} files removed")
    else:
        _list_cache(Cache(directory))
    return 0


def _list_cache(cache: Cache) -> None:
    entries = cache.entries()
    print(f"{cache.directory}: {len(entries)} entries, {sum(entry.size for entry in entries) / 1e6:.2f} MB")
    if entries:
        print(f"{'what':36} {'robot':16} {'size':>8} {'used':>6} {'key':>9}")
    for entry in entries:
        robot, kind = _said(entry.title)
        size, age = f"{entry.size / 1e3:.0f} kB", _age(time.time() - entry.used)
        print(f"{kind:36.36} {robot:16.16} {size:>8} {age:>6} {entry.path.name[:8]:>9}")


def _said(title: str) -> tuple[str, str]:
    """Robot and kind of an entry by its title, without digests and layouts."""
    robot, _, kind = title.partition(": ") if ": " in title else ("", "", title)
    return robot, re.split(r" \(| ?[0-9a-f]{64}| \[", kind)[0]


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


if __name__ == "__main__":
    sys.exit(main())
