"""Following of a movement primitive: goals start it or move its goal, and its reference never jumps.

A discrete primitive begins with a goal, at the present reference; a goal on the way moves that of the motion. A
rhythmic one swings in with its first goal, its centre: its amplitude grows from zero. :meth:`PrimitiveFollower.hold`
ends the motion, also one that has begun at once; the next goal, not an amplitude or a period, begins another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np

from arm_control.core import NANOSECONDS, Parameters, parameter
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.maths import Array, Pose
from arm_control.model import RobotModel
from arm_control.motion import (
    Goal,
    GoalQueue,
    JointGoal,
    JointReference,
    JointsOfPose,
    Modulation,
    Reference,
    Target,
    Waypoints,
    check_limits,
    whole_turns,
)
from arm_control.primitives.obstacle_coupling import ObstacleCoupling
from arm_control.primitives.primitive import Primitive
from arm_control.primitives.primitive_run import PrimitiveRun

LOOKS = 120
"""Moments of a motion at which limits are checked."""
AHEAD = 1.5
"""How far ahead a motion is checked, in durations."""
STEEPEST = 1.875
"""Largest speed of a change within a period, over its mean speed."""


R = TypeVar("R", JointReference, Reference)


class Cycle(NamedTuple):
    """A rhythm, and how it swings to where it is wished.

    Attributes
    ----------
    before, centre : ndarray, shape (n,)
        Coordinates of the centre now, and as it is wished.
    amplitude_before, amplitude : float
        Amplitudes now, and as it is wished.
    period : float
        Period, and time of the change [s].
    """

    before: Array
    centre: Array
    amplitude_before: float
    amplitude: float
    period: float

    def at(self, t: float) -> tuple[Array, float]:
        """Return centre and amplitude a time after the begin of the change [s]."""
        s = min(t / self.period, 1.0)
        m = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
        centre = self.before + m * (self.centre - self.before)
        return centre, self.amplitude_before + m * (self.amplitude - self.amplitude_before)


class Space(Protocol[R]):
    """What the joints, or the end effector, of an arm are to a primitive; ``now`` is the present reference."""

    def at_rest(self, q: Array) -> R:
        """Return the reference at rest at ``q``, shape (nq,) [rad or m]."""

    def start(self, reference: R) -> tuple[Pose | Array, Array]:
        """Return place and velocity of a reference, as a primitive starts there."""

    def goal(self, goal: JointGoal | Target, q: Array, now: R) -> Pose | Array:
        """Return the place of a goal, for measured positions q; an InputError where there is none."""

    def learned_goal(self, primitive: Primitive, now: R) -> Pose | Array:
        """Return the goal of a primitive, or its centre."""

    def error(self, reference: R, q: Array) -> float:
        """Return the tracking error at measured positions q [m or rad]."""

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: R) -> None:
        """Refuse, with an InputError, a rhythm that exceeds the arm's limits."""

    def check(self, run: PrimitiveRun, now: R) -> None:
        """Refuse, with an InputError, a motion that exceeds the arm's limits from now on."""


class JointSpace:
    """The joints of an arm; a motion that would exceed a limit of position or speed is refused."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._continuous = np.isinf(model.q_max)
        self.joints_of_pose = JointsOfPose(model)

    def at_rest(self, q: Array) -> JointReference:
        """See :class:`Space`."""
        return JointReference.at_rest(q)

    def start(self, reference: JointReference) -> tuple[Array, Array]:
        """See :class:`Space`."""
        return reference.q_des, reference.v_des

    def goal(self, goal: JointGoal | Target, q: Array, now: JointReference) -> Array:
        """See :class:`Space`; of a pose, joint positions near to the present."""
        if isinstance(goal, Target):
            return self.joints_of_pose.solve(goal, q, now.q_des)
        return self._nearest(np.asarray(goal.destination), now)

    def learned_goal(self, primitive: Primitive, now: JointReference) -> Array:
        """See :class:`Space`."""
        return self._nearest(primitive.goal, now)

    def error(self, reference: JointReference, q: Array) -> float:
        """See :class:`Space`; the largest of all joints."""
        return float(np.abs(reference.q_des - q).max())

    def check(self, run: PrimitiveRun, now: JointReference) -> None:
        """See :class:`Space`."""
        times, references = run.preview(AHEAD, LOOKS)
        motion = [reference for reference in references if isinstance(reference, JointReference)]
        self._check_limits(np.array([at.q_des for at in motion]), np.array([at.v_des for at in motion]), times, now)

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: JointReference) -> None:
        """See :class:`Space`; the change adds to the speed of the rhythm."""
        times = np.linspace(0.0, cycle.period, LOOKS)
        motion = primitive.rollout(times, goal=cycle.centre, duration=cycle.period, amplitude=cycle.amplitude)
        change = STEEPEST * np.abs(cycle.centre - cycle.before) / cycle.period
        self._check_limits(motion.q, motion.v + np.sign(motion.v) * change, times, now)

    def _check_limits(self, q: Array, v: Array, times: Array, now: JointReference) -> None:
        excess = float((np.abs(v) / self._model.v_max).max())
        try:
            check_limits(self._model, q, v, times, now)
        except InputError as error:
            hint = f"; {excess:.2f} times the period keeps the speed" if excess > 1.0 else ""
            raise InputError(f"{error}{hint}") from None

    def _nearest(self, q_goal: Array, now: JointReference) -> Array:
        """Joint positions without whole turns of continuous joints."""
        return q_goal - whole_turns(q_goal - now.q_des, self._continuous)


class PoseSpace:
    """The end effector of an arm; where it cannot follow, the phase of the motion waits."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model

    def at_rest(self, q: Array) -> Reference:
        """See :class:`Space`."""
        return Reference(self._model.pose(q))

    def start(self, reference: Reference) -> tuple[Pose, Array]:
        """See :class:`Space`."""
        return reference.X_WT, reference.V_des

    def goal(self, goal: JointGoal | Target, q: Array, now: Reference) -> Pose:
        """See :class:`Space`; of joint positions, the pose that they have."""
        if isinstance(goal, Target):
            return self._model.pose(q, goal.frame) @ goal.X_FT
        return self._model.pose(np.asarray(goal.destination))

    def learned_goal(self, primitive: Primitive, now: Reference) -> Pose:
        """See :class:`Space`."""
        return primitive.learned_goal()

    def error(self, reference: Reference, q: Array) -> float:
        """See :class:`Space`; of the position."""
        return float(np.linalg.norm(reference.X_WT.p - self._model.pose(q).p))

    def check_cycle(self, primitive: Primitive, cycle: Cycle, now: Reference) -> None:
        """See :class:`Space`."""

    def check(self, run: PrimitiveRun, now: Reference) -> None:
        """See :class:`Space`."""


def check_frame(primitive: Primitive, model: RobotModel) -> None:
    """Refuse, with a ParameterError, a primitive of positions that are not poses in the base of an arm."""
    if primitive.quat_xyzw is None:
        raise ParameterError(f"a primitive of {primitive.size} coordinates without joints: poses or joints are needed")
    if primitive.frame not in ("", model.base):
        raise ParameterError(f"the primitive is in the frame {primitive.frame}; the base of this arm is {model.base}")


MOST_OBSTACLES = 8
"""Obstacles that bend a path at once: the nearest ones."""
BOUNDS = {"amplitude": (-100.0, 100.0), "period": (0.05, 1e4)}
"""What may be changed on the way, and its bounds, both allowed; the period in seconds."""


@dataclass(frozen=True)
class PrimitiveParameters(Parameters):
    """Which primitive, and how it runs."""

    file: str = parameter("", "the primitive: a name below config/primitives, or the path of a YAML file")
    amplitude: float = parameter(
        1.0, "factor of the shape at the start; primitive/amplitude changes it", lower=-100.0, upper=100.0
    )
    period: float = parameter(
        0.0,
        "duration, or period of a rhythm, at the start; 0: as it was learned; primitive/period changes it",
        unit="s",
        lower=0.0,
        upper=BOUNDS["period"][1],
    )
    starts_at_once: bool = parameter(
        False, "whether it begins with the first state, towards the goal that was learned, not with a goal"
    )
    phase_stopping: float = parameter(
        1000.0,
        "the phase slows to 1 / (1 + phase_stopping e^2) while the arm is off by e",
        unit="1/m^2 or 1/rad^2",
        lower=0.0,
    )
    obstacle_gain: float = parameter(
        0.0, "how strongly obstacles turn a path of the end effector; 1000 is a good one; 0: not at all", lower=0.0
    )
    obstacle_reach: float = parameter(
        0.1, "distance from an obstacle in which that falls to a third", unit="m", lower=1e-3
    )
    obstacle_margin: float = parameter(
        0.05, "distance that a path is to keep from the sphere around an obstacle", unit="m", lower=0.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0.0 < self.period < BOUNDS["period"][0]:
            raise ParameterError(
                f"period = {self.period}: {BOUNDS['period'][0]:g} s or more is needed, or 0 as learned"
            )


class PrimitiveFollower(Generic[R]):
    """Reference of a primitive, state by state.

    The primitive is in the joint order of the arm, and the space its joints or its end effector.

    Raises
    ------
    ParameterError
        When it would be over in an instant.

    Attributes
    ----------
    goals : GoalQueue
        Goals, or centres; the last one of a stamp counts.
    is_holding : bool
        Whether no goal has acted since :meth:`hold`.
    refused : ArmControlError or None
        Why the newest goal, amplitude or period is passed over; None after the next state.
    """

    def __init__(self, primitive: Primitive, parameters: PrimitiveParameters, space: Space[R]) -> None:
        self.goals: GoalQueue[JointGoal | Target] = GoalQueue()
        self._modulations: dict[str, GoalQueue[Modulation]] = {name: GoalQueue() for name in BOUNDS}
        if (parameters.period or primitive.duration) < BOUNDS["period"][0]:
            raise ParameterError(f"the primitive lasts {primitive.duration:g} s: set a period of 0.05 s or more")
        self._parameters = parameters
        self._space: Space[R] = space
        coupling = ObstacleCoupling(gain=parameters.obstacle_gain or 1.0, reach=parameters.obstacle_reach)
        self._run = PrimitiveRun(
            primitive,
            phase_stopping=parameters.phase_stopping,
            n_obstacles=MOST_OBSTACLES if parameters.obstacle_gain else 0,
            coupling=coupling,
        )
        self.refused: ArmControlError | None = None
        self.is_running = self.is_holding = False

    def add(self, goal: Goal) -> None:
        """Add a goal, an amplitude or a period.

        An InputError when a primitive cannot follow such a goal, or a number is out of bounds.
        """
        if isinstance(goal, Modulation):
            low, high = BOUNDS[goal.quantity]
            if not low <= goal.value <= high:
                raise InputError(f"{goal.quantity} {goal.value:g}: from {low:g} to {high:g} is allowed")
            self._modulations[goal.quantity].add(goal)
        elif isinstance(goal, Target) or (isinstance(goal, JointGoal) and not isinstance(goal.destination, Waypoints)):
            self.goals.add(goal)
        else:
            raise InputError("a primitive goes to target_pose or target_joint; it follows no trajectory or velocity")

    def take_goals(self, other: PrimitiveFollower[JointReference] | PrimitiveFollower[Reference]) -> None:
        """Take the goals, amplitudes and periods of another follower, which it replaces."""
        self.goals, self._modulations = other.goals, other._modulations

    def restart(self, q: Array) -> None:
        """Hold the arm at ``q``, shape (nq,) [rad or m], until a goal is due: time has started over."""
        p = self._parameters
        self.goals.restart()
        self._values = {"amplitude": p.amplitude, "period": p.period or self._run.primitive.duration}
        self._due_modulations: dict[str, Modulation | None] = dict.fromkeys(BOUNDS)
        self._last_ns: int | None = None
        self._rest(q)
        self._waits_for_begin, self.is_holding = p.starts_at_once, False

    def hold(self, stamp_ns: int, q: Array) -> None:
        """End the motion and all goals up to a state, and hold the arm where it is; amplitude and period stay."""
        self.goals.end(stamp_ns)
        self._rest(q)
        self._waits_for_begin, self.is_holding = False, True

    def _rest(self, q: Array) -> None:
        """Be at rest at ``q``, shape (nq,) [rad or m], before the begin of a motion."""
        self._due: JointGoal | Target | None = None
        self.is_running = False
        self._swing: Cycle | None = None
        self._centre = self._run.goal
        self._swing_time = 0.0
        self.now: R = self._space.at_rest(q)

    def see(self, centres: Array, extents: Array) -> None:
        """Let spheres bend the path from now on: centres, shape (k, 3), and radii, shape (k,) [m]."""
        self._run.set_obstacles(centres, extents + self._parameters.obstacle_margin)

    def reference(self, stamp_ns: int, q: Array) -> R:
        """Return the reference in a state, for measured positions q, shape (nq,) [rad or m]."""
        dt = 0.0 if self._last_ns is None else (stamp_ns - self._last_ns) / NANOSECONDS
        self._last_ns = stamp_ns
        self.refused = None
        if self.is_running:
            self._swing_on(dt)
            error = self._space.error(self.now, q) if self._parameters.phase_stopping else 0.0
            self.now = cast(R, self._run.step(dt, error))
        self._take_modulations(stamp_ns)
        self._take_goal(stamp_ns, q)
        return self.now

    @property
    def phase(self) -> float:
        """Phase, from 0 to 1; 0 before the begin."""
        turn = 2.0 * pi if self._is_rhythmic else 1.0
        return self._run.phase / turn if self.is_running else 0.0

    @property
    def _is_rhythmic(self) -> bool:
        return self._run.primitive.kind == "rhythmic"

    def _take_modulations(self, stamp_ns: int) -> None:
        """Change amplitude and period where that is due."""
        for quantity, queue in self._modulations.items():
            due = queue.active(stamp_ns)
            if due is None or due is self._due_modulations[quantity]:
                continue
            self._due_modulations[quantity] = due
            try:
                self._modulate({**self._values, quantity: due.value})
            except ArmControlError as error:
                self.refused = error

    def _modulate(self, values: dict[str, float]) -> None:
        """Set amplitude and period; nothing is changed where that exceeds a limit."""
        if self.is_running and self._is_rhythmic:
            self._swing_to(self._centre, values)
        elif self.is_running:
            go_back = self._run.checkpoint()
            self._run.set_amplitude(values["amplitude"])
            self._run.set_duration(values["period"])
            self._check_or(go_back)
        self._values = values

    def _check_or(self, go_back: Callable[[], None]) -> None:
        try:
            self._space.check(self._run, self.now)
        except ArmControlError:
            go_back()
            raise

    def _take_goal(self, stamp_ns: int, q: Array) -> None:
        """Go to the goal that is due."""
        due = self.goals.active(stamp_ns)
        is_new = due is not None and due is not self._due
        if not is_new and not self._waits_for_begin:
            return
        self._due, self._waits_for_begin = due, False
        try:
            if due is None:
                self._go_to(self._space.learned_goal(self._run.primitive, self.now))
            else:
                self._go_to(self._space.goal(due, q, self.now))
        except ArmControlError as error:
            self.refused = error

    def _go_to(self, goal: Pose | Array) -> None:
        """Start towards a goal, or move that of the motion; nothing is changed where that exceeds a limit."""
        go_back = self._run.checkpoint()
        if not self.is_running or self._run.is_done:
            self._begin(goal)
        elif not self._is_rhythmic:
            self._run.set_goal(goal)
        if self._is_rhythmic:
            centre = self._run.primitive.coordinates(goal, self._run.primitive.quat_xyzw, self._run.goal)
            self._swing_to(centre, self._values)
        else:
            self._check_or(go_back)
        self.is_running, self.is_holding = True, False

    def _begin(self, goal: Pose | Array) -> None:
        """Start at the present reference; a rhythm about the place where it is, without amplitude."""
        run, period = self._run, self._values["period"]
        start, velocity = self._space.start(self.now)
        if self._is_rhythmic:
            y = run.primitive.coordinates(start, run.primitive.quat_xyzw, run.primitive.start)
            run.restart(start=y, goal=y, start_velocity=velocity, duration=period, amplitude=0.0)
        else:
            amplitude = self._values["amplitude"]
            run.restart(start=start, goal=goal, start_velocity=velocity, duration=period, amplitude=amplitude)

    def _swing_to(self, centre: Array, values: dict[str, float]) -> None:
        """Let a rhythm change its centre, amplitude and period within one period."""
        run = self._run
        cycle = Cycle(run.goal, centre, run.amplitude, values["amplitude"], values["period"])
        self._space.check_cycle(run.primitive, cycle, self.now)
        run.set_duration(cycle.period)
        self._centre, self._swing, self._swing_time = centre, cycle, 0.0

    def _swing_on(self, dt: float) -> None:
        """Go on with the change of a rhythm."""
        if self._swing is None:
            return
        self._swing_time += dt
        centre, amplitude = self._swing.at(self._swing_time)
        self._run.set_goal(centre)
        self._run.set_amplitude(amplitude)
        if self._swing_time >= self._swing.period:
            self._swing = None
