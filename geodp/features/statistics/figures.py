"""Statistics of a map: how many cells are inhabited, how unlike they are, and where towns are.

Each is a plain function of the counts, whole or not, of all cells of a map; below 0 counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError, require_library
from geodp.typing import FloatArray

CLASSES = (1, 20, 100, 500, 2000)
"""Least people of a cell of each size class; the last one has no upper end."""

INHABITED = "inhabited"

TOP = 100
"""Cells of the list of the most populous ones."""

URBAN = {"urban-centres": (1500.0, 50_000.0, False), "urban-clusters": (300.0, 5000.0, True)}
"""People a square kilometre of a cell, people of all its cells, and whether corners connect.

The degree of urbanisation of the European Commission and others (2021), on the grid's own cells:
without the smoothing of borders and the filling of gaps, and without built-up land.
"""


@dataclass(frozen=True)
class Figure:
    """A statistic.

    Attributes
    ----------
    name : str
    of : callable
        From float64[rows, cols] to a number.
    spatial : bool
        Whether it depends on which cell lies beside which, or on the order of the largest ones:
        more than how many cells have how many people.
    least : int
        People of every cell that it counts, if it counts cells.
    below : int or None
        People that the cells have fewer than who decide it: of its size class, or, of what
        depends on all inhabited cells, of the smallest one; None: there is no such number.
    of_inhabited : bool
        Whether it is one of the inhabited cells, or of the smallest of them, so that nobody knows
        it who does not know how many there are.
    """

    name: str
    of: Callable[[FloatArray], float]
    spatial: bool = False
    least: int = 0
    below: int | None = None
    of_inhabited: bool = False


def list_figures(
    inside: NDArray[np.bool_] | None,
    square_kilometres: float | None,
    classes: Sequence[int] = CLASSES,
) -> dict[str, Figure]:
    """Return the statistics of a map by name.

    Parameters
    ----------
    inside : bool[rows, cols]
        The cells of the domain; None where none lies beside another, as with areal units.
    square_kilometres : float or None
        Of a cell; None where the map lies nowhere on the Earth, which has no towns then.
    classes : sequence of int
        Least people of a cell of each size class, strictly increasing from 1 or more on; otherwise
        UsageError.
    """
    ends = [*classes]
    if not ends or ends[0] < 1 or any(b <= a for a, b in pairwise(ends)):
        raise UsageError(
            "Size classes are whole numbers of people, increasing from 1 or more on.",
            code="classes-not-increasing",
        )
    few = ends[1] if len(ends) > 1 else None
    found = [Figure(INHABITED, partial(count_cells, low=1, high=None), least=1, below=few)]
    for low, high in zip(ends, [*ends[1:], None], strict=True):
        name = f"cells:{low}+" if high is None else f"cells:{low}-{high - 1}"
        count = partial(count_cells, low=low, high=high)
        smallest = low == ends[0]
        found.append(Figure(name, count, least=low, below=high, of_inhabited=smallest))
    found.append(Figure("median", find_median, below=few, of_inhabited=True))
    found.append(Figure("gini", find_gini, below=few, of_inhabited=True))
    if inside is not None:
        found.append(Figure("moran", partial(find_moran, inside=inside), spatial=True))
    found.append(Figure(f"top-{TOP}", find_top, spatial=True))
    if square_kilometres is not None:
        for name, (density, people, corners) in URBAN.items():
            for towns, title in ((True, name), (False, f"people-in-{name}")):
                rule = (density * square_kilometres, people, corners)
                found.append(Figure(title, partial(find_towns, rule=rule, towns=towns), True))
    return {one.name: one for one in found}


def counts_people(name: str) -> bool:
    """Whether a statistic of that name is a number of people, as a cell's count is.

    Examples
    --------
    >>> [counts_people(name) for name in ("median", "cells:1-19", "people-in-urban-centres")]
    [True, False, True]
    """
    return name == "median" or name.startswith(("top-", "people-in-"))


def count_cells(people: FloatArray, low: int, high: int | None) -> float:
    """Return how many cells have at least ``low`` and fewer than ``high`` people.

    Examples
    --------
    >>> count_cells(np.array([[0.0, 1.0], [19.0, 20.0]]), 1, 20)
    2.0
    """
    return float(((people >= low) & (people < (np.inf if high is None else high))).sum())


def find_median(people: FloatArray) -> float:
    """Return the median of the inhabited cells; 0 where there is none."""
    some = people[people >= 1]
    return float(np.median(some)) if some.size else 0.0


def find_gini(people: FloatArray) -> float:
    """Return Gini's coefficient of the inhabited cells: 0 if all are alike, near 1 if one has all.

    Examples
    --------
    >>> find_gini(np.array([[5.0, 5.0], [0.0, 0.0]])), find_gini(np.array([[1.0, 3.0]]))
    (0.0, 0.25)
    """
    some = np.sort(people[people >= 1])
    n, total = some.size, float(some.sum())
    return float((2 * np.arange(1, n + 1) - n - 1) @ some) / (n * total) if total else 0.0


def find_moran(people: FloatArray, inside: NDArray[np.bool_]) -> float:
    """Return Moran's I of ``log(1 + people)`` over neighbours that share an edge.

    Of cells of the domain alone, the empty ones among them; 0 where all are alike.
    """
    logs = np.where(inside, np.log1p(np.maximum(people, 0)), 0.0)
    away = np.where(inside, logs - logs[inside].mean(), 0.0)
    pairs = int((inside[1:] & inside[:-1]).sum() + (inside[:, 1:] & inside[:, :-1]).sum())
    spread = float((away**2).sum())
    if not pairs or not spread:
        return 0.0
    both = float((away[1:] * away[:-1]).sum() + (away[:, 1:] * away[:, :-1]).sum())
    return both / pairs / (spread / int(inside.sum()))


def find_top(people: FloatArray) -> float:
    """Return the people of the most populous cells together."""
    flat = people.reshape(-1)
    least = max(0, flat.size - TOP)
    return float(np.maximum(np.partition(flat, least)[least:], 0).sum())


def find_towns(people: FloatArray, rule: tuple[float, float, bool], *, towns: bool) -> float:
    """Return how many towns there are, or the people in them.

    Parameters
    ----------
    people : float64[rows, cols]
    rule : (float, float, bool)
        People of a cell and of a town at least, and whether cells at a corner belong together.
    towns : bool
        Whether towns are counted; otherwise their people.
    """
    require_library("scipy", "A statistic of a release")
    from scipy.ndimage import label, sum_labels  # slow to import

    cell, least, corners = rule
    number, n = label(people >= cell, np.ones((3, 3)) if corners else None)
    size = sum_labels(people, number, np.arange(1, n + 1)) if n else np.zeros(0)
    large = size[size >= least]
    return float(large.size if towns else large.sum())
