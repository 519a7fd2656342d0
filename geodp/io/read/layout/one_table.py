"""What the layout of one official table states, recognised by its header.

A publisher's layout documents how often a person occurs in one of its tables. That says nothing
about two tables, two years, a copy or counts that are added up: then the operator must declare it.

Layouts may have a row for each part of a cell, such as each country. Their counts add up, and the
same part of a cell twice is a copy, which must not be counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.read.layout.presets import Preset, find_layout
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.names import match
from geodp.io.read.rows.tally import MAX_PARTS
from geodp.privacy.assumption import ContributionBound


class OneTable:
    """Headers of all tables of a call, and whether they are one table of one layout.

    Several files are one table if the layout is published in sheets and all of them have the
    same header, which carries the table's id. That no cell is in two of them is checked with the
    rows: readers refuse it unless counts are to be added up.
    """

    def __init__(self) -> None:
        self._header: tuple[tuple[str, ...], ...] | None = None
        self._values: list[int] = []
        self._layout: Preset | None = None

    def add(self, table: InputTable, values: Sequence[int]) -> None:
        """Record the header of another table.

        Parameters
        ----------
        table : InputTable
        values : sequence of int
            Positions of the columns of counts.
        """
        columns, labels = tuple(table.columns), tuple(getattr(table, "labels", ()))
        if self._header is None:
            self._header, self._values = (columns, labels), [*values]
            self._layout = _find_layout(columns, labels, values)
        elif self._layout is not None:
            same = (columns, labels) == self._header and [*values] == self._values
            sheets = self._layout.sheets
            # Two tables of one layout may hold the same people, so only sheets of one table keep
            # the bound.
            if not (same and sheets and match(sheets, columns)):
                self._layout = None

    def bound(self) -> ContributionBound | None:
        """Return the bound that the layout states; None unless all tables are one of its tables."""
        layout = self._layout
        if layout is None or layout.contribution is None:
            return None
        return ContributionBound(layout.contribution, "layout", f"{layout.name} ({layout.title})")


def _find_layout(
    columns: Sequence[str], labels: Sequence[str], values: Sequence[int]
) -> Preset | None:
    """Find the one layout with such a header that states a contribution for these counts."""
    layout = find_layout(columns)
    if len(values) != 1 or layout is None or layout.contribution is None:
        return None
    (value,) = values
    titles = {columns[value].strip(), labels[value].strip() if labels else ""} - {""}
    names = [*columns, *(label.strip() for label in labels)]
    counted = {name.strip() for name in match(str(layout.options["value"]), names)}
    return layout if titles & counted else None


TOO_MANY = Rule(
    "parts-too-many",
    f"The column has more than {MAX_PARTS:,} texts, and by this table's layout it distinguishes "
    f"the countries of a cell; give the table as it was published.",
)


def find_parts(table: InputTable) -> list[int]:
    """Find the column that distinguishes rows of one cell, by the table's header.

    Returns its position; an empty list if no packaged layout has such a column, or several fit.
    """
    layout = find_layout(table.columns)
    if layout is None or not layout.parts:
        return []
    matches = match(layout.parts, table.columns)
    return [[*table.columns].index(matches[0])] if len(matches) == 1 else []


class PartNumbers:
    """Numbers of parts, in the order in which they first occur."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, rows: RowPositions, column: pa.Array) -> NDArray[np.int64]:
        """Return the numbers int64[n] of the parts of n rows, below ``MAX_PARTS``.

        Case and blanks around a name are ignored; a missing name counts as a name. InputError if
        the column has more parts, or is not a text.
        """
        with rows.named():
            plain = as_text(column)
        texts = pc.utf8_upper(pc.utf8_trim_whitespace(pc.fill_null(plain, "")))
        coded = texts.dictionary_encode()
        names = coded.dictionary.to_pylist()
        numbers_of_names = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        # Numbers of parts share 64 bits with the keys of cells.
        if len(self._numbers) > MAX_PARTS:
            raise InputError(TOO_MANY, file=rows.table.name)
        numbers = np.array(numbers_of_names, np.int64)[coded.indices.to_numpy()]
        return np.asarray(numbers, np.int64)
