"""Rows of one cell, in layouts that have one for each part of it, such as each country.

Their counts add up, and the same part of a cell twice is a copy, which must not be counted twice.
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

    def number(self, rows: Rows, column: pa.Array) -> NDArray[np.int64]:
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
