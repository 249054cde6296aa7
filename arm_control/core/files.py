"""Files: those that come with the package (URDFs, configuration, scenarios), YAML, and folders for results."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from arm_control.core.yaml_limits import load_yaml
from arm_control.exceptions import ArmControlError, InputError, ParameterError


def share_path(*parts: str) -> Path:
    """Return the path of a file that comes with the package.

    The source tree is searched first, then the ROS 2 workspaces of ``AMENT_PREFIX_PATH``, then the
    folders beside the Python installation.

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
    raise ArmControlError(f"{'/'.join(parts)} does not come with arm_control; searched in {', '.join(map(str, roots))}")


def file_names(folder: str, suffix: str) -> tuple[str, ...]:
    """Return the names of the package's files in a folder, without their suffix, sorted.

    Parameters
    ----------
    folder : str
        Folder below the package's share folder, such as ``config/scenarios``.
    suffix : str
        End of the names, such as ``.yaml``.
    """
    return tuple(sorted(path.name.removesuffix(suffix) for path in share_path(*folder.split("/")).glob(f"*{suffix}")))


@cache
def module_names(folder: str) -> tuple[str, ...]:
    """Return the names of the modules in a folder of the package, such as ``controllers``, sorted."""
    package = Path(__file__).resolve().parents[1]
    return tuple(sorted(path.stem for path in (package / folder).glob("[a-z]*.py")))


def node_names() -> tuple[str, ...]:
    """Return the names of all nodes, sorted: the modules of ``nodes``, and the controllers."""
    return tuple(sorted({*module_names("controllers"), *module_names("nodes")}))


def robot_names() -> tuple[str, ...]:
    """Return the names of the robots that come with the package, sorted."""
    return tuple(sorted(path.name for path in share_path("urdf").iterdir() if path.is_dir()))


def urdf_path(robot: str) -> Path:
    """Return the path of a robot's URDF.

    Parameters
    ----------
    robot : str
        Name of a robot that comes with the package (``urdf/<robot>/<robot>.urdf``), or path of a URDF
        or xacro file.

    Raises
    ------
    ArmControlError
        When there is no such robot or file.
    """
    if Path(robot).suffix in (".urdf", ".xacro"):
        if not Path(robot).is_file():
            raise ArmControlError(f"there is no file {robot}")
        return Path(robot)
    names = robot_names()
    if robot not in names:
        if _looks_like_path(robot):
            raise ArmControlError(f"there is no file {robot} that ends in .urdf or .xacro")
        known = _describe_choices(robot, names)
        raise ArmControlError(f"no robot '{robot}'; {known}, or give the path of a .urdf or .xacro file")
    return share_path("urdf", robot, f"{robot}.urdf")


def _looks_like_path(name: str) -> bool:
    """Whether a name is meant as a file, not as something that comes with the package."""
    return "/" in name or os.sep in name or "." in name


def _describe_choices(name: str, known: Sequence[str]) -> str:
    """List the known names; a similar one first, as a suggestion."""
    similar = get_close_matches(name, known, n=1)
    return "".join(f"did you mean '{one}'? " for one in similar) + f"there are: {', '.join(known)}"


# -- YAML ----------------------------------------------------------------------------------------------


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that contains a mapping.

    Raises
    ------
    ParameterError
        When the file is missing, is not YAML, exceeds a limit, or contains something else.
    """
    content = load_yaml(path)
    if content is None:
        raise ParameterError(f"{path}: a mapping is needed, the file is empty")
    return as_mapping(content, str(path))


def as_mapping(content: Any, where: str) -> dict[str, Any]:
    """Return a copy of a mapping; an empty one for None.

    Parameters
    ----------
    content : mapping or None
        Content of a YAML file, or of an entry.
    where : str
        The file and the entry, for the error message.

    Raises
    ------
    ParameterError
        When the content is something else.
    """
    if not isinstance(content, (Mapping, type(None))):
        hint = f" ({content!r}: is a colon missing?)" if isinstance(content, str) else ""
        raise ParameterError(f"{where}: a mapping is needed, not {type(content).__name__}{hint}")
    return dict(content or {})


def yaml_path(folder: str, name: str) -> Path:
    """Return the path of a YAML file.

    Parameters
    ----------
    folder : str
        Folder below ``config``.
    name : str
        Name of a file that comes with the package (``config/<folder>/<name>.yaml``), or a path that
        ends in ``.yaml``.

    Raises
    ------
    ParameterError
        When there is no such file in the package.
    """
    if Path(name).suffix == ".yaml":
        return Path(name)
    try:
        return share_path("config", folder, f"{name}.yaml")
    except ArmControlError:
        if _looks_like_path(name):
            raise ParameterError(f"there is no file {name} that ends in .yaml") from None
        known = file_names(f"config/{folder}", ".yaml")
        raise ParameterError(f"no '{name}' in config/{folder}; {_describe_choices(name, known)}") from None


def file_parameters(path: str | Path, node: str) -> dict[str, Any]:
    """Return the parameters of a node in a ROS parameter file.

    Parameters
    ----------
    path : str or Path
        The file; an empty path has no parameters.
    node : str
        Name of the node; wildcards in the file apply to it, too.
    """
    values: dict[str, Any] = {}
    for key, content in read_yaml(Path(path)).items() if path else ():
        if key == "/**" or str(key).rpartition("/")[2] in (node, "*", "**"):
            values |= ros_parameters(content, f"{path}: {key}")
    return values


def ros_parameters(content: Any, where: str) -> dict[str, Any]:
    """Return the parameters in an entry of a ROS parameter file.

    Parameters
    ----------
    content : mapping
        The entry.
    where : str
        The file and the entry, for the error message.

    Raises
    ------
    ParameterError
        When it has something that stops ROS's own reader.
    """
    entry = as_mapping(content, where)
    values = as_mapping(entry.get("ros__parameters"), f"{where}: ros__parameters")
    if "ros__parameters" in entry and entry["ros__parameters"] is None:
        raise ParameterError(f"{where}: ros__parameters is empty, which ROS does not read: remove the entry")
    for name, value in values.items():
        _refuse_unreadable(name, value, where)
    return values


def _refuse_unreadable(name: str, value: Any, where: str) -> None:
    """Refuse what stops ROS's own reader of parameter files."""
    if value is None:
        raise ParameterError(f"{where}: {name} has no value")
    if isinstance(value, Mapping):
        for inner, part in value.items():
            _refuse_unreadable(f"{name}.{inner}", part, where)
    types = sorted({type(item).__name__ for item in value}) if isinstance(value, list) else []
    if len(types) > 1:
        hint = ": write 0.0 for 0" if types == ["float", "int"] else ""
        raise ParameterError(f"{where}: {name} has {' and '.join(types)} in one list, which ROS does not read{hint}")


# -- files and folders for results ---------------------------------------------------------------------


def write_text(path: str | Path, text: str) -> None:
    """Write a file.

    Parameters
    ----------
    path : str or Path
        The file.
    text : str
        Its content.

    Raises
    ------
    ArmControlError
        When it cannot be written.
    """
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArmControlError(f"{path} cannot be written: {error.strerror}") from None


def require_writable_folder(folder: str | Path) -> None:
    """Create a folder if it does not exist, and try to write a file in it.

    Raises
    ------
    InputError
        When that is not possible.
    """
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder} is a file, and a folder is needed: choose another name")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
