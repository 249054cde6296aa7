"""The gates behind a controller: a brake of one of them holds the controller, too.

A controller whose torque is not applied must not go on as if it were: its goals would run away from the arm, and its
observer would learn the brake. So it listens to the gates between itself and the motors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from arm_control.maths import Array

GATES_BEHIND = ("gate", "simulator", "coppeliasim_bridge")
"""Nodes with a gate between a controller and the motors, in the order in which torque passes them."""
ENABLED = "enabled; "
"""How the reason begins of a gate that holds the arm behind a brake."""
GATE_SILENCE = 1.0
"""Time without a report after which a gate that was heard holds the controller [s]."""


class GateState(Enum):
    """What a gate does with commands."""

    HOLDING = "holding"
    """It holds the arm until a command passes: at the start, and after a brake that was ended."""
    PASSING = "passing"
    """It passes commands, within the limits."""
    BRAKING = "braking"
    """It brakes and holds the arm, and refuses commands until it is enabled."""


HOLDING, PASSING, BRAKING = STATES = tuple(GateState)  # looking up a member takes as long as a kernel


class GateReport(NamedTuple):
    """What one gate does.

    Attributes
    ----------
    state : str
        Value of its :class:`GateState`; ``silent`` where nothing is heard of it.
    since_ns : int
        Stamp of the state in which it began to do so, by the clock of the states [ns].
    tau : ndarray, shape (n,), or None
        Torque that it applies now, in the order of ``joints`` [N m or N]; None before the first one.
    success_rate : str
        Share of accepted commands [%], in words; empty where it is not reported.
    """

    name: str
    state: str
    reason: str = ""
    since_ns: int = 0
    tau: Array | None = None
    joints: tuple[str, ...] = ()
    success_rate: str = ""

    @property
    def is_passing(self) -> bool:
        """Whether commands pass."""
        return self.state == GateState.PASSING.value

    def __str__(self) -> str:
        rate = f"success rate {self.success_rate} %" if self.success_rate else ""
        return "  ".join(filter(None, [f"{self.name:<16}", f"{self.state:<7}", self.reason, rate])).rstrip()


class GatesBehind:
    """Which of the gates behind a controller holds it.

    A gate that brakes holds the controller until it passes commands again: in between it holds the arm, and waits for
    the first one. So does one that passed commands and now says that it was enabled: it has braked in between. A gate
    that was heard and is silent holds the controller until it is heard again.

    Parameters
    ----------
    clock : callable
        Returns the time of a steady clock [s].
    watches_silence : bool
        Whether silence counts; not in lock step, where no clock does.

    Examples
    --------
    >>> gates = GatesBehind(["gate"], clock=lambda: 0.0)
    >>> gates.hear(GateReport("gate", "braking", "disabled"))
    >>> gates.held_by, gates.is_braking
    ('gate: disabled', True)
    >>> gates.hear(GateReport("gate", "holding"))
    >>> gates.held_by, gates.is_braking
    ('gate: disabled', False)
    >>> gates.hear(GateReport("gate", "passing"))
    >>> gates.held_by
    ''
    """

    def __init__(self, names: Sequence[str], clock: Callable[[], float], watches_silence: bool = True) -> None:
        self.names = tuple(names)
        self._clock = clock
        self._watches_silence = watches_silence
        self._began_at = clock()
        self._heard_at: dict[str, float] = {}
        self._reports: dict[str, GateReport] = {}
        self._brakes: dict[str, GateReport] = {}

    def hear(self, report: GateReport) -> None:
        """Take a report; one of another gate is ignored."""
        name = report.name
        if name not in self.names:
            return
        before = self._reports.get(name)
        self._reports[name], self._heard_at[name] = report, self._clock()
        is_ended = report.state == GateState.HOLDING.value and report.reason.startswith(ENABLED)
        has_braked = is_ended and before is not None and before.is_passing
        if report.state == GateState.BRAKING.value or has_braked:
            self._brakes[name] = report
        elif report.is_passing:
            self._brakes.pop(name, None)

    @property
    def held_by(self) -> str:
        """Gate that holds the controller, and its reason, as ``<gate>: <reason>``; empty where none does.

        Of several it is the one that has braked first; gates that are only silent come behind those.
        """
        silent = self._silent()
        if not (name := self._holder(silent)):
            return ""
        reasons = [self._brakes[name].reason or GateState.BRAKING.value] if name in self._brakes else []
        return f"{name}: {', '.join(reasons + [f'silent for {GATE_SILENCE:g} s'] * (name in silent))}"

    @property
    def is_braking(self) -> bool:
        """Whether one of them brakes now, or is silent: else it takes commands, also while the controller is held."""
        return any(self._reports[name].state == GateState.BRAKING.value for name in self._brakes) or bool(
            self._silent()
        )

    def tau(self, joint_names: Sequence[str]) -> Array | None:
        """Return the newest torque of the gate that holds the controller.

        Returns
        -------
        ndarray, shape (len(joint_names),), or None
            Torque [N m or N]; None where no gate holds, or the torque of one of these joints is not known.
        """
        report = self._reports.get(self._holder(self._silent()))
        if report is None or report.tau is None or not set(joint_names) <= set(report.joints):
            return None
        return report.tau[[report.joints.index(name) for name in joint_names]]

    def unheard(self, after: float = 1.0) -> list[str]:
        """Return the gates from which nothing has been heard so long after the start [s]."""
        is_early = self._clock() - self._began_at < after
        return [] if is_early else [name for name in self.names if name not in self._reports]

    def _holder(self, silent: Sequence[str]) -> str:
        """Name of the gate that holds; empty where none does."""
        if self._brakes:
            return min(self._brakes.values(), key=lambda report: report.since_ns).name
        return min(silent, key=self._heard_at.__getitem__, default="")

    def _silent(self) -> list[str]:
        if not self._watches_silence:
            return []
        now = self._clock()
        return [name for name, heard_at in self._heard_at.items() if now - heard_at > GATE_SILENCE]
