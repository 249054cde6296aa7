"""Small robots made by hand: what the large ones lack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from arm_control.core import Cache
from arm_control.model import Arm, RobotModel, Tree, describe

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.05 0.2" rpy="0.3 -0.2 0.1"/><mass value="{}"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0.005" izz="0.08"/></inertial>'
)


def link(name: str, mass: float | None = None) -> str:
    return f'<link name="{name}">{"" if mass is None else INERTIAL.format(mass)}</link>'


def joint(name: str, parent: str, child: str, axis: str | None = None, kind: str = "revolute", mimic: str = "") -> str:
    """A joint of this axis; without one it is fixed."""
    place = f'<parent link="{parent}"/><child link="{child}"/><origin xyz="0.2 0.1 -0.3" rpy="0.4 -1.1 0.7"/>'
    if axis is None:
        return f'<joint name="{name}" type="fixed">{place}</joint>'
    limit = '<limit lower="-6" upper="6" effort="9" velocity="9"/>'
    return f'<joint name="{name}" type="{kind}">{place}<axis xyz="{axis}"/>{limit}{mimic}</joint>'


def robot(*parts: str) -> str:
    return f'<robot name="small">{"".join(parts)}</robot>'


BRANCHES = robot(
    link("base", 3), link("a", 2), link("b", 1), link("c"), link("d", 0.5), link("e", 1.5), link("tip", 0.3),
    joint("trunk", "base", "a", "1 2 3"),
    joint("left", "a", "b", "1 1 0"),
    joint("slide", "b", "c", "0 -1 0", "prismatic"),
    joint("right", "a", "d", "0 -1 0", "continuous"),
    joint("out", "d", "e", "1 0 1", "prismatic"),
    joint("flange", "c", "tip"),
)  # fmt: skip

SMALL: dict[str, tuple[str, dict[str, object]]] = {
    "one joint": (robot(link("base"), link("tip", 2), joint("turn", "base", "tip", "0 -1 0")), {}),
    "oblique axes": (
        robot(
            link("base"), link("a", 1), link("b"), link("c", 2), link("d", 0.2), link("e", 0.1), link("tip"),
            joint("1", "base", "a", "1 1 0"), joint("2", "a", "b", "0 -1 0"), joint("3", "b", "c", "1 2 3"),
            joint("fixed", "c", "d"), joint("also fixed", "d", "e"), joint("tool", "e", "tip"),
        ),
        {"armature": 0.1},
    ),
    "branches": (BRANCHES, {"armature": [0.1, 0.0, 0.3, 0.0, 0.2], "gravity": (1.0, -2.0, -9.0)}),
    "two trunks": (
        robot(
            link("base"), link("a", 1), link("tip", 2), link("b", 1), link("c", 2),
            joint("1", "base", "a", "0 0 1"), joint("2", "a", "tip", "1 0 0"),
            joint("3", "base", "b", "0 0 -1", "prismatic"), joint("4", "b", "c", "0 1 0"),
        ),
        {},
    ),
    "slides": (
        robot(
            link("base"), link("a", 1), link("tip", 2),
            joint("1", "base", "a", "1 2 3", "prismatic"), joint("2", "a", "tip", "0 -1 0", "prismatic"),
        ),
        {},
    ),
    "mimic": (
        robot(
            link("base"), link("a", 1), link("b", 2), link("c", 0.5), link("d", 0.7), link("tip", 0.3),
            joint("1", "base", "a", "0 1 0"),
            joint("follows 3", "a", "b", "1 2 3", mimic='<mimic joint="3" multiplier="-0.5" offset="0.2"/>'),
            joint("3", "b", "c", "1 1 0"),
            joint("slides", "a", "d", "0 0 1", "prismatic", '<mimic joint="1" multiplier="2"/>'),
            joint("tool", "c", "tip", "0 -1 0", mimic='<mimic joint="1"/>'),
        ),
        {"armature": [0.1, 0.2]},
    ),
}  # fmt: skip
LARGE = ("panda", "double_pendulum")


def small(name: str) -> Arm:
    text, choices = SMALL[name]
    return describe(text, tip="tip", joints="all", **choices)


@pytest.fixture(scope="session")
def small_arm() -> Callable[[str], Arm]:
    """A robot made by hand, by name."""
    return small


@pytest.fixture(scope="session", params=SMALL)
def every_small_arm(request: pytest.FixtureRequest) -> Arm:
    """Every robot made by hand, one after the other."""
    return small(request.param)


@pytest.fixture(scope="session", params=[*SMALL, *LARGE])
def tree(request: pytest.FixtureRequest, load_robot: Callable[..., RobotModel]) -> Tree:
    """The tree of every robot, made by hand or not, one after the other."""
    return small(request.param).tree if request.param in SMALL else load_robot(request.param).tree


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty cache."""
    return Cache(tmp_path / "cache")
