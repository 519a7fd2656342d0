"""Locations of inputs that are no single file: URLs, folders and patterns.

A fetched file is as confidential as the input. Its folder is private to the operator, and deleted
when it was read or the process ends, unless the process is killed. Readers open that file and never
an address.

As these files are not named one by one, all of them must lie in the folder itself: a link that
leads out of it is refused.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from geodp import progress
from geodp.errors import GeodpError, InputError, OutputError, Rule, UsageError, printable
from geodp.io.opening import is_device_name, require_regular
from geodp.io.read.rows.names import fold

PROTOCOLS = {
    **dict.fromkeys(("http", "https"), "aiohttp"),
    "s3": "s3fs",
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    "memory": "",
}
"""Supported protocols, and the package by which fsspec reads them. Others access files of this
machine by another name, run programs, or cannot distinguish a complete file from a part."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\]")
_CHAINED = re.compile(r"[A-Za-z0-9+.-]+::")
_NAME = 120
"""Maximum length of a file name, in bytes."""

SILENCE = 60
"""Seconds without any data after which a fetch fails."""

CUT = Rule(
    "url-cut",
    "The file could not be fetched completely; try again, or download it and give its path.",
)
DENIED = Rule(
    "url-denied",
    "The server denied access: set the credentials in the environment, as the package of the "
    "protocol expects them, or fetch the file, and give its path.",
)
FOLDER = Rule("url-is-folder", "This is a folder; give each of its files by a URL of its own.")
UNKNOWN_SIZE = Rule(
    "url-size-unknown",
    "The server does not declare the size of the file, so that a part of it would look complete: "
    "download the file, and give its path.",
)
DISK_FULL = Rule(
    "scratch-no-room-for-url",
    "The disk is too full for the file of a URL; choose a folder on another disk (--scratch, "
    "scratch=).",
)


def is_url(value: object) -> bool:
    """Whether a text or path is a URL, even if a path has merged or turned its slashes.

    >>> is_url("https://host/a.csv"), is_url("simplecache::s3://store/a"), is_url("C:/a.csv")
    (True, True, False)
    """
    if not isinstance(value, str | os.PathLike) or isinstance(value, Fetched):
        return False
    text = os.fspath(value)
    if not isinstance(text, str) or not (_URL.match(text) or _CHAINED.match(text)):
        return False
    # A local file may have a name like a URL; it wins.
    return not os.path.lexists(text)


def refuse_url(text: str) -> None:
    """Raise InputError for a URL, which is not quoted, as it may hold a password."""
    if is_url(text):
        raise InputError(
            "URLs are not read here: fetch the file, and give its path.", code="urls-not-read"
        ) from None


class Fetched(os.PathLike[str]):
    """A fetched file: a path to open, shown in messages and records by its address.

    Parameters
    ----------
    shown : str
        The address without user, password, query and fragment.
    path : str
        The file.
    """

    def __init__(self, shown: str, path: str) -> None:
        self._shown, self._path = shown, path

    def __fspath__(self) -> str:
        return self._path

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return repr(self._shown)


@contextmanager
def fetch_urls(paths: Any, scratch: str | os.PathLike[str] | None = None) -> Iterator[Any]:
    """Replace each URL by a fetched file, for as long as the block lasts.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
    scratch : path, optional
        Folder for fetched files. Default: the system's folder for temporary files.

    Yields
    ------
    path, sequence of paths, or a table in memory
        As given, except for URLs.

    Raises
    ------
    UsageError
        An unsupported protocol, one whose package is not installed, or an invalid URL.
    InputError
        No file at the address, an incomplete fetch, an unknown size, or two files whose addresses
        differ only in their secrets.
    OutputError
        The disk is full.
    """
    single = isinstance(paths, str | os.PathLike)
    if not single and not (isinstance(paths, Sequence) and any(map(is_url, paths))):
        yield paths
        return
    with ExitStack() as stack:
        fetched = [_fetch(stack, path, scratch) for path in ([paths] if single else paths)]
        # Files are identified by their shown address in messages and statistics.
        if len({*map(str, fetched)}) < len(fetched):
            raise InputError(
                "Two files have one name without what follows a URL's question mark: fetch the "
                "file, and give its path.",
                code="urls-of-one-name",
            )
        yield fetched[0] if single else tuple(fetched)


def require_readable(text: str) -> SplitResult:
    """Return the parts of a URL; UsageError, without quoting it, if it is not supported."""
    try:
        parts = urlsplit(text)
        supported = parts.scheme in PROTOCOLS and parts.port != 0 and bool(parts.netloc)
    except ValueError:
        supported = False
    if not supported or "::" in text or "@" in parts.path:
        raise UsageError(
            f"This URL is not read: one begins with {', '.join(PROTOCOLS)} and ://, has a host or "
            "bucket, names one file, and writes an @ of its path as %40; or fetch the file, and "
            "give its path.",
            code="url-form",
        )
    if package := _missing_package(parts.scheme):
        raise UsageError(
            f"URLs are not read without {package}, or fetch the file, and give its path.",
            code="library-missing",
        )
    return parts


def _missing_package(scheme: str) -> str | None:
    """Return the package that a protocol lacks and how to install it, or None."""
    package = PROTOCOLS[scheme]
    if find_spec("fsspec") is None or (package == "aiohttp" and find_spec(package) is None):
        return "fsspec: pip install 'geodp[url]'"
    if package and find_spec(package) is None:
        return f"what fsspec has for {scheme}://: pip install {package}"
    return None


def _fetch(stack: ExitStack, path: Any, scratch: str | os.PathLike[str] | None) -> Any:
    """Return a plain path as it is; fetch a URL into a folder that the stack deletes."""
    if not is_url(path):
        return path
    text = os.fspath(path)
    parts = require_readable(text)
    host = parts.netloc.rpartition("@")[2]
    shown = printable(f"{parts.scheme}://{host}{parts.path.partition(';')[0]}")
    folder = TemporaryDirectory(prefix="geodp-url-", dir=scratch, ignore_cleanup_errors=True)
    fetched = Fetched(shown, os.path.join(stack.enter_context(folder), _name_of(parts)))
    progress.begin(f"Fetching {shown}")
    _download(text, parts.scheme, fetched)
    return fetched


def _name_of(parts: SplitResult) -> str:
    """Return the file name of a URL, of letters, digits and symbols allowed on every disk."""
    last = unquote(parts.path.rpartition("/")[2] or parts.netloc.rpartition("@")[2])
    plain = re.sub(r"[^\w.() -]", "_", last).encode()[-_NAME:].decode(errors="ignore").lstrip(". ")
    return f"_{plain}" if is_device_name(plain) else plain or "file"


def _download(text: str, scheme: str, fetched: Fetched) -> None:
    """Fetch a complete file to its path.

    Errors of libraries quote the address, so that they are not even the context of ours.
    """
    import fsspec

    failure: GeodpError | None = None
    sizes = _size_callback(os.path.dirname(fetched))
    try:
        system, path = fsspec.url_to_fs(text, skip_instance_cache=True, **_settings(scheme))
        if not scheme.startswith("http"):
            info = system.info(path)
            if info.get("type") == "directory":
                raise IsADirectoryError
            sizes.set_size(info.get("size"))
        system.get_file(path, os.fspath(fetched), callback=sizes)
        # Without a declared size, a connection that breaks off looks like the end of the file.
        if sizes.size is None:
            failure = InputError(UNKNOWN_SIZE, file=str(fetched))
        elif not os.path.isfile(fetched) or os.path.getsize(fetched) != sizes.size:
            failure = InputError(CUT, file=str(fetched))
    except FileNotFoundError:
        failure = InputError("There is no such file.", file=str(fetched), code="url-not-found")
    except IsADirectoryError:
        failure = InputError(FOLDER, file=str(fetched))
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        rule = DENIED if _is_denied(error) else CUT
        failure = OutputError(DISK_FULL) if full else InputError(rule, file=str(fetched))
    if failure is not None:
        raise failure


def _is_denied(error: Exception) -> bool:
    """Whether a store or server asked for credentials; every library has its own errors."""
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    named = re.search("Credential|Authenticat|Forbidden", type(error).__name__) is not None
    # adlfs raises a ValueError if no account is named.
    return named or status in (401, 403) or isinstance(error, PermissionError | ValueError)


def _settings(scheme: str) -> dict[str, Any]:
    """Return the options of a protocol: no compression and no total time limit over HTTP."""
    if not scheme.startswith("http"):
        return {}
    # Imported here, as only HTTP needs it.
    import aiohttp

    limits = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE, sock_read=SILENCE)
    return {"headers": {"Accept-Encoding": "identity"}, "client_kwargs": {"timeout": limits}}


def _size_callback(folder: str) -> Any:
    """Return a callback of fsspec that ends a fetch if the file does not fit on the disk."""
    from fsspec.callbacks import Callback

    class DownloadCallback(Callback):  # type: ignore[misc]
        def set_size(self, size: int | None) -> None:
            if size is None:
                return
            if size > shutil.disk_usage(folder).free:
                raise OSError(errno.ENOSPC, "")
            super().set_size(size)

    return DownloadCallback()


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
