"""A cache of bytes between runs: machine code compiled for one robot, and other results of long computations.

Another user who could write an entry could run code in the process that loads it. Therefore an entry is used only when
no other user can have written it (:mod:`arm_control.core.private_files`) and its digest is right. An entry that fails
a check is reported (logger ``arm_control.core.cache``) and removed; the caller computes the data again. The digest
detects damage; owner and mode of directory and file protect against forgery.

An entry is one file, named after the SHA-256 of its key::

    magic | SHA-256 of all that follows | lengths of key, title, data | key | title | data

It is written under another name and renamed when complete, so several processes may share a cache. The time stamp of
a file is the time of its last use; when the cache is full, the least recently used entries are removed.
"""

from __future__ import annotations

import logging
import os
import re
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from arm_control.core.private_files import (
    PART,
    SUPPORTED,
    UnsafeFile,
    open_directory,
    read_file,
    remove_file,
    write_file,
)
from arm_control.exceptions import ParameterError

LOG = logging.getLogger("arm_control.core.cache")

MAX_BYTES = 256 * 2**20
"""Default of the largest size of all entries together."""

OTHERS = 4
"""Processes that may fill the room that one of them has counted."""
LEFTOVER_AGE = 3600.0
"""Age at which an unfinished file counts as left by a killed process [s]."""

_MAGIC = b"arm_control cache 1\n"
_DIGEST = slice(len(_MAGIC), len(_MAGIC) + 32)
_LENGTHS = struct.Struct("<3Q")
_HEADER_SIZE = _DIGEST.stop + _LENGTHS.size
_NAME = re.compile(rf"[0-9a-f]{{64}}(\.[0-9a-f]{{16}}{re.escape(PART)})?")


@dataclass(frozen=True)
class Entry:
    """One entry of a cache.

    Attributes
    ----------
    size : int
        Size of the file [bytes].
    used : float
        When it was last stored or loaded [s since 1970].
    """

    title: str
    size: int
    used: float
    path: Path


def default_directory() -> Path | None:
    """Directory of the cache, from the environment.

    Returns
    -------
    Path or None
        ``$ARM_CONTROL_CACHE``, else ``$XDG_CACHE_HOME/arm_control`` when that is absolute, else
        ``~/.cache/arm_control``. None (no cache) when ``ARM_CONTROL_CACHE`` is ``off`` or the user has no home
        directory.

    Raises
    ------
    ParameterError
        ``ARM_CONTROL_CACHE`` is neither ``off`` nor an absolute path.
    """
    setting = os.environ.get("ARM_CONTROL_CACHE", "")
    if setting == "off":
        return None
    if setting:
        if not os.path.isabs(setting):
            raise ParameterError(
                f"ARM_CONTROL_CACHE is '{setting}'; allowed: 'off', or the absolute path of a directory"
            )
        return Path(setting)
    for base in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")):
        if os.path.isabs(base):
            return Path(base, "arm_control")
    return None


class Cache:
    """Bytes by key, stored in a directory. No method raises because of the state of the disk.

    It needs a POSIX system; elsewhere (Windows) it stays empty. It also stays empty for root with the home directory
    of another user (``sudo``), because the directory belongs to that user.

    Parameters
    ----------
    directory : Path or None
        Directory, created by the first :meth:`store`. None: nothing is stored or loaded.
    max_bytes : int
        Largest size of all entries together [bytes].

    Examples
    --------
    >>> cache = Cache(None)  # or Cache(default_directory())
    >>> data = cache.load("kernel of ur5, version 1")
    >>> if data is None:
    ...     data = b"machine code"
    ...     cache.store("kernel of ur5, version 1", data, title="ur5")
    """

    def __init__(self, directory: Path | None, max_bytes: int = MAX_BYTES) -> None:
        self.directory = directory if SUPPORTED else None
        self.max_bytes = max_bytes
        self._refused = False
        self._room = 0
        """Bytes that may be stored before all files are counted again."""

    def load(self, key: str) -> bytes | None:
        """Return the data stored under a key.

        Parameters
        ----------
        key : str
            Everything the data depends on: the robot's digest, options, versions, the CPU.

        Returns
        -------
        bytes or None
            The stored data; None when there is no entry, or none that can be trusted.
        """
        name = _name(_encode(key))
        entry = None
        with self._open() as directory:
            if directory is not None and (entry := self._read(directory, name)):
                with suppress(OSError):  # removed by another process, or the disk is read-only
                    os.utime(name, dir_fd=directory, follow_symlinks=False)
        return entry[1] if entry else None

    def store(self, key: str, data: bytes, title: str = "") -> None:
        """Store data under a key, replacing earlier data. A failure logs a warning.

        Parameters
        ----------
        title : str
            Description, for the user; characters that cannot be printed become question marks.
        """
        content = _pack(key, title, data)
        name = _name(_encode(key))
        with self._open(create=True) as directory:
            if directory is None:
                return
            if len(content) > self.max_bytes:
                LOG.warning("an entry of %d bytes is not cached; allowed: %d bytes", len(content), self.max_bytes)
                return
            if len(content) > self._room:
                self._room = self._make_room(directory, name, len(content)) // OTHERS
            else:
                self._room -= len(content)
            write_file(directory, name, content)

    def entries(self) -> list[Entry]:
        """List the valid entries, the last used first; others are reported and removed."""
        entries = []
        with self._open() as directory:
            if directory is None:
                return []
            for name, status in _files(directory):
                if not name.endswith(PART) and (content := self._read(directory, name)):
                    entries.append(Entry(content[0], status.st_size, status.st_mtime, self._path(name)))
        return sorted(entries, key=lambda entry: entry.used, reverse=True)

    def clear(self) -> int:
        """Remove all entries and all files left by killed processes; return the number of removed files."""
        removed = 0
        with self._open() as directory:
            if directory is not None:
                files = _files(directory)
                removed = sum(remove_file(directory, name) for name, _ in files)
                if removed < len(files):
                    LOG.warning("%d files in %s were not removed", len(files) - removed, self.directory)
        return removed

    @contextmanager
    def _open(self, create: bool = False) -> Iterator[int | None]:
        """Open the directory for one operation; None when it does not exist or must not be used.

        An error of the file system ends the operation and logs a warning.
        """
        directory = None
        try:
            if self.directory is not None and not self._refused and (create or os.path.lexists(self.directory)):
                directory = open_directory(self.directory, create)
        except OSError as error:
            self._warn(error.strerror)
        except UnsafeFile as reason:
            self._refused = True  # one warning, not one for every entry
            self._warn(reason)
        try:
            yield directory
        except OSError as error:
            self._warn(error.strerror)
        finally:
            if directory is not None:
                os.close(directory)

    def _read(self, directory: int, name: str) -> tuple[str, bytes] | None:
        """Title and data of an entry; None when it does not exist. An entry that must not be used is removed."""
        try:
            return _unpack(name, read_file(directory, name, self.max_bytes))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error.strerror, name)
        except UnsafeFile as reason:
            self._warn(reason, name)
            remove_file(directory, name)
        return None

    def _make_room(self, directory: int, name: str, size: int) -> int:
        """Remove files left by killed processes, and the oldest entries until ``size`` more bytes fit.

        Returns
        -------
        int
            Bytes that fit beside them.
        """
        room = self.max_bytes - size
        for other, status in sorted(_files(directory), key=lambda file: file[1].st_mtime, reverse=True):
            if other.endswith(PART):
                if status.st_mtime < time.time() - LEFTOVER_AGE:
                    remove_file(directory, other)
            elif other != name:
                room -= status.st_size
                if room < 0:
                    remove_file(directory, other)
        return max(room, 0)

    def _warn(self, reason: object, name: str = "") -> None:
        LOG.warning("the cache%s %s is not used: %s", " entry" if name else "", self._path(name), reason)

    def _path(self, name: str) -> Path:
        return Path(self.directory or "", name)


def _files(directory: int) -> list[tuple[str, os.stat_result]]:
    """Names and status of the cache's files, complete or not, without foreign files of the directory."""
    files = []
    for name in filter(_NAME.fullmatch, os.listdir(directory)):
        with suppress(FileNotFoundError):
            files.append((name, os.stat(name, dir_fd=directory, follow_symlinks=False)))
    return files


def _encode(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def _name(key: bytes) -> str:
    return sha256(key).hexdigest()


def _pack(key: str, title: str, data: bytes) -> bytes:
    parts = _encode(key), "".join(c if c.isprintable() else "?" for c in title).encode(), data
    body = b"".join((_LENGTHS.pack(*map(len, parts)), *parts))
    return b"".join((_MAGIC, sha256(body).digest(), body))


def _unpack(name: str, content: bytes) -> tuple[str, bytes]:
    """Title and data of an entry, after all checks of its content."""
    if len(content) < _HEADER_SIZE or not content.startswith(_MAGIC):
        raise UnsafeFile("it is not an entry of this version of the cache")
    lengths = _LENGTHS.unpack_from(content, _DIGEST.stop)
    if len(content) != _HEADER_SIZE + sum(lengths):
        raise UnsafeFile(f"it has {len(content)} bytes; its header states {_HEADER_SIZE + sum(lengths)}")
    if sha256(memoryview(content)[_DIGEST.stop :]).digest() != content[_DIGEST]:
        raise UnsafeFile("it is damaged: its digest is wrong")
    title = _HEADER_SIZE + lengths[0]
    data = title + lengths[1]
    if _name(content[_HEADER_SIZE:title]) != name:
        raise UnsafeFile("it has the data of another key")
    return content[title:data].decode(errors="replace"), content[data:]
