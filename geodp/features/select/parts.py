"""Edges that divide the records along an axis into parts of about equal numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.features.select.mechanisms import Selector
from geodp.features.select.mechanisms.base import STREAMS, Candidates
from geodp.features.select.quantiles import count_along, describe_position
from geodp.features.select.question import Answer, Question
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.draws import Draw
from geodp.privacy.selected import Change, Selection
from geodp.table.counts import CountTable


@dataclass(frozen=True)
class EqualParts(Question):
    """The positions along an axis at which K parts of about equal numbers of records begin.

    All positions are halved first, at an edge below which about half of the records lie; then
    each half is, and so on. The halves of one round have no record in common, and share no
    budget; the rounds do (Kaplan, Schnapp and Stemmer 2022). Every record is under one position,
    as of labels that geodp made itself.

    Attributes
    ----------
    parts : int
        K, 2 or more.
    axis : str
        A name of the grid's axes.
    """

    name: ClassVar[str] = "parts"
    disjoint: ClassVar[bool] = True

    parts: int
    axis: str

    @property
    def rounds(self) -> int:
        """The number of rounds: of halvings one after the other."""
        return (self.parts - 1).bit_length()

    @property
    def change(self) -> Change:
        """The change of the utilities of a round, added up over its draws; see :func:`count_off`.

        One who is replaced may leave one half and come into the other.
        """
        return Change(Fraction(1), Fraction(2), monotone=False)

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The number of parts, and the axis."""
        return ("parts", self.parts), ("axis", self.axis)

    @property
    def description(self) -> tuple[str, str]:
        """The question, and the utility."""
        question = f"At which {self.axis} do {self.parts} parts of about equal numbers begin?"
        return question, "minus how many records too many lie on one side, of an edge in a round"

    def candidates(self, grid: Grid) -> int:
        """Count the positions at which a part may begin, after the first."""
        size = grid.shape[grid.axis_names.index(self.axis)]
        if not isinstance(self.parts, int) or not 2 <= self.parts <= size:
            raise UsageError(
                "The number of parts must be 2 or more, and no more than there are positions.",
                code="equal-parts-too-many",
            )
        return size - 1

    def measure(self, table: CountTable, event: Selection) -> NDArray[np.int64]:
        """Count the records of every position."""
        return count_along(table, table.grid.axis_names.index(self.axis))

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Draw the edges, in the order of the rounds."""
        before: NDArray[np.int64] = np.append(0, np.cumsum(measured))
        draws = iter(range(self.parts - 1))

        def choose(first: int, last: int, start: int, end: int, halves: tuple[int, int]) -> int:
            inside = before[first : last + 1]
            off = count_off(inside - before[start], before[end] - inside, halves)
            larger = halves[1]
            candidates = Candidates(off - off.min(), rate / larger, unit=larger)
            return first + selector.draw(candidates, key, Stream.SELECT + STREAMS * next(draws))

        axis = grid.axis_names.index(self.axis)
        edges = divide_positions(measured.size, self.parts, choose)
        return tuple(describe_position(grid, axis, edge) for edge in edges)

    def declare(self, selector: Selector, rate: Fraction) -> tuple[Draw, ...]:
        """List everything that :meth:`draw` can draw: a draw for each edge."""
        return tuple(
            draw
            for edge in range(self.parts - 1)
            for draw in selector.declare(rate, Stream.SELECT + STREAMS * edge)
        )

    def longest_answer(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last positions."""
        axis = grid.axis_names.index(self.axis)
        size = grid.shape[axis]
        return tuple(
            describe_position(grid, axis, edge) for edge in range(size - self.parts + 1, size)
        )


def divide_positions(
    size: int, parts: int, choose: Callable[[int, int, int, int, tuple[int, int]], int]
) -> Iterator[int]:
    """Yield edges that divide positions into parts, round by round.

    Parameters
    ----------
    size : int
        Number of positions.
    parts : int
        1 to ``size``.
    choose : function
        Of the first and the last edge that leave every part a position, the ends of the positions
        to divide, and how many parts lie below and above the edge; returns the edge.

    Examples
    --------
    >>> list(divide_positions(8, 3, lambda first, last, *_: first))
    [1, 2]
    """
    waiting = deque([(0, size, parts)])
    while waiting:
        start, end, left = waiting.popleft()
        if left == 1:
            continue
        below, above = left // 2, left - left // 2
        edge = choose(start + below, end - above, start, end, (below, above))
        yield edge
        waiting += [(start, edge, below), (edge, end, above)]


def count_off(
    below: NDArray[np.int64], above: NDArray[np.int64], halves: tuple[int, int]
) -> NDArray[Any]:
    """Count by how much edges are off from dividing records in proportion to the parts beside them.

    With b records below, a above, and k and l parts there, k no more than l, that is
    ``abs(l b - k a)``, in parts of ``1 / l`` records: one record more below an edge changes it by a
    whole one, and one above by k / l, which is no more.

    Parameters
    ----------
    below, above : int64[edges]
        Records on both sides of each edge, at most ``2**60`` in all.
    halves : (int, int)
        k and l.

    Returns
    -------
    int64[edges], or object[edges] of whole numbers of any length

    Examples
    --------
    >>> count_off(np.array([0, 3, 4]), np.array([4, 1, 0]), (1, 1)).tolist()
    [4, 2, 4]
    """
    k, larger = halves
    if (int(below[0]) + int(above[0])) * larger >= 1 << 62:
        # Products beyond int64 are kept as Python's whole numbers, not rounded.
        below, above = below.astype(object), above.astype(object)
    return np.asarray(abs(larger * below - k * above))
