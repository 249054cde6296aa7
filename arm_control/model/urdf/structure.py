"""The structure of a URDF: names, and the tree of links and joints.

Without it there is no robot at all, so these problems refuse a file wherever they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from arm_control.model.urdf.xml import quote


def structure_problems(robot: Element) -> list[str]:
    """List the problems of the names and of the tree, one sentence each."""
    return [*_name_problems(robot), *_end_problems(robot), *_tree_problems(robot)]


def label_of(part: Element) -> str:
    """Return tag and name of a link, a joint or a material, for a message."""
    return part.tag if part.tag == "robot" else f"{part.tag} {quote(part.get('name'))}"


def _name_problems(robot: Element) -> Iterator[str]:
    for tag in ("link", "joint"):
        for name, count in Counter(part.get("name") or "" for part in robot.iterfind(tag)).items():
            if not name:
                yield f"{count} {tag}(s) have no name; allowed: one name each"
            elif count > 1:
                yield f"the {tag} name {quote(name)} is used {count} times; allowed: once"


def _end_problems(robot: Element) -> Iterator[str]:
    """Check that each joint has one parent and one child."""
    for joint in robot.iterfind("joint"):
        for tag in ("parent", "child"):
            ends = joint.findall(tag)
            if not ends:
                yield f"{label_of(joint)}: <joint> has no {tag}, which is required"
            elif len(ends) > 1:
                yield f"{label_of(joint)}: <joint> has {len(ends)} <{tag}>; allowed: one"
            elif ends[0].get("link") is None:
                yield f"{label_of(joint)}: <{tag}> has no link, which is required"


def _tree_problems(robot: Element) -> Iterator[str]:
    links = dict.fromkeys(link.get("name") for link in robot.iterfind("link"))
    edges = []
    for joint in robot.iterfind("joint"):
        parent, child = _link_of(joint, "parent"), _link_of(joint, "child")
        edges.append((parent, child))
        for name in (parent, child):
            if name is not None and name not in links:
                yield f"{label_of(joint)}: link {quote(name)} does not exist"
    for name, count in Counter(child for _, child in edges).items():
        if count > 1 and name:
            yield f"link {quote(name)} is the child of {count} joints; allowed: one"
    children = {child for _, child in edges}
    roots = [name for name in links if name not in children]
    if len(roots) != 1:
        yield f"robot: the links without a parent joint are {_listing(roots)}; allowed: exactly one root link"
    reachable = _reachable(roots, edges)
    on_cycle = [name for name in links if name not in reachable]
    if on_cycle:
        yield f"the links {_listing(on_cycle)} are on or below a cycle of joints; allowed: a tree"


def _link_of(joint: Element, end: str) -> str | None:
    element = joint.find(end)
    return None if element is None else element.get("link")


def _reachable(roots: list[str | None], edges: list[tuple[str | None, str | None]]) -> set[str | None]:
    reachable: set[str | None] = set()
    pending = set(roots)
    while pending:
        reachable |= pending
        pending = {child for parent, child in edges if parent in pending} - reachable
    return reachable


def _listing(names: list[str | None]) -> str:
    return f"[{', '.join(map(quote, names[:8]))}{', ...' if len(names) > 8 else ''}]"
