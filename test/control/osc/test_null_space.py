"""Tasks above each other: what is above feels nothing of what is below, and keeps what it was promised."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.control import CompiledOsc, OperationalSpaceController, OscParameters, rows_of
from arm_control.control.osc.law_variants import project_by_pseudo_inverse
from arm_control.control.osc.null_space import NullSpace, TaskInverse, dynamically_consistent_inverse
from arm_control.control.osc.osc_controller import structure_of
from arm_control.control.osc.osc_parameters import Gains
from arm_control.control.osc.task import task_motion
from arm_control.maths import Array, Pose, rotation_from_vector
from arm_control.model import RobotModel, Terms
from arm_control.motion import Reference

PANDA = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.8])
UR5 = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
HOME = {"ur5": UR5, "panda": PANDA}
STACKS = [("x y z rx ry rz",), ("x y z", "rx ry rz"), ("x y z", "rx ry"), ("z", "x y", "ry"), ("rx ry rz", "x y z")]
FREE = {
    "speed_limit_linear": 1e3, "speed_limit_angular": 1e3, "acceleration_limit_linear": 1e5,
    "acceleration_limit_angular": 1e5, "joint_speed_share": 1.0, "singular_value": 0.002,
}  # fmt: skip


def near(name: str, model: RobotModel, n: int = 20) -> list[Terms]:
    rng = np.random.default_rng(3)
    return [
        model.evaluate(HOME[name] + rng.uniform(-0.2, 0.2, model.nv), rng.uniform(-1, 1, model.nv)) for _ in range(n)
    ]


def acceleration(t: Terms, tau: Array) -> Array:
    """Of the twist, under a torque."""
    return t.J @ np.linalg.solve(t.M, tau - t.h) + t.Jdot_v


@pytest.mark.parametrize(
    ("tasks", "frame", "name"),
    zip(STACKS, ("end_effector", "world", "target", "end_effector", "target"), ("panda", "ur5") * 3, strict=False),
)
def test_every_task_accelerates_as_commanded(
    name: str, frame: str, tasks: tuple[str, ...], request: pytest.FixtureRequest
):
    """Away from singularities all tasks of a stack that fits into the arm are met, whatever the posture does."""
    model = request.getfixturevalue(name)
    rows = [row for level in rows_of(tasks) for row in level]
    p = OscParameters(posture=(0.5,) * model.nv, tasks=tasks, task_frame=frame, **FREE)
    osc, turn = OperationalSpaceController(model, p), rotation_from_vector([0.003, -0.002, 0.004])
    for t in near(name, model):
        reference = Reference(Pose(turn @ t.X_WE.R, t.X_WE.p + [1e-3, 2e-3, -1e-3]), np.full(6, 2e-3), np.full(6, 0.3))
        output, motion = osc.tick(t, reference), task_motion(t, reference, frame, rows)
        V_cmd = np.sqrt(200.0) / 2 * output.error + motion.V_des
        wanted = 2 * np.sqrt(200.0) * (V_cmd - motion.V) + motion.A_des
        found = motion.J @ np.linalg.solve(t.M, output.tau - t.h) + motion.Jdot_v
        np.testing.assert_allclose(found[rows], wanted[rows], rtol=0, atol=1e-9 * np.abs(wanted).max())


def inverse_in(t: Terms, tasks: tuple[str, ...], M_w: Array | None = None) -> tuple[TaskInverse, NullSpace]:
    names = [str(i) for i in range(len(t.q))]
    gains = Gains.of(OscParameters(posture=(0.0,) * len(t.q), singular_value=0.002).numbers(names))
    J_sharp, N, _ = dynamically_consistent_inverse(t.J, t.M if M_w is None else M_w, gains, rows_of(tasks))
    return J_sharp, N


@pytest.mark.parametrize("tasks", STACKS[1:4:2], ids=" | ".join)
def test_a_filtered_acceleration_moves_no_task(tasks: tuple[str, ...], panda: RobotModel):
    rng = np.random.default_rng(0)
    for t in near("panda", panda):
        J_sharp, N = inverse_in(t, tasks)
        a = N @ np.linalg.solve(t.M, rng.uniform(-50, 50, 7))
        for level in J_sharp.levels:
            assert np.abs(level.J @ a).max() < 1e-9
        assert np.abs(a).max() > 0.1


def test_the_pseudo_inverse_lets_the_posture_through_to_the_task(panda: RobotModel):
    """The studywolf blog's contrast: the same torque, filtered both ways."""
    rng = np.random.default_rng(1)
    for t in near("panda", panda):
        tau, (J_sharp, N) = rng.uniform(-10, 10, 7), inverse_in(t, STACKS[0])
        assert np.abs(t.J @ (N @ np.linalg.solve(t.M, tau))).max() < 1e-9
        assert np.abs(t.J @ np.linalg.solve(t.M, project_by_pseudo_inverse(J_sharp.levels, tau))).max() > 0.1


# -- joints near their limits ------------------------------------------------------------------------


def test_a_heavy_joint_is_spared_and_the_task_met_all_the_same(panda: RobotModel):
    A = np.array([1.0, -2.0, 0.5, 3.0, 0.0, -1.0])
    for t in near("panda", panda):
        M = t.M + np.diag([0, 0, 0, 0, 1e3, 0, 0.0])
        light, heavy = (inverse_in(t, STACKS[0], M_w)[0] @ A for M_w in (t.M, M))
        np.testing.assert_allclose(t.J @ heavy, A, rtol=0, atol=1e-8)
        assert abs(heavy[4]) < 0.1 * abs(light[4])


def test_position_goes_before_orientation_where_both_cannot_be(load_robot):
    """Five joints: the position accelerates as commanded, the orientation as far as it can."""
    koch = load_robot("koch")
    p = OscParameters(posture=(0.0,) * 5, **{**FREE, "singular_value": 0.04})
    osc = OperationalSpaceController(koch, p)
    assert osc.structure.tasks == ((0, 1, 2), (3, 4, 5))
    rng, met = np.random.default_rng(2), 0
    for _ in range(100):
        t = koch.evaluate(rng.uniform(-1.2, 1.2, 5), rng.uniform(-1, 1, 5))
        S = np.linalg.svd(t.J[:3], compute_uv=False)
        if S[-1] < 0.045:
            continue
        met += 1
        X_WT = Pose(rotation_from_vector([3e-4, 2e-4, -4e-4]) @ t.X_WE.R, t.X_WE.p + [2e-5, -3e-5, 1e-5])
        output = osc.tick(t, Reference(X_WT))
        wanted = 200.0 * output.error - 2 * np.sqrt(200.0) * t.V_WE
        found = acceleration(t, output.tau)
        np.testing.assert_allclose(found[:3], wanted[:3], rtol=0, atol=1e-8 * np.abs(wanted).max())
        assert not np.allclose(found[3:], wanted[3:], rtol=0, atol=1e-6)
    assert met > 15


def test_rows_that_an_arm_never_moves_are_left_out(load_robot):
    from arm_control import urdf_path

    planar = RobotModel.from_urdf(urdf_path("planar3"))
    tasks = structure_of(OscParameters(), planar).tasks
    J = planar.jacobian(np.array([0.3, 0.4, 0.5]))
    assert tasks == (tuple(np.flatnonzero(np.abs(J).max(axis=1) > 1e-9).tolist()),)
    assert sum(map(len, tasks)) == 3
    assert structure_of(OscParameters(), load_robot("ur5")).tasks == (tuple(range(6)),)


# -- the posture ------------------------------------------------------------------------------------


def test_joints_can_be_left_out_of_the_posture(panda: RobotModel):
    names = (panda.joint_names[1], panda.joint_names[4])
    whole, part = (
        OperationalSpaceController(panda, OscParameters(posture=(0.3,) * 7, posture_joints=joints, kp_joint_limits=0.0))
        for joints in ((), names)
    )
    for t in near("panda", panda, 5):
        a, b = (np.linalg.solve(t.M, osc.posture_torque(t)) for osc in (whole, part))
        np.testing.assert_allclose(b[[1, 4]], a[[1, 4]], rtol=0, atol=1e-9)
        np.testing.assert_allclose(b[[0, 2, 3, 5, 6]], -60.0 * t.v[[0, 2, 3, 5, 6]], rtol=0, atol=1e-9)


def test_a_joint_near_its_limit_is_pushed_away_and_no_other_one(panda: RobotModel):
    p = OscParameters(posture=tuple(PANDA), kp_posture=0.0, kv_posture=0.0, joint_limit_zone=0.3)
    osc = OperationalSpaceController(panda, p)
    for share in (0.0, 0.25, 0.5, 0.999, 1.0, 1.5):
        q = PANDA.copy()
        q[1], q[3] = panda.q_max[1] - share * 0.3, panda.q_min[3] + share * 0.3
        t = panda.evaluate(q, np.zeros(7))
        a = np.linalg.solve(t.M, osc.posture_torque(t))
        size = 100.0 * 0.3 * max(0.0, 1.0 - share) ** 2
        np.testing.assert_allclose(a, [0, -size, 0, size, 0, 0, 0], rtol=0, atol=1e-9)


# -- disturbances -----------------------------------------------------------------------------------


def test_of_a_known_disturbance_the_task_feels_nothing_and_the_null_space_all(panda: RobotModel):
    p = OscParameters(posture=tuple(PANDA))
    osc = OperationalSpaceController(panda, p)
    tau_dist = np.array([3.0, -5.0, 2.0, 4.0, -1.0, 0.5, 0.2])
    for t in near("panda", panda):
        reference = Reference(Pose(t.X_WE.R, t.X_WE.p + [0.01, 0.0, 0.0]))
        calm, met = osc.tick(t, reference), osc.tick(t, reference, tau_dist)
        A_calm, A_met = acceleration(t, calm.tau), acceleration(t, met.tau + tau_dist)
        np.testing.assert_allclose(A_met, A_calm, rtol=0, atol=1e-9)
        left = tau_dist + met.terms["disturbance"]
        assert np.abs(np.linalg.solve(t.M, left)).max() > 0.1
        np.testing.assert_allclose(sum(met.terms.values()), met.tau, rtol=0, atol=1e-12)


# -- the same, compiled -----------------------------------------------------------------------------

FORMS = [
    {"tasks": ("x y z", "rx ry rz"), "speed_limit_form": "scaled"},
    {"tasks": ("x y z rx ry",), "task_frame": "end_effector"},
    {"tasks": ("z", "x y rx"), "task_frame": "target"},
    {"singularity": "truncate", "speed_limit_form": "per_axis"},
    {"singularity": "damp"},
    {"singularity": "none", "null_space": "pseudo_inverse"},
]


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_every_form_of_the_law_compiles_to_what_it_says(options: dict, ur5: RobotModel):
    model, rng = ur5, np.random.default_rng(4)
    p = OscParameters(posture=tuple(rng.uniform(-1, 1, model.nv)), **options)
    compiled, page = CompiledOsc(model, p), OperationalSpaceController(model, p)
    assert compiled.is_compiled
    for _ in range(30):
        q, v = rng.uniform(-1.5, 1.5, model.nv), rng.uniform(-1, 1, model.nv)
        X, dist = model.pose(q), rng.uniform(-5, 5, model.nv)
        X_WT = Pose(rotation_from_vector(rng.uniform(-1, 1, 3)) @ X.R, X.p + rng.uniform(-0.2, 0.2, 3))
        r = Reference(X_WT, rng.uniform(-0.3, 0.3, 6), rng.uniform(-1, 1, 6))
        found, wanted = compiled.tick(q, v, r, dist), page.tick(model.evaluate(q, v), r, dist)
        sigma = wanted.singular_values
        is_regular = sigma[-1] > 0.07 and options.get("tasks") is None  # else squares of small values are rounded
        tolerance = (1e-9 if is_regular else 1e-7) * (1.0 + np.abs(wanted.parts).max())
        if "singularity" in options:
            tolerance *= max(1.0, (sigma[0] / sigma[min(6, model.nv) - 1]) ** 2 / 1e5)
        np.testing.assert_allclose(found.parts, wanted.parts, rtol=0, atol=tolerance)
        np.testing.assert_allclose(found.tau, wanted.tau, rtol=0, atol=tolerance)
        np.testing.assert_allclose(found.error, wanted.error, rtol=0, atol=1e-9)


def test_a_disturbance_that_makes_no_sense_is_refused(ur5: RobotModel):
    from arm_control.exceptions import InputError

    osc = CompiledOsc(ur5, OscParameters(posture=tuple(UR5)))
    hold = Reference(ur5.pose(UR5))
    for bad in ([0.0] * 5, [np.nan] * 6):
        with pytest.raises(InputError, match=r"tau_dist is .*; 6 finite numbers are needed"):
            osc.tick(UR5, np.zeros(6), hold, bad)
    np.testing.assert_allclose(osc.tick(UR5, np.zeros(6), hold).tau, ur5.gravity(UR5), rtol=0, atol=1e-9)
