"""What readers met in the files, by file: confidential, for the operator alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from geodp.errors import UsageError

MET = (
    "that at least one row of the input meets the selection and lies in the domain: an input "
    "without one is refused before anything is charged"
)
"""What a release states where :func:`require_rows` has looked at the input."""


@dataclass(frozen=True)
class FileReading:
    """What was read of one file, or of a member of an archive.

    Attributes
    ----------
    name : str
    rows : int
        Of a raster: pixels with a value.
    terms : mapping of str to int
        Rows that meet each term of a selection, such as ``"month=1"``.
    selected : int
        Rows that meet all of them.
    inside, outside : int
        Counts in and out of the domain: one for every selected row and column of values; of a
        raster, pixels that are not 0.
    people, people_outside : int
        Their sums.
    totals : tuple of str
        Columns of values whose titles say that they are the total of others.
    """

    name: str
    rows: int = 0
    terms: Mapping[str, int] = field(default_factory=dict)
    selected: int = 0
    inside: int = 0
    outside: int = 0
    people: int = 0
    people_outside: int = 0
    totals: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What was read of all files.

    Attributes
    ----------
    files : tuple of FileReading
    stated : tuple of str
        What a release states of how the counts were made; public.
    """

    files: tuple[FileReading, ...] = field(repr=False)
    stated: tuple[str, ...] = ()

    @property
    def inside(self) -> int:
        """Counts in the domain."""
        return sum(file.inside for file in self.files)

    @property
    def totals(self) -> list[str]:
        """Columns of values whose titles say that they are the total of others."""
        return sorted({title for file in self.files for title in file.totals})

    def describe(self) -> dict[str, Any]:
        """Plain values: sums over all files, and each."""
        each = [asdict(file) for file in self.files]
        numbers = ("rows", "selected", "inside", "outside", "people", "people_outside")
        sums = {name: sum(file[name] for file in each) for name in numbers}
        return {**sums, "terms": self._terms(), "files": each}

    def why_empty(self) -> str:
        """Return why no row is counted, in one sentence."""
        unmet = [term for term, rows in self._terms().items() if not rows]
        if not any(file.rows for file in self.files):
            return "The input holds no rows."
        if unmet:
            return f"No row of the input has {', or '.join(unmet)}, as it is written there."
        if not any(file.selected for file in self.files):
            return "No row of the input meets all terms of the selection together."
        return "No row of the input that is selected lies in the domain."

    def _terms(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for file in self.files:
            found.update(file.terms)
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
