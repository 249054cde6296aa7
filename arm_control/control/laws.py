"""Controllers without ROS, for a simulation or a replay: from states to torque, by the parameters of a scenario."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from arm_control.control.effort_gate import GateParameters
from arm_control.control.joint_space import JointParameters, JointSpaceController
from arm_control.control.osc.compiled_osc import CompiledOsc
from arm_control.control.osc.tuning import OscTuning
from arm_control.exceptions import ArmControlError, InputError
from arm_control.maths.poses import Array, Pose
from arm_control.model import RobotModel, Terms
from arm_control.model.arm_parameters import ArmChoices
from arm_control.motion.goals import Goal, JointGoal
from arm_control.motion.joint_follower import Follower, FollowingParameters
from arm_control.motion.pose_follower import PoseFollower, PoseMotion
from arm_control.motion.references import Queue, Target
from arm_control.motion.waypoints import Waypoints
from arm_control.planning.reach import ReachPlanner
from arm_control.planning.receding import PlanFollower, RecedingParameters
from arm_control.planning.worker import InlinePlanner


@dataclass(frozen=True)
class OscSimulation(OscTuning, GateParameters, ArmChoices):
    """Parameters of operational space control in a simulation."""


@dataclass(frozen=True)
class JointSimulation(JointParameters, FollowingParameters, GateParameters, ArmChoices):
    """Parameters of joint space control in a simulation."""


@dataclass(frozen=True)
class IlqrSimulation(RecedingParameters, GateParameters, ArmChoices):
    """Parameters of planned reaches in a simulation."""


LawParameters = OscSimulation | JointSimulation | IlqrSimulation


class Tick(NamedTuple):
    """What a law says in one state: the state, torque and what it is made of, and where the end effector should be."""

    state: Terms
    tau: Array
    terms: dict[str, Array]
    X_WT: Pose


class Law(Protocol):
    """A controller that was at rest when it was made."""

    def take(self, goal: Goal) -> None:
        """Take in what is to be done from a moment on."""

    def restart(self, q: Array) -> None:
        """Time has started over, with the arm at q, shape (nv,) [rad or m]."""

    def let_go(self, q: Array) -> None:
        """The gate has braked: later the arm is held where it is then."""

    def __call__(self, stamp_ns: int, q: Array, v: Array) -> Tick:
        """From the stamp [ns], positions and velocities of a state."""


def law_of(model: RobotModel, parameters: LawParameters, q0: Array) -> Law:
    """Return a controller, at rest at q0, shape (nv,) [rad or m]; its parameters say which."""
    if isinstance(parameters, OscSimulation):
        return OscLaw(model, parameters, q0)
    if isinstance(parameters, IlqrSimulation):
        return IlqrLaw(model, parameters, q0)
    return JointLaw(model, parameters, q0)


class OscLaw:
    """Operational space control towards poses; the arguments are those of :func:`law_of`."""

    def __init__(self, model: RobotModel, parameters: OscSimulation, q0: Array) -> None:
        self._osc = CompiledOsc(model, parameters.replace(posture=parameters.posture or tuple(q0.tolist())))
        self._follower = PoseFollower(model)
        self.restart(q0)

    def take(self, goal: Goal) -> None:
        """See :class:`Law`."""
        self._follower.queue.add(_pose_goal(goal))

    def restart(self, q: Array) -> None:
        """See :class:`Law`."""
        self._follower.restart(q)

    def let_go(self, q: Array) -> None:
        """The law is one of the moment: there is nothing to let go."""

    def __call__(self, stamp_ns: int, q: Array, v: Array) -> Tick:
        """See :class:`Law`."""
        reference = self._follower.reference(stamp_ns, q)
        output = self._osc.tick(q, v, reference)
        return Tick(output.state, output.tau, output.terms, reference.X_WT)


class IlqrLaw:
    """Planned reaches of poses; the arguments are those of :func:`law_of`."""

    def __init__(self, model: RobotModel, parameters: IlqrSimulation, q0: Array) -> None:
        self._model, self._follower = model, PoseFollower(model)
        self._plans = PlanFollower(model, parameters, InlinePlanner(ReachPlanner(model, parameters)), True)
        self._is_braked = False
        self.restart(q0)

    def take(self, goal: Goal) -> None:
        """See :class:`Law`."""
        self._follower.queue.add(_pose_goal(goal))

    def restart(self, q: Array) -> None:
        """See :class:`Law`."""
        self._follower.restart(q)
        self._plans.let_go(q)

    def let_go(self, q: Array) -> None:
        """See :class:`Law`."""
        self._plans.let_go(q)
        self._is_braked = True

    def __call__(self, stamp_ns: int, q: Array, v: Array) -> Tick:
        """See :class:`Law`."""
        state, X_WT = self._model.evaluate(q, v), self._follower.reference(stamp_ns, q).X_WT
        target, self._is_braked = None if self._is_braked else self._follower.active, False
        torque = self._plans.tick(stamp_ns, state, target, X_WT)
        terms = {"feedforward": torque.feedforward, "feedback": torque.feedback}
        return Tick(state, torque.tau, terms, X_WT)


class JointLaw:
    """Joint space control along trajectories; the arguments are those of :func:`law_of`."""

    def __init__(self, model: RobotModel, parameters: JointSimulation, q0: Array) -> None:
        self._model, self._parameters = model, parameters
        self._controller = JointSpaceController(model, parameters)
        self._goals: Queue[JointGoal] = Queue()
        self.restart(q0)

    def take(self, goal: Goal) -> None:
        """See :class:`Law`."""
        if not isinstance(goal, JointGoal):
            raise InputError("joint space control follows joints, no poses")
        self._goals.add(goal)

    def restart(self, q: Array) -> None:
        """See :class:`Law`."""
        self._goal: JointGoal | None = None
        self.let_go(q)

    def let_go(self, q: Array) -> None:
        """See :class:`Law`."""
        self._follower = Follower(self._model, self._parameters, q)

    def __call__(self, stamp_ns: int, q: Array, v: Array) -> Tick:
        """See :class:`Law`; an goal that cannot be followed is passed over, as the node does."""
        goal = self._goals.active(stamp_ns)
        if goal is not None and goal is not self._goal:
            self._goal = goal
            with suppress(ArmControlError):
                self._start(goal, stamp_ns)
        reference = self._follower.tick(stamp_ns, q)
        state = self._model.evaluate(q, v)
        output = self._controller.tick(state, reference)
        return Tick(state, output.tau, output.terms, self._model.pose(reference.q_des))

    def _start(self, goal: JointGoal, now_ns: int) -> None:
        if isinstance(goal.destination, Waypoints):
            self._follower.follow(goal.destination, now_ns)
        else:
            self._follower.go_to(goal.destination, now_ns)


def _pose_goal(goal: Goal) -> Target | PoseMotion:
    if isinstance(goal, JointGoal):
        raise InputError("this controller follows poses, no joints")
    return goal
