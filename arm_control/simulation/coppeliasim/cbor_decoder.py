"""Values from CBOR (RFC 8949) of a server that may be hostile.

A value is nested at most :data:`MOST_NESTED` levels deep, has no more entries than bytes, and no tags, which name types
to make; keys of maps are texts or integers. So neither the stack nor the memory has an end before the message has.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from typing import Any

from arm_control.exceptions import InputError

MOST_NESTED = 32
"""Levels of arrays and maps in each other."""
FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}
"""Forms of a float, by the additional information of their first byte."""
SIMPLE_VALUES = {20: False, 21: True, 22: None, 23: None}
"""``undefined``, 23, is None, too."""
INDEFINITE = 31
"""Additional information of an item without a length, and of its end."""


_END = object()
"""The end of an item without a length."""


def decode(data: bytes) -> Any:
    """Return the value of a message.

    Raises
    ------
    InputError
        When it is anything else, nested too deep, or has a tag.
    """
    decoder = _Decoder(data)
    value = decoder.item(0)
    if value is _END or decoder.position != len(data):
        raise InputError("CBOR: one item is needed")
    return value


class _Decoder:
    """Reads items one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def item(self, level: int) -> Any:
        """The next item, nested so many levels deep; ``_END`` for the end of one without a length."""
        if level > MOST_NESTED:
            raise InputError(f"CBOR: nested deeper than {MOST_NESTED} levels")
        first = self._take(1)[0]
        major, information = first >> 5, first & 31
        if major == 7:
            return self._simple(information)
        length = None if information == INDEFINITE and major in (2, 3, 4, 5) else self._argument(information)
        match major:
            case 0:
                return length
            case 1:
                return -1 - (length or 0)
            case 2 | 3:
                return self._string(major, length, level)
            case 4:
                return self._items(length, level)
            case 5:
                return self._map(length, level)
        raise InputError("CBOR: a tag; plain values are needed")

    def _take(self, n: int) -> bytes:
        """The next n bytes."""
        if n > len(self._data) - self.position:
            raise InputError("CBOR: the message ends too early")
        self.position += n
        return self._data[self.position - n : self.position]

    def _argument(self, information: int) -> int:
        """The number that belongs to a first byte."""
        if information < 24:
            return information
        if information > 27:
            raise InputError(f"CBOR: additional information {information}")
        return int.from_bytes(self._take(1 << information - 24), "big")

    def _simple(self, information: int) -> Any:
        if information in FLOATS:
            form = FLOATS[information]
            return form.unpack(self._take(form.size))[0]
        if information == INDEFINITE:
            return _END
        if information not in SIMPLE_VALUES:
            raise InputError(f"CBOR: simple value {information}")
        return SIMPLE_VALUES[information]

    def _string(self, major: int, length: int | None, level: int) -> bytes | str:
        if length is None:
            return (b"" if major == 2 else "").join(self._items(None, level))
        if major == 2:
            return self._take(length)
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise InputError("CBOR: a text that is not UTF-8") from None

    def _items(self, length: int | None, level: int) -> list[Any]:
        """So many items; those up to the end for None."""
        if length is not None and length > len(self._data) - self.position:
            raise InputError("CBOR: the message ends too early")
        items: list[Any] = []
        while length is None or len(items) < length:
            value = self.item(level + 1)
            if value is _END:
                if length is None:
                    return items
                raise InputError("CBOR: an end without a begin")
            items.append(value)
        return items

    def _map(self, length: int | None, level: int) -> dict[Hashable, Any]:
        items = self._items(None if length is None else 2 * length, level)
        keys, values = items[::2], items[1::2]
        if len(keys) != len(values) or not all(isinstance(key, str | int) for key in keys):
            raise InputError("CBOR: a map needs a value for each key, and texts or integers as keys")
        return dict(zip(keys, values, strict=True))
