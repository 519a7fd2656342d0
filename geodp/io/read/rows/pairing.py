"""Pairing of count columns with labels, as the call states or as the columns' names show.

The order of columns and labels is never used: an exchange of men and women would go unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import TypeAlias
from unicodedata import normalize

from geodp.errors import Rule, UsageError, printable
from geodp.grid.axes import JOINT
from geodp.grid.grid import Grid
from geodp.io.read.rows.names import find_attribute
from geodp.table.nesting import read_labels
from geodp.table.source import Fact, FactSource

Values: TypeAlias = str | Sequence[str] | Mapping[str | tuple[str, ...], str] | None
"""A column of counts, several columns, or columns by the labels that they count."""

Combination: TypeAlias = tuple[str, ...]
"""One label of each attribute."""

NESTED = Rule(
    "ages-may-be-nested",
    "The columns of {0} have single ages such as {1} and {2}, which may be those of all persons "
    "from these ages on, so that a person is counted in several. Write every label as the range "
    "that its column counts: --value '{1}-{3}=COLUMN' (value={{'{1}-{3}': COLUMN}}) where classes "
    "begin at these ages, or '{1}+' where they are nested, which a --contribution counts.",
)

MAX_COLUMNS = 12
"""Number of columns that an error lists."""


@dataclass(frozen=True)
class ColumnPairing:
    """Columns of counts and the grid whose labels they are for.

    Attributes
    ----------
    grid : Grid
    columns : tuple of str or None
        One for every combination of labels, in order, with the last attribute varying fastest; None
        for the file's only column of counts.
    known_by : FactSource
        Who states which label each is for.
    """

    grid: Grid
    columns: tuple[str, ...] | None
    known_by: FactSource = "operator"

    @property
    def wide(self) -> bool:
        """Whether each label has a column of counts of its own."""
        return self.columns is not None and len(self.columns) > 1

    @property
    def labels(self) -> list[Combination]:
        """Labels of each column; empty for a column whose labels are in other columns."""
        return _combinations(self.grid) if self.wide else [()]

    @property
    def facts(self) -> Iterator[Fact]:
        """Facts on the labels of each column."""
        if self.wide and self.columns is not None:
            for column, labels in zip(self.columns, self.labels, strict=True):
                yield Fact(f"label of column {column}", ",".join(labels), self.known_by)


def pair(grid: Grid, attribute: str | None, values: Values) -> ColumnPairing:
    """Order the columns of counts by the labels that they are for; UsageError as `_pair` raises.

    Ages such as 18 and 60 in columns side by side may be all persons from these ages on, who are
    then counted twice: UsageError unless labels are ranges, or begin at 0.

    Examples
    --------
    >>> grid = Grid.regular((2, 2)).with_attribute("sex", ["f", "m"])
    >>> pair(grid, None, ["P_M", "P_F"]).columns, pair(grid, None, ["m=b", "f=a"]).columns
    (('P_F', 'P_M'), ('a', 'b'))
    """
    paired = _pair(grid, attribute, values)
    for one in paired.grid.attributes if paired.wide else ():
        ages = sorted(_single_ages(one.labels)) if find_attribute(one.name) == "age" else []
        steps = {after - before for before, after in pairwise(ages)}
        # Ages year by year, and classes by their lower ends from 0 on, have everybody once.
        if ages and ages[0] > 0 and steps not in ({1}, set()):
            raise UsageError(NESTED.format(printable(one.name), ages[0], ages[1], ages[1] - 1))
    return paired


def _single_ages(labels: Sequence[str]) -> set[int]:
    """Return the numbers of labels that have one number and no range: 18 of "pop_18"."""
    return {int(one.low) for one in read_labels(labels) if one.number}


def _pair(grid: Grid, attribute: str | None, values: Values) -> ColumnPairing:
    """Order the columns of counts by the labels that they are for.

    Parameters
    ----------
    grid : Grid
        The grid, with its attributes or without the one that the columns define.
    attribute : str or None
        Name of that attribute; its labels are the names of the columns, or the keys of the mapping.
    values : str, sequence of str, mapping, or None
        Columns. On a grid with attributes each may be written ``LABEL=COLUMN``, for several
        attributes ``LABEL,LABEL=COLUMN``; otherwise each name must contain exactly one label, as
        whole words.

    Raises
    ------
    UsageError
        There is not one column for every combination of labels, or their names leave in doubt which
        column is for which; the message then shows how to state it.
    """
    if isinstance(values, str):
        values = [values]
    if not grid.attributes and isinstance(values, Mapping):
        if attribute is None:
            raise UsageError(
                "Columns by labels need the attribute's name (by=).",
                code="columns-without-attribute",
            )
        grid = with_values(grid, attribute, [_written(label) for label in values])
    if isinstance(values, Mapping):
        columns_by_labels = {
            (key,) if isinstance(key, str) else tuple(key): c for key, c in values.items()
        }
        return ColumnPairing(grid, _in_order(grid, [*columns_by_labels.items()]))
    attributes, columns = grid.attributes, None if values is None else tuple(values)
    if columns is not None and len(columns) == 1 and attribute is None:
        return ColumnPairing(grid, columns)  # labels, if there are any, are in columns of their own
    grid = with_values(grid, attribute, values)
    # Without attributes, columns define the labels themselves unless they are written LABEL=COLUMN.
    labelled = attributes or (columns is not None and _are_labelled(columns))
    if columns is None or len(columns) < 2 or not labelled or columns == grid.attributes[0].labels:
        return ColumnPairing(grid, columns)
    parted = [_part(grid, column) for column in columns]
    if all(parted):
        return ColumnPairing(
            grid, _in_order(grid, [split for split in parted if split is not None])
        )
    if any(parted):
        plain = next(name for name, split in zip(columns, parted, strict=True) if split is None)
        raise UsageError(
            f"Either every column of counts has its label before it or none does, and "
            f"{printable(plain)} has none (--value LABEL=COLUMN, value={{label: column}}); write "
            "LABEL=COLUMN also for a column with = in its own name.",
            code="label-before-every-column",
        )
    combinations = _by_names(grid, columns)
    if combinations is None:
        raise UsageError(_explain_uncertain(grid, columns), code="column-labels-uncertain")
    return ColumnPairing(grid, _in_order(grid, [*zip(combinations, columns, strict=True)]), "file")


def with_values(grid: Grid, attribute: str | None, values: Sequence[str] | None) -> Grid:
    """Return the public grid of value columns, with the attribute that they define, if it has none.

    Raises UsageError unless there is one column for every combination of labels.
    """
    if grid.attributes:
        if values is None:
            raise UsageError(
                "Name the column of counts (--value, value=); if there are several, one for "
                "every label of the grid's attribute (--value LABEL=COLUMN, "
                "value={label: column}).",
                code="value-column-unnamed",
            )
        if len(values) != prod(numbers_of_labels(grid)):
            raise UsageError(
                "Give one value for every label of the grid's attribute; of several attributes, "
                "for every combination of labels (--value LABEL,LABEL=COLUMN, "
                "value={(label, label): column}).",
                code="value-for-every-label",
            )
        names = [axis.name for axis in grid.attributes]
        if attribute not in (None, *names, JOINT.join(names)):
            raise UsageError(
                "The grid already has an attribute of another name.",
                code="attribute-of-other-name",
            )
        return grid
    if (values is None or len(values) == 1) and attribute is None:
        return grid
    if attribute is None or not values:
        raise UsageError(
            "Several columns of counts need the name of the attribute that distinguishes them "
            "(--by sex, by='sex').",
            code="columns-of-counts-without-attribute",
        )
    parted = [value.partition("=") for value in values]
    labels = [part[0].strip() for part in parted] if _are_labelled(values) else values
    if JOINT in attribute:
        return _with_joint(grid, attribute, labels)
    return grid.with_attribute(attribute, labels)


def _with_joint(grid: Grid, attribute: str, labels: Sequence[str]) -> Grid:
    """Return a grid with the attributes of a joint table whose columns name all combinations."""
    names = attribute.split(JOINT)
    parts = [tuple(part.strip() for part in label.split(",")) for label in labels]
    if all(len(combination) == len(names) for combination in parts):
        labels_of_attributes = [tuple(dict.fromkeys(column)) for column in zip(*parts, strict=True)]
        # Columns that do not form a full product of labels leave cells of the joint table open.
        if {*parts} == {*product(*labels_of_attributes)}:
            for name, several in zip(names, labels_of_attributes, strict=True):
                grid = grid.with_attribute(name, several)
            return grid
    raise UsageError(
        f"{printable(attribute)}: the columns of a joint table need the labels of each of its "
        "attributes (--labels NAME=LABEL,LABEL..., repeatable), or a preset that has them.",
        code="joint-columns-without-labels",
    )


def _are_labelled(values: Sequence[str]) -> bool:
    """Whether each of several columns is written ``LABEL=COLUMN``."""
    return len(values) > 1 and all("=" in value for value in values)


def numbers_of_labels(grid: Grid) -> tuple[int, ...]:
    """Return the number of labels of each attribute; (1,) without attributes."""
    return tuple(len(attribute.labels) for attribute in grid.attributes) or (1,)


def _combinations(grid: Grid) -> list[Combination]:
    """Return all combinations of labels, with the last attribute varying fastest."""
    return [*product(*(attribute.labels for attribute in grid.attributes))]


def _written(label: str | tuple[str, ...]) -> str:
    """Return a label or combination as text."""
    return label if isinstance(label, str) else ",".join(label)


def _part(grid: Grid, text: str) -> tuple[Combination, str] | None:
    """Split ``LABEL=COLUMN`` into labels and column; None for a plain name."""
    # The name of a column may contain "=" itself, so that every position is tried.
    for sign in re.finditer("=", text):
        labels = tuple(label.strip() for label in text[: sign.start()].split(","))
        if len(labels) == len(grid.attributes) and all(
            label in attribute.labels
            for label, attribute in zip(labels, grid.attributes, strict=True)
        ):
            return labels, text[sign.end() :]
    return None


def _in_order(grid: Grid, pairs: Sequence[tuple[Combination, str]]) -> tuple[str, ...]:
    """Return columns in the order of the combinations; UsageError unless each has one column."""
    combinations = [labels for labels, _ in pairs]
    every = _combinations(grid)
    if wrong := [
        labels for labels in combinations if labels not in every or combinations.count(labels) > 1
    ]:
        raise UsageError(
            f"{printable(_written(wrong[0]))}: every label has one column, and there are "
            f"{', '.join(printable(_written(labels)) for labels in every[:MAX_COLUMNS])} "
            "(--value LABEL=COLUMN, value={label: column}).",
            code="column-of-label-unknown",
        )
    if left := [labels for labels in every if labels not in combinations]:
        raise UsageError(
            f"{printable(_written(left[0]))} has no column of counts (--value LABEL=COLUMN, "
            "value={label: column}).",
            code="label-without-column",
        )
    columns = dict(pairs)
    if len({*columns.values()}) < len(columns):
        raise UsageError(
            "A column of counts is given for two labels (--value, value=).",
            code="column-for-two-labels",
        )
    return tuple(columns[labels] for labels in every)


def _by_names(grid: Grid, columns: Sequence[str]) -> list[Combination] | None:
    """Return the combination that each name contains; None if one is in doubt."""
    combinations = []
    for column in columns:
        labels = [find_label(attribute.labels, column) for attribute in grid.attributes]
        if any(label is None for label in labels):
            return None
        combinations.append(tuple(label for label in labels if label is not None))
    return combinations if len({*combinations}) == len(combinations) else None


def find_label(labels: Sequence[str], column: str) -> str | None:
    """Return the only label that a name contains; None if it contains several or none."""
    text = _fold(column)
    spans = [
        (at.start(), at.end(), label) for label in labels for at in _pattern(label).finditer(text)
    ]
    # "male" is a word of "not male": a label inside a longer label that matches does not count.
    outer = {
        label
        for start, end, label in spans
        if not any(a <= start and end <= b and b - a > end - start for a, b, _ in spans)
    }
    return outer.pop() if len(outer) == 1 else None


def _pattern(label: str) -> re.Pattern[str]:
    """Return a pattern of a label as whole words; in scripts without blanks, of any part."""
    parts = re.findall(r"\d+|[^\W\d_]+", _fold(label))
    # A label of symbols alone matches no name.
    if not parts:
        return re.compile("(?!)")
    ends = []
    for part, before in ((parts[0], True), (parts[-1], False)):
        if part.isdecimal():
            ends.append(r"(?<!\d)(?<!\d[\W_])" if before else r"(?!\d)(?![\W_]\d)")
        elif any(ord(letter) >= 0x3040 for letter in part):
            ends.append("")
        else:
            ends.append(r"(?<![^\W\d_])" if before else r"(?![^\W\d_])")
    return re.compile(ends[0] + r"[\W_]*".join(map(re.escape, parts)) + ends[1])


def _fold(text: str) -> str:
    """Normalise a name and separate words in camel case."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", normalize("NFKC", text)).casefold()


def _explain_uncertain(grid: Grid, columns: Sequence[str]) -> str:
    """Return the error of an uncertain pairing, with options that would confirm the order."""
    pairs = [*zip(_combinations(grid), columns, strict=True)]
    shown = pairs[:MAX_COLUMNS]
    more = " and so on" if len(pairs) > len(shown) else ""
    flags = [f"--value '{_written(labels)}={column}'" for labels, column in shown]
    # Written as a dictionary that can be pasted into the call.
    keys = [labels[0] if len(labels) == 1 else labels for labels, _ in shown]
    mapping = ", ".join(
        f"{key!r}: {column!r}" for key, (_, column) in zip(keys, shown, strict=True)
    )
    return printable(
        "The names of the columns do not tell for certain which label each is for. In the order "
        f"given it would be {' '.join(flags)}{more}; write that if it is right, or the right "
        f"column after each label (value={{{mapping}}})."
    )
