"""Records of persons: households counted by cell and size, by a reader or by an SQL query."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from unicodedata import normalize

import numpy as np

from geodp.advice import takes
from geodp.errors import InputError, Rule
from geodp.grid.codes.sql import ENGINES, SqlQuery
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.counting.points import PointRows
from geodp.io.read.options import PointOptions
from geodp.io.read.rows.columns import InputTable
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.names import fold, list_names
from geodp.io.read.rows.persons import Persons
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.survey import Survey
from geodp.kinds.households.inputs import DEFAULT_SIZE, add_sizes, require_size
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import CountTable
from geodp.typing import IntArray, KeyArray

TWO_PLACES = Rule(
    "household-in-two-places",
    "a household is in two cells, and it has one place, which none of its members decides: give "
    "all records of a household the place of its dwelling. Nothing was charged.",
)

ROWS_OF_HOUSEHOLDS = Rule(
    "rows-may-be-households",
    "Column {} is named for the size of a household, so that a row may be a household and not a "
    "person, and would be counted as a household of one. Give households by size with --by size "
    "(by_size=), or a row for each person; if every row is one person, say so "
    "(--rows-are-persons, rows_are_persons=True).",
)

SIZES = """
size householdsize hhsize sizeofhousehold familysize members hhmembers householdmembers
numberofmembers npersons nopersons nrpersons numberofpersons personsinhousehold hhpersons
numberofpeople haushaltsgröße haushaltsgroesse hhgröße hhgroesse größe groesse anzahlpersonen
personenzahl personenimhaushalt taille tailleménage tailledumenage nbpersonnes nombredepersonnes
tamaño tamañohogar tamañodelhogar numerodepersonas npersonas hushållsstorlek storlek huishoudgrootte
aantalpersonen dimensione numerocomponenti componenti wielkość velikost
世帯人員 世帯人数 世帯規模 世帯員数 世帯人員数 人員 人数 가구원수 가구규모 家庭规模 户规模
"""
"""Names of columns with the size of a household, without blanks and marks between words."""

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


@dataclass(frozen=True, kw_only=True)
class HouseholdRecords(PointOptions):
    """Records of persons with coordinates, whose column ``person`` identifies the household.

    Attributes
    ----------
    max_size : int
        Most persons of a household; larger ones are counted as of this size.
    rows_are_persons : bool
        Whether you say that every row is one person: a column that is named for the size of a
        household is refused otherwise, as rows may be households.
    """

    kind: ClassVar[str] = "records of households"

    max_size: int = DEFAULT_SIZE
    rows_are_persons: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_size(self.max_size)

    def open(self, paths: TableSource) -> Generator[InputTable]:
        """Open the tables; InputError for one whose rows may be households."""
        for table in super().open(paths):
            size = None if self.rows_are_persons else find_size(table.columns)
            if size is not None:
                rule = ROWS_OF_HOUSEHOLDS.format(list_names([size]))
                raise InputError(rule, file=table.name)
            yield table

    def read(self, paths: TableSource) -> CountTable:
        """Count the households in the files by cell and size.

        Records that are dropped, as they lie outside the domain, are no members of their
        household. Raises InputError for a household that is in two cells, and as points do.
        """
        sized = add_sizes(self.grid, self.max_size)
        assert self.person is not None
        # One half is for the records, which wait by household, the other for their cells.
        share = max(bytes_of(self.memory) // 2, MIN_MEMORY)
        runs, survey = Runs(share, self.scratch), Survey()
        households = Persons(self.person, share, self.scratch)
        for within, key, names, inside in PointRows(self).place(self.open(paths), survey):
            try:
                households.add(within, key, names, inside)
            except InputError as error:
                # Ids are read as those of persons are, and refused as what they are.
                if error.code not in IDS:
                    raise
                rule = Rule(IDS[error.code].code, f"Column {self.person}: {IDS[error.code]}")
                raise InputError(rule, file=error.file, row=error.row) from None
        for household, key in households.parts():
            keys = count_sizes(household, key, sized.joint)
            runs.add(keys, np.ones(keys.size, np.int64))
        # One household is counted once, as all of its records are one.
        bound = ContributionBound(1, "geodp", unit="household")
        reading = survey.reading((ONE_PLACE_FACT,))
        return CountTable.of_cells(sized.grid, *runs.arrays(), bound=bound, reading=reading)


def find_size(columns: Sequence[str]) -> str | None:
    """Return the column that is named for the size of a household; None without one.

    Examples
    --------
    >>> find_size(["id", "HH_Size"]), find_size(["id", "city_size"]) is None
    ('HH_Size', True)
    """
    sizes = {*map(fold, SIZES.split())}
    plain = (fold(re.sub(r"[\W_]", "", normalize("NFKC", one))) for one in columns)
    return next((name for name, one in zip(columns, plain, strict=True) if one in sizes), None)


def count_sizes(household: IntArray, key: KeyArray, joint: Joint) -> KeyArray:
    """Return the key of the cell and the size of every household, by its records.

    Raises InputError where a household is in two cells.
    """
    _, first, at, size = np.unique(
        household, return_index=True, return_inverse=True, return_counts=True
    )
    place = key[first]
    # The first record decides nothing, as it would if the places of others were left out.
    if (key != place[at]).any():
        raise InputError(TWO_PLACES)
    return joint.join(place, np.minimum(size, joint.parts) - 1)


@takes(
    HouseholdRecords,
    without=("person", "cells", "per_cell", "truncation", "secret", "columns", "by", "labels"),
)
def read_records(
    paths: TableSource, *, grid: str | Grid, household: str, **options: Any
) -> CountTable:
    """Count households by size from records of persons, one row each.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        Confidential records; the place of each is that of its household.
    grid : str or Grid
        Public grid of one map; a string names a code system.
    household : str
        Column that identifies households.

    Returns
    -------
    CountTable
        For ``by_size`` of :func:`geodp.households.publish`.

    Raises
    ------
    InputError
        A household is in two cells of the domain; and as for :func:`geodp.read_points`.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> people = pa.table({"id": ["a", "a", "b"], "x": [0.5, 0.5, 1.5], "y": [0.5, 0.5, 0.5]})
    >>> grid = geodp.Grid.regular((2, 2), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    >>> sizes = geodp.households.read_records(people, grid=grid, household="id", x="x", y="y")
    >>> sizes.to_dense().sum(axis=(0, 1)).tolist()
    [1, 1, 0, 0, 0, 0, 0]
    """
    return HouseholdRecords.of(grid, person=household, **options).read(paths)


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
