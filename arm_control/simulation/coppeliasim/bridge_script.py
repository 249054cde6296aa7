"""Our script inside CoppeliaSim, ``coppeliasim/bridge.lua``: put there, found again, and whose simulation it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from arm_control.core.files import share_path
from arm_control.exceptions import ModelError, SimulatorLost
from arm_control.simulation.coppeliasim.arm_scene import find
from arm_control.simulation.coppeliasim.coppeliasim_client import Connection

SCRIPT = "arm_control_bridge"
SETTLING_TIME = 5.0
"""Wall time in which a simulation starts or stops [s]."""
KEEP_ALIVE = 0.1
"""Wall time after which the watchdog hears of us although there is nothing to do [s]."""


def create_script(sim: Any) -> int:
    """Put the script into the open scene, and return its handle."""
    text = share_path("coppeliasim", "bridge.lua").read_text(encoding="utf-8")
    script = int(sim.createScript(sim.scripttype_customization, text))
    sim.setObjectAlias(script, SCRIPT)
    sim.initScript(script)
    return script


def end_what_runs(connection: Connection) -> None:
    """Stop a simulation that an earlier bridge has left, and take its script away.

    Raises
    ------
    ModelError
        When the simulation is somebody else's, which is not touched.
    """
    sim = connection.sim
    old = find(sim, f"/{SCRIPT}")
    if sim.getSimulationState() != sim.simulation_stopped:
        if old < 0:
            raise ModelError("a simulation is running in CoppeliaSim: stop it first")
        if _is_in_use(connection, old):
            raise ModelError("another bridge moves an arm in this CoppeliaSim: end it first")
        stop(sim)
    if old >= 0:
        sim.removeObjects([old])


def _is_in_use(connection: Connection, script: int) -> bool:
    """Whether a bridge that lives speaks to a script."""
    try:
        before = connection.call(script, "arm_heard")
        time.sleep(3 * KEEP_ALIVE)
        return bool(connection.call(script, "arm_heard") != before)
    except ModelError:  # the script has ended
        return False


def stop(sim: Any) -> None:
    """Stop the simulation, if it is not stopped.

    Raises
    ------
    SimulatorLost
        When it goes on.
    """
    if sim.getSimulationState() != sim.simulation_stopped:
        sim.stopSimulation()
        until(lambda: sim.getSimulationState() == sim.simulation_stopped, "stop")


def until(done: Callable[[], bool], what: str) -> None:
    """Ask until it is so; each answer comes when CoppeliaSim has gone round its loop.

    Raises
    ------
    SimulatorLost
        When it is not so within :data:`SETTLING_TIME`.
    """
    end = time.monotonic() + SETTLING_TIME
    while not done():
        if time.monotonic() > end:
            raise SimulatorLost(f"the simulation in CoppeliaSim does not {what} within {SETTLING_TIME:g} s")
