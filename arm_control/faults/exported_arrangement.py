"""An exported controller, compiled with the C compiler of this machine and called once in a period."""

from __future__ import annotations

import atexit
import ctypes
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arm_control.exceptions import ArmControlError
from arm_control.export import exported_controller, write_folder
from arm_control.faults.arrangements import Arrangement, Surroundings
from arm_control.faults.chain_setup import STEP, Setup
from arm_control.gate import MODE_BRAKING
from arm_control.maths import Array
from arm_control.motion import Reference, Target
from arm_control.simulation import Scenario


def can_compile() -> bool:
    """Whether this machine has a C compiler, and the processor that the library is for."""
    return CC is not None and platform.machine() in {"x86_64", "AMD64"}


@cache
def compiled(robot: str) -> tuple[ctypes.CDLL, str]:
    """Return the library of a packaged robot's operational space control, and its name.

    An ArmControlError when there is no C compiler.
    """
    controller = exported_controller(Scenario(robot, "", robot, {"osc": {}}))
    folder = Path(tempfile.mkdtemp(prefix="exported_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_folder(folder, controller, [CPU])
    return library_of(folder, controller.name), controller.name


class Exported(Arrangement):
    """An exported controller, a function of its driver, which hands it NaN where no state has come."""

    words = "an exported controller"

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


CC = shutil.which("cc") or shutil.which("gcc")
CPU = "x86-64-v3"
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")
UNWRITTEN = 777.0
"""What is in the array for the torque before the first tick."""


def compile_c(folder: Path, name: str, *arguments: str | Path) -> Path:
    """Compile sources of a folder; return the program.

    An ArmControlError when there is no compiler, or it refuses the sources.
    """
    if CC is None:
        raise ArmControlError("there is no C compiler")
    command = CC, *WARNINGS, *arguments, "-lm", "-o", name
    done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise ArmControlError(f"{CC}: {done.stderr}")
    return folder / name


def library_of(folder: Path, name: str, cpu: str = CPU) -> ctypes.CDLL:
    """Compile and load the controller of this name that was exported to a folder, with the laws for a processor."""
    (folder / "size.c").write_text(
        f'#include "{name}.h"\nint size(void);\nint size(void) {{ return sizeof({name}_controller); }}\n'
    )
    sources = ["size.c", f"{name}.c", f"{name}_{cpu}.o"]
    return ctypes.CDLL(str(compile_c(folder, f"{name}_{cpu}.so", "-O2", "-shared", "-fPIC", *sources)))


class TickStatus(ctypes.Structure):
    """The status of a tick."""

    _fields_ = tuple(
        (name, ctypes.c_int)
        for name in (
            *("mode", "cause", "has_torque", "state_refused", "refused", "saturated", "rate_limited", "limited"),
            "singular",
        )
    )


class CController:
    """The exported controller, called from Python."""

    def __init__(self, library: ctypes.CDLL, name: str, n: int) -> None:
        self._library, self._name, self._tau = library, name, np.full(n, UNWRITTEN)
        self._memory = ctypes.create_string_buffer(library.size())
        self._function("tick").restype = TickStatus
        for function in ("init", "set_reference", "begin_with", "describe", "set_obstacles"):
            if hasattr(library, f"{name}_{function}"):  # the last one where obstacles count
                self._function(function).restype = ctypes.c_char_p
        if why := self.call("init", None):
            raise ArmControlError(why.decode())

    def _function(self, name: str) -> Any:
        return getattr(self._library, f"{self._name}_{name}")

    def call(self, name: str, *arguments: object) -> Any:
        """Call a function with the controller."""
        return self._function(name)(self._memory, *arguments)

    def describe(self, cause: int) -> str:
        """A cause in words."""
        return str(self._function("describe")(cause).decode())

    def state(self) -> tuple[int, int]:
        """Mode and cause."""
        cause = ctypes.c_int(-1)
        return int(self.call("state", ctypes.byref(cause))), cause.value

    def set_reference(self, reference: Reference) -> bytes | None:
        """Set a reference; return what is wrong with it."""
        refusal: bytes | None = self.call("set_reference", row_of(reference).ctypes.data_as(ctypes.c_void_p))
        return refusal

    def tick(self, q: Array, v: Array, dt: float) -> tuple[Array, TickStatus]:
        """Answer a state."""
        addresses = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, v)]
        tick: Callable[..., TickStatus] = self._function("tick")
        status = tick(self._memory, *addresses, ctypes.c_double(dt), self._tau.ctypes.data_as(ctypes.c_void_p))
        return self._tau.copy(), status


def row_of(reference: Reference) -> Array:
    """A reference as the numbers of its structure, shape (24,)."""
    X = reference.X_WT
    return np.concatenate([X.R.ravel(), X.p, reference.V_des, reference.A_des])
