"""Every scenario from start to end: its checks hold, and docs/scenario_figures.md has the figures of today.

To write them anew, in test/simulation:
``PYTHONPATH=../..:../oracles python -c "from test_scenario_runs import *; write_figures()"``. The pictures beside them,
from what ``arm_control simulate NAME --report FOLDER`` wrote: ``write_gallery(FOLDER)``.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from package_scenarios import SCENARIOS
from PIL import Image

from arm_control.report import FiguresByName, failed_checks, figures_of_free_motion, figures_of_simulation
from arm_control.simulation import FreeMotion, Simulation

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"
FIGURES = PAGE.with_name("scenario_figures.md")
ALL = [(name, variant) for name, scenario in SCENARIOS.items() for variant in scenario.variants or ("",)]
CASES = [(name, variant) for name, variant in ALL if SCENARIOS[name].controller]
FREE = [case for case in ALL if case not in CASES]
GALLERY = PAGE.parent / "pictures" / "scenarios"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
COLUMNS = ("reached", "slowest [s]", "error [mm]", "off the line [%]", "torque", "asked", "clearance [mm]")
THRASHING = {("planar2_singular", v) for v in ("truncate", "damp", "none")} | {("ur5_singular", "none")}
THRASHING |= {("ur5_singular", "truncate"), ("planar3_null_space", "without"), ("ur5_lqr", "lqr_once")}
"""Runs in which the last bit of a number grows into another motion: no figure of theirs is compared."""
CALM = [case for case in CASES if case not in THRASHING]
SELDOM = {case for case in CASES if case[1] in ("without", "none")}
SELDOM |= {("planar2_singular", "truncate"), ("planar2_singular", "damp"), ("ur5_singular", "truncate")}
SELDOM |= {("planar3_heavy", "light"), ("ur5_cube", ""), ("ur5_star", "")}
"""Runs in campaigns only, whose parts other runs have: without a feature; with one that the tests of the law compare,
and of which only a bound of the gate is checked; the same arm and law towards other targets."""


def on_their_own(cases: list[tuple[str, str]]) -> list[Any]:
    """Give all tests of one run to the same worker, which then runs it once; those of :data:`SELDOM` to campaigns."""
    return [pytest.param(*case, marks=marks_of(case)) for case in cases]


def marks_of(case: tuple[str, str]) -> list[pytest.MarkDecorator]:
    group = pytest.mark.xdist_group(f"scenario {' '.join(case)}")
    return [group, pytest.mark.campaign] if case in SELDOM else [group]


@cache
def run(name: str, variant: str) -> tuple[FiguresByName, tuple[str, ...], str]:
    """FiguresByName of a whole run, its row in the table, and what went wrong in it."""
    simulation = Simulation(SCENARIOS[name], variant)
    trace = simulation.run()
    figures = figures_of_simulation(trace, simulation.model, simulation.targets, simulation.motion, simulation.task)
    assert trace.t[-1] == pytest.approx(simulation.duration, abs=2e-3) or trace.end_reason
    is_held = simulation.motion is None and len(trace.targets) <= 1 and np.linalg.norm(trace.error[0, :3]) < 0.005
    return figures, row(figures, is_held), trace.end_reason


def row(figures: FiguresByName, is_held: bool) -> tuple[str, ...]:
    """Cells of a run; a largest error only means something where the end effector is to stay or to follow."""
    share = figures["reached_share"]
    reached = figures["reached"] if np.isnan(share) else share
    error = figures["largest_error"] if is_held else figures["following_error"]
    cells = [
        (100 * reached, ".0f", " %"),
        (figures["time_to_reach"], ".2f", ""),
        (1e3 * error, ".3g", ""),
        (100 * figures["straightness"] if not is_held else np.nan, ".2f", ""),
        (figures["torque_share"], ".2f", ""),
        (figures["law_torque_share"], ".2g" if figures["law_torque_share"] > 10 else ".2f", ""),
        (1e3 * figures["clearance"], ".0f", ""),
    ]
    return tuple("" if np.isnan(x) else f"{x:{form}}{unit}".replace("e+0", "e") for x, form, unit in cells)


def table() -> str:
    lines = [f"| scenario | variant | {' | '.join(COLUMNS)} |", "|---" * (2 + len(COLUMNS)) + "|"]
    lines += [f"| `{name}` | {variant} | {' | '.join(run(name, variant)[1])} |" for name, variant in CASES]
    return "\n".join(lines) + "\n"


def write_figures() -> None:
    """Write today's figures into the page."""
    before, rest = FIGURES.read_text(encoding="utf-8").split(BEGIN)
    FIGURES.write_text(before + BEGIN + table() + END + rest.split(END)[1], encoding="utf-8")


def write_gallery(folder: str) -> None:
    """Write the pictures of the page, smaller: in fewer colours."""
    for name in shown():
        with Image.open(Path(folder) / f"{name}.png") as picture:
            size = (1400, round(1400 * picture.height / picture.width))
            small = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        few = small.quantize(colors=160, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(GALLERY / f"{name}.png", optimize=True)


def shown() -> list[str]:
    """Scenarios whose pictures are on the page, or on another one."""
    pages = "".join(path.read_text(encoding="utf-8") for path in sorted(PAGE.parent.glob("*.md")))
    return re.findall(r"\(pictures/scenarios/(\w+)\.png\)", pages)


def stated() -> dict[tuple[str, str], list[str]]:
    """Cells of the page's table of figures."""
    lines = FIGURES.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip().split("\n")[2:]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    return {(cells[0].strip("`"), cells[1]): cells[2:] for cells in rows}


@pytest.mark.parametrize(("name", "variant"), on_their_own(CASES), ids=lambda text: text or "only")
def test_every_scenario_keeps_its_checks(name: str, variant: str):
    figures, _, trouble = run(name, variant)
    assert failed_checks(figures, SCENARIOS[name].required(variant)) == []
    assert not trouble


@pytest.mark.parametrize(("name", "variant"), on_their_own(FREE))
def test_a_scenario_without_a_controller_keeps_its_checks(name: str, variant: str):
    trace = FreeMotion(SCENARIOS[name], variant).run()
    assert failed_checks(figures_of_free_motion(trace), SCENARIOS[name].required(variant)) == []
    assert not trace.end_reason


@pytest.mark.parametrize("name", sorted(set(SCENARIOS) - {"ur5_osc"}))
def test_every_scenario_states_what_must_come_out(name: str):
    for variant in SCENARIOS[name].variants or ("",):
        assert SCENARIOS[name].required(variant), "a variant without a check shows nothing"


def test_the_pictures_of_scenarios_are_there_and_small():
    assert {path.stem for path in GALLERY.iterdir()} == set(shown()) <= set(SCENARIOS)
    assert max(path.stat().st_size for path in GALLERY.iterdir()) < 150_000


def test_the_page_names_every_scenario():
    first = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", first, flags=re.MULTILINE) == sorted(SCENARIOS)
    assert list(stated()) == CASES


@pytest.mark.parametrize(("name", "variant"), on_their_own(CALM), ids=lambda text: text or "only")
def test_the_figures_on_the_page_are_those_of_today(name: str, variant: str):
    now, then = run(name, variant)[1], stated()[name, variant]
    for column, new, old in zip(COLUMNS, now, then, strict=True):
        assert bool(new) == bool(old), column
        if new:
            a, b = (float(text.removesuffix(" %")) for text in (new, old))
            step = 10.0 ** -len(old.removesuffix(" %").partition(".")[2])
            least = 0.02 if column == "error [mm]" else 1.5 * step
            assert a == pytest.approx(b, rel=0.05, abs=least), f"{column}: {old} on the page; see write_figures"
