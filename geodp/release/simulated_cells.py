"""Compute margins of single cells from simulated releases instead of public maps.

The biases of settlements on the card are simulated in :mod:`geodp.release.settlements`.

Errors are tallied by class of cell in releases of known tables, which are public: maps of ``python
-m bench margins``, or synthetic ones made from a release.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.cell_interval import ClampedIntervals
from geodp.accuracy.margins import (
    CHILDREN,
    MARGINS,
    MIN_MARGIN,
    SHARES,
    Margins,
    margins_of,
    span_of,
)
from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.write.view import View
from geodp.mechanisms import Mechanism, find_method, is_method
from geodp.mechanisms.base import Method
from geodp.privacy.event import Measurement, TableEvent
from geodp.release.opening import state_margins
from geodp.release.release import SMOOTHED, Release
from geodp.release.settlements import simulate_settlements
from geodp.release.simulation import Simulation
from geodp.table.counts import Cells, ReleasedTable
from geodp.table.measured import MeasuredLevels

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


MIN_RELEASES, MAX_RELEASES = 20, 10_000
"""Allowed numbers of simulated releases of each stand-in."""


def require_simulated(method: Method[Any], grid: Grid, event: TableEvent, releases: int) -> None:
    """Raise UsageError if cells of a release cannot be simulated, before anything is drawn."""
    if not MIN_RELEASES <= releases <= MAX_RELEASES:
        raise UsageError(
            f"The number of simulated releases is 0, or from {MIN_RELEASES} to {MAX_RELEASES:,}.",
            code="simulated-releases-range",
        )
    central = isinstance(method, Mechanism) and isinstance(event, Measurement)
    if not central or not method.nonnegative or method.block_errors(grid, event) is None:
        raise UsageError(
            f"{method.name} clamps nothing, or has no standard errors of cells: leave out "
            "--simulate (simulate=).",
            code="simulated-nothing-clamped",
        )


def simulate_cells(release: Release, releases: int) -> Release:
    """Add simulated margins of cells, and simulated biases of settlements, to a release.

    The method runs on the release as it is, on a sharpened map (see
    :mod:`geodp.release.simulation`), on the release with settlements planted in empty places, and
    on synthetic maps. The first two give the margins of every class of cells, the third the
    possible loss of an isolated cell, the fourth the biases of settlements by size and
    surroundings. Everything is computed from the release, under public keys.

    Parameters
    ----------
    release : Release
    releases : int
        Number of releases of each of the four; 0: return the release unchanged.

    Raises
    ------
    UsageError
        As for :func:`require_simulated`.
    """
    if not releases:
        return release
    method, table = release.method, release.table
    require_simulated(method, table.grid, table.event, releases)
    assert isinstance(method, Mechanism)
    assert isinstance(table.event, Measurement)
    tree = method.tree_variance(table.grid, table.event)
    assert tree is not None  # methods that clamp and have errors of cells use a tree
    simulation = Simulation(method, table, table.event, tree, releases)
    progress.begin("Simulating releases", 4 * releases, public=True)
    count = table.count.astype(np.float64)
    margins, standin = [], simulation.stand_in(table.key, count)
    measured = np.zeros(MARGINS.up.shape, np.bool_)
    for sharper in (False, True):
        tally, shown = ErrorTally(), np.zeros(count.size)
        for trial in range(releases):
            drawn = replace(release, table=simulation.release(standin, trial))
            intervals = drawn.intervals()
            assert isinstance(intervals, ClampedIntervals)
            tally.add(standin, drawn.table, intervals)
            shown += drawn.table.counts_at(table.key)
        margins.append(tally.margins())
        measured |= tally.shows_losses()
        if not sharper:
            # What the simulation shows too little of is added: the truth can be that much larger.
            more = np.maximum(2 * count - shown / releases, 0)
            standin = simulation.stand_in(table.key, more)
    every = largest(margins)
    measured &= np.isfinite(every.up)
    # Classes of cells of which the simulation saw too few keep the margins of public maps.
    public = margins_of(tree.drops)
    down, up = np.where(measured, every.down, public.down), np.where(measured, every.up, public.up)
    # Cells dropped by a threshold are missing in the stand-ins as well, so the simulation cannot
    # show their loss: never narrower than public maps then.
    if tree.drops:
        down, up = np.maximum(down, public.down), np.maximum(up, public.up)
    # A cell is the smallest planted settlement, of side 1. Where every planted cell gained, a loss
    # is negative; an interval still holds its own count.
    isolated_losses = tuple(np.maximum(simulation.losses()[0], 0.0).tolist())
    settlements = simulate_settlements(simulation)
    return replace(
        release, margins=Margins(down, up, isolated_losses, releases), settlements=settlements
    )


def errors_of(view: View) -> Release | None:
    """Compute a written release again from its table and the facts on its card.

    Parameters
    ----------
    view : View
        Its table, its card and, where they are published, its measurements and public totals.

    Returns
    -------
    Release or None
        The release, whose card, intervals and view are computed and not read; None for a method
        that this installation does not have.
    """
    table, card = view.table, view.card
    if not is_method(table.event.mechanism):
        return None
    made, error = card.guarantee, card.expected_error
    # Behind what follows from the event, a card lists facts about the input, which no file shows.
    first = 1 + len(table.event.not_protected)
    sources = {one.kind: one.source for one in made.assumptions or ()}
    totals = view.totals
    if totals is not None:
        # The table of totals does not say where they were published.
        totals = replace(totals, source=sources.get("public totals") or totals.source)
    release = Release(
        table,
        card.budget,
        None if error.floor is None else error.floor.people,
        tuple(made.not_protected[first:]),
        measurements=_level_again(view),
        totals=totals,
        prior=card.prior,
        postprocessing=tuple(one for one in card.post_processing if one.startswith(SMOOTHED)),
        margins=state_margins(card),
        metadata=card.metadata,
        reading=card.reading,
    )
    simulated = None if error.cells is None else error.cells.simulated
    return simulate_cells(release, simulated or 0)


def _level_again(view: View) -> MeasuredLevels | None:
    """Return measurements on the levels of their method, in place of those that a file states."""
    table, measured = view.table, view.measurements
    method = find_method(table.event.mechanism)
    if measured is None or not isinstance(method, Mechanism):
        return measured
    assert isinstance(table.event, Measurement)
    levels = method.list_levels(table.grid, table.event)
    if levels is None or len(levels) != len(measured.levels):
        raise VerificationError(
            "The measurements have other levels than the method.", code="measured-levels-differ"
        )
    pairs = zip(measured.levels, levels, strict=True)
    return MeasuredLevels(tuple(replace(one, level=own) for one, own in pairs))
