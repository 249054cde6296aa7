"""The simulated arm: what it may be trusted with, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

from arm_control.exceptions import ModelError, SimulationDiverged
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.simulation import MujocoSimulator, build_mujoco_model, mujoco_simulator

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
UR5 = Path(__file__).parents[2] / "urdf" / "ur5" / "ur5.urdf"

Load = Callable[..., RobotModel]


@pytest.fixture(autouse=True)
def _log_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """MuJoCo writes its warnings into the working directory."""
    monkeypatch.chdir(tmp_path)


def driven(simulator: MujocoSimulator, n: int = 500) -> Array:
    """States under a torque that changes all the time."""
    rows = []
    for k in range(n):
        simulator.step(np.array([20.0, -30.0, 10.0, 3.0, 1.0, 0.1]) * np.sin(0.01 * k))
        rows.append(np.concatenate([simulator.q, simulator.v]))
    return np.array(rows)


def test_the_same_torques_give_the_same_states_to_the_last_bit(ur5: RobotModel):
    first, second = MujocoSimulator(ur5, HOME), MujocoSimulator(ur5, HOME)
    states = driven(first)
    np.testing.assert_array_equal(driven(second), states)
    first.reset()
    np.testing.assert_array_equal(driven(first), states)
    assert np.abs(states[:, 6:]).max() > 0.1


def test_reset_starts_again_at_rest(ur5: RobotModel):
    simulator = MujocoSimulator(ur5, HOME)
    driven(simulator, 50)
    assert simulator.steps == 50
    for q, expected in ((None, HOME), (np.full(6, 0.2), np.full(6, 0.2))):
        simulator.reset(q)
        assert simulator.steps == 0
        assert simulator.mujoco_data.time == 0.0
        np.testing.assert_array_equal(simulator.q, expected)
        np.testing.assert_array_equal(simulator.v, np.zeros(6))


def test_it_starts_at_zero_unless_told_otherwise(ur5: RobotModel):
    np.testing.assert_array_equal(MujocoSimulator(ur5).q, np.zeros(6))


def test_initial_positions_are_copied(ur5: RobotModel):
    q = HOME.copy()
    simulator = MujocoSimulator(ur5, q)
    q += 1.0
    simulator.reset()
    np.testing.assert_array_equal(simulator.q, HOME)


def test_states_are_copies(ur5: RobotModel):
    simulator = MujocoSimulator(ur5, HOME)
    q, v = simulator.q, simulator.v
    driven(simulator, 50)
    np.testing.assert_array_equal(q, HOME)
    np.testing.assert_array_equal(v, np.zeros(6))


def test_initial_positions_of_a_wrong_number_are_refused(ur5: RobotModel):
    with pytest.raises(ModelError, match="5 initial positions for 6 joints"):
        MujocoSimulator(ur5, np.zeros(5))


def potential_energy(model: RobotModel, before: Array, after: Array) -> float:
    """Change of potential energy between two near postures: gravity torque along the way, Simpson's rule."""
    middle = (before + after) / 2
    return float((model.gravity(before) + 4 * model.gravity(middle) + model.gravity(after)) @ (after - before) / 6)


def test_a_falling_arm_keeps_its_energy(ur5: RobotModel):
    simulator = MujocoSimulator(ur5, HOME, timestep=1e-4)
    potential, drift, fastest = 0.0, 0.0, 0.0
    for _ in range(3000):
        before = simulator.q
        simulator.step(np.zeros(6))
        potential += potential_energy(ur5, before, simulator.q)
        kinetic = simulator.v @ ur5.mass_matrix(simulator.q) @ simulator.v / 2
        drift, fastest = max(drift, abs(kinetic + potential)), max(fastest, kinetic)
    assert fastest > 5.0
    assert drift < 2e-3 * fastest


def test_gravity_compensation_holds_the_arm(ur5: RobotModel):
    simulator = MujocoSimulator(ur5, HOME)
    for _ in range(1000):
        simulator.step(ur5.gravity(simulator.q))
    np.testing.assert_allclose(simulator.q, HOME, rtol=0, atol=1e-9)


def test_damping_slows_a_joint_by_its_coefficient(load_robot: Load):
    """Alone on its axis, a joint with damping b slows as exp(-b t / M)."""
    model = load_robot("ur5", armature=[0, 0, 0, 0, 0, 1.0])
    for damping in (0.0, 2.0):
        simulator = MujocoSimulator(model, HOME, damping=damping)
        simulator.mujoco_data.qvel[5] = 1.0
        for _ in range(500):
            others = model.gravity(simulator.q) - 500.0 * np.append(simulator.v[:5], 0.0)
            simulator.step(others)
        assert simulator.v[5] == pytest.approx(np.exp(-damping * 0.5 / model.mass_matrix(HOME)[5, 5]), abs=2e-3)


def test_armature_is_the_model_s(load_robot: Load):
    model = load_robot("ur5", armature=0.7)
    np.testing.assert_allclose(MujocoSimulator(model).mass_matrix(HOME), model.mass_matrix(HOME), rtol=0, atol=1e-9)


def test_an_arm_with_another_mass_matrix_is_refused(load_robot: Load, monkeypatch: pytest.MonkeyPatch):
    model = load_robot("ur5")
    monkeypatch.setattr(model, "armature", np.array([0, 0, 0, 1e-3, 0, 0]))  # which its mass matrix lacks
    with pytest.raises(ModelError, match=r"mass matrix differs from the model's by [0-9.e-]+ \(allowed 1e-06\)"):
        MujocoSimulator(model)


@pytest.mark.parametrize(
    "tau", [np.full(6, np.nan), np.full(6, 1e9), np.full(6, 1e12), np.array([0, 0, 0, 0, 0, -np.inf])]
)
def test_a_simulation_that_diverges_says_when_and_where(ur5: RobotModel, tau: Array):
    strong = RobotModel.from_urdf(UR5, effort_limits=dict.fromkeys(ur5.joint_names, 1e15))
    simulator = MujocoSimulator(strong, HOME)
    for _ in range(10):
        simulator.step(ur5.gravity(simulator.q))
    with pytest.raises(SimulationDiverged, match=r"diverged at t = 0\.0[0-9]* s") as caught:
        [simulator.step(tau) for _ in range(10)]
    assert 0.010 <= caught.value.t < 0.020
    assert np.isfinite([*caught.value.q, *caught.value.v]).all()
    assert len(caught.value.q) == len(caught.value.v) == 6


def test_a_motor_gives_no_more_than_its_effort_limit(ur5: RobotModel):
    limited, asked = MujocoSimulator(ur5, HOME), MujocoSimulator(ur5, HOME)
    limited.step(ur5.tau_max)
    asked.step(10.0 * ur5.tau_max)
    np.testing.assert_array_equal(asked.v, limited.v)
    assert np.abs(limited.v).max() > 0.1


def test_a_position_or_velocity_beyond_measure_is_a_divergence(ur5: RobotModel):
    for name in ("qpos", "qvel"):
        simulator = MujocoSimulator(ur5, HOME)
        getattr(simulator.mujoco_data, name)[2] = 1e11
        with pytest.raises(SimulationDiverged):
            simulator.step(np.zeros(6))


def test_after_a_divergence_reset_starts_again(ur5: RobotModel):
    simulator = MujocoSimulator(ur5, HOME)
    with pytest.raises(SimulationDiverged):
        simulator.step(np.full(6, np.nan))
    simulator.reset()
    for _ in range(10):
        simulator.step(ur5.gravity(simulator.q))
    np.testing.assert_allclose(simulator.q, HOME, rtol=0, atol=1e-9)


def test_a_moving_link_without_mass_is_refused(ur5: RobotModel):
    text = UR5.read_text()
    begin = text.index('<link name="wrist_3_link">')
    start, end = text.index("<inertial>", begin), text.index("</inertial>", begin) + len("</inertial>")
    bare = RobotModel.from_urdf(text[:start] + text[end:], armature={"wrist_3_joint": 0.01})
    assert bare.mass < ur5.mass
    with pytest.raises(ModelError, match=r"MuJoCo cannot .* `engine: rigid_body` may: .* mass .*'wrist_3_link'"):
        build_mujoco_model(bare, 1e-3)


def test_a_link_without_inertial_is_given_no_mass(ur5: RobotModel):
    """MuJoCo can compute a mass from a link's shapes; nothing in the file says so."""
    shape = '<geometry><box size="0.1 0.1 0.1"/></geometry>'
    block = f'<link name="block"><visual>{shape}</visual><collision>{shape}</collision></link>'
    joint = '<joint name="glue" type="fixed"><parent link="wrist_3_link"/><child link="block"/></joint>'
    laden = RobotModel.from_urdf(UR5.read_text().replace("</robot>", block + joint + "</robot>"))
    compiled = build_mujoco_model(laden, 1e-3)
    np.testing.assert_array_equal(compiled.body_mass, build_mujoco_model(ur5, 1e-3).body_mass)
    assert compiled.body_mass.sum() == pytest.approx(ur5.mass, rel=1e-9)
    np.testing.assert_array_equal(MujocoSimulator(laden).mass_matrix(HOME), MujocoSimulator(ur5).mass_matrix(HOME))


def test_a_robot_is_loaded_without_its_meshes(load_robot: Load):
    model = load_robot("ur5_ros2")
    assert "package://" in model.urdf.text
    compiled = build_mujoco_model(model, 2e-3)
    assert compiled.nmesh == 0
    assert compiled.opt.timestep == 2e-3
    assert compiled.nu == compiled.nv == 6


def test_joints_beyond_the_tip_are_locked_even_when_one_mimics_another(panda: RobotModel):
    assert "panda_finger_joint1" not in panda.joint_names
    compiled = build_mujoco_model(panda, 1e-3)
    assert (compiled.nv, compiled.nu, compiled.neq) == (7, 7, 0)
    np.testing.assert_array_equal(compiled.dof_frictionloss, np.zeros(7))


def test_a_state_is_a_copy(ur5: RobotModel):
    simulator = MujocoSimulator(ur5, HOME)
    expected = driven(simulator, 50)
    q, v = simulator.q, simulator.v
    driven(simulator, 1)
    np.testing.assert_array_equal([*q, *v], expected[-1])


def test_links_that_do_not_move_on_their_own_cost_nothing(ur5: RobotModel):
    """They are lumped with the link that carries them, and what is fixed to the base is left out."""
    assert build_mujoco_model(ur5, 1e-3).nbody == ur5.nv + 1 < len(ur5.frames)


def test_the_warnings_that_count_are_those_of_a_bad_state_or_torque():
    names = {
        kind.name
        for kind in mujoco.mjtWarning.__members__.values()
        if int(kind) in range(10)[mujoco_simulator._DIVERGENCE_WARNINGS]
    }
    assert names == {f"mjWARN_BAD{what}" for what in ("QPOS", "QVEL", "QACC", "CTRL")}


def test_torque_acts_on_the_joint_of_its_place(robot: RobotModel):
    simulator = MujocoSimulator(robot, np.full(robot.nv, 0.3))
    for unit in np.eye(robot.nv):
        simulator.reset()
        simulator.step(robot.gravity(simulator.q) + 1e-3 * unit)
        expected = np.linalg.solve(robot.mass_matrix(np.full(robot.nv, 0.3)), 1e-3 * unit)
        np.testing.assert_allclose(simulator.v / 1e-3, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
