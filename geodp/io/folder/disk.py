"""Operations on folders that differ between systems: lock, flush to the disk, move.

POSIX systems open a folder as they open a file, so that it can be locked and flushed itself.
Windows opens none: a lock is a file beside the folder there, the names in a folder are in the
file system's journal, and a folder can neither be renamed over another, be it empty, nor while one
of its files is open.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EWOULDBLOCK
from pathlib import Path

HANDLES = 32
"""Files that are open at once while a release is written, including :data:`RESERVED_HANDLES`."""

RESERVED_HANDLES = 8
"""Files that are open at once while a partial release is removed: one a folder in another."""

SCANNED = 10.0
"""Seconds to wait on Windows for programs that look at every new file: virus scanners, indexers."""

OPENS_FOLDERS = hasattr(os, "O_DIRECTORY")
"""Whether this system opens folders, as POSIX does."""


@contextmanager
def hold(folder: Path, patience: float = 0) -> Iterator[None]:
    """Lock a folder; the lock follows it through renames and ends with the process.

    Parameters
    ----------
    folder : Path
    patience : float
        Seconds to wait while another process holds it.

    Raises
    ------
    BlockingIOError
        Another run holds it, or has just put another folder in its place.
    OSError
        There is no such folder; or, where the lock is a file, it cannot be made.
    """
    # Where folders cannot be opened, the lock is a file with one name for all names of the folder.
    with _hold_itself(folder, patience) if OPENS_FOLDERS else _hold_file(folder, patience):
        yield


@contextmanager
def _hold_itself(folder: Path, patience: float) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock(handle, patience)
        # The folder may have been renamed between opening and locking: then the lock is on a
        # folder that no longer has this name, and protects nothing.
        if not _is_at(handle, folder):
            raise held(folder)
        yield
    finally:
        os.close(handle)


def _is_at(handle: int, folder: Path) -> bool:
    """Test whether a name leads to an open folder; nothing may have the name any more."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(folder))
    except FileNotFoundError:
        return False


def lock(handle: int, patience: float = 0) -> None:
    """Lock an open file or folder until it is closed; BlockingIOError where another has done so.

    Windows locks nothing here: it removes no file that is open.

    Parameters
    ----------
    handle : int
    patience : float
        Seconds to wait while another process holds it.
    """
    if not OPENS_FOLDERS:
        return
    import fcntl  # POSIX

    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
            continue
        except OSError:
            # Some network file systems have no locks. The run goes on: keeping two runs apart is up
            # to the operator there.
            pass
        return


def remove_unheld(path: Path) -> None:
    """Remove a regular file that no process has locked, or on Windows open; otherwise OSError."""
    if not OPENS_FOLDERS:
        path.unlink()
        return
    # Opened for writing, as NFS grants exclusive locks only on files that may be written.
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        lock(handle)
        # The name may lead to another file by now, which must not be removed.
        seen = os.fstat(handle)
        if stat.S_ISREG(seen.st_mode) and os.path.samestat(seen, os.lstat(path)):
            path.unlink()
    finally:
        os.close(handle)


def held(folder: Path) -> BlockingIOError:
    """Make the error of a folder that another run holds."""
    return BlockingIOError(EWOULDBLOCK, os.strerror(EWOULDBLOCK), str(folder))


@contextmanager
def _hold_file(folder: Path, patience: float) -> Iterator[None]:
    """Hold the file that stands for a folder, which goes with the lock."""
    from filelock import FileLock, Timeout

    lock = FileLock(name_lock(folder), timeout=patience, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise held(folder) from None
    try:
        yield
    finally:
        lock.release()


def name_lock(folder: Path) -> Path:
    """Return the lock's file beside a folder, the same for all names that a run gives to one.

    Examples
    --------
    >>> print(name_lock(Path("maps", ".out.replaced-0123abcd")).name)
    .out.lock-0123abcd
    >>> print(name_lock(Path("maps", ".out.partial")).name)
    ..out.partial.lock
    >>> print(name_lock(Path("maps", "out")).name)
    .out.lock
    """
    match = re.fullmatch(r"(.+)\.(?:replaced|lock)(-[0-9a-f]{8})", folder.name)
    return folder.with_name(f"{match[1]}.lock{match[2]}" if match else f".{folder.name}.lock")


@contextmanager
def hold_handles() -> Iterator[None]:
    """Hold handles for removing a folder, where a process may open as many as a release takes.

    Raises
    ------
    OSError
        It may open fewer. Later that would stop a run which has been charged.
    """
    with contextlib.ExitStack() as held:
        with contextlib.ExitStack() as opened:
            # All handles are opened once to find out whether the limit allows them; those of the
            # first stack stay open and are given back when a removal needs them.
            for number in range(HANDLES):
                stack = held if number < RESERVED_HANDLES else opened
                stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield


def sync(path: Path) -> None:
    """Force a file, or the names in a folder where they need it, to the disk."""
    if not OPENS_FOLDERS and path.is_dir():
        return
    # Windows flushes only what may be written.
    handle = os.open(path, os.O_RDONLY if OPENS_FOLDERS else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(folder: Path) -> None:
    """Force every file and folder below to the disk, so that a rename never outruns content."""
    for parent, _, files in os.walk(folder):
        for name in files:
            sync(Path(parent, name))
        sync(Path(parent))


def move(folder: Path, place: Path, patience: float = 0) -> None:
    """Give a folder a new name, where there is nothing or an empty folder; otherwise OSError.

    ``patience``: see :func:`rename_patiently`.
    """
    if not OPENS_FOLDERS:
        with contextlib.suppress(FileNotFoundError):
            place.rmdir()
    rename_patiently(lambda: os.rename(folder, place), patience)


def rename_patiently(rename: Callable[[], None], patience: float = SCANNED) -> None:
    """Rename; on Windows again and again while another program has a file of it open.

    Parameters
    ----------
    rename : callable
    patience : float
        Seconds after which its PermissionError is raised.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            rename()
            return
        except PermissionError:
            # Virus scanners open what was just written, and only for moments. After a charge a
            # release that is given up at once has to be resumed for nothing.
            if OPENS_FOLDERS or time.monotonic() >= deadline:
                raise
        time.sleep(0.05)
