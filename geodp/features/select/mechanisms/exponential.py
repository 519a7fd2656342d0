"""The exponential mechanism: a candidate is as likely as its utility's exponential."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.features.select.mechanisms.base import Candidates, Selector
from geodp.privacy.event import PURE, Guarantee
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.decay import Decay, draw_digits, draw_one_below
from geodp.privacy.noise.draws import UNIFORM, Draw

_EXTRA = 128  # digits of weights beyond those of the uniform number


class Exponential(Selector):
    """McSherry and Talwar (2007): the probability is proportional to ``exp(-rate deficit)``.

    Candidates of one deficit are drawn together, by a uniform number's place among sums of
    weights, and then one of them. The sums are integer bounds of the real ones; where they leave
    the place open, closer bounds and further digits decide.
    """

    name: ClassVar[str] = "exponential"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "exponential mechanism (McSherry and Talwar 2007)"
    citation: ClassVar[str] = (
        "McSherry, Talwar: Mechanism Design via Differential Privacy. FOCS 2007."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition="the utility of no candidate differs between neighbours by more than the "
        "sensitivity, and the candidates were chosen without looking at the data",
        source="McSherry and Talwar (2007), theorem 6: epsilon / (2 sensitivity) a unit of "
        "utility, or epsilon / sensitivity where utilities are monotone",
    )

    def draw(self, candidates: Candidates, key: NoiseKey, stream: int) -> int:
        """Return the position of the chosen candidate; from n on, one that is not listed."""
        distance, size = np.unique(candidates.deficit, return_counts=True)
        weights = dict(zip(map(int, distance), map(int, size), strict=True))
        if candidates.others:
            both = weights.get(candidates.beyond, 0) + candidates.others
            weights[candidates.beyond] = both
        weights = dict(sorted(weights.items()))
        chosen = _draw_group(candidates.decay, weights, key, stream)
        alike = np.flatnonzero(candidates.deficit == chosen)
        number = draw_one_below(weights[chosen], key, stream + 1)
        if number < alike.size:
            return int(alike[number])
        return int(candidates.deficit.size + number - alike.size)

    def declare(self, rate: Fraction, stream: int) -> tuple[Draw, ...]:
        """Return a deficit by its weight, and one candidate among those that have it."""
        return Draw(stream, Decay(rate).identity), Draw(stream + 1, UNIFORM)

    def weigh(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return shares of the sum."""
        return np.asarray(chance / chance.sum(), np.float64)


def _draw_group(decay: Decay, weights: dict[int, int], key: NoiseKey, stream: int) -> int:
    """Return a distance, drawn by how many candidates have it and their weight."""
    more = draw_digits(key, stream, decay.identity)
    uniform, digits = next(more), 64
    while True:
        bounds, sizes = decay.intervals([*weights], digits + _EXTRA), [*weights.values()]
        low = list(accumulate(n * b[0] for n, b in zip(sizes, bounds, strict=True)))
        high = list(accumulate(n * b[1] for n, b in zip(sizes, bounds, strict=True)))
        # U lies in [uniform, uniform + 1) / 2**digits: which sums are surely above U times all?
        place = _find(uniform, digits, low, high)
        if place is not None:
            return list(weights)[place]
        uniform, digits = (uniform << 64) | next(more), digits + 64


def _find(uniform: int, digits: int, low: list[int], high: list[int]) -> int | None:
    """Return the first sum above a part of the last one; None where bounds leave it open."""
    for place, (least, most) in enumerate(zip(low, high, strict=True)):
        if place == len(low) - 1 or (uniform + 1) * high[-1] <= least << digits:
            return place
        if uniform * low[-1] < most << digits:
            return None
    return None


exponential = Exponential()
SELECTORS = (exponential,)
