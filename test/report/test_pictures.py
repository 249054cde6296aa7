"""Pictures of a short made-up run: written, not blank, moving; and what happens where OpenGL is missing."""

from __future__ import annotations

import importlib
import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from overview_picture import draw_overview
from PIL import Image, ImageSequence
from urdf_parts import joint, link, robot_of

from arm_control import OscParameters, RobotModel, urdf_path
from arm_control.exceptions import InputError, MissingExtra
from arm_control.gate import GateParameters
from arm_control.maths import Array, rotation_vector
from arm_control.motion import Target, TargetList
from arm_control.report import draw_report
from arm_control.report.pictures import animation, rendering
from arm_control.simulation import Recording, WrenchSeries, motion_record

STEP_NS = 10_000_000
TURN_NS = 1_000_000_000
CORNERS = np.array(
    [[0.0, -1.4, 1.9, -2.07, -1.57, 0.0], [0.5, -1.2, 1.6, -1.9, -1.4, 0.3], [-0.3, -1.5, 1.7, -2, -1, 0]]
)
NO_COMMANDS = {"command_stamps": np.zeros(0, np.int64), "tau": np.zeros((0, 6))}


@pytest.fixture(scope="module")
def model() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur5"))


@pytest.fixture(scope="module")
def recording(model: RobotModel) -> Recording:
    """Two moves of 1 s from corner to corner, at 100 Hz, with gravity compensation as the command."""
    stamps = np.arange(201, dtype=np.int64) * STEP_NS
    move, share = np.minimum(stamps // TURN_NS, 1), (stamps - np.minimum(stamps // TURN_NS, 1) * TURN_NS) * 1e-9
    blend, slope = 0.5 - 0.5 * np.cos(np.pi * share), 0.5 * np.pi * np.sin(np.pi * share)
    way = CORNERS[move + 1] - CORNERS[move]
    q = CORNERS[move] + blend[:, None] * way
    goals = [model.pose(corner) for corner in CORNERS[1:]]
    targets = tuple(Target(i * TURN_NS, model.base, goal) for i, goal in enumerate(goals))
    tau = np.array([model.gravity(position) for position in q])
    return Recording(stamps, q, slope[:, None] * way, stamps, tau, targets)


@pytest.fixture(scope="module")
def targets(recording: Recording) -> TargetList:
    return TargetList("base_link", 1.0, 1e-3, 3e-3, tuple(target.X_FT for target in recording.targets))


@pytest.fixture
def no_opengl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_run", lambda *_: "no OpenGL")
    monkeypatch.setattr(animation, "RATE", 1.5)


@pytest.fixture
def shots(recording: Recording, model: RobotModel) -> rendering.Shots:
    return animation.make_shots(motion_record(recording, model), np.array([0, 100, 200]), (160, 120))


def report(folder: Path, recording: Recording, model: RobotModel, targets: TargetList) -> dict[str, Path]:
    paths = draw_report(folder, recording, model, targets, OscParameters(), GateParameters())
    return {path.name: path for path in paths}


def different_frames(source: Path | io.BytesIO) -> int:
    with Image.open(source) as image:
        return len({frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(image)})


def spread(path: Path) -> float:
    with Image.open(path) as image:
        return float(np.asarray(image.convert("L")).std())


def render_or_skip(model: RobotModel, shots: rendering.Shots) -> Array:
    frames, message = rendering.render(model, shots)
    if not len(frames):
        pytest.skip(message)
    return frames.astype(float)


@pytest.mark.usefixtures("no_opengl", "quick_pictures")
def test_a_report_has_every_picture_even_without_opengl(
    tmp_path: Path, recording: Recording, model: RobotModel, targets: TargetList
) -> None:
    stamps = recording.state_stamps[::10]
    wrench = WrenchSeries(stamps, np.outer(np.linspace(0.0, 10.0, stamps.size), np.ones(6)))
    first = WrenchSeries(*(x[:5] for x in wrench))
    pressing = replace(recording, wrenches={"estimated_wrench": wrench, "commanded_wrench": first})
    paths = report(tmp_path / "new" / "folder", pressing, model, targets)
    assert list(paths) == ["recording.npz", "tracking.png", "torque.png", "path.png", "arm.gif", "force.png"]
    np.testing.assert_array_equal(np.load(paths["recording.npz"])["estimated_wrench"], wrench.values)
    for name in ("tracking.png", "torque.png", "path.png", "force.png"):
        assert spread(paths[name]) > 10, name
    assert different_frames(paths["arm.gif"]) == 3
    assert paths["arm.gif"].stat().st_size <= animation.MAX_BYTES
    with np.load(paths["recording.npz"]) as file:
        np.testing.assert_array_equal(file["tau"], recording.tau)


@pytest.mark.usefixtures("no_opengl", "quick_pictures")
def test_a_run_in_which_nothing_came_is_drawn_too(
    tmp_path: Path, recording: Recording, model: RobotModel, targets: TargetList
) -> None:
    paths = report(tmp_path, replace(recording, targets=(), **NO_COMMANDS), model, targets)
    assert all(path.stat().st_size for path in paths.values())


@pytest.mark.processes
def test_mujoco_shows_the_arm_the_trail_and_the_target(model: RobotModel, shots: rendering.Shots) -> None:
    frames = render_or_skip(model, shots)
    assert frames.shape == (3, 120, 160, 3)
    assert all(frame.std() > 10 for frame in frames)
    assert np.abs(frames[1] - frames[0]).max() > 50
    twice = {name: getattr(shots, name)[[2, 2]] for name in ("qs", "n_trail_points", "visible")}
    twice["n_trail_points"][1], twice["visible"][1] = 0, False
    ghostly, bare = render_or_skip(model, replace(shots, ghosts=CORNERS[:1], **twice))
    assert np.abs(ghostly - frames[2]).max() > 20
    assert np.abs(bare - ghostly).max() > 50
    # an arm without shapes is drawn as capsules
    hinges = [joint(*names, "0 1 0", xyz="0.2 0 0.3", travel=(-3, 3)) for names in (("j", "a", "b"), ("k", "b", "c"))]
    text = robot_of(link("a"), link("b", 1, 1), link("c", 1, 1), *hinges)
    shown = (np.zeros((0, 3)), np.zeros(2, int), np.zeros((0, 4, 4)), np.zeros((2, 0), bool), np.zeros((0, 2)))
    capsules = render_or_skip(RobotModel.from_urdf(text), rendering.Shots(np.array([[0.0, 0.0], [0.9, 0.0]]), *shown))
    assert np.abs(capsules[1] - capsules[0]).max() > 50


def test_a_backend_that_is_not_there_or_hangs_is_given_up(
    model: RobotModel, shots: rendering.Shots, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames, message = rendering.render(model, shots, backends=("nowhere",))
    assert len(frames) == 0
    assert "cannot render here (nowhere: " in message
    monkeypatch.setattr(rendering, "START_TIME", 0.01)
    monkeypatch.setattr(rendering, "FRAME_TIME", 0.0)
    assert "no answer within" in rendering.render(model, shots, backends=("egl",))[1]


def test_an_imported_mujoco_does_not_choose_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYOPENGL_PLATFORM", "egl")
    environment = rendering._environment("osmesa")
    assert environment["MUJOCO_GL"] == "osmesa"
    assert "PYOPENGL_PLATFORM" not in environment


def test_a_gif_that_is_too_large_loses_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (8, 60, 80, 3), dtype=np.uint8)
    full = animation.encode(noise, [""] * 8)
    monkeypatch.setattr(animation, "MAX_BYTES", len(full) // 2)
    less = animation.encode(noise, [""] * 8)
    assert len(less) <= len(full) // 2
    assert 1 < different_frames(io.BytesIO(less)) < different_frames(io.BytesIO(full)) == 8


def test_a_record_has_errors_and_velocities(recording: Recording, model: RobotModel) -> None:
    record = motion_record(recording, model)
    start, goal = model.pose(CORNERS[0]), model.pose(CORNERS[1])
    assert np.linalg.norm(record.error[0, :3]) == pytest.approx(np.linalg.norm(goal.p - start.p))
    assert np.linalg.norm(record.error[0, 3:]) == pytest.approx(np.linalg.norm(rotation_vector(goal.R @ start.R.T)))
    np.testing.assert_allclose(record.error[-1], 0.0, rtol=0, atol=1e-12)
    assert record.active[[0, 99, 100, 200]].tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(record.p[record.at(record.target_times)], [start.p, goal.p], atol=1e-12)
    finite_difference = np.gradient(record.p, record.t, axis=0)
    np.testing.assert_allclose(record.V[5:95, :3], finite_difference[5:95], atol=2e-3)


def test_before_the_first_target_there_is_no_error(recording: Recording, model: RobotModel) -> None:
    error = motion_record(replace(recording, targets=recording.targets[1:]), model).error
    assert np.isnan(error[:100]).all()
    assert np.isfinite(error[100:]).all()


def test_a_recording_without_a_state_is_refused(recording: Recording, model: RobotModel) -> None:
    with pytest.raises(InputError, match="without a state"):
        motion_record(recording.until(-1), model)


@pytest.mark.usefixtures("no_opengl")
def test_the_overview_says_how_the_arm_was_drawn(
    tmp_path: Path, recording: Recording, model: RobotModel, targets: TargetList, caplog: pytest.LogCaptureFixture
) -> None:
    message = draw_overview(tmp_path / "overview.png", recording, model, targets)
    assert "drawn by matplotlib, because MuJoCo cannot render" in message
    assert message in caplog.text
    with Image.open(tmp_path / "overview.png") as image:
        assert image.size == (1200, 520)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "arm_control.report.pictures")
    with pytest.raises(MissingExtra) as caught:
        importlib.import_module("arm_control.report.pictures")
    command = f"{sys.executable} -m pip install 'arm_control[pictures]'"
    assert str(caught.value).startswith(f"'matplotlib' is not installed: {command}")
