"""Which label each of several columns of counts is for: as the call says, or as names tell.

The order of columns and labels decides nothing: men published as women are not noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TypeAlias
from unicodedata import normalize

from geodp.errors import UsageError, printable
from geodp.grid.axes import JOINT
from geodp.grid.grid import Grid
from geodp.table.source import Fact, KnownBy

Values: TypeAlias = str | Sequence[str] | Mapping[str | tuple[str, ...], str] | None
"""A column of counts; several; or columns by the labels that they count."""

Combination: TypeAlias = tuple[str, ...]
"""A label of each attribute."""

MOST = 12
"""Columns that a question shows."""


@dataclass(frozen=True)
class Paired:
    """Columns of counts on the grid that they make.

    Attributes
    ----------
    grid : Grid
    columns : tuple of str or None
        One for every combination of labels, those of the last attribute in turn; None where the
        file's only column of counts is meant.
    known_by : KnownBy
        Who says which label each is for.
    """

    grid: Grid
    columns: tuple[str, ...] | None
    known_by: KnownBy = "operator"

    @property
    def wide(self) -> bool:
        """Whether columns of counts make the labels."""
        return self.columns is not None and len(self.columns) > 1

    @property
    def labels(self) -> list[Combination]:
        """Labels that each column is for; none of a column whose labels are in others."""
        return _combinations(self.grid) if self.wide else [()]

    @property
    def facts(self) -> Iterator[Fact]:
        """Yield which label each column is for."""
        if self.wide and self.columns is not None:
            for column, labels in zip(self.columns, self.labels, strict=True):
                yield Fact(f"label of column {column}", ",".join(labels), self.known_by)


def pair(grid: Grid, attribute: str | None, values: Values) -> Paired:
    """Return the columns of counts in the order of the labels that they are for.

    Parameters
    ----------
    grid : Grid
        With the attributes, or without the one that the columns make.
    attribute : str or None
        Name of that one; its labels are then the names of the columns, or those of the mapping.
    values : str, sequence of str, mapping, or None
        Columns. On a grid with attributes each may be written ``LABEL=COLUMN``, of several
        attributes ``LABEL,LABEL=COLUMN``; otherwise each name must have the one label in it that
        it is for, as words and not as parts of words.

    Raises
    ------
    UsageError
        Not one column for every combination of labels; or nothing tells for certain which column
        is for which: then the sentence shows how to say it.

    Examples
    --------
    >>> grid = Grid.regular((2, 2)).with_attribute("sex", ["f", "m"])
    >>> pair(grid, None, ["P_M", "P_F"]).columns, pair(grid, None, ["m=b", "f=a"]).columns
    (('P_F', 'P_M'), ('a', 'b'))
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
        said = {(key,) if isinstance(key, str) else tuple(key): c for key, c in values.items()}
        return Paired(grid, _in_order(grid, [*said.items()]))
    stated, columns = grid.attributes, None if values is None else tuple(values)
    if columns is not None and len(columns) == 1 and attribute is None:
        return Paired(grid, columns)  # labels, if there are any, are in columns of their own
    grid = with_values(grid, attribute, values)
    own = stated or (columns is not None and _are_labelled(columns))
    if columns is None or len(columns) < 2 or not own or columns == grid.attributes[0].labels:
        return Paired(grid, columns)
    parted = [_part(grid, column) for column in columns]
    if all(parted):
        return Paired(grid, _in_order(grid, [one for one in parted if one is not None]))
    if any(parted):
        plain = next(name for name, one in zip(columns, parted, strict=True) if one is None)
        raise UsageError(
            f"Either every column of counts has its label before it or none does, and "
            f"{printable(plain)} has none (--value LABEL=COLUMN, value={{label: column}}); write "
            "LABEL=COLUMN also for a column with = in its own name.",
            code="label-before-every-column",
        )
    found = _by_names(grid, columns)
    if found is None:
        raise UsageError(_ask(grid, columns), code="column-labels-uncertain")
    return Paired(grid, _in_order(grid, [*zip(found, columns, strict=True)]), "file")


def with_values(grid: Grid, attribute: str | None, values: Sequence[str] | None) -> Grid:
    """Return the public grid of values: with the attribute that they become, if it has none yet.

    Raises UsageError for values that are not one for every combination of labels.
    """
    if grid.attributes:
        if values is None:
            raise UsageError(
                "Name the column of counts (--value, value=); of columns side by side, one for "
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
        names = [one.name for one in grid.attributes]
        if attribute not in (None, *names, JOINT.join(names)):
            raise UsageError(
                "The grid has an attribute already, of another name.",
                code="attribute-of-other-name",
            )
        return grid
    if (values is None or len(values) == 1) and attribute is None:
        return grid
    if attribute is None or not values:
        raise UsageError(
            "Several columns of counts need the name of the attribute that tells them apart (--by "
            "sex, by='sex').",
            code="columns-of-counts-without-attribute",
        )
    parted = [value.partition("=") for value in values]
    labels = [one[0].strip() for one in parted] if _are_labelled(values) else values
    if JOINT in attribute:
        return _with_joint(grid, attribute, labels)
    return grid.with_attribute(attribute, labels)


def _with_joint(grid: Grid, attribute: str, labels: Sequence[str]) -> Grid:
    """Return a grid with the attributes of a joint table whose columns name all combinations."""
    names = attribute.split(JOINT)
    parts = [tuple(part.strip() for part in label.split(",")) for label in labels]
    if all(len(one) == len(names) for one in parts):
        own = [tuple(dict.fromkeys(column)) for column in zip(*parts, strict=True)]
        if {*parts} == {*product(*own)}:
            for name, several in zip(names, own, strict=True):
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
    """Numbers of labels of its attributes; 1 where it has none."""
    return tuple(len(attribute.labels) for attribute in grid.attributes) or (1,)


def _combinations(grid: Grid) -> list[Combination]:
    return [*product(*(attribute.labels for attribute in grid.attributes))]


def _written(label: str | tuple[str, ...]) -> str:
    return label if isinstance(label, str) else ",".join(label)


def _part(grid: Grid, text: str) -> tuple[Combination, str] | None:
    """Return labels and column of ``LABEL=COLUMN``; None for a name."""
    for sign in re.finditer("=", text):
        labels = tuple(label.strip() for label in text[: sign.start()].split(","))
        if len(labels) == len(grid.attributes) and all(
            label in attribute.labels
            for label, attribute in zip(labels, grid.attributes, strict=True)
        ):
            return labels, text[sign.end() :]
    return None


def _in_order(grid: Grid, said: Sequence[tuple[Combination, str]]) -> tuple[str, ...]:
    """Return columns in the order of the combinations; UsageError unless each has one."""
    given = [labels for labels, _ in said]
    every = _combinations(grid)
    if wrong := [labels for labels in given if labels not in every or given.count(labels) > 1]:
        raise UsageError(
            f"{printable(_written(wrong[0]))}: every label has one column, and there are "
            f"{', '.join(printable(_written(labels)) for labels in every[:MOST])} "
            "(--value LABEL=COLUMN, value={label: column}).",
            code="column-of-label-unknown",
        )
    if left := [labels for labels in every if labels not in given]:
        raise UsageError(
            f"{printable(_written(left[0]))} has no column of counts (--value LABEL=COLUMN, "
            "value={label: column}).",
            code="label-without-column",
        )
    columns = dict(said)
    if len({*columns.values()}) < len(columns):
        raise UsageError(
            "A column of counts is given for two labels (--value, value=).",
            code="column-for-two-labels",
        )
    return tuple(columns[labels] for labels in every)


def _by_names(grid: Grid, columns: Sequence[str]) -> list[Combination] | None:
    """Return the labels that are in the names; None where one is in doubt."""
    found = []
    for column in columns:
        labels = [find_label(attribute.labels, column) for attribute in grid.attributes]
        if any(label is None for label in labels):
            return None
        found.append(tuple(label for label in labels if label is not None))
    return found if len({*found}) == len(found) else None


def find_label(labels: Sequence[str], column: str) -> str | None:
    """Return the one label that a name has in it; None where it has several or none."""
    text = _fold(column)
    spans = [
        (at.start(), at.end(), label) for label in labels for at in _pattern(label).finditer(text)
    ]
    outer = {
        label
        for start, end, label in spans
        if not any(a <= start and end <= b and b - a > end - start for a, b, _ in spans)
    }
    return outer.pop() if len(outer) == 1 else None


def _pattern(label: str) -> re.Pattern[str]:
    """Return the pattern of a label as whole words; letters of scripts without blanks anywhere."""
    words = re.findall(r"\d+|[^\W\d_]+", _fold(label))
    if not words:
        return re.compile("(?!)")
    ends = []
    for word, before in ((words[0], True), (words[-1], False)):
        if word.isdecimal():
            ends.append(r"(?<!\d)(?<!\d[\W_])" if before else r"(?!\d)(?![\W_]\d)")
        elif any(ord(letter) >= 0x3040 for letter in word):
            ends.append("")
        else:
            ends.append(r"(?<![^\W\d_])" if before else r"(?![^\W\d_])")
    return re.compile(ends[0] + r"[\W_]*".join(map(re.escape, words)) + ends[1])


def _fold(text: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", normalize("NFKC", text)).casefold()


def _ask(grid: Grid, columns: Sequence[str]) -> str:
    """Return the question, with the pairing by order in the words that would confirm it."""
    pairs = [*zip(_combinations(grid), columns, strict=True)]
    shown = pairs[:MOST]
    more = " and so on" if len(pairs) > len(shown) else ""
    flags = [f"--value '{_written(labels)}={column}'" for labels, column in shown]
    keys = [labels[0] if len(labels) == 1 else labels for labels, _ in shown]
    mapping = ", ".join(
        f"{key!r}: {column!r}" for key, (_, column) in zip(keys, shown, strict=True)
    )
    return printable(
        "The names of the columns do not tell for certain which label each is for. In the order "
        f"given it would be {' '.join(flags)}{more}; write that if it is right, or the right "
        f"column after each label (value={{{mapping}}})."
    )
