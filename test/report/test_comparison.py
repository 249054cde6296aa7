"""The picture of a scenario's variants: what is drawn is what happened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from arm_control.app import cli
from arm_control.maths import Box, Capsule, Cone, Cylinder, Sphere
from arm_control.model import RobotModel
from arm_control.report import draw_comparison
from arm_control.report.pictures import comparison
from arm_control.report.pictures.in_space import hull, lifted, surface
from arm_control.simulation import Scenario, Simulation, Trace


@cache
def simulated(name: str, seconds: float) -> tuple[Scenario, RobotModel, dict[str, Trace]]:
    """A scenario, its arm, and the run of each of its variants."""
    scenario = Scenario.load(name)
    simulations = {variant: Simulation(scenario, variant) for variant in scenario.variants or ("",)}
    model = next(iter(simulations.values())).model
    return scenario, model, {variant: simulation.run(seconds) for variant, simulation in simulations.items()}


def drawn(
    monkeypatch: pytest.MonkeyPatch, name: str, seconds: float, path: Path, is_whole: bool = False
) -> tuple[Figure, dict[str, Trace]]:
    """The figure of a scenario, and its runs; one that is not whole is small and has no layout, which takes long."""
    figures: list[Figure] = []

    def new_figure(*size: float) -> Figure:
        figure = Figure(size, layout="constrained") if is_whole else Figure([0.4 * x for x in size])
        figures.append(figure)
        return figure

    monkeypatch.setattr(comparison, "new_figure", new_figure)
    scenario, model, runs = simulated(name, seconds)
    draw_comparison(path, scenario, runs, model)
    return figures[0], runs


def line(axes, label: str) -> np.ndarray:
    (found,) = [x for x in axes.get_lines() if x.get_label() == label]
    return np.column_stack(found.get_data())


def test_variants_stand_side_by_side_with_their_paths_and_the_obstacle(monkeypatch, tmp_path: Path):
    figure, runs = drawn(monkeypatch, "ur5_obstacle", 1.0, tmp_path / "a.png", is_whole=True)
    axes = figure.axes
    assert [x.get_title(loc="left") for x in axes[:4]] == [
        "with, from above",
        "without, from above",
        "with, from behind",
        "without, from behind",
    ]
    for number, (variant, plane) in enumerate([(v, p) for p in ((1, 0), (1, 2)) for v in runs]):
        path = line(axes[number], "path of the end effector")
        np.testing.assert_array_equal(path, runs[variant].p[:, plane])
        (ball,) = axes[number].patches
        center = Scenario.load("ur5_obstacle").world.movers[0].obstacle.X_WO.p[list(plane)]
        distance = np.linalg.norm(ball.get_xy() - center, axis=1)
        assert 0.058 < distance.min() <= distance.max() < 0.0601
        assert axes[number].xaxis_inverted()
        assert axes[number].get_aspect() == 1.0
    assert axes[0].get_xlim() == axes[1].get_xlim()
    errors = axes[4].get_lines()[:2]
    for curve, trace in zip(errors, runs.values(), strict=True):
        np.testing.assert_allclose(curve.get_ydata(), 1e3 * np.linalg.norm(trace.error[:, :3], axis=1), rtol=1e-9)
    assert axes[5].get_lines()[0].get_ydata().max() <= 1.0
    np.testing.assert_array_equal(axes[6].get_lines()[1].get_ydata(), 1e3 * runs["without"].distance)
    with Image.open(tmp_path / "a.png") as image:
        assert min(image.size) > 600


def test_a_pen_is_lifted_where_it_leaves_the_sheet_and_a_circle_is_no_sheet():
    trace = simulated("ur5_digits", 4.0)[2][""]
    up = lifted(trace)
    assert 0.1 < up.mean() < 0.8
    np.testing.assert_allclose(trace.p_des[~up, 2], 0.15, rtol=0, atol=6e-4)
    for name, seconds in (("ur5_moving_target", 4.0), ("ur5_star", 2.2)):
        assert not lifted(simulated(name, seconds)[2][""]).any()


@pytest.mark.parametrize(
    "shape", [Sphere(0.1), Box((0.1, 0.2, 0.3)), Cylinder(0.1, 0.3), Cone(0.1, 0.3), Capsule(0.1, 0.3)]
)
def test_the_outline_of_a_shape_is_on_its_surface(shape):
    points = surface(shape)
    distances = [float(shape.signed_distance(p).distance) for p in points]
    assert max(map(abs, distances if not isinstance(shape, Capsule) else [max(distances)])) < 1e-12
    low, high = points.min(axis=0), points.max(axis=0)
    np.testing.assert_allclose(low + high, 0.0, rtol=0, atol=1e-12)
    assert np.linalg.norm(points, axis=1).max() <= shape.extent + 1e-12
    assert high[2] == pytest.approx({Sphere: 0.1, Capsule: 0.25}.get(type(shape), 0.15))


def test_a_hull_holds_every_point_and_has_only_corners():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 2))
    corners = hull(points)
    assert {tuple(c) for c in corners.round(9).tolist()} <= {tuple(p) for p in points.round(9).tolist()}
    edges = np.roll(corners, -1, axis=0) - corners
    for corner, (x, y) in zip(corners, edges, strict=True):
        assert ((points - corner) @ [-y, x] > -1e-9).all(), "all on the left"
    np.testing.assert_array_equal(
        hull(np.array([[0, 0], [1, 0], [0.5, 0], [1, 1], [0, 1.0]])), [[0, 0], [1, 0], [1, 1], [0, 1]]
    )


@pytest.mark.usefixtures("quick_pictures")
def test_the_command_writes_the_picture_and_the_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    cli.main(["simulate", "ur5_push", "--duration", "0.1", "--report", str(tmp_path / "new")])
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "ur5_push.png",
        "ur5_push_stiff.npz",
        "ur5_push_soft.npz",
    }
    assert "wrote" in capsys.readouterr().out


def test_a_gate_that_brakes_is_marked(monkeypatch, tmp_path: Path):
    scenario, model, runs = simulated("ur5_push", 0.1)
    trace = runs["stiff"]
    figure = Figure()
    monkeypatch.setattr(comparison, "new_figure", lambda *_: figure)
    draw_comparison(tmp_path / "a.png", scenario, {"stiff": replace(trace, braking=trace.t > 0.05)}, model)
    (shade,) = [x for axes in figure.axes for x in axes.collections]
    assert shade.get_label() == "the gate brakes (stiff)"
    assert shade.get_paths()[0].vertices[:, 0].min() == pytest.approx(0.051)


def test_a_posture_is_what_a_null_space_is_about():
    names = {chart.__name__ for chart in comparison.charts(Scenario.load("planar3_null_space"))}
    assert names == {"_error", "_torque", "_joints"}
    assert comparison.charts(Scenario.load("ur5_star")) == comparison.charts(Scenario.load("ur5_joint"))


def test_a_planar_arm_is_seen_from_its_side_alone(monkeypatch, tmp_path: Path):
    figure, runs = drawn(monkeypatch, "planar3_reach", 2.5, tmp_path / "a.png")
    assert len(figure.axes) == 3
    np.testing.assert_array_equal(line(figure.axes[0], "path of the end effector"), runs[""].p[:, [0, 2]])
    np.testing.assert_allclose(line(figure.axes[0], "targets"), [X.p[[0, 2]] for X in runs[""].goals], rtol=1e-12)


def test_the_way_of_a_lifted_pen_is_drawn_apart(monkeypatch, tmp_path: Path):
    figure, runs = drawn(monkeypatch, "ur5_digits", 4.0, tmp_path / "a.png")
    up = lifted(runs[""])
    for label, missing in (("path of the end effector", up), ("pen lifted", ~up)):
        np.testing.assert_array_equal(np.isnan(line(figure.axes[0], label)).all(axis=1), missing)


def test_many_variants_of_an_arm_in_space_are_drawn_over_each_other(monkeypatch, tmp_path: Path):
    figure, runs = drawn(monkeypatch, "ur5_speed_limits", 0.2, tmp_path / "a.png")
    assert len(runs) == 4
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:2] == ["from above", "from behind"]
    assert titles[-1] == "Speed of the end effector"
    for name, trace in runs.items():
        np.testing.assert_array_equal(line(figure.axes[0], f"path, {name}"), trace.p[:, [1, 0]])


def test_what_the_law_asks_for_is_shown_where_it_is_beyond_the_limit_and_the_singular_value_of_the_rows(
    monkeypatch, tmp_path: Path
):
    figure, runs = drawn(monkeypatch, "planar2_singular", 4.0, tmp_path / "a.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:4] == list(runs)
    torque, sigma = figure.axes[5], figure.axes[6]
    assert torque.get_yscale() == "log"
    for curve, trace in zip(torque.get_lines(), runs.values(), strict=False):
        asked = np.abs(trace.tau_asked).max(axis=1) / 100.0
        np.testing.assert_allclose(curve.get_ydata(), np.maximum(asked, 0.01))
    assert torque.get_legend().get_texts()[0].get_text() == "limit"
    trace = runs["fade"]
    q0, q1 = trace.q[0]
    J = [[-0.31 * np.sin(q0) - 0.27 * np.sin(q0 + q1), -0.27 * np.sin(q0 + q1)]]
    J += [[0.31 * np.cos(q0) + 0.27 * np.cos(q0 + q1), 0.27 * np.cos(q0 + q1)]]
    first = sigma.get_lines()[0].get_ydata()[0]
    assert first == pytest.approx(np.linalg.svd(J, compute_uv=False)[-1])
