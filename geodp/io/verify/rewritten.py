"""Files of a release compared with those that geodp writes again from what the release holds."""

from __future__ import annotations

from collections.abc import Callable
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
from geodp.io.opening import open_base, open_parquet, open_raster, parse_json, read_parquet
from geodp.io.verify.card import require
from geodp.io.write.geometry import same_geo_metadata
from geodp.io.write.pixels import windows
from geodp.io.write.sqlite import quote
from geodp.table.card import File, LeftOut

Written = tuple[tuple[File, ...], tuple[LeftOut, ...]]
"""Entries of joint files in an index, and what was left out."""


def check_rewritten(
    folder: Path, listed: Written, write: Callable[[Path], Written], grid: Grid
) -> str:
    """Require joint files to be those that a release makes, in every format; name them.

    Parameters
    ----------
    folder : path
    listed : Written
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
    last = open_parquet(other).read()
    first = read_parquet(one, last.num_rows)
    said, expected = ({**(table.schema.metadata or {})} for table in (first, last))
    # Versions of PROJ write one CRS in other words, so that it is compared by meaning.
    geo, own = said.pop(b"geo", None), expected.pop(b"geo", None)
    located = geo is not None and same_geo_metadata(parse_json(geo), grid)
    return (
        said == expected
        and (located or geo is own is None)
        and bool(first.combine_chunks().equals(last.combine_chunks()))
    )


def _same_base(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether GeoPackages have the same tables, rows and triggers, and nothing else."""
    # Whatever follows the last page is no part of the base, and nobody would see it.
    if one.stat().st_size != other.stat().st_size:
        return False
    with open_base(one) as first, open_base(other) as last:
        if any(
            first.execute(question).fetchall() != last.execute(question).fetchall()
            for question in (PARTS_OF_BASE, "PRAGMA application_id", "PRAGMA user_version")
        ):
            return False
        names = first.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for name in [quote(name) for (name,) in names]:
            # The index of outlines is a table that SQLite computes from three others.
            rows = (base.execute(f"SELECT * FROM {name}") for base in (first, last))
            for row, expected in zip_longest(*rows):
                if row != expected and not _same_crs(name, row, expected):
                    return False
    return True


def _same_raster(one: Path, other: Path, grid: Grid) -> bool:
    """Test whether rasters have the same pixels, and say the same of them."""
    with open_raster(one) as first, open_raster(other) as last:
        return (
            first.profile == last.profile
            and first.tags() == last.tags()
            and (first.descriptions, first.units) == (last.descriptions, last.units)
            and all(
                first.tags(band) == last.tags(band)
                and np.array_equal(
                    first.read(band, window=window), last.read(band, window=window), equal_nan=True
                )
                for band in first.indexes
                for window in windows(grid.places[0])
            )
        )


def _same_crs(table: str, row: Any, expected: Any) -> bool:
    """Test whether rows name one CRS, whose definition versions of PROJ write differently."""
    if table != quote("gpkg_spatial_ref_sys") or None in (row, expected):
        return False
    *values, definition, description = row
    *others, own, note = expected
    return (*values, description) == (*others, note) and same_crs(definition, own)


PARTS_OF_BASE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
"""Tables, indices, views and triggers of a base."""

_SAME: dict[str, Callable[[Path, Path, Grid], bool]] = {
    ".parquet": _same_parquet,
    ".gpkg": _same_base,
    ".tif": _same_raster,
}
"""How files are compared whose bytes depend on a library's version."""
