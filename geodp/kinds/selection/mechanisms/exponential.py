"""The exponential mechanism: a candidate is as likely as its utility's exponential."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.kinds.selection.mechanisms.base import PUBLIC_CANDIDATES, Candidates, Selector
from geodp.privacy.event import Guarantee
from geodp.privacy.key import NoiseKey, draw_digits
from geodp.privacy.noise.draws import UNIFORM, Draw
from geodp.privacy.noise.exact_draws import Decay, draw_one_below

# Digits of weights beyond those of the uniform number, so that ties of bounds are rare.
_EXTRA = 128


class Exponential(Selector):
    """McSherry and Talwar (2007): the probability is proportional to ``exp(-rate deficit)``.

    Candidates of one deficit are drawn together, by a uniform number's position among cumulative
    weights, and then one of them. The sums are integer bounds of the real ones; where they leave
    the position undecided, closer bounds and further digits decide.
    """

    name: ClassVar[str] = "exponential"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "exponential mechanism (McSherry and Talwar 2007)"
    citation: ClassVar[str] = (
        "McSherry, Talwar: Mechanism Design via Differential Privacy. FOCS 2007."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        precondition=PUBLIC_CANDIDATES,
        source="McSherry and Talwar (2007), theorem 6: epsilon / (2 sensitivity) a unit of "
        "utility, or epsilon / sensitivity where utilities are monotone",
    )

    def draw(self, candidates: Candidates, key: NoiseKey, stream: int) -> int:
        """Draw the position of a candidate; from n on, one that is not listed."""
        distance, size = np.unique(candidates.deficit, return_counts=True)
        weights = dict(zip(map(int, distance), map(int, size), strict=True))
        if candidates.others:
            total = weights.get(candidates.beyond, 0) + candidates.others
            weights[candidates.beyond] = total
        weights = dict(sorted(weights.items()))
        chosen = _draw_group(candidates.decay, weights, key, stream)
        tied = np.flatnonzero(candidates.deficit == chosen)
        # Candidates of one deficit are equally likely, listed or not.
        number = draw_one_below(weights[chosen], key, stream + 1)
        if number < tied.size:
            return int(tied[number])
        return int(candidates.deficit.size + number - tied.size)

    def declare(self, rate: Fraction, stream: int) -> tuple[Draw, ...]:
        """List the draws: a deficit by its weight, and one of the candidates that have it."""
        return Draw(stream, Decay(rate).identity), Draw(stream + 1, UNIFORM)

    def weigh(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute each share of the sum."""
        return np.asarray(chance / chance.sum(), np.float64)


def _draw_group(decay: Decay, weights: dict[int, int], key: NoiseKey, stream: int) -> int:
    """Draw a deficit by the weight of all candidates that have it."""
    more = draw_digits(key, stream, 0, decay.identity)
    uniform, digits = next(more), 64
    while True:
        bounds, sizes = decay.intervals([*weights], digits + _EXTRA), [*weights.values()]
        low = list(accumulate(n * b[0] for n, b in zip(sizes, bounds, strict=True)))
        high = list(accumulate(n * b[1] for n, b in zip(sizes, bounds, strict=True)))
        # U lies in [uniform, uniform + 1) / 2**digits: find sums surely above U times the last one.
        place = _find(uniform, digits, low, high)
        if place is not None:
            return list(weights)[place]
        # The bounds leave the position open: more digits of the same number decide it.
        uniform, digits = (uniform << 64) | next(more), digits + 64


def _find(uniform: int, digits: int, low: list[int], high: list[int]) -> int | None:
    """Find the first sum above a part of the last one; None where bounds leave it undecided."""
    for place, (lower, upper) in enumerate(zip(low, high, strict=True)):
        # U is below 1, so the last sum is always above its part.
        if place == len(low) - 1 or (uniform + 1) * high[-1] <= lower << digits:
            return place
        if uniform * low[-1] < upper << digits:
            return None
    return None


exponential = Exponential()
SELECTORS = (exponential,)
