"""Relations of columns: what partitions persons and households, and what each column adds up.

A layout states them in its ``[table]``; nothing is found in values. Columns may be nested or
overlap: the parts follow from them by exact elimination, and columns that are not needed for it
are checks of the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from textwrap import wrap
from typing import Any, TypeAlias

import numpy as np

from geodp.errors import Rule, UsageError, printable
from geodp.io.read.rows.names import match
from geodp.typing import IntArray

PERSONS, HOUSEHOLDS = "persons", "households"

Part: TypeAlias = tuple[str, ...]
"""A label of each margin, from that of the population on."""

SIGNS = frozenset(",;:=")
"""What separates labels and parts, and is in none of them."""

WIDTH = 100
"""Width of the lines of a tree."""

UNSOLVED = Rule(
    "relations-part-without-column",
    "The columns of the margin {margin} do not determine its part {part}: give a column of it, or "
    "columns from which it follows by sums and differences.",
)

NO_RELATIONS = Rule(
    "relations-unknown",
    "No layout that geodp knows relates the columns of this file: name margins (--margin "
    "sex=M,F), or state the relations in a layout of your own (--preset mine.toml with [table]).",
)

MISSING = Rule(
    "relations-column-missing",
    "The margin {margin} needs a column {column}, which the file does not have once.",
)


@dataclass(frozen=True)
class MarginLayout:
    """A margin as a layout describes it.

    Attributes
    ----------
    name : str
    of : str
        ``"persons"``, ``"households"``, or the margin whose parts it divides.
    labels : tuple of str
        Default: the columns, one for each.
    columns : mapping of str to str
        What each column adds up, by its pattern: labels, ``"15-17, 18-19"``, or all from one to
        another, ``"15-17..95+"``; for single labels of the margin above ``"M: 0-14; F: 15+"``.
        Nothing for columns that are one part each, in the order of parts.
    rest : str
        Label of whoever is in no column; empty: there is nobody.
    within : str
        Label of the margin above whose parts alone are divided.
    elsewhere : str
        Label of everybody else then.
    max_size : int
        Of the margin of households, their other members, and others: most persons of a household.
    """

    name: str
    columns: Mapping[str, str]
    of: str = PERSONS
    labels: tuple[str, ...] = ()
    rest: str = ""
    within: str = ""
    elsewhere: str = ""
    max_size: int = 0

    @classmethod
    def of_part(cls, column: str) -> MarginLayout:
        """Make the margin of a column of some persons: all others are its rest."""
        name = re.sub("[^a-z0-9]+", "_", column.lower()).strip("_")
        return cls(name, {column: ""}, rest=f"not {column}")

    @property
    def column_labels(self) -> tuple[str, ...]:
        """Labels of its columns."""
        return self.labels or tuple(self.columns)

    @property
    def all_labels(self) -> tuple[str, ...]:
        """All labels: those of columns, the rest, and that of everybody elsewhere."""
        return (*self.column_labels, *filter(None, (self.rest, self.elsewhere)))


@dataclass(frozen=True)
class RelatedMargin:
    """A margin of a file, with its columns.

    Attributes
    ----------
    layout : MarginLayout
    parts : tuple of Part
        Those that columns determine.
    columns : mapping of str to tuple of Part
        Which parts each column of the file adds up.
    """

    layout: MarginLayout
    parts: tuple[Part, ...]
    columns: Mapping[str, tuple[Part, ...]]

    @cached_property
    def sums(self) -> IntArray:
        """The parts that each column adds up: int64[columns, parts], 0 or 1."""
        some = [[part in parts for part in self.parts] for parts in self.columns.values()]
        return np.array(some, np.int64).reshape(len(self.columns), len(self.parts))

    @property
    def is_solved(self) -> bool:
        """Whether all parts follow from the columns."""
        try:
            return bool(self.solution.size)
        except UsageError:
            return False

    @cached_property
    def solution(self) -> IntArray:
        """The parts as sums and differences of columns: int64[parts, columns].

        Raises UsageError for a part that is none.
        """
        # Columns of few parts first: a part that has a column of its own is that column.
        order = sorted(range(len(self.columns)), key=lambda at: int(self.sums[at].sum()))
        rows = [
            [*map(Fraction, self.sums[at].tolist()), *(Fraction(int(at == i)) for i in order)]
            for at in order
        ]
        done = list[list[Fraction]]()
        for number in range(len(self.parts)):
            chosen = next((row for row in rows if row[number]), None)
            if chosen is None:
                continue
            rows.remove(chosen)
            chosen = [one / chosen[number] for one in chosen]
            rows, done = (
                [[a - row[number] * b for a, b in zip(row, chosen, strict=True)] for row in some]
                for some in (rows, done)
            )
            done.append(chosen)
        solved = np.zeros(self.sums.T.shape, np.int64)
        for number, part in enumerate(self.parts):
            alone = [Fraction(int(at == number)) for at in range(len(self.parts))]
            solution_row = next((row for row in done if row[: len(self.parts)] == alone), None)
            weights = [] if solution_row is None else solution_row[len(self.parts) :]
            if not weights or any(one.denominator > 1 for one in weights):
                raise UsageError(UNSOLVED.format(margin=self.layout.name, part=" ".join(part)))
            solved[number, order] = [int(one) for one in weights]
        return solved


@dataclass(frozen=True)
class Relations:
    """The columns of a file and their relations.

    Attributes
    ----------
    persons, households : str
        Columns of the populations; no households: empty.
    margins : tuple of RelatedMargin
        Each after what it divides.
    hidden : tuple of str
        Values that stand for counts which the office hides.
    """

    persons: str
    households: str
    margins: tuple[RelatedMargin, ...]
    hidden: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, tuple[str, tuple[Part, ...]]]:
        """Table and parts of every column; no parts: it is a population."""
        named: dict[str, tuple[str, tuple[Part, ...]]] = {self.persons: (PERSONS, ())}
        if self.households:
            named[self.households] = (HOUSEHOLDS, ())
        for margin in self.margins:
            named |= {name: (margin.layout.name, parts) for name, parts in margin.columns.items()}
        return named

    def inside(self, table: str) -> list[RelatedMargin]:
        """Return the margins that divide a table further."""
        return [one for one in self.margins if one.layout.of == table]

    def describe(self) -> dict[str, Any]:
        """Describe the relations as plain values: ``persons``, ``tree`` and ``columns``.

        ``columns``: which table each is of, and which of its parts it adds up.
        """
        columns = {
            name: {"table": table, "parts": [[*part] for part in parts]}
            for name, (table, parts) in self.columns.items()
        }
        return {"persons": self.persons, "tree": self.draw(), "columns": columns}

    def draw(self) -> list[str]:
        """Draw the tree of columns: a line for each margin, and below it its columns."""
        lines = [self.persons, *self._draw(PERSONS, 1)]
        if self.households:
            lines += [self.households, *self._draw(HOUSEHOLDS, 1)]
        return [line.rstrip() for line in lines]

    def _draw(self, table: str, depth: int) -> Iterator[str]:
        """Yield the lines of the margins that divide a table."""
        for margin in self.inside(table):
            one, indent = margin.layout, "  " * depth
            labels = ", ".join(map(printable, one.column_labels))
            within = f" ({one.within})" if one.within else ""
            rest = f" | {one.rest}" if one.rest else ""
            inner = f"{indent}    "
            yield from _wrap(f"{one.name}{within}: {labels}{rest}", indent, inner)
            if margin.columns.keys() != {*one.column_labels}:
                yield from _wrap(f"= {', '.join(map(printable, margin.columns))}", inner, inner)
            yield from self._draw(one.name, depth + 1)


def _wrap(text: str, first: str, later: str) -> list[str]:
    """Break a line; letters of Chinese and Japanese are two wide."""
    width = WIDTH if text.isascii() else WIDTH // 2
    return wrap(text, width, initial_indent=first, subsequent_indent=later)


@dataclass(frozen=True)
class TableLayout:
    """The ``[table]`` of a layout.

    Attributes
    ----------
    persons, households : str
        Patterns of the columns of both populations.
    margins : tuple of MarginLayout
        Each after what it divides. Of several of one name, a file has the first whose parts follow
        from its columns.
    hidden : tuple of str
        Values that stand for counts which the office hides.
    chosen : bool
        Whether a file must have all columns, as the call names them. Otherwise margins whose parts
        do not follow from the file's columns are left out.
    """

    persons: str
    households: str = ""
    margins: tuple[MarginLayout, ...] = ()
    hidden: tuple[str, ...] = ()
    chosen: bool = False

    @classmethod
    def of(cls, where: str, entry: Mapping[str, Any]) -> TableLayout:
        """Check a ``[table]`` and make it; UsageError, which names the field, if it is invalid."""
        _require(where, entry, {"persons": str, "households": str, "hidden": list, "margins": list})
        if not entry.get("persons"):
            raise UsageError(f"{where} has no persons.", code="relations-persons")
        margins = tuple(_make_margin(where, one) for one in entry.get("margins", ()))
        return cls(
            entry["persons"], entry.get("households", ""), margins, (*entry.get("hidden", ()),)
        )

    def check(self) -> None:
        """Raise UsageError for a margin whose parts do not follow from its columns."""
        populations = _list_populations(households=bool(self.households))
        for one in self.margins:
            related = _relate(one, _outer(one, populations), {name: name for name in one.columns})
            _ = related.solution
            populations.setdefault(one.name, _list_parts(one, populations))

    def with_rests(self, rests: Mapping[str, str]) -> TableLayout:
        """Return the layout with these rests, by margin; UsageError for an unknown margin."""
        if unknown := {*rests} - {one.name for one in self.margins}:
            raise UsageError(
                f"There is no margin {printable(min(unknown))}, of which a rest is named (--rest).",
                code="census-rest-unknown",
            )
        margins = [replace(one, rest=rests.get(one.name, one.rest)) for one in self.margins]
        for one in margins:
            require_labels(f"The margin {one.name}", one)
        return replace(self, margins=tuple(margins))

    def find(self, names: Sequence[str]) -> Relations | None:
        """Find the columns of a file; None if it has none of persons.

        ``names``: of the file's columns, and their titles. Raises UsageError for a column of the
        call that is not there.
        """
        persons, households = (_find_one(one, names) for one in (self.persons, self.households))
        lacks = persons is None or bool(self.households and households is None)
        if self.chosen and lacks:
            column = self.persons if persons is None else self.households
            raise UsageError(MISSING.format(margin=PERSONS, column=printable(column)))
        if persons is None:
            return None
        populations = _list_populations(households=households is not None)
        margins = list[RelatedMargin]()
        for one in self.margins:
            if not self.chosen and (one.name in populations or one.of not in populations):
                continue
            column_of = {name: _find_one(name, names) for name in one.columns}
            if self.chosen and None in column_of.values():
                column = next(name for name, it in column_of.items() if it is None)
                raise UsageError(MISSING.format(margin=one.name, column=printable(column)))
            there = {name: it for name, it in column_of.items() if it is not None}
            related = _relate(one, _outer(one, populations), there)
            if related.is_solved:
                margins.append(related)
                populations[one.name] = _list_parts(related.layout, populations)
        return Relations(persons, households or "", tuple(margins), self.hidden)


def _list_populations(*, households: bool) -> dict[str, list[Part]]:
    """Return the parts of populations, which are whole."""
    return {name: [()] for name in ((PERSONS, HOUSEHOLDS) if households else (PERSONS,))}


def _find_one(pattern: str, names: Sequence[str]) -> str | None:
    """Return the only name that a pattern matches; None if there is none, or several."""
    matches = {*match(pattern, names)} if pattern else set[str]()
    return matches.pop() if len(matches) == 1 else None


def _outer(margin: MarginLayout, populations: Mapping[str, Sequence[Part]]) -> list[Part]:
    """Return the parts that a margin divides; UsageError if it divides nothing that is known."""
    if margin.of not in populations:
        raise UsageError(
            f"The margin {margin.name} divides {printable(margin.of)}, which is none of "
            f"{', '.join(populations)}.",
            code="relations-of-unknown",
        )
    above = populations[margin.of]
    inside = [one for one in above if not margin.within or one[-1:] == (margin.within,)]
    if not inside or (margin.within and not margin.elsewhere):
        raise UsageError(
            f"The margin {margin.name} lies within {printable(margin.within)}, which must be a "
            f"label of {margin.of}; what everybody else has is its elsewhere.",
            code="relations-within",
        )
    return inside


def _list_parts(margin: MarginLayout, populations: Mapping[str, Sequence[Part]]) -> list[Part]:
    """List all parts of a margin, with its rest and those elsewhere."""
    inside = {*_outer(margin, populations)}
    labels = (*margin.column_labels, *((margin.rest,) if margin.rest else ()))
    return [
        (*above, label)
        for above in populations[margin.of]
        for label in (labels if above in inside else (margin.elsewhere,))
    ]


def _relate(
    margin: MarginLayout, outer: Sequence[Part], column_of: Mapping[str, str]
) -> RelatedMargin:
    """Relate the columns of a file, by their patterns, to the parts of a margin."""
    if not margin.labels:
        # Labels are the columns as the file spells them.
        names = tuple(column_of.get(name, name) for name in margin.columns)
        margin = replace(margin, labels=names)
    parts = tuple((*above, label) for above in outer for label in margin.column_labels)
    added = dict[str, tuple[Part, ...]]()
    listed = not any(margin.columns.values())
    if listed and len(parts) != len(margin.columns):
        raise UsageError(
            f"The margin {margin.name} has {len(parts)} parts and {len(margin.columns)} columns: "
            "list one for each part, in the order of parts, or say for each column which labels "
            "it adds up.",
            code="relations-columns-of-parts",
        )
    for number, (pattern, text) in enumerate(margin.columns.items()):
        if pattern in column_of:
            some = parts[number : number + 1] if listed else _read_parts(margin, outer, text)
            added[column_of[pattern]] = some
    return RelatedMargin(margin, parts, added)


def _read_parts(margin: MarginLayout, outer: Sequence[Part], text: str) -> tuple[Part, ...]:
    """Read which parts a column adds up."""
    parts = list[Part]()
    for some in text.split(";"):
        above, colon, labels = some.rpartition(":")
        at = [one for one in outer if not colon or one[-1:] == (above.strip(),)]
        named = [label for one in labels.split(",") for label in _read_labels(margin, one.strip())]
        if not at:
            raise _unknown(margin, above.strip())
        parts += [(*one, label) for one in at for label in named]
    return tuple(dict.fromkeys(parts))


def _read_labels(margin: MarginLayout, text: str) -> Sequence[str]:
    """Read a label, or all from one to another."""
    if text in margin.column_labels:
        return (text,)
    first, dots, last = (one.strip() for one in text.partition(".."))
    if not dots or not {first, last} <= {*margin.column_labels}:
        raise _unknown(margin, text)
    return margin.column_labels[
        margin.column_labels.index(first) : margin.column_labels.index(last) + 1
    ]


def _unknown(margin: MarginLayout, label: str) -> UsageError:
    return UsageError(
        f"The margin {margin.name} has a column of {printable(label)!r}, which is no label; there "
        f"are {', '.join(map(printable, margin.column_labels))}.",
        code="relations-label-unknown",
    )


def _make_margin(where: str, entry: Any) -> MarginLayout:
    """Check an entry of ``[[table.margins]]`` and make it."""
    where = f"{where} an entry of margins"
    if not isinstance(entry, dict):
        raise UsageError(f"{where} must be a table.", code="relations-not-a-table")
    texts = dict.fromkeys(("name", "of", "rest", "within", "elsewhere"), str)
    _require(where, entry, {**texts, "labels": list, "columns": list | dict})
    if not entry.get("name") or not entry.get("columns"):
        raise UsageError(f"{where} has a name and columns.", code="relations-margin")
    columns = entry["columns"]
    if isinstance(columns, list):
        columns = dict.fromkeys(columns, "")
    margin = MarginLayout(**{**entry, "columns": columns, "labels": (*entry.get("labels", ()),)})
    require_labels(where, margin)
    return margin


def require_labels(where: str, margin: MarginLayout) -> None:
    """Raise UsageError for labels that are repeated, or hold signs that separate them."""
    labels = margin.all_labels
    if len({*labels}) < len(labels) or any(SIGNS & {*one} or ".." in one for one in labels):
        raise UsageError(
            f"{where} has labels, each of them once, and none with a comma, colon, semicolon, = "
            "or two points.",
            code="relations-labels",
        )


def _require(where: str, entry: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Raise UsageError for a field that is unknown or has the wrong type."""
    for name, value in entry.items():
        if name not in fields:
            raise UsageError(
                f"{where} there is {printable(name)!r}, which means nothing; there are "
                f"{', '.join(fields)}.",
                code="relations-key-unknown",
            )
        texts: Iterable[Any] = value.values() if isinstance(value, dict) else value
        fits = isinstance(value, fields[name])
        if not fits or (name != "margins" and not all(isinstance(one, str) for one in texts)):
            raise UsageError(
                f"{where} {name} is of the wrong type: texts are quoted.", code="relations-type"
            )
