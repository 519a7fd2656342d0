"""Files of a release compared with those that geodp writes again from what the release holds."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.crs import same_crs
from geodp.io.folder.manifest import sha256
from geodp.io.opening import open_base, open_parquet, open_raster, parse_json, read_json
from geodp.io.verify.card import require
from geodp.io.write.drawing.png import read_png
from geodp.io.write.geometry import same_geo_metadata
from geodp.io.write.geopackage import SHAPE, name_index
from geodp.io.write.pixels import windows
from geodp.io.write.sqlite import quote
from geodp.table.index import Joint


def check_rewritten(folder: Path, listed: Joint, write: Callable[[Path], Joint], grid: Grid) -> str:
    """Require joint files to be those that a release makes, in every format; name them.

    Parameters
    ----------
    folder : path
    listed : Joint
        What the index lists.
    write : callable
        Writes the files again into a folder.
    grid : Grid
        Where their cells lie.
    """
    with TemporaryDirectory(prefix="geodp-") as again:
        expected, left_out = write(Path(again))
        require(
            [replace(one, sha256="") for one in listed[0]]
            == [replace(one, sha256="") for one in expected]
            and listed[1] == left_out,
            Rule("index-joint-missing", "The index lists other joint files than the release has."),
        )
        for name in (one.name for one in expected):
            require(
                is_rewritten(folder / name, Path(again, name), grid),
                Rule("index-joint-differs", f"{name} does not hold what the tables do."),
            )
    return ", ".join(one.name for one in expected)


def is_rewritten(written: Path, own: Path, grid: Grid) -> bool:
    """Test whether a file is the one that was written again, of the same name.

    Only of formats whose libraries write other bytes in other versions, the contents are compared.

    Parameters
    ----------
    written, own : path
        The file of the release, and the one that was written again.
    grid : Grid
        Where its cells lie.
    """
    if sha256(written) == sha256(own):
        return True
    same = _SAME.get(written.suffix)
    return same is not None and same(written, own, grid)


def _same_parquet(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether Parquet files have the same rows, and say the same of them."""
    files = [open_parquet(path) for path in (one, other)]
    first, last = (file.schema_arrow for file in files)
    if not first.equals(last) or not _same_metadata(first, last, grid):
        return False
    # The footers are compared first: few bytes may say that they are any number of rows.
    if files[0].metadata.num_rows != files[1].metadata.num_rows:
        return False
    read, expected = (file.read().combine_chunks() for file in files)
    return bool(read.equals(expected))


def _same_metadata(first: Any, last: Any, grid: Grid) -> bool:
    """Test whether schemas of Parquet files say the same of their rows."""
    if _list_notes(first) != _list_notes(last):
        return False
    said, expected = ({**(schema.metadata or {})} for schema in (first, last))
    # Versions of PROJ write one CRS in other words, so that it is compared by meaning.
    geo, own = said.pop(b"geo", None), expected.pop(b"geo", None)
    if geo != own and (geo is None or own is None or not same_geo_metadata(parse_json(geo), grid)):
        return False
    return said == expected


def _list_notes(schema: Any) -> list[tuple[str, dict[bytes, bytes]]]:
    """List what a schema says of single columns, but for the numbers that Parquet gives them."""
    return [
        (
            field.name,
            {k: v for k, v in (field.metadata or {}).items() if not k.startswith(b"PARQUET:")},
        )
        for field in schema
    ]


def _same_base(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether GeoPackages have the same tables, rows and triggers, and nothing else."""
    # Whatever follows the last page is no part of the base, and nobody would see it.
    if one.stat().st_size != other.stat().st_size:
        return False
    with open_base(one) as first, open_base(other) as last:
        return _same_tables(first, last, [])


def _same_tables(first: Any, last: Any, without: list[str]) -> bool:
    """Test whether bases have the same tables and triggers, and the same rows in all but some."""
    if any(
        first.execute(question).fetchall() != last.execute(question).fetchall()
        for question in (PARTS_OF_BASE, "PRAGMA application_id", "PRAGMA user_version")
    ):
        return False
    for name in [quote(name) for name in _list_tables(last) if name not in without]:
        # The index of outlines is a table that SQLite computes from three others.
        rows = (base.execute(f"SELECT * FROM {name}") for base in (first, last))
        for row, expected in zip_longest(*rows):
            if row != expected and not _same_crs(name, row, expected):
                return False
    return True


def _same_raster(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether rasters have the same pixels and overviews, and say the same of them."""
    with open_raster(one) as first, open_raster(other) as last:
        said, expected = (describe_raster(raster) for raster in (first, last))
        if said != expected or first.crs != last.crs:
            return False
        place = grid.places[0]
        if not _same_pixels(first, last, windows(place)):
            return False
        levels = len(last.overviews(1))
    for level in range(levels):
        with (
            open_raster(one, overview=level) as first,
            open_raster(other, overview=level) as last,
        ):
            if first.shape != last.shape or not _same_pixels(first, last, windows(last)):
                return False
    return True


def _same_pixels(first: Any, last: Any, each: Iterable[Any]) -> bool:
    """Test whether rasters have the same pixels in all bands."""
    return all(
        np.array_equal(
            first.read(band, window=window), last.read(band, window=window), equal_nan=True
        )
        for window in each
        for band in last.indexes
    )


def describe_raster(raster: Any) -> dict[str, Any]:
    """List what a raster says of its pixels, but for its CRS: its form, its bands and its tags.

    Texts stand for values of which NaN is one.
    """
    # GDAL adds a list of views on the raster, which names its path.
    spaces = sorted({*raster.tag_namespaces()} - {"DERIVED_SUBDATASETS"})
    return {
        "form": (raster.driver, raster.shape, raster.count, raster.dtypes, raster.subdatasets),
        "place": (raster.transform, raster.gcps[0], raster.rpcs),
        "numbers": (str(raster.nodatavals), raster.scales, raster.offsets, raster.mask_flag_enums),
        "bands": (raster.descriptions, raster.units, raster.colorinterp),
        "storage": (raster.block_shapes, [raster.overviews(band) for band in raster.indexes]),
        "tags": raster.tags(),
        "more": {name: raster.tags(ns=name) for name in spaces},
        "spaces": spaces,
        "statistics": [raster.tags(band) for band in raster.indexes],
        "other": [raster.tag_namespaces(band) for band in raster.indexes],
    }


def _same_picture(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether pictures have the same pixels and say the same, however they are packed."""
    first, last = (read_png(path) for path in (one, other))
    return first[0] == last[0] and np.array_equal(first[1], last[1])


def _same_document(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether JSON documents have the same values."""
    return bool(read_json(one) == read_json(other))


def _same_texts(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether CSV files have the same rows, however versions of Arrow write real numbers."""
    with (
        one.open(encoding="utf-8", newline="") as first,
        other.open(encoding="utf-8", newline="") as last,
    ):
        rows = zip_longest(*(csv.reader(file, strict=True) for file in (first, last)))
        return all(row == own or _same_row(row, own) for row, own in rows)


def _same_row(row: list[str] | None, own: list[str] | None) -> bool:
    if row is None or own is None or len(row) != len(own):
        return False
    return all(
        one == other or _read_real(one) == _read_real(other)
        for one, other in zip(row, own, strict=True)
    )


def _read_real(text: str) -> float | str:
    """Read a real number; a text that is none stands for itself."""
    return float(text) if REAL.fullmatch(text) else text


def same_structure(one: Path, other: Path, grid: Grid, table: str, rows: int) -> bool:
    """Test whether files are equal but for the rows of their table, which other checks compare.

    Parameters
    ----------
    one, other : path
        The file of the release, and one with a few of its rows that was written again.
    grid : Grid
    table : str
        Name of the table, in files that have several.
    rows : int
        Number of its rows in the file of the release.
    """
    if one.suffix == ".parquet":
        first, last = (open_parquet(path).schema_arrow for path in (one, other))
        return first.equals(last) and _same_metadata(first, last, grid)
    if one.suffix == ".gpkg":
        return _same_structure_of_base(one, other, table, rows)
    return one.suffix == ".csv" or sha256(one) == sha256(other)


def _same_structure_of_base(one: Path, other: Path, table: str, size: int) -> bool:
    """Test whether GeoPackages are equal but for the rows of a layer and the index of these."""
    with open_base(one) as first, open_base(other) as last:
        # Whatever follows the last page is no part of the base, and nobody would see it.
        (pages,), (bytes_each,), (free,) = (
            first.execute(f"PRAGMA {name}").fetchone()
            for name in ("page_count", "page_size", "freelist_count")
        )
        if one.stat().st_size != pages * bytes_each or free:
            return False
        index = name_index(table)
        rows = [table, index, *(f"{index}_{part}" for part in ("rowid", "parent", "node"))]
        # SQLite keeps the largest number of a row of each table.
        stored, expected = (
            dict(base.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
            for base in (first, last)
        )
        if stored != ({**expected, table: size} if table in expected else expected):
            return False
        return _has_whole_index(first, table) and _same_tables(
            first, last, [*rows, "sqlite_sequence"]
        )


def _has_whole_index(base: Any, table: str) -> bool:
    """Test whether the index of outlines lists every row, and every node but the root."""
    tables = (quote(f"{name_index(table)}_{part}") for part in ("rowid", "parent", "node"))
    listed, below, nodes = (
        base.execute(f"SELECT count(*) FROM {one}").fetchone()[0] for one in tables
    )
    located = f"SELECT count({quote(SHAPE)}) FROM {quote(table)}"
    return bool((listed, below) == (base.execute(located).fetchone()[0], nodes - 1))


def _list_tables(base: Any) -> list[str]:
    """List the tables of a base."""
    names = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return [name for (name,) in names]


def _same_crs(table: str, row: Any, expected: Any) -> bool:
    """Test whether rows name one CRS, whose definition versions of PROJ write differently."""
    if table != quote("gpkg_spatial_ref_sys") or None in (row, expected):
        return False
    *values, definition, description = row
    *others, own, note = expected
    return (*values, description) == (*others, note) and same_crs(definition, own)


REAL = re.compile(r"-?[0-9]{1,20}\.[0-9]{1,40}|-?[0-9](\.[0-9]{1,40})?[eE][-+]?[0-9]{1,3}")
"""Real numbers as Arrow writes them."""

PARTS_OF_BASE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
"""Tables, indices, views and triggers of a base."""

_SAME: dict[str, Callable[[Path, Path, Grid], bool]] = {
    ".parquet": _same_parquet,
    ".gpkg": _same_base,
    ".tif": _same_raster,
    ".png": _same_picture,
    ".json": _same_document,
    ".csv": _same_texts,
}
"""How files are compared whose bytes depend on a library's version."""
