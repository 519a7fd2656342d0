"""Compute statistics of a map: its size classes, its most populous cells and its towns.

Each is a function of the counts of all cells of a map, which need not be integers; counts below 0
are taken for 0. :mod:`geodp.features.statistics.estimate` corrects their biases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from geodp.errors import UsageError
from geodp.typing import FloatArray

CLASSES = (500, 2000)
"""Smallest count of each size class of cells; the last class has no upper end."""

TOP = 100
"""Cells in the list of the most populous ones."""

URBAN = {"urban-centres": (1500.0, 50_000.0, False), "urban-clusters": (300.0, 5000.0, True)}
"""Rules of towns: the smallest density of a cell (people a square kilometre), the smallest sum of
all its cells, and whether cells connect at corners.

They are those of the degree of urbanisation of the European Commission and others (2021), applied
to the cells of the grid without smoothing borders, filling gaps or counting built-up land.
"""


@dataclass(frozen=True)
class Figure:
    """A statistic, and which counts decide it.

    Attributes
    ----------
    name : str
    of : callable
        Function from float64[rows, cols] to a number.
    minimum : int or None
        Smallest count of the cells that a size class counts; None for other statistics.
    """

    name: str
    of: Callable[[FloatArray], float]
    minimum: int | None = None


def list_figures(
    square_kilometres: float | None, classes: Sequence[int] = CLASSES
) -> dict[str, Figure]:
    """List the statistics of a map by name.

    Parameters
    ----------
    square_kilometres : float or None
        Area of a cell; None for a map without a place on the Earth, which then has no towns.
    classes : sequence of int
        Smallest count of each size class, strictly increasing from 1 or more on; otherwise
        UsageError.
    """
    ends = [*classes]
    if not ends or ends[0] < 1 or any(b <= a for a, b in pairwise(ends)):
        raise UsageError(
            "Size classes are whole numbers of people, increasing from 1 or more on.",
            code="classes-not-increasing",
        )
    figures = []
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        name = f"cells:{low}+" if high is None else f"cells:{low}-{high - 1}"
        figures.append(Figure(name, partial(count_cells, low=low, high=high), low))
    figures.append(Figure(f"top-{TOP}", find_top))
    if square_kilometres is not None:
        for name, (density, people, corners) in URBAN.items():
            for towns, title in ((True, name), (False, f"people-in-{name}")):
                rule = (density * square_kilometres, people, corners)
                figures.append(Figure(title, partial(find_towns, rule=rule, towns=towns)))
    return {one.name: one for one in figures}


def counts_people(name: str) -> bool:
    """Return whether the statistic of a name is a number of people, as a cell's count is.

    Examples
    --------
    >>> [counts_people(name) for name in ("top-100", "cells:2000+", "urban-centres")]
    [True, False, False]
    """
    return name.startswith(("top-", "people-in-"))


def count_cells(people: FloatArray, low: int, high: int | None) -> float:
    """Count the cells with at least ``low`` and fewer than ``high`` people.

    Examples
    --------
    >>> count_cells(np.array([[0.0, 1.0], [19.0, 20.0]]), 1, 20)
    2.0
    """
    return float(((people >= low) & (people < (np.inf if high is None else high))).sum())


def find_top(people: FloatArray) -> float:
    """Sum the people of the most populous cells."""
    flat = people.reshape(-1)
    first = max(0, flat.size - TOP)
    return float(np.maximum(np.partition(flat, first)[first:], 0).sum())


def find_towns(people: FloatArray, rule: tuple[float, float, bool], *, towns: bool) -> float:
    """Count the towns, or the people in them.

    Parameters
    ----------
    people : float64[rows, cols]
    rule : (float, float, bool)
        Smallest count of a cell and of a town, and whether cells connect at corners.
    towns : bool
        Whether towns are counted; otherwise their people.
    """
    from scipy.ndimage import label, sum_labels  # imported late, as it takes long

    cell, town, corners = rule
    number, n = label(people >= cell, np.ones((3, 3)) if corners else None)
    size = sum_labels(people, number, np.arange(1, n + 1)) if n else np.zeros(0)
    large = size[size >= town]
    return float(large.size if towns else large.sum())
