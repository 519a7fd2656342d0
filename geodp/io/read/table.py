"""Tables of cells and counts in CSV, Parquet and memory: by code, by coordinates, by index.

Official Japanese mesh statistics are a layout of them, which is read wherever it is recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from geodp.advice import takes
from geodp.errors import InputError, Rule, UsageError
from geodp.io.read import reader
from geodp.io.read.reader import Call, CountsReader, LabelledReader, MatchScore, Option, cli_option

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from geodp.grid.grid import Grid
    from geodp.io.read.rows.columns import InputTable, Rows
    from geodp.io.read.rows.count_parser import CountParser
    from geodp.io.read.rows.input_files import FilePath, TableSource
    from geodp.io.read.rows.locators import Locator
    from geodp.io.read.rows.pairing import ColumnPairing, Values
    from geodp.io.read.rows.survey import Survey
    from geodp.io.read.rows.tally import Tally
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable
    from geodp.table.source import Fact
    from geodp.table.stated.reading import StatedReading


Anchor: TypeAlias = Literal["centre", "corner", "index"]
Suppressed: TypeAlias = Literal["error", "zero"]

CODE = Option("Column of cell codes (tables).", "--code")
ANCHOR = Option(
    "What x and y of a table refer to: the cell's centre, its lower left corner, or its indices.",
    "--anchor",
    type=("centre", "corner", "index"),
)


SUPPRESSED = Option(
    "Cells of official mesh files whose count the publisher suppresses: refuse them, or count "
    "them as 0.",
    "--suppressed",
    type=("error", "zero"),
)
NO_VALUE = Rule(
    "value-column-to-name",
    "Name the column of counts (--value, value=), or several with the attribute that "
    "distinguishes them (--by, by=).",
)
NO_MARKS = Rule(
    "suppressed-needs-mesh",
    "Only official mesh files (a text with KEY_CODE, on a grid of jis:) have marks for hidden "
    "counts that are known (--suppressed, suppressed=); of another table, name what counts nobody "
    "(--missing, missing=).",
)
MIXED = Rule(
    "layouts-mixed",
    "This table does not have the layout of the one before it: official mesh files (KEY_CODE) and "
    "other tables are not read in one call.",
)


@dataclass(frozen=True, kw_only=True)
class Table(LabelledReader, CountsReader):
    """Tables with one row for each cell.

    Attributes
    ----------
    value : str, sequence of str or mapping
        Column of counts, or a pattern of several, as "F_*". Only an official mesh file with one
        such column needs no name. Several, with `by`, become attributes of the grid with these
        labels. On a grid that has attributes, the column of every label, ``{"f": "T001141003"}``,
        of several attributes of every combination, ``{("f", "0-14"): "T001141012"}``; names alone
        where each has its label in it.
    code : str, optional
        Column of published codes.
    x, y : str, optional
        Columns of coordinates in the grid's CRS, or of cell indices.
    anchor : {"centre", "corner", "index"}
        Meaning of `x` and `y`: the cell's centre, its lower left corner (in the south-west),
        or its column and row counted from 0.
    suppressed : {"error", "zero"}
        For `*`, `X` and blanks in official mesh files. "zero" is right where the file has added a
        hidden detail to the mesh named in HTKSAKI: that row then counts these people. `-` always
        counts 0.
    other : str, optional
        Unit that counts codes which the grid's table of units does not have, such as "abroad".
    secret : NoiseKey, optional
        Key of the random numbers of `rounding`; default: fresh from the operating system.
    """

    name: ClassVar[str] = "table"
    kind: ClassVar[str] = "a table"
    second_header: ClassVar[bool] = True

    value: Values = field(
        default=None, metadata=cli_option(reader.VALUE, convert=lambda value: value or None)
    )
    code: str | None = field(default=None, metadata=cli_option(CODE))
    x: str | None = field(default=None, metadata=cli_option(reader.X))
    y: str | None = field(default=None, metadata=cli_option(reader.Y))
    anchor: Anchor = field(default="centre", metadata=cli_option(ANCHOR, needs="x"))
    suppressed: Suppressed = field(default="error", metadata=cli_option(SUPPRESSED))
    other: str | None = field(default=None, metadata=cli_option(reader.OTHER))
    secret: NoiseKey | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.suppressed != "error":
            from geodp.io.read.layout.official_tables import KEY, is_mesh_grid
            from geodp.io.read.rows.names import fold

            key = self.x is None and fold(self.code or KEY) == fold(KEY)
            # Only official mesh files mark hidden counts that were added to another cell.
            if not (key and is_mesh_grid(self.grid)):
                raise UsageError(NO_MARKS)

    @classmethod
    def match_score(cls, call: Call) -> MatchScore:
        """Match any call, and better if an option names columns of places."""
        places = any(call.options.get(name) for name in ("code", "x", "y", "column"))
        return MatchScore.COLUMNS if places else MatchScore.ANY

    def read(self, paths: TableSource) -> CountTable:
        """Read the places and the counts of every table in the files."""
        reader, tables, facts = self.resolve(self.open(paths))
        return reader._read(tables, facts)

    @property
    def taken(self) -> tuple[str | None, ...]:
        """Columns that are named for places."""
        return self.code, self.x, self.y

    @property
    def values(self) -> Values:
        """Columns of counts."""
        return self.value

    def _read(self, tables: Iterator[InputTable], facts: Sequence[Fact] = ()) -> CountTable:
        """Read tables whose attributes the grid has; ``facts``: their origin."""
        from geodp.io.read.layout import official_tables as mesh
        from geodp.io.read.layout.attributes import name_joint
        from geodp.io.read.layout.official_tables import OneTable, PartNumbers, find_parts
        from geodp.io.read.rows.columns import batches, find_column
        from geodp.io.read.rows.locators import describe_columns, locate
        from geodp.io.read.rows.pairing import pair
        from geodp.io.read.rows.tally import Groups

        paired = pair(self.grid, name_joint(self.by, self.value), self.value)
        grid, wide = paired.grid, paired.wide
        located = self._locators(grid, wide) if self._names_places else None
        # Rows of one cell are added early if nothing else depends on the single row.
        summed = self.duplicates == "sum" and not wide and self.rounding is None
        tally: Tally | None = None
        details = self._add_unit(facts or [*paired.facts, *describe_columns(grid, self.columns)])
        groups, one_table, parts = Groups(), OneTable(), PartNumbers()
        for table in tables:
            keyed = self.code is not None or located is None
            official = keyed and mesh.is_official(table, grid, self.code)
            if tally is None:
                first, counting = official, self._counting(official)
                tally = self._tally(grid, official)
            elif official != first:
                # The conversion of values was chosen for the first table and would be wrong here.
                raise InputError(MIXED, file=table.name)
            locators = located or self._locators_of(grid, table, wide, official)
            columns = self._find_values(table, paired.columns, official)
            names = [name for locator in locators for name in locator.columns]
            used = [*(paired.columns or ()), *names]
            part = find_parts(table) if self.duplicates == "sum" else []
            chosen = [*columns, *(find_column(table, name, used) for name in names), *part]
            wanted = {find_column(table, name, used): self.where[name] for name in self.where}
            values = [mesh.title_of(table, column) for column in columns]
            one_table.add(table, columns)
            tally.survey.note(table.name, details)
            tally.survey.state(self._describe(table, paired, values, names))
            if wide or official:
                tally.survey.name(table.name, values)
            for rows, arrays in batches(table, chosen, wanted, tally.survey):
                # A row that repeats the name of the column of codes is a second header.
                first_place = slice(len(values), len(values) + 1)
                mesh.require_one_header(rows, arrays[first_place], chosen[first_place])
                if official:
                    rows, arrays = mesh.drop_labels(rows, arrays, chosen)
                part_of = parts.number(rows, arrays.pop()) if part else None
                numbers = _count(rows, values, arrays, counting, tally.survey)
                places = arrays[len(values) :]
                sizes = None
                if summed and not official and len(places) == 1 and not part:
                    rows, places[0], numbers[0], sizes = groups.group(rows, places[0], numbers[0])
                index = locate(grid, rows, locators, places)
                for number, value in enumerate(values):
                    if wide:
                        _set_labels(grid, index, number)
                    with rows.named(value):
                        count = counting.counts(numbers[number], index)
                    tally.add(rows, index, count, sizes, None if number else part_of)
        tally = tally or self._tally(grid, official=False)
        return tally.table(one_table.bound() if self._counts_once(grid) else None)

    def _describe(
        self, table: InputTable, paired: ColumnPairing, values: Sequence[str], names: Sequence[str]
    ) -> StatedReading:
        """Describe for the card how a table is read: columns as named, or by its header.

        ``values`` and ``names``: titles of the columns of counts, and names of the columns of
        places and labels.
        """
        from geodp.io.read.layout.official_tables import key_of
        from geodp.io.read.layout.presets import describe_layout
        from geodp.table.stated.reading import StatedCounts, StatedReading

        coordinates = {"code": self.code, "x": self.x, "y": self.y}
        places = {role: name for role, name in coordinates.items() if name is not None}
        if not self._names_places:
            places = {"code" if names[0] == key_of(table, paired.grid) else "geometry": names[0]}
        attributes = {one.name for one in paired.grid.attributes}
        labels = {axis: name for axis, name in self.columns.items() if axis in attributes}
        counts = [*zip(paired.columns or values, paired.labels, strict=False)]
        return StatedReading(
            form="table",
            layout=describe_layout(table.columns),
            places=places | {axis: n for axis, n in self.columns.items() if axis not in labels},
            labels=labels,
            counts=tuple(StatedCounts(name, label) for name, label in counts),
            anchor=None if self.x is None else self.anchor,
        )

    def _counts_once(self, grid: Grid) -> bool:
        """Test whether a layout's contribution bound holds for the rows as they are read."""
        # Rows that are added up may be of several dates, and a rounded share of several persons.
        # A person may change a number that is rounded to thousands by one of them.
        plain = self.rounding is None and self.value_unit in (None, 1)
        return self.duplicates == "error" and plain and grid.plain_map is not None

    def _tally(self, grid: Grid, official: bool) -> Tally:
        """Return the accumulator of counts; an official file lists a cell once even with "sum"."""
        from geodp.io.read.rows.tally import Tally

        other = None
        if self.other is not None:
            other = grid.names.find([self.other], other=self.other)[:, 0]
        return Tally(
            grid,
            self.outside,
            self.duplicates,
            within=not official,
            other=other,
            rounding=self.rounding,
            memory=self.memory,
            scratch=self.scratch,
        )

    def _counting(self, official: bool) -> CountParser:
        """Return the conversion of values to counts; official mesh files have special markers."""
        from geodp.io.read.layout.official_tables import HIDDEN, NO_PEOPLE, SUPPRESSED
        from geodp.io.read.rows.count_parser import CountParser, Flags

        how = (self.decimal, self.rounding, self.secret)
        more: dict[str, Any] = {"flags": Flags.of(self.flags), "unit": self.value_unit}
        if official:
            # "-" always means 0 in these files, while other marks hide a count.
            zero = (NO_PEOPLE, *(SUPPRESSED if self.suppressed == "zero" else ()), *self.missing)
            return CountParser(zero, *how, HIDDEN, **more)
        if self.suppressed != "error":
            raise UsageError(NO_MARKS)
        return CountParser(self.missing, *how, **more)

    def _find_values(
        self, table: InputTable, names: Sequence[str] | None, official: bool
    ) -> list[int]:
        """Return positions of the columns of counts; for official files also by their labels.

        Raises InputError for a column that is named for amounts, or titled in multiples.
        """
        from geodp.io.read.layout.official_tables import find_columns
        from geodp.io.read.rows.amount_titles import require_counts
        from geodp.io.read.rows.columns import find_column
        from geodp.io.read.rows.delimited import TextTable

        if official and isinstance(table, TextTable):
            columns = find_columns(table, names)
        elif names is None:
            raise UsageError(NO_VALUE)
        else:
            columns = [find_column(table, name, names) for name in names]
        require_counts(table, columns, self.value_unit)
        return columns

    def _add_unit(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return facts with the number that stands for one person, if the operator stated it."""
        from geodp.table.source import Fact

        stated = [] if self.value_unit is None else [f"{self.value_unit:g}"]
        return [*facts, *(Fact("value of one person", one, "operator") for one in stated)]

    @property
    def _names_places(self) -> bool:
        """Whether columns, and not geometries, locate the rows."""
        if self.code is not None or self.x is not None or self.y is not None:
            return True
        return not {*self.grid.axis_names[:2], "origin"}.isdisjoint(self.columns)

    def _locators(self, grid: Grid, wide: bool, key: str | None = None) -> list[Locator]:
        from geodp.io.read.layout.plane import REMEDY_OF_CELLS, UnitCheck
        from geodp.io.read.rows.locators import cell_locators

        check = None if self.x is None else UnitCheck(grid.places[0], REMEDY_OF_CELLS)
        locators = cell_locators(
            grid,
            key or self.code,
            self.columns,
            point=(self.x, self.y),
            anchor=self.anchor,
            drops=self.outside == "drop",
            other=self.other,
            check=check,
            decimal=self.decimal,
        )
        return _complete(grid, locators, wide)

    def _locators_of(
        self, grid: Grid, table: InputTable, wide: bool, official: bool
    ) -> list[Locator]:
        """Return locators if no option names columns of places: by the key, or by geometries."""
        from geodp.io.read.layout.official_tables import NO_KEY, is_mesh_grid, key_of
        from geodp.io.read.rows.delimited import TextTable

        key = key_of(table, grid)
        if official:
            return self._locators(grid, wide, key)
        try:
            return self._locators_of_geometry(grid, table, wide)
        except UsageError:
            if key is None and isinstance(table, TextTable) and is_mesh_grid(grid):
                raise InputError(NO_KEY, file=table.name, row=table.head_lines) from None
            if key is None:
                raise
        return self._locators(grid, wide, key)

    def _locators_of_geometry(self, grid: Grid, table: InputTable, wide: bool) -> list[Locator]:
        from geodp.io.read.rows.forms.geometry import find_geometry, geometry_cells
        from geodp.io.read.rows.locators import axis_locators

        if (place := grid.maps.one) is None:
            return self._locators(grid, wide)  # raises the error that lists the missing columns
        located = [geometry_cells(place, find_geometry(table), table.name)]
        return _complete(grid, [*located, *axis_locators(grid, self.columns)], wide)


def _count(
    rows: Rows, values: Sequence[str], arrays: list[Any], counting: CountParser, survey: Survey
) -> list[NDArray[Any]]:
    """Return the numbers of each column of values, and record missing and flagged ones."""
    numbers = []
    for value, array in zip(values, arrays, strict=False):
        with rows.named(value):
            plain, flagged = counting.drop_flags(array)
            numbers.append(counting.numbers(plain))
        survey.flag(rows.table.name, flagged)
        survey.add(rows.table.name, missing=counting.count_missing(plain, numbers[-1]))
    return numbers


def _set_labels(grid: Grid, index: NDArray[Any], column: int) -> None:
    """Set the labels that a column of counts is for, by its position, in indices of cells."""
    import numpy as np

    from geodp.io.read.rows.pairing import numbers_of_labels

    labels = np.unravel_index(column, numbers_of_labels(grid))
    index[-len(grid.attributes) :] = np.array(labels)[:, None]


def _complete(grid: Grid, locators: list[Locator], wide: bool) -> list[Locator]:
    """Check that locators cover all axes, or all but attributes made by columns of values."""
    from geodp.io.read.rows.locators import require_axes

    places = len(grid.axis_names) - len(grid.attributes)
    if wide and any(axis >= places for locator in locators for axis in locator.axes):
        raise UsageError(
            "The attribute is given by several columns of values or by a column of labels, not by "
            "both (--value, --column; value=, columns=).",
            code="attribute-given-twice",
        )
    require_axes(grid, locators, places if wide else None)
    return locators


READERS = (Table,)


@takes(Table)
def read_table(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Read tables with one row a cell: text (plain, gzip, zip), Parquet, GeoPackage and the like.

    Also GeoJSON, JSON lines, FlatGeobuf, Shapefile, workbooks, tables in memory. Columns are found
    by their exact names, or regardless of case. The place of a cell is in `code`, in `x` and `y`,
    in `columns`, or, if none is given, in geometries that are cells of the grid; all other axes
    of the grid are in `columns`. How often a person is counted is known only for one table in the
    layout of a publisher (docs/inputs.md); otherwise :func:`geodp.publish` requires it.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
        In memory: any object with the Arrow interface, such as a DataFrame of pandas or Polars, a
        relation of DuckDB or a pyarrow.Table.
    grid : str or Grid
        Public grid; a string names a code system, as in ``Grid.mesh``.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> cells = pa.table({"code": ["533945263", "533945264"], "people": [12, 30]})
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 140, 36))
    >>> geodp.read_table(cells, grid=grid, code="code", value="people").count.tolist()
    [12, 30]
    """
    return Table.of(grid, **options).read(paths)


@takes(Table, without=("code", "x", "y", "anchor", "columns", "secret"))
def read_mesh(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    bounds: Sequence[float | Fraction] | None = None,
    primary: str | int | Sequence[str | int] | None = None,
    **options: Any,
) -> CountTable:
    """Read official mesh files: zip, gzip or text, CP932 or UTF-8.

    A value is named by its label in the second header row, such as "人口（総数）", or by its
    column, such as "T001141001". Several columns may count a person several times, so that
    :func:`geodp.publish` requires a contribution. A mesh that is twice in one file is always an
    error; files of prefectures each hold their share of a mesh on the border, so that duplicates
    are added up ("sum").

    Parameters
    ----------
    paths : path or sequence of paths
        All tables of an archive are read, or those of `member`.
    grid : str or Grid
        "jis:half" and so on, or a map made by ``Grid.mesh``. The grid is public: it never
        depends on the rows.
    bounds : (west, south, east, north), optional
        Public domain of a `grid` named by a string, in degrees. Rows outside are cropped, unless
        `outside` says otherwise.
    primary : primary mesh code or sequence of them, optional
        Alternatively codes such as 5339: only their cells are the domain. Rows outside are dropped,
        unless `outside` says otherwise.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from pathlib import Path
    >>> rows = "KEY_CODE,HTKSYORI,HTKSAKI,GASSAN,T001\\n,,,,people\\n533945263,0,,,12\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tblT000001H5339.txt"
    ...     _ = file.write_text(rows)
    ...     geodp.read_mesh(file, grid="jis:half", value="people").count.tolist()
    [12]
    """
    from geodp.io.read.layout.official_tables import public_map, require_meshes

    # Official files often cover more than a smaller public domain, whose other rows are left out.
    cropping = "drop" if primary is not None else "crop" if bounds is not None else "error"
    # The domain is fixed before a file is opened, so that it cannot depend on the rows.
    public = public_map(grid, bounds, primary)
    require_meshes(public)
    options["outside"] = options.get("outside") or cropping
    return Table.of(public, **options).read(paths)
