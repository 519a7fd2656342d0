"""One map of a picture: released counts summed over the cells of a pixel, as densities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Z
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import QUARTERS
from geodp.io.write.frame import LONG_SIDE, Frame, UnitFrame, count_units, middles
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.display import is_below

Bounds = tuple[float, float, float, float]
"""West, south, east and north in the units of the grid's CRS; in cells if it has none."""

SURE, FEW_BELIEVED = 3, 0.05
"""Margins that a count reaches before it is believed at sea, and everywhere where not one block in
twenty reaches one margin: noise alone carries one in forty over it, so that most were noise."""

NEAR = 1e-6
"""Tolerance of bounds, in cells: so far beyond an edge they do not include the neighbour."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One map: its frame, and counts summed over the frame's blocks of cells.

    Attributes
    ----------
    frame : Frame
    value : float64[rows, cols]
        Counts per square kilometre or per cell, in index order; NaN outside the domain.
    believed : bool[rows, cols] or None
        Whether a block's count is beyond its 95 % margin, and at sea far beyond; None if there is
        no closed form.
    cells : int or None
        Number of counts that a block sums; None if the card does not give it.
    margin : float or None
        That margin in counts.
    least : float or None
        Smallest count that is believed, but at sea: the margin, or several where few reach it.
    limit : int or None
        The office's limit of display.
    few : bool[rows, cols] or None
        Whether a block's count is shown as below that limit; None without one.
    signed : bool
        Whether counts can be below 0.
    land : uint8[rows, cols] or None
        Quarters of a block that are land; None if that is unknown, or all of it is.
    around : float64[rows, cols] or None
        Mean, over its land, of the smallest square around a block that is believed where the block
        is not; NaN where there is none. None if the margins of squares are unknown.
    resolved : int or None
        Side in cells of the squares in which half of the released counts are believed; 0 if less
        than half ever is, -1 if nothing is. None if the margins of squares are unknown.
    """

    frame: Frame
    value: NDArray[np.float64]
    believed: NDArray[np.bool_] | None
    cells: int | None
    margin: float | None
    limit: int | None = None
    few: NDArray[np.bool_] | None = None
    signed: bool = False
    land: NDArray[np.uint8] | None = None
    least: float | None = None
    around: NDArray[np.float64] | None = None
    resolved: int | None = None

    @classmethod
    def of(
        cls,
        view: View,
        number: int,
        bounds: Bounds | None = None,
        side: int = LONG_SIDE,
        max_blocks: int = 0,
    ) -> Panel:
        """Build the panel of a grid's map, summed over everything else.

        ``max_blocks``: largest number of blocks along a side; 0: as many as a page has.

        Raises UsageError if the bounds hold no cell of it.
        """
        table, card = view.table, view.card
        # Units are drawn as polygons, not as a lattice.
        if table.grid.outlines is not None:
            return cls._of_units(view, bounds, side)
        full_map = table.grid.places[number]
        place, first = (full_map, (0, 0)) if bounds is None else crop(full_map, bounds)
        frame = Frame.of_place(place, table.grid.maps.share(side), max_blocks)
        block, (rows, cols) = frame.block, frame.blocks
        total = np.zeros(rows * cols)
        shape = np.array([[place.rows], [place.cols]])
        # Chunks bound the memory: the decoded cells of a national map need not fit at once.
        for _, index, count in chunks(table):
            at = index[2 * number : 2 * number + 2] - np.array(first)[:, None]
            inside = ((at >= 0) & (at < shape)).all(axis=0)
            row, col = at[:, inside] // block
            total += np.bincount(row * cols + col, count[inside], rows * cols)
        area = frame.areas()
        counts = total.reshape(rows, cols)
        value = counts / area
        # A block counts as outside only if it has no count, as its centre may miss a narrow strip.
        if not table.grid.domain.is_box:
            value[_outside(table.grid, frame, first) & (value == 0)] = np.nan
        cells, margin = None, None
        # The card's errors are for blocks aligned with the grid; a crop may start within one.
        if not any(at % block for at in first):
            cells, margin = _margin(table.grid, number, frame, card)
        land = quarters_of_land(table.grid, place, block)
        believed, least, around, resolved = None, None, None, None
        if margin is not None:
            believed, least = _believe(counts, margin, land)
            if margins := _margins(table.grid, frame, card):
                held = np.where(np.isnan(value), 0.0, area)
                ashore = held if land is None else held * land / QUARTERS
                start = first[0] // block, first[1] // block
                around, resolved = _widen(counts, believed, (held, ashore), margins, start)
                resolved *= block if resolved > 0 else 1
        limit = view.limit
        few = None if limit is None else is_below(counts, limit)
        signed = not card.mechanism.nonnegative
        return cls(
            frame, value, believed, cells, margin, limit, few, signed, land, least, around, resolved
        )

    @classmethod
    def _of_units(cls, view: View, bounds: Bounds | None, side: int) -> Panel:
        """Build the panel of units with outlines, summed over their labels."""
        table, limit = view.table, view.limit
        assert table.grid.outlines is not None
        frame = UnitFrame.of_units(table.grid.outlines, side, bounds)
        counts = count_units(table)[None]
        cells, margin = _margin(table.grid, 0, frame, view.card)
        believed, least = (None, None) if margin is None else _believe(counts, margin)
        few = None if limit is None else is_below(counts, limit)
        signed = not view.card.mechanism.nonnegative
        value = counts / frame.areas()
        return cls(frame, value, believed, cells, margin, limit, few, signed, least=least)


def crop(place: Lattice, bounds: Bounds) -> tuple[Lattice, tuple[int, int]]:
    """Return the cells of a lattice that bounds touch, and the row and column of the first.

    Examples
    --------
    >>> part, first = crop(Lattice(8, 8), (2, 3, 4.5, 5))
    >>> part.rows, part.cols, first
    (2, 3, (3, 2))
    """
    west, south, east, north = bounds
    if not (all(map(math.isfinite, bounds)) and west < east and south < north):
        raise UsageError(
            "--bounds are west, south, east and north, west and south the smaller.",
            code="map-bounds-form",
        )
    a, _, c, _, e, f = place.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    left, right = sorted(((west - c) / a, (east - c) / a))
    low, high = sorted(((south - f) / e, (north - f) / e))
    # The tolerance keeps bounds that lie on an edge from including the neighbours.
    row, col = (max(0, math.floor(at + NEAR)) for at in (low, left))
    rows = min(place.rows, math.ceil(high - NEAR)) - row
    cols = min(place.cols, math.ceil(right - NEAR)) - col
    if rows < 1 or cols < 1:
        ends = " ".join(f"{end:.10g}" for end in place.bounds)
        raise UsageError(
            f"The bounds hold no cell of the map, which has the bounds {ends}.",
            code="map-bounds-empty",
        )
    return cut(place, (row, col), (rows, cols)), (row, col)


def cut(place: Lattice, first: tuple[int, int], size: tuple[int, int]) -> Lattice:
    """Return a part of a lattice by its first row and column, and its rows and columns."""
    (row, col), (rows, cols), moved = first, size, None
    if place.transform is not None:
        a, _, c, _, e, f = place.transform
        moved = (a, 0.0, c + a * col, 0.0, e, f + e * row)
    row0, col0 = place.row0 + row, place.col0 + col
    return replace(place, rows=rows, cols=cols, row0=row0, col0=col0, transform=moved)


def _outside(grid: Grid, frame: Frame, first: tuple[int, int]) -> NDArray[np.bool_]:
    """Return blocks whose centre is not in the domain: bool[rows, cols]."""
    place, block = frame.place, frame.block
    row, col = middles(place.rows, block) + first[0], middles(place.cols, block) + first[1]
    return ~grid.domain.contains_lattice(row, col)


def _margins(grid: Grid, frame: Frame, card: Card) -> list[float]:
    """Return the 95 % margins of squares of 2 x 2 blocks, 4 x 4 and on, as far as they are known.

    None are of pairs, and of a map whose squares are no ranges of keys.
    """
    known, side = _margins_of_squares(grid, card), 2 * frame.block
    margins = []
    while side**2 in known and side < 2 * max(frame.place.rows, frame.place.cols):
        margins.append(known[side**2])
        side *= 2
    return margins


def _margins_of_squares(grid: Grid, card: Card) -> dict[int, float]:
    """Return the 95 % margins of squares of cells, by their number, if they are ranges of keys."""
    error = card.expected_error
    # With labels, cells of a map are ranges of keys, of which the sums are stated, if any.
    if not grid.order.follows_map or any(grid.order.offset):
        return {}
    if len(grid.shape) > 2 and error.sums is None:
        return {}
    return {one.cells: float(Z * one.standard_error) for one in error.known}


def _believe(
    counts: NDArray[np.float64], margin: float, land: NDArray[np.uint8] | None = None
) -> tuple[NDArray[np.bool_], float]:
    """Test which counts stand out of the noise: bool[rows, cols], and the least of them on land."""
    size, sea = np.abs(counts), False if land is None else land == 0
    ashore = size[~np.broadcast_to(sea, size.shape)]
    few = ashore.size > 0 and (ashore >= margin).mean() < FEW_BELIEVED
    least = margin * (SURE if few else 1)
    return size >= np.where(sea, SURE * margin, least), least


def _widen(
    counts: NDArray[np.float64],
    believed: NDArray[np.bool_],
    areas: tuple[NDArray[np.float64], NDArray[np.float64]],
    margins: Sequence[float],
    first: tuple[int, int],
) -> tuple[NDArray[np.float64], int]:
    """Sum what is not believed over ever larger squares until the sum reaches their margin.

    Parameters
    ----------
    counts : float64[rows, cols]
    believed : bool[rows, cols]
    areas : (float64[rows, cols], float64[rows, cols])
        Areas of blocks in the domain, and those of their land. A mean is that of the land, and of a
        square without any, whose sum has to be far above its margin, of all of it.
    margins : sequence of float
        Of squares of 2 x 2 blocks, 4 x 4 and on.
    first : (int, int)
        Row and column of the first block on the whole map, where squares begin.

    Returns
    -------
    float64[rows, cols]
        Sum per area of the smallest such square; NaN for believed blocks, outside of the domain,
        and where there is none.
    int
        Side in blocks of the squares in which half of the counts are; 0 if less than half ever is,
        -1 if no square is believed.
    """
    around, enough = np.full(counts.size, np.nan), counts.sum() / 2
    reached, resolved = float(counts[believed].sum()), 0
    if believed.any() and reached >= enough:
        resolved = 1
    # Most of a map may lie outside its domain, where nobody is counted.
    every = places = np.flatnonzero(~believed & (areas[0] > 0))
    for level, margin in enumerate(margins, 1):
        row, col = np.divmod(places, counts.shape[1])
        width = (counts.shape[1] + first[1] >> level) + 1
        square = (row + first[0] >> level) * width + (col + first[1] >> level)
        count, area_of, land_of = (one.reshape(-1)[places] for one in (counts, *areas))
        total, area, land = (np.bincount(square, some) for some in (count, area_of, land_of))
        landless = land == 0
        area = np.where(landless, area, land)
        inland = (area > 0) & ~landless
        few = inland.any() and (total[inland] >= margin).mean() < FEW_BELIEVED
        least = margin * np.where(landless | few, SURE, 1)
        known = ((area > 0) & (total >= least))[square]
        shown = known & (landless[square] | (land_of > 0))
        around[places[shown]] = (total[square] / area[square])[shown]
        reached += float(count[known].sum())
        places = places[~known]
        if not resolved and reached > 0 and reached >= enough:
            resolved = 1 << level
    if not believed.any() and places.size == every.size:
        resolved = -1
    return around.reshape(counts.shape), resolved


def _margin(grid: Grid, number: int, frame: Frame, card: Card) -> tuple[int | None, float | None]:
    """Return how many counts a pixel sums, and their 95 % margin; None if the card lacks them."""
    error, cells = card.expected_error, frame.block**2
    if error.sums is not None:
        return cells, _margins_of_squares(grid, card).get(cells)
    if frame.block == Frame.of(grid, number).block:
        of_map = error.map[number]
        standard_error = of_map.standard_error if error.blocks is not None else None
        return of_map.cells, None if standard_error is None else float(Z * standard_error)
    # Only in such an order squares of the map are ranges of keys.
    follows_map = grid.order.follows_map and not any(grid.order.offset)
    if len(grid.shape) > 2 or (frame.block > 1 and not follows_map):
        return None, None
    for one in error.blocks or ():
        if one.cells == cells:
            return cells, float(Z * one.standard_error)
    return (1, None) if frame.block == 1 else (None, None)
