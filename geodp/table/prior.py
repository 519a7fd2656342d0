"""Priors: public tables of where people are likely to be, such as an earlier census or release."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.kernels.learned import families as kernels
from geodp.reprs import one_line
from geodp.table.counts import Cells, CountTable, ReleasedTable, exact_sum
from geodp.table.stated.release import StatedPrior

RULES = 3
"""Version of the use of a prior, on cards: increased whenever releases would change."""

FLOOR_OF_CELL = 2.0**-12
"""Upper limit of the people added to every cell, so that no cell is impossible."""

FLOOR_OF_ALL = 2.0**-10
"""Upper limit of all added people together, as a share of the prior's people."""

MEANING = (
    "children of a node are expected to be as many as the prior's shares say; how far such shares "
    "can be trusted was learned from this release's own noisy counts, so that it costs no budget. "
    "Changes against the prior are attenuated: of a change of so many counts against its share of "
    "the area above it a cell shows the part that slope says. Comparing this release with its "
    "prior understates what has changed"
)

RECORDS = Rule(
    "prior-of-records",
    "The prior was counted from records, a row for each person, trip or other record, and it is "
    "used without noise. A prior is a public table of counts: take a published one, and name its "
    "column of counts (--prior-value, value=), or an earlier release.",
)

OTHER_GRID = Rule(
    "prior-of-other-grid",
    "The prior is on another grid. It must be on the release's own grid, or on larger squares "
    "that are blocks of its cells; read the prior onto the release's grid.",
)


@dataclass(frozen=True, eq=False)
class Prior:
    """Expected shares of people, from a public table or a charged release.

    Attributes
    ----------
    grid : Grid
        Grid of the release.
    key : uint64[m]
        First key of each of the prior's cells, in the release's order, strictly increasing.
    count : int64[m]
        Above 0; only their ratios matter.
    finest : int
        Keys of the release that a cell of the prior covers; in it shares are even.
    source : str
        Where it was published, in words with which the operator vouches that it is public; every
        release quotes it. Of an earlier release that was charged: which it is.
    """

    __repr__ = one_line

    grid: Grid
    key: NDArray[np.uint64] = field(repr=False)
    count: NDArray[np.int64] = field(repr=False)
    finest: int
    source: str

    @classmethod
    def of(cls, grid: Grid, cells: Cells, source: str) -> Self:
        """Make a prior for releases on a grid from a table's cells.

        Parameters
        ----------
        grid : Grid
        cells : Cells
            A public table of counts, or an earlier release, on the grid or on one of larger
            squares; whole numbers, none below 0, such as 0 and 1.
        source : str
            Not empty.

        Raises
        ------
        UsageError
            No source, a table that was counted from records, another grid, negative or fractional
            counts, or nobody anywhere.
        """
        if isinstance(cells, CountTable) and cells.of_records:
            raise UsageError(RECORDS)
        if not source.strip() or not source.isprintable():
            raise UsageError(
                "State where the prior was published (--prior-source, prior_source=): by this you "
                "assert that the prior is public, and the card quotes it. Only an earlier release "
                "with its own charge needs no source. Unpublished data must not be a prior, since "
                "a release reveals them.",
                code="prior-source-missing",
            )
        # With a known key, noise can be removed: such a release reveals the confidential counts.
        if isinstance(cells, ReleasedTable) and not cells.event.is_private:
            raise UsageError(
                "The prior is a release that is NOT PRIVATE, as its noise had a fixed key, so it "
                "reveals the counts that it was made from. Take a public table, or a private "
                "release.",
                code="prior-not-private",
            )
        # Prefix sums of int64 are exact; fractional counts would make shares depend on summation
        # order.
        if cells.count.dtype != np.int64 or bool((cells.count < 0).any()):
            raise UsageError(
                "A prior has whole counts, none below 0; shares are made of them.",
                code="prior-not-whole",
            )
        if not cells.key.size:
            raise UsageError(
                "The prior counts no people and has no information; publish without it.",
                code="prior-empty",
            )
        finest = 1 if cells.grid == grid else _finest(grid, cells.grid)
        return cls(grid, cells.key * np.uint64(finest), cells.count, finest, source.strip())

    @cached_property
    def cumulative(self) -> NDArray[np.int64]:
        """Prefix sums of the counts, from which any block's people follow: int64[m + 1]."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.count)])

    @cached_property
    def floor(self) -> float:
        """People added to every key, so that no share is 0."""
        # Even where the prior has nobody, people may have moved in; a share of 0 could never
        # recover.
        even = FLOOR_OF_ALL * exact_sum(self.count) / prod(self.grid.order.radices)
        return min(FLOOR_OF_CELL, even)

    @cached_property
    def sha256(self) -> str:
        """Digest of its cells, for the operator: keys, counts, and the keys that each covers."""
        state = hashlib.sha256(b"geodp prior %d %d " % (self.finest, self.key.size))
        # Fixed byte order, so that the digest is the same on every machine.
        state.update(self.key.astype("<u8").tobytes())
        state.update(self.count.astype("<i8").tobytes())
        return state.hexdigest()

    def counts_at(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the counts of the prior's cells that hold some keys: int64[n]; 0 without one."""
        at = np.searchsorted(self.key, key, side="right") - 1
        first = self.key[np.maximum(at, 0)]
        held = (at >= 0) & (key < first + np.uint64(self.finest))
        return np.where(held, self.count[np.maximum(at, 0)], 0)

    def describe(self) -> StatedPrior:
        """Describe the prior for a card before anything is drawn."""
        return StatedPrior(self.source, RULES, self.finest, MEANING)

    def share_children(
        self, prefix: NDArray[np.uint64], stride: int, fanout: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Compute the prior's people of the children of nodes, and of the nodes; none is 0.

        None if nodes are no larger than the prior's cells: there, the prior has no information.

        Parameters
        ----------
        prefix : uint64[n]
            Strictly increasing: child j covers ``stride`` keys from
            ``(prefix * fanout + j) * stride`` on.

        Returns
        -------
        (float64[n * fanout], float64[n]) or None
        """
        block = max(stride, self.finest)
        if block >= stride * fanout:
            return None
        parts, each = stride * fanout // block, block // stride
        held = np.zeros(prefix.size * parts, np.int64)
        share, total = np.empty(prefix.size * fanout), np.empty(prefix.size)
        kernels.count_children(prefix, np.uint64(block), parts, self.key, self.cumulative, held)
        kernels.share_prior(held, (parts, each), self.floor * block, share, total)
        return share, total


def _finest(fine: Grid, coarse: Grid) -> int:
    """Return the number of a grid's keys that a cell of a coarser grid covers."""
    radices = fine.order.radices
    for digits in range(len(radices)):
        try:
            # Coarser grids are tried from the coarsest on; all of them are blocks of the fine
            # grid's keys.
            candidate = Coarsening.by_digits(fine, digits).grid
        except UsageError:
            continue
        if candidate == coarse:
            return prod(radices[digits:])
    raise UsageError(OTHER_GRID)
