"""Questions about a map as candidates with whole utilities: hot spots, quantiles."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.domain import skip_ranks
from geodp.kinds.selection.mechanisms.base import STREAMS, Candidates, Selector
from geodp.privacy.key import NoiseKey, Stream


@dataclass(frozen=True, eq=False)
class Counted:
    """Public candidates by number, with the counts that are not 0, which no repr shows.

    Attributes
    ----------
    rank : int64[m]
        Numbers of the candidates with a count, strictly increasing.
    count : int64[m]
        Above 0.
    size : int
        Number of all candidates, at most ``2**62``.
    """

    rank: NDArray[np.int64] = field(repr=False)
    count: NDArray[np.int64] = field(repr=False)
    size: int


def draw_top(
    selector: Selector, counted: Counted, k: int, rate: Fraction, key: NoiseKey
) -> list[int]:
    """Draw k candidates with large counts, one after another, and return their numbers.

    In each round the utility of a candidate is its count, and those chosen before are left out.
    Each is a separate draw from separate streams; draw r has ``exp(-rate deficit)`` with the
    deficit in counts. Candidates without a count are drawn together, and are not visited.

    Parameters
    ----------
    selector : Selector
    counted : Counted
    k : int
        1 to ``counted.size``.
    rate : Fraction
        Rate of one round.
    key : NoiseKey
    """
    rank, count, chosen = counted.rank, counted.count, list[int]()
    # Chosen candidates stay out of all later rounds, also those without a count.
    taken = counted.rank[:0]
    for draw_number in range(k):
        best = int(count.max(initial=0))
        others = counted.size - rank.size - taken.size
        position = selector.draw(
            Candidates(best - count, rate, others, best), key, Stream.SELECT + STREAMS * draw_number
        )
        if position < rank.size:
            chosen.append(int(rank[position]))
            rank, count = np.delete(rank, position), np.delete(count, position)
            taken = np.append(taken, chosen[-1])
        else:
            # An unlisted position counts candidates that are neither listed nor taken.
            out = np.sort(np.concatenate([rank, taken]))
            chosen.append(skip_ranks(out, np.array([position - rank.size])).item())
            taken = np.append(taken, chosen[-1])
    return chosen


def quantile_candidates(count: NDArray[np.int64], q: Fraction, rate: Fraction) -> Candidates:
    """Rate the positions along an axis by their distance from a quantile.

    The deficit of a position is how many of n people are missing for ``q n`` to lie between the
    number before it and the number up to and including it; in people over the denominator of q.
    One more person changes ``q n`` by q and those numbers by 0 or 1, so a deficit by at most
    ``max(q, 1 - q)``; a person who moves changes it by at most 1.

    Parameters
    ----------
    count : int64[positions]
        People of each position, 0 or more; at most ``2**60`` in all.
    q : Fraction
        Above 0, below 1.
    rate : Fraction
        Decay per person.

    Examples
    --------
    >>> quantile_candidates(np.array([2, 0, 1, 1]), Fraction(1, 2), Fraction(1)).deficit.tolist()
    [0, 0, 0, 2]
    """
    after: NDArray[Any] = np.cumsum(count)
    people, numerator, denominator = int(after[-1]), q.numerator, q.denominator
    # Products beyond int64 are kept as Python's whole numbers, not rounded.
    if people * denominator >= 1 << 62:
        after, count = after.astype(object), count.astype(object)
    middle = numerator * people
    over, under = denominator * (after - count) - middle, middle - denominator * after
    return Candidates(np.maximum(np.maximum(over, under), 0), rate / denominator, unit=denominator)
