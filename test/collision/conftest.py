"""A small arm whose checks of motions all tests of this folder share: kernels are compiled once."""

from __future__ import annotations

import pytest
from small_arm import small_arm

from arm_control.collision import AllowedPairs, Validity


@pytest.fixture(scope="session")
def validity() -> Validity:
    """With all kinds of obstacles, the turning ones, too: one kernel for all tests."""
    return Validity(
        small_arm(), allowed=AllowedPairs("small", (("base", "lower"), ("lower", "upper"), ("upper", "tool")))
    )
