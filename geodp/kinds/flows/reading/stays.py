"""Stays of persons, each a place and when somebody was there, as trips from one to the next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from geodp.advice import takes
from geodp.errors import Rule, UsageError, require_none
from geodp.grid.grid import Grid
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.locators import Locator, cell_locators, locate
from geodp.io.read.rows.scratch import Columns
from geodp.kinds.flows.kernels import stays as kernels
from geodp.kinds.flows.reading.land import advise
from geodp.kinds.flows.reading.options import COUNTED
from geodp.kinds.flows.reading.periods import UNITS, number_periods
from geodp.kinds.flows.reading.reader import CRS_UNUSED
from geodp.kinds.flows.reading.rules import GAP_FACT, STAYS_FACT, read_duration, say_duration
from geodp.kinds.flows.reading.traces import (
    Batch,
    TracedTrips,
    Traces,
    find_moves,
    number_units,
    sort_rows,
)
from geodp.table.counts import CountTable
from geodp.typing import IntArray

BEFORE, AFTER = -(2**63), 2**63 - 1
"""Times of a stay that began before its period, and of one that ends after it."""

MOST_PERIODS = 366
"""Most periods over which a stay may extend, as it is in each of them."""

MOST_PARTS = 1 << 18
"""Most parts of stays, each in its period, that are made before they may go to disk."""

REVERSED = Rule(
    "flows-stay-reversed", "the stay ends before it begins; correct such rows, or drop them."
)

TOO_LONG = Rule(
    "flows-stay-too-long",
    f"the stay extends over more than {MOST_PERIODS} of the periods that are protected; correct "
    "such rows, or drop them.",
)

REVERSED_FACT = "that no stay that was read ends before it begins"
TOO_LONG_FACT = f"that no stay that was read extends over more than {MOST_PERIODS} of the periods"
SPLIT_FACT = (
    "that a stay over several periods is in each of them, and that no trip leads to it in those "
    "before which it began"
)


@dataclass(frozen=True, kw_only=True)
class Stays(Traces):
    """Reader of stays.

    Attributes
    ----------
    place : str or pair of str
        Column of codes; or a pair of columns as for :func:`read_trips`.
    time, person : str
        Columns of times at which stays begin, and of ids of persons.
    end : str, optional
        Column of times at which stays end; without it stays have no duration.
    time_zone : str, optional
        The IANA name of the zone of days and hours, if times count from UTC. Where units have
        periods, each period is taken by itself: a stay over midnight is one in each day, and a trip
        over midnight is lost.
    gap : str or int, optional
        Longest time from a stay to the next one with a trip: ``"4h"`` or seconds; default: none.
    outside : {"error", "crop", "drop"}, optional
        As for :func:`read_trips`; trips from or to a stay outside are left out where places may lie
        outside. All places outside are one zone where they are counted (`other`), but those with a
        zone of their name: stays there that meet are one, also in different places.
    by : str, sequence of str, or mapping, optional
        Attributes by which trips are counted, as for :func:`read_trips`. ``hour`` and ``daytype``
        are made from the time of departure: the end of the stay at the origin, or the begin of the
        next stay where that is earlier; without `end` that of the stay at the origin. A trip has
        all other labels from the stay at its destination, as a travel diary says at each stop how
        and why somebody came there: from the row with which it begins. Stays to which no trip leads
        need none.
    """

    end: str | None = None
    gap: int | str | None = None

    kind: ClassVar[str] = "stays"
    held: ClassVar[int] = 208
    rows: ClassVar[str] = "rows"
    form: ClassVar[Any] = "table"
    labelled_row: ClassVar[str] = (
        "the row with which the stay at the destination of the trip begins, of several that "
        "which ends first, and of these the one whose label comes first in its list"
    )

    @cached_property
    def seconds_between(self) -> int:
        """Most seconds between two stays with a trip; UsageError for a gap that is none."""
        return AFTER if self.gap is None else read_duration(self.gap)

    def state(self) -> tuple[str, ...]:
        """State for the card by which rules trips are made."""
        facts = [STAYS_FACT.format(unit=self.protected)]
        if self.seconds_between != AFTER:
            facts.append(GAP_FACT.format(gap=say_duration(self.seconds_between)))
        if self.end is not None:
            facts.append(REVERSED_FACT)
            facts += [SPLIT_FACT, TOO_LONG_FACT] if UNITS[self.protected] else []
        return tuple(facts)

    def list_columns(self) -> list[str]:
        """Return the columns of the place, those of its begin and, if there is one, of its end."""
        assert self.place is not None
        assert self.time is not None
        if self.crs is not None and not self.lies_on_earth:
            raise UsageError(CRS_UNUSED)
        return [*self.columns_of_place, self.time, *([] if self.end is None else [self.end])]

    def prepare_places(self, table: InputTable) -> list[Locator]:
        """Return the locators of places of a table."""
        assert self.place is not None
        points = self.locate_points(table, self.place, self.columns_of_place)
        if points is not None:
            return advise([points])
        if self.crs is not None:
            raise UsageError(CRS_UNUSED)
        if isinstance(self.place, str):
            code, columns = self.place, dict[str, str]()
        else:
            code, columns = None, dict(zip(self.grid.axis_names, self.place, strict=True))
        outside = self.codes_outside
        return advise(cell_locators(self.grid, code, columns, **outside))

    def read_batch(
        self,
        rows: RowPositions,
        arrays: Sequence[pa.Array],
        places: list[Locator],
        labels: Columns,
        zone: str | None,
    ) -> Iterator[Batch]:
        """Yield rows, one for each period of a stay, their cells, persons and times."""
        size = len(self.columns_of_place)
        time, *end, names = arrays[size:]
        index = locate(self.grid, rows, places, arrays[:size])
        begins = ends = self.read_times(rows, self.time, time, zone)
        if self.end is not None:
            ends = self.read_times(rows, self.end, end[0], zone)
            with rows.named(self.end):
                require_none(ends < begins, REVERSED)
        if not UNITS[self.protected]:
            yield rows, index, names, [begins, ends, *labels]
            return
        first, last = (number_periods(one, self.protected, zone) for one in (begins, ends))
        number = np.maximum(last - first, 0) + 1
        with rows.named(self.end):
            require_none(number > MOST_PERIODS, TOO_LONG)
        # In slices, as all periods of long stays may need much more memory than the stays.
        for start, stop in cut(number, MOST_PARTS):
            each = number[start:stop]
            at = np.repeat(np.arange(start, stop), each)
            within = np.arange(at.size) - np.repeat(np.cumsum(each) - each, each)
            period = (first[at] + within).astype(np.int32)
            times = [
                np.where(within > 0, BEFORE, begins[at]),
                np.where(within < number[at] - 1, AFTER, ends[at]),
            ]
            more = [*times, period, *(one[at] for one in labels)]
            yield rows.at(at), index[:, at], names.take(pa.array(at)), more

    @property
    def departs(self) -> str | None:
        """Column of the times at which stays end, or at which they are."""
        return self.time if self.end is None else self.end

    @property
    def departure(self) -> str:
        """Meaning of the time of a trip, for the card."""
        if self.end is None:
            return "the stay at the origin of the trip, which has no duration"
        return (
            "the end of the stay at the origin of the trip, or of the begin of the next stay where "
            "that is earlier"
        )

    def find_trips(self, person: IntArray, columns: Columns, labels: Columns) -> TracedTrips:
        """Find the trips of some persons, each from a stay to the next one."""
        zone, begin, end, *periods = columns
        order = sort_rows(person, *periods, begin, end, zone, *labels)
        unit = number_units(person[order], *(one[order] for one in periods))
        begin, end, zone = begin[order], end[order], zone[order]
        first, follows = np.empty(order.size, np.int64), np.empty(order.size, np.bool_)
        size = kernels.chain_stays(unit, begin, end, zone, self.seconds_between, first, follows)
        later = np.flatnonzero(follows[:size])
        earlier, row = zone[first[later - 1]], first[later]
        # Nobody departs after having arrived; and a stay may go on beyond its period.
        last = np.maximum.reduceat(end, first[:size]) if size else end
        begins, moves = begin[first[:size]], find_moves(unit[first[:size]])
        apart = int(np.count_nonzero(moves & (begins[1:] > begins[:-1])))
        tally = {
            "stays": size,
            "moves": (number := int(np.count_nonzero(moves))),
            "moves_at_one_time": number - apart,
            "moves_lost_to_gap": apart - later.size,
        }
        departure = np.minimum(last[later - 1], begin[row])
        return TracedTrips(order[row], earlier, zone[row], departure, tally)


def cut(number: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of slices of numbers int64[n] whose sums are at most ``most``."""
    total, start = np.cumsum(number), 0
    while start < total.size:
        before = total[start] - number[start]
        stop = int(np.searchsorted(total, before + most, side="right"))
        yield start, stop
        start = stop


@takes(Stays, without=COUNTED)
def read_stays(paths: TableSource, *, grid: str | Grid, **options: Any) -> CountTable:
    """Make trips from stay to stay, and count them by pair of zones.

    Trips of a unit, which is a person or a person in a period, are made of the unit's own stays
    alone, and are then bounded as :func:`read_trips` does.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
        One row for each stay, in any order. Stays of one zone that meet or overlap are one, and so
        are copies of a row.
    grid : str or Grid
        The public grid of zones; see :func:`read_trips`.

    Returns
    -------
    CountTable
        On the grid of pairs, for :func:`geodp.flows.publish`. Its ``reading`` tells the operator
        in ``tallied`` and ``warnings`` what was lost; see :func:`read_pings`.

    Raises
    ------
    InputError
        A person, a time or a place is missing, or a stay ends before it begins; it names file and
        row.
    UsageError
        Columns or rules that do not go together.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> when = {"t": ["2024-05-01T00:00", "2024-05-01T08:00", "2024-05-01T19:00"]}
    >>> stays = pa.table({"id": ["a"] * 3, "y": [0, 1, 0], "x": [0, 0, 0], **when})
    >>> where = {"place": ("y", "x"), "time": "t", "person": "id"}
    >>> table = geodp.flows.read_stays(stays, grid=geodp.Grid.regular((2, 2)), **where, trips=5)
    >>> int(table.count.sum())
    2
    """
    return Stays.of(grid, **options).read(paths)
