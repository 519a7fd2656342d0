"""Declare the prior of a release of flows, before anything is charged."""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.features.flows.flows import Flows
from geodp.features.flows.prior import FlowsPrior
from geodp.features.flows.zones import Zones
from geodp.grid.grid import Grid
from geodp.release.prior import choose_prior, describe_charge
from geodp.table.counts import Cells, CountTable, coalesce
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable


def declare_prior(
    table: CountTable, prior: Flows | CountTable | None, source: str | None
) -> FlowsPrior | None:
    """Make the prior of a release of a table; None without one.

    Raises UsageError for an object that is no prior, for other zones, and for a prior that is
    neither declared public by a source nor was charged to a ledger.
    """
    if prior is None or prior is table:
        choose_prior(table, prior, source)
        return None
    if not isinstance(prior, Flows | CountTable):
        raise UsageError(
            "A prior of flows is a release of flows, or a table that geodp.flows.read_trips has "
            "read.",
            code="flows-prior-kind",
        )
    cells: Cells = prior.flows.table if isinstance(prior, Flows) else prior
    pairs = Grid(table.grid.places)
    if len(table.grid.places) != 2 or Grid(cells.grid.places) != pairs:
        raise UsageError(
            "The prior has other zones than this release: read its trips on the same grid.",
            code="flows-prior-zones",
        )
    if isinstance(prior, Flows):
        source = source or describe_charge(prior.index.budget)
    zones = Zones.of(Grid(pairs.places[:1]))
    known = Prior.of(pairs, _without_labels(cells, pairs), source or "")
    index = pairs.decode(known.key)
    origin, destination = (
        zones.key.searchsorted(zones.grid.encode(index[at : at + 2])) for at in (0, 2)
    )
    return FlowsPrior.of(zones, (origin, destination), known.count, known.source)


def _without_labels(cells: Cells, pairs: Grid) -> Cells:
    """Add up the labels of cells, of which a release stays one."""
    if not cells.grid.attributes:
        return cells
    key, count = coalesce(pairs.encode(cells.grid.decode(cells.key)[:4]), cells.count)
    if isinstance(cells, ReleasedTable):
        return ReleasedTable(pairs, key, count, cells.event)
    return CountTable.from_keys(pairs, key, count)
