"""Files and folders that appear complete or not at all: locks, flushes and moves of each system.

POSIX systems open a folder as they open a file, so that it can be locked and flushed itself.
Windows opens none: a lock is a file beside the folder there, the names in a folder are in the
file system's journal, and a folder can neither be renamed over another, be it empty, nor while one
of its files is open.

A file is written as a draft in the folder of its target. On Linux a draft has no name until it is
complete, so that a killed process leaves nothing. Elsewhere, and while a file is replaced, it has a
hidden name and is locked: the next run for the same target removes drafts that no process holds.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EWOULDBLOCK
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from geodp.errors import OutputError, UsageError
from geodp.io.folder.stopping import commits

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

    take = partial(fcntl.flock, handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        _repeat(take, BlockingIOError, patience, 0.01)
    except BlockingIOError:
        raise
    except OSError:
        # Some network file systems have no locks. The run goes on: keeping two runs apart is up
        # to the operator there.
        pass


def _repeat(
    action: Callable[[], None], refusal: type[OSError], patience: float, pause: float
) -> None:
    """Do something again after each pause while it is refused; the refusal after the patience."""
    deadline = time.monotonic() + patience
    while True:
        try:
            action()
            return
        except refusal:
            if time.monotonic() >= deadline:
                raise
        time.sleep(pause)


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
    # Virus scanners open what was just written, and only for moments. After a charge a release that
    # is given up at once has to be resumed for nothing.
    _repeat(rename, PermissionError, 0 if OPENS_FOLDERS else patience, 0.05)


MAX_STEM = 200
"""Bytes of a target's name that are repeated in the name of its draft: file systems take 255."""

_DRAFT = re.compile(r"\..+\.draft-[0-9a-f]{8}", re.DOTALL)

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOENT, errno.EXDEV)
"""Errors of file systems without hard links, or without links to a file that has no name."""


@contextmanager
def write_atomically(
    path: Path, refusal: str, *, overwrite: bool = False, public: bool = True
) -> Iterator[BinaryIO]:
    """Yield a file to write to; it gets its name once all of it is on the disk.

    Drafts of the same target that dead processes left behind are removed.

    Parameters
    ----------
    path : path
        Path in a folder that exists.
    refusal : str
        The message if the file exists and is not to be replaced.
    overwrite : bool
    public : bool
        Give the file the permissions of any new file. Otherwise only its owner can read it, at
        every moment.

    Yields
    ------
    binary file
        Open to read and write; the block does not close it.

    Raises
    ------
    UsageError
        The file exists, or is a pipe, a socket or a device.
    OutputError
        It cannot be written; what was there before is unchanged.
    """
    _require_file(path)
    if not overwrite:
        require_absent(path, refusal)
    draft = None
    try:
        remove_drafts(path)
        draft = _Draft(path, 0o666 if public else 0o600)
        yield draft.file
        draft.file.flush()
        os.fsync(draft.file.fileno())
        # Another run may have written the file since the first check, and a rename would replace
        # it.
        if not overwrite and os.path.lexists(path):
            raise UsageError(refusal)
        # A stop between the link and the return would report failure for a file that exists.
        with commits():
            if not draft.put(overwrite=overwrite):
                raise UsageError(refusal)
    except OSError as error:
        left = None if draft is None else draft.discard()
        rest = f" Its draft {left} could not be removed; the next run for it does so."
        raise OutputError(
            f"{path} cannot be written ({error.strerror or type(error).__name__})."
            f"{'' if left is None else rest}",
            code="file-unwritten",
        ) from None
    finally:
        if draft is not None:
            draft.discard()
    # The file is in its place: an error now must not say that it could not be written.
    with contextlib.suppress(OSError):
        sync(path.parent)


def require_absent(path: Path, refusal: str) -> None:
    """Raise UsageError with a message if a file exists, and remove its stale drafts."""
    if os.path.lexists(path):  # False for a name that is too long
        remove_drafts(path)
        raise UsageError(refusal)


def hide(path: Path, suffix: str) -> Path:
    """Return a hidden name beside a target, which is short enough for every target.

    Examples
    --------
    >>> print(hide(Path("maps", "a.png"), "draft-0123abcd").name)
    .a.png.draft-0123abcd
    >>> len(hide(Path("a" * 255), "draft-0123abcd").name)
    48
    """
    name = os.fsencode(path.name)
    stem = path.name if len(name) <= MAX_STEM else hashlib.sha256(name).hexdigest()[:32]
    return path.with_name(f".{stem}.{suffix}")


def is_draft(path: Path) -> bool:
    """Return whether a path is a draft that a killed process may have left behind."""
    return _DRAFT.fullmatch(path.name) is not None and path.is_file() and not path.is_symlink()


def remove_drafts(path: Path) -> None:
    """Remove the drafts of a target that no process holds, where the file system allows it."""
    name = re.compile(re.escape(hide(path, "draft-").name) + "[0-9a-f]{8}")
    with contextlib.suppress(OSError):
        drafts = [one for one in path.parent.iterdir() if name.fullmatch(one.name)]
        for draft in drafts:
            with contextlib.suppress(OSError):
                remove_unheld(draft)


def _require_file(path: Path) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(
            f"{path} is a pipe, a socket or a device; give the name of a file.",
            code="output-not-regular",
        )


class _Draft:
    """A file being written: without a name where the system allows it, or hidden and locked."""

    def __init__(self, path: Path, mode: int) -> None:
        self.path, self.mode = path, mode
        self.name: Path | None = None
        handle = _open_nameless(path.parent, mode)
        if handle is None:
            handle = self._open_hidden()
        self.file = cast(BinaryIO, os.fdopen(handle, "w+b"))

    def _open_hidden(self) -> int:
        """Return the handle of a new hidden file, which is locked as long as it is open."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        while True:
            self.name = hide(self.path, f"draft-{secrets.token_hex(4)}")
            handle = os.open(self.name, flags, self.mode)
            try:
                lock(handle)
                # Another run may have taken it for that of a dead process before it was locked.
                if os.path.lexists(self.name):
                    return handle
            except BlockingIOError:
                pass
            os.close(handle)

    def put(self, *, overwrite: bool) -> bool:
        """Give the file its name; return False if that is taken and must not be replaced."""
        if self.name is None:
            if self._link(self.path):
                return True
            if self.name is None:
                if not overwrite:
                    return False
                # A link never replaces a file: the draft needs a name that is renamed.
                hidden = hide(self.path, f"draft-{secrets.token_hex(4)}")
                if self._link(hidden):
                    self.name = hidden
                elif self.name is None:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(hidden))
        if not OPENS_FOLDERS:
            self.file.close()  # Windows renames no open file
        if overwrite:
            draft = self.name
            rename_patiently(lambda: os.replace(draft, self.path))
        elif not _rename_to_new(self.name, self.path):
            return False
        self.name = None
        return True

    def _link(self, place: Path) -> bool:
        """Name a file without a name; return False if the name is taken, or linking is refused.

        If the file system refuses, the file is copied to a hidden one, whose name ``name`` becomes.
        """
        handle = self.file.fileno()
        try:
            # Python follows the link in /proc to the file itself only with a source folder, which
            # selects linkat() with AT_SYMLINK_FOLLOW; otherwise it would link the link.
            os.link(f"/proc/self/fd/{handle}", place, src_dir_fd=handle, follow_symlinks=True)
            return True
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        source = self.file
        with source:
            self.file = cast(BinaryIO, os.fdopen(self._open_hidden(), "w+b"))
            source.seek(0)
            shutil.copyfileobj(source, self.file)
        self.file.flush()
        os.fsync(self.file.fileno())
        return False

    def discard(self) -> Path | None:
        """Close the file and remove its hidden name; return the name where that failed."""
        with contextlib.suppress(OSError):
            self.file.close()
        if self.name is not None:
            try:
                self.name.unlink(missing_ok=True)
            except OSError:
                return self.name
            self.name = None
        return None


def _open_nameless(folder: Path, mode: int) -> int | None:
    """Return the handle of a new file without a name; None where the system has none."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        handle = os.open(folder, os.O_RDWR | os.O_TMPFILE, mode)
    except OSError:
        return None  # if something is wrong, opening a file with a name reports it
    with contextlib.suppress(OSError):
        # It may get a hidden name later, and must never pass for the draft of a dead process.
        lock(handle)
        if os.path.exists(f"/proc/self/fd/{handle}"):
            return handle
    os.close(handle)
    return None


def _rename_to_new(draft: Path, path: Path) -> bool:
    """Rename a file if the new name is free; return whether it was."""
    try:
        if not OPENS_FOLDERS:
            # Windows replaces nothing here.
            rename_patiently(lambda: os.rename(draft, path))
            return True
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            return False
        os.rename(draft, path)
        return True
    # The file has its name; if the hidden one stays, the next run removes it.
    with contextlib.suppress(OSError):
        os.unlink(draft)
    return True
