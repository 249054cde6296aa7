"""The benchmark of the planner runs, and measures all that does not need crocoddyl; figures are no matter of tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmark" / "ilqr.py"


@pytest.mark.campaign
def test_it_measures_what_it_promises(tmp_path):
    file = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARK), "--quick", "--alone", "--json", str(file)]
    environment = {**os.environ, "ARM_CONTROL_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    for key in ("iteration_ms", "box_iteration_ms", "to_0.1_percent_ms", "vs_finite_differences", "compile_s"):
        assert figures[f"ur5.n100.{key}"] > 0.0
    assert "ur5.n100.vs_fddp" not in figures
    assert "missing: no crocoddyl here" in done.stdout
    optima = {name: x["optimum"] for name, x in figures["contenders"].items()}
    assert abs(optima["ours"] / optima["ours, differences"] - 1.0) < 1e-6
    assert optima["ours, limits"] > optima["ours"]
