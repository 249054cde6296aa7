"""Contact in simulation: what touches, what it costs, and what the hand does about it."""

from __future__ import annotations

import numpy as np
import pytest
from driven_arm import driven

from arm_control import urdf_path
from arm_control.control import SensorReading, resolve_parameters, rotate_to
from arm_control.controllers import OscLoopParameters, control_loop
from arm_control.exceptions import ModelError, ParameterError
from arm_control.maths import Array, Box, Capsule, Cone, Hull, Obstacle, Pose, Shape
from arm_control.model import RobotModel
from arm_control.motion import WrenchGoal
from arm_control.simulation import MujocoSimulator, PlantProperties, RealArm, World, make_simulator
from arm_control.simulation.tip_contact import FRICTION, TIP_RADIUS

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
DT = 1e-3


@pytest.fixture(scope="module")
def arm() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur5"), armature=(0.5, 0.5, 0.5, 0.1, 0.1, 0.1))


LOOSE_BOX = Hull.of_points(np.stack(np.meshgrid([-0.1, 0.4], [-0.1, 0.4], [-0.05, 0.05]), axis=-1).reshape(-1, 3))
"""The hull of a box whose middle is not its origin."""


def below(model: RobotModel, shape: Shape, height: float, gap: float = 0.0) -> Obstacle:
    """A shape whose top is a gap below the ball at the hand."""
    p = model.pose(HOME).p
    return Obstacle(shape, Pose(np.eye(3), p - [0.0, 0.0, TIP_RADIUS + gap + 0.5 * height]))


def push(simulator: MujocoSimulator, model: RobotModel, F: Array, seconds: float) -> None:
    """Carry the weight, damp, and push with the hand."""
    for _ in range(round(seconds / DT)):
        t = model.evaluate(simulator.q, simulator.v)
        simulator.step(t.h + t.J.T @ F - 20.0 * t.M @ simulator.v)


@pytest.mark.parametrize(
    ("shape", "height"),
    [(Box((0.5, 0.5, 0.1)), 0.1), (Capsule(0.1, 0.1), 0.3), (LOOSE_BOX, 0.1)],
    ids=["box", "capsule", "hull"],
)
def test_a_solid_resists_the_hand_with_the_force_that_pushes_it(arm: RobotModel, shape: Shape, height: float):
    simulator = MujocoSimulator(arm, HOME, solids=[below(arm, shape, height)])
    push(simulator, arm, np.array([0.0, 0.0, -20.0, 0.0, 0.0, 0.0]), 0.3)
    assert simulator.contact_wrench[2] == pytest.approx(20.0, rel=0.02)
    assert arm.pose(simulator.q).p[2] == pytest.approx(arm.pose(HOME).p[2], abs=1e-3)
    if not isinstance(shape, Capsule):
        push(simulator, arm, np.array([0.0, 10.0, -20.0, 0.0, 0.0, 0.0]), 0.3)
        F = simulator.contact_wrench
        assert F[1] == pytest.approx(-FRICTION * 20.0, rel=0.05), "it slides"
        assert F[3] == pytest.approx(TIP_RADIUS * F[1], rel=0.05), "the surface is a radius below"


def test_without_solids_there_is_nothing_to_touch_and_a_cone_cannot_be_one(arm: RobotModel):
    assert not MujocoSimulator(arm, HOME).contact_wrench.any()
    with pytest.raises(ModelError, match="a solid cone cannot be simulated"):
        MujocoSimulator(arm, HOME, solids=[below(arm, Cone(0.1, 0.1), 0.1)])


@pytest.mark.parametrize("entry", [{"velocity": [0.1, 0.0, 0.0]}, {"until": 2.0}, {"solid": "yes"}])
def test_a_solid_obstacle_stays(entry: dict):
    obstacle = {"shape": "sphere", "size": 0.1, "position": [1.0, 0.0, 0.0], "solid": True}
    assert len(World.from_mapping({"obstacles": [obstacle]}, "here").solids) == 1
    with pytest.raises(ParameterError, match="solid"):
        World.from_mapping({"obstacles": [{**obstacle, **entry}]}, "here")


def run(
    arm: RobotModel,
    simulator: MujocoSimulator | RealArm,
    seconds: float,
    *,
    push=None,
    wrench=-10.0,
    begin=0.0,
    sensor=False,
    **parameters,
) -> Array:
    """Way of the hand (3), its speed along z and the force on it along z, for each state, shape (n, 5)."""
    chosen = resolve_parameters(OscLoopParameters, parameters, arm)
    loop = control_loop(arm, chosen)
    for k in range(round(begin / 0.2), round(seconds / 0.2)):
        loop.controller.add(WrenchGoal(k * 200_000_000, arm.base, (0.0, 0.0, wrench, 0.0, 0.0, 0.0)))
    rows = []
    for k, result in enumerate(driven(loop, simulator, seconds)):
        F = simulator.contact_wrench
        if sensor:
            loop.wrench.measure(SensorReading(k * 1_000_000, arm.tip, rotate_to(result.law.terms.X_WE.R, F)))
        if push is not None:
            simulator.load(result.law.terms.J.T @ push)
        assert result.gate.is_passing
        rows.append([*(result.law.terms.X_WE.p - arm.pose(HOME).p), result.law.terms.V_WE[2], F[2]])
    return np.array(rows)


def test_a_hand_of_40_newtons_per_metre_moves_20_cm_under_8_newtons(arm: RobotModel):
    soft = {"impedance": True, "hand_stiffness": (40.0, 40.0), "force_axes": ("z",)}  # nobody asks for a wrench
    simulator = make_simulator(arm, HOME, PlantProperties())
    rows = run(arm, simulator, 4.0, push=np.array([0.0, 8.0, 0.0, 0.0, 0.0, 0.0]), wrench=0.0, **soft)
    assert rows[-1, 1] == pytest.approx(0.2, rel=0.05)
    assert rows[:, 1].max() < 1.02 * rows[-1, 1], "without swinging over"
    assert np.abs(rows[-1, [0, 2]]).max() < 0.002


def test_a_sensor_lets_an_arm_with_friction_press_as_it_should(arm: RobotModel):
    plant = PlantProperties(set="real", payload_mass=1.0)
    table = below(arm, Box((0.5, 0.5, 0.1)), 0.1, 0.002)
    simulator = make_simulator(arm, HOME, plant, solids=[table])
    rows = run(arm, simulator, 2.5, sensor=True, force_axes=("z",), disturbance_observer=True, inertia_floor=0.02)
    force = rows[1500:, 4]
    assert force.mean() == pytest.approx(10.0, rel=0.05)
    assert rows[:, 4].max() < 15.0


def test_without_a_sensor_the_observer_leaves_the_contact_alone_and_carries_on_with_a_payload(arm: RobotModel):
    table = below(arm, Box((0.5, 0.5, 0.1)), 0.1, 0.002)
    simulator = make_simulator(arm, HOME, PlantProperties(payload_mass=1.0), solids=[table])
    rows = run(arm, simulator, 2.0, begin=0.4, force_axes=("z",), disturbance_observer=True)
    assert rows[1500:, 4] == pytest.approx(10.0, rel=0.05)
    assert rows[:, 4].max() < 15.0


@pytest.mark.parametrize("sensor", [False, True])
def test_without_a_sensor_the_hand_approaches_slowly_whatever_it_is_told(arm: RobotModel, sensor: bool):
    """50 mm/s onto a table 2 cm below: with a sensor as fast as that, without one at 10 mm/s, and softly."""
    table = below(arm, Box((0.5, 0.5, 0.1)), 0.1, 0.02)
    simulator = make_simulator(arm, HOME, PlantProperties(), solids=[table])
    approach = {"force_axes": ("z",), "disturbance_observer": True, "approach_speed_linear": 0.05}
    rows = run(arm, simulator, 1.5 if sensor else 4.0, sensor=sensor, **approach)
    touched = int(np.argmax(rows[:, 4] > 0.0))
    assert touched > 0
    speed, slowest = np.abs(rows[:touched, 3]).max(), 0.05 if sensor else 0.01
    assert 0.8 * slowest < speed < 1.6 * slowest
    if not sensor:
        assert rows[:, 4].max() < 30.0


@pytest.mark.parametrize(("plant", "friction"), [("ideal", 1.0), ("real", 14.0)])
def test_a_hand_of_a_bare_model_presses_without_a_sensor_as_hard_as_it_should(plant: str, friction: float):
    """A floor of inertia, many times that of a bare wrist, would make up to 60 N of 20, and a limit cycle."""
    bare = RobotModel.from_urdf(urdf_path("ur5"))
    table = below(bare, Box((0.5, 0.5, 0.1)), 0.1, 0.002)
    simulator = RealArm(bare, HOME, properties=PlantProperties(set=plant), solids=[table])
    harden(simulator.arm, 1e5)
    law = {"force_axes": ("z",), "disturbance_observer": True, "inertia_floor": 0.02, "approach_speed_linear": 0.05}
    force = run(bare, simulator, 2.5, wrench=-20.0, **law)[:, 4]
    touched = int(np.argmax(force > 0.0))
    assert 0 < touched < 1500
    assert (force[touched + 20 :] > 0.0).all(), "it bounces for 20 ms at most"
    assert force.max() < 25.0
    assert force[-1000:] == pytest.approx(20.0, abs=friction)


def harden(simulator: MujocoSimulator, stiffness: float) -> None:
    """Give what touches a stiffness [N/m], with critical damping."""
    m, share = simulator.mujoco_model, 0.9
    compliance = m.body_invweight0[m.geom_bodyid[m.geom("end effector").id], 0]
    k = stiffness * (1.0 - share) * compliance
    m.geom_solimp[:, :2], m.geom_solref[:] = share, (-k, -2.0 * np.sqrt(k))
