"""What Dask adds to a sweep: speedup of two workers, overhead of a run, lost rows, equal bits, memory.

    python benchmark/sweep.py [--many 1000000] --json sweep.json

Runs a scenario in a plain loop, on one worker and on two, each a process with one thread, which have started and run
before time is taken. The overhead of a run is that of runs that do nothing, against a plain loop; the same runs show
the growth of memory of this process, which has client and scheduler, from their first to their last quarter. Take the
speedup on a machine with two free cores.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from measure import processor, versions

from arm_control.sweeps import VARYING, Sweep, begin_cluster, begin_rows, read_rows, run_row, run_sweep

SCENARIO: dict[str, Any] = {"scenario": "ur5_osc", "duration": 1.0, "figures": "all"}
EMPTY: dict[str, Any] = {"function": "sweep:nothing", "figures": ["y"]}


def nothing(x: int) -> dict[str, float]:
    """A run that does nothing."""
    return {"y": float(x)}


def sweep(content: dict[str, Any], axis: str, n: int, first: int = 0) -> Sweep:
    """A sweep of n runs over an axis with the numbers from ``first`` on."""
    axes = {axis: {"from": first, "to": first + n - 1, "steps": n}}
    return Sweep.from_content(content | {"axes": axes}, "benchmark", folder=str(Path(__file__).parent), trust=True)


def same(row: dict[str, Any]) -> dict[str, Any]:
    """All that does not vary of a row."""
    return {name: value for name, value in row.items() if name not in VARYING}


def memory() -> float:
    """Resident memory of this process [MB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def plain(chosen: Sweep, n: int) -> tuple[float, list[dict[str, Any]]]:
    """Time of a run in a plain loop [s], and the rows."""
    begin = perf_counter()
    rows = [run_row(chosen.plan, k, chosen.points[k]) for k in range(n)]
    return (perf_counter() - begin) / n, rows


def scenario_figures(n: int, place: str) -> dict[str, float]:
    """Rates of n runs of the scenario [1/s], lost rows, and whether all rows have the bits of a plain loop."""
    chosen, figures = sweep(SCENARIO, "osc.kp_linear", n, 100), {}
    plain(chosen, 1)
    seconds, loop = plain(chosen, n)
    figures["rate_loop"] = 1.0 / seconds
    lost, are_equal = 0, True
    for workers in (1, 2):
        with begin_cluster(workers) as client:
            run_sweep(sweep(SCENARIO, "osc.kp_linear", 8, 90), f"{place}/warm{workers}", client=client)
            begin, processor_begin = perf_counter(), process_time()
            run_sweep(chosen, f"{place}/{workers}", client=client)
            wall = perf_counter() - begin
            figures[f"rate_{workers}"] = n / wall
            figures["client_share"] = (process_time() - processor_begin) / (workers * wall)
        columns = read_rows(Path(f"{place}/{workers}"))[1]
        lost += n - len(columns["run"])
        names = same(loop[0])
        are_equal &= repr([{name: columns[name][k] for name in names} for k in range(n)]) == repr([*map(same, loop)])
    figures["speedup_2"] = figures["rate_2"] / figures["rate_1"]
    return figures | {"lost_rows": float(lost), "bits_equal": float(are_equal)}


def empty_figures(n: int, place: str) -> dict[str, float]:
    """Overhead of a run that does nothing [ms], its bytes in the file, and growth of memory [MB]."""
    chosen, sizes, folder = sweep(EMPTY, "x", n), [], Path(f"{place}/empty")
    with begin_cluster(1) as client:
        run_sweep(sweep(EMPTY, "x", 100), f"{place}/warm", client=client)
        begin, processor_begin = perf_counter(), process_time()
        run_sweep(chosen, folder, client=client, report=lambda _: sizes.append(memory()))
        seconds, own = perf_counter() - begin, process_time() - processor_begin
    quarter = max(1, len(sizes) // 4)
    return {
        "overhead_ms": 1e3 * (seconds / n - plain(chosen, min(n, 2000))[0]),
        "client_ms": 1e3 * own / n,
        "empty_rate": n / seconds,
        "empty_lost_rows": float(n - begin_rows(folder, chosen, resume=True).sum()),
        "bytes_per_row": sum(part.stat().st_size for part in folder.iterdir()) / n,
        "memory_growth_mb": max(sizes[-quarter:]) - max(sizes[:quarter]),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=48)
    parser.add_argument("--many", type=int, default=20_000, help="runs that do nothing")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{processor()}, {versions('numpy', 'dask', 'distributed', 'pyarrow')}")
    with TemporaryDirectory() as place:
        figures = empty_figures(options.many, place) | scenario_figures(options.runs, place)
    for name, value in figures.items():
        print(f"{name:18} {value:.4g}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
