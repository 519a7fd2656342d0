"""Files at URLs: fetched once and completely to a private folder, and read there like any file.

A fetched file is as confidential as the input. Its folder is private to the operator, and deleted
when it was read or the process ends, unless the process is killed. Readers open that file and never
an address.
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
from geodp.io.opening import is_device_name

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
