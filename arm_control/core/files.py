"""Files: those that come with the package (URDFs, configuration, scenarios), YAML, and folders for results.

YAML that somebody else wrote has an end to its size, its depth and its aliases, and numbers as in ROS. An alias stands
for all that its anchor has. Ten lines of aliases of aliases stand for more than any memory, and nested lists end the
stack of the parser; so the events of the parser are counted first, each alias as what it stands for.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import yaml

from arm_control.core.parameters import refuse_unknown
from arm_control.exceptions import ArmControlError, InputError, ParameterError

MOST_BYTES = 10_000_000
"""Largest file."""
MOST_VALUES = 1_000_000
"""Most values, those of aliases included."""
DEEPEST = 50
"""Levels of lists and mappings in each other."""
WILDCARDS = ("*", "**")
"""Names of nodes in a ROS parameter file that mean every node."""


class _UniqueKeys:
    """Refuses a key that stands twice in a mapping: YAML would take the last value, and ROS those of both sections."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                what = f"{key.value} stands here twice: put its parts together"
                raise yaml.constructor.ConstructorError(None, None, what, key.start_mark)
            seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)  # type: ignore[misc]
        return mapping


class Loader(_UniqueKeys, yaml.SafeLoader):
    """Reads ``1e3`` as a number, as ROS does; YAML 1.1 wants ``1.0e+3``."""


class FastLoader(_UniqueKeys, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same by libyaml in a tenth of the time, where PyYAML was built with it."""


for _loader in (Loader, FastLoader):
    _loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
    )


def load_yaml(path: Path) -> Any:
    """Return the content of a file.

    A ParameterError when it cannot be read, is not text in UTF-8, is not YAML, or exceeds a limit.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ParameterError(f"{path}: larger than {MOST_BYTES} bytes")
        return parse_yaml(data.decode(), str(path))
    except UnicodeDecodeError as error:
        raise ParameterError(f"{path}: not text in UTF-8: {error.reason} at byte {error.start}") from None
    except FileNotFoundError:
        raise ParameterError(f"there is no file {path}") from None
    except OSError as error:
        raise ParameterError(f"{path}: {error.strerror}") from None


def parse_yaml(text: str, where: str) -> Any:
    """Return the content of a text of YAML, of which errors say ``where``.

    A ParameterError when it is not YAML, or exceeds a limit.
    """
    try:
        try:
            return _load(text, where, FastLoader)
        except yaml.YAMLError:
            return _load(text, where, Loader)  # which tells better what is wrong
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        place = f"line {at.line + 1}, column {at.column + 1}: " if at else ""
        raise ParameterError(f"{where}: {place}{error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{where}: {error}") from error


def yaml_value(text: str) -> Any:
    """Return the value of a text such as ``1e3`` or ``[0.1, 0.2]``; a ParameterError where it has none."""
    try:
        return yaml.load(text, Loader=Loader)
    except yaml.YAMLError:
        raise ParameterError(f"{text!r} is no value of YAML") from None


def yaml_document(value: Any) -> str:
    """Return mappings, lists and plain values as YAML; lists without mappings, and mappings of values, in one line."""
    return str(yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=1000))


def _load(text: str, where: str, loader: type[Loader | FastLoader]) -> Any:
    _check_limits(text, where, loader)
    return yaml.load(text, Loader=loader)


def _check_limits(text: str, where: str, loader: type[Loader | FastLoader]) -> None:
    """Refuse YAML that is too large or too deep.

    A ParameterError when it exceeds :data:`MOST_VALUES` or :data:`DEEPEST`, or an alias is within its own anchor.
    """
    sizes: dict[str, int] = {}
    begun: list[tuple[str | None, int]] = []
    n = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise ParameterError(f"{where}: the alias *{event.anchor} stands for nothing before it")
            n += sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            n += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.CollectionStartEvent):
            begun.append((event.anchor, n))
            n += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = begun.pop()
            if anchor:
                sizes[anchor] = n - before
        if len(begun) > DEEPEST:
            raise ParameterError(f"{where}: nested deeper than {DEEPEST} levels")
        if n > MOST_VALUES:
            raise ParameterError(f"{where}: more than {MOST_VALUES} values, aliases included")


# -- the package's own files


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

    A ParameterError when the file is missing, is not YAML, exceeds a limit, or contains something else.
    """
    content = load_yaml(path)
    if content is None:
        raise ParameterError(f"{path}: a mapping is needed, the file is empty")
    return as_mapping(content, str(path))


def as_mapping(content: Any, where: str) -> dict[str, Any]:
    """Return a copy of a mapping; an empty one for None.

    A ParameterError when the content is something else.
    """
    if not isinstance(content, (Mapping, type(None))):
        hint = f" ({content!r}: is a colon missing?)" if isinstance(content, str) else ""
        raise ParameterError(f"{where}: a mapping is needed, not {type(content).__name__}{hint}")
    return dict(content or {})


def yaml_path(folder: str, name: str) -> Path:
    """Return the path of a YAML file.

    Parameters
    ----------
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


@contextmanager
def yaml_content(folder: str, name: str, known: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield what a file has, by name (``config/<folder>/<name>.yaml``) or path; errors meanwhile name the file.

    Raises
    ------
    ArmControlError
        When there is no such file.
    ParameterError
        When it has an entry that is not known, and where something is missing or of another type meanwhile.
    """
    path = yaml_path(folder, name)
    content = read_yaml(path)
    refuse_unknown(content, known, str(path))
    try:
        yield content
    except (KeyError, IndexError, TypeError, ValueError) as error:
        kind = "" if isinstance(error, ArmControlError) else f"{type(error).__name__}: "
        raise ParameterError(f"{path}: {kind}{error}") from error


def file_parameters(path: str | Path, node: str, foreign: Collection[str] = ()) -> dict[str, Any]:
    """Return the parameters of a node in a ROS parameter file.

    Parameters
    ----------
    path : str or Path
        The file; an empty path has no parameters.
    node : str
        Name of the node; wildcards in the file apply to it, too.
    foreign : collection of str
        Names that only other nodes have: those under wildcards are passed over, as in ROS.
    """
    values: dict[str, Any] = {}
    for key, content in read_yaml(Path(path)).items() if path else ():
        name = str(key).rpartition("/")[2]
        if name not in (node, *WILDCARDS):
            continue
        entry = ros_parameters(content, f"{path}: {key}")
        values |= {own: value for own, value in entry.items() if name not in WILDCARDS or own not in foreign}
    return values


def ros_parameters(content: Any, where: str) -> dict[str, Any]:
    """Return the parameters in an entry of a ROS parameter file.

    A ParameterError when it has something that stops ROS's own reader.
    """
    entry = as_mapping(content, where)
    values = as_mapping(entry.get("ros__parameters"), f"{where}: ros__parameters")
    if "ros__parameters" in entry and entry["ros__parameters"] is None:
        raise ParameterError(f"{where}: ros__parameters is empty, which ROS does not read: remove the entry")
    values = dict(_flat(values))
    for name, value in values.items():
        _refuse_unreadable(name, value, where)
    return values


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values; ROS joins the names of nested mappings by dots, and `ros2 param dump` writes such."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _refuse_unreadable(name: str, value: Any, where: str) -> None:
    """Refuse what stops ROS's own reader of parameter files."""
    if value is None:
        raise ParameterError(f"{where}: {name} has no value")
    types = sorted({type(item).__name__ for item in value}) if isinstance(value, list) else []
    if len(types) > 1:
        hint = ": write 0.0 for 0" if types == ["float", "int"] else ""
        raise ParameterError(f"{where}: {name} has {' and '.join(types)} in one list, which ROS does not read{hint}")


# -- files and folders for results ---------------------------------------------------------------------


def write_text(path: str | Path, text: str) -> None:
    """Write a file; an ArmControlError when it cannot be written."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ArmControlError(f"{path} cannot be written: {error.strerror}") from None


def require_writable_folder(folder: str | Path) -> None:
    """Create a folder if it does not exist, and try to write a file in it; an InputError when that is not possible."""
    if Path(folder).exists() and not Path(folder).is_dir():
        raise InputError(f"{folder} is a file, and a folder is needed: choose another name")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from None
