"""Bounds on the contribution of one person to a table of counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kernels.key_lists import sort_pairs
from geodp.privacy.assumption import ContributionBound, Responsible
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
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
        Key of the sample; default: fresh from the operating system. A kept key samples again in
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
                f"{name} must be a whole number of at least 1.", code="contribution-form"
            )
    if truncation not in ("first", "sample"):
        raise UsageError("truncation must be first or sample.", code="truncation-unknown")
    order = _sort(person, key)  # stable: records of a cell stay in file order
    new = np.empty(order.size, np.bool_)
    new[:1] = True
    ours, cell = person[order], key[order]
    new[1:] = (ours[1:] != ours[:-1]) | (cell[1:] != cell[:-1])
    # Runs of equal (person, cell); each becomes one entry of the result.
    start = np.flatnonzero(new)
    count = np.minimum(np.diff(np.append(start, order.size)), per_cell)
    first = order[start]  # the first record of every (person, cell)
    rank = first.astype(np.uint64)
    # Keyed by the digest of the records: the same input gives the same sample, and a changed input
    # an independent one. One person's sample depends on the others' records only through that key.
    if truncation == "sample":
        fresh = secret or NoiseKey.generate()
        rank = blocks(fresh.derive(digest(person, key)), Stream.SAMPLE, rank)[0]
    # Within a person, the entries with the smallest ranks are the first records or the sample.
    by_rank = _sort(person[first], rank)
    ranked = person[first][by_rank]
    begins = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: ranked.size])
    place = np.arange(ranked.size) - np.repeat(begins, np.diff(np.append(begins, ranked.size)))
    selected = np.sort(by_rank[place < cells])
    return key[first][selected], count[selected]


def _sort(major: NDArray[np.int64], minor: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the stable order by two keys: int64[n]."""
    # Radix sort by the minor key, then stably by the major one: sorts by both in linear time.
    key, order = minor.astype(np.uint64), np.arange(minor.size)
    key_buffer, order_buffer = np.empty_like(key), np.empty_like(order)
    sort_pairs(key, order, key_buffer, order_buffer)
    np.take(major.astype(np.int64, copy=False).view(np.uint64), order, out=key, mode="clip")
    sort_pairs(key, order, key_buffer, order_buffer)
    return order


def bound_contribution(table: CountTable, contribution: int | None) -> ContributionBound:
    """Choose the bound on a person's contribution for a release, and record who states it.

    Only grid, names and headers are used, never a count.

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
        # A larger number than the enforced one costs accuracy only, so the enforcement still
        # vouches.
        enforced = bound is not None and bound.enforced
        unit = "" if bound is None else bound.unit
        bound = ContributionBound(contribution, "geodp" if enforced else "operator", unit=unit)
    if bound is None:
        raise UsageError(REQUEST_CONTRIBUTION)
    # Labels are public, so refusing by their names reveals nothing about the counts.
    named = _find_named_totals(table.grid)
    minimum = _min_contribution(table.grid, named)
    if not named and table.reading is not None and table.reading.totals:
        named, minimum = {"columns of values": ", ".join(table.reading.totals)}, 2
    if named and not bound.enforced and bound.value < minimum:
        listed = ", ".join(f"{label} ({name})" for name, label in named.items())
        raise UsageError(f"{listed}: {BOTH.format(minimum)}", code="contribution-below-sums")
    return bound


def combine_bounds(bounds: Sequence[ContributionBound]) -> ContributionBound:
    """Combine the bounds of several tables: the largest value, with the weakest of their sources.

    What the operator states of one table is the operator's word for all of them, and what a
    layout states of one is not enforced. Raises UsageError for bounds of several units.

    Examples
    --------
    >>> combine_bounds([ContributionBound(1, "geodp"), ContributionBound(3)])
    ContributionBound(value=3, stated_by='operator')
    """
    order: tuple[Responsible, ...] = ("operator", "layout", "geodp")
    # A guarantee is only as reliable as the least reliable of its assumptions.
    weakest = min(bounds, key=lambda bound: order.index(bound.stated_by))
    units = sorted({bound.unit for bound in bounds} - {""})
    if len(units) > 1:
        raise UsageError(
            f"The tables bound different units: {', '.join(units)}.", code="bounds-of-several-units"
        )
    return replace(weakest, value=max(bound.value for bound in bounds), unit="".join(units))


REQUEST_CONTRIBUTION = Rule(
    "contribution-unstated",
    "Nothing in the input bounds how often one person is counted, so state it: --contribution N "
    "(contribution=N), which is 1 if everybody is counted once in all cells, labels, columns and "
    "files together; or name the column of persons (--person, person=), and geodp enforces it.",
)
"""Error where nothing states how often a person is counted."""

BOTH = (
    "the total stands beside its parts, and a person is counted in both. Leave the total out, as "
    "the parts add up to it anyway; or state {} or more (--contribution, contribution=)."
)

SUMS = (
    "that the contribution allows for labels which count the sum of others in every cell, exactly "
    "or but for rounding: a table for which it does not is refused before anything is charged"
)
"""Public fact of a release whose counts :func:`require_no_sums` has checked."""


def require_no_sums(
    grid: Grid, bound: ContributionBound, counts: Summed, disjoint: Collection[str] = ()
) -> tuple[str, ...]:
    """Refuse sums of other labels, and return the public facts that follow.

    Such a label is a total that its name does not reveal, so a stated contribution of 1 is wrong
    and a larger one is required. This check looks at the counts: a release would reveal that it
    passed, and therefore states so as a public fact. If geodp enforces the bound, or the
    contribution allows for totals anyway, nothing is checked or stated. ``disjoint``: attributes of
    whose labels nobody can be in two, such as sizes of households, where equal counts are chance.

    Raises UsageError, which names the labels.
    """
    # The sums are not even computed here, as a fact about them would have to be published.
    if bound.enforced or bound.value >= _min_contribution(grid, {a.name for a in grid.attributes}):
        return ()
    sums = dict(find_sums(grid, counts, disjoint))
    minimum = _min_contribution(grid, sums | _find_named_totals(grid))
    if sums and bound.value < minimum:
        listed = ", ".join(f"{label} ({name})" for name, label in sums.items())
        why = "in every cell the sum of other labels, exactly or up to rounding, so that"
        raise UsageError(
            f"{listed}: {why} {BOTH.format(minimum)}", code="contribution-below-sums-found"
        )
    return (SUMS,)


def _find_named_totals(grid: Grid) -> dict[str, str]:
    """Find the attributes with a total among their labels by name, and the totals."""
    totals = {a.name: ", ".join(find_totals(a.labels)) for a in grid.attributes}
    return {name: labels for name, labels in totals.items() if labels}


def _min_contribution(grid: Grid, names: Iterable[str]) -> int:
    """Return the smallest possible contribution if these attributes have totals.

    A person is counted twice in each attribute, or as often as labels contain one another by name.
    """
    labels = {attribute.name: attribute.labels for attribute in grid.attributes}
    # Attributes are independent: a person in two labels of each of k attributes is in 2**k cells.
    return prod(max(2, count_overlaps(labels[name])) for name in {*names})
