"""What a sampled table with suppressed small cells is in terms of differential privacy.

The model: every record is kept independently with the same rate below 1; the recoding, a mesh say,
was fixed without the data; counts of at least k are published and all others suppressed; neighbours
are tables of which one has one record more. One record changes the count of one cell, so what
holds for a cell of every size holds for the table. It rests on a secret: who was drawn.

Sources
-------
Li, Qardaji and Su 2012, "On sampling, anonymization, and differential privacy or, k-anonymization
meets differential privacy"; Bild, Kuhn and Prasser 2018, "SafePub". The exact delta is worked out
in :mod:`geodp.features.audit.binomial`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, cast, get_args

from geodp.errors import UsageError
from geodp.features.audit.binomial import (
    MAX_PEOPLE,
    Bound,
    delta_bounds,
    exceed,
    is_enough,
    least_epsilon,
)
from geodp.features.audit.classes import require_k
from geodp.features.audit.recoding import CHOSEN, Recoding
from geodp.privacy.budget import Budget, rational
from geodp.privacy.loss import ApproximateDP
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.reprs import one_line

STEP = Fraction(1, 10**9)
"""An epsilon that is looked for is a multiple of it."""

LARGEST_EPSILON = 64
"""No epsilon above it is looked at: it promises nothing."""

ASSUMED = (
    "every record was kept independently, with the same rate",
    "who was kept stays secret, also from those who were",
    "cells, thresholds and all that is published were fixed without looking at the data",
    "nothing else was made from the same sample",
)
"""What the office vouches for when it states the guarantee."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A guarantee of a sampled table whose counts below a threshold are suppressed.

    Attributes
    ----------
    k : int
        The smallest count that is published.
    rate : Fraction
        Of the sample, in (0, 1).
    bound : {"exact", "li"}
    stated : (Fraction, Fraction)
        Epsilon, and a delta that holds for it: a proven pair.
    interval : (Fraction, Fraction)
        Bounds of the least delta for that epsilon; the guarantee holds for the upper one.
    """

    __repr__ = one_line

    k: int
    rate: Fraction
    bound: Bound
    stated: tuple[Fraction, Fraction]
    interval: tuple[Fraction, Fraction]

    @property
    def epsilon(self) -> float:
        """Epsilon, rounded up."""
        return round_up(self.stated[0])

    @property
    def delta(self) -> float:
        """Delta, rounded up."""
        return round_up(self.stated[1])

    @property
    def loss(self) -> ApproximateDP:
        """What a ledger is charged: delta is rounded up to 12 digits."""
        epsilon, delta = self.stated
        up = Context(prec=12, rounding=ROUND_CEILING)
        return ApproximateDP(
            epsilon, Fraction(up.divide(Decimal(delta.numerator), Decimal(delta.denominator)))
        )

    @property
    def mechanism(self) -> str:
        """Rate, threshold and bound, as a ledger names them."""
        return f"sampled-threshold:k={self.k},rate={self.rate},bound={self.bound}"

    @property
    def words(self) -> str:
        """The guarantee as one sentence."""
        return (
            f"With every record kept with rate {self.rate} and counts below {self.k} suppressed, "
            f"the table is ({show_up(self.stated[0])}, {show_up(self.stated[1])})-differentially "
            f"private for neighbours {ADD_REMOVE}, as long as nobody knows who was kept."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "threshold": self.k,
            "rate": str(self.rate),
            "bound": self.bound,
            "neighbours": ADD_REMOVE,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "least_epsilon": round_up(least_epsilon(self.rate)),
            "loss": self.loss.describe(),
            "mechanism": self.mechanism,
            "words": self.words,
            "assumed": list(ASSUMED),
        }


def sampled_threshold(
    k: int,
    rate: Budget,
    epsilon: Budget | None = None,
    delta: Budget | None = None,
    bound: Bound = "exact",
    *,
    sample_size: int | None = None,
    weight: Budget | None = None,
    tables: int = 1,
) -> Threshold:
    """Find the guarantee of "each record kept with a rate, counts below k suppressed".

    Parameters
    ----------
    k : int
        The smallest count that is published, at least 1.
    rate : str, int, float, Decimal or Fraction
        Chance of a record to be in the sample: above 0, below 1. Read exactly, as all budgets.
    epsilon, delta : as rate, optional
        One of them; the other is worked out. Epsilon is at least ``-ln(1 - rate)``, and delta at
        least ``rate**k``.
    bound : {"exact", "li"}
        The least delta, or the larger one of Li, Qardaji and Su 2012, as the literature has it.
    sample_size : int, optional
        Of a sample of a fixed number of records: refused, as records are not kept independently.
    weight : as rate, optional
        By which counts were multiplied before they were published. Other weights than 1 / rate
        are refused, as they were made from more than the rate.
    tables : int
        Published of the same sample; several are refused, as a record is in all of them.

    Raises
    ------
    UsageError
        A call outside the model, with the reason, or a number out of its range.

    Examples
    --------
    >>> found = sampled_threshold(10, "0.2", epsilon="1.0252")
    >>> f"{found.delta:.4g}", f"{sampled_threshold(10, 0.2, delta=1e-6).epsilon:.5g}"
    ('3.443e-06', '1.3418')
    """
    share = require_rate(rate)
    _require_model(share, sample_size, weight, tables)
    k, bound = require_threshold(k), require_bound(bound)
    if (epsilon is None) == (delta is None):
        raise UsageError(
            "Give either epsilon or delta; the other one is worked out.", code="epsilon-or-delta"
        )
    if delta is None:
        spent = require_epsilon(share, cast(Budget, epsilon))
        interval = delta_bounds(k, share, spent, bound)
        return Threshold(k, share, bound, (spent, interval[1]), interval)
    chance = require_delta(delta)
    if chance < (least := share**k):
        raise UsageError(
            f"With that threshold delta is at least {show_up(least)} = rate**{k}: the chance "
            "that all people of a cell of that many are drawn. Choose a larger threshold or delta.",
            code="delta-below-least",
        )
    spent = search_epsilon(k, share, chance, bound)
    interval = delta_bounds(k, share, spent, bound)
    return Threshold(k, share, bound, (spent, chance), interval)


def search_epsilon(k: int, rate: Fraction, delta: Fraction, bound: Bound) -> Fraction:
    """Return the least multiple of ``STEP`` that has at most a delta."""

    def has(step: int) -> bool:
        return not any(t >= k for t in exceed(rate, step * STEP, delta, bound))

    low = math.ceil(least_epsilon(rate) / STEP) - 1
    high = low + 1
    while not has(high):
        low, high = high, 2 * high
        if high * STEP > 2 * LARGEST_EPSILON:
            raise UsageError(
                f"No epsilon of at most {LARGEST_EPSILON} has that delta.",
                code="epsilon-out-of-reach",
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if has(middle) else (middle, high)
    return high * STEP


def require_rate(rate: Budget) -> Fraction:
    """Return the rate of a sample, read exactly; UsageError outside (0, 1)."""
    exact = rational(rate, "rate")
    if exact == 1:
        raise UsageError(
            "With rate 1 nothing is sampled, and no finite epsilon holds with a delta below 1: "
            "suppressing small counts of all records is not differentially private. publish "
            "releases the table with differential privacy instead.",
            code="rate-is-one",
        )
    if exact > 1:
        raise UsageError("rate is a chance: above 0 and below 1.", code="rate-no-chance")
    return exact


def require_epsilon(rate: Fraction, epsilon: Budget) -> Fraction:
    """Return an epsilon, read exactly; UsageError below what a rate allows, or above 64."""
    exact = rational(epsilon)
    if exact > LARGEST_EPSILON:
        raise UsageError(
            f"An epsilon above {LARGEST_EPSILON} promises nothing.", code="epsilon-promises-nothing"
        )
    if not is_enough(rate, exact):
        raise UsageError(
            f"epsilon must be at least {float(least_epsilon(rate)):.12g} = -ln(1 - rate): with a "
            "smaller one, delta is what a suppressed count alone gives away.",
            code="epsilon-below-least",
        )
    return exact


def require_delta(delta: Budget) -> Fraction:
    """Return a delta, read exactly; UsageError outside (0, 1)."""
    exact = rational(delta, "delta")
    if exact >= 1:
        raise UsageError(
            "delta must be below 1; the inverse of ten times the people is usual.",
            code="delta-not-below-1",
        )
    return exact


def require_bound(bound: str) -> Bound:
    """Return one of the bounds; UsageError for another word."""
    if bound not in get_args(Bound):
        raise UsageError(
            f"bound must be one of: {', '.join(get_args(Bound))}.", code="bound-unknown"
        )
    return cast(Bound, bound)


def require_threshold(k: Any) -> int:
    """Return a threshold; UsageError for anything else, and for a recoding."""
    if isinstance(k, Recoding):
        raise UsageError(CHOSEN)
    if require_k(k) > MAX_PEOPLE:
        raise UsageError(f"k must be at most {MAX_PEOPLE:,}.", code="k-too-large")
    return int(k)


def _require_model(
    rate: Fraction, sample_size: int | None, weight: Budget | None, tables: int
) -> None:
    """Refuse samples and tables that the model does not describe."""
    if sample_size is not None:
        raise UsageError(
            "A sample of a fixed number of records is outside the model: who is in it then depends "
            "on who else is, so that records are not kept independently. Draw each with the rate.",
            code="sample-of-fixed-size",
        )
    if weight is not None and rational(weight, "weight") * rate != 1:
        raise UsageError(
            "Weights other than 1 / rate are outside the model: they tell more of a record than "
            "that it was kept. Publish counts of the sample, or all of them divided by the rate.",
            code="weights-outside-model",
        )
    if tables != 1:
        raise UsageError(
            "Several tables of one sample are outside the model: a record changes all of them, and "
            "who was kept is the same in all. Audit one table of all classes together, or draw a "
            "fresh sample for every table and charge each to a ledger.",
            code="several-tables-of-sample",
        )


def round_up(value: Fraction) -> float:
    """Return the least float that is not below an exact number.

    Examples
    --------
    >>> round_up(Fraction(1, 4)), Fraction(round_up(Fraction(1, 3))) > Fraction(1, 3)
    (0.25, True)
    """
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def show_up(value: Fraction | float, digits: int = 6) -> str:
    """Return an exact number in so many digits, rounded up.

    Examples
    --------
    >>> show_up(Fraction(2, 3)), show_up(Fraction(1, 10**7), 3)
    ('0.666667', '1e-7')
    """
    up = Context(prec=digits, rounding=ROUND_CEILING)
    exact = Fraction(value)
    found = up.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(up)
    return f"{found:g}"
