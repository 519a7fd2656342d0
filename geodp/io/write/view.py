"""All that may be shown of a release, made once: what every format, map and page takes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from geodp import progress
from geodp.accuracy.areas import Areas
from geodp.io.write.geometry import geometry, has_geometry
from geodp.io.write.tables import (
    arrow_columns,
    centre_columns,
    column_names,
    name_of_counts,
    region_columns,
    require_released,
    slices,
)
from geodp.io.write.uncertainty import RowErrors, names_of
from geodp.reprs import one_line
from geodp.table.card import Card
from geodp.table.measured import Measurements
from geodp.table.public_totals import PublicTotals
from geodp.table.released import ReleasedTable
from geodp.typing import CountArray, IntArray

INTERVAL = "a 95 % interval of one cell's true count, that of noise and clamp together"
"""What a card says of the columns of the ends of intervals."""


@dataclass(frozen=True, eq=False)
class View:
    """All that may be shown of a release, or of one of its published levels of areas.

    Attributes
    ----------
    table : ReleasedTable
        Anything else is refused: what is written is public.
    card : Card
        Of the whole release, with the name of the count; without files while they are written.
    errors : RowErrors or None
        Of the rows; None leaves their columns out, as where the error depends on the data.
    areas : callable
        Sums of every level of official areas or regions, one after the other.
    measurements : Measurements or None
        What was measured before any clamp, where it is published.
    totals : PublicTotals or None
        That the counts meet exactly.
    level : str or None
        Whose areas the rows are; None: they are the cells.
    regions : Areas or None
        Of a level of an office's own regions, or of units, which are no cells of a grid: its rows.
        The table is then that of the cells.
    kept : KeptRows or None
        Where columns lie that were made once; None: they are made for whoever asks.
    """

    __repr__ = one_line

    table: ReleasedTable
    card: Card
    errors: RowErrors | None = None
    areas: Callable[[], Iterable[Areas]] = field(default=tuple, repr=False)
    measurements: Measurements | None = field(default=None, repr=False)
    totals: PublicTotals | None = field(default=None, repr=False)
    level: str | None = None
    regions: Areas | None = field(default=None, repr=False)
    kept: KeptRows | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_released(self.table)

    @cached_property
    def name(self) -> str:
        """Of the count, its column and its files."""
        return self.card.name

    @cached_property
    def size(self) -> int:
        """How many rows there are."""
        rows = self.table.key if self.regions is None else self.regions.count
        return int(rows.size)

    @cached_property
    def counted(self) -> str:
        """What is counted, in words: the name of the count, or the unit of privacy in plural."""
        return name_of_counts(self.name, self.table.event.unit)

    @cached_property
    def limit(self) -> int | None:
        """The office's limit of display; None: every count is shown."""
        return self.card.display_below

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
        """Which cells have a row, in words."""
        cells = "above 0" if self.card.mechanism.nonnegative else "that is not 0"
        return f"one row for every cell {cells}; cells of the domain that are not listed are 0"

    @cached_property
    def values(self) -> dict[str, str]:
        """What a card says of counts: what they can be, where their error holds, the interval."""
        error = self.card.expected_error
        said = {"values": self.card.mechanism.values}
        if error.has_parts:
            return {**said, "standard_error": "of each part of a cell", "low, high": INTERVAL}
        if error.holds is None:
            return said
        return {**said, "standard_error": f"of one cell {error.holds}", "low, high": INTERVAL}

    def describe_columns(self, *more: str) -> dict[str, Any]:
        """Return what a card says of a file with the columns, and ``more`` of them."""
        grid, coordinates = self.table.grid, {}
        if centred := centre_columns(grid):
            where = grid.places[0].crs or "the grid's own coordinates"
            coordinates = {"coordinates": f"{', '.join(centred)}: the cell's centre in {where}"}
        columns = [*self.columns, *more]
        return {"columns": columns, **self.values, **coordinates, "unit": self.counted}

    @cached_property
    def texts(self) -> str:
        """All characters that its columns of texts may hold, but for those of cells' codes."""
        if self.regions is not None:
            return "".join(text for column in self.regions.texts.values() for text in set(column))
        grid = self.table.grid
        labels = (label for attribute in grid.attributes for label in attribute.labels)
        return "".join(labels) + grid.names.texts

    @cached_property
    def about(self) -> dict[str, Any]:
        """Plain values that say which release it is of; its id, once it is known."""
        event, card = self.table.event, self.card
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
        """Return the same with another name of the count."""
        return replace(self, card=replace(self.card, name=name))

    def of(self, areas: Areas) -> View:
        """Return the view of a published level of areas."""
        table, regions = areas.table, None
        if table is None:
            table, regions = self.table, areas
        errors = None if areas.standard_error is None else RowErrors(areas.standard_error)
        return View(table, self.card, errors, level=areas.level, regions=regions)

    def with_levels(self) -> list[View]:
        """Return the view itself, and one of every published level of areas."""
        return [self, *map(self.of, self.areas())]

    @cached_property
    def empty(self) -> Rows:
        """No rows, whose columns have the names and types of all."""
        return Rows(self, slice(0))

    def rows(self, what: str) -> Iterator[Rows]:
        """Yield all rows, some at a time; ``what`` is counted for the operator's eyes."""
        progress.begin(what, self.size, public=True)
        for rows in self._make() if self.kept is None else self.kept.rows_of(self, self._make()):
            yield rows
            progress.advance(rows.size)

    @property
    def whole(self) -> Rows:
        """All rows at once."""
        return Rows(self, slice(None))

    def _make(self) -> Iterator[Rows]:
        if self.regions is not None:
            yield self.whole
            return
        for part in slices(self.size):
            yield Rows(self, part)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a release, in key order; each of their parts is made when it is asked for.

    Attributes
    ----------
    view : View
        All of it.
    part : slice
        Which rows of it these are.
    made : pyarrow.Table or None
        Their columns, where these were kept.
    """

    view: View
    part: slice
    made: Any = None

    @property
    def size(self) -> int:
        """How many there are."""
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


class KeptRows:
    """Columns that were made, in a file without a name, which nobody finds when the run has ended.

    One writer after the other reads them.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._complete = False

    def rows_of(self, view: View, made: Iterable[Rows]) -> Iterator[Rows]:
        """Yield the rows of a view as they were kept, or those that are made, and keep these.

        They are kept when all were asked for.
        """
        self._file.seek(0)
        if self._complete:
            start = 0
            with pa.ipc.open_stream(self._file) as stream:
                for batch in stream:
                    part = slice(start, start + batch.num_rows)
                    yield Rows(view, part, pa.Table.from_batches([batch]))
                    start = part.stop
            return
        self._file.truncate()
        with pa.ipc.new_stream(self._file, view.empty.columns.schema) as stream:
            for rows in made:
                stream.write_table(rows.columns)
                yield rows
        self._complete = True


@contextmanager
def keep_rows(view: View, folder: Path) -> Iterator[View]:
    """Yield a view whose rows are made once, and lie in a folder's file system until the end."""
    with closing(tempfile.TemporaryFile(dir=folder)) as file:
        yield replace(view, kept=KeptRows(file))
