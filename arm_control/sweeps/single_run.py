"""One run of a sweep: values in, one row out. Nothing here knows where it runs, or what ran before it."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib import import_module
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np

from arm_control.exceptions import ArmControlError, InputError
from arm_control.report import figures_of_free_motion, figures_of_simulation
from arm_control.simulation import PREFIX, FreeMotion, Scenario, Simulation, with_values

VARYING = ("duration", "worker", "time")
"""Columns that differ from one sweep to the next; all others are the same to the last bit."""
VERSIONS = ("package", "python", "numpy")
COLUMNS = ("run", "seed", *VERSIONS, "error", *VARYING)
"""Columns of every row, beside axes and figures."""


@dataclass(frozen=True)
class RunPlan:
    """What all runs of a sweep have in common.

    Attributes
    ----------
    scenario, variant : str
        Name of a scenario or path of its file, and its variant; empty for a function.
    function : str
        ``package.module:name``; empty for a scenario.
    folder : str
        Folder from which the module may be imported, too.
    run_duration : float
        Simulated time [s]; 0: as long as the scenario takes.
    trust : bool
        Whether the scenario may name a xacro file.
    """

    scenario: str
    variant: str
    function: str
    folder: str
    run_duration: float
    figures: tuple[str, ...]
    seed: int
    trust: bool = False


def run_row(plan: RunPlan, number: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Run once; return the row, which has the reason where the run failed."""
    begin = perf_counter()
    figures: dict[str, float] = {}
    seed = seed_of(plan, number, values)
    try:
        result, error = _called(plan, seed, values) if plan.function else _simulated(plan, values)
        figures = {name: float(result[name]) for name in plan.figures}
    except Exception as caught:
        error = str(caught) if isinstance(caught, ArmControlError) else f"{type(caught).__name__}: {caught}"
    row = row_of_run(plan, number, values, seed, error) | figures
    return row | {"duration": perf_counter() - begin, "worker": f"{socket.gethostname()}:{os.getpid()}"}


def row_of_run(plan: RunPlan, number: int, values: Mapping[str, Any], seed: int, error: str) -> dict[str, Any]:
    """Return the row of a run without figures."""
    package = import_module(__name__.partition(".")[0]).__version__
    versions = dict(zip(VERSIONS, (package, platform.python_version(), np.__version__), strict=True))
    row = {"run": number, **values, **dict.fromkeys(plan.figures, float("nan")), "seed": seed, **versions}
    now = datetime.now(timezone.utc)
    return row | {"error": error, "duration": float("nan"), "worker": "", "time": now}


def seed_of(plan: RunPlan, number: int, values: Mapping[str, Any]) -> int:
    """Return the seed of a run: that of its plant, which only an axis changes; for a function, one of its own."""
    if plan.function:
        return int(np.random.SeedSequence([plan.seed, number]).generate_state(1)[0])
    name = f"{PREFIX}seed"
    try:
        own = _scenario(plan.scenario, plan.trust).file_variant(plan.variant).nodes.get("simulator", {})
        return int(values.get(f"simulator.{name}", own.get(name, 0)))
    except (ArmControlError, TypeError, ValueError):  # the run itself fails, and says why
        return 0


def _simulated(plan: RunPlan, values: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Figures of a simulation, and why it ended early."""
    scenario = with_values(_scenario(plan.scenario, plan.trust), values, plan.variant)
    if not scenario.controller:
        free = FreeMotion(scenario).run(plan.run_duration)
        return figures_of_free_motion(free), free.end_reason
    run = Simulation(scenario)
    trace = run.run(plan.run_duration)
    return figures_of_simulation(trace, run.model, run.targets, run.motion, run.task), trace.end_reason


def _called(plan: RunPlan, seed: int, values: Mapping[str, Any]) -> tuple[dict[str, float], str]:
    """Figures that the function returns, and the text that it has for ``error``."""
    function = function_named(plan.function, plan.folder)
    result = function(**values, seed=seed) if "seed" in signature(function).parameters else function(**values)
    if not isinstance(result, Mapping) or not {*plan.figures} <= {*result}:
        shown = ", ".join(map(str, result)) if isinstance(result, Mapping) else type(result).__name__
        raise InputError(f"{plan.function}: a dict with {', '.join(plan.figures)} is needed, it returned {shown}")
    return dict(result), str(result.get("error", ""))


@cache
def _scenario(name: str, trust: bool) -> Scenario:
    """The scenario, read once in each process."""
    return Scenario.load(name, trust=trust)


@cache
def function_named(name: str, folder: str) -> Callable[..., Any]:
    """Return the function ``package.module:name``, which a folder may have.

    An InputError where there is no such function.
    """
    module, _, attribute = name.partition(":")
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"function {name}: {error}") from error
    if not callable(function):
        raise InputError(f"function {name}: it is a {type(function).__name__}")
    return function  # type: ignore[no-any-return]
