"""Counts gathered over files: the policies for rows outside the domain and for duplicates."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid import OUTSIDE, Grid
from geodp.io.columns import Rows
from geodp.table import CountTable

Outside: TypeAlias = Literal["error", "crop", "drop"]
"""What becomes of a row whose cell is outside the domain: "crop" drops it outside the grid's
extent and refuses it inside, where only a mask can exclude it."""
OUTSIDE_RULES = ("error", "crop", "drop")

Duplicates: TypeAlias = Literal["error", "sum"]


class Tally:
    """The rows of one table on a grid, until all files are read.

    Parameters
    ----------
    grid : Grid
    outside : {"error", "crop", "drop"}
        See ``Outside``.
    duplicates : {"error", "sum"}
        What becomes of a cell that is there twice.
    within : bool
        Whether "sum" also holds for a cell that is twice in one file.
    bound : int or None
        Of the table, see ``CountTable``.
    """

    def __init__(
        self,
        grid: Grid,
        outside: Outside,
        duplicates: Duplicates,
        *,
        within: bool = True,
        bound: int | None = 1,
    ) -> None:
        one_of("outside", outside, OUTSIDE_RULES)
        one_of("duplicates", duplicates, ("error", "sum"))
        self.grid = grid
        self._outside = outside
        self._duplicates = duplicates
        self._within = within
        self._bound = bound
        self._rows: list[Rows] = []
        self._keys: list[NDArray[np.uint64]] = []
        self._counts: list[NDArray[np.int64]] = []

    def add(self, rows: Rows, index: NDArray[np.int64], count: NDArray[np.int64]) -> None:
        """Take in rows: cell indices int64[d, n] and counts int64[n].

        Raises InputError for a cell outside the domain, where those are not dropped.
        """
        rows, key, inside = place(self.grid, rows, index, self._outside)
        self._rows.append(rows)
        self._keys.append(key)
        self._counts.append(count if inside is None else count[inside])

    def table(self) -> CountTable:
        """The table of all rows.

        Raises InputError for a duplicate that is not to be summed, at its second row.
        """
        key = np.concatenate([np.empty(0, np.uint64), *self._keys])
        count = np.concatenate([np.empty(0, np.int64), *self._counts])
        if not (key[1:] > key[:-1]).all():
            order = np.argsort(key, kind="stable")
            key, count = key[order], count[order]
            again = order[1:][key[1:] == key[:-1]]
            before = order[:-1][key[1:] == key[:-1]]
            if again.size:
                self._check(before, again)
        return CountTable.from_keys(self.grid, key, count, bound=self._bound)

    def _check(self, before: NDArray[np.int64], again: NDArray[np.int64]) -> None:
        """Refuse duplicates: positions of the former and the latter of each pair."""
        starts = np.cumsum([0, *(key.size for key in self._keys)])
        names = [rows.table.name for rows in self._rows]
        file = np.unique(names, return_inverse=True)[1].reshape(-1)

        def batch(position: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.searchsorted(starts, position, side="right") - 1

        same = file[batch(before)] == file[batch(again)]
        refused = again
        if self._duplicates == "sum":
            refused = again[same & (not self._within)]
        if not refused.size:
            return
        first = refused.min()
        rule = (
            "The cell is in this file already; a file lists a cell once."
            if same[again == first].any()
            else "The cell is in an earlier file already; if the files hold shares of the same "
            "cell, as files of prefectures do, choose --duplicates sum "
            '(duplicates="sum").'
        )
        if self._within and self._duplicates == "error":
            rule = (
                "The cell is there already; if its counts add up, choose --duplicates sum "
                '(duplicates="sum").'
            )
        number = int(batch(first))
        raise self._rows[number].error(int(first - starts[number]), rule)


def place(
    grid: Grid, rows: Rows, index: NDArray[np.int64], outside: Outside
) -> tuple[Rows, NDArray[np.uint64], NDArray[np.bool_] | None]:
    """Keys uint64[n] of the rows inside the domain, those rows, and which they are (None: all).

    Raises InputError for a cell outside the domain, where those are not dropped.
    """
    inside = grid.contains(index)
    if inside.all():
        return rows, grid.order.encode(index), None
    if outside != "drop":
        refused = ~inside if outside == "error" else grid.in_extent(index) & ~inside
        if refused.any():
            raise rows.error(int(refused.argmax()), OUTSIDE)
    return rows.select(inside), grid.order.encode(index[:, inside]), inside


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise UsageError for a choice that is not allowed."""
    if value not in allowed:
        raise UsageError(f"{name} is one of {', '.join(allowed)}.")
