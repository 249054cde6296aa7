"""When plans are asked for, and which torque counts meanwhile: against a planner that answers when it is told to."""

from __future__ import annotations

import numpy as np
import pytest
from problems import planar

from arm_control.model import Terms
from arm_control.optimal import Answer, InlinePlanner, PlanFollower, ReachPlanner, RecedingParameters, Request
from arm_control.optimal.reach import PlanTorque, hold

MS = 1_000_000
START = np.array([0.5, 1.0])
PARAMETERS = RecedingParameters(orientation_weight=0.0)
MODEL = planar(2)
GOAL, OTHER = MODEL.pose([0.8, 0.7]), MODEL.pose([0.3, 1.2])


class Slow:
    """Answers when it is told to; remembers what it was asked."""

    alive = True

    def __init__(self) -> None:
        self.inline, self.asked, self.sentence = InlinePlanner(ReachPlanner(MODEL, PARAMETERS)), list[Request](), ""
        self._answer: Answer | None = None

    def request(self, request: Request) -> None:
        self.asked.append(request)

    def answer(self, failure: str = "") -> None:
        self.inline.request(self.asked[-1])
        answer = self.inline.poll()
        self._answer = answer._replace(plan=None, failure=failure) if failure else answer

    def poll(self, wait: bool = False) -> Answer | None:
        answer, self._answer = self._answer, None
        return answer


class Case:
    """A follower, and its planner; ``tick`` gives it a state."""

    def __init__(self, **changes: float) -> None:
        self.planner = Slow()
        self.follower = PlanFollower(MODEL, PARAMETERS.replace(**changes), self.planner, False)
        self.follower.hold(START)

    def tick(self, ms: int, target: object = GOAL, q=START, v=(0.0, 0.0)) -> PlanTorque:
        return self.follower.tick(ms * MS, terms(q, v), target, target)

    @property
    def stamps(self) -> list[int]:
        return [round(request.stamp_ns / MS) for request in self.planner.asked]


def terms(q=START, v=(0.0, 0.0)) -> Terms:
    return MODEL.evaluate(q, v)


def assert_holds(torque: PlanTorque, q=START) -> None:
    np.testing.assert_allclose(torque.tau, hold(terms(), q, 0.9 * MODEL.tau_max).tau, atol=1e-12)


def test_a_new_target_is_planned_for_once_and_held_until_the_answer_is_there():
    case = Case()
    for ms in range(5):
        assert_holds(case.tick(ms))
    assert case.stamps == [0]
    assert not case.planner.asked[0].is_warm
    case.planner.answer()
    torque = case.tick(5)
    plan = case.follower.plan
    np.testing.assert_array_equal(torque.tau, plan.command(0.005, terms()).tau)
    assert plan.stamp_ns == 0
    case.tick(30, q=plan.state(0.03)[:2])
    assert case.stamps == [0]


def test_another_target_is_asked_for_when_the_answer_to_the_first_is_there():
    case = Case()
    case.tick(0)
    case.tick(1, OTHER)
    assert case.stamps == [0]
    case.planner.answer()
    case.tick(2, OTHER)
    assert case.stamps == [0, 2]
    assert case.planner.asked[1].X_WT is OTHER
    assert case.planner.asked[1].is_warm


def test_outside_the_tube_a_new_plan_is_made_from_there():
    case = Case(tube=0.05)
    case.tick(0)
    case.planner.answer()
    x = case.tick(1) and case.follower.plan.state(0.1)[:2]
    case.tick(100, q=x + [0.0, 0.049])
    assert case.stamps == [0]
    case.tick(101, q=x + [0.0, 0.06])
    assert case.stamps == [0, 101]
    np.testing.assert_array_equal(case.planner.asked[1].x0[:2], x + [0.0, 0.06])
    case.planner.answer()
    case.tick(102, q=x + [0.0, -0.06])
    assert case.stamps == [0, 101], "not before a step of the plan is over"
    case.tick(121, q=x + [0.0, -0.06])
    assert case.stamps == [0, 101, 121]


def test_at_a_rate_plans_follow_each_other_also_at_rest():
    case = Case(replan_rate=50.0)
    for ms in range(101):
        case.tick(ms)
        if case.planner.asked and case.stamps[-1] == ms:
            case.planner.answer()
    assert case.stamps == [0, 20, 40, 60, 80, 100]
    assert [request.is_warm for request in case.planner.asked] == [False, *[True] * 5]


def test_a_late_plan_does_not_delay_those_after_it():
    case = Case(replan_rate=50.0)
    for ms in (0, 13, 27, 39, 41, 59, 60, 95, 101):
        case.tick(ms)
        if case.stamps[-1] == ms:
            case.planner.answer()
    assert case.stamps == [0, 27, 41, 60, 95, 101]


def test_a_failed_solve_keeps_the_plan_says_why_and_is_tried_again():
    case = Case(replan_rate=0.0)
    case.tick(0)
    case.planner.answer()
    case.tick(1)
    plan = case.follower.plan
    case.tick(20, OTHER)
    case.planner.answer("no way")
    for ms in range(21, 120):
        torque = case.tick(ms, OTHER)
        np.testing.assert_allclose(torque.tau, plan.command(ms * 1e-3, terms()).tau, atol=1e-9)
    assert case.follower.failure == "no way"
    assert case.stamps == [0, 20]
    case.tick(120, OTHER)
    assert case.stamps == [0, 20, 120]
    case.planner.answer()
    case.tick(121, OTHER)
    assert case.follower.plan.stamp_ns == 120 * MS
    assert case.follower.failure == ""


def test_a_plan_that_does_not_go_all_the_way_is_renewed_in_its_middle():
    case = Case()
    case.planner.inline = InlinePlanner(ReachPlanner(MODEL, PARAMETERS.replace(far=0.01)))
    case.tick(0)
    case.planner.answer()
    for ms in range(1, 501):
        x = case.follower.plan.state(ms * 1e-3) if case.follower.plan else np.concatenate([START, np.zeros(2)])
        case.tick(ms, q=x[:2], v=x[2:])
    assert case.stamps == [0, 500]


def test_after_hold_an_answer_to_an_old_request_is_dropped():
    case = Case()
    case.tick(0)
    case.planner.answer()
    case.follower.hold(START + 0.1)
    case.tick(0, None)
    assert case.follower.plan is None
    assert_holds(case.tick(1, None), START + 0.1)
    case.tick(2)
    assert case.stamps == [0, 2]
    assert not case.planner.asked[1].is_warm


def test_one_that_waits_follows_the_plan_from_the_state_it_starts_in():
    inline = InlinePlanner(ReachPlanner(MODEL, PARAMETERS))
    follower = PlanFollower(MODEL, PARAMETERS, inline, True)
    follower.hold(START)
    torque = follower.tick(0, terms(), GOAL, GOAL)
    np.testing.assert_array_equal(torque.tau, follower.plan.us[0])


@pytest.mark.parametrize("offset", [0.0, 0.03])
def test_the_tube_error_is_the_largest_distance_of_a_joint(offset: float):
    case = Case()
    assert case.follower.tube_error(0, terms(START + [0.0, offset])) == pytest.approx(offset)
    case.tick(0)
    case.planner.answer()
    case.tick(1)
    x = case.follower.plan.state(0.2)[:2]
    assert case.follower.tube_error(200 * MS, terms(x - [offset, 0.0])) == pytest.approx(offset)
