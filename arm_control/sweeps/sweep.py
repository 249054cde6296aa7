"""A sweep: what runs, its axes, its figures; from YAML.

    description: Gains of a UR5.
    scenario: ur5_osc                # or function: package.module:name, which takes the axes by name
    variant: real                    # optional, as duration [s]
    axes:
      osc.kp_linear: {from: 50.0, to: 800.0, scale: log, steps: 5}
      payload: [0.0, 2.0]
    sampling: grid                   # or list, sobol, latin_hypercube; the last two need samples
    figures: [rms_error, torque_share]
    seed: 0

An axis is ``node.parameter`` of the scenario, ``robot`` or ``payload``; a plant has the same seed in all runs, unless
``simulator.plant.seed`` is an axis. A function returns a dict, with numbers under the names of the figures; where it
takes ``seed``, it gets one of its own in each run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from arm_control.core import as_mapping, read_yaml, refuse_unknown, yaml_path
from arm_control.exceptions import InputError, ParameterError
from arm_control.model import refuse_xacro_in
from arm_control.report import DEFINITIONS
from arm_control.simulation import Scenario, require_values
from arm_control.sweeps.sample_points import QUASI_RANDOM, SAMPLINGS, Axis, SamplePoints, kind_of, whole
from arm_control.sweeps.single_run import COLUMNS, RunPlan

ALL = "all"
MOST_SHOWN = 100
"""Values of an axis in the metadata of a file."""
KEYS = (
    *("description", "scenario", "function", "variant", "duration"),
    *("axes", "sampling", "samples", "figures", "seed"),
)


@dataclass(frozen=True)
class Sweep:
    """Many runs.

    Attributes
    ----------
    plan : RunPlan
        What all runs have in common.
    sampling : str
        One of :data:`~arm_control.sweeps.sample_points.SAMPLINGS`.
    samples : int
        Number of runs of a quasi-random sampling.
    """

    name: str
    description: str
    plan: RunPlan
    axes: tuple[Axis, ...]
    sampling: str = "grid"
    samples: int = 0

    @classmethod
    def load(cls, name: str, *, trust: bool = False) -> Sweep:
        """Read a sweep by name (``config/sweeps/<name>.yaml``) or path.

        Parameters
        ----------
        trust : bool
            Whether it may name a function or a xacro file, either of which may run any code; the package's own may.

        Raises
        ------
        ParameterError
            When it has an unknown key, an axis that is none, or figures that are not there.
        InputError
            When it names a function without being trusted.
        """
        path = yaml_path("sweeps", name)
        trust = trust or Path(name).suffix != ".yaml"
        return cls.from_content(read_yaml(path), path.stem, str(path), str(path.absolute().parent), trust=trust)

    @classmethod
    def from_content(
        cls, content: Mapping[str, Any], name: str, where: str = "sweep", folder: str = "", *, trust: bool = False
    ) -> Sweep:
        """Return the sweep with the entries of a file; a function's module may be in ``folder``, too."""
        refuse_unknown(content, KEYS, where)
        if ("scenario" in content) == ("function" in content):
            raise ParameterError(f"{where}: a scenario or a function is needed, and not both")
        sampling, seed = content.get("sampling", "grid"), whole(content.get("seed", 0), f"{where}: seed", 0)
        if sampling not in SAMPLINGS:
            raise ParameterError(f"{where}: sampling = {sampling!r}, allowed {', '.join(SAMPLINGS)}")
        if ("samples" in content) != (sampling in QUASI_RANDOM):
            raise ParameterError(
                f"{where}: samples belong to the samplings {' and '.join(QUASI_RANDOM)}, which need them"
            )
        axes = as_mapping(content.get("axes"), f"{where}: axes")
        if not axes:
            raise ParameterError(f"{where}: axes: at least one is needed")
        duration = content.get("duration", 0.0)
        if not isinstance(duration, (int, float)) or not 0.0 <= duration < float("inf"):
            raise ParameterError(f"{where}: duration = {duration!r}: a time in seconds is needed")
        samples = whole(content["samples"], f"{where}: samples") if "samples" in content else 0
        read = tuple(Axis.from_content(str(axis), given, seed, f"{where}: axes") for axis, given in axes.items())
        variant, function = str(content.get("variant", "")), str(content.get("function", ""))
        shared = variant, function, folder, float(duration), _figures(content, where), seed, trust
        plan = RunPlan(_scenario(content, folder), *shared)
        sweep = cls(name, str(content.get("description", "")), plan, read, sampling, samples)
        first = sweep._check(where)
        return replace(sweep, plan=replace(plan, variant=variant or first))

    @cached_property
    def points(self) -> SamplePoints:
        """The values of all runs, by number."""
        return SamplePoints(self.axes, self.sampling, self.samples, self.plan.seed)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """Kind of each axis's column, by name."""
        return {axis.name: kind_of(axis) for axis in self.axes}

    @cached_property
    def identity(self) -> str:
        """The sweep as JSON; rows of two sweeps with the same identity belong together."""
        plan = {name: value for name, value in asdict(self.plan).items() if name not in ("folder", "trust")}
        rest = {"axes": [_short(axis) for axis in self.axes], "sampling": self.sampling, "samples": self.samples}
        return json.dumps({"plan": plan, **rest, "kinds": self.kinds}, default=str)

    def _check(self, where: str) -> str:
        """Refuse names that a run does not know, and what needs trust, before the first run; return the first variant.

        It is empty where there are none.
        """
        names, plan = [axis.name for axis in self.axes], self.plan
        if twice := {*plan.figures, *COLUMNS} & {*names} | {*plan.figures} & {*COLUMNS}:
            raise ParameterError(f"{where}: {', '.join(sorted(twice))}: a column of this name is there already")
        _ = self.points
        if plan.function:
            module, colon, function = plan.function.partition(":")
            if not (module and colon and function.isidentifier()) or plan.variant or plan.run_duration:
                form = "package.module:name is needed, without variant and duration"
                raise ParameterError(f"{where}: function = {plan.function!r}: {form}")
            if not plan.trust:
                raise InputError(f"{where} names the function {plan.function}, which runs as you: --trust allows it")
            return ""
        for axis in self.axes:
            for value in axis.values if axis.name == "robot" and not plan.trust else ():
                refuse_xacro_in({"robot": value}, where)
        scenario = Scenario.load(plan.scenario, trust=plan.trust)
        require_values(scenario, names)
        scenario.variant(plan.variant)
        return next(iter(scenario.variants), "")


def _short(axis: Axis) -> dict[str, Any]:
    """An axis for the metadata of each file: many values as their number and their digest."""
    n = len(axis.values)
    values = axis.values if n <= MOST_SHOWN else [n, crc32(repr(axis.values).encode())]
    return {"name": axis.name, "values": values, "scale": axis.scale, "bounds": axis.bounds}


def _scenario(content: Mapping[str, Any], folder: str) -> str:
    """Name of the scenario, or path of its file: beside that of the sweep, or here."""
    name = str(content.get("scenario", ""))
    if Path(name).suffix != ".yaml":
        return name
    beside = Path(folder, name)
    return str((beside if beside.is_file() else Path(name)).absolute())


def _figures(content: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Names of the figures of a row."""
    given = content.get("figures", ALL)
    if "function" not in content and given == ALL:
        return tuple(DEFINITIONS)
    if not isinstance(given, list) or not given or len({*map(str, given)}) < len(given):
        which = "entries of the function's dict" if "function" in content else "figures of simulate, or all"
        raise ParameterError(f"{where}: figures: a list of names is needed: {which}")
    if "function" not in content:
        refuse_unknown(dict.fromkeys(map(str, given)), DEFINITIONS, f"{where}: figures")
    return tuple(map(str, given))
