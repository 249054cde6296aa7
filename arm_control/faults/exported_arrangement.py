"""An exported controller, compiled and called once in a period."""

from __future__ import annotations

import atexit
import ctypes
import platform
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.exceptions import ArmControlError
from arm_control.export import exported_controller, write_folder
from arm_control.faults.arrangements import Arrangement, Surroundings
from arm_control.faults.chain_setup import STEP, Setup
from arm_control.faults.exported_library import CC, CPU, CController, library_of
from arm_control.gate import MODE_BRAKING
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.motion import Reference, Target
from arm_control.simulation import Scenario


def can_compile() -> bool:
    """Whether this machine has a C compiler, and the processor that the library is for."""
    return CC is not None and platform.machine() in {"x86_64", "AMD64"}


@cache
def compiled(robot: str) -> tuple[ctypes.CDLL, str]:
    """Return the library of a packaged robot's operational space control, and its name.

    Raises
    ------
    ArmControlError
        When there is no C compiler.
    """
    controller = exported_controller(Scenario(robot, "", robot, {"osc": {}}))
    folder = Path(tempfile.mkdtemp(prefix="exported_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_folder(folder, controller, [CPU])
    return library_of(folder, controller.name), controller.name


class Exported(Arrangement):
    """An exported controller; its driver hands it NaN where no state has come."""

    def __init__(self, setup: Setup, surroundings: Surroundings) -> None:
        super().__init__(setup, surroundings)
        library, name = compiled(setup.robot)
        self._c = CController(library, name, setup.model.nv)
        if not isinstance(setup.goal, Target):
            raise ArmControlError("an exported controller has operational space control")
        self._c.set_reference(Reference(setup.goal.X_FT))
        self._nothing = np.full(setup.model.nv, np.nan)
        self._state: tuple[Array, Array] | None = None
        self._ticked_at = -STEP
        self._next_tick = 0.0

    @property
    def is_braked(self) -> bool:
        return self._c.state()[0] == MODE_BRAKING

    @property
    def reason(self) -> str:
        return self._c.describe(self._c.state()[1])

    def on_state(self, message: Any, info: dict[str, Any]) -> None:
        self._state = np.array(message.position, dtype=float), np.array(message.velocity, dtype=float)

    def look(self) -> None:
        """Tick, with the newest state since the last time."""
        now = self.surroundings.clock()
        if now < self._next_tick - 1e-9:
            return
        q, v = (self._nothing, self._nothing) if self._state is None else self._state
        self._state = None
        tau, status = self._c.tick(q, v, now - self._ticked_at)
        self._ticked_at = now
        self._next_tick = now + (self.setup.period if now >= self.setup.onset - 1e-9 else STEP)
        if status.has_torque:
            self.tau = tau

    def enable(self) -> None:
        self._c.call("enable")

    def brake(self, reason: str) -> None:
        self._c.call("brake")

    def end_controller(self) -> None:
        """It is a function of its driver."""
        raise ArmControlError("nothing watches an exported controller")

    def publish_model(self, model: RobotModel) -> None:
        """Its arm is compiled in."""
        raise ArmControlError("an exported controller takes no other model")
