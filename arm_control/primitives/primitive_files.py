"""Files of movement primitives and demonstrations, in YAML that one can read."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from arm_control.core import file_names, read_yaml, refuse_unknown, write_text, yaml_path, yaml_text
from arm_control.exceptions import ArmControlError, ParameterError
from arm_control.primitives.demonstration import Demonstration
from arm_control.primitives.primitive import Primitive

VERSION = 1
"""Version of the files; a primitive of another one would move otherwise."""
FOLDER = "primitives"
"""Folder of the package's primitives, below ``config``."""
WIDTH = 116
"""Columns of a line."""
POSITION, ROTATION = ("x", "y", "z"), ("rx", "ry", "rz")
"""Coordinates of the end effector."""


class PrimitiveFile(NamedTuple):
    """A primitive, and one sentence about it."""

    primitive: Primitive
    description: str = ""

    @classmethod
    def load(cls, name: str) -> PrimitiveFile:
        """Read a primitive by name (``config/primitives/<name>.yaml``) or path.

        Raises
        ------
        ParameterError
            When there is no such file, or its content is no primitive of this version.
        """
        path = yaml_path(FOLDER, name)
        content = read_yaml(path)
        version, description = content.pop("version", None), content.pop("description", "")
        if version != VERSION:
            raise ParameterError(f"{path}: version {version!r}; this package reads version {VERSION}: learn it again")
        try:
            return cls(Primitive.from_mapping(content, where=str(path)), str(description))
        except ParameterError:
            raise
        except ArmControlError as error:
            raise ParameterError(str(error)) from None

    def save(self, path: str | Path) -> None:
        """Write the file; :meth:`load` reads every number back to the last bit.

        Raises
        ------
        ArmControlError
            When it cannot be written.
        """
        values = {"version": VERSION, "description": self.description, **self.primitive.as_mapping()}
        rows = zip(coordinate_names(self.primitive), values.pop("weights"), strict=True)
        lines = [f"{key}: {yaml_text(value)}" for key, value in values.items()]
        lines.append("weights:")
        for name, row in rows:
            lines.append(f"  # {name}")
            lines += textwrap.wrap(yaml_text(row), WIDTH, initial_indent="  - ", subsequent_indent="     ")
        write_text(path, "\n".join(lines) + "\n")


def primitive_names() -> tuple[str, ...]:
    """Return the names of the primitives that come with the package."""
    return file_names(f"config/{FOLDER}", ".yaml")


def coordinate_names(primitive: Primitive) -> tuple[str, ...]:
    """Return a name for each coordinate of a primitive: its joints, or axes of the end effector."""
    return primitive.names or (POSITION + ROTATION)[: primitive.size]


def for_joints(primitive: Primitive, joints: Sequence[str]) -> Primitive:
    """Return a primitive of joints with its coordinates in the order of an arm's; it may have others beside them.

    Raises
    ------
    ParameterError
        When it is no primitive of these joints.
    """
    if missing := [name for name in joints if name not in primitive.names]:
        has = f"it has {', '.join(primitive.names)}" if primitive.names else "it is one of the end effector"
        raise ParameterError(f"the primitive does not move {', '.join(missing)} of this arm: {has}")
    rows = [primitive.names.index(name) for name in joints]
    return replace(
        primitive,
        names=tuple(joints),
        start=primitive.start[rows],
        goal=primitive.goal[rows],
        weights=primitive.weights[rows],
        final_velocity=primitive.final_velocity[rows],
    )


def load_demonstration(name: str) -> Demonstration:
    """Read a demonstration by name (``config/demonstrations/<name>.yaml``) or path.

    Each joint has degrees over the percent of a period; with factor and offset they become joint positions [rad].

    Raises
    ------
    ParameterError
        When there is no such file, or its content is not a demonstration.
    """
    path = yaml_path("demonstrations", name)
    content = read_yaml(path)
    refuse_unknown(content, ("description", "source", "robot", "period", "percent", "joints"), str(path))
    try:
        joints = content["joints"]
        for joint in joints:
            refuse_unknown(joint, ("name", "angle", "factor", "offset", "degrees"), f"{path}: joint")
        times = 0.01 * float(content["period"]) * np.array(content["percent"], dtype=float)
        columns = [joint["factor"] * np.array(joint["degrees"], dtype=float) + joint["offset"] for joint in joints]
        names = tuple(str(joint["name"]) for joint in joints)
        return Demonstration(times, np.radians(np.column_stack(columns)), names=names)
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f"{path}: {type(error).__name__}: {error}") from error
