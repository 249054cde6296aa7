"""Sweeps on a cluster of Dask in the process of the test: all rows, equal bits, what remains of a broken one."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from arm_control.app import cli
from arm_control.exceptions import ArmControlError, InputError
from arm_control.sweeps import VARYING, Sweep

MISSING = [name for name in ("dask", "distributed", "pyarrow") if find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"{', '.join(MISSING)}: the extra 'sweep' is not installed")
MODULE = """\
import os, signal, time
from pathlib import Path
def rows(x, seed):
    if x == 3:
        raise ValueError(f"x = {x}")
    return {"y": x / 3.0, "z": seed * 1e-10}
def slow(x, seed):
    time.sleep(0.05)
    return rows(x, seed)
def deadly(x, mark):
    if x == 2:
        with open(mark, "a") as file:
            file.write(".")
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"y": x}
"""


@pytest.fixture
def of_function(tmp_path: Path) -> Any:
    """A sweep of a function of the module above."""
    (tmp_path / "module_of_sweeps.py").write_text(MODULE)

    def make(name: str = "rows", n: int = 8, figures: tuple[str, ...] = ("y", "z"), **more: list[Any]) -> Sweep:
        axes = {"x": {"from": 0, "to": n - 1, "steps": n}, **more}
        content = {"function": f"module_of_sweeps:{name}", "axes": axes, "figures": list(figures), "seed": 5}
        return Sweep.from_content(content, name, folder=str(tmp_path), trust=True)

    return make


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster

    from arm_control.sweeps.dask_runs import LOCAL

    size = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with config.set(LOCAL), LocalCluster(**size) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def columns(folder: Path) -> dict[str, list[Any]]:
    from arm_control.sweeps import read_rows

    return {name: x for name, x in read_rows(folder)[1].items() if name not in VARYING}


def test_every_run_has_a_row_with_the_bits_of_a_plain_loop(of_function: Any, client: Any, tmp_path: Path):
    from arm_control.sweeps import read_rows, run_row, run_sweep, write_rows

    sweep = of_function(n=40)
    assert run_sweep(sweep, tmp_path / "rows", client=client) == 40
    (tmp_path / "loop").mkdir()
    write_rows(tmp_path / "loop", sweep, [run_row(sweep.plan, k, sweep.points[k]) for k in reversed(range(40))])
    rows, loop = columns(tmp_path / "rows"), columns(tmp_path / "loop")
    assert repr(rows) == repr(loop)  # where a run failed, its figures are not numbers
    assert rows["run"] == list(range(40))
    assert [error for error in rows["error"] if error] == ["ValueError: x = 3"]
    described, all_columns = read_rows(tmp_path / "rows")
    assert (described["kinds"], all_columns["x"][5]) == ({"x": "int"}, 5)
    assert min(all_columns["duration"]) > 0.0
    assert all(all_columns["worker"])


def test_memory_does_not_grow_with_the_calls_that_were_sent(
    of_function: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from arm_control.sweeps import dask_runs, run_sweep

    def is_call(thing: Any) -> bool:
        return type(thing) is tuple and len(thing) == 2 and type(thing[1]) is dict and thing[1].keys() == {"x"}

    monkeypatch.setattr(dask_runs, "BATCH", 5)
    assert run_sweep(of_function(n=500), tmp_path / "rows", client=client) == 500
    assert sum(map(is_call, gc.get_objects())) < 300


def test_a_scenario_runs_from_the_command_line(
    client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from contextlib import nullcontext

    lines = ["scenario: planar2_reach", "duration: 0.03", "figures: [rms_error, torque_share]", "axes:"]
    lines += ["  simulator.initial_position: [[0.7, 1.8], [0.8, 1.8], [0.9]]"]
    (tmp_path / "mine.yaml").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("arm_control.sweeps.dask_runs.begin_cluster", lambda *_: nullcontext(client))
    assert cli.main(["sweep", "mine.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("3 runs; dashboard: ")
    assert "3 rows, 1 failed" in out
    assert out.endswith("wrote mine.parquet\n")
    assert columns(Path("mine.parquet"))["simulator.initial_position"] == [[0.7, 1.8], [0.8, 1.8], [0.9]]
    assert cli.main(["sweep", "report", "mine.parquet", "--best", "torque_share", "--out", "page"]) == 0
    text = capsys.readouterr().out
    (command,) = (line for line in text.splitlines() if line.startswith("arm_control simulate"))
    assert "--duration 0.03 --set 'simulator.initial_position=[0." in command
    assert Path("page/index.html").is_file()
    assert cli.main(["sweep", "best", "mine.parquet", "--set", "gains.yaml"]) == 2
    assert "no axis is a parameter of a controller" in capsys.readouterr().err
    assert cli.main(["sweep", "mine.yaml"]) == 2
    assert "mine.parquet has rows already: --resume runs what is missing" in capsys.readouterr().err


def test_what_an_interrupted_sweep_has_done_is_kept_and_not_run_again(
    of_function: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from arm_control.sweeps import dask_runs, run_sweep

    sweep, folder = of_function(n=30), tmp_path / "rows"
    monkeypatch.setattr(dask_runs, "BATCH", 4)
    monkeypatch.setattr(dask_runs._Progress, "step", lambda progress, n, is_due: _interrupt(progress, n, 10))
    with pytest.raises(KeyboardInterrupt):
        run_sweep(sweep, folder, client=client)
    monkeypatch.undo()
    n_done = len(columns(folder)["run"])
    assert 10 <= n_done < 30
    assert len(list(folder.iterdir())) > 1
    assert run_sweep(sweep, folder, client=client, resume=True) == 30 - n_done
    assert columns(folder)["run"] == list(range(30))
    assert run_sweep(sweep, folder, client=client, resume=True) == 0
    with pytest.raises(InputError, match="has rows of another sweep"):
        run_sweep(of_function(n=31), folder, client=client, resume=True)


def _interrupt(progress: Any, n: int, last: int) -> None:
    progress._done += n
    if progress._done >= last:
        raise KeyboardInterrupt


def test_no_more_tasks_wait_than_the_workers_need_and_short_runs_share_one(
    of_function: Any, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from arm_control.sweeps import run_sweep

    sent, running = [], []
    submit = client.submit

    def counted(function: Any, plan: Any, calls: list[Any], **more: Any) -> Any:
        sent.append(len(calls))
        future = submit(function, plan, calls, **more)
        running.append(future)
        assert sum(not one.done() for one in running) <= 4 * 2
        return future

    monkeypatch.setattr(client, "submit", counted)
    assert run_sweep(of_function(n=5000), tmp_path / "rows", client=client) == 5000
    assert columns(tmp_path / "rows")["run"] == list(range(5000))
    assert sent[:8] == [1] * 8
    assert sum(sent) == 5000
    assert 100 < max(sent) <= 5000 // 8  # the end is shared by all workers


def test_what_are_no_rows_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file.parquet").write_text("text")
    for name in (".", "file.parquet", "none"):
        assert cli.main(["sweep", "report", str(tmp_path / name)]) == 2
        assert "has no rows of a sweep" in capsys.readouterr().err
    assert cli.main(["sweep", "best"]) == 2
    assert "best: rows of a sweep are needed, such as " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "why"),
    [("nix", "missing port"), ("x://nix:1", "unknown address scheme"), ("tls://127.0.0.1:1", "its settings .*ca-file")],
)
def test_a_scheduler_that_is_not_there_is_one_sentence(address: str, why: str, of_function: Any, tmp_path: Path):
    """Dask's client is not begun: one that ends before it has begun takes 20 s, and prints a traceback."""
    from arm_control.sweeps import run_sweep

    with pytest.raises(ArmControlError, match=f"no scheduler of Dask answers at {address}: {why}"):
        run_sweep(of_function(), tmp_path / "rows", scheduler=address)


@pytest.mark.campaign
def test_a_worker_that_dies_costs_its_run_only(of_function: Any, tmp_path: Path):
    from arm_control.sweeps import TRIES, run_sweep

    mark = tmp_path / "mark"
    sweep = of_function("deadly", 24, ("y",), mark=[str(mark)])
    begin = time.monotonic()
    assert run_sweep(sweep, tmp_path / "rows", workers=2) == 24
    rows = columns(tmp_path / "rows")
    assert rows["run"] == list(range(24))
    assert {run: error for run, error in zip(rows["run"], rows["error"], strict=True) if error} == {
        2: f"the worker died, in each of {TRIES} tries"
    }
    assert mark.read_text() == "." * TRIES
    assert time.monotonic() - begin < 120.0


@pytest.mark.parametrize("n", [3, 40])
def test_results_of_a_function_come_in_the_order_of_its_items(
    n: int, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from contextlib import nullcontext

    from arm_control.sweeps import in_order

    (tmp_path / "module_of_items.py").write_text(
        "import time\n"
        "def late(x):\n"
        "    if x == 30:\n"
        "        raise ValueError('thirty')\n"
        "    time.sleep(0.01 * (x == 0))\n"
        "    return 2 * x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("arm_control.sweeps.dask_runs.begin_cluster", lambda *_: nullcontext(client))
    from module_of_items import late

    assert list(in_order(late, range(n % 37), 2)) == [0, 2, 4]
    if n > 8:
        assert list(in_order(late, range(20), 2)) == [2 * x for x in range(20)]
        with pytest.raises(ArmControlError, match=r"late, item 30 \(30\): ValueError: thirty"):
            list(in_order(late, range(n), 2))


@pytest.mark.campaign
def test_a_cluster_loses_no_row_when_workers_are_killed_paused_and_restarted(of_function: Any, tmp_path: Path):
    """A scheduler and eight workers, over TCP: two are killed, one is stopped for good, one ends and comes back."""
    from arm_control.sweeps import run_row, run_sweep, write_rows

    sweep, file = of_function("slow", n=1600), str(tmp_path / "scheduler.json")
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s"}
    processes: list[subprocess.Popen[bytes]] = []

    def begin(kind: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", file, *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
        processes.append(subprocess.Popen(command, **quiet))
        return processes[-1]

    def worker() -> subprocess.Popen[bytes]:
        return begin("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")

    def disturb() -> None:
        begun.wait()
        time.sleep(3.0)
        workers[0].kill()
        workers[1].send_signal(signal.SIGSTOP)
        time.sleep(2.0)
        workers[2].kill()
        workers[3].terminate()
        workers[3].wait()
        workers.append(worker())

    begun = threading.Event()
    try:
        begin("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        workers = [worker() for _ in range(8)]
        while not Path(file).exists():
            time.sleep(0.1)
        address = json.loads(Path(file).read_text())["address"]
        disturbing = threading.Thread(target=disturb)
        disturbing.start()
        n = run_sweep(sweep, tmp_path / "rows", scheduler=address, report=lambda _: begun.set())
        disturbing.join()
        ended = [process.poll() for process in workers]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert n == 1600
    assert ended[:4] == [-signal.SIGKILL, None, -signal.SIGKILL, 0]
    (tmp_path / "loop").mkdir()
    write_rows(tmp_path / "loop", sweep, [run_row(sweep.plan, k, sweep.points[k]) for k in range(1600)])
    assert repr(columns(tmp_path / "rows")) == repr(columns(tmp_path / "loop"))


def test_bags_are_rows_from_the_command_line(
    client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    from contextlib import nullcontext

    pytest.importorskip("rosbags")
    bag = Path(__file__).parents[1] / "golden" / "planar2_reach"
    (tmp_path / "none.mcap").write_text("text")
    (tmp_path / "bag").symlink_to(bag)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("arm_control.sweeps.dask_runs.begin_cluster", lambda *_: nullcontext(client))
    assert cli.main(["sweep", "replay", "--bags", "**/*.mcap"]) == 1
    assert "2 rows, 1 failed" in capsys.readouterr().out
    found = columns(Path("bags_replay.parquet"))
    assert found["bag"] == [str(tmp_path / "bag"), str(tmp_path / "none.mcap")]
    assert found["identical"][0] == 1.0
    assert "none.mcap" in found["error"][1]
