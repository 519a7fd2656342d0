"""Bounding what one person adds to a table of counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kernels.radix import sort_pairs
from geodp.privacy.assumption import ContributionBound, Responsible
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.privacy.selected import Selection
from geodp.table.counts import CountTable
from geodp.table.totals import Summed, count_overlaps, find_sums, find_totals

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
            raise UsageError(
                f"A person may have a whole number of {name}, at least 1.", code="contribution-form"
            )
    if truncation not in ("first", "sample"):
        raise UsageError("truncation is first or sample.", code="truncation-unknown")
    order = _sort(person, key)  # stable: within a cell, records stay in their order
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
    by_rank = _sort(person[first], rank)
    ranked = person[first][by_rank]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: ranked.size])
    place = np.arange(ranked.size) - np.repeat(begins, np.diff(np.append(begins, ranked.size)))
    kept = np.sort(by_rank[place < cells])
    return key[first][kept], count[kept]


def _sort(major: NDArray[np.int64], minor: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order int64[n] by one and then by the other; equal ones stay as they were."""
    key, order = minor.astype(np.uint64), np.arange(minor.size)
    spare_key, spare_order = np.empty_like(key), np.empty_like(order)
    sort_pairs(key, order, spare_key, spare_order)
    np.take(major.astype(np.int64, copy=False).view(np.uint64), order, out=key, mode="clip")
    sort_pairs(key, order, spare_key, spare_order)
    return order


def bound_contribution(table: CountTable, contribution: int | None) -> ContributionBound:
    """Decide by what bound on a person's contribution a table is released, and who states it.

    Grid, names and headers decide, never a count.

    Parameters
    ----------
    table : CountTable
    contribution : int or None
        As the operator states it; None: as the records enforce it, or the table's layout states.

    Returns
    -------
    ContributionBound

    Raises
    ------
    UsageError
        Nobody states a bound, or the operator states less than the table's own bound or than
        totals beside their parts add up to.
    """
    bound = table.bound
    if contribution is not None:
        if bound is not None and contribution < bound.value:
            raise UsageError(
                f"The table lets a person be counted {bound.value} times; "
                f"contribution must be at least that.",
                code="contribution-below-table",
            )
        enforced = bound is not None and bound.enforced
        bound = ContributionBound(contribution, "geodp" if enforced else "operator")
    if bound is None:
        raise UsageError(REQUEST_CONTRIBUTION)
    named = _find_named_totals(table.grid)
    least = _least(table.grid, named)
    if not named and table.reading is not None and table.reading.totals:
        named, least = {"columns of values": ", ".join(table.reading.totals)}, 2
    if named and not bound.enforced and bound.value < least:
        listed = ", ".join(f"{label} ({name})" for name, label in named.items())
        raise UsageError(f"{listed}: {BOTH.format(least)}", code="contribution-below-sums")
    return bound


def combine_bounds(bounds: Sequence[ContributionBound]) -> ContributionBound:
    """Combine the bounds of several tables: the largest, by whoever answers for the least of it.

    What the operator states of one table is the operator's word for all of them, and what a
    layout states of one is not enforced.

    Examples
    --------
    >>> combine_bounds([ContributionBound(1, "geodp"), ContributionBound(3)])
    ContributionBound(value=3, stated_by='operator')
    """
    order: tuple[Responsible, ...] = ("operator", "layout", "geodp")
    weakest = min(bounds, key=lambda bound: order.index(bound.stated_by))
    return replace(weakest, value=max(bound.value for bound in bounds))


REQUEST_CONTRIBUTION = Rule(
    "contribution-unstated",
    "Nothing in the input bounds how often one person is counted, so say it: --contribution N "
    "(contribution=N), which is 1 where everybody is counted once in all cells, labels, columns "
    "and files together; or name the column of persons (--person, person=), and geodp enforces it.",
)
"""What is asked where nobody states how often a person is counted."""

BOTH = (
    "the total stands beside its parts, and a person is counted in both. Leave the total out, as "
    "it is the sum of the parts anyway; or vouch for {} or more (--contribution, contribution=)."
)

SUMS = (
    "that the contribution allows for labels which count the sum of others in every cell, exactly "
    "or but for rounding: a table for which it does not is refused before anything is charged"
)
"""What a release states where :func:`require_no_sums` has looked at the counts."""


def require_no_sums(grid: Grid, spent: Measurement | Selection, counts: Summed) -> tuple[str, ...]:
    """Refuse sums of other labels, and return the public facts that follow.

    Such a label is a total that its name does not tell: whoever vouches for a contribution of 1
    is mistaken, so a contribution that counts the total is asked for. This refusal looks at the
    counts, so that a release would tell that it did not come; the release therefore states it as
    a public fact. Where geodp enforces the bound, or the contribution allows for totals anyway,
    nothing is looked at and nothing stated.

    Raises UsageError, which names the labels.
    """
    if spent.enforced or spent.contribution >= _least(grid, {a.name for a in grid.attributes}):
        return ()
    found = dict(find_sums(grid, counts))
    least = _least(grid, found | _find_named_totals(grid))
    if found and spent.contribution < least:
        listed = ", ".join(f"{label} ({name})" for name, label in found.items())
        why = "in every cell the sum of other labels, exactly or but for rounding, so that"
        raise UsageError(
            f"{listed}: {why} {BOTH.format(least)}", code="contribution-below-sums-found"
        )
    return (SUMS,)


def _find_named_totals(grid: Grid) -> dict[str, str]:
    """Attributes that have a total beside its parts by name, and the totals."""
    found = {a.name: ", ".join(find_totals(a.labels)) for a in grid.attributes}
    return {name: labels for name, labels in found.items() if labels}


def _least(grid: Grid, names: Iterable[str]) -> int:
    """Return how often a person is counted at least where these attributes have totals.

    Twice in each, or in as many labels as hold one another by their names.
    """
    labels = {attribute.name: attribute.labels for attribute in grid.attributes}
    return prod(max(2, count_overlaps(labels[name])) for name in {*names})
