"""Sparse tables of counts: confidential ones, and released ones, which are another type.

Writers accept released ones only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.advice import no_attribute
from geodp.errors import CodeError, InputError, Rule, UsageError, require_none
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.kernels import key_lists
from geodp.kernels.key_lists import find
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import TableEvent
from geodp.table.reading import Reading
from geodp.typing import CountArray

MAX_PEOPLE = 1 << 60
"""Largest total of a table, so that sums, details and their noise stay within int64."""


ALTERNATIVES = {
    "to_pandas to_geopandas to_polars to_arrow to_xarray to_csv to_file save write plot": (
        "it is confidential, and the release that geodp.publish(table, ...) makes of it has it"
    ),
    "head columns index iloc loc values describe rows": (
        "it is confidential; key and count are its arrays, and grid.decode(key) has the cells"
    ),
    "shape size bounds crs": "grid has it",
    "total sum": "count.sum() is its sum, which is confidential",
}
"""Hints for names that users of data frames and releases may try on a table."""

CHECKED = 1 << 18
"""Number of keys whose cells are looked up at a time."""

LARGEST_DENSE = 1 << 28
"""Largest number of cells for :meth:`to_dense` (2 GiB)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of cells in canonical form: keys strictly increasing, no count 0.

    Attributes
    ----------
    grid : Grid
    key : uint64[m]
        In the grid's key order; read-only.
    count : int64[m] or float64[m]
        Read-only.
    """

    grid: Grid
    key: NDArray[np.uint64] = field(repr=False)
    count: Any = field(repr=False)

    def __post_init__(self) -> None:
        key, count = self.key, self.count
        if (
            key.dtype != np.uint64
            or key.ndim != 1
            or key.shape != count.shape
            or not (key[1:] > key[:-1]).all()
        ):
            raise UsageError(
                "Keys must be uint64 and strictly increasing, with as many counts; "
                "from_keys and from_dense bring them into this form.",
                code="keys-not-canonical",
            )
        self._seal()

    def __len__(self) -> int:
        """Return the number of listed cells: those whose count is not 0."""
        return int(self.key.size)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make unpickled arrays read-only: kernels are compiled again for writable arrays."""
        self.__dict__.update(state)
        self._seal()

    def _seal(self) -> None:
        for name in ("key", "count"):  # views, so that the caller's own arrays stay writable
            view = getattr(self, name).view()
            view.setflags(write=False)
            object.__setattr__(self, name, view)

    def to_dense(self) -> Any:
        """Return the counts as an array of the grid's shape, in index order: of the counts' type.

        Index (0, 0) is the lower left cell on a grid of mesh codes.

        Raises UsageError for a grid of more than 2**28 cells.
        """
        if prod(self.grid.shape) > LARGEST_DENSE:
            raise UsageError(
                "The grid is too large for a dense array; use key and count.",
                code="dense-array-too-large",
            )
        dense = np.zeros(self.grid.shape, self.count.dtype)
        dense[tuple(self.grid.decode(self.key))] = self.count
        return dense

    def to_vector(self) -> Any:
        """Return the counts of all ``2**bits`` keys, in key order; 0 outside the domain.

        Raises UsageError for more than 2**28 keys.
        """
        if 1 << self.grid.bits > LARGEST_DENSE:
            raise UsageError(
                "The grid is too large for a dense array; use key and count.",
                code="dense-array-too-large",
            )
        vector = np.zeros(1 << self.grid.bits, self.count.dtype)
        vector[self.key.astype(np.int64)] = self.count
        return vector

    def counts_at(self, key: NDArray[np.uint64]) -> Any:
        """Return the counts of cells, 0 of those that are not listed: as ``count``, [n].

        Parameters
        ----------
        key : uint64[n]
            In any order.
        """
        counts = np.zeros(key.size, self.count.dtype)
        if self.key.size:
            # The search returns the end for keys above all others, which is no valid index.
            place = np.minimum(find(self.key, key), self.key.size - 1)
            listed = self.key[place] == key
            counts[listed] = self.count[place[listed]]
        return counts


@dataclass(frozen=True, eq=False, repr=False)
class CountTable(Cells):
    """Confidential counts. No writer accepts this type; :func:`geodp.publish` does.

    Its repr shows the public grid only.

    Attributes
    ----------
    bound : ContributionBound or None
        The most that one person adds to the sum of the counts, where a reader enforced it record
        by record or the layout of an official table states it. None: nothing in the source says
        so, and :func:`geodp.publish` asks for the contribution.
    reading : Reading or None
        What was read of the files that it comes from; None: it comes from arrays.

    Examples
    --------
    >>> table = CountTable.from_dense(np.array([[0, 3], [5, 0]]), Grid.regular((2, 2)))
    >>> table.to_dense()
    array([[0, 3],
           [5, 0]])
    """

    count: NDArray[np.int64] = field(repr=False)
    bound: ContributionBound | None = None
    reading: Reading | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Copies, so that later changes of the caller's arrays do nothing.
        for name in ("key", "count"):
            object.__setattr__(self, name, np.array(getattr(self, name)))
        self._require_canonical()
        _require_cells(self.grid, self.key)

    @property
    def of_records(self) -> bool:
        """Whether it was counted from records, one a row, as its reader states; not the counts."""
        bounded = self.bound is not None and self.bound.enforced
        stated = None if self.reading is None else self.reading.public
        return bounded or (stated is not None and stated.of_records)

    def _require_canonical(self) -> None:
        super().__post_init__()
        if self.count.dtype != np.int64 or not (self.count > 0).all():
            raise UsageError(
                "Counts of a table must be int64 and above 0; from_keys and from_dense make them.",
                code="counts-not-canonical",
            )
        if exact_sum(self.count) > MAX_PEOPLE:
            raise InputError(TOO_MANY)

    @classmethod
    def of_cells(
        cls,
        grid: Grid,
        key: NDArray[np.uint64],
        count: NDArray[np.int64],
        *,
        bound: ContributionBound | None = None,
        reading: Reading | None = None,
    ) -> Self:
        """Make a table from canonical arrays whose keys the caller has already checked."""
        table = object.__new__(cls)
        for name, value in (
            *(("grid", grid), ("key", key), ("count", count)),
            *(("bound", bound), ("reading", reading)),
        ):
            object.__setattr__(table, name, value)
        table._require_canonical()
        return table

    @classmethod
    def from_keys(
        cls,
        grid: Grid,
        key: ArrayLike,
        count: ArrayLike,
        *,
        bound: ContributionBound | None = None,
        reading: Reading | None = None,
    ) -> Self:
        """Return a table from keys in any order; the counts of equal keys are summed.

        Parameters
        ----------
        grid : Grid
        key : uint64[n]
            Keys of cells of the grid's domain.
        count : int64[n]
            Whole and not negative.
        bound, reading
            See the attributes.

        Raises
        ------
        CodeError
            A key outside the domain, or a count that is negative, fractional or not finite;
            ``position`` says which.
        InputError
            More people than 2**60.
        """
        # Keys need up to 64 bits and a double has 53, so even whole floats may name the wrong cell.
        if np.asarray(key).dtype.kind == "f" and np.size(key):
            raise UsageError(
                "Keys are integers; floating-point numbers may have lost digits.",
                code="keys-not-integers",
            )
        keys = _as_integers(
            key, 2**64, Rule("key-not-whole", "A key must be a whole number and not negative.")
        )
        keys = keys.astype(np.uint64)
        counts = as_counts(count)
        if keys.shape != counts.shape or keys.ndim != 1:
            raise UsageError(
                "Keys and counts must be two one-dimensional arrays of one length.",
                code="keys-and-counts-differ",
            )
        _require_cells(grid, keys)
        # Before coalescing: the sum of equal keys must not overflow int64.
        if exact_sum(counts) > MAX_PEOPLE:
            raise InputError(TOO_MANY)
        keys, counts = coalesce(keys, counts)
        return cls.of_cells(grid, keys, counts, bound=bound, reading=reading)

    @classmethod
    def from_index(cls, grid: Grid, index: ArrayLike, count: ArrayLike) -> Self:
        """Make a table from cell indices int64[d, n], otherwise like :meth:`from_keys`."""
        return cls.from_keys(grid, grid.encode(index), count)

    @classmethod
    def from_dense(cls, array: ArrayLike, grid: Grid) -> Self:
        """Return a table from an array of the grid's shape, in index order.

        Index (0, 0) is the lower left cell on a grid of mesh codes, so an array whose first row
        lies in the north must be flipped; on other grids the transform says where it is. A masked
        array must not hide any cell: fill it with what the hidden cells hold, such as 0.
        """
        # numpy would read the values behind the mask, which nobody meant to publish.
        if np.ma.is_masked(array):
            raise UsageError(
                "The array hides cells behind a mask; fill them first: .filled(0).",
                code="array-masked",
            )
        dense = np.asarray(array)
        if dense.shape != grid.shape:
            raise UsageError(
                f"The array must have the grid's shape {grid.shape}.", code="array-shape-differs"
            )
        counts = as_counts(dense.reshape(-1)).reshape(dense.shape)
        index = np.array(np.nonzero(counts), np.int64)
        return cls.from_index(grid, index, counts[tuple(index)])

    @property
    def rows(self) -> int:
        """Number of counted rows of the files; for a table from arrays, of occupied cells."""
        return self.key.size if self.reading is None else self.reading.inside

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError with a hint for names that data frames and releases have."""
            raise no_attribute(self, "A table of counts", name, ALTERNATIVES)

    def __repr__(self) -> str:
        return f"CountTable(confidential, shape={self.grid.shape})"


def coarsen(table: CountTable, onto: Coarsening) -> CountTable:
    """Sum confidential counts to coarser cells; the contribution bound stays valid."""
    key = onto.grid.encode(onto.index(onto.fine.decode(table.key)))
    return CountTable.from_keys(
        onto.grid,
        key,
        table.count,
        bound=table.bound,
        reading=table.reading,
    )


COUNT_FORM = Rule(
    "count-not-whole", "A count must be a whole number, not negative and below 2**60."
)
ROUNDED = Rule(
    "digits-lost", "A number this large may have lost digits as {}; give it as an integer."
)


def exact_sum(count: NDArray[np.int64]) -> int:
    """Compute the sum of nonnegative counts exactly, even beyond int64.

    Examples
    --------
    >>> exact_sum(np.full(16, 2**60)) == 2**64
    True
    """
    if int(count.max(initial=0)) * count.size < 2**63:
        return int(count.sum())
    # Halves of 32 bits: neither sum can overflow for fewer than 2**31 counts.
    return (int((count >> 32).sum()) << 32) + int((count & (2**32 - 1)).sum())


TOO_MANY = Rule(
    "counts-too-many",
    "The counts add up to more than 2**60, which no population does; check the unit.",
)


def coalesce(
    key: NDArray[np.uint64], count: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Sort keys and sum the counts of equal keys; keys whose sum is 0 are dropped.

    Parameters
    ----------
    key : uint64[n], count : int64[n]
        Not negative; not changed.

    Examples
    --------
    >>> key, count = coalesce(np.array([7, 2, 7, 4], np.uint64), np.array([1, 2, 3, 0]))
    >>> key.tolist(), count.tolist()
    ([2, 7], [2, 4])
    """
    # Most files are sorted by code already, which saves the sort.
    if (key[1:] >= key[:-1]).all():
        out_key, out_count = np.empty_like(key), np.empty_like(count)
    else:
        key, count, out_key, out_count = key_lists.sort_pairs_into(key, count)
    n = key_lists.coalesce(key, count, out_key, out_count)
    return out_key[:n].copy(), out_count[:n].copy()


def as_counts(values: ArrayLike) -> NDArray[np.int64]:
    """Convert counts to int64; CodeError with the position of the first invalid one."""
    return _as_integers(values, MAX_PEOPLE, COUNT_FORM).astype(np.int64)


def _as_integers(values: ArrayLike, limit: int, rule: str) -> NDArray[Any]:
    """Return ``values`` as an array of nonnegative integers below ``limit``."""
    array = np.asarray(values)
    if array.dtype.kind not in "iufb":
        raise UsageError(f"{rule} The array given has the type {array.dtype}.", code="array-type")
    with np.errstate(invalid="ignore"):
        good = (array >= 0) & (array < limit) if array.dtype.kind != "u" else array < limit
        if array.dtype.kind == "f":
            good &= array == np.floor(array)
    require_none(np.atleast_1d(~good), rule)
    if array.dtype.kind == "f":
        # From here on, floats skip integers, so the value may not be the one that was written.
        exact = 2.0 ** (np.finfo(array.dtype).nmant + 1)
        require_none(np.atleast_1d(array >= exact), ROUNDED.format(array.dtype))
    return array


def _require_cells(grid: Grid, key: NDArray[np.uint64]) -> None:
    # In blocks, since looking up cells needs several temporary arrays of the same length.
    for start in range(0, key.size, CHECKED):
        good = grid.contains_keys(key[start : start + CHECKED])
        if not good.all():
            rule = Rule("key-no-cell", "The key is no cell of the grid's domain.")
            raise CodeError(start + int(good.argmin()), rule)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable(Cells):
    """Counts that a mechanism has made public: whole or real numbers, some perhaps negative.

    Attributes
    ----------
    count : int64[m] or float64[m]
        Finite and not 0; read-only.
    event : TableEvent
        The mechanism's use, its privacy loss and its guarantee.
    """

    count: CountArray = field(repr=False)
    event: TableEvent

    def __post_init__(self) -> None:
        super().__post_init__()
        kind = self.count.dtype
        if (
            kind not in (np.int64, np.float64)
            or not self.count.all()
            or (kind == np.float64 and not np.isfinite(self.count).all())
        ):
            raise UsageError(
                "Released counts must be int64 or float64, finite and not 0.",
                code="released-counts-form",
            )

    @property
    def summary(self) -> str:
        """One line about the table: its size, mechanism and privacy loss."""
        size = f"{len(self):,} of {self.grid.size:,} cells listed, shape={self.grid.shape}"
        return f"{size}, {self.event.mechanism}, {self.event.loss}"

    def __repr__(self) -> str:
        return f"ReleasedTable({self.summary})"

    @property
    def total(self) -> int | float:
        """Sum of all released counts."""
        total: int | float = self.count.sum().item()
        return total
