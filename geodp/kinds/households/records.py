"""Records of persons or of households: households by cell and size, from files or by SQL."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, InputError, Rule, UsageError, require_none
from geodp.grid.codes.sql import ENGINES, SqlQuery
from geodp.grid.grid import Grid
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.counting.points import PointRows
from geodp.io.read.layout.recognise import is_size
from geodp.io.read.options import PointOptions
from geodp.io.read.reader import WeightedReader
from geodp.io.read.rows.arrow import decode
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.count_parser import CountParser
from geodp.io.read.rows.decimals import Weights
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.names import list_names
from geodp.io.read.rows.persons import Persons, name_persons
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.survey import Survey
from geodp.kinds.households.inputs import add_sizes, require_size
from geodp.options.shared import DEFAULT_SIZE
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import CountTable
from geodp.typing import IntArray, KeyArray

TWO_PLACES = Rule(
    "household-in-two-places",
    "a household is in two cells, and it has one place, which none of its members decides: give "
    "all records of a household the place of its dwelling; if its number counts within another "
    "column, name both (--household TOWN,NUMBER, household=[...]). Nothing was charged.",
)

ROWS_OF_HOUSEHOLDS = Rule(
    "rows-may-be-households",
    "Column {} is named for the size of a household, so that a row may be a household and not a "
    "person, and would be counted as a household of one. If every row is a household, name the "
    "column of its persons (--size COLUMN, size=); if every row is one person, say so "
    "(--rows-are-persons, rows_are_persons=True).",
)

SIZE_FORM = Rule(
    "household-size-form",
    "the size of a household is missing, or no whole number from 1 on: give each household the "
    "number of its persons, or leave out the rows without one (--where).",
)

OPEN_SIZE = Rule(
    "household-size-open",
    "a size such as 5+ stands for larger households, too, and is below the largest size that is "
    "counted: choose this as the largest (--max-size, max_size=).",
)

ROW_TWICE = Rule(
    "household-in-two-rows",
    "a household is in two rows, and every row is a household with its size: give each household "
    "once, or leave the size out if every row is one person; if its number counts within another "
    "column, name both (--household TOWN,NUMBER, household=[...]). Nothing was charged.",
)

WEIGHTS_OF_HOUSEHOLDS = Rule(
    "household-weights",
    "Weights (--weight, weight=) are those of households: name the size of each (--size, size=), "
    "and the column that identifies it (--household, household=).",
)

IDS = {
    "person-missing": Rule(
        "household-missing",
        "the household is missing: blank, written as unknown (NA, NULL, None, nan and the like), "
        "or a total, and all of these would count as one household; drop such records, or give "
        "each household an id.",
    ),
    "persons-not-told-apart": Rule(
        "households-not-told-apart",
        "households are identified by text or whole numbers; write the column as text, and drop "
        "records without a household, which turn whole numbers into floats.",
    ),
}
"""Rules for ids of households, by the code of the same fault of ids of persons."""

ONE_PLACE_FACT = (
    "that all records of a household inside the domain lie in one cell: others are refused before "
    "anything is charged. Records outside the domain, where these are dropped, are no members"
)
"""Public fact of households by size that were made of records."""


Households: TypeAlias = tuple[KeyArray, IntArray, IntArray]
"""Cells and sizes of households, and as how many each counts."""


@dataclass(frozen=True, kw_only=True)
class HouseholdRecords(PointOptions, WeightedReader):
    """Records of persons or of households, located by coordinates, geometries or codes.

    Attributes
    ----------
    household : str or sequence of str, optional
        Column that identifies households; several, if only all of them together do. Needed where
        every row is a person.
    size : str, optional
        Column of the persons of a household, if every row is a household. Default: every row is
        one person.
    max_size : int
        Most persons of a household; larger ones are counted as of this size.
    rows_are_persons : bool
        Whether you say that every row is one person: a column that is named for the size of a
        household is refused otherwise, as rows may be households.
    """

    kind: ClassVar[str] = "records of households"

    household: str | Sequence[str] = ()
    size: str | None = None
    max_size: int = DEFAULT_SIZE
    rows_are_persons: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size(self.max_size)
        if not self.ids and self.size is None:
            raise UsageError(
                "Name the column that identifies households (--household, household=); or that of "
                "their sizes, if every row is a household (--size, size=).",
                code="household-records-unnamed",
            )
        if self.weights is not None and not (self.ids and self.size):
            raise UsageError(WEIGHTS_OF_HOUSEHOLDS)

    @property
    def ids(self) -> tuple[str, ...]:
        """Columns that identify households together."""
        return (self.household,) if isinstance(self.household, str) else (*self.household,)

    @property
    def weights(self) -> Weights | None:
        """Weights of households, if they have any."""
        return Weights.of(self.weight, self.max_weight, self.raked_to)

    def open(self, paths: TableSource) -> Generator[InputTable]:
        """Open the tables; InputError for one whose rows may be households."""
        stated = self.rows_are_persons or self.size is not None
        for table in super().open(paths):
            sizes = [] if stated else [one for one in table.columns if is_size(one)]
            if sizes:
                rule = ROWS_OF_HOUSEHOLDS.format(list_names(sizes[:1]))
                raise InputError(rule, file=table.name)
            yield table

    def read(self, paths: TableSource) -> CountTable:
        """Count the households in the files by cell and size.

        Records that are dropped, as they lie outside the domain, are no members of their
        household. Raises InputError for a household that is in two cells or, with sizes, in two
        rows, and as points do.
        """
        sized = add_sizes(self.grid, self.max_size)
        # Messages and the card name all columns that identify households.
        reader = replace(self, person=" and ".join(self.ids) or None)
        # One half is for the records, which wait by household, the other for their cells.
        share = max(bytes_of(self.memory) // 2, MIN_MEMORY)
        runs, survey = Runs(share, self.scratch), Survey()
        households = reader._of_persons if self.size is None else reader._of_rows
        for key, size, number in households(self.open(paths), survey, share):
            runs.add(sized.joint.join(key, np.minimum(size, self.max_size) - 1), number)
        facts = () if self.weights is None else self.weights.facts
        if self.size is None:
            facts = (ONE_PLACE_FACT,)
        # A household is counted once, or as often as the largest weight says.
        bound = ContributionBound(self.max_weight, "geodp", unit="household") if self.ids else None
        reading = survey.reading(facts)
        return CountTable.of_cells(sized.grid, *runs.arrays(), bound=bound, reading=reading)

    def _of_persons(
        self, tables: Iterator[InputTable], survey: Survey, share: int
    ) -> Iterator[Households]:
        """Yield households, each once, whose rows are persons."""
        households = Persons(str(self.person), share, self.scratch)
        for within, key, ids, inside in PointRows(self).place(tables, survey, self.ids):
            with _as_households(self.person):
                households.add(within, key, *_join_ids(within, self.ids, ids, inside))
        for household, key in households.parts():
            place, size = count_members(household, key)
            yield place, size, np.ones(size.size, np.int64)

    def _of_rows(
        self, tables: Iterator[InputTable], survey: Survey, share: int
    ) -> Iterator[Households]:
        """Yield households, each of which is a row with its size."""
        assert self.size is not None
        households = Persons(str(self.person), share, self.scratch)
        weighted: tuple[str, ...] = ()
        if self.weights is not None:
            weighted, tables = (self.weights.column,), self.weights.watch(tables)
        more = (*self.ids, self.size, *weighted)
        for within, key, columns, inside in PointRows(self).place(tables, survey, more):
            ids, given = columns[: len(self.ids)], columns[len(self.ids) :]
            if inside is not None:
                given = [one.filter(pa.array(inside)) for one in given]
            with within.named(self.size):
                size = read_sizes(given[0], self.max_size, self.decimal)
            number = np.ones(size.size, np.int64)
            if self.weights is not None:
                number = self.weights.count(within, given[1], self.decimal)
                number = np.minimum(number, self.weights.largest)
            if not ids:
                yield key, size, number
                continue
            with _as_households(self.person):
                joined = _join_ids(within, self.ids, ids, inside)
                households.add(within, key, *joined, size, number)
        if self.ids:
            for names, (key, size, number) in households.named_parts():
                if len(pc.unique(names)) < len(names):
                    raise InputError(ROW_TWICE)
                yield key, size, number


@contextmanager
def _as_households(columns: str | None) -> Iterator[None]:
    """Say of ids of households what is said of those of persons, which are read alike."""
    try:
        yield
    except InputError as error:
        if error.code not in IDS:
            raise
        rule = Rule(IDS[error.code].code, f"Column {columns}: {IDS[error.code]}")
        raise InputError(rule, file=error.file, row=error.row) from None


def _join_ids(
    rows: RowPositions,
    names: Sequence[str],
    columns: Sequence[pa.Array],
    inside: NDArray[np.bool_] | None,
) -> tuple[pa.Array, NDArray[np.bool_] | None]:
    """Return one column of ids, and which of its rows lie inside.

    Ids of several columns are equal where those of every column are. Raises InputError for an id
    that is missing.
    """
    if len(columns) == 1:
        return columns[0], inside
    texts = [name_persons(rows, *each, inside) for each in zip(names, columns, strict=True)]
    # With its length before each, "1" and "23" are not the same as "12" and "3".
    sized = [(pc.binary_length(text).cast(pa.string()), text) for text in texts]
    return pc.binary_join_element_wise(*chain.from_iterable(sized), " "), None


def read_sizes(column: pa.Array, largest: int, decimal: str | None = None) -> IntArray:
    """Return the persons of households: int64[n].

    A size such as 7+ is one where ``largest`` is 7 or less. Raises CodeError at the first value
    that is missing, no whole number from 1 on, or such a size below the largest.

    Examples
    --------
    >>> read_sizes(pa.array(["1", "12", "7+"]), 7).tolist()
    [1, 12, 7]
    """
    plain, opened = decode(column), np.zeros(len(column), np.bool_)
    if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
        text = pc.fill_null(pc.utf8_trim_whitespace(plain), "")
        opened = pc.ends_with(text, "+").to_numpy(zero_copy_only=False)
        plain = pc.utf8_rtrim(text, "+")
    try:
        size = CountParser((), decimal).numbers(plain)
    except CodeError as error:
        raise CodeError(error.position, SIZE_FORM) from None
    require_none(size < 1, SIZE_FORM)
    require_none(opened & (size < largest), OPEN_SIZE)
    return np.asarray(size, np.int64)


def count_members(household: IntArray, key: KeyArray) -> tuple[KeyArray, IntArray]:
    """Return the cell and the size of every household, by its records.

    Raises InputError where a household is in two cells.
    """
    _, first, at, size = np.unique(
        household, return_index=True, return_inverse=True, return_counts=True
    )
    place = key[first]
    # The first record decides nothing, as it would if the places of others were left out.
    if (key != place[at]).any():
        raise InputError(TWO_PLACES)
    return place, size


@takes(
    HouseholdRecords,
    without=("person", "cells", "per_cell", "truncation", "secret", "columns", "by", "labels"),
)
def read_records(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Count households by size from records of persons, or of households with their sizes.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        Confidential records; the place of each is that of its household.
    grid : str or Grid
        Public grid; a string names a code system. Coordinates need one of one map.

    Returns
    -------
    CountTable
        For ``by_size`` of :func:`geodp.households.publish`.

    Raises
    ------
    InputError
        A household is in two cells of the domain or, with its size, in two rows; and as for
        :func:`geodp.read_points`.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> people = pa.table({"id": ["a", "a", "b"], "x": [0.5, 0.5, 1.5], "y": [0.5, 0.5, 0.5]})
    >>> grid = geodp.Grid.regular((2, 2), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    >>> sizes = geodp.households.read_records(people, grid=grid, household="id", x="x", y="y")
    >>> sizes.to_dense().sum(axis=(0, 1)).tolist()
    [1, 1, 0, 0, 0, 0, 0]
    """
    return HouseholdRecords.of(grid, **options).read(paths)


HOUSEHOLDS = "geodp_households"
"""Column of counts of households."""

SIZE = "size"
"""Column of their size."""


@dataclass(frozen=True, kw_only=True)
class HouseholdQuery(SqlQuery):
    """A query that counts households by cell and size; ``person`` identifies the household.

    Attributes
    ----------
    max_size : int
        Most persons that are counted of a household.
    """

    max_size: int = DEFAULT_SIZE

    def write(self, engine: str) -> str:
        """Return the query for an engine, one of ``geodp.grid.codes.sql.ENGINES``.

        It fails where records of a household lie in two cells: none of them decides where it is.
        """
        at = ENGINES[engine]
        # The text depends on the row, so that it is not converted before there is such a row.
        fault = at.join(["'a household is in two cells: '", at.write("min(cell_row)")])
        # A conversion that fails stops the query, but for Spark, which makes it NULL.
        if engine == "spark":
            fault = f"raise_error({fault})"
        apart = "min(cell_row) <> max(cell_row) OR min(cell_col) <> max(cell_col)"
        size = (
            f"CASE WHEN {apart} THEN CAST({fault} AS {at.integer})"
            f" ELSE least(count(*), {self.max_size}) END"
        )
        counted = f"CAST(count(*) AS {at.integer}) AS {at.name(HOUSEHOLDS)}"
        columns = ", ".join([*self.codes(at), f"persons AS {at.name(SIZE)}", counted])
        return (
            f"{self.place(at)}, sized AS (\n"
            f"  SELECT min(cell_row) AS cell_row, min(cell_col) AS cell_col, {size} AS persons\n"
            f"  FROM placed\n  GROUP BY who\n)\n"
            f"SELECT {columns}\nFROM sized\nGROUP BY {self.cells_of}, persons"
        )
