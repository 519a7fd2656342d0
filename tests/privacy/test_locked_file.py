"""A lock on a file: of one writer or many readers, in threads and forks."""

import errno
import os
import threading
from pathlib import Path

import pytest

from geodp.errors import OutputError, UsageError
from geodp.privacy import locked_file
from geodp.privacy.locked_file import is_at, open_locked, real_path, sync_folder, write_at
from tests.refusals import refuses

posix = pytest.mark.skipif(
    locked_file.fcntl is None, reason="locks on files themselves are of POSIX"
)


NULL = Path(os.devnull)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    return tmp_path / "file"


def test_one_writer_keeps_all_others_out(path, monkeypatch):
    monkeypatch.setattr(locked_file, "PATIENCE", 0.05)
    with open_locked(path, write=True) as file:
        file.write(b"C")
        assert path.read_bytes() == b"Content"  # nothing waits in a buffer when it is flushed
        for write in (True, False):
            with (
                refuses(OutputError, "ledger-in-use"),
                open_locked(path, write=write),
            ):
                pass
    with open_locked(path, write=False) as file:
        assert file.read() == b"Content"


@posix
def test_readers_share_a_file(path):
    with open_locked(path, write=False), open_locked(path, write=False) as file:
        assert file.read() == b"content"


def test_an_error_inside_lets_the_lock_go(path):
    with pytest.raises(KeyError), open_locked(path, write=True):
        raise KeyError
    with open_locked(path, write=True):
        pass


def test_closing_another_handle_keeps_the_lock(path, monkeypatch):
    """As it would not with locks of a process, which end with any handle of the file."""
    monkeypatch.setattr(locked_file, "PATIENCE", 0.05)
    with open_locked(path, write=True):
        path.read_bytes()
        with refuses(OutputError, "ledger-in-use"), open_locked(path, write=True):
            pass


@posix
def test_a_fork_does_not_keep_the_lock(path, monkeypatch):
    monkeypatch.setattr(locked_file, "PATIENCE", 0.5)
    reading, writing = os.pipe()
    with open_locked(path, write=True):
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)  # until the parent ends
            os._exit(0)
    try:
        with open_locked(path, write=True):
            pass
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


@posix
def test_a_fork_that_leaves_the_block_does_not_take_the_lock_from_its_parent(path, monkeypatch):
    monkeypatch.setattr(locked_file, "PATIENCE", 0.05)
    child = -1
    try:
        with open_locked(path, write=True):
            child = os.fork()
            if child == 0:
                raise SystemExit
            os.waitpid(child, 0)
            with (
                refuses(OutputError, "ledger-in-use"),
                open_locked(path, write=True),
            ):
                pass
    finally:
        if child == 0:
            os._exit(0)


@posix
def test_the_folder_of_a_new_file_is_flushed(path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    sync_folder(path)
    assert flushed == [path.parent.stat().st_ino]


@posix
def test_no_read_ends_before_the_file_does(path):
    with open_locked(path, write=False) as file:
        assert os.get_blocking(file.fileno())


def test_a_file_is_made_only_where_it_is_to_be_made(tmp_path):
    with pytest.raises(FileNotFoundError), open_locked(tmp_path / "new", write=True):
        pass
    nowhere = tmp_path / "nowhere" / "new"
    with pytest.raises(FileNotFoundError), open_locked(nowhere, write=True, create=True):
        pass
    assert list(tmp_path.iterdir()) == []
    with open_locked(tmp_path / "new", write=True, create=True) as file:
        assert file.read() == b""


@posix
def test_who_waited_for_a_file_that_was_replaced_opens_the_new_one(path, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"new")
    found, begun = [], threading.Event()

    def wait():
        begun.set()
        with open_locked(path, write=True) as file:
            found.append(file.read())

    thread = threading.Thread(target=wait)
    with open_locked(path, write=True) as file:
        assert is_at(file, path)
        thread.start()
        begun.wait()
        os.replace(other, path)
        assert not is_at(file, path)
    thread.join()
    assert found == [b"new"]


@posix
def test_a_file_system_without_locks_is_refused_in_a_sentence(path, monkeypatch):
    def flock(file, kind):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locked_file.fcntl, "flock", flock)
    for write in (True, False):
        with refuses(OutputError, "ledger-without-locks"), open_locked(path, write=write):
            pass


def test_what_is_no_regular_file_is_refused(tmp_path):
    with pytest.raises(OSError, match=r"directory|denied"), open_locked(tmp_path, write=False):
        pass
    with refuses(UsageError, "ledger-not-regular"), open_locked(NULL, write=False):
        pass


def test_the_path_of_what_cannot_be_opened_is_told_too(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert real_path(tmp_path / "link") == tmp_path / "file"
    assert real_path(tmp_path / "loop") == tmp_path / "loop"
    assert real_path(str(tmp_path / ("x" * 300))) == tmp_path / ("x" * 300)


def test_all_bytes_are_written_also_where_few_are_at_once(tmp_path):
    class Slow:
        def __init__(self):
            self.content, self.place = bytearray(20), 0

        def seek(self, place):
            self.place = place

        def write(self, data):
            self.content[self.place : self.place + 3] = data[:3]
            self.place += len(data[:3])
            return len(data[:3])

    slow = Slow()
    write_at(slow, 5, b"0123456789")
    assert bytes(slow.content[5:15]) == b"0123456789"


def test_a_lock_by_name_refuses_a_file_with_two_names(path, monkeypatch):
    """What a system has without locks on files themselves."""
    monkeypatch.setattr(locked_file, "fcntl", None)
    monkeypatch.setattr(locked_file, "PATIENCE", 0.05)
    os.link(path, path.with_name("other"))
    with refuses(UsageError, "ledger-hard-link"), open_locked(path, write=True):
        pass
    path.with_name("other").unlink()
    with (
        open_locked(path, write=True),
        refuses(OutputError, "ledger-in-use"),
        open_locked(path, write=False),
    ):
        pass
    assert path.read_bytes() == b"content"
