"""Jerk-limited motions by ruckig, as a trajectory of our own."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from arm_control.exceptions import InputError, MissingExtra
from arm_control.maths import Array
from arm_control.motion import JointReference, JointTrajectory
from arm_control.motion.jerk_limited import jerk_limited

LIMITS = [np.full(3, value) for value in (1.0, 3.0, 20.0)]


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with pytest.raises(MissingExtra, match=r"pip install 'arm_control\[jerk\]'"):
        jerk_limited(JointReference.at_rest(np.zeros(3)), np.ones(3), *LIMITS)


@pytest.mark.parametrize(
    ("goal", "limits", "message"),
    [
        (np.ones(2), LIMITS, r"q_goal has shape \(2,\); allowed: 3 finite numbers"),
        (np.full(3, np.nan), LIMITS, "q_goal has shape"),
        (np.ones(3), [*LIMITS[:2], np.zeros(3)], "j_max = .*: positive numbers are needed"),
        (np.zeros(3), LIMITS, "there is no motion"),
    ],
)
def test_bad_numbers_are_refused(goal: Array, limits: list[Array], message: str):
    with pytest.raises(InputError, match=message):
        jerk_limited(JointReference.at_rest(np.zeros(3)), goal, *limits)


def test_it_is_one_motion_within_its_limits():
    pytest.importorskip("ruckig")
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.5):
        start = JointReference(rng.normal(size=3), scale * rng.normal(size=3), scale * rng.normal(size=3))
        goal = rng.normal(size=3)
        motion = jerk_limited(start, goal, *LIMITS)
        assert isinstance(motion, JointTrajectory)
        np.testing.assert_allclose(motion.end.q_des, goal, atol=1e-8)
        np.testing.assert_allclose(motion.sample(0.0).v_des, start.v_des, atol=1e-12)
        for knot in motion.knots[1:-1]:
            before, after = motion.sample(knot - 1e-9), motion.sample(knot)
            for x, y in zip(before, after, strict=True):
                np.testing.assert_allclose(x, y, atol=1e-6)
        _, _, v, a = motion.samples()
        assert np.abs(v).max() <= 1.0 + 1e-9
        assert np.abs(a).max() <= 3.0 + 1e-9
        assert np.abs(6.0 * motion.pieces[:, 3]).max() <= 20.0 * (1 + 1e-6)
