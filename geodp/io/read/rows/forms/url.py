"""Files at URLs: fetched once, as a whole, to a private folder, and read there as any file is.

What is fetched is as confidential as the input. Its folder is the operator's own, and goes when it
has been read or the process ends, but for one that is killed outright. Readers open that file and
no address.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from geodp import progress
from geodp.errors import GeodpError, InputError, OutputError, Rule, UsageError, printable

PROTOCOLS = {
    **dict.fromkeys(("http", "https"), "aiohttp"),
    "s3": "s3fs",
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    "memory": "",
}
"""Protocols that are read, and the package that fsspec reads them with. Others reach files of this
machine by another name, run programs, or cannot tell a whole file from a part of it."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_CHAINED = re.compile(r"[A-Za-z0-9+.-]+::")
_NAME = 120
"""Bytes of a name that are kept."""

SILENCE = 60
"""Seconds without a byte after which a fetch has failed."""

CUT = Rule(
    "url-cut",
    "The file could not be fetched as a whole; try again, or fetch it, and give its path.",
)
DENIED = Rule(
    "url-denied",
    "The server does not let it be read: give what it asks for, as the package of its protocol "
    "takes it from the environment, or fetch the file, and give its path.",
)
FOLDER = Rule("url-is-folder", "This is a folder; give each of its files by a URL of its own.")
UNKNOWN_SIZE = Rule(
    "url-size-unknown",
    "The server does not say how long the file is, and a part of it would look whole: fetch the "
    "file, and give its path.",
)
NO_ROOM = Rule(
    "scratch-no-room-for-url",
    "There is no room for the file of a URL; choose a folder on another disk (--scratch, "
    "scratch=).",
)


def is_url(given: object) -> bool:
    """Whether a text or path is a URL, also where a path has made one slash of two.

    >>> is_url("https://host/a.csv"), is_url("simplecache::s3://store/a"), is_url("C:/a.csv")
    (True, True, False)
    """
    if not isinstance(given, str | os.PathLike) or isinstance(given, Fetched):
        return False
    text = os.fspath(given)
    if not isinstance(text, str) or not (_URL.match(text) or _CHAINED.match(text)):
        return False
    return not os.path.lexists(text)


def refuse_url(text: str) -> None:
    """Raise InputError for a URL; it is not quoted, as it may hold a password."""
    if is_url(text):
        raise InputError(
            "URLs are not read here: fetch the file, and give its path.", code="urls-not-read"
        ) from None


class Fetched(os.PathLike[str]):
    """A file that was fetched: a path to open, which messages and records call by its address.

    Parameters
    ----------
    shown : str
        The address without user, password and what follows a question mark or a hash.
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
    """Put a fetched file in the place of each URL, for as long as the block lasts.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
    scratch : path, optional
        Folder for what is fetched. Default: the system's folder for temporary files.

    Yields
    ------
    path, sequence of paths, or a table in memory
        As given, but for URLs.

    Raises
    ------
    UsageError
        A protocol that is not read, or whose package is not installed; a URL that is none.
    InputError
        Nothing at the address, a fetch that was cut short, or an unknown size; and two files with
        one name, where a URL has it without its secrets.
    OutputError
        No room for it.
    """
    one = isinstance(paths, str | os.PathLike)
    if not one and not (isinstance(paths, Sequence) and any(map(is_url, paths))):
        yield paths
        return
    with ExitStack() as held:
        found = [_fetch(held, path, scratch) for path in ([paths] if one else paths)]
        if len({*map(str, found)}) < len(found):
            raise InputError(
                "Two files have one name without what follows a URL's question mark: fetch the "
                "file, and give its path.",
                code="urls-of-one-name",
            )
        yield found[0] if one else tuple(found)


def require_readable(text: str) -> SplitResult:
    """Return a URL's parts; UsageError for one that is not read, without any part of it."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in PROTOCOLS and parts.port != 0 and bool(parts.netloc)
    except ValueError:
        known = False
    if not known or "::" in text or "@" in parts.path:
        raise UsageError(
            f"This URL is not read: one begins with {', '.join(PROTOCOLS)} and ://, has a host or "
            "bucket, names one file, and writes an @ of its path as %40; or fetch the file, and "
            "give its path.",
            code="url-form",
        )
    if why := _why_not(parts.scheme):
        raise UsageError(
            f"URLs are not read without {why}, or fetch the file, and give its path.",
            code="library-missing",
        )
    return parts


def _why_not(scheme: str) -> str | None:
    """Return which package a protocol lacks, and how it is installed."""
    package = PROTOCOLS[scheme]
    if find_spec("fsspec") is None or (package == "aiohttp" and find_spec(package) is None):
        return "fsspec: pip install 'geodp[url]'"
    if package and find_spec(package) is None:
        return f"what fsspec has for {scheme}://: pip install {package}"
    return None


def _fetch(held: ExitStack, given: Any, scratch: str | os.PathLike[str] | None) -> Any:
    """Return a path as it is; of a URL the file that was fetched, in a folder that is held."""
    if not is_url(given):
        return given
    text = os.fspath(given)
    parts = require_readable(text)
    host = parts.netloc.rpartition("@")[2]
    shown = printable(f"{parts.scheme}://{host}{parts.path.partition(';')[0]}")
    kept = TemporaryDirectory(prefix="geodp-url-", dir=scratch, ignore_cleanup_errors=True)
    found = Fetched(shown, os.path.join(held.enter_context(kept), _name_of(parts)))
    progress.begin(f"Fetching {shown}")
    _download(text, parts.scheme, found)
    return found


def _name_of(parts: SplitResult) -> str:
    """Return the name of a URL's file, of letters, digits and marks that every disk takes."""
    last = unquote(parts.path.rpartition("/")[2] or parts.netloc.rpartition("@")[2])
    plain = re.sub(r"[^\w.() -]", "_", last).encode()[-_NAME:].decode(errors="ignore").lstrip(". ")
    return plain or "file"


def _download(text: str, scheme: str, found: Fetched) -> None:
    """Fetch a whole file to its place.

    What libraries say of a failure quotes the address: their errors are not even the context.
    """
    import fsspec

    failure: GeodpError | None = None
    sizes = _watch(os.path.dirname(found))
    try:
        system, path = fsspec.url_to_fs(text, skip_instance_cache=True, **_settings(scheme))
        if not scheme.startswith("http"):
            told = system.info(path)
            if told.get("type") == "directory":
                raise IsADirectoryError
            sizes.set_size(told.get("size"))
        system.get_file(path, os.fspath(found), callback=sizes)
        if sizes.size is None:
            failure = InputError(UNKNOWN_SIZE, file=str(found))
        elif not os.path.isfile(found) or os.path.getsize(found) != sizes.size:
            failure = InputError(CUT, file=str(found))
    except FileNotFoundError:
        failure = InputError("There is no such file.", file=str(found), code="url-not-found")
    except IsADirectoryError:
        failure = InputError(FOLDER, file=str(found))
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        rule = DENIED if _is_denied(error) else CUT
        failure = OutputError(NO_ROOM) if full else InputError(rule, file=str(found))
    if failure is not None:
        raise failure


def _is_denied(error: Exception) -> bool:
    """Whether a store or server asked for credentials; every library has errors of its own."""
    status = getattr(error, "status", None) or getattr(error, "status_code", None)
    named = re.search("Credential|Authenticat|Forbidden", type(error).__name__) is not None
    # Of adlfs a ValueError says that no account is named.
    return named or status in (401, 403) or isinstance(error, PermissionError | ValueError)


def _settings(scheme: str) -> dict[str, Any]:
    """Return what a protocol is asked with: over HTTP the file as it is, however long it takes."""
    if not scheme.startswith("http"):
        return {}
    import aiohttp

    limits = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE, sock_read=SILENCE)
    return {"headers": {"Accept-Encoding": "identity"}, "client_kwargs": {"timeout": limits}}


def _watch(folder: str) -> Any:
    """Return what fsspec tells a file's size: one that the disk has no room for ends the fetch."""
    from fsspec.callbacks import Callback

    class Sizes(Callback):  # type: ignore[misc]
        def set_size(self, size: int | None) -> None:
            if size is None:
                return
            if size > shutil.disk_usage(folder).free:
                raise OSError(errno.ENOSPC, "")
            super().set_size(size)

    return Sizes()
