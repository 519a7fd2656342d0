"""The interface of selection mechanisms, and what they draw for questions about a map.

A mechanism draws one of many candidates by its utility. Hot spots and quantiles are candidates with
whole utilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.domain import skip_ranks
from geodp.privacy.event import Guarantee
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.loss import Budget, rational, read_exact
from geodp.privacy.noise.draws import Draw, Draws
from geodp.privacy.noise.exact_draws import Decay
from geodp.privacy.selected import rate_of

STREAMS = 4
"""Number of noise streams of a draw."""

MAX_LISTED = 256
"""Largest number of candidates whose probabilities are computed."""

PUBLIC_CANDIDATES = (
    "the utility of no candidate differs between neighbours by more than the sensitivity, and the "
    "candidates were chosen without looking at the data"
)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Deficits of candidates from the best one, in whole units; no repr shows them.

    Attributes
    ----------
    deficit : int64[n], or object[n] of whole numbers of any length
        Utility of the best candidate minus that of each listed one: 0 or more.
    rate : Fraction
        Above 0: a unit of deficit makes a candidate ``exp(rate)`` times less likely, in the way of
        each mechanism.
    others : int
        Number of unlisted candidates, which all have the deficit ``beyond``; at most ``2**62``.
    beyond : int
    unit : int
        Deficit units in one unit of utility, by which the law of the draw is declared.
    """

    deficit: NDArray[Any] = field(repr=False)
    rate: Fraction
    others: int = field(default=0, repr=False)
    beyond: int = field(default=0, repr=False)
    unit: int = field(default=1, repr=False)

    @classmethod
    def of(cls, utilities: Sequence[Fraction], rate: Fraction) -> Self:
        """Build candidates from utilities, in units of their smallest common denominator."""
        unit = lcm(*(value.denominator for value in utilities))
        integers = [value.numerator * (unit // value.denominator) for value in utilities]
        best = max(integers)
        return cls(_array([best - value for value in integers]), rate / unit, unit=unit)

    @property
    def decay(self) -> Decay:
        """The law of the chances of whole deficits."""
        return Decay(self.rate, self.unit)


class Selector(ABC):
    """A published mechanism of selection, without settings.

    Calling it draws one of a list of utilities. A subclass gives the class attributes,
    :meth:`draw`, :meth:`declare` and :meth:`weigh`.

    Attributes
    ----------
    name : str
        Name on the command line and in cards.
    version : int
        Increased whenever another candidate may be drawn under the same key.
    title, citation : str
    guarantee : Guarantee
    """

    name: ClassVar[str]
    version: ClassVar[int]
    title: ClassVar[str]
    citation: ClassVar[str]
    guarantee: ClassVar[Guarantee]

    @abstractmethod
    def draw(self, candidates: Candidates, key: NoiseKey, stream: int) -> int:
        """Draw the position of a candidate; from n on, one that is not listed.

        Parameters
        ----------
        candidates : Candidates
        key : NoiseKey
        stream : int
            First of the ``STREAMS`` streams of this draw.
        """

    @abstractmethod
    def declare(self, rate: Fraction, stream: int) -> tuple[Draw, ...]:
        """List everything that :meth:`draw` can draw.

        ``rate``: decay per unit of utility; ``stream``: first stream of the draw.
        """

    @abstractmethod
    def weigh(self, chance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the probabilities of candidates from ``exp(-rate deficit)``: float64[n]."""

    def __call__(
        self,
        utilities: Sequence[Any],
        *,
        epsilon: Budget,
        sensitivity: Budget = 1,
        monotone: bool = False,
        key: NoiseKey | None = None,
    ) -> int:
        """Draw the position of one utility with pure differential privacy.

        Parameters
        ----------
        utilities : sequence of int, Fraction, float or str
            One for each public candidate, read exactly: a float is the decimal that it prints as.
        epsilon : str, int, float, Decimal or Fraction
        sensitivity : as epsilon
            Largest difference of any candidate's utility between neighbours.
        monotone : bool
            You vouch that neighbours differ in one direction only, as counts do where one person
            is added; not where one is replaced by another.
        key : NoiseKey, optional
            Default: fresh from the operating system and discarded. A key always draws the same
            from it, so derive one for every draw (:meth:`geodp.NoiseKey.derive`).

        Raises
        ------
        UsageError
            No utility, or one that is not a finite rational number; a budget or a sensitivity that
            is not above 0.
        """
        candidates = _candidates(utilities, epsilon, sensitivity, monotone)
        if not isinstance(key, NoiseKey | None):
            raise UsageError(
                "key must be a NoiseKey; NoiseKey(bytes) makes one for tests.", code="key-expected"
            )
        # The law is declared per unit of utility, whatever the denominators of a call are.
        rate = candidates.rate * candidates.unit
        draws = Draws.of(self.declare(rate, Stream.SELECT))
        fresh = NoiseKey.generate() if key is None else key
        # The restricted key refuses every draw that was not declared.
        restricted = fresh.restrict(draws)
        try:
            return self.draw(candidates, restricted, Stream.SELECT)
        finally:
            restricted.forget()
            if key is None:
                fresh.forget()

    def probabilities(
        self,
        utilities: Sequence[Any],
        *,
        epsilon: Budget,
        sensitivity: Budget = 1,
        monotone: bool = False,
    ) -> tuple[float, ...]:
        """Compute the law of a draw to the precision of a float; no draw uses it.

        Parameters are those of a call; UsageError also for more than 256 utilities.
        """
        if len(utilities) > MAX_LISTED:
            raise UsageError(
                f"Probabilities are computed for at most {MAX_LISTED} utilities.",
                code="utilities-too-many",
            )
        candidates = _candidates(utilities, epsilon, sensitivity, monotone)
        # Beyond this exponent a probability is 0 in floating point, and exp would only warn.
        far = [min(float(candidates.rate * int(d)), 1e3) for d in candidates.deficit]
        return tuple(self.weigh(np.exp(-np.array(far))).tolist())


def _candidates(
    utilities: Sequence[Any], epsilon: Budget, sensitivity: Budget, monotone: bool
) -> Candidates:
    """Read the candidates of a call exactly."""
    exact = [read_exact(value, "A utility") for value in utilities]
    if not exact:
        raise UsageError(
            "There is no candidate; give one utility for each.", code="candidates-missing"
        )
    if not isinstance(monotone, bool):
        raise UsageError("monotone must be True or False.", code="monotone-not-bool")
    rate = rate_of(rational(epsilon), rational(sensitivity, "sensitivity"), monotone)
    return Candidates.of(exact, rate)


def _array(deficits: list[int]) -> NDArray[Any]:
    """Convert whole numbers to int64, or to objects where one is longer."""
    # Larger deficits stay Python's whole numbers, which are exact at any size.
    if max(deficits) < 1 << 62:
        return np.array(deficits, np.int64)
    array = np.empty(len(deficits), object)
    array[:] = deficits
    return array


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
