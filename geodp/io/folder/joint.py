"""Files of all tables of a release together, with the entries by which an index lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geodp.io.folder.manifest import sha256
from geodp.io.write import csv, geopackage, parquet
from geodp.io.write.view import View
from geodp.table.card import File, LeftOut
from geodp.table.index import Joint

FORMATS = {
    "csv": (csv.MEDIA_TYPE, csv.write_csv),
    "parquet": (parquet.MEDIA_TYPE, parquet.write_parquet),
    "gpkg": (geopackage.MEDIA_TYPE, geopackage.write_geopackage),
}
"""Media types and writers of tables by the endings of files."""


def list_file(path: Path, media_type: str, what: str, **extras: Any) -> File:
    """Return the entry of a written file; ``extras``: further facts about it."""
    return File(
        name=path.name, media_type=media_type, what=what, extras=extras, sha256=sha256(path)
    )


def write_rows(view: View, name: str, folder: Path, what: str, **extras: Any) -> Joint:
    """Write a table in every format that its grid can have; return the entries of the files.

    Parameters
    ----------
    view : View
    name : str
        Of the files, without their endings.
    folder : Path
    what : str
        Description of the rows.
    **extras
        Facts about each file, besides its columns.
    """
    why, files = geopackage.why_no_geopackage(view.table.grid), list[File]()
    for ending, (media_type, write) in FORMATS.items():
        if ending == "gpkg" and why is not None:
            continue
        path, columns, more = folder / f"{name}.{ending}", view.columns, ""
        write(view, path)
        if ending == "csv" and csv.is_marked(path):
            more = "; begins with the byte order mark of UTF-8"
        if ending != "csv" and view.located:
            more, columns = "; with the outlines of the cells", (*columns, "geometry")
        files.append(list_file(path, media_type, what + more, columns=columns, **extras))
        if ending == "csv":
            types = csv.types_entry(name)
            files.append(list_file(folder / types.name, types.media_type, types.what))
    return tuple(files), () if why is None else (LeftOut(f"{name}.gpkg", why),)
