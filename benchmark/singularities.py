"""What the four ways to meet a singularity cost and give, at log-spaced distances from one; with a picture.

    python benchmark/singularities.py [--picture FILE] [--json FILE]

The UR5 at rest is asked for accelerations of 1 m/s^2 in random directions. Largest torque beside gravity, as a share
of the limit, and how far the acceleration it causes is from what was asked for, as a share of it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from arm_control import OperationalSpaceController, OscParameters, Reference, RobotModel, urdf_path
from arm_control.control import SINGULARITIES, scaled_jacobian
from arm_control.maths import Array

WAYS_IN = {
    "stretched": lambda x: [0.2, -0.6, x, -1.9, -1.57, 0.0],
    "wrist": lambda x: [0.1, -1.6, 1.9, -0.3, x, 0.3],
    "shoulder": lambda x: [0.3, -np.pi / 2, x, -np.pi / 2, x, 0.0],
}
"""Joint positions at a distance x from the singularity [rad]."""
UNLIMITED = {
    "speed_limit_linear": 1e3, "speed_limit_angular": 1e3, "acceleration_limit_linear": 1e5,
    "acceleration_limit_angular": 1e5, "joint_speed_share": 1.0,
}  # fmt: skip


def met(model: RobotModel, q: Array, how: str, n: int = 20) -> tuple[float, float, float]:
    """Torque share, deviation, and the part of the deviation across the direction that is lost."""
    osc = OperationalSpaceController(model, OscParameters(posture=tuple(q), singularity=how, **UNLIMITED))
    t, rng, S = model.evaluate(q, np.zeros(6)), np.random.default_rng(0), np.array([1, 1, 1, 0.3, 0.3, 0.3])
    lost = np.linalg.svd(scaled_jacobian(t.J, 0.3))[0][:, -1]
    found = []
    for direction in rng.normal(size=(n, 6)):
        A = direction / np.linalg.norm(direction)
        tau = osc.tick(t, Reference(t.X_WE, np.zeros(6), A)).tau
        off = S * (t.J @ np.linalg.solve(t.M, tau - t.h) + t.Jdot_v - A) / np.linalg.norm(S * A)
        found.append(
            (np.abs((tau - t.h) / model.tau_max).max(), np.linalg.norm(off), np.linalg.norm(off - lost * (lost @ off)))
        )
    return tuple(map(float, np.max(found, axis=0)))


def main() -> None:
    """Print the table; draw it where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model, figures = RobotModel.from_urdf(urdf_path("ur5")), {}
    distances = np.geomspace(1.0, 1e-4, 41)
    for way, q_at in WAYS_IN.items():
        print(f"{way:10} distance    " + "".join(f"{how:^24}" for how in SINGULARITIES))
        for k, x in enumerate(distances):
            row = [met(model, np.array(q_at(x)), how) for how in SINGULARITIES]
            figures.setdefault(way, []).append([float(x), *row])
            if k % 10 == 0:
                print(f"{'':10} {x:8.0e}    " + "".join(f"{tau:10.3f} {off:10.1e}   " for tau, off, _ in row))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    if options.picture:
        draw(options.picture, figures)


def draw(path: Path, figures: dict[str, list]) -> None:
    """Torque and deviation over the distance, for the three singularities."""
    import matplotlib.pyplot as plt

    from arm_control.report import BLUE, GREEN, GREY, INK, RED

    colours = dict(zip(SINGULARITIES, (BLUE, RED, GREEN, GREY), strict=True))
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.2), sharex=True, sharey="row", layout="constrained")
    for column, (way, rows) in zip(axes.T, figures.items(), strict=True):
        x = [row[0] for row in rows]
        for i, how in enumerate(SINGULARITIES):
            values = np.array([row[1 + i] for row in rows])
            width = 2.2 if how == "fade" else 1.3
            column[0].plot(x, values[:, 0], color=colours[how], lw=width, label=how)
            column[1].plot(x, 100 * values[:, 1], color=colours[how], lw=width)
        column[0].set(title=way, xscale="log", yscale="log", ylim=(5e-3, 3.0))
        column[0].axhline(1.0, color=INK, lw=0.8, ls=":")
        column[1].set(xlabel="distance from the singularity [rad]", ylim=(-3, 103))
        column[1].invert_xaxis()
    axes[0, 0].set_ylabel("torque / limit for 1 m/s²")
    axes[1, 0].set_ylabel("acceleration missed [%]")
    axes[0, 0].legend(frameon=False, loc="upper left")
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
