"""Planning in a process of its own: the control loop never waits, and notices when the planner has died.

One request at a time. The planner keeps its last plan for a warm start. A failed solve is answered with a message, and
the planner goes on with the next request.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from arm_control.exceptions import ArmControlError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.optimal.reach import ReachPlan, ReachPlanner, RecedingParameters

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")
RequestT_contra = TypeVar("RequestT_contra", contravariant=True)
AnswerT_co = TypeVar("AnswerT_co", covariant=True)

START_TIME = 180.0
"""Time within which the planner must have compiled [s]."""
NICENESS = 5
"""Nice level of the planner's process."""


class Request(NamedTuple):
    """Request for a plan: stamp of the first state [ns], the state (2 nv,), the target; whether to start warm."""

    number: int
    stamp_ns: int
    x0: Array
    X_WT: Pose
    is_warm: bool


class Answer(NamedTuple):
    """A plan, or the message of a failure; and the time of the solve [s]."""

    number: int
    plan: ReachPlan | None
    failure: str
    seconds: float


class Server(Protocol[RequestT_contra, AnswerT_co]):
    """A planner, in this process or another one."""

    @property
    def alive(self) -> bool:
        """Whether the planner can still answer."""

    def request(self, request: RequestT_contra) -> None:
        """Request a plan; the answer to the last request must have been taken."""

    def poll(self, wait: bool = False) -> AnswerT_co | None:
        """Return the answer, once; None while there is none, or when the planner has died."""


PlannerClient: TypeAlias = Server[Request, Answer]
"""A planner of reaches."""


class InlinePlanner:
    """A planner in the caller's own process: it answers at once."""

    alive = True

    def __init__(self, planner: ReachPlanner) -> None:
        self._planner = planner
        self._last: ReachPlan | None = None
        self._answer: Answer | None = None

    def request(self, request: Request) -> None:
        """See :class:`Server`."""
        start = time.perf_counter()
        warm = self._last if request.is_warm else None
        try:
            self._last = plan = self._planner.plan(request.stamp_ns, request.x0, request.X_WT, warm)
            self._answer = Answer(request.number, plan, "", time.perf_counter() - start)
        except Exception as error:  # any error: if the planner's process ended, the arm would brake
            type_name = "" if isinstance(error, ArmControlError) else f"{type(error).__name__}: "
            self._answer = Answer(request.number, None, f"{type_name}{error}", time.perf_counter() - start)

    def poll(self, wait: bool = False) -> Answer | None:
        """See :class:`Server`."""
        answer, self._answer = self._answer, None
        return answer


def reach_planner(parameters: RecedingParameters, model: RobotModel) -> InlinePlanner:
    """Return a planner of reaches."""
    return InlinePlanner(ReachPlanner(model, parameters))


class PlannerProcess(Generic[RequestT, AnswerT]):
    """A planner in a process of its own, which ends whenever this process ends.

    Parameters
    ----------
    model : RobotModel
        The arm; the process makes the same one from its description.
    make : callable
        Makes the planner of an arm, in that process; importable there, such as a partial of :func:`reach_planner`.

    Raises
    ------
    ArmControlError
        When the planner cannot be made.
    """

    def __init__(self, model: RobotModel, make: Callable[[RobotModel], Server[RequestT, AnswerT]]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, _recipe(model), make)
        self._process = context.Process(target=_serve, args=arguments, name="planner", daemon=True)
        self._process.start()
        theirs.close()  # else the end of the process would go unnoticed
        self._wait_for_start()

    @property
    def pid(self) -> int | None:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def request(self, request: RequestT) -> None:
        """See :class:`Server`; nothing happens where the process has died."""
        with contextlib.suppress(OSError):
            self._pipe.send(request)

    def poll(self, wait: bool = False) -> AnswerT | None:
        """See :class:`Server`."""
        answer: AnswerT | None = self._received(None if wait else 0.0)
        return answer

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _received(self, seconds: float | None) -> Any:
        """Object received within a time [s]; None where there is none, or the process has ended."""
        try:
            return self._pipe.recv() if self._pipe.poll(seconds) else None
        except (EOFError, OSError):
            self._process.join(1.0)
            return None

    def _wait_for_start(self) -> None:
        failure = self._received(START_TIME)
        if failure != "":
            self.close()
            raise ArmControlError(f"the planner did not start: {failure or 'its process has ended'}")


def _recipe(model: RobotModel) -> dict[str, Any]:
    """Arguments that make the same model again; compiled code of the model itself is of no use to another process."""
    choices = {"tip": model.tip, "joints": "all", "armature": model.armature, "gravity": model.gravity_W}
    return {"source": model.urdf.text, "backend": model.backend, **choices}


def _serve(pipe: Connection, recipe: dict[str, Any], make: Callable[[RobotModel], Server[RequestT, AnswerT]]) -> None:
    """The process: make the planner, confirm, and answer requests until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    os.nice(NICENESS)
    try:
        planner = make(RobotModel.from_urdf(**recipe))
    except ArmControlError as error:
        pipe.send(str(error))
        return
    pipe.send("")
    with contextlib.suppress(EOFError, OSError):
        while True:
            planner.request(pipe.recv())
            pipe.send(planner.poll())
