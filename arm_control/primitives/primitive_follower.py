"""Following of a movement primitive: goals start it or move its goal, and its reference never jumps.

A discrete primitive begins with a goal, at the present reference; a goal on the way moves that of the motion. A
rhythmic one swings in with its first goal, its centre: its amplitude grows from zero. :meth:`PrimitiveFollower.hold`
ends the motion, also one that has begun at once; the next goal, not an amplitude or a period, begins another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Generic, cast

from arm_control.core import NANOSECONDS, Parameters, parameter
from arm_control.exceptions import ArmControlError, InputError, ParameterError
from arm_control.maths import Array, Pose
from arm_control.motion import Goal, GoalQueue, JointGoal, JointReference, Modulation, Reference, Target, Waypoints
from arm_control.primitives.obstacle_coupling import ObstacleCoupling
from arm_control.primitives.primitive import Primitive
from arm_control.primitives.primitive_run import PrimitiveRun, RunSnapshot
from arm_control.primitives.primitive_spaces import Cycle, R, Space

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
    is_running : bool
        Whether the primitive has begun.
    is_holding : bool
        Whether no goal has acted since :meth:`hold`.
    refused : ArmControlError or None
        Why the newest goal, amplitude or period is passed over; None after the next state.
    now : JointReference or Reference
        The reference of the newest state.
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

        Raises
        ------
        InputError
            When a primitive cannot follow such a goal, or a number is out of bounds.
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
            before = self._run.snapshot()
            self._run.set_amplitude(values["amplitude"])
            self._run.set_duration(values["period"])
            self._check_or_restore(before)
        self._values = values

    def _check_or_restore(self, before: RunSnapshot) -> None:
        try:
            self._space.check(self._run, self.now)
        except ArmControlError:
            self._run.restore(before)
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
        before = self._run.snapshot()
        if not self.is_running or self._run.is_done:
            self._begin(goal)
        elif not self._is_rhythmic:
            self._run.set_goal(goal)
        if self._is_rhythmic:
            centre = self._run.primitive.coordinates(goal, self._run.primitive.quat_xyzw, self._run.goal)
            self._swing_to(centre, self._values)
        else:
            self._check_or_restore(before)
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
