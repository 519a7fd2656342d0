"""Tables in files, with the columns that the names of their folders stand for.

Hive, Spark and DuckDB write the value of a column into the names of folders (``month=1/``) and
leave it out of the files in them. All forms of files have these columns behind their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from geodp.errors import CodeError, Rule, UsageError
from geodp.io.read.rows.input_files import InputFile
from geodp.io.read.rows.names import fold
from geodp.io.read.rows.selecting import Term
from geodp.table.source import Fact

DISAGREE = Rule(
    "folder-disagrees-with-row",
    "the name of the file's folder says another value than the row, so that one of them is wrong; "
    "move the file into the folder of its rows, correct the column, or give the file by a path "
    "without that folder.",
)


class FileTable(ABC):
    """Columns of one file, and behind them one for each name of its folders that it has not.

    Attributes
    ----------
    file : InputFile
    names : tuple of str
        Of the file's own columns; they may repeat.
    """

    file: InputFile

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the file's own columns."""

    @abstractmethod
    def own_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of chosen columns of the file's own, text as strings."""

    @property
    @abstractmethod
    def facts(self) -> tuple[Fact, ...]:
        """What the file says of itself, or was told or inferred of it."""

    @abstractmethod
    def line(self, record: int) -> int | None:
        """Line in the file of a record counted from 0; None where it cannot be told."""

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.file.name

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: those of the file, and others that its folders stand for."""
        return (*self.names, *self.partitions)

    @property
    def declared_rows(self) -> int:
        """Rows that the file says it has, 0 where it says nothing."""
        return 0

    @cached_property
    def partitions(self) -> dict[str, str | None]:
        """Columns of one value that the file itself has not."""
        own = {fold(name) for name in self.names}
        found = self.file.partitions
        return {name: value for name, value in found.items() if fold(name) not in own}

    @property
    def stated_twice(self) -> Mapping[int, Term]:
        """Columns of the file that its folders state too, and what each value must then be."""
        own = [fold(name) for name in self.names]
        return {
            own.index(fold(name)): Term.of(self.names[own.index(fold(name))], value or "")
            for name, value in self.file.partitions.items()
            if fold(name) in own
        }

    @property
    def facts_around(self) -> tuple[Fact, ...]:
        """What its archive and the names of its folders say."""
        folders = (
            Fact(f"partition {name}", "missing" if value is None else value, "file")
            for name, value in self.file.partitions.items()
        )
        return (*self.file.facts, *folders)

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of chosen columns: of the file, or of one value."""
        width, values = len(self.names), [*self.partitions.values()]
        if all(column < width for column in chosen):
            yield from self.own_arrays(chosen)
            return
        # Some column tells how many rows there are.
        own = [column for column in chosen if column < width] or [0]
        for arrays in self.own_arrays(own):
            stored, n = iter(arrays), len(arrays[0])
            yield [
                next(stored) if column < width else _repeat(values[column - width], n)
                for column in chosen
            ]


def require_agreement(term: Term, array: pa.Array) -> None:
    """Require that a column has the value that the folder says in every row.

    Raises CodeError at the first row that has another.
    """
    try:
        met = term.meet(array).mask
    except UsageError:  # a column of this type cannot have such a value
        met = None
    if met is None:
        if len(array):
            raise CodeError(0, DISAGREE)
    elif met.true_count < len(met):
        raise CodeError(int(met.to_numpy(zero_copy_only=False).argmin()), DISAGREE)


def _repeat(value: str | None, n: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), n)
