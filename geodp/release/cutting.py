"""Errors of regions whose polygons cut cells, of releases of every kind.

A region has the cells whose centre lies in its polygon. Of a cell that the polygon cuts, some
people live on the other side of the border. If all lived at one place, the part inside would have
the variance ``a (1 - a)`` around the expected part ``a``: that of the area, or of a finer public
map. How much less it has is seen in the release. The map also predicts how a cut cell and its
neighbours share their people, and misses it by a part of what it would miss if all lived in one of
the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from geodp.accuracy.interval import USUAL, Z
from geodp.accuracy.interval_arithmetic import Figures
from geodp.errors import UsageError
from geodp.grid.cuts import Cuts, FinerMap, add_up, find_cuts
from geodp.grid.grid import Grid
from geodp.grid.region import Labels, keys_of_places
from geodp.typing import FloatArray, KeyArray

NumbersOf = Callable[[KeyArray], FloatArray]
"""Returns numbers of cells, float64[n], by their keys."""

LAND, PEOPLE = 0.9, 1.75
"""What a map of land, or of people, misses within cells, for what it misses between neighbours:
changes in a part of a cell even out in the cell."""


class OfCells(Protocol):
    """Released numbers of cells; see :class:`geodp.release.regional.Regional`."""

    @property
    def counts(self) -> Any:
        """A release of counts of the same cells."""

    @property
    def sums_of_cells(self) -> Mapping[str, NumbersOf]:
        """Released numbers of cells, by the quantities that are sums of cells."""

    @property
    def ratios(self) -> Mapping[str, tuple[str, str]]:
        """Quantities that are one sum for each of another, with the names of both sums."""


@dataclass(frozen=True, eq=False)
class CutCells:
    """Released numbers of the cells that polygons cut.

    Attributes
    ----------
    cuts : Cuts
    spread : float64[n]
        Of each cell, the variance of the part of its people that lies inside the polygon.
    numbers : dict of float64[n]
        Of each cell, by the quantities that are sums of cells.
    polygons : int
    """

    cuts: Cuts
    spread: FloatArray
    numbers: dict[str, FloatArray]
    polygons: int

    @classmethod
    def of(
        cls,
        release: OfCells,
        shapes: Sequence[Any],
        labels: Labels | None,
        finer: FinerMap | None,
    ) -> CutCells:
        """Find the cells that polygons cut, and look them up; see `cut_figures`."""
        cuts, polygons = find_cuts(release.counts.grid.places[0], shapes, finer), len(shapes)
        number = cuts.polygon.size
        places = np.concatenate([cuts.place, cuts.neighbours.reshape(2, -1)], axis=1)
        key, place = keys_of_places(release.counts.grid, places, labels)
        sums = release.sums_of_cells
        found = {name: add_up(place, of_cells(key), 5 * number) for name, of_cells in sums.items()}
        first = next(iter(found.values()))
        missed, most = (
            add_up(cuts.polygon, one, polygons)
            for one in _miss(cuts, first[:number], first[number:].reshape(4, -1))
        )
        miss = np.divide(missed, most, out=np.zeros(polygons), where=most > 0)
        miss *= PEOPLE if finer is not None and finer.is_people else LAND
        spread = np.minimum(miss, 1.0)[cuts.polygon] * cuts.share * (1 - cuts.share)
        return cls(cuts, spread, {name: one[:number] for name, one in found.items()}, polygons)

    def error_of(self, numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the expected part of cut cells in each polygon, and its standard error.

        ``numbers``: float64[n] of the cells. Cells with their centre inside are in the sum already.
        """
        expected = numbers * (self.cuts.share - self.cuts.counted)
        variance = numbers**2 * self.spread
        added, square = (
            add_up(self.cuts.polygon, one, self.polygons) for one in (expected, variance)
        )
        return added, np.sqrt(square)


def _miss(cuts: Cuts, here: FloatArray, beside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the squares of what a map misses between cells and their neighbours, and at most.

    Float64[n] each: sums over the neighbours. ``here``, ``beside``: float64[n], float64[4, n].
    """
    both, known = here + beside, ~np.isnan(cuts.against)
    part = np.where(known, cuts.against, 0.0)
    missed = np.square(here - part * both) * known
    most = np.square(both) * part * (1 - part)
    return missed.sum(axis=0), most.sum(axis=0)


def can_cut(grid: Grid) -> bool:
    """Test whether polygons can cut the cells of a grid: those of units are refused."""
    place = grid.maps.one
    return place is not None and place.transform is not None and grid.outlines is None


def read_within(
    path: Any, grid: Grid, shapes: Sequence[Any], interval: str = USUAL
) -> FinerMap | None:
    """Read a finer map around polygons, see :func:`geodp.io.read.public.finer.read_finer`.

    None without a path. Raises UsageError for units, of which none is cut, and for intervals of the
    worst case.
    """
    if path is None:
        return None
    if interval != USUAL:
        raise UsageError(
            "A worst case assumes nothing of the map, and --within a map of land or people: leave "
            "out one of --interval and --within.",
            code="within-worst-case",
        )
    if not can_cut(grid):
        raise UsageError("Polygons cut no units: leave out --within.", code="within-without-cells")
    # Reading maps takes longer to import than most answers take.
    from geodp.io.read.public.finer import read_finer

    return read_finer(path, grid.places[0], shapes)


def cut_figures(
    release: OfCells,
    figures: Sequence[Figures],
    shapes: Sequence[Any],
    labels: Labels | None = None,
    finer: FinerMap | None = None,
) -> list[Figures]:
    """State the error of cutting of figures of polygons.

    Without a finer map it is that of the sum of the cells whose centre lies inside, and stands
    beside the interval. With one, cut cells count by the part of the map that lies inside, and the
    interval includes the error that is left.

    Parameters
    ----------
    release : OfCells
        Of a grid of one map.
    figures : sequence of Figures
        Of the region of each polygon.
    shapes : sequence of shapely Polygon or MultiPolygon, or None
        In the CRS of the grid; None: the region is none of a polygon.
    labels : Labels, optional
    finer : FinerMap, optional
    """
    if not can_cut(release.counts.grid):
        return [*figures]
    cells = CutCells.of(release, shapes, labels, finer)
    known = {
        name: np.array([0.0 if (found := one[name]) is None else found.value for one in figures])
        for name in (*cells.numbers, *release.ratios)
    }
    changes = {name: cells.error_of(numbers) for name, numbers in cells.numbers.items()}
    for name, ratio in release.ratios.items():
        above, below = (known[each] + changes[each][0] for each in ratio)
        some = (below > 0) & (known[name] > 0)
        added = np.divide(above, below, out=known[name].copy(), where=some) - known[name]
        first, second = (cells.numbers[each] for each in ratio)
        # A cell with as many for each as all of the polygon changes nothing.
        _, error = cells.error_of(first - known[name][cells.cuts.polygon] * second)
        changes[name] = added, np.divide(error, below, out=np.zeros_like(error), where=some)
    answers = [dict(one) for one in figures]
    for name, (added, error) in changes.items():
        for at, number in enumerate(one[name] for one in figures):
            if shapes[at] is not None and number is not None:
                answers[at][name] = _cut(number, added[at], error[at], finer is not None)
    return [*answers]


def _cut(number: Any, added: Any, error: Any, include: bool) -> Any:
    """State the error of what cut cells add to a number, or include it; see `cut_figures`."""
    if not include:
        return replace(number, cutting_error=float(np.hypot(added, error)))
    value = float(number.value + added)
    below, above = (
        float(np.hypot(margin, Z * error))
        for margin in (number.value - number.low, number.high - number.value)
    )
    low = max(value - below, 0.0) if number.low >= 0 else value - below
    return replace(number, value=value, low=low, high=value + above, cutting_error=float(error))
