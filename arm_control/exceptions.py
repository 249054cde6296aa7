"""Every error this package raises on purpose.

All of them derive from :class:`ArmControlError`, so one ``except`` catches what the package has to
say, and from the built-in class a caller would expect (``ValueError`` for bad input). A message says
what is wrong, what was found and what is allowed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

NUMBER = re.compile(r"(?<![\w.])[+-]?(\d[\d.]*(e[+-]?\d+)?|nan|inf)(?!\w)", re.IGNORECASE)
"""A number that stands for itself, not one in a name such as ``joint_1``."""


class ArmControlError(Exception):
    """Root of the package's errors."""


class ModelError(ArmControlError, ValueError):
    """A robot model cannot be built or does not fit what it is used with."""


class UrdfError(ModelError):
    """A URDF is unreadable, unsafe or physically impossible; the message names the link or joint.

    Attributes
    ----------
    problems : tuple of str
        The single problems, a sentence each.
    """

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        self.problems = tuple(problems) or (message,)
        super().__init__("\n- ".join([message, *problems]))


class FrameNotFound(ModelError):
    """A frame (link) name that the model does not have.

    Attributes
    ----------
    name : str
        The frame that was asked for.
    available : tuple of str
        The frames there are.
    """

    def __init__(self, name: str, available: Iterable[str]) -> None:
        self.name, self.available = name, tuple(available)
        super().__init__(f"unknown frame '{name}'; the model has: {', '.join(self.available)}")


class JointNotFound(ModelError):
    """A joint name that the model does not have.

    Attributes
    ----------
    name : str
        The joint that was asked for.
    available : tuple of str
        The joints there are.
    """

    def __init__(self, name: str, available: Iterable[str]) -> None:
        self.name, self.available = name, tuple(available)
        super().__init__(f"unknown joint '{name}'; the model has: {', '.join(self.available)}")


class InputError(ArmControlError, ValueError):
    """A state, command or target that must not be used: wrong size, not finite, stale, misnamed."""


class ParameterError(ArmControlError, ValueError):
    """A parameter or configuration file with an unknown key, a wrong type or a value out of bounds."""


class SimulationDiverged(ArmControlError, RuntimeError):
    """A simulation left the finite numbers.

    Attributes
    ----------
    t : float
        Simulated time [s] of the last state.
    q, v : sequence of float
        The last joint positions [rad] and velocities [rad/s].
    """

    def __init__(self, t: float, q: Iterable[float], v: Iterable[float]) -> None:
        self.t, self.q, self.v = t, tuple(q), tuple(v)
        super().__init__(f"the simulation diverged at t = {t:.6f} s: q = {self.q}, v = {self.v}")


class SimulatorLost(ArmControlError, ConnectionError):
    """A simulator outside does not answer, or no longer does what it is told; to connect again may help."""


class NodeDied(ArmControlError, RuntimeError):
    """A node of a running scenario ended by itself; the message names it."""


class MissingExtra(ArmControlError, ImportError):
    """A feature needs an optional dependency that is not installed.

    Attributes
    ----------
    module : str
        The module that could not be imported.
    extra : str
        The extra of this package that brings it.
    """

    def __init__(self, module: str, extra: str) -> None:
        self.module, self.extra = module, extra
        super().__init__(f"'{module}' is not installed: {sys.executable} -m pip install 'arm_control[{extra}]'")


class BagError(ArmControlError, ValueError):
    """A bag, or a message in one, that cannot be read, written or used for what is asked."""


def cause_of(error: Exception) -> str:
    """Return the words of an error that say what kind it is: those before the first colon, ``#`` for each number.

    What is counted by them stays short: a thousand messages with a stamp each are one cause.
    """
    return NUMBER.sub("#", str(error).split(":", maxsplit=1)[0])
