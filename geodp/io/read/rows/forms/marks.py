"""What values of the cells of a binary workbook do not tell: formulas, errors, signs of formats.

python-calamine gives a blank for an error and for a formula what it gave, so that the records of a
workbook are looked at beforehand. It also asks for as much memory as a damaged record says, and the
process ends where there is not so much: sizes are compared with what a sheet can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_AREA = 1 << 24
"""Cells of the rectangles around the sheets of a workbook, of which few are filled."""

ERROR_CODES = {
    **{0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?"},
    **{0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA"},
}
"""Errors as they are shown, by their numbers."""

SIGNS = {**dict.fromkeys((9, 10), "%"), **dict.fromkeys((5, 6, 7, 8, 42, 44), " ¤")}
"""What built-in formats show beside numbers: percentages, and amounts in a currency of theirs."""


@dataclass
class Marks:
    """What of the cells of a sheet is not told by their values; rows and columns count from 0.

    Attributes
    ----------
    rows, columns : int
        Most that a sheet of the form has.
    formulas : set of int
        Rows that hold one.
    errors : mapping of int to mapping of int to str
        By row and column, as they are shown.
    signs : mapping of int to mapping of int to str
        By row and column, what a number is shown with that makes it no count.
    cells : int
        Records of cells.
    first, last : tuple of int
        Row and column of the corners of the rectangle around all cells.
    """

    rows: int
    columns: int
    formulas: set[int] = field(default_factory=set)
    errors: dict[int, dict[int, str]] = field(default_factory=dict)
    signs: dict[int, dict[int, str]] = field(default_factory=dict)
    cells: int = 0
    first: tuple[int, int] = (1 << 32, 1 << 32)
    last: tuple[int, int] = (0, 0)

    @property
    def area(self) -> int:
        """The number of cells in the rectangle."""
        if not self.cells:
            return 0
        rows, columns = (1 + b - a for a, b in zip(self.first, self.last, strict=True))
        return rows * columns

    def take(self, row: int, column: int, width: int = 1) -> None:
        """Add cells side by side; ValueError for some beyond what a sheet has."""
        end = column + width - 1
        if row >= self.rows or not column <= end < self.columns:
            raise ValueError("a cell beyond the sheet")
        self.cells += 1
        self.first = min(self.first[0], row), min(self.first[1], column)
        self.last = max(self.last[0], row), max(self.last[1], end)

    def add_error(self, row: int, column: int, code: int) -> None:
        """Add an error by its number; KeyError for one that there is not."""
        self.errors.setdefault(row, {})[column] = ERROR_CODES[code]

    @property
    def end(self) -> int:
        """The number of rows up to the last formula or error."""
        return 1 + max([*self.formulas, *self.errors], default=-1)


def require_near(sheets: Sequence[Marks]) -> None:
    """Raise ValueError where few cells of a workbook lie far from all others."""
    if sum(one.area for one in sheets) > max(MOST_AREA, 64 * sum(one.cells for one in sheets)):
        raise ValueError("cells far from all others")
