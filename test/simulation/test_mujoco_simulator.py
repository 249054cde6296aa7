"""The simulated arm: what it may be trusted with, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from arm_control.exceptions import ModelError, SimulationDiverged
from arm_control.maths import Array
from arm_control.model import RobotModel
from arm_control.simulation import MujocoSimulator, build_mujoco_model

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


def test_initial_positions_of_a_wrong_number_are_refused(ur5: RobotModel):
    with pytest.raises(ModelError, match="5 initial positions for 6 joints"):
        MujocoSimulator(ur5, np.zeros(5))


def test_an_arm_with_another_mass_matrix_is_refused(load_robot: Load, monkeypatch: pytest.MonkeyPatch):
    model = load_robot("ur5")
    monkeypatch.setattr(model, "armature", np.array([0, 0, 0, 1e-3, 0, 0]))  # which its mass matrix lacks
    with pytest.raises(ModelError, match=r"mass matrix differs from the model's by [0-9.e-]+ \(allowed 1e-06\)"):
        MujocoSimulator(model)


@pytest.mark.parametrize("tau", [np.full(6, np.nan), np.full(6, 1e9)])
def test_a_simulation_that_diverges_says_when_and_where(ur5: RobotModel, tau: Array):
    strong = RobotModel.from_urdf(UR5, effort_limits=dict.fromkeys(ur5.joint_names, 1e15))
    simulator = MujocoSimulator(strong, HOME)
    for _ in range(10):
        simulator.step(ur5.gravity(simulator.q))
    with pytest.raises(SimulationDiverged, match=r"diverged at t = 0\.0[0-9]* s") as caught:
        [simulator.step(tau) for _ in range(10)]
    assert 0.010 <= caught.value.t < 0.020
    assert np.isfinite([*caught.value.q, *caught.value.v]).all()
    simulator.reset()
    simulator.step(ur5.gravity(HOME))
    np.testing.assert_allclose(simulator.q, HOME, rtol=0, atol=1e-9)


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


def test_torque_acts_on_the_joint_of_its_place(robot: RobotModel):
    simulator = MujocoSimulator(robot, np.full(robot.nv, 0.3))
    for unit in np.eye(robot.nv):
        simulator.reset()
        simulator.step(robot.gravity(simulator.q) + 1e-3 * unit)
        expected = np.linalg.solve(robot.mass_matrix(np.full(robot.nv, 0.3)), 1e-3 * unit)
        np.testing.assert_allclose(simulator.v / 1e-3, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
