"""``arm_control ik``: joint positions that put the hand of an arm at a pose, by ``kinematics/inverse.py``."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import numpy as np

from arm_control.app.commands import shared
from arm_control.core import printable
from arm_control.exceptions import InputError
from arm_control.maths import Pose, quaternion_from_rotation

if TYPE_CHECKING:
    from arm_control.kinematics import Branches, IkResult, InverseKinematics
    from arm_control.model import RobotModel

EXAMPLES = (
    "ik --robot ur5 --position 0.4 0.1 0.4 --rpy 180 0 0",
    "ik --robot ur5 --position 0.4 0.1 0.4 --rpy 180 0 0 --all",
    "ik --robot my_arm.urdf --position 0.3 0 0.2 --start 0 0.5 1 0 --json",
)
OFF = 1e-4
"""Distance from the position that is named, where not all of it counts [m]."""


def add_options(parser: argparse.ArgumentParser) -> None:
    shared.add_chosen_robot(parser)
    parser.add_argument(
        "--position", nargs=3, type=float, required=True, metavar=("X", "Y", "Z"), help="of the hand, in the base [m]"
    )
    shared.add_orientation_options(parser, "any")
    parser.add_argument(
        "--start", nargs="+", type=float, metavar="Q", help="joint positions to be near to; default: mid-range [rad|m]"
    )
    parser.add_argument(
        "--posture",
        nargs="+",
        type=float,
        metavar="Q",
        help="joint positions to be as near to as the pose allows, for more joints than rows [rad|m]",
    )
    parser.add_argument(
        "--rows", metavar="ROWS", help="rows that count, such as 'x y z rz'; default: all the arm can move"
    )
    parser.add_argument(
        "--all", action="store_true", help="every posture, of an arm with as many joints as rows that count"
    )
    shared.add_json_option(parser)
    shared.add_chain_options(parser)


def run(options: argparse.Namespace) -> int:
    """Print joint positions, within their limits, that put the hand of an arm at a pose, or why there are none.

    Where there are none, those that come nearest are printed.

    Exit status: 0 found, 1 not.
    """
    from arm_control.kinematics import InverseKinematics

    if not np.isfinite(options.position).all():
        raise InputError(f"--position {' '.join(map(str, options.position))}: the numbers must be finite")
    model = shared.arm_for_kinematics(shared.chosen_robot(options), options)
    R = shared.orientation_of(options)
    rows = options.rows or (None if R is not None else _positions(model))
    ik = InverseKinematics(model, rows, posture=options.posture)
    X_WT = Pose(np.eye(3) if R is None else R, np.array(options.position))
    result = ik.solve(X_WT, options.start)
    branches = ik.all(X_WT, options.start) if options.all and result.converged else None
    print(_as_json(result, branches, ik) if options.json else _as_text(result, branches, ik, X_WT))
    return 0 if result.converged else 1


def _positions(model: RobotModel) -> str:
    """The rows of the position that the arm can move."""
    from arm_control.kinematics import TWIST_ROWS, served_rows

    return " ".join(TWIST_ROWS[row] for row in served_rows(model).numbers if row < 3)


def _as_json(result: IkResult, branches: Branches | None, ik: InverseKinematics) -> str:
    names, X = ik.model.joint_names, ik.model.pose(result.q)
    values = {
        "converged": result.converged,
        "why": result.why,
        "tip": ik.model.tip,
        "joints": dict(zip(names, result.q.tolist(), strict=True)),
        "rows": str(ik.rows),
        "error": result.error.tolist(),
        "iterations": result.iterations,
        "position": X.p.tolist(),
        "quat_xyzw": quaternion_from_rotation(X.R).tolist(),
    }
    if branches is not None:
        values["all"] = {name: dict(zip(names, q.tolist(), strict=True)) for name, q in branches}
    return json.dumps(values, indent=2)


def _as_text(result: IkResult, branches: Branches | None, ik: InverseKinematics, X_WT: Pose) -> str:
    from arm_control.kinematics import is_revolute

    model = ik.model
    rows = [
        f"  {printable(name):24}{x:12.6f} " + (f"rad{np.degrees(x):12.4f} deg" if turns else "m")
        for name, x, turns in zip(model.joint_names, (result.q + 0.0).tolist(), is_revolute(model), strict=True)
    ]
    counted = f"{printable(model.tip)} in {printable(model.base)}, {_what_is_left(result, ik, X_WT)}"
    if branches is not None:
        return "\n".join([_table(model, branches), counted])
    if not result.converged:
        return "\n".join([f"not found: {result.why}", "the nearest posture found:", *rows, counted])
    return "\n".join([f"found after {result.iterations} iterations", *rows, counted])


def _what_is_left(result: IkResult, ik: InverseKinematics, X_WT: Pose) -> str:
    """What the posture leaves of the pose: in the rows that count, and in the others of the position."""
    left = ik.error(result.q, X_WT)  # by forward kinematics
    is_linear = np.array(ik.rows.numbers) < 3
    metres, radians = (float(np.linalg.norm(rows)) for rows in (left[is_linear], left[~is_linear]))
    whole = float(np.linalg.norm(ik.model.pose(result.q).p - X_WT.p))
    if ik.rows.numbers == (0, 1, 2):
        how = "reached" if result.converged else "missed"
        return f"position {how}, {1e3 * metres:.4g} mm left; the orientation was free"
    orientation = f" and {np.degrees(radians):.3g} degrees" if not is_linear.all() else ""
    other = f"; with the rows that do not count {1e3 * whole:.3g} mm from the position" if whole > metres + OFF else ""
    return f"rows {ik.rows}: {1e3 * metres:.4g} mm{orientation} left{other}"


def _table(model: RobotModel, branches: Branches) -> str:
    """The postures, a column each."""
    from arm_control.report import text_table

    head = ("joint [rad or m]", *map(str, range(1, len(branches) + 1)))
    rows = zip(map(printable, model.joint_names), *(map("{:.5f}".format, q.tolist()) for q in branches.q), strict=True)
    names = [f"{number}: {name}" for number, name in enumerate(branches.names, 1) if name != str(number)]
    return "\n".join([text_table([head, *rows]), *names])
