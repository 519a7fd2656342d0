"""Compute errors of a map and its parts: those of the map, and those of the apportioning.

The formulas are in :mod:`geodp.accuracy.parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.accuracy.parts import PartEstimates, Split, Sum, intervals_around
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.release.base import BaseRelease
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

MAX_SUMS = 4
"""Sums of parts that are held at a time: each has some numbers for every node of the map."""


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

    def estimate_all(self, regions: Sequence[Region], method: str) -> list[Estimate]:
        """Estimate sums over regions, with their standard errors and 95 % intervals.

        Parameters
        ----------
        regions : sequence of Region
        method : str
            How the errors of the map are estimated, see :meth:`geodp.Release.estimate`.

        Raises
        ------
        UsageError
            If cells of a region have different parts.
        """
        split = [self._divide(region) for region in regions]
        # Parts of a cell sum up to the cell exactly, so all parts have no error beyond the map's.
        totals = self.map.estimate_all([cells for cells, _ in split], method=method)
        return [
            self._estimate(region, cells, parts, total)
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

    def _estimate(
        self, region: Region, cells: KeyArray, parts: IntArray, total: Estimate
    ) -> Estimate:
        """Estimate parts of cells from the estimate of all parts together."""
        if parts.size == self.split.joint.parts or not cells.size:
            return total
        estimates = self.add_up(parts).of_region(cells)
        count = int(self.table.counts_at(region.key).sum())
        (low,), (high,) = intervals_around(
            np.array([float(count)]),
            estimates,
            people=np.array([float(total.count)]),
            ends=(np.array([total.low]), np.array([total.high])),
        )
        error = float(
            np.hypot(estimates.share[0] * total.standard_error, estimates.variance[0] ** 0.5)
        )
        return Estimate(count, float(low), float(high), error, total.clamped)

    def add_up(self, parts: IntArray) -> Sum:
        """Add up some parts over all nodes, once for many regions with the same parts."""
        return self._sums(tuple(parts.tolist()))

    @cached_property
    def _sums(self) -> Callable[[tuple[int, ...]], Sum]:
        return lru_cache(MAX_SUMS)(self._sum_up)

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
        cells, place = np.unique(cell, return_inverse=True)
        # Grouped by part: the sums of a part over all nodes are computed once for all its cells.
        estimates = PartEstimates(*(np.empty(key.size) for _ in range(3)))
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(self.split.joint.parts + 1))
        for one in np.unique(part):
            rows = order[ends[one] : ends[one + 1]]
            single = self.add_up(np.array([one])).of_cells(cell[rows])
            estimates.share[rows], estimates.doubt[rows] = single.share, single.doubt
            estimates.variance[rows] = single.variance
        return estimates, cells, place

    def cell_errors(self) -> FloatArray:
        """Compute the standard error of every row of the table: float64[n]."""
        estimates, cells, place = self._estimate_parts(self.table.key)
        errors = self.map.cell_errors()
        assert errors is not None  # as the method of the map has a closed form
        # The error of the cell, scaled by the part's share, and the error of the share itself.
        cell_error = np.broadcast_to(errors, cells.shape)[place]
        return np.asarray(
            np.hypot(estimates.share * cell_error, np.sqrt(estimates.variance)), np.float64
        )

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for parts of cells: float64[n] each; ``key``: uint64[n]."""
        estimates, cells, place = self._estimate_parts(key)
        intervals = self.map.intervals()
        assert intervals is not None  # as the method of the map has a closed form
        low, high = (end[place] for end in intervals.of(cells))
        people = self.split.map.counts_at(cells).astype(np.float64)[place]
        count = self.table.counts_at(key).astype(np.float64)
        return intervals_around(count, estimates, people, (low, high))

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return the interval of the map's cells that are not listed, which bounds their parts."""
        intervals = self.map.intervals()
        assert intervals is not None  # as the method of the map has a closed form
        return intervals.unlisted(error)
