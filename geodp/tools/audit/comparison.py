"""Compare a sampled table with a differentially private release of the same epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism, mechanism
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.reprs import one_line
from geodp.tools.audit.threshold import Threshold, format_up

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
