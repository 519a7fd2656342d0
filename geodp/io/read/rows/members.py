"""Which members of a zip archive are tables: by the operator's word, and by form where it is sure.

Readmes, licences and metadata are none. Tables of the same columns are parts of one; of several
with different columns the operator names one.
"""

from __future__ import annotations

import codecs
import csv
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from geodp.errors import InputError, printable
from geodp.io.read.rows.headers import DELIMITERS, HEAD_ROWS, guess_header, is_name, trim
from geodp.io.read.rows.names import fold
from geodp.table.source import Fact

TABLES = (".txt", ".csv", ".tsv")
"""Endings of the members that are read."""

DAMAGES = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError)

START = 1 << 16
"""Bytes of a member that are looked at."""

MOST = 20
"""Names of members that an error lists."""


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
    infos = [one for one in archive.infolist() if not one.is_dir() and not _is_hidden(one.filename)]
    tables = [one for one in infos if one.filename.lower().endswith(TABLES)]
    if wanted is not None:
        tables = [one for one in infos if _is_named(one.filename, wanted)]
        if not tables:
            raise InputError(
                "The archive holds no member of that name (--member, member=); there are "
                f"{_listed(infos)}.",
                file=name,
            )
    if any(one.flag_bits & 1 for one in tables):
        raise InputError("The archive is encrypted; unpack it first.", file=name)
    if not tables and any(one.filename.lower().endswith((".zip", ".gz")) for one in infos):
        raise InputError("The archive holds further archives; unpack it first.", file=name)
    if not tables:
        raise InputError(
            "The archive holds no .txt, .csv or .tsv table; unpack it and give the table.",
            file=name,
        )
    if wanted is None and len(tables) > 1:
        tables = _ask_tables(archive, name, tables, header_row)
    facts = []
    if wanted is not None:
        facts.append(Fact("member", wanted, "operator"))
    if others := [one for one in infos if one not in tables]:
        facts.append(Fact("members that are not read", _listed(others), "values"))
    return tables, tuple(facts)


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
        )
    return found


def _start_of(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    """Return how a member begins, as a text; nothing of a damaged one, which reading tells."""
    start = b""
    with suppress(*DAMAGES), archive.open(member) as stream:
        start = stream.read(START)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return start.decode("utf-16", "replace")
    with suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder("utf-8-sig")().decode(start)
    return start.decode("cp932", "replace")


def _has_table(text: str) -> bool:
    """Whether a text may hold a table: a first line with names, or a header further down.

    In prose a blank follows a comma.
    """
    lines = [line.rstrip("\r") for line in text.split("\n")][:HEAD_ROWS]
    first = next((line for line in lines if line.strip()), "")
    for delimiter in DELIMITERS:
        rows = [_split(line, delimiter) for line in lines]
        fields = _split(first, delimiter)
        tight = len(trim(fields)) > 1 and not any(one[:1] == " " for one in fields[1:])
        if (tight and all(map(is_name, fields))) or guess_header(rows) is not None:
            return True
    return not first


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


def _is_named(member: str, wanted: str) -> bool:
    names = (member, PurePosixPath(member).name)
    return wanted in names or any(fnmatchcase(one, wanted) for one in names)


def _is_hidden(member: str) -> bool:
    parts = PurePosixPath(member).parts
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _listed(members: Sequence[zipfile.ZipInfo]) -> str:
    shown = ", ".join(printable(one.filename) for one in members[:MOST])
    return shown + (" and others" if len(members) > MOST else "")
