"""Bound and compute posterior beliefs after a release, by Bayes' rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from geodp.errors import UsageError
from geodp.privacy.loss import Budget, rational


@dataclass(frozen=True)
class BeliefShift:
    """Bound on how far a release can change a belief.

    Attributes
    ----------
    shift : float
        Maximum change of the log odds of a belief, in either direction.
    chance : float
        Probability that they move further; 0 for a pure guarantee, 1 without any guarantee.
    advantage : float
        Advantage of the best guess between two equally likely cases: probability of being right
        minus that of being wrong, from 0 to 1.
    """

    shift: float
    chance: float
    advantage: float


def reach_of_pure(epsilon: float, people: int = 1) -> BeliefShift:
    """Bound beliefs under a pure guarantee: f people together have f times epsilon.

    The best guess between two distributions whose ratio is at most ``exp(epsilon)`` has the
    advantage ``tanh(epsilon / 2)``.
    """
    shift = people * epsilon
    return BeliefShift(shift, 0.0, math.tanh(shift / 2))


def reach_of_concentrated(rho: float, delta: float, people: int = 1) -> BeliefShift:
    """Bound beliefs under a zero-concentrated guarantee: f people together have f^2 times rho.

    The loss is above ``rho + 2 sqrt(rho ln(1 / delta))`` with a probability of at most delta (Bun
    and Steinke 2016, lemma 3.5, whose proof bounds the loss itself). The divergence of order 1 is
    at most rho, which bounds the advantage by ``sqrt(rho / 2)`` (Pinsker) and by
    ``sqrt(1 - exp(-rho))`` (Bretagnolle and Huber 1979).
    """
    rho *= people**2
    shift = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return BeliefShift(shift, delta, math.sqrt(min(rho / 2, -math.expm1(-rho))))


def reach_of_approximate(epsilon: float, delta: float, people: int = 1) -> BeliefShift:
    """Bound beliefs under an approximate guarantee.

    f people together have f times epsilon and delta times the sum of ``exp(i epsilon)`` for i
    below f. The loss is above ``epsilon + ln 2`` with a probability of at most ``2 delta``:
    outcomes of more than twice the allowed ratio have half of their probability in delta. The
    advantage is ``(exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1)`` (Kairouz, Oh, Viswanath
    2015).
    """
    shift = people * epsilon
    # Exponents are cut off at 700, beyond which a float overflows.
    together = min(1.0, delta * sum(math.exp(min(i * epsilon, 700.0)) for i in range(people)))
    wrong = 2 * (1 - together) / (1 + math.exp(min(shift, 700.0)))
    return BeliefShift(shift + math.log(2), min(1.0, 2 * together), 1 - wrong)


Chances = Mapping[int, float] | Sequence[float]
"""A distribution on integers: probabilities by number, or of 0, 1, 2 and so on."""

SLACK = 1e-9
"""Tolerance of the sum of probabilities, which are given as decimals."""


class Belief(NamedTuple):
    """Probability that somebody assigns to a statement about one person.

    Attributes
    ----------
    prior : float
        Before the release.
    least, most : float
        Bounds after any release.
    """

    prior: float
    least: float
    most: float


def beliefs(epsilon: Budget, priors: Sequence[float]) -> tuple[Belief, ...]:
    """Bound how far a release moves beliefs about one person.

    A prior p becomes at most ``p e / (p e + 1 - p)`` and at least ``p / (p + (1 - p) e)`` with
    ``e = exp(epsilon)``, if people are independent of one another. For dependent people, such as a
    household of f people with the same answer, beliefs move as far as with f times epsilon. Under
    replace-one neighbours this holds for any statement about one person. Under add-remove-one it
    holds for whether that person was counted; for where a counted person was, pass twice the
    epsilon.

    Parameters
    ----------
    epsilon : text, int, float or Fraction
        Loss of a pure guarantee, above 0.
    priors : sequence of float
        Probabilities from 0 to 1.

    Raises
    ------
    UsageError
        For an epsilon that is not above 0, or a prior outside 0 to 1.

    Examples
    --------
    >>> [round(one.most, 4) for one in beliefs(1, [0.01, 0.1, 0.5])]
    [0.0267, 0.232, 0.7311]
    """
    shift = float(rational(epsilon))
    return tuple(shift_belief(_chance(prior, "A prior"), shift) for prior in priors)


def shift_belief(prior: float, shift: float) -> Belief:
    """Bound a probability whose log odds move by at most ``shift``."""
    # exp(-shift) and not its inverse: exp of a large epsilon overflows, this merely becomes 0.
    shrunk = math.exp(-shift)
    most = prior / (prior + (1 - prior) * shrunk) if prior else 0.0
    least = prior * shrunk / (prior * shrunk + 1 - prior) if prior < 1 else 1.0
    return Belief(prior, least, most)


def posterior(
    prior: float, counts: Sequence[Chances] | Mapping[bool, Chances], noise: Chances, observed: int
) -> float:
    """Compute the posterior probability of a statement after a noisy count, by Bayes' rule.

    For teaching: the distributions of the count and of the noise are plain probabilities.

    Parameters
    ----------
    prior : float
        Probability of the statement before, from 0 to 1.
    counts : pair
        ``counts[False]`` is the distribution of the true count if the statement is false,
        ``counts[True]`` if it is true.
    noise : mapping or sequence
        Probabilities by number, or by size: of 0, of each of -1 and 1, of each of -2 and 2, and
        so on. ``[1]`` is no noise.
    observed : int
        The noisy count.

    Raises
    ------
    UsageError
        For probabilities that are negative or do not add up to 1, or an impossible count.

    Examples
    --------
    Each of two women has a grade with probability 0.4. The published number of those who have it
    is 1. Does the first of them have it?

    >>> two = [[0.6, 0.4], {1: 0.6, 2: 0.4}]
    >>> round(posterior(0.4, two, [0.30, 0.18, 0.11, 0.06], 1), 5)
    0.42424
    >>> posterior(0.4, two, [1], 1)
    0.5
    """
    before = _chance(prior, "The prior")
    if len(counts) != 2:
        raise UsageError(
            "Give two laws of the count: where the statement is false, and true.",
            code="laws-of-two",
        )
    if isinstance(noise, Mapping):
        errors = _law(noise, "noise")
    else:
        sizes = dict(enumerate(noise))
        errors = _law({sign * n: c for n, c in sizes.items() for sign in (-1, 1)}, "noise")
    seen = [
        sum(c * errors.get(observed - n, 0.0) for n, c in _law(counts[holds], "counts").items())
        for holds in (False, True)
    ]
    weights = (1 - before) * seen[False], before * seen[True]
    if not sum(weights):
        raise UsageError(
            "No true count gives the observed one with this noise.", code="count-impossible"
        )
    return weights[True] / sum(weights)


def _chance(value: float, name: str) -> float:
    """Return a probability as a float; raise UsageError for a number outside 0 to 1."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must be a chance from 0 to 1.", code="chance-not-0-to-1")
    return float(value)


def _law(chances: Chances, name: str) -> dict[int, float]:
    """Return probabilities by number; raise UsageError if they are no distribution."""
    pairs = chances.items() if isinstance(chances, Mapping) else enumerate(chances)
    law = {number: _chance(chance, f"Each of the {name}") for number, chance in pairs}
    if abs(sum(law.values()) - 1) > SLACK:
        raise UsageError(
            f"The chances of the {name} must add up to 1.", code="chances-do-not-add-up"
        )
    return law
