"""The force-torque sensor of a simulated arm: closed forms, and MuJoCo's own sensor."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

from arm_control.maths import Array, Box, Obstacle, Pose
from arm_control.model import Inertia, RobotModel
from arm_control.simulation import MujocoSimulator, PlantProperties, Sampling, SimulatedSensors, World
from arm_control.simulation.sensors import wrist_wrench
from arm_control.simulation.tip_contact import TIP_RADIUS

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
G = 9.81
MS = 1_000_000


def state(q: Array, v: Array, contact: Array | None = None) -> SimpleNamespace:
    """An arm in a state, as the sensors see it."""
    return SimpleNamespace(q=q, v=v, contact_wrench=np.zeros(6) if contact is None else contact)


def test_a_payload_at_rest_gives_its_weight_in_the_axes_of_the_hand(ur5: RobotModel):
    """2 kg at (0, 0.1, 0.05): the axis z of the tool points down, its axis x to -y of the world."""
    payload = PlantProperties(payload_mass=2.0, payload_position=(0.0, 0.1, 0.05))
    sensors = SimulatedSensors(ur5, World(), plant=payload)
    sensors.observe(0, state(HOME, np.zeros(6)))
    g_E = ur5.pose(HOME).R.T @ [0.0, 0.0, -G]
    weight = 2.0 * g_E
    assert sensors.wrench() == pytest.approx([*weight, *np.cross([0.0, 0.1, 0.05], weight)], abs=1e-12)
    assert weight[2] == pytest.approx(2.0 * G, rel=1e-5)
    tilted = SimulatedSensors(ur5, World(), plant=payload.replace(base_tilt=0.1))
    tilted.observe(0, state(HOME, np.zeros(6)))
    assert np.linalg.norm(tilted.wrench()[:2]) == pytest.approx(2.0 * G * np.sin(0.1), rel=1e-2)


def test_a_wall_that_is_pressed_gives_its_reaction_and_a_push_its_force(load_robot: Callable[..., RobotModel]):
    """The hand presses with 20 N; the table pushes it up, against the axis z of the tool."""
    model = load_robot("ur5", armature=(0.5, 0.5, 0.5, 0.1, 0.1, 0.1))
    X = model.pose(HOME)
    table = Obstacle(Box((0.5, 0.5, 0.1)), Pose(np.eye(3), X.p - [0.0, 0.0, TIP_RADIUS + 0.05]))
    arm = MujocoSimulator(model, HOME, solids=[table])
    for _ in range(300):
        t = model.evaluate(arm.q, arm.v)
        arm.step(t.h + t.J.T @ [0.0, 0.0, -20.0, 0.0, 0.0, 0.0] - 20.0 * t.M @ arm.v)
    pushed = World.from_mapping({"pushes": [{"force": [0.0, 3.0, 0.0], "until": 0.2}]}, "world")
    for world, push in ((World(), 0.0), (pushed, 3.0)):
        sensors = SimulatedSensors(model, world)
        sensors.observe(0, arm)
        F_W = model.pose(arm.q).R @ sensors.wrench()[:3]
        assert F_W[2] == pytest.approx(20.0, rel=0.02)
        assert F_W[1] == pytest.approx(push, abs=0.1)
        assert sensors.wrench()[2] == pytest.approx(-20.0, rel=0.02)


def test_a_moving_arm_measures_what_mujoco_s_sensor_measures(ur5: RobotModel):
    """A body of 1.7 kg behind the tip, random states and torques; MuJoCo's sensor has the sign of the arm on it."""
    rng, body_mass, centre, moments = np.random.default_rng(0), 1.7, np.array([0.03, -0.02, 0.08]), [0.02, 0.03, 0.04]
    spec = mujoco.MjSpec.from_string(
        ur5.urdf.without_meshes().replace(
            "</robot>", '<mujoco><compiler inertiafromgeom="false" fusestatic="true"/></mujoco></robot>'
        )
    )
    spec.option.gravity, spec.option.disableflags = ur5.gravity_W, mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    last = spec.joint(ur5.joint_names[-1]).parent
    X = ur5.pose(HOME, last.name).inverse() @ ur5.pose(HOME)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, X.R.ravel())
    load = last.add_body(name="load", pos=X.p, quat=quat, mass=body_mass, ipos=centre, inertia=moments)
    load.explicitinertial = True
    load.add_site(name="wrist")
    for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
        spec.add_sensor(type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="wrist")
    m = spec.compile()
    data = mujoco.MjData(m)
    J = np.diag(moments) + body_mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    body = Inertia(body_mass, body_mass * centre, J)
    for _ in range(5):
        data.qpos[:], data.qvel[:] = rng.uniform(-2.0, 2.0, (2, 6))
        data.qfrc_applied[:] = rng.uniform(-50.0, 50.0, 6)
        mujoco.mj_forward(m, data)
        t = ur5.evaluate(data.qpos, data.qvel)
        ours = wrist_wrench(t, data.qacc, body, ur5.gravity_W, np.zeros(6))
        assert ours == pytest.approx(-data.sensordata, rel=1e-9, abs=1e-7)
        assert np.abs(ours).max() > 10.0


def test_sensors_measure_in_the_first_state_of_each_period():
    sampling = Sampling(300.0)
    due = [k for k in range(12) if sampling.is_due(k * MS)]
    assert due == [0, 4, 7, 10]
    assert sampling.is_due(10 * MS), "time has started over"
    assert not sampling.is_due(11 * MS)
    assert not Sampling(0.0).is_due(0)
    assert all(Sampling(1000.0).is_due(k * MS) for k in range(2))
