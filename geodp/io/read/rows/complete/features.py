"""Completeness checks for files of features, and the number of features that GDAL must read."""

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
class DeclaredFeatures:
    """Numbers of features that a file declares.

    Attributes
    ----------
    features : int
        Features to be read.
    deleted : int
        Records of dBASE marked as deleted, which are not read.
    """

    features: int
    deleted: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The numbers as facts."""
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
    """Refuse numbers of chosen fields that GDAL would misread: :func:`check_numbers`.

    ``path, kind, member`` are those of :func:`check_features`; ``names`` are those of all
    fields, in order. Only tables of dBASE store numbers as texts.
    """
    if kind in ("zipped shapefile", "shapefile", "dbf"):
        with _open_parts(path, member) as parts:
            check_numbers(parts, names, chosen)


def check_features(path: str | os.PathLike[str], kind: str, member: str = "") -> DeclaredFeatures:
    """Compare the features that a file declares with its content.

    Parameters
    ----------
    kind : str
        "geopackage", "flatgeobuf", "shapefile", "zipped shapefile" or "dbf".
    member : str
        The .shp in an archive.

    Returns
    -------
    DeclaredFeatures
        0 features for a GeoPackage, whose layers are counted by :func:`count_features`.

    Raises
    ------
    InputError
        The file, or one that belongs to it, is shorter or longer than it declares.
    OSError, EOFError, zlib.error, zipfile.BadZipFile
        It cannot be read.
    """
    # Which layer is read is not chosen yet, so its features are counted later.
    if kind == "geopackage":
        check_geopackage(path)
        return DeclaredFeatures(0)
    if kind == "flatgeobuf":
        return DeclaredFeatures(check_flatgeobuf(path))
    with _open_parts(path, member) as parts:
        records = check_dbf(parts) if kind == "dbf" else check_shapefile(parts)
    return DeclaredFeatures(records.declared - records.deleted, records.deleted)


@contextmanager
def _open_parts(path: str | os.PathLike[str], member: str) -> Iterator[ShapefileParts]:
    """Open the parts of a shapefile or dBASE table, from files or an archive."""
    if not member:
        yield parts_of_files(path)
        return
    with zipfile.ZipFile(path) as archive:
        yield parts_of_archive(os.fspath(path), archive, member)
