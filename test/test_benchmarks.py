"""The benchmarks run, and measure all they promise; what they measure is not a matter of tests."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from file_modules import module_of

from arm_control.exceptions import InputError, MissingExtra
from arm_control.model import RobotModel

BENCHMARK = Path(__file__).parents[1] / "benchmark"
COMPARED = {"crocoddyl", "playwright", "ompl"}


def load(name: str) -> ModuleType:
    """A module of the benchmarks; one that needs others finds them in their folder only."""
    return module_of(BENCHMARK / f"{name}.py")


@pytest.mark.parametrize("path", sorted(BENCHMARK.glob("*.py")), ids=lambda path: path.stem)
def test_a_benchmark_can_be_loaded(path: Path, monkeypatch: pytest.MonkeyPatch):
    """All that it imports is there, apart from what only it compares with; `make campaign` runs it."""
    monkeypatch.syspath_prepend(BENCHMARK)
    try:
        load(path.stem)
    except MissingExtra as error:
        assert error.extra == "sweep"  # noqa: PT017
    except ModuleNotFoundError as error:
        assert error.name in COMPARED  # noqa: PT017


@pytest.mark.campaign
@pytest.mark.parametrize("words", ["model", "avoidance", "planning", "loop", "mutation viewer --sample 6"])
def test_a_benchmark_measures_finite_figures(words: str, tmp_path: Path):
    name, *options = words.split()
    file = tmp_path / "figures.json"
    command = [sys.executable, BENCHMARK / f"{name}.py", *(options or ["--quick"]), "--json", file]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = [value for value in json.loads(file.read_text()).values() if isinstance(value, (int, float))]
    assert len(numbers) > 2
    assert np.isfinite(numbers).all()


@pytest.mark.parametrize(("found", "is_same"), [((1.0, 2e6), True), ((1.0, 2e6 + 1.0), False), ((1.0, np.nan), False)])
def test_contenders_that_do_not_compute_the_same_are_not_measured(found: tuple[float, ...], is_same: bool):
    with nullcontext() if is_same else pytest.raises(SystemExit, match=r"evaluate: .* apart"):
        load("measure").agree("evaluate", found, (1.0 + 1e-3, 2e6))


def test_the_splines_of_others_have_the_numbers_of_their_own_tests(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    load("chunks").check_upsampling()


@pytest.fixture
def scenes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark of constraints."""
    monkeypatch.syspath_prepend(BENCHMARK)
    module = load("constraints")
    monkeypatch.setitem(sys.modules, "constraints", module)  # its procedures look there for what they call
    return module


@pytest.mark.parametrize(
    ("seed", "seconds"),
    [(1558, 0.5), (1026, 0.5), (1030, 1.4), (450, 0.5), (102228, 1.0), (104068, 0.6), (202994, 0.75), (301575, 1.07)],
)
def test_a_scene_of_constraints_is_judged(
    scenes: ModuleType, monkeypatch: pytest.MonkeyPatch, seed: int, seconds: float
):
    """Those in which a limit of speed was broken, or a cone.

    Before its rows saw that the hand turns; where the tool turns in the middle of its cone; where the arm turns fast
    about its hand; where a plane beside a cone needs more of the rate of torque than alone; where a joint that is
    about to turn too fast took the whole rate; where one that does was one too few; where others were thrown about
    for it.
    """
    monkeypatch.setattr(scenes, "SECONDS", seconds)
    figures = scenes.campaign(1, seed, 1, ["so101" if seed == 301575 else "planar3"])
    assert figures["scenes"] == 1
    assert figures["acted"] > 0
    assert figures["servable_share"] >= 0.5
    assert figures["violations"] == 0


def test_rows_that_could_be_kept_and_are_not_count(scenes: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """The gate believes the planes to be 10 mm away from where they are."""
    loop_of = scenes.loop_of

    def believe(model: Any, q: Any, content: dict[str, Any], targets: Any) -> Any:
        entries = [
            {**x, "point": (np.array(x["point"]) - 0.01 * np.array(x["normal"])).tolist()} if "normal" in x else x
            for x in content["constraints"]
        ]
        return loop_of(model, q, {"constraints": entries}, targets)

    monkeypatch.setattr(scenes, "loop_of", believe)
    monkeypatch.setattr(scenes, "SECONDS", 1.0)
    figures = scenes.campaign(1, 450, 1, ["planar3"])
    assert figures["violations"] > 0
    assert figures["worst_mm"] == pytest.approx(10.0, abs=1.0)


def test_what_yields_to_a_row_that_nobody_could_keep_is_none_that_could_be_kept(scenes: ModuleType):
    """From then on, until both have not acted for a while; what comes before is judged by itself."""
    rows = people, plane, slow = ("people", "link"), ("plane", "hand"), ("slow", "hand")
    levels = [SimpleNamespace(name=name, level=level) for (name, _), level in zip(rows, (2, 3, 4), strict=True)]
    plant = SimpleNamespace(
        labels=list(rows), rows=SimpleNamespace(constraints=levels), units=["m", "m", "m/s"], repeats=3 * [False]
    )
    begun = {}
    for kept in (True, False):
        plant.least, plant.margins = np.full(3, np.inf), np.full(3, 1e-3)
        episodes = scenes.Episodes(plant, [True, True, True])
        begun[kept] = []
        for step, acting in ((0, {plane}), (10, {plane, people}), (20, {plane, slow}), (70, {plane}), (200, {plane})):
            if step == 20:
                plant.least[1] = -0.01  # the plane is broken beside the people
            for row in episodes.begun(acting, step):
                begun[kept].append((step, row[0]))
                episodes.begin(row, kept or row is not people)
        outcome = episodes.outcome(1, braked=False, capped=0)
        assert (outcome.violations, outcome.worst) == (int(kept), -0.01)
        assert (outcome.acted, outcome.servable) == (len(begun[kept]), len(begun[kept]) if kept else 3)
    assert begun[True] == [(0, "plane"), (10, "people"), (20, "slow"), (200, "plane")]
    assert begun[False] == [*begun[True][:2], (10, "plane"), (20, "slow"), (70, "plane"), (200, "plane")]


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


def test_the_call_that_computes_nothing_checks_its_arguments(monkeypatch: pytest.MonkeyPatch, ur5: RobotModel):
    monkeypatch.syspath_prepend(BENCHMARK)
    call = load("model").empty_call(ur5)
    assert call(np.arange(6.0), np.zeros(6)).tolist() == [0.0]
    with pytest.raises(InputError):
        call(np.arange(5.0), np.zeros(6))


def test_every_mutant_that_is_listed_as_equivalent_can_be_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARK)
    listed, package = load("equivalent_mutants").EQUIVALENT, BENCHMARK.parent / "arm_control"
    paths = {key.partition(" ")[0] for key in listed}
    mutators = load("mutators")
    keys = [mutant.key for path in paths for mutant in mutators.mutants_of(package / path, package, has_text=False)]
    for key, reason in listed.items():
        assert any(made == key or (key[-1] == "*" and made.startswith(key[:-1])) for made in keys), key
        assert len(reason) > 10


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
