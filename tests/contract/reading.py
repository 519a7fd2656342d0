"""A world written again with changes, and read by its kind, without a draw where it can be."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from io import StringIO

from tests.command import Done
from tests.contract.desk import Desk
from tests.contract.kinds import Kind

Files = Mapping[str, str | bytes]
Rows = list[list[str]]

FIRST = "a.csv"
"""The file that is changed where one change is enough."""


@dataclass(frozen=True)
class Read:
    """What became of one attempt to read.

    Attributes
    ----------
    done : Done
    counted : int or None
        All people, households, trips or records that would be counted; None where it is refused.
    facts : dict
        What the operator is told besides: how many cells hold somebody, and how many are counted.
    """

    done: Done
    counted: int | None
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """Everything on the screen."""
        return self.done.stdout + self.done.stderr


class Reader:
    """Reads worlds of one kind in one folder, one after the other.

    Parameters
    ----------
    desk : Desk
        Its files are written again for every attempt, and then restored.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk, self.kind = desk, desk.kind

    @cached_property
    def whole(self) -> int | None:
        """How many the world itself counts."""
        return self.read().counted

    def words(self, *more: object) -> tuple[object, ...]:
        """Return the words of the command that reads."""
        kind = self.kind
        return (*kind.reads, *more) if kind.reads else self.desk.words(*kind.dry, *more, to="read")

    def read(self, files: Files | None = None, *more: object, words: object = None) -> Read:
        """Read files in place of those of the world, with more words or in other ones."""
        here = self.desk.folder
        files = dict(self.kind.files if files is None else files)
        for name, text in files.items():
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
        try:
            done = self.desk.run(*(words or self.words(*more)))
            return Read(done, *self._counted()) if done.returncode == 0 else Read(done, None)
        finally:
            for name in files:
                (here / name).unlink()
            self.kind.write(here)
            shutil.rmtree(here / "read", ignore_errors=True)
            (here / "read.jsonl").unlink(missing_ok=True)

    def _counted(self) -> tuple[int, dict[str, object]]:
        """Return how many people, households, trips or records were read, and other facts."""
        here = self.desk.folder
        for name in ("check.json", "run.json"):
            path = here / "read" / "restricted" / name
            if path.exists():
                found = json.loads(path.read_text(encoding="utf-8"))
                names = [one for one in found if re.match("occupied|counted|people", one)]
                count = found["read"]["people"] if "read" in found else found["people"]
                return count, {one: found[one] for one in names}
        # The header of a file of reports, and their number at its end, are no reports.
        return len((here / "read.jsonl").read_text(encoding="utf-8").splitlines()) - 2, {}


def rows_of(text: str) -> Rows:
    """Return the rows of a CSV text, its header first."""
    return [[*row] for row in _rows_of(text)]


@cache
def _rows_of(text: str) -> Rows:
    return list(csv.reader(StringIO(text)))


def text_of(rows: Rows, delimiter: str = ",") -> str:
    """Return rows as a CSV text."""
    out = StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue()


def changed(kind: Kind, change: Callable[[Rows], Rows], file: str = FIRST) -> dict[str, str]:
    """Return the files of a kind, with the rows of one of them changed."""
    return kind.files | {file: text_of(change(rows_of(kind.files[file])))}


def with_cell(kind: Kind, column: str, value: str, row: int = 1) -> dict[str, str]:
    """Return the files with another value in one cell of the first file; row 1 is the first."""

    def put(rows: Rows) -> Rows:
        rows[row][rows[0].index(column)] = value
        return rows

    return changed(kind, put)


def with_row(kind: Kind, **cells: str) -> dict[str, str]:
    """Return the files with one row more at the end of the first: row 1, with other values."""

    def add(rows: Rows) -> Rows:
        return [*rows, [cells.get(name, value) for name, value in zip(*rows[:2], strict=True)]]

    return changed(kind, add)


def widened(digits: str) -> str:
    """Return digits in full width."""
    return "".join(chr(ord(one) + 0xFEE0) for one in digits)


def with_name(kind: Kind, column: str, name: str) -> dict[str, str]:
    """Return the files with another name of a column in each of them."""
    files = {}
    for file, text in kind.files.items():
        header, *rows = rows_of(text)
        files[file] = text_of([[name if one == column else one for one in header], *rows])
    return files


def faults_of(read: Read, column: str | None, row: int | None, file: str = FIRST) -> list[str]:
    """Return what is wrong with a refusal, which names file, line and column; none: nothing.

    Parameters
    ----------
    read : Read
    column : str or None
        The column at fault; None: any.
    row : int or None
        Its row, counted from 1 below the header; None: any.
    file : str
    """
    if read.counted is not None:
        return [f"counts {read.counted}"]
    # The command is repeated above the error, and names columns, too.
    said = read.done.stderr.rpartition("Error: ")[2]
    wanted = [file, *([f"row {row + 1}"] if row else []), *([column] if column else [])]
    wrong = [
        f"names no {one}: {said}"
        for one in wanted
        if not re.search(rf"(?<!\w){re.escape(one)}(?!\w)", said)
    ]
    code = read.done.returncode
    return wrong if code in (2, 5) else [*wrong, f"code {code}: {said}"]


def faults_at(
    reader: Reader, columns: Iterable[str], words: Iterable[str], *more: object
) -> dict[tuple[str, str], list[str]]:
    """Return what is wrong with the refusals of words, each in the third row of each column."""
    found = {}
    for column in columns:
        for word in words:
            read = reader.read(with_cell(reader.kind, column, word, row=3), *more)
            found[column, word] = faults_of(read, column, 3)
    return {at: wrong for at, wrong in found.items() if wrong}
