"""Margins of single cells from simulated releases of a release itself, instead of public maps.

And what the card says by simulation of settlements, see :mod:`geodp.release.settlements`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from geodp import progress
from geodp.accuracy.cell_interval import ClampedIntervals
from geodp.accuracy.margins import MARGINS, UNKNOWN, Margins, margins_of
from geodp.accuracy.tally import ErrorTally, largest
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.verify.intervals import CellErrors
from geodp.mechanisms import Mechanism, is_method
from geodp.mechanisms.base import Method
from geodp.privacy.event import Measurement, TableEvent
from geodp.release.card import state_cells
from geodp.release.release import Release
from geodp.release.settlements import simulate_settlements
from geodp.release.simulation import Simulation
from geodp.table.released import ReleasedTable

FEWEST, MOST = 20, 10_000
"""Releases of each stand-in that can be asked for."""


def require_simulated(method: Method[Any], grid: Grid, event: TableEvent, releases: int) -> None:
    """Raise UsageError where cells of a release cannot be simulated; nothing is read of it."""
    if not FEWEST <= releases <= MOST:
        raise UsageError(
            f"Simulated are {FEWEST} to {MOST:,} releases, or 0.", code="simulated-releases-range"
        )
    central = isinstance(method, Mechanism) and isinstance(event, Measurement)
    if not central or not method.nonnegative or method.block_errors(grid, event) is None:
        raise UsageError(
            f"{method.name} clamps nothing, or has no standard errors of cells: leave out "
            "--simulate (simulate=).",
            code="simulated-nothing-clamped",
        )


def simulate_cells(release: Release, releases: int) -> Release:
    """Return a release whose cells' intervals are those of simulated releases.

    The method runs on the release as it is, on a sharper map (see
    :mod:`geodp.release.simulation`), and on the release with settlements planted where it has
    nobody. The first two tell the margins of every class of cells, the third what a cell that
    stands alone can have lost. On made-up maps it tells what settlements lose by size and
    surroundings. All is computed from the release, under public keys.

    Parameters
    ----------
    release : Release
    releases : int
        Of each of these four; 0: leave it as it is.

    Raises
    ------
    UsageError
        As :func:`require_simulated`.
    """
    if not releases:
        return release
    method, table = release.method, release.table
    require_simulated(method, table.grid, table.event, releases)
    assert isinstance(method, Mechanism)
    assert isinstance(table.event, Measurement)
    tree = method.tree_variance(table.grid, table.event)
    assert tree is not None  # whoever clamps and has errors of cells works on a tree
    simulation = Simulation(method, table, table.event, tree, releases)
    progress.begin("Simulating releases", 4 * releases, public=True)
    count = table.count.astype(np.float64)
    found, standin = [], simulation.stand_in(table.key, count)
    known = np.zeros(MARGINS.up.shape, np.bool_)
    for sharper in (False, True):
        tally, shown = ErrorTally(), np.zeros(count.size)
        for trial in range(releases):
            own = replace(release, table=simulation.release(standin, trial))
            intervals = own.intervals()
            assert isinstance(intervals, ClampedIntervals)
            tally.add(standin, own.table, intervals)
            shown += own.table.counts_at(table.key)
        found.append(tally.margins())
        known |= tally.shows_losses()
        if not sharper:
            more = np.maximum(2 * count - shown / releases, 0)
            standin = simulation.stand_in(table.key, more)
    every = largest(found)
    known &= np.isfinite(every.up)  # the other classes keep the margins of public maps
    public = margins_of(tree.drops)
    down, up = np.where(known, every.down, public.down), np.where(known, every.up, public.up)
    if tree.drops:  # what was dropped is missing in the stand-ins, too
        down, up = np.maximum(down, public.down), np.maximum(up, public.up)
    # Where every planted cell gained, a loss is negative; an interval still holds its own count.
    alone = tuple(np.maximum(simulation.losses()[0], 0.0).tolist())
    settlements = simulate_settlements(simulation)
    return replace(release, margins=Margins(down, up, alone, releases), settlements=settlements)


def errors_of(
    table: ReleasedTable, simulated: int = 0, closed_form: bool = False
) -> CellErrors | None:
    """Return 95 % intervals of single cells of a release, and what its card says of errors.

    None of a method that is not known here. Raises UsageError where the error depends on the data.

    Parameters
    ----------
    table : ReleasedTable
    simulated : int
        As for :func:`simulate_cells`.
    closed_form : bool
        As the card says: whether margins of the closed form stand.
    """
    if not is_method(table.event.mechanism):
        return None
    known = UNKNOWN if closed_form else None
    release = simulate_cells(Release(table, margins=known), simulated)
    found, stated = release.intervals(), state_cells(release)
    if found is None or stated is None:
        raise UsageError(
            f"{table.event.mechanism} has no closed form of the error of a cell.",
            code="cell-error-unknown",
        )
    return CellErrors(found, stated, release.settlements)
