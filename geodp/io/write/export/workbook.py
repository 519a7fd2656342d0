"""Export as a workbook, whose cells have types: codes are texts in every spreadsheet."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from geodp.errors import require_library
from geodp.io.write.export.spreadsheet import hide_few, name_headers
from geodp.io.write.format import Export
from geodp.io.write.view import View

MAX_ROWS = (1 << 20) - 1
"""Largest number of rows of a sheet, after its header; more go into another sheet."""

LONGEST = 31
"""Longest name of a sheet, in letters."""

UNCHANGED = datetime(1980, 1, 1)
"""Date of every workbook, so that the same rows give the same bytes."""


class Xlsx(Export):
    """Office Open XML; counts below an office's limit of display are ``<k``, as in csv:excel."""

    name: ClassVar[str] = "xlsx"
    ending: ClassVar[str] = "xlsx"
    help: ClassVar[str] = "workbook whose codes are text (pip install geodp[xlsx])"
    takes_columns: ClassVar[bool] = True
    takes_regions: ClassVar[bool] = True

    def write(self, view: View, path: Path) -> None:
        """Write one workbook, of one sheet if its rows fit."""
        require_library("openpyxl", "A workbook", "xlsx")
        from openpyxl import Workbook

        # Write-only workbooks do not hold their rows in memory.
        book, left = Workbook(write_only=True), MAX_ROWS
        page = _begin(book, view)
        for some in view.rows("Writing a workbook"):
            columns = [column.to_pylist() for column in some.columns.columns]
            hide_few(columns, view)
            for row in zip(*columns, strict=True):
                if not left:
                    page, left = _begin(book, view), MAX_ROWS
                page.append([_plain(page, value) for value in row])
                left -= 1
        with tempfile.TemporaryFile(dir=path.parent) as draft:
            book.save(draft)
            _pack(draft, view.card.software.name, path)


def _begin(book: Any, view: View) -> Any:
    """Add a sheet with its header, which stays visible while rows are scrolled."""
    number = len(book.worksheets) + 1
    page = book.create_sheet(view.layer[:LONGEST] if number == 1 else f"{number}")
    page.freeze_panes = "A2"
    page.append([_plain(page, name) for name in name_headers(view)])
    return page


def _pack(draft: BinaryIO, creator: str, path: Path) -> None:
    """Pack the workbook again without its times, so that the same rows give the same bytes."""
    from openpyxl.packaging.core import DocumentProperties
    from openpyxl.xml.constants import ARC_CORE
    from openpyxl.xml.functions import tostring

    about = DocumentProperties(creator=creator, created=UNCHANGED, modified=UNCHANGED)
    with zipfile.ZipFile(draft) as saved, zipfile.ZipFile(path, "w") as packed:
        for name in saved.namelist():
            # zip stores a time for each member, which would differ in every run.
            entry = zipfile.ZipInfo(name, UNCHANGED.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            with packed.open(entry, "w", force_zip64=True) as file:
                if name == ARC_CORE:
                    file.write(tostring(about.to_tree()))
                    continue
                with saved.open(name) as part:
                    shutil.copyfileobj(part, file)


def _plain(page: Any, value: Any) -> Any:
    """Return a number as it is, and a text as a cell of type text, whatever it looks like."""
    if not isinstance(value, str):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(page, value)
    # openpyxl would otherwise take a text that begins with "=" for a formula.
    cell.data_type, cell.number_format = "s", "@"
    return cell


EXPORTS = (Xlsx(),)
