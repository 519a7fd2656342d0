"""Compute statistics of a map, such as its inhabited cells, their Gini coefficient and its towns.

Each is a function of the counts of all cells of a map, which need not be integers; counts below 0
are taken for 0. :mod:`geodp.features.statistics.estimate` corrects their biases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.typing import FloatArray

CLASSES = (1, 20, 100, 500, 2000)
"""Smallest count of each size class of cells; the last class has no upper end."""

INHABITED = "inhabited"

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
    spatial : bool
        Whether it depends on which cells adjoin, or on the order of the largest ones, and not only
        on how many cells have how many people.
    minimum : int
        Smallest count of the cells that it counts, if it counts cells.
    below : int or None
        Cells with fewer people decide it: the end of its size class, or of the smallest class if it
        depends on all inhabited cells. None: there is no such number.
    of_inhabited : bool
        Whether it is a statistic of the inhabited cells, or of the smallest of them, so that it is
        not known unless their number is.
    """

    name: str
    of: Callable[[FloatArray], float]
    spatial: bool = False
    minimum: int = 0
    below: int | None = None
    of_inhabited: bool = False


def list_figures(
    inside: NDArray[np.bool_] | None,
    square_kilometres: float | None,
    classes: Sequence[int] = CLASSES,
) -> dict[str, Figure]:
    """List the statistics of a map by name.

    Parameters
    ----------
    inside : bool[rows, cols]
        Cells of the domain; None where cells do not adjoin, as with areal units.
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
    # The smallest class decides all statistics of inhabited cells, as most of these are in it.
    few = ends[1] if len(ends) > 1 else None
    figures = [Figure(INHABITED, partial(count_cells, low=1, high=None), minimum=1, below=few)]
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        name = f"cells:{low}+" if high is None else f"cells:{low}-{high - 1}"
        count = partial(count_cells, low=low, high=high)
        smallest = low == ends[0]
        figures.append(Figure(name, count, minimum=low, below=high, of_inhabited=smallest))
    figures.append(Figure("median", find_median, below=few, of_inhabited=True))
    figures.append(Figure("gini", find_gini, below=few, of_inhabited=True))
    if inside is not None:
        figures.append(Figure("moran", partial(find_moran, inside=inside), spatial=True))
    figures.append(Figure(f"top-{TOP}", find_top, spatial=True))
    if square_kilometres is not None:
        for name, (density, people, corners) in URBAN.items():
            for towns, title in ((True, name), (False, f"people-in-{name}")):
                rule = (density * square_kilometres, people, corners)
                figures.append(Figure(title, partial(find_towns, rule=rule, towns=towns), True))
    return {one.name: one for one in figures}


def counts_people(name: str) -> bool:
    """Return whether the statistic of a name is a number of people, as a cell's count is.

    Examples
    --------
    >>> [counts_people(name) for name in ("median", "cells:1-19", "people-in-urban-centres")]
    [True, False, True]
    """
    return name == "median" or name.startswith(("top-", "people-in-"))


def count_cells(people: FloatArray, low: int, high: int | None) -> float:
    """Count the cells with at least ``low`` and fewer than ``high`` people.

    Examples
    --------
    >>> count_cells(np.array([[0.0, 1.0], [19.0, 20.0]]), 1, 20)
    2.0
    """
    return float(((people >= low) & (people < (np.inf if high is None else high))).sum())


def find_median(people: FloatArray) -> float:
    """Compute the median of the inhabited cells; 0 if there is none."""
    some = people[people >= 1]
    return float(np.median(some)) if some.size else 0.0


def find_gini(people: FloatArray) -> float:
    """Compute the Gini coefficient of the inhabited cells: 0 if equal, near 1 if one has all.

    Examples
    --------
    >>> find_gini(np.array([[5.0, 5.0], [0.0, 0.0]])), find_gini(np.array([[1.0, 3.0]]))
    (0.0, 0.25)
    """
    some = np.sort(people[people >= 1])
    n, total = some.size, float(some.sum())
    return float((2 * np.arange(1, n + 1) - n - 1) @ some) / (n * total) if total else 0.0


def find_moran(people: FloatArray, inside: NDArray[np.bool_]) -> float:
    """Compute Moran's I of ``log(1 + people)`` over neighbours that share an edge.

    All cells of the domain count, empty ones too; 0 if all are equal.
    """
    # Logarithms: otherwise a few large cities alone would decide the index.
    logs = np.where(inside, np.log1p(np.maximum(people, 0)), 0.0)
    away = np.where(inside, logs - logs[inside].mean(), 0.0)
    pairs = int((inside[1:] & inside[:-1]).sum() + (inside[:, 1:] & inside[:, :-1]).sum())
    spread = float((away**2).sum())
    if not pairs or not spread:
        return 0.0
    both = float((away[1:] * away[:-1]).sum() + (away[:, 1:] * away[:, :-1]).sum())
    return both / pairs / (spread / int(inside.sum()))


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
