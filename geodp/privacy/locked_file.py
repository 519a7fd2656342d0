"""A file with one writer at a time, whichever of its names it was opened by.

On POSIX systems the lock is on the file itself (``flock`` on its inode): hard links, bind mounts of
the file and renames are other names of one lock. It belongs to the open file, not to the process,
so threads exclude each other too, and closing another handle of the file does not drop it. A fork
has it too: the process that took it gives it back for both, or its end and that of its forks do.

Elsewhere (Windows) the lock is a file beside it, found by name, so a file with hard links is
refused there.
"""

from __future__ import annotations

import os
import random
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import BinaryIO

from geodp.errors import OutputError, UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0
"""Seconds to wait for others who hold the lock."""

NOTHING = "nothing was charged, so publish nothing"


@contextmanager
def open_locked(path: Path, *, write: bool, create: bool = False) -> Iterator[BinaryIO]:
    """Open a regular file and hold its lock until the block ends.

    Parameters
    ----------
    path : Path
        Absolute, without symbolic links.
    write : bool
        Hold it exclusively; otherwise together with other readers.
    create : bool
        Make an empty file if there is none.

    Yields
    ------
    BinaryIO
        Unbuffered.

    Raises
    ------
    OutputError
        Others hold it for longer than ``PATIENCE``, or its file system has no locks.
    UsageError
        It is no regular file, or has two names where locks go by name.
    OSError
        It cannot be opened.
    """
    deadline, process = time.monotonic() + PATIENCE, os.getpid()
    with nullcontext() if fcntl else _hold_name(path, create):
        while True:
            with _open(path, write, create) as file:
                if fcntl:
                    _hold(file, path, write, deadline)
                try:
                    # While this waited for the lock, the name may have gone to another file.
                    if create or is_at(file, path):
                        yield file
                        return
                    _require_name(file, path)
                    if time.monotonic() > deadline:
                        raise _busy(path)
                finally:
                    # A fork that has the handle too must not keep the lock, and one that leaves
                    # this block must not take it from the process that goes on in it.
                    if fcntl and os.getpid() == process:
                        fcntl.flock(file, fcntl.LOCK_UN)


def real_path(path: str | Path) -> Path:
    """Return an absolute path without symbolic links, also of what cannot be opened."""
    return Path(os.path.realpath(path))


def is_at(file: BinaryIO, path: Path) -> bool:
    """Return whether a path still names an open file, and the file is in a folder at all."""
    return _is_named(file, path) and os.fstat(file.fileno()).st_nlink > 0


def sync(file: BinaryIO) -> None:
    """Wait until all that was written to a file is on the disk."""
    full = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync alone stops at the disk's own cache
    if full is None:
        os.fsync(file.fileno())
    else:
        fcntl.fcntl(file, full)


def sync_folder(path: Path) -> None:
    """Wait until the name of a new file is on the disk, where folders can be opened."""
    if fcntl:
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_at(file: BinaryIO, place: int, data: bytes) -> None:
    """Write all bytes at a place; OSError where only some fit."""
    file.seek(place)
    while data:
        data = data[file.write(data) :]


def _is_named(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _require_name(file: BinaryIO, path: Path) -> None:
    """Raise OutputError for a file that was replaced and is visible only by a bind mount."""
    if _is_named(file, path):
        raise OutputError(
            f"{path} was removed or replaced where it lies, and a bind mount shows the former "
            f"file; {NOTHING}, and mount its folder, not the file.",
            code="ledger-file-moved",
        )


def _open(path: Path, write: bool, create: bool) -> BinaryIO:
    flags = os.O_RDWR if write else os.O_RDONLY
    # Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
    for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags | (os.O_CREAT if create else 0), 0o666)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(
                f"{path} is not a regular file; name one, or a new one.", code="ledger-not-regular"
            )
        if not fcntl and status.st_nlink > 1:
            raise UsageError(
                f"{path} has another name (a hard link), and on this system locks go by name; "
                "remove that name, or make a copy and keep that one alone.",
                code="ledger-hard-link",
            )
        if fcntl:  # so that no read of a file system that heeds it ends before the file does
            os.set_blocking(handle, True)
        return os.fdopen(handle, "r+b" if write else "rb", buffering=0)
    except BaseException:
        os.close(handle)
        raise


def _hold(file: BinaryIO, path: Path, exclusive: bool, deadline: float) -> None:
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise _busy(path) from None
            # At random, so that several waiting processes do not ask in step.
            time.sleep(random.uniform(0.001, 0.02))
        except OSError as error:
            raise OutputError(
                f"The file system of {path} has no locks ({error.strerror}), so two could write to "
                f"it at once; {NOTHING}, and keep the file on a local disk.",
                code="ledger-without-locks",
            ) from None


@contextmanager
def _hold_name(path: Path, create: bool) -> Iterator[None]:
    from filelock import FileLock, Timeout

    # FileLock would create missing folders, and a lock file for a ledger that does not exist.
    if not (path.parent.is_dir() if create else path.exists()):
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), str(path))
    lock = FileLock(f"{path}.lock", thread_local=False)
    try:
        lock.acquire(timeout=PATIENCE, poll_interval=0.01)
    except Timeout:
        raise _busy(path) from None
    try:
        yield
    finally:
        lock.release()


def _busy(path: Path) -> OutputError:
    return OutputError(
        f"{path} has been in use by others for {PATIENCE:.0f} seconds; {NOTHING}, and try again.",
        code="ledger-in-use",
    )
