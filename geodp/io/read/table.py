"""Tables of cells and counts in CSV, Parquet and memory: by code, by coordinates, by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from geodp.errors import UsageError
from geodp.io.read import reader
from geodp.io.read.reader import Call, Claim, Option, Reader, asks

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.columns import Rows
    from geodp.io.read.rows.columns import Table as Columns
    from geodp.io.read.rows.input_files import FilePath, Given
    from geodp.io.read.rows.locators import Locator
    from geodp.io.read.rows.rounding import Rounding
    from geodp.io.read.rows.tally import Duplicates, Outside
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable

Decimal: TypeAlias = Literal[".", ","]
Anchor: TypeAlias = Literal["centre", "corner", "index"]

CODE = Option("Column of cell codes (tables).", "--code")
ANCHOR = Option(
    "What x and y of a table are: the cell's centre, its lower left corner, its indices.",
    "--anchor",
    type=("centre", "corner", "index"),
)


def _some(given: Sequence[str]) -> Sequence[str]:
    if not given:
        raise UsageError("A table needs a --value column, or several with --attribute.")
    return given


@dataclass(frozen=True, kw_only=True)
class Table(Reader):
    """Tables with one row a cell; the fields are those of :func:`read_table`."""

    name: ClassVar[str] = "table"
    kind: ClassVar[str] = "a table"

    value: str | Sequence[str] = field(metadata=asks(reader.VALUE, convert=_some))
    attribute: str | None = field(default=None, metadata=asks(reader.ATTRIBUTE))
    code: str | None = field(default=None, metadata=asks(CODE))
    x: str | None = field(default=None, metadata=asks(reader.X))
    y: str | None = field(default=None, metadata=asks(reader.Y))
    anchor: Anchor = field(default="centre", metadata=asks(ANCHOR, needs="x"))
    columns: Mapping[str, str] = field(default_factory=dict, metadata=asks(reader.COLUMNS))
    where: Mapping[str, str | int] = field(default_factory=dict, metadata=asks(reader.WHERE))
    missing: Sequence[str | float] = field(default=(), metadata=asks(reader.MISSING))
    duplicates: Duplicates = field(default="error", metadata=asks(reader.DUPLICATES))
    outside: Outside | None = field(default=None, metadata=asks(reader.OUTSIDE))
    encoding: str | None = field(default=None, metadata=asks(reader.ENCODING))
    delimiter: str | None = field(default=None, metadata=asks(reader.DELIMITER))
    decimal: Decimal | None = field(default=None, metadata=asks(reader.DECIMAL))
    layer: str | None = field(default=None, metadata=asks(reader.LAYER))
    rounding: Rounding | None = field(default=None, metadata=asks(reader.ROUND))
    secret: NoiseKey | None = None

    @classmethod
    def claim(cls, call: Call) -> Claim:
        """Whatever names columns of places is one; so is what no other reader takes."""
        places = any(call.given.get(name) for name in ("code", "x", "y", "column"))
        return Claim.COLUMNS if places else Claim.ANY

    def read(self, paths: Given) -> CountTable:
        """Read the places and the counts of every table in the files."""
        import numpy as np

        from geodp.io.read.layout.one_table import OneTable
        from geodp.io.read.rows.columns import batches, find_column, open_tables
        from geodp.io.read.rows.locators import locate
        from geodp.io.read.rows.mesh_columns import numbers_of_labels, with_values
        from geodp.io.read.rows.rounding import Counting
        from geodp.io.read.rows.tally import Groups, Tally

        values = [self.value] if isinstance(self.value, str) else [*self.value]
        wide = self.attribute is not None or len(values) > 1
        grid = with_values(self.grid, self.attribute, values) if wide else self.grid
        located = self._locators(grid, wide) if self._names_places else None
        summed = self.duplicates == "sum" and not wide and self.rounding is None
        counting = Counting(self.missing, self.decimal, self.rounding, self.secret)
        tally = Tally(
            grid,
            self.outside or "error",
            self.duplicates,
            rounding=self.rounding,
            memory=self.memory,
            scratch=self.scratch,
        )
        groups, one_table = Groups(), OneTable()
        for table in open_tables(
            paths,
            delimiter=self.delimiter,
            encoding=self.encoding,
            layer=self.layer,
            scratch=self.scratch,
        ):
            locators = located or self._locators_of_geometry(grid, table, wide)
            names = [*values, *(name for locator in locators for name in locator.columns)]
            chosen = [find_column(table, name, names) for name in names]
            wanted = {find_column(table, name, names): self.where[name] for name in self.where}
            one_table.add(table, chosen[: len(values)])
            if wide:
                tally.survey.name(table.name, values)
            for rows, arrays in batches(table, chosen, wanted, tally.survey):
                numbers = []
                for value, array in zip(values, arrays, strict=False):
                    with rows.named(value):
                        numbers.append(counting.numbers(array))
                places = self._with_points(rows, arrays[len(values) :], locators)
                sizes = None
                if summed and len(places) == 1:
                    rows, places[0], numbers[0], sizes = groups.group(rows, places[0], numbers[0])
                index = locate(grid, rows, locators, places)
                for number, value in enumerate(values):
                    if wide:
                        labels = np.unravel_index(number, numbers_of_labels(grid))
                        index[-len(grid.attributes) :] = np.array(labels)[:, None]
                    with rows.named(value):
                        count = counting.counts(numbers[number], index)
                    tally.add(rows, index, count, sizes)
        # What is added up may be other dates, and a rounded share may be several persons'.
        counted_once = self.duplicates == "error" and self.rounding is None
        plain = not grid.attributes and len(grid.places) == 1
        return tally.table(one_table.bound() if counted_once and plain else None)

    @property
    def _names_places(self) -> bool:
        """Whether columns, and not geometries, say where rows are."""
        if self.code is not None or self.x is not None or self.y is not None:
            return True
        return not {*self.grid.axis_names[:2], "origin"}.isdisjoint(self.columns)

    def _locators(self, grid: Grid, wide: bool) -> list[Locator]:
        from geodp.io.read.rows.locators import cell_locators

        point, columns = (self.x, self.y), dict(self.columns)
        return _complete(grid, cell_locators(grid, self.code, point, self.anchor, columns), wide)

    def _locators_of_geometry(self, grid: Grid, table: Columns, wide: bool) -> list[Locator]:
        from geodp.io.read.rows.forms.geometry import find_geometry, geometry_cells
        from geodp.io.read.rows.locators import axis_locators

        if len(grid.places) != 1:
            return self._locators(grid, wide)  # which says what is missing
        found = [geometry_cells(grid.places[0], find_geometry(table), table.name)]
        return _complete(grid, [*found, *axis_locators(grid, self.columns)], wide)

    def _with_points(self, rows: Rows, places: list[Any], locators: Sequence[Locator]) -> list[Any]:
        """Return columns of places, with points for the decimal marks of coordinates."""
        from geodp.io.read.rows.fields import decimal_points

        if self.x is None or self.decimal is None:
            return places
        names = [name for locator in locators for name in locator.columns]
        for number, name in enumerate(names):
            if name in (self.x, self.y):
                with rows.named(name):
                    places[number] = decimal_points(places[number], self.decimal, False)
        return places


def _complete(grid: Grid, locators: list[Locator], wide: bool) -> list[Locator]:
    """Return locators of all axes, or of all but attributes that columns of values make."""
    from geodp.io.read.rows.locators import require_axes

    places = len(grid.axis_names) - len(grid.attributes)
    if wide and any(axis >= places for locator in locators for axis in locator.axes):
        raise UsageError(
            "The attribute is given by several columns of values or by a column of labels, not by "
            "both (--value, --column; value=, columns=)."
        )
    require_axes(grid, locators, places if wide else None)
    return locators


READERS = (Table,)


def read_table(
    paths: Given,
    *,
    grid: str | Grid,
    value: str | Sequence[str],
    attribute: str | None = None,
    code: str | None = None,
    x: str | None = None,
    y: str | None = None,
    anchor: Anchor = "centre",
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | int] | None = None,
    missing: Sequence[str | float] = (),
    duplicates: Duplicates = "error",
    outside: Outside | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: Decimal | None = None,
    layer: str | None = None,
    rounding: Rounding | None = None,
    secret: NoiseKey | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Read tables with one row a cell: text (plain, gzip, zip), Parquet, GeoPackage and the like.

    Also GeoJSON, JSON lines, FlatGeobuf, Shapefile, xlsx, and tables in memory. Columns are found
    by their exact names, or but for letter case. The place of a cell is in `code`, in `x` and `y`,
    in `columns`, or, where none is given, in geometries that are cells of the grid; all other axes
    of the grid are in `columns`. How often a person is counted is known of one table in the layout
    of a publisher only (docs/inputs.md); of others :func:`geodp.publish` asks for it. What is not
    explained here all readers have in common:
    :class:`geodp.io.read.reader.Reader`, which also says what is raised.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: whatever speaks Arrow, such as a DataFrame of pandas or Polars, a relation of
        DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public; a string names a code system, as in ``Grid.mesh``.
    value : str or sequence of str
        Column of counts. Several become `attribute`, as in :func:`geodp.read_mesh`.
    attribute : str, optional
        Name of the attribute that several values become.
    code : str, optional
        Column of published codes.
    x, y : str, optional
        Columns of coordinates in the grid's CRS, or of cell indices.
    anchor : {"centre", "corner", "index"}
        What `x` and `y` state: the cell's centre, its lower left corner (in the south-west),
        or its column and row counted from 0.
    columns : mapping, optional
        Also for "origin" and "destination": columns of codes.
    missing : sequence of str or number, optional
        Values that mean nobody, such as -1, as they are written or as numbers; ``"nan"`` stands
        for NaN, in letters or as a float, and for nulls among numbers, ``""`` for blanks too.
    where, duplicates, outside, delimiter, encoding, decimal, layer
    rounding, secret, memory, scratch
    """
    from geodp.grid.grid import Grid

    return Table(
        grid=Grid.mesh(grid) if isinstance(grid, str) else grid,
        value=value,
        attribute=attribute,
        code=code,
        x=x,
        y=y,
        anchor=anchor,
        columns=columns or {},
        where=where or {},
        missing=missing,
        duplicates=duplicates,
        outside=outside,
        delimiter=delimiter,
        encoding=encoding,
        decimal=decimal,
        layer=layer,
        rounding=rounding,
        secret=secret,
        memory=memory,
        scratch=scratch,
    ).read(paths)
