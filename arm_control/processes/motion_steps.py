"""What becomes of goals that are planned for: phases, what a state brings about, and the parameters of execution."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from arm_control.core import Parameters, parameter
from arm_control.motion import Waypoints
from arm_control.planning import MotionPlan


class Phase(Enum):
    """What becomes of a goal."""

    IDLE = "no goal"
    PLANNING = "planning"
    PLANNED = "planned"
    MOVING = "moving"
    STOPPING = "stopping"
    REACHED = "reached"
    CANCELED = "canceled"
    NO_PLAN = "no plan"
    OFF_PATH = "off the path"
    MISSED = "goal missed"

    @property
    def has_failed(self) -> bool:
        """Whether the goal has been given up."""
        return self in (Phase.NO_PLAN, Phase.OFF_PATH, Phase.MISSED)

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to the goal."""
        return self.has_failed or self in (Phase.IDLE, Phase.REACHED, Phase.CANCELED)


@dataclass(frozen=True)
class ExecutionParameters(Parameters):
    """How plans are executed."""

    execute: bool = parameter(True, "move along each plan; false: only after a call of ~/execute", live=True)
    lead: float = parameter(
        0.3, "time for planning, after which a motion among moving obstacles begins", unit="s", lower=0.01, live=True
    )
    patience: float = parameter(
        5.0, "time for which a goal without a plan is tried again while obstacles move", unit="s", lower=0.0, live=True
    )
    watch_period: float = parameter(
        0.05, "time between two looks at what has come into the way of a motion", unit="s", lower=0.0, live=True
    )
    answer_time: float = parameter(
        1.0, "time without an answer of the planner after which a motion is stopped", unit="s", lower=0.1, live=True
    )
    path_tolerance: float = parameter(
        0.1, "joint error at which a motion is given up; 0: no limit", unit="rad or m", lower=0.0, live=True
    )
    goal_tolerance: float = parameter(
        0.01, "largest joint error that counts as reached", unit="rad or m", lower=1e-9, live=True
    )
    goal_time: float = parameter(
        2.0, "time after a motion within which its goal must be reached", unit="s", lower=0.0, live=True
    )
    stop_acceleration: float = parameter(
        10.0, "largest acceleration of the joints in a stop", unit="rad/s^2 or m/s^2", lower=1e-3
    )


class MotionStatus(NamedTuple):
    """What becomes of the newest goal.

    Attributes
    ----------
    reason : str
        Why it is given up, or waits; a sentence, or empty.
    progress : float
        Share of the motion's time that is over.
    """

    phase: Phase
    reason: str = ""
    progress: float = 0.0

    def __str__(self) -> str:
        return f"{self.phase.value}: {self.reason}" if self.reason else self.phase.value


class MotionCommand(NamedTuple):
    """What the controller of joints is to follow.

    Attributes
    ----------
    begin_ns : int
        Stamp of time 0 of the points [ns]; 0: at once.
    """

    points: Waypoints
    begin_ns: int


class Step(NamedTuple):
    """What a state brings about."""

    plan: MotionPlan | None = None
    command: MotionCommand | None = None
