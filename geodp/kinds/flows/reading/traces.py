"""Trips of persons from what says where they were: what stays and records of places share.

Rows wait by person, on disk if they do not fit into memory. Those of each unit, a person or a
person in a period, become trips by themselves, whatever is known of others or of the same person in
another period; then the trips of the unit are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import CodeError, InputError, Rule, UsageError
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.persons import TOO_MANY_OF_ONE, Persons
from geodp.io.read.rows.scratch import Columns
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import place
from geodp.kernels import key_lists
from geodp.kinds.flows.reading.labels import (
    HOUR,
    PER_PAIR_LABELS,
    RecordLabels,
    label_seconds,
    require_clock,
)
from geodp.kinds.flows.reading.reader import SEPARATOR, Place, RowReader, Units
from geodp.kinds.flows.reading.units import (
    TIME_ZONE,
    TRIPS_MISSING,
    UNITS,
    have_local,
    have_offsets,
    localise,
    mark_offsets,
    name_numbers,
    read_seconds,
    require_unit,
)
from geodp.kinds.flows.zones import require_zones
from geodp.table.counts import CountTable
from geodp.table.reading import StatedReading
from geodp.typing import IntArray, KeyArray

Batch: TypeAlias = tuple[RowPositions, IntArray, pa.Array, list[NDArray[Any]]]
"""Rows, their cells, the names of their persons, and further columns."""


class TracedTrips(NamedTuple):
    """Trips that were made of records.

    Attributes
    ----------
    row : int64[n]
        Rows with their units, and with their labels where rows have any.
    origin, destination : uint64[n]
        Keys of zones.
    departure : int64[n]
        Times of departure, in seconds as the records have them.
    tally : mapping of str to int
        Numbers of rows, stays and moves from stay to stay, by what became of them; confidential.
    """

    row: IntArray
    origin: KeyArray
    destination: KeyArray
    departure: IntArray
    tally: Mapping[str, int]


OUTSIDE = np.uint64(2**64 - 1)
"""Zone of a place outside the grid: a trip with such an end is left out."""

UNTIMED = Rule(
    "flows-stays-incomplete",
    "Say where and when persons were: a place, the column of times (--time, time=) and that of "
    "persons (--person, person=).",
)

COLUMNS_SAME = Rule(
    "flows-columns-same",
    "Both coordinates, times, persons, accuracies and labels are columns of their own.",
)

NO_PERIODS = Rule(
    "flows-time-zone-unused",
    "time_zone (--time-zone) is for units of periods, such as person-day, and for hours and day "
    "types: name one (--unit, unit=; --by hour, by=), or leave it out.",
)

TIMES_MIXED = Rule(
    "flows-times-mixed",
    "some times say how they differ from UTC, and others do not, and this one is unlike others; "
    "write all of them in one way.",
)

PERSON_TOO_LARGE = Rule(
    "flows-person-too-large",
    "The rows of a single person exceed the memory limit, or 2 GiB of names: raise the limit "
    "(--memory, memory=), or drop the rows of ids that are no persons.",
)

NAMED_FACT = (
    "that every row that was read{further} has its place, its person and its time in the right "
    "form, that the times of all rows say how they differ from UTC, or none does, and that the "
    "rows of each person fit into memory: others are refused before anything is charged"
)
INSIDE_FACT = "that every place that was read lies in the domain"
DROPPED_FACT = "that trips from or to a stay outside the domain were left out"
PERIOD_FACT = "that periods are those of the column {time}, in {zone}, and each is taken by itself"
LABELS_FACT = (
    "that the labels of {names} are those of {row}, and that every trip that was made has all of "
    "its labels, from a public list: others are refused before anything is charged"
)


CHOICE = (
    "Choose --gap by how often the devices record, which is public, and never by these numbers: a "
    "rule that was chosen by the data, and stands on the card, tells of them without a charge."
)


@dataclass(frozen=True, kw_only=True)
class Traces(RowReader):
    """Reader of rows that say where persons were.

    Attributes
    ----------
    place : str or pair of str
        Column of places, or both columns of coordinates.
    trips, per_pair : int
        Most trips that are kept of a unit, in all and between two zones (default: ``trips``), as
        for :func:`geodp.flows.read_trips`; ``trips`` has no default.
    """

    place: Place | None = None

    held: ClassVar[int]
    """Bytes that a row takes while trips are made, besides the name of the person."""

    rows: ClassVar[str]
    """Name of rows in the tally."""

    form: ClassVar[Any]
    """Kind of a row, as the card has it."""

    labelled_row: ClassVar[str]
    """Row that a trip has its labels from, for the card."""

    def read(self, paths: TableSource) -> CountTable:
        """Make trips of the rows, and count those that are kept by pair of zones."""
        self.require_units()
        return self.keep_trips(paths, self.state_units())

    def require_units(self) -> str:
        """Return the unit; UsageError where a column is missing, or a zone would not be used."""
        require_zones(self.grid)
        _ = self.other_place
        self.require_uncounted()
        if self.place is None or self.person is None or self.time is None:
            raise UsageError(UNTIMED)
        if self.trips is None:
            raise UsageError(TRIPS_MISSING)
        unit = require_unit(self.protected, self.time)
        if not self._are_local and self.time_zone is not None:
            raise UsageError(NO_PERIODS)
        if self.by and self.per_pair is not None:
            raise UsageError(PER_PAIR_LABELS)
        # An unknown zone is refused before anything is read.
        localise(np.zeros(1, np.int64), self.time_zone)
        return unit

    def list_units(self, paths: TableSource, survey: Survey) -> Iterator[Units]:
        """Yield units and pairs of their trips, in parts; all trips of a unit are in one part."""
        assert self.person is not None
        held = self.held + self._labels.held
        persons = Persons(self.person, self.memory_of_part, self.scratch, held=held)
        for rows, names, zone, more in self._rows(paths, survey):
            persons.add(rows, zone, names, None, *more)
        try:
            for names, columns in persons.named_parts():
                yield self._make_trips(names, columns, survey)
        except InputError as error:
            if error.code != TOO_MANY_OF_ONE.code:
                raise
            # That advises to state the contribution, which is for rows that are counted.
            raise InputError(PERSON_TOO_LARGE) from None
        for warning in warn_of_losses(survey.tallied):
            survey.warn(warning)

    def state_units(self) -> tuple[str, ...]:
        """State for the card how trips are made, and which rows were left out or refused."""
        return (*self.state(), *self._state_selection())

    def list_columns(self) -> list[str]:
        """Return the columns that are read besides that of persons, those of the place first."""
        raise NotImplementedError

    def prepare_places(self, table: InputTable) -> Any:
        """Return how places of a table are read; UsageError where it has none in such columns."""
        raise NotImplementedError

    def read_batch(
        self,
        rows: RowPositions,
        arrays: Sequence[pa.Array],
        places: Any,
        labels: Columns,
        zone: str | None,
    ) -> Iterator[Batch]:
        """Yield rows, their indices int64[2, n], names and further columns, of a batch.

        ``arrays``: those of :meth:`list_columns`, and the persons; ``places``: what
        :meth:`prepare_places` returns; ``labels``: what :meth:`RecordLabels.read` returns, the
        last ones of the further columns; ``zone``: of the times.
        """
        raise NotImplementedError

    @property
    def columns_of_place(self) -> tuple[str, ...]:
        """Columns of the place, one or two."""
        assert self.place is not None
        return (self.place,) if isinstance(self.place, str) else self.place

    def find_trips(self, person: IntArray, columns: Columns, labels: Columns) -> TracedTrips:
        """Find the trips of some persons, each from a stay to the next one.

        ``person``: numbers of persons int64[n]; ``columns``: zones, and those of
        :meth:`read_batch` but for labels; ``labels``: int32[n] each, by which rows are sorted that
        are equal otherwise, so that it does not matter in which order they were read.
        """
        raise NotImplementedError

    def state(self) -> tuple[str, ...]:
        """State for the card by which rules trips are made; UsageError for rules that are none."""
        raise NotImplementedError

    @property
    def further(self) -> str:
        """Condition of the rows that are checked, for the card, besides that they were read."""
        return ""

    @property
    def departs(self) -> str | None:
        """Column of the times at which stays are known to end."""
        return self.time

    @property
    def departure(self) -> str:
        """Meaning of the time of a trip, for the card."""
        raise NotImplementedError

    @property
    def _are_local(self) -> bool:
        """Whether days or hours of local time play a role."""
        return bool(UNITS[self.protected] or self.labelled.timed)

    @cached_property
    def _labels(self) -> RecordLabels:
        """Labels from columns."""
        return RecordLabels.of(self.labelled)

    def read_times(
        self, rows: RowPositions, column: str | None, times: pa.Array, zone: str | None
    ) -> IntArray:
        """Return times in seconds: int64[n]; InputError for one that is none.

        Some may be local and others not, in whatever order, which is refused.
        """
        with rows.named(column), suppress(UsageError):
            try:
                if HOUR in self.labelled.timed:
                    require_clock(times)
                    if column == self.departs:
                        self.clock.note(times)
                return read_seconds(times, zone)
            except CodeError:
                # Where a zone is named, local times are in the wrong form.
                if zone is None or self.time_zone is not None or not have_local(times):
                    raise
        # The zone says whether those that were read first say how they differ from UTC.
        other = mark_offsets(times) != (zone is not None)
        raise rows.error(int(other.argmax()), TIMES_MIXED, column)

    def _find_zone(self, times: pa.Array) -> str | None:
        """Return the time zone by which times are read; UsageError where one must be named."""
        if self.time_zone is None and have_offsets(times):
            if self._are_local:
                raise UsageError(TIME_ZONE)
            # Where nothing is local, a moment is the same in every zone.
            return "UTC"
        return self.time_zone

    def _rows(
        self, paths: TableSource, survey: Survey
    ) -> Iterator[tuple[RowPositions, pa.Array, KeyArray, Sequence[NDArray[Any]]]]:
        """Yield rows, the names of persons, zones, and further columns."""
        assert self.person is not None
        places, labels = self.list_columns(), self._labels
        wanted, zones = [*places, *labels.columns, self.person], list[str | None]()
        if len({*wanted}) < len(wanted):
            raise UsageError(COLUMNS_SAME)
        for table in self.open(paths):
            survey.note(table.name, ())
            selected = self.read_rows(table, wanted, survey)
            survey.state(self._describe(table))
            located = self.prepare_places(table)
            for read, arrays in selected:
                if not zones and len(arrays[0]):
                    # Of all files together, as moments and local times are not compared.
                    zones.append(self._find_zone(arrays[wanted.index(str(self.time))]))
                survey.tally({self.rows: len(arrays[-1])})
                own = [*arrays[: len(places)], arrays[-1]]
                numbers = labels.read(read, arrays[len(places) : -1])
                zone_of_times = zones[0] if zones else None
                found = self.read_batch(read, own, located, numbers, zone_of_times)
                for rows, index, names, more in found:
                    index = self.take_other(index)
                    _, key, inside = place(self.grid, rows, index, self.outside, survey)
                    zone = key
                    if inside is not None:
                        # Places outside take part: whoever was there meanwhile did not stay.
                        zone = np.full(inside.size, OUTSIDE)
                        zone[inside] = key
                    yield rows, names, zone, more
            self.clock.complete(table.name)

    def _make_trips(self, names: pa.Array, columns: Columns, survey: Survey) -> Units:
        """Return the units and pairs of the trips of some persons, all of whose rows are here."""
        person = names.dictionary_encode().indices.to_numpy().astype(np.int64)
        columns, labels = self._labels.split(columns)
        found = self.find_trips(person, columns, labels[:-1])
        inside = (found.origin != OUTSIDE) & (found.destination != OUTSIDE)
        outside = inside.size - int(np.count_nonzero(inside))
        survey.tally({**found.tally, "trips": inside.size, "trips_outside": outside})
        row, origin, destination, departure = (each[inside] for each in found[:4])
        units = names.take(pa.array(row))
        if UNITS[self.protected]:
            named = name_numbers(columns[-1][row].astype(np.int64), self.protected)
            units = pc.binary_join_element_wise(units, named, SEPARATOR)
        ends = [self.grid.decode(one) for one in (origin, destination)]
        timed = self.labelled.timed
        made = dict(zip(timed, label_seconds(departure, timed, self.time_zone), strict=True))
        made |= self._labels.take(labels, row)
        axes = [made[one.name][None] for one in self.labelled.attributes]
        return units, self.pairs.encode(np.concatenate([*ends, *axes]))

    def _state_selection(self) -> tuple[str, ...]:
        """State for the card which rows were left out, and which were refused."""
        facts = [NAMED_FACT.format(further=self.further)]
        if UNITS[self.protected]:
            facts.append(PERIOD_FACT.format(time=self.time, zone=self.state_zone()))
        facts += self.state_places(INSIDE_FACT, DROPPED_FACT)
        if names := " and ".join(self.labelled.columns):
            facts.append(LABELS_FACT.format(names=names, row=self.labelled_row))
        return (*facts, *self.labelled.state(self.departure, self.time_zone))

    def _describe(self, table: InputTable) -> StatedReading:
        """Describe for the card how a table is read."""
        assert self.place is not None
        if isinstance(self.place, str):
            points = self.find_points(table, self.place, self.columns_of_place)
            places = {"code" if points is None else "geometry": self.place}
        else:
            axes, place = ("row", "col"), self.place
            if self.lies_on_earth:
                axes, place = ("y", "x"), self.place[::-1]
            places = dict(zip(axes, place, strict=True))
        return self.describe(table, self.form, places)


def sort_rows(*columns: NDArray[Any]) -> IntArray:
    """Return the order of rows by columns of integers, the first of which leads: int64[n]."""
    lowest = [int(one.min()) for one in columns]
    bits = [(int(one.max()) - low).bit_length() for one, low in zip(columns, lowest, strict=True)]
    if sum(bits) > 64:
        return np.lexsort(columns[::-1])
    key = np.zeros(columns[0].size, np.uint64)
    for one, low, width in zip(columns, lowest, bits, strict=True):
        key <<= np.uint64(width)
        key |= (one - low).astype(np.uint64)
    order = np.arange(key.size)
    key_lists.sort_pairs(key, order, np.empty_like(key), np.empty_like(order))
    return order


def number_units(*columns: NDArray[Any]) -> IntArray:
    """Return the numbers of units of sorted rows, by the columns that make them: int64[n]."""
    new = np.zeros(columns[0].size, np.bool_)
    for one in columns:
        new[1:] |= one[1:] != one[:-1]
    return np.cumsum(new)


def find_moves(unit: IntArray) -> NDArray[np.bool_]:
    """Return which items but the first are of the unit of the one before: bool[n - 1]."""
    return np.asarray(unit[1:] == unit[:-1], np.bool_)


def warn_of_losses(tallied: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence where most pings are in no stay, and where a gap takes most trips.

    ``tallied``: as the readers of pings and stays count.
    """
    pings, stayed = (tallied.get(name, 0) for name in ("pings_accurate", "pings_in_stays"))
    if 2 * stayed < pings:
        gap, rest = tallied["pings_lost_to_gap"], tallied["pings_lost_to_radius_or_dwell"]
        yield (
            f"Most pings are in no stay: {pings - stayed:,} of {pings:,}, of which {gap:,} are "
            f"next to a longer time without a ping than --gap, and {rest:,} were too far apart "
            f"(--radius) or not there for long enough (--dwell). {CHOICE}"
        )
    moves, lost = (tallied.get(name, 0) for name in ("moves", "moves_lost_to_gap"))
    if 2 * lost > moves:
        yield (
            f"Most moves from a stay to the next one are no trip, as --gap lies between them: "
            f"{lost:,} of {moves:,}. {CHOICE}"
        )
