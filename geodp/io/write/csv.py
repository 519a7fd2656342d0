"""CSV files that spreadsheets and maps open correctly: their encoding, and their types."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from geodp.grid.grid import Grid
from geodp.io.write.format import Entry, Format
from geodp.io.write.tables import column_names
from geodp.io.write.view import View

MEDIA_TYPE = "text/csv; charset=utf-8; header=present"


class Csv(Format):
    """The counts; the release's id is taken from this file, so it is written first."""

    name: ClassVar[str] = "csv"
    endings: ClassVar[tuple[str, ...]] = ("csv", "csvt")
    rank: ClassVar[int] = 0

    def check(self, grid: Grid, name: str) -> None:
        """Check that all columns have different names."""
        column_names(grid, name)

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write the table, and the types of its columns."""
        name = view.name
        write_csv(view, folder / f"{name}.csv")
        what = f"the counts, {view.listed}"
        yield Entry(f"{name}.csv", MEDIA_TYPE, what, view.describe_columns())
        yield types_entry(name)


def types_entry(stem: str) -> Entry:
    """Return the card's entry for the types of a CSV file."""
    return Entry(f"{stem}.csvt", "text/plain", "types of the CSV's columns, for GDAL and QGIS")


def write_rows(rows: Iterable[Any], schema: Any, path: Path, *, texts: str) -> None:
    """Write Arrow tables of a schema as one CSV file, with its ``.csvt``.

    ``texts``: all characters of the columns of texts that may hold anything.
    """
    # Arrow's "needed" quotes every string of a file, so it is chosen only if some text has a
    # character that requires quotes.
    style = "needed" if set(texts) & set('",\r\n') else "none"
    options = pa.csv.WriteOptions(include_header=False, quoting_style=style)
    header = io.StringIO()
    # Arrow would quote the header, whatever the style.
    csv.writer(header, lineterminator="\n").writerow(schema.names)
    first = header.getvalue()
    wide: set[str] = set()
    # Arrow writes bytes, so the byte order mark has to come with the header.
    with path.open("wb") as file:
        file.write(first.encode(encoding_for(first + texts)))
        for piece in rows:
            pa.csv.write_csv(piece, file, options)
            # Types depend on all values, so the .csvt is written last.
            wide.update(name for name in piece.schema.names if _is_wide(piece[name]))
    fields = ",".join(f'"{_csvt_type(field, wide)}"' for field in schema)
    path.with_suffix(".csvt").write_text(fields + "\n", encoding="ascii", newline="\n")


def encoding_for(text: str) -> str:
    """Choose UTF-8, with a byte order mark if any text of a CSV file is not ASCII.

    Excel and LibreOffice assume the code page of the machine for a file without the mark.
    GDAL, QGIS, pandas and Arrow skip it; an ASCII file does not need it.
    """
    return "utf-8" if text.isascii() else "utf-8-sig"


def is_marked(path: Path) -> bool:
    """Test whether a file begins with the byte order mark of UTF-8."""
    with path.open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _is_wide(column: Any) -> bool:
    """Test whether a column has integers of more than 32 bits."""
    if not pa.types.is_integer(column.type) or not len(column):
        return False
    ends = pc.min_max(column).as_py()
    return bool(ends["min"] < -(1 << 31) or ends["max"] >= 1 << 31)


def _csvt_type(field: Any, wide: set[str]) -> str:
    """Return the type of a column for GDAL and QGIS, which reject a file with an unknown type.

    QGIS 3.22 knows no ``integer64``, and GDAL no ``longlong``; ``integer`` has 32 bits in both, so
    columns beyond are ``real``, exact up to 2**53. QGIS 3.20 to 3.22.1 wants lower case, which
    GDAL takes too.
    """
    if pa.types.is_string(field.type):
        return "string"
    return "integer" if pa.types.is_integer(field.type) and field.name not in wide else "real"


def write_csv(view: View, path: Path) -> None:
    """Write ``path`` (UTF-8, LF, RFC 4180) and its GDAL sidecar ``.csvt`` with the types.

    The sidecar keeps GDAL and QGIS from reading codes as numbers. Real numbers have the fewest
    decimals that are read back as the same float64. `encoding_for` decides whether the file begins
    with a byte order mark.

    Parameters
    ----------
    view : View
    path : Path
        Path that ends in ``.csv``.
    """
    columns = (rows.columns for rows in view.rows("Writing the CSV"))
    write_rows(columns, view.empty.columns.schema, path, texts=view.texts)


FORMATS = (Csv(),)
