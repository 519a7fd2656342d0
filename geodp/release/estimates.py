"""Estimate many regions of a release together, and errors of the parts of a map.

The theory is in docs/uncertainty.md and docs/proofs/intervals.md, and formulas of parts are in
:mod:`geodp.accuracy.part_errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import LAPLACE_Z, USUAL, WORST_CASE, Estimate, Z, round_out
from geodp.accuracy.part_errors import (
    NodeShares,
    PartEstimates,
    Split,
    Sum,
    intervals_around,
)
from geodp.accuracy.reach import RegionKeys, count_unseen, node_margins, reach, strength
from geodp.accuracy.region_interval import find_errors
from geodp.accuracy.variance import TreeVariance
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Labels, Region, regions_of_polygons
from geodp.io.write.tables import RowErrors, six_digits, widen
from geodp.release.base import BaseRelease
from geodp.release.cutting import cut_figures, read_within
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

if TYPE_CHECKING:
    from geodp.release.regional import Regional

MAX_SUMS = 4
"""Sums of parts that are held at a time: each has some numbers for every node of the map."""

SHARES = 1 << 30
"""Bytes of shares of parts that may be held besides, as all chunks of a file need all parts."""


@dataclass(frozen=True, eq=False)
class PartErrors:
    """Standard errors and 95 % intervals of parts, of cells and of regions.

    Attributes
    ----------
    table : ReleasedTable
        The released counts of the parts.
    split : Split
        The same release as a map and its parts.
    map : BaseRelease
        The release of the map: all parts of a cell together.
    """

    table: ReleasedTable = field(repr=False)
    split: Split = field(repr=False)
    map: BaseRelease = field(repr=False)

    alike: ClassVar[int] = 1

    def estimate_all(self, regions: Sequence[Region], interval: str) -> list[Estimate]:
        """Estimate sums over regions, with their standard errors and 95 % intervals.

        Parameters
        ----------
        regions : sequence of Region
        interval : str
            That of the map, see :meth:`geodp.Release.estimate`.

        Raises
        ------
        UsageError
            If cells of a region have different parts.
        """
        split = [self._divide(region) for region in regions]
        # Parts of a cell sum up to the cell exactly, so all parts have no error beyond the map's.
        totals = self.map.estimate_all([cells for cells, _ in split], interval=interval)
        return [
            # Sums of nodes are floats, and released counts are added up as whole numbers.
            self.estimate_sum(cells, parts, int(self.table.counts_at(region.key).sum()), total)
            for region, (cells, parts), total in zip(regions, split, totals, strict=True)
        ]

    def _divide(self, region: Region) -> tuple[KeyArray, IntArray]:
        """Return the cells and the parts of a region whose cells all have the same parts."""
        cell, part = self.split.joint.split(region.key)
        cells, parts = np.unique(cell), np.unique(part)
        # Only a product of cells and parts has the same parts in all of its cells.
        if cells.size * parts.size != region.key.size:
            raise UsageError(
                "The cells of this region have different labels: ask for each set of labels by "
                "itself, or for cells with all labels.",
                code="region-labels-differ",
            )
        return cells, parts

    def estimate_sum(
        self, cells: KeyArray, parts: IntArray, count: int, total: Estimate
    ) -> Estimate:
        """Estimate some parts of cells from the estimate of all parts together.

        ``count``: their released sum.
        """
        if parts.size == self.split.joint.parts or not cells.size:
            return total
        estimates = self.add_up(parts).of_region(cells)
        (low,), (high,) = intervals_around(
            np.array([float(count)]),
            estimates,
            people=np.array([float(total.count)]),
            ends=(np.array([total.low]), np.array([total.high])),
        )
        error = float(
            np.hypot(estimates.gain[0] * total.standard_error, estimates.variance[0] ** 0.5)
        )
        return Estimate(count, float(low), float(high), error, total.clamped)

    def add_up(self, parts: IntArray) -> Sum:
        """Add up some parts over all nodes, once for many regions with the same parts."""
        return self._sums(tuple(parts.tolist()))

    @cached_property
    def _sums(self) -> Callable[[tuple[int, ...]], Sum]:
        return lru_cache(MAX_SUMS)(self._sum_up)

    def _share(self, parts: tuple[int, ...]) -> NodeShares:
        """Return the shares of a sum at all nodes, which are less than the sum itself."""
        held = self._shares
        if parts not in held:
            each = NodeShares.size(self.split.tree)
            if len(held) >= max(MAX_SUMS, SHARES // max(each, 1)):
                held.pop(next(iter(held)))
            held[parts] = self._sum_up(parts).shares
        return held[parts]

    @cached_property
    def _shares(self) -> dict[tuple[int, ...], NodeShares]:
        # No cached function of the object itself, which would outlive its last use.
        return {}

    def _sum_up(self, parts: tuple[int, ...]) -> Sum:
        chosen = np.isin(self._rows[1], np.array(parts, np.int64))
        place = self._rows[0][chosen]
        held = np.bincount(place, self.table.count[chosen], self.split.map.key.size)
        return self.split.add_up(np.array(parts, np.int64), held.astype(np.float64))

    @cached_property
    def _rows(self) -> tuple[IntArray, IntArray]:
        """Place of every row's cell in the map, and its part."""
        cell, part = self.split.joint.split(self.table.key)
        return np.searchsorted(self.split.map.key, cell), part

    def _estimate_parts(self, key: KeyArray) -> tuple[PartEstimates, KeyArray, IntArray]:
        """Estimate shares of single parts; return also the distinct cells, and their indices."""
        cell, part = self.split.joint.split(key)
        if (cell[1:] >= cell[:-1]).all():  # as in files, without the time of sorting
            first = np.append(True, cell[1:] != cell[:-1])[: cell.size]
            cells, place = cell[first], np.cumsum(first) - 1
        else:
            cells, place = np.unique(cell, return_inverse=True)
        # Grouped by part: the sums of a part over all nodes are computed once for all its cells.
        estimates = PartEstimates(*np.empty((4, key.size)), tails=self.split.tails)
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(self.split.joint.parts + 1))
        for one in np.unique(part):
            rows = order[ends[one] : ends[one + 1]]
            single = self._share((int(one),)).of_cells(cell[rows])
            estimates.share[rows], estimates.doubt[rows] = single.share, single.doubt
            estimates.variance[rows], estimates.gain[rows] = single.variance, single.gain
        return estimates, cells, place

    def cell_errors(self) -> FloatArray:
        """Compute the standard error of every row of the table: float64[n]."""
        return self.errors_of(self.table.key)

    def errors_of(self, key: KeyArray) -> FloatArray:
        """Return standard errors of rows of the table: float64[n]."""
        return self._find_errors(*self._estimate_parts(key))

    def _find_errors(
        self, estimates: PartEstimates, cells: KeyArray, place: IntArray
    ) -> FloatArray:
        """Find standard errors from the estimates of parts, their cells and indices of these."""
        errors = self._map_errors
        if errors.size > 1:
            errors = errors[np.searchsorted(self.split.map.key, cells)]
        return _add_errors(estimates, np.broadcast_to(errors, cells.shape)[place])

    @cached_property
    def _map_errors(self) -> FloatArray:
        """Standard errors of the map's listed cells, or of all of them one: float64[n or 1]."""
        errors = self.map.cell_errors()
        assert errors is not None  # as the method of the map has a closed form
        return np.atleast_1d(np.asarray(errors, np.float64))

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for parts of cells: float64[n] each; ``key``: uint64[n]."""
        return self._find_ends(key, *self._estimate_parts(key))

    def of_rows(self, key: KeyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return standard errors and both ends of rows of the table: float64[n] each."""
        found = self._estimate_parts(key)
        return (self._find_errors(*found), *self._find_ends(key, *found))

    def _find_ends(
        self, key: KeyArray, estimates: PartEstimates, cells: KeyArray, place: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Find both ends from the estimates of parts, their cells and the indices of these."""
        intervals = self.map.intervals()
        assert intervals is not None  # as the method of the map has a closed form
        low, high = (end[place] for end in intervals.of(cells))
        people = self.split.map.counts_at(cells).astype(np.float64)[place]
        count = self.table.counts_at(key).astype(np.float64)
        return intervals_around(count, estimates, people, (low, high))

    def of_sums(
        self,
        cells: KeyArray,
        parts: IntArray,
        count: IntArray,
        total: tuple[IntArray, FloatArray, FloatArray, FloatArray],
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return standard errors and both ends for sums of the same parts in cells: [n] each.

        Parameters
        ----------
        cells : uint64[n]
        parts : int64[k]
        count : int64[n]
            The released sums.
        total : tuple of int64[n] and float64[n]
            Counts, standard errors and both ends of all parts together.
        """
        people, error, low, high = total
        estimates = self._share(tuple(parts.tolist())).of_cells(cells)
        own = _add_errors(estimates, error)
        numbers = count.astype(np.float64), estimates, people.astype(np.float64)
        return (own, *intervals_around(*numbers, (low, high)))

    @property
    def rows(self) -> RowErrors:
        """The errors of the table for files."""
        return PartRows(nan, self, self)

    def unlisted(self, error: float) -> tuple[float, float]:
        """Return the interval of the map's cells that are not listed, which bounds their parts."""
        intervals = self.map.intervals()
        assert intervals is not None  # as the method of the map has a closed form
        return intervals.unlisted(error)


def _add_errors(estimates: PartEstimates, error: FloatArray) -> FloatArray:
    """Return standard errors of parts from those of their cells and their own: float64[n]."""
    return np.asarray(np.hypot(estimates.gain * error, np.sqrt(estimates.variance)), np.float64)


@dataclass(frozen=True, eq=False)
class PartRows(RowErrors):
    """Errors of a table of parts, made with its rows: those of all rows would be much."""

    parts: PartErrors | None = None

    def columns(self, key: KeyArray, rows: slice) -> list[FloatArray]:
        """Return the columns of some rows; see :class:`RowErrors`."""
        assert self.parts is not None  # as only `PartErrors.rows` makes these columns
        if self.intervals is not self.parts and self.intervals is not None:
            # Ends that are held already, as of what is verified.
            ends = self.intervals.of(key)
            return [six_digits(self.parts.errors_of(key)), *widen(*ends)]
        error, low, high = self.parts.of_rows(key)
        return [six_digits(error), *widen(low, high)]


MAX_CELLS = 1 << 20
"""Cells of regions in one batch, about: bounds the memory of an estimate."""

COLUMNS = ("cells", "count", "standard_error", "low", "high", "cutting_error", "clamped")
"""Columns that are added to a frame of polygons."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of n regions, as columns; see :class:`geodp.accuracy.interval.Estimate`.

    Attributes
    ----------
    count : int64[n] or float64[n]
    standard_error, low, high : float64[n]
    clamped : bool[n]
    """

    count: Any = field(repr=False)
    standard_error: NDArray[np.float64] = field(repr=False)
    low: NDArray[np.float64] = field(repr=False)
    high: NDArray[np.float64] = field(repr=False)
    clamped: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def empty(cls, n: int, count: Any) -> Estimates:
        """Make the estimates of n regions without cells; counts have the dtype of ``count``."""
        error, low, high = np.zeros((3, n))
        return cls(np.zeros(n, count.dtype), error, low, high, np.zeros(n, np.bool_))

    @classmethod
    def stack(cls, estimates: Sequence[Estimate]) -> Estimates:
        """Join estimates that were made one by one."""
        count = np.array([one.count for one in estimates])
        error, low, high = (
            np.array([getattr(one, name) for one in estimates], np.float64)
            for name in ("standard_error", "low", "high")
        )
        return cls(count, error, low, high, np.array([one.clamped for one in estimates], np.bool_))

    def __iter__(self) -> Iterator[Estimate]:
        """Yield the estimates one after the other."""
        columns = (self.count, self.low, self.high, self.standard_error, self.clamped)
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield Estimate(*row)

    def assign(self, at: NDArray[np.int64], estimates: Estimates) -> None:
        """Store the estimates of some of the regions at their indices ``at``."""
        for name in ("count", "standard_error", "low", "high", "clamped"):
            getattr(self, name)[at] = getattr(estimates, name)


def require_tree(release: BaseRelease) -> TreeVariance:
    """Return the tree of a release's closed form; UsageError if it has none."""
    tree = release.method.tree_variance(release.grid, release.event)
    if tree is None:
        raise UsageError(
            f"{release.event.mechanism} has no closed form of the error of any region: its "
            "error depends on the data, or it does not work on a tree of keys.",
            code="region-error-unknown",
        )
    return tree


def error_of_region(release: BaseRelease, region: Region) -> float:
    """Compute the closed-form standard error of a region; 0 where public totals fix the sum."""
    if release.parts is not None:
        return release.parts.estimate_all([region], USUAL)[0].standard_error
    key = region.key
    if release.totals is not None:
        # Areas whose totals are public are met exactly, so only the other cells have an error.
        key = key[~release.totals.complete_areas(region)]
        if not key.size:
            return 0.0
    grid = release.grid if release.method.skips_outside else None
    return float(np.sqrt(max(require_tree(release).region(key, grid), 0.0)))


def estimate_regions(
    release: BaseRelease, regions: Sequence[Region], interval: str = USUAL
) -> Estimates:
    """Estimate regions; see :meth:`geodp.Release.estimate`.

    Raises UsageError for another interval, or a method without a closed form.
    """
    if interval not in (USUAL, WORST_CASE):
        raise UsageError(
            f"interval= is {USUAL!r} or {WORST_CASE!r}, not {interval!r}.", code="interval-unknown"
        )
    if release.parts is not None:
        return Estimates.stack(release.parts.estimate_all(regions, interval))
    tree, count = require_tree(release), release.table.count
    keys = [region.key for region in regions]
    public_sums = np.zeros(len(regions), count.dtype)
    if release.totals is not None:
        for number, region in enumerate(regions):
            exact = release.totals.complete_areas(region)
            public_sums[number] = release.table.counts_at(region.key[exact]).sum()
            keys[number] = region.key[~exact]
    result = Estimates.empty(len(keys), count)
    # Batches of about MAX_CELLS cells, cut between regions: one traversal serves a whole batch.
    some = np.array([number for number, key in enumerate(keys) if key.size], np.int64)
    before = np.cumsum([keys[number].size for number in some.tolist()]) // MAX_CELLS
    for batch in np.split(some, np.flatnonzero(np.diff(before)) + 1):
        if batch.size:
            cells = RegionKeys.of([keys[number] for number in batch.tolist()])
            result.assign(batch, _estimate(release, tree, cells, interval))
    low, high = (np.asarray(ends + public_sums, np.float64) for ends in (result.low, result.high))
    return Estimates(result.count + public_sums, result.standard_error, low, high, result.clamped)


def _estimate(
    release: BaseRelease, tree: TreeVariance, cells: RegionKeys, interval: str
) -> Estimates:
    """Estimate regions none of whose cells has a public total."""
    method, grid = release.method, release.grid
    first, domain = cells.first, grid if method.skips_outside else None
    count = np.add.reduceat(release.table.counts_at(cells.key), first)
    # Without a clamp the released sum is unbiased and normal or Laplace: a symmetric interval.
    if not method.nonnegative:
        each = np.split(cells.key, first[1:])
        variance = np.array([tree.region(key, domain) for key in each])
        error, middle = np.sqrt(np.maximum(variance, 0)), count.astype(np.float64)
        # The sum of a few Laplace noises has longer tails than that of many: z falls from the
        # Laplace quantile for one term to the normal one.
        tails = np.array([key.size if len(tree.fanouts) == 1 else 1 for key in each])
        margin = round_out((Z + (LAPLACE_Z - Z) / tails) * error, middle)
        never = np.zeros(count.size, np.bool_)
        return Estimates(count, error, middle - margin, middle + margin, never)
    errors = find_errors(tree, release.node_sums, cells, domain)
    low, high = errors.interval(count.astype(np.float64))
    if interval == WORST_CASE:
        # The nearer of two bounds is taken, which may be nearer than the usual end.
        least, most = _bound(release, tree, cells)
        low, high = np.minimum(low, least), np.maximum(high, most)
    error = np.sqrt(np.maximum(errors.moments[0], 0))
    return Estimates(count, error, low, high, errors.clamped)


def _bound(
    release: BaseRelease, tree: TreeVariance, cells: RegionKeys
) -> tuple[FloatArray, FloatArray]:
    """Return ends, for a method that clamps, which assume nothing of the map: float64[n] each."""
    method, grid, event = release.method, release.grid, release.event
    domain = grid if method.skips_outside else None
    strong = strength(tree, cells, event.is_normal)
    visited = reach(tree, release.node_sums, cells, strong, domain)
    isolated = losses = None
    if visited.clamped.any():
        isolated = method.isolated_cell(grid, event)
        losses = count_unseen(method.clamp_losses(grid, event), tree.fanouts)
    low, high = visited.interval(isolated, losses, node_margins(tree))
    return np.asarray(low), np.asarray(high)


def estimate_frame(
    release: Regional,
    frame: Any,
    labels: Labels | None,
    interval: str = USUAL,
    within: Any = None,
) -> Any:
    """Add ``COLUMNS`` to a ``GeoDataFrame`` of polygons.

    Rows whose polygons contain no cell of the domain have 0 ``cells`` and NaN elsewhere.

    Parameters
    ----------
    release : Release
    frame : geopandas.GeoDataFrame
        In any CRS: vertices are transformed into that of the grid, if PROJ can do so exactly.
    labels : mapping, optional
        As for :meth:`geodp.grid.region.Region.of`.
    interval : str
    within : path, optional
        As for :meth:`geodp.Release.estimate`.

    Raises UsageError for a frame without a CRS, for a CRS that PROJ can only transform inexactly,
    for geometries that are no polygons, and for a frame that has a column of one of these names.
    """
    grid = release.counts.grid
    shapes = _shapes(frame, grid)
    taken = [name for name in COLUMNS if name in frame.columns]
    if taken:
        raise UsageError(
            f"The frame has a column {taken[0]!r} already; rename it.", code="frame-column-taken"
        )
    regions = regions_of_polygons(grid, shapes, labels)
    cells = np.array([region.cells for region in regions], np.int64)
    figures = release.list_figures(regions, interval=interval)
    finer = read_within(within, grid, shapes, interval)
    found = [one["count"] for one in cut_figures(release, figures, shapes, labels, finer)]
    columns = {name: np.array([getattr(one, name) for one in found]) for name in COLUMNS[1:]}
    columns["cutting_error"] = columns["cutting_error"].astype(np.float64)
    # NaN and not 0: without cells there is no estimate, and 0 people would be one.
    if not cells.all():
        for name in COLUMNS[1:-1]:
            columns[name] = np.where(cells > 0, columns[name], np.nan)
    return frame.assign(cells=cells, **columns)


def _shapes(frame: Any, grid: Grid) -> list[Any]:
    """Transform the geometries of a frame into a grid's CRS; UsageError if either is unknown."""
    from geodp.io.read.rows.locators import move_shapes

    places = grid.places if grid.outlines is None else (grid.outlines.ground,)
    crs = places[0].crs if places else None
    if crs is None:
        raise UsageError(
            "The grid has no CRS, so geometries cannot be located on it.",
            code="geometries-need-crs",
        )
    if frame.crs is None:
        raise UsageError(
            f"The frame has no CRS; set it first: frame.set_crs({crs!r}).",
            code="frame-without-crs",
        )
    try:
        return move_shapes(frame.geometry, places[0], frame.crs.to_wkt())
    except UsageError:
        raise UsageError(
            f"PROJ cannot transform {frame.crs.name} to {crs} exactly here. Install its grid; "
            f"or, if some hundred metres do not matter, pass frame.to_crs({crs!r}).",
            code="frame-transformation-missing",
        ) from None
