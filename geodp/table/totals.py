"""Totals among the labels of an attribute, so that a person is counted twice.

They are found by name, which is public: words for "total" in the languages of official statistics,
and sexes, ranges and months (:mod:`geodp.table.nesting`). And by sums: a label whose counts are in
every cell the sum of other labels, exactly or up to a publisher's rounding and perturbation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.markers import TOTAL_CODES, is_total_of, split_words
from geodp.table.counts import CHECKED, Cells
from geodp.table.nesting import count_together, find_containing_labels

MAX_LABELS = 256
"""Number of labels up to which a label is compared with sums of some others, too."""

NEAR = 0.05
"""Largest difference of a label from the sum of all others over all cells, as a share of it."""

POPULOUS = (100, 1_000, 10_000)
"""Thresholds for the people of a label and its parts, from which on cells are compared."""

AGREEMENT = 0.1
"""Largest variance of a total's differences, as a share of that of independent counts."""

EQUAL = 5
"""Smallest number of populous cells that show a total if all of them agree exactly."""

CHANCE = log(1e-6)
"""Logarithm of the probability that independent counts agree as well as a total must."""

WITNESSES = 64
"""Cells of few people in which a total equals its parts that are kept: enough to be sure of it."""


def find_totals(labels: Sequence[str]) -> list[str]:
    """Return the labels that are totals of others, or contain some of them, by their names.

    Words that all labels share are ignored: "総数" in "人口（総数）　男" and "人口（総数）　女".
    ``T`` and ``_T`` are totals as in Eurostat's and SDMX's code lists, but ``T`` not between
    ``S`` and ``U``, as a section of NACE. Labels that contain others by sex, range or month are
    found by :func:`geodp.table.nesting.find_containing_labels`.

    Examples
    --------
    >>> find_totals(["T", "M", "F"]), find_totals(["人口（総数）　男", "人口（総数）　女"])
    (['T'], [])
    >>> find_totals(["人口（総数）", "人口（総数）　男", "人口（総数）　女"])
    ['人口（総数）']
    """
    totals = {*_find_named(labels), *find_containing_labels(labels)}
    return [label for label in labels if label in totals]


def count_overlaps(labels: Sequence[str]) -> int:
    """Return the number of an attribute's labels that a person can be in, by their names.

    >>> count_overlaps(["T", "M", "F"]), count_overlaps(["T", "0-64", "65+", "75+"])
    (2, 3)
    """
    named = {*_find_named(labels)}
    rest = [label for label in labels if label not in named]
    return max(bool(named) + count_together(rest), count_together(labels))


def _find_named(labels: Sequence[str]) -> list[str]:
    """Return the labels that are totals by a word, unless all of them are."""
    texts = [normalize("NFKC", label).strip() for label in labels]
    label_words = [split_words(text) for text in texts]
    common = set.intersection(*map(set, label_words)) if label_words else set()
    totals = []
    for label, text, all_words in zip(labels, texts, label_words, strict=True):
        rest = [word for word in all_words if word not in common]
        code = text in TOTAL_CODES and not (text == "T" and {"S", "U"} <= set(texts))
        if code or is_total_of(rest or all_words) or _begins_all(text, texts):
            totals.append(label)
    # If every label has the word, it describes the table and distinguishes nothing.
    return [] if len(totals) == len(labels) else totals


def _begins_all(text: str, texts: Sequence[str]) -> bool:
    """Return whether every other label extends this one: "人口" next to "人口 男", "人口 女"."""
    others = [other for other in texts if other != text]
    marks = " (" if len(others) < 2 else " (_-/:."
    return bool(others and text) and all(
        other.startswith(text) and other[len(text)] in marks for other in others
    )


@dataclass(frozen=True, eq=False)
class Relation:
    """A relation: the counts of one label of an axis are the sum of others.

    Attributes
    ----------
    axis : int
        Index of the grid's axis.
    total : int
        Number of the label.
    parts : bool[labels]
        Which are summed.
    """

    axis: int
    total: int
    parts: NDArray[np.bool_]


Remainder = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]
"""Keys of cells with the axis at 0, a relation's difference in people there, and the people of its
total and parts together. Of cells with few people and no difference, only some are among them."""


class Summed(Protocol):
    """Counts that can be summed: a table, or the chunks of one on a cluster."""

    def label_sums(self) -> Sequence[NDArray[np.int64]]:
        """Compute the people of each label, for every attribute."""

    def remainders(self, relation: Relation) -> Iterable[Remainder]:
        """Compute the relation's differences in each chunk."""


@dataclass(frozen=True)
class InMemoryTable:
    """A table in memory."""

    cells: Cells

    def label_sums(self) -> Sequence[NDArray[np.int64]]:
        """See :class:`Summed`."""
        return label_sums(self.cells)

    def remainders(self, relation: Relation) -> Iterable[Remainder]:
        """See :class:`Summed`."""
        return [remainder(self.cells, relation)]


def find_sums(grid: Grid, counts: Summed, disjoint: Collection[str] = ()) -> list[tuple[str, str]]:
    """Find each (attribute, label) whose counts are the sum of other labels.

    In every cell exactly: of all others, or of at least two that stand together in the list, in so
    many cells that it is no coincidence (:func:`is_sure`). Or nearly: of all others, as
    :func:`is_near` has it. It depends on the data: an answer is confidential until it is stated as
    a public fact. ``disjoint``: attributes of whose labels nobody can be in two.
    """
    first = len(grid.shape) - len(grid.attributes)
    sums = []
    for axis, people in enumerate(counts.label_sums(), start=first):
        attribute = grid.attributes[axis - first]
        if attribute.name in disjoint:
            continue
        # Sums over all cells are tested first: they rarely agree, so all cells are rarely read.
        sums += [
            (attribute.name, attribute.labels[relation.total])
            for relation in _candidates(axis, people)
            if _holds(relation, counts.remainders(relation))
        ]
    return list(dict.fromkeys(sums))


def is_sure(together: NDArray[np.int64]) -> bool:
    """Test whether a label that equals others in all these cells can hardly do so by coincidence.

    Two independent Poisson counts of n each are equal with a probability of at most
    1 / sqrt(1 + 2 pi n): over all cells it must be below one in a million.

    Parameters
    ----------
    together : int64[n]
        For every cell: the people of the label and of the others together.

    Examples
    --------
    >>> is_sure(np.array([14, 6, 2])), is_sure(np.full(9, 14)), is_sure(np.full(5, 2_000))
    (False, True, True)
    """
    return float(-np.log1p(np.pi * together).sum() / 2) <= CHANCE


def is_near(left: NDArray[np.int64], together: NDArray[np.int64]) -> bool:
    """Test whether a label is the sum of others up to rounding or perturbation.

    The difference of two independent counts has at least the variance of their sum: as many people
    as both count. A total is recognised by differences that average 0 and have at most a tenth of
    that variance, in so many populous cells that the probability that independent counts agree as
    well is below one in a million (the Chernoff bound of a chi-squared sum). Small counts always
    agree within rounding, so cells of fewer than 100 are ignored.

    It does not recognise totals whose parts leave out people, such as those of unknown age or in
    hidden counts; totals of some of the other labels; and totals in tables whose cells are few, or
    small compared with their rounding (with base 10, most totals of twelve parts). Equal counts of
    different people, one for one, are mistaken for a total.

    Parameters
    ----------
    left, together : int64[n]
        For every cell: the label's people less those of the others, and all of them.

    Examples
    --------
    >>> is_near(np.array([1, -2, 0, 1, -1] * 4), np.full(20, 400))
    True
    >>> is_near(np.array([25, -15, 5, -30, 20] * 4), np.full(20, 400))
    False
    """
    return any(_agrees(left[populous], together[populous]) for populous in _levels(together))


def _levels(together: NDArray[np.int64]) -> Iterator[NDArray[np.bool_]]:
    return (together >= threshold for threshold in POPULOUS)


def _agrees(left: NDArray[np.int64], together: NDArray[np.int64]) -> bool:
    """Test whether differences are far smaller than those of independent counts, with mean 0."""
    deviation = left / np.sqrt(together)
    squares = float(deviation @ deviation)
    if not squares:  # nothing but equal counts: as exact as sums are, once there are several
        return left.size >= EQUAL
    # Chernoff bound of a chi-squared sum, as in is_near's docstring.
    share = squares / left.size
    chance = left.size / 2 * (log(share) + 1 - share)
    return share <= AGREEMENT and chance <= CHANCE and bool(deviation.sum() ** 2 <= 9 * squares)


def label_sums(cells: Cells) -> list[NDArray[np.int64]]:
    """Compute the people of every label, int64 by attribute."""
    grid = cells.grid
    first = len(grid.shape) - len(grid.attributes)
    sums = [np.zeros(size, np.int64) for size in grid.shape[first:]]
    for start in range(0, cells.key.size, CHECKED):
        part = slice(start, start + CHECKED)
        index = grid.decode(cells.key[part])
        for number, people in enumerate(sums):
            np.add.at(people, index[first + number], cells.count[part])
    return sums


def remainder(cells: Cells, relation: Relation) -> Remainder:
    """Compute a relation's differences in each cell."""
    index = cells.grid.decode(cells.key)
    # Setting the axis to 0 gives total and parts of one cell the same key, which _net then sums.
    label = index[relation.axis].copy()
    index[relation.axis] = 0
    chosen = relation.parts[label] | (label == relation.total)
    sign = np.where(label[chosen] == relation.total, 1, -1)
    count = cells.count[chosen]
    return _net(cells.grid.encode(index[:, chosen]), sign * count, count)


def _net(
    key: NDArray[np.uint64], left: NDArray[np.int64], together: NDArray[np.int64]
) -> Remainder:
    """Sum over equal keys; of uninformative cells, all but some are dropped."""
    cell, at = np.unique(key, return_inverse=True)
    sums = np.zeros((2, cell.size), np.int64)
    np.add.at(sums[0], at, left)
    np.add.at(sums[1], at, together)
    telling = (sums[0] != 0) | (sums[1] >= POPULOUS[0])
    telling |= np.cumsum(~telling) <= WITNESSES
    return cell[telling], sums[0, telling], sums[1, telling]


def _holds(relation: Relation, remainders: Iterable[Remainder]) -> bool:
    """Test whether a relation holds over all chunks: exactly, or nearly for all labels."""
    pieces = zip(*remainders, strict=True)
    _, left, together = _net(*(np.concatenate(arrays) for arrays in pieces))
    of_all = int(relation.parts.sum()) == relation.parts.size - 1
    if not left.any():
        return is_sure(together)
    return of_all and is_near(left, together)


def _candidates(axis: int, people: NDArray[np.int64]) -> Iterator[Relation]:
    """Yield the relations that hold for the sums over all cells; nearly, for all labels."""
    n, every = people.size, people.sum()
    # A total of all others has half of all people: people = every - people.
    near = np.abs(2 * people - every) <= NEAR * people
    for total in np.flatnonzero(near & (people > 0)).tolist():
        if n > 2:
            yield Relation(axis, total, np.arange(n) != total)
    if n > MAX_LABELS:
        return
    # Parts of a total stand together in the list, so only runs of labels are tested.
    until = np.append(0, people.cumsum())
    for length in range(2, n):
        runs = until[length:] - until[:-length]
        for start, total in np.argwhere((runs[:, None] == people) & (people > 0)).tolist():
            parts = (np.arange(n) >= start) & (np.arange(n) < start + length)
            if not parts[total]:
                yield Relation(axis, total, parts)
