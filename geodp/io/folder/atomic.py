"""Single files that appear complete or not at all, even if the process is killed.

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from geodp.errors import OutputError, UsageError
from geodp.io.folder.disk import (
    OPENS_FOLDERS,
    lock,
    remove_unheld,
    rename_patiently,
    sync,
)
from geodp.io.folder.stopping import commits

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
