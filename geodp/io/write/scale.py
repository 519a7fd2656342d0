"""The common scale of all maps: classes of counts per square kilometre, and their colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice
from geodp.io.write.frame import cell_size

BEGINS = (10, 30, 100, 300, 1_000, 3_000, 10_000)
"""Lower limits of classes after the first, in counts per square kilometre, or per cell if its area
is unknown: public constants, never taken from data."""

DARK_IS_MANY = (
    *("#f1605d", "#d8456c", "#b73779", "#942c80"),
    *("#732081", "#52137c", "#2f1163", "#120d31"),
)
"""Colours of the classes on white paper, from magma (Smith and van der Walt 2015): safe for the
colour-blind; the contrast is above 3 to 1, even of the first."""

LIGHT_IS_MANY = (
    *("#a5317e", "#c53c74", "#e34e65", "#f66c5c"),
    *("#fc9065", "#feb67c", "#fdda9c", "#fcfdbf"),
)
"""Colours of the classes on black paper: larger counts have more contrast."""

NEAR = 1e-9
"""Relative tolerance of a density: a cell at exactly the lower limit of a class belongs to it."""


@dataclass(frozen=True)
class Class:
    """Meaning of a class for the counts of cells of one area.

    Attributes
    ----------
    number : int
        Number of the colour.
    first : Fraction
        Its smallest count: an integer if all counts are.
    end : Fraction or None
        The smallest count of the next class; None for the last.
    """

    number: int
    first: Fraction
    end: Fraction | None

    @property
    def density(self) -> str:
        """Limits of the class as counts per square kilometre, as a text."""
        return name_class(self.number)


@dataclass(frozen=True)
class Shown:
    """What maps show of the rows of a table: one column, in classes.

    Attributes
    ----------
    column : str
    unit : str
        What its numbers count, or their unit.
    begins : tuple of float
        Lower limits of classes after the first.
    by_area : bool
        Whether classes are of numbers per square kilometre, where rows have an area.
    widest : float or None
        Longest interval of a number that has a class; None: all have one.
    """

    column: str
    unit: str
    begins: tuple[float, ...] = BEGINS
    by_area: bool = True
    widest: float | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in rising order."""
        return tuple(name_class(number, self.begins) for number in range(len(self.begins) + 1))

    @property
    def colours(self) -> tuple[str, ...]:
        """Colours of the classes on white paper, evenly apart."""
        last = len(DARK_IS_MANY) - 1
        steps = max(len(self.begins), 1)
        return tuple(DARK_IS_MANY[round(at * last / steps)] for at in range(len(self.begins) + 1))

    def classify(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the numbers of the classes of numbers, int64[n]; those of counts are above 0."""
        # Areas are rounded, so that a density can be a little below the limit that it equals.
        limits = np.array(self.begins, np.float64)
        return np.searchsorted(limits - NEAR * np.abs(limits), numbers, side="right")


def name_class(number: int, begins: Sequence[float] = BEGINS) -> str:
    """Format the limits of a class, by default of counts per square kilometre.

    Examples
    --------
    >>> name_class(0), name_class(4), name_class(7)
    ('below 10', '300 to 1,000', '10,000 or more')
    """
    if not begins:
        return "all"
    ends = [f"{begin:,.10g}" for begin in begins]
    if number == 0:
        return f"below {ends[0]}"
    if number == len(ends):
        return f"{ends[-1]} or more"
    return f"{ends[number - 1]} to {ends[number]}"


def area_of(place: Lattice) -> Fraction | None:
    """Compute the area of a cell at the centre of the map in square kilometres; None if unknown."""
    if place.crs is None or place.transform is None:
        return None
    width, height = cell_size(place)
    return width * height


def fit_classes(area: Fraction | None, *, integral: bool, below: int | None = None) -> list[Class]:
    """Return the classes that hold a count above 0 of a cell of this area, in rising order.

    For integers, cells may be too small for the first classes. ``below``: smallest lower limit of
    the first class, as counts below it are not shown.

    Examples
    --------
    >>> [int(each.first) for each in fit_classes(Fraction(1, 4), integral=True)]
    [1, 3, 8, 25, 75, 250, 750, 2500]
    >>> [int(each.first) for each in fit_classes(None, integral=True)]
    [1, 10, 30, 100, 300, 1000, 3000, 10000]
    >>> [int(each.first) for each in fit_classes(None, integral=True, below=50)]
    [50, 100, 300, 1000, 3000, 10000]
    """
    begins = [Fraction(0), *(begin * (area or Fraction(1)) for begin in BEGINS)]
    if integral:
        # A count of integers is at least 1, and a class begins at the next integer.
        begins = [Fraction(max(1, math.ceil(begin))) for begin in begins]
    ends = [*begins[1:], None]
    lowest = Fraction(below or 0)
    return [
        Class(number, max(begin, lowest), end)
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
        if end is None or max(begin, lowest) < end
    ]


def classify(density: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return the numbers of the classes of densities above 0."""
    return Shown("", "").classify(density).astype(np.uint8)
