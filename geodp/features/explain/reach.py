"""Bound how far a guarantee lets beliefs move about one person, or several dependent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
