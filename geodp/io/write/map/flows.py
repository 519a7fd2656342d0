"""The largest flows between origins and destinations, and between which squares they are told."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Z
from geodp.grid.lattice import Lattice
from geodp.io.write.map.panel import Bounds, crop
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.table.released import ReleasedTable

MOST = 100
"""Flows that are drawn."""

ENOUGH = 0.5
"""Share of all counts that flows have to carry together, or larger squares are taken."""

AROUND = 0.1
"""Of the extent of the drawn flows, how much is drawn around them."""

FEWEST = 4
"""Squares along the longer side of the map at least."""


@dataclass(frozen=True, eq=False)
class Flows:
    """Flows between different squares of cells that reach their 95 % margin, the largest first.

    Attributes
    ----------
    place : Lattice
        What is drawn.
    side : int
        Cells along the side of a square.
    margin : float
        95 % margin of the flow between two squares, in counts.
    ends : float64[n, 2, 2]
        Of the drawn ones: origin and destination, each the column and the row of its middle.
    count : float64[n]
    believed : int
        All that reach the margin.
    share : float
        Of all counts, those of the drawn ones.
    """

    place: Lattice
    side: int
    margin: float
    ends: NDArray[np.float64]
    count: NDArray[np.float64]
    believed: int
    share: float


def find_flows(view: View, bounds: Bounds | None = None) -> Flows | None:
    """Return the flows of a release between the smallest squares that can tell half of it.

    None of a release of one map, of one with attributes or without a closed form of its error, and
    where no flow reaches its margin. Without bounds, what is drawn is where the flows are.

    Raises UsageError where the bounds hold no cell.
    """
    table, card, grid = view.table, view.card, view.table.grid
    if len(grid.places) != 2 or grid.attributes:
        return None
    whole = grid.places[0]
    place, first = (whole, (0, 0)) if bounds is None else crop(whole, bounds)
    margins = {one.cells: Z * one.standard_error for one in card.expected_error.blocks or ()}
    sizes = np.array([[whole.rows], [whole.cols]] * 2, np.float64)
    at, count = _list_pairs(table, first, (place.rows, place.cols))
    total, best, side = float(table.count.sum()), None, 1
    while side * FEWEST <= max(whole.rows, whole.cols) and total > 0:
        index, inverse = np.unique(at // side, axis=1, return_inverse=True)
        sums = np.bincount(inverse.reshape(-1), count, index.shape[1]).astype(np.float64)
        margin = margins.get(side**4)
        if margin is not None and grid.order.follows_map:
            moves = (index[:2] != index[2:]).any(axis=0) & (sums >= margin)
            some = np.flatnonzero(moves)[np.argsort(-sums[moves], kind="stable")]
            share = float(sums[some[:MOST]].sum() / total)
            if some.size and (best is None or share > best.share):
                middle = np.minimum((index[:, some[:MOST]] + 0.5) * side, sizes)
                ends = middle.reshape(2, 2, -1).transpose(2, 0, 1)[:, :, ::-1] - np.array(
                    first[::-1], np.float64
                )
                best = Flows(place, side, margin, ends, sums[some[:MOST]], some.size, share)
            if float(sums[sums >= margin].sum()) >= ENOUGH * total and some.size:
                break
        at, count, side = index * side, sums, 2 * side
    return best if best is None or bounds is not None else _zoom(best)


def _zoom(flows: Flows) -> Flows:
    """Return flows on the part of a map on the Earth that they lie on, and some around it."""
    place = flows.place
    if place.transform is None:
        return flows
    low, high = flows.ends.min(axis=(0, 1)), flows.ends.max(axis=(0, 1))
    around = np.maximum(AROUND * (high - low).max(), 2 * flows.side)
    size = np.array([place.cols, place.rows])
    first = np.floor(np.clip(low - around, 0, size)).astype(int)
    last = np.ceil(np.clip(high + around, 0, size)).astype(int)
    a, _, c, _, e, f = place.transform
    row, col = int(first[1]), int(first[0])
    part = replace(
        place,
        rows=int(last[1]) - row,
        cols=int(last[0]) - col,
        row0=place.row0 + row,
        col0=place.col0 + col,
        transform=(a, 0.0, c + a * col, 0.0, e, f + e * row),
    )
    return replace(flows, place=part, ends=flows.ends - first)


def _list_pairs(
    table: ReleasedTable, first: tuple[int, int], size: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs of which both ends lie in a part of the map: int64[4, n], float64[n]."""
    low = np.array(first * 2)[:, None]
    high = low + np.array(size * 2)[:, None]
    parts = [(np.empty((4, 0), np.int64), np.empty(0))]
    for _, index, count in chunks(table):
        inside = ((index >= low) & (index < high)).all(axis=0)
        parts.append((index[:, inside], count[inside].astype(np.float64)))
    return np.concatenate([p[0] for p in parts], axis=1), np.concatenate([p[1] for p in parts])
