"""Writing bags that ``ros2 bag`` opens: a folder with ``metadata.yaml`` and a MCAP or sqlite3 file.

Every type's definition is in the bag, every topic has the QoS it was published with, so that what was latched is
latched when it is played again. What is written may be flushed: a MCAP file then holds it even when this process is
killed, though without the index at its end, which players that need one can make anew.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys.store import Typestore

from arm_control.exceptions import BagError
from arm_control.messages.bags.message_definitions import NEWEST, known_types

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
VERSION: Literal[9] = 9
"""Of the metadata, as ROS 2 Jazzy and later write it."""
NEVER = QosTime(9223372036, 854775807)
"""How QoS says that a time has no end."""


@dataclass(frozen=True)
class Published:
    """How a topic is published."""

    latched: bool = False
    reliable: bool = True
    depth: int = 1000


class BagWriter:
    """A bag that is being written; a context manager.

    Parameters
    ----------
    path : str or Path
        The folder; it must not be there yet.
    storage : str
        ``mcap`` or ``sqlite3``.
    custom : mapping of str to str
        What is to be known of the recording; the package's version is added.
    compressed : bool
        Whether MCAP is compressed (zstd).
    types : Typestore, optional
        The types of messages; those of the newest ROS by default.

    Raises
    ------
    BagError
        When it cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        storage: str = "mcap",
        custom: Mapping[str, str] | None = None,
        *,
        compressed: bool = False,
        types: Typestore | None = None,
    ) -> None:
        self._types = types or known_types(NEWEST)
        self._topics: dict[str, tuple[Connection, str]] = {}
        self.count = 0
        refuse_existing(path)
        try:
            self._writer = Writer(path, version=VERSION, storage_plugin=STORAGES[storage])
            if compressed:
                self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
            for key, value in {**(custom or {}), "arm_control": _own_version()}.items():
                self._writer.set_custom_data(key, value)
            self._writer.open()
        except Exception as error:
            raise BagError(f"{path} cannot be written: {error}") from error

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with suppress(BagError) if kind else nullcontext():  # what went wrong first is what is told
            self.close()

    def add(self, topic: str, kind: str, published: Published | None = None) -> None:
        """Make a topic known before its first message.

        Raises
        ------
        BagError
            When its type is unknown.
        """
        if kind not in self._types.types:
            raise BagError(f"{topic}: unknown type {kind}")
        qos = [_qos(published or Published())]
        connection = self._writer.add_connection(topic, kind, typestore=self._types, offered_qos_profiles=qos)
        self._topics[topic] = connection, kind

    def knows(self, topic: str) -> bool:
        """Whether a topic has been added."""
        return topic in self._topics

    def write(self, topic: str, log_ns: int, raw: bytes) -> None:
        """Write a message as it goes over the wire, at a time [ns].

        Raises
        ------
        BagError
            When it cannot be written, as on a full disk.
        """
        try:
            self._writer.write(self._topics[topic][0], log_ns, raw)
        except Exception as error:
            raise self._ends_here(error) from error
        self.count += 1

    def put(self, topic: str, log_ns: int, message: Any) -> None:
        """Write a message of :mod:`arm_control.messages.bags.plain_messages`, at a time [ns]."""
        self.write(topic, log_ns, bytes(self._types.serialize_cdr(message, self._topics[topic][1])))

    def flush(self) -> None:
        """Hand everything written so far to the operating system.

        Raises
        ------
        BagError
            When it cannot be written, as on a full disk.
        """
        storage: Any = self._writer.storage
        try:
            if hasattr(storage, "close_chunk"):  # MCAP: messages stand in chunks
                if storage.chunk.msgs:
                    storage.close_chunk()
                storage.bio.flush()
            elif hasattr(storage, "conn"):
                storage.conn.commit()
        except Exception as error:
            raise self._ends_here(error) from error

    def _ends_here(self, error: Exception) -> BagError:
        return BagError(f"{self._writer.path} ends early, and can be read up to there: {error}")

    def close(self) -> None:
        """Write index and metadata. A bag without a message is one, too."""
        if self._writer.storage is None:
            return
        if not self.count:
            self._writer.min_timestamp = 0
        try:
            self._writer.close()
        except Exception as error:
            raise BagError(f"{self._writer.path} cannot be finished: {error}") from error

    def remove(self) -> None:
        """Remove the bag once it is closed; what else is in its folder stays, and so does the folder then."""
        path = self._writer.path
        for file in (path / "metadata.yaml", *(path / f"{path.name}{ending}" for ending in (".mcap", ".db3"))):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            path.rmdir()


def refuse_existing(path: str | Path) -> None:
    """Raise :class:`BagError` where something is already that a new bag would overwrite."""
    if os.path.lexists(path):
        raise BagError(f"{path} exists already: choose another name, or remove it")


def _own_version() -> str:
    try:
        return version("arm_control")
    except PackageNotFoundError:
        return "not installed"


def _qos(published: Published) -> Qos:
    return Qos(
        QosHistory.KEEP_LAST,
        published.depth,
        QosReliability.RELIABLE if published.reliable else QosReliability.BEST_EFFORT,
        QosDurability.TRANSIENT_LOCAL if published.latched else QosDurability.VOLATILE,
        NEVER,
        NEVER,
        QosLiveliness.AUTOMATIC,
        NEVER,
        False,
    )
