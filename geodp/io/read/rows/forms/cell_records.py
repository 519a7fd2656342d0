"""Records of cells in binary workbooks beyond their values: formulas, errors, number formats.

python-calamine returns blanks for errors and only the results of formulas, so that the records of a
workbook are read first. It also allocates as much memory as a damaged record declares, which may
end the process: sizes are therefore compared with the limits of a sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MAX_AREA = 1 << 24
"""Maximum number of cells in the bounding rectangles of a workbook's sheets if few are filled."""

ERROR_CODES = {
    **{0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?"},
    **{0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA"},
}
"""Displayed text of errors, by their numbers."""

SIGNS = {**dict.fromkeys((9, 10), "%"), **dict.fromkeys((5, 6, 7, 8, 42, 44), " ¤")}
"""Signs of built-in number formats: percentages, and amounts in the local currency."""


@dataclass
class CellRecords:
    """Cells of a sheet with formulas, errors and signs; rows and columns count from 0.

    Attributes
    ----------
    rows, columns : int
        Limits of a sheet in this format.
    formulas : set of int
        Rows with at least one formula.
    errors : mapping of int to mapping of int to str
        Displayed text by row and column.
    signs : mapping of int to mapping of int to str
        Signs beside numbers, by row and column, by which they are no counts.
    cells : int
        Number of records of cells.
    first, last : tuple of int
        Row and column of the corners of the bounding rectangle of all cells.
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
        """The number of cells in the bounding rectangle."""
        if not self.cells:
            return 0
        rows, columns = (1 + b - a for a, b in zip(self.first, self.last, strict=True))
        return rows * columns

    def take(self, row: int, column: int, width: int = 1) -> None:
        """Add adjacent cells of a row; ValueError beyond the limits of a sheet."""
        end = column + width - 1
        if row >= self.rows or not column <= end < self.columns:
            raise ValueError("a cell beyond the sheet")
        self.cells += 1
        self.first = min(self.first[0], row), min(self.first[1], column)
        self.last = max(self.last[0], row), max(self.last[1], end)

    def add_error(self, row: int, column: int, code: int) -> None:
        """Add an error by its number; KeyError for an unknown one."""
        self.errors.setdefault(row, {})[column] = ERROR_CODES[code]

    @property
    def end(self) -> int:
        """The number of rows up to the last formula or error."""
        return 1 + max([*self.formulas, *self.errors], default=-1)


def require_near(sheets: Sequence[CellRecords]) -> None:
    """Raise ValueError if few cells of a workbook lie far from all others."""
    # The library allocates the bounding rectangle: one cell in the last row would cost gigabytes.
    if sum(sheet.area for sheet in sheets) > max(
        MAX_AREA, 64 * sum(sheet.cells for sheet in sheets)
    ):
        raise ValueError("cells far from all others")
