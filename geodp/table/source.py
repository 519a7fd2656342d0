"""What one file said of itself, how it was read, and what became of its records: confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

KnownBy: TypeAlias = Literal["operator", "file", "layout", "values", "default"]
"""Who says a fact: an option of this call, the file's own metadata, the layout of a publisher, the
form of the first values, or nobody, so that geodp's default holds."""


@dataclass(frozen=True)
class Fact:
    """One thing that is believed of a file, and who says it.

    Attributes
    ----------
    field : str
        What it is about: "format", "encoding", "CRS", "scale" ...
    value : str
    known_by : KnownBy

    Examples
    --------
    >>> Fact("encoding", "cp932", "values")
    Fact(field='encoding', value='cp932', known_by='values')
    """

    field: str
    value: str
    known_by: KnownBy


@dataclass(frozen=True)
class Source:
    """One file, member of an archive, or table in memory that a table of counts was read from.

    Attributes
    ----------
    name : str
    facts : tuple of Fact
        Everything that the file says of itself or that was told or inferred of it; each was
        applied.
    rows : int
        Records in the file; of a raster: pixels with a value.
    terms : mapping of str to int
        Records that meet each term of a selection, such as ``"month=1"``.
    selected : int
        Records that meet all of them.
    inside, outside : int
        Counts in and out of the domain: one for every selected record and column of values; of a
        raster, pixels that are not 0.
    people, people_outside : int
        Their sums.
    totals : tuple of str
        Columns of values whose titles say that they are the total of others.
    """

    name: str
    facts: tuple[Fact, ...] = ()
    rows: int = 0
    terms: Mapping[str, int] = field(default_factory=dict)
    selected: int = 0
    inside: int = 0
    outside: int = 0
    people: int = 0
    people_outside: int = 0
    totals: tuple[str, ...] = ()
