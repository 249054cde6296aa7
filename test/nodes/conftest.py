"""Fixtures of the node tests: each test has a domain of its own, on this machine only."""

from __future__ import annotations

import fcntl
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rig import HOME, PATIENCE, Rig, in_motion

from arm_control import RobotModel

FIRST = 31 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
NUMBERS = itertools.cycle((FIRST + k) % 100 + 1 for k in range(100))


@pytest.fixture
def domain() -> Iterator[int]:
    """A domain id that no other test on this machine has, nor had lately: a node that ends is seen for a while."""
    for number in NUMBERS:
        with (Path(tempfile.gettempdir()) / f"arm_control_domain_{number}").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return


@pytest.fixture
def rig(domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """Nodes, and processes, on a domain of their own."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rig = Rig(tmp_path, domain)
    try:
        yield rig
    finally:
        rig.close()


@pytest.fixture
def stepping(rig: Rig, ur5: RobotModel) -> Rig:
    """A UR5 in the middle of a reach of 0.35 m, in lock step, with time for the two nodes to find each other."""
    rig.start("osc", publish_effort_array=False, lock_step=True)
    slowed = {"lock_step": True, "paced": True, "real_time_factor": 0.5}
    rig.start("simulator", robot="ur5", initial_position=HOME, loss_time=PATIENCE, **slowed)
    return in_motion(rig, ur5)


class PlannerHere:
    """A planner in this process, in the place of one in a process of its own."""

    pid = 0

    def __init__(self, model: RobotModel, make: Callable[[RobotModel], Any]) -> None:
        self._planner, self.alive = make(model), True

    def request(self, request: Any) -> None:
        self._planner.request(request)

    def poll(self, wait: bool = False) -> Any:
        return self._planner.poll(wait) if self.alive else None

    def close(self) -> None:
        self.alive = False


@pytest.fixture(autouse=True)
def planner_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes plan in this process, unless a test is about processes."""
    if not request.node.get_closest_marker("processes") and not request.node.get_closest_marker("campaign"):
        for name in ("ilqr", "planner"):
            monkeypatch.setattr(f"arm_control.nodes.{name}.PlannerProcess", PlannerHere)
