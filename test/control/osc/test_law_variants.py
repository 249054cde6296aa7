"""Variants of the law: every name has its function; three limits of a speed, their lengths and directions."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.control import SINGULARITIES
from arm_control.control.osc.law_variants import INERTIAS, LAWS, SPEED_LIMITS, damped_inertia
from arm_control.control.osc.osc_law import LawStructure
from arm_control.control.osc.osc_parameters import NULL_SPACES, SPEED_LIMIT_FORMS

VECTORS = np.random.default_rng(0).normal(size=(100, 3)) * np.geomspace(1e-3, 1e3, 100)[:, None]
MAGNITUDE, SCALED, PER_AXIS = (SPEED_LIMITS[name] for name in ("magnitude", "scaled", "per_axis"))


def test_every_name_of_a_variant_has_a_function():
    assert tuple(SPEED_LIMITS) == SPEED_LIMIT_FORMS
    assert tuple(INERTIAS) == SINGULARITIES
    assert tuple(LAWS) == NULL_SPACES


def test_a_structure_is_written_by_the_names_of_its_functions():
    """Compiled laws are stored by it: other functions, another text, and the same one in every process."""
    texts = {
        repr(LawStructure(inertia=inertia, limit_speed=limit_speed))
        for inertia in INERTIAS.values()
        for limit_speed in SPEED_LIMITS.values()
    }
    assert len(texts) == 12
    assert repr(LawStructure(inertia=damped_inertia)) == (
        "LawStructure(((0, 1, 2, 3, 4, 5),), world, damped_inertia, limit_magnitude)"
    )


def test_each_form_limits_what_it_says():
    beyond = [x for x in VECTORS if np.abs(x).max() > 0.5]
    for x in beyond:
        assert np.linalg.norm(MAGNITUDE(x, 0.5)) == pytest.approx(0.5)
        assert np.abs(SCALED(x, 0.5)).max() == pytest.approx(0.5)
        for y in (MAGNITUDE(x, 0.5), SCALED(x, 0.5)):
            assert x @ y / np.linalg.norm(x) / np.linalg.norm(y) == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_array_equal(PER_AXIS(x, 0.5), np.clip(x, -0.5, 0.5))
