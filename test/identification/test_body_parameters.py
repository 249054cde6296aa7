"""Parameters of bodies: derivatives, and bodies that are possible whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from body_inertia import centre_and_inertia

from arm_control import RobotModel
from arm_control.identification.momentum_regressor import (
    INERTIA_DEVIATION,
    N_PARAMETERS,
    THINNEST,
    BodyParameters,
    LinkInertias,
    PointMass,
    parameters_of,
)
from arm_control.model import Inertia


def bodies_of(name: str, ur5: RobotModel) -> BodyParameters:
    return PointMass() if name == "payload" else LinkInertias([body.inertia for body in ur5.tree.bodies[:2]])


@pytest.mark.parametrize("name", ["payload", "links"])
def test_derivatives_are_those_of_differences(name: str, ur5: RobotModel):
    bodies = bodies_of(name, ur5)
    x = bodies.start + np.random.default_rng(0).uniform(-0.3, 0.3, len(bodies.start))
    steps = 1e-6 * np.eye(len(x))
    expected = [(bodies.numbers(x + step) - bodies.numbers(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(bodies.jacobian(x), np.array(expected).T, rtol=0, atol=1e-7)


def test_links_begin_as_in_the_urdf_and_stay_possible(ur5: RobotModel):
    inertias = [body.inertia for body in ur5.tree.bodies]
    links = LinkInertias(inertias)
    own = np.concatenate([parameters_of(inertia) for inertia in inertias])
    np.testing.assert_allclose(links.numbers(links.start), own, rtol=0, atol=1e-3)
    rng = np.random.default_rng(0)
    for size in (INERTIA_DEVIATION, 3.0):
        for parameters in links.numbers(rng.normal(scale=size, size=60)).reshape(-1, N_PARAMETERS):
            _, J = centre_and_inertia(parameters)
            low, middle, high = np.linalg.eigvalsh(J)
            assert parameters[0] > 0.0
            assert low > 0.0
            assert low + middle > high


def test_a_body_without_mass_stays_so():
    links = LinkInertias([Inertia.zero(), Inertia(1.0, np.zeros(3), 0.01 * np.eye(3))])
    x = np.full(20, 0.5)
    assert not links.numbers(x)[:10].any()
    assert not links.jacobian(x)[:, :10].any()
    assert links.numbers(x)[10] > 1.0


def test_a_link_without_size_gets_one():
    """A point mass, or a plate by a file's rounding, is at the edge of what is possible."""
    point = Inertia(2.0, np.array([0.2, 0.0, 0.0]), 0.02 * np.diag([0.0, 1.0, 1.0]))
    centre, J = centre_and_inertia(LinkInertias([point]).numbers(np.zeros(10)))
    np.testing.assert_allclose(centre, [0.1, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(J, 2.0 * 2.0 * THINNEST**2 * np.eye(3), atol=1e-9)


def test_a_payload_is_a_point_mass():
    centre, J = centre_and_inertia(PointMass().numbers(np.array([2.0, 0.1, -0.2, 0.3])))
    np.testing.assert_allclose(centre, [0.1, -0.2, 0.3])
    np.testing.assert_allclose(J, 0.0, atol=1e-15)
    assert centre_and_inertia(np.zeros(10))[0].tolist() == [0.0, 0.0, 0.0]
    assert LinkInertias([]).numbers(np.zeros(0)).shape == (0,)
    assert LinkInertias([]).jacobian(np.zeros(0)).shape == (0, 0)
