"""Scenarios whose goals are planned for."""

from __future__ import annotations

import pytest

from arm_control.exceptions import ParameterError
from arm_control.simulation import Scenario, planned


def test_joint_and_planner_take_the_place_of_the_controller():
    scenario = Scenario.load("ur5_obstacle")
    chosen = planned(scenario, "with").with_options(awaits_controller=True, paced=True)
    assert list(chosen.nodes) == ["simulator", "dynamics", "joint", "planner", "targets"]
    arm = scenario.variant("with").arm()
    assert arm
    assert chosen.nodes["planner"] == {**arm, "lock_step": True}
    assert chosen.nodes["joint"] == {**arm, "lock_step": True, "publish_effort_array": False}
    assert (chosen.controller, chosen.awaited()) == ("joint", {"targets": 0, "obstacles": 1})
    real = planned(scenario, "real").with_options()
    assert real.nodes["joint"]["disturbance_observer"] is True


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ur5_ilqr", "ur5_ilqr has the controller ilqr, which follows no plans; allowed: osc, joint"),
        ("ur5_joint", "the targets of ur5_joint are a way of their own, which cannot be planned for"),
        ("ur4_damped", "ur4_damped has no controller, which follows no plans; allowed: osc, joint"),
    ],
)
def test_what_cannot_be_planned_for_is_a_sentence(name: str, sentence: str):
    with pytest.raises(ParameterError, match=f"^{sentence}$"):
        planned(Scenario.load(name))
