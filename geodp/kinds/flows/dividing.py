"""Division of whole trips between blocks among their zones, with exactly the margins above."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from geodp.kinds.flows.kernels import balancing, rounding
from geodp.kinds.flows.merging import Collector, merge
from geodp.kinds.flows.prior import TrustedPrior
from geodp.kinds.flows.zones import Attraction, ZoneBlocks, Zones
from geodp.typing import FloatArray, IntArray, KeyedCounts

SLAB = 1 << 18
"""Most entries of some rows, unless a row alone has more."""


def split_rows(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of rows of a matrix, in their order."""
    rows, columns = shape
    # Kernels take four rows at a time.
    some = max(SLAB // max(columns, 1) // 4 * 4, 1)
    for start in range(0, rows, some):
        yield slice(start, min(start + some, rows))


def to_real(rows: FloatArray | IntArray) -> FloatArray:
    """Return rows as real numbers: float64[m, n]; without a copy where they are."""
    return rows.astype(np.float64, copy=False)


def round_table(
    value: FloatArray, margins: tuple[IntArray, IntArray], state: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Round a table, so that its rows and columns have exactly the given sums.

    Parameters
    ----------
    value : float64[rows, columns]
        Expectations, not negative, whose sums are nearly the margins.
    margins : int64[rows], int64[columns]
        Not negative, with equal sums.
    state : int64[1]
        State of the random numbers; continued.

    Returns
    -------
    row, column, count : int64[m]
        Entries above 0, by row and column.
    """
    margin, columns = (np.ascontiguousarray(one) for one in margins)
    lacking, work = np.empty(columns.size, np.int64), np.empty((2, columns.size))
    slabs = [*split_rows(value.shape)]
    # Entries above 0 are no more than the trips.
    collected = Collector(min(value.size, int(margin.sum())))
    rounding.begin_rows(value, columns, lacking, work[0])
    for some in slabs:
        count = np.empty(value[some].shape, np.int64)
        rounding.draw_rows(value[some], margin[some], lacking, work[0], work[1], state, count)
        row, column = np.nonzero(count)
        if len(slabs) == 1:
            return row, column, count[row, column]
        # Many small arrays would leave gaps; two large ones do not.
        place = (row + some.start) * columns.size + column
        collected.add(place.view(np.uint64), count[row, column])
    # Most often one part, of which no copy is made.
    (place, count), *more = collected.parts()
    if more:
        place, count = (np.concatenate(one) for one in zip(*collected.parts(), strict=True))
    return *np.divmod(place.view(np.int64), columns.size), count


DIVIDED = 12
"""Rounds of balancing of trips that are divided among zones."""


def divide_origins(
    zones: Zones,
    ends: tuple[IntArray, IntArray],
    blocks: ZoneBlocks,
    coarse: tuple[IntArray, IntArray, IntArray],
    law: Attraction,
    state: IntArray,
    known: TrustedPrior | None = None,
) -> tuple[IntArray, IntArray, IntArray]:
    """Divide trips between blocks among the origins of each.

    ``coarse``: by row and column; ``known``: a prior, and how much it is trusted.

    Returns
    -------
    block, zone, count : int64[m]
        Trips from zones to blocks, by block and zone.
    """
    origin, block, count = coarse
    starts = np.searchsorted(origin, np.arange(blocks.number + 1))
    weight, parts = ends[1].astype(np.float64), []
    leaving = None if known is None else known.leaving(blocks)
    for number in np.flatnonzero(np.diff(starts)):
        inside = slice(starts[number], starts[number + 1])
        zone = np.arange(blocks.first[number], blocks.first[number + 1])
        zone = zone[ends[0][zone] > 0]
        value = law.attract(zone, block[inside], blocks.first, weight)
        margins = ends[0][zone], count[inside]
        if leaving is not None:
            balance(value, margins)
            leaving.correct(value, int(number), (zone, block[inside]))
        row, column, trips = _divide_one(value, margins, state)
        place = block[inside][column] * zones.number + zone[row]
        parts.append((place.view(np.uint64), trips))
    joined, trips = merge(parts)
    return *np.divmod(joined.view(np.int64), zones.number), trips


def divide_destinations(
    zones: Zones,
    ends: tuple[IntArray, IntArray],
    blocks: ZoneBlocks,
    between: tuple[IntArray, IntArray, IntArray],
    law: Attraction,
    state: IntArray,
    known: TrustedPrior | None = None,
) -> list[KeyedCounts]:
    """Divide trips from zones to blocks among the destinations of each.

    ``between``: from :func:`divide_origins`; ``known``: as there.

    Returns
    -------
    list of (uint64[m], int64[m])
        Trips between zones, in any order: places and counts, as of :class:`EstimatedFlows`.
    """
    block, zone, count = between
    starts, collected = np.searchsorted(block, np.arange(blocks.number + 1)), Collector()
    singles, ones = np.arange(zones.number + 1), np.ones(zones.number)
    reaching = None if known is None else known.reaching(blocks)
    for number in np.flatnonzero(np.diff(starts)):
        inside = slice(starts[number], starts[number + 1])
        target = np.arange(blocks.first[number], blocks.first[number + 1])
        target = target[ends[1][target] > 0]
        value = law.attract(zone[inside], target, singles, ones)
        value *= ends[1][target]
        margins = count[inside], ends[1][target]
        if reaching is not None:
            balance(value, margins)
            reaching.correct(value, int(number), (zone[inside], target))
        row, column, trips = _divide_one(value, margins, state)
        place = zone[inside][row] * zones.number + target[column]
        collected.add(place.view(np.uint64), trips)
    return collected.parts()


def _divide_one(
    value: FloatArray, margins: tuple[IntArray, IntArray], state: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Balance one full table of weights, and draw whole trips with exactly its margins."""
    balance(value, margins)
    return round_table(value, margins, state)


def balance(value: FloatArray, margins: tuple[IntArray, IntArray]) -> None:
    """Scale rows and columns of a small table until they add up to both margins, nearly."""
    rows, columns = (np.ascontiguousarray(margin) for margin in margins)
    balancing.balance(value, (rows, columns), DIVIDED, np.empty(columns.size))
