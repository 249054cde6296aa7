"""Exciting motions: within limits, at rest at both ends, the same for the same seed, and better than chance."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.exceptions import InputError
from arm_control.identification import ExcitationParameters, excite
from arm_control.identification.excitation import N_SHRUNK
from arm_control.motion import JointReference, JointTrajectory, Waypoints

POSTURE = (0.0, -1.4, 1.9, -2.07, -1.57, 0.0)


def always(_: object) -> bool:
    return True


def test_a_motion_keeps_every_limit_and_begins_and_ends_at_rest(ur5: RobotModel):
    p = ExcitationParameters(posture=POSTURE, trials=8, period=8.0, acceleration=1.5)
    motion = excite(ur5, p, always)
    points = Waypoints.checked(
        ur5, ur5.joint_names, motion.points.times, motion.points.qs, motion.points.vs, motion.points.as_
    )
    assert points.times[[0, -1]].tolist() == [p.lead_time, p.lead_time + p.periods * p.period]
    assert not points.vs[[0, -1]].any()
    _, q, v, a = JointTrajectory.through(JointReference.at_rest(points.qs[0]), points).samples()
    slack = 1.01
    assert (np.abs(q - POSTURE) <= slack * p.swing).all()
    assert (np.abs(v) <= slack * p.speed_share * ur5.v_max).all()
    assert (np.abs(a) <= slack * p.acceleration).all()
    tau = np.array([ur5.inverse_dynamics(*state) for state in zip(points.qs, points.vs, points.as_, strict=True)])
    assert (np.abs(tau) <= p.torque_share * ur5.tau_max).all()
    np.testing.assert_allclose(np.abs(tau / ur5.tau_max).max(axis=0), motion.torque_share)
    np.testing.assert_allclose(points.qs[0], points.qs[-1], atol=1e-12)
    assert np.abs(q - POSTURE).max() > 0.3


def test_a_seed_gives_one_motion_and_more_trials_a_better_one(ur5: RobotModel):
    p = ExcitationParameters(posture=POSTURE, trials=2)
    first, again = excite(ur5, p, always), excite(ur5, p, always)
    np.testing.assert_array_equal(first.points.qs, again.points.qs)
    other = excite(ur5, p.replace(seed=1), always)
    assert np.abs(other.points.qs - first.points.qs).max() > 0.1
    assert excite(ur5, p.replace(trials=8), always).condition < first.condition


def test_motions_that_are_not_free_or_too_strong_are_refused(ur5: RobotModel):
    p = ExcitationParameters(posture=POSTURE, trials=3)
    asked = []

    def never(q: object) -> bool:
        asked.append(q)
        return False

    with pytest.raises(InputError, match="none of 3 motions"):
        excite(ur5, p, never)
    assert len(asked) == 3 * N_SHRUNK
    with pytest.raises(InputError, match="none of 3 motions"):
        excite(ur5, p.replace(torque_share=0.01), always)
    with pytest.raises(InputError, match="posture has 2 numbers, the arm 6 joints"):
        excite(ur5, p.replace(posture=(0.0, 1.0)), always)


def test_without_a_posture_the_motion_stays_within_the_range(panda: RobotModel):
    p = ExcitationParameters(trials=2, torque_share=1.0, range_share=0.6)
    q = excite(panda, p, always).points.qs
    middle, reach = 0.5 * (panda.q_min + panda.q_max), 0.5 * (panda.q_max - panda.q_min)
    assert (np.abs(q - middle) <= 0.61 * reach).all()
    beyond = excite(panda, p.replace(posture=panda.q_max + 0.5), always).points.qs
    assert (np.abs(beyond - middle) <= 0.61 * reach).all()


def test_a_motion_is_made_smaller_until_it_is_free(ur5: RobotModel):
    p = ExcitationParameters(posture=POSTURE, trials=3)

    def is_near(q: np.ndarray) -> bool:
        return bool(np.abs(q - POSTURE).max() < 0.6)

    q = excite(ur5, p, is_near).points.qs
    assert 0.3 < np.abs(q - POSTURE).max() < 0.6
