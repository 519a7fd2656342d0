"""Attributes by their names: the columns that they are in, and the public lists of their labels.

A long table has a row for each cell and label, and a column for each attribute. A wide one has a
column for each label. Columns are found by their names, which are public. Labels are stated: by the
call, by a public list, by the layout of a publisher, or by a standard list, and never taken from
records, as they are a part of the public domain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.io.read.layout import presets
from geodp.io.read.layout.labels import read_lists
from geodp.io.read.layout.named import STAR, Named, has_pattern, stand_side_by_side
from geodp.io.read.layout.presets import Preset
from geodp.io.read.layout.words import find_named, fold_columns
from geodp.io.read.rows.columns import COMMON_COLUMN_NAMES, InputTable, find_column
from geodp.io.read.rows.headers import is_name
from geodp.io.read.rows.known_attributes import find_columns_of, find_standard
from geodp.io.read.rows.mesh_columns import NOT_VALUES
from geodp.io.read.rows.names import fold, list_names, match, spell
from geodp.io.read.rows.pairing import Combination, find_label
from geodp.table.source import Fact, FactSource


@dataclass(frozen=True)
class Resolved:
    """Attributes of a table, and what is still asked.

    Attributes
    ----------
    axes : tuple of Attribute
        Those that the grid has not yet.
    columns : mapping of str to str
        Of a long table: the column of each attribute.
    values : mapping or str or None
        Of a wide table: columns by combinations of labels. The one column that a pattern meets
        where no attribute is named. None: as the call says.
    facts : tuple of Fact
    asks : tuple of str
        What must still be said; a reader raises UsageError for it.
    """

    axes: tuple[Attribute, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[Combination, str] | str | None = None
    facts: tuple[Fact, ...] = ()
    asks: tuple[str, ...] = ()

    def extend(self, grid: Grid) -> Grid:
        """Return the public grid with these attributes; UsageError where something is asked."""
        if self.asks:
            raise UsageError(f"{self.asks[0][0].upper()}{self.asks[0][1:]}.", code="question-open")
        for one in self.axes:
            grid = grid.with_attribute(one.name, one.labels)
        return grid


def resolve(table: InputTable, named: Named) -> Resolved:
    """Return the attributes of a table by its header.

    Raises
    ------
    UsageError
        Several columns that may be an attribute, with their names; a pattern that does not tell
        the label of each column; lists of labels that do not say for which attribute they are.
    InputError
        No column for an attribute.
    """
    names = [name.strip() for name in named.by]
    if not all(names) or len({*names}) < len(names) or any({*",=*"} & {*one} for one in names):
        raise UsageError(
            "Attributes are given by their names, each of them once, with commas between (--by "
            "sex,age, by=['sex', 'age']).",
            code="attribute-names-form",
        )
    if unnamed := next((name for name in named.labels if name and name not in names), None):
        raise UsageError(
            f"There are labels for {printable(unnamed)}, which is not among the attributes that "
            "are named (--labels NAME=FILE, --by; labels=, by=).",
            code="labels-of-unnamed",
        )
    if stand_side_by_side(named.values):
        return Resolved(_label_all(named, names))
    headers = _headers(table)
    if has_pattern(named.values) and (met := _meet(table, named, headers)):
        return _Wide(table, named, names, met).resolve()
    if not names:
        return Resolved()
    preset = named.preset or _fitting(table, names)
    parts = {} if preset is None else preset.find_attributes(headers)
    side_by_side = next((one for one in parts.values() if {*one.names} == {*names}), None)
    if named.values is None and side_by_side and named.columns.keys().isdisjoint(names):
        pairs = dict(zip(product(*side_by_side.labels), side_by_side.columns, strict=True))
        axes = tuple(map(Attribute, side_by_side.names, side_by_side.labels))
        if other := _differs(axes, _stated_labels(named, names)):
            raise UsageError(
                f"In the layout of the file the labels of {printable(other.name)} are "
                f"{list_names(other.labels)}; leave other labels out (--labels, labels=), "
                "or name the columns (--value LABEL=COLUMN, value={label: column}).",
                code="layout-has-labels",
            )
        return _of_pairs(named, axes, pairs, "layout")
    return _resolve_long(table, named, names, preset, [*parts])


def _label_all(named: Named, names: Sequence[str]) -> tuple[Attribute, ...]:
    """Return the attributes that named columns side by side make, by lists of all their labels."""
    stated = _stated_labels(named, names)
    if left := [name for name in names if name not in stated]:
        raise UsageError(
            f"Say the labels of {list_names(left)}, too (--labels '{printable(left[0])}=LABEL,"
            "LABEL,...', labels=).",
            code="labels-missing",
        )
    own = {one.name for one in named.attributes}
    return tuple(Attribute(name, stated[name]) for name in names if name not in own)


def _headers(table: InputTable) -> list[str]:
    """Return names of columns, and labels of a second header row."""
    return [*table.columns, *(label for label in getattr(table, "labels", ()) if label.strip())]


def _fitting(table: InputTable, names: Sequence[str]) -> Preset | None:
    """Return the preset of the package that fits; UsageError for several that know an attribute."""
    found = presets.find_fitting(Path(table.name), table.columns)
    knowing = [one for one in found if any({*part.names} & {*names} for part in one.attributes)]
    if len(found) > 1 and knowing:
        shown = list_names([one.name for one in found])
        raise presets.SeveralLayoutsError(
            f"Several presets fit this file, and {shown} may know the columns of "
            f"{list_names(names)} otherwise; choose one (--preset), or name the columns (--value "
            "LABEL=COLUMN, value={label: column}).",
            code="presets-disagree",
        )
    return found[0] if len(found) == 1 else None


def _resolve_long(
    table: InputTable,
    named: Named,
    names: Sequence[str],
    preset: Preset | None,
    parts: Sequence[str],
) -> Resolved:
    """Return columns that have a label in each row."""
    columns: dict[str, str] = {}
    axes: list[Attribute] = []
    facts: list[Fact] = []
    unknown: dict[str, str] = {}
    for name in names:
        column, known_by = _find_column(table, named, name, preset, parts)
        if column in columns.values():
            raise UsageError(
                f"The column {printable(column)} would be two attributes; say which is which "
                "(--column NAME=COLUMN, columns=).",
                code="column-of-two-attributes",
            )
        columns[name] = column
        facts.append(Fact(f"column of attribute {name}", column, known_by))
    lists = _lists_of(named, columns, preset)
    for name, column in columns.items():
        known = next((one for one in named.attributes if one.name == name), None)
        labels, source = lists.get(name, ((), "operator"))
        if known is not None:
            source = source if {*known.labels} == {*labels} else "operator"
        elif labels:
            axes.append(Attribute(name, labels))
        else:
            unknown[name] = column
            continue
        shown = ",".join(labels if known is None else known.labels)
        facts.append(Fact(f"labels of attribute {name}", shown, source))
    asks = (_ask_labels(unknown),) if unknown else ()
    return Resolved(tuple(axes), columns, None, tuple(facts), asks)


def _find_column(
    table: InputTable, named: Named, name: str, preset: Preset | None, parts: Sequence[str]
) -> tuple[str, FactSource]:
    """Return the one column of an attribute, and who says so."""
    if name in named.columns:
        return named.columns[name], "operator"
    for one in () if preset is None else preset.labelled:
        if one.name == name and len(met := match(one.column, table.columns)) == 1:
            return met[0].strip(), "layout"
    taken = {fold(one) for one in (*named.taken, *named.columns.values())}
    if isinstance(named.values, str):
        taken.add(fold(named.values))
    elif named.values is not None and not isinstance(named.values, Mapping):
        taken |= {*map(fold, named.values)}
    free = [one for one in table.columns if fold(one) not in taken]
    found = find_columns_of(name, free)
    if len(found) > 1:
        raise UsageError(
            f"Several columns may be {printable(name)}: {list_names(found)}; say which one is "
            f"({_column_option(name, found[0].strip())}).",
            code="columns-of-one-attribute",
        )
    if found:
        return found[0].strip(), "file"
    known = ""
    if parts:
        known = f"The layout of the file has columns side by side for {', '.join(parts)}."
    asked = [one for one in (*named.taken, *named.columns.values()) if one]
    try:
        return table.columns[find_column(table, name, asked)].strip(), "file"
    except InputError as error:
        rule, row = error.rule, error.row
    remedy = f"Say which column is {printable(name)} ({_column_option(name, 'COLUMN')})."
    raise InputError(
        f"{rule} {remedy} {known}".rstrip(), file=table.name, row=row, code="column-unknown"
    )


def _column_option(name: str, column: str) -> str:
    name, column = printable(name), printable(column)
    return f"--column '{name}={column}', columns={{{name!r}: {column!r}}}"


def _ask_labels(columns: Mapping[str, str]) -> str:
    """Return what must be said of labels, with the columns that records have them in."""
    names = [*map(printable, columns)]
    written = " and ".join(
        f"{name} as its column {printable(column)} writes them"
        for name, column in zip(names, columns.values(), strict=True)
    )
    flags = " ".join(f"--labels '{name}=LABEL,LABEL,...'" for name in names)
    keys = ", ".join(f"{name!r}: ['LABEL', ...]" for name in names)
    return (
        f"say all labels of {written}, from a public list and never from the records: {flags}, or "
        f"--labels '{names[0]}=FILE' with one label a line (labels={{{keys}}})"
    )


def _lists_of(
    named: Named, columns: Mapping[str, str], preset: Preset | None
) -> dict[str, tuple[tuple[str, ...], FactSource]]:
    """Return the labels that lists, the layout or standards have for attributes, and who says so.

    A list that does not say for which attribute it is is meant for the only one without another.
    """
    names = [*columns]
    lists, stated = _read_lists(named, columns)
    found: dict[str, tuple[tuple[str, ...], FactSource]] = {
        name: (lists[name], "operator") for name in names if name in lists
    }
    for one in () if preset is None else preset.labelled:
        if one.name in names:
            found.setdefault(one.name, (one.labels, "layout"))
    left = [name for name in names if name not in found and name not in stated]
    standards = {name: known.labels for name in names if (known := find_standard(name))}
    if "" in lists and lists[""] not in stated.values():
        meant = [name for name in left if name not in standards] or left
        if len(meant) != 1:
            raise UsageError(_ask_whose(names))
        found[meant[0]] = lists[""], "operator"
    for name, labels in standards.items():
        found.setdefault(name, (labels, "default"))
    return found


def _stated_labels(named: Named, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels that the call states of attributes whose columns stand side by side."""
    lists, found = _read_lists(named, {name: name for name in names})
    if "" in lists and lists[""] not in found.values():
        left = [name for name in names if name not in found and name not in lists]
        if len(left) != 1:
            raise UsageError(_ask_whose(names))
        lists[left[0]] = lists[""]
    return {**{name: lists[name] for name in names if name in lists}, **found}


def _read_lists(
    named: Named, columns: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return lists by the names of attributes, and the labels that the grid has of attributes.

    ``columns``: of each attribute, whose name a list may have.

    UsageError where they say two things of one; the grid's may be in another order.
    """
    stated = {one.name: one.labels for one in named.attributes}
    known = {fold(name): name for name in columns}
    found = {}
    for other, labels in read_lists(named.labels, columns).items():
        name = known.get(fold(other), other)
        if {*stated.get(name, labels)} != {*labels}:
            raise UsageError(
                f"The labels of {printable(name)} are given twice and differ (--labels, "
                "labels=); give one list.",
                code="labels-differ",
            )
        found[name] = labels
    return found, stated


def _ask_whose(names: Sequence[str]) -> str:
    """Return what to say of a list that does not say for which attribute it is."""
    name = printable(names[0])
    return Rule(
        "labels-of-which",
        f"Nothing says which of {list_names(names)} the list of labels is for; name it (--labels "
        f"'{name}=FILE', labels={{{name!r}: ...}}).",
    )


def _differs(
    attributes: Sequence[Attribute], stated: Mapping[str, tuple[str, ...]]
) -> Attribute | None:
    """Return the first attribute of which other labels are stated."""
    for one in attributes:
        if {*stated.get(one.name, one.labels)} != {*one.labels}:
            return one
    return None


def _of_pairs(
    named: Named,
    attributes: tuple[Attribute, ...],
    pairs: Mapping[Combination, str],
    known_by: FactSource,
) -> Resolved:
    """Return what columns side by side make, on a grid that may have some attributes already.

    These come first, in the grid's order.
    """
    names = [one.name for one in attributes]
    stated = [one.name for one in named.attributes]
    if not {*stated} <= {*names}:
        raise UsageError(
            "The grid has an attribute already, of another name; the columns of counts make all "
            "attributes of a grid.",
            code="attribute-of-other-name",
        )
    axes = tuple(one for one in attributes if one.name not in stated)
    order = [names.index(name) for name in (*stated, *(one.name for one in axes))]
    pairs = {tuple(labels[i] for i in order): column for labels, column in pairs.items()}
    facts = tuple(
        Fact(f"label of column {column}", ",".join(labels), known_by)
        for labels, column in pairs.items()
    )
    return Resolved(axes, {}, pairs, facts)


def _meet(
    table: InputTable, named: Named, headers: Sequence[str]
) -> dict[str, tuple[str, list[tuple[str, ...]]]]:
    """Return the columns that meet a pattern: what is matched, and what its stars may stand for.

    Names come first, and labels of a second header row where no name meets it. Empty where every
    column of counts is there by its very name. InputError for a pattern that meets none.
    """
    values = named.values
    given = [values] if isinstance(values, str) else [*(values or ())]
    exact = {name.strip() for name in headers}
    if all(one.strip() in exact or STAR not in one for one in given):
        return {}
    codes = [table.columns[at] for at in find_named("code", fold_columns(table.columns))]
    taken = {*map(fold, (*named.taken, *named.columns.values(), *NOT_VALUES, *codes))}
    free = [
        (name.strip(), label)
        for name, label in zip(table.columns, _labels(table), strict=True)
        if name.strip() and fold(name) not in taken
    ]
    found: dict[str, tuple[str, list[tuple[str, ...]]]] = {}
    for one in given:
        if not one.replace(STAR, "").strip() or STAR * 2 in one:
            raise UsageError(
                f"The pattern {printable(one)} says nothing about the columns that are meant; "
                "write what their names have in common, and one * for what differs (--value "
                "'F_*', value='F_*').",
                code="pattern-says-nothing",
            )
        met = _meet_one(one, free)
        if not met:
            find_column(table, one, [name for name in named.taken if name])  # tells what there is
        for column, text, splits in met:
            found.setdefault(column, (text, splits))
    _require_header(table, named, [*found])
    return found


def _require_header(table: InputTable, named: Named, met: Sequence[str]) -> None:
    """Raise InputError where the columns that meet a pattern may be values of a first row of data.

    Messages and the command that is shown quote them.
    """
    there = {fold(name) for name in table.columns}
    known = {*map(fold, named.taken), *COMMON_COLUMN_NAMES}
    if not all(map(is_name, met)) and there.isdisjoint(known):
        raise InputError(
            "the first row looks like data, and a header with names is needed; if it is the "
            "header, name its column of codes (--code, code=).",
            file=table.name,
            row=1,
            code="header-missing",
        )


def _labels(table: InputTable) -> Sequence[str]:
    return getattr(table, "labels", ()) or ("",) * len(table.columns)


def _meet_one(
    pattern: str, free: Sequence[tuple[str, str]]
) -> list[tuple[str, str, list[tuple[str, ...]]]]:
    """Return columns, what of each is matched, and what stars stand for."""
    for column in (0, 1):
        for form in (str.strip, spell, lambda text: spell(text).casefold()):
            pieces = form(pattern).split(STAR)
            found = [
                (names[0], names[column].strip(), splits)
                for names in free
                if (splits := [*_split(pieces, form(names[column]))])
            ]
            if found:
                return found
    return []


def _split(pieces: Sequence[str], text: str) -> Iterator[tuple[str, ...]]:
    """Yield what stars between pieces may stand for: something that is not blank, in every way."""
    if not text.startswith(pieces[0]):
        return
    rest = text[len(pieces[0]) :]
    if len(pieces) == 1:
        if not rest:
            yield ()
        return
    for end in range(1, len(rest) + 1):
        # Marks between words are no part of a label; one behind a number is: 65-.
        if star := rest[:end].strip().lstrip(" _-.:/").rstrip(" _.:"):
            for others in _split(pieces[1:], rest[end:]):
                yield (star, *others)


@dataclass(frozen=True)
class _Wide:
    """Columns that meet a pattern."""

    table: InputTable
    named: Named
    names: Sequence[str]
    met: Mapping[str, tuple[str, list[tuple[str, ...]]]]

    def resolve(self) -> Resolved:
        """Return the attributes that the columns make, each column with its labels."""
        names = self.attributes
        if not names and len(self.met) == 1:
            return Resolved(values=next(iter(self.met)))
        if not names:
            raise UsageError(
                f"The pattern meets several columns: {list_names([*self.met])}; name the "
                "attribute that they make (--by NAME, by='NAME').",
                code="pattern-meets-several",
            )
        stated = _stated_labels(self.named, names)
        preset = self.named.preset or _fitting(self.table, names)
        parts = {} if preset is None else preset.find_attributes(self.table.columns)
        for one in parts.values():
            axes = tuple(map(Attribute, one.names, one.labels))
            if [*one.names] == [*names] and {*one.columns} == {*self.met}:
                if _differs(axes, stated):
                    break
                layout = dict(zip(product(*one.labels), one.columns, strict=True))
                return _of_pairs(self.named, axes, layout, "layout")
        pairs = self._pair(names, stated)
        labels = [_distinct(combination[i] for combination in pairs) for i in range(len(names))]
        attributes = tuple(
            Attribute(name, stated.get(name, found))
            for name, found in zip(names, labels, strict=True)
        )
        every = [*product(*(one.labels for one in attributes))]
        if missing := next((one for one in every if one not in pairs), None):
            raise UsageError(
                f"No column that meets the pattern is for {printable(','.join(missing))}; there "
                f"are {list_names([*self.met])} (--value LABEL=COLUMN, value={{label: column}}).",
                code="pattern-meets-none",
            )
        return _of_pairs(self.named, attributes, {one: pairs[one] for one in every}, "file")

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes that the columns make."""
        return [*self.names] or [one.name for one in self.named.attributes]

    def _pair(
        self, names: Sequence[str], stated: Mapping[str, tuple[str, ...]]
    ) -> dict[Combination, str]:
        """Return the columns by their labels, as the names beyond the pattern tell."""
        if not stated and (complete := self._complete(len(names))):
            return complete
        pairs: dict[Combination, str] = {}
        for column, (text, splits) in self.met.items():
            found: set[Combination] = set()
            # A star that is a label comes first, then one with a label in it, then the whole name.
            for find, whole in ((_is_label, False), (find_label, False), (find_label, True)):
                found = found or {
                    one
                    for stars in splits
                    for one in self._labels_of(names, stated, text, () if whole else stars, find)
                }
            if len(found) != 1:
                raise UsageError(self._refuse(column, found, names, stated))
            (labels,) = found
            if labels in pairs:
                raise UsageError(
                    f"The columns {printable(pairs[labels])} and {printable(column)} would both "
                    f"be for {printable(','.join(labels))}; name the columns (--value "
                    "LABEL=COLUMN, value={label: column}).",
                    code="columns-of-one-label",
                )
            pairs[labels] = column
        return pairs

    def _complete(self, attributes: int) -> dict[Combination, str]:
        """Return the columns by their labels, where one way to part all names fills a table.

        Of H_0_14, H_15_64, M_0_14 and M_15_64 the first mark parts, as every sex then has every
        age. Empty where no way does, or several do.
        """
        splits = [each for _, each in self.met.values()]
        found: list[dict[Combination, str]] = []
        for at in range(-max(map(len, splits)), max(map(len, splits))):
            if any(not -len(each) <= at < len(each) for each in splits):
                continue
            pairs = dict(zip((each[at] for each in splits), self.met, strict=True))
            labels = [{*column} for column in zip(*pairs, strict=True)]
            whole = len(pairs) == len(self.met) == prod(map(len, labels))
            if len(labels) == attributes and whole and min(map(len, labels)) > 1:
                found += [] if pairs in found else [pairs]
        return found[0] if len(found) == 1 else {}

    @staticmethod
    def _labels_of(
        names: Sequence[str],
        stated: Mapping[str, tuple[str, ...]],
        text: str,
        stars: Sequence[str],
        find: Callable[[Sequence[str], str], str | None],
    ) -> Iterator[Combination]:
        """Yield the labels of a column, where they are told: ``find`` finds one in a text."""
        each = len(stars) == len(names)
        found = []
        for number, name in enumerate(names):
            own = stars[number] if each else text
            label = find(stated[name], own) if name in stated else own if each else None
            if label is None:
                return
            found.append(label)
        yield tuple(found)

    @staticmethod
    def _refuse(
        column: str,
        found: set[Combination],
        names: Sequence[str],
        stated: Mapping[str, tuple[str, ...]],
    ) -> str:
        """Return why a column's labels are not told."""
        say = (
            "write the pattern with a * for each attribute in their order, say the labels "
            "(--labels NAME=LABEL,LABEL..., labels=), or name the columns (--value LABEL=COLUMN, "
            "value={label: column})"
        )
        attributes, column = list_names(names), printable(column)
        if found:
            return Rule(
                "pattern-in-several-ways",
                f"The column {column} meets the pattern in several ways, so that its label of "
                f"{attributes} is in doubt; {say}.",
            )
        if any(name in stated for name in names):
            known = "; ".join(list_names(stated[name]) for name in names if name in stated)
            return Rule(
                "pattern-column-without-label",
                f"The column {column} meets the pattern and has not one of the labels {known} in "
                f"its name; write a pattern that leaves it out, or {say}.",
            )
        return Rule(
            "pattern-tells-no-labels",
            f"The pattern does not tell the labels of {attributes}; {say}.",
        )


def _is_label(labels: Sequence[str], text: str) -> str | None:
    """Return the label that a text is, but for case and the marks between its words."""
    words = re.findall(r"[^\W_]+", fold(text))
    found = [label for label in labels if re.findall(r"[^\W_]+", fold(label)) == words]
    return found[0] if len(found) == 1 else None


def _distinct(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
