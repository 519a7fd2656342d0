"""Errors of cells in releases of known tables, by class: the source of margins.

The tables are public: maps of ``python -m bench margins``, or synthetic ones made from a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.cell_interval import ClampedIntervals
from geodp.accuracy.margins import CHILDREN, MIN_MARGIN, SHARES, Margins, span_of
from geodp.grid.grid import Grid
from geodp.table.counts import Cells
from geodp.table.released import ReleasedTable

KINDS = ("empty", "few", "some", "populous")
"""Kinds of cells by their true people: none, fewer than each number in ``PEOPLE``, more."""

PEOPLE = (2.0, 8.0)
"""Limits in standard errors: a cell with fewer is often released as 0, one with more rarely."""

RISK = 0.025
"""Probability of an error beyond each of a cell's margins."""

ENOUGH = 150
"""Minimal cells of a class and kind for a quantile of their errors."""

STEPS, FURTHEST = 100, 40
"""Steps of a standard error, and the largest error in standard errors that is distinguished."""

CLASSES = (len(CHILDREN) + 1) * len(SHARES)


@dataclass(frozen=True, eq=False)
class ErrorTally:
    """Errors of cells that are not isolated, in standard errors.

    Attributes
    ----------
    cells : int64[kinds, classes, errors]
        Number of cells with an error in each step, from ``-FURTHEST`` on.
    """

    cells: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((len(KINDS), CLASSES, 2 * FURTHEST * STEPS + 1), np.int64),
        repr=False,
    )

    def add(self, truth: Cells, released: ReleasedTable, intervals: ClampedIntervals) -> None:
        """Count the cells of a release with its intervals, whose true table is known."""
        key = _list_company(truth.grid, released, span_of(intervals.tree.fanouts))
        if not key.size:
            return
        chosen = intervals.classes(key)
        key, chosen = key[chosen >= 0], chosen[chosen >= 0]
        people = truth.counts_at(key).astype(np.float64)
        error = np.sqrt(intervals.tree.nodes()[-1])
        kind = np.where(people > 0, 1 + np.searchsorted(PEOPLE, people / error, "right"), 0)
        off = (released.counts_at(key) - people) / error
        step = np.clip(np.rint(off * STEPS), -FURTHEST * STEPS, FURTHEST * STEPS).astype(np.int64)
        # `add.at` counts repeated indices, which plain assignment would not.
        np.add.at(self.cells, (kind, chosen, step + FURTHEST * STEPS), 1)

    def margins(self) -> Margins:
        """Return the margins that the classes need; infinity for those with few cells."""
        total = self.cells.sum(axis=2)
        before = self.cells.cumsum(axis=2)
        sides = []
        for beyond in (
            before >= np.ceil(total * (1 - RISK))[..., None],
            before > RISK * total[..., None],
        ):
            sides.append((beyond.argmax(axis=2) - FURTHEST * STEPS) / STEPS)
        # The largest margin over the kinds: a release does not show which kind a cell is.
        measured = total >= ENOUGH
        down, up = (np.where(measured, side, -inf).max(axis=0) for side in (sides[0], -sides[1]))
        bounded = (
            np.where(measured.any(axis=0), np.maximum(side, MIN_MARGIN), inf) for side in (down, up)
        )
        shaped = [np.asarray(side, np.float64).reshape(-1, len(SHARES)) for side in bounded]
        return Margins(shaped[0], shaped[1])

    def shows_losses(self) -> NDArray[np.bool_]:
        """Return which classes have enough populous cells, which lose most to a clamp.

        The result is bool[groups of children, groups of shares].
        """
        return np.asarray(self.cells[-1].sum(axis=1) >= ENOUGH).reshape(-1, len(SHARES))

    def held(self, margins: Margins) -> list[float]:
        """Return the share of cells of every kind within their margins.

        NaN if there are few cells.
        """
        error = np.arange(-FURTHEST * STEPS, FURTHEST * STEPS + 1) / STEPS
        down, up = (side.reshape(-1, 1) for side in (margins.down, margins.up))
        within = (-up <= error) & (error <= down)
        total = self.cells.sum(axis=(1, 2))
        share = (self.cells * within).sum(axis=(1, 2)) / np.maximum(total, 1)
        return [*np.where(total >= ENOUGH, share, np.nan).tolist()]


def _list_company(grid: Grid, released: ReleasedTable, span: int) -> NDArray[np.uint64]:
    """Return the cells of the domain in nodes of ``span`` keys with people: uint64[n]."""
    node = np.unique(released.key // np.uint64(span))
    number = np.arange(span, dtype=np.uint64)
    key = np.asarray(node[:, None] * np.uint64(span) + number, np.uint64).reshape(-1)
    return np.asarray(key[grid.contains_keys(key)], np.uint64)


def largest(every: list[Margins]) -> Margins:
    """Return the largest margins of several, ignoring those that are not measured."""
    sides = []
    for side in ("down", "up"):
        ends = np.array([getattr(one, side) for one in every])
        finite = np.isfinite(ends)
        maximum = np.where(finite, ends, -inf).max(axis=0)
        sides.append(np.where(finite.any(axis=0), maximum, inf))
    return Margins(sides[0], sides[1])
