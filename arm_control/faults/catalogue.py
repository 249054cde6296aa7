"""The faults of the campaign, each by its name: what happens to messages, and what the gate must make of it.

Messages of a topic are numbered from the onset of a fault on. A fault that ends by itself and is short must be passed
over; every other one must end in a brake, and a brake that holds must hold whatever comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from arm_control.core.files import urdf_path
from arm_control.core.time import NANOSECONDS
from arm_control.faults.chain import Chain
from arm_control.faults.chain_setup import OTHER, Delivery, Interference, Plant, braked
from arm_control.faults.interferences import (
    MS_NS,
    Edit,
    doubled,
    edited,
    elsewhere,
    emptied,
    every_second,
    frozen,
    late,
    lost,
    lost_at_random,
    named_twice,
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
HOUR_NS = 3600 * NANOSECONDS


@dataclass(frozen=True)
class Fault:
    """A fault.

    Attributes
    ----------
    name : str
        Its name.
    what : str
        What happens, in words.
    verdict : str
        What must come of it: :data:`BRAKES`, :data:`GOES_ON`, :data:`HOLDS` or :data:`LIMITED`.
    states, commands : callable, optional
        Make the interference with these messages, for one run.
    events : tuple of (float, callable)
        Time since the onset [s], and what happens to the chain then.
    arrangements : tuple of str
        Where it can happen.
    period : float
        Time between two states from the onset on [s].
    plant : Plant
        How the arm differs from its model.
    n_right : int
        Messages from the onset on that are right all the same.
    unservable : str
        Why no software can serve it; empty when it can.
    """

    name: str
    what: str
    verdict: str = BRAKES
    states: Callable[[], Interference] | None = None
    commands: Callable[[], Interference] | None = None
    events: tuple[tuple[float, Callable[[Chain], None]], ...] = ()
    arrangements: tuple[str, ...] = ("simulator", "hardware")
    period: float = 1e-3
    plant: Plant = field(default_factory=Plant)
    n_right: int = 0
    unservable: str = ""


# -- events ----------------------------------------------------------------------------------------


def disable(chain: Chain) -> None:
    """Brake by hand."""
    chain.gate.brake("disabled")


def kill_controller(chain: Chain) -> None:
    """End the controller's process."""
    chain.is_controller_running = False


def send_zero_stamp(chain: Chain) -> None:
    """Send one state of another publisher with stamp 0."""
    send_older(chain, 1, stamped_zero)


def send_older(chain: Chain, n: int, edit: Edit) -> None:
    """Send states of another publisher.

    Parameters
    ----------
    chain : Chain
        The run.
    n : int
        How many.
    edit : callable
        Changes each of them.
    """
    for k in range(n):
        message = chain.measured_state()
        edit(message)
        shifted(k * MS_NS)(message)
        chain.send_state(Delivery(message, publisher=OTHER))


def _heavier(mass: re.Match[str]) -> str:
    return f'mass value="{1.05 * float(mass[1])}"'


@cache
def other_model(name: str) -> RobotModel:
    """Return an arm that is not the one that is there: ``newline``, ``heavy``, ``exchanged`` or ``panda``."""
    text = urdf_path("ur5").read_text()
    if name == "newline":
        return RobotModel.from_urdf(f"{text}\n")
    if name == "heavy":
        return RobotModel.from_urdf(re.sub(r'mass value="([\d.]+)"', _heavier, text))
    if name == "exchanged":
        a, b, there = "shoulder_lift_joint", "elbow_joint", "another_joint"
        return RobotModel.from_urdf(text.replace(a, there).replace(b, a).replace(there, b))
    return RobotModel.from_urdf(urdf_path(name))


def publish_model(name: str, chain: Chain) -> None:
    """Publish another ``robot_description``."""
    chain.publish_model(other_model(name))


# -- the list --------------------------------------------------------------------------------------

ABSURD = {"nan": np.nan, "inf": np.inf, "1e308": 1e308}
FIELDS = {"states": ("position", "velocity"), "commands": ("effort",)}


def all_faults() -> tuple[Fault, ...]:
    """Return every fault."""
    return (*_of_time(), *_of_values(), *_of_publishers(), *_of_processes(), *_of_latches(), *_of_models())


def _of_time() -> Iterable[Fault]:
    for topic in FIELDS:
        one = topic.removesuffix("s")
        make = partial(_fault, topic)
        yield make("19-lost", f"19 {topic} in a row are lost", lambda: lost(19), GOES_ON)
        yield make("21-lost", f"21 {topic} in a row are lost", lambda: lost(21))
        yield make("10-percent-lost", f"10 % of the {topic} are lost", lambda: lost_at_random(0.1), GOES_ON)
        yield make("stopped", f"no {one} comes any more", lambda: lost(10**9))
        yield make("30-ms-late", f"{topic} are 30 ms late", lambda: late(0.03))
        yield make("hour-ahead-once", f"one {one} is an hour ahead", lambda: edited(shifted(HOUR_NS), 1), _hour(topic))
        yield make("hour-ahead", f"all {topic} are an hour ahead", lambda: edited(shifted(HOUR_NS)))
        yield make(
            "hour-ahead-in-turn",
            f"every second {one} is an hour ahead",
            lambda: every_second(shifted(HOUR_NS)),
            _hour(topic),
        )
        yield make("stamp-0", f"all {topic} have the stamp 0", lambda: edited(stamped_zero))
        yield make("backwards", f"the time of the {topic} runs backwards", lambda: edited(running_backwards))
        yield make("stamp-repeated", f"one {one} is repeated for ever", lambda: frozen(with_stamp=True), n_right=1)
    yield _fault("states", "3-ms-late", "states are 3 ms late", lambda: late(0.003), GOES_ON)
    yield _fault("commands", "3-ms-late", "commands are 3 ms late", lambda: late(0.003), GOES_ON)
    yield _fault("states", "reordered", "states come in pairs, exchanged", reordered, GOES_ON)
    yield _fault("commands", "reordered", "commands come in pairs, exchanged", reordered, GOES_ON)
    yield _fault(
        "states", "frozen", "positions and velocities stay, stamps go on", lambda: frozen(with_stamp=False), n_right=1
    )
    yield Fault("states:8-khz", "states come 8 times as often", GOES_ON, period=1.25e-4)


def _hour(topic: str) -> str:
    return BRAKES if topic == "states" else GOES_ON


def _of_values() -> Iterable[Fault]:
    for topic, fields in FIELDS.items():
        for name in fields:
            for word, number in ABSURD.items():
                edit = value(name, number)
                yield _fault(topic, f"{name}-{word}", f"a {name} is {word}", partial(edited, edit))
                yield _fault(
                    topic,
                    f"{name}-{word}-once",
                    f"a {name} is {word}, once",
                    partial(edited, edit, 1),
                    GOES_ON if _is_passed_over(name, word) else BRAKES,
                )
            edit = resized(name, -1)
            yield _fault(topic, f"{name}-short", f"one {name} is missing", partial(edited, edit))
            yield _fault(topic, f"{name}-long", f"there is one {name} too many", partial(edited, resized(name, 1)))
        yield _fault(topic, "renamed", "a joint has another name", lambda: edited(renamed))
        yield _fault(topic, "named-twice", "a joint is named twice", lambda: edited(named_twice))
        yield _fault(topic, "empty", "all values are missing", partial(edited, emptied(*fields)))
    yield _fault(
        "states",
        "velocity-denormal",
        "a velocity is 5e-324, once",
        lambda: edited(value("velocity", 5e-324, 5), 1),
        GOES_ON,
    )
    yield _fault("states", "no-velocity", "velocities are missing", lambda: edited(emptied("velocity")), GOES_ON)
    yield _fault("states", "velocity-1e4", "a velocity is 10,000 rad/s", lambda: edited(value("velocity", 1e4)))
    yield _fault("states", "velocity-20", "a velocity is 20 rad/s", lambda: edited(value("velocity", 20.0)))
    yield _fault("states", "position-1e6", "a position is 1,000,000 rad", lambda: edited(value("position", 1e6)))
    yield _fault("states", "position-jumps", "all positions are 0.5 rad away", lambda: edited(elsewhere))
    yield _fault(
        "states", "position-1e308-no-velocity", "a position is 1e308, without velocities", lambda: edited(_absurd_alone)
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
    )
    yield _fault(
        "states",
        "second-publisher-stamp-0",
        "a second publisher of states, with stamp 0",
        lambda: doubled(stamped_zero),
        GOES_ON,
    )
    yield _fault("commands", "second-publisher", "a second publisher of commands", lambda: doubled(pulling), GOES_ON)
    yield _fault(
        "commands",
        "of-a-braked-controller",
        "the controller says that it brakes",
        lambda: edited(lambda message: braked(message, "a test")),
    )


def _of_processes() -> Iterable[Fault]:
    yield Fault("controller:killed", "the controller ends", events=((0.0, kill_controller),))
    reason = "without states only the model says where the arm is; what the model lacks in weight goes on pulling"
    stopped = partial(_fault, "states", make=lambda: lost(10**9), arrangements=("hardware",), unservable=reason)
    yield stopped("stopped-5-percent-heavier", "no state comes any more; links weigh 5 % more", plant=Plant(mass=1.05))
    yield stopped("stopped-5-percent-lighter", "no state comes any more; links weigh 5 % less", plant=Plant(mass=0.95))
    yield stopped(
        "stopped-with-friction",
        "no state comes any more; friction of 5 % of the effort limits",
        plant=Plant(friction=0.05),
    )


def _of_latches() -> Iterable[Fault]:
    hold = partial(Fault, verdict=HOLDS)
    brake = (0.0, disable)
    for when, t in (("in-motion", 0.01), ("at-rest", 0.4)):
        yield hold(
            f"braked:stamp-0-{when}", "braked, then one state with stamp 0", events=(brake, (t, send_zero_stamp))
        )
        yield hold(
            f"braked:20-older-{when}",
            "braked, then 20 states with older stamps",
            events=(brake, (t, lambda chain: send_older(chain, 20, shifted(-NANOSECONDS // 4)))),
        )
        yield hold(
            f"braked:same-model-{when}",
            "braked, then the robot_description with a newline more",
            events=(brake, (t, partial(publish_model, "newline"))),
        )
        yield hold(
            f"braked:other-masses-{when}",
            "braked, then a robot_description with 5 % more mass",
            events=(brake, (t, partial(publish_model, "heavy"))),
        )


def _of_models() -> Iterable[Fault]:
    for name, words in (
        ("newline", "a newline more"),
        ("heavy", "5 % more mass"),
        ("exchanged", "two names exchanged"),
        ("panda", "seven joints"),
    ):
        yield Fault(
            f"model:{name}",
            f"in motion, a robot_description with {words}",
            GOES_ON,
            events=((0.0, partial(publish_model, name)),),
        )


def _fault(
    topic: str, name: str, what: str, make: Callable[[], Interference], verdict: str = BRAKES, **options: Any
) -> Fault:
    """Return a fault of the messages of one topic."""
    fault = Fault(f"{topic}:{name}", what, verdict, **options)
    return replace(fault, states=make) if topic == "states" else replace(fault, commands=make)
