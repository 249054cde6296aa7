"""What others need to know of a controller: one row, beside the controller in its own file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from arm_control.control.avoidance_law import Avoidance
from arm_control.control.controller import Controller
from arm_control.control.loop_parameters import ControllerNodeParameters, LoopParameters
from arm_control.model import RobotModel

P = TypeVar("P", bound=LoopParameters)


class MadeController(NamedTuple):
    """A controller, and the avoidance of obstacles behind it; None: there is none."""

    controller: Controller
    avoidance: Avoidance | None = None


def _no_obstacles(_: Any) -> bool:
    return False


def _any_rate(_: float) -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class ControllerRow(Generic[P]):
    """A controller as nodes, scenarios, launch files, the command line, bags and pages see it.

    Attributes
    ----------
    name : str
        Name of the controller, of its module, and of its node.
    parameters : type
        Class of the parameters of its control loop.
    node_parameters : type
        Class of the parameters of its node: those, and what only a node has.
    make : callable
        Returns the controller of an arm with parameters of its loop, for simulation and replay.
    numbers : dict of str to str
        Quantities that topics ``<controller>/<quantity>`` set, and what each is.
    sees_obstacles : callable
        Whether it needs the obstacles around, with parameters of its loop.
    at_rate : callable
        Returns the parameters that say the rate of the states [Hz].
    """

    name: str
    parameters: type[P]
    node_parameters: type[ControllerNodeParameters]
    make: Callable[[RobotModel, P], MadeController]
    torque_terms: tuple[str, ...]
    figures: tuple[str, ...]
    goals: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    sees_obstacles: Callable[[P], bool] = _no_obstacles
    at_rate: Callable[[float], Mapping[str, float]] = _any_rate

    @property
    def number_topics(self) -> tuple[str, ...]:
        """Topics with numbers."""
        return tuple(f"{self.name}/{quantity}" for quantity in self.numbers)

    @property
    def proposes_gains(self) -> bool:
        """Whether gains that nobody gives are proposed for the arm."""
        return "propose_gains" in self.parameters.types()

    @property
    def node_only(self) -> frozenset[str]:
        """Names of the parameters of its node that say nothing about the control."""
        return frozenset(self.node_parameters.types()) - frozenset(self.parameters.types())
