"""Closed-form estimates of many regions of a release, all of them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.cell_interval import count_unseen
from geodp.accuracy.interval import LAPLACE_Z, Estimate, Z, round_out
from geodp.accuracy.reach import RegionKeys, reach, strength
from geodp.accuracy.variance import TreeVariance
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Labels, Region, regions_of_polygons
from geodp.kernels.cell_paths import PLAIN
from geodp.release.described import Described

AT_ONCE = 1 << 20
"""Cells of regions that are followed together."""

COLUMNS = ("cells", "count", "standard_error", "low", "high", "clamped")
"""What a frame of polygons gets."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """What :class:`geodp.accuracy.interval.Estimate` says, of n regions.

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
    def of_nobody(cls, n: int, count: Any) -> Estimates:
        """Of so many regions without cells, whose counts have the type of ``count``."""
        error, low, high = np.zeros((3, n))
        return cls(np.zeros(n, count.dtype), error, low, high, np.zeros(n, np.bool_))

    @classmethod
    def of_each(cls, found: Sequence[Estimate]) -> Estimates:
        """Of regions that were estimated one by one."""
        count = np.array([one.count for one in found])
        error, low, high = (
            np.array([getattr(one, name) for one in found], np.float64)
            for name in ("standard_error", "low", "high")
        )
        return cls(count, error, low, high, np.array([one.clamped for one in found], np.bool_))

    def __iter__(self) -> Iterator[Estimate]:
        """One after the other."""
        columns = (self.count, self.standard_error, self.low, self.high, self.clamped)
        for row in zip(*(column.tolist() for column in columns), strict=True):
            yield Estimate(*row)

    def put(self, at: NDArray[np.int64], found: Estimates) -> None:
        """Write estimates of some of the regions in their places."""
        for name in ("count", "standard_error", "low", "high", "clamped"):
            getattr(self, name)[at] = getattr(found, name)


def require_tree(release: Described) -> TreeVariance:
    """Return the tree of a release's closed form; UsageError where it has none."""
    tree = release.method.tree_variance(release.grid, release.event)
    if tree is None:
        raise UsageError(
            f"{release.event.mechanism} has no closed form of the error of any region: its "
            "error depends on the data, or it does not work on a tree of keys.",
            code="region-error-unknown",
        )
    return tree


def error_of_region(release: Described, region: Region) -> float:
    """Return the closed-form standard error of a region; 0 of what public totals settle."""
    if release.parts is not None:
        return release.parts.estimate(region).standard_error
    key = region.key
    if release.totals is not None:
        key = key[~release.totals.complete_areas(region)]
        if not key.size:
            return 0.0
    grid = release.grid if release.method.skips_outside else None
    return float(np.sqrt(max(require_tree(release).region(key, grid), 0.0)))


def estimate_regions(release: Described, regions: Sequence[Region]) -> Estimates:
    """Return estimates of regions, as :meth:`geodp.Release.estimate` says.

    Raises UsageError for a method without a closed form.
    """
    if release.parts is not None:
        return Estimates.of_each([release.parts.estimate(region) for region in regions])
    tree, count = require_tree(release), release.table.count
    keys, known = [region.key for region in regions], np.zeros(len(regions), count.dtype)
    if release.totals is not None:
        for number, region in enumerate(regions):
            exact = release.totals.complete_areas(region)
            known[number] = release.table.counts_at(region.key[exact]).sum()
            keys[number] = region.key[~exact]
    found = Estimates.of_nobody(len(keys), count)
    some = np.array([number for number, key in enumerate(keys) if key.size], np.int64)
    before = np.cumsum([keys[number].size for number in some.tolist()]) // AT_ONCE
    for batch in np.split(some, np.flatnonzero(np.diff(before)) + 1):
        if batch.size:
            cells = RegionKeys.of([keys[number] for number in batch.tolist()])
            found.put(batch, _estimate(release, tree, cells))
    low, high = (np.asarray(ends + known, np.float64) for ends in (found.low, found.high))
    return Estimates(found.count + known, found.standard_error, low, high, found.clamped)


def _estimate(release: Described, tree: TreeVariance, cells: RegionKeys) -> Estimates:
    """Return the estimates of regions of which no public total is known."""
    method, grid, event = release.method, release.grid, release.event
    first, domain = cells.first, grid if method.skips_outside else None
    count = np.add.reduceat(release.table.counts_at(cells.key), first)
    if not method.nonnegative:
        each = np.split(cells.key, first[1:])
        variance = np.array([tree.region(key, domain) for key in each])
        error, middle = np.sqrt(np.maximum(variance, 0)), count.astype(np.float64)
        # The sum of a few Laplace noises has longer tails than that of many.
        tails = np.array([key.size if len(tree.fanouts) == 1 else 1 for key in each])
        margin = round_out((Z + (LAPLACE_Z - Z) / tails) * error, middle)
        never = np.zeros(count.size, np.bool_)
        return Estimates(count, error, middle - margin, middle + margin, never)
    strong = strength(tree, cells, event.is_normal)
    found = reach(tree, release.node_sums, cells, strong, domain)
    error = np.sqrt(np.maximum(found.variance[PLAIN], 0))
    alone = losses = None
    if found.clamped.any():
        alone = method.isolated_cell(grid, event)
        losses = count_unseen(method.clamp_losses(grid, event), tree.fanouts)
    low, high = found.interval(alone, losses)
    single = np.flatnonzero(np.diff(np.append(first, cells.key.size)) == 1)
    if single.size:  # as in the files
        intervals = release.intervals()
        assert intervals is not None  # whoever has a closed form of regions has one of cells
        low[single], high[single] = intervals.of(cells.key[first[single]])
    return Estimates(count, error, low, high, found.clamped)


def estimate_frame(release: Described, frame: Any, labels: Labels | None) -> Any:
    """Return a ``GeoDataFrame`` of polygons with ``COLUMNS`` beside its own.

    Rows whose polygons hold no cell of the domain have 0 ``cells`` and no numbers.

    Parameters
    ----------
    release : Release
    frame : geopandas.GeoDataFrame
        In any CRS: corners are moved into that of the grid, where PROJ does so exactly.
    labels : mapping, optional
        As for :meth:`geodp.grid.region.Region.of`.

    Raises UsageError without a CRS, or from one that PROJ moves inexactly alone; for other
    geometries, and where the frame has a column of one of these names.
    """
    shapes = _shapes(frame, release.grid)
    taken = [name for name in COLUMNS if name in frame.columns]
    if taken:
        raise UsageError(
            f"The frame has a column {taken[0]!r} already; rename it.", code="frame-column-taken"
        )
    regions = regions_of_polygons(release.grid, shapes, labels)
    cells = np.array([region.cells for region in regions], np.int64)
    found = estimate_regions(release, regions)
    columns: dict[str, Any] = {name: getattr(found, name) for name in COLUMNS[1:]}
    if not cells.all():
        for name in COLUMNS[1:-1]:
            columns[name] = np.where(cells > 0, columns[name], np.nan)
    return frame.assign(cells=cells, **columns)


def _shapes(frame: Any, grid: Grid) -> list[Any]:
    """Return the geometries of a frame in a grid's CRS; UsageError where nothing says which."""
    from geodp.io.read.rows.projection import move_shapes

    places = grid.places if grid.outlines is None else (grid.outlines.ground,)
    crs = places[0].crs if places else None
    if crs is None:
        raise UsageError(
            "The grid has no CRS, so nothing says where geometries lie on it.",
            code="geometries-need-crs",
        )
    if frame.crs is None:
        raise UsageError(
            f"The frame has no CRS; say which it is in: frame.set_crs({crs!r}).",
            code="frame-without-crs",
        )
    try:
        return move_shapes(frame.geometry, places[0], frame.crs.to_wkt())
    except UsageError:
        raise UsageError(
            f"Nothing here moves {frame.crs.name} to {crs} exactly. Install PROJ's grid for it; "
            f"or, where some hundred metres are no matter, give frame.to_crs({crs!r}).",
            code="frame-transformation-missing",
        ) from None
