"""Levels of a page's map: squares of cells, and the 95 % margin of their sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from geodp.accuracy.interval import Z
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.typing import IntArray

if TYPE_CHECKING:
    from geodp.release.release import Release

MIN_SQUARES = 3
"""Minimum number of squares along the longer side of the coarsest level."""

MAX_CELLS = 1 << 16
"""Maximum cells of a square whose error is computed from them."""

MAX_CANDIDATES = 5
"""Cells of the domain around which a square without cells outside the domain is searched."""


@dataclass(frozen=True)
class Squares:
    """Level of squares of cells.

    Attributes
    ----------
    side : int
        Cells along a side.
    offset : (int, int)
        Rows and columns of the first square that lie outside the map.
    area : str or None
        Name of the squares in the code system.
    nested : bool
        Whether each lies within one of the next coarser level that is nested.
    margins : mapping of str to float or None
        95 % margin of a square in the middle of the domain, in counts. The key has a character for
        each attribute: "1" summed over all labels, "0" one label. None without a closed form.
    """

    side: int
    offset: tuple[int, int]
    area: str | None
    nested: bool
    margins: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        return {
            "side": self.side,
            "offset": list(self.offset),
            "area": self.area,
            "nested": self.nested,
            "margins": dict(self.margins),
        }


def list_levels(release: Release) -> list[Squares]:
    """List the levels of a map, cells first: nested squares of the key order, official areas."""
    grid = release.grid
    sides = _nested_sides(grid) if grid.outlines is None else [1]
    areas = _official_sides(grid)
    levels = []
    for side in sorted({*sides, *areas}):
        nested, offset = side in sides, (0, 0)
        # Official areas start at the code system's origin, which may lie outside the map.
        if side in areas and (not nested or any(grid.order.offset)):
            place = grid.places[0]
            offset = place.row0 % side, place.col0 % side
        margins = _margins_of(release, side, offset)
        levels.append(Squares(side, offset, areas.get(side), nested, margins))
    return levels


def _nested_sides(grid: Grid) -> list[int]:
    """List sides of squares that are runs of keys, or powers of two in other orders."""
    longest = _longest(grid)
    if any(grid.order.offset) and grid.maps.one is not None:
        return [
            side for side in _official_sides(grid) if side == 1 or side * MIN_SQUARES <= longest
        ]
    sides = [1]
    while 2 * sides[-1] * MIN_SQUARES <= longest:
        sides.append(2 * sides[-1])
    return sides


def _longest(grid: Grid) -> int:
    """Count the cells along the longest side of a map."""
    return max(max(place.rows, place.cols) for place in grid.places)


def _official_sides(grid: Grid) -> dict[int, str]:
    """Map the sides of the code system's areas, in cells, to their names."""
    longest = _longest(grid)
    return {side: name for name, side in grid.maps.areas if side == 1 or side <= longest}


def _margins_of(release: Release, side: int, offset: tuple[int, int]) -> dict[str, float | None]:
    """Compute the margin of a square for every pattern of summed attributes."""
    grid = release.grid
    if grid.maps.missing:
        return {"": None}
    if release.card().domain.lacks_table(grid):
        return dict.fromkeys(_patterns(grid))
    margins: dict[str, float | None] = {}
    square = _find_square(grid, side, offset)
    for pattern in _patterns(grid):
        chosen = {
            one.name: one.labels[0]
            for one, every in zip(grid.attributes, pattern, strict=True)
            if every == "0"
        }
        margins[pattern] = None
        if square is not None and square.shape[1] * _labels(grid, pattern) <= MAX_CELLS:
            margins[pattern] = _margin(release, Region.of_map(grid, square[0], square[1], chosen))
        # Too large to list its cells: the sum over all labels may still be a single run of keys.
        elif "0" not in pattern:
            margins[pattern] = _margin_of_block(release, side)
    return margins


def _patterns(grid: Grid) -> Iterator[str]:
    """Yield a pattern of summed attributes each, the sum over all first."""
    return map("".join, product("10", repeat=len(grid.attributes)))


def _labels(grid: Grid, pattern: str) -> int:
    chosen = zip(grid.attributes, pattern, strict=True)
    return prod(len(one.labels) if every == "1" else 1 for one, every in chosen)


def _margin(release: Release, region: Region) -> float | None:
    """Compute half the width of a region's 95 % interval, clamping left out."""
    try:
        return _round(Z * release.standard_error(region))
    except UsageError:
        pass
    # No closed form for regions: the last block shares all digits, so it is a single cell.
    if release.block_errors is None or region.cells > 1:
        return None
    return _round(Z * release.block_errors[-1].standard_error)


def _margin_of_block(release: Release, side: int) -> float | None:
    """Compute the margin of a square that is a run of keys, summed over all labels."""
    order, ndim = release.grid.order, len(release.grid.shape)
    if release.block_errors is None or not order.follows_map:
        return None
    for digits, error in enumerate(release.block_errors):
        # The block must be a square on the map that holds all labels of all other axes.
        sides = order.sides(digits, ndim).tolist()
        if sides[:2] == [side, side] and all(
            a >= b for a, b in zip(sides[2:], release.grid.shape[2:], strict=True)
        ):
            return _round(Z * error.standard_error)
    return None


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _find_square(grid: Grid, side: int, offset: tuple[int, int]) -> IntArray | None:
    """Find the square with the most cells of the domain, among a few: int64[2, n].

    Rows and columns of its cells; None as soon as one has more than `MAX_CELLS` cells.
    """
    # The domain's edge cuts squares off, and these have smaller margins: try squares around cells
    # spread over the domain, the middle first, until one lies in it completely.
    parts = np.array(
        [i * grid.size // (2 * MAX_CANDIDATES) for i in range(1, 2 * MAX_CANDIDATES, 2)]
    )
    parts = parts[np.argsort(np.abs(parts - grid.size // 2), kind="stable")]
    best = np.empty((2, 0), np.int64)
    for at in grid.decode(grid.domain.keys_of_ranks(parts))[:2].T.tolist():
        first = [(i + o) // side * side - o for i, o in zip(at, offset, strict=True)]
        low = [max(i, 0) for i in first]
        high = [min(i + side, n) for i, n in zip(first, grid.shape, strict=False)]
        pieces = [np.empty((2, 0), np.int64)]
        for cells in _cells_in(grid, low, high, at):
            pieces.append(cells)
            if sum(some.shape[1] for some in pieces) > MAX_CELLS:
                return None
        square = np.concatenate(pieces, axis=1)
        if square.shape[1] > best.shape[1]:
            best = square[:, np.lexsort(square[::-1])]
        if best.shape[1] == side * side:
            break
    return best


def _cells_in(grid: Grid, low: list[int], high: list[int], at: list[int]) -> Iterator[IntArray]:
    """Yield rows and columns of the domain's cells in a rectangle, piece by piece: int64[2, n].

    The piece with ``at`` is the first.
    """
    # The cheaper of two ways: go through the domain's cells, or through those of the rectangle.
    tall, wide = high[0] - low[0], high[1] - low[1]
    if tall * wide > grid.size:
        for start in range(0, grid.size, MAX_CELLS):
            rank = np.arange(start, min(start + MAX_CELLS, grid.size))
            index = grid.decode(grid.domain.keys_of_ranks(rank))
            inside = (index[2:] == 0).all(axis=0)
            for axis in (0, 1):
                inside &= (index[axis] >= low[axis]) & (index[axis] < high[axis])
            yield index[:2, inside]
        return
    across = min(wide, MAX_CELLS)
    down = max(1, MAX_CELLS // across)
    strips, pieces = -(-tall // down), -(-wide // across)
    begin = (at[0] - low[0]) // down * pieces + (at[1] - low[1]) // across
    for number in range(strips * pieces):
        strip, piece = divmod((begin + number) % (strips * pieces), pieces)
        row = np.arange(low[0] + strip * down, min(low[0] + (strip + 1) * down, high[0]))
        col = np.arange(low[1] + piece * across, min(low[1] + (piece + 1) * across, high[1]))
        index = np.zeros((len(grid.shape), row.size * col.size), np.int64)
        index[0], index[1] = np.repeat(row, col.size), np.tile(col, row.size)
        yield index[:2, grid.contains(index)]
