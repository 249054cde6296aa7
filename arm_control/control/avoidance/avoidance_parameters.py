"""Parameters of obstacle avoidance."""

from __future__ import annotations

from dataclasses import dataclass

from arm_control.core.parameters import Parameters, parameter
from arm_control.exceptions import ParameterError


@dataclass(frozen=True)
class AvoidanceParameters(Parameters):
    """Reach and strength of obstacle avoidance."""

    eta: float = parameter(5e-4, "strength of the push", unit="m^4/s^2", lower=0.0, live=True)
    threshold: float = parameter(0.1, "distance from an obstacle at which it begins", unit="m", lower=1e-3, live=True)
    self_threshold: float = parameter(
        0.03, "the same between two links of the arm; 0: they do not avoid each other", unit="m", lower=0.0, live=True
    )
    smallest_distance: float = parameter(
        0.015, "the push grows no more below this distance", unit="m", lower=1e-4, live=True
    )
    takeover_distance: float = parameter(
        0.01,
        "below it avoidance acts alone; the task fades from twice this distance on",
        unit="m",
        lower=0.0,
        live=True,
    )
    approach_damping: float = parameter(
        30.0, "damping of the approach to an obstacle", unit="1/s", lower=0.0, upper=200.0, live=True
    )
    takeover_damping: float = parameter(
        10.0,
        "damping of all joints where avoidance acts alone, times M(q)",
        unit="1/s",
        lower=0.0,
        upper=200.0,
        live=True,
    )
    mass_limit: float = parameter(
        100.0, "mass above which an arm counts as unable to move a point away", unit="kg", lower=0.1, live=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest_distance >= self.threshold or 2.0 * self.takeover_distance >= self.threshold:
            raise ParameterError(
                f"threshold = {self.threshold} must be larger than smallest_distance = {self.smallest_distance}"
                f" and than twice takeover_distance = {self.takeover_distance}"
            )
