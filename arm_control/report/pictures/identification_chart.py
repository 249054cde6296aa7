"""Picture of an identification: measured torque, torque by the model, and fitted torque of each joint.

Where a joint rests or turns round its friction is any torque, so that there is no fitted one. In the part that was held
out, which judges the fit, its error is drawn, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arm_control.identification import TorqueFit
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.report.pictures.style import BLUE, GREY, INK, ORANGE, RED, new_figure, style, time_axis

HEIGHT = 1.9
"""Of a joint's chart [inch]."""


def draw_identification(path: Path, fit: TorqueFit, model: RobotModel, unit: str = "[N m]") -> None:
    """Draw a chart for each joint; the windows that were held out are shaded."""
    n = len(model.joint_names)
    figure = new_figure(12.0, 0.6 + HEIGHT * n)
    charts = np.atleast_1d(figure.subplots(n, 1, sharex=True))
    breaks = np.flatnonzero(np.diff(fit.t) > 3.0 * np.median(np.diff(fit.t))) + 1
    t = np.insert(fit.t, breaks, np.nan)
    fitted = np.where(fit.is_moving, fit.fitted, np.nan)
    error = np.where(fit.is_held_out[:, None], fit.tau - fitted, np.nan)
    for j, (axes, name) in enumerate(zip(charts, model.joint_names, strict=True)):
        _shade(axes, fit)
        lines = (
            (fit.tau, INK, 1.6, "measured"),
            (fit.model, ORANGE, 1.1, "model"),
            (fitted, BLUE, 1.1, "fitted, where the joint moves"),
            (error, RED, 1.1, "error where held out"),
        )
        for values, colour, width, label in lines:
            axes.plot(t, np.insert(values[:, j], breaks, np.nan), color=colour, linewidth=width, label=label)
        judged = f"held out, error {fit.error[j]:.2g} {unit} (model {fit.error_model[j]:.2g}), R² {fit.r2[j]:.3f}"
        style(axes, f"{name}: {judged}".replace("nan", "-").replace("$", r"\$"), ylabel=unit)
        axes.set_ylim(*_range(fit.tau[:, j], fit.fitted[:, j], np.nan_to_num(error[:, j])))
    charts[0].legend(loc="upper right", ncols=5, fontsize=9, frameon=False)
    time_axis(charts[-1], float(fit.t[-1]))
    figure.savefig(path, dpi=100)


def _shade(axes: object, fit: TorqueFit) -> None:
    """Shade the time that was held out."""
    edges = np.flatnonzero(np.diff(np.r_[0, fit.is_held_out.astype(int), 0]))
    for k, (begin, end) in enumerate(edges.reshape(-1, 2).tolist()):
        span = fit.t[begin], fit.t[end - 1]
        axes.axvspan(*span, color=GREY, alpha=0.18, linewidth=0, label="held out" if k == 0 else None)  # type: ignore[attr-defined]


def _range(*series: Array) -> tuple[float, float]:
    """Ends of an axis: of what was measured and fitted; a model that is far off leaves it."""
    low, high = min(x.min() for x in series), max(x.max() for x in series)
    margin = 0.15 * max(high - low, 1e-9)
    return low - margin, high + margin
