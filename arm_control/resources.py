"""Where the package's own files are: URDFs, configuration, scenarios."""

from __future__ import annotations

import os
import sys
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
    source = Path(__file__).resolve().parents[1]
    roots = [source] if (source / "package.xml").exists() else []
    roots += [Path(prefix) / "share" / "arm_control" for prefix in prefixes if prefix]
    roots += [parent / "share" / "arm_control" for parent in Path(__file__).resolve().parents[4:5]]
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
        known = ", ".join(names)
        raise ArmControlError(f"no robot '{robot}'; there are: {known}, or give the path of a .urdf or .xacro file")
    return share_path("urdf", robot, f"{robot}.urdf")
