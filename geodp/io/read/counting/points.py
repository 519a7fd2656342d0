"""Rows of records: each row is one person, placed and counted by its cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.lattice import Lattice
from geodp.grid.unit_map import find_land
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.layout.plane import REMEDY_OF_POINTS, UnitCheck
from geodp.io.read.layout.presets import describe_layout
from geodp.io.read.layout.recognise import require_longitude_first
from geodp.io.read.options import PointOptions
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.forms.geometry import find_geometry, geometry_points
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import (
    Locator,
    axis_locators,
    cell_locators,
    describe_columns,
    locate,
    point_locator,
    require_axes,
    transformation,
)
from geodp.io.read.rows.persons import Persons, name_persons
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import place
from geodp.privacy.assumption import ContributionBound
from geodp.table.contribution import truncate
from geodp.table.counts import CountTable
from geodp.table.reading import StatedReading
from geodp.table.source import Fact

NO_MAP = Rule(
    "points-need-map",
    "Points need a grid of one map with a place on the Earth, such as jis:half or h3:7, or areal "
    "units with outlines; records in other units are located by their codes (--code, code=).",
)

CODE_AND_POINT = Rule(
    "record-code-and-point",
    "Give the code of a cell (--code, code=) or its coordinates (--x, --y; x=, y=), not both.",
)


Placed: TypeAlias = tuple[
    RowPositions, NDArray[np.uint64], list[pa.Array], NDArray[np.bool_] | None
]
"""Rows in the domain, their keys, further columns of all rows, and those inside (None: all)."""


@dataclass(frozen=True)
class PointRows:
    """The rows that a reader of points reads, with their cells.

    Attributes
    ----------
    reader : PointOptions
    """

    reader: PointOptions

    def count(self, tables: Iterator[InputTable], facts: Sequence[Fact] = ()) -> CountTable:
        """Count the records of tables whose attributes the grid has; ``facts``: their origin."""
        reader = self.reader
        share = bytes_of(reader.memory)
        if reader.person is not None:
            # One half is for the records, which wait by person, the other for their cells.
            share = max(share // 2, MIN_MEMORY)
        runs, survey, persons = (
            Runs(share, reader.scratch),
            Survey(),
            self._collect_persons(share),
        )
        named = () if reader.person is None else (reader.person,)
        for within, key, more, inside in self.place(tables, survey, named, facts):
            if persons is None:
                runs.add(key)
            else:
                persons.add(within, key, more[0], inside)
        bound, read = None, survey.reading()
        if persons is not None:
            bound = ContributionBound(reader.cells * reader.per_cell, "geodp")
            for person, key in persons.parts():
                runs.add(*self.truncate(person, key))
        return CountTable.of_cells(reader.grid, *runs.arrays(), bound=bound, reading=read)

    def list_records(
        self, paths: TableSource, survey: Survey
    ) -> Iterator[tuple[pa.Array, NDArray[np.uint64]]]:
        """Yield persons as texts, and keys uint64[n], of the records in the domain, in their order.

        Raises as :meth:`read` does, and records counts of rows in the survey.
        """
        reader = self.reader
        assert reader.person is not None
        if reader.by:
            raise UsageError(
                "On a cluster the grid has the attributes, and columns= says where their labels "
                "are; leave out by=.",
                code="cluster-attributes-by-grid",
            )
        tables, named = reader.open(paths), (reader.person,)
        for within, key, (names,), inside in self.place(tables, survey, named):
            yield name_persons(within, reader.person, names, inside), key

    def place(
        self,
        tables: Iterator[InputTable],
        survey: Survey,
        more: Sequence[str] = (),
        facts: Sequence[Fact] = (),
    ) -> Iterator[Placed]:
        """Yield rows in the domain, their keys, further columns of all rows, and those inside.

        ``more``: names of the further columns, such as that of persons.
        """
        reader = self.reader
        # Without columns of places each table is located by its geometries, whose CRS may differ.
        located = self.locate_columns()
        for table in tables:
            survey.note(table.name, facts or describe_columns(reader.grid, reader.columns))
            locators = located or self.locate_geometry(table)
            places = [name for locator in locators for name in locator.columns]
            survey.state(self.describe(table, places))
            for rows, arrays in reader.read_rows(table, [*places, *more], survey):
                index = locate(reader.grid, rows, locators, arrays)
                within, key, inside = place(reader.grid, rows, index, reader.outside, survey)
                if reader.person is None:
                    # These records have no identifier of a person, which the card states.
                    survey.add(table.name, without_person=key.size)
                yield within, key, arrays[len(places) :], inside

    def describe(self, table: InputTable, names: Sequence[str]) -> StatedReading:
        """Describe for the card how a table is read; the columns of places come first."""
        reader = self.reader
        reading = StatedReading(
            form="table",
            layout=describe_layout(table.columns),
            labels=reader.columns,
            person=reader.person,
        )
        if reader.code is not None:
            return replace(reading, places={"code": reader.code})
        geometry = reader.x is None or reader.y is None
        places = {"geometry": names[0]} if geometry else {"x": names[0], "y": names[1]}
        return replace(reading, form="points", places=places, crs=reader.crs)

    @property
    def lattice(self) -> Lattice:
        """The map on which points are located; UsageError if the grid has none."""
        reader = self.reader
        place = None if reader.grid.maps.one is None else find_land(reader.grid, drops=self.drops)
        # Cells and outlines of units have a CRS and no transform.
        if place is None or (place.transform is None and place.crs is None):
            raise UsageError(NO_MAP)
        return place

    @property
    def drops(self) -> bool:
        """Whether points in no unit are left out; the outside of units is all beyond them."""
        reader = self.reader
        crops = reader.outside == "crop" and reader.grid.known_outlines is not None
        return reader.outside == "drop" or crops

    def locate_columns(self) -> list[Locator]:
        """Return the locators by columns of codes or coordinates; empty where there are none.

        Raises UsageError for both, for one coordinate, and for points without a map.
        """
        reader = self.reader
        if reader.code is not None:
            if reader.x is not None or reader.y is not None:
                raise UsageError(CODE_AND_POINT)
            drops = reader.outside == "drop"
            locators = cell_locators(reader.grid, reader.code, reader.columns, drops=drops)
            require_axes(reader.grid, locators)
            return locators
        lattice = self.lattice
        if (reader.x is None) != (reader.y is None):
            raise UsageError(
                "x and y go together (--x, --y); without both, geometries are read.",
                code="x-without-y",
            )
        if reader.x is None:
            return []
        require_longitude_first(reader.x, str(reader.y))
        move = transformation(lattice, reader.crs, reader.allow_ballpark)
        # A stated CRS is the operator's answer to the question that the check would raise.
        check = UnitCheck(lattice, REMEDY_OF_POINTS) if reader.crs is None else None
        return self._complete(
            point_locator(lattice, reader.x, str(reader.y), move, check, reader.decimal)
        )

    def locate_geometry(self, table: InputTable) -> list[Locator]:
        """Return the locators by the geometries of a table."""
        geometry, reader = find_geometry(table), self.reader
        return self._complete(
            geometry_points(self.lattice, geometry, reader.crs, reader.allow_ballpark)
        )

    def _complete(self, first: Locator) -> list[Locator]:
        """Return a locator of places with those of all other axes."""
        reader = self.reader
        locators = [first, *axis_locators(reader.grid, reader.columns)]
        require_axes(reader.grid, locators)
        return locators

    def _collect_persons(self, memory: int) -> Persons | None:
        """Return the collector of records by person, if persons are distinguished."""
        reader = self.reader
        if reader.person is None:
            return None
        # Invalid bounds must be refused before hours of reading, not after.
        self.truncate(np.empty(0, np.int64), np.empty(0, np.uint64))
        # A stored key draws by the numbers of all records, so that they must stay together.
        reproducible = reader.truncation == "sample" and reader.secret is not None
        return Persons(reader.person, memory, reader.scratch, single_part=reproducible)

    def truncate(
        self, person: NDArray[np.int64], key: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Bound the contribution of persons (int64[n]) by their records in cells (uint64[n])."""
        reader = self.reader
        return truncate(
            person,
            key,
            cells=reader.cells,
            per_cell=reader.per_cell,
            truncation=reader.truncation,
            secret=reader.secret,
        )
