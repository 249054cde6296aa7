"""What is wrong with a URDF: a problem where it breaks the controlled arm, else a warning with a cure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

MAX_PLACES = 12
"""Places that a warning names; it counts the others."""


@dataclass(frozen=True)
class Finding:
    """A defect of a URDF at one place.

    Attributes
    ----------
    place : str
        Link, joint or material, such as ``link 'hand'``.
    what : str
        The defect, such as ``mass is -2 kg``.
    allowed : str
        What would be right, for the sentence of a problem.
    cause : str
        The kind of defect and its consequence, for a warning about all places with it.
    is_problem : bool
        Whether the arm cannot be controlled with it.
    cure : callable
        Changes the XML so that the defect has the consequence that ``cause`` states.
    """

    place: str
    what: str
    allowed: str
    cause: str
    is_problem: bool
    cure: Callable[[], object] = field(default=lambda: None, compare=False)

    @property
    def sentence(self) -> str:
        """The defect as a problem."""
        return f"{self.place}: {self.what}; {self.allowed}"


def problems_of(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each problem."""
    return [finding.sentence for finding in findings if finding.is_problem]


def warnings_of(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each cause of warnings, with every place that has it."""
    places: dict[str, dict[str, str]] = {}
    for finding in findings:
        if not finding.is_problem:
            places.setdefault(finding.cause, {}).setdefault(finding.place, finding.what)
    return [f"{cause}: {_listing(at)}" for cause, at in places.items()]


def _listing(places: dict[str, str]) -> str:
    listed = [f"{place} ({what})" if what else place for place, what in places.items()]
    more = [f"and {len(listed) - MAX_PLACES} more"] if len(listed) > MAX_PLACES else []
    return ", ".join([*listed[:MAX_PLACES], *more])


def remover(parent: Element, *children: Element) -> Callable[[], None]:
    """Return a cure that removes elements from their parent, as far as they are still there."""

    def remove() -> None:
        for child in children:
            if child in list(parent):
                parent.remove(child)

    return remove
