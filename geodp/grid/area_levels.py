"""Nested levels of areas that an order of cells defines: official areas, regions, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
        Digits of a key.
    table : Hierarchy, optional
        The public table that defines the areas, where they are regions or pairs of regions.
    nested : bool
        Whether the order of cells is one of areas; otherwise there are no steps.
    """

    __repr__ = one_line

    steps: tuple[tuple[str, int], ...] = ()
    labelled: tuple[str, ...] = ()
    digits: int = 0
    table: Hierarchy | None = None
    nested: bool = True

    @property
    def tables(self) -> tuple[Hierarchy, ...]:
        """The public table that defines the areas, where they are regions."""
        return () if self.table is None else (self.table,)

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels of that table, the coarsest first and the cells last."""
        return () if self.table is None else (*self.table.levels, CELL)

    @property
    def above_cells(self) -> tuple[tuple[str, int], ...]:
        """Names of areas of more than one key, and the number of digits that identify one."""
        areas, digits = [], 0
        for name, step in self.steps:
            digits += step
            # A step that ends at the last digit is the cell itself, which is listed elsewhere. A
            # cell above attributes is a run of keys, but no region.
            if name not in ("", CELL, *self.labelled) and digits < self.digits:
                areas.append((name, digits))
        return tuple(areas)

    def name_codes(self, depth: int | None = None) -> tuple[str, ...]:
        """Return the names of the columns that identify an area: of a region and those above it.

        ``depth``: the largest number of levels of regions. Default: all.

        Examples
        --------
        >>> AreaLevels((("jis:basic", 2),), (), 2).name_codes(1)
        ('code',)
        """
        return ("code",) if self.table is None else self.table.levels[:depth]

    def list_nodes(self) -> dict[str, int]:
        """Return the number of leading digits that the keys of each kind of area share.

        Examples
        --------
        >>> AreaLevels((("sex", 1), ("city", 2), ("cell", 4)), ("sex",), 7).list_nodes()
        {'everywhere by sex': 1, 'city by sex': 3, 'cell by sex': 7}
        """
        nodes, labels, area, digits = dict[str, int](), list[str](), "everywhere", 0
        for name, step in self.steps:
            digits += step
            if not name:
                continue
            # Labels accumulate and areas replace each other: a node is one area with the labels
            # chosen so far.
            if name in self.labelled:
                labels.append(name)
            else:
                area = name
            nodes[f"{area} by {', '.join(labels)}" if labels else area] = digits
        return nodes


def insert_attributes(
    steps: Sequence[tuple[str, int]], axes: Sequence[int], names: Sequence[str], places: int
) -> tuple[tuple[str, int], ...]:
    """Merge the digits of attributes into the steps of an order of areas.

    Parameters
    ----------
    steps : sequence of (str, int)
        Steps of the areas alone.
    axes : sequence of int
        Axis of every digit.
    names : sequence of str
        Names of all axes.
    places : int
        Number of axes that are rows and columns of maps; they come first.

    Examples
    --------
    >>> insert_attributes((("city", 1), ("cell", 2)), (0, 2, 0, 0), ("row", "col", "sex"), 2)
    (('city', 1), ('sex', 1), ('cell', 2))
    """
    left, merged, at = iter(steps), list[tuple[str, int]](), 0
    while at < len(axes):
        axis = axes[at]
        merged.append(next(left) if axis < places else (names[axis], 1))
        at += merged[-1][1]
    return tuple(merged)
