"""Levels of a page's map: squares of cells, and how far the sum of one of them may be off."""

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
from geodp.table.card import Card

if TYPE_CHECKING:
    from geodp.release.release import Release

FEWEST = 3
"""Squares along the longer side of the coarsest level."""

MOST_CELLS = 1 << 16
"""Of a square whose error is worked out from its cells."""

TRIED = 5
"""Places in the domain around which a whole square is looked for."""


@dataclass(frozen=True)
class Squares:
    """Squares of cells.

    Attributes
    ----------
    side : int
        Cells along a side.
    offset : (int, int)
        Rows and columns of the first square that lie outside the map.
    area : str or None
        The code system's name of them.
    nested : bool
        Whether each lies within one of the next coarser level that is nested.
    margins : mapping of str to float or None
        95 % margin of one in the middle of the domain, in counts, by which attributes are summed
        over ("1") or cut down to one label ("0"); None where there is no closed form.
    """

    side: int
    offset: tuple[int, int]
    area: str | None
    nested: bool
    margins: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "side": self.side,
            "offset": list(self.offset),
            "area": self.area,
            "nested": self.nested,
            "margins": dict(self.margins),
        }


def list_levels(release: Release, card: Card) -> list[Squares]:
    """Return the levels of a map, cells first: what the order of its cells nests, and areas."""
    grid = release.grid
    sides = _nested_sides(grid)
    areas = _official_sides(grid)
    found = []
    for side in sorted({*sides, *areas}):
        nested, offset = side in sides, (0, 0)
        if side in areas and (not nested or any(grid.order.offset)):
            place = grid.places[0]
            offset = place.row0 % side, place.col0 % side
        margins = _margins_of(release, card, side, offset)
        found.append(Squares(side, offset, areas.get(side), nested, margins))
    return found


def _nested_sides(grid: Grid) -> list[int]:
    """Return sides of squares that are runs of keys, or of powers of two in other orders."""
    most = _longest(grid)
    if any(grid.order.offset) and grid.maps.one is not None:
        return [side for side in _official_sides(grid) if side == 1 or side * FEWEST <= most]
    found = [1]
    while 2 * found[-1] * FEWEST <= most:
        found.append(2 * found[-1])
    return found


def _longest(grid: Grid) -> int:
    """Return the cells along the longest side of a map."""
    return max(max(place.rows, place.cols) for place in grid.places)


def _official_sides(grid: Grid) -> dict[int, str]:
    """Return names of the code system's areas by their side in cells."""
    most = _longest(grid)
    return {side: name for name, side in grid.maps.areas if side == 1 or side <= most}


def _margins_of(
    release: Release, card: Card, side: int, offset: tuple[int, int]
) -> dict[str, float | None]:
    """Return the margin of a square of a side for every choice of attributes' labels."""
    grid = release.grid
    if grid.maps.missing:
        return {"": None}
    if card.domain.lacks_table(grid):
        return dict.fromkeys(_patterns(grid))
    found: dict[str, float | None] = {}
    row, col = _find_square(grid, side, offset)
    for pattern in _patterns(grid):
        chosen = {
            one.name: one.labels[0]
            for one, every in zip(grid.attributes, pattern, strict=True)
            if every == "0"
        }
        found[pattern] = None
        if row.size * _labels(grid, pattern) <= MOST_CELLS:
            found[pattern] = _margin(release, Region.of_map(grid, row, col, chosen))
        elif "0" not in pattern:
            found[pattern] = _margin_of_block(release, side)
    return found


def _patterns(grid: Grid) -> Iterator[str]:
    """Yield which attributes are summed over, those with all first."""
    return map("".join, product("10", repeat=len(grid.attributes)))


def _labels(grid: Grid, pattern: str) -> int:
    chosen = zip(grid.attributes, pattern, strict=True)
    return prod(len(one.labels) if every == "1" else 1 for one, every in chosen)


def _margin(release: Release, region: Region) -> float | None:
    """Return half of a 95 % interval of a region, where nothing is clamped."""
    try:
        return _round(Z * release.standard_error(region))
    except UsageError:
        pass
    if release.block_errors is None or region.cells > 1:
        return None
    return _round(Z * release.block_errors[-1].standard_error)


def _margin_of_block(release: Release, side: int) -> float | None:
    """Return that of a square that is a run of keys, all labels with it."""
    order, ndim = release.grid.order, len(release.grid.shape)
    if release.block_errors is None or not order.follows_map:
        return None
    for digits, error in enumerate(release.block_errors):
        sides = order.sides(digits, ndim).tolist()
        if sides[:2] == [side, side] and all(
            a >= b for a, b in zip(sides[2:], release.grid.shape[2:], strict=True)
        ):
            return _round(Z * error.standard_error)
    return None


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _find_square(grid: Grid, side: int, offset: tuple[int, int]) -> Any:
    """Return rows and columns (int64[n] each) of the fullest of some squares in the domain."""
    parts = np.arange(1, 2 * TRIED, 2) * grid.size // (2 * TRIED)
    parts = parts[np.argsort(np.abs(parts - grid.size // 2), kind="stable")]
    best = None
    for at in grid.decode(grid.domain.keys_of_ranks(parts))[:2].T.tolist():
        ranges = []
        for axis in (0, 1):
            first = (at[axis] + offset[axis]) // side * side - offset[axis]
            ranges.append(np.arange(max(first, 0), min(first + side, grid.shape[axis])))
        row, col = (each.reshape(-1) for each in np.meshgrid(*ranges, indexing="ij"))
        index = np.zeros((len(grid.shape), row.size), np.int64)
        index[0], index[1] = row, col
        inside = grid.contains(index)
        if best is None or inside.sum() > best[0].size:
            best = row[inside], col[inside]
        if best[0].size == side * side:
            break
    assert best is not None  # a domain has cells
    return best
