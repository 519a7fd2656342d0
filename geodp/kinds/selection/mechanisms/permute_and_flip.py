"""Permute-and-flip: candidates flip coins in a random order, and the first to win is chosen."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.kinds.selection.mechanisms.base import PUBLIC_CANDIDATES, Candidates, Selector
from geodp.privacy.event import Guarantee
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.draws import UNIFORM, Draw
from geodp.privacy.noise.exact_draws import Decay, draw_below, draw_one_below


class PermuteAndFlip(Selector):
    """McKenna and Sheldon (2020): never a worse expected utility than the exponential mechanism.

    Every candidate accepts with the chance ``exp(-rate deficit)``, independently, and the first
    one in a random order is chosen: a uniformly random one of those that accept.

    Unlisted candidates all have one chance p. In a random order of them, the number before the
    first that accepts is geometric with ratio ``1 - p``, cut off at their number where none
    accepts. One by one the accepting listed candidates are inserted into that order at random: the
    unlisted one is chosen if and only if none comes before it. So the cost of a draw grows with the
    listed candidates only, whatever the size of the domain.
    """

    name: ClassVar[str] = "permute-and-flip"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "permute-and-flip (McKenna and Sheldon 2020)"
    citation: ClassVar[str] = (
        "McKenna, Sheldon: Permute-and-Flip: A new mechanism for differentially private selection. "
        "NeurIPS 2020."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        precondition=PUBLIC_CANDIDATES,
        source="McKenna and Sheldon (2020), theorem 1: epsilon / (2 sensitivity) a unit of "
        "utility, or epsilon / sensitivity where utilities are monotone",
    )

    def draw(self, candidates: Candidates, key: NoiseKey, stream: int) -> int:
        """Draw the position of a candidate; from n on, one that is not listed."""
        decay, n = candidates.decay, candidates.deficit.size
        accepting = np.flatnonzero(decay.flip(candidates.deficit, key, stream))
        if candidates.others:
            before = decay.count_before(candidates.beyond, candidates.others, key, stream + 1)
            if _comes_first(before, candidates.others, accepting.size, key, stream + 2):
                return n + draw_one_below(candidates.others, key, stream + 3)
        # The best candidate has deficit 0 and always accepts, so the list is never empty.
        return int(accepting[draw_one_below(accepting.size, key, stream + 3)])

    def declare(self, rate: Fraction, stream: int) -> tuple[Draw, ...]:
        """List the draws: coins of listed and of other candidates, and two random choices."""
        coins = Decay(rate).identity
        return (
            Draw(stream, coins),
            Draw(stream + 1, coins),
            Draw(stream + 2, UNIFORM),
            Draw(stream + 3, UNIFORM),
        )

    def weigh(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute ``p_i`` times the integral of the product of ``1 - p_j + p_j t`` over 0 < t < 1.

        Here j runs over all others: it is the mean of 1 / (1 + the number of them that accept).
        """
        probabilities = np.empty(chance.size)
        # Gauss's rule with this number of nodes is exact for the degree of the product.
        node, weight = np.polynomial.legendre.leggauss(chance.size // 2 + 1)
        t = (node + 1) / 2
        factor = 1 - chance[:, None] + chance[:, None] * t
        for i in range(chance.size):
            rest = np.delete(factor, i, axis=0).prod(axis=0)
            probabilities[i] = chance[i] * (weight / 2) @ rest
        return probabilities


def _comes_first(before: int, others: int, accepting: int, key: NoiseKey, stream: int) -> bool:
    """Draw whether an unlisted candidate with ``before`` others before it is the first of all.

    Listed candidate i, counted from 1, has ``others + i`` places in the order of those before it,
    of which ``before + 1`` come before the unlisted one.
    """
    # No unlisted candidate accepts.
    if before >= others:
        return False
    places = np.uint64(others) + np.arange(1, accepting + 1, dtype=np.uint64)
    drawn = draw_below(places, key, stream)
    return bool((drawn > np.uint64(before)).all())


permute_and_flip = PermuteAndFlip()
SELECTORS = (permute_and_flip,)
