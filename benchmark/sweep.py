"""What Dask adds to a sweep: speedup of two workers, overhead of a run, lost rows, equal bits, memory.

    python benchmark/sweep.py [--runs 10000] [--many 1000000] --json sweep.json

Runs a scenario in a plain loop, on one worker and on two, each a process with one thread, which have started and run
before time is taken: two workers have all runs, one the first half of them, the loop the first 48. The overhead of a
run is that of runs that do nothing, against a plain loop; the same runs show the growth of memory of this process,
which has client and scheduler, from their first to their last quarter. Take the speedup on a machine with two free
cores.
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
GAINS = 100.0, 400.0
"""Ends of the axis of the scenario."""
LOOP = 48
EMPTY: dict[str, Any] = {"function": "sweep:nothing", "figures": ["y"]}


def nothing(x: int) -> dict[str, float]:
    """A run that does nothing."""
    return {"y": float(x)}


def sweep(content: dict[str, Any], axes: dict[str, Any]) -> Sweep:
    """A sweep of the scenario or the function."""
    return Sweep.from_content(content | {"axes": axes}, "benchmark", folder=str(Path(__file__).parent), trust=True)


def numbers(n: int) -> Sweep:
    """A sweep of n runs that do nothing."""
    return sweep(EMPTY, {"x": {"from": 0, "to": n - 1, "steps": n}})


def same(row: dict[str, Any]) -> dict[str, Any]:
    """All that does not vary of a row."""
    return {name: value for name, value in row.items() if name not in VARYING}


def written(folder: str) -> list[dict[str, Any]]:
    """The rows in a folder."""
    columns = read_rows(Path(folder))[1]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def memory() -> float:
    """Resident memory of this process [MB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def plain(chosen: Sweep, n: int) -> tuple[float, list[dict[str, Any]]]:
    """Time of a run in a plain loop [s], and the rows."""
    begin = perf_counter()
    rows = [run_row(chosen.plan, k, chosen.points[k]) for k in range(n)]
    return (perf_counter() - begin) / n, rows


def scenario_figures(n: int, place: str) -> dict[str, float]:
    """Rates of runs of the scenario [1/s], lost and failed rows, and whether rows have the bits of fewer workers."""
    gains = [GAINS[0] + (GAINS[1] - GAINS[0]) * k / n for k in range(n)]
    chosen = {workers: sweep(SCENARIO, {"osc.kp_linear": gains[: n * workers // 2]}) for workers in (1, 2)}
    plain(chosen[2], 1)
    seconds, rows = plain(chosen[2], min(n, LOOP))
    print(f"about {n * seconds:.0f} s follow, and the start of workers", flush=True)
    figures = {"rate_loop": 1.0 / seconds, "lost_rows": 0.0, "failed_rows": 0.0, "bits_equal": 1.0}
    for workers, runs in chosen.items():
        with begin_cluster(workers) as client:
            run_sweep(sweep(SCENARIO, {"osc.kp_linear": gains[: 4 * workers]}), f"{place}/warm{workers}", client=client)
            begin, processor_begin = perf_counter(), process_time()
            run_sweep(runs, f"{place}/{workers}", client=client, report=print)
            wall = perf_counter() - begin
            figures[f"rate_{workers}"] = len(runs.points) / wall
            figures["client_share"] = (process_time() - processor_begin) / (workers * wall)
        before, rows = rows, written(f"{place}/{workers}")
        figures["lost_rows"] += len(runs.points) - len(rows)
        figures["failed_rows"] += sum(bool(row["error"]) for row in rows)
        pairs = zip(before, rows, strict=False)  # as many as the fewer
        figures["bits_equal"] *= all(repr(same(a)) == repr({name: b[name] for name in same(a)}) for a, b in pairs)
    return figures | {"speedup_2": figures["rate_2"] / figures["rate_1"]}


def empty_figures(n: int, place: str) -> dict[str, float]:
    """Overhead of a run that does nothing [ms], its bytes in the file, and growth of memory [MB]."""
    chosen, sizes, folder = numbers(n), [], Path(f"{place}/empty")
    with begin_cluster(1) as client:
        run_sweep(numbers(100), f"{place}/warm", client=client)
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
    parser.add_argument("--runs", type=int, default=2000, help="runs of the scenario")
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
