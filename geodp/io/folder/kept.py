"""What was drawn, kept until it is charged and its release is complete.

A charge is never taken back, so a disk that fills up or a machine that goes down while the formats
are written would cost the budget and leave nothing. What was drawn is therefore written first,
before it is charged, and a run that was cut short goes on from it. Once charged it may be released:
it was paid for, and shows no more than the release will.

Its name says how far the run came: ``released.draft`` is reserved space, ``released.drawn`` is
complete and about to be charged, and ``released.npz`` was charged. Whether a run that was killed in
the middle was charged for ``released.drawn`` is asked of the ledger, which knows its fingerprint:
if so, it becomes ``released.npz``, and otherwise it is removed unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from geodp import __version__
from geodp.errors import GeodpError, UsageError
from geodp.io.folder.disk import rename_patiently, sync
from geodp.io.folder.manifest import WAITING
from geodp.io.opening import parse_json

CELL_BYTES = 16
HEAD_BYTES = 1 << 16
"""Of everything but the cells."""


KEPT = Path("restricted", WAITING)
"""Where a charged draw waits in a staged folder until its release is complete."""

DRAWN = KEPT.with_suffix(".drawn")
"""Where a draw is while it is charged."""

DRAFT = KEPT.with_suffix(".draft")
"""Where space for it is taken."""


TEXTS = ("ledger", "ledger_id", "dataset", "fingerprint")

UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile)
"""Errors for a file that is not what was written."""


@dataclass(frozen=True)
class Kept:
    """What was drawn, and what completes its release.

    Attributes
    ----------
    ledger, ledger_id, dataset, fingerprint : str
        Path and id of the ledger, the data set that is charged, and under which name.
    call : dict of str to str
        What the run was asked for, option by option: it is completed for the same call only.
    run : dict
        For the operator: what ``restricted/run.json`` says of the run so far.
    card : dict
        What else the release says of itself, in plain values.
    arrays : mapping of str to array
        What was drawn.
    """

    ledger: str
    ledger_id: str
    dataset: str
    fingerprint: str
    call: Mapping[str, str]
    run: Mapping[str, Any]
    card: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def reserve(folder: Path, cells: int) -> None:
    """Take the space for a table of so many cells in a staged folder, before it is drawn.

    ``cells``: a guess from above; more are written where the disk has room.
    """
    size = CELL_BYTES * cells + HEAD_BYTES
    with _open_draft(folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)  # Windows takes the space
        os.fsync(file.fileno())


def _open_draft(folder: Path) -> BinaryIO:
    """Open the draft, which its owner alone can read, with what it holds."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(folder / DRAFT, flags, 0o600), "r+b")


def keep(folder: Path, kept: Kept) -> None:
    """Write what was drawn, before it is charged; it is there completely or not at all."""
    head = {"geodp": name_maker(), **asdict(replace(kept, arrays={}))}
    text = np.frombuffer(json.dumps(head, default=str).encode(), np.uint8)
    with _open_draft(folder) as file:
        np.savez(file, head=text, **kept.arrays)  # type: ignore[arg-type]
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    _rename(folder, DRAFT, DRAWN)
    sync(folder)


def settle(folder: Path) -> None:
    """Give what was kept, and has been charged, its name."""
    if (folder / DRAWN).is_file():
        _rename(folder, DRAWN, KEPT)


def _rename(folder: Path, before: Path, after: Path) -> None:
    rename_patiently(lambda: os.rename(folder / before, folder / after))
    sync((folder / after).parent)


def name_maker() -> str:
    """Return the version that goes on with what it has drawn, as no other does."""
    from geodp.privacy.key import NOISE_FORMAT  # what only looks at folders does without kernels

    return f"{__version__}, {NOISE_FORMAT}"


def settle_interrupted(folder: Path) -> bool:
    """Return whether a charged draw waits in a staged folder; remove one that was not charged.

    Raises
    ------
    UsageError
        There is a draw, and its ledger cannot be asked whether it was charged.
    """
    if (folder / KEPT).is_file():
        return True
    if not (folder / DRAWN).is_file():
        return False
    try:
        if _is_charged(_read_head(folder / DRAWN)):
            settle(folder)
            return True
        (folder / DRAWN).unlink()
    except (GeodpError, OSError) as error:
        why = f"{error.strerror}." if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"An interrupted release waits in {folder}, and its ledger cannot be asked whether it "
            f"was charged: {why} Repeat the command with --resume when it can, or remove that "
            "folder to give the release up.",
            code="interrupted-ledger-silent",
        ) from None
    return False


def _is_charged(head: Mapping[str, Any]) -> bool:
    """Return whether the ledger of a draw has its charge."""
    from geodp.privacy.ledger import Ledger

    ledger = Ledger.open(head["ledger"])
    if ledger.id != head["ledger_id"]:
        raise UsageError(
            f"{ledger.path} is another ledger now; restore the one that was charged.",
            code="interrupted-ledger-differs",
        )
    return ledger.find_charge(head["dataset"], head["fingerprint"]) is not None


def read_pending_draw(folder: Path, call: Mapping[str, str]) -> Kept:
    """Read what was kept in a staged folder and charged, for the call that it was made by.

    Raises
    ------
    UsageError
        Another call or another geodp; a file that is not what was written.
    """
    head = _read_head(folder / KEPT)
    if head.pop("geodp") != name_maker():
        raise another("geodp", folder)
    try:
        with (folder / KEPT).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "head"}
    except UNREADABLE:
        raise unreadable(folder) from None
    require_same_call(head["call"], call, folder)
    return Kept(**{**head, "arrays": arrays})


def _read_head(path: Path) -> dict[str, Any]:
    """Read the plain values of a file of :func:`keep`; UsageError where it is none."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            head = parse_json(file["head"].tobytes())
        texts = {name: str(head[name]) for name in ("geodp", *TEXTS)}
        return {**texts, **{name: dict(head[name]) for name in ("call", "run", "card")}}
    except UNREADABLE:
        raise unreadable(path.parent.parent, path.name) from None


def unreadable(folder: Path, name: str = WAITING) -> UsageError:
    """Return the error for a kept file that is not what was written."""
    path = folder / KEPT.with_name(name)
    return UsageError(
        f"{path} cannot be read back; restore it, or remove {folder} to give it up.",
        code="interrupted-not-read-back",
    )


def another(what: str, folder: Path) -> UsageError:
    """Return the error for an interrupted run that had another grid, or another geodp."""
    return UsageError(
        f"The interrupted run had another {what}; go on with what it began with, or remove "
        f"{folder} to give it up.",
        code="resumed-part-differs",
    )


def require_same_call(kept: Mapping[str, str], call: Mapping[str, str], folder: Path) -> None:
    """Raise UsageError where an interrupted run was asked for something else, option by option."""
    other = sorted(name for name in {*kept, *call} if kept.get(name) != call.get(name))
    if other:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise UsageError(
            f"The interrupted run had other {options}; repeat its command, or remove {folder} to "
            "give it up.",
            code="resumed-options-differ",
        )


def discard_draft(folder: Path) -> None:
    """Give back space that was reserved and is not needed."""
    (folder / DRAFT).unlink(missing_ok=True)
