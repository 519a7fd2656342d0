"""What a differentially private release of the same epsilon would give at the same cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from geodp.errors import UsageError
from geodp.features.audit.threshold import Threshold, show_up
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism, mechanism
from geodp.privacy.loss import PureDP
from geodp.privacy.terms import Terms
from geodp.reprs import one_line

SIZES = (1, 2, 4, 8, 16, 64)
"""Cells are shown whose people are so many times those that the threshold stands for."""


@dataclass(frozen=True, slots=True)
class Size:
    """What both tables say of a cell of some people.

    Attributes
    ----------
    people : int
    shown : float
        Chance that the sampled table has its count at all.
    sampled : float
        Standard error of its count divided by the rate.
    released : float
        Standard error of the release.
    """

    people: int
    shown: float
    sampled: float
    released: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Instead:
    """A release that spends the epsilon of a sampled table, beside it; nothing in it knows data.

    Attributes
    ----------
    threshold : Threshold
    method : str
        Of the release, with its settings.
    cells : int
        Of the domain.
    error : float
        Standard error of a cell of the release, the same for cells of any size where no count is
        clamped at 0; its delta is 0.
    clamped : bool
        Whether negative counts are corrected, which takes from cells in empty regions.
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
        """People of a cell from which on the release has the smaller standard error."""
        rate = float(self.threshold.rate)
        return self.error**2 * rate / (1 - rate)

    @property
    def words(self) -> str:
        """Both in one sentence."""
        spent = show_up(self.threshold.stated[0])
        alone = " that is not alone in an empty region" if self.clamped else ""
        return (
            f"A release by {self.method} with epsilon {spent} and delta 0 suppresses nothing; in "
            f"every cell{alone} it has a standard error of {self.error:,.1f}, and is nearer than "
            f"the sample from {math.ceil(self.even):,} people on."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "method": self.method,
            "cells": self.cells,
            "epsilon": self.threshold.epsilon,
            "delta": 0,
            "standard_error": self.error,
            "even": self.even,
            "sizes": [size.to_dict() for size in self.sizes],
            "words": self.words,
        }


def release_instead(
    threshold: Threshold, grid: Grid, method: str | Mechanism = "pyramid"
) -> Instead:
    """Work out what a release of a sampled table's epsilon would be like, by closed forms.

    The release is of all records, for neighbours that differ by one record.

    Parameters
    ----------
    threshold : Threshold
    grid : Grid
        Where the cells lie.
    method : str or Mechanism
        Of the release, as for :func:`geodp.plan`.

    Raises
    ------
    UsageError
        A method that cannot take the grid, or whose error depends on the data.

    Examples
    --------
    >>> from geodp.features.audit.threshold import sampled_threshold
    >>> found = sampled_threshold(10, "0.2", epsilon="1.0252")
    >>> round(release_instead(found, Grid.regular((512, 512)), "laplace").error, 3)
    1.379
    """
    chosen = mechanism(method)
    if refusal := chosen.unsupported(grid):
        raise UsageError(refusal)
    event = chosen.event(grid, Terms(PureDP(threshold.stated[0]), contribution=1))
    errors = chosen.block_errors(grid, event)
    cell = errors[-1].standard_error if errors else None
    if cell is None:
        raise UsageError(
            f"The error of {chosen.spec} depends on the data; choose another method.",
            code="error-depends-on-data",
        )
    least = math.ceil(threshold.k / threshold.rate)
    sizes = (_size_of(threshold, least * times, cell) for times in SIZES)
    return Instead(threshold, event.mechanism, grid.size, cell, chosen.nonnegative, tuple(sizes))


def _size_of(threshold: Threshold, people: int, error: float) -> Size:
    rate = float(threshold.rate)
    sampled = math.sqrt(people * (1 - rate) / rate)
    return Size(people, _chance_shown(threshold, people), sampled, error)


def _chance_shown(threshold: Threshold, people: int) -> float:
    """Chance that at least k of some people are drawn."""
    odds, below = threshold.rate / (1 - threshold.rate), Fraction()
    equal = Fraction(1)
    for count in range(threshold.k):
        below += equal
        equal *= Fraction(people - count, count + 1) * odds
    return float(1 - below * (1 - threshold.rate) ** people)
