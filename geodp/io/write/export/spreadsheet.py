"""Exports as CSV for offices: for spreadsheets, and in the layout of Japan's mesh statistics."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from geodp.grid.codes import JISMesh
from geodp.io.write.format import Export
from geodp.io.write.tables import ERROR, HIGH, LOW
from geodp.io.write.view import View
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
"""Headers if the release's metadata give Japanese as its language."""

UNITS = {"code": "地域コード", "origin": "出発地の地域コード", "destination": "到着地の地域コード"}
"""Replacements of these headers for areal units, which are not cells of a mesh."""

HEADER = ("KEY_CODE", "HTKSYORI", "HTKSAKI", "GASSAN", "T000000001")
"""First header of a mesh file; the second has the label of the last column."""

INDENT = "\N{IDEOGRAPHIC SPACE}"
"""Prefix of labels, as the statistics bureau writes them."""


class Excel(Export):
    """UTF-8 with a byte order mark; texts as ``="..."``, which no spreadsheet takes for numbers.

    Counts below an office's limit of display are ``<k``, as this format is for people to read.
    """

    name: ClassVar[str] = "csv:excel"
    ending: ClassVar[str] = "excel.csv"
    help: ClassVar[str] = "CSV whose codes stay text: Excel and LibreOffice by a double click"
    takes_columns: ClassVar[bool] = True
    takes_regions: ClassVar[bool] = True

    def write(self, view: View, path: Path) -> None:
        """Write one file."""
        # Excel recognises UTF-8 by the byte order mark only.
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(name_headers(view))
            for some in view.rows("Writing CSV"):
                columns = [_plain(column) for column in some.columns.columns]
                hide_few(columns, view)
                rows.writerows(zip(*columns, strict=True))


class EStat(Export):
    """CP932 with two lines of headers, as in files of e-Stat, for programs that read those."""

    name: ClassVar[str] = "csv:estat"
    ending: ClassVar[str] = "estat.txt"
    help: ClassVar[str] = "CSV in the layout of Japan's mesh statistics (e-Stat)"

    def why_not(self, view: View) -> str | None:
        """Require integer counts on a map of JIS meshes, and a name in its character set."""
        grid = view.table.grid
        if not isinstance(grid.maps.system, JISMesh):
            return "the layout of e-Stat requires one map of JIS meshes"
        if grid.attributes:
            return "a column of this layout has no attributes"
        if view.table.count.dtype != np.int64:
            return "the counts are not integers"
        try:
            view.name.encode("cp932")
        except UnicodeEncodeError:
            return "the name of the count has letters that CP932 lacks"
        return None

    def write(self, view: View, path: Path) -> None:
        """Write one file."""
        label = JAPANESE.get(view.name, view.name)
        with path.open("w", encoding="cp932", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(HEADER)
            rows.writerow(["", "", "", "", f"{INDENT}{label}"])
            place = view.table.grid.places[0]
            for some in view.rows("Writing CSV"):
                codes = place.format(some.index[0], some.index[1]).tolist()
                for code, value in zip(codes, some.count.tolist(), strict=True):
                    # 0: counted as it is, with no hidden details.
                    rows.writerow([code, 0, "", "", value])


def name_headers(view: View) -> list[str]:
    """Return the names of columns in the language of the release's metadata."""
    if view.card.metadata is None or view.card.metadata.language != "ja":
        return [*view.columns]
    japanese = JAPANESE if view.table.grid.names.on_map else {**JAPANESE, **UNITS}
    return [japanese.get(name, name) for name in view.columns]


def hide_few(columns: list[list[Any]], view: View) -> None:
    """Replace counts below an office's limit of display by ``<k``, and blank what follows them.

    Standard errors stay, as they do not depend on the counts.
    """
    limit, names = view.limit, view.columns
    if limit is None:
        return
    counts = columns[names.index(view.name)]
    # An interval or a sum would reveal what the limit of display hides.
    few = [is_below(count, limit) for count in counts]
    for at, name in enumerate(names):
        if at >= names.index(view.name) and name != ERROR:
            values = columns[at]
            shown = show_limit(limit) if name == view.name else None
            values[:] = [shown if hide else one for one, hide in zip(values, few, strict=True)]


def _plain(column: Any) -> list[Any]:
    """Return a column's values; texts become formulas that contain only the text."""
    values: list[Any] = column.to_pylist()
    if not pa.types.is_string(column.type):
        return values
    return [f'="{value.replace(chr(34), chr(34) * 2)}"' for value in values]


EXPORTS = (EStat(), Excel())
