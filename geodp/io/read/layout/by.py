"""Attributes by their names: the columns that hold them, and the public lists of their labels.

A long table has a row for each cell and label, and a column for each attribute. A wide one has a
column for each label. Columns are found by their names, which are public. Labels are declared: by
the call, by a public list, by the layout of a publisher, or by a standard list. They are never
taken from records, as they are part of the public domain.
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
from geodp.io.read.layout.attributes import STAR, Named, has_pattern, read_lists, stand_side_by_side
from geodp.io.read.layout.official_tables import NOT_VALUES
from geodp.io.read.layout.presets import Preset
from geodp.io.read.layout.recognise import find_named, fold_columns
from geodp.io.read.rows.columns import COMMON_COLUMN_NAMES, InputTable, find_column
from geodp.io.read.rows.names import find_columns_of, find_standard, fold, list_names, match, spell
from geodp.io.read.rows.pairing import Combination, find_label
from geodp.io.read.rows.span import is_name
from geodp.table.source import Fact, FactSource


@dataclass(frozen=True)
class Resolved:
    """Attributes of a table, and open questions.

    Attributes
    ----------
    axes : tuple of Attribute
        Attributes that the grid does not have yet.
    columns : mapping of str to str
        Column of each attribute of a long table.
    values : mapping or str or None
        Columns of a wide table by combinations of labels; or the one column that matches a pattern
        if no attribute is named. None: as the call says.
    facts : tuple of Fact
    questions : tuple of str
        What the call must still specify; a reader raises UsageError for it.
    """

    axes: tuple[Attribute, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[Combination, str] | str | None = None
    facts: tuple[Fact, ...] = ()
    questions: tuple[str, ...] = ()

    def extend(self, grid: Grid) -> Grid:
        """Return the public grid with these attributes; UsageError if a question is open."""
        if self.questions:
            raise UsageError(
                f"{self.questions[0][0].upper()}{self.questions[0][1:]}.", code="question-open"
            )
        for one in self.axes:
            grid = grid.with_attribute(one.name, one.labels)
        return grid


def resolve(table: InputTable, named: Named) -> Resolved:
    """Find the attributes of a table by its header.

    Raises
    ------
    UsageError
        Several columns that may be an attribute, with their names; a pattern that does not
        determine the label of each column; lists of labels without the name of their attribute.
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
    # Labels of an attribute that nobody asked for are most likely a misspelt name.
    if unnamed := next((name for name in named.labels if name and name not in names), None):
        raise UsageError(
            f"There are labels for {printable(unnamed)}, which is not among the attributes that "
            "are named (--labels NAME=FILE, --by; labels=, by=).",
            code="labels-of-unnamed",
        )
    # Named columns side by side need no header: the call states both the columns and their order.
    if stand_side_by_side(named.values):
        return Resolved(_label_all(named, names))
    # Labels of a second header row are names, too.
    headers = [*table.columns, *filter(str.strip, getattr(table, "labels", ()))]
    if has_pattern(named.values) and (matches := _match_patterns(table, named, headers)):
        return _WideTable(table, named, names, matches).resolve()
    if not names:
        return Resolved()
    # The publisher's documents know labels that the header alone does not tell.
    preset = named.preset or _fitting(table, names)
    parts = {} if preset is None else preset.find_attributes(headers)
    side_by_side = next((one for one in parts.values() if {*one.names} == {*names}), None)
    if named.values is None and side_by_side and named.columns.keys().isdisjoint(names):
        pairs = dict(zip(product(*side_by_side.labels), side_by_side.columns, strict=True))
        axes = tuple(map(Attribute, side_by_side.names, side_by_side.labels))
        if other := _differs(axes, _declared_labels(named, names)):
            raise UsageError(
                f"In the layout of the file the labels of {printable(other.name)} are "
                f"{list_names(other.labels)}; leave other labels out (--labels, labels=), "
                "or name the columns (--value LABEL=COLUMN, value={label: column}).",
                code="layout-has-labels",
            )
        return _of_pairs(named, axes, pairs, "layout")
    return _resolve_long(table, named, names, preset, [*parts])


def _label_all(named: Named, names: Sequence[str]) -> tuple[Attribute, ...]:
    """Return the attributes of named columns side by side, by lists of all their labels."""
    declared = _declared_labels(named, names)
    if left := [name for name in names if name not in declared]:
        raise UsageError(
            f"Also give the labels of {list_names(left)} (--labels '{printable(left[0])}=LABEL,"
            "LABEL,...', labels=).",
            code="labels-missing",
        )
    existing = {one.name for one in named.attributes}
    return tuple(Attribute(name, declared[name]) for name in names if name not in existing)


def _fitting(table: InputTable, names: Sequence[str]) -> Preset | None:
    """Return the packaged preset that fits; UsageError for several that have an attribute."""
    fitting = presets.find_fitting(Path(table.name), table.columns)
    knowing = [one for one in fitting if any({*part.names} & {*names} for part in one.attributes)]
    if len(fitting) > 1 and knowing:
        shown = list_names([one.name for one in fitting])
        raise presets.SeveralLayoutsError(
            f"Several presets fit this file, and {shown} may know the columns of "
            f"{list_names(names)} otherwise; choose one (--preset), or name the columns (--value "
            "LABEL=COLUMN, value={label: column}).",
            code="presets-disagree",
        )
    return fitting[0] if len(fitting) == 1 else None


def _resolve_long(
    table: InputTable,
    named: Named,
    names: Sequence[str],
    preset: Preset | None,
    parts: Sequence[str],
) -> Resolved:
    """Resolve attributes whose columns have a label in each row."""
    columns: dict[str, str] = {}
    axes: list[Attribute] = []
    facts: list[Fact] = []
    unknown: dict[str, str] = {}
    for name in names:
        column, known_by = _find_column(table, named, name, preset, parts)
        # One column cannot hold the labels of two attributes, so one of the names is wrong.
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
        existing = next((one for one in named.attributes if one.name == name), None)
        labels, source = lists.get(name, ((), "operator"))
        if existing is not None:
            # The grid's labels win, and where they are not those of the list, the operator has
            # declared them.
            source = source if {*existing.labels} == {*labels} else "operator"
        elif labels:
            axes.append(Attribute(name, labels))
        else:
            unknown[name] = column
            continue
        shown = ",".join(labels if existing is None else existing.labels)
        facts.append(Fact(f"labels of attribute {name}", shown, source))
    questions = (_request_labels(unknown),) if unknown else ()
    return Resolved(tuple(axes), columns, None, tuple(facts), questions)


def _find_column(
    table: InputTable, named: Named, name: str, preset: Preset | None, parts: Sequence[str]
) -> tuple[str, FactSource]:
    """Return the one column of an attribute, and the source of that knowledge."""
    if name in named.columns:
        return named.columns[name], "operator"
    for one in () if preset is None else preset.labelled:
        if one.name == name and len(matches := match(one.column, table.columns)) == 1:
            return matches[0].strip(), "layout"
    # A column has one role: those named for places, counts or persons cannot be attributes as well.
    taken = {fold(one) for one in (*named.taken, *named.columns.values())}
    if isinstance(named.values, str):
        taken.add(fold(named.values))
    elif named.values is not None and not isinstance(named.values, Mapping):
        taken |= {*map(fold, named.values)}
    free = [one for one in table.columns if fold(one) not in taken]
    columns = find_columns_of(name, free)
    if len(columns) > 1:
        raise UsageError(
            f"Several columns may be {printable(name)}: {list_names(columns)}; say which one is "
            f"({_column_option(name, columns[0].strip())}).",
            code="columns-of-one-attribute",
        )
    if columns:
        return columns[0].strip(), "file"
    hint = ""
    if parts:
        hint = f"The layout of the file has columns side by side for {', '.join(parts)}."
    used = [one for one in (*named.taken, *named.columns.values()) if one]
    try:
        return table.columns[find_column(table, name, used)].strip(), "file"
    except InputError as error:
        rule, row = error.rule, error.row
    remedy = f"Say which column is {printable(name)} ({_column_option(name, 'COLUMN')})."
    raise InputError(
        f"{rule} {remedy} {hint}".rstrip(), file=table.name, row=row, code="column-unknown"
    )


def _column_option(name: str, column: str) -> str:
    name, column = printable(name), printable(column)
    return f"--column '{name}={column}', columns={{{name!r}: {column!r}}}"


def _request_labels(columns: Mapping[str, str]) -> str:
    """Formulate the request for labels, with the columns that hold them in the records."""
    names = [*map(printable, columns)]
    written = " and ".join(
        f"{name} as its column {printable(column)} writes them"
        for name, column in zip(names, columns.values(), strict=True)
    )
    flags = " ".join(f"--labels '{name}=LABEL,LABEL,...'" for name in names)
    keys = ", ".join(f"{name!r}: ['LABEL', ...]" for name in names)
    return (
        f"list all labels of {written}, from a public list and never from the records: {flags}, or "
        f"--labels '{names[0]}=FILE' with one label a line (labels={{{keys}}})"
    )


def _lists_of(
    named: Named, columns: Mapping[str, str], preset: Preset | None
) -> dict[str, tuple[tuple[str, ...], FactSource]]:
    """Return the labels of attributes from lists, the layout or standards, each with its source.

    A list without the name of an attribute is for the only attribute that has no other list.
    """
    names = [*columns]
    lists, declared = _read_lists(named, columns)
    labels_by_name: dict[str, tuple[tuple[str, ...], FactSource]] = {
        name: (lists[name], "operator") for name in names if name in lists
    }
    for one in () if preset is None else preset.labelled:
        if one.name in names:
            labels_by_name.setdefault(one.name, (one.labels, "layout"))
    left = [name for name in names if name not in labels_by_name and name not in declared]
    standards = {name: found.labels for name in names if (found := find_standard(name))}
    # An attribute with standard labels (hour, month) can do without the list, so it is not counted.
    if "" in lists and lists[""] not in declared.values():
        candidates = [name for name in left if name not in standards] or left
        labels_by_name[_only(candidates, names)] = lists[""], "operator"
    for name, labels in standards.items():
        labels_by_name.setdefault(name, (labels, "default"))
    return labels_by_name


def _declared_labels(named: Named, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels that the call declares for attributes of columns side by side."""
    lists, of_grid = _read_lists(named, {name: name for name in names})
    if "" in lists and lists[""] not in of_grid.values():
        left = [name for name in names if name not in of_grid and name not in lists]
        lists[_only(left, names)] = lists[""]
    return {**{name: lists[name] for name in names if name in lists}, **of_grid}


def _read_lists(
    named: Named, columns: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Read the lists by the names of attributes, and the labels that the grid has of attributes.

    ``columns``: the column of each attribute, whose name a list may have.

    Raises UsageError if two lists of one attribute differ; the grid's may be in another order.
    """
    declared = {one.name: one.labels for one in named.attributes}
    by_folded_name = {fold(name): name for name in columns}
    lists = {}
    for other, labels in read_lists(named.labels, columns).items():
        name = by_folded_name.get(fold(other), other)
        if {*declared.get(name, labels)} != {*labels}:
            raise UsageError(
                f"The labels of {printable(name)} are given twice and differ (--labels, "
                "labels=); give one list.",
                code="labels-differ",
            )
        lists[name] = labels
    return lists, declared


def _only(candidates: Sequence[str], names: Sequence[str]) -> str:
    """Return the only attribute that a list without a name may be for; UsageError without one."""
    if len(candidates) == 1:
        return candidates[0]
    name = printable(names[0])
    raise UsageError(
        f"Nothing says which of {list_names(names)} the list of labels is for; name it (--labels "
        f"'{name}=FILE', labels={{{name!r}: ...}}).",
        code="labels-of-which",
    )


def _differs(
    attributes: Sequence[Attribute], declared: Mapping[str, tuple[str, ...]]
) -> Attribute | None:
    """Return the first attribute for which other labels are declared."""
    others = (one for one in attributes if {*declared.get(one.name, one.labels)} != {*one.labels})
    return next(others, None)


def _of_pairs(
    named: Named,
    attributes: tuple[Attribute, ...],
    pairs: Mapping[Combination, str],
    known_by: FactSource,
) -> Resolved:
    """Build the result for columns side by side, on a grid that may have attributes already.

    The grid's attributes come first, in its order.
    """
    names = [one.name for one in attributes]
    declared = [one.name for one in named.attributes]
    # Every cell must get all labels of its attributes; a column for some of them leaves gaps.
    if not {*declared} <= {*names}:
        raise UsageError(
            "The grid has an attribute already, of another name; the columns of counts make all "
            "attributes of a grid.",
            code="attribute-of-other-name",
        )
    axes = tuple(one for one in attributes if one.name not in declared)
    # Indices follow the order of the grid's axes, whatever order the columns have.
    order = [names.index(name) for name in (*declared, *(one.name for one in axes))]
    pairs = {tuple(labels[i] for i in order): column for labels, column in pairs.items()}
    facts = tuple(
        Fact(f"label of column {column}", ",".join(labels), known_by)
        for labels, column in pairs.items()
    )
    return Resolved(axes, {}, pairs, facts)


def _match_patterns(
    table: InputTable, named: Named, headers: Sequence[str]
) -> dict[str, tuple[str, list[tuple[str, ...]]]]:
    """Return the columns that match a pattern, with the matched text and the readings of its stars.

    Names come first, then labels of a second header row if no name matches. Empty if every
    column of counts exists by its exact name. InputError for a pattern without a match.
    """
    values = named.values
    patterns = [values] if isinstance(values, str) else [*(values or ())]
    exact = {name.strip() for name in headers}
    if all(one.strip() in exact or STAR not in one for one in patterns):
        return {}
    codes = [table.columns[at] for at in find_named("code", fold_columns(table.columns))]
    taken = {*map(fold, (*named.taken, *named.columns.values(), *NOT_VALUES, *codes))}
    free = [
        (name.strip(), label)
        for name, label in zip(table.columns, _labels(table), strict=True)
        if name.strip() and fold(name) not in taken
    ]
    matches: dict[str, tuple[str, list[tuple[str, ...]]]] = {}
    for one in patterns:
        if not one.replace(STAR, "").strip() or STAR * 2 in one:
            raise UsageError(
                f"The pattern {printable(one)} does not describe any columns; write the common "
                "part of their names, and one * for the part that differs (--value 'F_*', "
                "value='F_*').",
                code="pattern-says-nothing",
            )
        matched = _match_pattern(one, free)
        if not matched:
            # Raises the error that lists the columns of the table.
            find_column(table, one, [name for name in named.taken if name])
        for column, text, splits in matched:
            matches.setdefault(column, (text, splits))
    _require_header(table, named, [*matches])
    return matches


def _require_header(table: InputTable, named: Named, columns: Sequence[str]) -> None:
    """Raise InputError if columns that match a pattern may be values of a first row of data.

    Messages and the command that is shown would quote them, and with them confidential values.
    """
    existing = {fold(name) for name in table.columns}
    certain = {*map(fold, named.taken), *COMMON_COLUMN_NAMES}
    if not all(map(is_name, columns)) and existing.isdisjoint(certain):
        raise InputError(
            "the first row looks like data, and a header with names is needed; if it is the "
            "header, name its column of codes (--code, code=).",
            file=table.name,
            row=1,
            code="header-missing",
        )


def _labels(table: InputTable) -> Sequence[str]:
    return getattr(table, "labels", ()) or ("",) * len(table.columns)


def _match_pattern(
    pattern: str, free: Sequence[tuple[str, str]]
) -> list[tuple[str, str, list[tuple[str, ...]]]]:
    """Return columns, the text of each that matches, and the readings of the stars."""
    for column in (0, 1):
        # From the strictest comparison to the loosest: a name that differs in case counts only if
        # no name is exact.
        for form in (str.strip, spell, lambda text: spell(text).casefold()):
            pieces = form(pattern).split(STAR)
            matches = [
                (names[0], names[column].strip(), splits)
                for names in free
                if (splits := [*_split(pieces, form(names[column]))])
            ]
            if matches:
                return matches
    return []


def _split(pieces: Sequence[str], text: str) -> Iterator[tuple[str, ...]]:
    """Yield all ways in which the stars between pieces match texts that are not blank."""
    if not text.startswith(pieces[0]):
        return
    rest = text[len(pieces[0]) :]
    if len(pieces) == 1:
        if not rest:
            yield ()
        return
    for end in range(1, len(rest) + 1):
        # Separators between words are not part of a label, but one after a number is: 65-.
        if star := rest[:end].strip().lstrip(" _-.:/").rstrip(" _.:"):
            for others in _split(pieces[1:], rest[end:]):
                yield (star, *others)


@dataclass(frozen=True)
class _WideTable:
    """Columns that match a pattern."""

    table: InputTable
    named: Named
    names: Sequence[str]
    matches: Mapping[str, tuple[str, list[tuple[str, ...]]]]

    def resolve(self) -> Resolved:
        """Find the attributes that the columns make, each column with its labels."""
        names = [*self.names] or [one.name for one in self.named.attributes]
        if not names and len(self.matches) == 1:
            return Resolved(values=next(iter(self.matches)))
        if not names:
            raise UsageError(
                f"The pattern matches several columns: {list_names([*self.matches])}; name the "
                "attribute that they make (--by NAME, by='NAME').",
                code="pattern-meets-several",
            )
        declared = _declared_labels(self.named, names)
        preset = self.named.preset or _fitting(self.table, names)
        parts = {} if preset is None else preset.find_attributes(self.table.columns)
        # A publisher's layout knows the labels better than their names in the header tell.
        for one in parts.values():
            axes = tuple(map(Attribute, one.names, one.labels))
            if [*one.names] == [*names] and {*one.columns} == {*self.matches}:
                if _differs(axes, declared):
                    break
                layout = dict(zip(product(*one.labels), one.columns, strict=True))
                return _of_pairs(self.named, axes, layout, "layout")
        pairs = self._pair(names, declared)
        labels = [tuple(dict.fromkeys(one[i] for one in pairs)) for i in range(len(names))]
        attributes = tuple(
            Attribute(name, declared.get(name, labels_of_columns))
            for name, labels_of_columns in zip(names, labels, strict=True)
        )
        every = [*product(*(one.labels for one in attributes))]
        # A missing combination would count as 0 in every cell, which nothing in the table says.
        if missing := next((one for one in every if one not in pairs), None):
            raise UsageError(
                f"No column that matches the pattern is for {printable(','.join(missing))}; there "
                f"are {list_names([*self.matches])} (--value LABEL=COLUMN, "
                "value={label: column}).",
                code="pattern-meets-none",
            )
        return _of_pairs(self.named, attributes, {one: pairs[one] for one in every}, "file")

    def _pair(
        self, names: Sequence[str], declared: Mapping[str, tuple[str, ...]]
    ) -> dict[Combination, str]:
        """Return the columns by their labels, taken from what the stars match."""
        if not declared and (complete := self._complete(len(names))):
            return complete
        pairs: dict[Combination, str] = {}
        for column, (text, splits) in self.matches.items():
            candidates: set[Combination] = set()
            # From the surest reading to the loosest: a star that is a label, a star that contains
            # one, the full name that contains one. A looser reading counts only if none is surer.
            for find, entire in ((_is_label, False), (find_label, False), (find_label, True)):
                candidates = candidates or {
                    one
                    for stars in splits
                    for one in self._labels_of(names, declared, text, () if entire else stars, find)
                }
            if len(candidates) != 1:
                raise UsageError(self._refuse(column, candidates, names, declared))
            (labels,) = candidates
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
        """Return the columns by their labels, if one way to split all names fits.

        H_0_14, H_15_64, M_0_14 and M_15_64 are split at the first underscore, as every sex then has
        every age. Empty if no way does, or several do.
        """
        splits = [each for _, each in self.matches.values()]
        tables: list[dict[Combination, str]] = []
        for at in range(-max(map(len, splits)), max(map(len, splits))):
            if any(not -len(each) <= at < len(each) for each in splits):
                continue
            pairs = dict(zip((each[at] for each in splits), self.matches, strict=True))
            labels = [{*column} for column in zip(*pairs, strict=True)]
            is_complete = len(pairs) == len(self.matches) == prod(map(len, labels))
            if len(labels) == attributes and is_complete and min(map(len, labels)) > 1:
                tables += [] if pairs in tables else [pairs]
        return tables[0] if len(tables) == 1 else {}

    @staticmethod
    def _labels_of(
        names: Sequence[str],
        declared: Mapping[str, tuple[str, ...]],
        text: str,
        stars: Sequence[str],
        find: Callable[[Sequence[str], str], str | None],
    ) -> Iterator[Combination]:
        """Yield the labels of a column if they can be determined; ``find`` finds one in a text."""
        each = len(stars) == len(names)
        labels = []
        for number, name in enumerate(names):
            part = stars[number] if each else text
            label = find(declared[name], part) if name in declared else part if each else None
            if label is None:
                return
            labels.append(label)
        yield tuple(labels)

    @staticmethod
    def _refuse(
        column: str,
        candidates: set[Combination],
        names: Sequence[str],
        declared: Mapping[str, tuple[str, ...]],
    ) -> str:
        """Return the error for a column whose labels cannot be determined."""
        remedy = (
            "write the pattern with a * for each attribute in their order, give the labels "
            "(--labels NAME=LABEL,LABEL..., labels=), or name the columns (--value LABEL=COLUMN, "
            "value={label: column})"
        )
        attributes, column = list_names(names), printable(column)
        if candidates:
            return Rule(
                "pattern-in-several-ways",
                f"The column {column} matches the pattern in several ways, so that its label of "
                f"{attributes} is ambiguous; {remedy}.",
            )
        if any(name in declared for name in names):
            allowed = "; ".join(list_names(declared[name]) for name in names if name in declared)
            return Rule(
                "pattern-column-without-label",
                f"The column {column} matches the pattern, but its name has none of the labels "
                f"{allowed}; write a pattern that leaves it out, or {remedy}.",
            )
        return Rule(
            "pattern-tells-no-labels",
            f"The pattern does not determine the labels of {attributes}; {remedy}.",
        )


def _is_label(labels: Sequence[str], text: str) -> str | None:
    """Return the label that a text equals, apart from case and separators."""
    parts = re.findall(r"[^\W_]+", fold(text))
    matches = [label for label in labels if re.findall(r"[^\W_]+", fold(label)) == parts]
    return matches[0] if len(matches) == 1 else None
