"""Input files: plain files, gzip, zstd, zip archives with other members, folders.

An input file is a stream of bytes with the name that errors show. Texts in archives are read as
streams, and other members are unpacked first (:mod:`geodp.io.read.rows.input_files`).

Texts and shapefiles are read inside the archive. Unpacked files are as confidential as the archive.
Their folder is private to the operator, and deleted when they were read or the process ends, unless
the process is killed.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import io
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import pyarrow as pa

from geodp.errors import InputError, OutputError, Rule, UsageError, printable
from geodp.io.opening import is_device_name, require_regular
from geodp.io.read.rows.complete import DAMAGES, check_archive, check_blocks
from geodp.io.read.rows.forms.locations import find_files, partition_values, refuse_url
from geodp.io.read.rows.members import Unpacked, choose_members, choose_packed, is_named
from geodp.table.source import Fact

FilePath: TypeAlias = str | os.PathLike[str]


@runtime_checkable
class ArrowStream(Protocol):
    """A table in memory: a pandas or Polars DataFrame, a DuckDB relation, a pyarrow.Table."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule of an ArrowArrayStream."""


@runtime_checkable
class LabelledArray(Protocol):
    """An array of xarray: numbers over dimensions with coordinates."""

    dims: Any
    coords: Any


TableSource: TypeAlias = FilePath | Sequence[FilePath] | ArrowStream | LabelledArray
"""Source of a table: files, or a table or array in memory."""

T = TypeVar("T")

# First bytes of each kind, as the endings of files are often wrong.
_KINDS = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"PK\x07\x08": "volume",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PAR1": "parquet",
    b"II*\0": "tiff",
    b"II+\0": "tiff",
    b"MM\0*": "tiff",
    b"MM\0+": "tiff",
    b"7z\xbc\xaf": "7z",
    b"SQLite format 3\0": "geopackage",
    b"fgb\x03": "flatgeobuf",
    b"\0\0\x27\x0a": "shapefile",
    b"CDF\x01": "netcdf",
    b"CDF\x02": "netcdf",
    b"CDF\x05": "netcdf",
    b"\x89HDF": "hdf5",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "binary workbook",  # or with a password
}
VECTOR = ("geopackage", "flatgeobuf", "shapefile", "zipped shapefile", "dbf")
"""Kinds that GDAL reads as features."""

RASTER = ("tiff", "ascii grid", "netcdf", "hdf5")
"""Kinds that GDAL reads as pixels."""

MARKUP = re.compile(rb"<(\?xml|!doctype|VRT|OGRVRT|GDAL_|WMS_|kml|gml|html)", re.IGNORECASE)
"""Start of a text that refers to other files or addresses, or holds no table."""

OMX = Rule(
    "matrix-is-omx",
    "This is an OMX file, a matrix in HDF5, which is not read: write one row for each pair, such "
    "as by openmatrix and pandas: f = openmatrix.open_file('a.omx'); zones = "
    "list(f.mapping('zones')); pandas.DataFrame(f['trips'][:], zones, zones).rename_axis('origin')"
    ".rename_axis('destination', axis=1).stack().rename('trips').to_csv('pairs.csv').",
)

DAMAGED = Rule("file-damaged", "The file is truncated or damaged; fetch or write it again.")


OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument."
"""Bytes of an OpenDocument file, a zip archive, after its first header of 30 bytes."""

WORKBOOKS = ("xlsx", "ods")
"""Kinds that have sheets of cells."""

NO_SPREADSHEET = Rule(
    "document-without-sheet",
    "This is a document without a spreadsheet; save the table as xlsx or ods without a password, "
    "or as CSV.",
)
BINARY = Rule(
    "workbook-binary",
    "This is a binary workbook (xls, xlsb), or one with a password, and neither is read; open it "
    "in a spreadsheet program and save it as xlsx or ods without a password, or as CSV.",
)
NO_ARCHIVE = Rule(
    "member-needs-archive",
    "Only zip archives have members (--member, member=); leave the option out.",
)
VOLUME = Rule(
    "archive-volume",
    "The file is one of several volumes of an archive; unpack it together with the others (such "
    "as 7z x FILE), and give the files that it contains.",
)


@dataclass(frozen=True)
class InputFile:
    """One stream of bytes.

    Attributes
    ----------
    name : str
        The path as given; of an archive, ``"FILE (member)"``.
    kind : str
        "text", "parquet", "geojson", "json lines", or one of ``WORKBOOKS`` or of ``VECTOR``.
    open : callable
        Opens the stream at its start; may be called again.
    size : int
        Bytes on disk.
    share : callable
        How much of an open stream has been read, from 0 to 1.
    member : str
        Member of an archive that GDAL opens, or that holds several tables.
    path : str
        The file, for libraries that open it by its path.
    partitions : mapping of str to str or None
        Columns that the names of its folders define, including folders in an archive.
    facts : tuple of Fact
        Facts on the member of an archive, and on members that are not read.
    """

    name: str
    kind: str
    open: Callable[[], IO[bytes]]
    size: int = 0
    share: Callable[[IO[bytes]], float] = lambda stream: 0.0
    member: str = ""
    path: str = ""
    partitions: Mapping[str, str | None] = field(default_factory=dict, compare=False)
    facts: tuple[Fact, ...] = ()


def input_files(
    paths: FilePath | Sequence[FilePath], member: str | None = None, header_row: int | None = None
) -> Iterator[InputFile]:
    """Open the tables inside files, in the order given; in archives, those that are selected.

    ``member`` is a name or a pattern: :func:`geodp.io.read.rows.members.choose_members`.

    Raises
    ------
    UsageError
        No path at all.
    InputError
        A missing, empty or damaged file, an archive without a table or with tables of different
        columns, or a format that holds no table.
    """
    for path in list_paths(paths):
        kind = kind_of(path)
        name = str(path)
        folders = partition_values(name)
        facts: tuple[Fact, ...] = ()
        if isinstance(path, Unpacked):
            # An unpacked member lies in a temporary folder; its columns come from where it was.
            folders = partition_values(Path(path.archive).parent / path.member)
            facts = path.facts
        if kind == "zip":
            yield from _of_archive(path, member, header_row)
        elif kind in ("gzip", "zstd"):
            # A bgzip file that was cut between two blocks decompresses without an error.
            if kind == "gzip":
                check_blocks(path)
            size = os.path.getsize(path)
            share = partial(_read_packed, size=size)
            opens: Any = partial(gzip.open if kind == "gzip" else _Zstd, path)
            yield InputFile(name, "text", opens, size, share, partitions=folders)
        elif kind in RASTER:
            raise InputError(
                "The file is a raster; read it as one (read_raster).",
                file=name,
                code="raster-not-a-table",
            )
        elif kind == "volume":
            raise InputError(VOLUME, file=name)
        elif kind == "7z":
            raise InputError(
                "The file is a 7-Zip archive; unpack it first.", file=name, code="archive-is-7zip"
            )
        else:
            size = os.path.getsize(path)
            opens, share = partial(_open_plain, path), partial(_read, size=size)
            where = os.fspath(path)
            yield InputFile(
                name, kind, opens, size, share, path=where, partitions=folders, facts=facts
            )


def _of_archive(path: FilePath, member: str | None, header_row: int | None) -> Iterator[InputFile]:
    """Open the shapefile in a zip archive, or its texts that are selected."""
    name, where = str(path), os.fspath(path)
    archive = guard(name, partial(zipfile.ZipFile, path))
    check_archive(path, archive)
    shapes = [one for one in archive.namelist() if one.lower().endswith(".shp")]
    shapes = [one for one in shapes if member is None or is_named(one, member)]
    # GDAL reads a shapefile inside an archive by itself, so that it need not be unpacked.
    if len(shapes) > 1:
        shown = ", ".join(map(printable, shapes))
        rule = Rule(
            "shapefiles-several", f"Choose one of the shapefiles (--member, member=): {shown}."
        )
        raise InputError(rule, file=name)
    if shapes:
        opens, size = partial(_open_plain, path), os.path.getsize(path)
        folders, kind = partition_values(name), "zipped shapefile"
        yield InputFile(name, kind, opens, size, member=shapes[0], path=where, partitions=folders)
        return
    members, facts = choose_members(archive, name, member, header_row)
    for one in members:
        opens = partial(archive.open, one)  # it stays open as long as its tables do
        share = partial(_read, size=one.file_size)
        label = f"{name} ({printable(one.filename)})"
        inner = one.filename if len(members) > 1 else ""
        folders = partition_values(Path(name).parent / one.filename)
        size = one.compress_size
        yield InputFile(label, "text", opens, size, share, inner, partitions=folders, facts=facts)


def list_paths(paths: TableSource) -> list[FilePath]:
    """List the files of one or several paths, including those of folders and patterns.

    Raises UsageError for an empty list or a table in memory; InputError for a file given twice,
    whose rows would count twice; and the errors of :func:`find_files`.
    """
    if isinstance(paths, ArrowStream | LabelledArray):
        raise UsageError(
            "Give files here; a table in memory is read by read_table or read_points, an array by "
            "read_raster.",
            code="files-expected",
        )
    requested = [paths] if isinstance(paths, str | os.PathLike) else _list_each(paths)
    if not requested:
        raise UsageError("Give at least one file to read.", code="files-missing")
    files = [file for path in requested for file in find_files(path)]
    seen: set[object] = set()
    for file in files:
        require_regular(file)
        if not os.path.isfile(file):
            continue
        status = os.stat(file)
        # The same file may be given by two paths: hard links and symbolic links share the inode.
        number = status.st_ino  # 0 on disks that number no files
        identity = (status.st_dev, number) if number else os.path.realpath(file)
        if identity in seen:
            rule = Rule(
                "file-twice",
                "The file is given twice, and its rows would be counted twice; give it once.",
            )
            raise InputError(rule, file=str(file))
        seen.add(identity)
    return files


def _list_each(paths: Iterable[FilePath]) -> list[FilePath]:
    """Return several paths; UsageError for an object that is neither paths nor a table."""
    with contextlib.suppress(TypeError):
        listed = list(paths)
        if all(isinstance(one, str | bytes | os.PathLike) for one in listed):
            return listed
    raise UsageError(
        "This is neither a file nor a table in memory: give paths, or a frame of pandas, "
        "geopandas, Polars or Arrow; of a lazy frame or a query, its result (frame.collect()).",
        code="source-unreadable",
    )


def kind_of(path: FilePath) -> str:
    """Return the kind of a file by its first bytes, and by its ending if these are ambiguous.

    "zip", "gzip", "zstd", "parquet", "7z", "geojson", "json lines", one of ``WORKBOOKS``, of
    ``VECTOR`` or of ``RASTER``, or else "text". Raises InputError for a missing or empty file.
    """
    name, start = str(path), b""
    if Path(path).is_dir():
        raise InputError(
            "This is a folder; give the files in it.", file=name, code="folder-not-read"
        )
    require_regular(path)
    try:
        with open(path, "rb") as stream:
            start = stream.read(128)
        rule = "" if start else Rule("file-empty", "The file is empty.")
    except FileNotFoundError:
        refuse_url(name)
        rule = Rule("file-missing", "There is no such file.")
    except OSError as error:
        rule = Rule("file-not-opened", f"The file cannot be opened ({error.strerror}).")
    # GDAL would follow the files and addresses that a VRT names, so such texts never reach it.
    if MARKUP.match(start.removeprefix(codecs.BOM_UTF8).lstrip()):
        rule = Rule(
            "text-is-xml",
            "This is an XML file. A virtual file (VRT, WMS) refers to other files or addresses, "
            "which are never opened: give the files that it names. Convert others, such as KML "
            "and GML, to GeoPackage or GeoTIFF first.",
        )
    # OpenDocument stores its media type uncompressed as the first member of the archive.
    document = start.startswith(OPEN_DOCUMENT, 30)
    if document and not start.startswith(OPEN_DOCUMENT + b"spreadsheet", 30):
        rule = NO_SPREADSHEET
    kind = next((kind for magic, kind in _KINDS.items() if start.startswith(magic)), "text")
    ending = Path(path).suffix.lower()
    if kind == "hdf5" and ending == ".omx":
        rule = OMX
    if kind == "binary workbook" or (kind == "zip" and ending == ".xlsb"):
        rule = BINARY
    if rule:
        raise InputError(rule, file=name)
    if kind == "zip" and (document or ending == ".ods"):
        return "ods"
    if kind == "zip" and ending in (".xlsx", ".xlsm"):
        return "xlsx"
    return _kind_of_text(ending, start) if kind == "text" else kind


def _kind_of_text(ending: str, start: bytes) -> str:
    """Return the kind of a file whose first bytes are no magic number."""
    # dBASE files have no magic number: the first byte is a version.
    if ending == ".dbf" and start[0] in (0x03, 0x83):
        return "dbf"
    if start.lstrip()[:5].lower() == b"ncols":
        return "ascii grid"
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] != b"{":
        return "text"
    return "json lines" if ending in (".jsonl", ".ndjson", ".geojsonl") else "geojson"


def guard(name: str, step: Callable[[], T], damaged: Rule = DAMAGED) -> T:
    """Carry out a step of reading; convert its failures to InputError with the rule ``damaged``.

    Parsers quote the text on which they fail. The error is therefore raised outside the handler, so
    that the parser's message is not even in its context.
    """
    try:
        return step()
    except MemoryError:  # Arrow's is both
        raise
    except pa.ArrowException:
        rule = Rule(
            "table-unreadable",
            "The file cannot be read as a table; it may be damaged or of another format: copy or "
            "download it again, or write it anew.",
        )
    except NotImplementedError:
        rule = Rule(
            "archive-compression",
            "The archive is compressed in a way that is not supported; unpack it first.",
        )
    except UnicodeDecodeError:  # Arrow decodes names on access
        rule = Rule(
            "column-name-not-utf8",
            "The name of a column is not UTF-8; write the file again in UTF-8.",
        )
    except DAMAGES:
        rule = damaged
    raise InputError(rule, file=name)


def _read(stream: IO[bytes], size: int) -> float:
    """Return the share of a plain stream that has been read."""
    return stream.tell() / max(size, 1)


def _read_packed(stream: IO[bytes], size: int) -> float:
    """Return the share of the compressed bytes that have been read."""
    packed: IO[bytes] = cast(Any, stream).fileobj
    return packed.tell() / max(size, 1)


def _open_plain(path: FilePath) -> IO[bytes]:
    return open(path, "rb")


class _Zstd(io.BufferedReader):
    """A decompressed stream of a Zstandard file, whose packed one is `fileobj`, as of gzip's."""

    def __init__(self, path: FilePath) -> None:
        self.fileobj = pa.OSFile(os.fsencode(path))
        super().__init__(pa.CompressedInputStream(self.fileobj, "zstd"), 1 << 16)


_NAME = 120
"""Maximum length of a file name, in characters."""

DISK_FULL = Rule(
    "scratch-no-room-for-archive",
    "The disk is too full for the content of the archive; choose a folder on another disk "
    "(--scratch, scratch=), or unpack it.",
)


@contextmanager
def unpack(
    path: FilePath, scratch: FilePath | None = None, member: str | None = None
) -> Iterator[FilePath]:
    """Replace an archive by the member that must be unpacked, for as long as the block lasts.

    Files with the same stem, such as the world file of a raster, are unpacked with it. Other paths
    are yielded unchanged.

    Raises
    ------
    InputError
        A missing file, or an archive that is damaged, encrypted or holds several tables.
    OutputError
        The disk is full.
    """
    name = str(path)
    if kind_of(path) != "zip":
        if member is not None and not isinstance(path, Unpacked):
            raise InputError(NO_ARCHIVE, file=name)
        yield path
        return
    archive = guard(name, partial(zipfile.ZipFile, path))
    with archive:
        check_archive(path, archive)
        chosen, facts = choose_packed(archive, name, member)
        if chosen is None:
            yield path
            return
        temporary = TemporaryDirectory(prefix="geodp-zip-", dir=scratch, ignore_cleanup_errors=True)
        with temporary as folder:
            for member_info in _with_companions(archive, chosen):
                guard(name, partial(_copy, archive, member_info, Path(folder)))
            where = str(Path(folder) / _name_of(chosen))
            yield Unpacked(name, chosen.filename, where, facts)


def _with_companions(archive: zipfile.ZipFile, chosen: zipfile.ZipInfo) -> list[zipfile.ZipInfo]:
    """Return a member and those in its folder with the same stem."""
    path = PurePosixPath(chosen.filename)
    return [
        info
        for info in archive.infolist()
        if PurePosixPath(info.filename).parent == path.parent
        and PurePosixPath(info.filename).name.startswith(f"{path.stem}.")
    ]


def _copy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    """Unpack a member to its end, where zipfile verifies its checksum."""
    # Checked before, as a full disk would also stop other programs.
    full = member.file_size > shutil.disk_usage(folder).free
    try:
        if not full:
            with archive.open(member) as packed, (folder / _name_of(member)).open("wb") as plain:
                shutil.copyfileobj(packed, plain, 1 << 20)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        if not full:
            raise
    if full:
        raise OutputError(DISK_FULL)


def _name_of(member: zipfile.ZipInfo) -> str:
    """Return a file name of letters, digits and symbols allowed on every disk."""
    path = PurePosixPath(member.filename)
    stem = re.sub(r"[^\w() -]", "_", path.name.partition(".")[0])[:_NAME]
    # One prefix for a member and its companions, which have the same stem.
    stem = f"_{stem}" if is_device_name(stem) else stem
    return f"{stem or 'member'}.{re.sub(r'[^A-Za-z0-9.]', '_', path.name.partition('.')[2])}"
