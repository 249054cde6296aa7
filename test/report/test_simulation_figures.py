"""Figures of made-up runs, and what is said when they are not as required."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from arm_control.exceptions import ParameterError
from arm_control.maths import Pose
from arm_control.model import RobotModel
from arm_control.motion import Motion, PosePoints, Target, TargetList
from arm_control.report import DEFINITIONS, failed_checks, figures_of_simulation, variants_table
from arm_control.simulation import Trace

MS = 1_000_000
N = 2001
HERE = Pose(np.eye(3), np.zeros(3))


@pytest.fixture
def trace() -> Trace:
    """Two targets of 1 s, x = 1 and back: straight with a bend of 0.1 the first time, there after 0.4 s."""
    t = np.arange(N) * 1e-3
    share = np.clip((t % 1.0) / 0.5, 0.0, 1.0)
    goal = np.where(t < 1.0, 1.0, 0.0)
    x = np.where(t < 1.0, share, 1.0 - share)
    bend = np.where(t < 1.0, 0.1 * np.sin(np.pi * share), 0.0)
    p = np.column_stack([x, bend, 0 * t])
    p_des = np.column_stack([goal, 0 * t, 0 * t])
    error = np.hstack([p_des - p, np.zeros((N, 3))])
    tau = np.zeros((N, 6))
    tau[1000:, 1] = 75.0
    q = np.zeros((N, 6))
    q[500, 2] = -0.3
    stamps = np.arange(N, dtype=np.int64) * MS
    targets = tuple(Target(k * 1000 * MS, "base_link", HERE) for k in range(2))
    looks = stamps[::10], np.linspace(2.0, 5.0, 201), np.linspace(0.3, 0.1, 201)
    V = np.hstack([np.gradient(p, t, axis=0), np.zeros((N, 3))])
    motion = p, V, error, (HERE, HERE), p_des
    return Trace(stamps, q, 0 * q, stamps, tau, targets, *motion, {}, *looks, 2 * tau, t > 1.5)


TARGETS = TargetList("base_link", 1.0, 0.2, 0.1, (HERE, HERE))


def test_figures_are_those_of_the_run(trace: Trace, ur5: RobotModel):
    figures = figures_of_simulation(trace, ur5, TARGETS, None)
    assert set(figures) == set(DEFINITIONS)
    expected = {
        "reached": 1.0,
        "largest_error": 1.0,
        "rms_error": np.sqrt(np.mean(np.sum(trace.error[:, :3] ** 2, axis=1))),
        "final_error": 1.0,  # the last state opens a third period
        "time_to_reach": 0.404,  # the bend costs 4 ms
        "straightness": 0.1,
        "torque_share": 0.5,
        "reached_share": 1.0,
        "law_torque_share": 1.0,
        "braked": 0.5,
        "torque_step": 75.0,
        "clearance": 0.1,
        "touches": 0.0,
        "excursion": 0.3,
        "last_excursion": 0.0,
        "condition_number": 5.0,
        "diverged": 0.0,
    }
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value, abs=2e-3), name
    assert np.isnan(figures["following_error"])


def test_a_motion_is_judged_after_it_has_settled_and_at_its_end(trace: Trace, ur5: RobotModel):
    motion = Motion("base_link", 0.2, 0.1, PosePoints(np.array([0.5, 2.0]), (HERE, HERE)))
    late = np.linalg.norm(trace.error[1500:, :3], axis=1).max()
    figures = figures_of_simulation(trace, ur5, None, motion)
    assert figures["following_error"] == pytest.approx(late)
    assert figures["reached"] == 0.0
    still = replace(trace, error=0 * trace.error, end_reason="it flew away", distance=trace.distance - 0.2)
    figures = figures_of_simulation(still, ur5, None, motion)
    assert [figures[name] for name in ("reached", "diverged", "touches")] == [1.0, 1.0, 1.0]


def test_without_obstacles_there_is_no_clearance(trace: Trace, ur5: RobotModel):
    figures = figures_of_simulation(replace(trace, distance=np.full(201, np.inf)), ur5, TARGETS, None)
    assert np.isnan([figures["clearance"], figures["touches"]]).all()
    assert failed_checks(figures, {"touches": False}) == ["touches is -, required is no"]


def test_what_is_not_as_required_is_said():
    figures = dict.fromkeys(DEFINITIONS, 0.5) | {"reached": 0.0, "touches": 1.0}
    assert failed_checks(figures, {"reached": False, "touches": True, "rms_error": {"most": 0.5, "least": 0.5}}) == []
    assert failed_checks(figures, {"reached": True, "rms_error": {"most": 0.4}, "clearance": {"least": 1}}) == [
        "reached is no, required is yes",
        "rms_error is 0.5, required is at most 0.4",
        "clearance is 0.5, required is at least 1",
    ]
    for bad, message in (
        ({"speed": True}, "unknown speed; allowed: "),
        ({"reached": 5}, "reached: true, false, or most and least"),
        ({"reached": {}}, "reached: true, false, or most and least"),
        ({"rms_error": {"max": 5}}, "rms_error: unknown max"),
    ):
        with pytest.raises(ParameterError, match=message):
            failed_checks(figures, bad)


def test_the_table_has_a_column_for_each_variant_and_no_empty_rows():
    one, two = (
        dict.fromkeys(DEFINITIONS, np.nan) | {"touches": 1.0},
        dict.fromkeys(DEFINITIONS, np.nan) | {"clearance": 0.25},
    )
    lines = variants_table({"with": one, "without": two}).split("\n")
    assert [line.split() for line in lines] == [
        ["with", "without"],
        ["clearance", "[m]", "-", "0.25"],
        ["touches", "yes", "-"],
    ]
