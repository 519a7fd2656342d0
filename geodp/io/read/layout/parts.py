"""Rows of one cell, where a layout has one for each part of it, such as each country.

Their counts add up, and the same part of a cell twice is a copy, which nobody is to be counted by.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.read.layout.presets import find_layout
from geodp.io.read.rows.columns import InputTable, Rows
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.names import match
from geodp.io.read.rows.tally import MAX_PARTS

TOO_MANY = Rule(
    "parts-too-many",
    f"The column has more than {MAX_PARTS:,} texts, and it tells the countries of a cell apart by "
    "this table's layout; give the table as it was published.",
)


def find_parts(table: InputTable) -> list[int]:
    """Find the column that tells rows of one cell apart, by the table's header.

    Returns its position; none where no layout of the package has such a column, or several fit.
    """
    layout = find_layout(table.columns)
    if layout is None or not layout.parts:
        return []
    met = match(layout.parts, table.columns)
    return [[*table.columns].index(met[0])] if len(met) == 1 else []


class PartNumbers:
    """Numbers of parts, in the order in which rows name them first."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, rows: Rows, column: pa.Array) -> NDArray[np.int64]:
        """Return the numbers int64[n] of the parts of n rows, below ``MAX_PARTS``.

        Case and blanks around a name do not count; no name is one, too. InputError for a column
        that has more, or that is no text.
        """
        with rows.named():
            plain = as_text(column)
        texts = pc.utf8_upper(pc.utf8_trim_whitespace(pc.fill_null(plain, "")))
        coded = texts.dictionary_encode()
        words = coded.dictionary.to_pylist()
        found = [self._numbers.setdefault(word, len(self._numbers)) for word in words]
        if len(self._numbers) > MAX_PARTS:
            raise InputError(TOO_MANY, file=rows.table.name)
        numbers = np.array(found, np.int64)[coded.indices.to_numpy()]
        return np.asarray(numbers, np.int64)
