"""Hierarchies of official regions, and the order of cells in which every region is a node.

A public table assigns every cell to a municipality, every municipality to a prefecture, and so on.
The digits of a key are then the prefecture's number, the municipality's number within it, and bits
of the cell's rank within its municipality, in Morton order. Regions have different numbers of
parts: digits have capacity for the largest, and numbers without a cell are structural zeros, as are
cells outside all regions. Pairs of regions have the digits of origin and destination level by
level, so that all pairs of units of one level are nodes of one tree; attributes come last.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.axes import FORMULA, NO_FORMULA
from geodp.grid.order import KEY_BITS, Digits, Limits, Order, bits_for
from geodp.grid.outlines import Outlines
from geodp.reprs import one_line

WIDEST = 4096
"""Maximal parts of a region on one level; more are split by intermediate levels."""

COUNTED_AS = "; codes that it does not list are counted as "
"""Text between the source of a table and the names of its units for other codes."""

CELL = "cell"
"""Name of the last level, which consists of the cells."""


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A public table of cells, their regions, the regions of these, and so on.

    Attributes
    ----------
    levels : tuple of str
        Names of the levels, the coarsest first.
    codes : tuple of tuple of str
        Codes of every level's regions, in key order. A region is identified by its code and those
        above it, so two prefectures may have municipalities with the same code.
    region : int64[levels, n]
        Position in ``codes`` of each cell's regions.
    cell : int64[2, n]
        Row and column of the cells, in key order.
    source : str
        Where the table comes from, as text; published with every release. By naming it you assert
        that the table is public and was not made from the data.
    outlines : Outlines, optional
        Outlines of finest regions that are units, by column; not part of the table's digest.
    placed : bool
        Whether the finest regions, each of one cell, are sorted by the location of their cells and
        not by their codes.
    names : tuple of str, optional
        Names of finest regions that are units, in the order of their codes, blank where a unit has
        none; not part of the table's digest.

    Examples
    --------
    >>> table = Hierarchy.of_cells(
    ...     [[0, 0, 1, 1], [0, 1, 0, 1]],
    ...     {"prefecture": ["13", "13", "13", "14"], "city": ["101", "101", "102", "101"]},
    ...     "an example",
    ... )
    >>> table.codes
    (('13', '14'), ('101', '102', '101'))
    >>> table.steps
    (('prefecture', 1), ('city', 1), ('cell', 1))
    """

    __repr__ = one_line

    levels: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...] = field(repr=False)
    region: NDArray[np.int64] = field(repr=False)
    cell: NDArray[np.int64] = field(repr=False)
    source: str
    outlines: Outlines | None = field(default=None, repr=False)
    placed: bool = field(default=False, repr=False)
    names: tuple[str, ...] | None = field(default=None, repr=False)

    @classmethod
    def of_cells(
        cls,
        cell: ArrayLike,
        regions: Mapping[str, Sequence[Any] | NDArray[Any]],
        source: str,
        *,
        placed: bool = False,
    ) -> Self:
        """Create the table from cells in any order.

        Parameters
        ----------
        cell : int64[2, n]
            Row and column on the grid, each cell once.
        regions : mapping of str to sequence
            Codes of each cell's regions, by level, the coarsest first.
        source : str
            Published; must not be empty.
        placed : bool
            Whether the finest regions, each of one cell, are sorted by the location of their cells.

        Raises
        ------
        CodeError
            A cell occurs twice, or a code is blank; ``position`` is its index.
        UsageError
            There is no cell or no level, a level has the name of another, or lists
            differ in length.
        """
        at = np.array(cell, np.int64)
        names = tuple(regions)
        if not source.strip() or not source.isprintable():
            raise UsageError(
                "Regions need a description of their public source; it is published.",
                code="regions-source-missing",
            )
        if not names or any(not name.strip() or name == CELL for name in names):
            raise UsageError(
                f"Regions need at least one level, with names other than {CELL!r}.",
                code="regions-without-levels",
            )
        if any(name.startswith(FORMULA) for name in names):
            raise UsageError(NO_FORMULA)
        texts = [np.array([_text(code) for code in regions[name]], np.str_) for name in names]
        if at.ndim != 2 or at.shape[0] != 2 or any(t.shape != at.shape[1:] for t in texts):
            raise UsageError(
                "Regions need a row, a column and a code on each level for every cell.",
                code="regions-columns-missing",
            )
        if not at.size:
            raise UsageError(
                "The regions contain no cell of the grid.", code="regions-hold-no-cell"
            )
        for text in texts:
            if (text == "").any():
                raise CodeError(
                    int((text == "").argmax()),
                    "the cell has no region.",
                    code="cell-without-region",
                )
            formula = np.isin(text.astype("U1"), FORMULA)
            if formula.any():
                raise CodeError(int(formula.argmax()), NO_FORMULA)
        where = _linear(at)
        once = np.zeros(where.size, np.bool_)
        once[np.unique(where, return_index=True)[1]] = True
        if not once.all():
            raise CodeError(
                int(once.argmin()), "the cell occurs twice in the table.", code="cell-repeated"
            )
        region, codes = [], []
        # A table may extend beyond the map, while Morton codes need indices from 0 on.
        corner = at - np.minimum(at.min(axis=1, keepdims=True), 0)
        morton = Order.morton((corner.max(axis=1) + 1).tolist()).encode(corner)
        above = np.zeros(at.shape[1], np.int64)
        for level, text in enumerate(texts, start=1):
            labels, number = np.unique(text, return_inverse=True)
            if placed and level == len(texts):
                _, first, number = np.unique(morton, return_index=True, return_inverse=True)
                labels = text[first]
            # Numbering pairs of (region above, label) keeps equal codes in different regions
            # apart.
            paths, above = np.unique(above * labels.size + number, return_inverse=True)
            region.append(above)
            codes.append(tuple(labels[paths % labels.size].tolist()))
        order = np.lexsort((morton, above))
        sorted_regions = np.array(region)[:, order]
        return cls(names, tuple(codes), sorted_regions, at[:, order], source.strip(), placed=placed)

    @cached_property
    def names_cells(self) -> bool:
        """Whether every cell is a region with a unique code."""
        codes = self.codes[-1]
        return len(codes) == len({*codes}) == self.cells

    def within(self, rows: int, cols: int) -> Hierarchy:
        """Return the part of the table on a grid of some size; UsageError if it is empty."""
        inside = ((self.cell >= 0) & (self.cell < [[rows], [cols]])).all(axis=0)
        if inside.all():
            return self
        texts = {
            name: np.array(codes)[number[inside]].tolist()
            for name, codes, number in zip(self.levels, self.codes, self.region, strict=True)
        }
        return Hierarchy.of_cells(self.cell[:, inside], texts, self.source, placed=self.placed)

    @property
    def cells(self) -> int:
        """Number of cells in regions."""
        return int(self.cell.shape[1])

    def labels(self, level: str) -> NDArray[np.str_]:
        """Return the code of each cell's region on a level: str[n], in key order."""
        at = self.levels.index(level)
        return np.asarray(np.array(self.codes[at], np.str_)[self.region[at]])

    def cells_in(self, *codes: str) -> NDArray[np.int64]:
        """Return row and column of a region's cells: int64[2, k].

        Parameters
        ----------
        *codes : str
            Codes of the region and, before it, of the regions that contain it, the coarsest first.

        Raises UsageError if no region has these codes.

        Examples
        --------
        >>> city = ["101", "102", "101"]
        >>> table = {"prefecture": ["13", "13", "14"], "city": city}
        >>> Hierarchy.of_cells([[0, 0, 1], [0, 1, 1]], table, "an example").cells_in("13", "102")
        array([[0],
               [1]])
        """
        inside = np.full(self.cells, 0 < len(codes) <= len(self.levels))
        for level, code in zip(self.levels, codes, strict=False):
            inside &= self.labels(level) == str(code).strip()
        if not inside.any():
            raise UsageError(
                f"No region has these codes; give codes of {', '.join(self.levels)}, in this "
                "order.",
                code="region-unknown",
            )
        return self.cell[:, inside]

    @cached_property
    def sha256(self) -> str:
        """Digest of the table, independent of the order of its rows and of its source."""
        # The source is left out, so that a corrected description keeps the digest; integers are
        # little-endian on every machine.
        header = json.dumps([self.levels, self.codes], ensure_ascii=True).encode()
        arrays = (self.cell.astype("<i8").tobytes(), self.region.astype("<i8").tobytes())
        return hashlib.sha256(header + b"".join(arrays)).hexdigest()

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int64], list[int]]:
        """Number of every cell's region within the one above, level by level, and the cell's rank.

        int64[levels + 1, n], and the largest number of parts on each.
        """
        above = np.zeros(self.cells, np.int64)
        parts = []
        for number in (*self.region, np.arange(self.cells)):
            first = np.flatnonzero(np.append(True, above[1:] != above[:-1]))
            # Regions are sorted, so the parts of a region are consecutive and begin with its first
            # one.
            parts.append(number - number[first][above])
            above = number
        return np.array(parts), [int(part.max()) + 1 for part in parts]

    @cached_property
    def digits(self) -> tuple[tuple[int, ...], ...]:
        """Radices of the digits of regions within those above, level by level, and of ranks."""
        *fanouts, cells = self._parts[1]
        radices: list[tuple[int, ...]] = []
        for fanout in fanouts:
            count = 1
            # A method holds all children of a node at once. A region with more is split evenly:
            # the nodes between are no regions, but bound the memory.
            while (radix := _root(fanout, count)) > WIDEST:
                count += 1
            radices.append((radix,) * count if radix > 1 else ())
        return (*radices, (2,) * bits_for(cells))

    @property
    def radices(self) -> tuple[int, ...]:
        """Radices of all digits of a cell's number."""
        return tuple(radix for radices in self.digits for radix in radices)

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Levels of the tree and the number of digits of each; one named "" is not a region."""
        steps: list[tuple[str, int]] = []
        for name, radices in zip(self.levels, self.digits, strict=False):
            steps += [("", 1)] * (len(radices) - 1) + [(name, 1)] * bool(radices)
        bits = len(self.digits[-1])
        steps += [("", bits % 4)] * bool(bits % 4) + [("", 4)] * (bits // 4)
        return (*steps[:-1], (CELL, steps[-1][1])) if bits else tuple(steps)

    @cached_property
    def number(self) -> NDArray[np.int64]:
        """Numbers that the digits of cells encode: int64[n], strictly increasing."""
        parts, _ = self._parts
        if prod(self.radices) > 1 << KEY_BITS:
            raise UsageError(
                f"The regions need keys of more than {KEY_BITS} bits.",
                code="regions-need-long-keys",
            )
        numbers = np.zeros(self.cells, np.int64)
        for part, radices in zip(parts, self.digits, strict=True):
            numbers = numbers * prod(radices) + part
        return numbers

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        where = _linear(self.cell)
        by_place = np.argsort(where)
        return where[by_place], self.number[by_place]

    def number_of(self, cell: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of cells int64[2, n]; -1 for a cell outside all regions."""
        where, number = self._sorted
        wanted = _linear(cell)
        at = np.minimum(np.searchsorted(where, wanted), where.size - 1)
        return np.where(where[at] == wanted, number[at], -1)

    def cell_of(self, number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells int64[2, n] of numbers; -1, -1 for a number without a cell."""
        at = np.minimum(np.searchsorted(self.number, number), self.cells - 1)
        return np.where(self.number[at] == number, self.cell[:, at], -1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.source == other.source and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash(self.sha256)


@dataclass(frozen=True)
class TableOrder(Order):
    """Order by the digits of places' numbers in a table of regions, among digits of other axes.

    The digits of a place are on the axis of its rows: axis 0, and axis 2 for the end of a pair.

    Attributes
    ----------
    hierarchy : Hierarchy
    ends : int
        Class attribute: number of places of a cell, 2 for an origin and a destination.
    mismatch : Rule
        Class attribute: refusal of digits that number no cells of the table.
    """

    __repr__ = one_line

    hierarchy: Hierarchy = field(kw_only=True)

    ends: ClassVar[int]
    mismatch: ClassVar[Rule]

    @classmethod
    def of(cls, hierarchy: Hierarchy, attributes: Digits = (), under: str | None = None) -> Self:
        """Create the order; attributes come below the cells by default.

        On every level the digits of the origin come before those of the destination.

        Parameters
        ----------
        hierarchy : Hierarchy
        attributes : sequence of (axis, radix)
        under : str, optional
            Level of regions directly below which the attributes come; ``""``: above all regions.
        """
        ends = range(cls.ends)
        parts: list[Digits] = [
            [(2 * end, radix) for end in ends for radix in radices] for radices in hierarchy.digits
        ]
        at = len(parts)
        if under is not None:
            at = hierarchy.levels.index(under) + 1 if under else 0
        parts.insert(at, [digit for digit in attributes if digit[1] > 1])
        digits = [digit for part in parts for digit in part]
        axes, radices = (tuple(digit[i] for digit in digits) for i in (0, 1))
        return cls(axes, radices, hierarchy=hierarchy)

    @property
    def is_binary(self) -> bool:
        """False, as a digit of a place's number belongs to no row or column."""
        return False

    @property
    def follows_map(self) -> bool:
        """False, as regions have any shape and different numbers of parts."""
        return False

    def without_attributes(self, digits: int, ndim: int) -> Self:
        """Return the order of the cells alone."""
        return self.of(self.hierarchy)

    def numbers(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Return the places' numbers in the keys of a grid: uint64[n] to int64[ends, n]."""
        return self._inner.decode(key, ndim - self.ends)[: self.ends]

    @cached_property
    def _inner(self) -> Order:
        """Order of the same digits, the places' numbers as first axes, attributes after them."""
        rows = 2 * self.ends
        axes = (axis // 2 if axis < rows else axis - self.ends for axis in self.axes)
        return Order(tuple(axes), self.radices)

    def require_fit(self, sizes: Sequence[int]) -> None:
        """Raise UsageError unless the digits number the cells of all places, and other axes."""
        rows, cell = 2 * self.ends, self.hierarchy.cell
        columns = any(axis < rows and axis % 2 for axis in self.axes)
        if columns or self.offset or len(sizes) < rows:
            raise UsageError(self.mismatch)
        for row in range(0, rows, 2):
            radices = tuple(
                r for axis, r in zip(self.axes, self.radices, strict=True) if axis == row
            )
            if radices != self.hierarchy.radices:
                raise UsageError(self.mismatch)
            if (cell < 0).any() or (cell >= np.array(sizes[row : row + 2])[:, None]).any():
                raise UsageError("The regions extend beyond the grid.", code="regions-beyond-grid")
        self._inner.require_fit((*self._capacity, *sizes[rows:]))

    @property
    def _capacity(self) -> tuple[int, ...]:
        """Numbers that the digits of each place can have."""
        return (prod(self.hierarchy.radices),) * self.ends

    def encode(self, index: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of cell indices: int64[d, n] to uint64[n].

        Raises CodeError for a cell outside all regions, or a label beyond its attribute's digits.
        """
        rows = 2 * self.ends
        number = np.stack(
            [self.hierarchy.number_of(index[at : at + 2]) for at in range(0, rows, 2)]
        )
        outside = (number < 0).any(axis=0)
        if outside.any():
            raise CodeError(
                int(outside.argmax()), "The cell is in no region.", code="cell-in-no-region"
            )
        return self._inner.encode(np.concatenate([number, index[rows:]]))

    def decode(self, key: NDArray[np.uint64], ndim: int) -> NDArray[np.int64]:
        """Return the cell indices of keys: uint64[n] to int64[ndim, n].

        Rows and columns are -1 if no cell has the number.
        """
        inner = self._inner.decode(key, ndim - self.ends)
        cells = [self.hierarchy.cell_of(one) for one in inner[: self.ends]]
        return np.concatenate([*cells, inner[self.ends :]])

    def count_cells(
        self, first: NDArray[np.uint64], digits: int, sizes: Sequence[int]
    ) -> NDArray[np.int64]:
        """Count the domain's cells in blocks of keys that share their first digits: int64[n]."""
        ndim = len(sizes) - self.ends
        low, sides = self._inner.decode(first, ndim), self._inner.sides(digits, ndim)
        labels = np.array(sizes[2 * self.ends :], np.int64)[:, None] - low[self.ends :]
        counts = np.clip(labels, 0, sides[self.ends :, None]).prod(axis=0)
        for at, side in zip(low[: self.ends], sides[: self.ends], strict=True):
            start, stop = (np.searchsorted(self.hierarchy.number, at + i) for i in (0, side))
            counts *= stop - start
        return np.asarray(counts, np.int64)

    def limits(self, sizes: Sequence[int]) -> Limits:
        """Return the limits of the places' numbers, as first axes, and of attributes after them."""
        high = np.array((*self._capacity, *sizes[2 * self.ends :]), np.int64)
        number = np.tile(self.hierarchy.number, (self.ends, 1))
        return Limits(self._inner.axes, np.zeros_like(high), high, number)

    def describe(self) -> dict[str, Any]:
        """Return plain values for the release card, without the table."""
        return {
            "axes": list(self.axes),
            "radices": list(self.radices),
            "regions": {
                "levels": {
                    name: len(codes)
                    for name, codes in zip(self.hierarchy.levels, self.hierarchy.codes, strict=True)
                },
                "source": self.hierarchy.source,
                "sha256": self.hierarchy.sha256,
                **({"placed": True} if self.hierarchy.placed else {}),
            },
        }


@dataclass(frozen=True)
class HierarchyOrder(TableOrder):
    """Order of the cells of one map."""

    ends: ClassVar[int] = 1
    mismatch: ClassVar[Rule] = Rule(
        "order-not-of-regions", "The digits of the order do not match its regions."
    )

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Levels of the tree and the number of digits of each; one named "" is not a region."""
        return self.hierarchy.steps


def _text(code: object) -> str:
    """Convert a code to text; None and NaN become blank."""
    return "" if code is None or code != code else str(code).strip()


def _linear(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """Combine row and column into one number."""
    return np.asarray((cell[0] << 31) + cell[1], np.int64)


def _root(number: int, count: int) -> int:
    """Return the smallest radix of which ``count`` digits reach a number."""
    radix: int = max(1, round(number ** (1 / count)) - 1)
    while radix**count < number:
        radix += 1
    return radix


ENDS = ("origin", "destination")
"""Names of the two ends of a pair."""

MAX_PARTS = 2048
"""Maximal children of a node that is split by origin and destination at once."""


@dataclass(frozen=True)
class PairOrder(TableOrder):
    """Alternating digits of the origin's and the destination's numbers in one table of regions.

    The origin's digits are on axis 0, the destination's on axis 2, the rows of their places.
    """

    ends: ClassVar[int] = 2
    mismatch: ClassVar[Rule] = Rule(
        "order-not-of-pairs", "The digits of the order do not match pairs of its regions."
    )

    def __post_init__(self) -> None:
        # Checked here for a message about pairs; the base class would speak of a grid.
        if prod(self.radices) > 1 << KEY_BITS:
            raise UsageError(
                f"Pairs of these units need keys of more than {KEY_BITS} bits; give a table of a "
                "smaller area, or of coarser units, or fewer attributes.",
                code="pairs-need-long-keys",
            )
        super().__post_init__()

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """Levels of the tree and the number of digits of each.

        One named "" is not a level of pairs.

        Both digits of a level form one step, which leaves more of the budget to each level; if a
        node would have more than ``MAX_PARTS`` children, the origin's digit is a step before.
        """
        steps: list[tuple[str, int]] = []
        # Pairs of units end at the units: the last digits, which number cells within a unit, have
        # one value and no radix.
        for name, radices in zip(self.hierarchy.levels, self.hierarchy.digits, strict=False):
            if len(radices) == 1 and radices[0] ** 2 <= MAX_PARTS:
                steps.append((name, 2))
            else:
                steps += [("", 1)] * (2 * len(radices) - 1) + [(name, 1)] * bool(radices)
        return tuple(steps)
