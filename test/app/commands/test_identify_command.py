"""``arm_control excite`` and ``arm_control identify``: from a robot to parameters that its nodes take."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from arm_control import RobotModel, urdf_path
from arm_control.app import cli
from arm_control.bags import BagWriter, plain, read_bag
from arm_control.controllers import OscLoopParameters
from arm_control.core import file_parameters
from arm_control.maths import Array
from arm_control.messages import JOINT_STATE, STRING
from arm_control.model import ArmParameters, Tool
from arm_control.motion import Waypoints, load_trajectory
from arm_control.nodes import SimulatorParameters
from arm_control.sweeps import Sweep, content_of_bags, run_row

pytestmark = pytest.mark.usefixtures("blank_pictures")

TIAGO = Path(__file__).parents[2] / "data" / "bags" / "tiago"
SECONDS, RATE = 12.0, 80
COULOMB = np.array([5.0, 6.0, 4.0, 1.0, 1.2, 0.8])
VISCOUS = np.array([8.0, 7.0, 6.0, 2.0, 1.5, 1.0])
LOAD = Tool(mass=1.5, centre=(0.02, 0.0, 0.08))


def motion(t: Array) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations: a sine for each joint."""
    w = 1.1 + 0.27 * np.arange(6)
    angle = t[:, None] * w + np.arange(6)
    centre = np.array([0.0, -1.4, 1.6, -1.5, -1.2, 0.0])
    return centre + 0.6 * np.sin(angle), 0.6 * w * np.cos(angle), -0.6 * w**2 * np.sin(angle)


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a UR5 with friction, a payload and noise; its first state has no effort."""
    path = tmp_path_factory.mktemp("recording") / "bag"
    model, rng = RobotModel.from_urdf(urdf_path("ur5")), np.random.default_rng(0)
    q, v, a = motion(np.arange(0.0, SECONDS, 1.0 / RATE))
    model.attach(LOAD)
    tau = model.batch("tau")(q, v, a, np.zeros((len(q), 6)))["tau"] + COULOMB * np.sign(v) + VISCOUS * v + 0.3 * a
    tau += rng.normal(scale=0.05, size=tau.shape)
    with BagWriter(path) as writer:
        writer.add("/robot_description", STRING)
        writer.put("/robot_description", 0, plain.string(urdf_path("ur5").read_text()))
        writer.add("/joint_states", JOINT_STATE)
        for k in range(len(q)):
            stamp_ns = round(k * 1e9 / RATE)
            effort = {"effort": tau[k]} if k else {}
            state = plain.joint_state(model.joint_names, stamp_ns, position=q[k], velocity=v[k], **effort)
            writer.put("/joint_states", stamp_ns, state)
    return path


def shares(text: str) -> list[float]:
    """R^2 of the last column of a table of the six joints."""
    return [float(line.split()[-1]) for line in text.splitlines() if re.match(r"\w+_joint  ", line)]


def test_what_is_identified_is_taken_by_nodes_and_reports(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert cli.main(["identify", str(bag), "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert min(shares(text)) > 0.99
    assert re.search(r"payload 1\.(4[89]|5[01])\d* ± 0\.\d+ kg at \(0\.0\d+ ± ", text)
    assert (tmp_path / "identification.png").exists()
    file = tmp_path / "identified.yaml"
    arm = ArmParameters.from_mapping(yaml.safe_load(file.read_text())["/**"]["ros__parameters"])
    np.testing.assert_allclose(arm.coulomb_friction, COULOMB, rtol=0.05)
    np.testing.assert_allclose(arm.viscous_friction, VISCOUS, rtol=0.05)
    np.testing.assert_allclose(arm.armature, 0.3, rtol=0.1)
    assert arm.payload_mass == pytest.approx(1.5, rel=0.02)
    assert OscLoopParameters.from_mapping(file_parameters(file, "osc")).arm == arm
    simulator = SimulatorParameters.from_mapping(file_parameters(file, "simulator"))
    assert simulator.values()["plant.coulomb"] == arm.coulomb_friction
    assert simulator.arm == arm

    assert cli.main(["replay", str(bag), "--model"]) == 0
    alone = shares(capsys.readouterr().out)
    assert cli.main(["replay", str(bag), "--model", "--params-file", str(file)]) == 0
    assert min(shares(capsys.readouterr().out)) > max(0.9, *alone)


def test_a_sweep_has_a_row_with_what_is_identified(bag: Path):
    sweep = Sweep.from_content(content_of_bags(f"{bag.parent}/**/*.mcap", "identify"), "bags", trust=True)
    row = run_row(sweep.plan, 0, sweep.points[0])
    assert (row["bag"], row["error"]) == (str(bag), "")
    assert row["r2"] > 0.99 > row["r2_of_model"]
    assert row["error_share"] < 0.01 < row["error_share_of_model"]
    found = [row[name] for name in ("payload", "coulomb", "viscous", "rotor_inertia")]
    assert found == pytest.approx([1.5, COULOMB.mean(), VISCOUS.mean(), 0.3], rel=0.05)


def test_json_says_how_far_off_the_held_out_part_is(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Noise of 0.05 N m is averaged over windows of 16 states: the fit leaves 0.02, the model without friction 5."""
    assert cli.main(["identify", str(bag), "-o", str(tmp_path), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert 0.1 < values["held_out"] / values["windows"] < 0.4
    pan = values["joints"]["shoulder_pan_joint"]
    assert pan["Coulomb_friction"]["value"] == pytest.approx(
        COULOMB[0], abs=4.0 * pan["Coulomb_friction"]["standard_error"]
    )
    assert pan["held_out"]["error"] < 0.05 < 3.0 < pan["held_out"]["error_of_model"]
    assert pan["held_out"]["r2_of_model"] < 0.99 < pan["held_out"]["r2"]
    assert values["payload"]["mass"]["value"] == pytest.approx(LOAD.mass, rel=0.02)
    assert len(values["payload"]["centre"]) == 3
    assert values["files"] == [str(tmp_path / name) for name in ("identification.png", "identified.yaml")]
    assert cli.main(["identify", str(bag), "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("shoulder_pan_joint"))
    assert f"{pan['held_out']['error']:.3g}" in row.split()
    assert f"{values['held_out']} were held out: errors [N m] and R^2 are those of their torque" in text


def test_links_become_a_urdf(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["identify", str(bag), "-o", str(tmp_path), "--inertias"]) == 0
    assert min(shares(capsys.readouterr().out)) > 0.99
    identified = RobotModel.from_urdf(tmp_path / "identified.urdf")
    loaded = RobotModel.from_urdf(urdf_path("ur5"), payload_mass=LOAD.mass, payload_centre=LOAD.centre)
    qs, _, _ = motion(np.arange(0.0, SECONDS, 1.0))
    np.testing.assert_allclose([identified.gravity(q) for q in qs], [loaded.gravity(q) for q in qs], rtol=0, atol=0.8)
    arguments = ["replay", str(bag), "--model", "--params-file", str(tmp_path / "identified.yaml")]
    assert cli.main([*arguments, "--urdf", str(tmp_path / "identified.urdf")]) == 0
    assert min(shares(capsys.readouterr().out)) > 0.9


def test_a_recording_without_effort_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with BagWriter(tmp_path / "bag") as writer:
        writer.add("/joint_states", JOINT_STATE)
        for k in range(3):
            state = plain.joint_state([f"{x}_joint" for x in JOINTS], k + 1, position=np.zeros(6))
            writer.put("/joint_states", k + 1, state)
    assert cli.main(["identify", str(tmp_path / "bag"), "--urdf", "ur5"]) == 2
    assert "has no effort of all joints of the arm" in capsys.readouterr().err


JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")


def test_a_tiago_is_explained_by_friction_and_scaled_gravity(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A real recording: the effort is no torque, and of joints 5 to 7 it is nearly nothing."""
    robots = Path(np.__file__).parents[1] / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    urdf = robots / "tiago_description" / "robots" / "tiago.urdf"
    if not urdf.exists():
        pytest.skip("example-robot-data is not installed")
    options = ["--urdf", str(urdf), "--tip", "arm_tool_link", "--effort-scale", "--window", "0.4", "-o", str(tmp_path)]
    assert cli.main(["identify", str(TIAGO), *options]) == 0
    out = capsys.readouterr().out
    assert min(shares(out)[:5]) > 0.93
    assert re.search(r"explains less than 50 % of the effort of arm_5_joint, .*arm_7_joint\n", out)
    assert not (tmp_path / "identified.yaml").exists()


def test_an_exciting_trajectory_is_a_file_that_the_node_follows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "excitation.yaml"
    posture = ["0", "-1.4", "1.9", "-2.07", "-1.57", "0"]
    options = ["--posture", *posture, "--trials", "2", "--period", "6", "--floor", "0", "-o", str(file)]
    assert cli.main(["excite", "ur5", *options]) == 0
    assert "condition number" in capsys.readouterr().out
    joints, points = load_trajectory(str(file))
    model = RobotModel.from_urdf(urdf_path("ur5"))
    checked = Waypoints.checked(model, joints, points.times, points.qs, points.vs, points.as_)
    assert checked.times[-1] == pytest.approx(4.0 + 2 * 6.0)
    assert all(model.pose(q, link).p[2] > 0.0 for q in checked.qs[::5] for link in ("wrist_1_link", "tool0"))
    assert cli.main(["excite", "ur5", *options]) == 2
    assert "exists already" in capsys.readouterr().err
    assert cli.main(["excite", "ur5", *options, "--force", "--torque-share", "0.01"]) == 2
    assert "none of 2 motions" in capsys.readouterr().err
    assert cli.main(["excite", "ur5", *options, "--force", "--floor", "2.0"]) == 2
    assert "stays clear of arm and floor" in capsys.readouterr().err


def test_velocities_in_steps_are_replaced_by_those_of_the_positions(
    bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The same recording with positions of 12 bits, and their differences as velocities."""
    count, dt = 2.0 * np.pi / 2**12, 1.0 / RATE
    rows = [plain_state for _, _, plain_state in read_bag(str(bag)).contents("joint_states")]
    q = count * np.round(np.array([row.position for row in rows]) / count)
    v = np.diff(q, axis=0, prepend=q[:1]) / dt
    with BagWriter(tmp_path / "bag") as writer:
        writer.add("/joint_states", JOINT_STATE)
        for k, row in enumerate(rows):
            stamp_ns = round(k * 1e9 * dt)
            effort = {"effort": row.effort} if k else {}
            state = plain.joint_state(row.name, stamp_ns, position=q[k], velocity=v[k], **effort)
            writer.put("/joint_states", stamp_ns, state)
    assert cli.main(["identify", str(tmp_path / "bag"), "--urdf", "ur5", "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "\nvelocities come in steps of 0.12 rad/s: those of the positions are used\n" in text
    assert min(shares(text)) > 0.99


def test_stribeck_friction_is_an_option(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The arm of the recording has none: nothing is made up."""
    assert cli.main(["identify", str(bag), "-o", str(tmp_path), "--stribeck"]) == 0
    text = capsys.readouterr().out
    assert "\nthe recording tells no Stribeck friction\n" in text
    assert "Stribeck velocity" not in text
    assert "plant.stribeck" not in (tmp_path / "identified.yaml").read_text()
    assert cli.main(["identify", str(bag), "-o", str(tmp_path), "--stribeck", "--effort-scale"]) == 2
    assert "an effort of unknown scale tells no Stribeck friction" in capsys.readouterr().err
