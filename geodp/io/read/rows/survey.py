"""Counting what is read, file by file, while it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.io.read.rows.selecting import Term
from geodp.table.reading import Reading
from geodp.table.source import Fact, Outside, Source
from geodp.table.stated.reading import StatedReading, join_stated
from geodp.table.totals import find_totals


class Survey:
    """Rows and counts of every file, as readers meet them."""

    def __init__(self) -> None:
        self._numbers: dict[str, Counter[str]] = {}
        self._facts: dict[str, dict[Fact, None]] = {}
        self._spellings: dict[str, dict[str, Counter[str]]] = {}
        self._forms: dict[str, dict[str, str]] = {}
        self._beyond: dict[str, dict[str, Counter[str]]] = {}
        self._flags: dict[str, Counter[str]] = {}
        self._totals: dict[str, list[str]] = {}
        self._left_out: set[str] = set()
        self._partitions: dict[Term, str] = {}
        self._public: list[StatedReading] = []

    def note(self, file: str, facts: Iterable[Fact]) -> None:
        """Add what is believed of a file; what is there already stays once."""
        self._of(file)
        self._facts.setdefault(file, {}).update(dict.fromkeys(facts))

    def state(self, public: StatedReading) -> None:
        """Add what a card may state of how a file is read; it is stated if all files are alike."""
        if public not in self._public:
            self._public.append(public)

    def describe_term(self, file: str, term: str, form: str) -> None:
        """Add how the column of a term is written, in words that tell no value."""
        self._of(file)
        self._forms.setdefault(file, {}).setdefault(term, form)

    def take(
        self, file: str, rows: int, met: Mapping[str, Mapping[str, int]], selected: int
    ) -> None:
        """Add rows of a file, those that meet each term by its spellings, and those that meet all.

        A term that no row meets has no spelling, and stays.
        """
        self._of(file).update(rows=rows, selected=selected)
        spellings = self._spellings.setdefault(file, {})
        for term, numbers in met.items():
            spellings.setdefault(term, Counter()).update(numbers)

    def leave_out(self, file: str, rows: int, unmet: Iterable[str]) -> None:
        """Add a file of so many rows that is not read, as its folders' names meet not all terms."""
        self.take(file, rows, {term: {} for term in unmet}, 0)
        self._left_out.add(file)

    def spell(self, term: Term, spelling: str) -> bool:
        """Whether folders write the value of a term as those before did."""
        return self._partitions.setdefault(term, spelling) == spelling

    def name(self, file: str, titles: Sequence[str]) -> None:
        """Look for totals among the titles of a file's columns of values."""
        self._of(file)
        self._totals[file] = find_totals(titles)

    def place(
        self,
        file: str,
        count: NDArray[np.int64],
        inside: NDArray[np.bool_] | None,
        sizes: NDArray[np.int64] | None = None,
        *,
        reasons: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> None:
        """Add counts int64[n] of a file.

        Parameters
        ----------
        file : str
        count : int64[n]
        inside : bool[n] or None
            Which lie in the domain; None: all.
        sizes : int64[2, n], optional
            How many rows each stands for, and how many of these count somebody; default: itself.
        reasons : mapping of str to bool[n], optional
            Why each lies outside, such as "bounds"; one reason each.
        """

        def rows_of(mask: NDArray[np.bool_] | None) -> tuple[int, int, int]:
            some = count if mask is None else count[mask]
            if sizes is None:
                return some.size, int(np.count_nonzero(some)), _exact_sum(some)
            each, counting = sizes if mask is None else sizes[:, mask]
            return int(each.sum()), int(counting.sum()), _exact_sum(some)

        rows, counted, people = rows_of(None)
        kept, counted, within = (rows, counted, people) if inside is None else rows_of(inside)
        self._of(file).update(
            inside=kept,
            outside=rows - kept,
            counted=counted,
            people=within,
            people_outside=people - within,
        )
        beyond = self._beyond.setdefault(file, {})
        for reason, mask in (reasons or {}).items():
            if mask.any():
                lost, _, theirs = rows_of(mask)
                beyond.setdefault(reason, Counter()).update(rows=lost, people=theirs)

    def miss(self, file: str, rows: int) -> None:
        """Add values that count nobody as they are named as missing."""
        self._of(file).update(missing=rows)

    def flag(self, file: str, numbers: Mapping[str, int]) -> None:
        """Add how many numbers have each flag beside them."""
        if numbers:
            self._flags.setdefault(file, Counter()).update(numbers)

    def take_other(self, file: str, counts: int) -> None:
        """Add counts in the unit of codes which no table of units has."""
        self._of(file).update(other=counts)

    def leave_unnamed(self, file: str, rows: int) -> None:
        """Add selected records whose persons are not told apart."""
        self._of(file).update(without_person=rows)

    def reading(self, stated: tuple[str, ...] = (), *, cells: int | None = None) -> Reading:
        """Return what was met.

        Parameters
        ----------
        stated : tuple of str
            What a release states of how the counts were made.
        cells : int, optional
            Occupied cells of the table, where counts of a cell that is there again were added up.
        """
        sources = tuple(self._source(file) for file in self._numbers)
        counted = sum(numbers["counted"] for numbers in self._numbers.values())
        doubled = 0 if cells is None else counted - cells
        return Reading(sources, stated, doubled, join_stated(self._public))

    def _source(self, file: str) -> Source:
        numbers: dict[str, Any] = {
            name: number for name, number in self._numbers[file].items() if name != "counted"
        }
        spellings = self._spellings.get(file, {})
        return Source(
            file,
            tuple(self._facts.get(file, ())),
            terms={term: found.total() for term, found in spellings.items()},
            spellings={term: dict(found) for term, found in spellings.items()},
            forms=self._forms.get(file, {}),
            left_out=file in self._left_out,
            beyond={
                reason: Outside(**found) for reason, found in self._beyond.get(file, {}).items()
            },
            flags=dict(self._flags.get(file, {})),
            totals=tuple(self._totals.get(file, ())),
            **numbers,
        )

    def _of(self, file: str) -> Counter[str]:
        return self._numbers.setdefault(file, Counter())


def _exact_sum(count: NDArray[np.int64]) -> int:
    """Sum of counts below 2**60, of which a few may exceed int64 together."""
    return (int((count >> 32).sum()) << 32) + int((count & 0xFFFFFFFF).sum())
