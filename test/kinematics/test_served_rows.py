"""Rows that an arm moves independently, and the condition number that counts no others."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.control import condition_number
from arm_control.core import urdf_path
from arm_control.kinematics import pose_rank
from arm_control.model import RobotModel


@pytest.mark.parametrize(("name", "rank"), [("planar1", 1), ("planar2", 2), ("planar4", 3), ("ur4", 4), ("panda", 6)])
def test_rank_of_an_arm(name: str, rank: int):
    assert pose_rank(RobotModel.from_urdf(urdf_path(name), backend="python")) == rank


def test_a_planar_arm_is_singular_only_where_it_is_straight():
    model = RobotModel.from_urdf(urdf_path("planar4"), backend="python")
    bent, straight = np.array([0.3, 0.8, -1.2, 0.9]), np.zeros(4)
    assert condition_number(model.jacobian(bent), pose_rank(model)) < 20.0
    assert condition_number(model.jacobian(straight), pose_rank(model)) > 1e9
