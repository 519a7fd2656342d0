"""List what the guarantee of a release assumes, and who vouches for each assumption."""

from __future__ import annotations

from geodp.grid.grid import Grid
from geodp.privacy.assumption import Assumption
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.prior import StatedPrior

PRIOR_PUBLIC = "The prior is public, or a release that was charged itself."
"""The assumption on a prior, which geodp cannot check."""


def list_assumptions(
    contribution: Assumption,
    grid: Grid,
    prior: StatedPrior | None = None,
    totals: PublicTotals | None = None,
) -> tuple[Assumption, ...]:
    """List the assumptions of a release: contribution, domain, and what was public before.

    geodp cannot check whether a domain or a prior was derived from the data, and an error raised
    because it looks derived would itself reveal data. The operator vouches by naming a source.
    ``contribution``: the assumption on how often a unit is counted.
    """
    domain = grid.domain
    # Contribution and domain come first: without them no definition of neighbours applies at all.
    assumptions = [
        contribution,
        Assumption(
            "domain", "The grid and the domain were chosen without the records.", "operator"
        ),
    ]
    if domain.source:
        statement = f"The {domain.kind} is public and was not made from the records."
        assumptions.append(Assumption(domain.kind, statement, "operator", domain.source))
    if prior is not None:
        assumptions.append(Assumption("prior", PRIOR_PUBLIC, "operator", prior.source))
    if totals is not None:
        statement = "The totals that the release meets exactly were public before."
        assumptions.append(Assumption("public totals", statement, "operator", totals.source))
    return tuple(assumptions)
