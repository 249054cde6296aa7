"""Any MJCF as a plant: joints by name, motors instead of servos, differences in words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.exceptions import ModelError, ParameterError
from arm_control.model import RobotModel
from arm_control.simulation import EngineParameters, MujocoSimulator, PlantProperties, RealArm, make_simulator
from arm_control.simulation.plant_file import read_plant_file

HOME = np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0])
SERVOS = """
  <actuator><position joint="{first}" kp="2000" forcerange="-50 50"/></actuator>
  <sensor><jointpos joint="{first}"/></sensor>
  <keyframe><key qpos="{zeros}" ctrl="0"/></keyframe>
"""


def twin(model: RobotModel, tmp_path: Path, *changes: tuple[str, str]) -> str:
    """The arm itself as MJCF, as MuJoCo writes it, with servos and with replaced text."""
    import mujoco

    text = model.urdf.without_meshes()
    options = '<mujoco><compiler inertiafromgeom="false" balanceinertia="false" fusestatic="true"/></mujoco>'
    spec = mujoco.MjSpec.from_string(text.replace("</robot>", options + "</robot>"))
    spec.compile()
    xml = spec.to_xml()
    for old, new in changes:
        assert old in xml
        xml = xml.replace(old, new)
    servos = SERVOS.format(
        first=changes[0][1] if changes and changes[0][0] in model.joint_names else model.joint_names[0],
        zeros="0 " * xml.count("<joint name"),
    )
    path = tmp_path / "plant.xml"
    path.write_text(xml.replace("</mujoco>", servos + "</mujoco>"))
    return str(path)


def read(path: str, model: RobotModel, names: tuple[str, ...] = ()) -> tuple[Any, tuple[str, ...]]:
    return read_plant_file(path, model, 1e-3, names)


def test_the_arm_itself_has_motors_and_no_difference_but_the_limit_of_a_servo(ur5: RobotModel, tmp_path: Path):
    arm, differences = read(twin(ur5, tmp_path), ur5)
    assert arm.nu == 6
    assert differences == ()  # the URDF's own limit of effort is that of the joint
    simulator, own = make_simulator(ur5, HOME, PlantProperties(file=twin(ur5, tmp_path))), MujocoSimulator(ur5, HOME)
    for _ in range(20):
        tau = ur5.gravity(HOME) + 0.01
        simulator.step(tau)
        own.step(tau)
    np.testing.assert_allclose(simulator.q, own.q, atol=1e-5)
    assert not PlantProperties(file="x").is_ideal


def test_a_planar_arm_is_put_where_its_model_is(tmp_path: Path):
    """Parallel axes alone do not tell the turn about them: their offsets do."""
    model = RobotModel.from_urdf(urdf_path("planar3"))
    path = twin(model, tmp_path)
    text = Path(path).read_text()
    start = text.index("<body")
    end = text.rindex("</body>") + len("</body>")
    moved = f'<body pos="0.3 -1 2" euler="0.3 -0.5 2.1">{text[start:end]}</body>'
    Path(path).write_text(text[:start] + moved + text[end:])
    assert read(path, model)[1] == ()


def test_differences_are_named_with_joint_and_number(ur5: RobotModel, tmp_path: Path):
    changes = (
        ('name="elbow_joint"', 'name="elbow_joint" armature="0.3" frictionloss="2" damping="4" stiffness="1"'),
        ('name="wrist_3_joint"', 'name="wrist_3_joint" pos="0.002 0 0"'),
    )
    lines = " | ".join(read(twin(ur5, tmp_path, *changes), ur5)[1])
    for part in (
        "armature [kg m^2]: elbow_joint 0.3 instead of 0",
        "friction [N m]: elbow_joint 2 instead of 0",
        "damping [N m s/rad]: elbow_joint 4 instead of 0",
        "stiffness of springs [N m/rad]: elbow_joint 1 instead of 0",
        "axes of the joints: up to 1.7 mm and ",
    ):
        assert part in lines
    assert "shoulder" not in lines


TWO = """<mujoco><compiler angle="radian"/><option gravity="1 2 3"/><worldbody><body pos="0 0 {height}" euler="0 0 1.2">
  <geom type="box" size="1 1 1" mass="9"/>
  <body><joint name="{names[0]}" axis="{axis}" type="{kind}" range="-1 1" limited="true" armature="0.5"/>
    <geom type="box" size="0.1 0.1 0.1" pos="0.5 0 0" mass="3"/>
    <body pos="0.31 0 0"><joint name="{names[1]}" axis="0 0 1"/><geom size="0.1" pos="0.5 0 0" mass="2"/>
      <body pos="1 0 0" gravcomp="1"><joint name="finger" type="slide"/><geom size="0.01" mass="0.1"/></body>
  </body></body></body></worldbody>
  <equality><joint joint1="finger" polycoef="0.1 0 0 0 0"/></equality></mujoco>"""


def two_links(tmp_path: Path, **changes: object) -> str:
    values = {"height": 0.0, "axis": "0 0 1", "kind": "hinge", "names": ("joint0", "joint1"), **changes}
    path = tmp_path / "two.xml"
    path.write_text(TWO.format(**values))
    return str(path)


def test_other_joints_are_locked_and_named(planar2: RobotModel, tmp_path: Path):
    arm, differences = read(two_links(tmp_path, height=0.4), planar2)
    assert arm.nv == 2
    assert arm.body_gravcomp.max() == 0.0
    np.testing.assert_array_equal(arm.opt.gravity, planar2.gravity_W)
    lines = " | ".join(differences)
    assert "joints that the model does not have, locked: finger" in lines
    assert "mass of the moving links: 5.1 kg instead of" in lines
    assert "upper limit [rad]: joint0 1 instead of" in lines


@pytest.mark.parametrize("names", [("robot/joint0", "robot/joint1"), ("joint0_m", "joint1")])
def test_names_may_have_a_prefix_or_an_ending(planar2: RobotModel, tmp_path: Path, names: tuple[str, str]):
    assert read(two_links(tmp_path, names=names), planar2)[0].joint("joint0").id == 0


def test_names_may_be_given(planar2: RobotModel, tmp_path: Path):
    path = two_links(tmp_path, names=("hip", "knee"))
    assert read(path, planar2, ("hip", "knee"))[0].joint("joint1").id == 1
    refusal = r"^plant file \S+two\.xml lacks the joints joint0, joint1; it has hip, knee, finger$"
    with pytest.raises(ModelError, match=refusal):
        read(path, planar2)
    with pytest.raises(ModelError, match=r"1 names of joints in plant file .*: 2 are needed"):
        read(path, planar2, ("hip",))
    with pytest.raises(ModelError, match="lacks the joints joint0, joint1"):
        read(path, planar2, ("hip", "hip"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "slide"}, "joint joint0 is not (revolute|continuous), as it is in the model"),
        ({"axis": "1 0 0"}, "is another arm, or has another zero: the axis of joint[01] is .* degrees off the model's"),
    ],
)
def test_another_arm_is_refused(planar2: RobotModel, tmp_path: Path, changes: dict[str, object], reason: str):
    with pytest.raises(ModelError, match=reason):
        read(two_links(tmp_path, **changes), planar2)


def test_another_zero_is_refused_where_the_axes_stay_parallel(tmp_path: Path):
    """With the second link turned about its axis by a right angle, all axes are parallel and one is elsewhere."""
    model = RobotModel.from_urdf(urdf_path("planar3"))
    path = Path(twin(model, tmp_path))
    body = re.search(
        r"<body[^>]*(?=>\s*(<inertial[^>]*>\s*)?<joint name=\"joint1\"[^>]*axis=\"([^\"]*))", path.read_text()
    )
    assert body
    path.write_text(path.read_text().replace(body[0], f'{body[0]} axisangle="{body[2]} 1.57"'))
    with pytest.raises(ModelError, match=r"or has another zero: the axis of joint\d is \d{3} mm off the model's$"):
        read(str(path), model)


def test_a_file_that_is_none_is_refused_in_one_sentence(planar2: RobotModel, tmp_path: Path):
    (tmp_path / "no.xml").write_text("<mujoco><worldbody><body")
    for name in ("no.xml", "missing.xml"):
        with pytest.raises(ModelError, match=rf"^plant file .*{name}: [^\n]+$"):
            read(str(tmp_path / name), planar2)


def test_properties_are_added_to_those_of_the_file(ur5: RobotModel, tmp_path: Path):
    path = twin(ur5, tmp_path, ('name="elbow_joint"', 'name="elbow_joint" armature="0.3" frictionloss="2" damping="4"'))
    values = {"coulomb": (1.0,), "stribeck": (0.5,), "viscous": (0.5,), "rotor_inertia": (0.2,), "payload_mass": 1.0}
    arm = RealArm(ur5, HOME, properties=PlantProperties(file=path, **values)).arm.mujoco_model
    elbow, wrist = (int(arm.joint(name).dofadr[0]) for name in ("elbow_joint", "wrist_1_joint"))
    assert arm.dof_armature[[elbow, wrist]] == pytest.approx([0.5, 0.2])
    assert arm.dof_damping[[elbow, wrist]] == pytest.approx([4.5, 0.5])
    assert arm.dof_frictionloss[[elbow, wrist]] == pytest.approx([3.5, 1.5])


def test_only_mujoco_simulates_a_file(planar2: RobotModel, tmp_path: Path):
    with pytest.raises(ParameterError, match=r"plant\.file needs the engine mujoco"):
        make_simulator(
            planar2,
            None,
            PlantProperties(file=two_links(tmp_path)),
            engine=EngineParameters(engine="rigid_body"),
        )


@pytest.mark.parametrize("contacts", ["arm", "hand"])
def test_shapes_of_the_file_touch_on_request(planar2: RobotModel, tmp_path: Path, contacts: str):
    """The second link's ball overlaps a wall of the file."""
    path = Path(two_links(tmp_path))
    wall = '<worldbody><body pos="9 9 9"><geom name="wall" size="0.3"/></body>'
    path.write_text(path.read_text().replace("<worldbody>", wall.replace("9 9 9", "0.6 1.4 0")))
    properties = PlantProperties(file=str(path), contacts=contacts)
    simulator = make_simulator(planar2, np.zeros(2), properties)
    assert (simulator.arm.mujoco_data.ncon > 0) == (contacts == "arm")
