"""Small changes of a module's text, one at a time: what a slip of the author could have written instead.

Changed are comparisons, ``and`` and ``or``, ``not``, signs and operators, numbers and truth values, and functions such
as ``min``; left out are statements that raise, return, yield, call, count, or set an attribute after ``__init__``. Not
changed are texts, types, imports, decorators, assertions (``assert``, ``zip(strict=True)``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
)
FUNCTIONS = {a: b for pair in PAIRS for a, b in (pair, pair[::-1])}
LEFT_OUT = (ast.Return, ast.Raise, ast.Continue, ast.Break, ast.Call)
"""Statements, or what a statement is made of, that are left out."""
CONTEXT = 24
"""Characters of a statement that are shown on either side of a change."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Attributes
    ----------
    path : str
        The module's file, from the package's folder.
    line : int
        Line of the change.
    scope : str
        Class and function of it; outside of them the constant.
    change : str
        Part of the statement before and after.
    text : str
        The changed module.
    """

    path: str
    line: int
    scope: str
    change: str
    text: str

    @property
    def key(self) -> str:
        """What identifies the change although lines move."""
        return f"{self.path} {self.scope}: {self.change}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.scope}: {self.change}"


@dataclass
class _Place:
    """Where a node stands in the tree: a field of its parent, or an entry of a list in it."""

    node: ast.AST
    parent: ast.AST
    field: str
    index: int | None
    statement: ast.stmt
    scope: tuple[str, ...]

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(file: Path, package: Path, *, has_text: bool = True) -> list[Mutant]:
    """Return every mutant of a module.

    Parameters
    ----------
    file : Path
        The module.
    package : Path
        Folder of the package.
    has_text : bool
        Whether the mutants have the text of their module, which takes most of the time.
    """
    parts = [ast.Module([statement], []) for statement in ast.parse(file.read_text()).body]
    texts = [ast.unparse(part) for part in parts]
    mutants = []
    for k, place in [(k, place) for k, part in enumerate(parts) for place in _places(part, None, ())]:
        before = _text(place.statement)
        for changed in _changes(place):
            place.put(ast.fix_missing_locations(ast.copy_location(changed, place.node)))
            after = _text(changed if place.node is place.statement else place.statement)
            text = ""
            if has_text:  # only one statement is new
                text = "\n".join([*texts[:k], ast.unparse(parts[k]), *texts[k + 1 :]])
            place.put(place.node)
            line = int(getattr(place.node, "lineno", place.statement.lineno))
            path = file.relative_to(package).as_posix()
            scope = ".".join(place.scope) or before.partition("=")[0].partition(":")[0].strip()
            mutants.append(Mutant(path, line, scope, _difference(before, after), text))
    return mutants


def _places(node: ast.AST, statement: ast.stmt | None, scope: tuple[str, ...]) -> Iterator[_Place]:
    """Every node that may be changed, in the order of the text."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment", "ctx"):
            continue
        children = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Assert | ast.Import | ast.ImportFrom):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            own = child if isinstance(child, ast.stmt) else statement
            if own is not None:
                yield _Place(child, node, field, index, own, scope)
            is_scope = isinstance(child, ast.FunctionDef | ast.ClassDef)
            yield from _places(child, own, (*scope, child.name) if is_scope else scope)


def _changes(place: _Place) -> Iterator[ast.AST]:
    """What may stand in a place instead."""
    node = place.node
    if isinstance(node, ast.stmt):
        yield from _changed_statements(node, place)
    elif isinstance(node, ast.Compare):
        yield from _changed_comparisons(node)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        is_type = isinstance(node.op, ast.BitOr) and isinstance(node.left, ast.Name | ast.BinOp)
        if not (is_type and isinstance(node.right, ast.Name)):
            yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant):
        yield from map(ast.Constant, _changed_values(node.value))
    elif isinstance(node, ast.Call):
        yield from _changed_calls(node)
    if place.field in ("test", "ifs") and not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)


def _changed_statements(node: ast.stmt, place: _Place) -> Iterator[ast.AST]:
    """A statement that is left out, or counts in the other direction."""
    if isinstance(node, ast.AugAssign):
        if type(node.op) in OPERATORS:
            yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield | ast.YieldFrom):
        yield ast.If(ast.Constant(False), [node], [])  # it stays a generator
    elif isinstance(node.value if isinstance(node, ast.Expr) else node, LEFT_OUT):
        yield ast.Pass()
    elif isinstance(node, ast.Assign) and place.scope[-1:] != ("__init__",):
        names = [part for target in node.targets for part in ast.walk(target)]
        if place.scope and any(isinstance(name, ast.Attribute | ast.Subscript) for name in names):
            yield ast.Pass()


def _changed_comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for i, operator in enumerate(node.ops):
        for other in COMPARISONS[type(operator)]:
            yield ast.Compare(node.left, [*node.ops[:i], other(), *node.ops[i + 1 :]], node.comparators)


def _changed_values(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value - 1)
    if isinstance(value, float):
        return (2.0 * value, 0.5 * value) if value else (1.0, -1.0)
    return ()


def _changed_calls(node: ast.Call) -> Iterator[ast.AST]:
    function = node.func
    if isinstance(function, ast.Name) and function.id in FUNCTIONS:
        yield ast.Call(ast.Name(FUNCTIONS[function.id], ast.Load()), node.args, node.keywords)
    elif isinstance(function, ast.Attribute) and function.attr in FUNCTIONS:
        changed = ast.Attribute(function.value, FUNCTIONS[function.attr], ast.Load())
        yield ast.Call(changed, node.args, node.keywords)


def _text(statement: ast.AST) -> str:
    """A statement in one line; of one that holds others its first line."""
    return ast.unparse(ast.fix_missing_locations(statement)).partition("\n")[0]


def _difference(before: str, after: str) -> str:
    """The part of two texts in which they differ, with some characters around it."""
    start = next((i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before))
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    first, last = max(start - CONTEXT, 0), max(end - CONTEXT, 0)
    return f"{before[first : len(before) - last]} -> {after[first : len(after) - last]}"
