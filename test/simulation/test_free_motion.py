"""Scenarios without a controller: what is recorded, what is drawn, what is refused."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arm_control.app import main
from arm_control.exceptions import ParameterError
from arm_control.maths import Span
from arm_control.report import figures_of_free_motion
from arm_control.simulation import FreeMotion, Push, Scenario, World, merged


def test_the_record_begins_with_the_start_and_has_the_energies_of_the_model():
    motion = FreeMotion(Scenario.load("ur4_end_stops"))
    trace = motion.run(0.3)
    np.testing.assert_allclose(trace.t, 1e-3 * np.arange(301), rtol=0, atol=1e-12)
    assert (trace.kinetic[0], trace.energy_change[0]) == (0.0, 0.0)
    np.testing.assert_array_equal(trace.q[0], Scenario.load("ur4_end_stops").nodes["simulator"]["initial_position"])
    assert trace.kinetic[-1] == pytest.approx(motion.model.kinetic_energy(trace.q[-1], trace.v[-1]))
    assert trace.potential[-1] == pytest.approx(motion.model.potential_energy(trace.q[-1]))
    np.testing.assert_allclose(trace.beyond[:, 1], np.maximum(trace.q[:, 1] - 0.5, 0.0), rtol=0, atol=1e-15)
    assert figures_of_free_motion(trace)["overshoot"] == trace.beyond.max() > 0.0
    np.testing.assert_array_equal(motion.run(0.3).q, trace.q)


def test_a_push_without_a_controller_is_refused():
    pushed = replace(Scenario.load("ur4_damped"), world=World(pushes=(Push(np.ones(6), Span(0.0, 1.0)),)))
    with pytest.raises(ParameterError, match="a node simulator, and no pushes, are needed"):
        FreeMotion(pushed)


def test_an_end_in_absurd_numbers_is_a_figure_and_a_reason():
    scenario = Scenario.load("ur4_end_stops")
    stiff = {"simulator": {"rigid_body.scheme": "euler", "rigid_body.stop_stiffness": [1e9]}}
    trace = FreeMotion(replace(scenario, nodes=merged(scenario.nodes, stiff)), "semi_implicit").run()
    assert figures_of_free_motion(trace)["diverged"] == 1.0
    assert "diverged at t =" in trace.end_reason
    assert np.isfinite(trace.q).all()


def test_the_command_may_choose_the_engine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.delitem(sys.modules, "arm_control.simulation.mujoco_simulator", raising=False)
    assert main(["simulate", "planar2_reach", "--duration", "0.05"]) == 2
    assert "'mujoco' is not installed" in capsys.readouterr().err
    assert main(["simulate", "planar2_reach", "--duration", "0.05", "--engine", "rigid_body"]) == 1  # too short
    assert "MISS  reached" in capsys.readouterr().out


@pytest.mark.usefixtures("quick_pictures")
def test_the_command_compares_draws_and_writes_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    name = "ur4_end_stops"
    variants = list(Scenario.load(name).variants)[:2]
    options = [word for variant in variants for word in ("--variant", variant)]
    assert main(["simulate", name, *options, "--duration", "0.05", "--report", str(tmp_path)]) == 1  # too short
    output = capsys.readouterr().out
    assert "kinetic energy [J]" in output
    assert f"MISS  {variants[0]}: " in output
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.png", *(f"{name}_{v}.npz" for v in variants)}
    assert np.load(tmp_path / f"{name}_{variants[0]}.npz")["q"].shape == (51, 4)
