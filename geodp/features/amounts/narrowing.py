"""Narrow the intervals of a stream that was estimated with a prior, by simulation with it.

Closed forms know nothing of the prior, and are too wide. Simulated releases have stand-ins for the
truth that are made of the release, which a prior has drawn to its side already: of a prior that is
noisy itself, such as an earlier release, they show too little of what it took. So an interval lies
halfway between both, on a logarithmic scale: its half is the root of the product of their halves.
docs/measured/amounts.md has how often such intervals hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

from geodp.accuracy.interval import Estimate
from geodp.features.amounts.card import StatedAmountsPrior, StatedStreamPrior
from geodp.grid.region import Region
from geodp.release.release import Release
from geodp.release.simulation import SIMULATION
from geodp.table.prior import Prior
from geodp.table.stated.prior import StatedPrior


def narrow_estimates(one: Release, regions: Sequence[Region], prior: Prior) -> list[Estimate]:
    """Estimate regions of a stream with intervals between the closed form and those simulated.

    Parameters
    ----------
    one : Release
        A stream that states the prior with which it was estimated.
    regions : sequence of Region
    prior : Prior
        The same prior, with its cells.
    """
    closed = one.estimate_all(regions)
    # Without any use of it the stream is the one without a prior.
    if one.prior is None or not any(level.reliability for level in one.prior.levels):
        return closed
    simulated = one.estimate_all(regions, method=SIMULATION, prior=prior)
    return [_between(*pair) for pair in zip(closed, simulated, strict=True)]


def _between(closed: Estimate, simulated: Estimate) -> Estimate:
    """Return the closed form's estimate with an interval between it and the simulated one."""
    # Stand-ins have nobody where nothing was released.
    if not closed.count:
        return closed
    down = _half(closed.count - closed.low, closed.count - simulated.low)
    up = _half(closed.high - closed.count, simulated.high - closed.count)
    return replace(closed, low=closed.count - down, high=closed.count + up)


def _half(closed: float, simulated: float) -> float:
    """Return half an interval between two; a simulated one that is larger is taken as it is."""
    return max(simulated, sqrt(max(closed, 0.0) * max(simulated, 0.0)))


def state_stream(prior: StatedAmountsPrior, stream: StatedStreamPrior) -> StatedPrior:
    """State the prior of one stream, as that of a map is stated."""
    return StatedPrior(
        prior.source,
        prior.version,
        stream.finest,
        prior.meaning,
        stream.levels,
        stream.attenuation,
    )
