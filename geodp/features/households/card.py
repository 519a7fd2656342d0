"""The public index of a release of persons and households: what both tables share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from geodp.privacy.assumption import Assumption
from geodp.table.card import File, LeftOut
from geodp.table.charged import Amount, Exact, StatedCharge
from geodp.table.index import TablesCard
from geodp.table.plain import AtLeast
from geodp.table.stated.release import Size, Software, TableInfo

PERSONS, HOUSEHOLDS, OTHERS, SIZES = "persons", "households", "others", "sizes"
"""Names of the tables: of their folders, files and columns."""

Protect = Literal["person", "household"]
"""Whom the guarantee protects."""


@dataclass(frozen=True)
class HouseholdsGuarantee:
    """The privacy guarantee of all tables together.

    Attributes
    ----------
    in_words, mechanism : str
    other_unit : str
        What the guarantee means for a household, if a person is protected, or for a person.
    source : str
        Why it holds.
    epsilon, rho, delta : str or None
        Exact, each with the nearest decimal; ``spends``: as one line.
    neighbours, unit : str
    contribution : int
        The most that one unit adds to the sum of the counts that it is part of.
    assumptions : tuple of Assumption
        Assumptions about the input, and who answers for them.
    """

    in_words: str
    other_unit: str
    source: str
    mechanism: str
    epsilon: Exact | None
    epsilon_decimal: Amount | None
    rho: Exact | None
    rho_decimal: Amount | None
    delta: Exact | None
    delta_decimal: Amount | None
    spends: str
    neighbours: Literal["add-remove-one", "replace-one"]
    unit: Literal["person", "household"]
    contribution: Size
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class HouseholdsCard(TablesCard, kind="households"):
    """The contents of ``households.json``.

    Attributes
    ----------
    schema : "geodp-households-1"
    software : Software
    private : bool
        Whether the key of the noise was secret.
    protects : {"person", "household"}
    max_size : int
        Most persons of a household: every area has at most this number for each household.
    guarantee : HouseholdsGuarantee
    budget : StatedCharge or None
        Charge to a ledger, once for all tables.
    constraints : tuple of str
        What holds in every cell, and so in every area, a sentence each.
    tables : tuple of TableInfo
        Tables, each with a card of its own.
    files : tuple of File
        Files that show all tables together.
    left_out : tuple of LeftOut
    """

    schema: Literal["geodp-households-1"]
    software: Software
    private: bool
    protects: Literal["person", "household"]
    max_size: Annotated[int, AtLeast(2)]
    guarantee: HouseholdsGuarantee
    budget: StatedCharge | None
    constraints: tuple[str, ...]
    tables: tuple[TableInfo, ...] = ()
    files: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def about(self) -> str:
        """What is in the release, in few words."""
        return f"{self.protects} protected"
