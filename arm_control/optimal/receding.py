"""Following plans while new ones are computed, by a planner in a process of its own.

A plan is requested for a new target, when the arm has left the tube about its plan, after a failed solve, in the
middle of a partial plan, and, as long as there is a target, ``replan_rate`` times a second. The present plan is
followed until the answer arrives; the new plan starts from a measured state, so the torque jumps little. Before the
first plan the arm holds its position.

The control loop never waits for the planner, and notices when it has died. It gets one request at a time, and keeps its
last plan for a warm start. A failed solve is answered with a message, and the planner goes on with the next request.
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

import numpy as np

from arm_control.exceptions import ArmControlError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.optimal.reach import PlanTorque, ReachPlan, ReachPlanner, RecedingParameters, hold

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


RETRY = 0.1
"""Time after which a failed solve is repeated [s]."""
EARLY = 1e-6
"""Tolerance of the time at which a new plan is due [s]."""


class PlanFollower:
    """Torque state by state, from plans of a planner.

    Parameters
    ----------
    parameters : RecedingParameters
        May be replaced at any time.
    waits : bool
        Whether each answer is waited for, so that a plan is followed from its first state on.

    Attributes
    ----------
    plan : ReachPlan or None
        The present plan; None: the arm holds its position.
    failure : str
        Why the last solve failed; empty when it did not.
    """

    def __init__(self, model: RobotModel, parameters: RecedingParameters, planner: PlannerClient, waits: bool) -> None:
        self.parameters = parameters
        self._planner = planner
        self._waits = waits
        self._limit = parameters.effort_share * model.tau_max
        self._number = 0
        self._is_waiting = False
        self.last_answer: Answer | None = None
        self.hold(np.zeros(model.nv))

    def hold(self, q: Array) -> None:
        """Drop every plan, also the requested one, and hold the arm at q, shape (nv,) [rad or m]."""
        self.plan: ReachPlan | None = None
        self.failure = ""
        self._q_hold = q.copy()
        self._first_valid = self._number + 1
        self._requested_ns = 0
        self._requested_target: object = None

    def tick(self, stamp_ns: int, t: Terms, target: object, X_WT: Pose) -> PlanTorque:
        """Torque in a state.

        Another object as the target than before is a new target; None: no target.
        """
        self._take()
        if target is not None and not self._is_waiting and self._is_due(stamp_ns, t, target):
            self._request(stamp_ns, t, target, X_WT)
        if self.plan is None:
            return hold(t, self._q_hold, self._limit)
        return self.plan.command(1e-9 * (stamp_ns - self.plan.stamp_ns), t)

    def tube_error(self, stamp_ns: int, t: Terms) -> float:
        """Largest distance of a joint from its desired position [rad or m]."""
        if self.plan is None:
            return float(np.abs(self._q_hold - t.q).max())
        e = self.plan.error(1e-9 * (stamp_ns - self.plan.stamp_ns), np.concatenate([t.q, t.v]))
        return float(np.abs(e[: len(t.q)]).max())

    def _is_due(self, stamp_ns: int, t: Terms, target: object) -> bool:
        p = self.parameters
        if target is not self._requested_target:
            return True
        if p.replan_rate and self._is_next(stamp_ns, round(1e9 / p.replan_rate)):
            return True
        since = 1e-9 * (stamp_ns - self._requested_ns) + EARLY
        if self.failure:
            return since >= RETRY
        if self.plan is not None and self.plan.is_partial and since >= 0.5 * self.plan.duration:
            return True
        return since >= p.step and self.tube_error(stamp_ns, t) > p.tube

    def _is_next(self, stamp_ns: int, period_ns: int) -> bool:
        """Whether a period has begun since the last request; periods lie on a fixed grid, so delays do not add up."""
        return stamp_ns // period_ns > self._requested_ns // period_ns

    def _request(self, stamp_ns: int, t: Terms, target: object, X_WT: Pose) -> None:
        self._number += 1
        self._is_waiting = True
        self._requested_ns = stamp_ns
        self._requested_target = target
        x0 = np.concatenate([t.q, t.v])
        self._planner.request(Request(self._number, stamp_ns, x0, X_WT, self.plan is not None))
        self._take()

    def _take(self) -> None:
        """Take an answer, if there is one; an answer to a request from before :meth:`hold` is dropped."""
        answer = self._planner.poll(self._waits) if self._is_waiting else None
        if answer is None:
            return
        self._is_waiting = False
        if answer.number >= self._first_valid:
            self.last_answer = answer
            self.failure = answer.failure
            self.plan = answer.plan or self.plan
