"""Where the package's own files are: URDFs, configuration, scenarios."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from arm_control.exceptions import ArmControlError


def share_path(*parts: str) -> Path:
    """Return the path of a file that comes with the package.

    Looked for in the source tree, in the ROS 2 workspaces of ``AMENT_PREFIX_PATH``, and beside the
    Python installation, in this order.

    Parameters
    ----------
    *parts : str
        The path below the package's share folder, such as ``"config", "osc.yaml"``.

    Raises
    ------
    ArmControlError
        When there is no such file.
    """
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    source = Path(__file__).resolve().parents[2]
    roots = [source] if (source / "package.xml").exists() else []
    roots += [Path(prefix) / "share" / "arm_control" for prefix in prefixes if prefix]
    roots += [parent / "share" / "arm_control" for parent in Path(__file__).resolve().parents[5:6]]
    for root in roots:
        if (root.joinpath(*parts)).exists():
            return root.joinpath(*parts)
    raise ArmControlError(f"{'/'.join(parts)} does not come with arm_control; looked in {', '.join(map(str, roots))}")


def available(folder: str, suffix: str) -> tuple[str, ...]:
    """Names of the package's files in a folder, without their suffix, sorted."""
    return tuple(sorted(path.name.removesuffix(suffix) for path in share_path(*folder.split("/")).glob(f"*{suffix}")))


def urdf_path(robot: str) -> Path:
    """Path of a robot's URDF: ``urdf/<robot>/<robot>.urdf``, or the path itself when it is one.

    Parameters
    ----------
    robot : str
        Name of a robot that comes with the package, or path of a URDF or xacro file.

    Raises
    ------
    ArmControlError
        When there is neither.
    """
    if Path(robot).suffix in (".urdf", ".xacro"):
        if not Path(robot).is_file():
            raise ArmControlError(f"there is no file {robot}")
        return Path(robot)
    names = sorted(path.name for path in share_path("urdf").iterdir() if path.is_dir())
    if robot not in names:
        if looks_like_path(robot):
            raise ArmControlError(f"there is no file {robot} that ends in .urdf or .xacro")
        known = choices(robot, names)
        raise ArmControlError(f"no robot '{robot}'; {known}, or give the path of a .urdf or .xacro file")
    return share_path("urdf", robot, f"{robot}.urdf")


def looks_like_path(name: str) -> bool:
    """Whether somebody who wrote this meant a file, and not a name of what comes with the package."""
    return "/" in name or os.sep in name or "." in name


def choices(name: str, known: Sequence[str]) -> str:
    """What there is instead of a name that is not known; first what may have been meant."""
    meant = get_close_matches(name, known, n=1)
    return "".join(f"did you mean '{one}'? " for one in meant) + f"there are: {', '.join(known)}"
