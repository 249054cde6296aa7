"""Planning in a process of its own: the one who asks never waits, and learns when the planner has died.

One request at a time. The planner keeps its last plan, which is what a warm start begins with. What goes wrong in a
solve comes back as a sentence, and the next request is answered all the same.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

from arm_control.exceptions import ArmControlError
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel
from arm_control.planning.reach import Plan, ReachParameters, ReachPlanner

START_TIME = 60.0
"""Within this the planner must have compiled [s]."""
NICENESS = 5
"""How much a planner's process stands back behind those that must not wait."""


class Request(NamedTuple):
    """A start measured at a stamp [ns], states (2 nv,), and the target; whether the last plan is to begin with."""

    number: int
    stamp_ns: int
    x0: Array
    X_WT: Pose
    is_warm: bool


class Answer(NamedTuple):
    """A plan, or a sentence why there is none; and how long it took [s]."""

    number: int
    plan: Plan | None
    trouble: str
    seconds: float


class Planning(Protocol):
    """Who is asked for plans."""

    @property
    def alive(self) -> bool:
        """Whether it can still answer."""

    def ask(self, request: Request) -> None:
        """Ask for a plan, when the last answer has come."""

    def poll(self, wait: bool = False) -> Answer | None:
        """Return the answer, once; None where it is not there yet, or never will be."""


class InlinePlanner:
    """Answers at once, in the caller's own process."""

    alive = True

    def __init__(self, planner: ReachPlanner) -> None:
        self._planner = planner
        self._last: Plan | None = None
        self._answer: Answer | None = None

    def ask(self, request: Request) -> None:
        """See :class:`Planning`."""
        start = time.perf_counter()
        warm = self._last if request.is_warm else None
        try:
            self._last = plan = self._planner.plan(request.stamp_ns, request.x0, request.X_WT, warm)
            self._answer = Answer(request.number, plan, "", time.perf_counter() - start)
        except Exception as error:  # whatever it is: a planner that ends would brake the arm
            kind = "" if isinstance(error, ArmControlError) else f"{type(error).__name__}: "
            self._answer = Answer(request.number, None, f"{kind}{error}", time.perf_counter() - start)

    def poll(self, wait: bool = False) -> Answer | None:
        """See :class:`Planning`."""
        answer, self._answer = self._answer, None
        return answer


class PlannerProcess:
    """A planner in a process of its own, which ends when this one does, however it does.

    Parameters
    ----------
    model : RobotModel
        The arm; the process makes the same one from its description.
    parameters : ReachParameters

    Raises
    ------
    ArmControlError
        When the planner could not be made.
    """

    def __init__(self, model: RobotModel, parameters: ReachParameters) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, _recipe(model), parameters)
        self._process = context.Process(target=_serve, args=arguments, name="planner", daemon=True)
        self._process.start()
        theirs.close()  # else its end would never be seen
        self._wait_for_start()

    @property
    def pid(self) -> int | None:
        """Number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def ask(self, request: Request) -> None:
        """See :class:`Planning`; nothing happens where the process has died."""
        with contextlib.suppress(OSError):
            self._pipe.send(request)

    def poll(self, wait: bool = False) -> Answer | None:
        """See :class:`Planning`."""
        return self._received(None if wait else 0.0)

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _received(self, seconds: float | None) -> Any:
        """What has come within a time [s]; None where nothing has, or never will."""
        try:
            return self._pipe.recv() if self._pipe.poll(seconds) else None
        except (EOFError, OSError):
            self._process.join(1.0)
            return None

    def _wait_for_start(self) -> None:
        trouble = self._received(START_TIME)
        if trouble != "":
            self.close()
            raise ArmControlError(f"the planner did not start: {trouble or 'its process has ended'}")


def _recipe(model: RobotModel) -> dict[str, Any]:
    """Arguments by which the same model is made again; a model itself holds what no other process can use."""
    choices = {"tip": model.tip, "joints": "all", "armature": model.armature, "gravity": model.gravity_W}
    return {"source": model.urdf.text, "backend": model.backend, **choices}


def _serve(pipe: Connection, recipe: dict[str, Any], parameters: ReachParameters) -> None:
    """The process: make the planner, say so, and answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started us ends us
    os.nice(NICENESS)
    try:
        planner = InlinePlanner(ReachPlanner(RobotModel.from_urdf(**recipe), parameters))
    except ArmControlError as error:
        pipe.send(str(error))
        return
    pipe.send("")
    with contextlib.suppress(EOFError, OSError):
        while True:
            planner.ask(pipe.recv())
            pipe.send(planner.poll())
