"""Declare the prior of a release of flows, before anything is charged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.prior import FlowsPrior
from geodp.kinds.flows.zones import Zones, pairs_of, zones_of
from geodp.release.inputs import describe_charge
from geodp.table.counts import Cells, CountTable, coalesce
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable

OTHER_ZONES = Rule(
    "flows-prior-zones",
    "The prior has other zones than this release: read its trips on the same grid.",
)


def declare_prior(
    zones: Zones, prior: Flows | CountTable, source: str | None, *, left_out: bool = False
) -> FlowsPrior:
    """Make the prior of a release of flows between zones; ``left_out``: see FlowsPrior.

    Raises UsageError for an object that is no prior, for other zones, and for a prior that is
    neither declared public by a source nor was charged to a ledger.
    """
    if not isinstance(prior, Flows | CountTable):
        raise UsageError(
            "A prior of flows is a release of flows, or a table that geodp.flows.read_trips has "
            "read.",
            code="flows-prior-kind",
        )
    cells = prior.flows.table if isinstance(prior, Flows) else prior
    pairs = pairs_of(zones.grid)
    if len(cells.grid.places) != 2:
        raise UsageError(OTHER_ZONES)
    require_same_zones(
        prior.origins.grid if isinstance(prior, Flows) else zones_of(cells.grid), zones.grid
    )
    if isinstance(prior, Flows):
        source = source or describe_charge(prior.index.budget)
    known = Prior.of(pairs, _without_labels(cells, pairs), source or "")
    return FlowsPrior.of(zones, known, known.source, left_out)


def give_prior(release: Flows, prior: Flows | CountTable) -> Flows:
    """Return a release with its prior given again, which its files do not have.

    Parameters
    ----------
    release : Flows
        Opened from its folder, which has no file of its prior.
    prior : Flows or CountTable
        The prior as :func:`geodp.flows.publish` took it. No card has a digest of it, so that
        another one between the same zones is not recognised.

    Raises
    ------
    UsageError
        A release without a prior, or whose files have it; a prior of other zones, or of records.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((4, 4))
    >>> before = geodp.CountTable.from_dense(np.ones((4, 4, 4, 4), np.int64), grid.pairs())
    >>> told = {"prior": before, "prior_source": "made up", "leave_out_prior": True}
    >>> now = geodp.CountTable.from_dense(2 * before.to_dense(), grid.pairs())
    >>> release = geodp.flows.publish(now, epsilon=1, contribution=1, **told)
    >>> geodp.flows.give_prior(release, before).prior.trips
    256
    """
    stated = release.index.prior
    if stated is None or not stated.left_out:
        raise UsageError(
            "This release was made without a prior, or its files have it: leave out the prior "
            "(--prior).",
            code="flows-prior-not-needed",
        )
    zones = Zones.of(release.origins.grid)
    return replace(release, prior=declare_prior(zones, prior, stated.source, left_out=True))


def require_same_zones(known: Grid, wanted: Grid) -> None:
    """Raise UsageError where the zones of a prior are others than those of a release.

    The words for their source may differ, as of a table that was named anew, if codes and outlines,
    or the cells of a mask, are the same.
    """
    if known == wanted:
        return
    if _describe_zones(known) != _describe_zones(wanted):
        raise UsageError(OTHER_ZONES)
    outlines = [one.known_outlines and one.known_outlines.sha256 for one in (known, wanted)]
    if outlines[0] != outlines[1]:
        raise UsageError(
            "The prior's units have the codes of this release's and other outlines, so that its "
            "flows may be between other areas: read it with the same file of outlines.",
            code="flows-prior-outlines",
        )


def _describe_zones(grid: Grid) -> dict[str, Any]:
    """Describe zones without their outlines, and without the words for their source."""
    described = grid.describe()
    described.pop("outlines", None)
    for part in (described["mask"], described["order"]):
        table = part.get("regions", part) if isinstance(part, dict) else {}
        table.pop("source", None)
    return described


def _without_labels(cells: ReleasedTable | CountTable, pairs: Grid) -> Cells:
    """Add up the labels of cells on pairs of the same zones, of which a release stays one."""
    if not cells.grid.attributes:
        return cells if cells.grid == pairs else replace(cells, grid=pairs)
    # Fractions stay as they are, and are refused as a prior.
    each: Any = cells.count
    key, count = coalesce(pairs.encode(cells.grid.decode(cells.key)[:4]), each)
    if isinstance(cells, ReleasedTable):
        return ReleasedTable(pairs, key, count, cells.event)
    return CountTable.from_keys(pairs, key, count, bound=cells.bound, reading=cells.reading)
