"""A CoppeliaSim to test against: the stand-in, or a real one where ``ARM_CONTROL_COPPELIASIM=host:port`` names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from stand_in import REAL, StandIn, empty_the_scene, world_with

from arm_control.simulation import CoppeliasimParameters, CoppeliasimSimulator, RangeSensor


@pytest.fixture
def stand_in() -> Iterator[Callable[..., StandIn]]:
    """Start stand-ins with faults; they end with the test."""
    started: list[StandIn] = []

    def start(port: int = 0, **faults: Any) -> StandIn:
        server = StandIn(world_with(faults), port).__enter__()
        started.append(server)
        return server

    yield start
    for server in started:
        if server.running:
            server.stop()


@pytest.fixture
def place(stand_in: Callable[..., StandIn]) -> tuple[str, int]:
    """Host and port of a CoppeliaSim without faults."""
    if REAL:
        host, _, port = REAL.rpartition(":")
        empty_the_scene(host, int(port))
        return host, int(port)
    return "127.0.0.1", stand_in().port


@pytest.fixture
def simulate(
    request: pytest.FixtureRequest, stand_in: Callable[..., StandIn]
) -> Iterator[Callable[..., CoppeliasimSimulator]]:
    """Make simulators of an arm in the CoppeliaSim there is, or in the one given; closed with the test."""
    made: list[CoppeliasimSimulator] = []

    def make(
        model: Any,
        q: Any = None,
        server: StandIn | None = None,
        timestep: float = 0.005,
        ranges: Sequence[RangeSensor] = (),
        **parameters: Any,
    ) -> CoppeliasimSimulator:
        model.evaluate(np.zeros(model.nq), np.zeros(model.nv))  # compiled before a server waits for it
        host, port = request.getfixturevalue("place") if server is None else ("127.0.0.1", server.port)
        slow = {"watchdog_time": 10.0}  # a test may be kept waiting
        given = CoppeliasimParameters(host=host, port=port, **slow | parameters)
        made.append(CoppeliasimSimulator(model, q, timestep=timestep, parameters=given, ranges=ranges))
        return made[-1]

    yield make
    for simulator in made:
        simulator.close()


@pytest.fixture
def connected(simulate: Callable[..., CoppeliasimSimulator]) -> Callable[..., CoppeliasimSimulator]:
    """Make simulators that are connected."""

    def make(*arguments: Any, **options: Any) -> CoppeliasimSimulator:
        simulator = simulate(*arguments, **options)
        simulator.connect()
        return simulator

    return make
