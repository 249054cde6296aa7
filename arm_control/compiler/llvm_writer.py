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


def finite(code: Writer, numbers: list[str]) -> str:
    """0 where every number is finite, else nan."""
    terms = [code.op(f"fmul {code.type} {x}, {code.constant(0.0)}") for x in numbers]
    while len(terms) > 1:  # pairwise: a short chain
        pairs = [code.op(f"fadd {code.type} {x}, {y}") for x, y in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[len(pairs) * 2 :]
    return terms[0]
