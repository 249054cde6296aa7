"""Arms whose inertias MuJoCo refuses, with the mass matrix of the model."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.model import RobotModel
from arm_control.simulation import MujocoSimulator
from arm_control.simulation.mujoco_simulator import possible_inertias

LINK = """<link name="{name}"><inertial><origin xyz="0.1 0.02 -0.05" rpy="0.4 -0.2 1"/><mass value="2"/>
  <inertia ixx="{xx}" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.012"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="0 0.1 0.3" rpy="0.3 0 0"/><axis xyz="1 2 {name}"/>
  <limit lower="-2" upper="2" effort="9" velocity="3"/></joint>"""


def arm(xx: str) -> RobotModel:
    links = LINK.format(name="a", xx=xx) + LINK.format(name="b", xx="0.02") + '<link name="base"/>'
    joints = JOINT.format(name="1", parent="base", child="a") + JOINT.format(name="2", parent="a", child="b")
    return RobotModel.from_urdf(f'<robot name="arm">{links}{joints}</robot>')


@pytest.mark.parametrize("xx", ["0.0235", "-1e-24"])
def test_mujoco_gets_an_identified_inertia_as_it_is(xx: str):
    """It compares its mass matrix with the model's; the acceleration is compared in another posture, too."""
    model = arm(xx)
    assert model.warnings
    q = np.array([0.4, -0.9])
    simulator = MujocoSimulator(model, q)
    tau = np.array([1.0, -0.5])
    simulator.step(tau)
    a = simulator.v / simulator.timestep
    np.testing.assert_allclose(a, model.forward_dynamics(q, np.zeros(2), tau), rtol=1e-3)


def test_possible_inertias_stay_as_they_are():
    text = arm("0.02").urdf.text
    assert arm("0.02").warnings == ()
    assert possible_inertias(text) == (text, False)
    assert possible_inertias(arm("0.0235").urdf.text)[1]
