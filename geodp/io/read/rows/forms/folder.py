"""Folders and patterns: the files in them, and the columns that Hive-style folders define.

As these files are not named one by one, all of them must lie in the folder itself: a link that
leads out of it is refused.
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
# Binary workbooks are refused when they are opened; left out here, their rows would be missing.
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")
FORMS = (".parquet", *TEXTS, *WORKBOOKS)
"""Endings of the files that are read from a folder; texts may be compressed."""

ASIDE = (".", "_", "~$")
"""Prefixes of files and folders that are ignored: hidden ones, and locks of open workbooks."""

PACKINGS = (".gz", ".zst", ".zip")

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""Hive's folder name for a missing value."""

TABLE_FORMATS = {
    "_delta_log": "Delta Lake",
    ".hoodie": "Apache Hudi",
    "metadata/version-hint.text": "Apache Iceberg",
    "metadata/*.metadata.json": "Apache Iceberg",
}
"""Files of a table format whose log defines which data files are valid, by the format."""

UNFINISHED = ("_temporary", ".spark-staging-*")
"""Folders that exist while Spark and Hadoop write."""

LONG_PATH = "\\\\?\\"
"""Prefix of paths of more than 260 characters on Windows; its question mark is no wildcard."""

_PATTERN = re.compile(r"[*?\[]")


SCHEMA = re.compile(rb'"schema":\s*"[\w-]+-[0-9]+"')
"""Text by which a card of a release of any kind names its schema."""

HEAD = 1 << 12
"""Bytes of a card that are searched for it: cards begin with their schema."""

SUMS = "SHA256SUMS"
"""List of all other files of a release or a series."""

RELEASE = Rule(
    "folder-is-release",
    "This is a release of geodp, whose counts are protected already; give the table that it was "
    "made from. geodp explain and geodp verify read a release.",
)


def find_release(path: str | os.PathLike[str]) -> str | None:
    """Return the folder of a release or series, given it or its card; None for other paths."""
    location = Path(path)
    if location.suffix == ".json" and (location.parent / SUMS).is_file() and _is_card(location):
        return str(location.parent)
    return str(location) if _has_card(location) or _has_card(location / "public") else None


def find_release_of(path: str | os.PathLike[str]) -> str | None:
    """Return the folder of a release or series that lists this file; None without one."""
    location = Path(path)
    if not location.is_file() or not _has_card(location.parent):
        return None
    lines = (location.parent / SUMS).read_text("utf-8", "replace").splitlines()
    listed = {line.partition(" ")[2].strip(" *") for line in lines}
    return str(location.parent) if location.name in listed else None


def is_packed_release(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a zip archive of a release or series."""
    if not os.path.isfile(path) or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if SUMS not in {name.rpartition("/")[2] for name in names}:
                return False
            cards = [archive.open(name) for name in names if name.endswith(".json")]
            return any(SCHEMA.search(card.read(HEAD)) is not None for card in cards)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError):
        return False


def _has_card(folder: Path) -> bool:
    """Whether a folder holds a release or series."""
    return (folder / SUMS).is_file() and any(map(_is_card, sorted(folder.glob("*.json"))))


def _is_card(file: Path) -> bool:
    """Whether a JSON document names a schema as cards do."""
    try:
        with file.open("rb") as opened:
            return SCHEMA.search(opened.read(HEAD)) is not None
    except OSError:
        return False


def find_files(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """Return the files that a path refers to, sorted by name.

    Parameters
    ----------
    path : path
        A file, which is returned as it is; a folder, searched recursively except for names that
        begin with ``.``, ``_`` or ``~$``; or a pattern with ``*``, ``?``, ``[...]`` or ``**``.

    Raises
    ------
    InputError
        A URL, a release of geodp, a folder or pattern without a table, a folder with tables of
        several formats, a link that leads out of the folder of the path or pattern, or a pipe or
        device among the files.
    """
    text = os.fspath(path)
    if find_release(path) is not None:
        raise InputError(RELEASE, file=text)
    if os.path.isdir(path):
        return [*_tables(Path(path), text)]
    # An existing file wins over a pattern: its name may hold brackets.
    if os.path.lexists(path):
        return [path]
    refuse_url(text)
    if _PATTERN.search(text.removeprefix(LONG_PATH)):
        matches = sorted(glob.glob(text, recursive=True))
        for match in matches:
            require_regular(match)
        files = [match for match in matches if os.path.isfile(match)]
        if not files:
            raise InputError("No file matches this pattern.", file=text, code="file-not-found")
        _require_finished(_folder_of(text), text)
        _refuse_links(files, _folder_of(text), text)
        return [*files]
    return [path]


def _tables(folder: Path, name: str) -> list[Path]:
    """Return the tables in a folder, all of one format."""
    _require_finished(folder, name)
    files = []
    for path in sorted(folder.rglob("*")):
        aside = any(part.startswith(ASIDE) for part in path.relative_to(folder).parts)
        if aside or _form(path) is None:
            continue
        require_regular(path)
        if path.is_file():
            files.append(path)
    _refuse_links(files, folder, name)
    forms = sorted({str(_form(path)) for path in files})
    if not files:
        rule = Rule(
            "folder-without-table", f"The folder holds no table; tables end in {', '.join(FORMS)}."
        )
        raise InputError(rule, file=name)
    # Exports often hold the same table in several formats, whose rows would count twice.
    if len(forms) > 1:
        rule = Rule(
            "folder-of-several-forms",
            f"The folder holds tables of several forms ({', '.join(forms)}); give one by a ",
        )
        raise InputError(rule + f"pattern, such as 'folder/*{forms[0]}'.", file=name)
    return files


def _require_finished(folder: Path, name: str) -> None:
    """Raise InputError for a folder whose files are not exactly those of one table.

    For a partition, such as ``year=2024``, the folder of the entire table is checked.
    """
    folder = folder.resolve()
    # The log of a partitioned table lies in its root, above the partitions.
    while "=" in folder.name:
        folder = folder.parent
    for log, form in TABLE_FORMATS.items():
        if any(folder.glob(log)):
            raise InputError(
                f"The folder is a table of {form}, whose log defines which of its files are "
                "valid; write the version to be published to a folder of its own.",
                file=name,
                code="folder-has-log",
            )
    if any(any(folder.glob(part)) for part in UNFINISHED):
        raise InputError(
            "The folder is incomplete, as temporary files of the program that writes it are "
            "still there; let it finish, or write the folder again.",
            file=name,
            code="folder-unfinished",
        )


def _folder_of(pattern: str) -> Path:
    """Return the folder of a pattern: its path before the first wildcard."""
    path = Path(pattern)
    # The first part of a long path of Windows has a question mark of its own, behind two slashes.
    begin = 1 if path.anchor else 0
    first = next(i for i, part in enumerate(path.parts) if i >= begin and _PATTERN.search(part))
    return Path(*path.parts[:first])


def _refuse_links(files: Iterable[str | Path], folder: Path, name: str) -> None:
    """Raise InputError if a file lies outside the folder."""
    # A folder may come from elsewhere: a link in it would publish a file that nobody meant.
    root = folder.resolve()
    if not all(Path(file).resolve().is_relative_to(root) for file in files):
        raise InputError(
            "The folder holds a link that leads out of it.", file=name, code="folder-link-leads-out"
        )


def _form(path: Path) -> str | None:
    """Return the ending of a table's name without compression; None for other files."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    if endings and endings[-1] in PACKINGS:
        endings.pop()
        return endings[-1] if endings and endings[-1] in TEXTS else None
    return endings[-1] if endings and endings[-1] in FORMS else None


def partition_values(path: str | os.PathLike[str]) -> dict[str, str | None]:
    """Return the columns that the names of a file's folders define, as Hive writes them.

    Raises InputError for folders that give a column two values, and for escaped bytes (``%E4``)
    that are not UTF-8.

    >>> partition_values("pings/year=2024/city=New%20York/part-0.parquet")
    {'year': '2024', 'city': 'New York'}
    """
    columns: dict[str, str | None] = {}
    values: dict[str, str | None] = {}
    rule = ""
    for name, equals, encoded in (part.partition("=") for part in Path(path).parts[:-1]):
        if not (name and equals):
            continue
        try:
            column, value = unquote(name, errors="strict"), unquote(encoded, errors="strict")
        except UnicodeDecodeError:
            rule = Rule(
                "folder-name-not-utf8",
                "The name of a folder that defines a column (name=value) has escaped bytes that "
                "are not UTF-8; rename it.",
            )
            break
        columns[column] = None if encoded == NOTHING else value
        # Folders nested by mistake, such as year=2023/year=2024, would otherwise count rows for one
        # of them.
        if values.setdefault(fold(column), columns[column]) != columns[column]:
            rule = Rule(
                "folder-column-two-values",
                f"Two folders of the file give the column {printable(column)} two values; name "
                "each column once in a path.",
            )
            break
    if rule:
        raise InputError(rule, file=str(path))
    return columns
