"""YAML files that hold a mapping, by path or by the name of one that comes with the package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from arm_control.core.files import available, choices, looks_like_path, share_path
from arm_control.exceptions import ArmControlError, ParameterError


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a YAML file that holds a mapping.

    Raises
    ------
    ParameterError
        When the file is missing, is not YAML or holds something else.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ParameterError(f"{path}: {error}") from error
    if content is None:
        raise ParameterError(f"{path}: a mapping is needed, the file is empty")
    return as_mapping(content, str(path))


def as_mapping(content: Any, where: str) -> dict[str, Any]:
    """Return a copy of what should be a mapping; nothing at all is an empty one."""
    if not isinstance(content, (Mapping, type(None))):
        hint = f" ({content!r}: is a colon missing?)" if isinstance(content, str) else ""
        raise ParameterError(f"{where}: a mapping is needed, not {type(content).__name__}{hint}")
    return dict(content or {})


def yaml_path(folder: str, name: str) -> Path:
    """Path of ``config/<folder>/<name>.yaml``, or the name itself when it is a path.

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
        if looks_like_path(name):
            raise ParameterError(f"there is no file {name} that ends in .yaml") from None
        there = available(f"config/{folder}", ".yaml")
        raise ParameterError(f"no '{name}' in config/{folder}; {choices(name, there)}") from None


def file_parameters(path: str | Path, node: str) -> dict[str, Any]:
    """What a ROS parameter file says of a node; nothing for an empty path."""
    values: dict[str, Any] = {}
    for key, content in read_yaml(Path(path)).items() if path else ():
        if key == "/**" or str(key).rpartition("/")[2] in (node, "*", "**"):
            values |= ros_parameters(content, f"{path}: {key}")
    return values


def ros_parameters(content: Any, where: str) -> dict[str, Any]:
    """What an entry of a ROS parameter file says."""
    return as_mapping(as_mapping(content, where).get("ros__parameters"), f"{where}: ros__parameters")
