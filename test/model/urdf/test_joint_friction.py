"""Friction of a URDF's <dynamics>: read on request, named, and doubted where all joints have the same."""

from __future__ import annotations

import numpy as np

from arm_control import RobotModel, urdf_path
from arm_control.model import Arm, ArmParameters, describe
from arm_control.simulation import PlantProperties


def text(*entries: str) -> str:
    """A planar arm whose joints have such <dynamics>, one after the other."""
    urdf = urdf_path("planar2").read_text()
    assert "<dynamics" not in urdf
    for entry in entries:
        head, _, rest = urdf.partition("</joint>")
        urdf = f"{head}<dynamics {entry}/></JOINT>{rest}"
    return urdf.replace("</JOINT>", "</joint>")


def arm(*entries: str, **options: object) -> Arm:
    return describe(text(*entries), **options)


def test_it_counts_on_request_only():
    entries = 'damping="0.5" friction="1.5"', 'damping="0.25"'
    assert not arm(*entries).coulomb.any()
    asked = arm(*entries, urdf_friction=True)
    np.testing.assert_array_equal(asked.coulomb, [1.5, 0.0])
    np.testing.assert_array_equal(asked.viscous, [0.5, 0.25])
    assert asked.warnings[-1] == (
        "friction of its <dynamics> counts as known: joint0 1.5 N m, 0.5 N m s/rad, joint1 0 N m, 0.25 N m s/rad"
    )
    assert arm(*entries, urdf_friction=True, strict=True).coulomb[0] == 1.5  # what one asked for is no defect


def test_what_is_given_counts_more():
    given = arm(*2 * ['damping="0.5" friction="1.5"'], urdf_friction=True, coulomb_friction=[0.1, 0.2])
    np.testing.assert_array_equal(given.coulomb, [0.1, 0.2])
    np.testing.assert_array_equal(given.viscous, [0.5, 0.5])


def test_equal_numbers_are_doubted_and_missing_ones_said():
    same = 'damping="0.1" friction="1"'
    assert arm(same, same, urdf_friction=True).warnings[-1].endswith("; equal for all joints, as placeholders are")
    assert arm(urdf_friction=True).warnings[-1] == "its <dynamics> states no friction"


def test_the_parameter_and_the_plant_take_it():
    description = text('friction="1.5"', 'damping="0.25"')
    np.testing.assert_array_equal(ArmParameters(urdf_friction=True).model(description).coulomb, [1.5, 0.0])
    model = RobotModel.from_urdf(description)
    plant = PlantProperties(set="urdf")
    assert not plant.is_ideal
    assert plant.of(model).coulomb == (1.5, 0.0)
    assert plant.replace(coulomb=(2.0,)).of(model).coulomb == (2.0, 2.0)
    assert plant.of(model).viscous == (0.0, 0.25)
