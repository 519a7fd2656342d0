"""Rows at points: each row is one person, placed and counted by its cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.cells.cell_grid import CellMap
from geodp.grid.lattice import Lattice
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.layout.plane import REMEDY_OF_POINTS, UnitCheck
from geodp.io.read.layout.presets import describe_layout
from geodp.io.read.options import PointOptions
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.forms.geometry import find_geometry, geometry_points
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import (
    Locator,
    axis_locators,
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
    "Points need a grid of one map with a place on the Earth, such as jis:half or h3:7; of areal "
    "units give counts by their codes (--code, --value; code=, value=).",
)


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
        for within, key, names, inside in self.place(tables, survey, facts):
            if persons is None:
                runs.add(key)
            else:
                persons.add(within, key, names, inside)
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
        for within, key, names, inside in self.place(reader.open(paths), survey):
            yield name_persons(within, reader.person, names, inside), key

    def place(
        self, tables: Iterator[InputTable], survey: Survey, facts: Sequence[Fact] = ()
    ) -> Iterator[tuple[RowPositions, NDArray[np.uint64], pa.Array, NDArray[np.bool_] | None]]:
        """Yield rows in the domain, their keys, the last column of all rows, and those inside."""
        reader = self.reader
        # Without columns of coordinates each table is located by its geometries, whose CRS may
        # differ.
        located = self.complete(self.locate_columns()) if self.require_places() else []
        for table in tables:
            survey.note(table.name, facts or describe_columns(reader.grid, reader.columns))
            locators = located or self.complete(self.locate_geometry(table))
            names = [name for locator in locators for name in locator.columns]
            names += [] if reader.person is None else [reader.person]
            survey.state(self.describe(table, names))
            for rows, arrays in reader.read_rows(table, names, survey):
                index = locate(reader.grid, rows, locators, arrays)
                within, key, inside = place(reader.grid, rows, index, reader.outside, survey)
                if reader.person is None:
                    # These records have no identifier of a person, which the card states.
                    survey.add(table.name, without_person=key.size)
                yield within, key, arrays[-1], inside

    def describe(self, table: InputTable, names: Sequence[str]) -> StatedReading:
        """Describe for the card how a table is read; the columns of places come first."""
        reader = self.reader
        geometry = reader.x is None or reader.y is None
        return StatedReading(
            form="points",
            layout=describe_layout(table.columns),
            places={"geometry": names[0]} if geometry else {"x": names[0], "y": names[1]},
            labels=reader.columns,
            crs=reader.crs,
            person=reader.person,
        )

    def require_places(self) -> bool:
        """Test whether columns locate records; UsageError for one coordinate, or no map."""
        reader = self.reader
        _ = self.lattice
        if (reader.x is None) != (reader.y is None):
            raise UsageError(
                "x and y go together (--x, --y); without both, geometries are read.",
                code="x-without-y",
            )
        return reader.x is not None

    @property
    def lattice(self) -> Lattice:
        """The map on which points are located; UsageError if the grid has none."""
        reader = self.reader
        place = reader.grid.maps.one
        if place is None or place.transform is None:
            place = CellMap.of(reader.grid, reader.outside == "drop")
        if place is None:
            raise UsageError(NO_MAP)
        return place

    def locate_columns(self) -> Locator:
        """Return the locator by columns of coordinates."""
        reader = self.reader
        lattice = self.lattice
        move = transformation(lattice, reader.crs, reader.allow_ballpark)
        # A stated CRS is the operator's answer to the question that the check would raise.
        check = UnitCheck(lattice, REMEDY_OF_POINTS) if reader.crs is None else None
        return point_locator(lattice, str(reader.x), str(reader.y), move, check, reader.decimal)

    def locate_geometry(self, table: InputTable) -> Locator:
        """Return the locator by the geometries of a table."""
        geometry = find_geometry(table)
        return geometry_points(self.lattice, geometry, self.reader.crs, self.reader.allow_ballpark)

    def complete(self, first: Locator) -> list[Locator]:
        """Return that locator of places with those of all other axes."""
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
