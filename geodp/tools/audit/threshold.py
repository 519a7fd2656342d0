"""The guarantee of a sampled table with suppressed small cells, its loss, and its charge.

The model: every record is sampled independently with the same rate below 1; the recoding, such as a
grid, was fixed without the data; counts of at least k are published and all others suppressed;
neighbours are tables of which one has one record more. One record changes the count of one cell, so
what holds for a cell of every size holds for the table. It rests on a secret: who was drawn.

Sources
-------
Li, Qardaji and Su 2012, "On sampling, anonymization, and differential privacy or, k-anonymization
meets differential privacy"; Bild, Kuhn and Prasser 2018, "SafePub". The exact delta is computed in
:mod:`geodp.tools.audit.binomial`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from os import PathLike
from typing import IO, Any, NoReturn, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from geodp.accuracy.style import draw_figure, quiet_axes, style_curve
from geodp.errors import Rule, UsageError, require_none
from geodp.grid.grid import Grid
from geodp.literature.recoding import RECODED_FROM_DATA, Recoding
from geodp.mechanisms import Mechanism, mechanism
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.loss import ApproximateDP, Budget, PureDP, rational, require_delta
from geodp.privacy.samples import SecretSample
from geodp.privacy.terms import ADD_REMOVE, Terms
from geodp.reprs import one_line
from geodp.table.counts import as_counts
from geodp.tools.audit.binomial import (
    MAX_PEOPLE,
    Bound,
    delta_bounds,
    epsilon_suffices,
    min_epsilon,
    thresholds_above,
)
from geodp.tools.audit.classes import require_k

STEP = Fraction(1, 10**9)
"""An epsilon that is searched for is a multiple of it."""

MAX_EPSILON = 64
"""Largest epsilon that is considered: a larger one promises nothing."""

ASSUMPTIONS = (
    "every record was sampled independently, with the same rate",
    "who was sampled stays secret, also from those who were",
    "cells, thresholds and all that is published were fixed without looking at the data",
    "nothing else was made from the same sample",
)
"""Assumptions that the office vouches for when it publishes the guarantee."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A guarantee of a sampled table whose counts below a threshold are suppressed.

    Attributes
    ----------
    k : int
        The smallest count that is published.
    rate : Fraction
        Sampling rate, in (0, 1).
    bound : {"exact", "li"}
    pair : (Fraction, Fraction)
        Epsilon, and a delta that holds for it: a proven pair.
    interval : (Fraction, Fraction)
        Bounds of the smallest delta for that epsilon; the guarantee holds for the upper one.
    """

    __repr__ = one_line

    k: int
    rate: Fraction
    bound: Bound
    pair: tuple[Fraction, Fraction]
    interval: tuple[Fraction, Fraction]

    @property
    def epsilon(self) -> float:
        """The epsilon, rounded up."""
        return round_up(self.pair[0])

    @property
    def delta(self) -> float:
        """The delta, rounded up."""
        return round_up(self.pair[1])

    @property
    def loss(self) -> ApproximateDP:
        """The loss that a ledger is charged: delta is rounded up to 12 digits."""
        epsilon, delta = self.pair
        # Short enough for a ledger's text, and never below the proven delta.
        up = Context(prec=12, rounding=ROUND_CEILING)
        return ApproximateDP(
            epsilon, Fraction(up.divide(Decimal(delta.numerator), Decimal(delta.denominator)))
        )

    @property
    def mechanism(self) -> str:
        """The rate, threshold and bound, as a ledger names them."""
        return f"sampled-threshold:k={self.k},rate={self.rate},bound={self.bound}"

    @property
    def statement(self) -> str:
        """The guarantee as one sentence."""
        return (
            f"With every record sampled with rate {self.rate} and counts below {self.k} "
            f"suppressed, the table is ({format_up(self.pair[0])}, {format_up(self.pair[1])})-"
            f"differentially private for neighbours {ADD_REMOVE}, as long as nobody knows who was "
            "sampled."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "threshold": self.k,
            "rate": str(self.rate),
            "bound": self.bound,
            "neighbours": ADD_REMOVE,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "least_epsilon": round_up(min_epsilon(self.rate)),
            "loss": self.loss.describe(),
            "mechanism": self.mechanism,
            "words": self.statement,
            "assumed": list(ASSUMPTIONS),
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
    """Compute the guarantee of "each record sampled with a rate, counts below k suppressed".

    Parameters
    ----------
    k : int
        The smallest count that is published, at least 1.
    rate : str, int, float, Decimal or Fraction
        Chance of a record to be in the sample: above 0, below 1. Read exactly, as all budgets.
    epsilon, delta : as rate, optional
        One of them; the other is computed. Epsilon is at least ``-ln(1 - rate)``, and delta at
        least ``rate**k``.
    bound : {"exact", "li"}
        The smallest delta, or the larger one of Li, Qardaji and Su 2012, as in the literature.
    sample_size : int, optional
        Size of a fixed-size sample: refused, as its records are not sampled independently.
    weight : as rate, optional
        Factor by which counts were multiplied before they were published. Other weights than
        1 / rate are refused, as they were made from more than the rate.
    tables : int
        Tables published of the same sample; several are refused, as a record is in all of them.

    Raises
    ------
    UsageError
        A call outside the model, with the reason, or a number out of its range.

    Examples
    --------
    >>> guarantee = sampled_threshold(10, "0.2", epsilon="1.0252")
    >>> f"{guarantee.delta:.4g}", f"{sampled_threshold(10, 0.2, delta=1e-6).epsilon:.5g}"
    ('3.443e-06', '1.3418')
    """
    exact_rate = require_rate(rate)
    _require_model(exact_rate, sample_size, weight, tables)
    k, bound = require_threshold(k), require_bound(bound)
    if (epsilon is None) == (delta is None):
        raise UsageError(
            "Give either epsilon or delta; the other one is computed.", code="epsilon-or-delta"
        )
    if delta is None:
        exact_epsilon = require_epsilon(exact_rate, cast(Budget, epsilon))
        interval = delta_bounds(k, exact_rate, exact_epsilon, bound)
        return Threshold(k, exact_rate, bound, (exact_epsilon, interval[1]), interval)
    exact_delta = require_delta(delta)
    # rate**k is the probability that all k people are drawn, which no epsilon excuses.
    if exact_delta < (smallest := exact_rate**k):
        raise UsageError(
            f"With that threshold delta is at least {format_up(smallest)} = rate**{k}: the chance "
            "that all people of a cell of that many are drawn. Choose a larger threshold or delta.",
            code="delta-below-least",
        )
    exact_epsilon = search_epsilon(k, exact_rate, exact_delta, bound)
    interval = delta_bounds(k, exact_rate, exact_epsilon, bound)
    return Threshold(k, exact_rate, bound, (exact_epsilon, exact_delta), interval)


def search_epsilon(k: int, rate: Fraction, delta: Fraction, bound: Bound) -> Fraction:
    """Search for the smallest multiple of ``STEP`` whose delta is at most the given one."""

    def suffices(step: int) -> bool:
        return not any(t >= k for t in thresholds_above(rate, step * STEP, delta, bound))

    # Delta decreases with epsilon, so bisection applies; the first bracket doubles.
    low = math.ceil(min_epsilon(rate) / STEP) - 1
    high = low + 1
    while not suffices(high):
        low, high = high, 2 * high
        if high * STEP > 2 * MAX_EPSILON:
            raise UsageError(
                f"No epsilon of at most {MAX_EPSILON} has that delta.",
                code="epsilon-out-of-reach",
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high * STEP


def require_rate(rate: Budget) -> Fraction:
    """Read the rate of a sample exactly; UsageError outside (0, 1)."""
    exact = rational(rate, "rate")
    if exact == 1:
        raise UsageError(
            "With rate 1 nothing is sampled, and no finite epsilon holds with a delta below 1: "
            "suppressing small counts of all records is not differentially private. publish "
            "releases the table with differential privacy instead.",
            code="rate-is-one",
        )
    if exact > 1:
        raise UsageError("rate must be a chance above 0 and below 1.", code="rate-no-chance")
    return exact


def require_epsilon(rate: Fraction, epsilon: Budget) -> Fraction:
    """Read an epsilon exactly; UsageError below the minimum for the rate, or above 64."""
    exact = rational(epsilon)
    if exact > MAX_EPSILON:
        raise UsageError(
            f"An epsilon above {MAX_EPSILON} promises nothing.", code="epsilon-promises-nothing"
        )
    if not epsilon_suffices(rate, exact):
        raise UsageError(
            f"epsilon must be at least {float(min_epsilon(rate)):.12g} = -ln(1 - rate): with a "
            "smaller one, delta is what a suppressed count alone reveals.",
            code="epsilon-below-least",
        )
    return exact


def require_bound(bound: str) -> Bound:
    """Check the name of a bound; UsageError for another one."""
    if bound not in get_args(Bound):
        raise UsageError(
            f"bound must be one of: {', '.join(get_args(Bound))}.", code="bound-unknown"
        )
    return cast(Bound, bound)


def require_threshold(k: Any) -> int:
    """Check a threshold; UsageError for anything else, and for a recoding."""
    # A recoding has a k as well, but its areas were chosen from the data.
    if isinstance(k, Recoding):
        raise UsageError(RECODED_FROM_DATA)
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
            "on who else is, so that records are not independent. Draw each one with the rate.",
            code="sample-of-fixed-size",
        )
    # Dividing by the rate is public scaling; any other weight was computed from records.
    if weight is not None and rational(weight, "weight") * rate != 1:
        raise UsageError(
            "Weights other than 1 / rate are outside the model: they reveal more of a record than "
            "that it was sampled. Publish counts of the sample, or divide all of them by the rate.",
            code="weights-outside-model",
        )
    if tables != 1:
        raise UsageError(
            "Several tables of one sample are outside the model: a record changes all of them, and "
            "who was sampled is the same in all. Audit one table of all classes together, or draw "
            "a fresh sample for every table and charge each to a ledger.",
            code="several-tables-of-sample",
        )


def round_up(value: Fraction) -> float:
    """Round an exact number up to a float.

    Examples
    --------
    >>> round_up(Fraction(1, 4)), Fraction(round_up(Fraction(1, 3))) > Fraction(1, 3)
    (0.25, True)
    """
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def format_up(value: Fraction | float, digits: int = 6) -> str:
    """Format an exact number with ``digits`` digits, rounded up.

    Examples
    --------
    >>> format_up(Fraction(2, 3)), format_up(Fraction(1, 10**7), 3)
    ('0.666667', '1e-7')
    """
    up = Context(prec=digits, rounding=ROUND_CEILING)
    exact = Fraction(value)
    rounded = up.divide(Decimal(exact.numerator), Decimal(exact.denominator)).normalize(up)
    return f"{rounded:g}"


def smallest_k(rate: Budget, epsilon: Budget, delta: Budget, bound: Bound = "exact") -> int:
    """Find the smallest count that may be published with an epsilon and a delta.

    Parameters
    ----------
    rate, epsilon, delta, bound
        As for :func:`geodp.audit.sampled_threshold`.

    Raises
    ------
    UsageError
        As in :func:`geodp.audit.sampled_threshold`.

    Examples
    --------
    >>> smallest_k("0.632", 1, "1e-6"), smallest_k("0.632", 1, "1e-6", bound="li")
    (58, 74)
    """
    exact_rate = require_rate(rate)
    exact_epsilon, exact_delta = require_epsilon(exact_rate, epsilon), require_delta(delta)
    # Every threshold above the last one that exceeds delta keeps to it.
    return 1 + max(
        thresholds_above(exact_rate, exact_epsilon, exact_delta, require_bound(bound)), default=0
    )


def charge_threshold(
    threshold: Threshold, ledger: Ledger, dataset: str, sample: str, *, unit: str = "person"
) -> Charge:
    """Charge a sampled table to a data set, and record that its sample stays secret.

    Every later charge to the data set must then say what it was made from: all records, or a fresh
    sample. A charge for the same sample is refused, as the losses would not add up.

    Parameters
    ----------
    threshold : Threshold
    ledger : Ledger
    dataset : str
        Entered for neighbours add-remove-one and with a cap of approximate differential privacy.
    sample : str
        Name of the sample. You vouch that it is fresh: that nothing charged to the data set so far
        was made from it.
    unit : str
        Noun for what one record stands for; that of the data set.

    Raises
    ------
    BudgetError
        The cap would be exceeded; nothing was charged.
    UsageError
        Another unit, other neighbours or another kind of cap than the data set has; a sample of
        which a table is charged already.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> from geodp.tools.audit.threshold import sampled_threshold
    >>> from geodp.privacy.loss import ApproximateDP
    >>> threshold = sampled_threshold(10, "0.2", delta="1e-6")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/office.ledger")
    ...     account = ledger.add_dataset("census", ApproximateDP(Fraction(3), Fraction(1, 10**5)))
    ...     print(charge_threshold(threshold, ledger, "census", "sample of 2020").spent)
    epsilon 670915381/500000000, delta 1/1000000
    """
    ledger.account(dataset).require_unit(unit)
    return ledger.charge(
        dataset,
        threshold.loss,
        mechanism=threshold.mechanism,
        neighbours=ADD_REMOVE,
        contribution=1,
        # Random, as there is no table here to take a digest of.
        fingerprint=secrets.token_hex(32),
        records=SecretSample(sample),
    )


def find_threshold_charge(
    threshold: Threshold, ledger: Ledger, dataset: str, sample: str, *, unit: str = "person"
) -> Charge:
    """Find the charge that :func:`charge_threshold` made earlier for the same table.

    Parameters and errors are those of :func:`charge_threshold`; UsageError where the ledger has no
    charge for the sample, or one of another table.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from fractions import Fraction
    >>> threshold = geodp.audit.sampled_threshold(10, "0.2", delta="1e-6")
    >>> cap = geodp.ApproximateDP(3, Fraction("1e-5"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = geodp.Ledger.create(f"{folder}/office.ledger")
    ...     account = ledger.add_dataset("census", cap)
    ...     charge = geodp.audit.charge_threshold(threshold, ledger, "census", "2020")
    ...     geodp.audit.find_threshold_charge(threshold, ledger, "census", "2020") == charge
    True
    """
    ledger.account(dataset).require_unit(unit)
    charge = ledger.find_sample(dataset, SecretSample(sample))
    if charge is None:
        raise UsageError(
            f"There is nothing to resume: the ledger has no charge for the sample {sample}.",
            code="sample-not-charged",
        )
    # A sample's name identifies the charge; another guarantee would be another table.
    if (charge.loss, charge.mechanism) != (threshold.loss, threshold.mechanism):
        raise UsageError(
            f"The ledger has another charge for the sample {sample}; repeat the command of the "
            "interrupted run.",
            code="sample-charged-otherwise",
        )
    return charge


LABEL = "CONFIDENTIAL"


@dataclass(frozen=True, eq=False, repr=False)
class Diagnostic:
    """A number of one outcome, computed from confidential counts; **it is no epsilon**.

    It depends on who happened to be drawn, considers one direction only, and is infinite wherever
    all people were drawn. It is neither copied into files nor turned into text: no part of a
    release takes it, and it is not pickled.

    Attributes
    ----------
    value : float
        Maximum over all published classes; infinite where one is.
    where : int
        Position of the first class that attains it.
    infinite : int
        Number of classes all of whose people were drawn.
    """

    value: float = field()
    where: int
    infinite: int

    def __repr__(self) -> str:
        return f"Diagnostic({LABEL})"

    def __format__(self, _how: str) -> str:
        return repr(self)

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        # Pickling or copying would be a way into files and logs.
        raise TypeError("A diagnostic of confidential counts is neither pickled nor copied.")


def realized(people: ArrayLike, sampled: ArrayLike, rate: Budget, k: int = 1) -> Diagnostic:
    """Compute the realised loss of a sampled table, as the literature calls it.

    For a class of n people of whom s were drawn, it is ``ln(1 - rate) - ln(1 - s / n)``: by how
    much the count s is likelier with one person more (Horigome 2016, who takes it for an epsilon).
    Its table 1 cannot be reproduced: the losses there would need sampled shares of .578 to .907 in
    classes of 10 to 17 people, of which each has a probability below 1e-6.

    Parameters
    ----------
    people : int[n]
        People of every class before sampling; at least 1.
    sampled : int[n]
        People of every class that were drawn.
    rate : str, int, float, Decimal or Fraction
        In (0, 1).
    k : int
        The smallest count that is published; other classes are left out.

    Returns
    -------
    Diagnostic
        Confidential.

    Raises
    ------
    CodeError
        Counts that are not whole or negative, or more drawn than there are; ``position`` is that
        of the class.
    UsageError
        Lists of different lengths, or no class with a count of k.

    Examples
    --------
    >>> diagnostic = realized([50, 20], [12, 3], 0.2, k=10)
    >>> diagnostic, round(diagnostic.value, 4)
    (Diagnostic(CONFIDENTIAL), 0.0513)
    """
    exact_rate = require_rate(rate)
    n, s = as_counts(people), as_counts(sampled)
    if n.ndim != 1 or n.shape != s.shape:
        raise UsageError(
            "people and sampled must be two lists of one length.", code="lists-differ-in-length"
        )
    require_none(n <= 0, Rule("class-without-people", "A class must have at least one person."))
    require_none(s > n, Rule("more-drawn-than-there", "More people were drawn than there are."))
    # Suppressed classes reveal no count, so they have no realised loss here.
    shown = np.flatnonzero(s >= require_k(k))
    if not shown.size:
        raise UsageError("No class has a count that is published.", code="no-count-published")
    n, s = n[shown], s[shown]
    with np.errstate(divide="ignore"):
        loss = math.log1p(-float(exact_rate)) - np.log((n - s) / n)
    largest = int(loss.argmax())
    return Diagnostic(float(loss[largest]), int(shown[largest]), int((s == n).sum()))


POINTS = 13
"""Number of points of a curve without given epsilons."""

MIN_DELTA = Fraction(1, 10**200)
"""Smallest delta that the last default epsilon is searched for."""

DIGITS = 10**4
"""Default epsilons are multiples of its inverse."""


@dataclass(frozen=True, slots=True)
class Point:
    """One epsilon, and a delta that holds for it.

    Attributes
    ----------
    epsilon : Fraction
    exact, li : Fraction
        Upper bounds of delta: the tight one, and that of Li, Qardaji and Su 2012.
    """

    epsilon: Fraction
    exact: Fraction
    li: Fraction

    def to_dict(self) -> dict[str, float]:
        """Return plain values, rounded up."""
        names = ("epsilon", "exact", "li")
        return {name: round_up(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class Curve:
    """Delta by epsilon of a sampled table whose counts below a threshold are suppressed.

    Attributes
    ----------
    k : int
    rate : Fraction
    points : tuple of Point
        In the order of epsilon.
    """

    __repr__ = one_line

    k: int
    rate: Fraction
    points: tuple[Point, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        points = [point.to_dict() for point in self.points]
        return {"threshold": self.k, "rate": str(self.rate), "points": points}


def curve(k: int, rate: Budget, epsilons: Sequence[Budget] | None = None) -> Curve:
    """Compute delta for many values of epsilon.

    Parameters
    ----------
    k, rate
        As for :func:`geodp.audit.sampled_threshold`.
    epsilons : sequence, optional
        Default: 13, evenly from the smallest one to where both bounds are ``rate**k``, the
        smallest delta of any epsilon.

    Raises
    ------
    UsageError
        As in :func:`geodp.audit.sampled_threshold`.

    Examples
    --------
    >>> result = curve(3, "1/5", ["0.3", "1.5973"])
    >>> [f"{float(point.exact):.4g}" for point in result.points]
    ['0.0212', '0.008']
    """
    exact_rate, k = require_rate(rate), require_threshold(k)
    if epsilons is None:
        low = min_epsilon(exact_rate)
        # Li's bound is larger, so where it reaches rate**k the exact delta has reached it, too.
        high = search_epsilon(k, exact_rate, max(exact_rate**k, MIN_DELTA), "li")
        steps = (low + (high - low) * Fraction(i, POINTS - 1) for i in range(POINTS))
        # Rounded up to few digits, so that a printed epsilon is exactly the one of its delta.
        chosen = [Fraction(math.ceil(step * DIGITS), DIGITS) for step in steps]
    else:
        chosen = sorted({require_epsilon(exact_rate, epsilon) for epsilon in epsilons})
    points = (
        Point(e, *(delta_bounds(k, exact_rate, e, bound)[1] for bound in ("exact", "li")))
        for e in chosen
    )
    return Curve(k, exact_rate, tuple(points))


def plot_curve(curve: Curve, file: str | PathLike[str] | IO[bytes], form: str = "png") -> None:
    """Draw delta against epsilon on a logarithmic axis: the exact one, and the bound of Li et al.

    A dotted line is ``rate**k``, which no epsilon can go below.

    Parameters
    ----------
    curve : Curve
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError where Matplotlib is not installed.
    """
    epsilons = [float(point.epsilon) for point in curve.points]
    lowest = float(curve.rate) ** curve.k
    with draw_figure((7.2, 4.4), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.11, right=0.96, top=0.84, bottom=0.13)
        rows = (("exact", "exact"), ("li", "bound of Li, Qardaji and Su"))
        for number, (name, label) in enumerate(rows):
            deltas = [float(getattr(point, name)) for point in curve.points]
            axes.plot(epsilons, deltas, label=label, **style_curve(number))
        axes.axhline(
            lowest, linestyle=":", color="#777777", label="all of k people drawn", zorder=2
        )
        axes.set_yscale("log")
        quiet_axes(axes, "delta", "epsilon")
        axes.legend(loc="upper right", frameon=False, fontsize=8.5)
        title = f"Sampled with rate {float(curve.rate):.6g}, counts below {curve.k} suppressed"
        figure.text(0.11, 0.93, title, fontsize=12, fontweight="bold")


SIZES = (1, 2, 4, 8, 16, 64)
"""Sizes of the compared cells, in multiples of the people that the threshold stands for."""


@dataclass(frozen=True, slots=True)
class Size:
    """The errors of both tables in a cell of some people.

    Attributes
    ----------
    people : int
    shown : float
        Probability that the sampled table shows the cell's count.
    sampled : float
        Standard error of that count divided by the rate.
    released : float
        Standard error of the release.
    """

    people: int
    shown: float
    sampled: float
    released: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """A release with the epsilon of a sampled table, compared with it; computed without data.

    Attributes
    ----------
    threshold : Threshold
    method : str
        Method of the release, with its settings.
    cells : int
        Number of cells of the domain.
    error : float
        Standard error of a cell of the release, the same for cells of any size where no count is
        clamped at 0; its delta is 0.
    clamped : bool
        Whether negative counts are corrected, which biases cells in empty regions downwards.
    sizes : tuple of Size
    """

    __repr__ = one_line

    threshold: Threshold
    method: str
    cells: int
    error: float
    clamped: bool
    sizes: tuple[Size, ...]

    @property
    def even(self) -> float:
        """The people of a cell from which on the release has the smaller standard error."""
        rate = float(self.threshold.rate)
        return self.error**2 * rate / (1 - rate)

    @property
    def statement(self) -> str:
        """The comparison as one sentence."""
        epsilon = format_up(self.threshold.pair[0])
        exception = " that is not alone in an empty region" if self.clamped else ""
        return (
            f"A release by {self.method} with epsilon {epsilon} and delta 0 suppresses nothing; in "
            f"every cell{exception} it has a standard error of {self.error:,.1f}, and is closer "
            f"than the sample from {math.ceil(self.even):,} people on."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "method": self.method,
            "cells": self.cells,
            "epsilon": self.threshold.epsilon,
            "delta": 0,
            "standard_error": self.error,
            "even": self.even,
            "sizes": [size.to_dict() for size in self.sizes],
            "words": self.statement,
        }


def compare_release(
    threshold: Threshold, grid: Grid, method: str | Mechanism = "pyramid"
) -> ReleaseComparison:
    """Compare a sampled table with a release of its epsilon, by closed forms.

    The release is of all records, for neighbours that differ by one record.

    Parameters
    ----------
    threshold : Threshold
    grid : Grid
        The grid of the cells.
    method : str or Mechanism
        Method of the release, as for :func:`geodp.plan`.

    Raises
    ------
    UsageError
        A method that does not support the grid, or whose error depends on the data.

    Examples
    --------
    >>> from geodp.tools.audit.threshold import sampled_threshold
    >>> threshold = sampled_threshold(10, "0.2", epsilon="1.0252")
    >>> round(compare_release(threshold, Grid.regular((512, 512)), "laplace").error, 3)
    1.379
    """
    resolved = mechanism(method)
    if refusal := resolved.unsupported(grid):
        raise UsageError(refusal)
    event = resolved.event(grid, Terms(PureDP(threshold.pair[0]), contribution=1))
    errors = resolved.block_errors(grid, event)
    error = errors[-1].standard_error if errors else None
    if error is None:
        raise UsageError(
            f"The error of {resolved.spec} depends on the data; choose another method.",
            code="error-depends-on-data",
        )
    # People for whom the expected sample is at the threshold.
    base = math.ceil(threshold.k / threshold.rate)
    sizes = (_size_of(threshold, base * times, error) for times in SIZES)
    return ReleaseComparison(
        threshold, event.mechanism, grid.size, error, resolved.nonnegative, tuple(sizes)
    )


def _size_of(threshold: Threshold, people: int, error: float) -> Size:
    rate = float(threshold.rate)
    # Standard error of a binomial count divided by its rate.
    sampled = math.sqrt(people * (1 - rate) / rate)
    return Size(people, _chance_shown(threshold, people), sampled, error)


def _chance_shown(threshold: Threshold, people: int) -> float:
    """Compute the probability that at least k of some people are drawn."""
    odds, below = threshold.rate / (1 - threshold.rate), Fraction()
    equal = Fraction(1)
    for count in range(threshold.k):
        below += equal
        # Exact fractions, as these probabilities underflow for large cells.
        equal *= Fraction(people - count, count + 1) * odds
    return float(1 - below * (1 - threshold.rate) ** people)
