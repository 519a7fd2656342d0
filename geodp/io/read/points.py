"""Raw records with coordinates, one row for each person, counted per cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.io.read import reader
from geodp.io.read.reader import LabelledReader, Option, cli_option

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from geodp.grid.grid import Grid
    from geodp.grid.lattice import Lattice
    from geodp.io.read.rows.columns import InputTable, Rows
    from geodp.io.read.rows.input_files import TableSource
    from geodp.io.read.rows.locators import Locator
    from geodp.io.read.rows.persons import Persons
    from geodp.io.read.rows.survey import Survey
    from geodp.privacy.key import NoiseKey
    from geodp.table.contribution import Truncation
    from geodp.table.counts import CountTable
    from geodp.table.source import Fact
    from geodp.table.stated.reading import StatedReading

CRS = Option("CRS of x and y, if it is not the grid's.", "--points-crs")
BALLPARK = Option("Accept an inexact datum transformation.", "--allow-ballpark", type=bool)
PERSON = Option(
    "Column of person ids (points); enforces the limits of --cells and --per-cell.",
    "--person",
    everyday=True,
)
CELLS = Option("Maximum number of cells kept per person.", "--cells", type=int, show=True)
PER_CELL = Option(
    "Maximum number of records kept per person and cell.", "--per-cell", type=int, show=True
)
TRUNCATION = Option(
    "Which records of a person to keep: the first, or a random sample.",
    "--truncation",
    type=("first", "sample"),
)

NO_MAP = Rule(
    "points-need-map",
    "Points need a grid of one map with a place on the Earth, such as jis:half or h3:7; of areal "
    "units give counts by their codes (--code, --value; code=, value=).",
)


@dataclass(frozen=True, kw_only=True)
class Points(LabelledReader):
    """Records with coordinates or geometries.

    Attributes
    ----------
    x, y : str, optional
        Columns of longitude and latitude, or of easting and northing. Default: the file's
        geometries are points.
    crs : str, optional
        CRS of the records. Default: the grid's, or that of the geometries. A transformation
        that is not exact enough is refused.
    allow_ballpark : bool
        Whether one datum may be taken for another if the exact transformation is not
        installed: points in the Tokyo datum are then displaced by about 450 m.
    person : str, optional
        Column that identifies persons.
    cells, per_cell : int
        Most cells of a person that are kept, and most records of a person in each of them.
    truncation : {"first", "sample"}
        Which cells of a person are kept: those of the first records, or a random sample
        (:func:`geodp.table.contribution.truncate`).
    secret : NoiseKey, optional
        Key of the sample; default: fresh from the operating system.
    """

    name: ClassVar[str] = "points"
    kind: ClassVar[str] = "points"
    flag: ClassVar[str] = "Read every row as one person at x, y, or at a point geometry."

    x: str | None = field(default=None, metadata=cli_option(reader.X))
    y: str | None = field(default=None, metadata=cli_option(reader.Y))
    crs: str | None = field(default=None, metadata=cli_option(CRS))
    allow_ballpark: bool = field(default=False, metadata=cli_option(BALLPARK))
    person: str | None = field(default=None, metadata=cli_option(PERSON))
    cells: int = field(default=1, metadata=cli_option(CELLS, needs="person"))
    per_cell: int = field(default=1, metadata=cli_option(PER_CELL, needs="person"))
    truncation: Truncation = field(default="first", metadata=cli_option(TRUNCATION, needs="person"))
    secret: NoiseKey | None = None

    def read(self, paths: TableSource) -> CountTable:
        """Count the records in the files, with each person's contribution bounded on request."""
        reader, tables, facts = self.resolve(self.open(paths))
        return reader._read(tables, facts)

    @property
    def taken(self) -> tuple[str | None, ...]:
        """Columns that are named for places and persons."""
        return self.x, self.y, self.person

    def _read(self, tables: Iterator[InputTable], facts: Sequence[Fact] = ()) -> CountTable:
        """Count the records of tables whose attributes the grid has; ``facts``: their origin."""
        from geodp.io.memory import MIN_MEMORY, bytes_of
        from geodp.io.read.rows.scratch import Runs
        from geodp.io.read.rows.survey import Survey
        from geodp.privacy.assumption import ContributionBound
        from geodp.table.counts import CountTable

        share = bytes_of(self.memory)
        if self.person is not None:
            # One half is for the records, which wait by person, the other for their cells.
            share = max(share // 2, MIN_MEMORY)
        runs, survey, persons = Runs(share, self.scratch), Survey(), self._persons(share)
        for within, key, names, inside in self._place(tables, survey, facts):
            if persons is None:
                runs.add(key)
            else:
                persons.add(within, key, names, inside)
        bound, read = None, survey.reading()
        if persons is not None:
            bound = ContributionBound(self.cells * self.per_cell, "geodp")
            for person, key in persons.parts():
                runs.add(*self.truncate(person, key))
        return CountTable.of_cells(self.grid, *runs.arrays(), bound=bound, reading=read)

    def list_records(
        self, paths: TableSource, survey: Survey
    ) -> Iterator[tuple[pa.Array, NDArray[np.uint64]]]:
        """Yield persons as texts, and keys uint64[n], of the records in the domain, in their order.

        Raises as :meth:`read` does, and records counts of rows in the survey.
        """
        from geodp.io.read.rows.persons import name_persons

        assert self.person is not None
        if self.by:
            raise UsageError(
                "On a cluster the grid has the attributes, and columns= says where their labels "
                "are; leave out by=.",
                code="cluster-attributes-by-grid",
            )
        for within, key, names, inside in self._place(self.open(paths), survey):
            yield name_persons(within, self.person, names, inside), key

    def _place(
        self, tables: Iterator[InputTable], survey: Survey, facts: Sequence[Fact] = ()
    ) -> Iterator[tuple[Rows, NDArray[np.uint64], pa.Array, NDArray[np.bool_] | None]]:
        """Yield rows in the domain, their keys, the last column of all rows, and those inside."""
        from geodp.io.read.rows.locators import describe_columns, locate
        from geodp.io.read.rows.tally import place

        # Without columns of coordinates each table is located by its geometries, whose CRS may
        # differ.
        located = self._locators(self._columns()) if self._require_places() else []
        for table in tables:
            survey.note(table.name, facts or describe_columns(self.grid, self.columns))
            locators = located or self._locators(self._geometry(table))
            names = [name for locator in locators for name in locator.columns]
            names += [] if self.person is None else [self.person]
            survey.state(self._describe(table, names))
            for rows, arrays in self.read_rows(table, names, survey):
                index = locate(self.grid, rows, locators, arrays)
                within, key, inside = place(self.grid, rows, index, self.outside, survey)
                if self.person is None:
                    # These records have no identifier of a person, which the card states.
                    survey.add(table.name, without_person=key.size)
                yield within, key, arrays[-1], inside

    def _describe(self, table: InputTable, names: Sequence[str]) -> StatedReading:
        """Describe for the card how a table is read; the columns of places come first."""
        from geodp.io.read.layout.presets import describe_layout
        from geodp.table.stated.reading import StatedReading

        geometry = self.x is None or self.y is None
        return StatedReading(
            form="points",
            layout=describe_layout(table.columns),
            places={"geometry": names[0]} if geometry else {"x": names[0], "y": names[1]},
            labels=self.columns,
            crs=self.crs,
            person=self.person,
        )

    def _require_places(self) -> bool:
        """Test whether columns locate records; UsageError for one coordinate, or no map."""
        _ = self._lattice
        if (self.x is None) != (self.y is None):
            raise UsageError(
                "x and y go together (--x, --y); without both, geometries are read.",
                code="x-without-y",
            )
        return self.x is not None

    @property
    def _lattice(self) -> Lattice:
        """The map on which points are located; UsageError if the grid has none."""
        from geodp.grid.cells.points import CellMap

        place = self.grid.maps.one
        if place is None or place.transform is None:
            place = CellMap.of(self.grid, self.outside == "drop")
        if place is None:
            raise UsageError(NO_MAP)
        return place

    def _columns(self) -> Locator:
        from geodp.io.read.layout.plane import REMEDY_OF_POINTS, UnitCheck
        from geodp.io.read.rows.locators import point_locator, transformation

        lattice = self._lattice
        move = transformation(lattice, self.crs, self.allow_ballpark)
        # A stated CRS is the operator's answer to the question that the check would raise.
        check = UnitCheck(lattice, REMEDY_OF_POINTS) if self.crs is None else None
        return point_locator(lattice, str(self.x), str(self.y), move, check, self.decimal)

    def _geometry(self, table: InputTable) -> Locator:
        from geodp.io.read.rows.forms.geometry import find_geometry, geometry_points

        geometry = find_geometry(table)
        return geometry_points(self._lattice, geometry, self.crs, self.allow_ballpark)

    def _locators(self, first: Locator) -> list[Locator]:
        from geodp.io.read.rows.locators import axis_locators, require_axes

        locators = [first, *axis_locators(self.grid, self.columns)]
        require_axes(self.grid, locators)
        return locators

    def _persons(self, memory: int) -> Persons | None:
        """Return the collector of records by person, if persons are distinguished."""
        import numpy as np

        from geodp.io.read.rows.persons import Persons

        if self.person is None:
            return None
        # Invalid bounds must be refused before hours of reading, not after.
        self.truncate(np.empty(0, np.int64), np.empty(0, np.uint64))
        # A stored key draws by the numbers of all records, so that they must stay together.
        reproducible = self.truncation == "sample" and self.secret is not None
        return Persons(self.person, memory, self.scratch, single_part=reproducible)

    def truncate(
        self, person: NDArray[np.int64], key: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Bound the contribution of persons (int64[n]) by their records in cells (uint64[n])."""
        from geodp.table.contribution import truncate

        return truncate(
            person,
            key,
            cells=self.cells,
            per_cell=self.per_cell,
            truncation=self.truncation,
            secret=self.secret,
        )


READERS = (Points,)


@takes(Points)
def read_points(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Count records per cell, in batches: text (plain, gzip, zip), Parquet, tables in memory.

    Also GeoJSON, JSON lines, GeoPackage, FlatGeobuf, Shapefile and workbooks.

    With a column of persons, at most `cells` cells of a person are kept, and at most `per_cell`
    records in each; the table then carries the bound ``cells * per_cell``. Records
    beyond the limit of memory wait on disk, by person; only those sampled with a stored `secret`,
    and those of any one person, must fit. Without a column of persons nothing bounds how
    often a person is counted, and :func:`geodp.publish` requires a declared contribution.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: any object with the Arrow interface, such as a DataFrame of pandas or Polars, a
        relation of DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public grid of one map, with or without attributes; a string names a code system.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> people = pa.table({"lon": [139.701, 139.701], "lat": [35.681, 35.691]})
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> int(geodp.read_points(people, grid=grid, x="lon", y="lat").count.sum())
    2
    """
    return Points.of(grid, **options).read(paths)
