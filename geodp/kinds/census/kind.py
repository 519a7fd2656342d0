"""The kind of release that ``geodp census publish`` writes, and its public index."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from geodp.kinds.census.margins import Margin
from geodp.release.index_kind import IndexKind
from geodp.table.index import TablesCard
from geodp.table.plain import before


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
    """

    name: str
    table: str
    parts: tuple[tuple[str, ...], ...] = ()


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
    """

    schema: Literal["geodp-census-1"]
    margins: tuple[Margin, ...] = field(metadata=before("constraints"))
    columns: tuple[Column, ...] = field(metadata=before("constraints"))
    contradictions: Literal["refused", "fitted"] = field(metadata=before("constraints"))

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
        "explain": "tools.explain.card:explain_tables",
    }


KINDS = (CensusKind(),)
