"""The script ``coppeliasim/bridge.lua`` inside CoppeliaSim: creation, removal, start and stop of a simulation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from arm_control.core import share_path
from arm_control.exceptions import ModelError, SimulatorLost
from arm_control.simulation.coppeliasim.arm_scene import find
from arm_control.simulation.coppeliasim.coppeliasim_client import Connection

SCRIPT = "arm_control_bridge"
SETTLING_TIME = 5.0
"""Longest wall time in which a simulation starts or stops [s]."""
KEEP_ALIVE = 0.1
"""Longest wall time between two requests, for the watchdog [s]."""


def create_script(sim: Any) -> int:
    """Create the script in the open scene; return its handle."""
    text = share_path("coppeliasim", "bridge.lua").read_text(encoding="utf-8")
    script = int(sim.createScript(sim.scripttype_customization, text))
    sim.setObjectAlias(script, SCRIPT)
    sim.initScript(script)
    return script


def end_earlier_bridge(connection: Connection) -> None:
    """Stop the simulation of an earlier bridge, and remove its script.

    Raises
    ------
    ModelError
        When the simulation belongs to another program or to a running bridge; it is left alone.
    """
    sim = connection.sim
    script = find(sim, f"/{SCRIPT}")
    if sim.getSimulationState() != sim.simulation_stopped:
        if script < 0:
            raise ModelError("a simulation is running in CoppeliaSim: stop it first")
        if _is_in_use(connection, script):
            raise ModelError("another bridge moves an arm in this CoppeliaSim: end it first")
        stop(sim)
    if script >= 0:
        sim.removeObjects([script])


def _is_in_use(connection: Connection, script: int) -> bool:
    """Return whether a running bridge sends requests to a script."""
    try:
        before = connection.call(script, "arm_heard")
        time.sleep(3 * KEEP_ALIVE)
        after = connection.call(script, "arm_heard")
        return isinstance(after, (int, float)) and after != before  # nothing after a simulation that was stopping
    except ModelError:  # the script has ended
        return False


def stop(sim: Any) -> None:
    """Stop the simulation, if it is running or paused.

    Raises
    ------
    SimulatorLost
        When it does not stop.
    """
    if sim.getSimulationState() != sim.simulation_stopped:
        sim.stopSimulation()
        wait_until(lambda: sim.getSimulationState() == sim.simulation_stopped, "stop")


def wait_until(condition: Callable[[], bool], verb: str) -> None:
    """Poll a condition of CoppeliaSim, which answers once in each cycle of its main loop.

    Parameters
    ----------
    condition : callable
        Returns whether the wait is over.
    verb : str
        The awaited change, for the message.

    Raises
    ------
    SimulatorLost
        When the condition does not hold within :data:`SETTLING_TIME`.
    """
    end = time.monotonic() + SETTLING_TIME
    while not condition():
        if time.monotonic() > end:
            raise SimulatorLost(f"the simulation in CoppeliaSim does not {verb} within {SETTLING_TIME:g} s")
