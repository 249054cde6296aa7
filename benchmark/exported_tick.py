"""CPU time of an exported controller's tick in C, beside the same from Python, in interleaved turns.

python benchmark/exported_tick.py [--robot ur5] [--cpu x86-64-v3 ...] [--turns 400]

It needs a C compiler, ``cc``.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from arm_control.compiler import PROCESSORS
from arm_control.control import CompiledOsc
from arm_control.export import ExportedController, exported_controller, write_folder
from arm_control.gate import EffortGate
from arm_control.maths import Array, Pose
from arm_control.motion import Reference
from arm_control.simulation import Scenario

TICKS = 100
"""Ticks of a turn."""
PERIOD = 1e-3
TIMER = """
#define _POSIX_C_SOURCE 199309L
#include "arm.h"
#include <time.h>
static arm_controller controller;
void start(const arm_reference *reference)
{
    arm_init(&controller, 0);
    arm_set_reference(&controller, reference);
}
/* CPU time of a tick [ns] */
double turn(int n, const double *q, const double *v, double *tau)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int k = 0; k < n; k++)
        arm_tick(&controller, q, v, 0.001, tau);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    return (1e9 * (end.tv_sec - begin.tv_sec) + (end.tv_nsec - begin.tv_nsec)) / n;
}
"""


class InC:
    """The exported controller in a library.

    Parameters
    ----------
    folder : Path
        Where it was exported to, as ``arm``.
    cpu : str
        For which processor.
    reference : Reference
        Desired motion.
    """

    def __init__(self, folder: Path, cpu: str, reference: Reference) -> None:
        library = folder / f"{cpu}.so"
        (folder / "timer.c").write_text(TIMER)
        sources = [str(folder / name) for name in ("timer.c", "arm.c", f"arm_{cpu}.o")]
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", *sources, "-lm", "-o", str(library)], check=True)
        loaded = ctypes.CDLL(str(library))
        X = reference.X_WT
        row = np.concatenate([X.R.ravel(), X.p, reference.V_des, reference.A_des])
        loaded.start(row.ctypes.data_as(ctypes.c_void_p))
        self._turn = loaded.turn
        self._turn.restype = ctypes.c_double

    def turn(self, q: Array, v: Array) -> tuple[float, Array]:
        """CPU time of a tick [ns], and the last torque (n,) [N m or N], of :data:`TICKS` ticks."""
        tau = np.zeros_like(q)
        nanoseconds = self._turn(TICKS, *(x.ctypes.data_as(ctypes.c_void_p) for x in (q, v, tau)))
        return nanoseconds, tau


class InPython:
    """The law and the gate in one built-in call.

    Parameters
    ----------
    controller : ExportedController
        Arm, gains and limits.
    reference : Reference
        Desired motion.
    """

    def __init__(self, controller: ExportedController, reference: Reference) -> None:
        model = controller.model
        self._gate = EffortGate(model, controller.gate)
        self._law = CompiledOsc(model, controller.law, limits=self._gate.limits)
        self._reference = reference

    def first(self, q: Array, v: Array) -> None:
        """Tick for the first time, by two calls: the gate waits until then."""
        output = self._law.tick(q, v, self._reference)
        self._gate.offer_in_order(output.tau)
        self._gate.tick(output.state, PERIOD)

    def turn(self, q: Array, v: Array) -> tuple[float, Array]:
        """See :meth:`InC.turn`."""
        law, gate, reference = self._law, self._gate, self._reference
        begin = time.thread_time_ns()
        for _ in range(TICKS):
            tau_0, dt, is_on = gate.next_limits(PERIOD)
            answer = law.step(q, v, reference, tau_0, dt, is_on).gate
            gate.take(answer, dt)
        return (time.thread_time_ns() - begin) / TICKS, answer.tau


def measure(robot: str, cpus: list[str], turns: int) -> dict[str, float]:
    """Return the median CPU time of a tick [us], by processor and for Python.

    Parameters
    ----------
    robot : str
        A robot's name, or a URDF.
    cpus : list of str
        Processors.
    turns : int
        Number of turns.
    """
    controller = exported_controller(Scenario(robot, "", robot, {"osc": {}}), "arm")
    X = controller.model.pose(controller.start)
    reference = Reference(Pose(X.R, X.p + 0.05))
    python = InPython(controller, reference)
    contenders: dict[str, InC | InPython] = {"python": python}
    with tempfile.TemporaryDirectory() as place:
        write_folder(place, controller, cpus)
        contenders |= {cpu: InC(Path(place), cpu, reference) for cpu in cpus}
    q, v = controller.start, np.zeros(controller.model.nv)
    python.first(q, v)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    torques = {name: contender.turn(q, v)[1] for name, contender in contenders.items()}
    for name, tau in torques.items():
        assert np.allclose(tau, torques["python"], rtol=1e-9, atol=1e-9), name
    for _ in range(turns):
        for name, contender in contenders.items():
            times[name].append(contender.turn(q, v)[0])
    return {name: 1e-3 * float(np.median(values)) for name, values in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="ur5")
    parser.add_argument("--cpu", nargs="+", choices=PROCESSORS, default=["x86-64-v3"])
    parser.add_argument("--turns", type=int, default=400)
    options = parser.parse_args()
    for name, microseconds in measure(options.robot, options.cpu, options.turns).items():
        print(f"{name:10} {microseconds:7.3f} us")


if __name__ == "__main__":
    main()
