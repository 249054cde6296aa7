"""The cache: it gives back exactly what was stored, or nothing."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arm_control.app import main
from arm_control.core import Cache, default_directory
from arm_control.core import cache as cache_module
from arm_control.exceptions import ParameterError

KEY, DATA = "kernel of ur5, version 1", bytes(range(256)) * 8
NOT_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def entry(cache: Cache) -> Path:
    """The file of a good entry."""
    cache.store(KEY, DATA, title="ur5")
    return path_of(cache, KEY)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    def messages() -> list[str]:
        return [r.message for r in caplog.records if (r.name, r.levelno) == ("arm_control.core.cache", logging.WARNING)]

    return messages


def path_of(cache: Cache, key: str) -> Path:
    return cache.directory / sha256(key.encode()).hexdigest()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("data", [b"", b"x", DATA, bytes(3_000_000)], ids=len)
@pytest.mark.parametrize("key", ["", KEY, "k" * 100_000, "ü\n\0", "\udc80"], ids=len)
def test_it_gives_back_what_was_stored(cache: Cache, key: str, data: bytes, warnings):
    assert cache.load(key) is None
    cache.store(key, data)
    assert cache.load(key) == data
    assert Cache(cache.directory).load(key) == data
    assert cache.load(key + " ") is None
    assert warnings() == []


@pytest.fixture
def umask() -> Iterator[Callable[[int], object]]:
    """Set the mask of new files for the length of a test."""
    before = os.umask(0)
    os.umask(before)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277])
def test_only_the_user_may_read_and_write_it_whatever_the_umask(tmp_path: Path, mask: int, umask):
    """A folder above it that was there stays as it was; one that is made is the user's alone."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old").chmod(0o755)
    cache = Cache(tmp_path / "old" / "new" / "cache")
    umask(mask)
    cache.store(KEY, DATA)
    umask(0o022)
    assert cache.load(KEY) == DATA
    assert (mode(cache.directory), mode(path_of(cache, KEY))) == (0o700, 0o600)
    assert (mode(tmp_path / "old"), mode(tmp_path / "old" / "new") & 0o077) == (0o755, 0)


def test_there_is_no_moment_in_which_others_may_write(cache: Cache, monkeypatch, umask):
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    umask(0)
    cache.store(KEY, DATA)
    assert (mode(cache.directory), mode(path_of(cache, KEY))) == (0o700, 0o600)


def test_looking_makes_no_directory(cache: Cache, warnings):
    assert cache.load(KEY) is None
    assert cache.entries() == []
    assert cache.clear() == 0
    assert not cache.directory.exists()
    assert warnings() == []


# What is refused: how an entry is spoilt, and what the warning says.
def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def exchange(path: Path) -> None:
    other = Cache(path.parent)
    other.store("other key", b"other data")
    os.rename(path_of(other, "other key"), path)


def link_symbolically(path: Path) -> None:
    os.rename(path, path.parent / "elsewhere")
    path.symlink_to("elsewhere")


def make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


SPOILS = {
    truncate: "bytes; its header states",
    lengthen: "bytes; its header states",
    damage: "it is damaged",
    exchange: "it has the data of another key",
    lambda path: path.write_bytes(b""): "not an entry of this version",
    lambda path: path.write_bytes(b"arm_control cache 0\n" + path.read_bytes()[20:]): "not an entry of this version",
    lambda path: os.truncate(path, 2**40): "1099511627776 bytes; allowed: 268435456",
    link_symbolically: "it is a symbolic link",
    lambda path: os.link(path, path.parent / "second name"): "it has 2 hard links; allowed: 1",
    make_fifo: "it is not a regular file",
    make_directory: "it is not a regular file",
    lambda path: path.chmod(0o620): "other users may write to it: its mode is 0620",
    lambda path: path.chmod(0o602): "other users may write to it: its mode is 0602",
}


@pytest.mark.parametrize(("spoil", "reason"), SPOILS.items(), ids=range(len(SPOILS)))
@pytest.mark.parametrize("look", [lambda cache: cache.load(KEY), lambda cache: cache.entries() or None])
def test_an_entry_that_may_not_be_used_is_refused_removed_and_made_again(
    cache: Cache, entry: Path, spoil: Callable, reason: str, look: Callable, warnings, caplog: pytest.LogCaptureFixture
):
    spoil(entry)
    assert look(cache) is None
    (message,) = warnings()
    assert message.startswith(f"the cache entry {entry} is not used: ")
    caplog.clear()
    assert re.search(reason, message)
    assert not os.path.lexists(entry)
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert warnings() == []


@pytest.mark.parametrize("spoil", [spoil for spoil in SPOILS if spoil is not make_directory])
def test_a_store_alone_repairs_what_may_not_be_used(cache: Cache, entry: Path, spoil: Callable, warnings):
    spoil(entry)
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    assert warnings() == []


def test_a_refused_link_does_not_touch_what_it_points_to(cache: Cache, entry: Path, tmp_path: Path):
    target = tmp_path / "target"
    os.rename(entry, target)
    content = target.read_bytes()
    entry.symlink_to(target)
    assert cache.load(KEY) is None
    entry.symlink_to(target)
    cache.store(KEY, b"new")
    assert target.read_bytes() == content


def test_a_directory_with_something_in_it_is_not_ours_to_remove(cache: Cache, entry: Path, warnings):
    make_directory(entry)
    (entry / "file").touch()
    assert cache.load(KEY) is None
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    assert (entry / "file").exists()
    assert any("Is a directory" in message for message in warnings())


def pretend(monkeypatch: pytest.MonkeyPatch, applies: Callable[[int], bool], **fields: int) -> None:
    """Let os.fstat report other values for directories, or for files."""
    fstat = os.fstat

    def altered(file: int) -> object:
        status = fstat(file)
        values = {name: getattr(status, name) for name in dir(status) if name.startswith("st_")}
        return SimpleNamespace(**(values | fields if applies(status.st_mode) else values))

    monkeypatch.setattr(os, "fstat", altered)


def test_an_entry_of_another_user_is_refused(cache: Cache, entry: Path, monkeypatch, warnings):
    with monkeypatch.context() as patch:
        pretend(patch, stat.S_ISREG, st_uid=os.geteuid() + 1)
        assert cache.load(KEY) is None
    assert f"it belongs to user {os.geteuid() + 1}; allowed: {os.geteuid()}" in warnings()[0]
    assert not entry.exists()
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA


@pytest.mark.parametrize("bits", [0o720, 0o702])
def test_a_directory_that_others_may_write_is_refused(cache: Cache, entry: Path, bits: int, warnings):
    cache.directory.chmod(bits)
    unused(cache, entry)
    (warning,) = warnings()
    assert f"its mode is 0{bits:o}; allowed: 0755 or less" in warning
    cache.directory.chmod(0o755)
    repaired(cache.directory)


def test_a_directory_of_another_user_is_refused(cache: Cache, entry: Path, monkeypatch, warnings):
    euid = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: euid + 1)
        unused(cache, entry)
    assert f"it belongs to user {euid}; allowed: {euid + 1}" in warnings()[0]
    repaired(cache.directory)


def test_a_directory_that_is_a_symbolic_link_is_refused(cache: Cache, entry: Path, tmp_path: Path, warnings):
    (tmp_path / "link").symlink_to(cache.directory)
    unused(Cache(tmp_path / "link"), entry)
    assert "it is a symbolic link, or not a directory" in warnings()[0]
    repaired(cache.directory)


@pytest.mark.parametrize("place", ["file", "file/cache"])
def test_a_file_in_place_of_the_directory_only_means_no_cache(tmp_path: Path, place: str, warnings):
    (tmp_path / "file").write_text("text")
    cache = Cache(tmp_path / place)
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    assert place != "file" or warnings()[-1].endswith("is not used: it is a symbolic link, or not a directory")
    assert (tmp_path / "file").read_text() == "text"


def unused(cache: Cache, entry: Path) -> None:
    """Check that nothing is read, written or removed."""
    content = entry.read_bytes()
    assert cache.load(KEY) is None
    cache.store(KEY, b"new")
    cache.store("another key", b"new")
    assert cache.entries() == []
    assert cache.clear() == 0
    assert list(entry.parent.iterdir()) == [entry]
    assert entry.read_bytes() == content


def repaired(directory: Path) -> None:
    assert Cache(directory).load(KEY) == DATA
    Cache(directory).store(KEY, b"new")
    assert Cache(directory).load(KEY) == b"new"


def test_a_directory_that_is_exchanged_after_it_was_opened_is_not_read(cache: Cache, entry: Path, monkeypatch):
    checked, moved = os.fstat, cache.directory.with_name("moved")

    def exchange_after_check(file: int) -> os.stat_result:
        status = checked(file)
        if stat.S_ISDIR(status.st_mode):
            os.rename(cache.directory, moved)
            cache.directory.mkdir()
            path_of(cache, KEY).write_bytes(b"forged")
        return status

    monkeypatch.setattr(os, "fstat", exchange_after_check)
    assert cache.load(KEY) == DATA


def test_an_entry_that_is_replaced_while_it_is_read_is_still_good(cache: Cache, entry: Path, monkeypatch, warnings):
    fstat, other = os.fstat, Cache(cache.directory)

    def replace_before_check(file: int) -> os.stat_result:
        if stat.S_ISREG(fstat(file).st_mode):
            monkeypatch.undo()
            other.store(KEY, b"new")
            assert fstat(file).st_nlink == 0
        return fstat(file)

    monkeypatch.setattr(os, "fstat", replace_before_check)
    assert cache.load(KEY) == DATA
    assert cache.load(KEY) == b"new"
    assert warnings() == []


def test_an_entry_whose_size_changes_while_it_is_read_is_refused(cache: Cache, entry: Path, monkeypatch, warnings):
    size = entry.stat().st_size
    pretend(monkeypatch, stat.S_ISREG, st_size=size - 10)
    assert cache.load(KEY) is None
    assert f"it has {size - 10} bytes; its header states {size}" in warnings()[0]


@settings(max_examples=30)
@given(st.data())
def test_no_byte_may_change_and_none_be_missing(data: st.DataObject):
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        content = data.draw(st.binary(max_size=40))
        cache.store(KEY, content, title="ur5")
        path = path_of(cache, KEY)
        good = path.read_bytes()
        at = data.draw(st.integers(0, len(good) - 1))
        flipped = bytes([good[at] ^ data.draw(st.integers(1, 255))])
        for bad in (good[:at], good[:at] + flipped + good[at + 1 :], good + flipped, good[:at] + good[at + 1 :]):
            path.write_bytes(bad)
            assert cache.load(KEY) is None
            path.write_bytes(good)
            path.chmod(0o600)
            assert cache.load(KEY) == content


def test_lengths_that_move_bytes_from_the_title_to_the_data_are_refused(cache: Cache, entry: Path):
    content = bytearray(entry.read_bytes())
    content[60] -= 1  # length of the title
    content[68:70] = (len(DATA) + 1).to_bytes(2, "little")
    entry.write_bytes(content)
    assert cache.load(KEY) is None


# What the disk refuses only means that there is no cache.
@pytest.mark.parametrize("call", ["write", "fsync", "rename", "fchmod"])
def test_a_full_disk_changes_nothing(cache: Cache, entry: Path, call: str, monkeypatch, warnings):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        cache.store(KEY, b"new")
        cache.store("another key", b"new")
    assert warnings() == [f"the cache {cache.directory} is not used: No space left on device"] * 2
    assert list(cache.directory.iterdir()) == [entry]
    assert cache.load(KEY) == DATA


def test_a_disk_that_takes_and_gives_a_little_at_a_time_has_everything(cache: Cache, monkeypatch):
    write, read = os.write, os.read
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data[:7])))
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    monkeypatch.setattr(os, "read", lambda file, n: read(file, min(n, 7)))
    assert cache.load(KEY) == DATA


def test_a_read_only_disk_can_still_be_read(cache: Cache, entry: Path, monkeypatch, warnings):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    open_ = os.open
    for name in ("mkdir", "utime", "unlink", "rmdir", "rename"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(
        os, "open", lambda path, flags, *a, **k: (refuse if flags & os.O_CREAT else open_)(path, flags, *a, **k)
    )
    assert cache.load(KEY) == DATA
    assert warnings() == []
    cache.store(KEY, b"new")
    Cache(cache.directory / "new").store(KEY, DATA)
    assert [message.rpartition(": ")[2] for message in warnings()] == ["Read-only file system"] * 2
    assert cache.clear() == 0
    assert cache.load(KEY) == DATA
    damage(entry)
    assert cache.load(KEY) is None


@NOT_ROOT
def test_an_entry_or_a_directory_that_may_not_be_read_only_means_no_cache(cache: Cache, entry: Path, warnings):
    entry.chmod(0)
    assert cache.load(KEY) is None
    assert "Permission denied" in warnings()[0]
    cache.store(KEY, DATA)
    assert cache.load(KEY) == DATA
    cache.directory.chmod(0)
    assert cache.load(KEY) is None
    cache.directory.chmod(0o700)
    assert cache.load(KEY) == DATA


def test_a_disk_that_cannot_be_read_costs_no_entry(cache: Cache, entry: Path, monkeypatch, warnings):
    def broken(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", broken)
        assert cache.load(KEY) is None
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", broken)
        assert cache.entries() == []
        assert cache.clear() == 0
    subjects = [message.split(str(cache.directory))[0] for message in warnings()]
    assert subjects == ["the cache entry ", "the cache ", "the cache "]
    assert cache.load(KEY) == DATA


def test_an_entry_that_cannot_be_read_does_not_hide_the_others(cache: Cache, entry: Path, monkeypatch):
    read, broken = os.read, entry.stat().st_ino
    cache.store("another key", DATA)

    def read_others(file: int, n: int) -> bytes:
        if os.fstat(file).st_ino == broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(file, n)

    monkeypatch.setattr(os, "read", read_others)
    cache.store("a third key", DATA)
    assert {found.path for found in cache.entries()} == {path_of(cache, key) for key in ("another key", "a third key")}


def test_no_file_stays_open(cache: Cache, entry: Path):
    def n_open() -> int:
        return len(os.listdir("/dev/fd"))

    before = n_open()
    for spoil in SPOILS:
        cache.store(KEY, DATA)
        cache.entries()
        spoil(path_of(cache, KEY))
        cache.load(KEY)
        cache.clear()
    cache.directory.chmod(0o777)
    Cache(cache.directory).load(KEY)
    assert n_open() == before


# Several at once.
def work(directory: Path, me: int) -> None:
    cache, rng, found = Cache(directory, max_bytes=1_000_000), Random(me), 0
    for i in range(150):
        key = str(rng.randrange(6))
        if rng.random() < 0.5:
            cache.store(key, (key + " ").encode() + bytes([me]) * (100_000 + me), title=key)
        data = cache.load(key)
        if data is not None:
            writer = data[-1]
            assert data == (key + " ").encode() + bytes([writer]) * (100_000 + writer), "not what was stored"
            found += 1
        if i % 50 == 49:
            cache.entries()
    assert found > 10, found


def test_several_may_share_a_directory(cache: Cache, warnings):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, [cache.directory] * 4, range(1, 5)))
    assert warnings() == []
    assert not list(cache.directory.glob("*.part"))
    assert 0 < len(cache.entries()) <= 6


def test_what_a_killed_writer_leaves_is_ignored_and_removed(cache: Cache, entry: Path, monkeypatch):
    def store_and_be_killed() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", lambda *_, **__: None)
            cache.store(KEY, b"new")

    store_and_be_killed()
    (part,) = cache.directory.glob("*.part")
    assert cache.load(KEY) == DATA
    assert [found.path for found in cache.entries()] == [entry]
    cache.store("another key", b"data")
    assert part.exists(), "its writer may be alive"
    for seconds, is_left in ((3590.0, True), (20.0, False)):
        age(part, seconds)
        Cache(cache.directory).store("another key", b"data")
        assert part.exists() == is_left
    store_and_be_killed()
    assert cache.clear() == 3
    assert list(cache.directory.iterdir()) == []


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


# Size, list, clear.
def test_a_full_cache_forgets_what_was_not_used_for_longest(cache: Cache):
    for i, key in enumerate("abc"):
        cache.store(key, bytes(1000))
        age(path_of(cache, key), 100.0 - i)
    assert cache.load("a") is not None
    size = path_of(cache, "a").stat().st_size
    small = Cache(cache.directory, max_bytes=3 * size)
    small.store("a", bytes(1000))
    assert len(small.entries()) == 3, "an entry that is replaced takes no room"
    small.store("d", bytes(1000))
    assert [small.load(key) is not None for key in "abcd"] == [True, False, True, True]
    assert sum(entry.size for entry in small.entries()) == small.max_bytes
    Cache(cache.directory, max_bytes=3 * size - 1).store("d", bytes(1000))
    assert len(small.entries()) == 2
    Cache(cache.directory, max_bytes=size).store("d", bytes(1000))
    assert len(small.entries()) == 1


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path, warnings):
    cache = Cache(tmp_path / "cache", max_bytes=1000)
    cache.store("small", b"data")
    cache.store("large", bytes(1000))
    assert cache.load("large") is None
    assert cache.load("small") == b"data"
    assert "allowed: 1000" in warnings()[0]


def test_the_list_tells_what_there_is(cache: Cache):
    for key in ("first", "second"):
        cache.store(key, DATA, title=f"the {key}\x1b[2J\n\udc80")
    age(path_of(cache, "first"), 50.0)
    second, first = cache.entries()
    assert (first.title, second.title) == ("the first?[2J??", "the second?[2J??")
    assert second.used - first.used == pytest.approx(50.0, abs=10.0)
    assert first.path == path_of(cache, "first")
    assert first.size == first.path.stat().st_size > len(DATA)
    assert cache.entries()[0] == second, "a look at the list is no use of an entry"
    assert cache.load("first") == DATA
    assert cache.entries()[0].path == first.path, "a load is"


def test_clear_removes_only_what_belongs_to_the_cache(cache: Cache, entry: Path, warnings):
    others = [cache.directory / name for name in ("letter.txt", "0" * 63, "0" * 64 + ".txt", "A" * 64)]
    for other in others:
        other.touch()
    cache.store("another key", DATA)
    assert cache.clear() == 2
    assert sorted(cache.directory.iterdir()) == sorted(others)
    make_directory_with_file(cache.directory / ("0" * 64))
    cache.store("another key", DATA)
    assert cache.clear() == 1
    assert warnings() == [f"1 files in {cache.directory} were not removed"]


def make_directory_with_file(path: Path) -> None:
    path.mkdir()
    (path / "file").touch()


# Where it is, and whether.
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/arm_control"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/tmp/xdg"}, "/tmp/xdg/arm_control"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "xdg"}, "/home/me/.cache/arm_control"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": ""}, "/home/me/.cache/arm_control"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/tmp/xdg", "ARM_CONTROL_CACHE": "/tmp/here"}, "/tmp/here"),
        ({"HOME": "/home/me", "ARM_CONTROL_CACHE": ""}, "/home/me/.cache/arm_control"),
        ({"HOME": "/home/me", "ARM_CONTROL_CACHE": "off"}, None),
        ({"HOME": "relative"}, None),
        ({}, None),
    ],
)
def test_where_it_is(variables: dict[str, str], expected: str | None, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "ARM_CONTROL_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 987654321)  # of nobody who has a home
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_directory() == (Path(expected) if expected else None)


def test_a_relative_place_is_an_error(monkeypatch):
    monkeypatch.setenv("ARM_CONTROL_CACHE", "none")
    with pytest.raises(ParameterError, match="'none'; allowed: 'off', or the absolute path"):
        default_directory()


def check_off(cache: Cache) -> None:
    cache.store(KEY, DATA)
    assert cache.load(KEY) is None
    assert cache.entries() == []
    assert cache.clear() == 0


def test_a_cache_without_a_directory_keeps_nothing(tmp_path: Path, monkeypatch, warnings):
    monkeypatch.chdir(tmp_path)
    check_off(Cache(None))
    monkeypatch.setattr(cache_module, "SUPPORTED", False)
    check_off(Cache(tmp_path / "cache"))
    assert list(tmp_path.iterdir()) == []
    assert warnings() == []


def test_the_command_lists_and_clears(cache: Cache, monkeypatch, capsys):
    monkeypatch.setenv("ARM_CONTROL_CACHE", str(cache.directory))
    cache.store(KEY, bytes(1_230_000), title="ur5, tool0")
    cache.store("another key", bytes(4_000_000), title="panda")
    age(path_of(cache, KEY), 3600.0)
    assert main(["cache", "list"]) == 0
    head, _, panda, ur5 = capsys.readouterr().out.splitlines()
    assert head == f"{cache.directory}: 2 entries, 5.23 MB"
    assert panda.split()[:4] == ["panda", "4000", "kB", "0"]
    assert ur5.split() == ["ur5,", "tool0", "1230", "kB", "1", "h", path_of(cache, KEY).name[:8]]
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"{cache.directory}: 2 files removed\n"
    assert main(["cache", "list"]) == 0
    assert capsys.readouterr().out == f"{cache.directory}: 0 entries, 0.00 MB\n"
    assert cache.load(KEY) is None


def test_the_command_says_when_the_cache_is_off(monkeypatch, capsys):
    for value, status, text in (("off", 0, "the cache is off\n"), ("relative", 2, "")):
        monkeypatch.setenv("ARM_CONTROL_CACHE", value)
        assert [main(["cache", action]) for action in ("list", "clear")] == [status] * 2
        assert capsys.readouterr().out == text * 2
