"""Open a round: write its public file, and charge its ledger; resume what was interrupted."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp.errors import GeodpError, OutputError, Rule, UsageError
from geodp.io.folder.atomic import hide, hold, remove_drafts, require_absent, write_atomically
from geodp.io.folder.stopping import commits
from geodp.io.opening import read_json
from geodp.local.planning import LocalPlan
from geodp.local.round import Round, read_round
from geodp.privacy.ledger import Ledger
from geodp.release.preview import preview_release
from geodp.table.plain import read_plain
from geodp.table.stated.release import StatedCharge

CHARGE_SPACE = 4096
"""Bytes that are reserved in the round's file for its charge, so that the disk cannot run full."""


def open_round(
    plan: LocalPlan,
    *,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    path: str | Path | None = None,
) -> Round:
    """Open a round: charge the ledger, and write the file that devices and servers use.

    All that can fail is tried before the charge, writing included. The charge stays even if no
    report ever comes; whatever is computed from the reports costs nothing more.

    If a run was killed before its file was complete, the same call completes its round: what that
    run has charged is not charged again.

    Parameters
    ----------
    plan : LocalPlan
        A plan of :func:`geodp.local.plan`.
    ledger : Ledger, optional
    dataset : str, optional
        A data set of the ledger, entered with the model local, for neighbours replace-one and the
        plan's unit.
    path : path, optional
        A new file for the round. While the round is opened, a hidden file next to it records it.

    Returns
    -------
    Round

    Raises
    ------
    UsageError
        A ledger without a data set, a data set of another model or unit, a file that exists, or
        an interrupted round of another plan that may have been charged.
    BudgetError
        The ledger's cap would be exceeded.
    OutputError
        The file or the ledger cannot be written; the message says so where the charge was made.

    Examples
    --------
    >>> import geodp
    >>> plan = geodp.local.plan(geodp.Grid.regular((64, 64)), devices=50_000, epsilon=1)
    >>> geodp.local.open_round(plan).grid.shape
    (64, 64)
    """
    if (ledger is None) != (dataset is None):
        raise UsageError(
            "A ledger and the name of a data set in it go together.", code="ledger-needs-dataset"
        )
    round_ = replace(plan.round, id=secrets.token_hex(32))
    # Whatever a reader or a release could refuse is refused here, before anything is charged.
    Round.from_json(round_.to_json())
    preview_release(
        round_.coarse.grid, round_.protocol, round_.event(plan.devices), float(plan.devices)
    )
    if path is None:
        return _charge(round_, ledger, dataset)
    return _write(round_, ledger, dataset, Path(path))


def _charge(round_: Round, ledger: Ledger | None, dataset: str | None) -> Round:
    """Charge the ledger, if there is one, and return the round with its charge."""
    if ledger is None or dataset is None:
        return round_
    account, event = ledger.account(dataset), round_.event(0)
    account.require_unit(event.unit)
    # The charge covers every report of the round: the ledger's data set is those who may report.
    charge = ledger.charge_round(
        dataset,
        event.loss,
        mechanism=event.mechanism,
        fingerprint=round_.id,
        details={"period": round_.period},
    )
    recorded = read_plain(StatedCharge, charge.describe(), "budget")
    return replace(round_, dataset=account.name, budget=recorded)


def _write(requested: Round, ledger: Ledger | None, dataset: str | None, path: Path) -> Round:
    """Charge the round and write its file: the file is complete, or nothing was charged."""
    charged = None
    try:
        # The block finishes even on Ctrl-C: a charge without a file would be lost.
        with commits(), reserve_name(path, requested, ledger, dataset) as (opened, is_complete):
            if is_complete:
                return opened
            with write_atomically(path, FILE_EXISTS.format(path)) as file:
                # Space for the charge is written first, so that the disk is not full afterwards.
                file.write(_text(opened) + b" " * CHARGE_SPACE)
                file.flush()
                os.fsync(file.fileno())
                charged = _charge(opened, ledger, dataset)
                file.seek(0)
                file.write(_text(charged))
                # The charge is shorter than the space that was reserved for it.
                file.truncate()
    except OutputError as error:
        if charged is None or charged.budget is None:
            raise
        raise OutputError(
            f"{error} The ledger was charged, and the charge stays: the same command completes the "
            "round and costs nothing.",
            code="round-charged-unwritten",
        ) from None
    return charged


def _text(round_: Round) -> bytes:
    text = json.dumps(round_.to_json(), ensure_ascii=False, indent=1)
    return f"{text}\n".encode()


SCHEMA = "geodp-round-opening-1"

FILE_EXISTS = Rule(
    "round-file-exists", "{} exists; a round's file is never replaced, choose a new one."
)


@dataclass(frozen=True)
class Note:
    """The content of the hidden file that reserves a round's name while the round is opened.

    Attributes
    ----------
    round : Round
        The round as it was before the charge.
    ledger : str or None
        The path of the ledger that is to be charged; None where there is none.
    """

    round: Round
    ledger: str | None


@contextmanager
def reserve_name(
    path: Path, requested: Round, ledger: Ledger | None, dataset: str | None
) -> Iterator[tuple[Round, bool]]:
    """Reserve the name of a round's file until the block ends.

    The note of an interrupted run stays as long as no file was written for its charge.

    Yields
    ------
    Round
        The round to open: ``requested``, or that of an interrupted run with the same plan, which
        was charged.
    bool
        Whether that run had already completed the file.

    Raises
    ------
    UsageError
        The file exists, another run opens a round there, or an interrupted round of another plan
        may have been charged.
    OutputError
        The file system refused.
    """
    # Hidden next to the file, where every other run that opens a round there looks for it.
    place = hide(path, "opening")
    if not place.exists():
        remove_drafts(place)
        require_absent(path, FILE_EXISTS.format(path))
    ledger_path = None if ledger is None else os.path.realpath(ledger.path)
    while True:
        # Writing is a no-op where a note exists, so that reading it back tells whose round it is.
        _write_note(place, Note(requested, ledger_path))
        with _hold(place, path):
            note = _read_note(place)
            if os.path.lexists(path):
                yield _complete(path, place, note, requested, ledger, dataset), True
                return
            opened = note.round
            if opened.id != requested.id:
                if not _may_be_charged(note, ledger, ledger_path):
                    _remove(place)
                    continue
                _require_same(place, note, requested, ledger, dataset)
            try:
                yield opened, False
            except BaseException:
                if not _may_be_charged(note, ledger, ledger_path):
                    with suppress(OSError):
                        place.unlink()
                raise
            # The file is complete; a note that cannot be removed only costs the next run a look.
            with suppress(OSError):
                place.unlink()
            return


@contextmanager
def _hold(place: Path, path: Path) -> Iterator[None]:
    """Lock the note; UsageError where another run has it, or has just completed its round."""
    busy = UsageError(
        f"Another run is opening a round at {path}; a round's file is never replaced, choose a new "
        "one.",
        code="round-being-opened",
    )
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(place))
        except (BlockingIOError, FileNotFoundError):
            raise busy from None
        except OSError as error:
            raise OutputError(
                f"{place} cannot be read ({error.strerror}).", code="round-unreadable"
            ) from None
        # The lock may be on a file that the other run has removed between opening and locking.
        if not place.exists():
            raise busy
        yield


def _remove(place: Path) -> None:
    """Remove a note; OutputError where the file system refuses."""
    try:
        place.unlink()
    except OSError as error:
        raise OutputError(
            f"{place} cannot be removed ({error.strerror}).", code="round-not-removable"
        ) from None


def _write_note(place: Path, note: Note) -> None:
    """Write the note, unless there is one: of a running or an interrupted run."""
    plain = {"schema": SCHEMA, "ledger": note.ledger, "round": note.round.to_json()}
    # An existing note belongs to another run: it is kept, and read by the caller.
    with suppress(UsageError), write_atomically(place, "", public=False) as file:
        file.write(json.dumps(plain).encode())


def _read_note(place: Path) -> Note:
    try:
        plain: Any = read_json(place)
        if plain["schema"] == SCHEMA and isinstance(plain["ledger"], str | None):
            return Note(Round.from_json(plain["round"]), plain["ledger"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise UsageError(
        f"{place}, which records what an interrupted run has charged, cannot be read; restore it, "
        "or remove it to give that round up.",
        code="round-not-read-back",
    )


def _may_be_charged(note: Note, ledger: Ledger | None, ledger_path: str | None) -> bool:
    """Return whether this ledger has, or another may have, a charge for a note's round."""
    # Without a ledger nothing was charged, and nothing can be lost.
    if note.ledger is None:
        return False
    if ledger is not None:
        try:
            if any(charge.fingerprint == note.round.id for charge in ledger.charges()):
                return True
        except GeodpError:
            # A ledger that cannot be read may hold the charge: losing the note would hide it.
            return True
    return note.ledger != ledger_path


def _require_same(
    place: Path, note: Note, requested: Round, ledger: Ledger | None, dataset: str | None
) -> None:
    """Raise UsageError unless the round of a note was requested again, and was charged here."""
    charges = [] if ledger is None or dataset is None else ledger.charges(dataset)
    charged = any(charge.fingerprint == note.round.id for charge in charges)
    if not charged or replace(requested, id=note.round.id) != note.round:
        raise UsageError(
            f"An interrupted round, which may have been charged, is recorded in {place}: repeat "
            "its command, which then costs nothing, or remove that file to give it up.",
            code="round-interrupted",
        )


def _complete(
    path: Path,
    place: Path,
    note: Note,
    requested: Round,
    ledger: Ledger | None,
    dataset: str | None,
) -> Round:
    """Read the round of a file that an interrupted run has completed, and remove its note.

    Raises UsageError where the file is another one, or the round is not what was requested.
    """
    existing = None
    with suppress(GeodpError):
        existing = read_round(path)
    if existing is None or existing.id != note.round.id:
        # The note was written by this run, so nothing else would ever remove it.
        if note.round.id == requested.id:
            _remove(place)
        raise UsageError(FILE_EXISTS.format(path))
    _remove(place)
    remove_drafts(path)
    name = None if ledger is None or dataset is None else ledger.account(dataset).name
    if replace(requested, id=existing.id, dataset=name, budget=existing.budget) != existing:
        raise UsageError(FILE_EXISTS.format(path))
    return existing
