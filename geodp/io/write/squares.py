"""Released counts summed over squares of cells, and their classes: maps of many sizes on the web.

Every sum is of released counts, so that it is the same wherever it is computed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.io.write.frame import Frame
from geodp.io.write.qgis_style import BELOW, FEW
from geodp.io.write.scale import BEGINS, DARK_IS_MANY, classify, name_class
from geodp.table.card import Card
from geodp.table.display import is_below, show_limit
from geodp.table.released import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray

CLASSES = tuple(name_class(number) for number in range(len(BEGINS) + 1))
"""Names of the classes of counts above 0, in rising order."""

NEGATIVE = "below 0"
"""Name of the class of negative values."""


@dataclass(frozen=True, eq=False)
class Squares:
    """Squares of a map whose count is not 0.

    Attributes
    ----------
    grid : Grid
        Grid of one map.
    side : int
        Number of cells along a side; squares at the far edges end where the map does.
    row, col : int64[n]
        Rows and columns of squares, from 0.
    count : int64[n] or float64[n]
        Exact sums of their cells, over all labels.
    """

    grid: Grid
    side: int
    row: IntArray
    col: IntArray
    count: CountArray

    @classmethod
    def of(cls, table: ReleasedTable) -> Squares:
        """Return the cells of a released table: in key order if it has no attributes."""
        index = table.grid.decode(table.key)
        cells = cls(table.grid, 1, index[0], index[1], table.count)
        return cells if index.shape[0] == 2 else cells.widen(1)

    def part(self, some: slice) -> Squares:
        """Return a slice of the squares."""
        return replace(self, row=self.row[some], col=self.col[some], count=self.count[some])

    def widen(self, times: int) -> Squares:
        """Return sums over squares with sides ``times`` as long, row by row.

        Examples
        --------
        >>> at = np.array([0, 0, 1, 5])
        >>> cells = Squares(Grid.regular((6, 6)), 1, at, at, np.array([1, 2, 3, 4]))
        >>> wide = cells.widen(2)
        >>> wide.side, wide.row.tolist(), wide.count.tolist()
        (2, [0, 2], [6, 4])
        """
        side = self.side * times
        cols = -(-self.grid.places[0].cols // side)
        number = self.row // times * cols + self.col // times
        # A stable order fixes the order of floating-point sums.
        order = np.argsort(number, kind="stable")
        number = number[order]
        first = np.flatnonzero(np.append(True, number[1:] != number[:-1])[: number.size])
        count = np.add.reduceat(self.count[order], first) if first.size else self.count
        nonzero = count != 0
        row, col = np.divmod(number[first][nonzero], cols)
        return Squares(self.grid, side, row, col, count[nonzero])

    def edges(self) -> tuple[FloatArray, ...]:
        """Return west, south, east, north in the grid's CRS: float64[n], equal at common edges."""
        place, side = self.grid.places[0], self.side
        first = place.edges_at(self.row * side, self.col * side)
        last = place.edges_at(
            np.minimum((self.row + 1) * side, place.rows) - 1,
            np.minimum((self.col + 1) * side, place.cols) - 1,
        )
        return first[0], np.minimum(first[1], last[1]), last[2], np.maximum(first[3], last[3])

    def classes(self, limit: int | None) -> NDArray[np.str_]:
        """Return the names of the classes of the counts, by density as on all maps: str[n].

        ``limit``: the office's limit of display; counts above 0 and below it are one class.
        """
        high, wide = Frame(self.grid.places[0], self.side, (1, 1), None).lengths()
        density = self.count / (high[self.row] * wide[self.col])
        names = np.array([*CLASSES, NEGATIVE, "" if limit is None else show_limit(limit)])
        number = classify(np.maximum(density, 0)).astype(np.int64)
        number[self.count < 0] = len(CLASSES)
        number[is_below(self.count, limit)] = len(CLASSES) + 1
        return names[number]

    def standard_error(self, card: Card) -> float | None:
        """Return the card's standard error of all such squares; None if it has none.

        It is the largest of any of the squares.
        """
        order, error = self.grid.order, card.expected_error
        # Errors of blocks hold for nodes of the hierarchy, which are squares only in such an order.
        if len(self.grid.shape) > 2 or not order.follows_map or any(order.offset):
            return None
        by_size = {block.cells: block.largest for block in error.blocks or ()}
        return by_size.get(self.side**2)


def list_colours(card: Card) -> list[tuple[str, str]]:
    """List the classes that counts of a release can be in, each with its colour on white."""
    limit = card.display_below
    special = [] if card.mechanism.nonnegative else [(NEGATIVE, BELOW)]
    special += [] if limit is None else [(show_limit(limit), FEW)]
    return [*special, *zip(CLASSES, DARK_IS_MANY, strict=True)]
