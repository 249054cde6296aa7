"""What the node ``proximity`` says of a state: distances by pair, whether there is a contact, lines between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from arm_control.collision import ContactMonitor, Margins, NearPair
from arm_control.core import Parameters, parameter, printable
from arm_control.maths import Array, Obstacle
from arm_control.messages import ADD, DELETE, LINE_LIST, MessageBuilder

NAMESPACE = "proximity"
"""Namespace of the lines."""
CONTACT_COLOUR, FREE_COLOUR = (0.9, 0.2, 0.2, 0.95), (0.5, 0.5, 0.5, 0.95)
"""Red, green, blue and opacity of a line."""
WIDTH = 0.004
"""Of a line [m]."""
SEPARATORS = str.maketrans(",;", "__")
"""Characters that separate labels, and what stands for them in a name."""


@dataclass(frozen=True)
class ProximityParameters(Parameters):
    """Which pairs are published, and which of them are in contact."""

    margin: float = parameter(0.0, "distance from obstacles that counts as contact", unit="m", lower=0.0, live=True)
    link_margin: float = parameter(0.0, "the same between links", unit="m", lower=0.0, live=True)
    reach: float = parameter(0.5, "largest distance that is published", unit="m", lower=0.0, live=True)
    most_pairs: int = parameter(50, "largest number of pairs that are published, the nearest", lower=1, live=True)


class Verdict(NamedTuple):
    """What is said of a state.

    Attributes
    ----------
    pairs : list of NearPair
        Those to be published, the nearest first.
    contact : NearPair or None
        Of all pairs the nearest one that is in contact.
    """

    pairs: list[NearPair]
    contact: NearPair | None

    @property
    def in_collision(self) -> bool:
        """Whether a pair is in contact."""
        return self.contact is not None

    @property
    def text(self) -> str:
        """One sentence: the deepest contact, or the nearest pair."""
        if self.contact is not None and self.contact.distance <= 0.0:
            return f"in contact: {self.contact.label}, {-self.contact.distance:.4f} m deep"
        if self.contact is not None:
            return f"within the margin: {self.contact.label}, {self.contact.distance:.4f} m"
        if self.pairs:
            return f"free of contact: {self.pairs[0].label}, {self.pairs[0].distance:.4f} m"
        return "free of contact: nothing within reach"


class ProximityProcess:
    """Measures states, and builds what is published about them; parameters may be replaced between two states."""

    def __init__(self, monitor: ContactMonitor, parameters: ProximityParameters, builder: MessageBuilder) -> None:
        self.parameters = parameters
        self._monitor, self._builder = monitor, builder

    def verdict(self, q: Array, obstacles: Sequence[Obstacle], names: Sequence[str]) -> Verdict:
        """Measure a state.

        Parameters
        ----------
        names : sequence of str
            Theirs; a comma or a semicolon would separate labels, and is replaced.

        Raises
        ------
        InputError
            When the positions are not finite, or not as many as joints.
        """
        p, margins = self.parameters, self._margins
        labels = [printable(name).translate(SEPARATORS) for name in names]
        reach = max(p.reach, np.nextafter(max(margins), np.inf))
        pairs = self._monitor.near(q, obstacles, labels, reach)
        contact = next((pair for pair in pairs if pair.is_contact(margins)), None)
        return Verdict([pair for pair in pairs if pair.distance < p.reach][: p.most_pairs], contact)

    @property
    def _margins(self) -> Margins:
        return Margins(self.parameters.margin, self.parameters.link_margin)

    def distances(self, verdict: Verdict, stamp_ns: int) -> Any:
        """Return a ``Float64MultiArray`` with a row for each pair [m]."""
        values = np.array([pair.distance for pair in verdict.pairs])
        return self._builder.multi_array(values, ([pair.label for pair in verdict.pairs],), stamp_ns)

    def lines(self, verdict: Verdict, frame: str, stamp_ns: int) -> Any:
        """Return a ``MarkerArray`` with a line between the nearest points of each pair, red in contact."""
        margins = self._margins
        contacts = [pair for pair in verdict.pairs if pair.is_contact(margins)]
        others = [pair for pair in verdict.pairs if not pair.is_contact(margins)]
        markers = [self._line_list(contacts, frame, stamp_ns), self._line_list(others, frame, stamp_ns)]
        for number, (marker, colour) in enumerate(zip(markers, (CONTACT_COLOUR, FREE_COLOUR), strict=True)):
            marker.id = number
            marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
        return self._builder.marker_array(markers)

    def _line_list(self, pairs: Sequence[NearPair], frame: str, stamp_ns: int) -> Any:
        """A ``Marker`` with a line for each pair; it deletes earlier ones where there are none."""
        ends = np.array([(pair.p, pair.p_other) for pair in pairs]).reshape(-1, 3)
        marker = self._builder.line_marker(ends, frame, stamp_ns, WIDTH)
        marker.type, marker.ns = LINE_LIST, NAMESPACE
        marker.action = ADD if pairs else DELETE
        return marker
