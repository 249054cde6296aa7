"""Scenarios without ROS: the loop is that of the parts; pushes and limits act."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from arm_control import RobotModel
from arm_control.app import cli
from arm_control.control import CompiledOsc, propose
from arm_control.core import yaml_document
from arm_control.exceptions import ParameterError
from arm_control.gate import EffortGate, GateParameters
from arm_control.motion import Reference
from arm_control.report import figures_of_simulation
from arm_control.simulation import MujocoSimulator, Scenario, Simulation, Trace, World


def test_a_run_is_law_gate_and_simulator_one_after_the_other(ur5: RobotModel):
    scenario = Scenario.load("ur5_star")
    trace = Simulation(scenario).run(0.2)
    q0 = np.array(scenario.nodes["simulator"]["initial_position"])
    simulator, gate = MujocoSimulator(ur5, q0), EffortGate(ur5, GateParameters())
    osc, goal = CompiledOsc(ur5, propose(ur5, posture=tuple(q0))), scenario.targets().targets[0]
    for k in range(200):
        np.testing.assert_array_equal(trace.q[k], simulator.q)
        output = osc.tick(simulator.q, simulator.v, Reference(goal))
        gate.offer(ur5.joint_names, output.tau)
        tau = gate.tick(output.state, 1e-3).tau
        np.testing.assert_array_equal(trace.tau[k], tau)
        np.testing.assert_array_equal(trace.terms["task"][k], output.terms["task"])
        np.testing.assert_array_equal(trace.p[k], output.state.X_WE.p)
        np.testing.assert_allclose(trace.error[k, :3], goal.p - output.state.X_WE.p, rtol=0, atol=1e-15)
        simulator.step(tau)
    assert len(trace.t) == 200
    assert len(trace.coarse_stamps) == len(trace.condition) == len(trace.distance) == 20


def test_a_run_that_goes_astray_ends_and_says_so():
    world = World.from_mapping({"pushes": [{"force": [1e8, 0.0, 1e8]}]}, "world")
    simulation = Simulation(replace(Scenario.load("ur5_push"), world=world))
    trace = simulation.run(1.0)
    assert trace.end_reason
    assert len(trace.t) < 1000
    assert figures_of_simulation(trace, simulation.model, simulation.targets, None)["diverged"] == 1.0


def test_an_unknown_parameter_and_a_missing_controller_are_refused():
    scenario = Scenario.load("ur5_star")
    for nodes, message in (
        ({"osc": {"kp": 1.0}}, "ur5_star: osc: unknown kp; allowed: "),
        ({"dynamics": {}}, "ur5_star has no controller"),
    ):
        with pytest.raises(ParameterError, match=message):
            Simulation(replace(scenario, nodes=nodes))


def test_parameters_of_the_node_alone_are_passed_over():
    scenario = Scenario.load("ur5_star")
    osc = {"lock_step": True, "telemetry_every": 50, "kp_linear": 123.0}
    assert Simulation(replace(scenario, nodes={**scenario.nodes, "osc": osc})).parameters.control.law.kp_linear == 123.0


def test_what_is_saved_holds_everything(tmp_path: Path):
    trace: Trace = Simulation(Scenario.load("ur5_star")).run(0.05)
    trace.save(str(tmp_path / "a.npz"))
    with np.load(tmp_path / "a.npz") as saved:
        assert {"q", "p", "p_des", "error", "condition", "distance", "tau_task", "tau_bias"} <= set(saved)
        np.testing.assert_array_equal(saved["tau_task"], trace.terms["task"])


# -- the command ---------------------------------------------------------------------------------------


def test_the_command_prints_the_variants_side_by_side_and_its_status_is_the_checks(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["simulate", "ur5_push", "--duration", "0.1"]) == 1
    out = capsys.readouterr().out
    assert out.split("\n")[2].split() == ["stiff", "soft"]
    assert "MISS  soft: reached is no, required is yes" in out
    assert cli.main(["simulate", "ur5_star", "--duration", "1.6"]) == 0
    assert "every check holds" in capsys.readouterr().out
    assert cli.main(["simulate", "ur5_star", "--variant", "real", "--duration", "0.1"]) == 0
    assert "nothing was checked" in capsys.readouterr().out
    assert cli.main(["simulate", "ur5_push", "--variant", "hard"]) == 2
    assert "no variant 'hard' of ur5_push; there are: stiff, soft" in capsys.readouterr().err


def test_an_arm_by_itself_is_to_reach_its_targets(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["simulate", "--robot", "ur5", "--duration", "0.1", "--variant", "real"]) == 1
    out = capsys.readouterr().out
    assert "reached is no, required is yes" in out
    assert "too short to judge: no target had its 3 s; give more with --duration" in out


def test_a_hand_that_presses_where_it_cannot_go_is_a_warning(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """The table is solid 3 cm above the target."""
    inside = [{"position": [0.511, 0.06, 0.17], "quat_xyzw": [0.7071, -0.7071, 0.0, 0.0]}]
    targets = {"frame": "base_link", "period": 4.0, "position_tolerance": 0.01, "orientation_tolerance": 0.1}
    (tmp_path / "inside.yaml").write_text(yaml_document({**targets, "targets": inside}))
    press = yaml.safe_load((Path(__file__).parents[2] / "config" / "scenarios" / "ur5_press.yaml").read_text())
    press["nodes"]["osc"] = {"publish_effort_array": False, "disturbance_observer": True, "inertia_floor": 0.02}
    press["nodes"]["simulator"] = {"plant.set": "real", "inertia_floor": 0.02}
    press["nodes"]["targets"] = {"file": str(tmp_path / "inside.yaml"), "count": 1}
    (tmp_path / "pressed.yaml").write_text(yaml_document({**press, "variants": {}, "checks": {}}))
    cli.main(["simulate", str(tmp_path / "pressed.yaml"), "--duration", "4"])
    assert " N against something that does not give way: cut to push_limit = 50 N" in capsys.readouterr().out
