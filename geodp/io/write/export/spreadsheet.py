"""CSV as offices exchange it: for spreadsheets, and in the layout of Japan's mesh statistics."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from geodp.grid.codes import JISMesh
from geodp.io.write.areas import columns_of_regions
from geodp.io.write.export.sheet import Export, ExportSheet
from geodp.io.write.uncertainty import ERROR, HIGH, LOW
from geodp.table.display import is_below, show_limit

JAPANESE = {
    "code": "メッシュコード",
    "origin": "出発地メッシュコード",
    "destination": "到着地メッシュコード",
    "x": "中心Ｘ座標",
    "y": "中心Ｙ座標",
    "population": "人口",
    ERROR: "標準誤差",
    LOW: "95％区間の下限",
    HIGH: "95％区間の上限",
}
"""Headers, where the release's metadata say that its language is Japanese."""

UNITS = {"code": "地域コード", "origin": "出発地の地域コード", "destination": "到着地の地域コード"}
"""Of them, those of areal units, which are no cells of a mesh."""

HEADER = ("KEY_CODE", "HTKSYORI", "HTKSAKI", "GASSAN", "T000000001")
"""First header of a mesh file; the second has the label of the last column."""

INDENT = "\N{IDEOGRAPHIC SPACE}"
"""Before labels, as the statistics bureau writes them."""


class Excel(Export):
    """UTF-8 with a byte order mark; texts as ``="..."``, which no spreadsheet takes for numbers.

    Counts below an office's limit of display are ``<k``, as this is a format to be looked at.
    """

    name: ClassVar[str] = "csv:excel"
    ending: ClassVar[str] = "excel.csv"
    help: ClassVar[str] = "CSV whose codes stay text: Excel and LibreOffice by a double click"
    takes_regions: ClassVar[bool] = True

    def why_not(self, sheet: ExportSheet) -> str | None:
        """Refuse nothing."""
        return None

    def write(self, sheet: ExportSheet, path: Path) -> None:
        """Write one file."""
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            rows = csv.writer(file)
            for number, piece in enumerate(list_pieces(sheet)):
                if not number:
                    rows.writerow(name_headers(piece.schema.names, sheet))
                columns = [_plain(column) for column in piece.columns]
                hide_few(columns, piece.schema.names, sheet)
                rows.writerows(zip(*columns, strict=True))


class EStat(Export):
    """CP932 with two lines of headers, as the files of e-Stat, which readers of them read."""

    name: ClassVar[str] = "csv:estat"
    ending: ClassVar[str] = "estat.txt"
    help: ClassVar[str] = "CSV in the layout of Japan's mesh statistics (e-Stat)"

    def why_not(self, sheet: ExportSheet) -> str | None:
        """Ask for whole counts on a map of JIS meshes, and a name in its character set."""
        grid = sheet.table.grid
        if not isinstance(grid.maps.system, JISMesh):
            return "the layout of e-Stat is of one map of JIS meshes"
        if grid.attributes:
            return "a column of this layout has no attributes"
        if sheet.table.count.dtype != np.int64:
            return "the counts are no whole numbers"
        try:
            sheet.name.encode("cp932")
        except UnicodeEncodeError:
            return "the name of the count has letters that CP932 lacks"
        return None

    def write(self, sheet: ExportSheet, path: Path) -> None:
        """Write one file."""
        label = JAPANESE.get(sheet.name, sheet.name)
        with path.open("w", encoding="cp932", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(HEADER)
            rows.writerow(["", "", "", "", f"{INDENT}{label}"])
            place = sheet.table.grid.places[0]
            for some in sheet.view.rows("Writing CSV"):
                codes = place.format(some.index[0], some.index[1]).tolist()
                for code, value in zip(codes, some.count.tolist(), strict=True):
                    rows.writerow([code, 0, "", "", value])


def name_headers(names: list[str], sheet: ExportSheet) -> list[str]:
    """Return columns by the names that they have in the language of the release's metadata."""
    if sheet.card.metadata is None or sheet.card.metadata.language != "ja":
        return names
    japanese = JAPANESE if sheet.table.grid.names.on_map else {**JAPANESE, **UNITS}
    return [japanese.get(name, name) for name in names]


def list_pieces(sheet: ExportSheet) -> Iterator[Any]:
    """Return the rows of a level as Arrow tables, a piece at a time; the first has no rows."""
    if sheet.regions is not None:
        found = columns_of_regions(sheet.regions, sheet.name)
        yield found.slice(0, 0)
        yield found
        return
    yield sheet.view.empty.columns
    for rows in sheet.view.rows("Writing CSV"):
        yield rows.columns


def hide_few(columns: list[list[Any]], names: list[str], sheet: ExportSheet) -> None:
    """Show counts below an office's limit of display as ``<k``, without their intervals."""
    limit = sheet.card.display_below
    if limit is None:
        return
    counts = columns[names.index(sheet.name)]
    few = [is_below(count, limit) for count in counts]
    for name in (sheet.name, LOW, HIGH):
        if name in names:
            own = columns[names.index(name)]
            shown = show_limit(limit) if name == sheet.name else None
            own[:] = [shown if hide else one for one, hide in zip(own, few, strict=True)]


def _plain(column: Any) -> list[Any]:
    """Return a column's values; texts as formulas that are nothing but these texts."""
    values: list[Any] = column.to_pylist()
    if not pa.types.is_string(column.type):
        return values
    return [f'="{value.replace(chr(34), chr(34) * 2)}"' for value in values]


EXPORTS = (EStat(), Excel())
