"""Whether the files in ``formats``, beside a release, hold what the release does.

They are written from it: so they are written once more, elsewhere, and compared. Other versions of
the libraries write other bytes, so that files that differ are read back and compared by what they
hold.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from geodp.errors import Rule, UsageError, printable
from geodp.io.crs import same_crs
from geodp.io.folder.exports import find_exports, list_files
from geodp.io.folder.manifest import BESIDE, SUMS, read_sums, sha256
from geodp.io.opening import open_parquet, open_raster, parse_json, read_json, strange_entry
from geodp.io.read.rows.columns import InputTable, file_columns, open_tables
from geodp.io.read.rows.forms.geometry import find_geometry
from geodp.io.verify.card import require
from geodp.io.write.format import Export
from geodp.io.write.geometry import geometry_crs, has_geometry, same_geo_metadata
from geodp.io.write.view import View
from geodp.table.card import Card

OPAQUE = {"pmtiles": "GDAL"}
"""Formats that geodp does not read, and what their bytes depend on."""

OpenView: TypeAlias = Callable[[Path], View]
"""From the folder of a release to what is exported of it."""


def has_formats(folder: Path) -> bool:
    """Whether other formats stand beside the public folder of a release."""
    return folder.name == "public" and (folder.parent / BESIDE).exists()


def ask_formats(open_view: OpenView | None, folder: Path, card: Card) -> str:
    """Ask for every file that a format has, and for what the release holds in each.

    Parameters
    ----------
    open_view : callable or None
        None: checksums alone are asked.
    folder : path
        Of the public files.
    card : Card
    """
    beside = folder.parent / BESIDE
    require(
        strange_entry(beside) is None,
        Rule("folder-has-link", "There is a link or a device in the folder."),
    )
    there = {path.relative_to(beside).as_posix() for path in beside.rglob("*") if path.is_file()}
    sums = read_sums(beside)
    require(
        there == {SUMS, *sums},
        Rule("formats-files-unlisted", f"{BESIDE}/{SUMS} lists other files than there are."),
    )
    for name, digest in sums.items():
        require(
            sha256(beside / name) == digest,
            Rule("file-changed-since-written", f"{name} was changed: its SHA-256 differs."),
        )
    if open_view is None:
        return f"all {len(sums)} files have the listed SHA-256; what they hold is not checked"
    views = open_view(folder).with_levels()
    left, same, unchecked = {*sums}, [], []
    for name, one in find_exports().items():
        if f"{card.name}.{one.ending}" not in left or one.why_not(views[0]) is not None:
            continue
        files = dict(list_files(views, one))
        require(
            not {*files} - left, Rule("format-file-missing", f"A level lacks its file of {name}.")
        )
        left -= {*files}
        why = _compare(beside, one, files)
        same += [] if why else [name]
        unchecked += [f"{name} ({why})"] if why else []
    strange = ", ".join(map(printable, sorted(left)))
    require(
        not left, Rule("formats-unknown", f"No format of this release has these files: {strange}.")
    )
    said = [f"{', '.join(same)}: what the release holds"] if same else []
    return "; ".join([*said, *(f"not checked: {one}" for one in unchecked)])


def _compare(beside: Path, one: Export, files: dict[str, View]) -> str:
    """Compare the files of a format with those of the release; why they cannot be, or empty."""
    with TemporaryDirectory(prefix="geodp-") as again:
        for name, view in files.items():
            path = Path(again, name)
            try:
                one.write(view, path)
            except UsageError as error:  # a library is not there
                return str(error).rstrip(".")
            found = beside / name
            if sha256(path) == sha256(found):
                continue
            if one.name in OPAQUE:
                return f"{found.name} has other bytes than {OPAQUE[one.name]} here writes"
            ask = _READ_BACK.get(one.ending)  # texts of other bytes hold other things
            require(
                ask is not None and ask(found, path, view),
                Rule("format-holds-otherwise", f"{name} does not hold what the release does."),
            )
    return ""


def _same_parquet(found: Path, expected: Path, view: View) -> bool:
    """Whether Parquet files have the same rows, however they are compressed, in the same place."""
    one, other = (open_parquet(path).read() for path in (found, expected))
    geo = (one.schema.metadata or {}).get(b"geo")
    placed = not has_geometry(view.table.grid) or (
        geo is not None and same_geo_metadata(parse_json(geo), view.table.grid)
    )
    return placed and bool(one.combine_chunks().equals(other.combine_chunks()))


def _same_features(found: Path, expected: Path, view: View) -> bool:
    """Whether layers have the same fields and features, in any order, in the same place."""
    one, other = (next(open_tables(path)) for path in (found, expected))
    if file_columns(one) != file_columns(other):
        return False
    first, last = (_sorted(table) for table in (one, other))
    return bool(first.equals(last)) and find_geometry(one).crs == find_geometry(other).crs


def _same_document(found: Path, expected: Path, view: View) -> bool:
    """Whether documents of JSON have the same values."""
    return bool(read_json(found) == read_json(expected))


def _same_cells(found: Path, expected: Path, view: View) -> bool:
    """Whether workbooks have the same rows on their first sheet."""
    one, other = (next(open_tables(path, header_row=1)) for path in (found, expected))
    return file_columns(one) == file_columns(other) and bool(_sorted(one).equals(_sorted(other)))


def _sorted(table: InputTable) -> Any:
    """Return all rows in the order of their values."""
    names = [*map(str, range(len(file_columns(table))))]
    batches = table.arrays(range(len(names)))
    rows = pa.concat_tables(pa.table(arrays, names) for arrays in batches)
    keys = [field.name for field in rows.schema if not pa.types.is_binary(field.type)]
    return rows.sort_by([(name, "ascending") for name in keys]).combine_chunks()


def _same_pixels(found: Path, expected: Path, view: View) -> bool:
    """Whether NetCDF files have the same numbers in the same place."""
    with open_raster(found, "netcdf") as one, open_raster(expected, "netcdf") as other:
        headers = ((r.shape, r.count, r.dtypes, r.nodata, r.crs) for r in (one, other))
        return (
            str(next(headers)) == str(next(headers))
            and bool(one.transform.almost_equals(other.transform))
            and np.array_equal(one.read(), other.read(), equal_nan=one.dtypes[0][0] == "f")
        )


def _same_item(found: Path, expected: Path, view: View) -> bool:
    """Whether STAC items say the same; PROJ's versions write a CRS in other words."""
    one, other = read_json(found), read_json(expected)
    written = one["properties"].pop("proj:projjson")
    del other["properties"]["proj:projjson"]
    return bool(one == other) and same_crs(written, geometry_crs(view.table.grid))


_READ_BACK: dict[str, Callable[[Path, Path, View], bool]] = {
    **dict.fromkeys(("gpkg", "fgb"), _same_features),
    "parquet": _same_parquet,
    "nc": _same_pixels,
    "geojson": _same_document,
    "stac.json": _same_item,
    "xlsx": _same_cells,
}
