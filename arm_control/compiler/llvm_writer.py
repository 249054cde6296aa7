"""Writes LLVM's intermediate language: one line, one new name."""

from __future__ import annotations

import struct


class Writer:
    """Lines of code for scalars (width 1) or vectors, in static single assignment."""

    def __init__(self, width: int) -> None:
        self.width, self.lines, self._count = width, [], 0  # type: int, list[str], int
        self.type = "double" if width == 1 else f"<{width} x double>"
        self.flags = "i1" if width == 1 else f"<{width} x i1>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"

    def start(self, first: int) -> None:
        """Number names from here on: for parts of a function that are written apart."""
        self._count = first

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("  " + text)

    def op(self, text: str) -> str:
        """Write an operation; returns the name of its result."""
        self._count += 1
        self.line(f"%t{self._count} = {text}")
        return f"%t{self._count}"

    def label(self, name: str) -> str:
        """Return a new name that begins with this one, for a block or a value."""
        self._count += 1
        return f"{name}_{self._count}"

    def begin(self, block: str) -> None:
        """Begin a block."""
        self.lines.append(f"{block}:")

    def address(self, base: str, place: str) -> str:
        """Address of an entry of an array."""
        return self.op(f"getelementptr double, ptr {base}, i64 {place}")

    def load(self, base: str, place: str) -> str:
        """One entry of an array."""
        return self.op(f"load double, ptr {self.address(base, place)}, align 8")

    def gather(self, base: str, rows: list[str], column: int) -> str:
        """One entry of every row, a lane each."""
        vector = "poison"
        for lane, row in enumerate(rows):
            entry = self.load(base, self.op(f"add i64 {row}, {column}"))
            vector = self.op(f"insertelement {self.type} {vector}, double {entry}, i64 {lane}")
        return vector

    def broadcast(self, entry: str) -> str:
        """The same number in every lane."""
        first = self.op(f"insertelement {self.type} poison, double {entry}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.op(f"shufflevector {self.type} {first}, {self.type} poison, {zeros}")

    def each_lane(self, function: str, *arguments: str) -> str:
        """A function of numbers, lane by lane."""
        if self.width == 1:
            return self.op(f"call double @{function}({', '.join(f'double {x}' for x in arguments)})")
        result = "poison"
        for lane in range(self.width):
            entries = [self.op(f"extractelement {self.type} {x}, i64 {lane}") for x in arguments]
            y = self.op(f"call double @{function}({', '.join(f'double {x}' for x in entries)})")
            result = self.op(f"insertelement {self.type} {result}, double {y}, i64 {lane}")
        return result

    def constant(self, value: float) -> str:
        """A number, in every lane."""
        return constant(value) if self.width == 1 else splat(value, self.width)


def constant(value: float) -> str:
    """A number as LLVM reads it back to the last bit."""
    return "0x" + struct.pack(">d", value).hex().upper()


def splat(value: float, width: int) -> str:
    """A vector of equal numbers."""
    return f"<{', '.join([f'double {constant(value)}'] * width)}>"


def compare_pointers(code: Writer, arrays: tuple[str, str], n: str, otherwise: str) -> None:
    """Write a loop over two arrays of pointers, which goes on where all are equal.

    Parameters
    ----------
    code : Writer
    arrays : tuple of str
        Their addresses.
    n : str
        How many there are.
    otherwise : str
        Block for the first ones that differ.
    """
    before, test, compare, after = (code.label(name) for name in ("before", "test", "compare", "after"))
    k, following = (f"%{code.label(name)}" for name in ("k", "following"))
    code.line(f"br label %{before}")
    code.begin(before)
    code.line(f"br label %{test}")
    code.begin(test)
    code.line(f"{k} = phi i64 [0, %{before}], [{following}, %{compare}]")
    code.line(f"br i1 {code.op(f'icmp ult i64 {k}, {n}')}, label %{compare}, label %{after}")
    code.begin(compare)
    one, other = (code.op(f"load ptr, ptr {code.op(f'getelementptr ptr, ptr {x}, i64 {k}')}") for x in arrays)
    code.line(f"{following} = add i64 {k}, 1")
    code.line(f"br i1 {code.op(f'icmp eq ptr {one}, {other}')}, label %{test}, label %{otherwise}")
    code.begin(after)
