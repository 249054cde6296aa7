"""Obstacles from messages, without ROS: compared with a model of the written rules, and in a scenario."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from arm_control import urdf_path
from arm_control.bags import plain
from arm_control.exceptions import ArmControlError
from arm_control.maths import Obstacle, Pose, Sphere
from arm_control.messages import AHEAD_NS, DELETED_NS, MOST_LATE, ObstacleTracker
from arm_control.model import RobotModel
from arm_control.simulation import PERIOD_NS, ObstacleSchedule, ObstacleUpdate, World

MS, SECOND = 1_000_000, 1_000_000_000
MODEL = RobotModel.from_urdf(urdf_path("planar2"))
Q = np.zeros(2)


def ball(x: float) -> Obstacle:
    return Obstacle(Sphere(0.1), Pose(np.eye(3), np.array([x, 0.0, 0.0])))


def word(x: float | None, stamp_ns: int, lifetime_ns: int = 0, number: int = 0):
    """A message that tells of a ball at x, or that it is gone."""
    lifetime = lifetime_ns / SECOND if lifetime_ns else float("inf")
    return plain.markers([ObstacleUpdate(number, None if x is None else ball(x), lifetime)], "", stamp_ns)


def tell(book: ObstacleTracker, message: Any, now_ns: int) -> list[ArmControlError]:
    book.set_state(now_ns, Q)
    return book.update(message)


def xs(book: ObstacleTracker, now_ns: int) -> list[float]:
    return [float(obstacle.X_WO.p[0]) for obstacle in book.obstacles(now_ns, Q)]


@dataclass(frozen=True)
class Word:
    x: float | None
    stamp: int
    lifetime: int
    acts: int = 0


@dataclass
class Rules:
    """One marker by the rules as they are written, step by step, nothing left out to be quick."""

    now: Word | None = None
    coming: list[Word] = field(default_factory=list)
    acted: dict[int, float | None] = field(default_factory=dict)
    newest: int | None = None
    n_late: int = 0

    def go_to(self, t: int) -> float | None:
        for due in sorted((w for w in self.coming if w.stamp <= t), key=lambda w: w.stamp):
            self.coming.remove(due)
            self.act(replace(due, acts=due.stamp))
        if self.now is not None and self.now.lifetime and t > self.now.acts + self.now.lifetime:
            self.now = None
        if self.now is None and not self.coming:
            self.acted, self.newest = {}, None  # nothing is known of it any more
        return None if self.now is None else self.now.x

    def hear(self, w: Word, t: int) -> bool:
        """Whether it is taken."""
        self.go_to(t)
        if t < w.stamp <= t + AHEAD_NS:
            self.coming = [*(other for other in self.coming if other.stamp != w.stamp), w]
        elif w.stamp == 0 or w.stamp not in self.acted or self.acted[w.stamp] != w.x:
            if w.stamp and self.newest is not None and w.stamp < self.newest <= w.stamp + AHEAD_NS:
                self.n_late += 1
                if self.n_late <= MOST_LATE:
                    return False
            self.coming = []
            self.act(replace(w, acts=t))
        elif self.now is not None and self.now.stamp == w.stamp:
            self.now = replace(w, acts=t)
        return True

    def act(self, w: Word) -> None:
        self.now, self.newest, self.n_late = w, w.stamp or w.acts, 0
        self.acted[w.stamp] = w.x

    def start_over(self, t: int) -> None:
        self.coming, self.acted, self.newest = [], {}, None
        if self.now is not None:
            self.now = replace(self.now, stamp=t, acts=t)


@pytest.mark.parametrize("seed", range(15))
def test_a_marker_does_what_the_rules_say(seed: int):
    """Ahead, late, again, deleted, with and without stamp and lifetime; looked at or not; time may start over."""
    rng, book, rules, t, told = np.random.default_rng(seed), ObstacleTracker(MODEL), Rules(), 0, list[Word]()
    for _ in range(150):
        match rng.integers(8):
            case 0 | 1 if told:
                heard = told[rng.integers(max(0, len(told) - 6), len(told))]
            case 2 if rng.random() < 0.15:
                t = int(rng.integers(3)) * 10 * MS
                book.restart(t)
                rules.start_over(t)
                continue
            case _:
                stamp = int(rng.choice([0, max(MS, t + int(rng.integers(-5, 12)) * 10 * MS)], p=[0.1, 0.9]))
                is_gone = rng.random() < 0.2
                lifetime = DELETED_NS if is_gone else int(rng.choice([0, 25, 45])) * MS
                heard = Word(None if is_gone else float(rng.integers(1, 5)), stamp, lifetime)
        told.append(heard)
        refused = [str(error) for error in tell(book, word(heard.x, heard.stamp, heard.lifetime), t)]
        assert [why[:5] for why in refused] == ([] if rules.hear(heard, t) else ["late:"])
        t += int(rng.integers(3)) * 10 * MS
        if rng.random() < 0.6:
            wanted = rules.go_to(t)
            assert xs(book, t) == ([] if wanted is None else [wanted])


@pytest.mark.parametrize("seed", range(4))
def test_states_that_come_again_change_nothing(seed: int):
    """As while paused, or where an answer was late: who avoids hears of obstacles that come and go at any time."""
    rng = np.random.default_rng(seed)
    spans = [sorted((rng.uniform(0.0, 0.4, 2)).round(4)) for _ in range(4)]
    given = [
        {"shape": "sphere", "size": 0.1, "position": [k + 1.0, 0, 0], "velocity": [0.3, 0, 0], "from": a, "until": b}
        for k, (a, b) in enumerate(spans)
    ]
    world = World.from_mapping({"obstacles": given}, "world")

    def seen(again: float) -> list[list[list[float]]]:
        schedule, book, rng, found = ObstacleSchedule(world), ObstacleTracker(MODEL), np.random.default_rng(seed), []
        for t in range(0, 500 * MS, 3 * MS):
            for _ in range(1 + int(rng.random() < again)):
                for stamp_ns, updates in schedule.updates(t):
                    assert tell(book, plain.markers(updates, "", stamp_ns), t) == []
            found.append([[*o.X_WO.p, *np.asarray(o.V_WO)] for o in book.obstacles(t, Q)])
        return found

    assert seen(0.5) == seen(0.0)


def test_who_hears_late_of_an_obstacle_sees_it_go_in_time():
    obstacle = {"shape": "sphere", "size": 0.1, "position": [1.0, 0, 0], "until": 0.055}
    world, late = World.from_mapping({"obstacles": [obstacle]}, "world"), ObstacleTracker(MODEL)
    for stamp_ns, updates in ObstacleSchedule(world).updates(52 * MS)[:1]:
        assert stamp_ns == 2 * PERIOD_NS
        tell(late, plain.markers(updates, "", stamp_ns), 52 * MS)
    assert xs(late, 55 * MS) == [1.0]
    assert xs(late, 56 * MS) == []
    assert ObstacleSchedule(world).updates(57 * MS)[0] == (2 * PERIOD_NS, []), "gone before it is told"


def test_an_obstacle_without_a_stamp_has_no_speed_by_it():
    """An empty stamp says now; it is no time to reckon from."""
    book = ObstacleTracker(MODEL)
    tell(book, word(0.1, 0), 100 * MS)
    tell(book, word(0.2, 100 * MS), 100 * MS)
    (obstacle,) = book.obstacles(100 * MS, Q)
    assert not np.any(obstacle.V_WO)


def test_a_lifetime_begins_with_the_first_state_where_none_has_come_before(ur5):
    """An arm whose states have the system's time: what was heard before its first one did not act at time 0."""
    tracker, now_ns = ObstacleTracker(ur5), 1_700_000_000 * SECOND
    for number, stamp_ns in enumerate((0, now_ns - MS)):
        tracker.update(word(0.5, stamp_ns, 500 * MS, number=number))
    tracker.set_state(now_ns, np.zeros(6))
    assert len(tracker.obstacles(now_ns, np.zeros(6))) == 2
    assert len(tracker.obstacles(now_ns + 501 * MS, np.zeros(6))) == 0


def test_a_first_state_is_no_new_beginning_for_what_was_told_ahead(ur5):
    """A controller begins with its first state; what a scenario has told before time starts still comes."""
    tracker, q = ObstacleTracker(ur5), np.zeros(6)
    tracker.update(word(0.5, 20 * MS))
    tracker.restart(0)
    assert tracker.obstacles(0, q) == []
    assert len(tracker.obstacles(20 * MS, q)) == 1
    tracker.update(word(0.6, 40 * MS))
    tracker.restart(0)
    assert tracker.obstacles(40 * MS, q)[0].X_WO.p[0] == 0.5, "but a second beginning is one"


def test_before_the_first_state_only_obstacles_in_effect_count(ur5: RobotModel):
    """A run begins with their number: a subscriber may have missed the first messages of those sent ahead."""
    tracker = ObstacleTracker(ur5)
    for stamp_ns, expected in ((400 * MS, 0), (1, 1)):
        assert tracker.update(word(0.3, stamp_ns)) == []
        assert tracker.n_obstacles == expected
    tracker.set_state(0, np.zeros(6))
    assert tracker.update(word(0.5, 420 * MS, number=1)) == []
    assert tracker.n_obstacles == 2, "now or later"
