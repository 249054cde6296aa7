"""One tick of a Panda under constraints, beside Pink, mink and OSCBF where they are installed.

The hand stays in a box and the arm within its joints' limits, beside 20 spheres. Each library has what it knows:

    this package   torque: operational space, torque, joints, box, each capsule against each sphere; the gate
    OSCBF          torque: operational space, torque, joints, box, a ball at the hand against each sphere (JAX)
    Pink           joint velocities: pose and posture, joints, box, a ball at the hand against each sphere (daqp)
    mink           joint velocities: pose and posture, joints, a ball at the hand against each sphere, no box (daqp)
    TSID           torque: pose and posture, torque, joints; neither box, spheres nor rate of torque (eiquadprog)

OSCBF is no package of PyPI: its folder stands in PYTHONPATH. The newest wheels of TSID go with Pinocchio 3.4:
``pip install --only-binary :all: tsid==1.7.1 pin==3.4.0 "cmeel-urdfdom<5" "cmeel-tinyxml2<11"``, in an environment of
their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.control import ControlLoop, Measurement
from arm_control.maths import Array, Obstacle, Pose, Sphere
from arm_control.motion import Target

Q = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.7, 0.8])
DT, BALL, RADIUS, HAND = 1e-3, 0.05, 0.04, "panda_hand"
BOX = np.array([0.3, 0.5, 0.3])
"""Half of the edges of the box around the hand."""

Tick = Callable[[Array, Array], object]


def balls(p: Array) -> Array:
    """Centres of the spheres: on a ring of 25 cm around a place of the hand."""
    turn = 2.0 * np.pi * np.arange(20) / 20
    return p + 0.25 * np.column_stack([np.cos(turn), np.sin(turn), 0.2 * np.cos(5.0 * turn)])


def states(n: int) -> list[tuple[Array, Array]]:
    """Joint positions and velocities near :data:`Q`."""
    rng = np.random.default_rng(4)
    return [(Q + 0.1 * rng.normal(size=7), 0.3 * rng.normal(size=7)) for _ in range(n)]


def ours(loop: ControlLoop, model: RobotModel) -> Tick:
    """A tick of the loop."""
    p = model.pose(Q).p
    obstacles = [Obstacle(Sphere(RADIUS), Pose(np.eye(3), centre)) for centre in balls(p)]
    loop.controller.add(Target(0, model.base, goal(model)))
    stamp = 0

    def tick(q: Array, v: Array) -> object:
        nonlocal stamp
        stamp += round(1e9 * DT)
        return loop.tick(Measurement(stamp, q, v, DT, is_restart=stamp == round(1e9 * DT)), obstacles)

    return tick


def goal(model: RobotModel) -> Pose:
    """A pose beyond the box."""
    X = model.pose(Q)
    return Pose(X.R, X.p + np.array([0.0, 0.7, 0.0]))


def pink(model: RobotModel, n_balls: int = 20) -> Tick:
    """Pink with daqp, and so many of the spheres."""
    import pinocchio as pin
    from pink import Configuration, solve_ik
    from pink.barriers import BodySphericalBarrier, PositionBarrier
    from pink.tasks import FrameTask, PostureTask

    robot = pin.buildModelFromUrdf(str(urdf_path("panda")))
    target, p = goal(model), model.pose(Q).p
    for k, centre in enumerate(balls(p)):
        robot.addFrame(pin.Frame(f"ball {k}", 0, pin.SE3(np.eye(3), centre), pin.FrameType.OP_FRAME))
    q_0 = np.r_[Q, np.zeros(robot.nq - 7)]
    configuration, hand, posture = (
        Configuration(robot, robot.createData(), q_0), FrameTask(HAND, 1.0, 1.0), PostureTask(1e-3),
    )  # fmt: skip
    hand.set_target(pin.SE3(target.R, target.p))
    posture.set_target(q_0)
    barriers = [PositionBarrier(HAND, p_min=p - BOX, p_max=p + BOX, gain=np.full(6, 50.0))]
    barriers += [BodySphericalBarrier((HAND, f"ball {k}"), BALL + RADIUS, gain=50.0) for k in range(n_balls)]

    def tick(q: Array, v: Array) -> object:
        configuration.update(np.r_[q, q_0[7:]])
        return solve_ik(configuration, [hand, posture], DT, solver="daqp", barriers=barriers, safety_break=False)

    return tick


def mink(model: RobotModel) -> Tick:
    """Mink with daqp; MuJoCo reads the arm's URDF without meshes."""
    import mink as library
    import mujoco

    text = re.sub(r"<(visual|collision)\b.*?</\1>", "", urdf_path("panda").read_text(), flags=re.DOTALL)
    text = text.replace("</robot>", '<mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco></robot>')
    spec, target = mujoco.MjSpec.from_string(text), goal(model)
    spec.body(HAND).add_geom(name="hand ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[BALL, 0.0, 0.0])
    for k, centre in enumerate(balls(model.pose(Q).p)):
        spec.worldbody.add_geom(
            name=f"ball {k}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[RADIUS, 0.0, 0.0], pos=centre
        )
    arm = spec.compile()
    q_0 = np.r_[Q, np.zeros(arm.nq - 7)]
    configuration = library.Configuration(arm, q=q_0)
    hand, posture = library.FrameTask(HAND, "body", 1.0, 1.0), library.PostureTask(arm, cost=1e-3)
    rotation = library.SO3.from_matrix(np.asarray(target.R))
    hand.set_target(library.SE3.from_rotation_and_translation(rotation, np.asarray(target.p)))
    posture.set_target(q_0)
    names = [arm.joint(i).name for i in range(arm.njnt)]
    speeds = dict(zip(names[:7], np.full(7, 2.175), strict=True))
    limits = [
        library.ConfigurationLimit(arm),
        library.VelocityLimit(arm, speeds),
        library.CollisionAvoidanceLimit(
            arm, [(["hand ball"], [f"ball {k}" for k in range(20)])], collision_detection_distance=1.0
        ),
    ]

    def tick(q: Array, v: Array) -> object:
        configuration.update(np.r_[q, q_0[7:]])
        return library.solve_ik(configuration, [hand, posture], DT, solver="daqp", limits=limits)

    return tick


def tsid(model: RobotModel) -> Tick:
    """TSID with its fastest solver, tasks below the bounds."""
    import pinocchio as pin
    from tsid import tsid_pywrap as library

    target, path = goal(model), str(urdf_path("panda"))
    robot = library.RobotWrapper(path, pin.StdVec_StdString(), False)
    arm, q_0, still = robot.model(), np.r_[Q, np.zeros(robot.nq - 7)], np.zeros(robot.nv - 7)
    problem = library.InverseDynamicsFormulationAccForce("tick", robot, False)
    problem.computeProblemData(0.0, q_0, np.zeros(robot.nv))
    hand, posture = library.TaskSE3Equality("hand", robot, HAND), library.TaskJointPosture("posture", robot)
    for task, kp in ((hand, 100.0), (posture, 10.0)):
        task.setKp(np.full(task.dim, kp))
        task.setKd(np.full(task.dim, 2.0 * np.sqrt(kp)))
    to_goal = library.TrajectorySE3Constant("goal", pin.SE3(np.asarray(target.R), np.asarray(target.p)))
    hand.setReference(to_goal.computeNext())
    posture.setReference(library.TrajectoryEuclidianConstant("rest", q_0).computeNext())
    joints = library.TaskJointPosVelAccBounds("joints", robot, DT, False)
    joints.setPositionBounds(arm.lowerPositionLimit, arm.upperPositionLimit)
    joints.setVelocityBounds(arm.velocityLimit)
    joints.setAccelerationBounds(np.full(robot.nv, 1e3))
    torque = library.TaskActuationBounds("torque", robot)
    torque.setBounds(-arm.effortLimit, arm.effortLimit)
    problem.addMotionTask(hand, 1.0, 1, 0.0)
    problem.addMotionTask(posture, 1e-3, 1, 0.0)
    problem.addMotionTask(joints, 1.0, 0, 0.0)
    problem.addActuationTask(torque, 1.0, 0, 0.0)
    solver = library.SolverHQuadProgFast("solver")
    solver.resize(problem.nVar, problem.nEq, problem.nIn)

    tasks = hand, posture, joints, torque, robot  # the problem only refers to them

    def tick(q: Array, v: Array, _kept: object = tasks) -> object:
        data = problem.computeProblemData(0.0, np.r_[q, q_0[7:]], np.r_[v, still])
        return problem.getActuatorForces(solver.solve(data))

    return tick


def oscbf(model: RobotModel) -> Tick:
    """OSCBF's own Panda and controller."""
    import jax
    import jax.numpy as jnp
    from cbfpy import CBF
    from oscbf.core.controllers import PoseTaskTorqueController
    from oscbf.core.manipulator import load_panda
    from oscbf.core.oscbf_configs import OSCBFTorqueConfig

    robot = load_panda()
    X = np.asarray(robot.ee_transform(jnp.asarray(Q)))
    p, R = X[:3, 3], X[:3, :3]
    centres = balls(p)
    low, high = np.asarray(robot.joint_lower_limits), np.asarray(robot.joint_upper_limits)

    class Constraints(OSCBFTorqueConfig):
        def h_2(self, z: Any, **_: Any) -> Any:
            q = z[:7]
            hand = robot.ee_position(q)
            to_balls = jnp.linalg.norm(hand - centres, axis=1) - BALL - RADIUS
            return jnp.concatenate([p + BOX - hand, hand - p + BOX, to_balls, q - low, high - q])

        def alpha(self, h: Any) -> Any:
            return 10.0 * h

        def alpha_2(self, h_2: Any) -> Any:
            return 10.0 * h_2

    gains = np.array([50.0, 50.0, 50.0, 20.0, 20.0, 20.0])
    cbf = CBF.from_config(jax.tree_util.register_static(Constraints)(robot))
    law = PoseTaskTorqueController(7, gains, 2.0 * np.sqrt(gains), 10.0, 5.0, None, None)
    aim, zero, posture = jnp.asarray(p + np.array([0.0, 0.7, 0.0])), jnp.zeros(3), jnp.asarray(Q)

    @jax.jit
    def control(z: Any) -> Any:
        q, v = z[:7], z[7:]
        M, M_inv, g, c, J, X_WE = robot.torque_control_matrices(q, v)
        u = law(
            q, v, pos=X_WE[:3, 3], rot=X_WE[:3, :3], des_pos=aim, des_rot=jnp.asarray(R), des_vel=zero, des_omega=zero,
            des_accel=zero, des_alpha=zero, des_q=posture, des_qdot=jnp.zeros(7), J=J, M=M, M_inv=M_inv, g=g, c=c,
        )  # fmt: skip
        return cbf.safety_filter(z, u)

    return lambda q, v: control(np.concatenate([q, v])).block_until_ready()


LIBRARIES: dict[str, Callable[[RobotModel], Tick]] = {
    "pink": pink,
    "pink_without_spheres": partial(pink, n_balls=0),
    "mink": mink,
    "oscbf": oscbf,
    "tsid": tsid,
}
