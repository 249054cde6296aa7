"""Gains that nobody gave, the same for node, simulation and report; and the file that keeps gains."""

from __future__ import annotations

import re

import pytest

from arm_control import RobotModel
from arm_control.app import RunOptions
from arm_control.control import OscParameters, OscTuning, propose, resolve_parameters
from arm_control.controllers import OscLoopParameters
from arm_control.exceptions import ParameterError
from arm_control.simulation import Scenario, Simulation


def test_while_the_arm_is_unknown_what_is_given_is_checked_as_far_as_it_can_be(ur5: RobotModel):
    """A gain that the default limits could not stop from is fine: limits will be proposed for it."""
    with pytest.raises(ParameterError, match="acceleration_limit_linear"):
        OscParameters(kp_linear=4000.0)
    assert resolve_parameters(OscTuning, {"kp_linear": 4000.0}, None).law.kp_linear == 4000.0
    assert resolve_parameters(OscTuning, {"kp_linear": 4000.0}, ur5).law.kp_linear == 4000.0
    for given, message in (
        ({"kp": 1.0}, "here: unknown kp; allowed: "),
        ({"kp_linear": -1.0}, "kp_linear = -1.0 is out of bounds"),
        ({"kp_linear": "high"}, "kp_linear = 'high': a float is needed"),
        ({"rate": 0.0}, "rate = 0.0 is out of bounds"),
        ({"propose_gains": "no"}, "propose_gains = 'no': a bool is needed"),
    ):
        for model in (None, ur5):
            with pytest.raises(ParameterError, match=message):
                resolve_parameters(OscTuning, given, model, "here")
    with pytest.raises(ParameterError, match=r"acceleration_limit_linear = 1\.0 is too small"):
        resolve_parameters(OscTuning, {"acceleration_limit_linear": 1.0, "speed_limit_linear": 1.0}, ur5)


def test_an_arm_for_which_no_gain_can_be_proposed_is_told_apart_from_a_wrong_value(ur5: RobotModel):
    text = re.sub(r'(?<=i[xyz][xyz]=")[^"]*', lambda moment: f"{1e6 * float(moment[0])}", ur5.urdf.text)
    inert = RobotModel.from_urdf(text)
    with pytest.raises(ParameterError, match=r"^proposed for this arm: speed_limit_linear = .*compare its masses"):
        resolve_parameters(OscTuning, {}, inert)


def test_node_simulation_and_report_of_a_scenario_have_the_same_gains():
    osc = Simulation(Scenario.load("ur5_push"), "soft").parameters
    options = RunOptions("ur5_push", variant="soft")
    values = options.controller_parameters(OscTuning, options.load())
    model = Simulation(Scenario.load("ur5_push"), "soft").model
    reported = resolve_parameters(OscTuning, values, model)
    assert isinstance(osc, OscLoopParameters)
    assert osc.control == reported
    law = osc.control.law
    assert law.kp_linear == 50.0
    assert law.speed_limit_linear == propose(model, kp_linear=50.0, kp_angular=50.0).speed_limit_linear != 0.5
