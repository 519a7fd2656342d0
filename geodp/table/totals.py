"""Totals that stand beside their parts, so that a person is counted in both.

By name, which is public: a small list of words for "total" in the languages of official
statistics, and what labels say of sexes, ranges and months (:mod:`geodp.table.nesting`). By sums:
a label that counts in every cell what other labels do together, or what all others do but for the
rounding and perturbation of a publisher.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.table.counts import CHECKED, Cells
from geodp.table.nesting import count_together, find_wholes


def _fold(text: str) -> frozenset[str]:
    return frozenset(normalize("NFKC", line).casefold().strip() for line in text.splitlines())


WORDS = _fold(
    """total
totals
subtotal
insgesamt
gesamt
totale
totaal
totalt
yhteensä
ogółem
razem
celkem
spolu
összesen
ukupno
skupaj
kokku
pavisam
toplam
всего
итого
всього
усього
общо
σύνολο
総数
総計
合計
小計
总数
总计
合计
總數
總計
합계
총계
총수
المجموع
รวม"""
)
"""Words that make a label a total wherever they stand: "Population, total", "人口（総数）"."""

ENDS = ("総数", "総計", "合計", "总数", "总计", "合计", "總數", "總計", "합계", "총계")
"""The same as the end of a word: "人口総数"."""

WHOLE = _fold(
    """all
all ages
all sexes
both
both sexes
everyone
men and women
m f
f m
m w
h m
overall
sum
tot
summe
zusammen
alle
männlich und weiblich
ensemble
tous
les deux sexes
ambos
ambos sexos
ambos os sexos
todos
tutti
maschi e femmine
samtliga
i alt
begge kjønn
iš viso
tổng số
計
男女計
全体
総人口
计
总人口
총인구
전체
계
jumlah
男女"""
)
"""Labels that are totals as they stand, but not as a word of a longer one: "all", "計"."""

MOST_LABELS = 256
"""With more, a label is compared with the sum of all others only."""

NEAR = 0.05
"""Most by which a label may differ from the sum of all others over all cells, of its people."""

POPULOUS = (100, 1_000, 10_000)
"""People of a label and its parts together from which on cells are compared, one after another."""

AGREEMENT = 0.1
"""Most of the variance of independent counts that differences of a total may have."""

EQUAL = 5
"""Fewest populous cells that tell a total where all of them agree exactly."""

CHANCE = log(1e-6)
"""Logarithm of the chance that independent counts agree as well as a total has to."""


def find_totals(labels: Sequence[str]) -> list[str]:
    """Return the labels whose name says that they are the total of others, or hold some of them.

    Words that all labels have say nothing: "総数" in "人口（総数）　男" and "人口（総数）　女".
    ``T`` and ``_T`` are totals as in Eurostat's and SDMX's code lists, but ``T`` not between
    ``S`` and ``U``, as a section of NACE. What holds others by sexes, ranges and months is told by
    :func:`geodp.table.nesting.find_wholes`.

    Examples
    --------
    >>> find_totals(["T", "M", "F"]), find_totals(["人口（総数）　男", "人口（総数）　女"])
    (['T'], [])
    >>> find_totals(["人口（総数）", "人口（総数）　男", "人口（総数）　女"])
    ['人口（総数）']
    """
    found = {*_find_named(labels), *find_wholes(labels)}
    return [label for label in labels if label in found]


def count_overlaps(labels: Sequence[str]) -> int:
    """Return in how many labels of an attribute a person is, as far as their names tell.

    >>> count_overlaps(["T", "M", "F"]), count_overlaps(["T", "0-64", "65+", "75+"])
    (2, 3)
    """
    named = {*_find_named(labels)}
    rest = [label for label in labels if label not in named]
    return max(bool(named) + count_together(rest), count_together(labels))


def _find_named(labels: Sequence[str]) -> list[str]:
    """Return the labels that words make totals, unless all of them are."""
    texts = [normalize("NFKC", label).strip() for label in labels]
    words = [re.findall(r"[^\W_]+", text.casefold()) for text in texts]
    common = set.intersection(*map(set, words)) if words else set()
    found = []
    for label, text, own in zip(labels, texts, words, strict=True):
        rest = [word for word in own if word not in common]
        code = text == "_T" or (text == "T" and not {"S", "U"} <= set(texts))
        said = any(word in WORDS or word.endswith(ENDS) for word in rest or own)
        if code or said or " ".join(rest) in WHOLE or _begins_all(text, texts):
            found.append(label)
    return [] if len(found) == len(labels) else found


def _begins_all(text: str, texts: Sequence[str]) -> bool:
    """Whether every other label is this one and more: "人口" beside "人口 男" and "人口 女"."""
    others = [other for other in texts if other != text]
    marks = " (" if len(others) < 2 else " (_-/:."
    return bool(others and text) and all(
        other.startswith(text) and other[len(text)] in marks for other in others
    )


@dataclass(frozen=True, eq=False)
class Relation:
    """That one label of an axis counts the sum of others.

    Attributes
    ----------
    axis : int
        Of the grid.
    whole : int
        Number of the label.
    parts : bool[labels]
        Which are summed.
    """

    axis: int
    whole: int
    parts: NDArray[np.bool_]


Remainder = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]
"""Keys of cells with the axis at 0, the people that a relation leaves over there, and those of its
whole and parts together. Cells where neither tells anything are left out."""


class Summed(Protocol):
    """Counts that are asked for sums: a table, or the pieces of one on a cluster."""

    def label_sums(self) -> Sequence[NDArray[np.int64]]:
        """Return for every attribute the people of each label."""

    def remainders(self, relation: Relation) -> Iterable[Remainder]:
        """Return what the relation leaves over in each piece."""


@dataclass(frozen=True)
class InMemoryTable:
    """A table in one piece."""

    cells: Cells

    def label_sums(self) -> Sequence[NDArray[np.int64]]:
        """See :class:`Summed`."""
        return label_sums(self.cells)

    def remainders(self, relation: Relation) -> Iterable[Remainder]:
        """See :class:`Summed`."""
        return [remainder(self.cells, relation)]


def find_sums(grid: Grid, counts: Summed) -> list[tuple[str, str]]:
    """Return (attribute, label) wherever a label counts the sum of others.

    In every cell exactly: of all others, or of at least two that stand together in the list. Or
    nearly: of all others, as :func:`is_near` has it. It depends on the data: an answer is
    confidential until it is stated as a public fact.
    """
    first = len(grid.shape) - len(grid.attributes)
    found = []
    for axis, people in enumerate(counts.label_sums(), start=first):
        attribute = grid.attributes[axis - first]
        # Sums over all cells agree first: rarely, so that rarely all cells are looked at.
        found += [
            (attribute.name, attribute.labels[relation.whole])
            for relation in _candidates(axis, people)
            if _holds(relation, counts.remainders(relation))
        ]
    return list(dict.fromkeys(found))


def is_near(left: NDArray[np.int64], together: NDArray[np.int64]) -> bool:
    """Tell whether a label is the sum of others but for rounding or perturbation.

    The difference of two independent counts has at least the variance of their sum: as many people
    as both count. A total is told by differences that average 0 and have a tenth of that variance
    at most, in so many populous cells that independent counts agree as well with a chance below
    one in a million (the Chernoff bound of a chi-squared sum). Few people always agree within a
    rounding, so cells of fewer than 100 are not asked.

    It cannot tell totals whose parts leave people out, such as those of unknown age or in hidden
    counts; totals of some of the other labels; and totals in tables of few or thin cells, against
    their rounding: to base 10, of twelve parts, most. Other people who are as many for a reason,
    one for one, are taken for a total.

    Parameters
    ----------
    left, together : int64[n]
        Of every cell: the label's people less those of the others, and all of them.

    Examples
    --------
    >>> is_near(np.array([1, -2, 0, 1, -1] * 4), np.full(20, 400))
    True
    >>> is_near(np.array([25, -15, 5, -30, 20] * 4), np.full(20, 400))
    False
    """
    return any(_agrees(left[populous], together[populous]) for populous in _levels(together))


def _levels(together: NDArray[np.int64]) -> Iterator[NDArray[np.bool_]]:
    return (together >= least for least in POPULOUS)


def _agrees(left: NDArray[np.int64], together: NDArray[np.int64]) -> bool:
    """Whether differences are far smaller than those of independent counts, and average 0."""
    deviation = left / np.sqrt(together)
    squares = float(deviation @ deviation)
    if not squares:  # nothing but equal counts: as exact as sums are, once there are several
        return left.size >= EQUAL
    share = squares / left.size
    chance = left.size / 2 * (log(share) + 1 - share)
    return share <= AGREEMENT and chance <= CHANCE and bool(deviation.sum() ** 2 <= 9 * squares)


def label_sums(cells: Cells) -> list[NDArray[np.int64]]:
    """Return the people of every label, int64 by attribute."""
    grid = cells.grid
    first = len(grid.shape) - len(grid.attributes)
    found = [np.zeros(size, np.int64) for size in grid.shape[first:]]
    for start in range(0, cells.key.size, CHECKED):
        part = slice(start, start + CHECKED)
        index = grid.decode(cells.key[part])
        for number, people in enumerate(found):
            np.add.at(people, index[first + number], cells.count[part])
    return found


def remainder(cells: Cells, relation: Relation) -> Remainder:
    """Return what a relation leaves over."""
    index = cells.grid.decode(cells.key)
    label = index[relation.axis].copy()
    index[relation.axis] = 0
    chosen = relation.parts[label] | (label == relation.whole)
    sign = np.where(label[chosen] == relation.whole, 1, -1)
    count = cells.count[chosen]
    return _net(cells.grid.encode(index[:, chosen]), sign * count, count)


def _net(
    key: NDArray[np.uint64], left: NDArray[np.int64], together: NDArray[np.int64]
) -> Remainder:
    """Return sums over equal keys, but for those that tell nothing."""
    cell, at = np.unique(key, return_inverse=True)
    sums = np.zeros((2, cell.size), np.int64)
    np.add.at(sums[0], at, left)
    np.add.at(sums[1], at, together)
    telling = (sums[0] != 0) | (sums[1] >= POPULOUS[0])
    return cell[telling], sums[0, telling], sums[1, telling]


def _holds(relation: Relation, remainders: Iterable[Remainder]) -> bool:
    """Whether the pieces leave nothing over together, or, of all labels, as good as nothing."""
    pieces = zip(*remainders, strict=True)
    _, left, together = _net(*(np.concatenate(arrays) for arrays in pieces))
    of_all = int(relation.parts.sum()) == relation.parts.size - 1
    return not left.any() or (of_all and is_near(left, together))


def _candidates(axis: int, people: NDArray[np.int64]) -> Iterator[Relation]:
    """Relations that hold of the sums over all cells; nearly, of all labels."""
    n, every = people.size, people.sum()
    near = np.abs(2 * people - every) <= NEAR * people
    for whole in np.flatnonzero(near & (people > 0)).tolist():
        if n > 2:
            yield Relation(axis, whole, np.arange(n) != whole)
    if n > MOST_LABELS:
        return
    until = np.append(0, people.cumsum())
    for length in range(2, n):
        runs = until[length:] - until[:-length]
        for start, whole in np.argwhere((runs[:, None] == people) & (people > 0)).tolist():
            parts = (np.arange(n) >= start) & (np.arange(n) < start + length)
            if not parts[whole]:
                yield Relation(axis, whole, parts)
