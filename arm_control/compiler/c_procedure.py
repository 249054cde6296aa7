"""Procedures as C to read: the same text, the same names, the same bits.

    parts = c_parts([check_state], {StateMemory: memory, NewState: state}, prefix="arm_")

Every record is a structure, of the sizes of an example; every procedure, and all that it calls, is a static function,
which gets records and arrays by their address. Compiled with ``-ffp-contract=off``, and without ``-ffast-math``, the
functions return the same bits as the machine code of :mod:`arm_control.compiler.llvm_procedure`. Whole numbers stay
within 64 bits.

Not everything that can be compiled can be written in C: addresses, atomic numbers and loops over cases are refused, and
so are expressions whose result depends on the order of their operands.

A name that is only ever the counter of loops belongs to each loop. Another one is declared where it is first assigned
to, if all that uses it stands behind that in the same block; otherwise in front of it, outside of all loops: a name of
Python lives as long as its function.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from arm_control.compiler.c_expressions import (
    AND,
    CHOICE,
    EQUALITY,
    INT_MAX,
    NUMBERS,
    OR,
    ORDER,
    PRODUCT,
    SUM,
    UNARY,
    CValue,
    Effects,
    Place,
    Structures,
    c_name,
    constant,
    unused,
)
from arm_control.compiler.procedures import MachineOperation, NotSupported, Procedure, Type, all_procedures, fields_of

WIDTH, INDENT = 120, 4
_ROLE = re.compile(r":\w+:`(?:~[\w.]*?(\w+)|([^`]+))`")
_FOR_TOOLS = ("noqa", "type:", "fmt:")
"""Beginnings of comments that are for tools of Python."""
_BREAK = re.compile(r"(?<=,) | (?=&& |\|\| |\? |: |\+ |- )")
"""Where a line may be broken."""


class Comments:
    """The comments of a procedure from a line on."""

    def __init__(self, source: str, first: int) -> None:
        self._behind: dict[int, str] = {}
        self._above: dict[int, str] = {}
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            text = token.string.lstrip("# ")
            if token.type == tokenize.COMMENT and token.start[0] >= first and not text.startswith(_FOR_TOOLS):
                is_alone = token.line.lstrip().startswith("#")
                (self._above if is_alone else self._behind)[token.start[0]] = text

    def above(self, node: ast.stmt) -> list[str]:
        """Return comments on lines of their own, above a statement, as lines of C; each once."""
        lines = sorted(line for line in self._above if line < node.lineno)
        return [comment(self._above.pop(line)) for line in lines]

    def behind(self, node: ast.stmt) -> str:
        """Return the comments behind a statement, or behind the head of a loop or branch, with a blank in front."""
        head = getattr(node, "test", getattr(node, "iter", node))
        lines = range(node.lineno, (head.end_lineno or node.lineno) + 1)
        text = " ".join(self._behind[line] for line in lines if line in self._behind)
        return f" {comment(text)}" if text else ""


def comment(text: str) -> str:
    """Return a text as a comment."""
    return f"/* {text.replace('*/', '* /').replace('/*', '/ *')} */"


def doc_comment(doc: str | None) -> Iterator[str]:
    """Return a docstring as a comment, without marks of Sphinx."""
    if doc:
        text = _ROLE.sub(lambda role: role[1] or role[2], inspect.cleandoc(doc)).replace("``", "")
        first, *others = comment(text)[:-3].split("\n")
        yield from [first, *(f" * {line}".rstrip() for line in others), " */"] if others else [f"{first} */"]


def shifted(lines: Iterable[str]) -> list[str]:
    """Return the lines of a block."""
    return [" " * INDENT + line for line in lines]


def is_single(lines: list[str]) -> bool:
    """Whether a block needs no braces."""
    return len(lines) == 1 and not lines[0].startswith("/*")


def wrapped(line: str) -> Iterator[str]:
    """Break a line that is too long where it is least nested, as late as possible."""
    code, mark, behind = line.partition(" /* ") if not line.lstrip().startswith("/*") else (line, "", "")
    start = " " * (len(line) - len(line.lstrip()))
    if mark and len(line) > WIDTH:
        yield f"{start}/* {behind}"
        line = code
    is_text = line.lstrip().startswith(("/*", "* "))
    while len(line) > WIDTH and not is_text:
        places = [place.start() for place in _BREAK.finditer(line, len(start) + 2 * INDENT, WIDTH + 1)]
        if not places:
            break
        best = min(places, key=lambda place: (_depth(line[:place]), -place))
        yield line[:best]
        line = f"{start}{' ' * 2 * INDENT}{line[best:].lstrip()}"
    yield line


def _depth(text: str) -> int:
    return sum(text.count(opened) for opened in "([") - sum(text.count(closed) for closed in ")]")


# -- names


class StatementPlace(NamedTuple):
    """A statement on the way from the function to a name: its block, its place there, whether the block is a loop's."""

    block: Sequence[ast.stmt]
    place: int
    is_loop: bool


Way: TypeAlias = tuple[StatementPlace, ...]


class Variables:
    """The names of a procedure: all that is assigned to, and the parameters."""

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


# -- statements


_OPERATORS = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/=", ast.FloorDiv: "/=", ast.Mod: "%="}
_NOTHING = {"int": "0", "float": "0.0", "bool": "false"}
"""First values of variables that are declared in front of their first assignment."""
_LATE = re.compile("\0(.*)\0")
"""What stands for such a declaration."""


_ARITHMETIC = {
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
    ast.Div: ("/", PRODUCT),
    ast.FloorDiv: ("/", PRODUCT),
    ast.Mod: ("%", PRODUCT),
}
_COMPARISONS = {
    ast.Lt: ("<", ORDER),
    ast.LtE: ("<=", ORDER),
    ast.Gt: (">", ORDER),
    ast.GtE: (">=", ORDER),
    ast.Eq: ("==", EQUALITY),
    ast.NotEq: ("!=", EQUALITY),
}
_OPERATIONS = {
    "nearest": ("int", "(int64_t)nearbyint({})"),
    "same_bits": ("int", "({} & {})"),
}
"""Operations: the type of the result, and its text."""
HELPERS = {
    "min_double": "static double {name}(double a, double b)\n{{\n    return b < a ? b : a;\n}}",
    "max_double": "static double {name}(double a, double b)\n{{\n    return b > a ? b : a;\n}}",
    "min_int64": "static int64_t {name}(int64_t a, int64_t b)\n{{\n    return b < a ? b : a;\n}}",
    "max_int64": "static int64_t {name}(int64_t a, int64_t b)\n{{\n    return b > a ? b : a;\n}}",
}
"""Functions of C: the smaller and the larger number as in Python, which is neither ``fmin`` nor ``fmax``."""


class _CProcedureWriter:
    """Writes one procedure: its statements, and their expressions.

    Attributes
    ----------
    head : str
        The function without its body.
    tables : list of Place
        Its names that are tables.
    """

    def __init__(self, procedure: Procedure[..., Any], program: _Program, columns: Sequence[int]) -> None:
        self._procedure, self._program = procedure, program
        self._names: dict[str, CValue] = {}
        self._variables = Variables(procedure.tree)
        self._words = program.variable_names(self._variables.names)
        self._taken = set(self._words.values())
        self._comments = Comments(procedure.source, procedure.tree.body[0].lineno)
        self._result = CValue(procedure.result, "")
        self._late: dict[str, str] = {}
        self.tables: list[Place] = []
        parameters = []
        for argument, of_type, n in zip(procedure.tree.args.args, procedure.types, columns, strict=True):
            parameters.append(self._declare(argument.arg, CValue(of_type, "", columns=n)))
        declaration = program.declaration(self._result, program.name_of_procedure(procedure), (procedure.key, ""))
        self.head = f"static {declaration}({', '.join(parameters) or 'void'})"

    def write(self) -> str:
        """The function's text."""
        definition = self._procedure.tree
        unread = [one.arg for one in definition.args.args if one.arg not in self._variables.read]
        lines = [f"(void){self._words[name]};" for name in unread] + self._block(definition.body)
        body = [_LATE.sub(lambda place: self._late.get(place[1], ""), line) for line in shifted(lines)]
        texts = [*doc_comment(self._procedure.__doc__), self.head, "{", *(line for line in body if line.strip()), "}"]
        return "\n".join(piece for line in texts for piece in wrapped(line))

    def _declare(self, name: str, value: CValue) -> str:
        """Let a name have the type of a value; returns its declaration."""
        if value.type == "Rows":
            self.tables.append((self._procedure.key, name))
        self._names[name] = CValue(value.type, self._words[name], columns=value.columns)
        return self._program.declaration(value, self._words[name], (self._procedure.key, name))

    # Statements

    def _block(self, statements: Sequence[ast.stmt]) -> list[str]:
        return [line for statement in statements for line in self._statement(statement)]

    def _statement(self, node: ast.stmt) -> list[str]:
        """The lines of a statement, with its comments and what is declared in front of it."""
        above = self._comments.above(node)
        late = [f"\0{name}\0" for name in self._variables.declared_before(node)]
        match node:
            case ast.If():
                lines = self._if(node)
            case ast.While(test=test, body=body, orelse=[]):
                lines = self._loop(node, f"while ({self._condition(test).text})", self._block(body))
            case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range")), orelse=[]):
                lines = self._for(node)
            case _:
                lines = [line + self._comments.behind(node) for line in self._simple(node)]
        return [*above, *late, *lines]

    def _simple(self, node: ast.stmt) -> list[str]:  # noqa: PLR0911 - a table
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return []  # a docstring
            case ast.Expr(value=ast.Call() as call):
                return [f"{self._value(call).text};"]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                return [self._assign(node, name, self._value(value))]
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return [self._store(node, target, value)]
            case ast.AugAssign():
                return [self._change(node)]
            case ast.Break():
                return ["break;"]
            case ast.Continue():
                return ["continue;"]
            case ast.Return(value=None | ast.Constant(value=None)) if self._result.type == "None":
                return ["return;"]
            case ast.Return(value=ast.expr() as value) if self._result.type != "None":
                result = self._converted(node, self._value(value), self._result.type)
                return [f"return {result.pointer};"]
            case _:
                raise self._refuse(node)

    def _assign(self, node: ast.stmt, name: str, value: CValue) -> str:
        """Assign to a name; the first value decides its type."""
        known = self._names.get(name)
        if value.type == "None" or (known and known.columns != value.columns):
            raise self._refuse(node)
        if name not in self._variables.read and known is None:
            return f"(void){value.within(UNARY)};"
        if known is None:
            declaration = self._declare(name, value)
            if self._variables.declared_with(node) == name:
                return f"{declaration} = {value.pointer};"
            self._late[name] = f"{declaration} = {_NOTHING.get(str(value.type), 'NULL')};"
        value = self._converted(node, value, self._names[name].type)
        return f"{self._words[name]} = {value.pointer};"

    def _store(self, node: ast.stmt, target: ast.Subscript, value: ast.expr) -> str:
        self._check_order(node, [target.value, target.slice, value])
        place = self._place(target)
        return f"{place.text} = {self._converted(node, self._value(value), place.type).text};"

    def _place(self, target: ast.expr) -> CValue:
        """What is assigned to: a number."""
        place = self._value(target)
        if not isinstance(target, (ast.Name, ast.Subscript)) or place.type not in ("int", "float"):
            raise self._refuse(target)
        return place

    def _change(self, node: ast.AugAssign) -> str:
        self._check_order(node, [node.target, node.value])
        place, value = self._place(node.target), self._value(node.value)
        result = self._arithmetic(node.op, place, value, node)
        self._converted(node, result, place.type)
        value = self._converted(node, value, place.type)
        return f"{place.text} {_OPERATORS[type(node.op)]} {value.text};"

    def _if(self, node: ast.If) -> list[str]:
        """``if``, ``else if`` and ``else``: with braces where one of the blocks needs them."""
        arms: list[tuple[str, list[str], str]] = []
        word, rest = "if", [node]  # type: str, list[ast.stmt]
        while (
            len(rest) == 1 and isinstance(rest[0], ast.If) and not (arms and self._variables.declared_before(rest[0]))
        ):
            one = rest[0]
            behind = self._comments.behind(one)
            head = f"{word} ({self._condition(one.test).text})"
            arms.append((head, self._block(one.body), behind))
            word, rest = "else if", one.orelse
        if otherwise := self._block(rest):
            arms.append(("else", otherwise, ""))
        if all(is_single(lines) for _, lines, _ in arms):
            return [line for head, lines, behind in arms for line in (head + behind, *shifted(lines))]
        result: list[str] = []
        for head, lines, behind in arms:
            result[-1:] = [f"{'} ' if result else ''}{head} {{{behind}", *shifted(lines), "}"]
        return result

    def _loop(self, node: ast.stmt, head: str, body: list[str]) -> list[str]:
        behind = self._comments.behind(node)
        if is_single(body):
            return [head + behind, *shifted(body)]
        return [f"{head} {{{behind}", *shifted(body), "}"]

    def _for(self, node: ast.For) -> list[str]:
        """A loop over a range, whose ends are computed once."""
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        name, arguments = node.target.id, node.iter.args
        self._check_order(node.iter, arguments)
        bounds = [self._value(bound) for bound in arguments]
        if len(bounds) not in (1, 2) or any(bound.type != "int" for bound in bounds):
            raise self._refuse(node.iter)
        first, end, before = bounds[0].text if len(bounds) == 2 else "0", bounds[-1].within(SUM), []
        if not _is_fixed(arguments[-1], node):
            before = [f"const int64_t {(new := self._new_name(f'{self._words[name]}_end'))} = {end};"]
            end = new
        copies: list[str] = []
        counter = self._words[name]
        if name in self._variables.counters:
            self._names[name] = CValue("int", counter)
        else:
            counter = self._new_name(f"{counter}_now")
            if name in self._variables.read:
                copies = [self._assign(node, name, CValue("int", counter))]
        head = f"for (int64_t {counter} = {first}; {counter} < {end}; {counter}++)"
        return [*before, *self._loop(node, head, [*copies, *self._block(node.body)])]

    def _new_name(self, name: str) -> str:
        new = unused(name, self._taken)
        self._taken.add(new)
        return new

    # Expressions

    def _refuse(self, node: ast.AST, why: str = "") -> NotSupported:
        """Return the error that a part of the text cannot be written in C."""
        text = f"{self._procedure.key}: cannot be written in C: {ast.unparse(node)}"
        return NotSupported(f"{text}: {why}" if why else text)

    def _check_order(self, node: ast.AST, values: Sequence[ast.expr | None]) -> None:
        """Raise a NotSupported where the order of expressions makes a difference."""
        if not self._program.effects.are_in_order(self._procedure, values):
            raise self._refuse(node, "one part changes what another one may read; use a name for it")

    def _condition(self, node: ast.expr) -> CValue:
        """Return an expression that is true or false."""
        value = self._value(node)
        if value.type != "bool":
            raise self._refuse(node)
        return value

    def _value(self, node: ast.expr) -> CValue:  # noqa: PLR0911 - a table
        """Return the value of an expression."""
        match node:
            case ast.Constant(value=value):
                return constant(value) or self._raise(node)
            case ast.Name(id=name):
                return self._named(node, name)
            case ast.Attribute(value=base, attr=field):
                return self._field(node, self._value(base), field)
            case ast.Subscript():
                return self._entry(node)
            case ast.BinOp(left=left, op=operator, right=right):
                self._check_order(node, [left, right])
                return self._arithmetic(operator, self._value(left), self._value(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(node, self._value(operand))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return CValue("bool", f"!{self._condition(operand).within(UNARY)}", UNARY)
            case ast.Compare():
                return self._chain(node)
            case ast.BoolOp(op=operator, values=values):
                return self._junction(isinstance(operator, ast.And), values)
            case ast.IfExp(test=test, body=yes, orelse=no):
                return self._choice(node, self._condition(test), self._value(yes), self._value(no))
            case ast.Call():
                return self._call(node)
            case _:
                raise self._refuse(node)

    def _raise(self, node: ast.AST) -> CValue:
        raise self._refuse(node)

    def _named(self, node: ast.expr, name: str) -> CValue:
        if name in self._names:
            return self._names[name]
        try:
            value = constant(self._procedure.look_up(name))
        except KeyError:
            value = None
        if value is None:
            raise self._refuse(node)
        return CValue(value.type, self._program.name_of(self._procedure, name), largest=value.largest)

    def _field(self, node: ast.AST, record: CValue, field: str) -> CValue:
        if isinstance(record.type, str):
            raise self._refuse(node)
        of_type = fields_of(record.type)[field]
        dot = "." if record.is_struct else "->"
        columns = self._program.structures.columns(record.type, field) if of_type == "Rows" else 0
        is_struct = not isinstance(of_type, str)
        text = f"{record.within(UNARY + 1)}{dot}{c_name(field)}"
        return CValue(of_type, text, columns=columns, is_struct=is_struct)

    def _entry(self, node: ast.Subscript) -> CValue:
        """Return an entry of an array; a row of a table is an array."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        self._check_order(node, indices)
        base, numbers = self._value(node.value), [self._value(index) for index in indices]
        most = {"Floats": 1, "Ints": 1, "Rows": 2}.get(base.type if isinstance(base.type, str) else "", 0)
        if not 0 < len(numbers) <= most or any(number.type != "int" for number in numbers):
            raise self._refuse(node)
        text = base.within(UNARY + 1) + "".join(f"[{number.text}]" for number in numbers)
        if base.type == "Rows":
            return CValue("Floats" if len(numbers) == 1 else "float", text)
        return CValue("int" if base.type == "Ints" else "float", text)

    def _arithmetic(self, operator: ast.operator, a: CValue, b: CValue, node: ast.AST) -> CValue:
        """Return the value of an operation."""
        if type(operator) not in _ARITHMETIC:
            raise self._refuse(node)
        sign, level = _ARITHMETIC[type(operator)]
        is_whole = a.type == b.type == "int" and not isinstance(operator, ast.Div)
        if not is_whole:
            if isinstance(operator, (ast.FloorDiv, ast.Mod)):
                raise self._refuse(node)
            a, b = self._converted(node, a, "float"), self._converted(node, b, "float")
            return CValue("float", f"{a.within(level)} {sign} {b.within(level + 1)}", level)
        largest = _largest(operator, a.largest, b.largest)
        if largest is not None and largest > INT_MAX:
            a, largest = CValue("int", f"(int64_t){a.within(UNARY)}", UNARY), None
        return CValue("int", f"{a.within(level)} {sign} {b.within(level + 1)}", level, largest=largest)

    def _negative(self, node: ast.AST, a: CValue) -> CValue:
        if a.type not in ("int", "float"):
            raise self._refuse(node)
        text = f"-{a.within(UNARY)}" if not a.text.startswith("-") else f"-({a.text})"
        return CValue(a.type, text, UNARY, largest=a.largest)

    def _chain(self, node: ast.Compare) -> CValue:
        """``a < b < c``: the expressions in the middle stand there twice."""
        parts = [node.left, *node.comparators]
        self._check_order(node, parts)
        if any(self._program.effects.is_change(self._procedure, part) for part in parts[1:-1]):
            raise self._refuse(node, "the middle of a comparison changes something; use a name for it")
        values = [self._value(part) for part in parts]
        links = [self._comparison(node, *link) for link in zip(node.ops, values, values[1:], strict=False)]
        if len(links) == 1:
            return links[0]
        return CValue("bool", " && ".join(link.within(AND + 1) for link in links), AND)

    def _comparison(self, node: ast.AST, operator: ast.cmpop, a: CValue, b: CValue) -> CValue:
        if type(operator) not in _COMPARISONS:
            raise self._refuse(node)
        sign, level = _COMPARISONS[type(operator)]
        if not a.type == b.type == "int":
            a, b = self._converted(node, a, "float"), self._converted(node, b, "float")
        return CValue("bool", f"{a.within(ORDER + 1)} {sign} {b.within(ORDER + 1)}", level)

    def _junction(self, is_and: bool, nodes: Sequence[ast.expr]) -> CValue:
        sign, level = (" && ", AND) if is_and else (" || ", OR)
        return CValue("bool", sign.join(self._condition(node).within(AND + 1) for node in nodes), level)

    def _choice(self, node: ast.AST, test: CValue, a: CValue, b: CValue) -> CValue:
        of_type = a.type if a.type == b.type else "float"
        a, b = self._converted(node, a, of_type), self._converted(node, b, of_type)
        if a.columns != b.columns:
            raise self._refuse(node)
        largest = None if a.largest is None or b.largest is None else max(a.largest, b.largest)
        yes, no = (CValue(of_type, value.pointer, value.level).within(CHOICE + 1) for value in (a, b))
        return CValue(of_type, f"{test.within(AND + 1)} ? {yes} : {no}", CHOICE, a.columns, largest)

    def _converted(self, node: ast.AST, value: CValue, of_type: Type) -> CValue:
        """Return a value as one of another type: a whole number may become a float."""
        if value.type == of_type:
            return value
        if (value.type, of_type) != ("int", "float"):
            raise self._refuse(node, f"a value of type {type_name(value.type)} where {type_name(of_type)} is needed")
        return value.as_float

    # Calls

    def _call(self, node: ast.Call) -> CValue:
        if node.keywords:
            raise self._refuse(node)
        self._check_order(node, node.args)
        match node.func:
            case ast.Attribute(value=base, attr=field):
                return self._call_field(node, self._value(base), field)
            case ast.Name(id="min" | "max" as name) if len(node.args) == 2:
                return self._call_extreme(node, name, [self._value(argument) for argument in node.args])
            case ast.Name(id="sqrt" | "abs" | "float" | "int" as name) if len(node.args) == 1:
                return self._call_number(node, name, self._value(node.args[0]))
            case ast.Name(id=name) if name not in ("min", "max", "sqrt", "abs", "float", "int"):
                return self._call_named(node, name, [self._value(argument) for argument in node.args])
            case _:
                raise self._refuse(node)

    def _call_extreme(self, node: ast.AST, name: str, values: Sequence[CValue]) -> CValue:
        of_type = values[0].type if values[0].type == values[1].type else "float"
        if of_type not in ("int", "float"):
            raise self._refuse(node)
        a, b = (self._converted(node, value, of_type).text for value in values)
        function = self._program.helper(f"{name}_{'int64' if of_type == 'int' else 'double'}")
        return CValue(of_type, f"{function}({a}, {b})")

    def _call_number(self, node: ast.AST, name: str, x: CValue) -> CValue:
        if name == "int":
            if x.type != "float":
                raise self._refuse(node)
            return CValue("int", f"(int64_t){x.within(UNARY)}", UNARY)
        x = self._converted(node, x, "float")
        if name == "float":
            return x
        return CValue("float", f"{'sqrt' if name == 'sqrt' else 'fabs'}({x.text})")

    def _call_field(self, node: ast.Call, record: CValue, field: str) -> CValue:
        """Call a function that is a field of a record: of a kernel, or of a loop, with the number of cases."""
        kinds = {"RunsKernel": 0, "RunsLoop": 1}
        kind = "" if isinstance(record.type, str) else fields_of(record.type).get(field)
        values = [self._value(argument) for argument in node.args]
        if isinstance(record.type, str) or kinds.get(str(kind)) != len(values):
            raise self._refuse(node)
        if f"{record.type.__name__}.{field}" not in self._program.hooks:
            raise self._refuse(node, f"hooks name no function for {record.type.__name__}.{field}")
        arguments = [record.pointer, *(self._converted(node, value, "int").text for value in values)]
        return CValue("float", f"{self._program.hook(record.type, field)}({', '.join(arguments)})")

    def _call_named(self, node: ast.Call, name: str, values: Sequence[CValue]) -> CValue:
        try:
            called = self._procedure.look_up(name)
        except KeyError:
            raise self._refuse(node) from None
        if isinstance(called, MachineOperation):
            return self._call_operation(node, called, values)
        if isinstance(called, Procedure):
            return self._call_procedure(node, called, values)
        raise self._refuse(node, f"{name} is no procedure")

    def _call_operation(self, node: ast.Call, called: MachineOperation[..., Any], values: Sequence[CValue]) -> CValue:
        if called.__name__ not in _OPERATIONS:
            raise self._refuse(node, f"C has no operation {called.__name__}")
        of_type, text = _OPERATIONS[called.__name__]
        types = [of_type for name, of_type in called.function.__annotations__.items() if name != "return"]
        self._check_number(node, values, types)
        words = [self._converted(node, value, to) for value, to in zip(values, types, strict=True)]
        operands = [word.within(UNARY) if called.__name__ == "same_bits" else word.text for word in words]
        return CValue(of_type, text.format(*operands), UNARY if text.startswith("(int64_t)") else UNARY + 1)

    def _check_number(self, node: ast.Call, values: Sequence[CValue], types: Sequence[Type]) -> None:
        if len(values) != len(types):
            raise self._refuse(node, f"{len(values)} arguments, {len(types)} allowed")

    def _call_procedure(self, node: ast.Call, called: Procedure[..., Any], values: Sequence[CValue]) -> CValue:
        self._check_number(node, values, called.types)
        arguments = [self._converted(node, value, to) for value, to in zip(values, called.types, strict=True)]
        function = self._program.call(called, [argument.columns for argument in arguments])
        return CValue(called.result, f"{function}({', '.join(x.pointer for x in arguments)})")


def _largest(operator: ast.operator, a: int | None, b: int | None) -> int | None:
    """Bound on the result of whole numbers that are ``int`` in C; None where one of them is not."""
    if a is None or b is None:
        return None
    match operator:
        case ast.Add() | ast.Sub():
            return a + b
        case ast.Mult():
            return a * b
    return a


def type_name(of_type: Type) -> str:
    """Return the name of a type in messages."""
    return of_type if isinstance(of_type, str) else of_type.__name__


def _is_fixed(node: ast.expr, loop: ast.For) -> bool:
    """Whether an expression has the same value all through a loop: numbers, fields of records, names left alone."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return all(
                use.id != name or isinstance(use.ctx, ast.Load) for use in ast.walk(loop) if isinstance(use, ast.Name)
            )
        case ast.Attribute(value=base):
            return _is_fixed(base, loop)
        case ast.BinOp(left=left, right=right):
            return _is_fixed(left, loop) and _is_fixed(right, loop)
        case _:
            return False


# -- programs


INCLUDES = "\n".join(f"#include <{name}.h>" for name in ("math", "stdbool", "stddef", "stdint"))


class CText(NamedTuple):
    """Procedures in C, part by part."""

    includes: str
    records: str
    constants: str
    prototypes: str
    functions: str


def c_parts(
    entries: Sequence[Procedure[..., Any]],
    records: Mapping[type, tuple[Any, ...]],
    hooks: Mapping[str, str] | None = None,
    prefix: str = "",
) -> CText:
    """Return procedures, and all that they call, in C.

    Parameters
    ----------
    records : mapping of type to record
        An example of each type of their records. Only its sizes count; no two arrays may share memory.
    hooks : mapping of str to str
        C functions for fields that are a ``RunsKernel`` or ``RunsLoop``, by ``"Record.field"``: static functions that
        take the address of the record, of a loop the number of cases, too, and return a ``double``.

    Raises
    ------
    NotSupported
        For what cannot be written in C.
    """
    program = _Program(entries, records, hooks or {}, prefix, ())
    if program.tables:  # a pointer to rows that are constant takes no address of rows that are not
        program = _Program(entries, records, hooks or {}, prefix, program.tables)
    return program.text


class _Program:
    """What the texts of all procedures share."""

    def __init__(
        self,
        entries: Sequence[Procedure[..., Any]],
        records: Mapping[type, tuple[Any, ...]],
        hooks: Mapping[str, str],
        prefix: str,
        written: Sequence[Place],
    ) -> None:
        procedures = all_procedures(entries)
        self.hooks, self.tables = hooks, []  # type: Mapping[str, str], list[Place]
        self.effects = Effects(procedures, written)
        self._prefix, self._names = prefix, _names_of(procedures)
        self.structures = Structures(records, self.name_of_record)
        self._columns: dict[str, tuple[int, ...]] = {}
        self._helpers: dict[str, str] = {}
        self._constants: dict[str, CValue] = {}
        self._hook_heads: dict[str, str] = {}
        self._heads: list[str] = []
        self._functions: list[str] = []
        for entry in entries:
            self.call(entry, [0] * len(entry.tree.args.args))

    @property
    def text(self) -> CText:
        """All of it."""
        heads = [f"{head};" for head in (*self._hook_heads.values(), *self._heads)]
        functions = "\n\n".join([*self._helpers.values(), *self._functions])
        return CText(INCLUDES, self.structures.text, self._constant_text, "\n".join(heads), functions)

    @property
    def _constant_text(self) -> str:
        """The constants: those that are an ``int`` in C, then the others."""
        whole = [f"    {name} = {value.text}," for name, value in self._constants.items() if value.largest is not None]
        lines = ["enum {", *whole, "};"] if whole else []
        for name, value in self._constants.items():
            if value.largest is None:
                lines.append(f"static const {NUMBERS[str(value.type)]} {name} = {value.text};")
        return "\n".join(lines)

    def name_of_record(self, record: type) -> str:
        """Name in C of a type of records."""
        return f"{self._prefix}{record.__name__}"

    def name_of_procedure(self, procedure: Procedure[..., Any]) -> str:
        """Name in C of a procedure."""
        return self._prefix + self._names[procedure.key]

    def name_of(self, procedure: Procedure[..., Any], name: str) -> str:
        """Name in C of a constant, which is needed from now on."""
        value = constant(procedure.look_up(name))
        assert value is not None
        in_c = self._names[_key_of_constant(name, value)]
        self._constants[in_c] = value
        return in_c

    def helper(self, name: str) -> str:
        """Name in C of one of :data:`HELPERS`, which is needed from now on."""
        in_c = self._prefix + name
        self._helpers[name] = HELPERS[name].format(name=in_c)
        return in_c

    def hook(self, record: type, field: str) -> str:
        """Name in C of the function for a field of a record, which is needed from now on."""
        name, cases = self.hooks[f"{record.__name__}.{field}"], ", int64_t n" * (fields_of(record)[field] == "RunsLoop")
        self._hook_heads[name] = f"static double {name}({self.name_of_record(record)} *record{cases})"
        return name

    def call(self, called: Procedure[..., Any], columns: Sequence[int]) -> str:
        """Name in C of a procedure that is called with tables of so many columns, and that is written first."""
        if called.key not in self._columns:
            self._columns[called.key] = tuple(columns)
            writer = _CProcedureWriter(called, self, columns)
            function = writer.write()
            self.tables += writer.tables
            self._heads.append(writer.head)
            self._functions.append(function)
        if self._columns[called.key] != tuple(columns):
            raise NotSupported(f"{called.key}: cannot be written in C: tables of different numbers of columns")
        return self.name_of_procedure(called)

    def variable_names(self, names: Iterable[str]) -> dict[str, str]:
        """Names in C of the variables of a procedure: different ones, and none of a constant or a function."""
        taken = {*self._names.values(), *(self._prefix + name for name in self._names.values())}
        words: dict[str, str] = {}
        for name in sorted(names, key=lambda name: (name.startswith("_"), name)):
            words[name] = unused(c_name(name), taken)
            taken.add(words[name])
        return words

    def declaration(self, value: CValue, name: str, place: Place) -> str:
        """Declaration of a variable, a parameter or a function, which is the place of the result, like some value."""
        const = "" if place in self.effects.written else "const "
        if not isinstance(value.type, str):
            self.structures.check(value.type)
            return f"{const}{self.name_of_record(value.type)} *{name}"
        if value.type == "None":
            return f"void {name}"
        if value.type not in NUMBERS or (value.type == "Rows" and not (value.columns and place[1])):
            raise NotSupported(f"{place[0]}: cannot be written in C: {place[1] or 'a result'} of type {value.type}")
        if value.type == "Rows":
            return f"double (*{name})[{value.columns}]"
        if value.type in ("Floats", "Ints"):
            return f"{const}{NUMBERS[value.type]} *{name}"
        return f"{NUMBERS[value.type]} {name}"


def _names_of(procedures: Sequence[Procedure[..., Any]]) -> dict[str, str]:
    """Names in C of procedures, by their keys, and of constants: with the name of the module where two are the same."""
    keys: dict[str, dict[str, str]] = {}
    for one in procedures:
        module = one.__module__.rpartition(".")[2]
        keys.setdefault(c_name(one.__name__), {})[one.key] = module
        for name, value in _constants_of(one):
            keys.setdefault(c_name(name), {}).setdefault(_key_of_constant(name, value), module)
    names = {
        key: name if len(modules) == 1 else f"{module}_{name}"
        for name, modules in keys.items()
        for key, module in modules.items()
    }
    if len(set(names.values())) < len(names):
        raise NotSupported(f"two things have one name in C: {sorted(names.values())}")
    return names


def _constants_of(procedure: Procedure[..., Any]) -> Iterator[tuple[str, CValue]]:
    local = Variables(procedure.tree).names
    for statement in procedure.tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id not in local:
                value = constant(procedure.function.__globals__.get(node.id))
                if value is not None:
                    yield node.id, value


def _key_of_constant(name: str, value: CValue) -> str:
    return f"{name} = {value.type} {value.text}"
