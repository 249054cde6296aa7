"""Writing bags for ``ros2 bag``: a folder with ``metadata.yaml`` and a MCAP or sqlite3 file.

Every type's definition is in the bag, and every topic's QoS, so that a latched topic is latched again when it is
played. What is written may be flushed: a MCAP file then holds it even when this process is killed, without the index at
its end, which players can make again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from rosbags.interfaces import Connection, Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys.store import Typestore

from arm_control.bags.message_definitions import NEWEST, known_types
from arm_control.exceptions import BagError

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
VERSION: Literal[9] = 9
"""Version of the metadata, as ROS 2 Jazzy and later write it."""
INFINITE = QosTime(9223372036, 854775807)
"""An infinite time in QoS."""


class BagWriter:
    """A bag that is being written, in a folder that is new; a context manager.

    Parameters
    ----------
    custom : mapping of str to str
        Notes on the recording; the package's version is added.
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

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        with suppress(BagError) if error_type else nullcontext():  # the first error is the one to report
            self.close()

    def add(
        self, topic: str, type_name: str, *, latched: bool = False, reliable: bool = True, depth: int = 1000
    ) -> None:
        """Add a topic with its QoS; nothing happens when it has been added with this type.

        A BagError when its type is unknown.
        """
        if topic in self._topics and self._topics[topic][1] == type_name:
            return
        if type_name not in self._types.types:
            raise BagError(f"{topic}: unknown type {type_name}")
        qos = Qos(
            QosHistory.KEEP_LAST,
            depth,
            QosReliability.RELIABLE if reliable else QosReliability.BEST_EFFORT,
            QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
            INFINITE,
            INFINITE,
            QosLiveliness.AUTOMATIC,
            INFINITE,
            False,
        )
        connection = self._writer.add_connection(topic, type_name, typestore=self._types, offered_qos_profiles=[qos])
        self._topics[topic] = connection, type_name

    def write(self, topic: str, log_ns: int, raw: bytes) -> None:
        """Write the bytes of a message; a BagError when it cannot be written, as on a full disk."""
        try:
            self._writer.write(self._topics[topic][0], log_ns, raw)
        except Exception as error:
            raise self._truncated(error) from error
        self.count += 1

    def put(self, topic: str, log_ns: int, message: Any) -> None:
        """Write a message.

        Parameters
        ----------
        message : message of the topic's type
            The message, by :data:`arm_control.bags.message_definitions.plain`.
        """
        self.write(topic, log_ns, bytes(self._types.serialize_cdr(message, self._topics[topic][1])))

    def flush(self) -> None:
        """Hand everything written so far to the operating system.

        A BagError when it cannot be written, as on a full disk.
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
            raise self._truncated(error) from error

    def _truncated(self, error: Exception) -> BagError:
        return BagError(f"{self._writer.path} ends early, and can be read up to there: {error}")

    def close(self) -> None:
        """Write index and metadata, also of a bag without a message."""
        if self._writer.storage is None:
            return
        if not self.count:
            self._writer.min_timestamp = 0
        try:
            self._writer.close()
        except Exception as error:
            raise BagError(f"{self._writer.path} cannot be finished: {error}") from error

    def remove(self) -> None:
        """Remove the closed bag; other files in its folder stay, and the folder with them."""
        path = self._writer.path
        for file in (path / "metadata.yaml", *(path / f"{path.name}{ending}" for ending in (".mcap", ".db3"))):
            file.unlink(missing_ok=True)
        with suppress(OSError):
            path.rmdir()


def refuse_existing(path: str | Path) -> None:
    """Raise :class:`BagError` when the path of a new bag exists."""
    if os.path.lexists(path):
        raise BagError(f"{path} exists already: choose another name, or remove it")


def _own_version() -> str:
    try:
        return version("arm_control")
    except PackageNotFoundError:
        return "not installed"
