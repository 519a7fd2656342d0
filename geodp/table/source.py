"""Sources: one file's facts, how it was read, and the fate of its records; all confidential."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from geodp.errors import Rule
from geodp.reprs import one_line

FactSource: TypeAlias = Literal["operator", "file", "layout", "values", "default"]
"""Source of a fact: an option of this call, the file's own metadata, a publisher's layout, the form
of the first values, or geodp's default."""


@dataclass(frozen=True)
class Fact:
    """One fact about a file, and its source.

    Attributes
    ----------
    field : str
        What it is about: "format", "encoding", "CRS", "scale" ...
    value : str
    known_by : FactSource

    Examples
    --------
    >>> Fact("encoding", "cp932", "values")
    Fact(field='encoding', value='cp932', known_by='values')
    """

    __repr__ = one_line

    field: str
    value: str
    known_by: FactSource


TABLE_IN_MEMORY = Fact("format", "table in memory", "file")
ARRAY_IN_MEMORY = Fact("format", "array in memory", "file")


@dataclass(frozen=True)
class Outside:
    """Counts outside the domain for one reason: how many, and their people."""

    rows: int = 0
    people: int = 0


@dataclass(frozen=True)
class Source:
    """One file, member of an archive, or table in memory that a table of counts was read from.

    Attributes
    ----------
    name : str
    facts : tuple of Fact
        Facts from the file itself, from the operator, or inferred; each was
        applied.
    rows : int
        Records in the file; of a raster: pixels with a value; of a text that was not read: 0.
    left_out : bool
        Whether the names of its folders say that no row of it is selected; it was not read.
    terms : mapping of str to int
        Records that meet each term of a selection, such as ``"month=1"``.
    spellings : mapping of str to mapping of str to int
        The same by how the file writes the value.
    forms : mapping of str to str
        How the column of each term is written, in words that tell no value.
    selected : int
        Records that meet all of them.
    inside, outside : int
        Counts in and out of the domain: one for every selected record and column of values; of a
        raster, pixels that are not 0.
    people, people_outside : int
        Their sums.
    beyond : mapping of str to Outside
        Counts out of the domain by the reason: "bounds", "mask", "regions", or "units" that are in
        no table of units.
    missing : int
        Values that count nobody: they are named as missing, or hidden by the publisher.
    flags : mapping of str to int
        Number of counts with each flag that was named (``--flags``).
    other : int
        Counts in the unit of codes which no table of units has (``--other``).
    without_person : int
        Selected records in the domain that identify no person.
    totals : tuple of str
        Columns of values whose titles say that they are the total of others.
    """

    name: str
    facts: tuple[Fact, ...] = ()
    rows: int = 0
    left_out: bool = False
    terms: Mapping[str, int] = field(default_factory=dict)
    spellings: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    forms: Mapping[str, str] = field(default_factory=dict)
    selected: int = 0
    inside: int = 0
    outside: int = 0
    people: int = 0
    people_outside: int = 0
    beyond: Mapping[str, Outside] = field(default_factory=dict)
    missing: int = 0
    flags: Mapping[str, int] = field(default_factory=dict)
    other: int = 0
    without_person: int = 0
    totals: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Source({self.name!r}, confidential)"

    @property
    def in_memory(self) -> bool:
        """Whether it is a table or an array in memory, and no file."""
        return TABLE_IN_MEMORY in self.facts or ARRAY_IN_MEMORY in self.facts

    def restate(self, facts: Sequence[Fact]) -> Source:
        """Return the source with these facts in place of those of the same fields."""
        fields = {one.field for one in facts}
        others = [one for one in self.facts if one.field not in fields]
        return replace(self, facts=(*others, *facts))

    @property
    def says_zero(self) -> bool:
        """Whether records were read and every one of them counts 0, as pixels of 0 do."""
        return bool(self.selected) and not self.inside and not self.outside

    def explain_empty(self, name: str) -> str:
        """Explain why it adds no people, in a sentence with ``name`` and without any value."""
        # From the folders' names alone, so the file was never opened.
        if self.left_out:
            return Rule(
                "file-folders-say-none",
                f"The names of the folders of {name} say that none of its rows is selected.",
            )
        if not self.rows:
            # The name of a file is written as it is, also at the beginning.
            subject = "The input" if name == "the input" else name
            return Rule("file-without-rows", f"{subject} holds no rows.")
        for term, rows in self.terms.items():
            if not rows:
                column = term.partition("=")[0]
                form = self.forms.get(term, "")
                written = f"; column {column} is written as {form}" if form else ""
                return Rule("file-none-selected", f"No row of {name} has {term}{written}.")
        if not self.selected:
            return Rule(
                "file-none-meets-all",
                f"No row of {name} meets all terms of the selection together.",
            )
        which = " that is selected" if self.terms else ""
        return Rule("file-none-in-domain", f"No row of {name}{which} lies in the domain.")
