"""Simulated intervals of counts, sums and means of a release with a prior.

Both streams of sums are simulated as maps of counts are (:mod:`geodp.release.simulated_prior`).
Their errors are not independent, as what the prior does not know of people, or of their means, is
missing in both: margins are added up, in whichever direction they are the widest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.features.amounts.card import StatedAmountsPrior
from geodp.features.amounts.declaring import AnyPrior, declare_prior
from geodp.features.amounts.estimates import (
    ROUNDED,
    AmountEstimate,
    Ends,
    Interval,
    Margins,
    estimate_streams,
)
from geodp.features.amounts.numbers import AmountNumbers
from geodp.features.amounts.prior import AmountsPrior
from geodp.grid.region import Region
from geodp.release.simulated_estimates import simulate_estimates
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.stated.prior import StatedPrior
from geodp.typing import FloatArray

WITHOUT = Rule(
    "amounts-not-simulated",
    "Only sums and means of releases with a prior are simulated: leave out method='simulation' "
    "(--method).",
)

ASKED = Rule(
    "amounts-prior-asked",
    "This release was made with a prior, which it does not contain: give the same public map or "
    "release again, prior= (--prior).",
)

OTHER = Rule(
    "amounts-prior-other",
    "This is not the prior of the release of amounts, whose index names another release, or other "
    "cells.",
)


def simulate_amounts(
    release: AmountNumbers,
    regions: Sequence[Region],
    found: Sequence[AmountEstimate],
    prior: AnyPrior | None,
) -> list[AmountEstimate]:
    """Give estimates of regions simulated intervals of count, sum and mean.

    Parameters
    ----------
    release : AmountNumbers
    regions : sequence of Region
    found : sequence of AmountEstimate
        Their estimates with closed forms; medians, quantiles and shares keep theirs.
    prior : AnyPrior or None
        That of the release.

    Raises
    ------
    UsageError
        A release without a prior or without sums, or another prior.
    """
    stated, notches = release.index.prior, release.index.amount.notches
    if stated is None or notches is None:
        raise UsageError(WITHOUT)
    known = _declare(release, stated, prior)
    parts: list[Ends] = []
    error: FloatArray = np.zeros(len(regions))
    # Classes, whose priors follow, keep their closed forms.
    each_stream = zip(release.streams, stated.streams[:2], known.streams[:2], strict=True)
    for one, of_stream, expected in each_stream:
        used = StatedPrior(
            stated.source, stated.version, of_stream.finest, stated.meaning,
            of_stream.levels, of_stream.attenuation,
        )  # fmt: skip
        rows = simulate_estimates(replace(one, prior=used), regions, expected, notches)
        listed = [(row.count, row.low, row.high, row.standard_error) for row in rows]
        value, low, high, each = np.array(listed, np.float64).reshape(-1, 4).T / notches
        parts.append((value, low, high))
        error = error + each
    both = _margins(parts)
    total, low, high = both.combine([1, 1])
    count = total, np.maximum(low, 0.0), high
    ends = estimate_streams(both, release.scale, count)
    return [
        replace(
            one,
            count=replace(
                one.count, standard_error=float(error[i]), low=float(count[1][i]),
                high=float(high[i]),
            ),
            sum=Interval(*(float(part[i]) for part in ends["sum"])),
            mean=release.known(ends["mean"], i) if one.count.count > 0 else None,
        )
        for i, one in enumerate(found)
    ]  # fmt: skip


def _margins(parts: Sequence[Ends]) -> Margins:
    """Return the margins of streams, which are added up, and those of the rounding of records."""
    value, low, high = (np.stack(part) for part in zip(*parts, strict=True))
    rest = np.full_like(value, ROUNDED / np.sqrt(len(parts)))
    return Margins(value, rest, rest, value - low, high - value)


def _declare(
    release: AmountNumbers, stated: StatedAmountsPrior, prior: AnyPrior | None
) -> AmountsPrior:
    """Return the prior of every stream; UsageError if it is not that of the index."""
    if prior is None:
        raise UsageError(ASKED)
    none = np.empty(0, np.int64)
    records = CountTable.from_keys(release.count.grid, none.astype(np.uint64), none)
    source = None if isinstance(prior, Prior) else stated.source
    known = declare_prior(records, release.design, prior, source)
    assert known is not None  # as there is a prior
    same = known.state().streams == tuple(
        replace(one, levels=(), attenuation=()) for one in stated.streams
    )
    if not same or known.identity != stated.identity:
        raise UsageError(OTHER)
    return known
