"""Tables in files, with the columns that the names of their folders define.

Hive, Spark and DuckDB write the value of a column into the names of folders (``month=1/``) and
leave it out of the files in them. Tables of all formats append these columns to those of the file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from geodp.errors import CodeError, Rule, UsageError
from geodp.io.read.rows.input_files import InputFile
from geodp.io.read.rows.names import fold
from geodp.io.read.rows.selecting import Term
from geodp.io.read.rows.span import guess_header
from geodp.table.source import Fact

DISAGREE = Rule(
    "folder-disagrees-with-row",
    "the name of the file's folder gives another value than the row; move the file into the "
    "folder of its rows, correct the column, or give the file by a path without that folder.",
)


class FileTable(ABC):
    """Columns of one file, followed by the columns that only its folders define.

    Attributes
    ----------
    file : InputFile
    names : tuple of str
        Names of the columns in the file; they may repeat.
    """

    file: InputFile

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the file."""

    @abstractmethod
    def file_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of chosen columns of the file, text as strings."""

    @property
    @abstractmethod
    def facts(self) -> tuple[Fact, ...]:
        """Facts that the file states, or that were declared or inferred."""

    def line(self, record: int) -> int | None:
        """Return the line of a record counted from 0; None if it cannot be determined."""
        return record + 1

    def heads(self) -> Iterable[tuple[range, list[list[str]]]]:
        """Return the numbers of the rows of names, and the first rows in every way to split them.

        Only texts and sheets have rows above or below those of names.
        """
        return ()

    def find_header(self, accepts: Callable[[Sequence[str]], bool]) -> int | None:
        """Return the first other row near the start whose fields are accepted, or None."""
        for header_rows, rows in self.heads():
            for number, fields in enumerate(rows, 1):
                if number not in header_rows and accepts(fields):
                    return number
        return None

    def guess_header(self) -> tuple[int, int] | None:
        """Return another row that looks like a wider header, and the first row below it; or None.

        Rows count from 1.
        """
        wider = sum(map(bool, self.names))
        for header_rows, rows in self.heads():
            guess = guess_header(rows, wider)
            if guess is not None and guess[0] + 1 != header_rows.start:
                return guess[0] + 1, guess[1] + 1
        return None

    @property
    def name(self) -> str:
        """Name of the file in errors."""
        return self.file.name

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: those of the file, then those that its folders define."""
        return (*self.names, *self.partitions)

    @property
    def declared_rows(self) -> int:
        """Number of rows that the file declares; 0 if it declares none."""
        return 0

    @cached_property
    def partitions(self) -> dict[str, str | None]:
        """Columns that only the folders define, each of one value."""
        stored = {fold(name) for name in self.names}
        values = self.file.partitions
        return {name: value for name, value in values.items() if fold(name) not in stored}

    @property
    def duplicated_partitions(self) -> Mapping[int, Term]:
        """Columns of the file that its folders define too, with the value they must have."""
        stored = [fold(name) for name in self.names]
        return {
            stored.index(fold(name)): Term.of(self.names[stored.index(fold(name))], value or "")
            for name, value in self.file.partitions.items()
            if fold(name) in stored
        }

    @property
    def facts_around(self) -> tuple[Fact, ...]:
        """Facts from the archive and the names of the folders."""
        folders = (
            Fact(f"partition {name}", "missing" if value is None else value, "file")
            for name, value in self.file.partitions.items()
        )
        return (*self.file.facts, *folders)

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of chosen columns, of the file or of its folders."""
        width, values = len(self.names), [*self.partitions.values()]
        if all(column < width for column in chosen):
            yield from self.file_arrays(chosen)
            return
        # A column of the file has to be read in any case, for the number of rows.
        stored_columns = [column for column in chosen if column < width] or [0]
        for arrays in self.file_arrays(stored_columns):
            remaining, n = iter(arrays), len(arrays[0])
            yield [
                next(remaining) if column < width else _repeat(values[column - width], n)
                for column in chosen
            ]


def require_agreement(term: Term, array: pa.Array) -> None:
    """Require that every row of a column has the value that the folder gives.

    Raises CodeError at the first row with another value.
    """
    try:
        matches = term.match(array).mask
    except UsageError:  # a column of this type cannot have such a value
        matches = None
    # An empty batch cannot disagree, whatever its type.
    if matches is None:
        if len(array):
            raise CodeError(0, DISAGREE)
    elif matches.true_count < len(matches):
        raise CodeError(int(matches.to_numpy(zero_copy_only=False).argmin()), DISAGREE)


def _repeat(value: str | None, n: int) -> pa.Array:
    """Return a column of n equal strings, or nulls."""
    return pa.repeat(pa.scalar(value, pa.string()), n)
