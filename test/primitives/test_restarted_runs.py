"""A run that begins anew, goes on from elsewhere, and looks ahead."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.maths import Pose, rotation_from_rpy
from arm_control.primitives import Demonstration, Primitive, PrimitiveRun

T = np.linspace(0.0, 1.0, 101)
RISE = T**3 * (10.0 - 15.0 * T + 6.0 * T**2)


@pytest.fixture(scope="module")
def reach() -> Primitive:
    return Primitive.learn(Demonstration(T, np.column_stack([RISE + 0.1 * np.sin(np.pi * T) ** 2, -2.0 * RISE])))


@pytest.fixture(scope="module")
def wave() -> Primitive:
    turn = 2.0 * np.pi * T
    return Primitive.learn(Demonstration(T, np.column_stack([np.sin(turn), np.cos(turn)])), "rhythmic")


@pytest.fixture(scope="module")
def turning() -> Primitive:
    quats = np.column_stack([0.0 * T, 0.0 * T, np.sin(RISE / 2.0), np.cos(RISE / 2.0)])
    return Primitive.learn(Demonstration(T, np.column_stack([RISE, 0.2 * RISE, 0.0 * T]), quats))


def test_a_run_begins_anew_as_a_new_one_does(reach: Primitive, wave: Primitive):
    for primitive in (reach, wave):
        used = PrimitiveRun(primitive)
        for _ in range(30):
            used.step(0.01)
        options = {"start": [0.1, 0.2], "goal": [0.5, -0.7], "duration": 0.8, "amplitude": 1.2}
        options["start_velocity"] = [0.3, 0.0]
        used.restart(**options)
        new = PrimitiveRun(primitive, **options)
        assert used.duration == new.duration == 0.8
        for _ in range(50):
            np.testing.assert_array_equal(used.step(0.01).q_des, new.step(0.01).q_des)


def test_a_preview_is_what_comes_and_changes_nothing(reach: Primitive, wave: Primitive, turning: Primitive):
    for primitive in (reach, wave, turning):
        run, same = PrimitiveRun(primitive), PrimitiveRun(primitive)
        for each in (run, same):
            for _ in range(20):
                each.step(0.01)
        times, ahead = run.preview(1.5, 75)
        np.testing.assert_allclose(times, 0.02 * np.arange(1, 76))
        assert str(run.step(0.0)) == str(same.step(0.0)), "the present reference is there again"
        for expected in ahead:
            found = run.step(0.02)
            assert str(found) == str(expected)
            same.step(0.02)
        assert run.phase == same.phase


def test_a_checkpoint_brings_back_the_orientation_that_turns_are_about(turning: Primitive):
    run, new = PrimitiveRun(turning), PrimitiveRun(turning)
    go_back = run.checkpoint()
    run.restart(start=Pose(rotation_from_rpy([1.0, 0.2, 0.3]), np.zeros(3)), goal=turning.learned_goal())
    run.step(0.1)
    go_back()
    for each in (run, new):
        each.set_goal(Pose(rotation_from_rpy([0.1, 0.2, 1.0]), np.ones(3)))
    for _ in range(10):
        np.testing.assert_array_equal(run.step(0.1).X_WT.R, new.step(0.1).X_WT.R)
