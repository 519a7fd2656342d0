"""All or nothing: a folder that appears complete, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geodp.errors import OutputError, UsageError
from geodp.io.opening import read_json

SCHEMA = "geodp-release-1"
"""What ``schema`` says in the release card of a folder that this version writes and reads."""

PARTS_SCHEMA = "geodp-release-parts-1"
"""The same for a release in parts, see :mod:`geodp.io.parts`."""

CARD = "release.json"
"""Name of the release card inside ``public``."""


@contextmanager
def staged(target: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder beside ``target`` that takes its place when the block ends well.

    Leaving the block by any exception, interrupts included, removes the folder wholly. A
    release that is replaced stays until the new one is complete. What a killed run left behind
    (a partial folder, a replaced release) is removed or put back by the next run for the
    same target; folders of runs that are still alive are locked and left alone.

    Parameters
    ----------
    target : path
        Absent or an empty folder; its parents are made.
    overwrite : bool
        Allow ``target`` to hold a geodp release, which is then replaced.

    Yields
    ------
    Path
        The folder to fill: a sibling of ``target``, on the same file system.

    Raises
    ------
    UsageError
        ``target`` is a file, the current folder, a mount point or a folder that must not be
        replaced.
    OutputError
        The file system refused: no space, no permission, another run at the same time.
    """
    final = Path(os.path.realpath(target))
    left: list[Path] = []
    with _explained(final, left), contextlib.ExitStack() as locks:
        require_free(final, overwrite=overwrite)
        final.parent.mkdir(parents=True, exist_ok=True)
        _recover(final)
        require_free(final, overwrite=overwrite)  # also what was just put back
        token = secrets.token_hex(4)
        partial = final.parent / f".{final.name}.partial-{token}"
        partial.mkdir()
        try:
            locks.enter_context(_locked(partial))
            yield partial
            _flush(partial)
            require_free(final, overwrite=overwrite)
            _exchange(partial, final, final.parent / f".{final.name}.replaced-{token}")
        except BaseException:
            locks.close()  # where file handles are short, removing needs this one
            if not _remove(partial):
                left.append(partial)
            raise


def _remove(folder: Path) -> bool:
    """Remove a folder into which a thread that nobody waits for may just put a file."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return True
    return False


def is_release(folder: Path) -> bool:
    """Whether a folder holds a release that geodp wrote."""
    try:
        card = read_json(folder / "public" / CARD)
    except (OSError, ValueError):
        return False
    return isinstance(card, dict) and card.get("schema") in (SCHEMA, PARTS_SCHEMA)


def require_free(target: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError where `staged` must not put a folder."""
    final = Path(os.path.realpath(target))
    if final.exists() and not final.is_dir():
        raise UsageError(f"{final} is a file; give the name of a new folder.")
    if final == Path.cwd():
        raise UsageError("A release cannot take the current folder's place; name a folder in it.")
    if final.is_mount():
        raise UsageError(f"{final} is a mount point; name a folder in it.")
    if not final.exists() or not any(final.iterdir()):
        return
    if not is_release(final):
        raise UsageError(
            f"{final} exists and holds something else than a release; it is never replaced. "
            "Choose another folder."
        )
    if not overwrite:
        raise UsageError(f"{final} exists and holds a release; use --overwrite to replace it.")


def _exchange(partial: Path, final: Path, aside: Path) -> None:
    """Put the complete folder in its place; an earlier release comes back if that fails."""
    if final.exists() and any(final.iterdir()):
        with _locked(final):
            os.rename(final, aside)
            try:
                os.rename(partial, final)
            except BaseException:
                os.rename(aside, final)
                raise
            _sync(final.parent)
            shutil.rmtree(aside, ignore_errors=True)
        return
    os.rename(partial, final)  # also over an empty folder
    _sync(final.parent)


def _recover(final: Path) -> None:
    """Put back or remove what killed runs left beside ``final``."""
    for aside in sorted(final.parent.glob(f".{_literal(final.name)}.replaced-*")):
        with contextlib.suppress(BlockingIOError), _locked(aside):
            if final.exists():
                shutil.rmtree(aside)
            else:
                os.rename(aside, final)
    for partial in sorted(final.parent.glob(f".{_literal(final.name)}.partial-*")):
        with contextlib.suppress(OSError), _locked(partial):  # somebody else's may stay
            shutil.rmtree(partial)


def _literal(name: str) -> str:
    """A file name as a glob pattern that matches only itself."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder; the lock follows it through renames and ends with the process.

    Raises BlockingIOError where another run holds it.
    """
    import fcntl  # POSIX; late, so that reading works elsewhere

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # a file system without locks: two runs at once are then up to the operator
        yield
    finally:
        os.close(handle)


def _flush(folder: Path) -> None:
    """Force every file and folder below to the disk, so that a rename never outruns content."""
    for parent, _, files in os.walk(folder):
        for name in files:
            _sync(Path(parent, name))
        _sync(Path(parent))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _explained(final: Path, left: list[Path]) -> Iterator[None]:
    """Turn errors of the file system into an OutputError that names what was left behind."""
    try:
        yield
    except OSError as error:
        reason = str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in reason:
            why = "the disk is full, or the quota is used up"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            where = Path(error.filename).parent if error.filename else final.parent
            why = f"the folder {where} may not be written to"
        elif error.errno in (errno.ENOTEMPTY, errno.EWOULDBLOCK):
            why = "another run writes to the same folder"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST):
            why = f"{error.filename or final.parent} is not a folder"
        else:
            why = error.strerror or reason
        rest = "Nothing of it was left behind."
        if left:
            rest = f"{left[0]} could not be removed; remove it, as it may hold confidential files."
        raise OutputError(f"The release could not be written to {final}: {why}. {rest}") from error
