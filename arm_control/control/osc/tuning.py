"""Parameters of operational space control where it is put to work: what nobody gives, the arm suggests.

The node ``osc``, a simulation and the report of a run all get their parameters here, so they mean the same numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from arm_control.control.avoidance.avoidance_law import AvoidanceOutput, AvoidanceParameters
from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.control.osc.proposal import propose
from arm_control.core.parameters import parameter
from arm_control.maths.poses import Array
from arm_control.model import RobotModel

PROPOSED = (
    *(f"{what}_{part}" for what in ("kp", "speed_limit", "acceleration_limit") for part in ("linear", "angular")),
    *("kp_posture", "kv_posture", "characteristic_length", "singular_value"),
)
"""Parameters that an arm suggests."""
OF_ONE_ARM = (*PROPOSED, "posture", "posture_joints", "armature")
"""Parameters of a controller that mean nothing for another arm."""
LOOSE = {f"{what}_{part}": x for what, x in (("speed_limit", 1e-3), ("acceleration_limit", 1e6))
         for part in ("linear", "angular")}  # fmt: skip
"""In the place of limits nobody gave, while the arm is unknown: they fit any gain."""


@dataclass(frozen=True)
class OscTuning(OscParameters, AvoidanceParameters):
    """Operational space control with its avoidance, and whether the arm suggests what is not given."""

    propose_gains: bool = parameter(
        True, "gains and limits that are not given are those that suit the arm, not the defaults"
    )
    rate: float = parameter(1000.0, "rate of the states that they are proposed for", unit="Hz", lower=1.0)
    avoid_obstacles: bool = parameter(False, "whether obstacles, and the arm itself, are avoided")


T = TypeVar("T", bound=OscTuning)


def tuned(kind: type[T], given: Mapping[str, Any], model: RobotModel | None, where: str = "") -> T:
    """Return parameters, with proposals for the gains and limits that are not given.

    Parameters
    ----------
    kind : type
        The class of parameters.
    given : mapping
        Values by name.
    model : RobotModel or None
        The arm; None while it is unknown: then what is not given stands for nothing, and only the rest is checked.
    where : str
        Where the values come from, for the message.

    Raises
    ------
    ParameterError
        When a name is unknown, or a value not allowed, or what is given cannot work together.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> p = tuned(OscTuning, {"kp_linear": 50.0}, model)
    >>> p.kp_linear, p.speed_limit_linear == propose(model, kp_linear=50.0).speed_limit_linear
    (50.0, True)
    """
    if given.get("propose_gains") is False:
        return kind.from_mapping(given, where=where)
    loose = kind.from_mapping({**LOOSE, **given}, where=where)
    if model is None:
        return loose
    own = {name: getattr(loose, name) for name in given if name in OscParameters.types()}
    return kind.from_mapping({**vars(propose(model, loose.rate, **own)), **given}, where=where)


def said(parameters: OscTuning, given: Collection[str]) -> str:
    """One line with what was proposed; empty when nothing was."""
    if not parameters.propose_gains:
        return ""
    return ", ".join(f"{name} = {getattr(parameters, name):.4g}" for name in PROPOSED if name not in given)


def with_avoidance(
    tau: Array, terms: Mapping[str, Array], avoidance: AvoidanceOutput
) -> tuple[Array, dict[str, Array]]:
    """Return torque (nv,) of a task with avoidance, and its terms, ``avoidance`` among them: all that it changes."""
    combined = avoidance.combined(tau)
    return combined, {**terms, "avoidance": combined - tau}


class Saved(NamedTuple):
    """A parameter of a running node: its name, value, and what it is."""

    name: str
    value: Any
    text: str


def parameter_text(node: str, parameters: Sequence[Saved]) -> str:
    """Return a ROS parameter file with parameters of a node, for any namespace."""
    lines = [f"# Parameters of the node {node}, as they were when this was saved; --params-file takes it."]
    lines += [f"/**/{node.rpartition('/')[2]}:", "  ros__parameters:"]
    for one in parameters:
        lines += [f"    # {' '.join(one.text.split())}"] if one.text.strip() else []
        lines.append(f"    {one.name}: {_yaml(one.value)}")
    return "\n".join(lines) + "\n"


def _yaml(value: Any) -> str:
    """A value as ROS reads it back with the same type and to the last bit."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    return "[" + ", ".join(map(_yaml, value)) + "]" if isinstance(value, (list, tuple)) else str(value)
