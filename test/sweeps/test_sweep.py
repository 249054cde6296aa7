"""What a file of a sweep may say, the points it means, and the rows of single runs. Nothing of the extra is needed."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from arm_control.app import cli
from arm_control.core import file_names
from arm_control.exceptions import ArmControlError, InputError, MissingExtra, ParameterError
from arm_control.sweeps import (
    VARYING,
    Axis,
    SamplePoints,
    Sweep,
    SweepReport,
    explained_share,
    in_order,
    levels,
    repeat_commands,
    run_row,
)

needs_scipy = pytest.mark.skipif(find_spec("scipy") is None, reason="SciPy is of the extra 'sweep'")
QUICK: dict[str, Any] = {
    "scenario": "planar2_reach",
    "duration": 0.05,
    "axes": {"osc.kp_linear": [100.0, 200.0], "simulator.plant.set": ["ideal", "real"], "payload": [0.1]},
    "figures": ["rms_error", "torque_share"],
}
CALLED = {"function": "test_sweep_module:square", "axes": {"x": [1.0, 2.0]}, "figures": ["y"]}


def sweep(**changes: Any) -> Sweep:
    return Sweep.from_content(QUICK | changes, "quick", trust=True)


def points(sampling: str = "grid", samples: int = 0, seed: int = 0, **axes: Any) -> list[dict[str, Any]]:
    read = tuple(Axis.from_content(name, content, seed, "axes") for name, content in axes.items())
    sampled = SamplePoints(read, sampling, samples, seed)
    return [sampled[k] for k in range(len(sampled))]


# -- axes and points -----------------------------------------------------------------------------------


def test_a_grid_has_all_combinations_the_last_axis_the_fastest():
    found = points(a=[1, 2], b=["x", "y", "z"])
    assert [tuple(point.values()) for point in found] == [(a, b) for a in (1, 2) for b in "xyz"]
    assert list(found[0]) == ["a", "b"]


def test_a_list_takes_the_values_of_all_axes_together():
    assert points("list", a=[1, 2], b=[[0.0], [1.0]]) == [{"a": 1, "b": [0.0]}, {"a": 2, "b": [1.0]}]
    with pytest.raises(ParameterError, match="equally many values; there are: a 2, b 1"):
        points("list", a=[1, 2], b=[3])


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ({"from": 1.0, "to": 2.0, "steps": 3}, [1.0, 1.5, 2.0]),
        ({"from": 1.0, "to": 100.0, "scale": "log", "steps": 3}, [1.0, 10.0, 100.0]),
        ({"from": 0, "to": 4, "steps": 3}, [0, 2, 4]),
        ({"from": 5.0, "to": 1.0, "steps": 1}, [5.0]),
    ],
)
def test_steps_of_a_range(content: dict[str, Any], values: list[Any]):
    found = [point["a"] for point in points(a=content)]
    assert found == pytest.approx(values, rel=1e-15)
    assert [type(x) for x in found] == [type(x) for x in values]
    assert found[-1] == values[-1]


def test_draws_have_their_distribution_and_depend_on_seed_and_name_only():
    normal = {"mean": 3.0, "deviation": 0.5, "draws": 2000}
    x = np.array([point["x"] for point in points(x=normal)])
    assert x.mean() == pytest.approx(3.0, abs=0.05)
    assert x.std() == pytest.approx(0.5, abs=0.03)
    log = np.log10([point["x"] for point in points(x={"from": 1.0, "to": 100.0, "scale": "log", "draws": 2000})])
    assert 0.0 <= log.min() < log.max() <= 2.0
    assert log.mean() == pytest.approx(1.0, abs=0.05)
    few = {"from": 0.0, "to": 1.0, "draws": 3}
    alone = [point["x"] for point in points(x=few)]
    assert [point["x"] for point in points("list", a=few, x=few)] == alone
    assert [point["a"] for point in points("list", a=few, x=few)] != alone
    assert [point["x"] for point in points(x=few, seed=1)] != alone


@needs_scipy
@pytest.mark.parametrize("sampling", ["sobol", "latin_hypercube"])
def test_quasi_random_points_fill_every_axis_evenly(sampling: str):
    axes = {"x": {"from": 0.0, "to": 16.0}, "a": ["p", "q"], "n": {"mean": 0.0, "deviation": 1.0}}
    found = points(sampling, 16, 3, **axes)
    assert sorted(int(point["x"]) for point in found) == list(range(16))
    assert [point["a"] for point in found].count("p") == 8
    assert sum(point["n"] < 0.0 for point in found) == 8
    assert found == points(sampling, 16, 3, **axes) != points(sampling, 16, 4, **axes)


def test_without_scipy_a_quasi_random_sampling_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingExtra, match=re.escape("arm_control[sweep]")):
        points("sobol", 8, x=[1.0])


# -- files ---------------------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"axis": {}}, "unknown axis; allowed: "),
    ({"function": "a.b:c"}, "a scenario or a function is needed, and not both"),
    ({"sampling": "random"}, "sampling = 'random', allowed grid, list, sobol, latin_hypercube"),
    ({"sampling": "sobol"}, "samples belong to the samplings sobol and latin_hypercube, which need them"),
    ({"samples": 8}, "samples belong to the samplings"),
    ({"sampling": "sobol", "samples": 12}, "samples = 12: sobol needs a power of two"),
    ({"axes": {}}, "axes: at least one is needed"),
    ({"axes": {"osc.kp_linear": []}}, "axes: osc.kp_linear: a list of values is needed, this one is empty"),
    ({"axes": {"osc.kp_linear": 3.0}}, "axes: osc.kp_linear: a mapping is needed, not float"),
    ({"axes": {"osc.kp_linear": {"from": 1.0}}}, "from and to are needed, as numbers"),
    ({"axes": {"osc.kp_linear": {"from": 1.0, "to": 2.0}}}, "osc.kp_linear: grid needs steps or draws"),
    ({"axes": {"osc.kp_linear": {"from": 0.0, "to": 2.0, "scale": "log", "steps": 2}}}, "they must be positive"),
    ({"axes": {"osc.kp_linear": {"from": 0.0, "to": 2.0, "scale": "cubic"}}}, "scale = 'cubic', allowed linear, log"),
    ({"axes": {"osc.kp_linear": {"from": 0, "to": 1, "steps": 5}}}, "5 steps repeat values; write 0.0 for 0"),
    ({"axes": {"osc.kp_linear": {"from": 0.0, "to": 1.0, "steps": 5, "draws": 2}}}, "steps or draws, not both"),
    ({"axes": {"osc.kp_linear": {"from": 0.0, "to": 1.0, "steps": 0}}}, "steps = 0: a whole number from 1 to"),
    ({"axes": {"osc.kp_linear": {"mean": 0.0, "deviation": -1.0, "draws": 1}}}, "they must be positive"),
    ({"axes": {"osc.kp_linear": {"from": 0.0, "to": 1.0, "steps": 10_000}, "payload": [0.0] * 1001}}, "at most"),
    ({"axes": {"osc.kp_linaer": [1.0]}}, "planar2_reach: osc: unknown kp_linaer; allowed: "),
    ({"axes": {"joint.kp": [1.0]}}, "'joint.kp' is nothing that a simulation reads; allowed: robot, payload, "),
    ({"axes": {"kp_linear": [1.0]}}, "'kp_linear' is nothing that a simulation reads"),
    ({"axes": {"simulator.plant.sett": [1.0]}}, "unknown plant.sett; allowed: "),
    ({"figures": ["rms_eror"]}, "figures: unknown rms_eror; allowed: "),
    ({"figures": []}, "figures: a list of names is needed: figures of simulate, or all"),
    ({"duration": -1.0}, "duration = -1.0: a time in seconds is needed"),
    ({"seed": 1.5}, "seed = 1.5: a whole number from 0 to"),
    ({"variant": "nix"}, "no variant 'nix' of planar2_reach"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_a_file_that_means_nothing_is_refused_before_the_first_run(changes: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=re.escape(message)):
        sweep(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"function": "module"}, "package.module:name is needed"),
        ({"variant": "a"}, "package.module:name is needed, without variant and duration"),
        ({"figures": "all"}, "a list of names is needed: entries of the function's dict"),
        ({"axes": {"error": [1]}}, "error: a column of this name is there already"),
        ({"figures": ["x"]}, "x: a column of this name is there already"),
        ({"figures": ["seed"]}, "seed: a column of this name is there already"),
    ],
)
def test_a_sweep_of_a_function_is_refused(changes: dict[str, Any], message: str):
    with pytest.raises(ParameterError, match=re.escape(message)):
        Sweep.from_content(CALLED | changes, "called", trust=True)


def test_what_runs_the_code_of_others_needs_trust():
    with pytest.raises(ArmControlError, match="names the function test_sweep_module:square, which runs as you"):
        Sweep.from_content(CALLED, "called")
    with pytest.raises(ArmControlError, match="xacro"):
        Sweep.from_content(QUICK | {"axes": {"robot": ["planar2", "arm.xacro"]}}, "quick")


@pytest.mark.parametrize("name", file_names("config/sweeps", ".yaml"))
def test_a_sweep_of_the_package_runs(name: str, monkeypatch: pytest.MonkeyPatch):
    if name in ("plants",):
        pytest.importorskip("scipy")
    monkeypatch.setattr("arm_control.faults.schedules.failure_of", lambda _: "")
    loaded = Sweep.load(name)
    assert len(loaded.identity) < 5000  # it is in each file
    quick = Sweep.from_content(QUICK, "quick").plan.run_duration
    plan = loaded.plan.__class__(**{**vars(loaded.plan), "run_duration": quick})
    assert run_row(plan, 0, loaded.points[0])["error"] == ""


def test_rows_of_many_other_values_are_those_of_another_sweep():
    def identity(last: int) -> str:
        return sweep(axes={"simulator.plant.seed": {"from": 0, "to": last, "steps": last + 1}}).identity

    assert identity(200) == identity(200)
    assert len({identity(n) for n in (99, 200, 201)}) == 3


def test_the_sweep_of_its_page_is_one():
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    (text,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(text.splitlines()) <= 15
    loaded = Sweep.from_content(yaml.safe_load(text), "loads")
    assert (loaded.plan.variant, loaded.samples) == ("real", 200)


# -- runs ----------------------------------------------------------------------------------------------


def same(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in VARYING}


def test_a_row_has_axes_figures_seed_and_versions_and_does_not_depend_on_what_ran_before():
    chosen = sweep()
    rows = [run_row(chosen.plan, k, chosen.points[k]) for k in range(4)]
    again = [run_row(chosen.plan, k, chosen.points[k]) for k in reversed(range(4))]
    assert [same(row) for row in rows] == [same(row) for row in reversed(again)]
    assert [row["error"] for row in rows] == [""] * 4
    assert len({row["rms_error"] for row in rows}) > 2
    names = ["run", *QUICK["axes"], *QUICK["figures"], "seed", "package", "python", "numpy", "error", *VARYING]
    assert sorted(rows[0]) == sorted(names)
    assert rows[0]["duration"] > 0.0


def test_a_run_that_fails_has_the_reason_in_its_row():
    chosen = sweep(axes={"osc.kp_linear": [-1.0]})
    row = run_row(chosen.plan, 0, chosen.points[0])
    assert row["error"].startswith("planar2_reach: osc: kp_linear = -1.0 is out of bounds")
    assert np.isnan(row["rms_error"])


def test_the_seed_is_that_of_the_plant():
    chosen = sweep(axes={"simulator.plant.seed": {"from": 3, "to": 4, "steps": 2}})
    assert [run_row(chosen.plan, k, chosen.points[k])["seed"] for k in range(2)] == [3, 4]
    assert run_row(sweep().plan, 0, sweep().points[0])["seed"] == 0


@pytest.fixture
def called(tmp_path: Path) -> Sweep:
    lines = [
        "def square(x, seed):",
        "    if x == 2.0:",
        "        raise KeyError('two')",
        "    return {'y': x * x, 'seed_mod': seed % 7}",
    ]
    (tmp_path / "test_sweep_module.py").write_text("\n".join(lines))
    content = CALLED | {"axes": {"x": [1.0, 2.0, 3.0]}}
    return Sweep.from_content(content, "called", folder=str(tmp_path), trust=True)


def test_a_function_beside_the_file_is_called_with_the_axes_and_a_seed(called: Sweep):
    rows = [run_row(called.plan, k, called.points[k]) for k in range(3)]
    assert [row["y"] for row in rows[::2]] == [1.0, 9.0]
    assert rows[1]["error"] == "KeyError: 'two'"
    assert len({row["seed"] for row in rows}) == 3
    other = Sweep.from_content(CALLED | {"figures": ["z"]}, "called", folder=called.plan.folder, trust=True)
    assert "a dict with z is needed, it returned y, seed_mod" in run_row(other.plan, 0, {"x": 1.0})["error"]
    none = Sweep.from_content(CALLED | {"function": "test_sweep_module:cube"}, "called", trust=True)
    assert "has no attribute 'cube'" in run_row(none.plan, 0, {"x": 1.0})["error"]


@pytest.mark.parametrize(("n", "workers"), [(20, 1), (20, 0), (3, 2)])
def test_one_worker_few_items_and_no_dask_are_a_loop_in_this_process(
    n: int, workers: int, monkeypatch: pytest.MonkeyPatch
):
    if not workers:
        monkeypatch.setattr("arm_control.sweeps.ordered_results.find_spec", lambda _: None)
    assert list(in_order(lambda k: (k, os.getpid()), range(n), workers)) == [(k, os.getpid()) for k in range(n)]


# -- the report ----------------------------------------------------------------------------------------


@pytest.fixture
def rows() -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """A sweep and its columns, two failed rows among them."""
    chosen, nan = (
        sweep(axes={"osc.kp_linear": {"from": 1.0, "to": 9.0, "scale": "log", "steps": 2}, "payload": [0.1]}),
        float("nan"),
    )
    described = {"plan": vars(chosen.plan), "kinds": chosen.kinds, "axes": [vars(axis) for axis in chosen.axes]}
    columns = {
        "run": [0, 1, 2, 3, 4, 5],
        "osc.kp_linear": [100.0, 200.0, 300.0, 400.0, 200.0, 100.0],
        "payload": [0.1, 0.1, 0.1, 0.1, 0.2, 0.2],
        "rms_error": [3.0, 2.0, nan, nan, 2.5, 3.0],
        "torque_share": [0.1, 0.5, nan, nan, 0.6, 0.3],
        "error": ["", "", "kp = 300.0 is <bad>", "kp = 400.0 is <bad>", "", ""],
        "seed": [0] * 6,
    }
    return described | {"sampling": "grid"}, columns


def test_the_report_has_best_rows_a_front_reasons_and_the_command_that_repeats_a_row(rows: Any):
    described, columns = rows
    report = SweepReport(described, columns, n_best=2)
    blocks = {block.split("\n")[0]: block.split("\n")[1:] for block in report.text().split("\n\n")}
    assert "6 rows, 2 failed" in blocks
    assert [line.split()[0] for line in blocks["best rms_error"]] == ["run", "1", "4"]
    assert [line.split()[0] for line in blocks["Pareto front of rms_error and torque_share"]] == ["run", "1", "0"]
    assert blocks["failed"][1].split("  ")[0] == "kp = # is <bad>"
    assert blocks["failed"][1].split()[-3:] == ["2", "run", "2"]
    explained = {line.split()[0]: line.split()[1:3] for line in blocks["share of the variance that an axis explains"]}
    assert list(explained) == ["axis", "osc.kp_linear", "payload"]
    assert explained["osc.kp_linear"] == ["82", "%"]  # 0.5625 of 0.6875, by equation (1)
    simulate = "arm_control simulate planar2_reach --duration 0.05 --set osc.kp_linear=200.0 --set payload=0.1"
    assert blocks["run 1 again"] == [f"{simulate} --bag run_1"]
    run = "arm_control run run_1/planar2_reach_set.yaml --duration 0.05 --viewer"
    assert blocks["run 1, then in the viewer"] == [run]
    assert repeat_commands(described, columns, 1) == [f"{simulate} --bag run_1", run]
    most = SweepReport(described, columns, "max:torque_share", ("rms_error", "torque_share")).text()
    assert most.split("\n\n")[1].split("\n")[2].split()[0] == "4"
    with pytest.raises(ParameterError, match="figures: unknown nix"):
        SweepReport(described, columns, "nix")


@pytest.mark.skipif(find_spec("rosbags") is None, reason="bags are an extra")
def test_the_commands_of_a_row_give_its_bits_a_bag_and_a_scenario_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    chosen = sweep(scenario="ur4_reach", variant="")
    row = run_row(chosen.plan, 3, chosen.points[3])
    described, columns = {"plan": vars(chosen.plan), "kinds": chosen.kinds}, {name: [x] for name, x in row.items()}
    simulate, run = map(shlex.split, repeat_commands(described, columns, 0))
    monkeypatch.chdir(tmp_path)
    assert cli.main(simulate[1:]) in (0, 1)  # 50 ms are too short for the checks
    assert run == ["arm_control", "run", "run_3/ur4_reach_pitch_set.yaml", "--duration", "0.05", "--viewer"]
    again = run_row(replace(chosen.plan, scenario=run[2], variant=""), 3, {})
    assert [again[name] for name in ("error", *QUICK["figures"])] == [
        row[name] for name in ("error", *QUICK["figures"])
    ]
    assert cli.main(["replay", "run_3/ur4_reach_pitch_set", "--offline"]) == 0
    assert "the same to the last bit" in capsys.readouterr().out


def test_the_best_row_s_parameters_are_a_parameter_file(rows: Any):
    described, columns = rows
    text = SweepReport(described, columns).parameter_file("rows.parquet")
    assert text.splitlines()[0] == "# Run 1 of rows.parquet, rms_error 2"
    assert yaml.safe_load(text) == {"/**/osc": {"ros__parameters": {"kp_linear": 200.0}}}
    columns["error"] = ["none"] * 6
    with pytest.raises(InputError, match=re.escape("rows.parquet: no row has rms_error")):
        SweepReport(described, columns).parameter_file("rows.parquet")
    described["kinds"] = {"payload": "float"}
    columns["error"] = [""] * 6
    with pytest.raises(InputError, match="no axis is a parameter of a controller"):
        SweepReport(described, columns).parameter_file("rows.parquet")


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is of the extra 'pictures'")
def test_the_report_s_page_has_its_pictures(rows: Any, tmp_path: Path):
    path = SweepReport(*rows).write(tmp_path / "page", "<mine>")
    text = path.read_text()
    shown = re.findall(r'<img src="(\w+\.png)"', text)
    assert shown == ["front.png", "effects.png", "pairs.png"]
    assert sorted(shown) == sorted(file.name for file in path.parent.glob("*.png"))
    assert "kp = # is &lt;bad&gt;" in text
    assert "&lt;mine&gt;" in text
    assert "<dt>osc.kp_linear</dt><dd>100, 200, 300, 400" in text
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file cannot be written"):
        SweepReport(*rows).write(tmp_path / "file", "x")


@pytest.mark.parametrize(
    ("values", "labels", "index"),
    [
        (["b", "a", "b"], ["b", "a"], [0, 1, 0]),
        ([True, False], ["True", "False"], [0, 1]),
        (list(range(16)), [0.5 + 2.0 * k for k in range(8)], [k // 2 for k in range(16)]),
        ([1.0] * 9 + [2.0 + k for k in range(8)], [1.0, 2.5, 4.5, 6.5, 8.5], [0] * 9 + [1, 1, 2, 2, 3, 3, 4, 4]),
    ],
)
def test_levels_of_an_axis(values: list[Any], labels: list[Any], index: list[int]):
    found, of_rows = levels(values)
    assert (found, of_rows.tolist()) == (labels, index)


def test_an_axis_explains_nothing_of_what_does_not_vary():
    assert np.isnan(explained_share(np.array([1.0, 1.0]), np.array([0, 1])))
    assert np.isnan(explained_share(np.array([np.nan]), np.array([0])))
    assert explained_share(np.array([1.0, 3.0, 1.0, 3.0]), np.array([0, 0, 1, 1])) == 0.0


def test_the_command_that_repeats_a_function_is_python(called: Sweep):
    described = {"plan": vars(called.plan), "kinds": called.kinds}
    (command,) = repeat_commands(described, {"x": [1.5], "seed": [7]}, 0)
    assert command.startswith("python -c 'from test_sweep_module import square; print(square(x=1.5))'")
    assert command.endswith("seed=7, where it takes one")
