"""The name of a round's file is taken before the charge, and what a killed run charged is found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.errors import GeodpError, OutputError, Rule, UsageError
from geodp.features.local.round import Round, read_round
from geodp.io.folder.disk import hold
from geodp.io.folder.whole import hide, remove_drafts, require_absent, write_atomically
from geodp.io.opening import read_json

if TYPE_CHECKING:
    from geodp.privacy.ledger import Ledger

SCHEMA = "geodp-round-opening-1"

THERE = Rule("round-file-exists", "{} exists; a round's file is never replaced, choose a new one.")


@dataclass(frozen=True)
class Note:
    """The content of the hidden file that takes a round's name while the round is opened.

    Attributes
    ----------
    round : Round
        As it was before the charge.
    ledger : str or None
        The path of the ledger that is to be charged; None where there is none.
    """

    round: Round
    ledger: str | None


@contextmanager
def take_name(
    path: Path, found: Round, ledger: Ledger | None, dataset: str | None
) -> Iterator[tuple[Round, bool]]:
    """Take the name of a round's file until the block ends.

    The note of an interrupted run stays as long as its charge has bought no file.

    Yields
    ------
    Round
        The round to open: ``found``, or that of an interrupted run with the same plan, which was
        charged.
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
    place = hide(path, "opening")
    if not place.exists():
        remove_drafts(place)
        require_absent(path, THERE.format(path))
    kept = None if ledger is None else os.path.realpath(ledger.path)
    while True:
        _write_note(place, Note(found, kept))
        with _hold(place, path):
            note = _read_note(place)
            if os.path.lexists(path):
                yield _complete(path, place, note, found, ledger, dataset), True
                return
            opened = note.round
            if opened.id != found.id:
                if not _may_be_charged(note, ledger, kept):
                    _remove(place)
                    continue
                _require_same(place, note, found, ledger, dataset)
            try:
                yield opened, False
            except BaseException:
                if not _may_be_charged(note, ledger, kept):
                    with suppress(OSError):
                        place.unlink()
                raise
            with suppress(OSError):  # the file is complete
                place.unlink()
            return


@contextmanager
def _hold(place: Path, path: Path) -> Iterator[None]:
    """Hold the note; UsageError where another run does so, or has just completed its round."""
    busy = UsageError(
        f"Another run opens a round at {path}; a round's file is never replaced, choose a new one.",
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
    """Write the note, unless there is one: of a run that is alive, or was interrupted."""
    plain = {"schema": SCHEMA, "ledger": note.ledger, "round": note.round.to_json()}
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
        f"{place} cannot be read back, which says what an interrupted run has charged; restore it, "
        "or remove it to give that round up.",
        code="round-not-read-back",
    )


def _may_be_charged(note: Note, ledger: Ledger | None, kept: str | None) -> bool:
    """Return whether a ledger has, or another one may have, a charge for a note's round."""
    if note.ledger is None:
        return False
    if ledger is not None:
        try:
            if any(one.fingerprint == note.round.id for one in ledger.charges()):
                return True
        except GeodpError:
            return True
    return note.ledger != kept


def _require_same(
    place: Path, note: Note, found: Round, ledger: Ledger | None, dataset: str | None
) -> None:
    """Raise UsageError unless the round of a note is what was asked for, and was charged here."""
    charges = [] if ledger is None or dataset is None else ledger.charges(dataset)
    charged = any(one.fingerprint == note.round.id for one in charges)
    if not charged or replace(found, id=note.round.id) != note.round:
        raise UsageError(
            f"An interrupted round, which may have been charged, waits in {place}: repeat its "
            "command, which then costs nothing, or remove that file to give it up.",
            code="round-interrupted",
        )


def _complete(
    path: Path, place: Path, note: Note, found: Round, ledger: Ledger | None, dataset: str | None
) -> Round:
    """Return the round of a file that an interrupted run has completed, and remove its note.

    Raises UsageError where the file is another one, or the round is not what was asked for.
    """
    there = None
    with suppress(GeodpError):
        there = read_round(path)
    if there is None or there.id != note.round.id:
        if note.round.id == found.id:  # the note is this run's
            _remove(place)
        raise UsageError(THERE.format(path))
    _remove(place)
    remove_drafts(path)
    name = None if ledger is None or dataset is None else ledger.account(dataset).name
    if replace(found, id=there.id, dataset=name, budget=there.budget) != there:
        raise UsageError(THERE.format(path))
    return there
