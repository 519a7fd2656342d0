"""Declare the prior of a release of flows, before anything is charged."""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.features.flows.flows import Flows
from geodp.features.flows.prior import FlowsPrior
from geodp.features.flows.zones import Zones, pairs_of, zones_of
from geodp.grid.grid import Grid
from geodp.release.prior import describe_charge
from geodp.table.counts import Cells, CountTable, coalesce
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable


def declare_prior(zones: Zones, prior: Flows | CountTable, source: str | None) -> FlowsPrior:
    """Make the prior of a release of flows between zones.

    Raises UsageError for an object that is no prior, for other zones, and for a prior that is
    neither declared public by a source nor was charged to a ledger.
    """
    if not isinstance(prior, Flows | CountTable):
        raise UsageError(
            "A prior of flows is a release of flows, or a table that geodp.flows.read_trips has "
            "read.",
            code="flows-prior-kind",
        )
    cells: Cells = prior.flows.table if isinstance(prior, Flows) else prior
    pairs = pairs_of(zones.grid)
    if len(cells.grid.places) != 2 or zones_of(cells.grid) != zones_of(pairs):
        raise UsageError(
            "The prior has other zones than this release: read its trips on the same grid.",
            code="flows-prior-zones",
        )
    if isinstance(prior, Flows):
        source = source or describe_charge(prior.index.budget)
    known = Prior.of(pairs, _without_labels(cells, pairs), source or "")
    index = pairs.decode(known.key)
    origin, destination = (zones.find(zones.grid.encode(index[at : at + 2])) for at in (0, 2))
    return FlowsPrior.of(zones, (origin, destination), known.count, known.source)


def _without_labels(cells: Cells, pairs: Grid) -> Cells:
    """Add up the labels of cells, of which a release stays one."""
    if not cells.grid.attributes:
        return cells
    key, count = coalesce(pairs.encode(cells.grid.decode(cells.key)[:4]), cells.count)
    if isinstance(cells, ReleasedTable):
        return ReleasedTable(pairs, key, count, cells.event)
    return CountTable.from_keys(pairs, key, count)
