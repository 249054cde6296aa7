"""Files that only this user can have written: files that another user could have written are refused.

A directory is opened once, and its files are opened relative to it. Owner, mode and file type are checked on the open
file that is then read, so that no other file can replace it in between. POSIX only, see ``SUPPORTED``.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

_DIR_FD = {os.open, os.mkdir, os.rename, os.rmdir, os.stat, os.unlink, os.utime} <= os.supports_dir_fd
SUPPORTED = _DIR_FD and hasattr(os, "O_NOFOLLOW") and hasattr(os, "geteuid")
"""Whether this system has the functions for that."""

PART = ".part"
"""Suffix of files that are being written, or whose process was killed."""


class UnsafeFile(Exception):
    """A directory or a file that must not be used; the message states the reason."""


def open_directory(path: Path, create: bool = False) -> int:
    """Open a directory that only this user can write to; return a file descriptor that the caller closes.

    Parameters
    ----------
    create : bool
        Create the directory and its parents if necessary, with mode 0700 whatever the umask.

    Raises
    ------
    UnsafeFile
        It is a symbolic link, is not a directory, belongs to another user, or other users may write to it.
    OSError
        It cannot be opened or created.
    """
    created = create and _create(path)
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise UnsafeFile("it is a symbolic link, or not a directory") from error
        raise
    try:
        _check_private(os.fstat(directory))
        if created:
            os.fchmod(directory, 0o700)  # independent of the umask
    except BaseException:
        os.close(directory)
        raise
    return directory


def read_file(directory: int, name: str, max_bytes: int) -> bytes:
    """Read a file that only this user can have written.

    Raises
    ------
    UnsafeFile
        It is not a regular file, has several hard links, is too large, belongs to another user, or other users may
        write to it.
    OSError
        It cannot be read.
    """
    try:  # O_NONBLOCK: a FIFO would wait for its writer
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnsafeFile("it is a symbolic link") from error
        raise
    try:
        return _content(file, max_bytes)
    finally:
        os.close(file)


def read_secret(path: Path, max_bytes: int) -> bytes:
    """Read a file that only this user can read or write; its directory does not matter.

    Raises
    ------
    UnsafeFile
        As in :func:`read_file`, or other users may read it.
    OSError
        It cannot be read.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        mode = stat.S_IMODE(os.fstat(file).st_mode)
        if mode & 0o077:
            raise UnsafeFile(f"other users may read it: its mode is {mode:04o}; allowed: 0600 or less")
        return _content(file, max_bytes)
    finally:
        os.close(file)


def write_file(directory: int, name: str, content: bytes) -> None:
    """Write a file with mode 0600, replacing an earlier file; no process sees it incomplete.

    Raises
    ------
    OSError
        It cannot be written; an earlier file stays as it was.
    """
    part = f"{name}.{secrets.token_hex(8)}{PART}"
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    try:
        try:
            os.fchmod(file, 0o600)  # independent of the umask
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(part, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        remove_file(directory, part)
        raise


def remove_file(directory: int, name: str) -> bool:
    """Remove a file or an empty directory; return whether that succeeded."""
    try:
        try:
            os.unlink(name, dir_fd=directory)
        except (IsADirectoryError, PermissionError):  # the latter on macOS
            os.rmdir(name, dir_fd=directory)
    except OSError:
        return False
    return True


def _create(path: Path) -> bool:
    """Create a directory for this user alone; return False when it exists already."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _content(file: int, max_bytes: int) -> bytes:
    """Content of an open file that only this user can have written."""
    status = os.fstat(file)
    _check_file(status, max_bytes)
    content = bytearray()
    while part := os.read(file, status.st_size - len(content)):
        content += part
    return bytes(content)


def _check_private(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise UnsafeFile(f"it belongs to user {status.st_uid}; allowed: {os.geteuid()}, the user of this process")
    if status.st_mode & 0o022:
        raise UnsafeFile(
            f"other users may write to it: its mode is {stat.S_IMODE(status.st_mode):04o}; allowed: 0755 or less"
        )


def _check_file(status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeFile("it is not a regular file")
    if status.st_nlink > 1:  # 0: another process has just replaced the file
        raise UnsafeFile(f"it has {status.st_nlink} hard links; allowed: 1")
    if status.st_size > max_bytes:
        raise UnsafeFile(f"it has {status.st_size} bytes; allowed: {max_bytes}")
    _check_private(status)
