"""How many motions that are called free does coal find in contact, at a hundred times the resolution of a usual check?

python benchmark/false_free.py [--scenes 100] [--first 0] [--jobs 1] [--tally FILE] [--robot FILE] [--json FILE]

Scenes are numbered; a number gives the same arm, obstacles and motions again. With ``--tally`` a run goes on where the
last one ended. Most scenes are grazing ones; obstacles rest in one half and move and turn in the other. Of a
motion in contact the part before the first contact is called free; of one with a deviation two within it are looked at.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from coal_arm import CoalArm
from coal_motions import CoalMotions
from motion_scenes import Scene, grazing_scene, limits, random_scene
from sliding_arm import SLIDING_ARM

from arm_control import RobotModel, urdf_path
from arm_control.collision import MOST_LOOKS_FIRST, ArmShape, Motions, Validity
from arm_control.core import progress_bar
from arm_control.maths import Array
from arm_control.model import LinkCapsule
from arm_control.sweeps import in_order

Straight: TypeAlias = tuple[Array, Array, Array]
"""Ends a and b (N, n) and times (N, 2) of motions."""
ARMS = ("panda", "ur5", "planar3", "sliding")
"""Robots of this package, and one with joints that slide."""
PER_SCENE, GRAZING = {"random": 300, "grazing": 60}, 0.6
"""Motions of a scene, and share of scenes that are grazing ones."""
WITH_DEVIATION, DEVIATIONS = 0.15, (-5.0, -2.0)
"""Share of scenes with deviations of the joints, and logarithms of the smallest and the largest one [rad or m]."""
EXHAUSTIVE, COMPARED = 100, 3
"""Of one scene of so many, so many motions are looked at at every place, too."""
NEAR, CONTACT = 1e-3, 1e-6
"""Distance of a motion that counts as near, and one that is no contact [m]."""
SHORTER = 1e-9
"""Share that is left out before a contact: what appears at the end of a free part is no longer part of it."""
SAVED = 20
"""Scenes after which the tally is written."""
STICK = 0.04
"""Radius of the capsules of an arm without shapes [m]."""


class Tally(NamedTuple):
    """What has been counted.

    Attributes
    ----------
    scenes, drawn : int
        Scenes and motions drawn.
    free : int
        Motions called free that coal looked at.
    grazing, moving, deviating, before_contact : int
        Of these: in grazing scenes, among obstacles that move, within a deviation, up to a first contact.
    near : int
        Of these: nearer to something than a millimetre for coal.
    false_free : int
        Of these: in contact for coal.
    undecided : int
        Motions neither called free nor in contact.
    false_contact : int
        Motions called in contact at a place where coal sees more than a micrometre.
    looks : int
        Distances that coal measured.
    exhaustive, differing : int
        Motions that coal looked at everywhere, and those of them where the result is another one.
    """

    scenes: int = 0
    drawn: int = 0
    free: int = 0
    grazing: int = 0
    moving: int = 0
    deviating: int = 0
    before_contact: int = 0
    near: int = 0
    false_free: int = 0
    undecided: int = 0
    false_contact: int = 0
    looks: int = 0
    exhaustive: int = 0
    differing: int = 0

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(*map(sum, zip(self, other, strict=True)))


NOTHING = Tally()


@cache
def arm(name: str) -> Validity:
    """An arm by the name of its robot or by its file; one without collision shapes is made of sticks."""
    if name == "sliding":
        model = RobotModel.from_urdf(SLIDING_ARM, kinematics_only=True)
    else:
        model = RobotModel.from_urdf(name if name.endswith(".urdf") else urdf_path(name), kinematics_only=True)
    sticks = None if name in ARMS else _sticks(model)
    return Validity(model, ArmShape(model, sticks))


def _sticks(model: RobotModel) -> list[LinkCapsule]:
    """A capsule from joint to joint."""
    bodies, sticks = model.tree.bodies, []
    frames = {frame.body: (name, frame) for name, frame in reversed(model.tree.frames.items())}
    for k in range(len(bodies)):
        end = next((body.X_PJ.p for body in bodies if body.parent == k), np.array([0.0, 0.0, 0.1]))
        name, frame = frames[k]
        X = frame.X_BF.inverse()
        sticks.append(LinkCapsule(name, X.p, X.R @ end + X.p, STICK))
    return sticks


def check_scene(case: tuple[int, Sequence[str]]) -> Tally:
    """Draw a scene by its number, check its motions, let coal look at those that are called free.

    The number chooses one of the arms, which are robots and files.
    """
    number, arms = case
    rng = np.random.default_rng([number, 17])
    validity = arm(arms[number % len(arms)])
    is_moving, is_grazing = bool(rng.random() < 0.5), bool(rng.random() < GRAZING)
    draw = grazing_scene if is_grazing else random_scene
    drawn = draw(validity, rng, PER_SCENE["grazing" if is_grazing else "random"], is_moving)
    validity.place(drawn.told)
    coal_motions = CoalMotions(CoalArm(validity, drawn.told))
    deviates = rng.random() < WITH_DEVIATION
    motions, counts = (_within_deviations if deviates else _free_parts)(validity, drawn, coal_motions, rng)
    touches = coal_motions.touches(*motions)
    n, false_free = len(touches), [i for i, touch in enumerate(touches) if not np.isnan(touch.share)]
    for i in false_free:
        print(f"scene {number}, motion {i} called free: {touches[i]}", flush=True)
    counts |= {"false_free": len(false_free), "free": n, "grazing": n * is_grazing, "moving": n * is_moving}
    counts |= {"near": sum(touch.smallest < NEAR for touch in touches), "looks": sum(touch.looks for touch in touches)}
    if number % EXHAUSTIVE == 0:
        counts |= _compare_with_everywhere(coal_motions, drawn)
    return Tally(scenes=1, drawn=len(drawn.a), **counts)


def _within_deviations(
    validity: Validity, drawn: Scene, coal_motions: CoalMotions, rng: np.random.Generator
) -> tuple[Straight, dict[str, int]]:
    """Two motions within the deviation of each one that is called free with it."""
    low, high = limits(validity.shape.model)
    e = 10.0 ** rng.uniform(*DEVIATIONS, len(low))
    a, b = (np.clip(q, low + e, high - e) for q in (drawn.a, drawn.b))
    found = validity.motions(a, b, *drawn.times.T, e)
    free = np.flatnonzero(found.is_free).repeat(2)
    near_a, near_b = (q[free] + e * rng.choice([-1.0, 1.0], (len(free), len(e))) for q in (a, b))
    return (near_a, near_b, drawn.times[free]), {"undecided": _undecided(found), "deviating": len(free)}


def _free_parts(
    validity: Validity, drawn: Scene, coal_motions: CoalMotions, rng: np.random.Generator
) -> tuple[Straight, dict[str, int]]:
    """Motions that are called free, and the parts of the others before the first contact."""
    _, a, b, times = drawn
    found = validity.motions(a, b, *times.T)
    seen = [
        coal_motions.distance(a[i] + s * (b - a)[i], times[i, 0] + s * (times[i, 1] - times[i, 0]))
        for i, s in enumerate(found.contact)
        if found.is_contact[i]
    ]
    first = validity.motions(a, b, *times.T, is_first=True, most_looks=MOST_LOOKS_FIRST)
    share = np.where(found.is_free, 1.0, (1.0 - SHORTER) * first.covered)
    ends, ends_in_time = a + share[:, None] * (b - a), times[:, 0] + share * (times[:, 1] - times[:, 0])
    part = share > 0.0
    counts = {"undecided": _undecided(found), "false_contact": sum(distance > CONTACT for distance in seen)}
    counts["before_contact"] = int((part & ~found.is_free).sum())
    return (a[part], ends[part], np.column_stack([times[:, 0], ends_in_time])[part]), counts


def _undecided(found: Motions) -> int:
    return int((~found.is_free & ~found.is_contact).sum())


def _compare_with_everywhere(coal_motions: CoalMotions, drawn: Scene) -> dict[str, int]:
    """Look at some motions at every place, whether they are free or not."""
    chosen = slice(0, COMPARED)
    touches = coal_motions.touches(drawn.a[chosen], drawn.b[chosen], drawn.times[chosen])
    motions = zip(drawn.a[chosen], drawn.b[chosen], drawn.times[chosen], strict=True)
    pairs = [
        (touch.share, coal_motions.touch_everywhere(*motion).share)
        for touch, motion in zip(touches, motions, strict=True)
    ]
    shares = np.array(pairs).reshape(-1, 2)
    differing = ~((shares[:, 0] == shares[:, 1]) | np.isnan(shares).all(axis=1))
    return {"exhaustive": len(shares), "differing": int(differing.sum())}


def count(
    scenes: Sequence[int], arms: Sequence[str] = ARMS, tally: Tally = NOTHING, file: Path | None = None, jobs: int = 1
) -> Tally:
    """Count in scenes of these numbers, on so many processes, and add to a tally.

    Parameters
    ----------
    file : Path, optional
        Takes the tally, and the number of the next scene.
    """
    counted = in_order(check_scene, [*zip(scenes, repeat(arms))], jobs)
    for number in progress_bar(scenes, "scenes"):
        tally = tally.plus(next(counted))
        if file and (number % SAVED == 0 or number == scenes[-1]):
            file.write_text(json.dumps({"next": number + 1} | tally._asdict()))
    return tally


def main() -> None:
    """Count; print what has been counted; with ``--json`` write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first scene")
    parser.add_argument("--robot", action="append", default=[], help="URDF of an arm more")
    parser.add_argument("--tally", type=Path, help="file with what has been counted before, and now")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    first, tally = options.first, NOTHING
    if options.tally and options.tally.exists():
        content = json.loads(options.tally.read_text())
        first, tally = content.pop("next"), Tally(**content)
    tally = count(range(first, first + options.scenes), (*ARMS, *options.robot), tally, options.tally, options.jobs)
    figures = {f"validity.{name}": count for name, count in tally._asdict().items()}
    print("\n".join(f"{name:26} {count}" for name, count in figures.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
