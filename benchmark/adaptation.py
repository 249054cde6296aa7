"""Torque learnt online, beside a disturbance observer: a UR5 that follows one path again and again.

    python benchmark/adaptation.py [--json FILE] [--picture FILE] [--quick]

Four contenders in each case: the law alone, with the observer, with adaptation, with both; each with the floor of joint
inertia. The plants have what the model does not know: 2 kg at the hand, or a spring that pulls it; ``real`` is the
simulator's set with errors of all kinds. Errors are those of the true hand, root mean squares of a period.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import measure
import numpy as np
from adaptation_cases import CHANGED, CONTENDERS, DROPPED, HOME, PAYLOAD, REPEATED, Case, Part, follow, make_loop
from measure import Contender

from arm_control import RobotModel, urdf_path
from arm_control.control import AdaptationParameters, AdaptiveTorque, Measurement


def error_ratio(model: RobotModel, periods: int = 10) -> float:
    """Tracking error with adaptation, as a share of that without: the larger one of both controllers, with 2 kg.

    Parameters
    ----------
    model : RobotModel
        A UR5.
    periods : int
        Number of periods; the last one counts.
    """
    ratios = []
    for controller in ("osc", "joint"):
        case = Case(PAYLOAD, parts=(Part(periods=periods),), controller=controller)
        n = case.states_per_period
        law, adaptation = (follow(model, case, who).rms((periods - 1) * n, n) for who in ("law", "adaptation"))
        ratios.append(adaptation / law)
    return max(ratios)


def measure_repeated(model: RobotModel, case: Case) -> dict[str, dict[str, float]]:
    """Figures of a path that repeats, by contender.

    Parameters
    ----------
    model : RobotModel
        A UR5.
    case : Case
        Plant, controller and path.
    """
    figures = {}
    n, last = case.states_per_period, case.parts[0].periods - 1
    for who in CONTENDERS:
        outcome = follow(model, case, who)
        changes = np.diff(outcome.torques[last * n : (last + 1) * n], axis=0)
        figures[who] = {
            "first_mm": outcome.rms(0, n),
            "error_mm": outcome.rms(last * n, n),
            "error_deg": float(np.degrees(np.sqrt((outcome.errors[last * n : (last + 1) * n, 3:] ** 2).sum(1).mean()))),
            "peak_torque": float(np.abs(outcome.torques).max()),
            "chatter": float(np.sqrt(np.mean(changes**2, axis=0)).max()),
            "braked_states": outcome.braked,
        }
    return figures


def measure_changed(model: RobotModel, case: Case) -> dict[str, dict[str, float]]:
    """Figures of a path behind one that was learnt, by contender: of its first two periods.

    Parameters
    ----------
    model : RobotModel
        A UR5.
    case : Case
        Plant, controller and path.
    """
    figures = {}
    first, second = case.parts
    begin, n = round(first.duration * case.rate), round(second.period * case.rate)
    for who in list(CONTENDERS)[1:]:
        outcome, m = follow(model, case, who), case.states_per_period
        learnt = outcome.rms((first.periods - 1) * m, m)
        figures[who] = {"learnt_mm": learnt, "new_mm": outcome.rms(begin, n), "second_mm": outcome.rms(begin + n, n)}
    return figures


def measure_drop(model: RobotModel) -> dict[str, dict[str, float]]:
    """Figures of a hand that loses its load, by contender: the largest error, and each period behind it.

    Parameters
    ----------
    model : RobotModel
        A UR5.
    """
    figures = {}
    n, k = DROPPED.states_per_period, round(DROPPED.load_until * DROPPED.rate)
    for who in list(CONTENDERS)[1:]:
        outcome = follow(model, DROPPED, who)
        figures[who] = {"before_mm": outcome.rms(k - n, n), "largest_mm": float(outcome.distances[k:].max())}
        figures[who] |= {f"period_{i + 1}_mm": outcome.rms(k + i * n, n) for i in (0, 3, 7)}
    return figures


def tick_times(model: RobotModel, rounds: int) -> dict[str, float]:
    """Microseconds of a tick of each contender, and of adaptation with several numbers of neurons; they take turns.

    Parameters
    ----------
    model : RobotModel
        A UR5.
    rounds : int
        Number of turns.
    """
    q = HOME + 0.01
    states = [(Measurement(k * 1_000_000, q, np.full(6, 0.1), 1e-3 if k else 0.0, k == 0),) for k in range(200)]
    loops = {who: make_loop(model, REPEATED["2 kg"], who) for who in CONTENDERS}
    contenders = {who: Contender(loop.tick, states) for who, loop in loops.items()}
    terms, y = model.evaluate(q, np.full(6, 0.1)), np.ones(6)
    for neurons in (100, 500, 1000, 2000):
        adaptation = AdaptiveTorque(model, AdaptationParameters(adaptation_neurons=neurons))

        def tick(adaptation: AdaptiveTorque = adaptation) -> None:
            adaptation.tick(terms)
            adaptation.learn(y, 1e-3)

        contenders[f"{neurons} neurons"] = Contender(tick, [()] * 200)
    return {name: times.median for name, times in measure.take_turns(contenders, rounds).items()}


def draw(model: RobotModel, path: Path) -> None:
    """Draw the errors of all contenders over time.

    Parameters
    ----------
    model : RobotModel
        A UR5.
    path : Path
        The picture.
    """
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.4), sharey=True)
    for axis, (title, case) in zip(
        axes, {"2 kg for 24 s": REPEATED["2 kg, `real`"], "2 kg, lost after 12 s": DROPPED}.items(), strict=True
    ):
        for who in CONTENDERS:
            distances = follow(model, case, who).distances
            n = len(distances) // 250 * 250
            axis.semilogy(0.25 * np.arange(n // 250) + 0.125, distances[:n].reshape(-1, 250).max(axis=1), label=who)
        axis.set(xlabel="time [s]", title=title)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("largest error in 0.25 s [mm]")
    axes[0].legend(loc="center right", ncols=2, fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main() -> None:
    """Print the tables; with ``--json`` write the figures, with ``--picture`` draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--quick", action="store_true", help="one case, four periods")
    options = parser.parse_args()
    model = RobotModel.from_urdf(urdf_path("ur5"))
    repeated = {"2 kg": Case(PAYLOAD, parts=(Part(periods=4),))} if options.quick else REPEATED
    figures: dict[str, Any] = {name: measure_repeated(model, case) for name, case in repeated.items()}
    if not options.quick:
        figures |= {name: measure_changed(model, case) for name, case in CHANGED.items()}
        figures["2 kg that are lost"] = measure_drop(model)
    figures["error_ratio"] = error_ratio(model, 3 if options.quick else 10)
    figures["tick_us"] = tick_times(model, 2 if options.quick else 30)
    print(f"{measure.processor()}, {measure.versions('numpy', 'mujoco', 'llvmlite')}")
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    if options.picture:
        draw(model, options.picture)


if __name__ == "__main__":
    main()
