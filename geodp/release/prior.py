"""Which prior a release goes by, and who vouches for it: settled before anything is charged."""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.release.release import Release
from geodp.table.counts import CountTable
from geodp.table.prior import OTHER_GRID, Prior


def agree_on_prior(
    table: CountTable, prior: CountTable | Release | Prior | None, source: str | None
) -> Prior | None:
    """Return the prior of a release; UsageError where it is none, or nobody vouches for it."""
    if prior is None:
        if source is not None:
            raise UsageError("The source of a prior goes with a prior only.")
        return None
    if prior is table:
        raise UsageError("The prior is the table itself; a prior must not be made from it.")
    if not isinstance(prior, Prior):
        if not isinstance(prior, CountTable | Release):
            raise UsageError("A prior is a CountTable, a Release or a Prior.")
        cells = prior.table if isinstance(prior, Release) else prior
        return Prior.of(table.grid, cells, source or "")
    if source is not None:
        raise UsageError("A Prior has its own source; leave out prior_source.")
    if prior.grid != table.grid:
        raise UsageError(OTHER_GRID)
    return prior
