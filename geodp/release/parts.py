"""Errors of a release of a map and its parts: those of the map, and of how it was shared out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.accuracy.parts import PartEstimates, Split, Sum, intervals_around
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.release.described import Described
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray


@dataclass(frozen=True, eq=False)
class PartErrors:
    """Standard errors and 95 % intervals of parts, of cells and of regions.

    Attributes
    ----------
    table : ReleasedTable
        Of parts.
    split : Split
        The same.
    map : Described
        Of all parts together.
    """

    table: ReleasedTable = field(repr=False)
    split: Split = field(repr=False)
    map: Described = field(repr=False)

    alike: ClassVar[int] = 1

    def estimate(self, region: Region) -> Estimate:
        """Return the released sum over a region, its standard error and its 95 % interval.

        Raises UsageError where its cells have different parts.
        """
        cell, part = self.split.joint.split(region.key)
        cells, parts = np.unique(cell), np.unique(part)
        if cells.size * parts.size != region.key.size:
            raise UsageError(
                "The cells of this region have different labels: ask for each set of labels by "
                "itself, or for cells with all labels.",
                code="region-labels-differ",
            )
        (whole,) = self.map.estimate_all([cells])
        if parts.size == self.split.joint.parts or not cells.size:
            return whole
        own = self._sum(parts)
        known = own.of_cells(cells) if cells.size == 1 else own.of_region(cells)
        count = int(self.table.counts_at(region.key).sum())
        (low,), (high,) = intervals_around(
            np.array([float(count)]),
            known,
            people=np.array([float(whole.count)]),
            ends=(np.array([whole.low]), np.array([whole.high])),
        )
        error = float(np.hypot(known.share[0] * whole.standard_error, known.variance[0] ** 0.5))
        return Estimate(count, error, float(low), float(high), whole.clamped)

    def _sum(self, parts: IntArray) -> Sum:
        """Return the sums of some parts over all nodes."""
        chosen = np.isin(self._rows[1], parts)
        own = self._rows[0][chosen]
        held = np.bincount(own, self.table.count[chosen], self.split.map.key.size)
        return self.split.add_up(parts, held.astype(np.float64))

    @cached_property
    def _rows(self) -> tuple[IntArray, IntArray]:
        """Place of every row's cell in the map, and its part."""
        cell, part = self.split.joint.split(self.table.key)
        return np.searchsorted(self.split.map.key, cell), part

    def _known(self, key: KeyArray) -> tuple[PartEstimates, KeyArray, IntArray]:
        """Return what is known of single parts of cells; their cells, each once, and places."""
        cell, part = self.split.joint.split(key)
        cells, place = np.unique(cell, return_inverse=True)
        found = PartEstimates(*(np.empty(key.size) for _ in range(3)))
        order = np.argsort(part, kind="stable")
        ends = np.searchsorted(part[order], np.arange(self.split.joint.parts + 1))
        for one in np.unique(part):
            rows = order[ends[one] : ends[one + 1]]
            known = self._sum(np.array([one])).of_cells(cell[rows])
            found.share[rows], found.doubt[rows] = known.share, known.doubt
            found.variance[rows] = known.variance
        return found, cells, place

    def cell_errors(self) -> FloatArray:
        """Return the standard error of every row of the table: float64[n]."""
        known, cells, place = self._known(self.table.key)
        errors = self.map.cell_errors()
        assert errors is not None  # as the method of the map has a closed form
        own = np.broadcast_to(errors, cells.shape)[place]
        return np.asarray(np.hypot(known.share * own, np.sqrt(known.variance)), np.float64)

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Low and high ends for parts of cells of the domain: float64[n] each; key: uint64[n]."""
        known, cells, place = self._known(key)
        intervals = self.map.intervals()
        assert intervals is not None  # as the method of the map has a closed form
        low, high = (end[place] for end in intervals.of(cells))
        people = self.split.map.counts_at(cells).astype(np.float64)[place]
        count = self.table.counts_at(key).astype(np.float64)
        return intervals_around(count, known, people, (low, high))

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return those of the map's cells that are not listed, which hold all of their parts."""
        intervals = self.map.intervals()
        assert intervals is not None  # as the method of the map has a closed form
        return intervals.unlisted(error)
