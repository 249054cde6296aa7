"""Parameters as frozen dataclasses that check themselves.

A class of parameters is one dataclass whose fields are made with :func:`parameter`: type, default,
bounds, unit and a sentence that says what it is. The same class serves a library user, a YAML file and
a ROS 2 node (which declares its fields, so that ``ros2 param describe`` shows the same text).

Examples
--------
>>> @dataclass(frozen=True)
... class Gains(Parameters):
...     kp: float = parameter(100.0, "stiffness", unit="1/s^2", lower=0.0)
>>> Gains(kp=-1.0)
Traceback (most recent call last):
    ...
arm_control.exceptions.ParameterError: kp = -1.0 is out of bounds: stiffness [1/s^2], allowed >= 0.0
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, get_type_hints

from arm_control.exceptions import ParameterError

P = TypeVar("P", bound="Parameters")


@dataclass(frozen=True)
class Spec:
    """What is known of one parameter beside its value.

    Attributes
    ----------
    text : str
        What it is, in one sentence.
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


@dataclass(frozen=True)
class Parameters:
    """Base of every parameter class: types and bounds are checked when one is made.

    Supported types: ``bool``, ``int``, ``float``, ``str``, ``tuple[float, ...]``, ``tuple[str, ...]``.
    An ``int`` is taken where a ``float`` is wanted, a list where a tuple is.
    """

    _types: ClassVar[dict[type, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        for name, kind in self.types().items():
            value = _coerce(name, getattr(self, name), kind)
            spec = self.spec(name)
            if not spec.allows(value):
                raise ParameterError(f"{name} = {value!r} is out of bounds: {spec}")
            object.__setattr__(self, name, value)

    @classmethod
    def types(cls) -> dict[str, Any]:
        """Type of each field, by name."""
        if cls not in Parameters._types:
            hints = get_type_hints(cls)
            Parameters._types[cls] = {f.name: hints[f.name] for f in dataclasses.fields(cls)}
        return Parameters._types[cls]

    @classmethod
    def spec(cls, name: str) -> Spec:
        """Text, unit and bounds of one field."""
        field = cls.__dataclass_fields__[name]
        spec: Spec = field.metadata["spec"]
        return spec

    @classmethod
    def from_mapping(cls: type[P], values: Mapping[str, Any], *, where: str = "") -> P:
        """Return the parameters with these values, the defaults for the rest.

        Parameters
        ----------
        values : mapping of str to value
            Values by field name.
        where : str
            Where they come from, for the message.

        Raises
        ------
        ParameterError
            When a key is no field of this class, or a value has a wrong type or is out of bounds.
        """
        refuse_unknown(values, cls.types(), where or cls.__name__)
        return cls(**values)

    def replace(self: P, **changes: Any) -> P:
        """Return a copy with some values changed, checked like a new one."""
        return dataclasses.replace(self, **changes)


def refuse_unknown(given: Mapping[str, Any], known: Mapping[str, Any] | Sequence[str], where: str) -> None:
    """Raise a :class:`ParameterError` that names the keys of ``given`` which are not in ``known``."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ParameterError(f"{where}: unknown {', '.join(unknown)}; allowed: {', '.join(sorted(known))}")


def _coerce(name: str, value: Any, kind: Any) -> Any:
    """Return the value in the field's type; lossless conversions only."""
    if kind in (tuple[float, ...], tuple[str, ...]):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
            raise ParameterError(f"{name} = {value!r}: a list is needed")
        entry = float if kind == tuple[float, ...] else str
        return tuple(_coerce(name, item, entry) for item in value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ParameterError(f"{name} = {value!r}: a {kind.__name__} is needed, not a {type(value).__name__}")
    return value
