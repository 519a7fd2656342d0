"""Folders and patterns as the files in them, and the columns that Hive's folders stand for.

Nobody named these files one by one, so only those that lie in the folder itself are taken: a link
that leads out of it is refused.
"""

from __future__ import annotations

import glob
import os
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from geodp.errors import InputError, Rule, printable
from geodp.io.opening import require_regular
from geodp.io.read.rows.forms.url import refuse_url
from geodp.io.read.rows.names import fold

TEXTS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".geojsonl")
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
FORMS = (".parquet", *TEXTS, *WORKBOOKS)
"""Endings of the files of a folder that are read, those of texts also with a packing behind."""

ASIDE = (".", "_", "~$")
"""How names begin of what is no table of a folder: hidden files, and those of open workbooks."""

PACKINGS = (".gz", ".zst", ".zip")

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""How Hive writes that a value is missing."""

LOGS = {
    "_delta_log": "Delta Lake",
    ".hoodie": "Apache Hudi",
    "metadata/version-hint.text": "Apache Iceberg",
    "metadata/*.metadata.json": "Apache Iceberg",
}
"""What lies in a folder whose log alone says which of its files hold, by the format."""

UNFINISHED = ("_temporary", ".spark-staging-*")
"""What lies in a folder while Spark and Hadoop write to it."""

_PATTERN = re.compile(r"[*?\[]")


CARDS = ("release.json", "series.json")
"""Files that tell a release or a series of geodp."""

SUMS = "SHA256SUMS"
"""File that lists all others of a release or a series."""

RELEASE = Rule(
    "folder-is-release",
    "This is a release of geodp, whose counts are protected already; give the table that it was "
    "made from. geodp explain and geodp verify read a release.",
)


def find_release(path: str | os.PathLike[str]) -> str | None:
    """Return the folder of a written release or series that a path is, or is the card of."""
    given = Path(path)
    if given.name in CARDS and _has_card(given.parent):
        return str(given.parent)
    return str(given) if _has_card(given) or _has_card(given / "public") else None


def find_release_of(path: str | os.PathLike[str]) -> str | None:
    """Return the folder of a written release or series that lists a file as one of its own."""
    given = Path(path)
    if not given.is_file() or not _has_card(given.parent):
        return None
    lines = (given.parent / SUMS).read_text("utf-8", "replace").splitlines()
    listed = {line.partition(" ")[2].strip(" *") for line in lines}
    return str(given.parent) if given.name in listed else None


def is_packed_release(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a zip archive of a written release or series."""
    if not os.path.isfile(path) or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
    except zipfile.BadZipFile:
        return False
    return SUMS in names and not names.isdisjoint(CARDS)


def _has_card(folder: Path) -> bool:
    cards = any((folder / card).is_file() for card in CARDS)
    return cards and (folder / SUMS).is_file()


def find_files(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """Return the files that a path stands for, in the order of their names.

    Parameters
    ----------
    path : path
        A file, which is returned as it is; a folder, with all folders in it, but for what begins
        with ``.``, ``_`` or ``~$``; or a pattern with ``*``, ``?``, ``[...]`` or ``**``.

    Raises
    ------
    InputError
        A URL, a release of geodp, a folder or pattern without a table, a folder with tables of
        several forms, a link that leads out of the folder, or out of that in which a pattern
        begins, and a pipe or a device among the files.
    """
    text = os.fspath(path)
    if find_release(path) is not None:
        raise InputError(RELEASE, file=text)
    if os.path.isdir(path):
        return [*_tables(Path(path), text)]
    if os.path.lexists(path):
        return [path]
    refuse_url(text)
    if _PATTERN.search(text):
        there = sorted(glob.glob(text, recursive=True))
        for one in there:
            require_regular(one)
        found = [one for one in there if os.path.isfile(one)]
        if not found:
            raise InputError("No file has a name like this.", file=text, code="file-not-found")
        _require_finished(_folder_of(text), text)
        _refuse_links(found, _folder_of(text), text)
        return [*found]
    return [path]


def _tables(folder: Path, name: str) -> list[Path]:
    """Return the tables in a folder; all are of one form."""
    _require_finished(folder, name)
    found = []
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(ASIDE) for part in path.relative_to(folder).parts):
            continue
        if _form(path) is None:
            continue
        require_regular(path)
        if not path.is_file():
            continue
        found.append(path)
    _refuse_links(found, folder, name)
    forms = sorted({str(_form(path)) for path in found})
    if not found:
        rule = Rule(
            "folder-without-table", f"The folder holds no table; tables end in {', '.join(FORMS)}."
        )
        raise InputError(rule, file=name)
    if len(forms) > 1:
        rule = Rule(
            "folder-of-several-forms",
            f"The folder holds tables of several forms ({', '.join(forms)}); give one by a ",
        )
        raise InputError(rule + f"pattern, such as 'folder/*{forms[0]}'.", file=name)
    return found


def _require_finished(folder: Path, name: str) -> None:
    """Raise InputError for a folder whose files are not all of a table, or more than it.

    Of a partition, such as ``year=2024``, the folder of the whole table is looked at.
    """
    folder = folder.resolve()
    while "=" in folder.name:
        folder = folder.parent
    for log, form in LOGS.items():
        if any(folder.glob(log)):
            raise InputError(
                f"The folder is a table of {form}, whose log says which of its files still hold; "
                "write the version to be published to a folder of its own.",
                file=name,
                code="folder-has-log",
            )
    if any(any(folder.glob(part)) for part in UNFINISHED):
        raise InputError(
            "The folder was not written to its end, as files of the program that wrote are still "
            "in it; let it finish, or write the folder anew.",
            file=name,
            code="folder-unfinished",
        )


def _folder_of(pattern: str) -> Path:
    """Return the folder in which all files of a pattern lie: what comes before its first sign."""
    parts = Path(pattern).parts
    first = next(i for i, part in enumerate(parts) if _PATTERN.search(part))
    return Path(*parts[:first])


def _refuse_links(files: Iterable[str | Path], folder: Path, name: str) -> None:
    """Raise InputError where a file lies elsewhere than in the folder."""
    root = folder.resolve()
    if not all(Path(file).resolve().is_relative_to(root) for file in files):
        raise InputError(
            "The folder holds a link that leads out of it.", file=name, code="folder-link-leads-out"
        )


def _form(path: Path) -> str | None:
    """Return the ending of a table's name; None of any other file."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings and endings[-1] in PACKINGS:
        endings.pop()
        return endings[-1] if endings and endings[-1] in TEXTS else None
    return endings[-1] if endings and endings[-1] in FORMS else None


def partition_values(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the columns that the names of a file's folders stand for, as Hive writes them.

    Raises InputError for folders that give a column two values, and for signs by their bytes
    (``%E4``) that are no UTF-8.

    >>> partition_values("pings/year=2024/city=New%20York/part-0.parquet")
    {'year': '2024', 'city': 'New York'}
    """
    found: dict[str, str | None] = {}
    values: dict[str, str | None] = {}
    rule = ""
    for name, equals, written in (part.partition("=") for part in Path(path).parts[:-1]):
        if not (name and equals):
            continue
        try:
            column, value = unquote(name, errors="strict"), unquote(written, errors="strict")
        except UnicodeDecodeError:
            rule = Rule(
                "folder-name-not-utf8",
                "The name of a folder that stands for a column (name=value) writes letters by "
                "bytes that are no UTF-8; rename it.",
            )
            break
        found[column] = None if written == NOTHING else value
        if values.setdefault(fold(column), found[column]) != found[column]:
            rule = Rule(
                "folder-column-two-values",
                f"Two folders of the file give the column {printable(column)} two values; name "
                "each column once in a path.",
            )
            break
    if rule:
        raise InputError(rule, file=str(path))
    return found
