"""What was read of all files together, and the refusal of an input that counts nobody."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from geodp.errors import UsageError
from geodp.table.source import Source

MET = (
    "that at least one row of the input meets the selection and lies in the domain: an input "
    "without one is refused before anything is charged"
)
"""What a release states where :func:`require_rows` has looked at the input."""


@dataclass(frozen=True)
class Reading:
    """What was read of all files.

    Attributes
    ----------
    sources : tuple of Source
        Confidential.
    stated : tuple of str
        What a release states of how the counts were made; public.
    """

    sources: tuple[Source, ...] = field(repr=False)
    stated: tuple[str, ...] = ()

    @property
    def inside(self) -> int:
        """Counts in the domain."""
        return sum(source.inside for source in self.sources)

    @property
    def totals(self) -> list[str]:
        """Columns of values whose titles say that they are the total of others."""
        return sorted({title for source in self.sources for title in source.totals})

    def describe(self) -> dict[str, Any]:
        """Plain values: sums over all files, and each."""
        each = [asdict(source) for source in self.sources]
        numbers = ("rows", "selected", "inside", "outside", "people", "people_outside")
        sums = {name: sum(source[name] for source in each) for name in numbers}
        return {**sums, "terms": self._terms(), "sources": each}

    def why_empty(self) -> str:
        """Return why no row is counted, in one sentence."""
        unmet = [term for term, rows in self._terms().items() if not rows]
        if not any(source.rows for source in self.sources):
            return "The input holds no rows."
        if unmet:
            return f"No row of the input has {', or '.join(unmet)}, as it is written there."
        if not any(source.selected for source in self.sources):
            return "No row of the input meets all terms of the selection together."
        return "No row of the input that is selected lies in the domain."

    def _terms(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for source in self.sources:
            found.update(source.terms)
        return dict(found)


def require_rows(rows: int, reading: Reading | None, *, allow_empty: bool) -> tuple[str, ...]:
    """Refuse an input of which nothing is counted, and return the public facts that follow.

    A mistaken selection or domain would be published as an empty map, and charged. This refusal
    looks at the data, so that a release would tell that it did not come; the release therefore
    states it as a public fact. With ``allow_empty`` nothing is refused, and this is not stated.

    Parameters
    ----------
    rows : int
        That are counted: of a table without files, occupied cells.
    reading : Reading or None
        For the sentence.
    allow_empty : bool

    Raises UsageError.
    """
    stated = () if reading is None else reading.stated
    if allow_empty:
        return stated
    if not rows:
        why = "The table counts nobody." if reading is None else reading.why_empty()
        raise UsageError(
            f"{why} Nothing was charged. Check the selection, the codes and the domain (geodp "
            "publish --check --allow-empty writes for the operator what is read); or publish an "
            "empty table all the same (--allow-empty, allow_empty=True)."
        )
    return (*stated, MET)
