"""Files of a release compared with those that geodp writes again from what the release holds."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.crs import same_crs
from geodp.grid.grid import Grid
from geodp.io.folder.manifest import sha256
from geodp.io.opening import open_base, open_parquet, open_raster, parse_json, read_json
from geodp.io.verify.card import require
from geodp.io.verify.chunks import read_groups
from geodp.io.verify.readback import BROKEN
from geodp.io.write.drawing.render import read_png
from geodp.io.write.geometry import same_geo_metadata
from geodp.io.write.geopackage import quote
from geodp.io.write.pixels import windows
from geodp.io.write.tables import HIGH, LOW, ROW_GROUP
from geodp.io.write.view import View
from geodp.table.index import Joint
from geodp.table.plain import write_plain


def check_rewritten(
    folder: Path,
    listed: Joint,
    write: Callable[[Path], Joint],
    grid: Grid,
    *,
    pictures: bool = True,
) -> str:
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
    pictures : bool
        Whether pictures are compared, too, and not only listed.
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
                is_rewritten(folder / name, Path(again, name), grid)
                or (name.endswith(".png") and not pictures),
                Rule("index-joint-differs", f"{name} does not hold what the tables do."),
            )
    return ", ".join(one.name for one in expected)


def has_bundled_letters(view: View) -> bool:
    """Test whether the bundled font has all letters of a picture.

    Which other fonts there are differs between machines, and so do pictures.
    """
    card, grid = view.card, view.table.grid
    said = [
        view.texts,
        card.name,
        view.counted,
        json.dumps(write_plain(card.metadata), ensure_ascii=False),
    ]
    return "".join([*said, *grid.axis_names]).isascii()


def is_rewritten(written: Path, own: Path, grid: Grid, *, worded: bool = True) -> bool:
    """Test whether a file is the one that was written again, of the same name.

    Only of formats whose libraries write other bytes in other versions, the contents are compared.

    Parameters
    ----------
    written, own : path
        The file of the release, and the one that was written again.
    grid : Grid
        Where its cells lie.
    worded : bool
        Whether files say the same of their rows or pixels. Otherwise these and their place are
        compared, in the formats that have any, and of a raster in the bands that ``own`` has.
    """
    if sha256(written) == sha256(own):
        return True
    same = _SAME.get(written.suffix)
    try:
        return same is not None and same(written, own, grid, worded)
    except MemoryError:
        raise
    except (*BROKEN, csv.Error):
        return False


def _same_parquet(one: Path, other: Path, grid: Grid, worded: bool) -> bool:
    """Test whether Parquet files have the same rows, and say the same of them.

    See :func:`is_rewritten`; no more than a row group of one column is in memory.
    """
    with ExitStack() as stack:
        files = [open_parquet(path) for path in (one, other)]
        for file in files:
            # Threads of Arrow may hold a file a moment longer, and then Windows keeps its folder.
            stack.callback(file.close, force=True)
        first, last = (file.schema_arrow for file in files)
        if not first.equals(last) or not _same_metadata(first, last, grid, worded):
            return False
        # The footers are compared first: few bytes may say that they are any number of rows.
        if files[0].metadata.num_rows != files[1].metadata.num_rows:
            return False
        return all(
            piece.equals(expected)
            for name in first.names
            for piece, expected in zip(*(_pieces(file, name) for file in files), strict=True)
        )


def _pieces(file: Any, name: str) -> Iterator[Any]:
    """Yield a column of a Parquet file in pieces of one size, whatever its row groups."""
    left = None
    for rows in read_groups(file, [name]):
        column = rows[name]
        # Dictionaries of row groups differ with what is in them.
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        left = column if left is None else pa.chunked_array([*left.chunks, *column.chunks])
        while len(left) >= ROW_GROUP:
            yield left.slice(0, ROW_GROUP)
            left = left.slice(ROW_GROUP)
    if left is not None and len(left):
        yield left


def _same_metadata(first: Any, last: Any, grid: Grid, worded: bool) -> bool:
    """Test whether schemas of Parquet files say the same of their rows."""
    said, expected = ({**(schema.metadata or {})} for schema in (first, last))
    # Versions of PROJ write one CRS in other words, so that it is compared by meaning.
    geo, own = said.pop(b"geo", None), expected.pop(b"geo", None)
    if geo != own and (geo is None or own is None or not same_geo_metadata(parse_json(geo), grid)):
        return False
    return not worded or (said == expected and _list_notes(first) == _list_notes(last))


def _list_notes(schema: Any) -> list[tuple[str, dict[bytes, bytes]]]:
    """List what a schema says of single columns, but for the numbers that Parquet gives them."""
    return [
        (
            field.name,
            {k: v for k, v in (field.metadata or {}).items() if not k.startswith(b"PARQUET:")},
        )
        for field in schema
    ]


def _same_base(one: Path, other: Path, grid: Grid, worded: bool) -> bool:
    """Test whether GeoPackages have the same tables, rows and triggers, and nothing else."""
    # Whatever follows the last page is no part of the base, and nobody would see it.
    if one.stat().st_size != other.stat().st_size and worded:
        return False
    with open_base(one) as first, open_base(other) as last:
        if any(
            first.execute(question).fetchall() != last.execute(question).fetchall()
            for question in (PARTS_OF_BASE, "PRAGMA application_id", "PRAGMA user_version")
        ):
            return False
        names = last.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return all(
            row == expected or _same_row_of_base(name, row, expected, worded)
            for (name,) in names
            # The index of outlines is a table that SQLite computes from three others.
            for row, expected in zip_longest(
                *(base.execute(f"SELECT * FROM {quote(name)}") for base in (first, last))
            )
        )


def _same_row_of_base(table: str, row: Any, expected: Any, worded: bool) -> bool:
    """Test whether rows of a GeoPackage that differ say the same."""
    if None in (row, expected):
        return False
    # Versions of PROJ write one CRS in other words, so that definitions are compared by meaning.
    if table == "gpkg_spatial_ref_sys":
        *values, definition, description = row
        *others, own, note = expected
        return (*values, description) == (*others, note) and same_crs(definition, own)
    if worded:
        return False
    # Of the contents, the identifier, the description and the time of change are words.
    return table == "gpkg_metadata" or (
        table == "gpkg_contents" and (*row[:2], *row[5:]) == (*expected[:2], *expected[5:])
    )


def _same_raster(one: Path, other: Path, grid: Grid, worded: bool) -> bool:
    """Test whether rasters have the same pixels and overviews, and say the same of them."""
    with open_raster(one) as first, open_raster(other) as last:
        said, expected = (describe_raster(raster) for raster in (first, last))
        if first.crs != last.crs or said["place"] != expected["place"]:
            return False
        if first.shape != last.shape or not has_bands(first, last.count):
            return False
        for numbers in ("nodatavals", "scales", "offsets"):
            # NaN is one of them, and no number is the same as that.
            if str(getattr(first, numbers)[: last.count]) != str(getattr(last, numbers)):
                return False
        if (worded and said != expected) or not _same_bands(first, last, windows(grid.places[0])):
            return False
        levels = len(last.overviews(1)) if worded else 0
    for level in range(levels):
        with (
            open_raster(one, overview=level) as first,
            open_raster(other, overview=level) as last,
        ):
            if first.shape != last.shape or not _same_bands(first, last, windows(last)):
                return False
    return True


def _same_bands(first: Any, last: Any, each: Iterable[Any]) -> bool:
    """Test whether rasters have the same pixels, in all bands of the second one."""
    return all(
        same_pixels(first.read(band, window=window), last.read(band, window=window), name)
        for window in each
        for band, name in zip(last.indexes, last.descriptions, strict=True)
    )


def has_bands(raster: Any, count: int) -> bool:
    """Test whether a raster has so many bands, and no others but the ends of intervals."""
    return bool(raster.count >= count) and all(map(_shows_ends, raster.descriptions[count:]))


def _shows_ends(band: str | None) -> bool:
    """Test whether a band shows the ends of intervals, by its description."""
    return (band or "").split(" ")[0] in (LOW, HIGH)


def same_pixels(written: NDArray[Any], expected: NDArray[Any], band: str | None) -> bool:
    """Test whether pixels of a band are equal; the ends of intervals but for their last digits."""
    if _shows_ends(band):
        return are_near(written, expected)
    expected = expected.astype(written.dtype, copy=False)
    return bool((written == expected).all()) or np.array_equal(written, expected, equal_nan=True)


def are_near(written: NDArray[np.floating[Any]], expected: NDArray[np.float64]) -> bool:
    """Test whether numbers are equal but for the digits that are not written."""
    # Nearly all arrays are equal, which takes a tenth of the time of a tolerance to check.
    if np.array_equal(written, expected.astype(written.dtype), equal_nan=True):
        return True
    return bool(np.allclose(written, expected, rtol=1e-6, atol=2e-3, equal_nan=True))


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


def _same_netcdf(one: Path, other: Path, grid: Grid, worded: bool) -> bool:
    """Test whether NetCDF files have the same variables and attributes, and the same CRS."""
    (first, said), (last, own) = (_read_netcdf(path) for path in (one, other))
    # Of one version of PROJ, files of the same counts have the same bytes.
    if worded and (None in (said, own) or said == own):
        return False
    return first == last and same_crs(said, own)


def _read_netcdf(path: Path) -> tuple[Any, str | None]:
    """Read all that a NetCDF holds but for its CRS and its history, and the definition of that."""
    from scipy.io import netcdf_file

    with netcdf_file(path, "r", mmap=False) as file:
        definition = getattr(file.variables.get("crs"), "crs_wkt", None)
        variables = {
            name: (
                *(one.dimensions, one.data.shape, one.data.dtype.str, one.data.tobytes()),
                # Texts on a CRS, such as names of its parts, are other ones in other versions.
                _list_attributes(one, texts=name != "crs"),
            )
            for name, one in file.variables.items()
        }
        content = dict(file.dimensions), variables, _list_attributes(file) | {"history": b""}
    return content, None if definition is None else definition.decode()


def _list_attributes(owner: Any, *, texts: bool = True) -> dict[str, bytes]:
    """List the attributes of a NetCDF or of a variable, which are those of its object."""
    kinds = (np.ndarray, np.generic, *([bytes] * texts))
    return {
        name: np.asarray(value).tobytes()
        for name, value in vars(owner).items()
        if name != "data" and isinstance(value, kinds)
    }


def _same_picture(one: Path, other: Path, *_: object) -> bool:
    """Test whether pictures have the same pixels and say the same, however they are packed."""
    first, last = (read_png(path) for path in (one, other))
    return first[0] == last[0] and np.array_equal(first[1], last[1])


def _same_document(one: Path, other: Path, *_: object) -> bool:
    """Test whether JSON documents have the same values."""
    return bool(read_json(one) == read_json(other))


def _same_texts(one: Path, other: Path, *_: object) -> bool:
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


REAL = re.compile(r"-?[0-9]{1,20}\.[0-9]{1,40}|-?[0-9](\.[0-9]{1,40})?[eE][-+]?[0-9]{1,3}")
"""Real numbers as Arrow writes them."""

PARTS_OF_BASE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
"""Tables, indices, views and triggers of a base."""

_SAME: dict[str, Callable[[Path, Path, Grid, bool], bool]] = {
    ".parquet": _same_parquet,
    ".gpkg": _same_base,
    ".tif": _same_raster,
    ".png": _same_picture,
    ".json": _same_document,
    ".geojson": _same_document,
    ".nc": _same_netcdf,
    ".csv": _same_texts,
}
"""Comparisons of files whose bytes depend on a library's version, by their ending."""
