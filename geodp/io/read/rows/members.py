"""Members of zip archives that are tables: those that the operator names, or those of clear form.

Readmes, licences and metadata are ignored. Tables with equal columns are read as one; among tables
with different columns the operator has to choose.
"""

from __future__ import annotations

import codecs
import re
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from geodp.errors import InputError, printable
from geodp.io.read.rows.complete import DAMAGES
from geodp.io.read.rows.forms.locations import Fetched
from geodp.io.read.rows.names import fold, list_names
from geodp.io.read.rows.span import DELIMITERS, HEAD_ROWS, split_line, trim
from geodp.table.source import Fact

TABLES = (".txt", ".csv", ".tsv")
"""Endings of members that are read as texts, directly from the archive."""

PACKED = (
    *(".gpkg", ".fgb", ".geojson", ".geojsonl", ".jsonl", ".ndjson", ".parquet", ".geoparquet"),
    *(".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".tif", ".tiff", ".nc", ".asc"),
)
"""Endings of members that are unpacked first, as libraries read them by their path."""

SEVERAL = (
    "The archive holds several tables; name the one that is meant (--member, member=), or unpack "
    "it: "
)

UNREADABLE = (*DAMAGES, NotImplementedError)
"""Errors for a damaged member, or a compression that zipfile does not support."""

HEAD_BYTES = 1 << 16
"""Bytes at the start of a member from which its form is guessed."""

_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}\b)")

MAX_NAMES = 20
"""Number of members that an error lists."""


class Unpacked(Fetched):
    """A member unpacked to a private folder; messages show it as ``"FILE (member)"``.

    Parameters
    ----------
    archive, member : str
    path : str
        The unpacked file.
    facts : tuple of Fact
        Which member was named, and which members are not read.
    """

    def __init__(self, archive: str, member: str, path: str, facts: tuple[Fact, ...]) -> None:
        super().__init__(f"{archive} ({printable(member)})", path)
        self.archive, self.member, self.facts = archive, member, facts


def ending_of(path: Path, wanted: str | None = None) -> str:
    """Return the lower-case ending of a file's name; for a zip, that of its packed members.

    ``wanted`` is the name of a member or a pattern.
    """
    ending = path.suffix.lower()
    if ending != ".zip":
        return ending
    # A damaged archive keeps its own ending; opening it reports the damage.
    with suppress(*UNREADABLE), zipfile.ZipFile(path) as archive:
        names = [member.filename for member in _visible(archive)]
        meant = [member for member in names if wanted is None or is_named(member, wanted)]
        packed = {PurePosixPath(member).suffix.lower() for member in meant}.intersection(PACKED)
        return packed.pop() if len(packed) == 1 else ending
    return ending


def list_members(path: Path) -> list[str]:
    """Return the names of the tables of text in a zip archive; none of another file."""
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        names = [info.filename for info in _visible(archive)]
    return [name for name in names if name.lower().endswith(TABLES)]


def choose_packed(
    archive: zipfile.ZipFile, name: str, wanted: str | None
) -> tuple[zipfile.ZipInfo | None, tuple[Fact, ...]]:
    """Return the member that must be unpacked to be read, and facts about the choice.

    None where texts or a shapefile are read instead. Raises InputError if several tables remain,
    and for an encrypted archive.
    """
    infos = _visible(archive)
    if wanted is None and any(info.filename.lower().endswith(".shp") for info in infos):
        return None, ()
    meant = [info for info in infos if wanted is None or is_named(info.filename, wanted)]
    packed = [info for info in meant if info.filename.lower().endswith(PACKED)]
    if not packed:
        return None, ()
    _require_plain(packed, name)
    # A text beside a workbook may be the table that is meant, unless it is clearly a readme.
    texts = [info for info in meant if info.filename.lower().endswith(TABLES)]
    tables = [
        info
        for info in texts
        if not info.filename.lower().endswith(".txt") or _has_table(_start_of(archive, info))
    ]
    if len(packed) + len(tables) > 1:
        raise InputError(
            f"{SEVERAL}{_format_names([*packed, *tables])}.",
            file=name,
            code="archive-holds-several",
        )
    return packed[0], _facts(wanted, [info for info in infos if info != packed[0]])


def choose_members(
    archive: zipfile.ZipFile, name: str, wanted: str | None, header_row: int | None
) -> tuple[list[zipfile.ZipInfo], tuple[Fact, ...]]:
    """Return the members that are read as texts, and facts about the choice.

    ``wanted`` is a member's name, with its folders or without, or a pattern such as ``*_pop.csv``.

    Raises
    ------
    InputError
        No such member or no table, several tables whose headers differ, or an encrypted archive.
    """
    infos = _visible(archive)
    tables = [info for info in infos if info.filename.lower().endswith(TABLES)]
    if wanted is not None:
        tables = [info for info in infos if is_named(info.filename, wanted)]
        if not tables:
            raise InputError(
                "The archive holds no member of that name (--member, member=); there are "
                f"{_format_names(infos)}.",
                file=name,
                code="member-unknown",
            )
    _require_plain(tables, name)
    if not tables and any(info.filename.lower().endswith((".zip", ".gz")) for info in infos):
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
        tables = _require_one_layout(archive, name, tables, header_row)
    return tables, _facts(wanted, [info for info in infos if info not in tables])


def _require_plain(members: Sequence[zipfile.ZipInfo], name: str) -> None:
    """Raise InputError for an encrypted member."""
    # The first bit of the flags means encryption.
    if any(info.flag_bits & 1 for info in members):
        raise InputError(
            "The archive is encrypted; unpack it first.", file=name, code="archive-encrypted"
        )


def _facts(wanted: str | None, others: Sequence[zipfile.ZipInfo]) -> tuple[Fact, ...]:
    """Return the member that the operator named and the members that are not read, as facts."""
    declared = () if wanted is None else (Fact("member", wanted, "operator"),)
    unread = Fact("members that are not read", _format_names(others), "values")
    return (*declared, unread) if others else declared


def _require_one_layout(
    archive: zipfile.ZipFile,
    name: str,
    members: Sequence[zipfile.ZipInfo],
    header_row: int | None,
) -> list[zipfile.ZipInfo]:
    """Return the members that hold tables; InputError if their columns differ."""
    heads = {info.filename: _start_of(archive, info) for info in members}
    tables = [
        info
        for info in members
        if not info.filename.lower().endswith(".txt") or _has_table(heads[info.filename])
    ]
    # If no member looks like a table, all are tried, and reading reports what is wrong.
    tables = tables or [*members]
    headers = {_columns_of(heads[info.filename], header_row) for info in tables}
    if len(headers) > 1:
        raise InputError(
            "The archive holds several tables with different columns; name the one that is meant, "
            f"or a pattern of several (--member, member=): {_format_names(tables)}.",
            file=name,
            code="archive-tables-differ",
        )
    return tables


def _start_of(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return the start of a member as text; empty for a damaged one, which reading reports."""
    start = b""
    with suppress(*UNREADABLE), archive.open(member) as stream:
        start = stream.read(HEAD_BYTES)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return start.decode("utf-16", "replace")
    # The start may end inside a character, which an incremental decoder accepts.
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    return start.decode("cp932", "replace")


def _has_table(text: str) -> bool:
    """Whether a text may hold a table: one of its first lines has several fields, or it is empty.

    In prose, a comma or semicolon is followed by a blank or separates thousands. Rows cannot make a
    table look like prose, as its header has fields.
    """
    lines = [line.rstrip("\r") for line in text.split("\n")][:HEAD_ROWS]
    for line in lines:
        plain = _THOUSANDS.sub("", line)
        # The delimiter is not known yet, and one that splits the line is enough.
        for fields in (split_line(plain, delimiter) for delimiter in DELIMITERS):
            if sum(map(bool, trim(fields))) > 1 and not any(
                field[:1] == " " for field in fields[1:]
            ):
                return True
    return not any(map(str.strip, lines))


def _columns_of(text: str, header_row: int | None) -> frozenset[str]:
    """Return the normalised names in a header, whatever their order."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if header_row is None:
        lines = [line for line in lines if line.strip()]
    header = "".join(lines[(header_row or 1) - 1 :][:1])
    fields = max((split_line(header, delimiter) for delimiter in DELIMITERS), key=len)
    return frozenset(map(fold, fields))


def is_named(member: str, wanted: str) -> bool:
    """Whether a member has this name, with or without its folders, or matches this pattern."""
    names = (member, PurePosixPath(member).name)
    return wanted in names or any(fnmatchcase(form, wanted) for form in names)


def _visible(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members that are files, without hidden ones and macOS metadata."""
    infos = archive.infolist()
    return [info for info in infos if not info.is_dir() and not _is_hidden(info.filename)]


def _is_hidden(member: str) -> bool:
    parts = PurePosixPath(member).parts
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _format_names(members: Sequence[zipfile.ZipInfo]) -> str:
    """Return the names of members for a message."""
    return list_names([info.filename for info in members], MAX_NAMES)
