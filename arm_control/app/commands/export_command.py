"""``arm_control export``: a controller as C, for programs without Python; or as a page, for browsers."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from arm_control.app.commands import shared
from arm_control.compiler import PROCESSORS
from arm_control.controllers import DEFAULT_CONTROLLER
from arm_control.exceptions import ArmControlError, InputError

if TYPE_CHECKING:
    from arm_control.export import ExportedController

EXAMPLES = (
    "export ur5 --out ur5_osc",
    "export my_arm.urdf --params-file gains.yaml --cpu x86-64-v3 aarch64 --out my_arm_osc",
    "export --scenario ur5_osc --name left_arm --out left_arm",
    "export panda --target page --out pages",
)
TARGETS = ("c", "page")
"""What a controller may become."""


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    parser.add_argument(
        "--controller",
        default=DEFAULT_CONTROLLER,
        help=f"what to export; default, and all there is: {DEFAULT_CONTROLLER}",
    )
    parser.add_argument(
        "--target", choices=TARGETS, default=TARGETS[0], help="C, or a page in which the arm moves; default: c"
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder to write; files of an earlier export are replaced"
    )
    parser.add_argument(
        "--cpu",
        nargs="+",
        choices=PROCESSORS,
        default=[_own_processor()],
        help=f"processors; default: those of this machine's kind ({_own_processor()})",
    )
    parser.add_argument("--name", default="", help="beginning of all names in C; default: robot and controller")
    shared.add_gravity_option(parser)
    parser.add_argument("--scenario", default="", help="robot, gains and limits of a scenario")
    parser.add_argument("--variant", default="", help="one of the scenario's variants; default: the first")
    parser.add_argument(
        "--params-file", default="", metavar="FILE", help="a ROS parameter file; replaces the scenario's values"
    )
    shared.add_arm_options(parser)
    shared.add_trust_option(parser)


def run(options: argparse.Namespace) -> int:
    """Write a controller and its gate as C: object files, header, source, CMake file and examples; or as a page."""
    from arm_control.export import exported_controller, write_folder
    from arm_control.simulation import check_parameter_file

    if options.controller != DEFAULT_CONTROLLER:
        raise InputError(f"controller '{options.controller}' cannot be exported, only {DEFAULT_CONTROLLER}")
    scenario = shared.scenario_to_run(options)
    if options.params_file:
        check_parameter_file(options.params_file, scenario.nodes, trust=options.trust)
    is_weightless = shared.driver_adds_gravity(options, scenario.nodes)
    controller = exported_controller(scenario, options.name, driver_adds_gravity=is_weightless)
    if options.target == "page":
        return _write_page(Path(options.out), controller)
    names = write_folder(options.out, controller, options.cpu)
    print(f"wrote {', '.join(names)} to {options.out}")
    _write_example(Path(options.out), controller)
    print(f"next: cmake -S {options.out} -B build && cmake --build build && ctest --test-dir build")
    return 0


def _write_page(folder: Path, controller: ExportedController) -> int:
    """Write the page of an arm, and say what is not drawn."""
    from arm_control.export import write_page

    file = folder / f"{controller.model.urdf.robot.name}.html"
    notes = write_page(file, controller)
    print("\n".join([f"wrote {file}: open it in a browser", *notes]))
    return 0


def _write_example(folder: Path, controller: ExportedController) -> None:
    """Write the arm for the example with MuJoCo, where there is MuJoCo and it can simulate the arm."""
    from arm_control.export import EXAMPLE_ARM

    try:
        from arm_control.simulation import save_mujoco_model

        save_mujoco_model(folder / EXAMPLE_ARM, controller.model, controller.period)
        print(f"wrote {EXAMPLE_ARM} to {folder}, for main.c")
    except ArmControlError as error:
        print(f"no {EXAMPLE_ARM} for main.c: {error}")


def _own_processor() -> str:
    return "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86-64-v3"
