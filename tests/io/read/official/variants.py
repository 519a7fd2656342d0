"""Official tables and rasters in generated variants: how else the same file may be written.

A `Sheet` is a table after a publisher's layout, with all that its file may have otherwise. An
`Alteration` makes another sheet of one, from a seed: of the same table in another writing, which
must be read as the same; or of what a reader may refuse, and never takes for another table. They
compose. `Picture` is the same of rasters. A new layout is one more entry of `SHEETS` or `PICTURES`,
or of `made.MADE` where a form of `tables` makes up its table, and a new way to write a file one
more alteration: the law of variants then asks it.
"""

import codecs
import csv
import gzip
import io
import json
import random
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import rasterio
import shapely
from rasterio.transform import Affine

from geodp.io.read.layout.presets import find_fitting

WIDE = {code: code + 0xFEE0 for code in range(0x30, 0x3A)}
"""Digits as full-width ones."""


@dataclass(frozen=True)
class Sheet:
    """A table after a layout, and how its file is written.

    Attributes
    ----------
    layout, name : str
        The preset that knows it, and the file's name.
    columns, rows
        Names and texts, as the publisher writes them.
    words : tuple of str
        Options of the call, without the file.
    code, value : str
        Names of the columns of codes and of counts.
    shape : callable, optional
        Outline of a row's cell by its code, for files of features; `crs` is theirs.
    beside : mapping
        Public files that the options name.
    labels, delimiter, encoding, end, last, bom, quotes, above, below, packing, types, files
        Of the writing: a second row of names; ends of lines, and whether the last has one; a byte
        order mark; what is quoted; raw lines around the table; the container; and the types of
        columns in containers that have some; whether it is one file, one and its copy, or halves.
    """

    layout: str
    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    code: str
    value: str
    shape: Callable[[str], Any] | None = None
    crs: int = 0
    beside: tuple[tuple[str, str], ...] = ()
    labels: tuple[str, ...] = ()
    delimiter: str = ","
    encoding: str = "utf-8"
    end: str = "\n"
    last: bool = True
    bom: bool = False
    quotes: str = "needed"
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    packing: str = "csv"
    types: tuple[tuple[str, str], ...] = ()
    files: str = "one"

    def at(self, column: str) -> int:
        """Return the position of a column."""
        return self.columns.index(column)

    def column(self, name: str) -> list[str]:
        """Return a column's texts."""
        return [row[self.at(name)] for row in self.rows]

    def change(self, column: str, make: Callable[[str], str], only: int | None = None) -> "Sheet":
        """Return the sheet with other texts in a column, or in one row of it."""
        at = self.at(column)
        rows = [
            (*row[:at], make(row[at]), *row[at + 1 :]) if only in (None, number) else row
            for number, row in enumerate(self.rows)
        ]
        return replace(self, rows=tuple(rows))

    def rename(self, column: str, name: str) -> "Sheet":
        """Return the sheet with another name of a column; options keep the old one."""
        columns = tuple(name if one == column else one for one in self.columns)
        changed = {field: name for field in ("code", "value") if getattr(self, field) == column}
        return replace(self, columns=columns, **changed)

    def order(self, columns: list[int]) -> "Sheet":
        """Return the sheet with its columns in another order."""
        labels = tuple(self.labels[i] for i in columns) if self.labels else ()
        names = tuple(self.columns[i] for i in columns)
        rows = tuple(tuple(row[i] for i in columns) for row in self.rows)
        return replace(self, columns=names, labels=labels, rows=rows)

    def add(self, name: str, cells: list[str], first: bool = False) -> "Sheet":
        """Return the sheet with one more column, the last or the first."""
        labels = (*self.labels, "") if self.labels else ()
        rows = tuple((*row, cell) for row, cell in zip(self.rows, cells, strict=True))
        found = replace(self, columns=(*self.columns, name), labels=labels, rows=rows)
        n = len(self.columns)
        return found.order([n, *range(n)]) if first else found


def text_of(sheet: Sheet) -> str:
    """Return a sheet as text."""
    style = {"needed": csv.QUOTE_MINIMAL, "all": csv.QUOTE_ALL, "names": csv.QUOTE_MINIMAL}
    lines = [f"{line}{sheet.end}" for line in sheet.above]
    for number, row in enumerate(
        (sheet.columns, *([sheet.labels] * any(sheet.labels)), *sheet.rows)
    ):
        out = io.StringIO()
        all_of_it = sheet.quotes == "names" and number == 0
        writer = csv.writer(
            out,
            delimiter=sheet.delimiter,
            lineterminator=sheet.end,
            quoting=csv.QUOTE_ALL if all_of_it else style[sheet.quotes],
        )
        writer.writerow(row)
        lines.append(out.getvalue())
    lines += [f"{line}{sheet.end}" for line in sheet.below]
    text = "".join(lines)
    return text if sheet.last else text.removesuffix(sheet.end)


def bytes_of(sheet: Sheet) -> bytes:
    """Return a sheet as the bytes of a text."""
    mark = codecs.BOM_UTF16_BE if sheet.encoding == "utf-16-be" else codecs.BOM_UTF8
    data = text_of(sheet).encode(sheet.encoding)
    return mark + data if sheet.bom else data


def table_of(sheet: Sheet) -> pa.Table:
    """Return a sheet as columns with types: whole numbers where all texts are."""
    titles = sheet.labels or sheet.columns
    names = [
        title if title.strip() else name for name, title in zip(sheet.columns, titles, strict=True)
    ]
    arrays = []
    for name in sheet.columns:
        cells = sheet.column(name)
        whole = name != sheet.code and all(_is_whole(cell) for cell in cells)
        kind = dict(sheet.types).get(name, "int64" if whole else "string")
        arrays.append(_typed([None if cell == "NULL" else cell for cell in cells], kind))
    return pa.Table.from_arrays(arrays, names=[*names])


def _is_whole(text: str) -> bool:
    """Whether a text is a whole number that begins with no 0."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and (digits == "0" or digits[0] != "0")


def _typed(cells: list[str | None], kind: str) -> pa.Array:
    """Return texts as a column of a type; of texts where not all of them are its numbers."""
    texts = pa.array(cells, pa.string())
    if any("E" in (cell or "") for cell in cells):
        return texts  # as numbers, nothing would tell that they were rounded
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return texts


def _frame(sheet: Sheet) -> geopandas.GeoDataFrame:
    assert sheet.shape is not None
    boxes = [sheet.shape(code) for code in sheet.column(sheet.code)]
    return geopandas.GeoDataFrame(table_of(sheet).to_pandas(), geometry=boxes, crs=sheet.crs)


def is_writable(made: Any) -> bool:
    """Whether an encoding has all letters of a sheet, and a container takes its names."""
    if not isinstance(made, Sheet):
        return True
    if made.packing.endswith("shp") and _is_long(made):
        return False
    if made.packing in ("xlsx", "ods") and "\0" in text_of(made):
        return False
    if made.packing in TYPED:
        return len({name.lower() for name in made.columns}) == len(made.columns)
    try:
        return bool(bytes_of(made))
    except UnicodeEncodeError:
        return False


def _is_long(sheet: Sheet) -> bool:
    """Whether a dBASE table would cut a name short."""
    return any(len(name.encode()) > 10 for name in sheet.columns)


ENDINGS = {
    "csv": "",
    **{"gz": ".gz", "members": ".gz", "zst": ".zst", "zip": ".zip", "folder": ".zip"},
    **{"parquet": ".parquet", "pages": ".parquet", "xlsx": ".xlsx", "jsonl": ".jsonl"},
    **{"gpkg": ".gpkg", "fgb": ".fgb", "shp": ".shp", "geojson": ".geojson"},
    **{"geoparquet": ".parquet", "zipped shp": ".zip"},
    "ods": ".ods",
}
"""Endings of files, by the container of a sheet."""

TYPED = {"parquet", "pages", "xlsx", "jsonl", "gpkg", "fgb", "shp", "geojson", "geoparquet"}
TYPED |= {"zipped shp", "ods"}
"""Containers without a text."""

OUTLINES = {"gpkg", "fgb", "shp", "geojson", "geoparquet", "zipped shp"}
"""Those of features."""


def write(sheet: Sheet, folder: Path) -> list[str]:
    """Write a sheet and what its options name; return the words of the call."""
    for name, text in sheet.beside:
        (folder / name).write_text(text)
    stem = sheet.name if ENDINGS[sheet.packing] in ("", ".gz", ".zst") else Path(sheet.name).stem
    path = folder / f"{stem}{ENDINGS[sheet.packing]}"
    half = len(sheet.rows) // 2
    first = replace(sheet, rows=sheet.rows[:half]) if sheet.files == "halves" else sheet
    _write_file(first, path)
    if sheet.files == "one":
        return [path.name, *sheet.words]
    other = path.with_name(f"other {path.name}")
    _write_file(replace(sheet, rows=sheet.rows[half:]) if sheet.files == "halves" else sheet, other)
    return [path.name, other.name, *sheet.words]


def _write_file(sheet: Sheet, path: Path) -> None:
    if sheet.packing in TYPED:
        _write_typed(sheet, path)
    else:
        _write_text(sheet, path)


def _write_text(sheet: Sheet, path: Path) -> None:
    data = bytes_of(sheet)
    if sheet.packing == "csv":
        path.write_bytes(data)
    elif sheet.packing == "gz":
        path.write_bytes(gzip.compress(data, mtime=0))
    elif sheet.packing == "members":
        half = len(data) // 2
        path.write_bytes(gzip.compress(data[:half]) + gzip.compress(data[half:]))
    elif sheet.packing == "zst":
        path.write_bytes(pa.Codec("zstd").compress(data, asbytes=True))
    else:
        inside = f"data/{sheet.name}" if sheet.packing == "folder" else sheet.name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            if sheet.packing == "folder":
                archive.writestr("data/", "")
                archive.writestr(f"__MACOSX/data/._{sheet.name}", b"\0\5\26\7")
            archive.writestr(inside, data)


def _write_typed(sheet: Sheet, path: Path) -> None:
    if sheet.packing == "parquet":
        pq.write_table(table_of(sheet), path)
    elif sheet.packing == "pages":
        pq.write_table(table_of(sheet), path, row_group_size=3, compression="zstd")
    elif sheet.packing == "jsonl":
        rows = table_of(sheet).to_pylist()
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif sheet.packing == "xlsx":
        book = openpyxl.Workbook()
        table = table_of(sheet)
        for row in (table.column_names, *zip(*table.to_pydict().values(), strict=True)):
            book.active.append([*row])
        book.save(path)
    elif sheet.packing == "ods":
        pyogrio.write_dataframe(table_of(sheet).to_pandas(), path, driver="ODS")
    elif sheet.packing == "geoparquet":
        _frame(sheet).to_parquet(path)
    elif sheet.packing == "zipped shp":
        _frame(sheet).to_file(path.with_suffix(".shp"), encoding="utf-8")
        with zipfile.ZipFile(path, "w") as archive:
            for ending in (".shp", ".shx", ".dbf", ".prj", ".cpg"):
                archive.write(path.with_suffix(ending), path.with_suffix(ending).name)
                path.with_suffix(ending).unlink()
    else:
        _frame(sheet).to_file(path, **({"encoding": "utf-8"} if sheet.packing == "shp" else {}))


# --- Alterations of tables ------------------------------------------------------------------------


@dataclass(frozen=True)
class Alteration:
    """Another way to write a file.

    Attributes
    ----------
    name : str
    group : str
        What it changes; of one group one alteration at most is in a composition.
    same : bool
        Whether the table is the same by the rules of the format, so that it must be read.
    make : callable
        Returns the other sheet or picture; None where it means nothing for it.
    """

    name: str
    group: str
    same: bool
    make: Callable[[Any, random.Random], Any]


TABLES: list[Alteration] = []
RASTERS: list[Alteration] = []


def _altered(group: str, same: bool, to: list[Alteration] = TABLES) -> Callable[[Any], Any]:
    def keep(make: Any) -> Any:
        to.append(Alteration(make.__name__.strip("_").replace("_", " "), group, same, make))
        return make

    return keep


# The same table in another writing.
@_altered("rows", True)
def rows_shuffled(sheet, draw):
    return replace(sheet, rows=tuple(draw.sample(sheet.rows, len(sheet.rows))))


@_altered("rows", True)
def rows_from_last_to_first(sheet, draw):
    return replace(sheet, rows=sheet.rows[::-1])


@_altered("columns", True)
def columns_shuffled(sheet, draw):
    order = draw.sample(range(len(sheet.columns)), len(sheet.columns))
    first = sheet.at(sheet.code)
    if sheet.labels:  # the second row of names is known by the blank below the key
        order = [first, *(i for i in order if i != first)]
    return sheet.order(order)


@_altered("columns", True)
def columns_from_last_to_first(sheet, draw):
    return None if sheet.labels else sheet.order([*range(len(sheet.columns))][::-1])


@_altered("extra", True)
def one_more_column_of_numbers(sheet, draw):
    return sheet.add("Flaeche", [str(draw.randrange(1000)) for _ in sheet.rows])


@_altered("extra", True)
def one_more_column_of_words(sheet, draw):
    return sheet.add("Bemerkung", [draw.choice(["", "a", "b c"]) for _ in sheet.rows])


@_altered("extra", True)
def columns_left_out(sheet, draw):
    """Those that no layout asks for."""
    spare = [i for i, name in enumerate(sheet.columns) if name in SPARE]
    return sheet.order([i for i in range(len(sheet.columns)) if i not in spare]) if spare else None


SPARE = {"METHD_CL", "YEAR", "DATA_SRC", "OBJECTID", "Date", "T_CI", "LAND_SURFACE", "POPULATED"}
SPARE |= {"aantal_woningen", "SA01", "SA02", "createdate", "GASSAN", "prefcode", "citycode"}


def _text(**changes):
    def make(sheet, draw):
        return None if sheet.packing in TYPED else replace(sheet, **changes)

    return make


def _write_as(group, same, **named):
    for name, changes in named.items():
        make = _text(**changes)
        TABLES.append(Alteration(name.strip("_").replace("_", " "), group, same, make))


_write_as("end", True, lines_end_in_CR_LF={"end": "\r\n"}, lines_end_in_LF={"end": "\n"})
_write_as("last", True, no_last_line_end={"last": False})
_write_as("quotes", True, every_field_quoted={"quotes": "all"}, names_quoted={"quotes": "names"})
_write_as("blank", True, blank_lines_at_the_end={"below": ("", "", "")})
_write_as("blank", True, a_blank_line_above={"above": ("",)})
_write_as(
    "delimiter",
    True,
    semicolons={"delimiter": ";"},
    tabs={"delimiter": "\t"},
    commas={"delimiter": ","},
    bars={"delimiter": "|"},
)


@_altered("delimiter", True)
def delimiter_said(sheet, draw):
    if sheet.packing in TYPED:
        return None
    return replace(sheet, delimiter=";", above=("sep=;",))


@_altered("encoding", True)
def utf_8_with_mark(sheet, draw):
    return None if sheet.packing in TYPED else replace(sheet, encoding="utf-8", bom=True)


_write_as("encoding", True, utf_8={"encoding": "utf-8"}, utf_16={"encoding": "utf-16"})
_write_as("encoding", True, utf_16_big_end_first={"encoding": "utf-16-be", "bom": True})


_write_as("packing", True, gzip={"packing": "gz"}, gzip_of_two_members={"packing": "members"})
_write_as("packing", True, zstandard={"packing": "zst"}, zip_archive={"packing": "zip"})
_write_as("packing", True, zip_with_a_folder={"packing": "folder"})


@_altered("name", True)
def name_in_capitals(sheet, draw):
    stem, dot, ending = sheet.name.rpartition(".")
    return replace(sheet, name=f"{stem}{dot}{ending.upper()}")


def _packed(packing):
    def make(sheet, draw):
        if packing in OUTLINES and sheet.shape is None:
            return None
        return replace(sheet, packing=packing, encoding="utf-8", bom=False)

    return make


for _packing in ("parquet", "pages", "jsonl", "xlsx", "gpkg", "fgb", "geojson", "geoparquet"):
    TABLES.append(Alteration(f"packed as {_packing}", "packing", True, _packed(_packing)))
for _packing in ("shp", "zipped shp", "ods"):
    TABLES.append(Alteration(f"packed as {_packing}", "packing", True, _packed(_packing)))


@_altered("rows", True)
def rows_of_nobody_left_out(sheet, draw):
    """The last row has the layout's mark for nobody, or 0."""
    return replace(sheet, rows=sheet.rows[:-1])


# What a reader may refuse, and takes for no other table.
def _names(make, layouts=None):
    """Other names; ``layouts``: only where "one" layout fits them, or "several" do."""

    def altered(sheet, draw):
        names = tuple(make(name) for name in sheet.columns)
        labels = tuple(make(label) for label in sheet.labels)
        if (names, labels) == (sheet.columns, sheet.labels):
            return None
        several = len(find_fitting(Path(sheet.name), names)) > 1
        if layouts is not None and several != (layouts == "several"):
            return None
        code, value = make(sheet.code), make(sheet.value)
        return replace(sheet, columns=names, labels=labels, code=code, value=value)

    return altered


def _mixed(name):
    return "".join(one.upper() if i % 2 else one.lower() for i, one in enumerate(name))


def _wide(name):
    return "".join(
        chr(ord(one) + 0xFEE0) if one.isascii() and one.isalnum() else one for one in name
    )


for _name, _make in {
    "names between blanks": lambda name: f" {name}  ",
    "names in capitals": str.upper,
    "names in small letters": str.lower,
    "names in mixed letters": _mixed,
    "names decomposed": lambda name: unicodedata.normalize("NFD", name),
    "names composed by compatibility": lambda name: unicodedata.normalize("NFKC", name),
    "names in full width": _wide,
}.items():
    # The layouts of two censuses of Germany differ in case alone: which one it is is asked.
    TABLES.append(Alteration(_name, "spelling", True, _names(_make, "one")))
    TABLES.append(Alteration(f"{_name} of two", "spelling", False, _names(_make, "several")))

for _name, _make in {
    "names with a dash for a line": lambda name: name.replace("_", "-"),
    "names with a blank for a line": lambda name: name.replace("_", " "),
    "names without lines": lambda name: name.replace("_", ""),
    "names with a mark that nobody sees": lambda name: f"{name}\u200b",
    "names in quotes of their own": lambda name: f"'{name}'",
    "names that only look so": lambda name: name.translate(
        {"E": "Е", "T": "Т", "o": "о", "a": "а"}
        and {ord("E"): "Е", ord("T"): "Т", ord("o"): "о", ord("a"): "а"}
    ),
}.items():
    TABLES.append(Alteration(_name, "spelling", False, _names(_make)))


def _cells(column, make, only=None):
    def altered(sheet, draw):
        name = getattr(sheet, column)
        if not name:
            return None
        # The last row is nobody's.
        some = draw.randrange(len(sheet.rows) - 1) if only == "one" else None
        changed = sheet.change(name, make, some)
        return None if changed.rows == sheet.rows else changed

    return altered


def _of_number(make):
    return lambda cell: make(cell) if _is_whole(cell) and not cell.startswith("-") else cell


def _grouped(mark):
    """Counts of thousands: all of them are made a thousand and more by `large`."""
    return _of_number(lambda cell: f"{int(cell):,}".replace(",", mark))


def _missing(spelling):
    def altered(sheet, draw):
        """The last row is of nobody, unless it was left out: its count is written otherwise."""
        last = sheet.rows[-1][sheet.at(sheet.value)]
        if last.isdecimal() and int(last):
            return None
        return sheet.change(sheet.value, lambda _: spelling, len(sheet.rows) - 1)

    return altered


MISSING = ("", "-", "–", "—", ".", "..", "…", "*", "x", "NA", "N/A", "n.a.", "NaN", "nan", "NULL")
MISSING += (
    "null",
    "None",
    "/",
    "0.0",
    "-0",
    "-1",
    "-9",
    "-99",
    "-999",
    "-9999",
    "-99999",
    "-99997",
)
MISSING += ("-1.0", "-9999.0", "０", "k.A.", "#N/A", "#DIV/0!", "inf", "1e400", "true", "9.9E37")
for _mark in MISSING:
    TABLES.append(Alteration(f"nobody as {_mark!r}", "missing", False, _missing(_mark)))


# Doubling.
@_altered("double", False)
def all_rows_twice(sheet, draw):
    return replace(sheet, rows=sheet.rows * 2)


@_altered("double", False)
def every_row_twice_in_turn(sheet, draw):
    return replace(sheet, rows=tuple(row for row in sheet.rows for _ in (0, 1)))


for _files in ("copy", "halves"):

    def _in_two(sheet, draw, files=_files):
        return replace(sheet, files=files)

    TABLES.append(Alteration(f"in two files: {_files}", "files", False, _in_two))


@_altered("double", False)
def one_row_twice(sheet, draw):
    some = draw.randrange(len(sheet.rows) - 1)
    return replace(sheet, rows=(*sheet.rows, sheet.rows[some]))


@_altered("double", False)
def one_row_twice_with_another_count(sheet, draw):
    row = [*sheet.rows[draw.randrange(len(sheet.rows) - 1)]]
    row[sheet.at(sheet.value)] = "77"
    return replace(sheet, rows=(*sheet.rows, tuple(row)))


@_altered("double", False)
def one_row_twice_with_its_code_spelt_otherwise(sheet, draw):
    row = [*sheet.rows[draw.randrange(len(sheet.rows) - 1)]]
    row[sheet.at(sheet.code)] = f" {row[sheet.at(sheet.code)].translate(WIDE)}"
    return replace(sheet, rows=(*sheet.rows, tuple(row)))


def _again(column, name=str):
    def altered(sheet, draw):
        own = getattr(sheet, column)
        return sheet.add(name(own), sheet.column(own))

    return altered


def _again_otherwise(sheet, draw):
    return sheet.add(sheet.value, ["7"] * len(sheet.rows), first=not sheet.labels)


TABLES += [
    Alteration("column of counts twice", "double", False, _again("value")),
    Alteration("column of codes twice", "double", False, _again("code")),
    Alteration("column of counts again with others", "double", False, _again_otherwise),
    Alteration(
        "column of counts again in capitals", "double", False, _again("value", str.swapcase)
    ),
    Alteration("column of codes again in capitals", "double", False, _again("code", str.swapcase)),
]


@_altered("double", False)
def header_again_amid_the_rows(sheet, draw):
    at = draw.randrange(1, len(sheet.rows))
    return replace(sheet, rows=(*sheet.rows[:at], sheet.columns, *sheet.rows[at:]))


@_altered("double", False)
def whole_file_twice_end_to_end(sheet, draw):
    again = [sheet.columns, *([sheet.labels] if any(sheet.labels) else [])]
    return replace(sheet, rows=(*sheet.rows, *again, *sheet.rows))


# Notes.
def _row(sheet, **cells):
    row = [""] * len(sheet.columns)
    for column, cell in cells.items():
        row[0 if column == "first" else sheet.at(getattr(sheet, column))] = cell
    return tuple(row)


@_altered("notes", False)
def row_of_the_total(sheet, draw):
    total = sum(int(cell) for cell in sheet.column(sheet.value) if cell.isdecimal())
    return replace(sheet, rows=(*sheet.rows, _row(sheet, code="Total", value=str(total))))


@_altered("notes", False)
def row_of_the_total_without_a_code(sheet, draw):
    total = sum(int(cell) for cell in sheet.column(sheet.value) if cell.isdecimal())
    return replace(sheet, rows=(*sheet.rows, _row(sheet, value=str(total))))


@_altered("notes", False)
def note_below(sheet, draw):
    return replace(sheet, rows=(*sheet.rows, _row(sheet, first="Source: census.")))


@_altered("notes", False)
def row_of_units(sheet, draw):
    return replace(sheet, rows=(_row(sheet, value="people"), *sheet.rows))


@_altered("notes", False)
def row_of_blanks_amid_the_rows(sheet, draw):
    return replace(sheet, rows=(*sheet.rows[:2], _row(sheet), *sheet.rows[2:]))


def _lines(above=(), below=()):
    def altered(sheet, draw):
        return None if sheet.packing in TYPED else replace(sheet, above=above, below=below)

    return altered


for _name, _make in {
    "title above": _lines(above=("Population by cell",)),
    "title and a blank line above": _lines(above=("Population by cell", "")),
    "comment above": _lines(above=("# population by cell",)),
    "line of a note below": _lines(below=("Source: census of a country",)),
    "blank line and a note below": _lines(below=("", "Source: census of a country")),
    "end of file mark below": _lines(below=("\x1a",)),
    "line of blanks below": _lines(below=("   ",)),
    "line of a star below": _lines(below=("*",)),
    "end of sheet below": _lines(below=("--- 8 rows ---",)),
    "another delimiter is said": _lines(above=("sep=|",)),
}.items():
    TABLES.append(Alteration(_name, "notes", False, _make))


@_altered("notes", False)
def line_cut_off_at_the_end(sheet, draw):
    if sheet.packing in TYPED:
        return None
    line = sheet.delimiter.join(sheet.rows[0])
    return replace(sheet, below=(line[: len(line) // 2],), last=False)


@_altered("notes", False)
def quote_that_is_not_closed(sheet, draw):
    if sheet.packing in TYPED or sheet.quotes == "all":
        return None
    line = sheet.delimiter.join((f'"{sheet.rows[0][0]}', *sheet.rows[0][1:]))
    return replace(sheet, below=(line, *(sheet.delimiter.join(row) for row in sheet.rows[1:])))


@_altered("extra", False)
def numbers_of_rows_in_front(sheet, draw):
    if sheet.labels:
        return None
    return sheet.add("", [str(number) for number in range(len(sheet.rows))], first=True)


@_altered("extra", False)
def delimiter_at_the_end_of_all_lines(sheet, draw):
    return sheet.add("", [""] * len(sheet.rows))


@_altered("extra", False)
def delimiter_at_the_end_of_rows(sheet, draw):
    if sheet.packing in TYPED:
        return None
    return replace(sheet, rows=tuple((*row, "") for row in sheet.rows))


@_altered("extra", False)
def column_of_another_year(sheet, draw):
    return sheet.add(f"{sheet.value}_2001", [str(draw.randrange(9)) for _ in sheet.rows])


@_altered("extra", False)
def column_of_codes_of_something_else(sheet, draw):
    return sheet.add(
        "CODE", [str(number) for number in range(len(sheet.rows))], first=not sheet.labels
    )


@_altered("extra", False)
def column_of_letters_beyond_ASCII(sheet, draw):
    return sheet.add("Größe", [draw.choice(["klein", "größer"]) for _ in sheet.rows])


def _encoded(encoding, name, cells):
    def altered(sheet, draw):
        if sheet.packing in TYPED:
            return None
        more = sheet.add(name, [draw.choice(cells) for _ in sheet.rows])
        try:
            text_of(more).encode(encoding)
        except UnicodeEncodeError:
            return None
        return replace(more, encoding=encoding)

    return altered


for _encoding, _title, _words in (
    ("cp1252", "Größe", ["klein", "größer"]),
    ("iso8859-15", "Größe", ["klein", "größer"]),
    ("cp850", "Größe", ["klein", "größer"]),
    ("mac_roman", "Größe", ["klein", "größer"]),
    ("cp1252", "Gemeinde", ["Köln", "Münster"]),
    ("cp932", "市区町村", ["千代田区", "中央区"]),
    ("cp932", "city", ["千代田区", "表参道ソ"]),
    ("euc_jp", "市区町村", ["千代田区", "中央区"]),
    ("iso2022_jp", "市区町村", ["千代田区", "中央区"]),
    ("utf-16-le", "Größe", ["klein", "größer"]),
    ("utf-32", "Größe", ["klein", "größer"]),
    ("utf-16", "市区町村", ["千代田区", "中央区"]),
    ("utf-8", "市区町村", ["千代田区", "中央区"]),
    ("utf-7", "Größe", ["klein", "größer"]),
):
    TABLES.append(
        Alteration(
            f"{_encoding} with {_title} of {_words[0]}",
            "encoding",
            False,
            _encoded(_encoding, _title, _words),
        )
    )
_write_as("end", False, lines_end_in_CR={"end": "\r"})
_write_as("end", False, lines_end_in_CR_CR_LF={"end": "\r\r\n"})


# Scale: the largest count is in the thousands, so that something can separate them.
def _large(mark, words=()):
    def altered(sheet, draw):
        """Write a count of thousands with a mark, where the plain one has it as well."""
        changed = sheet.change(sheet.value, _grouped(mark))
        return None if changed == sheet else replace(changed, words=(*sheet.words, *words))

    return altered


for _name, _make in {
    "thousands with commas": _large(","),
    "thousands with points": _large("."),
    "thousands with blanks": _large(" "),
    "thousands with narrow blanks": _large("\u202f"),
    "thousands with apostrophes": _large("'"),
    "thousands with commas, as is said": _large(",", ("--decimal", ".")),
    "thousands with points, as is said": _large(".", ("--decimal", ",")),
    "thousands with points, said otherwise": _large(".", ("--decimal", ".")),
    "thousands with commas, said otherwise": _large(",", ("--decimal", ",")),
}.items():
    TABLES.append(Alteration(_name, "counts", False, _make))


@_altered("counts", False)
def counts_in_thousands_by_their_name(sheet, draw):
    named = sheet.rename(sheet.value, f"{sheet.value} (in 1000)")
    return named.change(named.value, _of_number(lambda cell: f"{int(cell) / 1000:.3f}"))


@_altered("counts", False)
def decimal_mark_said_to_be_a_comma(sheet, draw):
    return replace(sheet, words=(*sheet.words, "--decimal", ","))


# --- Sheets ---------------------------------------------------------------------------------------

PEOPLE = (4, 8, 1005, 12, 7, 3, 250)
"""Counts; one more row is of nobody."""

CELLS = [(2_689_000 + 1000 * i, 4_337_000 + 1000 * (i * i % 5)) for i in range(8)]
"""Northing and easting of cells of 1 km in EPSG:3035."""


def _sheet(layout, name, columns, rows, words=(), **more):
    """A sheet of texts: of numbers as they are written."""
    texts = tuple(tuple(map(str, row)) for row in rows)
    return Sheet(layout, name, tuple(columns), texts, tuple(words), **more)


def _box(x, y, side):
    return shapely.box(x, y, x + side, y + side)


def inspire(code):
    """The outline of a cell of EPSG:3035 by its id; of what is no id, the first cell's."""
    code = code if re.fullmatch(r"(CRS3035RES1000m|1km)N[0-9]+E[0-9]+", code) else _short(*CELLS[0])
    north, _, east = code.partition("RES1000m" if "RES" in code else "km")[2].partition("E")
    unit = 1 if "RES" in code else 1000
    return _box(int(east) * unit, int(north.removeprefix("N")) * unit, 1000)


def _dutch(code):
    """The outline of a cell of the Netherlands by its id; of what is no id, a cell."""
    code = code if re.fullmatch("E[0-9]+N[0-9]+", code) else "E85900N436000"
    east, north = code.removeprefix("E").split("N")
    return _box(int(east), int(north), 100)


def _zensus_ages():
    """A table of ages; in the row without people one age has a mark, and the others none."""
    rows = [
        (f"CRS3035RES1000mN{n}E{e}", e + 500, n + 500, count, "–", count, "–", "–", "–", "")
        for (n, e), count in zip(CELLS, (*PEOPLE, "–"), strict=True)
    ]
    ages = ("Unter18", "a18bis29", "a30bis49", "a50bis64", "a65undaelter")
    return _sheet(
        "zensus2022",
        "Zensus2022_Alter_in_5_Altersklassen_1km-Gitter.csv",
        (
            *("GITTER_ID_1km", "x_mp_1km", "y_mp_1km", "Insgesamt_Bevoelkerung", *ages),
            "werterlaeuternde_Zeichen",
        ),
        rows,
        ("--by", "age", "--contribution", "1"),
        code="GITTER_ID_1km",
        value="a18bis29",
        delimiter=";",
        end="\r\n",
        shape=inspire,
        crs=3035,
    )


def _short(n, e):
    return f"1kmN{n // 1000}E{e // 1000}"


GERMANY = ("--bounds", "4000000", "2600000", "4700000", "3600000")


def _geostat_2011():
    """The third cell has a row for each of two countries."""
    rows = [
        (count, _short(n, e), "DE", "A", "2011", "NSI")
        for (n, e), count in zip(CELLS, (*PEOPLE, "0"), strict=True)
    ]
    rows.insert(3, (9, _short(*CELLS[2]), "LU", "A", "2011", "NSI"))
    return _sheet(
        "geostat2011",
        "GEOSTAT_grid_POP_1K_2011_V2_0_1.csv",
        ("TOT_P", "GRD_ID", "CNTR_CODE", "METHD_CL", "YEAR", "DATA_SRC"),
        rows,
        (*GERMANY, "--contribution", "1"),
        code="GRD_ID",
        value="TOT_P",
        end="\r\n",
        shape=inspire,
        crs=3035,
    )


def _geostat_2018():
    rows = [
        (number, _short(n, e), "DE", count, "2018/01/01")
        for number, ((n, e), count) in enumerate(zip(CELLS, (*PEOPLE, "0"), strict=True))
    ]
    rows.insert(3, (8, _short(*CELLS[2]), "LU", 9, "2018/01/01"))
    return _sheet(
        "geostat2018",
        "JRC_POPULATION_2018.csv",
        ("OBJECTID", "GRD_ID", "CNTR_ID", "TOT_P_2018", "Date"),
        rows,
        (*GERMANY, "--contribution", "1"),
        code="GRD_ID",
        value="TOT_P_2018",
        shape=inspire,
        crs=3035,
    )


MESHES = [f"5339{46 + i // 4}{1 + i % 4}{i}" for i in range(8)]
"""Codes of third-level meshes, of 8 digits: primary 5339."""


def _estat():
    rows = [
        (code, "2" if i == 3 else "0", MESHES[0] if i == 3 else "", "", count, "*" if i == 3 else 1)
        for i, (code, count) in enumerate(zip(MESHES, (*PEOPLE, 0), strict=True))
    ]
    return _sheet(
        "estat",
        "tblT001100S5339.txt",
        ("KEY_CODE", "HTKSYORI", "HTKSAKI", "GASSAN", "T001100001", "T001100002"),
        rows,
        ("--primary", "5339"),
        code="KEY_CODE",
        value="T001100001",
        labels=("", "", "", "", "　人口（総数）", "　人口（総数）　男"),
        encoding="cp932",
        end="\r\n",
        packing="zip",
    )


def _estat_sexes():
    """Details may be hidden: the fourth cell's are in the first."""
    sexes = ("　人口（総数）　男", "　人口（総数）　女")
    rows = [
        (code, "2" if i == 3 else "0", MESHES[0] if i == 3 else "", "", count, count, 0)
        for i, (code, count) in enumerate(zip(MESHES, (*PEOPLE, 0), strict=True))
    ]
    rows[3] = (*rows[3][:5], "*", "*")
    columns = [
        *("KEY_CODE", "HTKSYORI", "HTKSAKI", "GASSAN", "T001100001", "T001100002", "T001100003")
    ]
    return _sheet(
        "estat",
        "tblT001100S5339.txt",
        columns,
        rows,
        (
            *("--primary", "5339", "--by", "sex", "--suppressed", "zero"),
            *("--contribution", "1"),
        ),
        code="KEY_CODE",
        value="T001100002",
        labels=("", "", "", "", "　人口（総数）", *sexes),
        encoding="cp932",
        end="\r\n",
        packing="zip",
    )


def _mesh_box(code):
    """The outline of a mesh of 500 m; of what is no code, the first one's."""
    code = code if code.isascii() and code.isdecimal() and len(code) == 9 else f"{MESHES[0]}1"
    lat, lon = int(code[:2]) / 1.5, int(code[2:4]) + 100
    lat, lon = lat + int(code[4]) / 12, lon + int(code[5]) / 8
    lat, lon = lat + int(code[6]) / 120, lon + int(code[7]) / 80
    half = int(code[8]) - 1
    lat, lon = lat + half // 2 / 240, lon + half % 2 / 160
    return shapely.box(lon, lat, lon + 1 / 160, lat + 1 / 240)


def _ksj():
    rows = [
        (f"{code}{1 + i % 4}", "13101", count if count in (0, 8, 12, 250) else f"{count}.1374")
        for i, (code, count) in enumerate(zip(MESHES, (*PEOPLE, 0), strict=True))
    ]
    return _sheet(
        "ksj-mesh",
        "500m_mesh_2018_13.csv",
        ("MESH_ID", "SHICODE", "PTN_2020"),
        rows,
        ("--primary", "5339", "--round", "nearest", "--contribution", "4", "--value", "PTN_2020"),
        code="MESH_ID",
        value="PTN_2020",
        packing="geojson",
        types=(("PTN_2020", "float64"),),
        shape=_mesh_box,
        crs=6668,
    )


SHEETS = (_geostat_2011(), _geostat_2018(), _estat(), _ksj(), _zensus_ages(), _estat_sexes())


def scale(sheet: Sheet, by: int = 1_000_003) -> Sheet:
    """Return a sheet of more people, whom single precision cannot count and spreadsheets round."""

    def larger(cell: str) -> str:
        return str(int(cell) * by) if cell.isdecimal() else cell

    return sheet.change(sheet.value, larger)


# --- Rasters --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Picture:
    """A raster after a layout, and how its file is written.

    Attributes
    ----------
    values : float64[rows, cols]
        `nodata` for nobody.
    grid
        CRS and transform of the public template that the options name.
    profile, tags, scale, offset, unit, more
        Of GDAL: how it is written; tags; of its band; and what is done to the open file.
    """

    layout: str
    name: str
    values: Any
    words: tuple[str, ...]
    crs: str
    transform: Affine
    nodata: float | None
    dtype: str
    grid: tuple[str, Affine]
    bands: int = 1
    profile: tuple[tuple[str, Any], ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    scale: float = 1
    offset: float = 0
    unit: str = ""
    more: Callable[[Any], None] | None = None
    after: Callable[[Path], Path] | None = None


def write_picture(picture: Picture, folder: Path) -> list[str]:
    """Write a raster; return the words of the call."""
    rows, cols = picture.values.shape
    grid = {"width": cols, "height": rows, "count": 1, "dtype": "uint8"}
    place = {"crs": picture.grid[0], "transform": picture.grid[1]}
    with rasterio.open(folder / "template.tif", "w", driver="GTiff", **grid, **place) as template:
        template.write(np.zeros((1, rows, cols), np.uint8))
    path = folder / picture.name
    options = {"driver": "GTiff", **dict(picture.profile)}
    with rasterio.open(
        path,
        "w",
        width=cols,
        height=rows,
        count=picture.bands,
        dtype=picture.dtype,
        crs=picture.crs or None,
        transform=picture.transform,
        nodata=picture.nodata,
        **options,
    ) as raster:
        for band in range(1, picture.bands + 1):
            raster.write(picture.values.astype(picture.dtype), band)
        if (picture.scale, picture.offset) != (1, 0):
            raster.scales = (picture.scale,) * picture.bands
            raster.offsets = (picture.offset,) * picture.bands
        if picture.unit:
            raster.units = (picture.unit,) * picture.bands
        raster.update_tags(**dict(picture.tags))
        if picture.more is not None:
            picture.more(raster)
    if picture.after is not None:
        path = picture.after(path)
    return [path.name, *picture.words]


for _name, _profile in {
    "packed with deflate": {"compress": "deflate"},
    "packed with LZW": {"compress": "lzw"},
    "packed with Zstandard": {"compress": "zstd"},
    "packed with PackBits": {"compress": "packbits"},
    "differences packed": {"compress": "deflate", "predictor": 3},
    "in tiles": {"tiled": True, "blockxsize": 16, "blockysize": 16},
    "in packed tiles": {"tiled": True, "blockxsize": 32, "blockysize": 16, "compress": "lzw"},
    "in strips of one row": {"blockysize": 1},
    "the other end first": {"endianness": "BIG"},
    "BigTIFF": {"bigtiff": "YES"},
    "sparse": {"sparse_ok": True, "tiled": True, "blockxsize": 16, "blockysize": 16},
    "bands one after the other": {"interleave": "band"},
    "GeoTIFF 1.1": {"geotiff_version": "1.1"},
}.items():

    def _with_profile(picture, draw, profile=_profile):
        return replace(picture, profile=tuple(profile.items()))

    RASTERS.append(Alteration(_name, "profile", True, _with_profile))


def _picture(group, same, **named):
    for name, changes in named.items():

        def make(picture, draw, changes=changes):
            found = changes(picture) if callable(changes) else changes
            return None if found is None else replace(picture, **found)

        RASTERS.append(Alteration(name.strip("_").replace("_", " "), group, same, make))


def _overviews(raster):
    raster.build_overviews([2, 4])


def _named_band(raster):
    raster.set_band_description(1, "population")


def _mask(raster):
    raster.write_mask(np.full(raster.shape, 255, np.uint8))


def _mask_of_none(raster):
    raster.write_mask(np.zeros(raster.shape, np.uint8))


def _statistics(raster):
    raster.update_tags(1, STATISTICS_MINIMUM="0", STATISTICS_MAXIMUM="9")


def _beside(ending, text):
    def after(path):
        path.with_name(
            path.name + ending if ending.startswith(".aux") else path.stem + ending
        ).write_text(text)
        return path

    return after


def _pack(kind):
    def after(path):
        other = path.with_name(f"{path.name}.{kind}")
        if kind == "gz":
            other.write_bytes(gzip.compress(path.read_bytes()))
        else:
            with zipfile.ZipFile(other, "w") as archive:
                archive.write(path, path.name)
        return other

    return after


def _cut(share):
    def after(path):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        return path

    return after


_WORLD = "100\n0\n0\n-100\n5\n5\n"
_AUX = "<PAMDataset><PAMRasterBand band='1'>{}</PAMRasterBand></PAMDataset>"
_picture(
    "more",
    True,
    overviews={"more": _overviews},
    band_with_a_name={"more": _named_band},
    statistics={"more": _statistics},
    software_and_date={"tags": (("TIFFTAG_SOFTWARE", "x"), ("TIFFTAG_DATETIME", "2020"))},
    pixels_are_areas={"tags": (("AREA_OR_POINT", "Area"),)},
    statistics_beside={
        "after": _beside(
            ".aux.xml", _AUX.format("<Metadata><MDI key='STATISTICS_MEAN'>1</MDI></Metadata>")
        )
    },
    unit_of_people={"unit": "persons"},
)
_picture("dtype", True, in_double_precision={"dtype": "float64"})
_picture(
    "more",
    False,
    mask_of_all={"more": _mask},
    mask_of_none={"more": _mask_of_none},
    pixels_are_points={"tags": (("AREA_OR_POINT", "Point"),)},
    unit_of_thousands={"unit": "thousands"},
    unit_of_density={"unit": "persons/km2"},
    scale_beside={"after": _beside(".aux.xml", _AUX.format("<Scale>10</Scale>"))},
    world_file_beside={"after": _beside(".tfw", _WORLD)},
    projection_beside={"after": _beside(".prj", 'LOCAL_CS["x"]')},
    packed_as_gz={"after": _pack("gz")},
    packed_as_zip={"after": _pack("zip")},
    cut_at_half={"after": _cut(0.5)},
    cut_at_nine_tenths={"after": _cut(0.9)},
    cut_at_a_tenth={"after": _cut(0.1)},
)
_picture(
    "values",
    False,
    nobody_as_NaN=lambda it: {
        "values": np.where(it.values == it.nodata, np.nan, it.values),
        "nodata": np.nan,
    },
    nobody_as_NaN_that_is_not_said=lambda it: {
        "values": np.where(it.values == it.nodata, np.nan, it.values),
        "nodata": None,
    },
    nobody_as_another_number=lambda it: {
        "values": np.where(it.values == it.nodata, -3.4e38, it.values),
        "nodata": -3.4e38,
    },
    nobody_is_not_said=lambda it: {"nodata": None},
    nobody_is_said_otherwise=lambda it: {"nodata": -1},
    nobody_as_a_number_that_is_not_said=lambda it: {
        "values": np.where(it.values == it.nodata, -9999, it.values)
    },
    nobody_as_infinite=lambda it: {
        "values": np.where(it.values == it.nodata, -np.inf, it.values),
        "nodata": -np.inf,
    },
    tenths_with_a_scale=lambda it: {
        "values": np.where(it.values == it.nodata, -1, np.rint(it.values * 10)),
        "nodata": -1,
        "dtype": "int32",
        "scale": 0.1,
    },
    tenths_with_a_scale_in_single_precision=lambda it: {
        "values": np.where(it.values == it.nodata, -1, np.rint(it.values * 10)),
        "nodata": -1,
        "scale": 0.1,
    },
    with_an_offset=lambda it: {
        "values": np.where(it.values == it.nodata, it.nodata, it.values - 1),
        "offset": 1,
    },
    whole_numbers=lambda it: {"values": np.rint(it.values), "dtype": "int32"},
    whole_numbers_of_16_bits=lambda it: {
        "values": np.where(it.values == it.nodata, -1, np.rint(it.values)),
        "nodata": -1,
        "dtype": "int16",
    },
    half_precision=lambda it: {
        "values": np.where(it.values == it.nodata, -1, it.values),
        "nodata": -1,
        "dtype": "float32",
        "profile": (("nbits", 16),),
    },
    complex_numbers={"dtype": "complex64", "nodata": None},
    from_south_to_north=lambda it: {
        "values": it.values[::-1],
        "transform": it.transform @ Affine(1, 0, 0, 0, -1, it.values.shape[0]),
    },
    from_east_to_west=lambda it: {
        "values": it.values[:, ::-1],
        "transform": it.transform @ Affine(-1, 0, it.values.shape[1], 0, 1, 0),
    },
)
_picture("bands", False, band_twice={"bands": 2}, three_bands={"bands": 3})
_picture(
    "crs",
    False,
    no_crs={"crs": ""},
    crs_as_words=lambda it: {"crs": rasterio.crs.CRS.from_user_input(it.crs).to_wkt()},
    crs_as_numbers=lambda it: {"crs": rasterio.crs.CRS.from_user_input(it.crs).to_proj4()},
    crs_of_the_other={"crs": "EPSG:3857"},
    turned=lambda it: {"transform": it.transform @ Affine.rotation(3)},
)


def _pixels(nodata):
    values = np.zeros((12, 20))
    draw = np.random.default_rng(36)
    values[draw.random(values.shape) < 0.4] = nodata
    values[2, 3:10] = (3.6, 8.2, 1005.4, 12.1, 7.9, 2.7, 250.3)
    return values


PICTURES = (
    Picture(
        "ghsl",
        "GHS_POP_E2025_GLOBE_R2023A_54009_100_V1_0_R5_C19.tif",
        _pixels(-200),
        ("--round", "nearest", "--contribution", "4", "--grid", "like:template.tif"),
        "ESRI:54009",
        Affine(100, 0, 959_000, 0, -100, 6_000_000),
        -200,
        "float64",
        ("ESRI:54009", Affine(100, 0, 959_000, 0, -100, 6_000_000)),
    ),
    Picture(
        "worldpop",
        "deu_ppp_2020.tif",
        _pixels(-99999),
        ("--round", "nearest", "--contribution", "4", "--grid", "like:template.tif"),
        "EPSG:4326",
        Affine(1 / 1200, 0, 6, 0, -1 / 1200, 51),
        -99999,
        "float32",
        ("EPSG:4326", Affine(1 / 1200, 0, 6, 0, -1 / 1200, 51)),
    ),
)


# --- Variants -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """What was done to a layout's file.

    Attributes
    ----------
    name : str
    same : bool
        Whether it must be read as the same table.
    made : Sheet or Picture
    """

    name: str
    same: bool
    made: Any

    def write(self, folder: Path) -> list[str]:
        """Write its files; return the words of the call."""
        made = self.made
        return write(made, folder) if isinstance(made, Sheet) else write_picture(made, folder)


COMPOSED = 60
"""Variants of a layout that are two or three alterations, one after the other."""


def variants(plain: Any, seed: int = 36) -> Iterator[Variant]:
    """Yield the variants of a sheet or a picture: its alterations one by one, and compositions."""
    every = TABLES if isinstance(plain, Sheet) else RASTERS
    draw = random.Random(f"{plain.layout} {seed}")
    able = []
    for one in every:
        made = one.make(plain, draw)
        if made is not None and is_writable(made):
            able.append(one)
            yield Variant(one.name, one.same and _keeps_labels(made), made)
    found = 0
    while found < COMPOSED:
        # Half of all compositions are of what must be read.
        some = [one for one in able if one.same] if found % 2 else able
        chosen = draw.sample(some, draw.choice((2, 3)))
        if len({one.group for one in chosen}) < len(chosen):
            continue
        made = plain
        for one in sorted(chosen, key=lambda one: ORDER.get(one.group, 1)):
            made = None if made is None else one.make(made, draw)
        if made is not None and is_writable(made):
            found += 1
            same = all(one.same for one in chosen) and _keeps_labels(made)
            yield Variant(" + ".join(one.name for one in chosen), same, made)


def _keeps_labels(made: Any) -> bool:
    """Whether a second row of names, and the marks that go with it, have a place in its file."""
    return not isinstance(made, Sheet) or not made.labels or made.packing not in TYPED


ORDER = {"spelling": 3, "packing": 2, "encoding": 0}
"""What is done first and last: containers last but for the names."""
