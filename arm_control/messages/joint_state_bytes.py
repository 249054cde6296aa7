"""``sensor_msgs/JointState`` as bytes: CDR, the encoding of ROS 2 on the wire and in bags.

Four bytes say the encoding, of which the second is 0 for big and 1 for little endian numbers. Then, with every number
at a multiple of its size, counted from behind those four:

=========================  ===================================================================================
``sec``, ``nanosec``       int32, uint32
``frame_id``               uint32 length with the final zero, the bytes in UTF-8, a zero
``name``                   uint32 count, and each name as ``frame_id``
``position``               uint32 count, and as many float64
``velocity``, ``effort``   the same
=========================  ===================================================================================

All messages of a publisher have their numbers at the same places: everything but stamp, numbers and padding is the
same in each. So a message is parsed once, and the next ones are compared with it and read at known offsets.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from arm_control.core import NANOSECONDS
from arm_control.exceptions import InputError
from arm_control.maths import Array

ENCODINGS = {b"\x00\x00": ">", b"\x00\x01": "<"}
"""Order of bytes by the first two bytes of a message."""
START = 4
"""Bytes that say the encoding."""
WORDS = 12
"""Offset of the bytes behind the stamp."""
LARGEST = 65_536
"""Bytes of the longest message that is read: some 900 joints."""
FIELDS = ("position", "velocity", "effort")
HEAD = struct.pack("=xBxx", sys.byteorder == "little")
"""The encoding in which messages are written."""
NATIVE = ENCODINGS[HEAD[:2]]
STAMP = struct.Struct(f"{NATIVE}iI")


class Stamp(NamedTuple):
    """A ``Time``: seconds and nanoseconds."""

    sec: int
    nanosec: int


class Header(NamedTuple):
    """A ``Header``: stamp and frame."""

    stamp: Stamp
    frame_id: str


class JointStateFields(NamedTuple):
    """The fields of a ``JointState``, by the names of the message; the arrays must not be written.

    Attributes
    ----------
    name : list of str
        The joints; one list for all messages of a layout.
    """

    header: Header
    name: list[str]
    position: Array
    velocity: Array
    effort: Array


class JointStateLayout(NamedTuple):
    """Where the numbers of a message are, and what all messages of its publisher have in common.

    Attributes
    ----------
    mask : int
        Ones where messages of this layout agree, the bytes read as one little endian integer.
    order : str
        ``<`` for little endian numbers, ``>`` for big endian ones.
    numbers : slice
        The bytes from the first number of a field to the last.
    position, velocity, effort : slice
        Places of each field among these, in float64.
    """

    length: int
    mask: int
    common: int
    order: str
    frame_id: str
    name: list[str]
    numbers: slice
    position: slice
    velocity: slice
    effort: slice

    @classmethod
    def of(cls, data: bytes) -> JointStateLayout:
        """Return the layout of a message; an InputError when the bytes are not a ``JointState``."""
        cursor = _Cursor(data)
        cursor.skip(WORDS - START)
        frame_id = cursor.text()
        name = cursor.texts()
        fields = [cursor.doubles() for _ in FIELDS]
        filled = [at for at in fields if at.stop > at.start]
        numbers = slice(filled[0].start, filled[-1].stop) if filled else slice(0, 0)
        places = (slice((at.start - numbers.start) // 8, (at.stop - numbers.start) // 8) for at in filled)
        position, velocity, effort = (next(places) if at in filled else slice(0, 0) for at in fields)
        mask = int.from_bytes(cursor.fixed, "little")
        common = int.from_bytes(data, "little") & mask
        order = cursor.order
        return cls(len(data), mask, common, order, frame_id, name, numbers, position, velocity, effort)


class JointStateBytes:
    """Reads messages: those of the last layout at its offsets, any other one from the beginning."""

    def __init__(self) -> None:
        self._layout = JointStateLayout(-1, 0, 0, "<", "", [], *(slice(0, 0) for _ in range(4)))
        self._stamp, self._double = STAMP, np.dtype(np.float64)

    def read(self, data: bytes) -> JointStateFields:
        """Return the fields of a message; an InputError when the bytes are not a ``JointState``."""
        layout = self._layout
        if len(data) != layout.length or int.from_bytes(data, "little") & layout.mask != layout.common:
            layout = self._learn(data)
        numbers = np.frombuffer(data[layout.numbers], self._double)
        if layout.order != NATIVE:
            numbers = numbers.astype(np.float64)
        header = Header(Stamp(*self._stamp.unpack_from(data, START)), layout.frame_id)
        position, velocity, effort = numbers[layout.position], numbers[layout.velocity], numbers[layout.effort]
        return JointStateFields(header, layout.name, position, velocity, effort)

    def _learn(self, data: bytes) -> JointStateLayout:
        """Take the layout of a message for the next ones."""
        self._layout = layout = JointStateLayout.of(data)
        self._stamp = struct.Struct(f"{layout.order}iI")
        self._double = np.dtype(f"{layout.order}f8")
        return layout


class JointStateWriter:
    """Writes messages of some joints, in this machine's order of bytes; all but stamp and numbers is prepared.

    Parameters
    ----------
    fields : sequence of str
        Neighbours among :data:`FIELDS` whose numbers are written; the others stay empty.
    """

    def __init__(self, names: Sequence[str], fields: Sequence[str] = ("effort",)) -> None:
        first = FIELDS.index(fields[0])
        if tuple(fields) != FIELDS[first : first + len(fields)]:
            raise InputError(f"fields {', '.join(fields)}: neighbours among {', '.join(FIELDS)} are needed")
        self._names = [encoded_text(name) for name in names]
        self._before = bytes(4 * first)
        self._between = struct.pack(f"{NATIVE}I4x", len(names))
        self._length = 8 * (len(names) * len(fields) + len(fields) - 1)
        self._after = bytes(4 * (len(FIELDS) - first - len(fields)))
        self._use_frame("")

    def _use_frame(self, frame_id: str) -> None:
        """Prepare what stands between the stamp and the numbers."""
        self._frame_id = frame_id
        words = bytearray(WORDS - START)
        for text in (encoded_text(frame_id), struct.pack(f"{NATIVE}I", len(self._names)), *self._names):
            words += bytes(-len(words) % 4) + text
        words += bytes(-len(words) % 4) + self._before + self._between[:4]
        words += bytes(-len(words) % 8) if self._names else b""
        self._words = bytes(words[WORDS - START :])

    def message(self, stamp_ns: int, *values: Array, frame_id: str = "") -> bytes:
        """Return a message.

        Parameters
        ----------
        *values : ndarray of float64, shape (n,)
            Numbers of each field in the order of the names [rad or m], [rad/s or m/s], [N m or N].

        Raises
        ------
        InputError
            When the arrays are not float64, one for each joint.
        """
        if frame_id != self._frame_id:
            self._use_frame(frame_id)
        stamp = STAMP.pack(*divmod(stamp_ns, NANOSECONDS))
        numbers = self._between.join(map(np.ndarray.tobytes, values))
        if len(numbers) != self._length:
            raise InputError(f"{len(values)} arrays of {len(numbers)} bytes: float64, one for each joint, are needed")
        return b"".join((HEAD, stamp, self._words, numbers, self._after))


def effort_array_head(n: int) -> bytes:
    """Return what stands before the ``n`` float64 of a ``std_msgs/Float64MultiArray`` without labels."""
    return HEAD + struct.pack(f"{NATIVE}III4x", 0, 0, n)


def encoded_text(text: str) -> bytes:
    """Return a ``string``: its length with the final zero, its bytes and the zero."""
    content = text.encode()
    return struct.pack(f"{NATIVE}I", len(content) + 1) + content + b"\0"


class _Cursor:
    """Walks through a message.

    Attributes
    ----------
    at : int
        The next byte.
    order : str
        Order of the bytes of numbers.
    fixed : bytearray
        255 for each byte that belongs to the layout, else 0: stamp, padding and numbers.
    """

    def __init__(self, data: bytes) -> None:
        if len(data) > LARGEST:
            raise InputError(f"not read: {len(data)} bytes, allowed {LARGEST}")
        if data[:2] not in ENCODINGS:
            raise InputError(f"not a JointState: encoding {data[:2].hex() or 'missing'}, allowed 0000 and 0001")
        self._data = data
        self.order = ENCODINGS[data[:2]]
        self.fixed = bytearray(len(data))
        self.fixed[:2] = b"\xff\xff"
        self.at = START

    def skip(self, n: int) -> slice:
        """Pass over bytes, and return where they are; raise InputError where the message ends before."""
        begin, self.at = self.at, self.at + n
        if self.at > len(self._data):
            raise InputError(f"not a JointState: it ends after {len(self._data)} bytes")
        return slice(begin, self.at)

    def _fixed(self, n: int) -> bytes:
        """Return bytes of the layout."""
        at = self.skip(n)
        self.fixed[at] = b"\xff" * n
        return self._data[at]

    def _count(self) -> int:
        """Return a length or a count."""
        self.skip(-self.at % 4)
        (n,) = struct.unpack(f"{self.order}I", self._fixed(4))
        return int(n)

    def text(self) -> str:
        """Return a text, as rclpy does: up to the first zero."""
        return self._fixed(self._count()).partition(b"\0")[0].decode(errors="replace")

    def texts(self) -> list[str]:
        """Return a sequence of texts."""
        return [self.text() for _ in range(self._count())]

    def doubles(self) -> slice:
        """Return where the numbers of a field are."""
        n = self._count()
        if n:
            self.skip((START - self.at) % 8)
        return self.skip(8 * n)
