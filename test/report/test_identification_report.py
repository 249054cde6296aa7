"""What is said and drawn of an identification: the part that was held out judges it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from arm_control import RobotModel, urdf_path
from arm_control.identification import NOTHING, Identified, JointRecording, StribeckFit, TorqueFit, identify
from arm_control.report import draw_identification, identification_table, identified_values, notes_on
from arm_control.report.pictures import identification_chart


@pytest.fixture(scope="module")
def identified() -> Identified:
    """Of an arm of two joints whose second one rests."""
    model, t = RobotModel.from_urdf(urdf_path("planar2")), np.arange(0.0, 12.0, 0.01)
    q, v, a = (np.stack([x, 0.0 * x], axis=1) for x in (np.sin(t), np.cos(t), -np.sin(t)))
    tau = model.batch("tau")(q, v, a, np.zeros((len(t), 6)))["tau"] + [2.0, 0.0] * np.sign(v)
    tau += np.random.default_rng(0).normal(scale=0.02, size=tau.shape)
    return identify(model, JointRecording(t, q, v, tau), NOTHING)


def with_error(identified: Identified, factor: float) -> Identified:
    """The same with errors of the held-out part that are that many times those of the used one."""
    fit = identified.fit
    return replace(identified, fit=replace(fit, error=factor * fit.error_used))


def test_a_fit_that_fails_where_it_was_held_out_is_named(identified: Identified, planar2: RobotModel):
    assert not [note for note in notes_on(with_error(identified, 2.9), planar2) if "as far off" in note]
    expected = "joint0: its torque is 4 times as far off where it was held out as elsewhere"
    assert expected in notes_on(with_error(identified, 4.0), planar2)


def test_numbers_that_nothing_tells_are_null(identified: Identified, planar2: RobotModel):
    moving, resting = identified_values(identified, planar2)["joints"].values()
    assert moving["Coulomb_friction"]["value"] == pytest.approx(2.0, rel=0.05)
    assert moving["held_out"]["error"] < 0.1 < 1.0 < moving["held_out"]["error_of_model"]
    assert resting["Coulomb_friction"] is None
    assert set(resting["held_out"].values()) == {None}
    head, *rows = identification_table(identified, planar2)
    assert head[-4:] == ("error model", "error fit", "R^2 model", "R^2 fit")
    assert rows[1][-4:] == ("-", "-", "-", "-")
    assert rows[0][-3] == f"{identified.fit.error[0]:.3g}"


def drawn(fit: TorqueFit, model: RobotModel, path: Path, monkeypatch: pytest.MonkeyPatch) -> Figure:
    figures: list[Figure] = []
    new_figure = identification_chart.new_figure
    monkeypatch.setattr(
        identification_chart, "new_figure", lambda *size: figures.append(new_figure(*size)) or figures[0]
    )
    draw_identification(path, fit, model)
    return figures[0]


@pytest.mark.usefixtures("quick_pictures")
def test_the_error_is_drawn_where_it_was_held_out(
    identified: Identified, planar2: RobotModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fit = identified.fit
    axes = drawn(fit, planar2, tmp_path / "picture.png", monkeypatch).axes[0]
    line = next(line for line in axes.lines if line.get_label() == "error where held out")
    is_drawn = np.isfinite(line.get_ydata())
    assert is_drawn.sum() == (fit.is_held_out & fit.is_moving[:, 0]).sum()
    np.testing.assert_allclose(np.sqrt(np.mean(np.square(line.get_ydata()[is_drawn]))), fit.error[0])
    assert f"held out, error {fit.error[0]:.2g} [N m] (model" in axes.get_title(loc="left")


def test_stribeck_friction_stands_in_table_notes_and_json(identified: Identified, planar2: RobotModel):
    stribeck = StribeckFit(np.array([0.7, 0.0]), np.array([0.02, 9.0]), 0.05, 0.004, np.array([True, False]))
    with_it = replace(identified, stribeck=stribeck)
    head, moving, resting = identification_table(with_it, planar2)
    column = head.index("Stribeck friction")
    assert (moving[column], resting[column]) == ("0.700 ± 0.020", "-")
    assert "Stribeck velocity 0.0500 ± 0.0040 rad/s" in notes_on(with_it, planar2)
    values = identified_values(with_it, planar2)
    assert values["Stribeck_velocity"] == {"value": 0.05, "standard_error": 0.004}
    frictions = [joint["Stribeck_friction"] for joint in values["joints"].values()]
    assert frictions == [{"value": 0.7, "standard_error": 0.02}, None]
    assert "Stribeck_velocity" not in identified_values(identified, planar2)
