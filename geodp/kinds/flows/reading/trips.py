"""Trips from frames and files: two places a row, and perhaps a person, counted by pair of zones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from geodp.advice import takes
from geodp.errors import InputError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.memory import bytes_of
from geodp.io.read.counting.table import Places
from geodp.io.read.reader import CountsReader, WeightedReader
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.decimals import GIVEN, LEFT_OUT, Weights, leave_out
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import ENDS, Locator, axis_locators, cell_locators, locate
from geodp.io.read.rows.persons import Persons, name_persons
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.span import MATRIX
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import place
from geodp.io.read.table import Table
from geodp.kinds.flows.reading.labels import HOUR, PER_PAIR_LABELS, label_times
from geodp.kinds.flows.reading.reader import CRS_UNUSED, SEPARATOR, Place, RowReader, Units, advise
from geodp.kinds.flows.reading.units import UNITS, name_periods, require_unit
from geodp.kinds.flows.zones import require_zones
from geodp.table.counts import CountTable
from geodp.typing import IntArray

PLACES = Rule(
    "flows-places-missing",
    "Say where trips begin and end: origin= and destination= (--from, --to), each a "
    "column of codes, or a pair of columns such as ('oy', 'ox'). Of stays and pings trips are made "
    "by geodp.flows.read_stays and read_pings (--stays, --pings).",
)

COUNTED_PERSONS = Rule(
    "flows-counted-with-persons",
    "Counted rows (--value, value=) name no persons, so that geodp can bound nothing: leave "
    "person, trips, per_pair, unit and time out, and state the contribution; or give one row for "
    "each trip.",
)

BOUND_NOBODY = Rule(
    "flows-bound-without-person",
    "trips and per_pair (--trips, --per-pair) bound the trips of the persons in a column: name it "
    "(--person, person=); or leave them out, and state the contribution.",
)

UNITS_UNNAMED = Rule(
    "flows-choice-without-persons",
    "How many trips persons make is counted from one row for each trip: name the column of persons "
    "(person=), and leave value out.",
)

WEIGHTS_UNBOUNDED = Rule(
    "flows-weights-need-persons",
    "Weights (--weight, weight=) need one row for each trip and the column of persons (--person, "
    "person=), whose trips geodp bounds; or round weights yourself, give them as counts (--value, "
    "value=), and state the contribution.",
)

TIME_UNUSED = Rule(
    "flows-time-unused",
    "time and time_zone (--time, --time-zone) are for units of periods, such as person-day, and "
    "for hours and day types: name one (--unit, unit=; --by hour, by=), or leave them out.",
)

SAME_PLACES = Rule(
    "flows-places-same",
    "Origins and destinations, both coordinates of each, labels and weights are columns of their "
    "own.",
)

PERIOD_FACT = "that periods are those of the column {time}, in {zone}"
"""Statement on the times of units of periods."""

ROWS_FACT = "that every row that was read has both of its places in the right form"
"""Statement on rows without persons: others are refused before anything is charged."""

NAMED_ROWS_FACT = (
    "that every row that was read has both of its places, its person and, for units of periods, "
    "its time in the right form: others are refused before anything is charged"
)
"""Statement on rows of persons."""

LABELS_FACT = "that every trip that was read has all of its labels, from a public list"
"""Statement on labels: rows with others are refused before anything is charged."""

INSIDE_FACT = "that both places of every trip that was read lie in the domain"
"""Statement on places outside, which are refused before anything is charged."""

DROPPED_FACT = "that trips with an end outside the domain were left out"
"""Statement on places outside, where these are dropped."""


@dataclass(frozen=True, kw_only=True)
class Trips(RowReader, WeightedReader):
    """Reader of trips, one a row or counted.

    Attributes
    ----------
    origin, destination : str or pair of str
        Columns of codes, or of point geometries, each in a CRS of its own; or pairs of columns:
        x and y, such as longitude and latitude, or row and column on a grid that lies nowhere.
        Points are looked up in the outlines of units; one on a border is in the unit
        that is the first of the grid.
    value : str, optional
        Column of counts, if a row is several trips; no person is known then. How they are written
        is said by `missing`, `flags`, `duplicates`, `rounding` and `value_unit`. Rows with
        coordinates are added up by pair of zones.
    """

    origin: Place | None = None
    destination: Place | None = None
    value: str | None = None

    def read(self, paths: TableSource) -> CountTable:
        """Count the trips by pair of zones, with each unit's trips bounded if persons are named."""
        try:
            return self._read(paths)
        except InputError as error:
            # What to do with a matrix is said whatever it has.
            if error.code != "column-unknown" or "matrix" in error.rule:
                raise
            rule, file, row = error.rule, error.file, error.row
        raise InputError(rule + f" Or {MATRIX.format(first='origin')}.", file=file, row=row)

    def _read(self, paths: TableSource) -> CountTable:
        """Count the trips; see :meth:`read`."""
        self._require_columns()
        if self.value is not None:
            return self._read_counted(paths)
        self._require_unit()
        if self.person is None:
            runs, survey = Runs(bytes_of(self.memory), self.scratch), Survey()
            for _, key, *_ in self._place(self.open(paths), survey):
                runs.add(key)
            reading = survey.reading(self._state_selection())
            return CountTable.of_cells(self.pairs, *runs.arrays(), reading=reading)
        facts = self.state_units()
        if (weights := self._weights) is not None:
            lacking = [LEFT_OUT.format(self.weight)] if self.missing else []
            facts += (*weights.facts, GIVEN.format(weights.largest), *lacking)
        return self.keep_trips(paths, facts, weights)

    def require_units(self) -> str:
        """Return the unit; UsageError for columns that do not go together, or without persons."""
        self._require_columns()
        if self.person is None or self.value is not None:
            raise UsageError(UNITS_UNNAMED)
        return self._require_unit()

    def list_units(self, paths: TableSource, survey: Survey) -> Iterator[Units]:
        """Yield units, pairs of trips uint64[n] and, where there are any, weights int64[n]."""
        assert self.person is not None
        persons = Persons(self.person, self.memory_of_part, self.scratch)
        for rows, key, names, inside, weights in self._place(self.open(paths), survey):
            persons.add(rows, key, names, inside, *weights)
        for names, columns in persons.named_parts():
            survey.tally({"trips": len(names)})
            yield names, *columns

    def state_units(self) -> tuple[str, ...]:
        """State for the card which rows were read, and which periods units have."""
        facts = []
        if UNITS[self.protected]:
            facts.append(PERIOD_FACT.format(time=self.time, zone=self.state_zone()))
        return (*facts, *self._state_selection())

    def _require_columns(self) -> None:
        """Raise UsageError for a grid that has no zones, or columns that do not go together."""
        require_zones(self.grid)
        _ = self.other_place
        self._require_used()
        if self.value is None:
            weighed = self.weight is not None
            (replace(self, missing=()) if weighed else self).require_uncounted()
        if self._weights is not None and (self.person is None or self.value is not None):
            raise UsageError(WEIGHTS_UNBOUNDED)

    @cached_property
    def _weights(self) -> Weights | None:
        """Weights of trips; UsageError for weights without a bound."""
        return Weights.of(self.weight, self.max_weight, self.raked_to)

    def _require_unit(self) -> str:
        """Return the unit; UsageError where the columns that it needs are missing, or not used."""
        unit = require_unit(self.protected, self.time)
        if self.person is None:
            if UNITS[unit]:
                raise UsageError(
                    f"To protect one {unit}, name the column of persons (--person, person=).",
                    code="flows-unit-needs-person",
                )
            if self.trips is not None or self.per_pair is not None:
                raise UsageError(BOUND_NOBODY)
        used = bool(UNITS[unit] or self.labelled.timed)
        if not used and (self.time is not None or self.time_zone is not None):
            raise UsageError(TIME_UNUSED)
        if self.by and self.per_pair is not None:
            raise UsageError(PER_PAIR_LABELS)
        return unit

    def _require_used(self) -> None:
        """Raise UsageError for columns that are named twice, and for a CRS without coordinates."""
        names = self._columns_of_places
        names += self.labelled.columns.values()
        if self.weight is not None:
            names += [one for one in (self.weight, self.person, self.time) if one is not None]
        if len({*names}) < len(names):
            raise UsageError(SAME_PLACES)
        if self.crs is not None and not self.lies_on_earth:
            raise UsageError(CRS_UNUSED)

    def _state_selection(self) -> tuple[str, ...]:
        """State for the card which rows were left out, and which were refused."""
        facts = [ROWS_FACT if self.person is None else NAMED_ROWS_FACT]
        facts += self.state_places(INSIDE_FACT, DROPPED_FACT)
        if self.by:
            facts.append(LABELS_FACT)
        return (*facts, *self.labelled.state(f"the column {self.time}", self.time_zone))

    def _read_counted(self, paths: TableSource) -> CountTable:
        """Read rows of pairs with counts."""
        named = (self.person, self.per_pair, self.time, self.trips)
        if any(one is not None for one in named) or self.unit not in (None, "person"):
            raise UsageError(COUNTED_PERSONS)
        points = self.lies_on_earth and any(not isinstance(one, str) for _, one in self._places())
        columns: dict[str, str] = dict(self.labelled.columns)
        if not points:
            for end, column in self._places():
                columns |= self._columns_of_codes(end, column)
        shared = self.shared(CountsReader)
        # Rows of two points are no cells, so that many of them may lie in one pair of zones.
        shared |= {"duplicates": "sum"} if points else {}
        table = Table(
            grid=self.pairs,
            value=self.value,
            columns=columns,
            other=self.other,
            secret=self.key,
            **shared,
        )
        places = Places(self._locate, self._name_places(), self.crs) if points else None
        return table.read(paths, places)

    def _locate(self, table: InputTable) -> list[Locator]:
        """Return the locators of both ends and of labels, which refuse in the words of flows."""
        return advise(self._locators(table))

    def _name_places(self) -> dict[str, str]:
        """Return the columns of both ends by these, for the card."""
        return {
            end: column if isinstance(column, str) else ", ".join(column)
            for end, column in self._places()
        }

    @staticmethod
    def _columns_of_codes(end: str, column: Place) -> dict[str, str]:
        """Return the columns of codes, or of rows and columns, of an end by the axes of pairs."""
        if isinstance(column, str):
            return {end: column}
        return {f"{end}_row": column[0], f"{end}_col": column[1]}

    @property
    def _columns_of_places(self) -> list[str]:
        """Columns of both places."""
        both = (column for _, column in self._places())
        return [name for one in both for name in ((one,) if isinstance(one, str) else one)]

    def _places(self) -> list[tuple[str, Place]]:
        """Return both ends and their columns; UsageError where one is missing."""
        if self.origin is None or self.destination is None:
            raise UsageError(PLACES)
        return [*zip(ENDS, (self.origin, self.destination), strict=True)]

    def _locators(self, table: InputTable) -> list[Locator]:
        """Return the locators of both ends and of labels of a table.

        A column holds codes, or points where the table says that it holds geometries. UsageError
        for a CRS that no place has.
        """
        located, places, named = list[Locator](), self._places(), self._columns_of_places
        points = [self.locate_points(table, column, named) for _, column in places]
        if self.crs is not None and not any(points):
            raise UsageError(CRS_UNUSED)
        for number, ((end, column), point) in enumerate(zip(places, points, strict=True)):
            if point is not None:
                located.append(replace(point, axes=(2 * number, 2 * number + 1)))
                continue
            codes = self._columns_of_codes(end, column)
            located += cell_locators(self.pairs, None, codes, **self.codes_outside)
        located += axis_locators(self.pairs, self.labelled.columns)
        if timed := self.labelled.timed:
            axes = tuple(self.pairs.axis_names.index(name) for name in timed)
            located.append(Locator((str(self.time),), axes, self._label))
        return located

    def _label(self, times: pa.Array) -> list[IntArray]:
        """Return the labels that are made from times."""
        labels = label_times(times, self.labelled.timed, self.time_zone)
        if HOUR in self.labelled.timed:
            self.clock.note(times)
        return labels

    def _place(
        self, tables: Iterator[InputTable], survey: Survey
    ) -> Iterator[tuple[RowPositions, Any, pa.Array, Any, list[IntArray]]]:
        """Yield rows in the domain, their keys, the units of all rows, those inside, and weights.

        Weights are a list of one array of the rows in the domain, if there are any.
        """
        units = [] if self.person is None else [self.person]
        # Times of labels alone are no part of a unit.
        units += [self.time] if self.time is not None and UNITS[self.protected] else []
        weighed = [] if self._weights is None else [self._weights.column]
        for table in tables if self._weights is None else self._weights.watch(tables):
            survey.note(table.name, ())
            locators = self._locate(table)
            places = [name for locator in locators for name in locator.columns]
            names = [*places, *units, *weighed]
            selected = self.read_rows(table, names, survey)
            survey.state(self.describe(table, "table", self._name_places()))
            for rows, arrays in selected:
                for name in weighed:
                    rows, arrays = leave_out(
                        rows, arrays, {-1: name}, self.missing, survey, self.decimal
                    )
                index = locate(self.pairs, rows, locators, arrays[: len(places)])
                index = self.take_other(index)
                within, key, inside = place(self.pairs, rows, index, self.outside, survey)
                if self.person is None:
                    survey.add(table.name, without_person=key.size)
                named = self._name(within, arrays[len(places) :][: len(units)], inside)
                yield within, key, *named, self._weigh(within, arrays[-1], inside)
            self.clock.complete(table.name)

    def _name(
        self, within: RowPositions, arrays: list[pa.Array], inside: Any
    ) -> tuple[pa.Array, Any]:
        """Return the units of rows, and which of these rows are in the domain; None: all."""
        if len(arrays) < 2:
            return (arrays[0] if arrays else None), inside
        # Checked before the period is added, which would hide that a person is missing; and only
        # of rows in the domain, as persons without a period are.
        assert self.person is not None
        assert self.time is not None
        names = name_persons(within, self.person, arrays[0], inside)
        times = arrays[1] if inside is None else arrays[1].filter(pa.array(inside))
        with within.named(self.time):
            period = name_periods(times, self.protected, self.time_zone)
        return pc.binary_join_element_wise(as_text(names), period, SEPARATOR), None

    def _weigh(self, within: RowPositions, column: pa.Array, inside: Any) -> list[IntArray]:
        """Return the weights of the rows in the domain in a list, which is empty without any."""
        if self._weights is None:
            return []
        own = column if inside is None else column.filter(pa.array(inside))
        return [self._weights.count(within, own, self.decimal)]


@takes(Trips)
def read_trips(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Count trips by pair of zones, with the trips of every person bounded.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
    grid : str or Grid
        The public grid of zones: one map of cells, units with outlines, or cells of H3 or S2.

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
    (2, ContributionBound(value=1, stated_by='geodp', unit='person'))
    """
    return Trips.of(grid, **options).read(paths)
