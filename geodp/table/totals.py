"""Totals that stand beside their parts, so that a person is counted in both.

By name, which is public: a small list of words for "total" in the languages of official
statistics, and what labels say of sexes, ranges and months (:mod:`geodp.table.nesting`). By sums:
a label that counts in every cell what other labels do together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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


Remainder = tuple[NDArray[np.uint64], NDArray[np.int64]]
"""Keys of cells with the axis at 0, and the people that a relation leaves over; none of them 0."""


class Summed(Protocol):
    """Counts that are asked for sums: a table, or the pieces of one on a cluster."""

    def label_sums(self) -> Sequence[NDArray[np.int64]]:
        """Return for every attribute the people of each label."""

    def remainders(self, relation: Relation) -> Iterable[Remainder]:
        """Return what the relation leaves over in each piece."""


@dataclass(frozen=True)
class WholeTable:
    """A table in one piece."""

    cells: Cells

    def label_sums(self) -> Sequence[NDArray[np.int64]]:
        """See :class:`Summed`."""
        return label_sums(self.cells)

    def remainders(self, relation: Relation) -> Iterable[Remainder]:
        """See :class:`Summed`."""
        return [remainder(self.cells, relation)]


def find_sums(grid: Grid, counts: Summed) -> list[tuple[str, str]]:
    """Return (attribute, label) wherever a label counts the sum of others in every cell.

    The others are all of the attribute's, or at least two that stand together in its list. It
    depends on the data: an answer is confidential until it is stated as a public fact.
    """
    first = len(grid.shape) - len(grid.attributes)
    found = []
    for axis, people in enumerate(counts.label_sums(), start=first):
        attribute = grid.attributes[axis - first]
        # Sums over all cells agree first: rarely, so that rarely all cells are looked at.
        found += [
            (attribute.name, attribute.labels[relation.whole])
            for relation in _candidates(axis, people)
            if not _leftover(counts.remainders(relation))
        ]
    return list(dict.fromkeys(found))


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
    return _net(cells.grid.encode(index[:, chosen]), sign * cells.count[chosen])


def _net(key: NDArray[np.uint64], count: NDArray[np.int64]) -> Remainder:
    """Return sums of counts of equal keys, but for those that are 0."""
    cell, at = np.unique(key, return_inverse=True)
    left = np.zeros(cell.size, np.int64)
    np.add.at(left, at, count)
    return cell[left != 0], left[left != 0]


def _leftover(remainders: Iterable[Remainder]) -> bool:
    """Whether the pieces leave anything over together."""
    keys, counts = zip(*remainders, strict=True)
    return _net(np.concatenate(keys), np.concatenate(counts))[0].size > 0


def _candidates(axis: int, people: NDArray[np.int64]) -> Iterator[Relation]:
    """Relations that hold of the sums over all cells."""
    n, every = people.size, people.sum()
    for whole in np.flatnonzero((2 * people == every) & (people > 0)).tolist():
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
