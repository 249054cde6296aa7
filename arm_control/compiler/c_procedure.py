"""Procedures as C to read: the same text, the same names, the same bits.

    text = c_text([check_state], {StateMemory: memory, NewState: state}, prefix="arm_")

Every record is a structure, of the sizes of an example; every procedure, and all that it calls, is a static function,
which gets records and arrays by their address. Compiled with ``-ffp-contract=off``, and without ``-ffast-math``, the
functions return the same bits as the machine code of :mod:`arm_control.compiler.llvm_procedure`, as far as ``exp`` is
the same. Whole numbers stay within 64 bits.

Not everything that can be compiled can be written in C: addresses, atomic numbers and loops over cases are refused, and
so are expressions whose result depends on the order of their operands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from arm_control.compiler.c_expressions import (
    HELPERS,
    NUMBERS,
    CValue,
    Effects,
    Place,
    Structures,
    all_procedures,
    c_name,
    constant,
    unused,
)
from arm_control.compiler.c_statements import FunctionWriter, Variables
from arm_control.compiler.procedures import NotSupported, Procedure

INCLUDES = "\n".join(f"#include <{name}.h>" for name in ("math", "stdbool", "stddef", "stdint"))


class CText(NamedTuple):
    """Procedures in C, part by part.

    Attributes
    ----------
    includes, records, constants, prototypes, functions : str
        What comes one after the other; the records may stand in a header.
    """

    includes: str
    records: str
    constants: str
    prototypes: str
    functions: str


def c_text(
    entries: Sequence[Procedure[..., Any]],
    records: Mapping[type, tuple[Any, ...]],
    hooks: Mapping[str, str] | None = None,
    prefix: str = "",
) -> str:
    """Return procedures, and all that they call, in C; arguments as of :func:`c_parts`."""
    return "\n\n".join(part for part in c_parts(entries, records, hooks, prefix) if part) + "\n"


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
        C functions for fields that are a ``RunsKernel``, by ``"Record.field"``: static functions that take the address
        of the record and return a ``double``.
    prefix : str
        Beginning of the names of functions and structures.

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
    """See :class:`~arm_control.compiler.c_statements.CProgram`."""

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
        """See the protocol."""
        return self._prefix + self._names[procedure.key]

    def name_of(self, procedure: Procedure[..., Any], name: str) -> str:
        """Name in C of a constant, which is needed from now on."""
        value = constant(procedure.look_up(name))
        assert value is not None
        in_c = self._names[_key_of_constant(name, value)]
        self._constants[in_c] = value
        return in_c

    def helper(self, name: str) -> str:
        """See the protocol."""
        in_c = self._prefix + name
        self._helpers[name] = HELPERS[name].format(name=in_c)
        return in_c

    def hook(self, record: type, field: str) -> str:
        """See the protocol."""
        name = self.hooks[f"{record.__name__}.{field}"]
        self._hook_heads[name] = f"static double {name}({self.name_of_record(record)} *record)"
        return name

    def call(self, called: Procedure[..., Any], columns: Sequence[int]) -> str:
        """See the protocol; the called procedure is written in front of the one that calls it."""
        if called.key not in self._columns:
            self._columns[called.key] = tuple(columns)
            writer = FunctionWriter(called, self, columns)
            function = writer.write()
            self.tables += writer.tables
            self._heads.append(writer.head)
            self._functions.append(function)
        if self._columns[called.key] != tuple(columns):
            raise NotSupported(f"{called.key}: cannot be written in C: tables of different numbers of columns")
        return self.name_of_procedure(called)

    def variable_names(self, names: Iterable[str]) -> dict[str, str]:
        """See the protocol."""
        taken = {*self._names.values(), *(self._prefix + name for name in self._names.values())}
        words: dict[str, str] = {}
        for name in sorted(names, key=lambda name: (name.startswith("_"), name)):
            words[name] = unused(c_name(name), taken)
            taken.add(words[name])
        return words

    def declaration(self, value: CValue, name: str, place: Place) -> str:
        """See the protocol."""
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
