"""Which members of a zip archive are tables: by the operator's word, and by form where it is sure.

Readmes, licences and metadata are none. Tables of the same columns are parts of one; of several
with different columns the operator names one.
"""

from __future__ import annotations

import codecs
import csv
import re
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from geodp.errors import InputError, printable
from geodp.io.read.rows.complete.archive import DAMAGES
from geodp.io.read.rows.forms.url import Fetched
from geodp.io.read.rows.headers import DELIMITERS, HEAD_ROWS, trim
from geodp.io.read.rows.names import fold, list_names
from geodp.table.source import Fact

TABLES = (".txt", ".csv", ".tsv")
"""Endings of the members that are read as texts."""

PACKED = (
    *(".gpkg", ".fgb", ".geojson", ".geojsonl", ".jsonl", ".ndjson", ".parquet", ".geoparquet"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".tif", ".tiff", ".nc", ".asc"),
)
"""Endings of the members that are unpacked, as libraries read them by their path."""

SEVERAL = (
    "The archive holds several tables; name the one that is meant (--member, member=), or unpack "
    "it: "
)

UNREADABLE = (*DAMAGES, NotImplementedError)
"""Errors of a damaged member, or of one packed by a method that zipfile does not know."""

START = 1 << 16
"""Bytes of a member that are looked at."""

_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}\b)")

MOST = 20
"""Names of members that an error lists."""


class Unpacked(Fetched):
    """A member of an archive in a private folder, which messages call ``"FILE (member)"``.

    Parameters
    ----------
    archive, member : str
    path : str
        Where it is.
    facts : tuple of Fact
        Which member was named, and which are not read.
    """

    def __init__(self, archive: str, member: str, path: str, facts: tuple[Fact, ...]) -> None:
        super().__init__(f"{archive} ({printable(member)})", path)
        self.archive, self.member, self.facts = archive, member, facts


def ending_of(path: Path, wanted: str | None = None) -> str:
    """Return how a file's name ends, in small letters; of a zip, how that of its packed members.

    ``wanted``: name or pattern of the members that are meant.
    """
    ending = path.suffix.lower()
    if ending != ".zip":
        return ending
    with suppress(*UNREADABLE), zipfile.ZipFile(path) as archive:
        names = [one.filename for one in _visible(archive)]
        meant = [one for one in names if wanted is None or is_named(one, wanted)]
        packed = {PurePosixPath(one).suffix.lower() for one in meant}.intersection(PACKED)
        return packed.pop() if len(packed) == 1 else ending
    return ending


def choose_packed(
    archive: zipfile.ZipFile, name: str, wanted: str | None
) -> tuple[zipfile.ZipInfo | None, tuple[Fact, ...]]:
    """Return the member that must be unpacked to be read, and what is said of that.

    None where texts or a shapefile are meant. Raises InputError where several tables may be meant,
    and for an encrypted archive.
    """
    infos = _visible(archive)
    if wanted is None and any(one.filename.lower().endswith(".shp") for one in infos):
        return None, ()
    meant = [one for one in infos if wanted is None or is_named(one.filename, wanted)]
    packed = [one for one in meant if one.filename.lower().endswith(PACKED)]
    if not packed:
        return None, ()
    if any(one.flag_bits & 1 for one in packed):
        raise InputError(
            "The archive is encrypted; unpack it first.", file=name, code="archive-encrypted"
        )
    texts = [one for one in meant if one.filename.lower().endswith(TABLES)]
    tables = [
        one
        for one in texts
        if not one.filename.lower().endswith(".txt") or _has_table(_start_of(archive, one))
    ]
    if len(packed) + len(tables) > 1:
        raise InputError(
            f"{SEVERAL}{_listed([*packed, *tables])}.", file=name, code="archive-holds-several"
        )
    return packed[0], _facts(wanted, [one for one in infos if one != packed[0]])


def choose_members(
    archive: zipfile.ZipFile, name: str, wanted: str | None, header_row: int | None
) -> tuple[list[zipfile.ZipInfo], tuple[Fact, ...]]:
    """Return the members that are read as texts, and what is said of that.

    ``wanted`` is a member's name, with its folders or without, or a pattern such as ``*_pop.csv``.

    Raises
    ------
    InputError
        No such member or no table, several tables whose headers differ, or an encrypted archive.
    """
    infos = _visible(archive)
    tables = [one for one in infos if one.filename.lower().endswith(TABLES)]
    if wanted is not None:
        tables = [one for one in infos if is_named(one.filename, wanted)]
        if not tables:
            raise InputError(
                "The archive holds no member of that name (--member, member=); there are "
                f"{_listed(infos)}.",
                file=name,
                code="member-unknown",
            )
    if any(one.flag_bits & 1 for one in tables):
        raise InputError(
            "The archive is encrypted; unpack it first.", file=name, code="archive-encrypted"
        )
    if not tables and any(one.filename.lower().endswith((".zip", ".gz")) for one in infos):
        raise InputError(
            "The archive holds further archives; unpack it first.",
            file=name,
            code="archive-in-archive",
        )
    if not tables:
        raise InputError(
            "The archive holds no .txt, .csv or .tsv table; unpack it and give the table.",
            file=name,
            code="archive-without-table",
        )
    if wanted is None and len(tables) > 1:
        tables = _ask_tables(archive, name, tables, header_row)
    return tables, _facts(wanted, [one for one in infos if one not in tables])


def _facts(wanted: str | None, others: Sequence[zipfile.ZipInfo]) -> tuple[Fact, ...]:
    named = () if wanted is None else (Fact("member", wanted, "operator"),)
    unread = Fact("members that are not read", _listed(others), "values")
    return (*named, unread) if others else named


def _ask_tables(
    archive: zipfile.ZipFile,
    name: str,
    members: Sequence[zipfile.ZipInfo],
    header_row: int | None,
) -> list[zipfile.ZipInfo]:
    """Return all members but texts that are surely none; InputError if their columns differ."""
    heads = {one.filename: _start_of(archive, one) for one in members}
    found = [
        one
        for one in members
        if not one.filename.lower().endswith(".txt") or _has_table(heads[one.filename])
    ]
    found = found or [*members]
    headers = {_columns_of(heads[one.filename], header_row) for one in found}
    if len(headers) > 1:
        raise InputError(
            "The archive holds several tables with different columns; name the one that is meant, "
            f"or a pattern of several (--member, member=): {_listed(found)}.",
            file=name,
            code="archive-tables-differ",
        )
    return found


def _start_of(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return how a member begins, as a text; nothing of a damaged one, which reading tells."""
    start = b""
    with suppress(*UNREADABLE), archive.open(member) as stream:
        start = stream.read(START)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return start.decode("utf-16", "replace")
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    return start.decode("cp932", "replace")


def _has_table(text: str) -> bool:
    """Whether a text may hold a table: a line of its start has fields, or it is empty.

    In prose a blank follows a mark, or it separates thousands. No record makes a table prose, as
    its header has fields.
    """
    lines = [line.rstrip("\r") for line in text.split("\n")][:HEAD_ROWS]
    for line in lines:
        plain = _THOUSANDS.sub("", line)
        for fields in (_split(plain, delimiter) for delimiter in DELIMITERS):
            if sum(map(bool, trim(fields))) > 1 and not any(one[:1] == " " for one in fields[1:]):
                return True
    return not any(map(str.strip, lines))


def _columns_of(text: str, header_row: int | None) -> frozenset[str]:
    """Return the names in a header, however they are spelt and ordered."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if header_row is None:
        lines = [line for line in lines if line.strip()]
    header = "".join(lines[(header_row or 1) - 1 :][:1])
    fields = max((_split(header, delimiter) for delimiter in DELIMITERS), key=len)
    return frozenset(map(fold, fields))


def _split(line: str, delimiter: str) -> list[str]:
    with suppress(csv.Error):
        return next(csv.reader([line], delimiter=delimiter), [])
    return []


def is_named(member: str, wanted: str) -> bool:
    """Whether a member has this name, with its folders or without, or meets this pattern."""
    names = (member, PurePosixPath(member).name)
    return wanted in names or any(fnmatchcase(one, wanted) for one in names)


def _visible(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    every = archive.infolist()
    return [one for one in every if not one.is_dir() and not _is_hidden(one.filename)]


def _is_hidden(member: str) -> bool:
    parts = PurePosixPath(member).parts
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _listed(members: Sequence[zipfile.ZipInfo]) -> str:
    return list_names([one.filename for one in members], MOST)
