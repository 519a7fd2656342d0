"""Completeness of GeoPackages: pages of the database, open journals, and counts of features."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

from geodp.errors import InputError, Rule
from geodp.io.opening import database_uri
from geodp.io.read.rows.complete.error import incomplete

CHUNK = 1 << 20
"""Bytes read at once."""

COUNTED = "SELECT feature_count FROM gpkg_ogr_contents WHERE lower(table_name) = lower(?)"

BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors of a damaged database; the second if the message of the first cannot be decoded."""

OPEN = Rule(
    "geopackage-open",
    "A program has the GeoPackage open, or was interrupted while writing: {} beside it holds a "
    "part of the data. Close the program, or open and close the file once in QGIS.",
)


def check_geopackage(path: str | os.PathLike[str]) -> None:
    """Compare a database's header with its size, and check every page.

    Raises
    ------
    InputError
        The size of the file does not match its pages, a page is damaged, or there is a journal with
        rows that would not be read.
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
    # A page of 65,536 bytes does not fit 16 bits and is written as 1.
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
            verdict = base.execute("PRAGMA quick_check(1)").fetchone()
        except BROKEN:
            verdict = None
    if verdict != ("ok",):
        raise incomplete(
            name, Rule("geopackage-database-damaged", "The database in the GeoPackage is damaged")
        )


def count_features(path: str | os.PathLike[str], layer: str) -> int:
    """Return the number of features in a layer, compared with the GeoPackage's own count.

    Raises InputError if the layer cannot be counted or the counts differ.
    """
    quoted = layer.replace('"', '""')
    with _opened(path) as base:
        try:
            (count,) = base.execute(f'SELECT COUNT(*) FROM "{quoted}"').fetchone()
            declared = None
            with contextlib.suppress(
                sqlite3.OperationalError
            ):  # no such table: an extension of GDAL's
                declared = base.execute(COUNTED, (layer,)).fetchone()
        except BROKEN:
            count = None
    if count is None:
        raise incomplete(
            os.fspath(path),
            Rule("geopackage-database-damaged", "The database in the GeoPackage is damaged"),
        )
    if declared is not None and declared[0] is not None and declared[0] != count:
        raise InputError(
            "The GeoPackage declares another number of features than its table has rows "
            "(feature_count in gpkg_ogr_contents); copy it again, or write it again (ogr2ogr).",
            file=os.fspath(path),
            code="geopackage-incomplete",
        )
    return int(count)


def _is_blank(path: str | os.PathLike[str], at: int) -> bool:
    """Return whether a file has only zeros from an offset on, as SQLite may reserve space."""
    with open(path, "rb") as stream:
        stream.seek(at)
        while chunk := stream.read(CHUNK):
            if chunk.count(0) != len(chunk):
                return False
    return True


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a database read-only and as immutable, so that no journal is replayed or created."""
    address = database_uri(Path(path).resolve())
    with contextlib.closing(sqlite3.connect(address, uri=True)) as base:
        base.execute("PRAGMA trusted_schema = OFF")
        yield base
