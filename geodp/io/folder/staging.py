"""Staging: a folder that appears complete, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from geodp.errors import OutputError, UsageError, is_utf8
from geodp.io.folder.atomic import (
    OPENS_FOLDERS,
    SCANNED,
    held,
    hold,
    hold_handles,
    move,
    sync,
    sync_all,
)
from geodp.io.folder.kinds import find_kind, is_table
from geodp.io.folder.manifest import SUMS, foreign, remove_release
from geodp.io.folder.pending import DRAWN, PENDING, resolve_interrupted
from geodp.io.folder.stopping import commits

CHECK = "check.json"
"""Name of the report on the inputs inside ``restricted``, before anything is published."""


LONGEST_FILE = 255
"""Longest name of a file that file systems take, in bytes."""

A_LOOK = 0.5
"""Seconds to wait for others who check whether a draw is pending."""

LAST_STEPS = 30.0
"""Seconds to wait for a run whose release is in its place and that is just finishing."""


@contextmanager
def stage(target: str | Path, *, overwrite: bool = False, resume: bool = False) -> Iterator[Path]:
    """Yield a hidden folder beside ``target`` that takes its place when the block ends well.

    The folder has one name for each target, and one run at a time holds it: a second run for the
    same target is refused before it has cost anything. Whether the target may be replaced is
    checked again when the name is taken, as another run may just have ended.

    Leaving the block by any exception, interrupts included, removes the folder entirely, except for
    a charged draw stored in it (:mod:`geodp.io.folder.pending`). A release that is replaced stays
    until the new one is complete. Leftovers of a killed run (a partial folder, a replaced
    release) are removed or put back by the next run for the same target.

    Before the block begins, the file system has shown that it takes folders and files, puts them
    on the disk and renames them.

    Parameters
    ----------
    target : path
        Absent, an empty folder or one that holds a check; its parents are made.
    overwrite : bool
        Allow ``target`` to hold a geodp release, which is then replaced.
    resume : bool
        Go on in the folder of the interrupted run that stored its draw.

    Yields
    ------
    Path
        The folder to fill: a sibling of ``target``, on the same file system.

    Raises
    ------
    UsageError
        ``target`` is a file, the current folder, a mount point or a folder that must not be
        replaced; a draw is pending, or, to resume, none is.
    OutputError
        The file system refused: no space, no permission, another run at the same time.
    """
    # Links are resolved once: replacing a link's target later must not redirect a running release.
    final = Path(os.path.realpath(target))
    left: list[Path] = []
    with (
        _explain(final, left),
        contextlib.ExitStack() as locks,
        contextlib.ExitStack() as reserved,
    ):
        # Checked before anything is created, so that a refused call leaves no trace.
        require_free(final, overwrite=overwrite)
        reserved.enter_context(hold_handles())
        made = _make_parents(final.parent)
        try:
            partial = _take_name(final, locks)
            try:
                _recover(final)
                _require_waiting(partial, final, resume=resume)
                _require_free(final, overwrite=overwrite)  # also what was just put there
                if not resume:
                    _try(partial)
                    _try_to_move(final)
                yield partial
                sync_all(partial)
                _require_free(final, overwrite=overwrite)
                require_only_release_files(final)
                _exchange(partial, final)
            except BaseException:
                reserved.close()  # where file handles are short, removing needs these
                if (rest := _give_up(partial, locks)) is not None:
                    left.append(rest)
                raise
        except BaseException:
            for folder in reversed(made):
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise


def _make_parents(folder: Path) -> list[Path]:
    """Create a folder and its parents; return those that did not exist, from the top."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _take_name(final: Path, locks: contextlib.ExitStack) -> Path:
    """Take the hidden folder of a target, which one run at a time has; return it.

    It is a new one or that of a run that was killed, in which only a pending draw is left.
    Raises BlockingIOError if another run holds it.
    """
    partial = _name_partial(final)
    with contextlib.suppress(FileExistsError):
        # The folder may be left over from a killed run; the lock below decides whether it is in
        # use.
        partial.mkdir()
    try:
        locks.enter_context(hold(partial, patience=A_LOOK))
        _strip(partial)
    except FileNotFoundError:
        # The run that had it has just put it in the target's place.
        raise held(partial) from None
    return partial


def _require_waiting(partial: Path, final: Path, *, resume: bool) -> None:
    """Raise UsageError if a pending draw is not resumed, or there is none to resume."""
    waits = resolve_interrupted(partial)
    if not resume and waits:
        raise _waits(partial)
    if resume and not waits:
        raise UsageError(
            f"Nothing waits beside {final} to be resumed: no run for it was interrupted "
            "between its charge and its end.",
            code="nothing-to-resume",
        )


def _name_partial(final: Path) -> Path:
    """Name the folder in which runs for a target work."""
    return final.parent / f".{final.name}.partial"


def _name_replaced(final: Path) -> Path:
    """Make a hidden name beside a target, which is replaced, that no other run has."""
    return final.parent / f".{final.name}.replaced-{token_hex(4)}"


def _try(folder: Path) -> None:
    """Do once, while it costs nothing, what the end of a run does after it has been charged."""
    before, after = folder / "tried", folder / "renamed"
    before.mkdir()
    (before / "file").write_bytes(b"tried")
    sync(before / "file")
    sync(before)
    move(before, after)
    sync(folder)
    sync(folder.parent)
    shutil.rmtree(after)


def _try_to_move(final: Path) -> None:
    """Move a release to be replaced aside and back, which fails while a file in it is open.

    A run that is killed between the two leaves what `_recover` puts back.
    """
    if not OPENS_FOLDERS and is_release(final):
        # Windows refuses to rename a folder while a file in it is open. That must show before the
        # charge.
        aside = _name_replaced(final)
        with hold(final):
            move(final, aside)
            move(aside, final)


def find_interrupted(target: str | Path) -> Path | None:
    """Return the folder beside a target in which a charged draw is pending; None if there is none.

    The folder of a running process is ignored. UsageError if the ledger of a draw cannot be read.
    """
    partial = _name_partial(Path(os.path.realpath(target)))
    with contextlib.suppress(OSError), hold(partial):
        if resolve_interrupted(partial):
            return partial
    return None


def require_uninterrupted(target: str | Path) -> None:
    """Raise UsageError if an interrupted release is pending, which a new one would waste."""
    if (interrupted := find_interrupted(target)) is not None:
        raise _waits(interrupted)


def _waits(partial: Path) -> UsageError:
    """Return the error for a target whose interrupted release was charged."""
    return UsageError(
        f"An interrupted release, which was charged, waits in {partial}: repeat its command with "
        "--resume, which costs nothing, or remove that folder to give it up.",
        code="release-interrupted",
    )


def _give_up(partial: Path, locks: contextlib.ExitStack) -> Path | None:
    """Remove an incomplete folder, except for a pending draw; return one that remains.

    The name is released only when nothing of this run is left under it, as the next run may take
    it at once; the folder is removed under another name.
    """
    try:
        waits = resolve_interrupted(partial)
    except UsageError:
        # The ledger cannot be read: the draw may have been charged and must not be thrown away.
        waits = True
    if waits:
        with contextlib.suppress(OSError):
            _strip(partial)
        locks.close()
        return None
    removed = partial.with_name(f"{partial.name.removesuffix('partial')}removed-{token_hex(4)}")
    try:
        move(partial, removed)
    except OSError:
        removed = partial
    locks.close()
    return None if _remove(removed) else removed


def _strip(partial: Path) -> None:
    """Remove everything from a folder except a pending draw."""
    pending = [path for name in (PENDING, DRAWN) if (path := partial / name).is_file()]
    inside = (partial / PENDING).parent
    for path in [*partial.iterdir(), *(inside.iterdir() if pending else ())]:
        if path not in pending and not (path == inside and pending):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _remove(folder: Path) -> bool:
    """Remove a folder, even if a detached thread still writes a file into it."""
    # Packing runs in a thread that an interrupt does not wait for, which may still create a file.
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return True
    return False


def is_release(folder: Path) -> bool:
    """Return whether a folder holds a release that geodp wrote, of whatever kind it is."""
    return is_table(folder / "public") or find_kind(folder / "public") is not None


def is_check(folder: Path) -> bool:
    """Test whether a folder holds the report of a check of the inputs, and nothing else."""
    try:
        names = {path.name for path in (folder / "restricted").iterdir()}
        return CHECK in names <= {CHECK, "README.txt", SUMS} and len([*folder.iterdir()]) == 1
    except OSError:
        return False


def require_free(target: str | Path, *, overwrite: bool) -> None:
    """Raise UsageError if `stage` must not, or could not, put a folder there."""
    try:
        final = Path(os.path.realpath(target))
        _require_name(final)
        _look(final, lambda: _require_free(final, overwrite=overwrite))
    except OSError as error:
        raise UsageError(
            f"A release cannot be written to {target} ({error.strerror}); choose another folder.",
            code="output-not-writable",
        ) from None


def _require_name(final: Path) -> None:
    """Raise UsageError, or the system's OSError, for a place that no release can have.

    The longest names of a run are tried: of folders beside it, and of files in them.
    """
    if not is_utf8(final):
        raise UsageError(
            f"The name of {final}, or of a folder above it, is not UTF-8, and libraries that write "
            "a release take no other name; choose another folder.",
            code="output-not-utf8",
        )
    longest = _name_replaced(final)
    files = longest / "public" / ("x" * LONGEST_FILE)
    there = next(folder for folder in (*final.parents, final) if os.path.lexists(folder))
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    # A system stops at the first missing folder of a path and does not check the names after it, so
    # each name is tried in the last folder that exists.
    names = (*final.parts[len(there.parts) :], longest.name)
    for path in (files, *(there / name for name in names)):
        with contextlib.suppress(FileNotFoundError):
            path.lstat()


def _require_free(final: Path, *, overwrite: bool) -> None:
    """Raise UsageError if the target holds something that must not be replaced."""
    if final.exists() and not final.is_dir():
        raise UsageError(
            f"{final} is a file; give the name of a new folder.", code="output-is-file"
        )
    if final == Path.cwd():
        raise UsageError(
            "A release cannot take the current folder's place; name a folder in it.",
            code="output-is-current-folder",
        )
    if os.path.ismount(final):
        raise UsageError(
            f"{final} is a mount point; name a folder in it.", code="output-is-mount-point"
        )
    if not final.exists() or not any(final.iterdir()) or is_check(final):
        return
    if not is_release(final):
        raise UsageError(
            f"{final} exists and holds something other than a release; it is never replaced. "
            "Choose another folder.",
            code="output-is-no-release",
        )
    if not overwrite:
        raise UsageError(
            f"{final} exists and holds a release; use --overwrite (overwrite=True) to replace it. "
            "One that was published stays where it is: write its correction to another folder, "
            "and name it with --supersedes if the command has that option.",
            code="output-exists",
        )


def require_only_release_files(target: str | Path) -> None:
    """Raise UsageError if a release that is to be replaced holds files that geodp did not write."""
    final = Path(os.path.realpath(target))

    def look() -> None:
        if final.is_dir() and (description := foreign(final)) is not None:
            raise UsageError(
                f"{final} holds {description}. geodp removes only files that it wrote: move it "
                "elsewhere, or choose another folder.",
                code="output-holds-other-files",
            )

    _look(final, look)


def _look(final: Path, look: Callable[[], None]) -> None:
    """Look at a folder that another run may be replacing; repeat if it was replaced meanwhile.

    Between two renames there is no release, and a look may begin at the old one and end at the new.
    """
    while True:
        before = _identity(final)
        try:
            look()
            return
        except (OSError, UsageError):
            # Nothing changed in between, so the error is real and not a glimpse of another run's
            # renames.
            if _identity(final) == before:
                raise


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Return the device, inode and time of change of a folder; None if it does not exist."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _exchange(partial: Path, final: Path) -> None:
    """Move the complete folder to its place; an earlier release comes back if that fails.

    The rename completes the run: whatever fails or interrupts afterwards changes nothing.
    """
    aside = _name_replaced(final)
    replaces = final.exists() and any(final.iterdir())
    with commits():
        if replaces:
            with hold(final, patience=LAST_STEPS):
                move(final, aside, SCANNED)
                try:
                    move(partial, final, SCANNED)
                except BaseException:
                    move(aside, final, SCANNED)
                    raise
        else:
            move(partial, final, SCANNED)
    with contextlib.suppress(OSError):
        # Until the rename is on the disk, a loss of power may bring back the old names: only then
        # may the pending draw and the old release go.
        sync(final.parent)
        (final / PENDING).unlink(missing_ok=True)
        if replaces:
            remove_release(aside)


def _recover(final: Path) -> None:
    """Put back or remove what killed runs left beside a target, whose name this run holds."""
    for aside in _find_leftovers(final, "replaced"):
        with contextlib.suppress(OSError), hold(aside):
            if final.exists():
                remove_release(aside)
            else:
                move(aside, final)
    for removed in _find_leftovers(final, "removed"):
        _remove(removed)
    if not OPENS_FOLDERS:
        for lock in _find_leftovers(final, "lock"):
            with contextlib.suppress(OSError), hold(lock):
                pass  # its file goes with it


def _find_leftovers(final: Path, what: str) -> list[Path]:
    """List the folders that runs for a target left behind; nothing else has such names."""
    name = re.compile(re.escape(f".{final.name}.{what}-") + "[0-9a-f]{8}")
    with contextlib.suppress(FileNotFoundError):
        return sorted(path for path in final.parent.iterdir() if name.fullmatch(path.name))
    return []


@contextmanager
def _explain(final: Path, left: list[Path]) -> Iterator[None]:
    """Turn errors of the file system into an OutputError that names what was left behind."""
    try:
        yield
    except OSError as error:
        reason = str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in reason:
            why = "the disk is full, or the quota is used up"
        elif error.errno in (errno.EMFILE, errno.ENFILE):
            why = "too few files may be open at once; allow the run more of them (ulimit -n 256)"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            where = Path(error.filename).parent if error.filename else final.parent
            why = f"the folder {where} may not be written to"
            if not OPENS_FOLDERS:
                why += ", or another program has a file open in what is to be replaced"
        elif error.errno in (errno.ENOTEMPTY, errno.EWOULDBLOCK):
            why = "another run writes to the same folder"
        elif error.errno in (errno.ENOTDIR, errno.EEXIST):
            why = f"{error.filename or final.parent} is not a folder"
        else:
            why = error.strerror or reason
        rest = "Nothing was published there."
        if left:
            rest += f" {left[0]} could not be removed; do so, as it may hold confidential files."
        raise OutputError(
            f"The release could not be written to {final}: {why}. {rest}", code="release-unwritten"
        ) from error
