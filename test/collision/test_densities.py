"""Masses that cannot fill the shapes of an arm are named."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from arm_control.app.commands.check_command import check_file
from arm_control.collision import density_warnings
from arm_control.core import urdf_path
from arm_control.model import describe


def scaled(factor: float, *links: str) -> str:
    """The URDF of the UR5 with other masses of some links, by default of all."""
    robot = ET.fromstring(urdf_path("ur5").read_text())
    for link in robot.iterfind("link"):
        if (mass := link.find("inertial/mass")) is not None and (link.get("name") in links or not links):
            mass.set("value", repr(float(mass.get("value", "")) * factor))
    return ET.tostring(robot, encoding="unicode")


def test_the_masses_of_packaged_arms_fit_their_shapes():
    for name in ("ur5", "panda", "lwr", "arm6"):
        assert density_warnings(describe(urdf_path(name).read_text())) == []


def test_an_arm_with_a_fifth_of_its_masses_is_too_light():
    link, warning = density_warnings(describe(scaled(0.2)))
    assert link == "mass is implausible for the size of the shapes: link 'forearm_link' (0.466 kg in 3.5 l)"
    assert warning.startswith("the arm is too light for its size: 3.37 kg in 14 l, 241 kg/m^3; arms have 425 to 1450: ")
    assert warning.endswith("find the masses with `identify --inertias`")


def test_masses_in_tonnes_are_too_light():
    link, warning = density_warnings(describe(scaled(1e-3)))
    assert link.count(" l)") == 5, "the sixth link is too small to be judged"
    assert "0.0169 kg in 14 l, 1 kg/m^3" in warning


@pytest.mark.parametrize(("factor", "mass"), [(0.1, "0.122 kg"), (11.0, "13.4 kg")])
def test_one_link_is_named(factor: float, mass: str):
    (warning,) = density_warnings(describe(scaled(factor, "wrist_1_link")))
    assert warning.startswith(f"mass is implausible for the size of the shapes: link 'wrist_1_link' ({mass} in 0.88 l)")


def test_check_prints_it(tmp_path):
    file = tmp_path / "light.urdf"
    file.write_text(scaled(0.2))
    check = check_file(str(file))
    assert not check.problems
    assert any(warning.startswith("the arm is too light for its size: ") for warning in check.warnings)
    assert not any("too light" in warning for warning in check_file("ur5").warnings)
