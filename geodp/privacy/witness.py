"""A second file with a ledger's head, which reveals an older or copied ledger at once.

A witness is a text file of lines ``SEQUENCE LEDGER HASH``; its last whole line is the head of the
ledger's chain. The ledger holds the witness's path in its entries, so whoever charges compares.

The order of writes
    The ledger's entry is on the disk before the witness has its line, and the caller hears of the
    charge after both. So whoever is killed in between leaves a ledger that is one entry ahead of
    its witness, and that entry is the witness's successor: nothing was published from it, the
    charge stays, and the next one brings the witness up. A ledger that was set back, or a copy of
    which the other was charged, lacks the witness's head instead, and is refused. The witness is
    locked from the comparison until it has its line, so of two copies that are charged at the same
    time one is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from geodp.errors import OutputError, UsageError, VerificationError
from geodp.privacy.hash_chain import ROOT, Head, LedgerEntry
from geodp.privacy.locked_file import NOTHING, open_locked, real_path, sync, sync_folder, write_at

_LINE = re.compile(rb"(\d{1,18}) ([0-9a-f]{32}) ([0-9a-f]{64})")
_BEGUN = re.compile(rb"\d{0,18}( [0-9a-f]{0,32}( [0-9a-f]{0,64})?)?")
"""The part of a first line that a killed process may have written."""

_LONGEST = 200


class Witness:
    """An open, locked witness file.

    Parameters
    ----------
    path : Path
        Absolute, without symbolic links.
    ledger : Path
        Path of the ledger, for errors.
    """

    def __init__(self, file: BinaryIO, path: Path, ledger: Path) -> None:
        self._file, self._path, self._ledger = file, path, ledger

    @classmethod
    @contextmanager
    def held(
        cls, path: Path, ledger: Path, *, write: bool = True, create: bool = False
    ) -> Iterator[Witness]:
        """Open a witness and lock it until the block ends.

        Raises
        ------
        VerificationError
            It is not there.
        OutputError
            It cannot be opened, or others use it.
        """
        with ExitStack() as stack:
            try:
                file = stack.enter_context(open_locked(path, write=write, create=create))
            except (FileNotFoundError, NotADirectoryError):
                raise VerificationError(
                    f"The witness of {ledger}, {path}, does not exist, so it is unknown whether "
                    f"the ledger is the latest; nothing was charged. Put the file or its "
                    "disk back; if it is lost, run geodp budget witness with a new file and, as "
                    "--head, the head on the card of the latest release.",
                    code="witness-missing",
                ) from None
            except OSError as error:
                raise OutputError(
                    f"The witness of {ledger}, {path}, cannot be used ({error.strerror}); "
                    f"{NOTHING}.",
                    code="witness-unusable",
                ) from None
            yield cls(file, path, ledger)

    def require_empty(self) -> None:
        """Raise UsageError for a file with content, for a new ledger."""
        if not self.is_empty():
            raise UsageError(
                f"{self._path} exists and is not empty; choose a new file for the witness of a new "
                "ledger.",
                code="witness-not-empty",
            )

    def is_empty(self) -> bool:
        """Return whether it has no line yet."""
        return os.fstat(self._file.fileno()).st_size == 0

    def compare(self, last: LedgerEntry) -> None:
        """Raise VerificationError for a ledger that lacks the witness's head or went on without it.

        Parameters
        ----------
        last : Entry
            The ledger's last one.
        """
        sequence, recorded = self._read_of(last.head.ledger)
        head = last.head
        if (sequence, recorded) == (head.sequence, head.hash):
            return
        if (sequence + 1, recorded) == (head.sequence, last.content["previous"]):
            return  # the writer of the last entry was killed before it updated the witness
        if sequence < head.sequence:
            raise VerificationError(
                f"{self._ledger} went on without its witness {self._path}, which ends at entry "
                f"{sequence}: the witness was set back, or the ledger is a copy that was charged "
                f"elsewhere; {NOTHING}. Put the latest witness back, or check the ledger against "
                "the card of the latest release: geodp budget witness --head.",
                code="witness-behind",
            )
        raise self._lacking(recorded)

    def require_within(self, entries: Iterable[LedgerEntry]) -> None:
        """Raise VerificationError for a ledger that never had the witness's head.

        Parameters
        ----------
        entries : iterable of Entry
            All of the ledger.
        """
        heads = [entry.head for entry in entries]
        sequence, recorded = self._read_of(heads[0].ledger)
        if (sequence, recorded) not in {(head.sequence, head.hash) for head in (ROOT, *heads)}:
            raise self._lacking(recorded)

    def _read_of(self, ledger: str) -> tuple[int, str]:
        """Return number and hash of the last complete line, which must be of this ledger."""
        sequence, named, recorded = self._read()
        if named not in (ROOT.ledger, ledger):
            raise VerificationError(
                f"{self._path} is the witness of another ledger than {self._ledger}; {NOTHING}.",
                code="witness-of-other-ledger",
            )
        return sequence, recorded

    def _lacking(self, recorded: str) -> VerificationError:
        return VerificationError(
            f"{self._ledger} is not the ledger that its witness {self._path} has seen: it was set "
            f"back to an older copy, or is a copy while the other was charged; {NOTHING}. Restore "
            f"the copy that has the head {recorded}.",
            code="ledger-behind-witness",
        )

    def write(self, head: Head) -> None:
        """Add the ledger's head; it is on the disk when this returns."""
        line = b"%d %s %s\n" % (head.sequence, head.ledger.encode(), head.hash.encode())
        try:
            content = self._tail()
            # A repeated charge, such as a replay, has the same head and needs no second line.
            if content.endswith(line):
                return
            end = self._file.seek(0, os.SEEK_END)
            is_complete = not content or content.endswith(b"\n")
            # A line that a killed process left incomplete is closed first, so that this one stays
            # readable.
            write_at(self._file, end, line if is_complete else b"\n" + line)
            sync(self._file)
            if end == 0:
                sync_folder(self._path)
        except OSError as error:
            raise OutputError(
                f"The witness of {self._ledger}, {self._path}, cannot be written "
                f"({error.strerror}); the ledger has the charge, but publish nothing: run the same "
                "command again once the witness can be written.",
                code="witness-unwritten",
            ) from None

    def _read(self) -> tuple[int, str, str]:
        """Return number, ledger and hash of the last complete line; those of no entry if empty."""
        content = self._tail()
        lines = content[: content.rfind(b"\n") + 1].splitlines()  # without an unfinished one
        if not lines and _BEGUN.fullmatch(content.rstrip(b"\0")):
            return ROOT.sequence, ROOT.ledger, ROOT.hash
        match = _LINE.fullmatch(lines[-1]) if lines else None
        if match is None:
            raise VerificationError(
                f"{self._path} is damaged, or is not the witness of a ledger; {NOTHING}. Put the "
                f"latest copy of the witness of {self._ledger} back.",
                code="witness-damaged",
            )
        return int(match[1]), match[2].decode(), match[3].decode()

    def _tail(self) -> bytes:
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(0, size - 2 * _LONGEST))
        return self._file.read(2 * _LONGEST)


def resolve_witness(path: str | Path, ledger: Path) -> Path:
    """Return a witness's path as a ledger keeps it: absolute, without symbolic links."""
    # The path is stored in the ledger, so it must name the same file from every folder.
    place = real_path(path)
    try:
        str(place).encode()
    except UnicodeEncodeError:
        raise UsageError(
            "The path of a witness must be text.", code="witness-path-not-text"
        ) from None
    # Also under another name: a lock on it would wait for the one on the ledger.
    if place == ledger or (place.exists() and ledger.exists() and place.samefile(ledger)):
        raise UsageError(
            f"{place} is the ledger itself; keep its witness in another place.",
            code="witness-is-ledger",
        )
    return place
