"""Where the names of a procedure are declared in C.

A name that is only ever the counter of loops belongs to each loop. Another one is declared where it is first assigned
to, if all that uses it stands behind that in the same block; otherwise in front of it, outside of all loops: a name of
Python lives as long as its function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias


class StatementPlace(NamedTuple):
    """A statement on the way from the function to a name: its block, its place there, whether the block is a loop's."""

    block: Sequence[ast.stmt]
    place: int
    is_loop: bool


Way: TypeAlias = tuple[StatementPlace, ...]


class Variables:
    """The names of a procedure.

    Parameters
    ----------
    definition : ast.FunctionDef
        The procedure.

    Attributes
    ----------
    names : set of str
        All that is assigned to, and the parameters.
    counters : set of str
        Names that are only the counter of loops.
    read : set of str
        Names that are read.
    """

    def __init__(self, definition: ast.FunctionDef) -> None:
        self._parameters = {argument.arg for argument in definition.args.args}
        uses = [(name, way) for way in _ways(definition.body, (), False) for name in _names(way)]
        self.read = {name.id for name, way in uses if isinstance(name.ctx, ast.Load) or _is_change(way)}
        self.names = self._parameters | {name.id for name, _ in uses if isinstance(name.ctx, ast.Store)}
        self.counters = {name for name in self.names - self._parameters if _is_counter(name, uses)}
        self.first: dict[int, list[str]] = {}
        """Names that are declared with the assignment of a statement, or in front of it, by the statement's id."""
        for name in sorted(self.names - self._parameters - self.counters):
            statement = _declaration(name, [way for use, way in uses if use.id == name])
            self.first.setdefault(id(statement), []).append(name)

    def declared_with(self, node: ast.stmt) -> str:
        """Return the name that an assignment declares; empty: none."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in self.first.get(id(node), ()):
                if all(use.id != name for use in ast.walk(node.value) if isinstance(use, ast.Name)):
                    return name
        return ""

    def declared_before(self, node: ast.stmt) -> list[str]:
        """Return the names that are declared in front of a statement."""
        return [name for name in self.first.get(id(node), ()) if name != self.declared_with(node)]


def _ways(body: Sequence[ast.stmt], way: Way, is_loop: bool) -> Iterator[Way]:
    """Ways to all statements."""
    for place, node in enumerate(body):
        here = (*way, StatementPlace(body, place, is_loop))
        yield here
        for inner in (getattr(node, "body", []), getattr(node, "orelse", [])):
            yield from _ways(inner, here, isinstance(node, (ast.For, ast.While)))


def _statement(way: Way) -> ast.stmt:
    return way[-1].block[way[-1].place]


def _names(way: Way) -> Iterator[ast.Name]:
    """Names in a statement itself, without those of the statements in it and of functions that are called."""
    parts = [part for part in ast.iter_child_nodes(_statement(way)) if not isinstance(part, ast.stmt)]
    nodes = [node for part in parts for node in ast.walk(part)]
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    yield from (node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions)


def _is_change(way: Way) -> bool:
    return isinstance(_statement(way), ast.AugAssign)


def _is_counter(name: str, uses: Sequence[tuple[ast.Name, Way]]) -> bool:
    """Whether each use is the target of a loop, or stands in exactly one such loop without an assignment."""
    for use, way in uses:
        if use.id == name:
            loops = [step for step in way[:-1] if _has_target(step.block[step.place], name)]
            is_target = _has_target(_statement(way), name) and isinstance(use.ctx, ast.Store)
            if len(loops) != (0 if is_target else 1) or (isinstance(use.ctx, ast.Store) and not is_target):
                return False
    return True


def _has_target(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name


def _declaration(name: str, ways: Sequence[Way]) -> ast.stmt:
    """The statement with which, or in front of which, a name is declared."""
    depth = 0
    while all(len(way) > depth + 1 and way[depth + 1].block is ways[0][depth + 1].block for way in ways):
        depth += 1
    step = min((way[depth] for way in ways), key=lambda step: step.place)
    node = step.block[step.place]
    is_assigned = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
    if not is_assigned:
        outer = [step for step, inner in zip(ways[0], ways[0][1 : depth + 1], strict=False) if inner.is_loop]
        step = outer[0] if outer else step
    return step.block[step.place]
