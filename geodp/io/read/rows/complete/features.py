"""Which check each form of features has, and how many of them GDAL must read."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from geodp.io.read.rows.complete.flatgeobuf import check_flatgeobuf
from geodp.io.read.rows.complete.geopackage import check_geopackage
from geodp.io.read.rows.complete.shapefile import (
    ShapefileParts,
    check_dbf,
    check_numbers,
    check_shapefile,
    parts_of_archive,
    parts_of_files,
)
from geodp.table.source import Fact


@dataclass(frozen=True)
class Declared:
    """What a file says of its features.

    Attributes
    ----------
    features : int
        Those that are to be read.
    deleted : int
        Records of dBASE that are marked as deleted, and are not read.
    """

    features: int
    deleted: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The same, as facts."""
        records = Fact("records declared", str(self.features + self.deleted), "file")
        if not self.deleted:
            return (records,)
        return (records, Fact("records marked as deleted, not read", str(self.deleted), "file"))


def check_fields(
    path: str | os.PathLike[str],
    kind: str,
    member: str,
    names: Sequence[str],
    chosen: Iterable[str],
) -> None:
    """Refuse numbers of chosen fields that GDAL would read in part: :func:`check_numbers`.

    ``path, kind, member``: as of :func:`check_features`; ``names``: of all fields, in their order.
    Only tables of dBASE have numbers as texts.
    """
    if kind in ("zipped shapefile", "shapefile", "dbf"):
        with _open_parts(path, member) as parts:
            check_numbers(parts, names, chosen)


def check_features(path: str | os.PathLike[str], kind: str, member: str = "") -> Declared:
    """Compare what a file of features declares with what is there.

    Parameters
    ----------
    kind : str
        "geopackage", "flatgeobuf", "shapefile", "zipped shapefile" or "dbf".
    member : str
        The .shp in an archive.

    Returns
    -------
    Declared
        Of a GeoPackage no features, as they are counted layer by layer: :func:`count_features`.

    Raises
    ------
    InputError
        The file, or one beside it, is shorter or longer than it says.
    OSError, EOFError, zlib.error, zipfile.BadZipFile
        It cannot be read.
    """
    if kind == "geopackage":
        check_geopackage(path)
        return Declared(0)
    if kind == "flatgeobuf":
        return Declared(check_flatgeobuf(path))
    with _open_parts(path, member) as parts:
        records = check_dbf(parts) if kind == "dbf" else check_shapefile(parts)
    return Declared(records.declared - records.deleted, records.deleted)


@contextmanager
def _open_parts(path: str | os.PathLike[str], member: str) -> Iterator[ShapefileParts]:
    if not member:
        yield parts_of_files(path)
        return
    with zipfile.ZipFile(path) as archive:
        yield parts_of_archive(os.fspath(path), archive, member)
