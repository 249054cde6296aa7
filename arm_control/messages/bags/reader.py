"""Reading bags: ROS 2 (MCAP or sqlite3) and ROS 1, whole or damaged, into messages as they went over the wire.

Whatever is in a file, what comes out is a :class:`Bag` or a :class:`BagError`. A message that cannot be read is passed
over and counted, by topic and cause; a topic of an unknown type is named. A MCAP file without its end, as a recorder
that was killed leaves it, is read as far as it goes. What takes more memory than is free is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import Connection, ConnectionExtRosbag1, ConnectionExtRosbag2, QosDurability, QosReliability

from arm_control.exceptions import BagError
from arm_control.messages.bags.mcap_scan import scan
from arm_control.messages.bags.memory import within_free_memory
from arm_control.messages.bags.message_definitions import Reading, reading_of
from arm_control.model.urdf.xml import printable

STORAGES = {".mcap": "mcap", ".db3": "sqlite3", ".bag": "ROS 1"}
"""By the ending of the file with the messages."""


@dataclass(frozen=True)
class Topic:
    """A topic in a bag.

    Attributes
    ----------
    name, kind : str
        Its name, and the type of its messages, such as ``sensor_msgs/msg/JointState``.
    latched, reliable : bool
        How it was published.
    trouble : str
        Why its messages cannot be read; empty when they can.
    """

    name: str
    kind: str
    latched: bool = False
    reliable: bool = True
    trouble: str = ""
    reading: Reading | None = field(default=None, repr=False, compare=False)


class Message(NamedTuple):
    """A message as it went over the wire, and when it was written [ns]."""

    topic: Topic
    log_ns: int
    raw: bytes


@dataclass
class Bag:
    """What is in a bag.

    Attributes
    ----------
    path : Path
        Where it is.
    storage : str
        ``mcap``, ``sqlite3`` or ``ROS 1``.
    messages : list of Message
        In the order in which they were written.
    topics : list of Topic
        Sorted by name; also those without a message.
    custom : dict of str to str
        What the one who wrote it says about it.
    damage : list of str
        What could not be read of the file.
    malformed : Counter
        Messages that could not be read, by topic and cause; it grows as messages are read.
    namespace : str
        Whose topics are meant where there are several of a name.
    """

    path: Path
    storage: str
    messages: list[Message]
    topics: list[Topic]
    custom: dict[str, str] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    malformed: Counter[tuple[str, str]] = field(default_factory=Counter)
    namespace: str = ""
    _counted: set[tuple[str, str, int]] = field(default_factory=set, repr=False)

    @property
    def duration(self) -> float:
        """Time from the first to the last message [s]."""
        return 1e-9 * (self.messages[-1].log_ns - self.messages[0].log_ns) if self.messages else 0.0

    def named(self, name: str) -> Topic | None:
        """The topic of this name, or the one below a namespace if there is only one; None when there is none."""
        name = name.strip("/")
        for own in (f"{self.namespace.strip('/')}/{name}", name):
            found = [topic for topic in self.topics if topic.name.strip("/") == own.strip("/")]
            if found:
                break
        found = found or [topic for topic in self.topics if topic.name.endswith(f"/{name}")]
        if len(found) > 1:
            several = ", ".join(topic.name for topic in found)
            raise BagError(f"{name}: more than one topic: {several}; --namespace says whose")
        return found[0] if found else None

    def contents(self, *names: str) -> Iterator[tuple[str, int, Any]]:
        """Yield name, time [ns] and content of the messages of these topics, in order; malformed ones are counted."""
        wanted = {id(topic): (name, topic) for name in names if (topic := self.named(name)) is not None}
        for message, content in self.read(*(topic for _, topic in wanted.values())):
            yield wanted[id(message.topic)][0], message.log_ns, content

    def read(self, *topics: Topic) -> Iterator[tuple[Message, Any]]:
        """Yield the messages of these topics and their content, in order; malformed ones are counted."""
        wanted = {id(topic) for topic in topics}
        for number, message in enumerate(self.messages):
            if id(message.topic) not in wanted or message.topic.reading is None:
                continue
            try:
                content = message.topic.reading.content(message.raw)
            except BagError as error:
                self._count(message.topic.name, str(error), number)
            else:
                yield message, content

    def refuse(self, name: str, cause: str, log_ns: int) -> None:
        """Count the message of a topic that was written at a time [ns]: it was readable, but makes no sense."""
        topic = self.named(name)
        self._count(topic.name if topic else name, cause, log_ns)

    def _count(self, name: str, cause: str, which: int) -> None:
        """Count a message once, however often it is read."""
        if (name, cause, which) not in self._counted:
            self._counted.add((name, cause, which))
            self.malformed[name, printable(cause)] += 1


def read_bag(path: str | Path) -> Bag:
    """Read a bag: a folder with ``metadata.yaml``, or a file ``.mcap``, ``.db3`` or ``.bag``.

    Raises
    ------
    BagError
        When there is none, nothing in it can be read, or it takes more memory than is free.
    """
    path = Path(path)
    if not path.exists():
        raise BagError(f"there is no bag {path}")
    if path.is_dir() and not (path / "metadata.yaml").exists() and not _files(path):
        raise BagError(f"{path} holds no bag (no metadata.yaml){_bags_below(path)}")
    try:
        with within_free_memory():
            return _read_or_recovered(path)
    except MemoryError:
        raise BagError(f"{path} takes more memory than is free: it is read as a whole") from None


def _read_or_recovered(path: Path) -> Bag:
    try:
        return _read(path, [])
    except MemoryError:
        raise
    except Exception as error:  # whatever a damaged file makes a parser raise
        trouble = f"{type(error).__name__}: {error}"
    for file in _files(path):
        bag = _recovered(file, trouble)
        if bag is not None:
            return bag
    raise BagError(f"{path} is not a bag that can be read: {printable(trouble)}")


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return sorted(file for file in path.iterdir() if file.suffix in STORAGES and file.is_file())


def _bags_below(path: Path) -> str:
    found = sorted({str(file.parent) for level in ("*", "*/*") for file in path.glob(f"{level}/metadata.yaml")})
    more = f" and {len(found) - 10} more" if len(found) > 10 else ""
    return f"; below it there are: {', '.join(found[:10])}{more}" if found else ""


def _recovered(file: Path, trouble: str) -> Bag | None:
    """What a file gives without its metadata, or without its end; None where that is nothing."""
    damage = [printable(trouble)]
    try:
        return _read(file, damage)
    except Exception:
        pass
    if file.suffix != ".mcap":
        return None
    connections, found, troubles = scan(file.read_bytes())
    if not connections:
        return None
    return _bag(file, "mcap", connections, found, {}, damage + troubles)


def _read(path: Path, damage: list[str]) -> Bag:
    is_ros1 = path.suffix == ".bag" and path.is_file()
    opened: Any = rosbag1.Reader(path) if is_ros1 else rosbag2.Reader(path)
    with opened as reader:
        custom = {} if is_ros1 else reader.storage.metadata.custom or {}
        said = {str(k): str(v) for k, v in custom.items() if isinstance(v, str | int | float)}
        files = _files(path)
        storage = STORAGES.get(files[0].suffix, "?") if files else "?"
        return _bag(path, storage, list(reader.connections), reader.messages(), said, damage)


def _bag(
    path: Path,
    storage: str,
    connections: list[Connection],
    found: Iterable[tuple[Connection, int, bytes]],
    custom: dict[str, str],
    damage: list[str],
) -> Bag:
    topics = {_key(connection): _topic(connection) for connection in connections}
    messages = [Message(topics[_key(connection)], log_ns, bytes(raw)) for connection, log_ns, raw in found]
    messages.sort(key=lambda message: message.log_ns)
    return Bag(path, storage, messages, sorted(topics.values(), key=lambda topic: topic.name), custom, damage)


def _key(connection: Connection) -> tuple[str, str]:
    return connection.topic, connection.msgtype


def _topic(connection: Connection) -> Topic:
    name, kind = printable(connection.topic), printable(connection.msgtype)
    reading, trouble = None, ""
    try:
        reading = reading_of(connection)
    except BagError as error:
        trouble = str(error)
    return Topic(name, kind, *_published(connection), trouble, reading)


def _published(connection: Connection) -> tuple[bool, bool]:
    """Whether a topic was latched, and whether it was reliable."""
    match connection.ext:
        case ConnectionExtRosbag1(latching=latching):
            return bool(latching), True
        case ConnectionExtRosbag2(offered_qos_profiles=profiles):
            latched = any(qos.durability == QosDurability.TRANSIENT_LOCAL for qos in profiles)
            return latched, not any(qos.reliability == QosReliability.BEST_EFFORT for qos in profiles)
    return False, True
