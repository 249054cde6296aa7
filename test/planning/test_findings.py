"""What the studywolf blog finds with iterative LQR, as far as it is true, and what the page says of it."""

import re
import sys
from functools import partialmethod
from pathlib import Path

import numpy as np
import pytest
from file_modules import module_of
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from arm_control.report.pictures.style import DPI

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def example():
    return module_of(ROOT / "examples" / "ilqr_reaches.py")


@pytest.fixture(scope="module")
def run(example, tmp_path_factory):
    """Figures, and the folder with the pictures."""
    folder = tmp_path_factory.mktemp("pictures") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)  # most of the time; nobody looks here
        patch.setattr(Figure, "savefig", partialmethod(Figure.savefig, dpi=DPI // 3))
        patch.setattr(sys, "argv", ["ilqr_reaches", "--pictures", str(folder)])
        return example.main(), folder


@pytest.fixture(scope="module")
def figures(run):
    return run[0]


@pytest.fixture(scope="module")
def page() -> str:
    text = (ROOT / "docs" / "ilqr.md").read_text()
    return re.sub(r"\s+", " ", text[text.index("## What it finds") :])


def test_off_line_is_the_distance_from_the_line(example):
    """A closed form: of an arm that turns by a right angle about its base, r (1 - 1 / sqrt 2) over r sqrt 2."""
    model = example.planar2()
    turning = np.linspace(0.0, np.pi / 2, 101)
    xs = np.column_stack([turning, *[0.0 * turning] * 3])
    reach = example.Reach(model, type("Plan", (), {"xs": xs}), model.pose(xs[-1, :2]).p)
    assert reach.off_line == pytest.approx((1.0 - np.sqrt(0.5)) / np.sqrt(2.0), rel=1e-6)


def test_the_page_has_the_measured_figures(figures, page):
    """To half a unit of the last digit that is shown, and a little for another machine."""
    rows = {("100", "-"): ("steps", "100"), ("50", "-"): ("steps", "50"), ("10", "-"): ("steps", "10")}
    rows |= {("100", f"weight {w}"): ("running_position", w) for w in ("10", "100")}
    for (n, weight), (study, name) in rows.items():
        (row,) = re.findall(rf"\| {n} \| {weight} \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", page)
        x = figures[study][name]
        measured = [x["largest_control"], x["end_error"], x["end_speed"] / x["largest_speed"], x["off_line"] * 0.1991]
        np.testing.assert_allclose([float(cell) for cell in row][:2], measured[:2], rtol=0.01)
        assert float(row[2]) == pytest.approx(measured[2], rel=0.5)
        assert float(row[3]) == pytest.approx(measured[3], abs=6e-4)


def test_the_page_says_what_was_measured_in_words(figures, page):
    found = {name: 100 * star["median_off_line"] for name, star in figures["stars"].items()}
    ratio = figures["steps"]["50"]["largest_control"] / figures["steps"]["100"]["largest_control"]
    deep = {name: 1e3 * figures[name]["without"]["clearance"] for name in ("ur5_obstacle", "obstacle")}
    away = {name: 1e3 * figures[name]["with"]["clearance"] for name in ("ur5_obstacle", "obstacle")}
    limited = figures["effort_limits"]["limited"]
    words = {"less": "three", "more": "two", "as_much": "four"}
    assert figures["changed_targets"] == {"less": 3, "as_much": 4, "more": 2}, words
    for said in (
        f"four times the torque ({ratio:.2f};",
        f"{found['two_links']:.1f} % of the distance to {found['two_links_running']:.1f} % with weight 10",
        f"{found['three_links']:.0f} % of the distance off the line, {found['third_locked']:.1f} % with the joint",
        f"it is {found['three_links_heavy']:.1f} % and {found['third_locked_heavy']:.1f} %",
        "cheaper plan for three, a dearer one for two, and the same one for four",
        f"{-deep['ur5_obstacle']:.0f} mm deep into it without and stays {away['ur5_obstacle']:.0f} mm away",
        f"{-deep['obstacle']:.0f} mm deep, and {away['obstacle']:.0f} mm away",
        f"would take {figures['effort_limits']['free']['largest_share_of_limit']:.1f} times the 45 N m",
        f"for {limited['knots_at_limit']} of 40 steps, and the end error is {1e3 * limited['end_error']:.2f} mm",
    ):
        assert said in page


@pytest.mark.parametrize("name", ["ilqr_planar.png", "ilqr_ur5.png"])
def test_the_pictures_are_drawn_and_small(run, name):
    with Image.open(run[1] / name) as new, Image.open(ROOT / "docs" / "pictures" / name) as kept:
        assert tuple(3 * n for n in new.size) == kept.size
        assert np.asarray(new.convert("L")).std() > 10
    assert (ROOT / "docs" / "pictures" / name).stat().st_size < 200_000
