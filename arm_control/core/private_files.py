"""Files that only this user can have written: what others could have put there is refused.

A directory is opened once and its files are opened relative to it; owner, mode and kind are checked on
the open file that is then read, so nothing can be exchanged in between. POSIX only, see ``SUPPORTED``.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from pathlib import Path

_DIR_FD = {os.open, os.mkdir, os.rename, os.rmdir, os.stat, os.unlink, os.utime} <= os.supports_dir_fd
SUPPORTED = _DIR_FD and hasattr(os, "O_NOFOLLOW") and hasattr(os, "geteuid")
"""Whether this system can do it."""

PART = ".part"
"""How the name of a file ends that is still being written, or whose writer was killed."""


class Refused(Exception):
    """A directory or a file that must not be used; the message says why."""


def open_directory(path: Path, create: bool = False) -> int:
    """Open a directory that only this user can write to.

    Parameters
    ----------
    path : Path
        The directory.
    create : bool
        Make it, and what is above it, when there is none; mode 0700 whatever the umask.

    Returns
    -------
    int
        A file descriptor; the caller closes it.

    Raises
    ------
    Refused
        It is a symbolic link or no directory, belongs to another user, or others may write to it.
    OSError
        It cannot be opened or made.
    """
    created = create and _make(path)
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Refused("it is a symbolic link, or no directory") from error
        raise
    try:
        _check_private(os.fstat(directory))
        if created:
            os.fchmod(directory, 0o700)  # whatever the umask took away
    except BaseException:
        os.close(directory)
        raise
    return directory


def read_file(directory: int, name: str, max_bytes: int) -> bytes:
    """Read a file that only this user can have written.

    Parameters
    ----------
    directory : int
        From :func:`open_directory`.
    name : str
        The file in it.
    max_bytes : int
        Largest size allowed.

    Raises
    ------
    Refused
        It is no regular file, has several names, is too large, belongs to another user, or others may
        write to it.
    OSError
        It cannot be read.
    """
    try:  # not blocking, or a FIFO would wait for its writer
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Refused("it is a symbolic link") from error
        raise
    try:
        status = os.fstat(file)
        _check_file(status, max_bytes)
        content = bytearray()
        while part := os.read(file, status.st_size - len(content)):
            content += part
        return bytes(content)
    finally:
        os.close(file)


def write_file(directory: int, name: str, content: bytes) -> None:
    """Write a file, mode 0600, in place of what has its name; it is either complete or not there.

    Raises
    ------
    OSError
        It cannot be written; nothing has changed.
    """
    part = f"{name}.{secrets.token_hex(8)}{PART}"
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=directory)
    try:
        try:
            os.fchmod(file, 0o600)  # whatever the umask took away
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
    """Remove what has this name, if it can be removed: anything but a directory with something in it."""
    try:
        try:
            os.unlink(name, dir_fd=directory)
        except (IsADirectoryError, PermissionError):  # the latter on macOS
            os.rmdir(name, dir_fd=directory)
    except OSError:
        return False
    return True


def _make(path: Path) -> bool:
    """Make a directory for this user alone; return False when there is one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _check_private(status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise Refused(f"it belongs to user {status.st_uid}, allowed: {os.geteuid()}, who runs this")
    if status.st_mode & 0o022:
        raise Refused(f"others may write to it: mode {stat.S_IMODE(status.st_mode):04o}, allowed: 0755 or less")


def _check_file(status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Refused("it is not a regular file")
    if status.st_nlink > 1:  # 0 is fine: another process has just put a new file in its place
        raise Refused(f"it has {status.st_nlink} names (hard links), allowed: 1")
    if status.st_size > max_bytes:
        raise Refused(f"it has {status.st_size} bytes, allowed: {max_bytes}")
    _check_private(status)
