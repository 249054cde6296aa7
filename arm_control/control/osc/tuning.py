"""Parameters of operational space control in use: gains and limits that nobody gives are proposed for the arm.

The node ``osc``, a simulation and the report of a run resolve their parameters here, and so use the same numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from arm_control.control.avoidance_law import AvoidanceParameters
from arm_control.control.osc.contact_parameters import ContactParameters
from arm_control.control.osc.osc_parameters import NULL_SPACES, OscParameters
from arm_control.control.osc.proposal import propose
from arm_control.core import Parameters, group, parameter
from arm_control.exceptions import ParameterError
from arm_control.gate import GateParameters
from arm_control.model import RobotModel

PROPOSED = (
    *(f"{what}_{part}" for what in ("kp", "speed_limit", "acceleration_limit") for part in ("linear", "angular")),
    *("kp_posture", "kv_posture", "characteristic_length", "singular_value"),
)
"""Parameters proposed for an arm."""
OF_ONE_ARM = (*PROPOSED, "posture", "posture_joints", "armature")
"""Parameters of a controller that mean nothing for another arm."""
LOOSE = {
    **{f"speed_limit_{part}": 1e-3 for part in ("linear", "angular")},
    **{f"acceleration_limit_{part}": 1e6 for part in ("linear", "angular")},
}
"""Stand-ins for limits that nobody gives while the arm is unknown: they are consistent with any gain."""


@dataclass(frozen=True)
class OscTuning(Parameters):
    """Operational space control with its avoidance, and whether gains are proposed for the arm."""

    law: OscParameters = group(OscParameters)
    contact: ContactParameters = group(ContactParameters)
    avoidance: AvoidanceParameters = group(AvoidanceParameters)
    propose_gains: bool = parameter(
        True, "gains and limits that are not given are those that suit the arm, not the defaults"
    )
    rate: float = parameter(1000.0, "rate of the states that they are proposed for", unit="Hz", lower=1.0)
    twist_timeout: float = parameter(
        0.1, "a target_twist that is older, by the states' stamps, has ended", unit="s", lower=0.01, live=True
    )
    avoid_obstacles: bool = parameter(False, "whether obstacles, and the arm itself, are avoided")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contact.is_active and self.law.null_space != NULL_SPACES[0]:
            raise ParameterError(f"impedance and force_axes need null_space = {NULL_SPACES[0]}")


P = TypeVar("P", bound=Parameters)


def resolve_parameters(
    parameter_class: type[P], overrides: Mapping[str, Any], model: RobotModel | None, where: str = ""
) -> P:
    """Return parameters, with proposals for the gains and limits that nobody gives.

    Parameters
    ----------
    parameter_class : type
        A class of parameters with those of :class:`OscTuning` among them.
    model : RobotModel or None
        The arm; None while it is unknown: then only the given values are checked.
    where : str
        Source of the values, for the message.

    Raises
    ------
    ParameterError
        When a name is unknown, a value is not allowed, or the given values are inconsistent.

    Examples
    --------
    >>> from arm_control import urdf_path
    >>> model = RobotModel.from_urdf(urdf_path("planar2"))
    >>> p = resolve_parameters(OscTuning, {"kp_linear": 50.0}, model).law
    >>> p.kp_linear, p.speed_limit_linear == propose(model, kp_linear=50.0).speed_limit_linear
    (50.0, True)
    """
    if overrides.get("propose_gains") is False:
        return parameter_class.from_mapping(overrides, where=where)
    loose = parameter_class.from_mapping({**LOOSE, **overrides}, where=where)
    if model is None:
        return loose
    values = loose.values()
    given = {name: values[name] for name in overrides if name in OscParameters.types()}
    rate_limit = values.get("rate_limit", GateParameters().rate_limit)
    proposal = propose(model, values["rate"], rate_limit, **given)
    return parameter_class.from_mapping({**proposal.values(), **overrides}, where=where)


def describe_proposals(parameters: OscTuning, overrides: Collection[str]) -> str:
    """Return one line with the proposed values; empty when there are none."""
    if not parameters.propose_gains:
        return ""
    values = parameters.values()
    return ", ".join(f"{name} = {values[name]:.4g}" for name in PROPOSED if name not in overrides)
