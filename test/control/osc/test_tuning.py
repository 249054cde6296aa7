"""Gains that nobody gave, the same for node, simulation and report; and the file that keeps gains."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from arm_control import RobotModel, urdf_path
from arm_control.app import cli
from arm_control.app.run_options import RunOptions
from arm_control.control.avoidance.avoidance_law import Avoidance, AvoidanceParameters
from arm_control.control.avoidance.proximity import Obstacle
from arm_control.control.laws import OscSimulation
from arm_control.control.osc.osc_parameters import OscParameters
from arm_control.control.osc.proposal import propose
from arm_control.control.osc.tuning import PROPOSED, OscTuning, Saved, parameter_text, said, tuned, with_avoidance
from arm_control.exceptions import ParameterError
from arm_control.maths.poses import Pose
from arm_control.maths.shapes import Sphere
from arm_control.simulation.offline import Simulation
from arm_control.simulation.scenario import Scenario


@pytest.mark.parametrize("robot", ["ur5", "planar2", "planar3", "arm6"])
def test_what_is_proposed_is_named(robot: str):
    model = RobotModel.from_urdf(urdf_path(robot))
    values, defaults = propose(model, 333.0), OscParameters()
    assert {name for name in OscParameters.types() if getattr(values, name) != getattr(defaults, name)} <= set(PROPOSED)


def test_what_is_given_stays_and_the_rest_is_proposed_around_it(ur5: RobotModel):
    given = {"kp_linear": 1000, "rate": 500.0, "posture": [0.0] * 6, "eta": 1e-3}
    p = tuned(OscTuning, given, ur5)
    wanted = propose(ur5, 500.0, kp_linear=1000.0, posture=(0.0,) * 6)
    assert {name: getattr(p, name) for name in OscParameters.types()} == vars(wanted)
    assert (p.kp_linear, p.rate, p.eta) == (1000.0, 500.0, 1e-3)
    assert "kp_linear" not in said(p, given)
    assert said(p, given).startswith("kp_angular = 200, speed_limit_linear = ")
    off = tuned(OscTuning, {"propose_gains": False}, ur5)
    assert {name: getattr(off, name) for name in OscParameters.types()} == vars(OscParameters())
    assert said(off, ()) == ""


def test_while_the_arm_is_unknown_what_is_given_is_checked_as_far_as_it_can_be(ur5: RobotModel):
    """A gain that the default limits could not stop from is fine: limits will be proposed for it."""
    with pytest.raises(ParameterError, match="acceleration_limit_linear"):
        OscParameters(kp_linear=4000.0)
    assert tuned(OscTuning, {"kp_linear": 4000.0}, None).kp_linear == 4000.0
    assert tuned(OscTuning, {"kp_linear": 4000.0}, ur5).kp_linear == 4000.0
    for given, message in (
        ({"kp": 1.0}, "here: unknown kp; allowed: "),
        ({"kp_linear": -1.0}, "kp_linear = -1.0 is out of bounds"),
        ({"kp_linear": "high"}, "kp_linear = 'high': a float is needed"),
        ({"rate": 0.0}, "rate = 0.0 is out of bounds"),
        ({"propose_gains": "no"}, "propose_gains = 'no': a bool is needed"),
    ):
        for model in (None, ur5):
            with pytest.raises(ParameterError, match=message):
                tuned(OscTuning, given, model, "here")
    with pytest.raises(ParameterError, match=r"acceleration_limit_linear = 1\.0 is too small"):
        tuned(OscTuning, {"acceleration_limit_linear": 1.0, "speed_limit_linear": 1.0}, ur5)


def test_node_simulation_and_report_of_a_scenario_have_the_same_gains(ur5: RobotModel):
    osc = Simulation(Scenario.load("ur5_push"), "soft").parameters
    options = RunOptions("ur5_push", variant="soft")
    values = options.controller_parameters(OscTuning, options.load())
    model = Simulation(Scenario.load("ur5_push"), "soft").model
    reported = tuned(OscTuning, values, model)
    assert {name: getattr(osc, name) for name in OscTuning.types()} == vars(reported)
    assert osc.kp_linear == 50.0
    assert osc.speed_limit_linear == propose(model, kp_linear=50.0, kp_angular=50.0).speed_limit_linear != 0.5
    assert isinstance(osc, OscSimulation)


def test_the_terms_add_up_with_avoidance_also_where_it_takes_over(ur5: RobotModel):
    q = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
    terms, law = ur5.evaluate(q, np.full(6, 0.2)), Avoidance(ur5, AvoidanceParameters())
    parts = {"task": np.arange(6.0), "bias": terms.h}
    for distance in (0.2, 0.1, 0.0):
        out = law.tick(terms, [Obstacle(Sphere(0.05), Pose(np.eye(3), terms.X_WE.p + [0.0, 0.05 + distance, 0.0]))])
        tau, told = with_avoidance(sum(parts.values()), parts, out)
        np.testing.assert_array_equal(tau, out.combined(sum(parts.values())))
        np.testing.assert_allclose(sum(told.values()), tau, rtol=0, atol=1e-9)
    assert out.takeover


# -- the file ------------------------------------------------------------------------------------------

ODD = [
    Saved("a", 0.1 + 0.2, "a length [m]"),
    Saved("b", 1e-05, "small\nand in two lines"),
    Saved("c", 1e300, ""),
    Saved("d", 5, "a count"),
    Saved("e", True, "yes or no"),
    Saved("f", [1.0, 2e-9], "numbers"),
    Saved("g", "it's: on", "a word"),
    Saved("h", ["x y", "rz"], "words"),
]


def test_a_saved_file_is_read_back_with_the_same_types_to_the_last_bit():
    text = parameter_text("/cell/osc", ODD)
    back = yaml.safe_load(text)["/**/osc"]["ros__parameters"]
    assert back == {one.name: one.value for one in ODD}
    assert [type(value) for value in back.values()] == [type(one.value) for one in ODD]
    assert "    # a length [m]\n    a: 0.30000000000000004\n" in text
    assert "    # small and in two lines\n" in text


def test_the_command_refuses_to_overwrite_and_says_what_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    fake = SimpleNamespace(live_parameters=lambda node, namespace: ODD[:2])
    monkeypatch.setitem(__import__("sys").modules, "arm_control.nodes.tools.command_line_node", fake)
    file = tmp_path / "gains.yaml"
    file.write_text("mine")
    assert cli.main(["tune", "save", str(file)]) == 2
    assert f"{file} exists already" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert cli.main(["tune", "save", str(file), "--force"]) == 0
    assert "2 parameters of osc" in capsys.readouterr().out
    assert yaml.safe_load(file.read_text())["/**/osc"]["ros__parameters"]["b"] == 1e-05
    assert cli.main(["tune", "save", str(tmp_path / "no" / "gains.yaml")]) == 2
    assert "cannot be written: No such file" in capsys.readouterr().err
