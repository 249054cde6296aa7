"""Reading bags: ROS 2 (MCAP or sqlite3) and ROS 1, whole or damaged, into messages as they went over the wire.

For any file the result is a :class:`~arm_control.bags.bag.Bag` or a :class:`BagError`. ``rosbags`` reads
whole files. Written here is what libraries do not give:

- A message that cannot be read is left out and counted, by topic and cause; a topic of an unknown type, or with a
  damaged definition, is named and the others are read. ``rosbags.highlevel.AnyReader`` has one set of types for a whole
  bag, and refuses the bag when one definition cannot be parsed.
- A MCAP file without its end, left by a recorder that was killed, or with damaged records, is read record by record
  (:func:`recover_mcap`): a damaged record costs itself, a damaged chunk its messages. ``rosbags`` needs the end of the
  file; the reader of the package ``mcap`` ends at the first record that it cannot read.
- A bag that takes more memory than is free is refused: a few bytes can unpack into more than a machine has, and no
  library bounds that.
"""

from __future__ import annotations

import resource
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag1,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
    QosDurability,
    QosReliability,
)
from rosbags.rosbag2.storage_mcap import decompress, get_qos, read_bytes, read_string

from arm_control.bags.bag import Bag, Message, Topic
from arm_control.bags.message_definitions import decoder_of
from arm_control.core import printable
from arm_control.exceptions import BagError

STORAGES = {".mcap": "mcap", ".db3": "sqlite3", ".bag": "ROS 1"}
"""By the ending of the file with the messages."""
MEMORY_SHARE = 0.8
"""Share of the free memory that a bag may take."""
MCAP_MAGIC = b"\x89MCAP0\r\n"
SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 3, 4, 5, 6, 15
"""First byte of a MCAP record, by https://mcap.dev/spec."""
DEFINITION_FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}


def read_bag(path: str | Path) -> Bag:
    """Read a bag: a folder with ``metadata.yaml``, or a file ``.mcap``, ``.db3`` or ``.bag``.

    A BagError when there is none, nothing in it can be read, or it takes more memory than is free.
    """
    path = Path(path)
    if not path.exists():
        raise BagError(f"there is no bag {path}")
    if path.is_dir() and not (path / "metadata.yaml").exists() and not _files(path):
        raise BagError(f"{path} holds no bag (no metadata.yaml){_bags_below(path)}")
    try:
        with within_free_memory():
            return _read_or_recover(path)
    except MemoryError:
        raise BagError(f"{path} takes more memory than is free: it is read as a whole") from None


def _read_or_recover(path: Path) -> Bag:
    try:
        return _read(path, [])
    except MemoryError:
        raise
    except Exception as error:  # a damaged file makes a parser raise anything
        cause = f"{type(error).__name__}: {error}"
    for file in _files(path):
        bag = _recover(file, cause)
        if bag is not None:
            return bag
    raise BagError(f"{path} is not a bag that can be read: {printable(cause)}")


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in STORAGES and file.is_file())


def _bags_below(path: Path) -> str:
    folders = sorted({str(file.parent) for level in ("*", "*/*") for file in path.glob(f"{level}/metadata.yaml")})
    more = f" and {len(folders) - 10} more" if len(folders) > 10 else ""
    return f"; below it there are: {', '.join(folders[:10])}{more}" if folders else ""


def _recover(file: Path, cause: str) -> Bag | None:
    """Read a file without its metadata, or without its end; None where nothing can be read."""
    damage = [printable(cause)]
    try:
        return _read(file, damage)
    except Exception:
        pass
    if file.suffix != ".mcap":
        return None
    connections, messages, errors = recover_mcap(file.read_bytes())
    if not connections:
        return None
    return _bag(file, "mcap", connections, messages, {}, damage + errors)


def _read(path: Path, damage: list[str]) -> Bag:
    is_ros1 = path.suffix == ".bag" and path.is_file()
    opened: Any = rosbag1.Reader(path) if is_ros1 else rosbag2.Reader(path)
    with opened as reader:
        notes = {} if is_ros1 else reader.storage.metadata.custom or {}
        custom = {str(key): str(value) for key, value in notes.items() if isinstance(value, str | int | float)}
        files = _files(path)
        storage = STORAGES.get(files[0].suffix, "?") if files else "?"
        stored = [] if is_ros1 else _stored_connections(reader.storage)
        return _bag(path, storage, [*stored, *reader.connections], reader.messages(stored), custom, damage)


def _stored_connections(storage: Any) -> list[Connection]:
    """Return the topics as the files of a folder have them; none for a single file.

    ``rosbags`` finds no message of a topic whose QoS differs between its file and ``metadata.yaml``.
    """
    return [connection for file in getattr(storage, "storages", ()) for connection in file.connections]


def _bag(
    path: Path,
    storage: str,
    connections: list[Connection],
    raw_messages: Iterable[tuple[Connection, int, bytes]],
    custom: dict[str, str],
    damage: list[str],
) -> Bag:
    topics = {_key(connection): _topic(connection) for connection in connections}
    messages = [Message(topics[_key(connection)], log_ns, bytes(raw)) for connection, log_ns, raw in raw_messages]
    messages.sort(key=lambda message: message.log_ns)
    return Bag(path, storage, messages, sorted(topics.values(), key=lambda topic: topic.name), custom, damage)


def _key(connection: Connection) -> tuple[str, str]:
    return connection.topic, connection.msgtype


def _topic(connection: Connection) -> Topic:
    name = printable(connection.topic)
    type_name = printable(connection.msgtype)
    latched, reliable = _publication(connection)
    try:
        return Topic(name, type_name, latched, reliable, decoder=decoder_of(connection))
    except BagError as error:
        return Topic(name, type_name, latched, reliable, error=str(error))


def _publication(connection: Connection) -> tuple[bool, bool]:
    """Whether a topic was latched, and whether it was reliable."""
    match connection.ext:
        case ConnectionExtRosbag1(latching=latching):
            return bool(latching), True
        case ConnectionExtRosbag2(offered_qos_profiles=profiles):
            latched = any(qos.durability == QosDurability.TRANSIENT_LOCAL for qos in profiles)
            return latched, not any(qos.reliability == QosReliability.BEST_EFFORT for qos in profiles)
    return False, True


# -- damaged MCAP files ---------------------------------------------------------------------------


def recover_mcap(data: bytes) -> tuple[list[Connection], list[tuple[Connection, int, bytes]], list[str]]:
    """Read the records of a MCAP file in order, without the index at its end; it never raises.

    Returns the connections, the messages (connection, time [ns], bytes), and the errors, each once.

    A record is a byte with its type, its length in eight bytes, and its content; messages stand in chunks.
    """
    schemas: dict[int, tuple[str, MessageDefinition]] = {}
    connections: dict[int, Connection] = {}
    messages: list[tuple[Connection, int, bytes]] = []
    errors: dict[str, None] = {}  # each once: a damaged schema makes every message of its topics unreadable
    if not data.startswith(MCAP_MAGIC):
        return [], [], ["no MCAP file"]
    for record_type, record in _records_in_chunks(data, errors):
        try:
            if record_type == SCHEMA:
                number, schema = _schema(record)
                schemas[number] = schema
            elif record_type == CHANNEL:
                connection = _connection(record, schemas)
                connections.setdefault(connection.id, connection)
            elif record_type == MESSAGE:
                number, _, log_ns, _ = struct.unpack_from("<HIQQ", record)
                messages.append((connections[number], log_ns, record[22:]))
        except Exception as error:
            errors[f"a record cannot be read: {type(error).__name__}"] = None
    return list(connections.values()), messages, list(errors)


def _records_in_chunks(data: bytes, errors: dict[str, None]) -> Iterator[tuple[int, bytes]]:
    """Type and content of the records, a chunk replaced by its records."""
    for record_type, record in _records(data, len(MCAP_MAGIC), errors):
        if record_type == DATA_END:
            return
        if record_type != CHUNK:
            yield record_type, record
            continue
        try:
            content = _chunk(record)
        except Exception as error:
            errors[f"a chunk of {len(record)} bytes cannot be read: {type(error).__name__}"] = None
        else:
            yield from _records(content, 0, errors)


def _records(data: bytes, at: int, errors: dict[str, None]) -> Iterator[tuple[int, bytes]]:
    while at + 9 <= len(data):
        record_type, length = struct.unpack_from("<BQ", data, at)
        if at + 9 + length > len(data):
            errors[f"cut off after {at} bytes"] = None
            return
        yield record_type, data[at + 9 : at + 9 + length]
        at += 9 + length


def _chunk(record: bytes) -> bytes:
    size, crc = struct.unpack_from("<QI", record, 16)
    stream = BytesIO(record[28:])
    compression = read_string(stream)
    (length,) = struct.unpack("<Q", stream.read(8))
    return bytes(decompress(stream.read(length), compression, size, crc))


def _schema(record: bytes) -> tuple[int, tuple[str, MessageDefinition]]:
    (number,) = struct.unpack_from("<H", record)
    stream = BytesIO(record[2:])
    name = read_string(stream)
    definition_format = DEFINITION_FORMATS.get(read_string(stream), MessageDefinitionFormat.NONE)
    return number, (name, MessageDefinition(definition_format, read_string(stream)))


def _connection(record: bytes, schemas: dict[int, tuple[str, MessageDefinition]]) -> Connection:
    number, schema_number = struct.unpack_from("<HH", record)
    stream = BytesIO(record[4:])
    topic = read_string(stream)
    encoding = read_string(stream)
    name, definition = schemas[schema_number]
    ext = ConnectionExtRosbag2(encoding, get_qos(read_bytes(stream)))
    return Connection(number, topic, name, definition, "", 0, ext, None)


# -- memory ---------------------------------------------------------------------------------------


@contextmanager
def within_free_memory() -> Iterator[None]:
    """Make allocations beyond the free memory raise ``MemoryError``, in libraries too.

    The bound is one of the process: nothing else should run in it meanwhile. There is none where the system does not
    report its free memory.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bounds = [bound for bound in (soft, hard, _memory_bound()) if bound not in (None, resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(bounds, default=soft), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _memory_bound() -> int | None:
    """Memory in use and a share of the free memory [bytes]; None where that is not known."""
    free = free_memory()
    if free is None:
        return None
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize() + round(MEMORY_SHARE * free)


def free_memory() -> int | None:
    """Return the memory that the system would give [bytes]; None where it does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
