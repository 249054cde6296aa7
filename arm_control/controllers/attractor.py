"""Operational space control of references that a point attractor makes, in spiking neurons or without."""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.control import ControllerRow
from arm_control.controllers import osc
from arm_control.controllers.osc import (
    NATIVE,
    NATIVE_ALONE,
    OscController,
    OscLoopParameters,
    OscNodeParameters,
    make_osc,
)
from arm_control.core import group
from arm_control.exceptions import ParameterError
from arm_control.model import RobotModel
from arm_control.neural import AttractorFollower, AttractorParameters


@dataclass(frozen=True)
class AttractorLoopParameters(OscLoopParameters):
    """Operational space control behind a gate, its reference from a point attractor."""

    attractor: AttractorParameters = group(AttractorParameters, "attractor.")


@dataclass(frozen=True)
class AttractorNodeParameters(AttractorLoopParameters, OscNodeParameters):
    """Parameters of the node ``attractor``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loop == NATIVE:
            raise ParameterError(f"{NATIVE_ALONE} an attractor in front of it")


def make_attractor(model: RobotModel, parameters: AttractorLoopParameters) -> OscController:
    """Return operational space control behind an attractor; the arguments are those of a row's ``make``."""
    return make_osc(model, parameters, AttractorFollower(model, parameters.attractor, parameters.control.rate))


ROW = ControllerRow(
    name="attractor",
    parameters=AttractorLoopParameters,
    node_parameters=AttractorNodeParameters,
    make=make_attractor,
    torque_terms=osc.ROW.torque_terms,
    figures=osc.ROW.figures,
    goals=osc.ROW.goals,
    sees_obstacles=osc.ROW.sees_obstacles,
    at_rate=osc.ROW.at_rate,
)
