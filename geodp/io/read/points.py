"""Raw records with coordinates, one row a person, counted per cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from geodp.errors import Rule, UsageError
from geodp.io.read import reader
from geodp.io.read.reader import Option, Reader, asks

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from geodp.grid.grid import Grid
    from geodp.grid.lattice import Lattice
    from geodp.io.read.layout.named import Lists, Named
    from geodp.io.read.rows.columns import InputTable, Rows
    from geodp.io.read.rows.input_files import FilePath, TableSource
    from geodp.io.read.rows.locators import Locator
    from geodp.io.read.rows.persons import Persons
    from geodp.io.read.rows.selecting import Value
    from geodp.io.read.rows.survey import Survey
    from geodp.io.read.rows.tally import Outside
    from geodp.io.read.table import Decimal
    from geodp.privacy.key import NoiseKey
    from geodp.table.contribution import Truncation
    from geodp.table.counts import CountTable
    from geodp.table.source import Fact
    from geodp.table.stated.reading import StatedReading

CRS = Option("CRS of x, y if not the grid's.", "--points-crs")
BALLPARK = Option("Accept an inexact change of datum.", "--allow-ballpark", type=bool)
PERSON = Option(
    "Column of persons (points); enforces the bounds that follow.", "--person", everyday=True
)
CELLS = Option("Cells kept of a person.", "--cells", type=int, show=True)
PER_CELL = Option("Records kept of a person in a cell.", "--per-cell", type=int, show=True)
TRUNCATION = Option(
    "Which records of a person are kept: the first, or some at random.",
    "--truncation",
    type=("first", "sample"),
)

NO_MAP = Rule(
    "points-need-map",
    "Points need a grid of one map with a place on the Earth, such as jis:half or h3:7; of areal "
    "units give counts by their codes (--code, --value; code=, value=).",
)


@dataclass(frozen=True, kw_only=True)
class Points(Reader):
    """Records with coordinates or geometries; the fields are those of :func:`read_points`."""

    name: ClassVar[str] = "points"
    kind: ClassVar[str] = "points"
    flag: ClassVar[str] = "Every row is one person at x, y, or at a geometry that is a point."

    x: str | None = field(default=None, metadata=asks(reader.X))
    y: str | None = field(default=None, metadata=asks(reader.Y))
    crs: str | None = field(default=None, metadata=asks(CRS))
    allow_ballpark: bool = field(default=False, metadata=asks(BALLPARK))
    person: str | None = field(default=None, metadata=asks(PERSON))
    cells: int = field(default=1, metadata=asks(CELLS, needs="person"))
    per_cell: int = field(default=1, metadata=asks(PER_CELL, needs="person"))
    truncation: Truncation = field(default="first", metadata=asks(TRUNCATION, needs="person"))
    secret: NoiseKey | None = None
    columns: Mapping[str, str] = field(default_factory=dict, metadata=asks(reader.COLUMNS))
    by: Sequence[str] = field(default=(), metadata=asks(reader.BY, convert=reader.convert_by))
    labels: Lists = field(
        default_factory=dict,
        metadata=asks(reader.LABELS, convert=reader.convert_labels),
    )
    where: Mapping[str, Value] = field(default_factory=dict, metadata=asks(reader.WHERE))
    outside: Outside | None = field(default=None, metadata=asks(reader.OUTSIDE))
    encoding: str | None = field(default=None, metadata=asks(reader.ENCODING))
    delimiter: str | None = field(default=None, metadata=asks(reader.DELIMITER))
    decimal: Decimal | None = field(default=None, metadata=asks(reader.DECIMAL))
    layer: str | None = field(default=None, metadata=asks(reader.LAYER))
    header_row: int | None = field(default=None, metadata=asks(reader.HEADER_ROW))
    first_row: int | None = field(default=None, metadata=asks(reader.FIRST_ROW))
    last_row: int | None = field(default=None, metadata=asks(reader.LAST_ROW))
    member: str | None = field(default=None, metadata=asks(reader.MEMBER))

    def read(self, paths: TableSource) -> CountTable:
        """Count the records in the files, with what each person adds bounded where it is asked."""
        tables, named = self._open(paths), self.named()
        if not named.asks:
            return self._read(tables)
        from geodp.io.read.layout.by import resolve

        first = next(tables)
        found = resolve(first, named)
        columns = {**self.columns, **found.columns}
        reader = replace(self, grid=found.extend(self.grid), columns=columns, by=(), labels={})
        return reader._read(chain([first], tables), found.facts)

    def named(self) -> Named:
        """Return what the call says of attributes, without a look at the table."""
        from geodp.io.read.layout.named import Named

        taken = tuple(one for one in (self.x, self.y, self.person) if one is not None)
        grid = self.grid.attributes
        return Named(self.by, self.labels, grid, self.columns, values=(), taken=taken)

    def _open(self, paths: TableSource) -> Iterator[InputTable]:
        """Open the tables."""
        from geodp.io.read.rows.columns import open_tables

        return open_tables(
            paths,
            delimiter=self.delimiter,
            encoding=self.encoding,
            layer=self.layer,
            header_row=self.header_row,
            first_row=self.first_row,
            last_row=self.last_row,
            member=self.member,
            scratch=self.scratch,
        )

    def _read(self, tables: Iterator[InputTable], facts: Sequence[Fact] = ()) -> CountTable:
        """Count the records of tables whose attributes the grid has; ``facts``: how found."""
        from geodp.io.memory import MIN_MEMORY, bytes_of
        from geodp.io.read.rows.external_sort import Runs
        from geodp.io.read.rows.survey import Survey
        from geodp.privacy.assumption import ContributionBound
        from geodp.table.counts import CountTable

        share = bytes_of(self.memory)
        if self.person is not None:  # one half for the records, one for their cells
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
        """Persons as texts and keys uint64[n] of the records in the domain, in their order.

        Raises as :meth:`read` does, and adds what is met to the survey.
        """
        from geodp.io.read.rows.persons import name_persons

        assert self.person is not None
        if self.by:
            raise UsageError(
                "On a cluster the grid has the attributes, and columns= says where their labels "
                "are; leave out by=.",
                code="cluster-attributes-by-grid",
            )
        for within, key, names, inside in self._place(self._open(paths), survey):
            yield name_persons(within, self.person, names, inside), key

    def _place(
        self, tables: Iterator[InputTable], survey: Survey, facts: Sequence[Fact] = ()
    ) -> Iterator[tuple[Rows, NDArray[np.uint64], pa.Array, NDArray[np.bool_] | None]]:
        """Rows in the domain, their keys, the last column of all rows, and which are inside."""
        import numpy as np

        from geodp.io.read.rows.columns import batches, find_column
        from geodp.io.read.rows.fields import decimal_points
        from geodp.io.read.rows.locators import describe_columns, locate
        from geodp.io.read.rows.tally import place

        by_column = self._require_places()
        located = self._locators(self._columns()) if by_column else []
        for table in tables:
            survey.note(table.name, facts or describe_columns(self.grid, self.columns))
            locators = located or self._locators(self._geometry(table))
            names = [name for locator in locators for name in locator.columns]
            names += [] if self.person is None else [self.person]
            chosen = [find_column(table, name, names) for name in names]
            wanted = {find_column(table, name, names): self.where[name] for name in self.where}
            survey.state(self._describe(table, names))
            for rows, arrays in batches(table, chosen, wanted, survey):
                for column in range(2 if by_column else 0):
                    with rows.named(names[column]):
                        arrays[column] = decimal_points(arrays[column], self.decimal, False)
                index = locate(self.grid, rows, locators, arrays)
                within, key, inside = place(self.grid, rows, index, self.outside or "error")
                reasons = {} if inside is None else self.grid.explain_outside(index, inside)
                survey.place(table.name, np.ones(index.shape[1], np.int64), inside, reasons=reasons)
                if self.person is None:
                    survey.leave_unnamed(table.name, key.size)
                yield within, key, arrays[-1], inside

    def _describe(self, table: InputTable, names: Sequence[str]) -> StatedReading:
        """Describe for the card how a table is read, by its columns of places first."""
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
        """Whether columns say where records are; UsageError for half of them, or no such grid."""
        if self._map() is None:
            raise UsageError(NO_MAP)
        if (self.x is None) != (self.y is None):
            raise UsageError(
                "x and y go together (--x, --y); without both, geometries are read.",
                code="x-without-y",
            )
        return self.x is not None

    def _map(self) -> Lattice | None:
        """Return the map that points are located on; None where the grid has none."""
        from geodp.grid.cells.points import CellMap

        place = self.grid.maps.one
        if place is not None and place.transform is not None:
            return place
        return CellMap.of(self.grid, self.outside == "drop")

    def _columns(self) -> Locator:
        from geodp.io.read.layout.plane import REMEDY_OF_POINTS, UnitCheck
        from geodp.io.read.rows.projection import point_locator, transformation

        lattice = self._map()
        assert lattice is not None
        assert self.x is not None
        assert self.y is not None
        move = transformation(lattice, self.crs, self.allow_ballpark)
        check = UnitCheck(lattice, REMEDY_OF_POINTS) if self.crs is None else None
        return point_locator(lattice, self.x, self.y, move, check)

    def _geometry(self, table: InputTable) -> Locator:
        from geodp.io.read.rows.forms.geometry import find_geometry, geometry_points

        lattice, found = self._map(), find_geometry(table)
        assert lattice is not None
        return geometry_points(lattice, found, self.crs, self.allow_ballpark)

    def _locators(self, first: Locator) -> list[Locator]:
        from geodp.io.read.rows.locators import axis_locators, require_axes

        found = [first, *axis_locators(self.grid, self.columns)]
        require_axes(self.grid, found)
        return found

    def _persons(self, memory: int) -> Persons | None:
        """Return what takes in records, if persons are told apart; refuse wrong bounds first."""
        import numpy as np

        from geodp.io.read.rows.persons import Persons

        if self.person is None:
            return None
        self.truncate(np.empty(0, np.int64), np.empty(0, np.uint64))
        # What a kept key draws goes by the numbers of all records.
        kept = self.truncation == "sample" and self.secret is not None
        return Persons(self.person, memory, self.scratch, single_part=kept)

    def truncate(
        self, person: NDArray[np.int64], key: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Bound what persons (int64[n]) add by their records in cells (uint64[n])."""
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


def read_points(
    paths: TableSource,
    *,
    grid: str | Grid,
    x: str | None = None,
    y: str | None = None,
    crs: str | None = None,
    person: str | None = None,
    cells: int = 1,
    per_cell: int = 1,
    truncation: Truncation = "first",
    secret: NoiseKey | None = None,
    columns: Mapping[str, str] | None = None,
    by: Sequence[str] = (),
    labels: Lists | FilePath | None = None,
    where: Mapping[str, Value] | None = None,
    outside: Outside | None = None,
    allow_ballpark: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: Decimal | None = None,
    layer: str | None = None,
    header_row: int | None = None,
    first_row: int | None = None,
    last_row: int | None = None,
    member: str | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Count records per cell, in batches: text (plain, gzip, zip), Parquet, tables in memory.

    Also GeoJSON, JSON lines, GeoPackage, FlatGeobuf, Shapefile and workbooks.

    With a column of persons, at most `cells` cells of a person are kept, and at most `per_cell`
    records in each; the table then carries the bound that it keeps, ``cells * per_cell``. Records
    that go beyond the limit of memory wait on disk, by person; only those that a kept `secret`
    samples, and those of any one person, must fit. Without a column of persons nothing bounds how
    often a person is counted, and :func:`geodp.publish` asks for a contribution to vouch for. What
    is not explained here all readers have in common: :class:`geodp.io.read.reader.Reader`, which
    also says what is raised.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: whatever speaks Arrow, such as a DataFrame of pandas or Polars, a relation of
        DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public, one map with or without attributes; a string names a code system.
    x, y : str, optional
        Columns of longitude and latitude, or of easting and northing. Default: the file's
        geometries are points.
    crs : str, optional
        CRS of the records. Default: the grid's, or what is said of geometries. A transformation
        that is not exact enough is refused.
    person : str, optional
        Column that tells persons apart.
    cells, per_cell, truncation, secret
        See :func:`geodp.table.contribution.truncate`.
    columns : mapping, optional
        For every attribute of the grid the column of its labels.
    by, labels
        Attributes by their names, and their labels, as in :func:`geodp.read_table`.
    allow_ballpark : bool
        Whether a datum may be taken for another where the exact transformation is not
        installed: the points of the Tokyo datum then move by some 450 m.
    where, outside, delimiter, encoding, decimal, layer, header_row, first_row, last_row, member
    memory, scratch

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> people = pa.table({"lon": [139.701, 139.701], "lat": [35.681, 35.691]})
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> int(geodp.read_points(people, grid=grid, x="lon", y="lat").count.sum())
    2
    """
    from geodp.grid.grid import Grid

    return Points(
        grid=Grid.mesh(grid) if isinstance(grid, str) else grid,
        x=x,
        y=y,
        crs=crs,
        person=person,
        cells=cells,
        per_cell=per_cell,
        truncation=truncation,
        secret=secret,
        columns=columns or {},
        by=reader.convert_by(by),
        labels=reader.convert_labels(labels),
        where=where or {},
        outside=outside,
        allow_ballpark=allow_ballpark,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        layer=layer,
        header_row=header_row,
        first_row=first_row,
        last_row=last_row,
        member=member,
        memory=memory,
        scratch=scratch,
    ).read(paths)
