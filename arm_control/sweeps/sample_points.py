"""Axes of a sweep, and the points that are sampled on them.

An axis is a list of values, or a range. A share s in [0, 1) of a range is a value of it:

    (1)  x = a + (b - a) s            ``linear``, between a = ``from`` and b = ``to``
    (2)  x = a (b / a)^s              ``log``
    (3)  x = m + d Phi^-1(s)          with ``mean`` and ``deviation`` of a normal distribution

``steps`` are even shares from 0 to 1; ``draws`` are random ones. Their seed is that of the sweep and the name of the
axis, so that another axis changes no draw. ``grid`` has all combinations, the last axis the fastest; ``list`` has the
first values of all axes, the second ones, and so on; ``sobol`` and ``latin_hypercube`` are SciPy's quasi-random shares
of all axes, with equal shares for the values of a list. A range between whole numbers has whole numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any
from zlib import crc32

import numpy as np

from arm_control.core import as_mapping, refuse_unknown
from arm_control.exceptions import MissingExtra, ParameterError
from arm_control.maths import Array

QUASI_RANDOM = ("sobol", "latin_hypercube")
SAMPLINGS = ("grid", "list", *QUASI_RANDOM)
SCALES = ("linear", "log")
LEAST_SHARE = 1e-12
"""A normal distribution has no value at the shares 0 and 1."""
MOST = 10_000_000
"""Most runs of a sweep, and values of an axis."""


@dataclass(frozen=True)
class Axis:
    """What differs from run to run.

    Attributes
    ----------
    values : tuple
        Values for a grid or a list; empty for a range without ``steps`` and ``draws``.
    scale : str
        ``linear``, ``log`` or ``normal``; empty: only the values.
    bounds : tuple of two numbers
        Both ends of the range, or mean and deviation.
    """

    name: str
    values: tuple[Any, ...]
    scale: str = ""
    bounds: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def from_content(cls, name: str, content: Any, seed: int, where: str) -> Axis:
        """Read an axis of a file; a ParameterError when it is no axis."""
        where = f"{where}: {name}"
        if isinstance(content, list):
            if not content:
                raise ParameterError(f"{where}: a list of values is needed, this one is empty")
            return cls(name, tuple(content))
        given = as_mapping(content, where)
        is_normal = "mean" in given
        ends = ("mean", "deviation") if is_normal else ("from", "to")
        refuse_unknown(given, (*ends, "draws") if is_normal else (*ends, "scale", "steps", "draws"), where)
        scale = "normal" if is_normal else given.get("scale", "linear")
        if scale not in ("normal", *SCALES):
            raise ParameterError(f"{where}: scale = {scale!r}, allowed {', '.join(SCALES)}")
        bounds: tuple[Any, Any] = (given.get(ends[0]), given.get(ends[1]))
        if not all(map(_is_number, bounds)):
            raise ParameterError(f"{where}: {' and '.join(ends)} are needed, as numbers")
        if (scale == "log" and min(bounds) <= 0.0) or (is_normal and bounds[1] < 0.0):
            raise ParameterError(f"{where}: {' and '.join(ends)} = {bounds[0]}, {bounds[1]}: they must be positive")
        return cls(name, (), scale, bounds)._with_values(given, seed, where)

    def _with_values(self, given: Mapping[str, Any], seed: int, where: str) -> Axis:
        """The axis with as many values as it shall have."""
        if {"steps", "draws"} <= given.keys():
            raise ParameterError(f"{where}: steps or draws, not both")
        shares: Array = np.zeros(0)
        for key in given.keys() & {"steps", "draws"}:
            n = whole(given[key], f"{where}: {key}")
            rng = np.random.default_rng([seed, crc32(self.name.encode())])
            shares = np.linspace(0.0, 1.0, n) if key == "steps" else rng.random(n)
        values = tuple(self.at(share) for share in shares.tolist())
        if "steps" in given and len(set(values)) < len(values):
            raise ParameterError(
                f"{where}: {len(values)} steps repeat values; write 0.0 for 0 where fractions are meant"
            )
        return Axis(self.name, values, self.scale, self.bounds)

    def at(self, share: float) -> Any:
        """Return the value at a share: equations (1) to (3), or that of the list."""
        if not self.scale:
            return self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        a, b = self.bounds
        if self.scale == "normal":
            x = NormalDist(a, b).inv_cdf(min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE)) if b else float(a)  # (3)
        elif self.scale == "log":
            x = a * math.exp(share * math.log(b / a)) if share < 1.0 else float(b)  # (2), and no rounding at its end
        else:
            x = a + (b - a) * share  # (1)
        return round(x) if self.scale != "normal" and isinstance(a, int) and isinstance(b, int) else x


@dataclass(frozen=True)
class SamplePoints:
    """The points of a sweep, by their number; a grid is computed point by point, and takes no memory.

    Parameters
    ----------
    samples : int
        Number of points of a quasi-random sampling.

    Raises
    ------
    ParameterError
        When the axes do not fit the sampling.
    MissingExtra
        When it needs SciPy, which is not installed.
    """

    axes: tuple[Axis, ...]
    sampling: str
    samples: int
    seed: int

    def __post_init__(self) -> None:
        if self.sampling in QUASI_RANDOM:
            if self.sampling == "sobol" and self.samples & (self.samples - 1):
                raise ParameterError(f"samples = {self.samples}: sobol needs a power of two, such as 64")
            return
        for axis in self.axes:
            if not axis.values:
                raise ParameterError(f"{axis.name}: {self.sampling} needs steps or draws of a range")
        if self.sampling == "list" and len({len(axis.values) for axis in self.axes}) > 1:
            lengths = ", ".join(f"{axis.name} {len(axis.values)}" for axis in self.axes)
            raise ParameterError(f"list needs axes with equally many values; there are: {lengths}")
        if len(self) > MOST:
            raise ParameterError(f"{len(self)} runs; at most {MOST} are allowed")

    def __len__(self) -> int:
        if self.sampling in QUASI_RANDOM:
            return self.samples
        lengths = [len(axis.values) for axis in self.axes]
        return math.prod(lengths) if self.sampling == "grid" else lengths[0]

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return the values of a point by the names of the axes."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        if self.sampling in QUASI_RANDOM:
            shares = self._shares[number].tolist()
            return {axis.name: axis.at(share) for axis, share in zip(self.axes, shares, strict=True)}
        if self.sampling == "list":
            return {axis.name: axis.values[number] for axis in self.axes}
        point: dict[str, Any] = {}
        for axis in reversed(self.axes):
            number, k = divmod(number, len(axis.values))
            point[axis.name] = axis.values[k]
        return {axis.name: point[axis.name] for axis in self.axes}

    @cached_property
    def _shares(self) -> Array:
        """Shares of all axes, shape (samples, n_axes)."""
        try:
            from scipy.stats import qmc
        except ImportError:
            raise MissingExtra("scipy", "sweep") from None
        rng, n_axes = np.random.default_rng(self.seed), len(self.axes)
        sampler = qmc.Sobol(n_axes, rng=rng) if self.sampling == "sobol" else qmc.LatinHypercube(n_axes, rng=rng)
        shares: Array = sampler.random(self.samples)
        return shares


def whole(value: Any, where: str, least: int = 1) -> int:
    """Return a whole number of a file from ``least`` to :data:`MOST`; a ParameterError where it is none."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
        raise ParameterError(f"{where} = {value!r}: a whole number from {least} to {MOST} is needed")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def kind_of(axis: Axis) -> str:
    """Return the kind of an axis's column (:func:`column_kind`)."""
    return column_kind([axis.at(0.5)] if axis.scale else axis.values)


def column_kind(values: Sequence[Any]) -> str:
    """Return what a column has: ``bool``, ``int``, ``float``, ``str``, or ``json`` for all else.

    Examples
    --------
    >>> column_kind([1, 2.5]), column_kind(["ideal", "real"]), column_kind([[0.0, 1.0], [1.0, 0.0]])
    ('float', 'str', 'json')
    """
    types = {type(value) for value in values}
    if types == {int, float}:
        return "float"
    (first, *others) = types
    return first.__name__ if not others and first in (bool, int, float, str) else "json"
