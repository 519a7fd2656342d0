"""Counting what is read, file by file, while it is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from geodp.table.reading import Reading
from geodp.table.source import Fact, Source
from geodp.table.totals import find_totals


class Survey:
    """Rows and counts of every file, as readers meet them."""

    def __init__(self) -> None:
        self._numbers: dict[str, Counter[str]] = {}
        self._terms: dict[str, Counter[str]] = {}
        self._totals: dict[str, list[str]] = {}
        self._facts: dict[str, dict[Fact, None]] = {}

    def note(self, file: str, facts: Iterable[Fact]) -> None:
        """Add what is believed of a file; what is there already stays once."""
        self._of(file)
        self._facts.setdefault(file, {}).update(dict.fromkeys(facts))

    def take(self, file: str, rows: int, terms: Mapping[str, int], selected: int) -> None:
        """Add rows of a file, those that meet each term, and those that meet all."""
        self._of(file).update(rows=rows, selected=selected)
        # update() adds up, and keeps a term that no row meets.
        self._terms[file].update(terms)

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
    ) -> None:
        """Add counts int64[n] of a file, which lie in the domain (None: all), of how many rows."""
        ones = np.broadcast_to(np.int64(1), count.size) if sizes is None else sizes
        every, people = int(ones.sum()), _exact_sum(count)
        kept = every if inside is None else int(ones[inside].sum())
        within = people if inside is None else _exact_sum(count[inside])
        self._of(file).update(
            inside=kept, outside=every - kept, people=within, people_outside=people - within
        )

    def reading(self, stated: tuple[str, ...] = ()) -> Reading:
        """Return what was met, and what a release states of how the counts were made."""
        return Reading(
            tuple(
                Source(
                    file,
                    tuple(self._facts.get(file, ())),
                    terms=dict(self._terms[file]),
                    totals=tuple(self._totals.get(file, ())),
                    **numbers,
                )
                for file, numbers in self._numbers.items()
            ),
            stated,
        )

    def _of(self, file: str) -> Counter[str]:
        self._terms.setdefault(file, Counter())
        return self._numbers.setdefault(file, Counter())


def _exact_sum(count: NDArray[np.int64]) -> int:
    """Sum of counts below 2**60, of which a few may exceed int64 together."""
    return (int((count >> 32).sum()) << 32) + int((count & 0xFFFFFFFF).sum())
