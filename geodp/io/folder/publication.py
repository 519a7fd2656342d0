"""The files of a release: a consistent public folder, and a restricted one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp import progress
from geodp.errors import OutputError, UsageError
from geodp.io.folder.formats import find_formats
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import SUMS, WAITING, release_id, sha256, sums_text
from geodp.io.folder.pending import PENDING
from geodp.io.opening import read_json
from geodp.io.write import csv, geopackage, parquet, qgis_style
from geodp.io.write.csv import is_marked
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import geometry_kind
from geodp.io.write.qgis_style import qml
from geodp.io.write.view import View, keep_rows
from geodp.privacy.key import warn_access_unchecked
from geodp.table.card import File, LeftOut
from geodp.table.index import IndexCard, Joint
from geodp.table.plain import read_plain

RUN = "run.json"
"""Name of the operator's document inside ``restricted``."""

CONFIDENTIAL = (
    "CONFIDENTIAL. This folder is for the operator of the release and must not be published: "
    "differential privacy does not protect what it says about the run.\n"
)


def write_public(view: View, folder: Path) -> None:
    """Write every format that can hold the release, then the card, into an empty folder.

    ``view``: a view whose card has a name.

    Raises
    ------
    OutputError
        A format wrote files other than those that it lists.
    """
    with keep_rows(view, folder.parent) as stored:
        _write_formats(stored, folder)


def _write_formats(view: View, folder: Path) -> None:
    """Write the formats and the card."""
    files: list[File] = []
    left_out: list[LeftOut] = []
    name = view.name
    for one in find_formats():
        reason = one.unsupported(view)
        if reason is not None:
            left_out.append(LeftOut(f"{name}.{one.endings[0]}", reason))
            continue
        files += write_format(one, view, folder)
        # An unlisted file in the public folder would be published without a checksum or a
        # description.
        if {file.name for file in files} != {*os.listdir(folder)}:
            raise OutputError(
                f"The format {one.name} wrote files other than those that it lists.",
                code="format-wrote-other-files",
            )
        # The id is computed from the first format, so that files written later can carry it.
        if not view.card.release_id:
            identity = release_id(folder / f"{name}.csv", view.card.to_json())
            view = replace(view, card=replace(view.card, release_id=identity))
    card = replace(view.card, files=tuple(files), left_out=tuple(left_out))
    write_card(card, folder)


def write_format(one: Format, view: View, folder: Path) -> Iterator[File]:
    """Write the files of a format; yield the card's entry for each."""
    name = view.name
    names = {f"{name}.{ending}" for ending in one.endings}
    for entry in one.write(view, folder):
        path = folder / entry.name
        if (one.endings and entry.name not in names) or not path.is_file():
            raise OutputError(
                f"The format {one.name} lists a file that is none of its own.",
                code="format-lists-own-files",
            )
        yield replace(describe_entry(entry, folder), sha256=sha256(path))


def describe_entry(entry: Entry, folder: Path) -> File:
    """Return the card's entry for a file that was written into a folder, without its digest."""
    what = entry.what
    # Formats do not know whether text was beyond ASCII, so the card reports what is in the file.
    if entry.media_type.startswith("text/csv") and is_marked(folder / entry.name):
        what += "; begins with the byte order mark of UTF-8"
    plain = {"name": entry.name, "media_type": entry.media_type, "what": what, **entry.details}
    read = read_plain(File, {**plain, "sha256": "0" * 64}, f"file {entry.name}")
    return replace(read, sha256="")


def write_card(card: Any, folder: Path) -> None:
    """Write a card of any kind, and the checksums of all files that it lists, into their folder."""
    (folder / CARD).write_bytes(card_bytes(card.to_json()))
    sums = {**card.listed, CARD: sha256(folder / CARD)}
    (folder / SUMS).write_text(sums_text(sums), encoding="utf-8", newline="\n")


def write_member(view: View, folder: Path) -> tuple[str, str]:
    """Write one of several releases into a new folder; return its id, and the digest of its card.

    Parameters
    ----------
    view : View
    folder : Path
    """
    progress.begin("Writing", public=True)
    folder.mkdir()
    write_public(view, folder)
    return read_json(folder / CARD)["release_id"], sha256(folder / CARD)


def write_index(folder: Path, index: IndexCard) -> None:
    """Write the index of several releases, and the checksums of all files in their folder."""
    (folder / index.file).write_bytes(card_bytes(index.to_json()))
    every = (path for path in folder.rglob("*") if path.is_file())
    sums = {path.relative_to(folder).as_posix(): sha256(path) for path in every}
    # Written last, as it covers the index.
    (folder / SUMS).write_text(sums_text(sums), encoding="utf-8", newline="\n")


def card_bytes(values: dict[str, Any]) -> bytes:
    """Encode a card or an index, as published.

    Raises UsageError for text that is not UTF-8, for example typed in another encoding.
    """
    try:
        return json_text(values).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            "A name, label or source in the card of the release is not UTF-8; write it in UTF-8, "
            "as public files hold no other text.",
            code="card-not-utf8",
        ) from None


def json_text(values: dict[str, Any]) -> str:
    """Format plain values as JSON for people and programs."""
    return json.dumps(values, ensure_ascii=False, indent=2, default=str) + "\n"


def make_restricted(folder: Path, path: str | Path, *, again: bool = False) -> Path:
    """Create the operator's folder in a staged one; ``path`` is the final place of the latter.

    ``again``: it may exist already, as in the folder of an interrupted run.
    """
    made = folder / "restricted"
    made.mkdir(mode=0o700, exist_ok=again)
    warn_access_unchecked(Path(path, made.name))
    return made


def list_written(folder: Path, target: Path) -> dict[str, list[str]]:
    """Return the final paths of the public and restricted files of a staged folder."""
    return {
        part: [
            str(target / part / name)
            for name in sorted(os.listdir(folder / part))
            if name != PENDING.name
        ]
        for part in ("public", "restricted")
    }


def write_restricted(folder: Path, name: str, document: dict[str, Any]) -> None:
    """Write the operator's document into an existing folder, with checksums of all its files."""
    write_private(folder / name, json_text(document))
    write_private(folder / "README.txt", CONFIDENTIAL)
    sums = {path.name: sha256(path) for path in folder.iterdir() if path.name != WAITING}
    write_private(folder / SUMS, sums_text(sums))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read.

    A file's name that is not UTF-8 has surrogates in Python, which are written as JSON escapes
    them (``\\udc90``): ``os.fsencode`` of what is read back is the name.
    """
    # The permissions are set at creation: a later chmod would leave a moment in which anybody can
    # read.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text)


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
    """Write a table in every format that its grid can have, with the style of its outlines.

    Return the entries of the files.

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
            kind = geopackage.OUTLINES[geometry_kind(view.table.grid)]
            more, columns = f"; with the {kind}", (*columns, "geometry")
        files.append(list_file(path, media_type, what + more, columns=columns, **extras))
        if ending == "csv":
            types = csv.types_entry(name)
            files.append(list_file(folder / types.name, types.media_type, types.what))
    if why is not None:
        return tuple(files), (LeftOut(f"{name}.gpkg", why),)
    path = folder / f"{name}.qml"
    path.write_text(qml(view), encoding="utf-8", newline="\n")
    return (*files, list_file(path, qgis_style.MEDIA_TYPE, qgis_style.WHAT)), ()
