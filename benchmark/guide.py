"""A hand guides an arm: forces, drift, an untold load, release at speed, limits at speed.

    python benchmark/guide.py [--json FILE] [--quick] [--picture FILE]

The plants ``ideal`` and ``real`` of a UR5, and ``real`` of an arm of another maker. What the controller knows of a real
arm is what ``identify --inertias`` finds in a recording of that plant, 25 s of an exciting motion. The hand is a
spring and a damper (:class:`~arm_control.simulation.GuidingHand`), 2 kN/m and 20 N m/rad.

    force      along two circles at 0.1 m/s: F - F_i along the motion, and as a whole; F_i is the force on the plant
               ``ideal`` with gravity alone compensated (the inertia's share); also with that on the plant itself
    breakaway  force, growing by 5 N/s from rest, at which the tip has moved by 2 mm; six directions
    drift      way of the tip in 60 s, from 0.5 s after the hand has let go behind a circle
    load       way of the tip with 2 kg untold of: from the start, and when a hand that holds the arm opens
    release    thrown in six directions at 0.25 m/s: time until the tip is slower than 5 mm/s, least speed along
    limits     thrown at 0.25 m/s at a wall 20 mm ahead, and a joint at its limit: way that is left; how far 30 N press
               the hand into that wall
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import yaml
from arms import load

from arm_control import Pose, RobotModel
from arm_control.control import ControlLoop, Measurement
from arm_control.controllers import JointLoopParameters, control_loop
from arm_control.controllers.guide import GuideLoopParameters
from arm_control.core import file_parameters
from arm_control.identification import LINKS, ExcitationParameters, JointRecording, excite, identified_urdf, identify
from arm_control.maths import Array, Span
from arm_control.model import ArmParameters, Terms
from arm_control.motion import JointGoal, PosePoints, PoseTrajectory
from arm_control.motion.target_files import circle
from arm_control.report import BLUE, DASHES, GREY, INK, ORANGE, identified_file, new_figure, save_in_few_colours, style
from arm_control.simulation import GuidingHand, PlantProperties, make_simulator, true_arm

ARMS = {
    "ur5": np.array([0.0, -1.4, 1.9, -2.07, -1.5708, 0.0]),
    "xarm7": np.array([0.0, 0.3, 0.0, 1.0, 0.0, 0.7, 0.0]),
}
"""A posture of each arm [rad]."""
SPEED, THROWN = 0.1, 0.25
"""Of a hand along its path, and of an arm that is thrown [m/s]."""
RADIUS = 0.08
"""Of the circles [m]."""
STIFFNESS, DAMPING = np.repeat([2000.0, 20.0], 3), np.repeat([120.0, 0.1], 3)
"""Of the hand [N/m, N m/rad; N s/m, N m s/rad]."""
SHARE, GUIDE_DAMPING = 0.9, {"ideal": 8.0, "real": 4.25}
"""``guide_friction`` of a real arm; ``guide_damping``, which friction helps there [1; 1/s]."""
AT_REST = 0.005
"""Speed of a tip at rest [m/s]."""
LOAD, WALL, PRESSED = 2.0, 0.02, 30.0
"""Untold load [kg], way to a wall [m], force at it [N]."""
DIRECTIONS = np.vstack([np.eye(3), -np.eye(3)])
Wrench = Callable[[float, Terms], Array]
"""Of a hand, from time [s] and state."""


class Tracks(NamedTuple):
    """What happened: times (n,), wrench of the hand, place and twist of the tip (n, 6 and 3), joints (n, nv)."""

    t: Array
    F: Array
    p: Array
    V: Array
    q: Array


class GuidedArm:
    """An arm on a plant, with what is known of it, guided from rest at q."""

    def __init__(
        self, name: str, plant: str, q: Array, *, known: bool = True, payload: float = 0.0, **values: Any
    ) -> None:
        base, properties = load(name), PlantProperties.from_mapping({"set": plant, "payload_mass": payload})
        model, is_real = identified(name) if plant == "real" else base, plant == "real"
        given = {
            "guide_friction": SHARE if is_real and known else 0.0,
            "guide_damping": GUIDE_DAMPING[plant] if known else 0.0,
        }
        given |= {"disturbance_observer": known, "inertia_floor": 0.02 if is_real else 0.0}
        self.model: RobotModel = model
        self.loop: ControlLoop = control_loop(model, GuideLoopParameters.from_mapping(given | values))
        self.simulator = make_simulator(base, q, properties)
        self.k = 0

    def tick(self, wrench: Wrench | None = None, push: Array | None = None) -> tuple[Any, ...]:
        """One state: time, wrench, place and twist of the tip, joints; ``push`` is a torque on these [N m]."""
        t, arm, simulator = self.k * 1e-3, true_arm(self.simulator), self.simulator
        state = Measurement(self.k * 1_000_000, simulator.q, simulator.v, 1e-3 if self.k else 0.0, self.k == 0)
        tau = self.loop.tick(state).gate.tau
        terms = self.model.evaluate(arm.q, arm.v)
        F = np.zeros(6) if wrench is None else wrench(t, terms)
        simulator.load(terms.J.T @ F + (0.0 if push is None else push))
        simulator.step(tau)
        self.k += 1
        return t, F, terms.X_WE.p, terms.V_WE, terms.q

    def go(self, seconds: float, wrench: Wrench | None = None, stops: Callable[[Array], bool] | None = None) -> Tracks:
        """Go on, with the wrench of a hand; at most until a place of the tip (3,) stops it."""
        rows: list[tuple[Any, ...]] = []
        for _ in range(round(seconds * 1e3)):
            rows.append(self.tick(wrench))
            if stops is not None and stops(rows[-1][2]):
                break
        return Tracks(*(np.array(column) for column in zip(*rows, strict=True)))

    def throw(self, direction: Array, speed: float = THROWN) -> None:
        """A hand speeds the tip up over 0.5 s, straight on, and lets go."""
        start, m = self.model.pose(true_arm(self.simulator).q), 0.5 * speed * 0.5
        line = PoseTrajectory(_line(start, m * direction, 0.5))
        hand, begin = GuidingHand(line, STIFFNESS, DAMPING, Span()), self.k * 1e-3
        self.go(0.5, lambda t, terms: hand.acts(t - begin, terms))


def _line(X: Pose, way: Array, T: float) -> PosePoints:
    """A straight way that ends at speed: twice the mean one."""
    u = np.linspace(0.0, 1.0, 26)
    V, A = (np.zeros((26, 6)) for _ in range(2))
    V[:, :3], A[:, :3] = np.outer(2.0 * u / T, way), np.tile(2.0 * way / T**2, (26, 1))
    return PosePoints(T * u, tuple(Pose(X.R, X.p + s * way) for s in u * u), V, A)


@cache
def identified(name: str) -> RobotModel:
    """The model that ``identify --inertias`` makes of a recording of the plant ``real``."""
    base, plant = load(name), PlantProperties(set="real")
    posture = tuple(ARMS[name].tolist())
    motion = excite(base, ExcitationParameters(posture=posture, swing=0.5), lambda _: True, "")
    loop = control_loop(base, JointLoopParameters.from_mapping({"disturbance_observer": True, "inertia_floor": 0.02}))
    loop.controller.add(JointGoal(0, motion.points))
    simulator = make_simulator(base, motion.points.qs[0], plant)
    rows = []
    for k in range(round(motion.points.times[-1] * 1e3)):
        q, v = simulator.q, simulator.v
        tau = loop.tick(Measurement(k * 1_000_000, q, v, 1e-3 if k else 0.0, k == 0)).gate.tau
        rows.append((k * 1e-3, q, v, tau))
        simulator.step(tau)
    found = identify(base, JointRecording(*(np.array(column) for column in zip(*rows, strict=True))), LINKS)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "identified.yaml"
        path.write_text(identified_file(found, base))
        values = {key: x for key, x in file_parameters(path, "guide").items() if key in ArmParameters.types()}
    return ArmParameters.from_mapping({**values, "tip": base.tip}).model(identified_urdf(base, found))


# -- figures


def guided(arm: GuidedArm, R: Array) -> Tracks:
    """A hand goes round a circle at :data:`SPEED`, whose axes in the world are R; it begins where the tip is."""
    X = arm.model.pose(true_arm(arm.simulator).q)
    path = circle(Pose(R, X.p - RADIUS * R[:, 0]), RADIUS, 2.0 * np.pi * RADIUS / SPEED, 3.0, X.R)
    hand = GuidingHand(PoseTrajectory(path), STIFFNESS, DAMPING, Span())
    return arm.go(float(path.times[-1]), hand.acts)


CIRCLES = (np.eye(3)[:, [1, 0, 2]] * [1, 1, -1], np.eye(3)[:, [1, 2, 0]])
"""Axes of a level circle, and of an upright one."""


def force(name: str, plant: str) -> dict[str, Any]:
    """Force above the inertia's share at speed [N]: compensated, and with gravity compensated alone."""
    above: dict[str, list[Array]] = {"guided": [], "gravity_alone": []}
    for R in CIRCLES:
        share = guided(GuidedArm(name, "ideal", ARMS[name], known=False), R)
        for title, rows in above.items():
            track = guided(GuidedArm(name, plant, ARMS[name], known=title == "guided"), R)
            is_fast = np.linalg.norm(track.V[:, :3], axis=1) > 0.95 * SPEED
            F, v = (track.F - share.F)[is_fast, :3], track.V[is_fast, :3]
            along = np.sum(F * v, axis=1) / np.linalg.norm(v, axis=1)
            rows.append(np.stack([along, np.linalg.norm(F, axis=1)]))
    return {title: _spread(np.hstack(rows)) for title, rows in above.items()}


def _spread(rows: Array) -> dict[str, float]:
    """Median and 95th percentile of the force along the motion, and of the whole force."""
    kinds = zip(("along", "whole"), rows, strict=True)
    return {
        f"{kind}_{word}": float(np.percentile(x, p)) for kind, x in kinds for word, p in (("median", 50), ("p95", 95))
    }


def breakaway(name: str, plant: str) -> dict[str, float]:
    """Force that moves an arm at rest by 2 mm [N]."""
    forces = []
    for direction in DIRECTIONS:
        arm = GuidedArm(name, plant, ARMS[name])
        p_0 = arm.go(0.2).p[-1]
        pull = np.concatenate([direction, np.zeros(3)])
        track = arm.go(
            12.0, lambda t, _, F=pull: 5.0 * (t - 0.2) * F, lambda p, p_0=p_0: np.linalg.norm(p - p_0) > 2e-3
        )
        forces.append(float(np.linalg.norm(track.F[-1])))
    return {"median": float(np.median(forces)), "largest": max(forces)}


def drift(name: str, plant: str, seconds: float) -> float:
    """Way of the tip after a hand has let go behind a circle [m]."""
    arm = GuidedArm(name, plant, ARMS[name])
    guided(arm, CIRCLES[0])
    arm.go(0.5)
    p = arm.go(seconds).p
    return float(np.linalg.norm(p - p[0], axis=1).max())


def untold_load(name: str, plant: str) -> dict[str, Any]:
    """Way of the tip with a load that nobody has told of [m], and why the arm is held."""
    start = GuidedArm(name, plant, ARMS[name], payload=LOAD)
    p = start.go(3.0).p
    opened = GuidedArm(name, plant, ARMS[name], payload=LOAD)
    X = opened.model.pose(ARMS[name])
    still = GuidingHand(PoseTrajectory(_line(X, np.zeros(3), 1.0)), STIFFNESS, DAMPING, Span())
    p_0 = opened.go(1.0, still.acts).p[-1]
    ways = [float(np.linalg.norm(each - at, axis=1).max()) for each, at in ((p, p[0]), (opened.go(3.0).p, p_0))]
    return {"from_start": ways[0], "hand_opens": ways[1], "why": [start.loop.gate.reason, opened.loop.gate.reason]}


def release(name: str, plant: str) -> dict[str, float]:
    """Time to rest [s] and least speed along the throw [m/s], the worst of six directions."""
    times, least = [], []
    for direction in DIRECTIONS:
        arm = GuidedArm(name, plant, ARMS[name])
        arm.throw(direction)
        V = arm.go(1.5).V[:, :3]
        moving = np.flatnonzero(np.linalg.norm(V, axis=1) > AT_REST)
        times.append(float(moving[-1] + 1) * 1e-3 if len(moving) else 0.0)
        least.append(float((V @ V[0]).min() / np.linalg.norm(V[0])))
    return {"time": max(times), "least_speed": min(least)}


def limits(name: str, plant: str) -> dict[str, Any]:
    """Way left before a wall, and before a joint's limit, behind throws; how far a hand presses in [m, rad]."""
    ways, pressed, brakes = [], [], 0
    with TemporaryDirectory() as folder:
        path = Path(folder) / "wall.yaml"
        for direction in DIRECTIONS:
            wall = load(name).pose(ARMS[name]).p + (0.0625 + WALL) * direction
            entry = {"name": "wall", "kind": "half_space", "point": wall.tolist(), "normal": (-direction).tolist()}
            path.write_text(yaml.safe_dump({"constraints": [entry]}))
            arm = GuidedArm(name, plant, ARMS[name], constraints=str(path))
            arm.throw(direction)
            ways.append(float(((wall - arm.go(1.5).p) @ direction).min()))
            pull = np.concatenate([PRESSED * direction, np.zeros(3)])
            pressed.append(float(((arm.go(1.5, lambda t, _, F=pull: F).p - wall) @ direction).max()))
            brakes += arm.loop.gate.is_braked
    return {"wall": min(ways), "pressed": max(pressed), "brakes": brakes, "joint": joint_limit(name, plant)}


def joint_limit(name: str, plant: str) -> float:
    """Way left before the limits of joints that a hand has thrown at them with 1 rad/s, the least of all [rad]."""
    left = []
    for j, q_max in enumerate(load(name).q_max):
        if not np.isfinite(q_max):
            continue
        q = ARMS[name].copy()
        q[j] = q_max - 0.3
        arm = GuidedArm(name, plant, q)
        M, friction = arm.model.mass_matrix(q), 1.5 * arm.model.coulomb[j]
        while (v := arm.simulator.v[j]) < 1.0 and arm.k < 400:
            arm.tick(push=(20.0 * M[:, j] * (1.2 - v)) + friction * np.eye(len(q))[j])
        left.append(float((q_max - arm.go(1.5).q[:, j]).min()))
    return min(left)


def figures(name: str, plant: str, *, is_quick: bool) -> dict[str, Any]:
    """All figures of an arm on a plant."""
    return {
        "force": force(name, plant),
        "breakaway": breakaway(name, plant),
        "drift": drift(name, plant, 5.0 if is_quick else 60.0),
        "load": untold_load(name, plant),
        "release": release(name, plant),
        "limits": limits(name, plant),
    }


def draw(file: Path) -> None:
    """Draw the force of a hand along a level circle, and how an arm with an untold load sinks, UR5."""
    figure = new_figure(9.0, 3.4)
    left, right = figure.subplots(1, 2)
    kinds = (
        ("gravity alone compensated", "real", False, GREY),
        ("guided", "real", True, BLUE),
        ("no friction", "ideal", False, INK),
    )
    for title, plant, is_known, colour in kinds:
        track = guided(GuidedArm("ur5", plant, ARMS["ur5"], known=is_known), CIRCLES[0])
        speed = np.linalg.norm(track.V[:, :3], axis=1)
        along = np.sum(track.F[:, :3] * track.V[:, :3], axis=1) / np.maximum(speed, 1e-3)
        left.plot(track.t[::20], along[::20], color=colour, label=title, linewidth=1.0)
    left.legend(fontsize=8, frameon=False)
    style(left, "Force of the hand along a circle, 0.1 m/s", "time [s]", "[N]")
    for title, plant, colour in (("without friction", "ideal", ORANGE), ("real", "real", BLUE)):
        arm = GuidedArm("ur5", plant, ARMS["ur5"], payload=LOAD)
        track = arm.go(0.6)
        right.plot(track.t, 1e3 * (track.p[0] - track.p)[:, 2], color=colour, label=title)
    right.axhline(20.0, color=GREY, linestyle=DASHES, linewidth=1.0)
    right.legend(fontsize=8, frameon=False)
    style(right, "2 kg that nobody has told of: the tip sinks", "time [s]", "[mm]")
    save_in_few_colours(figure, file)


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--picture", type=Path, help="draw this picture, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="the UR5 alone, and 5 s in place of 60")
    options = parser.parse_args(words)
    if options.picture:
        draw(options.picture)
        return 0
    pairs = [("ur5", "ideal"), ("ur5", "real"), ("xarm7", "real")][: 2 if options.quick else 3]
    result = {f"{name} {plant}": figures(name, plant, is_quick=options.quick) for name, plant in pairs}
    text = json.dumps(result, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 0


if __name__ == "__main__":
    main()
