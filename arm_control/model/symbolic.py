"""Formulas of an arm as SymPy expressions: to print, to differentiate, or to turn into functions.

The recursions write a tape, and its lines become expressions. A value used more than once gets a symbol of its own,
which keeps every expression short: a :class:`Formula` has these definitions and the matrix. The recursions also run
on SymPy's symbols directly, which for a small arm gives the formula of the textbook.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from arm_control.compiler import Program
from arm_control.core import Cache
from arm_control.exceptions import FrameNotFound, InputError, MissingExtra
from arm_control.maths import cos, sin
from arm_control.model.quantities import INPUTS, State, input_sizes, state_law
from arm_control.model.recursions import relative_pose
from arm_control.model.tree import Tree

try:
    import cloudpickle
    import sympy
    from sympy.printing.pycode import PythonCodePrinter
except ImportError as error:
    raise MissingExtra("sympy and cloudpickle", "symbolic") from error

sin.register(sympy.Expr)(sympy.sin)
cos.register(sympy.Expr)(sympy.cos)

LOG = logging.getLogger("arm_control.model")
LETTERS = {"q": "q", "v": "v", "a": "a", "tau": "tau", "F_E": "F", "point": "x"}


@dataclass(frozen=True)
class Formula:
    """A matrix of expressions, and the definitions they share.

    Attributes
    ----------
    matrix : sympy.Matrix
        Its entries are expressions of the arguments and the shared symbols.
    shared : tuple of (Symbol, Expr)
        Definitions, each an expression of the arguments and of the symbols before it.
    arguments : tuple of tuple of Symbol
        For example ``((q1, q2), (v1, v2))``.

    Examples
    --------
    >>> from arm_control import RobotModel, urdf_path
    >>> formulas = RobotModel.from_urdf(urdf_path("planar2")).symbolic()
    >>> formulas.formula("M").expanded()[0, 1]
    0.055242*cos(q2) + 0.032076
    """

    matrix: Any
    shared: tuple[tuple[Any, Any], ...]
    arguments: tuple[tuple[Any, ...], ...]

    def expanded(self) -> Any:
        """Return the matrix as expressions of the arguments alone: very long for more than a few joints."""
        values: dict[Any, Any] = {}
        for symbol, expression in self.shared:
            values[symbol] = expression.xreplace(values)
        return self.matrix.xreplace(values)

    def diff(self, symbol: Any) -> Formula:
        """Return the derivative by an argument, by the chain rule through the shared definitions."""
        slopes: dict[Any, Any] = {}
        shared = []

        def derivative(expression: Any) -> Any:
            inner = [(s, slopes[s]) for s in expression.free_symbols if s in slopes]
            return expression.diff(symbol) + sum(expression.diff(s) * slope for s, slope in inner)

        for name, expression in self.shared:
            shared.append((name, expression))
            slope = derivative(expression)
            if slope != 0:
                slopes[name] = sympy.Symbol(f"d{name}_{symbol}")
                shared.append((slopes[name], slope))
        return _pruned(Formula(self.matrix.applyfunc(derivative), tuple(shared), self.arguments))

    def lambdify(self, modules: str = "numpy") -> Callable[..., Any]:
        """Return a function of the arguments, each a sequence of numbers, for these modules of ``sympy.lambdify``."""
        return sympy.lambdify(self.arguments, self.matrix, modules, cse=lambda _: (list(self.shared), self.matrix))

    def python(self, name: str = "formula") -> str:
        """Return the source of a Python function of the arguments, which uses :mod:`math` and returns a nested list."""
        printer = PythonCodePrinter({"fully_qualified_modules": False})
        letters = [LETTERS[name] for name in _input_names(self.arguments)]
        lines = ["from math import cos, sin, sqrt", "", "", f"def {name}({', '.join(letters)}):"]
        lines += [
            f"    {', '.join(map(str, group))}, = {letter}"
            for letter, group in zip(letters, self.arguments, strict=True)
        ]
        lines += [f"    {symbol} = {printer.doprint(expression)}" for symbol, expression in self.shared]
        return "\n".join([*lines, f"    return {printer.doprint(self.matrix.tolist())}", ""])

    def c(self, name: str = "formula") -> str:
        """Return the source of a C function of the arguments, which writes to its last one, ``out[rows][columns]``."""
        letters = [LETTERS[name] for name in _input_names(self.arguments)]
        used = self.matrix.free_symbols.union(*(expression.free_symbols for _, expression in self.shared))
        values = [
            (symbol, f"{letter}[{k}]")
            for letter, group in zip(letters, self.arguments, strict=True)
            for k, symbol in enumerate(group)
            if symbol in used
        ]
        values += [(symbol, sympy.ccode(expression)) for symbol, expression in self.shared]
        rows, columns = self.matrix.shape
        lengths = [f"const double {x}[{len(group)}]" for x, group in zip(letters, self.arguments, strict=True)]
        entries = [(f"out[{i}][{j}]", self.matrix[i, j]) for i in range(rows) for j in range(columns)]
        return "\n".join(
            [
                "#include <math.h>",
                "",
                f"void {name}({', '.join(lengths)}, double out[{rows}][{columns}])",
                "{",
                *(f"    const double {symbol} = {value};" for symbol, value in values),
                *(f"    {place} = {sympy.ccode(entry)};" for place, entry in entries),
                "}",
                "",
            ]
        )

    def simplified(self) -> Formula:
        """Return the formula without shared definitions, each entry simplified: slow for more than a few joints."""
        return Formula(self.expanded().applyfunc(sympy.simplify), (), self.arguments)

    def latex(self) -> str:
        """Return the formula for LaTeX's ``align``: the definitions, then the matrix."""
        rows = [f"{sympy.latex(symbol)} &= {sympy.latex(expression)}" for symbol, expression in self.shared]
        return " \\\\\n".join([*rows, f"&{sympy.latex(self.matrix)}"])


class Symbolic:
    """Formulas of one arm, from :meth:`arm_control.RobotModel.symbolic`.

    Parameters
    ----------
    title, identity : str
        Name of the robot, and the cache key of the arm.

    Attributes
    ----------
    q, v, a, tau, x : tuple of Symbol
        Joint positions, velocities, accelerations, torques, and a point on a link.
    """

    def __init__(self, tree: Tree, title: str, identity: str, cache: Cache) -> None:
        self._tree, self._title, self._identity, self._cache = tree, title, identity, cache
        self._symbols = {
            name: sympy.symbols(f"{LETTERS[name]}1:{size + 1}", real=True)
            for name, size in input_sizes(tree.n).items()
            if name in LETTERS
        }
        self.q, self.v, self.a, self.tau = (self._symbols[name] for name in ("q", "v", "a", "tau"))
        self.x = self._symbols["point"]

    def formula(self, quantity: str) -> Formula:
        """Return a quantity of :data:`arm_control.model.quantities.INPUTS`: ``M``, ``g``, ``h``, ``J``, ...

        Raises
        ------
        InputError
            The quantity has no formula.
        """
        if quantity not in INPUTS or quantity == "J_point":
            raise InputError(
                f"there is no formula '{quantity}'; allowed: {', '.join(sorted(INPUTS.keys() - {'J_point'}))}"
            )
        inputs = [name for name in INPUTS[quantity] if name != "tool"]
        return self._cached(quantity, inputs, lambda state: getattr(state, quantity))

    def transform(self, frame: str, seen_from: str | None = None) -> Formula:
        """Return the homogeneous matrix of a link's pose, seen from another one or the base, shape (4, 4)."""
        base = next(iter(self._tree.frames)) if seen_from is None else seen_from
        a, b = (self._tree.frames[self._check(name)] for name in (base, frame))
        title = f"transform of {frame} from {base}"
        return self._cached(title, ["q"], lambda state: relative_pose(self._tree, state.X, a, b).matrix())

    def jacobian(self, frame: str) -> Formula:
        """Return the Jacobian of the point x, in the link's frame, as a function of (q, x), shape (6, n)."""
        self._check(frame)
        return self._cached(f"Jacobian of {frame}", ["q", "point"], lambda state: state.J_point, frame)

    def _check(self, frame: str) -> str:
        if frame not in self._tree.frames:
            raise FrameNotFound(frame, self._tree.frames)
        return frame

    def _cached(
        self, title: str, inputs: Sequence[str], compute: Callable[[State], Any], frame: str | None = None
    ) -> Formula:
        """Return a formula from the cache; make and store it if necessary."""
        key = "\n".join([self._identity, f"sympy {sympy.__version__}", title])
        stored = self._cache.load(key)
        if stored is not None:
            try:
                return cloudpickle.loads(stored)
            except Exception as error:
                LOG.warning("%s: the stored formula '%s' cannot be read (%s)", self._title, title, error)
        law = state_law(self._tree, title, inputs, lambda state: {title: compute(state)}, frame)
        formula = self._make(law.program())
        self._cache.store(key, cloudpickle.dumps(formula), title=f"{self._title}: {title} (formula)")
        return formula

    def _make(self, program: Program) -> Formula:
        symbols = [symbol for name in program.inputs for symbol in self._symbols[name]]
        shared, values = _expressions(program, symbols)
        (shape,) = program.outputs.values()
        rows, columns = (*shape, 1, 1)[:2]
        matrix = sympy.ImmutableDenseMatrix(rows, columns, [values[result] for result in program.results])
        return Formula(matrix, tuple(shared), tuple(self._symbols[name] for name in program.inputs))


def _expressions(program: Program, symbols: Sequence[Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Definitions of values that several lines use, and the expression of every line."""
    uses = Counter([*program.results, *(number for line in program.lines for number in line.operands)])
    shared: list[tuple[Any, Any]] = []
    values: list[Any] = []
    for number, line in enumerate(program.lines):
        operation = line.name
        if operation == "constant":
            a = line.a
            values.append(sympy.Integer(int(a)) if float(a).is_integer() else sympy.Float(a))
            continue
        if operation == "input":
            values.append(symbols[int(line.a)])
            continue
        expression = _EXPRESSIONS[operation](*(values[k] for k in line.operands))
        is_plain = expression.is_Atom or (operation in ("sin", "cos", "neg") and expression.args[-1].is_Atom)
        if uses[number] > 1 and not is_plain:
            symbol = sympy.Symbol(f"t{len(shared) + 1}", real=True)
            shared.append((symbol, expression))
            expression = symbol
        values.append(expression)
    return shared, values


_EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "sqrt": sympy.sqrt,
}


def _pruned(formula: Formula) -> Formula:
    """The formula without unused definitions."""
    used = set(formula.matrix.free_symbols)
    definitions = []
    for symbol, expression in reversed(formula.shared):
        if symbol in used:
            definitions.append((symbol, expression))
            used |= expression.free_symbols
    return Formula(formula.matrix, tuple(reversed(definitions)), formula.arguments)


def _input_names(arguments: Sequence[Sequence[Any]]) -> list[str]:
    names = {letter: name for name, letter in LETTERS.items()}
    return [names[str(group[0]).rstrip("0123456789")] for group in arguments]
