"""The faults of the campaign, each by its name: what happens to messages, and what the gate must make of it.

Messages of a topic are numbered from the onset of a fault on. A fault that ends by itself and is short must be passed
over; every other one must end in a brake, and a brake that holds must hold whatever comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from arm_control.core import NANOSECONDS, urdf_path
from arm_control.faults.chain import Chain
from arm_control.faults.chain_setup import COMMANDS, OTHER, STATES, Delivery, Interference, braked
from arm_control.faults.constraint_inputs import (
    FAR_WALL,
    MANY,
    Event,
    ahead,
    at_the_hand,
    change,
    far,
    nowhere,
    show,
    walls,
)
from arm_control.faults.interferences import (
    MS_NS,
    Edit,
    doubled,
    edited,
    elsewhere,
    emptied,
    first_point,
    flooded,
    frozen,
    late,
    lost,
    lost_at_random,
    named_twice,
    of_another_arm,
    pulling,
    renamed,
    reordered,
    resized,
    running_backwards,
    shifted,
    stamped_zero,
    value,
)
from arm_control.model import RobotModel

BRAKES = "brakes"
"""The arm must brake and come to rest."""
GOES_ON = "goes on"
"""The arm must reach its goal as if nothing had been."""
HOLDS = "holds"
"""A brake must hold."""
LIMITED = "is limited"
"""The torque must stay within the limits of effort and rate."""
STAYS = "stays"
"""The arm must stop without a brake, on the way that it was to go."""
KEEPS = "keeps"
"""The arm must keep its constraints without a brake."""
HOUR_NS = 3600 * NANOSECONDS

WITH_COMMANDS = ("gate", "simulator")
"""Arrangements in which commands are messages."""
WITH_MESSAGES = ("controller", "gate", "simulator", "native")
"""Arrangements in which a state is a ``JointState``, with names."""
WITH_STAMPS = (*WITH_MESSAGES, "serve", "serve-native")
"""Arrangements in which a state has a stamp; the driver of an exported controller hands over no old states."""
EVERYWHERE = (*WITH_STAMPS, "exported")
WITH_LOOKS = ("gate", "simulator", "exported")
"""Arrangements in which something happens also while nothing comes."""
OF_NODES = ("controller", "gate", "simulator")
"""Arrangements of nodes whose arm can be another one."""
WITH_CHUNKS = (*OF_NODES, "serve")
"""Arrangements in which a policy may send chunks."""


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes
    ----------
    verdict : str
        What must come of it: :data:`BRAKES`, :data:`GOES_ON`, :data:`HOLDS`, :data:`LIMITED`, :data:`STAYS` or
        :data:`KEEPS`.
    topic : str
        The messages that it concerns: states, commands, or inputs of a controller; empty: none.
    make : callable, optional
        Makes the interference with them, for one run.
    events : tuple of (float, callable)
        Time since the onset [s], and what happens to the chain then.
    period : float
        Time between two states from the onset on [s].
    n_right : int
        Messages from the onset on that are right all the same.
    latest_brake : float
        Time in which a braking torque must come, where that is longer than usual [s].
    are_states_lost : bool
        Whether no state can be used from then on, where they are needed: the arm is braked on a prediction.
    controller : str
        The only controller that it concerns; empty: there are several.
    kept : callable, optional
        Takes the place p of the hand at the start, and returns the text of a file with constraints.
    """

    name: str
    what: str
    verdict: str = BRAKES
    topic: str = ""
    make: Callable[[], Interference] | None = None
    events: tuple[tuple[float, Callable[[Chain], None]], ...] = ()
    arrangements: tuple[str, ...] = EVERYWHERE
    period: float = 1e-3
    n_right: int = 0
    latest_brake: float = 0.0
    are_states_lost: bool = False
    controller: str = ""
    kept: Callable[..., str] | None = None


# -- events ----------------------------------------------------------------------------------------


def disable(chain: Chain) -> None:
    """Brake by hand."""
    chain.arrangement.brake("disabled")


def send_older(chain: Chain, n: int, edit: Edit) -> None:
    """Send states of another publisher."""
    for k in range(n):
        message = chain.measured_state()
        edit(message)
        shifted(k * MS_NS)(message)
        chain.send_state(Delivery(message, publisher=OTHER))


@cache
def other_model(robot: str, name: str) -> RobotModel:
    """Return an arm that is not the one that is there: ``newline``, ``heavy``, ``exchanged`` or ``other``."""
    text = urdf_path(robot).read_text()
    if name == "newline":
        return RobotModel.from_urdf(f"{text}\n")
    if name == "heavy":
        return RobotModel.from_urdf(re.sub(r'(?<=mass value=")[\d.]+', lambda mass: str(1.05 * float(mass[0])), text))
    if name == "exchanged":
        a, b = RobotModel.from_urdf(urdf_path(robot)).joint_names[1:3]
        return RobotModel.from_urdf(text.replace(a, "another_joint").replace(b, a).replace("another_joint", b))
    return RobotModel.from_urdf(urdf_path("planar2"))


def publish_model(name: str, chain: Chain) -> None:
    """Publish another ``robot_description``."""
    chain.arrangement.publish_model(other_model(chain.setup.robot, name))


# -- the list --------------------------------------------------------------------------------------

ABSURD = {"nan": np.nan, "inf": np.inf, "1e308": 1e308}
FIELDS = {STATES: ("position", "velocity"), COMMANDS: ("effort",)}


def all_faults() -> tuple[Fault, ...]:
    """Return every fault."""
    messages = *_of_time(), *_of_values(), *_of_publishers()
    return (*messages, *_of_processes(), *_of_latches(), *_of_models(), *_of_chunks(), *_of_constraints())


def _of_time() -> Iterable[Fault]:
    for topic in FIELDS:
        one = topic.removesuffix("s")
        make = partial(_fault, topic)
        stamps = partial(make, arrangements=WITH_STAMPS) if topic == "states" else make
        lost_for_good: dict[str, Any] = {"are_states_lost": topic == "states"}
        yield make("19-lost", f"19 {topic} in a row are lost", lambda: lost(19), GOES_ON)
        yield make("21-lost", f"21 {topic} in a row are lost", lambda: lost(21))
        yield make("10-percent-lost", f"10 % of the {topic} are lost", lambda: lost_at_random(0.1), GOES_ON)
        stopped = {**lost_for_good, "arrangements": WITH_LOOKS} if topic == "states" else {}
        yield make("stopped", f"no {one} comes any more", lambda: lost(10**9), **stopped)
        yield stamps("30-ms-late", f"{topic} are 30 ms late", lambda: late(0.03))
        yield stamps(
            "hour-ahead-once", f"one {one} is an hour ahead", lambda: edited(shifted(HOUR_NS), 1), _hour(topic)
        )
        yield stamps("hour-ahead", f"all {topic} are an hour ahead", lambda: edited(shifted(HOUR_NS)))
        yield stamps(
            "hour-ahead-in-turn",
            f"every second {one} is an hour ahead",
            lambda: edited(shifted(HOUR_NS), every=2),
            _hour(topic),
        )
        yield stamps("stamp-0", f"all {topic} have the stamp 0", lambda: edited(stamped_zero), **lost_for_good)
        yield stamps(
            "backwards", f"the time of the {topic} runs backwards", lambda: edited(running_backwards), **lost_for_good
        )
        yield stamps(
            "stamp-repeated",
            f"one {one} is repeated for ever",
            lambda: frozen(with_stamp=True),
            n_right=1,
            **lost_for_good,
        )
        yield make("3-ms-late", f"{topic} are 3 ms late", lambda: late(0.003), GOES_ON)
        yield make("reordered", f"{topic} come in pairs, exchanged", reordered, GOES_ON)
    yield _fault(
        "states",
        "frozen",
        "positions and velocities stay, stamps go on",
        lambda: frozen(with_stamp=False),
        n_right=1,
        latest_brake=0.04,
        are_states_lost=True,
    )
    yield Fault("states:8-khz", "states come 8 times as often", GOES_ON, period=1.25e-4)


def _hour(topic: str) -> str:
    return BRAKES if topic == "states" else GOES_ON


def _of_values() -> Iterable[Fault]:
    for topic, fields in FIELDS.items():
        named: dict[str, Any] = {"arrangements": WITH_MESSAGES, "are_states_lost": True} if topic == "states" else {}
        make = partial(_fault, topic)
        lost_for_good: dict[str, Any] = {"are_states_lost": topic == "states"}
        for name in fields:
            for word, number in ABSURD.items():
                edit = value(name, number)
                yield make(f"{name}-{word}", f"a {name} is {word}", partial(edited, edit), **lost_for_good)
                yield make(
                    f"{name}-{word}-once",
                    f"a {name} is {word}, once",
                    partial(edited, edit, 1),
                    GOES_ON if _is_passed_over(name, word) else BRAKES,
                )
            yield make(f"{name}-short", f"one {name} is missing", partial(edited, resized(name, -1)), **named)
            yield make(f"{name}-long", f"there is one {name} too many", partial(edited, resized(name, 1)), **named)
        yield make("renamed", "a joint has another name", lambda: edited(renamed), **named)
        yield make("named-twice", "a joint is named twice", lambda: edited(named_twice), **named)
        yield make("empty", "all values are missing", partial(edited, emptied(*fields)), **named)
    make = partial(_fault, "states")
    edit = value("velocity", 5e-324, 5)
    yield make("velocity-denormal", "a velocity is 5e-324, once", partial(edited, edit, 1), GOES_ON)
    without = partial(make, arrangements=WITH_MESSAGES)
    yield without("no-velocity", "velocities are missing", lambda: edited(emptied("velocity")), GOES_ON)
    wrong = partial(make, are_states_lost=True)
    yield wrong("velocity-1e4", "a velocity is 10,000 rad/s", lambda: edited(value("velocity", 1e4)))
    yield wrong("velocity-20", "a velocity is 20 rad/s", lambda: edited(value("velocity", 20.0)))
    yield wrong("position-1e6", "a position is 1,000,000 rad", lambda: edited(value("position", 1e6)))
    yield wrong("position-jumps", "all positions are 0.5 rad away", lambda: edited(elsewhere))
    yield without(
        "position-1e308-no-velocity",
        "a position is 1e308, without velocities",
        lambda: edited(_absurd_alone),
        are_states_lost=True,
    )
    yield _fault("commands", "100-newton-metres", "all torques are 100 N m", lambda: edited(pulling), LIMITED)


def _is_passed_over(name: str, word: str) -> bool:
    """Whether one such value is a message that is missing, not a wrong measurement."""
    return name == "effort" or word in {"nan", "inf"}


def _absurd_alone(message: Any) -> None:
    emptied("velocity")(message)
    value("position", 1e308)(message)


def _of_publishers() -> Iterable[Fault]:
    yield _fault(
        "states",
        "second-publisher",
        "a second publisher of states, with newer stamps and other values",
        lambda: doubled(elsewhere),
        GOES_ON,
        arrangements=WITH_STAMPS,
    )
    yield _fault(
        "states",
        "second-publisher-stamp-0",
        "a second publisher of states, with stamp 0",
        lambda: doubled(stamped_zero),
        GOES_ON,
        arrangements=WITH_STAMPS,
    )
    yield _fault("commands", "second-publisher", "a second publisher of commands", lambda: doubled(pulling), GOES_ON)
    yield _fault(
        "commands",
        "of-a-braked-controller",
        "the controller says that it brakes",
        lambda: edited(lambda message: braked(message, "a test")),
    )


def _of_processes() -> Iterable[Fault]:
    kill = (0.0, lambda chain: chain.arrangement.end_controller())
    yield Fault("controller:killed", "the controller ends", events=(kill,), arrangements=WITH_COMMANDS)


def _of_latches() -> Iterable[Fault]:
    brake = (0.0, disable)
    yield Fault("braked:by-hand", "somebody brakes", events=(brake,))
    zero = partial(send_older, n=1, edit=stamped_zero)
    older = partial(send_older, n=20, edit=shifted(-NANOSECONDS // 4))
    newline, heavy = partial(publish_model, "newline"), partial(publish_model, "heavy")
    for when, t in (("in-motion", 0.01), ("at-rest", 0.4)):
        for name, then, event, arrangements in (
            ("stamp-0", "one state with stamp 0", zero, WITH_STAMPS),
            ("20-older", "20 states with older stamps", older, WITH_STAMPS),
            ("same-model", "the robot_description with a newline more", newline, OF_NODES),
            ("other-masses", "a robot_description with 5 % more mass", heavy, OF_NODES),
        ):
            events = (brake, (t, event))
            what = f"braked, then {then}"
            yield Fault(f"braked:{name}-{when}", what, HOLDS, events=events, arrangements=arrangements)


def _of_models() -> Iterable[Fault]:
    for name, words in (
        ("newline", "a newline more"),
        ("heavy", "5 % more mass"),
        ("exchanged", "two names exchanged"),
        ("other", "two joints"),
    ):
        events = ((0.0, partial(publish_model, name)),)
        what = f"in motion, a robot_description with {words}"
        yield Fault(f"model:{name}", what, GOES_ON, events=events, arrangements=OF_NODES)


def _of_chunks() -> Iterable[Fault]:
    make = partial(_fault, "joint_chunk", arrangements=WITH_CHUNKS, controller="follow")
    yield make("stopped", "the policy ends: no chunk comes any more", lambda: lost(10**9), STAYS)
    yield make("repeated", "the policy repeats one chunk for ever", lambda: frozen(with_stamp=True), STAYS)
    yield make("frozen", "its chunks stay, stamps go on", lambda: frozen(with_stamp=False), STAYS)
    yield make("10-khz", "chunks come at 10 kHz, each later than the last", lambda: flooded(660, MS_NS // 10), GOES_ON)
    yield make("jumps", "chunks are half a radian away", lambda: edited(first_point(0.5)), STAYS)
    for name, what, edit in (
        ("of-another-arm", "are of another arm, with a joint more", of_another_arm),
        ("nan", "have a nan", first_point(np.nan)),
        ("hour-ahead", "are an hour ahead", shifted(HOUR_NS)),
    ):
        yield make(name, f"all chunks {what}", partial(edited, edit), STAYS)
        yield make(f"{name}-in-turn", f"every second chunk: they {what}", partial(edited, edit, every=2), GOES_ON)


def _of_constraints() -> Iterable[Fault]:
    def fault(name: str, what: str, verdict: str, act: Event | None = None, **options: Any) -> Fault:
        events = () if act is None else ((0.0, act),)
        usual = {"arrangements": ("controller",), "kept": partial(walls, FAR_WALL)}
        return Fault(name, what, verdict, events=events, **{**usual, **options})

    outside = partial(walls, 0.05)
    yield fault("constraints:start-outside", "the hand starts 50 mm outside a wall", BRAKES, kept=outside)
    recovers = partial(outside, recovers=True)
    yield fault("constraints:recovery", "the same, with allow_recovery", KEEPS, kept=recovers)
    yield fault("constraints:appears", "a wall appears in front of the hand", KEEPS, change([-0.1]))
    yield fault("constraints:contradict", "a file comes with walls that contradict", BRAKES, change([0.1, -0.1]))
    for name, what, entry in (
        ("nan", "a wall at nan", "kind: half_space, point: [.nan, 0, 0], normal: [0, 1, 0]"),
        ("negative-size", "a box of a negative size", "kind: box, centre: [0, 0, 0], size: [1, -1, 1]"),
        ("unknown-frame", "a link that is not there", "kind: half_space, of: x, point: [0, 0, 0], normal: [0, 1, 0]"),
    ):
        yield fault(f"constraints:{name}", f"a file comes with {what}", GOES_ON, change(entry))
    yield fault("obstacles:appears", "a ball appears in front of the hand", KEEPS, show(ahead), controller="osc")
    yield fault("obstacles:at-the-hand", "a ball appears at the hand", BRAKES, show(at_the_hand))
    yield fault("obstacles:10,000", "10,000 balls come, out of reach", GOES_ON, show(far, MANY))
    yield fault("obstacles:nan", "a ball at nan comes", GOES_ON, show(nowhere))
    yield fault("obstacles:unknown-frame", "a ball comes in a frame that is not there", GOES_ON, show(far, frame="x"))
    flat = SimpleNamespace(x=-0.1, y=-0.1, z=-0.1)
    yield fault("obstacles:negative-size", "a ball of a negative size comes", GOES_ON, show(at_the_hand, scale=flat))


def _fault(
    topic: str, name: str, what: str, make: Callable[[], Interference], verdict: str = BRAKES, **options: Any
) -> Fault:
    """Return a fault of the messages of one topic."""
    usual = {"arrangements": WITH_COMMANDS} if topic == COMMANDS else {}
    return Fault(f"{topic}:{name}", what, verdict, topic, make, **{**usual, **options})
