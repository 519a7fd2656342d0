"""Check that the files in ``formats`` beside a release hold what the release does.

Each file is written once more to a temporary folder and compared. As other versions of the
libraries write other bytes, files that differ are read back and compared by their contents.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from geodp.errors import Rule, UsageError, printable
from geodp.grid.crs import same_crs
from geodp.grid.grid import Grid
from geodp.io.folder.formats import find_exports, list_files
from geodp.io.folder.manifest import FORMATS, SUMS, read_sums
from geodp.io.opening import read_json, strange_entry
from geodp.io.read.rows.columns import InputTable, file_columns, open_tables
from geodp.io.read.rows.forms.geometry import find_geometry
from geodp.io.read.rows.forms.vector import find_extent
from geodp.io.verify.card import require
from geodp.io.verify.files import require_unchanged
from geodp.io.verify.rewritten import is_rewritten
from geodp.io.verify.written import OpenView
from geodp.io.write.format import Export
from geodp.io.write.geometry import geometry_crs
from geodp.io.write.view import View
from geodp.table.card import Card

OPAQUE = {"pmtiles": "GDAL"}
"""Formats that geodp cannot read back, and the library that their bytes depend on."""


def check_formats(open_view: OpenView | None, folder: Path, card: Card) -> str:
    """Require every file of every format to be there, and to hold what the release does.

    Parameters
    ----------
    open_view : callable or None
        None: only checksums are checked.
    folder : path
        The public folder.
    card : Card
    """
    formats = folder.parent / FORMATS
    require(
        strange_entry(formats) is None,
        Rule("folder-has-link", "There is a link or a device in the folder."),
    )
    there = {path.relative_to(formats).as_posix() for path in formats.rglob("*") if path.is_file()}
    sums = read_sums(formats)
    require(
        there == {SUMS, *sums},
        Rule("formats-files-unlisted", f"{FORMATS}/{SUMS} lists other files than there are."),
    )
    said = require_unchanged(formats, sums)
    if open_view is None:
        return f"{said}; what they hold is not checked"
    views = open_view(folder).with_levels()
    # What is left at the end is of no format, and was put there by somebody else.
    left, same, unchecked = {*sums}, [], []
    for name, one in find_exports().items():
        if f"{card.name}.{one.ending}" not in left or one.why_not(views[0]) is not None:
            continue
        files = dict(list_files(views, one))
        require(
            not {*files} - left, Rule("format-file-missing", f"A level lacks its file of {name}.")
        )
        left -= {*files}
        why = _compare(formats, one, files)
        same += [] if why else [name]
        unchecked += [f"{name} ({why})"] if why else []
    strange = ", ".join(map(printable, sorted(left)))
    require(
        not left, Rule("formats-unknown", f"No format of this release has these files: {strange}.")
    )
    agreeing = [f"{', '.join(same)}: what the release holds"] if same else []
    return "; ".join([*agreeing, *(f"not checked: {one}" for one in unchecked)])


def _compare(formats: Path, one: Export, files: dict[str, View]) -> str:
    """Compare the files of a format with the release; return why that is impossible, or ""."""
    with TemporaryDirectory(prefix="geodp-") as again:
        for name, view in files.items():
            path = Path(again, name)
            try:
                one.write(view, path)
            except UsageError as error:  # the library that writes it is not installed
                return str(error).rstrip(".")
            existing, grid = formats / name, view.table.grid
            if is_rewritten(existing, path, grid, worded=False):
                continue
            if one.name in OPAQUE:
                return f"{existing.name} has other bytes than {OPAQUE[one.name]} here writes"
            is_same = _READ_BACK.get(one.ending)
            require(
                is_same is not None and is_same(existing, path, grid),
                Rule("format-holds-otherwise", f"{name} does not hold what the release does."),
            )
    return ""


def _same_features(existing: Path, expected: Path, grid: Grid) -> bool:
    """Return whether layers have the same fields, extent, CRS and features, in any order."""
    one, other = (next(open_tables(path)) for path in (existing, expected))
    return (
        _same_rows(one, other)
        and find_extent(existing) == find_extent(expected)
        and find_geometry(one).crs == find_geometry(other).crs
    )


def _same_cells(existing: Path, expected: Path, grid: Grid) -> bool:
    """Return whether workbooks have the same rows on their first sheet."""
    return _same_rows(*(next(open_tables(path, header_row=1)) for path in (existing, expected)))


def _same_rows(one: InputTable, other: InputTable) -> bool:
    """Return whether tables have the same columns and rows, in any order of the rows."""
    return file_columns(one) == file_columns(other) and bool(_sorted(one).equals(_sorted(other)))


def _sorted(table: InputTable) -> Any:
    """Sort all rows by their values, as writers may reorder features."""
    names = [*map(str, range(len(file_columns(table))))]
    batches = table.arrays(range(len(names)))
    rows = pa.concat_tables(pa.table(arrays, names) for arrays in batches)
    keys = [field.name for field in rows.schema if not pa.types.is_binary(field.type)]
    return rows.sort_by([(name, "ascending") for name in keys]).combine_chunks()


def _same_item(existing: Path, expected: Path, grid: Grid) -> bool:
    """Return whether STAC items are equal, but for how PROJ's versions write a CRS."""
    one, other = read_json(existing), read_json(expected)
    # Versions of PROJ differ in how they write a CRS, and in nothing else of an item.
    written = one["properties"].pop("proj:projjson")
    del other["properties"]["proj:projjson"]
    return bool(one == other) and same_crs(written, geometry_crs(grid))


def _same_matrices(existing: Path, expected: Path, grid: Grid) -> bool:
    """Return whether OMX files have the same matrices, lookups and attributes, and nothing else."""
    import h5py

    with h5py.File(existing, "r") as one, h5py.File(expected, "r") as other:
        found, wanted = _list_arrays(one), _list_arrays(other)
        return found == wanted and all(
            np.array_equal(one[name][start : start + rows], other[name][start : start + rows])
            for name, (*_, shape) in wanted.items()
            if shape
            # A few rows at a time: a matrix may be larger than the memory.
            for rows in (max(1, PIXELS // shape[-1]),)
            for start in range(0, shape[0], rows)
        )


def _list_arrays(file: Any) -> dict[str, tuple[Any, ...]]:
    """List what an HDF5 file holds by name: kind, attributes, type and shape."""
    import h5py

    listed: dict[str, tuple[Any, ...]] = {}
    groups = [("/", file)]
    for path, group in groups:
        listed[path] = ("group", _list_attributes(group), "", ())
        for name in group:
            at = f"{path}{name}"
            item = group.get(name)
            # A link, or an array of another file, could show what this file does not hold.
            if not isinstance(group.get(name, getlink=True), h5py.HardLink) or item is None:
                listed[at] = ("link", {}, "", ())
            elif isinstance(item, h5py.Group):
                groups.append((f"{at}/", item))
            else:
                kind = "elsewhere" if item.is_virtual or item.external else "array"
                listed[at] = (kind, _list_attributes(item), str(item.dtype), item.shape)
    return listed


def _list_attributes(item: Any) -> dict[str, Any]:
    """Return the attributes of a group or an array as plain values."""
    return {name: np.asarray(value).tolist() for name, value in item.attrs.items()}


PIXELS = 1 << 22
"""Numbers of a matrix that are compared at once."""

_READ_BACK: dict[str, Callable[[Path, Path, Grid], bool]] = {
    "fgb": _same_features,
    "stac.json": _same_item,
    "omx": _same_matrices,
    "xlsx": _same_cells,
}
