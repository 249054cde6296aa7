"""Files with constraints: a list under ``constraints``, an entry each with ``name``, ``kind`` and the kind's fields.

constraints:
- {name: table, kind: half_space, of: arm, point: [0, 0, 0.02], normal: [0, 0, 1]}
- {name: cell, kind: box, centre: [0.3, 0, 0.5], size: [1, 1.2, 1]}
allow_recovery: false

Where a file is named, its text may stand instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any, NamedTuple

from arm_control.constraints.constraint import Constraint, Priority
from arm_control.core import as_mapping, module_names, parse_yaml, read_yaml, refuse_unknown, yaml_document, yaml_path
from arm_control.exceptions import ParameterError

FOLDER = "constraints/kinds"
TEXT = "constraints"
"""What messages call a text that is no file."""


class Constraints(NamedTuple):
    """What a file says.

    Attributes
    ----------
    allow_recovery : bool
        Whether an arm that starts outside is led back, instead of being refused.
    """

    constraints: tuple[Constraint, ...] = ()
    allow_recovery: bool = False
    where: str = ""

    @property
    def sees_obstacles(self) -> bool:
        """Whether one of them depends on obstacles."""
        return any(c.sees_obstacles for c in self.constraints)


def kinds() -> tuple[str, ...]:
    """Return the names of the kinds of constraints."""
    return module_names(FOLDER)


def kind(name: str) -> type[Constraint]:
    """Return the class of a kind: ``HalfSpaceConstraint`` in the file ``half_space``."""
    module = import_module(f"arm_control.{FOLDER.replace('/', '.')}.{name}")
    made: type[Constraint] = getattr(module, "".join(word.capitalize() for word in [*name.split("_"), "constraint"]))
    return made


def read_constraints(file: str) -> Constraints:
    """Return the constraints of a file, of one that comes with the package by its name, or of a text of YAML.

    A ParameterError when there is no such file, or an entry has an unknown kind or field, a name that another has, or a
    value that is not allowed.
    """
    return constraints_of(*_content(file))


def with_box_at(file: str, name: str, centre: Sequence[float]) -> str:
    """Return a file as text, with a box at another place.

    Parameters
    ----------
    file : str
        As for :func:`read_constraints`.
    centre : sequence of float, length 3
        Its new middle in the base frame [m].

    Raises
    ------
    ParameterError
        As for :func:`read_constraints`.
    """
    content, where = _content(file)
    constraints_of(content, where)
    entries = [entry | {"centre": list(centre)} if entry["name"] == name else entry for entry in content["constraints"]]
    return yaml_document(content | {"constraints": entries})


def _content(file: str) -> tuple[dict[str, Any], str]:
    """Return the content of a file or text, and its name for messages."""
    if "constraints:" in file:
        return as_mapping(parse_yaml(file, TEXT), TEXT), TEXT
    path = yaml_path("constraints", file)
    return read_yaml(path), str(path)


def constraints_of(content: Mapping[str, Any], where: str) -> Constraints:
    """Return the constraints of the content of a file; errors as for :func:`read_constraints`."""
    refuse_unknown(content, ("constraints", "allow_recovery"), where)
    entries = content.get("constraints") or []
    if not isinstance(entries, list):
        raise ParameterError(f"{where}: constraints is {entries!r}; a list is needed")
    made = tuple(_constraint(as_mapping(entry, where), where) for entry in entries)
    names = [c.name for c in made]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ParameterError(f"{where}: two constraints are called '{twice[0]}'")
    return Constraints(made, bool(content.get("allow_recovery", False)), where)


def _constraint(entry: dict[str, Any], where: str) -> Constraint:
    name = str(entry.get("name", ""))
    where = f"{where}: constraint '{name}'" if name else where
    if not name:
        raise ParameterError(f"{where}: a constraint has no name")
    of_kind = kind(_known(str(entry.pop("kind", "")), where))
    known = fields(of_kind)
    refuse_unknown(entry, [f.name for f in known], where)
    needed = [f.name for f in known if f.default is MISSING and f.default_factory is MISSING]
    if missing := [key for key in needed if key not in entry]:
        raise ParameterError(f"{where}: {', '.join(missing)} is needed")
    if "level" in entry:
        entry["level"] = _level(entry["level"], where)
    made = of_kind(**entry)
    try:
        _ = made.numbers
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None
    return made


def _known(name: str, where: str) -> str:
    refuse_unknown({name: None}, kinds(), f"{where}: kind")
    return name


def _level(value: object, where: str) -> Priority:
    levels = {level.name.lower(): level for level in (Priority.CLEARANCE, Priority.WORKSPACE, Priority.SPEED)}
    refuse_unknown({str(value): None}, tuple(levels), f"{where}: level")
    return levels[str(value)]
