"""Margins: what partitions the persons or the households of a table, and what divides what further.

Nothing here sees a count: relations of columns are stated, and never found in values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.table.stated.release import TABLE_NAME
from geodp.typing import IntArray

PERSONS, HOUSEHOLDS = "persons", "households"
"""Names of both populations, which are also those of their tables."""

MAX_LABELS = 64
"""Most labels of a margin: as many as are apportioned together."""

STATUS = "household_status"
"""Name of the margin that says who is in a household."""

REFERENCE, MEMBER, OUTSIDE = "reference person", "other member", "not in a household"
"""Its labels: every household has one reference person, so that these are as many."""

RANKED = "person {} of a household"
"""Label of one person of each household that has so many, so that these are as many."""

MOST_SIZES = 7
"""Most sizes of households, the last one and more: random numbers of a node round no more."""


@dataclass(frozen=True)
class Margin:
    """A partition of a population, or of the parts of another margin.

    Attributes
    ----------
    name : str
        Of its table. It derives the key of the noise, so that it is never renamed.
    of : str
        Name of the population, or of the margin whose parts it divides.
    labels : tuple of str
        Of its own attribute: every person, or every household, has exactly one.
    within : str
        Label of the margin ``of`` whose parts alone are divided; the last label is that of
        everybody in its other parts, and of nobody else. Default: every part is divided.
    max_size : int
        Of :func:`household_status`: most persons of a household. 0: any other margin.
    """

    name: str
    of: str
    labels: tuple[str, ...]
    within: str = ""
    max_size: int = 0

    @property
    def sizes(self) -> int:
        """Number of sizes of households that :func:`household_status` tells apart."""
        return len(self.labels) - 2


def household_status(max_size: int, sizes: int = 1) -> Margin:
    """Return the margin of persons that says who is in a household of at most so many.

    Parameters
    ----------
    max_size : int
    sizes : int
        How many sizes are told apart, the last one and more: of every household that has so many
        persons, one is its second, one its third, and so on, whoever they are.

    Raises
    ------
    UsageError
        For more sizes than households can have.

    Examples
    --------
    >>> household_status(20, 2).labels
    ('reference person', 'person 2 of a household', 'other member', 'not in a household')
    """
    if not 1 <= sizes <= min(MOST_SIZES, max_size - 1):
        raise UsageError(
            f"Households are told apart by at most {MOST_SIZES} sizes, the last one and more, and "
            "--max-size (max_size=) is the most persons of these: larger than the last size.",
            code="census-sizes",
        )
    ranked = (RANKED.format(number) for number in range(2, sizes + 1))
    return Margin(STATUS, PERSONS, (REFERENCE, *ranked, MEMBER, OUTSIDE), max_size=max_size)


@dataclass(frozen=True)
class Margins:
    """All tables of a release: the persons, perhaps the households, and the margins of both.

    Attributes
    ----------
    margins : tuple of Margin
        Each after what it is a margin of.
    households : bool
        Whether households are counted, too.
    """

    margins: tuple[Margin, ...]
    households: bool = False

    def __post_init__(self) -> None:
        known = {*self.populations}
        for one in self.margins:
            if not re.fullmatch(TABLE_NAME, one.name) or one.name in (PERSONS, HOUSEHOLDS):
                raise UsageError(
                    f"The name of the margin {one.name!r} must be of small letters, digits and _, "
                    f"and not {PERSONS} or {HOUSEHOLDS}.",
                    code="margin-name",
                )
            if one.name in known:
                raise UsageError(f"Two margins are named {one.name}.", code="margin-twice")
            if one.of not in known:
                raise UsageError(
                    f"The margin {one.name} divides {one.of}, which is none of "
                    f"{', '.join(sorted(known))}.",
                    code="margin-of-unknown",
                )
            if not 2 <= len({*one.labels}) == len(one.labels) <= MAX_LABELS:
                raise UsageError(
                    f"The margin {one.name} needs from 2 to {MAX_LABELS} labels, each once.",
                    code="margin-labels",
                )
            above = self.path(one.of)
            labels = above[-1].labels if above else ()
            if one.within and (one.within not in labels or len(one.labels) == 2):
                raise UsageError(
                    f"The margin {one.name} divides what has the label {one.within!r}, which must "
                    f"be one of {one.of}, and needs two labels there and one for all others.",
                    code="margin-within",
                )
            if one.max_size and one != household_status(one.max_size, max(one.sizes, 1)):
                raise UsageError(
                    f"The margin {one.name} has a largest size of households, which is for "
                    f"{STATUS} alone.",
                    code="margin-max-size",
                )
            known.add(one.name)

    @property
    def populations(self) -> tuple[str, ...]:
        """Names of what is counted."""
        return (PERSONS, HOUSEHOLDS) if self.households else (PERSONS,)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of all tables, populations first."""
        return (*self.populations, *(one.name for one in self.margins))

    def path(self, table: str) -> tuple[Margin, ...]:
        """Return the margins from a population's to a table's own; none for a population."""
        named = {one.name: one for one in self.margins}
        path: tuple[Margin, ...] = ()
        while table in named:
            path = (named[table], *path)
            table = named[table].of
        return path

    def population(self, table: str) -> str:
        """Return the population that a table counts."""
        path = self.path(table)
        return path[0].of if path else table

    def inside(self, table: str) -> tuple[Margin, ...]:
        """Return the margins that divide a table further."""
        return tuple(one for one in self.margins if one.of == table)

    def list_unkept(self) -> list[tuple[str, ...]]:
        """List margins that divide the same: how their parts overlap is kept by no relation."""
        names = [tuple(one.name for one in self.inside(table)) for table in self.tables]
        return [some for some in names if len(some) > 1]

    def list_parts(self, table: str) -> IntArray:
        """Return the numbers of a table's parts among all combinations of its labels: int64[n]."""
        parts, above = np.zeros(1, np.int64), tuple[str, ...]()
        for one in self.path(table):
            label = np.arange(len(one.labels))
            possible = np.ones((parts.size, label.size), bool)
            if one.within:
                inside = parts % len(above) == above.index(one.within)
                possible = inside[:, None] != (label == label[-1])
            parts = (parts[:, None] * label.size + label)[possible]
            above = one.labels
        return parts

    def group_parts(self, margin: Margin) -> IntArray:
        """Return where the parts of each divided part begin among a margin's, and their end.

        Returns
        -------
        int64[m + 1]
        """
        of = self.list_parts(margin.name) // len(margin.labels)
        return np.append(np.searchsorted(of, self.list_parts(margin.of)), of.size)

    def changes(self, table: str) -> int:
        """Count the parts of a table that one person changes at most, each by 1.

        Who joins a household or leaves it may take it to another part of each of its margins.
        """
        return 2 if self.path(table) and self.population(table) == HOUSEHOLDS else 1

    def share(self, table: str, given: Sequence[str] = ()) -> Fraction:
        """Return the share of the budget of a table.

        Nobody changes all counts of households at once: who opens a household changes one part of
        each of their margins, and who joins one none of their number. So the shares of all tables
        add up to more than 1, and one person costs 1 at most (docs/proofs/census.md). ``given``:
        populations that are not measured.
        """
        homes = sum(self.population(one.name) == HOUSEHOLDS for one in self.margins)
        number = max(Fraction(1), Fraction(homes, 2))
        # What one person costs at most, in shares of a table of persons.
        cost = Fraction(len(self.margins) - homes + (PERSONS not in given))
        if self.households:
            cost += max(number + Fraction(homes, 2), Fraction(homes))
        return (number if table == HOUSEHOLDS else Fraction(1)) / cost

    def grid(self, ground: Grid, table: str) -> Grid:
        """Return the grid of a table; ``ground``: the map."""
        for one in self.path(table):
            ground = ground.with_attribute(one.name, one.labels)
        return ground

    def write(self) -> str:
        """Write names, numbers of labels and relations, as the setting of a method."""
        written = []
        for one in self.margins:
            text = f"{one.name}/{len(one.labels)}/{one.of}"
            if one.max_size:
                text = f"{one.name}/{one.max_size}" + (f"x{one.sizes}" if one.sizes > 1 else "")
            elif one.within:
                text += f"/{self.path(one.of)[-1].labels.index(one.within)}"
            written.append(text)
        return ";".join((*self.populations, *written))

    @classmethod
    def read(cls, text: str) -> Margins:
        """Read what :meth:`write` has written; labels are numbers."""
        names = text.split(";")
        margins = []
        for name, number, *of in (one.split("/") for one in names if "/" in one):
            if not of:
                margins.append(household_status(*map(int, number.split("x"))))
                continue
            labels = tuple(map(str, range(int(number))))
            margins.append(Margin(name, of[0], labels, "".join(of[1:])))
        return cls(tuple(margins), HOUSEHOLDS in names)


def number_part(labels: Sequence[Sequence[str]], part: Sequence[str]) -> int:
    """Return the number of a part among all combinations of labels, the last varying fastest.

    Examples
    --------
    >>> number_part([("f", "m"), ("0-14", "15+")], ("m", "0-14"))
    2
    """
    number = 0
    for some, label in zip(labels, part, strict=True):
        number = number * len(some) + some.index(label)
    return number


def in_order(margins: Iterable[Margin]) -> tuple[Margin, ...]:
    """Put margins after what they divide; the order of others is kept."""
    left, placed = [*margins], [PERSONS, HOUSEHOLDS]
    result: list[Margin] = []
    while ready := [one for one in left if one.of in placed]:
        result += ready
        placed += [one.name for one in ready]
        left = [one for one in left if one not in ready]
    # What divides something unknown is refused by the class.
    return (*result, *left)
