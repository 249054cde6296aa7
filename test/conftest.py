"""Robots that the tests share: some of this package, and the URDFs of others in ``test/data``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from arm_control.core import urdf_path
from arm_control.maths import Array
from arm_control.model import RobotModel

REPO = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "urdf"

ROBOTS = {  # file, tip, joints for which the file states no limits
    "ur5": (REPO / "urdf" / "ur5" / "ur5.urdf", "tool0", ()),
    "ur5_ros2": (DATA / "ur5_ros2.urdf", "tool0", ()),
    "panda": (DATA / "panda.urdf", "panda_hand", ()),
    "kinova": (DATA / "kinova.urdf", "j2s6s200_end_effector", ()),
    "double_pendulum": (DATA / "double_pendulum.urdf", "link2", ("joint1", "joint2")),
    "koch": (DATA / "koch.urdf", "gripper_tcp", tuple(f"joint_{i}" for i in range(1, 7))),
}


def load(name: str, **options: object) -> RobotModel:
    path, tip, unlimited = ROBOTS[name]
    limits = dict.fromkeys(unlimited, 1.0)
    return RobotModel.from_urdf(path, tip=tip, effort_limits=limits, velocity_limits=limits, **options)


@pytest.fixture(scope="session")
def load_robot() -> Callable[..., RobotModel]:
    """Load a robot by name, with more options (armature)."""
    return load


@pytest.fixture(scope="session")
def ur5() -> RobotModel:
    return load("ur5")


@pytest.fixture(scope="session")
def panda() -> RobotModel:
    return load("panda")


@pytest.fixture(scope="session")
def ur4() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("ur4"))


@pytest.fixture(scope="session")
def planar2() -> RobotModel:
    return RobotModel.from_urdf(urdf_path("planar2"))


@pytest.fixture(scope="session", params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> RobotModel:
    """Every robot there is, one after the other."""
    return load(request.param)


@pytest.fixture(scope="session")
def states() -> Callable[..., list[tuple[Array, Array]]]:
    """Seeded random states of a robot within its joint limits: positions and velocities."""

    def draw(model: RobotModel, n: int, seed: int = 0) -> list[tuple[Array, Array]]:
        rng = np.random.default_rng(seed)
        low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
        return [(rng.uniform(low, high), rng.uniform(-1.0, 1.0, model.nv)) for _ in range(n)]

    return draw


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Undo what a test changes in the environment, as commands do that make folders of meshes known."""
    with patch.dict(os.environ):
        yield


@pytest.fixture
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw pictures with few pixels, and without a layout."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda *where, **options: save(*where, **{**options, "dpi": 60}))
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda *_: None)


@pytest.fixture
def blank_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save empty pictures, where another test draws the same ones."""
    from matplotlib.figure import Figure

    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda figure, file, **_: save(Figure((1.0, 1.0)), file))


class _Depth:
    """A lock for one thread, which counts how often it is held."""

    def __init__(self) -> None:
        self.held = 0

    def acquire(self) -> None:
        self.held += 1

    def release(self) -> None:
        self.held -= 1

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


@pytest.fixture
def lock_depths() -> Callable[[Any, Any, Sequence[str]], list[int]]:
    """Note how often an object's lock is held at the begin of each call of some methods, its own or those of a part."""

    def note(owner: Any, part: Any, names: Sequence[str]) -> list[int]:
        lock, depths = _Depth(), []

        def noted(method: Callable[..., object]) -> Callable[..., object]:
            def call(*args: object, **kwargs: object) -> object:
                depths.append(lock.held)
                return method(*args, **kwargs)

            return call

        owner.lock = lock
        for name in names:
            setattr(part, name, noted(getattr(part, name)))
        return depths

    return note
