"""The messages of a MCAP file without its index: what a recorder that was killed has left.

Records follow each other: one byte that says what it is, its length, its content; messages stand in chunks. The
numbers are those of the format's specification (https://mcap.dev/spec). The index, at the file's end, is not needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinition, MessageDefinitionFormat
from rosbags.rosbag2.metadata import parse_qos
from rosbags.rosbag2.storage_mcap import decompress

MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 3, 4, 5, 6, 15
FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}

Found = tuple[list[Connection], list[tuple[Connection, int, bytes]], list[str]]


class _Schema(NamedTuple):
    name: str
    definition: MessageDefinition


def scan(data: bytes) -> Found:
    """Return connections, messages (connection, time [ns], bytes) and what could not be read; it never raises."""
    schemas: dict[int, _Schema] = {}
    connections: dict[int, Connection] = {}
    messages: list[tuple[Connection, int, bytes]] = []
    troubles: dict[str, None] = {}  # each once: a schema that is damaged makes trouble with every message
    if not data.startswith(MAGIC):
        return [], [], ["no MCAP file"]
    for kind, record in _unpacked(data, troubles):
        try:
            if kind == SCHEMA:
                number, schema = _schema(record)
                schemas[number] = schema
            elif kind == CHANNEL:
                connection = _channel(record, schemas)
                connections.setdefault(connection.id, connection)
            elif kind == MESSAGE:
                number, _, log_ns, _ = struct.unpack_from("<HIQQ", record)
                messages.append((connections[number], log_ns, record[22:]))
        except Exception as error:
            troubles[f"a record cannot be read: {type(error).__name__}"] = None
    return list(connections.values()), messages, list(troubles)


def _unpacked(data: bytes, troubles: dict[str, None]) -> Iterator[tuple[int, bytes]]:
    """Records, with those of a chunk in its place."""
    for kind, record in _records(data, len(MAGIC), troubles):
        if kind == DATA_END:
            return
        if kind != CHUNK:
            yield kind, record
            continue
        try:
            inside = _chunk(record)
        except Exception as error:
            troubles[f"a chunk of {len(record)} bytes cannot be read: {type(error).__name__}"] = None
        else:
            yield from _records(inside, 0, troubles)


def _records(data: bytes, at: int, troubles: dict[str, None]) -> Iterator[tuple[int, bytes]]:
    while at + 9 <= len(data):
        kind, length = struct.unpack_from("<BQ", data, at)
        if at + 9 + length > len(data):
            troubles[f"cut off after {at} bytes"] = None
            return
        yield kind, data[at + 9 : at + 9 + length]
        at += 9 + length


def _chunk(record: bytes) -> bytes:
    size, crc = struct.unpack_from("<QI", record, 16)
    compression, at = _text(record, 28)
    (length,) = struct.unpack_from("<Q", record, at)
    return bytes(decompress(record[at + 8 : at + 8 + length], compression, size, crc))


def _schema(record: bytes) -> tuple[int, _Schema]:
    (number,) = struct.unpack_from("<H", record)
    name, at = _text(record, 2)
    encoding, at = _text(record, at)
    text, _ = _text(record, at)
    return number, _Schema(name, MessageDefinition(FORMATS.get(encoding, MessageDefinitionFormat.NONE), text))


def _channel(record: bytes, schemas: dict[int, _Schema]) -> Connection:
    number, schema = struct.unpack_from("<HH", record)
    topic, at = _text(record, 4)
    encoding, at = _text(record, at)
    end, at, qos = at + 4 + struct.unpack_from("<I", record, at)[0], at + 4, ""
    while at < end:
        key, at = _text(record, at)
        value, at = _text(record, at)
        qos = value if key == "offered_qos_profiles" else qos
    own = schemas[schema]
    ext = ConnectionExtRosbag2(encoding, parse_qos(qos))
    return Connection(number, topic, own.name, own.definition, "", 0, ext, None)


def _text(record: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", record, at)
    return record[at + 4 : at + 4 + length].decode(), at + 4 + length
