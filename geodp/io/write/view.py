"""Public content of a release, prepared once for every format, map and page."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.area_sums import Areas
from geodp.io.write.geometry import geometry, has_geometry
from geodp.io.write.scale import Shown
from geodp.io.write.tables import (
    UNCERTAINTY_COLUMNS,
    RowErrors,
    arrow_columns,
    centre_columns,
    column_names,
    name_of_counts,
    names_of,
    region_columns,
    require_released,
    slices,
)
from geodp.reprs import one_line
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.measured import MeasuredLevels
from geodp.table.public_totals import PublicTotals
from geodp.typing import CountArray, IntArray, KeyArray

INTERVAL = "a 95 % interval of one cell's true count, that of noise and clamp together"
"""Description in a card of the columns of the ends of intervals."""


@dataclass(frozen=True, eq=False)
class View:
    """Public content of a release, or of one of its published levels of areas.

    Attributes
    ----------
    table : ReleasedTable
        The counts. Anything else is refused, as only public data are written.
    card : Card
        Card of the release, with the name of the count; without files while they are written.
    errors : RowErrors or None
        Errors of the rows; None leaves their columns out, for example if they depend on the data.
    areas : callable
        Yields the sums of every level of official areas or regions.
    measurements : MeasuredLevels or None
        Noisy measurements before any clamp, if they are published.
    totals : PublicTotals or None
        Public totals that the counts meet exactly.
    level : str or None
        Level whose areas are the rows; None if they are the cells.
    regions : Areas or None
        Rows of a level of an office's own regions, or of units, which are not cells of a grid. The
        table is then that of the cells.
    stored : StoredRows or None
        Columns that were made once; None: they are made on each request.
    withdrawn : str or None
        Day of its withdrawal (YYYY-MM-DD), if a notice beside the release states one.
    ends : tuple of View
        Maps of origins and of destinations with errors of their own, which pictures draw in place
        of those that the rows add up to; empty: there are none.
    counts_alone : bool
        Whether the columns are the counts and their errors alone, of which maps are made.
    """

    __repr__ = one_line
    counts_alone: ClassVar[bool] = True

    table: ReleasedTable
    card: Card
    errors: RowErrors | None = None
    # Sums of large levels are made on demand and released one by one, as not all fit into memory.
    areas: Callable[[], Iterable[Areas]] = field(default=tuple, repr=False)
    measurements: MeasuredLevels | None = field(default=None, repr=False)
    totals: PublicTotals | None = field(default=None, repr=False)
    level: str | None = None
    regions: Areas | None = field(default=None, repr=False)
    stored: StoredRows | None = field(default=None, repr=False)
    withdrawn: str | None = None
    ends: tuple[View, ...] = ()

    def __post_init__(self) -> None:
        require_released(self.table)

    @cached_property
    def name(self) -> str:
        """Name of the count, its column and its files."""
        return self.card.name

    @property
    def why_in_joint_table(self) -> str | None:
        """Why its parts are in no files for maps of their own; None: they are in no other."""
        if self.card.in_joint_table:
            return "the joint table of its release has its parts as columns"
        return None

    @property
    def layer(self) -> str:
        """Name of its files and of layers in them."""
        return self.name

    @cached_property
    def size(self) -> int:
        """Number of rows."""
        rows = self.table.key if self.regions is None else self.regions.count
        return int(rows.size)

    @cached_property
    def counted(self) -> str:
        """Label of the counts: their name, or the unit of privacy in plural."""
        return name_of_counts(self.name, self.table.event.unit)

    @cached_property
    def limit(self) -> int | None:
        """The office's limit of display; None: every count is shown."""
        return self.card.display_below

    @property
    def coloured(self) -> str:
        """Name of the column that maps, styles and exports for the web colour rows by."""
        return self.name

    @property
    def shown(self) -> Shown:
        """The coloured column and its classes, which may follow from all rows."""
        return Shown(self.coloured, self.counted)

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the columns that areas are sums of, the count first."""
        return (self.name,)

    @property
    def ratio(self) -> tuple[str, str, str] | None:
        """Names of a column that is a quotient of two sums, and of these; None without one."""
        return None

    @cached_property
    def located(self) -> bool:
        """Whether rows have outlines on the Earth."""
        return self.regions is None and has_geometry(self.table.grid)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: codes or centres, other axes and labels, the count, its errors."""
        if self.regions is not None:
            return (*self.regions.texts, self.name, *names_of(self.errors))
        return column_names(self.table.grid, self.name, names_of(self.errors))

    @cached_property
    def listed(self) -> str:
        """Description of the cells that have a row."""
        cells = "above 0" if self.card.mechanism.nonnegative else "that is not 0"
        return f"one row for every cell {cells}; cells of the domain that are not listed are 0"

    @cached_property
    def values(self) -> dict[str, str]:
        """Description of counts for a card: possible values, validity of errors, the interval."""
        error = self.card.expected_error
        description = {"values": self.card.mechanism.values}
        if not error.has_parts and error.holds is None:
            return description
        whose = "each part of a cell" if error.has_parts else f"one cell {error.holds}"
        return {**description, "standard_error": f"of {whose}", "low, high": INTERVAL}

    def describe_columns(self, *more: str) -> dict[str, Any]:
        """Describe a file with the columns, and ``more`` of them, for a card."""
        grid, coordinates = self.table.grid, {}
        if centred := centre_columns(grid):
            where = grid.places[0].crs or "the grid's own coordinates"
            coordinates = {"coordinates": f"{', '.join(centred)}: the cell's centre in {where}"}
        columns = [*self.columns, *more]
        return {"columns": columns, **self.values, **coordinates, "unit": self.counted}

    @cached_property
    def texts(self) -> str:
        """All characters that its columns of texts may hold, except those of cells' codes."""
        if self.regions is not None:
            return "".join(text for column in self.regions.texts.values() for text in set(column))
        grid = self.table.grid
        # Codes of cells are ASCII by construction, so only labels and names decide on the encoding.
        labels = (label for attribute in grid.attributes for label in attribute.labels)
        return "".join(labels) + grid.names.texts

    @cached_property
    def about(self) -> dict[str, Any]:
        """Plain values that identify the release, with its id once it is known."""
        event, card = self.table.event, self.card
        # The id is computed from the first file, which therefore cannot contain it.
        identity = {"release_id": card.release_id} if card.release_id else {}
        level = {} if self.level is None else {"level": self.level}
        return {
            "schema": card.schema,
            **identity,
            "epsilon": None if event.epsilon is None else str(event.epsilon),
            "spends": event.spends,
            "guarantee": event.statement,
            "private": event.is_private,
            "unit": self.counted,
            "count": self.name,
            **level,
        }

    def named(self, name: str) -> View:
        """Return the view with another name of the count."""
        return replace(self, card=replace(self.card, name=name))

    def of(self, areas: Areas) -> View:
        """Return the view of a published level of areas."""
        table, regions = areas.table, None
        if table is None:
            # Regions have no table on a grid: their rows are shown beside the table of the cells.
            table, regions = self.table, areas
        errors = None if areas.standard_error is None else RowErrors(areas.standard_error)
        return View(table, self.card, errors, level=areas.level, regions=regions)

    def with_levels(self) -> list[View]:
        """Return the view itself, and one of every published level of areas."""
        return [self, *map(self.of, self.areas())]

    @cached_property
    def empty(self) -> ViewRows:
        """Zero rows, whose columns have the names and types of all."""
        return ViewRows(self, slice(0))

    def rows(self, what: str) -> Iterator[ViewRows]:
        """Yield all rows in chunks; ``what`` labels the progress for the operator."""
        progress.begin(what, self.size, public=True)
        for rows in (
            self._make() if self.stored is None else self.stored.rows_of(self, self._make())
        ):
            yield rows
            progress.advance(rows.size)

    def rows_of_units(self, what: str) -> Iterator[ViewRows]:
        """Yield all rows, and then one of every unit with an outline that has none, with 0.

        Of a release by label, units may lack rows of some labels: only those that are listed are.
        """
        yield from self.rows(what)
        grid = self.table.grid
        if self.regions is None and grid.outlines is not None and not grid.attributes:
            units = np.setdiff1d(np.arange(grid.size), grid.decode(self.table.key)[1])
            for some in slices(units.size):
                yield UnlistedRows(self, some, units=units[some])

    @property
    def all_rows(self) -> ViewRows:
        """All rows at once."""
        return ViewRows(self, slice(None))

    def _make(self) -> Iterator[ViewRows]:
        if self.regions is not None:
            yield self.all_rows
            return
        for part in slices(self.size):
            yield ViewRows(self, part)


@dataclass(frozen=True, eq=False)
class Original:
    """Counts as the columns of the publisher's file that they were read from.

    Attributes
    ----------
    table : ReleasedTable
        Its cells are the rows, on one map of cells with codes.
    layout : str
        Name of the publisher's layout; "" if it is none that geodp knows.
    titles : mapping of str to str
        Titles of the columns by their names in the file; "" where a name has none.
    count : callable
        Returns all columns of some cells, by their keys: int64[n] each.
    """

    table: ReleasedTable
    layout: str
    titles: Mapping[str, str]
    count: Callable[[KeyArray], list[IntArray]]

    @cached_property
    def codes(self) -> NDArray[np.str_]:
        """Codes of the cells of all rows."""
        grid = self.table.grid
        return grid.places[0].format(*grid.decode(self.table.key))


@dataclass(frozen=True, eq=False, kw_only=True)
class JointView(View):
    """The view of a table that has columns of more than one count.

    Attributes
    ----------
    counts : View or None
        The table with one count alone and all its labels, for exports of matrices.
    original : Original or None
        The columns that it was made of; None: it has others.
    stem : str
        Name of its files and of layers in them: the count is one column of many.
    """

    counts_alone: ClassVar[bool] = False
    counts: View | None = field(default=None, repr=False)
    original: Original | None = field(default=None, repr=False)
    stem: str

    @property
    def layer(self) -> str:
        """Name of its files and of layers in them."""
        return self.stem


@dataclass(frozen=True, eq=False)
class ViewRows:
    """Some rows of a release, in key order; their columns are made when they are accessed.

    Attributes
    ----------
    view : View
        View of all rows.
    part : slice
        Position of these rows in it.
    made : pyarrow.Table or None
        Their columns, if these were stored.
    """

    view: View
    part: slice
    made: Any = None

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(range(*self.part.indices(self.view.size)))

    @cached_property
    def index(self) -> IntArray:
        """Indices of the cells: int64[d, n]."""
        return self.view.table.grid.decode(self.view.table.key[self.part])

    @property
    def count(self) -> CountArray:
        """Released counts: int64[n] or float64[n]."""
        return self.view.table.count[self.part]

    @cached_property
    def columns(self) -> Any:
        """Codes or centres, other axes and labels, the count, its standard error and interval."""
        view = self.view
        # Stored columns are reused; making them again would decode all keys.
        if self.made is not None:
            return self.made
        if view.regions is not None:
            return region_columns(view.regions, self.part, view.name, view.errors)
        return arrow_columns(view.table, self.part, self.index, view.name, view.errors)

    @cached_property
    def outlines(self) -> tuple[Any, Any]:
        """Outlines as WKB, and the sides of their boxes: Arrow arrays."""
        return geometry(self.view.table.grid, self.index)

    @property
    def located(self) -> Any:
        """The columns, and ``geometry`` and ``bbox`` of rows that lie on the Earth."""
        if not self.view.located:
            return self.columns
        wkb, covering = self.outlines
        return self.columns.append_column("geometry", wkb).append_column("bbox", covering)


@dataclass(frozen=True, eq=False, kw_only=True)
class UnlistedRows(ViewRows):
    """Rows of units whose count is 0, which tables do not list; their errors are the card's.

    Attributes
    ----------
    units : int64[n]
        Their columns in the grid.
    """

    units: IntArray

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.units.size)

    @cached_property
    def index(self) -> IntArray:
        """Indices of the units: int64[2, n]."""
        return np.stack([np.zeros_like(self.units), self.units])

    @property
    def count(self) -> CountArray:
        """Zeros: int64[n]."""
        return np.zeros(self.size, np.int64)

    @cached_property
    def columns(self) -> Any:
        """Codes and names, 0 in sums, what the card says of unlisted units; else nothing."""
        view, error = self.view, self.view.card.expected_error
        known: dict[str, Any] = dict.fromkeys(view.sums, 0)
        if view.counts_alone and error.cells is not None:
            known |= zip(UNCERTAINTY_COLUMNS, (error.largest, *error.cells.ends), strict=True)
        names = view.table.grid.names
        texts = [names.format(0, self.index)]
        texts += [names.title(0, self.index)] if names.titled else []
        arrays = [
            pa.array(texts[number].tolist(), pa.string())
            if number < len(texts)
            else pa.array([known.get(one.name)] * self.size, one.type)
            for number, one in enumerate(view.empty.columns.schema)
        ]
        return pa.table(arrays, schema=view.empty.columns.schema)


class StoredRows:
    """Columns that were made, stored in a file without a name, which disappears with the process.

    Writers read them one after the other.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._complete = False

    def rows_of(self, view: View, made: Iterable[ViewRows]) -> Iterator[ViewRows]:
        """Yield the stored rows of a view, or those that are made, and store them.

        They count as stored once all have been read.
        """
        self._file.seek(0)
        if self._complete:
            start = 0
            with pa.ipc.open_stream(self._file) as stream:
                for batch in stream:
                    part = slice(start, start + batch.num_rows)
                    yield ViewRows(view, part, pa.Table.from_batches([batch]))
                    start = part.stop
            return
        # A reader that stopped early has left an incomplete stream.
        self._file.truncate()
        with pa.ipc.new_stream(self._file, view.empty.columns.schema) as stream:
            for rows in made:
                stream.write_table(rows.columns)
                yield rows
        # Only a complete pass counts: a writer may fail after some rows.
        self._complete = True


@contextmanager
def keep_rows(view: View, folder: Path) -> Iterator[View]:
    """Yield a view whose rows are made once, and stored in a folder's file system until the end."""
    with closing(tempfile.TemporaryFile(dir=folder)) as file:
        yield replace(view, stored=StoredRows(file))
