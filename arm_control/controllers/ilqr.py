"""The controller of planned reaches: plans of a planner, followed until a new one is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from arm_control.control import (
    Controller,
    ControllerNodeParameters,
    ControllerRow,
    LawOutput,
    LoopParameters,
    Measurement,
    pose_error,
    pose_figures,
    pose_goal,
)
from arm_control.core import group
from arm_control.exceptions import InputError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.motion import Goal, PoseFollower, TwistJog
from arm_control.optimal import PlanFollower, PlannerClient, RecedingParameters, reach_planner

PLANNER_DIED = "the planner has died"


@dataclass(frozen=True)
class IlqrLoopParameters(LoopParameters):
    """Planned reaches behind a gate."""

    control: RecedingParameters = group(RecedingParameters)


@dataclass(frozen=True)
class IlqrNodeParameters(IlqrLoopParameters, ControllerNodeParameters):
    """Parameters of the node ``ilqr``."""


class IlqrController(Controller):
    """Planned reaches of poses (:mod:`arm_control.optimal.receding`).

    Parameters
    ----------
    planner : PlannerClient
        What plans; it has the same parameters.
    waits : bool
        Whether a state waits for the plan that it asks for.
    """

    has_schedule = True

    def __init__(
        self,
        model: RobotModel,
        parameters: RecedingParameters,
        planner: PlannerClient,
        *,
        waits: bool,
        follower: PoseFollower | None = None,
    ) -> None:
        self._model = model
        self._planner = planner
        self._follower = PoseFollower(model) if follower is None else follower
        self.plans = PlanFollower(model, parameters, planner, waits)

    def configure(self, parameters: RecedingParameters) -> None:
        """Take another tube and rate; they act from the next tick on."""
        self.plans.parameters = parameters

    def add(self, goal: Goal) -> None:
        if isinstance(goal, TwistJog):
            raise InputError("planned reaches follow targets, not velocities")
        self._follower.add(pose_goal(goal))

    def restart(self, q: Array) -> None:
        self._follower.restart(q)
        self.plans.hold(q)

    @property
    def is_holding(self) -> bool:
        return self._follower.is_holding

    def hold(self, stamp_ns: int, q: Array) -> None:
        self._follower.hold(stamp_ns, q)
        self.plans.hold(q)

    def tick(self, measurement: Measurement, tau_dist: Array | None, *_: Any) -> LawOutput:
        stamp_ns = measurement.stamp_ns
        terms = self._model.evaluate(measurement.q, measurement.v)
        X_WT = self._follower.reference(stamp_ns, measurement.q).X_WT
        torque = self.plans.tick(stamp_ns, terms, self._follower.active, X_WT)
        torque_terms = {"feedforward": torque.feedforward, "feedback": torque.feedback}
        fault = "" if self._planner.alive else PLANNER_DIED
        return LawOutput(
            terms, torque.tau, lambda: torque_terms, X_WT, lambda: self._figures(stamp_ns, terms, X_WT), fault=fault
        )

    def _figures(self, stamp_ns: int, terms: Terms, X_WT: Pose) -> dict[str, float]:
        figures = {"tube_error": self.plans.tube_error(stamp_ns, terms), **pose_figures(pose_error(terms.X_WE, X_WT))}
        if (plan := self.plans.plan) is not None:
            figures |= {"plan_cost": plan.cost, "plan_iterations": float(plan.iterations)}
        if (newest := self.plans.last_answer) is not None:
            figures["plan_ms"] = 1e3 * newest.seconds
        return figures


def make_ilqr(model: RobotModel, parameters: IlqrLoopParameters) -> Controller:
    """Return planned reaches whose plans are made in this process; the arguments are those of a row's ``make``."""
    return IlqrController(model, parameters.control, reach_planner(parameters.control, model), waits=True)


ROW = ControllerRow(
    name="ilqr",
    parameters=IlqrLoopParameters,
    node_parameters=IlqrNodeParameters,
    make=make_ilqr,
    torque_terms=("feedforward", "feedback"),
    figures=("plan_cost", "plan_iterations", "plan_ms", "tube_error", "position_error", "orientation_error"),
    goals=("target_pose",),
)
