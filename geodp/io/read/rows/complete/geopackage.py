"""GeoPackages: the database's pages, what a writer has not finished, and the layer's own count."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.error import incomplete

CHUNK = 1 << 20
"""Bytes that are read at once."""

COUNTED = "SELECT feature_count FROM gpkg_ogr_contents WHERE lower(table_name) = lower(?)"

BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What a damaged database raises; the second where the words of the first cannot be decoded."""

OPEN = Rule(
    "geopackage-open",
    "A program has the GeoPackage open, or broke off while it wrote: {} stands beside it and holds "
    "a part of the data. Close the program, or open and close the file once in QGIS.",
)


def check_geopackage(path: str | os.PathLike[str]) -> None:
    """Compare a database's header with its size, and look into every page of it.

    Raises
    ------
    InputError
        The file has another size than its pages; a page is damaged; or a journal that is not empty
        stands beside it, whose rows would not be read.
    """
    name = os.fspath(path)
    for ending in ("-wal", "-journal"):
        other = Path(f"{name}{ending}")
        if other.is_file() and other.stat().st_size:
            raise InputError(OPEN.format(f"{Path(name).name}{ending}"), file=name)
    size = os.path.getsize(path)
    with open(path, "rb") as stream:
        head = stream.read(100)
    if len(head) < 100:
        raise incomplete(
            name, Rule("geopackage-ends-in-header", "The GeoPackage ends in its header")
        )
    (page,), (changed, pages), (valid,) = (
        struct.unpack(">H", head[16:18]),
        struct.unpack(">2L", head[24:32]),
        struct.unpack(">L", head[92:96]),
    )
    page = 1 << 16 if page == 1 else page
    # Programs older than 2010 leave the number of pages as it was.
    wanted = pages * page if changed == valid and pages else size // max(page, 1) * page
    if not page or size < wanted or not _is_blank(path, wanted):
        raise incomplete(
            name,
            Rule(
                "geopackage-size-differs",
                "The GeoPackage is shorter or longer than its header says",
            ),
        )
    with _opened(path) as base:
        try:
            found = base.execute("PRAGMA quick_check(1)").fetchone()
        except BROKEN:
            found = None
    if found != ("ok",):
        raise incomplete(
            name, Rule("geopackage-database-damaged", "The database in the GeoPackage is damaged")
        )


def count_features(path: str | os.PathLike[str], layer: str) -> int:
    """Return how many features a layer has, by the GeoPackage's own count where it has one.

    Raises InputError for a layer that cannot be counted.
    """
    quoted = layer.replace('"', '""')
    with _opened(path) as base:
        try:
            (count,) = base.execute(f'SELECT COUNT(*) FROM "{quoted}"').fetchone()
            told = None
            with contextlib.suppress(
                sqlite3.OperationalError
            ):  # no such table: an extension of GDAL's
                told = base.execute(COUNTED, (layer,)).fetchone()
        except BROKEN:
            count = None
    if count is None:
        raise incomplete(
            os.fspath(path),
            Rule("geopackage-database-damaged", "The database in the GeoPackage is damaged"),
        )
    if told is not None and told[0] is not None and told[0] != count:
        raise InputError(
            "The GeoPackage states another number of features than its table has rows "
            "(feature_count in gpkg_ogr_contents); copy it again, or write it anew (ogr2ogr).",
            file=os.fspath(path),
            code="geopackage-incomplete",
        )
    return int(count)


def _is_blank(path: str | os.PathLike[str], at: int) -> bool:
    """Return whether a file is nothing but zeros from a place on, as SQLite may take room ahead."""
    with open(path, "rb") as stream:
        stream.seek(at)
        while chunk := stream.read(CHUNK):
            if chunk.count(0) != len(chunk):
                return False
    return True


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    address = f"{Path(path).resolve().as_uri()}?mode=ro&immutable=1"
    with contextlib.closing(sqlite3.connect(address, uri=True)) as base:
        base.execute("PRAGMA trusted_schema = OFF")
        yield base
