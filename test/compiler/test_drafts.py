"""Drafts: the same numbers as complete code, which takes their place in the cache."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arm_control.compiler import Kernel, Law, LlvmCompiler, compile_law, drafts, llvm_kernels
from arm_control.compiler.drafts import Draft
from arm_control.core import Cache
from arm_control.maths import cos, exp, sin, sqrt

N = 8


def function(x: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Sums of products of which many are needed again much later: registers do not suffice."""
    entries = list(x["x"])
    for k in range(N):
        entries.append(sin(entries[k]) * entries[-1] + exp(entries[k]) / (2.0 + cos(entries[k + 1]) * entries[k]))
    outer = [[a * b - c * a for a, c in zip(entries, reversed(entries), strict=True)] for b in entries]
    total = sum(sum(row) for row in outer)
    return {"y": np.array(outer), "z": sqrt(total * total + 1.0)}


LAW = Law("long law", function, {"x": N})
SAMPLES = {"x": np.random.default_rng(0).uniform(-1.0, 1.0, (2, N))}


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every law is long enough."""
    monkeypatch.setattr(drafts, "LONG", 10)
    monkeypatch.setenv(drafts.DRAFTS, "on")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Draft]:
    """Drafts that a process would be started for."""
    found: list[Draft] = []
    monkeypatch.setattr(drafts, "complete_later", found.append)
    return found


def make(cache: Cache) -> Kernel:
    """A kernel of the law."""
    return compile_law(LlvmCompiler("test", "test", cache), LAW, SAMPLES)


def numbers(kernel: Kernel) -> list[bytes]:
    """All outputs in some cases, bit by bit."""
    rng, found = np.random.default_rng(1), []
    for _ in range(20):
        kernel.inputs["x"][:] = rng.uniform(-3.0, 3.0, N)
        assert not kernel.call()
        found.append(b"".join(output.tobytes() for output in kernel.outputs.values()))
    return found


def test_a_draft_has_the_bits_of_complete_code_and_is_replaced(tmp_path: Path, started: list[Draft]):
    cache = Cache(tmp_path / "cache")
    expected = numbers(make(Cache(None)))
    assert started == []
    assert numbers(make(cache)) == expected
    (draft,) = started
    assert cache.entries() == []
    drafts.complete(draft)
    (entry,) = cache.entries()
    assert entry.title == "test: long law (one)"
    stored = cache.load(draft.key)
    assert stored is not None
    assert stored != draft.data
    assert numbers(make(cache)) == expected
    assert len(started) == 1


def test_another_process_completes_a_draft(tmp_path: Path, started: list[Draft]):
    cache = Cache(tmp_path / "cache")
    make(cache)
    drafts._run_process(started[0])
    assert cache.load(started[0].key) is not None


def test_drafts_of_a_cache_are_completed_one_at_a_time(
    tmp_path: Path, started: list[Draft], monkeypatch: pytest.MonkeyPatch
):
    cache = Cache(tmp_path / "cache")
    make(cache)
    completed: list[Draft] = []
    monkeypatch.setattr(drafts, "complete", completed.append)
    monkeypatch.setattr(drafts.os, "nice", lambda _: None)
    monkeypatch.setattr(drafts.os, "sched_setscheduler", lambda *_: None)
    monkeypatch.setattr(drafts.sys, "stdin", SimpleNamespace(buffer=BytesIO(pickle.dumps(started[0]))))
    waits = Thread(target=drafts.main)
    with drafts.turn(started[0].directory):
        waits.start()
        waits.join(0.05)
        assert completed == []
    waits.join()
    assert completed == started


def test_a_pipe_behind_a_command_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The process that goes on holds none of its ends."""
    options: dict[str, Any] = {}
    monkeypatch.setattr(drafts.subprocess, "run", lambda _, **given: options.update(given))
    drafts._run_process(Draft(str(tmp_path), "key", "title", b"", ""))
    assert options["stdout"] == options["stderr"] == drafts.subprocess.DEVNULL


def test_code_that_differs_from_its_draft_is_not_stored(
    tmp_path: Path, started: list[Draft], caplog: pytest.LogCaptureFixture
):
    cache = Cache(tmp_path / "cache")
    make(cache)
    wrong = started[0].code.replace("fadd contract", "fsub contract", 1)
    with caplog.at_level(logging.WARNING):
        drafts.complete(started[0]._replace(code=wrong))
    assert "differs from its draft" in caplog.text
    assert cache.entries() == []


def test_a_wrong_draft_is_not_completed(tmp_path: Path, started: list[Draft], monkeypatch: pytest.MonkeyPatch):
    """A kernel is compared with the law before anything is kept."""
    code = llvm_kernels.scalar_code
    monkeypatch.setattr(
        llvm_kernels, "scalar_code", lambda *arguments: code(*arguments).replace("fadd contract", "fsub contract")
    )
    monkeypatch.setenv("ARM_CONTROL_STRICT", "0")
    assert not make(Cache(tmp_path / "cache")).is_compiled
    assert started == []


@pytest.mark.parametrize("why", ["no cache", "off", "short", "no interpreter"])
def test_complete_code_at_once(why: str, tmp_path: Path, started: list[Draft], monkeypatch: pytest.MonkeyPatch):
    cache = Cache(None if why == "no cache" else tmp_path / "cache")
    if why == "off":
        monkeypatch.setenv(drafts.DRAFTS, "off")
    if why == "short":
        monkeypatch.setattr(drafts, "LONG", 10**6)
    if why == "no interpreter":
        monkeypatch.setattr(drafts.sys, "executable", None)
    make(cache)
    assert started == []
    assert len(cache.entries()) == (why != "no cache")


def test_a_draft_is_all_there_is_where_it_is_enough(
    tmp_path: Path, started: list[Draft], monkeypatch: pytest.MonkeyPatch
):
    """It stays, under a key of its own; complete code is larger or smaller."""
    cache = Cache(tmp_path / "cache")
    expected = numbers(make(cache))
    monkeypatch.setenv(drafts.DRAFTS, "only")
    assert numbers(make(cache)) == numbers(make(cache)) == expected
    (entry,) = cache.entries()
    drafts.complete(*started)
    assert {other.size == entry.size for other in cache.entries()} == {True, False}
