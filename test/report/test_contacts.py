"""Pairs over many states."""

from __future__ import annotations

import numpy as np

from arm_control import Pose, RobotModel
from arm_control.collision import ContactMonitor, Margins
from arm_control.maths import Obstacle, Sphere
from arm_control.report import ObservedState, find_contacts


def test_several_shapes_of_a_marker_count_once_in_a_state(ur5: RobotModel):
    hand = ur5.pose(np.zeros(6)).p
    balls = [Obstacle(Sphere(0.05), Pose(np.eye(3), hand + offset)) for offset in (0.0, 0.01)]
    state = ObservedState(0.0, np.zeros(6), balls, ["wall/1", "wall/1"])
    contacts = find_contacts(ContactMonitor(ur5), [state, state], Margins(), 0.1)
    touching = [pair for pair in contacts.pairs if pair.n_contacts]
    assert {pair.n_contacts for pair in touching} == {2} == {contacts.n_in_contact}
    labels = [pair.nearest.label for pair in contacts.pairs]
    assert len(labels) == len({*labels})
