"""Bounding what one person adds to a table of counts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.randomness import NoiseKey, Stream, blocks, digest
from geodp.table import CountTable

Truncation = Literal["first", "sample"]


def truncate(
    person: NDArray[np.int64],
    key: NDArray[np.uint64],
    *,
    cells: int,
    per_cell: int,
    truncation: Truncation = "first",
    secret: NoiseKey | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Keep at most ``cells`` cells of every person and count at most ``per_cell`` in each.

    What is kept of a person depends on that person's records alone, so adding or removing one
    person changes the sum of the counts by at most ``cells * per_cell``: this is the table's
    contribution bound.

    Parameters
    ----------
    person : int64[n]
        Number of the record's person.
    key : uint64[n]
        The record's cell.
    cells, per_cell : int
        At least 1.
    truncation : {"first", "sample"}
        Which cells of a person with more are kept: those that come first among the person's
        records, or a uniform sample.
    secret : NoiseKey, optional
        Of the sample; default: fresh from the operating system. A kept key samples again in
        the same way from the same records.

    Returns
    -------
    key : uint64[m], count : int64[m]
        One entry a kept (person, cell); keys may repeat.

    Examples
    --------
    >>> person, key = np.array([7, 7, 7, 8]), np.array([3, 3, 5, 5], np.uint64)
    >>> truncate(person, key, cells=1, per_cell=2)
    (array([3, 5], dtype=uint64), array([2, 1]))
    """
    for name, value in (("cells", cells), ("per_cell", per_cell)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UsageError(f"A person may have a whole number of {name}, at least 1.")
    if truncation not in ("first", "sample"):
        raise UsageError("truncation is first or sample.")
    order = np.lexsort((key, person))  # stable: within a cell, records stay in their order
    new = np.empty(order.size, np.bool_)
    new[:1] = True
    ours, cell = person[order], key[order]
    new[1:] = (ours[1:] != ours[:-1]) | (cell[1:] != cell[:-1])
    start = np.flatnonzero(new)
    count = np.minimum(np.diff(np.append(start, order.size)), per_cell)
    first = order[start]  # the first record of every (person, cell)
    rank = first.astype(np.uint64)
    if truncation == "sample":
        fresh = secret or NoiseKey.generate()
        rank = blocks(fresh.derive(digest(person, key)), Stream.SAMPLE, rank)[0]
    by_rank = np.lexsort((rank, person[first]))
    ranked = person[first][by_rank]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: ranked.size])
    place = np.arange(ranked.size) - np.repeat(begins, np.diff(np.append(begins, ranked.size)))
    kept = np.sort(by_rank[place < cells])
    return key[first][kept], count[kept]


def agreed_bound(table: CountTable, claimed: int | None) -> tuple[int, bool]:
    """The contribution bound of a release, and whether the records enforce it.

    Raises UsageError for a claim below the table's own bound, or none where nothing bounds it.
    """
    if claimed is None:
        if table.bound is None:
            raise UsageError(
                "Nothing in the input bounds how often one person is counted. Name the column of "
                "persons so that it can be enforced (--person, person=), or vouch for a bound "
                "(--contribution N, contribution=N)."
            )
        return table.bound, table.enforced
    if table.bound is not None and claimed < table.bound:
        raise UsageError(
            f"The table lets a person be counted {table.bound} times; "
            f"contribution must be at least that."
        )
    return claimed, table.enforced
