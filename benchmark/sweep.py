"""What Dask adds to a sweep: speedup of two workers, overhead of a run, lost rows, equal bits.

    python benchmark/sweep.py --json sweep.json

Runs a scenario on one and on two workers, each a process with one thread, which have started and run before time is
taken. The overhead is that of runs that do nothing, against a plain loop. Takes about a minute on two free cores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from arm_control.sweeps import VARYING, Sweep, run_row

SCENARIO: dict[str, Any] = {"scenario": "planar2_reach", "duration": 1.0, "figures": "all"}
EMPTY: dict[str, Any] = {"function": "sweep:nothing", "figures": ["y"]}


def nothing(x: int) -> dict[str, float]:
    """A run that does nothing."""
    return {"y": float(x)}


def sweep(content: dict[str, Any], axis: str, n: int, first: int = 0) -> Sweep:
    """A sweep of n runs over an axis with the numbers from ``first`` on."""
    axes = {axis: {"from": first, "to": first + n - 1, "steps": n}}
    return Sweep.from_content(content | {"axes": axes}, "benchmark", folder=str(Path(__file__).parent), trust=True)


def rows(folder: Path) -> str:
    """All that does not vary of the rows in a folder, as text that is equal where all bits are."""
    from arm_control.sweeps import read_rows

    return repr({name: column for name, column in read_rows(folder)[1].items() if name not in VARYING})


def measure(n_runs: int, n_empty: int) -> dict[str, float]:
    """Figures of n runs of the scenario, and of so many that do nothing.

    Returns
    -------
    dict of str to float
        Runs a second on one and two workers, the speedup, overhead of a run [ms], rows that are missing, and whether
        all rows have the bits of a plain loop.
    """
    from arm_control.sweeps import begin_cluster, read_rows, run_sweep

    chosen, empty = sweep(SCENARIO, "osc.kp_linear", n_runs, 100), sweep(EMPTY, "x", n_empty)
    figures: dict[str, float] = {}
    found = []
    with TemporaryDirectory() as place:
        for workers in (1, 2):
            with begin_cluster(workers) as client:
                run_sweep(sweep(SCENARIO, "osc.kp_linear", 4, 90), f"{place}/warm{workers}", client=client)
                begin = perf_counter()
                run_sweep(chosen, f"{place}/{workers}", client=client)
                figures[f"rate_{workers}"] = n_runs / (perf_counter() - begin)
                if workers == 1:
                    begin = perf_counter()
                    run_sweep(empty, f"{place}/empty", client=client)
                    figures["empty_ms"] = 1e3 * (perf_counter() - begin) / n_empty
            found.append(rows(Path(f"{place}/{workers}")))
            figures[f"lost_{workers}"] = n_runs - len(read_rows(Path(f"{place}/{workers}"))[1]["run"])
    begin = perf_counter()
    for k in range(n_empty):
        run_row(empty.plan, k, empty.points[k])
    figures["overhead_ms"] = figures.pop("empty_ms") - 1e3 * (perf_counter() - begin) / n_empty
    figures["speedup"] = figures["rate_2"] / figures["rate_1"]
    return figures | {"equal_bits": float(found[0] == found[1] and _is_that_of_a_loop(chosen, found[0]))}


def _is_that_of_a_loop(chosen: Sweep, text: str) -> bool:
    """Whether the first runs in this process have the figures of the rows."""
    plain = [run_row(chosen.plan, k, chosen.points[k]) for k in range(2)]
    return all(repr(row["rms_error"]) in text and repr(row["torque_share"]) in text for row in plain)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--empty", type=int, default=300, help="runs that do nothing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = measure(options.runs, options.empty)
    for name, value in figures.items():
        print(f"{name:12} {value:.4g}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
