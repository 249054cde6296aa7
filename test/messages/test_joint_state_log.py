"""The log of joint states: batches give what reading each message gives, and memory is bounded."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from arm_control import RobotModel
from arm_control.messages import FIELDS, JointStateBytes, JointStateLog, JointStateWriter
from arm_control.messages.joint_state_log import BATCH


def written(model: RobotModel, n: int, seed: int = 0, first: int = 0) -> list[bytes]:
    """States 1 ms apart, joints in another order and a finger among them; some of braked controllers."""
    rng = np.random.default_rng(seed)
    writer = JointStateWriter([*reversed(model.joint_names), "finger"], FIELDS)
    frames = ["", "braked: a longer reason"]
    return [
        writer.message((first + k) * 10**6, *rng.normal(size=(3, model.nv + 1)), frame_id=frames[rng.integers(2)])
        for k in range(n)
    ]


def test_batches_are_what_reading_each_message_gives(ur5: RobotModel):
    log, messages = JointStateLog(10**6, "position", "effort"), written(ur5, 200)
    for part in np.array_split(np.arange(200), 7):
        log.extend(messages[k] for k in part)
    log.extend(messages[-1:])  # repeated
    stamps, q, tau = log.in_joint_order(ur5, Counter())
    assert stamps.tolist() == [k * 10**6 for k in range(200)]
    assert (log.first_ns, log.newest_ns) == (0, 199 * 10**6)
    reader = JointStateBytes()
    for k, fields in enumerate(map(reader.read, messages)):
        np.testing.assert_array_equal(q[k], ur5.in_joint_order(fields.name, fields.position))
        np.testing.assert_array_equal(tau[k], ur5.in_joint_order(fields.name, fields.effort, "effort"))


def test_what_is_no_state_of_the_arm_is_counted_by_its_cause(ur5: RobotModel):
    log, causes = JointStateLog(100, "position"), Counter[str]()
    q = np.zeros(6)
    log.extend(JointStateWriter(ur5.joint_names[:5], ["position"]).message(k, q[:5]) for k in (1, 2))
    log.extend([JointStateWriter(ur5.joint_names, ["effort"]).message(3, q)])
    bad = q.copy()
    bad[2] = np.nan
    log.extend(JointStateWriter(ur5.joint_names, ["position"]).message(k, x) for k, x in ((4, q), (5, bad), (6, q)))
    stamps, positions = log.in_joint_order(ur5, causes)
    assert stamps.tolist() == [4, 6]
    assert positions.shape == (2, 6)
    assert sorted(causes.values()) == [1, 1, 2]
    assert any("wrist_3_joint" in cause and count == 2 for cause, count in causes.items())


@pytest.mark.parametrize("n", [0, 1])
def test_an_empty_log_has_shapes_and_no_stamp(n: int, ur5: RobotModel):
    log = JointStateLog(10, "position", "velocity")
    log.extend(written(ur5, n, first=7))
    assert [part.shape for part in log.in_joint_order(ur5, Counter())] == [(n,), (n, 6), (n, 6)]
    assert log.newest_ns == (7 * 10**6 if n else -1)
    assert log.largest_dropped(ur5) is None


def test_old_messages_go_and_their_largest_values_stay(ur5: RobotModel):
    log, n = JointStateLog(BATCH, "effort"), 3 * BATCH
    messages = written(ur5, n)
    log.extend(messages)
    stamps, tau = log.in_joint_order(ur5, Counter())
    assert BATCH <= len(stamps) < 2 * BATCH
    assert log.n_dropped + len(stamps) == n
    assert (log.first_ns, stamps[-1]) == (0, (n - 1) * 10**6)
    everything = JointStateLog(10**6, "effort")
    everything.extend(messages)
    _, every_tau = everything.in_joint_order(ur5, Counter())
    np.testing.assert_array_equal(every_tau[-len(stamps) :], tau)
    np.testing.assert_array_equal(log.largest_dropped(ur5), np.abs(every_tau[: log.n_dropped]).max(axis=0))
