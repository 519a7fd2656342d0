"""Choose the prior of a release: a public table, or an earlier release with its own charge."""

from __future__ import annotations

from geodp.errors import UsageError
from geodp.privacy.ledger import Charge
from geodp.release.release import Release
from geodp.table.counts import CountTable
from geodp.table.prior import OTHER_GRID, Prior
from geodp.table.stated.release import StatedCharge


def choose_prior(
    table: CountTable, prior: CountTable | Release | Prior | None, source: str | None
) -> Prior | None:
    """Make the prior of a release, before anything is charged.

    Raises UsageError for an object that is no prior, and for a prior that is neither declared
    public by a source nor was charged to a ledger.
    """
    if prior is None:
        if source is not None:
            raise UsageError(
                "The source of a prior goes with a prior only.", code="source-without-prior"
            )
        return None
    # A prior enters without noise: one made from the data would publish them uncharged.
    if prior is table:
        raise UsageError(
            "The prior is the table itself; a prior must not be made from it.",
            code="prior-is-table",
        )
    # An earlier release may be used freely, as its own charge has paid for it.
    if isinstance(prior, Release):
        return Prior.of(table.grid, prior.table, source or describe_charge(prior.charge))
    if not isinstance(prior, Prior):
        if not isinstance(prior, CountTable):
            raise UsageError("A prior is a CountTable, a Release or a Prior.", code="prior-kind")
        return Prior.of(table.grid, prior, source or "")
    if source is not None:
        raise UsageError(
            "A Prior has its own source; leave out prior_source.", code="prior-has-source"
        )
    if prior.grid != table.grid:
        raise UsageError(OTHER_GRID)
    return prior


def describe_charge(charge: Charge | StatedCharge | None) -> str:
    """Describe a release by its charge, as the source of a prior; empty without a charge."""
    if charge is None:
        return ""
    values = charge.describe()
    return (
        f"an earlier release that was charged itself: entry {values['sequence']} of the ledger "
        f"{values['ledger']}, data set {values['dataset']}"
    )
