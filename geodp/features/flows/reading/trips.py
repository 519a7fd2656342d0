"""Trips from frames and files: two places a row, and perhaps a person, counted by pair of zones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import Rule, UsageError
from geodp.features.flows.reading.bounding import TripBound
from geodp.features.flows.reading.periods import UNITS, name_periods, require_unit
from geodp.features.flows.zones import require_zones
from geodp.grid.grid import Grid
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.read.layout.presets import describe_layout
from geodp.io.read.rows.columns import InputTable, Rows, batches, find_column, open_tables
from geodp.io.read.rows.external_sort import Runs
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.input_files import FilePath, TableSource
from geodp.io.read.rows.locators import ENDS, Locator, cell_locators, locate
from geodp.io.read.rows.persons import Persons, name_persons
from geodp.io.read.rows.projection import point_locator, transformation
from geodp.io.read.rows.selecting import Value
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import Outside, place
from geodp.io.read.table import read_table
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable
from geodp.table.stated.reading import StatedReading

Place: TypeAlias = str | tuple[str, str]
"""A column of codes; or a pair of columns: row and column on a grid that lies nowhere, otherwise y
and x, such as latitude and longitude."""

PLACES = Rule(
    "flows-places-missing",
    "Say where trips begin and end: origin= and destination= (--from, --to), each a "
    "column of codes, or a pair of columns such as ('oy', 'ox').",
)

COUNTED_PERSONS = Rule(
    "flows-counted-with-persons",
    "Counted rows (--value, value=) name no persons, so that geodp can bound nothing: leave "
    "person, trips, per_pair, unit and time out, and state the contribution; or give one row for "
    "each trip.",
)

KEPT_FACT = (
    "that of each {unit} at most {trips:,} trips were kept in all, and at most {per_pair:,} "
    "between two zones, chosen by a hash of the {unit}'s own trips under a secret key"
)
"""Statement of a release on how its trips were bounded."""

SEPARATOR = "\x1f"
"""Character between a person and a period."""


@dataclass(frozen=True, kw_only=True)
class Trips:
    """Reader of trips, one a row or counted; the fields are those of :func:`read_trips`."""

    grid: Grid
    origin: Place | None = None
    destination: Place | None = None
    person: str | None = None
    trips: int = 1
    per_pair: int | None = None
    unit: str = "person"
    time: str | None = None
    time_zone: str | None = None
    value: str | None = None
    crs: str | None = None
    where: Mapping[str, Value] = field(default_factory=dict)
    outside: Outside | None = None
    key: NoiseKey | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    memory: int | str | None = None
    scratch: FilePath | None = None

    def read(self, paths: TableSource) -> CountTable:
        """Count the trips by pair of zones, with each unit's trips bounded if persons are named."""
        require_zones(self.grid)
        if self.value is not None:
            return self._read_counted(paths)
        unit = require_unit(self.unit, self.time)
        if self.person is None and UNITS[unit]:
            raise UsageError(
                f"To protect one {unit}, name the column of persons (--person, person=).",
                code="flows-unit-needs-person",
            )
        share = bytes_of(self.memory)
        if self.person is not None:
            # One half is for the trips, which wait by person, the other for their pairs.
            share = max(share // 2, MIN_MEMORY)
        runs, survey = Runs(share, self.scratch), Survey()
        if self.person is None:
            for _, key, _, _ in self._place(self._open(paths), survey):
                runs.add(key)
            reading = survey.reading()
            return CountTable.of_cells(self.pairs, *runs.arrays(), reading=reading)
        # Made before anything is read, so that wrong bounds are refused at once.
        per_pair = self.trips if self.per_pair is None else self.per_pair
        bound = TripBound(self.trips, per_pair, self.key)
        persons = Persons(self.person, share, self.scratch)
        for rows, key, names, inside in self._place(self._open(paths), survey):
            persons.add(rows, key, names, inside)
        for names, key in persons.named_parts():
            runs.add(bound.keep(names, key))
        fact = KEPT_FACT.format(unit=unit, trips=self.trips, per_pair=min(per_pair, self.trips))
        return CountTable.of_cells(
            self.pairs,
            *runs.arrays(),
            bound=ContributionBound(self.trips, "geodp"),
            reading=survey.reading((fact,)),
        )

    @cached_property
    def pairs(self) -> Grid:
        """The grid of pairs of zones."""
        return self.grid.pairs()

    def _read_counted(self, paths: TableSource) -> CountTable:
        """Read rows of pairs with counts."""
        named = (self.person, self.per_pair, self.time)
        if any(one is not None for one in named) or self.trips != 1 or self.unit != "person":
            raise UsageError(COUNTED_PERSONS)
        return read_table(
            paths,
            grid=self.pairs,
            value=self.value,
            columns=self._columns(),
            where=self.where,
            outside=self.outside,
            duplicates="sum",
            memory=self.memory,
            scratch=self.scratch,
            **self.options,
        )

    def _columns(self) -> dict[str, str]:
        """Return the columns of both places by the axes of pairs."""
        columns: dict[str, str] = {}
        for end, column in self._places():
            if isinstance(column, str):
                columns[end] = column
            elif self._lies_on_earth:
                raise UsageError(
                    "Counted rows have codes of zones, or rows and columns on a grid that lies "
                    "nowhere; give one row for each trip to locate trips by coordinates.",
                    code="flows-counted-coordinates",
                )
            else:
                columns |= {f"{end}_row": column[0], f"{end}_col": column[1]}
        return columns

    @property
    def _lies_on_earth(self) -> bool:
        return self.grid.places[0].transform is not None

    def _places(self) -> list[tuple[str, Place]]:
        """Return both ends and their columns; UsageError where one is missing."""
        if self.origin is None or self.destination is None:
            raise UsageError(PLACES)
        return [*zip(ENDS, (self.origin, self.destination), strict=True)]

    def _locators(self) -> list[Locator]:
        """Return the locators of both ends."""
        if not self._lies_on_earth or all(isinstance(one, str) for _, one in self._places()):
            return cell_locators(
                self.pairs,
                None,
                (None, None),
                "centre",
                self._columns(),
                drops=self.outside == "drop",
            )
        move = transformation(self.grid.places[0], self.crs, False)
        located = []
        for number, (end, column) in enumerate(self._places()):
            if isinstance(column, str):
                located += cell_locators(self.pairs, None, (None, None), "centre", {end: column})
            else:
                y, x = column
                one = point_locator(self.grid.places[0], x, y, move)
                located.append(replace(one, axes=(2 * number, 2 * number + 1)))
        return located

    def _open(self, paths: TableSource) -> Iterator[InputTable]:
        return open_tables(paths, scratch=self.scratch, **self.options)

    def _place(
        self, tables: Iterator[InputTable], survey: Survey
    ) -> Iterator[tuple[Rows, Any, pa.Array, Any]]:
        """Yield rows in the domain, their keys, the units of all rows, and those inside."""
        import numpy as np

        locators = self._locators()
        places = [name for locator in locators for name in locator.columns]
        units = [] if self.person is None else [self.person]
        units += [] if self.time is None or not UNITS[self.unit] else [self.time]
        for table in tables:
            survey.note(table.name, ())
            names = [*places, *units]
            chosen = [find_column(table, name, names) for name in names]
            wanted = {find_column(table, name, names): self.where[name] for name in self.where}
            survey.state(self._describe(table))
            for rows, arrays in batches(table, chosen, wanted, survey):
                index = locate(self.pairs, rows, locators, arrays[: len(places)])
                within, key, inside = place(self.pairs, rows, index, self.outside or "error")
                survey.place(table.name, np.ones(index.shape[1], np.int64), inside)
                if self.person is None:
                    survey.leave_unnamed(table.name, key.size)
                yield within, key, self._name(rows, arrays[len(places) :]), inside

    def _name(self, rows: Rows, arrays: list[pa.Array]) -> pa.Array:
        """Return the unit of every row: the person, or the person and the period."""
        if len(arrays) < 2:
            return arrays[0] if arrays else None
        # Checked before the period is added, which would hide that a person is missing.
        assert self.person is not None
        assert self.time is not None
        names = name_persons(rows, self.person, arrays[0], None)
        with rows.named(self.time):
            period = name_periods(arrays[1], self.unit, self.time_zone)
        return pc.binary_join_element_wise(as_text(names), period, SEPARATOR)

    def _describe(self, table: InputTable) -> StatedReading:
        """Describe for the card how a table is read."""
        columns = {
            end: column if isinstance(column, str) else ", ".join(column)
            for end, column in self._places()
        }
        return StatedReading(
            form="table",
            layout=describe_layout(table.columns),
            places=columns,
            crs=self.crs,
            person=self.person,
        )


def read_trips(
    paths: TableSource,
    *,
    grid: str | Grid,
    origin: Place | None = None,
    destination: Place | None = None,
    person: str | None = None,
    trips: int = 1,
    per_pair: int | None = None,
    unit: str = "person",
    time: str | None = None,
    time_zone: str | None = None,
    value: str | None = None,
    crs: str | None = None,
    where: Mapping[str, Value] | None = None,
    outside: Outside | None = None,
    key: NoiseKey | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
    **options: Any,
) -> CountTable:
    """Count trips by pair of zones, with the trips of every person bounded.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
    grid : str or Grid
        The public grid of zones: one map of cells.
    origin, destination : str or pair of str
        Columns of codes; or pairs of columns: row and column on a grid that lies nowhere,
        otherwise y and x, such as latitude and longitude.
    person : str, optional
        Column that identifies persons; rows without an id are refused. Without it
        :func:`geodp.flows.publish` asks for the contribution.
    trips, per_pair : int
        Most trips that are kept of a unit, in all and between two zones. Which are kept depends on
        the unit's own trips and the key alone, not on the order of rows.
    unit : {"person", "person-day", "person-week", "person-month"}
        What is protected, and whose trips are bounded.
    time, time_zone : str, optional
        Column of the times at which trips began, for units of periods; and the IANA name of the
        zone of their days, if they count from UTC. Days follow summer time.
    value : str, optional
        Column of counts, if a row is several trips; no person is known then.
    crs : str, optional
        CRS of coordinates, if it is not the grid's.
    where, outside, memory, scratch
        See :func:`geodp.read_points`. A trip is outside if one of its ends is.
    key : NoiseKey, optional
        Key of the choice of trips; default: a fresh one.
    **options
        ``delimiter``, ``encoding``, ``layer``, ``header_row``, ``first_row``, ``last_row`` and
        ``member``, as for :func:`geodp.read_table`.

    Returns
    -------
    CountTable
        On the grid of pairs, for :func:`geodp.flows.publish`.

    Raises
    ------
    InputError
        A person or a time is missing, or a place is no zone; it names file and row.
    UsageError
        Columns or bounds that do not go together.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> rows = {"id": ["a", "a", "b"], "oy": [0, 0, 1], "ox": [0, 0, 1]}
    >>> trips = pa.table({**rows, "dy": [1, 1, 0], "dx": [1, 1, 1]})
    >>> places = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
    >>> grid = geodp.Grid.regular((2, 2))
    >>> table = geodp.flows.read_trips(trips, grid=grid, **places, person="id", trips=1)
    >>> int(table.count.sum()), table.bound
    (2, ContributionBound(value=1, stated_by='geodp'))
    """
    return Trips(
        grid=Grid.mesh(grid) if isinstance(grid, str) else grid,
        origin=origin,
        destination=destination,
        person=person,
        trips=trips,
        per_pair=per_pair,
        unit=unit,
        time=time,
        time_zone=time_zone,
        value=value,
        crs=crs,
        where=where or {},
        outside=outside,
        key=key,
        options=options,
        memory=memory,
        scratch=scratch,
    ).read(paths)
