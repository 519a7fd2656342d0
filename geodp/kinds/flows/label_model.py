"""Labels of flows: by hour, day type, mode or group, from released flows and noisy counts.

Trips by label are measured of a few large cells: of blocks of origins, of blocks of destinations,
and of pairs of larger blocks. Flows of all labels together are released as without labels, and each
is divided among its labels, so that these add up to it exactly.

1. A flow's label depends on its origin's block, its destination's, and its pair of larger blocks: a
   factor of each. From large cells to small ones, what is expected of a cell is moved towards what
   was measured of it, by as much as cells turn out to differ (empirical Bayes).
2. Totals of the labels are rounded, then those of every origin, of every pair of blocks, and of
   every flow, each time with exactly the margins above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.kinds.flows.kernels import labelling
from geodp.kinds.flows.zones import Zones, list_runs
from geodp.typing import FloatArray, IntArray

ROUNDS = 6
"""Rounds in which the factors of all streams are fitted to what was learned of their cells."""

LEAST = 1e-3
"""Least part of what is expected of a label that a measurement leaves."""

SMALLEST = 1e-9
"""Least factor, as a part of the largest one of its cell."""

WEIGHED = 8
"""Rounds in which the variance between cells is estimated."""

CHUNK = 1 << 22
"""Numbers of flows by label that are rounded at a time."""


@dataclass(frozen=True, eq=False)
class NoisyLabels:
    """Noisy trips by label of all cells of one kind.

    Attributes
    ----------
    ends : str
        ``origins``, ``destinations``, or ``pairs`` of both.
    side : int
        Rows and columns of a block, in zones; of areal units a block has at most its square.
    noisy : int64[cells, labels]
        Of pairs the origin varies slowest.
    variance : float
        Variance of the noise, above 0.
    """

    ends: str
    side: int
    noisy: IntArray = field(repr=False)
    variance: float

    def cells(self, zones: Zones, origin: IntArray, destination: IntArray) -> IntArray:
        """Return the cell of every pair of zones: int64[n]."""
        return find_cells(zones, self.ends, self.side, origin, destination)


def find_cells(
    zones: Zones,
    ends: str,
    side: int,
    origin: NDArray[np.integer[Any]],
    destination: NDArray[np.integer[Any]],
) -> IntArray:
    """Return the cells of a kind that pairs of zones lie in: int64[n]."""
    of_zone = zones.blocks(side).of_zone
    if ends == "pairs":
        return np.asarray(of_zone[origin] * (of_zone[-1] + 1) + of_zone[destination])
    return np.asarray(of_zone[origin if ends == "origins" else destination])


@dataclass(frozen=True, eq=False)
class LabelledBlocks:
    """Released flows between the blocks that labels depend on.

    Attributes
    ----------
    order : int64[n]
        Numbers of the flows between zones, by the pair of blocks they lie in.
    first : int64[pairs + 1]
        Flows of pair i are those from ``first[i]`` to ``first[i + 1]`` in this order.
    trips : int64[pairs]
        Trips of each pair of blocks.
    origin : int64[pairs]
        Block of its origin, in increasing order.
    cells : tuple of int64[pairs]
        Its cell in each stream.
    """

    order: IntArray = field(repr=False)
    first: IntArray = field(repr=False)
    trips: IntArray = field(repr=False)
    origin: IntArray = field(repr=False)
    cells: tuple[IntArray, ...] = field(repr=False)

    @classmethod
    def of(
        cls,
        zones: Zones,
        flows: tuple[IntArray, IntArray, IntArray],
        streams: Sequence[NoisyLabels],
    ) -> LabelledBlocks:
        """Group flows, at least one, by pairs of the smallest blocks of all streams."""
        origin, destination, count = flows
        blocks = zones.blocks(min(one.side for one in streams))
        pair = blocks.of_zone[origin] * blocks.number + blocks.of_zone[destination]
        order = np.argsort(pair, kind="stable")
        listed, starts = np.unique(pair[order], return_index=True)
        trips = np.add.reduceat(count[order], starts)
        start, end = np.divmod(listed, blocks.number)
        ends = blocks.first[start], blocks.first[end]
        cells = tuple(one.cells(zones, *ends) for one in streams)
        return cls(order, np.append(starts, count.size), trips, start, cells)

    @property
    def runs(self) -> IntArray:
        """First pair of blocks of every block of origins, and the number of pairs."""
        new = np.append(True, self.origin[1:] != self.origin[:-1])
        return np.append(np.flatnonzero(new), self.origin.size)


@dataclass(frozen=True, eq=False)
class LabelModel:
    """Factors of labels for every cell of every stream.

    Attributes
    ----------
    trips : float64[n]
        Flows between blocks.
    rows : int64[streams, n]
        Rows of the factors of every flow.
    factors : float64[., labels]
    spread : list of float
        Variance of true trips around expected ones by stream, in parts of the squared trips.
    """

    trips: FloatArray = field(repr=False)
    rows: IntArray = field(repr=False)
    factors: FloatArray = field(repr=False)
    spread: list[float]

    def expect(self, begin: int = 0, end: int | None = None) -> FloatArray:
        """Return the expected trips of flows by label: float64[end - begin, labels]."""
        end = self.trips.size if end is None else end
        out = np.empty((end - begin, self.factors.shape[1]))
        labelling.expect_labels(self.trips, self.rows, self.factors, begin, out)
        return out


def fit_labels(
    trips: FloatArray, cells: Sequence[IntArray], streams: Sequence[NoisyLabels]
) -> LabelModel:
    """Fit the factors of labels to noisy counts, from large cells to small ones.

    Parameters
    ----------
    trips : float64[n]
        Flows of all labels together.
    cells : sequence of int64[n]
        Cell of every flow in each stream.
    streams : sequence of NoisyLabels
        The largest cells first.
    """
    sizes = [one.noisy.shape for one in streams]
    starts = np.cumsum([0, *(size[0] for size in sizes)])
    rows = np.stack([one + start for one, start in zip(cells, starts[:-1], strict=True)])
    factors = np.ones((starts[-1], sizes[0][1]))
    row, sums = np.empty((1, sizes[0][1])), np.empty(factors.shape)
    targets: list[FloatArray] = []
    spread: list[float] = []
    for number in range(ROUNDS):
        for at, one in enumerate(streams):
            part = slice(starts[at], starts[at + 1])
            labelling.add_up_labels(trips, rows, factors, at, row, sums)
            expected = sums[part]
            if not number:
                moved, apart = move_labels(expected, one)
                targets.append(moved)
                spread.append(apart)
            ratio = np.ones(expected.shape)
            np.divide(targets[at], expected, out=ratio, where=expected > 0)
            factors[part] *= ratio
            # Only ratios between labels count.
            factors[part] /= factors[part].max(axis=1, keepdims=True)
            np.maximum(factors[part], SMALLEST, out=factors[part])
    return LabelModel(trips, rows, factors, spread)


def move_labels(expected: FloatArray, one: NoisyLabels) -> tuple[FloatArray, float]:
    """Move the expected trips of cells by label towards the noisy ones.

    Returns
    -------
    moved : float64[cells, labels]
    spread : float
        Variance of true trips around expected ones, in parts of the squared trips.
    """
    labels = expected.shape[1]
    apart = one.noisy - expected
    # All labels of a cell together are known from the flows: noise that they share is left out.
    apart -= apart.mean(axis=1, keepdims=True)
    variance = one.variance * max(1 - 1 / labels, LEAST)
    spread = find_spread(expected, apart, variance)
    moved = expected + weigh(expected, spread, variance) * apart
    return np.maximum(moved, LEAST * expected), spread


def weigh(expected: FloatArray, spread: float, variance: float) -> FloatArray:
    """Return the weight of noisy trips beside expected ones, of the same shape."""
    apart = spread * expected**2
    return np.asarray(apart / (apart + variance))


def find_spread(expected: FloatArray, apart: FloatArray, variance: float) -> float:
    """Estimate the relative variance of true trips around expected ones from noisy differences."""
    spread = 1.0
    for _ in range(WEIGHED):
        # Of a cell without noise the difference counts alone, of one with much its trips.
        weight = (expected / (spread * expected**2 + variance)) ** 2
        below = float((weight * expected**2).sum())
        if not below > 0:
            return 0.0
        spread = max(float((weight * (apart**2 - variance)).sum()) / below, 0.0)
    return spread


def divide_labels(
    zones: Zones,
    flows: tuple[IntArray, IntArray, IntArray],
    streams: Sequence[NoisyLabels],
    seed: int,
) -> tuple[IntArray, IntArray, IntArray]:
    """Divide released flows among labels, exactly.

    Parameters
    ----------
    zones : Zones
    flows : int64[n], int64[n], int64[n]
        Origin, destination and trips of each flow, at least one; trips are above 0.
    streams : sequence of NoisyLabels
        The largest cells first.
    seed : int
        Of the random numbers that round, below 2**63.

    Returns
    -------
    flow, label, count : int64[m]
        Number of the flow, number of the label, and trips, above 0.
    """
    progress.begin("Dividing flows among labels")
    state, blocks = np.array([seed], np.int64), LabelledBlocks.of(zones, flows, streams)
    model = fit_labels(blocks.trips.astype(np.float64), blocks.cells, streams)
    runs, count = blocks.runs, flows[2][blocks.order]
    of_origins = _round_origins(model, blocks, state)
    parts = []
    for a, b in list_runs(blocks.first[runs], max(CHUNK // model.factors.shape[1], 1)):
        inside = slice(runs[a], runs[b])
        expected, trips = model.expect(runs[a], runs[b]), blocks.trips[inside]
        of_pairs = round_tables(runs[a : b + 1] - runs[a], expected, trips, of_origins[a:b], state)
        first = blocks.first[runs[a] : runs[b] + 1]
        some = count[first[0] : first[-1]]
        part = np.repeat(of_pairs / trips[:, None], np.diff(first), axis=0)
        divided = round_tables(first - first[0], part * some[:, None], some, of_pairs, state)
        flow, label = np.nonzero(divided)
        parts.append((blocks.order[first[0] + flow], label, divided[flow, label]))
    flow, label, made = (np.concatenate(one) for one in zip(*parts, strict=True))
    return flow, label, made


def _round_origins(model: LabelModel, blocks: LabelledBlocks, state: IntArray) -> IntArray:
    """Round the trips of every block of origins by label: int64[blocks, labels]."""
    runs = blocks.runs
    expected = np.empty((runs.size - 1, model.factors.shape[1]))
    for a, b in list_runs(runs, max(CHUNK // expected.shape[1], 1)):
        inside = model.expect(runs[a], runs[b])
        expected[a:b] = np.add.reduceat(inside, runs[a:b] - runs[a])
    trips = np.add.reduceat(blocks.trips, runs[:-1])
    whole = round_total(expected.sum(axis=0), int(trips.sum()))
    return round_tables(np.array([0, trips.size]), expected, trips, whole[None], state)


def round_total(value: FloatArray, total: int) -> IntArray:
    """Round numbers so that they add up to a total: largest fractions up, int64[n]."""
    value = value * (total / value.sum())
    whole = np.floor(value).astype(np.int64)
    up = np.argsort(whole - value, kind="stable")[: total - int(whole.sum())]
    whole[up] += 1
    return whole


def round_tables(
    first: IntArray, value: FloatArray, rows: IntArray, columns: IntArray, state: IntArray
) -> IntArray:
    """Round tables that lie below each other, each with exactly its margins: int64[n, labels].

    The parameters are those of :func:`geodp.kinds.flows.kernels.labelling.divide_groups`.
    """
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
    count, labels = np.empty(value.shape, np.int64), value.shape[1]
    work = np.empty(labels, np.int64), np.empty(labels), np.empty(labels)
    value = np.ascontiguousarray(value)
    labelling.divide_groups(first, value, rows, columns, work, state, count)
    return count
