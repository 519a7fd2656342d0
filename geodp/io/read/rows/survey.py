"""Statistics of the files read, collected while they are read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.io.read.rows.selecting import Term
from geodp.table.counts import exact_sum
from geodp.table.reading import Reading, StatedReading, join_descriptions
from geodp.table.source import Fact, Outside, Source
from geodp.table.totals import find_totals


@dataclass
class _File:
    """Numbers and findings of one file."""

    numbers: Counter[str] = field(default_factory=Counter)
    facts: dict[Fact, None] = field(default_factory=dict)
    spellings: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    forms: dict[str, str] = field(default_factory=dict)
    beyond: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    flags: Counter[str] = field(default_factory=Counter)
    totals: tuple[str, ...] = ()
    left_out: bool = False


class Survey:
    """Collector of facts, rows and counts of every file."""

    def __init__(self) -> None:
        self._files: defaultdict[str, _File] = defaultdict(_File)
        self._partitions: dict[Term, str] = {}
        self._public: list[StatedReading] = []
        self._tallied, self._warnings = Counter[str](), dict[str, None]()

    def note(self, file: str, facts: Iterable[Fact]) -> None:
        """Add facts about a file; repeated facts are stored once."""
        self._files[file].facts.update(dict.fromkeys(facts))

    def state(self, public: StatedReading) -> None:
        """Add how a file is read, for the card; it is stated only if all files are read alike."""
        if public not in self._public:
            self._public.append(public)

    def describe_term(self, file: str, term: str, form: str) -> None:
        """Add how the column of a term is written, in words that reveal no value."""
        self._files[file].forms.setdefault(term, form)

    def take(
        self, file: str, rows: int, met: Mapping[str, Mapping[str, int]], selected: int
    ) -> None:
        """Add rows of a file, rows that match each term by spelling, and rows that match all terms.

        A term without a match is kept, without spellings.
        """
        self._files[file].numbers.update(rows=rows, selected=selected)
        for term, numbers in met.items():
            self._files[file].spellings[term].update(numbers)

    def leave_out(self, file: str, rows: int, unmet: Iterable[str]) -> None:
        """Add a file that is skipped as the names of its folders do not match all terms."""
        self.take(file, rows, {term: {} for term in unmet}, 0)
        self._files[file].left_out = True

    def spell(self, term: Term, spelling: str) -> bool:
        """Whether folders spell the value of a term as earlier folders did."""
        return self._partitions.setdefault(term, spelling) == spelling

    def name(self, file: str, titles: Sequence[str]) -> None:
        """Look for totals among the titles of the value columns of a file."""
        self._files[file].totals = tuple(find_totals(titles))

    def place(
        self,
        file: str,
        count: NDArray[np.int64],
        inside: NDArray[np.bool_] | None,
        sizes: NDArray[np.int64] | None = None,
        *,
        reasons: Mapping[str, NDArray[np.bool_]] | None = None,
    ) -> None:
        """Add counts int64[n] of a file, inside and outside the domain.

        Parameters
        ----------
        file : str
        count : int64[n]
        inside : bool[n] or None
            Which of them lie in the domain; None means all.
        sizes : int64[2, n], optional
            How many rows each stands for, and how many of these are not 0. Default: itself.
        reasons : mapping of str to bool[n], optional
            Which lie outside for this reason, such as "bounds"; one reason each.
        """

        def rows_of(mask: NDArray[np.bool_] | None) -> tuple[int, int, int]:
            selected = count if mask is None else count[mask]
            if sizes is None:
                return selected.size, int(np.count_nonzero(selected)), exact_sum(selected)
            each, counting = sizes if mask is None else sizes[:, mask]
            return int(each.sum()), int(counting.sum()), exact_sum(selected)

        rows, _, people = every = rows_of(None)
        inside_rows, counted, within = every if inside is None else rows_of(inside)
        self._files[file].numbers.update(
            inside=inside_rows,
            outside=rows - inside_rows,
            counted=counted,
            people=within,
            people_outside=people - within,
        )
        for reason, mask in (reasons or {}).items():
            if mask.any():
                outside_rows, _, outside_people = rows_of(mask)
                beyond = self._files[file].beyond[reason]
                beyond.update(rows=outside_rows, people=outside_people)

    def add(self, file: str, **numbers: int) -> None:
        """Add numbers of a file by their names as fields of :class:`.Source`."""
        self._files[file].numbers.update(numbers)

    def flag(self, file: str, numbers: Mapping[str, int]) -> None:
        """Add how many numbers have each flag beside them."""
        self._files[file].flags.update(numbers)

    def tally(self, numbers: Mapping[str, int]) -> None:
        """Add numbers of what rows were made into, by name."""
        self._tallied.update({name: int(number) for name, number in numbers.items()})

    @property
    def tallied(self) -> Mapping[str, int]:
        """The numbers that were added by :meth:`tally`, in the order of their names' first use."""
        return dict(self._tallied)

    def warn(self, sentence: str) -> None:
        """Add a sentence for the operator about what was read; it may tell of the data."""
        self._warnings[sentence] = None

    def reading(self, statements: tuple[str, ...] = (), *, cells: int | None = None) -> Reading:
        """Return the statistics of all files.

        Parameters
        ----------
        statements : tuple of str
            Sentences in which a release states how the counts were made.
        cells : int, optional
            Occupied cells of the table, if counts of repeated cells were added up.
        """
        sources = tuple(_source(name, file) for name, file in self._files.items())
        counted = sum(file.numbers["counted"] for file in self._files.values())
        doubled = 0 if cells is None else counted - cells
        return Reading(
            sources,
            statements,
            doubled,
            join_descriptions(self._public),
            tallied=self.tallied,
            warnings=(*self._warnings,),
        )


def _source(name: str, file: _File) -> Source:
    """Return the statistics of one file."""
    # "counted" serves only the number of repeated cells.
    numbers: dict[str, Any] = {one: n for one, n in file.numbers.items() if one != "counted"}
    return Source(
        name,
        tuple(file.facts),
        terms={term: occurrences.total() for term, occurrences in file.spellings.items()},
        spellings={term: dict(occurrences) for term, occurrences in file.spellings.items()},
        forms=file.forms,
        left_out=file.left_out,
        beyond={reason: Outside(**occurrences) for reason, occurrences in file.beyond.items()},
        flags=dict(file.flags),
        totals=file.totals,
        **numbers,
    )
