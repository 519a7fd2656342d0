"""What somebody may believe after a release who believed something before: Bayes' rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from geodp.errors import UsageError
from geodp.privacy.budget import Budget, rational

Chances = Mapping[int, float] | Sequence[float]
"""A law on whole numbers: chances by number, or of 0, 1, 2 and so on."""

SLACK = 1e-9
"""How far chances may miss a sum of 1: they are decimals."""


class Belief(NamedTuple):
    """The chance that somebody gives a statement about one person.

    Attributes
    ----------
    prior : float
        Before the release.
    least, most : float
        Bounds of what any release can make of it.
    """

    prior: float
    least: float
    most: float


def beliefs(epsilon: Budget, priors: Sequence[float]) -> tuple[Belief, ...]:
    """Return how far a release moves beliefs about one person.

    A chance p becomes at most ``p e / (p e + 1 - p)`` and at least ``p / (p + (1 - p) e)`` with
    ``e = exp(epsilon)``, where people are independent of one another: of dependent ones, such as
    a household of f people with the same answer, beliefs move as far as with f times epsilon.
    Under replace-one neighbours this is any statement about one person. Under add-remove-one it is
    whether that person was counted at all; of where a counted one was, give twice the epsilon.

    Parameters
    ----------
    epsilon : text, int, float or Fraction
        Of a pure guarantee, above 0.
    priors : sequence of float
        Chances from 0 to 1.

    Raises
    ------
    UsageError
        An epsilon that is not above 0, or a prior that is no chance.

    Examples
    --------
    >>> [round(one.most, 4) for one in beliefs(1, [0.01, 0.1, 0.5])]
    [0.0267, 0.232, 0.7311]
    """
    shift = float(rational(epsilon))
    return tuple(shift_belief(_chance(prior, "A prior"), shift) for prior in priors)


def shift_belief(prior: float, shift: float) -> Belief:
    """Return a chance and what becomes of it where its log odds move by at most ``shift``."""
    shrunk = math.exp(-shift)  # the inverse of exp(shift), which may be too large for a float
    most = prior / (prior + (1 - prior) * shrunk) if prior else 0.0
    least = prior * shrunk / (prior * shrunk + 1 - prior) if prior < 1 else 1.0
    return Belief(prior, least, most)


def posterior(
    prior: float, counts: Sequence[Chances] | Mapping[bool, Chances], noise: Chances, observed: int
) -> float:
    """Return the chance of a statement after a count with noise was seen, by Bayes' rule.

    For teaching: laws of the count and of the noise are given as plain chances.

    Parameters
    ----------
    prior : float
        Chance of the statement before, from 0 to 1.
    counts : pair
        ``counts[False]`` is the law of the true count where the statement is false,
        ``counts[True]`` where it is true.
    noise : mapping or sequence
        Chances by number, or of sizes: of 0, of each of -1 and 1, of each of -2 and 2, and so
        on. ``[1]`` is no noise.
    observed : int
        The count that was seen.

    Raises
    ------
    UsageError
        Chances that are negative or do not add up to 1, or a count that cannot be seen.

    Examples
    --------
    Each of two women has a grade with the chance 0.4. Of how many have it, 1 was published; one
    of them is asked about.

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
    """Return a chance as it is; raise UsageError for a number that is none."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must be a chance from 0 to 1.", code="chance-not-0-to-1")
    return float(value)


def _law(chances: Chances, name: str) -> dict[int, float]:
    """Return chances by number; raise UsageError for what is no law."""
    pairs = chances.items() if isinstance(chances, Mapping) else enumerate(chances)
    found = {number: _chance(chance, f"Each of the {name}") for number, chance in pairs}
    if abs(sum(found.values()) - 1) > SLACK:
        raise UsageError(
            f"The chances of the {name} must add up to 1.", code="chances-do-not-add-up"
        )
    return found
