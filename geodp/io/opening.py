"""Secure opening of files written by others: rasters, Parquet, JSON, SQLite.

Such a file is treated as data only: nothing that it names is followed, neither to other files nor
to the network, and what it declares about itself is checked before it is used.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, VerificationError, is_utf8

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MAX_JSON_BYTES = 1 << 26
"""Largest JSON document, in bytes."""

MAX_DEPTH = 64
"""Deepest nesting of brackets in a JSON document."""

LINES_BLOCK = 1 << 20
"""Bytes of JSON lines that are looked at together."""

MAX_DIGITS = 20
"""Digits of an integer in a JSON document: more than 64 bits hold."""

MAX_VALUE_BYTES = 1 << 24
"""Largest value in a database, in bytes."""

SMALL_BUFFER = 1 << 12
"""Bytes of a buffer for a column of which nothing is read."""

RASTERS = {"tiff": "GTiff", "ascii grid": "AAIGrid", "netcdf": "netCDF"}
"""GDAL's drivers for rasters, by the kind of file: other drivers follow names in a file, wherever
these lead. NetCDF is read in its classic formats only, as HDF5 can keep pixels in other files."""

AS_STORED = {"AAIGrid": {"DATATYPE": "Float64"}, "netCDF": {"HONOUR_VALID_RANGE": "NO"}}
"""Options of drivers that would otherwise change numbers: texts that do not fit single precision or
32 bits, and values outside a valid range, which geodp checks itself."""

SEALED = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
    "CPL_VSIL_CURL_ALLOWED_FILENAME": "none",
}
"""GDAL's settings: read no file beside the open one, and none from the network."""

NOT_REGULAR = Rule(
    "input-not-regular",
    "This is a pipe, a socket or a device, and not a file: it can be read only once, and nothing "
    "shows later what it held. Write it to a file first, and give that file.",
)

NOT_UTF8 = Rule(
    "input-path-not-utf8",
    "The name of the file, or of a folder above it, is not UTF-8, and libraries that read such "
    "files take no other name; rename it.",
)

JUNCTION = 0xA0000003
"""The tag of a junction (IO_REPARSE_TAG_MOUNT_POINT), which modules of Python have on Windows."""

_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³]) *(?:\..*)?",
    re.IGNORECASE | re.DOTALL,
)

JSON_TOO_DEEP = Rule(
    "json-too-deep",
    f"The brackets of its JSON are more than {MAX_DEPTH} deep; write it without such nesting.",
)

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


def require_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe, a socket or a device before anything is opened.

    Inputs are read several times: for their form, for their rows and for their digest. A pipe can
    be read only once, or makes the reader wait for ever. ``/dev/stdin`` and the names
    that a shell puts in place of ``<(command)`` are pipes too; ``/dev/stdin`` is allowed when the
    standard input is a file.

    Raises
    ------
    InputError
        The path exists, and is neither a file nor a folder. Any other fault is left to the code
        that opens it.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(NOT_REGULAR, file=str(path))


def is_device_name(name: str) -> bool:
    """Return whether a file name, without folders, is that of a device on Windows.

    Up to Windows 10 an ending changes nothing: what is written to ``nul.csv`` is gone. Public files
    are read on every system and archives come from any, so callers look on every system.

    Examples
    --------
    >>> [is_device_name(name) for name in ("nul.csv", "COM1", "aux.tar.gz", "console", "com.csv")]
    [True, True, True, False, False]
    """
    return _DEVICE.fullmatch(name) is not None


def require_utf8(path: str | os.PathLike[str]) -> None:
    """Raise InputError if a library cannot open a file because its path is not UTF-8."""
    if not is_utf8(os.path.realpath(path)):
        raise InputError(NOT_UTF8, file=os.fspath(path))


@contextmanager
def catch_undecodable(note: Callable[[object], object]) -> Iterator[None]:
    """Pass undecodable bytes in a library's callback or log to ``note`` instead of the screen.

    Libraries report an exception there that cannot be caught, and that would be printed with
    content of the file.
    """
    # Both hooks are process-wide, so they are restored even when the block fails.
    shown, printed = sys.unraisablehook, sys.excepthook

    def hook(report: Any) -> None:
        if report.exc_type is UnicodeDecodeError:
            note(report)
        else:
            shown(report)

    def print_others(kind: type[BaseException], *error: Any) -> None:
        if kind is not UnicodeDecodeError:
            printed(kind, *error)

    # Cython prints an exception as one that ends the program, too, before it reports it.
    sys.unraisablehook, sys.excepthook = hook, print_others
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = shown, printed


@contextmanager
def open_raster(
    path: str | os.PathLike[str], kind: str = "tiff", *, overview: int | None = None
) -> Iterator[Any]:
    """Open a raster for reading, without any file beside it or named in it.

    Parameters
    ----------
    path : path
    kind : str
        One of ``RASTERS``.
    overview : int, optional
        Number of an overview that is read in place of the raster, from 0.

    Yields
    ------
    rasterio.io.DatasetReader

    Raises
    ------
    rasterio.errors.RasterioIOError
        An OSError: no such file, or one of another kind, whatever its name.
    InputError
        A name that is not UTF-8.
    """
    # Imported late, as cards are read without it.
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    require_regular(path)
    require_utf8(path)
    full = Path(path).resolve()  # a prefix such as /vsicurl/ is part of a name here
    driver = RASTERS[kind]
    options = AS_STORED.get(driver, {})
    if overview is not None:
        options = {**options, "OVERVIEW_LEVEL": str(overview)}
    # GDAL's log quotes names in the file, in whatever bytes they are.
    with catch_undecodable(lambda _: None), rasterio.Env(**SEALED):
        # Callers that need a placement raise their own error.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotGeoreferencedWarning)
            raster = rasterio.open(full, driver=driver, **options)
        with raster:
            yield raster


def open_parquet(path: str | os.PathLike[str], **options: Any) -> pq.ParquetFile:
    """Open a Parquet file for reading, with its footer checked.

    Parameters
    ----------
    path : path
    options
        Passed to :class:`pyarrow.parquet.ParquetFile`.

    Raises
    ------
    OSError, pyarrow.ArrowException
        No such file; or it is not a Parquet file, keeps columns in other files, or has
        contradictory numbers of rows.
    """
    import pyarrow as pa  # late, as rasterio
    import pyarrow.parquet as pq

    require_regular(path)
    # OSFile takes bytes, so that names in other encodings than UTF-8 work.
    file = pq.ParquetFile(pa.OSFile(os.fsencode(path)), **options)
    _check_column_chunks(path, file.metadata)
    footer, rows = file.metadata, 0
    # A crafted footer may state any numbers, and arrays of unequal length or memory for rows that
    # do not exist would follow. Only columns of plain values have one value for each row.
    single = [
        footer.schema.column(number).max_repetition_level == 0
        for number in range(footer.num_columns)
    ]
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for column, once in enumerate(single):
            held = group.column(column)
            if held.file_path:
                raise pa.ArrowInvalid("Columns in other files are not read.")
            if once and held.num_values != group.num_rows:
                raise pa.ArrowInvalid("A row group has other numbers of rows than its columns.")
        rows += group.num_rows
    if footer.num_rows != rows:
        raise pa.ArrowInvalid("The file has another number of rows than its row groups.")
    return file


def read_parquet(
    path: str | os.PathLike[str], rows: int, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read a Parquet file of which it is known how many rows it may have.

    Equal rows take no space in a file, so that a small one may declare any number of them.

    Parameters
    ----------
    path : path
    rows : int
        The most that it may have.
    columns : sequence of str, optional
        Those that are read; all by default.

    Raises
    ------
    OSError, pyarrow.ArrowException
        As :func:`open_parquet`.
    VerificationError
        The file declares more rows, of which none is read then.
    """
    file = open_parquet(path)
    require_rows(path, file.metadata.num_rows, rows)
    return file.read(columns=columns)


def require_rows(path: str | os.PathLike[str], declared: int, most: int) -> None:
    """Raise VerificationError if a file declares more rows than it can have."""
    if declared > most:
        raise VerificationError(
            f"{Path(path).name} declares more rows than the release can have.",
            code="rows-above-possible",
        )


def _check_column_chunks(path: str | os.PathLike[str], footer: Any) -> None:
    """Raise a pyarrow.ArrowException or OSError if the footer contradicts itself about a column.

    pyarrow ends the process instead of raising when it is asked about such a column chunk. Its
    reader raises, and batches of no rows open every column chunk without reading any data.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.OSFile(os.fsencode(path)) as opened:
        # Buffered, as whole column chunks would be read otherwise.
        file = pq.ParquetFile(opened, metadata=footer, pre_buffer=False, buffer_size=SMALL_BUFFER)
        for number in range(footer.num_row_groups):
            # ParquetFile.iter_batches takes no batches of 0 rows, and its reader does.
            next(file.reader.iter_batches(0, [number], use_threads=False), None)


def texts_of(column: Any) -> NDArray[Any]:
    """Convert an Arrow column of texts to Python's: object[n].

    Raises
    ------
    pyarrow.ArrowException
        A text that is not UTF-8.
    MemoryError
        Memory is short. Arrow's own message would quote the text; this one does not.
    """
    import pyarrow as pa

    # Without validation, conversion of invalid offsets would read memory outside the column.
    column.validate(full=True)
    with contextlib.suppress(pa.ArrowException):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    raise MemoryError("There is not enough memory for the texts of a column.")


def read_json(path: Path) -> Any:
    """Read the JSON document in a file; see :func:`parse_json`.

    Raises OSError if it cannot be read, and InputError if it is a pipe or a device.
    """
    require_regular(path)
    with path.open("rb") as file:
        return parse_json(file.read(MAX_JSON_BYTES + 1))


def parse_json(data: bytes) -> Any:
    """Parse a JSON document (RFC 8259, UTF-8) from an untrusted source.

    Parameters
    ----------
    data : bytes
        At most 2**26 bytes, brackets at most 64 deep.

    Returns
    -------
    dict, list, str, int, float, bool or None

    Raises
    ------
    ValueError
        Invalid JSON, NaN and infinities, integers of more than 20 digits, and an object with the
        same name twice, of which readers take either value.
    """
    if len(data) > MAX_JSON_BYTES:
        raise ValueError(f"it has more than {MAX_JSON_BYTES} bytes")
    # Depth is counted before parsing, as the parser recurses once for each bracket.
    if is_too_deep(data):
        raise ValueError(f"its brackets are more than {MAX_DEPTH} deep")
    return json.loads(
        data.decode("utf-8-sig"),
        parse_int=_bounded_integer,
        parse_float=_finite,
        parse_constant=_finite,
        object_pairs_hook=_once,
    )


def is_too_deep(data: bytes) -> bool:
    """Test whether brackets of JSON, but for those within texts, are more than 64 deep."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    symbols = np.frombuffer(_TEXT.sub(b"", data), np.uint8)
    step = np.isin(symbols, (0x5B, 0x7B)).astype(np.int32) - np.isin(symbols, (0x5D, 0x7D))
    return bool(step.cumsum().max(initial=0) > MAX_DEPTH)


def check_json_lines(stream: IO[bytes], name: str) -> bool:
    """Return whether the last of some JSON lines has a line end.

    Refuses those for which a parser would run out of its stack.

    Parameters
    ----------
    stream : binary file
        Read to its end, a block at a time.
    name : str
        The file, for the error.

    Raises
    ------
    InputError
        Brackets of a line are more than 64 deep.
    """
    number, rest = 0, b""
    while block := stream.read(LINES_BLOCK):
        # Texts have no line ends within them, so lines are looked at one by one, and those of
        # few brackets, which are almost all, at once.
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > MAX_JSON_BYTES:
            break
        for line in lines:
            number += 1
            if is_too_deep(line):
                raise InputError(JSON_TOO_DEEP, file=name, row=number)
    if is_too_deep(rest):
        raise InputError(JSON_TOO_DEEP, file=name, row=number + 1)
    return not rest


def _bounded_integer(text: str) -> int:
    # int() of a long text takes time that grows with the square of its length.
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a whole number has more than {MAX_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is not finite")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object has the same name twice")
    return members


def is_plain(status: os.stat_result) -> bool:
    """Return whether the status of a path itself is that of a plain file or folder.

    A junction of Windows has the mode of a folder, and leads to another one, as a link does.
    """
    if getattr(status, "st_reparse_tag", 0) == JUNCTION:
        return False
    return stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)


def strange_entry(folder: Path) -> str | None:
    """Return the first name below a folder that is neither a regular file nor a folder.

    None if there is none. A link could lead to a private file of the reader; a pipe could make the
    reader wait for ever.
    """
    for parent, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            # lstat, as stat would follow a link and report the file that it leads to.
            if not is_plain(os.lstat(os.path.join(parent, name))):
                return os.path.relpath(os.path.join(parent, name), folder)
    return None


def database_uri(path: PurePath) -> str:
    """Return the URI by which SQLite opens an absolute path for reading alone, without a journal.

    SQLite takes no host in a URI, and a network drive of Windows resolves to a path with one: it is
    part of the path here, behind four slashes.

    Examples
    --------
    >>> from pathlib import PurePosixPath, PureWindowsPath
    >>> database_uri(PurePosixPath("/data/a b.gpkg"))
    'file:///data/a%20b.gpkg?mode=ro&immutable=1'
    >>> database_uri(PureWindowsPath("C:/data/a.gpkg"))
    'file:///C:/data/a.gpkg?mode=ro&immutable=1'
    >>> database_uri(PureWindowsPath("//server/share/a.gpkg"))
    'file:////server/share/a.gpkg?mode=ro&immutable=1'
    """
    name = quote(os.fsencode(path.as_posix()), safe="/:")
    return f"file://{'' if name.startswith('/') else '/'}{name}?mode=ro&immutable=1"


@contextmanager
def open_base(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open an SQLite database read-only: no file beside it is read or written.

    Yields
    ------
    sqlite3.Connection
        A connection that trusts no function named in the file, and reads no value above 16 MiB.

    Raises
    ------
    OSError
        The file is not such a database.
    """
    import sqlite3

    require_regular(path)
    base = sqlite3.connect(database_uri(Path(path).resolve()), uri=True)
    try:
        # Views and triggers of a crafted file could otherwise call functions with side effects.
        base.execute("PRAGMA trusted_schema = OFF")
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        yield base
    except sqlite3.Error as error:
        raise OSError(f"{Path(path).name} is not a readable SQLite database") from error
    finally:
        base.close()
