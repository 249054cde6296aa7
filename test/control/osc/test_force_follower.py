"""The wrench of the hand: slow to rise, slower where nothing resists, and at an end when nobody repeats it."""

from __future__ import annotations

import numpy as np
import pytest

from arm_control.control import ForceFollower
from arm_control.control.osc.force_follower import CHANGEOVER
from arm_control.control.osc.osc_parameters import ContactParameters
from arm_control.exceptions import InputError
from arm_control.maths import Array
from arm_control.model import RobotModel, Terms
from arm_control.motion import WrenchGoal

HOME = np.array([0.1, -1.4, 1.9, -2.07, -1.5, 0.2])
DOWN = (3.0, 0.0, -10.0, 0.0, 0.0, 0.0)
DT = 2e-3
RATE = 50.0
"""Rate of a force with the default limit and rise time [N/s]."""


class Run:
    """A follower that is ticked, at a hand with a constant speed."""

    def __init__(self, model: RobotModel, *, frame: str = "world", **parameters):
        self.model = model
        self.follower = ForceFollower(model, ContactParameters(**{"force_axes": ("z",)} | parameters), frame)
        self.k, self.V = 0, np.zeros(6)

    @property
    def stamp_ns(self) -> int:
        return round(self.k * DT * 1e9)

    def ask(self, wrench=DOWN, frame: str = "base_link") -> None:
        self.follower.add(WrenchGoal(self.stamp_ns, frame, wrench))

    def tick(self, seconds: float) -> Array:
        """Wrenches of all ticks in a time, and the shares in the last column."""
        rows = []
        terms: Terms = self.model.evaluate(HOME, np.zeros(6))._replace(V_WE=self.V)
        for _ in range(round(seconds / DT)):
            F = self.follower.tick(self.stamp_ns, HOME, DT, self.model.pose(HOME))
            self.follower.observe(terms)
            rows.append([*F, self.follower.share])
            self.k += 1
        return np.array(rows)


def test_a_force_rises_holds_and_falls_without_a_jump(ur5: RobotModel):
    run = Run(ur5)
    run.ask()
    rows = np.vstack([run.tick(0.3), run.tick(1.5)])
    assert np.abs(np.diff(rows[:, 2])).max() <= RATE * DT * (1 + 1e-9)
    assert np.abs(np.diff(rows[:, 6])).max() <= DT / CHANGEOVER * (1 + 1e-9)
    assert rows[120, 2] == pytest.approx(-10.0), "after 0.2 s"
    assert rows[round(0.49 / DT), 2] == -10.0
    over = round((0.5 + 10.0 / RATE) / DT) + 3
    assert not rows[over:, :6].any(), "nobody has repeated it for 0.5 s"
    assert rows[over, 6] > 0.9
    assert rows[-1, 6] == 0.0
    assert not rows[:, [0, 1, 3, 4, 5]].any(), "only chosen axes have a force"


def test_it_lasts_while_it_is_repeated_and_zero_ends_it(ur5: RobotModel):
    run = Run(ur5)
    for _ in range(5):
        run.ask()
        rows = run.tick(0.4)
    assert rows[-1, 2] == -10.0
    run.ask((0.0,) * 6)
    assert not run.tick(0.4)[-1].any()


def test_without_resistance_it_stays_at_what_the_approach_needs(ur5: RobotModel):
    """Against a damper alone the speed becomes that of the approach, from either side."""
    run = Run(ur5, force_timeout=60.0)
    run.ask()
    for _ in range(round(3.0 / DT)):
        F = run.tick(DT)[-1, 2]
        run.V = np.array([0.0, 0.0, F / 200.0, 0.0, 0.0, 0.0])  # 200 N s/m
    assert run.V[2] == pytest.approx(-0.01, rel=0.02)
    run.V = np.array([0.0, 0.0, -0.1, 0.0, 0.0, 0.0])
    assert run.tick(1.0)[-1, 2] == pytest.approx(10.0), "ten times as fast: it brakes, within the target's size"
    run.V = np.zeros(6)
    assert run.tick(1.0)[-1, 2] == -10.0, "a contact"


def test_a_brake_ends_the_force_until_a_wrench_comes_that_does_not_only_go_on(ur5: RobotModel):
    run = Run(ur5)
    run.ask()
    assert run.tick(0.3)[-1, 2] == -10.0
    run.follower.hold(run.stamp_ns)
    assert not run.tick(DT).any()
    for _ in range(5):
        run.ask()
        assert not run.tick(0.4).any(), "it is repeated as before the brake"
    assert run.follower.is_holding
    run.tick(0.2)
    run.ask()
    assert run.tick(0.3)[-1, 2] == -10.0
    assert not run.follower.is_holding
    run.follower.hold(run.stamp_ns)
    run.follower.restart()
    assert not run.follower.is_holding
    assert run.tick(0.1)[-1, 2] < -4.0, "time has started over"


def test_a_wrench_is_along_the_axes_of_its_frame(ur5: RobotModel):
    R = ur5.pose(HOME).R
    in_tool = R.T @ [0.0, 0.0, -10.0]
    run = Run(ur5)
    run.ask((*in_tool, 0.0, 0.0, 0.0), "tool0")
    assert run.tick(0.4)[-1, 2] == pytest.approx(-10.0)
    run = Run(ur5, frame="end_effector")
    run.ask((0.0, 0.0, 10.0, 0.0, 0.0, 0.0), "tool0")
    rows = run.tick(0.4)
    assert rows[-1, 2] == pytest.approx(10.0)
    hand = run.follower.hand_wrench()
    np.testing.assert_allclose(hand.in_world(hand.F)[:3], 10.0 * R[:, 2], atol=1e-12)
    force = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(hand.yielding(np.append(force, force)), [*(R[:, 2] * (R[:, 2] @ force)), 0, 0, 0])


def test_a_spring_yields_in_every_row(ur5: RobotModel):
    assert Run(ur5, impedance=True, force_axes=()).follower.hand_wrench().shares.tolist() == [1.0] * 6


@pytest.mark.parametrize("is_measured", [False, True])
def test_the_hand_says_whether_a_sensor_measures_it(ur5: RobotModel, is_measured: bool):
    run = Run(ur5)
    run.follower.is_measured = is_measured
    assert run.follower.hand_wrench().is_measured is is_measured


@pytest.mark.parametrize(
    ("parameters", "wrench", "message"),
    [
        ({"force_axes": (), "impedance": True}, DOWN, "force_axes is empty"),
        ({}, (0.0, 40.0, 40.0, 0.0, 0.0, 0.0), "56.57 N, and the limit is 50 N"),
        ({}, (0.0, 0.0, 1.0, 0.0, 6.0, 0.0), "6 N m, and the limit is 5 N m"),
    ],
)
def test_what_is_refused(ur5: RobotModel, parameters: dict, wrench: tuple, message: str):
    with pytest.raises(InputError, match=message):
        Run(ur5, **parameters).ask(wrench)
