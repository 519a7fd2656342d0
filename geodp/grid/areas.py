"""The levels of areas that an order of cells puts one under the other: official, regions, none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from geodp.grid.hierarchy import CELL, Hierarchy
from geodp.reprs import one_line


@dataclass(frozen=True)
class AreaLevels:
    """Levels of areas, each of which is a run of keys.

    Attributes
    ----------
    steps : tuple of (str, int)
        Digits of a key that lead from each area to the next finer one: the name of the areas or
        attributes that a step ends at, "" where it ends at none, and its number of digits.
    labelled : tuple of str
        Names of the attributes, which are no areas.
    digits : int
        Of a key.
    nested : bool
        Whether the order of cells is one of areas; otherwise there are no steps.
    tables : tuple of Hierarchy
        The public table that defines the areas, where an office's does.
    levels : tuple of str
        Names of the levels of that table, the coarsest first and the cells last.
    """

    __repr__ = one_line

    steps: tuple[tuple[str, int], ...]
    labelled: tuple[str, ...]
    digits: int

    nested: ClassVar[bool] = True

    @property
    def tables(self) -> tuple[Hierarchy, ...]:
        """None: the areas are those that a code system publishes."""
        return ()

    @property
    def levels(self) -> tuple[str, ...]:
        """None, without a table."""
        return ()

    @property
    def _no_areas(self) -> tuple[str, ...]:
        """Names of steps that end at no area."""
        return ("", *self.labelled)

    @property
    def above_cells(self) -> tuple[tuple[str, int], ...]:
        """Names of areas that are runs of more than one key, and digits of a key that name one."""
        found, digits = [], 0
        for name, step in self.steps:
            digits += step
            if name not in self._no_areas and digits < self.digits:
                found.append((name, digits))
        return tuple(found)

    def name_codes(self, depth: int | None = None) -> tuple[str, ...]:
        """Return the names of the columns that tell an area.

        ``depth``: of regions, at most so many levels. Default: all.

        Examples
        --------
        >>> AreaLevels((("jis:basic", 2),), (), 2).name_codes(1)
        ('code',)
        """
        return ("code",)

    def list_nodes(self) -> dict[str, int]:
        """Return areas by the attributes that stand above them, and digits that their keys share.

        Examples
        --------
        >>> AreaLevels((("sex", 1), ("city", 2), ("cell", 4)), ("sex",), 7).list_nodes()
        {'everywhere by sex': 1, 'city by sex': 3, 'cell by sex': 7}
        """
        found, labels, area, digits = dict[str, int](), list[str](), "everywhere", 0
        for name, step in self.steps:
            digits += step
            if not name:
                continue
            if name in self.labelled:
                labels.append(name)
            else:
                area = name
            found[f"{area} by {', '.join(labels)}" if labels else area] = digits
        return found


@dataclass(frozen=True)
class NoAreaLevels(AreaLevels):
    """The order of cells is one of no areas."""

    __repr__ = one_line

    steps: tuple[tuple[str, int], ...] = ()
    labelled: tuple[str, ...] = ()
    digits: int = 0

    nested: ClassVar[bool] = False


@dataclass(frozen=True)
class RegionLevels(AreaLevels):
    """Regions of an office, or pairs of them.

    Attributes
    ----------
    table : Hierarchy
    """

    __repr__ = one_line

    table: Hierarchy

    @property
    def tables(self) -> tuple[Hierarchy, ...]:
        """The office's table."""
        return (self.table,)

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels of the table, and the cells."""
        return (*self.table.levels, CELL)

    @property
    def _no_areas(self) -> tuple[str, ...]:
        """Above attributes a cell is a run of keys too, but no region."""
        return (*super()._no_areas, CELL)

    def name_codes(self, depth: int | None = None) -> tuple[str, ...]:
        """Return the table's first levels: a region is told by those that hold it, and its own."""
        return self.table.levels[:depth]


def insert_attributes(
    steps: Sequence[tuple[str, int]], axes: Sequence[int], names: Sequence[str], places: int
) -> tuple[tuple[str, int], ...]:
    """Return the steps of an order that has digits of attributes among those of its areas.

    Parameters
    ----------
    steps : sequence of (str, int)
        Of the areas alone.
    axes : sequence of int
        Axis of every digit.
    names : sequence of str
        Of all axes.
    places : int
        How many axes are rows and columns of maps; they come first.

    Examples
    --------
    >>> insert_attributes((("city", 1), ("cell", 2)), (0, 2, 0, 0), ("row", "col", "sex"), 2)
    (('city', 1), ('sex', 1), ('cell', 2))
    """
    left, found, at = iter(steps), list[tuple[str, int]](), 0
    while at < len(axes):
        axis = axes[at]
        found.append(next(left) if axis < places else (names[axis], 1))
        at += found[-1][1]
    return tuple(found)
