"""The benchmarks run, and measure all they promise; what they measure is not a matter of tests."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from arm_control import RobotModel

BENCHMARK = Path(__file__).parents[1] / "benchmark"
COMPARED = {"crocoddyl", "playwright"}
WAYS = [f"{way}_{what}" for way in ("all_terms", "separate") for what in ("views", "copies")]
CALLS = ("mass_matrix", "gravity", "jacobian", "pose", "bias", "inverse_dynamics", "forward_dynamics")


def quick(name: str, directory: Path) -> dict[str, object]:
    """Figures of a benchmark, run in a process of its own."""
    files = directory / "figures.json", directory / "picture.png"
    command = [sys.executable, str(BENCHMARK / name), "--quick", "--json", str(files[0]), "--picture", str(files[1])]
    environment = {**os.environ, "ARM_CONTROL_CACHE": str(directory / "cache")}
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert files[1].read_bytes().startswith(b"\x89PNG")
    return json.loads(files[0].read_text())


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return quick("model.py", tmp_path_factory.mktemp("model"))


def load(name: str) -> ModuleType:
    """A module of the benchmarks; one that needs others finds them in their folder only."""
    specification = importlib.util.spec_from_file_location(name, BENCHMARK / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, module)  # dataclasses look there for their annotations
        specification.loader.exec_module(module)
    return module


def assert_positive(figures: dict[str, object], *keys: str) -> None:
    for key in keys:
        value = figures[key]
        assert isinstance(value, (int, float)), key
        assert math.isfinite(value), key
        assert value > 0.0, key


@pytest.mark.parametrize("path", sorted(BENCHMARK.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_can_be_loaded(path: Path, monkeypatch: pytest.MonkeyPatch):
    """All that it imports is there, apart from what only it compares with; `make campaign` runs it."""
    monkeypatch.syspath_prepend(BENCHMARK)
    try:
        load(path.stem)
    except ModuleNotFoundError as error:
        assert error.name in COMPARED  # noqa: PT017


@pytest.mark.campaign
def test_the_models_benchmark_measures_what_it_promises(figures: dict[str, object]):
    assert figures["quick"] is True
    assert figures["cpu"]
    assert all(name in figures["versions"] for name in ("Python", "numpy", "pin", "llvmlite"))
    for state in ("cold", "cached"):
        assert_positive(figures, *(f"ur5.{state}{part}" for part in ("_s", "_with_imports_s", "_process_s")))
    assert_positive(figures, *(f"ur5.fused_{way}_us" for way in WAYS), "ur5.evaluate_us", "ur5.empty_us")
    assert_positive(figures, "ur5.kernel_terms_us", "ur5.kernel_mass_matrix_us")
    for call in (*CALLS, "torque_derivatives", "acceleration_derivatives"):
        assert_positive(figures, f"ur5.{call}_us", f"ur5.{call}_pinocchio_us", f"ur5.{call}_vs_pinocchio")
    assert_positive(figures, *(f"ur5.{name}.evaluate_us" for name in ("llvm", "python", "pinocchio")))
    assert_positive(figures, "ur5.batch_vs_pinocchio_loop", "ur5.batch_fresh_vs_pinocchio_loop")
    for n in figures["chain.sizes"]:
        assert_positive(figures, *(f"chain{n}.{key}" for key in ("evaluate_us", "operations", "compile_s")))


@pytest.mark.campaign
def test_the_key_figures_are_the_cautious_ones(figures: dict[str, object]):
    arms = [arm for arm in ("ur5", "panda") if f"{arm}.cold_s" in figures]
    for arm in arms:
        fastest = min(figures[f"{arm}.fused_{way}_us"] for way in WAYS)
        assert figures[f"{arm}.fused_vs_pinocchio"] == pytest.approx(figures[f"{arm}.evaluate_us"] / fastest)
        fastest = min(figures[f"{arm}.batch_{loop}_s"] for loop in ("by_index", "by_update"))
        assert figures[f"{arm}.batch_vs_pinocchio_loop"] == pytest.approx(fastest / figures[f"{arm}.batch_reused_s"])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return quick("timing_study.py", tmp_path_factory.mktemp("study"))


@pytest.mark.campaign
def test_the_timing_study_measures_every_way(study: dict[str, object]):
    ways = ("random() alone", "in line, math", "lambdify, numpy", "lambdify, math, simplified", "tape, Python")
    for name in ("f1", "f2"):
        assert_positive(study, *(f"{name}.{way}_us" for way in (*ways, "tape, LLVM", "all at once: LLVM")))
    build = [f"mass_matrix.{key}_s" for key in ("sympy_build", "sympy_lambdify", "trace", "compile")]
    assert_positive(study, *build, "mass_matrix.operations")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    file = tmp_path_factory.mktemp("start") / "figures.json"
    subprocess.run([sys.executable, str(BENCHMARK / "start.py"), "--quick", "--json", str(file)], check=True)
    return json.loads(file.read_text())


@pytest.mark.campaign
def test_the_first_torque_is_measured_with_and_without_drafts(start: dict[str, object]):
    cases = [f"{arm}.{case}" for arm in ("ur5", "chain20") for case in ("cold", "complete", "cached")]
    assert_positive(start, *(f"{case}_{key}" for case in cases for key in ("cpu_s", "s", "process_cpu_s")))
    assert start["chain20.cold_cpu_s"] < 0.8 * start["chain20.complete_cpu_s"]


@pytest.mark.campaign
def test_the_page_has_a_row_for_every_call(
    figures: dict[str, object], study: dict[str, object], start: dict[str, object]
):
    text = load("page").page(figures, study, {"osc.start_cpu_s": 1.0, "osc.imports_cpu_s": 0.5, **start})
    for call in (*CALLS, "torque_derivatives", "acceleration_derivatives"):
        assert f"| `{call}` |" in text
    assert f"{figures['ur5.cold_s']:.3f}" in text
    for line in text.splitlines():
        assert "nan" not in line
        assert not line.startswith("|") or line.endswith(" |")


@pytest.mark.campaign
def test_the_benchmark_of_avoidance_measures_what_it_promises(tmp_path: Path):
    command = [sys.executable, str(BENCHMARK / "avoidance.py"), "--quick", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    for part in ("", "box_", "cylinder_", "cone_", "capsule_", "self_"):
        keys = ("tick_us", "tick_p99_us", "numpy_us", "vs_numpy")
        assert_positive(figures, *(f"avoidance.{part}{key}" for key in keys))
    assert_positive(figures, *(f"avoidance.crowd_{shape}_us" for shape in ("sphere", "box", "cylinder", "cone")))
    parts = ("one_call", "three_calls", "loop", "loop_three")
    assert_positive(figures, *(f"step.{shape}_{part}_us" for shape in ("sphere", "box") for part in parts))
    assert figures["avoidance.near"] > 3.0


@pytest.mark.parametrize(("found", "is_same"), [((1.0, 2e6), True), ((1.0, 2e6 + 1.0), False), ((1.0, np.nan), False)])
def test_contenders_that_do_not_compute_the_same_are_not_measured(found: tuple[float, ...], is_same: bool):
    with nullcontext() if is_same else pytest.raises(SystemExit, match=r"evaluate: .* apart"):
        load("measure").agree("evaluate", found, (1.0 + 1e-3, 2e6))


def test_contenders_take_turns_after_a_round_to_warm_up(monkeypatch: pytest.MonkeyPatch):
    measure, seen, clock = load("measure"), [], [0]
    monkeypatch.setattr(measure.time, "perf_counter_ns", lambda: clock[0])

    def contender(name: str, microseconds: int) -> Any:
        def call(i: int) -> None:
            seen.append((name, i))
            clock[0] += 1000 * microseconds * (1 if len(seen) > 8 else 50)

        return measure.Contender(call, [(0,), (1,)])

    times = measure.take_turns({"a": contender("a", 2), "b": contender("b", 3)}, 3)
    once = [("a", 0), ("a", 1)] * 2 + [("b", 0), ("b", 1)] * 2  # a block, then one by one
    assert seen == once * 4
    assert times == {"a": (2.0, 2.0), "b": (3.0, 3.0)}


def test_pinocchio_is_timed_only_when_it_computes_the_same(monkeypatch: pytest.MonkeyPatch, ur5: RobotModel):
    monkeypatch.syspath_prepend(BENCHMARK)
    model, growth = load("model"), load("growth")
    wrong = {"some_way": lambda q, v: (np.full(q.shape, 0.1),)}
    for module in (model, growth):
        monkeypatch.setattr(module.PinocchioArm, "fused", lambda arm: wrong)
    with pytest.raises(SystemExit, match=r"evaluate and fused_some_way: .* apart"):
        model.single_calls("ur5", ur5, model.QUICK)
    with pytest.raises(SystemExit, match=r"evaluate and fused some_way: .* apart"):
        growth.measure_chains((2,), 1)


def test_inverse_kinematics_counts_what_is_reached_only(monkeypatch: pytest.MonkeyPatch, ur5: RobotModel):
    monkeypatch.syspath_prepend(BENCHMARK)
    module = load("ik")
    sizes, ik = module.Sizes(30, 1, 4, 1), module.InverseKinematics(ur5, tolerance=module.TOLERANCE)
    qs, poses = module.random_poses(ur5, 30, 0)
    assert module.is_reached(ur5, qs, poses).all()
    for wrong in (qs + 2e-5, qs[:, ::-1], qs + 4 * np.pi):  # off, elsewhere, beyond the limits
        assert not module.is_reached(ur5, wrong, poses).any()
    figures = module.success(ur5, ik, sizes) | module.single(ur5, ik, sizes) | module.branches(ur5, ik, sizes)
    assert (figures["success"], figures["failures"], figures["single_success"]) == (1.0, [], 1.0)
    assert_positive(figures, "batch_ms", "batch_us_per_pose", "single_us", "single8_us", "all_us")


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["ur5", "ur10", "panda", "xarm7", "jaco"])
def test_every_pose_of_50_000_postures_is_reached(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    module = load("ik")
    path, tip = module.ARMS[name]
    model = RobotModel.from_urdf(path, tip=tip)
    figures = module.success(model, module.InverseKinematics(model, tolerance=module.TOLERANCE), module.FULL)
    assert (figures["success"], figures["failures"]) == (1.0, [])


@pytest.mark.campaign
def test_coal_finds_no_contact_in_motions_that_are_called_free(tmp_path: Path):
    file = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARK / "planning.py"), "--quick", "--json", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    assert (figures["validity.false_free"], figures["validity.motions"]) == (0, 20)
    assert_positive(figures, *(f"validity.{key}" for key in ("edge_us", "state_ns", "coal_state_us", "coal_edge_us")))
    assert_positive(figures, "moving.problems", "moving.solved_share", "moving.median_ms", "moving.p95_ms")
    assert_positive(figures, "tcmp.solved_share", "tcmp.median_ms", "ellipse.mean_error_mm", "ellipse.max_error_mm")


# -- mutants -------------------------------------------------------------------------------------------

SLIPS = '''
"""A text."""
LIMIT: float = 2.0

class Count:
    def __init__(self) -> None:
        self.n = 0

    def add(self, x: float, is_on: bool = True):
        assert x > 0.0
        if is_on and not x < LIMIT:
            raise ValueError("large")
        self.n = min(self.n, 3)
        return -x + 1
'''


def test_mutants_differ_from_the_text_in_one_place(tmp_path: Path):
    (tmp_path / "slips.py").write_text(SLIPS)
    mutants = load("mutators").mutants_of(tmp_path / "slips.py", tmp_path)
    assert {mutant.path for mutant in mutants} == {"slips.py"}
    changes = {(mutant.line, mutant.scope): [] for mutant in mutants}
    for mutant in mutants:
        changes[mutant.line, mutant.scope].append(mutant.change.partition(" -> ")[2])
    assert changes == {
        (3, "LIMIT"): ["LIMIT: float = 4.0", "LIMIT: float = 1.0"],
        (7, "Count.__init__"): ["self.n = 1", "self.n = -1"],
        (9, "Count.add"): [", x: float, is_on: bool=False):"],
        (11, "Count.add"): [
            "if is_on or not x < LIMIT:",
            "if is_on and x < LIMIT:",
            "if is_on and (not x <= LIMIT):",
            "if is_on and (not x >= LIMIT):",
        ],
        (12, "Count.add"): ["pass"],
        (13, "Count.add"): ["pass", "self.n = max(self.n, 3)", "self.n = min(self.n, 4)", "self.n = min(self.n, 2)"],
        (14, "Count.add"): ["pass", "return -x - 1", "return x + 1", "return -x + 2", "return -x + 0"],
    }
    namespace: dict[str, Any] = {}
    exec(mutants[-1].text, namespace)
    assert namespace["Count"]().add(1.0) == -1.0


def test_every_mutant_that_is_listed_as_equivalent_can_be_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    listed, package = load("equivalent_mutants").EQUIVALENT, BENCHMARK.parent / "arm_control"
    paths = {key.partition(" ")[0] for key in listed}
    mutators = load("mutators")
    keys = [mutant.key for path in paths for mutant in mutators.mutants_of(package / path, package)]
    for key, reason in listed.items():
        assert any(made == key or (key[-1] == "*" and made.startswith(key[:-1])) for made in keys), key
        assert len(reason) > 10


@pytest.mark.campaign
def test_the_mutation_test_measures_what_it_promises(tmp_path: Path):
    file = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARK / "mutation.py"), "viewer", "--sample", "6", "--json", str(file)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())
    assert figures["viewer.mutants"] == 6
    assert figures["viewer.killed"] + figures["viewer.equivalent"] + len(figures["viewer.survivors"]) == 6
    assert figures["viewer.killed_share"] > 0.5


def test_the_table_of_robots_says_what_a_robot_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    robots = load("robots")
    monkeypatch.setattr(robots, "STEPS", 20)
    text = (BENCHMARK.parent / "urdf" / "planar2" / "planar2.urdf").read_text()
    (tmp_path / "maker" / "urdf").mkdir(parents=True)
    (tmp_path / "maker" / "urdf" / "whole.urdf").write_text(text)
    (tmp_path / "maker" / "urdf" / "bare.urdf").write_text(re.sub(r'effort="[^"]*"', 'effort="0"', text))
    whole = robots.try_robot(tmp_path, robots.Row("whole", "maker", "urdf/whole.urdf"))
    assert (whole["needs"], len(whole["errors"])) == ([], 3)
    bare = robots.try_robot(tmp_path, robots.Row("bare", "maker", "urdf/bare.urdf"))
    assert "effort" in bare["refused"]
    assert "kinematics only: loads" in robots.table_row(bare)
    helped = robots.Row("helped", "maker", "bare.urdf", limits=(9.0, 3.0))
    assert "| no | `effort_limits` | 0 | " in robots.table_row(robots.try_robot(tmp_path, helped))
    assert "not in the folder" in robots.table_row(robots.try_robot(tmp_path, robots.Row("none", "maker", "no.urdf")))
    assert robots.count_all(tmp_path)["loads"] == 1


def test_plants_are_measured_for_every_contender(monkeypatch: pytest.MonkeyPatch):
    """A short run: every key, and the observer nearer to the targets than the law alone."""
    monkeypatch.syspath_prepend(BENCHMARK)
    plants = load("plants")
    monkeypatch.setattr(plants, "N_TARGETS", 1)
    monkeypatch.setattr(plants, "SECONDS", 1.5)
    figures = plants.measure(("ur5",), (250,), ("rotors",))
    assert list(figures) == ["observer", "law", "numpy"]
    for values in figures.values():
        for case in ("ur5.rotors_250hz", "worst"):
            assert {f"{case}.{key}" for key in ("reached_share", "error_mm", "error_deg", "chatter")} <= values.keys()
    assert figures["observer"]["worst.error_deg"] < 0.1 * figures["law"]["worst.error_deg"]
    assert figures["numpy"]["worst.ideal_error_deg"] < 1.0


def test_primitives_are_measured_and_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    primitives = load("primitives")
    figures = primitives.measure_primitives(primitives.QUICK)
    assert_positive(figures, "rollouts_per_s", "coupled_rollouts_per_s", "step_us", "learn_ms")
    assert set(primitives.GROUPS) >= {"", "walk.", "adaptation.", "neural.", "beside."}
    walk = primitives.measure_walking(primitives.QUICK)
    assert 0.0 < walk["worst_rms_deg"] < 0.1 < walk["locally_weighted_worst_rms_deg"]


@pytest.mark.campaign
def test_neurons_are_timed_beside_others_and_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.syspath_prepend(BENCHMARK)
    neural = load("neural")
    figures = neural.measure(is_quick=True)
    assert_positive(figures, "tick_us", "numpy_us")
    assert figures["discrete_error"] <= 4e-14
    assert figures["continuous_error.4100"] > 1e30
    neural.draw(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_adaptation_is_measured_beside_the_observer(monkeypatch: pytest.MonkeyPatch, ur5: RobotModel):
    """Short paths at 200 Hz: every contender, and with adaptation less than a third of the error without."""
    monkeypatch.syspath_prepend(BENCHMARK)
    adaptation = load("adaptation")
    case = adaptation.Case(adaptation.PAYLOAD, 200.0, (adaptation.Part(periods=1), adaptation.Part(periods=2)))
    repeated = adaptation.measure_repeated(ur5, case._replace(parts=case.parts[:1]))
    assert list(repeated) == ["law", "observer", "adaptation", "both"]
    assert all(figures["braked_states"] == 0 for figures in repeated.values())
    assert repeated["adaptation"]["error_mm"] < repeated["law"]["error_mm"] / 3.0
    changed = adaptation.measure_changed(ur5, case)
    assert changed["both"]["second_mm"] < changed["observer"]["learnt_mm"]


def test_a_random_arm_on_a_random_plant_is_driven_and_judged(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    draws = load("plant_draws")
    monkeypatch.setattr(draws.plants, "ARMS", ("ur5",))
    monkeypatch.setattr(draws, "N_TARGETS", 1)
    monkeypatch.setattr(draws, "SECONDS", 2.0)
    figures = draws.measure(1, 0)
    assert (figures["draws"], figures["stable_share"]) == (1, 1.0)
    monkeypatch.setattr(draws, "CHANGE", 0.0)
    assert draws.measure(1, 0)["stable_share"] == 0.0


@pytest.mark.campaign
def test_of_two_hundred_random_arms_none_fails_and_few_hunt(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    figures = load("plant_draws").measure(200, 0)
    assert figures["stable_share"] >= 0.97
    assert figures["failed"] == 0
    assert figures["worst.change"] < 0.03
    assert figures["q100.error_mm"] < 5.0


def test_the_benchmark_of_the_loop_counts_lost_states_until_the_next_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    loop = load("loop")
    sent, took = 1000 * np.arange(5), np.array([300, -1, -1, 400, -1])
    counted = loop.Latencies.of(sent, took)
    assert counted.took.tolist() == [300.0, 2400.0, 1400.0, 400.0, math.inf]
    assert counted.is_lost.tolist() == [False, True, True, False, True]
    nothing_lost = np.zeros(1000, dtype=bool)
    turns = [loop.Latencies(k * 1e3 * np.arange(1, 1001), nothing_lost) for k in (1, 2, 500)]
    found = loop.figures_of([counted])
    assert (found["lost"], found["states"], found["max_us"]) == (3.0, 5.0, math.inf)
    assert found["p50_us"] == pytest.approx(1.4)
    found = loop.figures_of(turns)
    assert found == {
        "lost": 0.0, "states": 3000.0, "p50_us": 1002.0, "p99_us": 1982.0, "p999_us": 2000.0, "max_us": 500_000.0
    }  # fmt: skip
    assert loop.Case("c", False, True, 1000).key() == "c.busy"
    assert loop.Case("native", True, False, 4000).key() == "native.alone.fifo.4000hz"


@pytest.mark.campaign
def test_the_benchmark_of_the_loop_measures_what_it_promises(tmp_path: Path):
    command = [sys.executable, str(BENCHMARK / "loop.py"), "--quick", "--json", str(tmp_path / "figures.json")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    for contender in ("objects", "bytes", "serve", "c"):
        for side in ("alone", "busy"):
            assert_positive(figures, *(f"{contender}.{side}.{part}_us" for part in ("p50", "p99", "p999", "max")))
