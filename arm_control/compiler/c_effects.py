"""What procedures do to memory: which of their names they write through, and which of them change anything.

Both follow from the texts alone. An array or a record that is written through a name is written through all that the
name may stand for: arguments of calls, results, choices.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from arm_control.compiler.procedures import Procedure

Place: TypeAlias = tuple[str, str]
"""A procedure's key, and one of its names; its result is the empty name."""


def called_procedure(procedure: Procedure[..., Any], node: ast.AST) -> Procedure[..., Any] | None:
    """Return the procedure that an expression calls; None where it is no such call.

    Parameters
    ----------
    procedure : Procedure
        The text that the expression is from.
    node : ast.AST
        The expression.
    """
    match node:
        case ast.Call(func=ast.Name(id=name)):
            try:
                called = procedure.look_up(name)
            except KeyError:
                return None  # a function of Python itself
            return called if isinstance(called, Procedure) else None
    return None


def all_procedures(entries: Iterable[Procedure[..., Any]]) -> list[Procedure[..., Any]]:
    """Return procedures and all that they call, each once."""
    known: dict[str, Procedure[..., Any]] = {}
    waiting = list(entries)
    while waiting:
        one = waiting.pop(0)
        if one.key not in known:
            known[one.key] = one
            waiting += [called for node in ast.walk(one.tree) if (called := called_procedure(one, node))]
    return list(known.values())


class Effects:
    """What procedures do to memory.

    Parameters
    ----------
    procedures : iterable of Procedure
        Procedures, with all that they call.
    also : iterable of Place
        Places that count as written.

    Attributes
    ----------
    written : set of Place
        What is written through.
    changing : set of str
        Keys of procedures that write anything, or call what may.
    """

    def __init__(self, procedures: Iterable[Procedure[..., Any]], also: Iterable[Place] = ()) -> None:
        self._sources: dict[Place, set[Place]] = {}
        self._callers: dict[str, set[str]] = {}
        self.written: set[Place] = set()
        self.changing: set[str] = set()
        waiting = list(also)
        for one in procedures:
            for node in ast.walk(one.tree):
                waiting += self._writes(one, node)
                self._note_flow(one, node)
        while waiting:
            place = waiting.pop()
            if place not in self.written:
                self.written.add(place)
                waiting += self._sources.get(place, ())
        keys = list(self.changing)
        while keys:
            new = self._callers.get(keys.pop(), set()) - self.changing
            self.changing |= new
            keys += new

    def _writes(self, one: Procedure[..., Any], node: ast.AST) -> list[Place]:
        """What a statement or a call of a record's function writes through."""
        match node:
            case ast.Assign(targets=[ast.Subscript(value=base)]) | ast.AugAssign(target=ast.Subscript(value=base)):
                pass
            case ast.Call(func=ast.Attribute(value=base)):
                pass
            case _:
                return []
        self.changing.add(one.key)
        return list(_roots(one, base))

    def _note_flow(self, one: Procedure[..., Any], node: ast.AST) -> None:
        """Note which places a name stands for."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._join((one.key, name), one, value)
            case ast.Return(value=ast.expr() as value):
                self._join((one.key, ""), one, value)
        if called := called_procedure(one, node):
            assert isinstance(node, ast.Call)
            self._callers.setdefault(called.key, set()).add(one.key)
            for parameter, value in zip(called.tree.args.args, node.args, strict=False):
                self._join((called.key, parameter.arg), one, value)

    def _join(self, place: Place, one: Procedure[..., Any], value: ast.expr) -> None:
        self._sources.setdefault(place, set()).update(_roots(one, value))

    def are_in_order(self, one: Procedure[..., Any], values: Iterable[ast.expr | None]) -> bool:
        """Whether the order of expressions makes no difference: what one of them changes, no other one reads.

        Parameters
        ----------
        one : Procedure
            The text that they are from.
        values : iterable of ast.expr
            The expressions; those that are None do not count.
        """
        trees = [list(ast.walk(value)) for value in values if value is not None]
        changes = [any(self._is_change(one, node) for node in tree) for tree in trees]
        reads = [any(isinstance(x, ast.Subscript) or called_procedure(one, x) for x in tree) for tree in trees]
        return not any(
            changes[i] and (changes[j] or reads[j]) for i in range(len(trees)) for j in range(len(trees)) if i != j
        )

    def is_change(self, one: Procedure[..., Any], value: ast.expr) -> bool:
        """Whether an expression changes anything.

        Parameters
        ----------
        one : Procedure
            The text that it is from.
        value : ast.expr
            The expression.
        """
        return any(self._is_change(one, node) for node in ast.walk(value))

    def _is_change(self, one: Procedure[..., Any], node: ast.AST) -> bool:
        called = called_procedure(one, node)
        is_of_record = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        return is_of_record or (called is not None and called.key in self.changing)


def _roots(one: Procedure[..., Any], node: ast.expr) -> Iterator[Place]:
    """Names, or results of calls, that an array or a record may be a part of."""
    match node:
        case ast.Name(id=name):
            yield one.key, name
        case ast.Attribute(value=base) | ast.Subscript(value=base):
            yield from _roots(one, base)
        case ast.IfExp(body=yes, orelse=no):
            yield from _roots(one, yes)
            yield from _roots(one, no)
        case ast.Call():
            if called := called_procedure(one, node):
                yield called.key, ""
