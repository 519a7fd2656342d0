"""The kind of release that ``geodp census publish`` writes, and its public index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from geodp.errors import UsageError, VerificationError
from geodp.kinds.census.margins import HOUSEHOLDS, Margin, Margins
from geodp.release.index_kind import IndexKind
from geodp.table.index import TablesCard
from geodp.table.plain import before
from geodp.table.stated.release import Digest


@dataclass(frozen=True)
class Column:
    """A column of the table: a population, or the sum of some parts of a margin.

    Attributes
    ----------
    name : str
        As the office names it.
    table : str
        Of which table.
    parts : tuple of tuple of str
        Which parts are added up, each by its labels; empty: the table is a population.
    code : str
        Name of the column in the office's file where ``name`` is its title; default: the name.
    """

    name: str
    table: str
    parts: tuple[tuple[str, ...], ...] = ()
    code: str = ""


GIVEN = "given"
"""Folder of the copy of an earlier release whose persons are kept."""


@dataclass(frozen=True)
class StatedGiven:
    """What an index says of the earlier release of the same persons that it keeps.

    Attributes
    ----------
    sha256 : str
        Of its card, which states the digests of all of its files.
    spent, new : str
        The budgets of the earlier release, and of what is new.
    source : str
        Its charge to a ledger, or where the operator says that it was published and charged.
    """

    sha256: Digest
    spent: str
    new: str
    source: str


@dataclass(frozen=True, kw_only=True, repr=False)
class CensusCard(TablesCard, kind="census"):
    """The contents of ``census.json``.

    Attributes
    ----------
    margins : tuple of Margin
        What divides what: the tree of all tables.
    columns : tuple of Column
        Columns of the whole table, in their order.
    contradictions : {"refused", "fitted"}
        What was done where the input contradicts its own relations. Whether it did, is not told.
    given : StatedGiven or None
        The earlier release in the folder ``given``, whose persons are kept as they are.
    """

    schema: Literal["geodp-census-1"]
    margins: tuple[Margin, ...] = field(metadata=before("constraints"))
    columns: tuple[Column, ...] = field(metadata=before("constraints"))
    contradictions: Literal["refused", "fitted"] = field(metadata=before("constraints"))
    given: StatedGiven | None = field(metadata=before("constraints"))

    @property
    def enclosed(self) -> tuple[str, ...]:
        """The folder of the earlier release whose persons are kept."""
        return () if self.given is None else (GIVEN,)

    @property
    def relations(self) -> Margins:
        """The margins; raises VerificationError where they contradict each other."""
        names = {one.of for one in self.margins} | {one.table for one in self.columns}
        try:
            return Margins(self.margins, HOUSEHOLDS in names)
        except UsageError as error:
            raise VerificationError(str(error), code="census-margins") from None

    def name_count(self, table: str) -> str:
        """Return the name of what a table counts, such as ``persons_by_sex_age``."""
        named, path = {one.name: one for one in self.margins}, list[str]()
        while table in named:
            path.insert(0, table)
            table = named[table].of
        return "_".join((table, *(["by", *path] if path else ())))


class CensusKind(IndexKind):
    """A release of persons, perhaps households, and margins of both."""

    title: ClassVar[str] = "a release of a census"
    index = CensusCard
    doors: ClassVar[dict[str, str]] = {
        "open": "kinds.census.census:open_census",
        "estimate": "kinds.census.running.estimate:estimate",
        "page": "kinds.census.page:write_page",
        "explain": "kinds.census.explanation:explain_census",
    }


KINDS = (CensusKind(),)
