"""Parameters as frozen dataclasses that check themselves.

A class of parameters is one dataclass whose fields are made with :func:`parameter`: type, default,
bounds, unit and a sentence that says what it is. The same class serves a library user, a YAML file and
a ROS 2 node (which declares its fields, so that ``ros2 param describe`` shows the same text).

Classes compose: a field made with :func:`group` holds another class. Users see one flat list of names, in YAML, on
the command line and in ROS; the code reads ``parameters.gate.rate_limit``.

Examples
--------
>>> @dataclass(frozen=True)
... class Gains(Parameters):
...     kp: float = parameter(100.0, "stiffness", unit="1/s^2", lower=0.0)
>>> Gains(kp=-1.0)
Traceback (most recent call last):
    ...
arm_control.exceptions.ParameterError: kp = -1.0 is out of bounds: stiffness [1/s^2], allowed >= 0.0
>>> @dataclass(frozen=True)
... class Controller(Parameters):
...     gains: Gains = group(Gains)
...     rate: float = parameter(1000.0, "rate of the states", unit="Hz")
>>> Controller.from_mapping({"kp": 50, "rate": 500}).gains.kp
50.0
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast, get_type_hints

from arm_control.exceptions import ParameterError

P = TypeVar("P", bound="Parameters")
G = TypeVar("G", bound="Parameters")


@dataclass(frozen=True)
class Spec:
    """What is known of one parameter beside its value.

    Attributes
    ----------
    unit : str
        Its unit; empty for a pure number or a word.
    lower, upper : float or None
        Bounds, both allowed; for a list they hold for every entry.
    live : bool
        Whether it may change while a node runs.
    choices : tuple of str
        The words allowed; empty for anything.
    """

    text: str
    unit: str = ""
    lower: float | None = None
    upper: float | None = None
    live: bool = False
    choices: tuple[str, ...] = ()

    def __str__(self) -> str:
        bounds = [f">= {self.lower}"] if self.lower is not None else []
        bounds += [f"<= {self.upper}"] if self.upper is not None else []
        bounds += [f"one of {', '.join(self.choices)}"] if self.choices else []
        unit = f" [{self.unit}]" if self.unit else ""
        return self.text + unit + (f", allowed {' and '.join(bounds)}" if bounds else "")

    def allows(self, value: Any) -> bool:
        """Whether a value of the right type is finite, within the bounds and among the choices."""
        entries = value if isinstance(value, tuple) else (value,)
        numbers = [x for x in entries if isinstance(x, (int, float)) and not isinstance(x, bool)]
        low = -math.inf if self.lower is None else self.lower
        high = math.inf if self.upper is None else self.upper
        in_bounds = all(math.isfinite(x) and low <= x <= high for x in numbers)
        return in_bounds and (not self.choices or value in self.choices)


def parameter(
    default: Any,
    text: str,
    *,
    unit: str = "",
    lower: float | None = None,
    upper: float | None = None,
    live: bool = False,
    choices: Sequence[str] = (),
) -> Any:
    """Return a field of a :class:`Parameters` dataclass; the arguments are those of :class:`Spec`."""
    spec = Spec(text, unit, lower, upper, live, tuple(choices))
    return dataclasses.field(default=default, metadata={"spec": spec})


def group(parameter_class: type[G], prefix: str = "") -> G:
    """Return a field that holds another class of parameters; its names count among those of the class.

    Parameters
    ----------
    prefix : str
        Beginning of its names in the class, such as ``plant.``.
    """
    metadata = {"group": _Group(parameter_class, prefix)}
    field: Any = dataclasses.field(default_factory=parameter_class, metadata=metadata)
    return cast(G, field)


class _Group(NamedTuple):
    """A class of parameters within another one, and the beginning of its names there."""

    parameter_class: type[Parameters]
    prefix: str

    def own_part(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the values that belong to the group, by the names in its class."""
        start = len(self.prefix)
        names = self.parameter_class.types()
        return {
            name[start:]: value
            for name, value in values.items()
            if name.startswith(self.prefix) and name[start:] in names
        }

    def prefixed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by the names in the outer class."""
        return {self.prefix + name: value for name, value in values.items()}


@dataclass(frozen=True)
class Parameters:
    """Base of every parameter class: types and bounds are checked when one is made.

    Supported types: ``bool``, ``int``, ``float``, ``str``, ``tuple[float, ...]``, ``tuple[str, ...]``, and groups.
    An ``int`` is accepted for a ``float``, a list for a tuple.
    """

    def __new__(cls, *_: Any, **values: Any) -> Any:
        """Refuse unknown names with those that are alike; the class's own ``__init__`` would raise a TypeError."""
        refuse_unknown(values, [field.name for field in dataclasses.fields(cls)], cls.__name__)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        own = self._own_types()
        for name, type_ in own.items():
            value = _coerce(name, getattr(self, name), type_)
            spec = self.spec(name)
            if not spec.allows(value):
                raise ParameterError(f"{name} = {value!r} is out of bounds: {spec}")
            object.__setattr__(self, name, value)

    @classmethod
    @cache
    def types(cls) -> dict[str, Any]:
        """Type of each parameter, those of groups included, by name.

        A TypeError when two groups have a parameter of the same name.
        """
        own = cls._own_types()
        types: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            held = field.metadata.get("group")
            more = {field.name: own[field.name]} if held is None else held.prefixed(held.parameter_class.types())
            if twice := types.keys() & more.keys():
                raise TypeError(f"{cls.__name__} has {', '.join(sorted(twice))} twice")
            types |= more
        return types

    @classmethod
    @cache
    def _groups(cls) -> dict[str, _Group]:
        return {f.name: f.metadata["group"] for f in dataclasses.fields(cls) if "group" in f.metadata}

    @classmethod
    @cache
    def _own_types(cls) -> dict[str, Any]:
        groups = cls._groups()
        classes = [held.parameter_class for held in groups.values()]
        hints = get_type_hints(cls, localns={each.__name__: each for each in classes})
        return {f.name: hints[f.name] for f in dataclasses.fields(cls) if f.name not in groups}

    @classmethod
    def spec(cls, name: str) -> Spec:
        """Text, unit and bounds of one parameter."""
        for held in cls._groups().values():
            if part := held.own_part({name: None}):
                return held.parameter_class.spec(*part)
        spec: Spec = cls.__dataclass_fields__[name].metadata["spec"]
        return spec

    def values(self) -> dict[str, Any]:
        """Value of each parameter, those of groups included, by name."""
        values = {name: getattr(self, name) for name in self._own_types()}
        for name, held in self._groups().items():
            values |= held.prefixed(getattr(self, name).values())
        return {name: values[name] for name in self.types()}

    @classmethod
    def from_mapping(cls: type[P], values: Mapping[str, Any], *, where: str = "") -> P:
        """Return the parameters with these values, the defaults for the rest.

        A ParameterError when a key is no field of this class, or a value has a wrong type or is out of bounds.
        """
        refuse_unknown(values, cls.types(), where or cls.__name__)
        own = {name: value for name, value in values.items() if name in cls._own_types()}
        for name, held in cls._groups().items():
            own[name] = held.parameter_class.from_mapping(held.own_part(values), where=where)
        try:
            return cls(**own)
        except ParameterError as error:
            raise ParameterError(f"{where}: {error}" if where else str(error)) from None

    def replace(self: P, **changes: Any) -> P:
        """Return a copy with some values changed, by their flat names, checked like a new one."""
        return type(self).from_mapping({**self.values(), **changes})


def refuse_unknown(values: Mapping[str, Any], known: Mapping[str, Any] | Sequence[str], where: str) -> None:
    """Raise a :class:`ParameterError` that names every unknown key."""
    unknown = sorted(set(values) - set(known))
    if unknown:
        similar = get_close_matches(unknown[0], known, n=1) or [x for x in sorted(known) if x.startswith(unknown[0])]
        hint = f"; did you mean {' or '.join(map(repr, similar[:2]))}?" if similar else ""
        raise ParameterError(f"{where}: unknown {', '.join(unknown)}; allowed: {', '.join(sorted(known))}{hint}")


def _coerce(name: str, value: Any, type_: Any) -> Any:
    """Return the value in the field's type; lossless conversions only."""
    if type_ in (tuple[float, ...], tuple[str, ...]):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise ParameterError(f"{name} = {value!r}: a list is needed")
        entry = float if type_ == tuple[float, ...] else str
        return tuple(_coerce(name, item, entry) for item in value)
    if type_ is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, type_) or (type_ is int and isinstance(value, bool)):
        raise ParameterError(f"{name} = {value!r}: a {type_.__name__} is needed, not a {type(value).__name__}")
    return value


class SavedParameter(NamedTuple):
    """A parameter of a running node: its name, value, and what it is."""

    name: str
    value: Any
    text: str


def parameter_text(node: str, parameters: Sequence[SavedParameter]) -> str:
    """Return a ROS parameter file with parameters of a node, for any namespace."""
    lines = [f"# Parameters of the node {node}, as they were when this was saved; --params-file takes it."]
    lines += [f"/**/{node.rpartition('/')[2]}:", "  ros__parameters:"]
    for one in parameters:
        lines += [f"    # {' '.join(one.text.split())}"] if one.text.strip() else []
        lines.append(f"    {one.name}: {yaml_text(one.value)}")
    return "\n".join(lines) + "\n"


def yaml_text(value: Any) -> str:
    """A value as ROS reads it back with the same type and to the last bit."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    return "[" + ", ".join(map(yaml_text, value)) + "]" if isinstance(value, (list, tuple)) else str(value)
