"""A draw that is stored, as plain values and few arrays, until its release is complete.

A charge is never taken back, so a disk that fills up or a machine that goes down while the formats
are written would cost the budget and leave nothing. The draw is therefore written first,
before it is charged, and a run that was cut short goes on from it. Once charged it may be released:
it was paid for, and shows no more than the release will.

Its name says how far the run came: ``released.draft`` is reserved space, ``released.drawn`` is
complete and about to be charged, and ``released.npz`` was charged. Whether a run that was killed in
the middle was charged for ``released.drawn`` is looked up in the ledger by its fingerprint:
if so, it becomes ``released.npz``, and otherwise it is removed unseen.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from geodp import __version__
from geodp.errors import GeodpError, UsageError
from geodp.io.folder.atomic import rename_patiently, sync
from geodp.io.folder.manifest import WAITING
from geodp.io.opening import parse_json
from geodp.table.plain import read_plain, write_plain

T = TypeVar("T")

Packed: TypeAlias = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""Plain values, and arrays by name."""

ARRAY = "array"
"""Key of the plain value that stands for an array."""


def pack(value: Any) -> Packed:
    """Convert dataclasses, mappings and tuples, some of whose values are arrays.

    Arrays of one type are stored one after the other: a file for every table of a long series would
    cost more than its cells.

    Examples
    --------
    >>> plain, arrays = pack({"name": "a", "counts": (np.arange(3), np.zeros((1, 2), np.int64))})
    >>> plain["counts"][1], arrays["int64"].tolist()
    ({'array': 'int64', 'start': 3, 'shape': [1, 2]}, [0, 1, 2, 0, 0])
    """
    parts: dict[str, list[NDArray[Any]]] = {}
    ends: dict[str, int] = {}

    def append(array: NDArray[Any]) -> dict[str, Any]:
        name, start = array.dtype.name, ends.get(array.dtype.name, 0)
        parts.setdefault(name, []).append(array.ravel())
        ends[name] = start + array.size
        return {ARRAY: name, "start": start, "shape": [*array.shape]}

    plain = _replace(write_plain(value), np.ndarray, append)
    return plain, {name: np.concatenate(listed) for name, listed in parts.items()}


def unpack(kind: type[T], plain: Any, arrays: Mapping[str, NDArray[Any]]) -> T:
    """Restore a value of a type from what :func:`pack` made of it.

    Raises
    ------
    VerificationError, LookupError, TypeError, ValueError
        It is none, or is damaged.
    """

    def cut(one: dict[str, Any]) -> Any:
        if one.keys() != {ARRAY, "start", "shape"}:
            return {name: _replace(inner, dict, cut) for name, inner in one.items()}
        start, shape = one["start"], one["shape"]
        return arrays[one[ARRAY]][start : start + int(np.prod(shape))].reshape(shape)

    return read_plain(kind, _replace(plain, dict, cut), "draw")


def _replace(plain: Any, kind: type, change: Any) -> Any:
    """Return plain values in which those of a type are changed."""
    if isinstance(plain, kind):
        return change(plain)
    if isinstance(plain, dict):
        return {name: _replace(one, kind, change) for name, one in plain.items()}
    return [_replace(one, kind, change) for one in plain] if isinstance(plain, list) else plain


CELL_BYTES = 16
HEAD_BYTES = 1 << 16
"""Bytes of everything but the cells."""


PENDING = Path("restricted", WAITING)
"""Path of a charged draw in a staged folder, until its release is complete."""

DRAWN = PENDING.with_suffix(".drawn")
"""Path of a draw while it is charged."""

DRAFT = PENDING.with_suffix(".draft")
"""Path of the file that reserves space for it."""


TEXTS = ("ledger", "ledger_id", "dataset", "fingerprint")

UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, BadZipFile)
"""Errors that reading a damaged file may raise."""


@dataclass(frozen=True)
class PendingDraw:
    """A draw, and what completes its release.

    Attributes
    ----------
    ledger, ledger_id, dataset, fingerprint : str
        Path and id of the ledger, the data set that is charged, and under which name.
    call : dict of str to str
        Options of the run by name, with digests of public files: it is completed for the same
        call only.
    run : dict
        Entries of ``restricted/run.json`` so far, for the operator.
    card : dict
        Metadata of the release, in plain values.
    arrays : mapping of str to array
        The drawn values.
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
    """Reserve the space for a table in a staged folder, before it is drawn.

    ``cells``: an upper estimate; more are written if the disk has space.
    """
    size = CELL_BYTES * cells + HEAD_BYTES
    with _open_draft(folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)  # On Windows this allocates the space; elsewhere it would not.
        os.fsync(file.fileno())


def _open_draft(folder: Path) -> BinaryIO:
    """Open the draft, which its owner alone can read, without truncating it."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(folder / DRAFT, flags, 0o600), "r+b")


def keep(folder: Path, pending: PendingDraw) -> None:
    """Write a draw before it is charged; it is there completely or not at all."""
    # Only the same version completes a draw, as another may read or write it differently.
    head = {"geodp": name_maker(), **asdict(replace(pending, arrays={}))}
    # The head goes into the same file as an array of bytes: two files could be torn apart by a
    # crash.
    text = np.frombuffer(json.dumps(head, default=str).encode(), np.uint8)
    with _open_draft(folder) as file:
        np.savez(file, head=text, **pending.arrays)  # type: ignore[arg-type]
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    # The name promises a complete file, so it is given only after the content is on the disk.
    _rename(folder, DRAFT, DRAWN)
    sync(folder)


def mark_charged(folder: Path) -> None:
    """Rename a stored draw that has been charged."""
    if (folder / DRAWN).is_file():
        _rename(folder, DRAWN, PENDING)


def _rename(folder: Path, before: Path, after: Path) -> None:
    rename_patiently(lambda: os.rename(folder / before, folder / after))
    sync((folder / after).parent)


def name_maker() -> str:
    """Return the version of geodp and of its noise, which must be the same to complete a draw."""
    # Imported late: commands that only look at folders need not load the kernels.
    from geodp.privacy.key import NOISE_FORMAT

    return f"{__version__}, {NOISE_FORMAT}"


def resolve_interrupted(folder: Path) -> bool:
    """Return whether a charged draw is pending in a staged folder; remove one that was not charged.

    Raises
    ------
    UsageError
        There is a draw, and its ledger cannot be asked whether it was charged.
    """
    if (folder / PENDING).is_file():
        return True
    if not (folder / DRAWN).is_file():
        return False
    try:
        if _is_charged(_read_head(folder / DRAWN)):
            mark_charged(folder)
            return True
        # An uncharged draw must go unseen: publishing it would be a release that nothing accounts
        # for.
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
    """Return whether the ledger of a draw holds its charge."""
    from geodp.privacy.ledger import Ledger

    ledger = Ledger.open(head["ledger"])
    # A file of the same path may be a new ledger, which knows nothing of the charge.
    if ledger.id != head["ledger_id"]:
        raise UsageError(
            f"{ledger.path} is another ledger now; restore the one that was charged.",
            code="interrupted-ledger-differs",
        )
    return ledger.find_charge(head["dataset"], head["fingerprint"]) is not None


def read_pending_draw(folder: Path, call: Mapping[str, str]) -> PendingDraw:
    """Read the charged draw in a staged folder, for the call that it was made by.

    Raises
    ------
    UsageError
        Another call or another version of geodp, or a damaged file.
    """
    head = _read_head(folder / PENDING)
    if head.pop("geodp") != name_maker():
        raise another("geodp", folder)
    try:
        with (folder / PENDING).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files if name != "head"}
    except UNREADABLE:
        raise unreadable(folder) from None
    require_same_call(head["call"], call, folder)
    return PendingDraw(**{**head, "arrays": arrays})


def _read_head(path: Path) -> dict[str, Any]:
    """Read the plain values of a file of :func:`keep`; UsageError if it is not one."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            head = parse_json(file["head"].tobytes())
        texts = {name: str(head[name]) for name in ("geodp", *TEXTS)}
        return {**texts, **{name: dict(head[name]) for name in ("call", "run", "card")}}
    except UNREADABLE:
        raise unreadable(path.parent.parent, path.name) from None


def unreadable(folder: Path, name: str = WAITING) -> UsageError:
    """Return the error for a stored draw that cannot be read."""
    path = folder / PENDING.with_name(name)
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


def require_same_call(pending: Mapping[str, str], call: Mapping[str, str], folder: Path) -> None:
    """Raise UsageError if an interrupted run had other options or public files."""
    other = sorted(name for name in {*pending, *call} if pending.get(name) != call.get(name))
    if other:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise UsageError(
            f"The interrupted run had other {options}; repeat its command with the files that it "
            f"had, or remove {folder} to give it up.",
            code="resumed-options-differ",
        )


def discard_draft(folder: Path) -> None:
    """Give back reserved space that is not needed."""
    (folder / DRAFT).unlink(missing_ok=True)
