"""A small arm whose checks of motions all tests of this folder share: kernels are compiled once."""

from __future__ import annotations

import pytest
from small_arm import small_arm

from arm_control.collision import AllowedPairs, ArmShape, Validity
from arm_control.model import link_capsules


@pytest.fixture(scope="session")
def validity() -> Validity:
    """With all kinds of obstacles, the turning ones, too: one kernel for all tests."""
    model = small_arm()
    shape = ArmShape(model, link_capsules(model.urdf)[0])  # given ones, so that no table of joints decides
    return Validity(model, shape, AllowedPairs("small", (("base", "lower"), ("lower", "upper"), ("upper", "tool"))))
