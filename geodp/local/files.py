"""Files of reports, as Parquet or JSON lines, and files of sums: each with the digest of its round.

A report is a record of whole numbers. No file says which device sent a report, or when. A file of
sums is a header line of JSON, then plain arrays one after another.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError
from geodp.io.folder.atomic import require_absent, write_atomically
from geodp.io.opening import open_parquet, parse_json, require_regular
from geodp.io.read.rows.forms.locations import RELEASE, find_release
from geodp.typing import ReportArray

REPORTS_SCHEMA = "geodp-reports-1"

ENDINGS = (".parquet", ".jsonl")

CHUNK = 1 << 20
"""Number of reports that are read together."""

MAX_LINE = 4096
"""Largest length of a line of JSON, in bytes."""

BROKEN = (OSError, ValueError, TypeError, KeyError, OverflowError, pa.ArrowException)


def write_reports(path: Path, digest: str, reports: ReportArray) -> None:
    """Write a new file of reports, completely or not at all, in the order of the array.

    Parameters
    ----------
    path : path
        Ends in .parquet or .jsonl.
    digest : str
        Digest of the round.
    reports : structured array

    Raises
    ------
    UsageError
        Another ending, or a file that exists.
    OutputError
        The file cannot be written.
    """
    require_new(path)
    with write_atomically(path, _exists_rule(path)) as file:
        if path.suffix == ".parquet":
            schema = pa.schema(_columns(reports.dtype), {"geodp": json.dumps(_header(digest))})
            columns = [pa.array(reports[name]) for name in reports.dtype.names or ()]
            rows = pa.table(columns, schema)
            # Row groups bound the memory that a reader needs.
            pq.write_table(rows, file, compression="zstd", row_group_size=CHUNK)
        else:
            file.writelines(_lines(digest, reports))


def read_reports(path: Path, digest: str, kind: np.dtype[Any]) -> Iterator[ReportArray]:
    """Yield the reports of a file, in chunks.

    Parameters
    ----------
    path : path
    digest : str
        Digest of the round.
    kind : dtype
        Type of a report.

    Raises
    ------
    InputError
        A file of another round, with other fields, that is cut off, or that is no file of reports;
        with the row, where one report is at fault.
    """
    require_regular(path)
    if path.suffix not in ENDINGS:
        raise InputError(
            f"Files of reports end in {' or '.join(ENDINGS)}, and those of sums in .sums.",
            file=path.name,
            code="reports-ending",
        )
    try:
        yield from (_read_parquet if path.suffix == ".parquet" else _read_lines)(path, digest, kind)
    except InputError:
        raise
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(
                f"The file cannot be read ({os.strerror(error.errno)}).",
                file=path.name,
                code="report-unreadable",
            ) from None
        raise InputError(
            "This is not a complete file of reports: it was cut off, changed or is something else; "
            "get it again.",
            file=path.name,
            code="reports-damaged",
        ) from None


def require_new(path: Path) -> None:
    """Raise UsageError where a file of reports exists or its name has another ending."""
    if path.suffix not in ENDINGS:
        raise UsageError(
            f"{path.name}: files of reports end in {' or '.join(ENDINGS)}.",
            code="reports-ending-named",
        )
    require_absent(path, _exists_rule(path))


def _exists_rule(path: Path) -> str:
    return Rule("reports-file-exists", f"{path} exists; choose a new file.")


def row_of(path: Path, position: int) -> int:
    """Compute the row of a report in its file, or the line of a file of JSON lines, from 1."""
    return position + (2 if path.suffix == ".jsonl" else 1)


def _header(digest: str) -> dict[str, str]:
    return {"schema": REPORTS_SCHEMA, "round": digest}


def _columns(kind: np.dtype[Any]) -> list[Any]:
    return [
        pa.field(name, pa.from_numpy_dtype(kind[name]), nullable=False) for name in kind.names or ()
    ]


def _require_head(header: Any, digest: str, path: Path) -> None:
    """Refuse a file that is of another round, or no file of reports."""
    if not isinstance(header, dict) or header.get("schema") != REPORTS_SCHEMA:
        raise InputError("This is not a file of reports.", file=path.name, code="reports-expected")
    if header.get("round") != digest:
        raise InputError(
            "These are reports of another round, or of one whose file was changed; aggregate them "
            "with the file of their own round.",
            file=path.name,
            code="reports-of-other-round",
        )


def _require_fields(same: bool, path: Path) -> None:
    if not same:
        raise InputError(
            "The reports have other fields than those of the round.",
            file=path.name,
            code="report-fields-unlike-round",
        )


def _read_parquet(path: Path, digest: str, kind: np.dtype[Any]) -> Iterator[ReportArray]:
    file = open_parquet(path)
    header = (file.schema_arrow.metadata or {}).get(b"geodp", b"null")
    _require_head(parse_json(header), digest, path)
    columns = [(one.name, one.type) for one in file.schema_arrow]
    # Types are compared too: a wider one would pass values that no device can send.
    _require_fields(columns == [(one.name, one.type) for one in _columns(kind)], path)
    read = 0
    for batch in file.iter_batches(CHUNK):
        reports = np.empty(batch.num_rows, kind)
        for name in kind.names or ():
            column = batch.column(name)
            if column.null_count:
                position = read + pc.index(column.is_null(), True).as_py()
                raise InputError(
                    f"The report has no {name}; a report has all fields of its round.",
                    file=path.name,
                    row=row_of(path, position),
                    code="report-field-missing",
                )
            reports[name] = column.to_numpy()
        yield reports
        read += batch.num_rows


def _lines(digest: str, reports: ReportArray) -> Iterator[bytes]:
    """Yield the lines of a file: a header, the reports, and their number."""
    yield json.dumps(_header(digest)).encode() + b"\n"
    names = reports.dtype.names or ()
    for row in reports.tolist():
        yield json.dumps(dict(zip(names, row, strict=True))).encode() + b"\n"
    # The number at the end shows a reader that the file was not cut off at a line.
    yield json.dumps({"reports": reports.size}).encode() + b"\n"


def _read_lines(path: Path, digest: str, kind: np.dtype[Any]) -> Iterator[ReportArray]:
    largest = {name: int(np.iinfo(kind[name]).max) for name in kind.names or ()}
    with path.open("rb") as file:
        # A limited read, so that a file without line ends does not fill the memory.
        _require_head(parse_json(file.readline(MAX_LINE)), digest, path)
        rows, read, last = list[tuple[int, ...]](), 0, None
        while line := file.readline(MAX_LINE):
            try:
                # More lines would mean joined files, of which only the first header was checked.
                if last is not None:
                    raise ValueError("there is more after the line that ends the file")
                plain = _parse_line(line)
                if set(plain) == {"reports"}:
                    last = plain["reports"]
                    continue
                rows.append(_fields_of(plain, largest))
            except ValueError as error:
                place = row_of(path, read + len(rows)) + (last is not None)
                raise InputError(
                    f"This is no report of the round: {error}; the file was cut off, changed or is "
                    "something else, so get it again.",
                    file=path.name,
                    row=place,
                    code="report-broken",
                ) from None
            if len(rows) == CHUNK:
                yield np.array(rows, kind)
                read, rows = read + len(rows), []
        if last != read + len(rows):
            raise ValueError("the end is missing")
        yield np.array(rows, kind)


def _parse_line(line: bytes) -> dict[str, Any]:
    """Parse the object of a line; ValueError, which quotes nothing, where there is none."""
    if not line.endswith(b"\n"):
        raise ValueError(f"the line has no end, or is longer than {MAX_LINE} bytes")
    try:
        plain = parse_json(line)
    except ValueError:
        raise ValueError("the line is no JSON") from None
    if not isinstance(plain, dict):
        raise ValueError("the line is no JSON object")
    return plain


def _fields_of(plain: dict[str, Any], limits: dict[str, int]) -> tuple[int, ...]:
    """List the fields of a report, none above its limit; ValueError where one is or is missing."""
    if set(plain) != set(limits):
        raise ValueError(f"its fields must be {', '.join(limits)}")
    for name, largest in limits.items():
        if type(plain[name]) is not int or not 0 <= plain[name] <= largest:
            raise ValueError(f"{name} must be a whole number from 0 to {largest}")
    return tuple(plain[name] for name in limits)


SUMS_SCHEMA = "geodp-sums-2"

MAX_HEADER = 1 << 26
"""Largest length of the first line, in bytes."""

KINDS = ("uint8", "int64", "uint64")


def write_sums(
    path: Path, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, overwrite: bool
) -> None:
    """Write a complete file, or leave an existing one unchanged.

    Parameters
    ----------
    path : path
    metadata : mapping
        Plain values.
    arrays : mapping of str to array
        One-dimensional, of types in ``KINDS``.
    overwrite : bool

    Raises
    ------
    UsageError
        The file exists and is not to be replaced.
    OutputError
        It cannot be written.
    """
    # Little-endian on every machine, so that equal sums are equal files.
    pieces = [np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for a in arrays.values()]
    listed = [[name, a.dtype.name, a.size] for name, a in arrays.items()]
    header = {"schema": SUMS_SCHEMA, **metadata, "arrays": listed}
    digest = hashlib.sha256(_encode_header(header))
    for piece in pieces:
        digest.update(piece.data)
    refusal = Rule("sums-file-exists", f"{path} exists; replace it with --overwrite.")
    with write_atomically(path, refusal, overwrite=overwrite) as file:
        file.write(json.dumps({**header, "sha256": digest.hexdigest()}).encode() + b"\n")
        for piece in pieces:
            file.write(piece.data)


def _encode_header(header: Mapping[str, Any]) -> bytes:
    """Encode a header canonically, for its SHA-256."""
    return json.dumps(header, sort_keys=True).encode()


def read_sums(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the header of a file of sums, and its arrays.

    Raises
    ------
    InputError
        A file of another kind, or one that was cut off or changed.
    """
    require_regular(path)
    if find_release(path) is not None:
        raise InputError(RELEASE, file=path.name)
    broken = InputError(
        "This is not a complete file of sums: it was cut off, changed or is something else; "
        "aggregate the reports again.",
        file=path.name,
        code="sums-damaged",
    )
    try:
        with path.open("rb") as file:
            header = parse_json(file.readline(MAX_HEADER))
            if header["schema"] != SUMS_SCHEMA:
                raise broken
            body = file.read()
        arrays, at = dict[str, NDArray[Any]](), 0
        for name, kind, size in header["arrays"]:
            if kind not in KINDS or type(size) is not int or size < 0 or name in arrays:
                raise broken
            # A size beyond the end gives a shorter array here, which is refused below.
            end = at + size * np.dtype(kind).itemsize
            arrays[name] = np.frombuffer(body[at:end], np.dtype(kind).newbyteorder("<")).astype(
                kind
            )
            at = end
        recorded = header.pop("sha256")
        digest = hashlib.sha256(_encode_header(header))
        digest.update(body)
        # The digest covers header and arrays, so that any change or cut is detected.
        is_complete = at == len(body) and digest.hexdigest() == recorded
    except OSError as error:
        raise InputError(
            f"The file cannot be read ({error.strerror}).", file=path.name, code="file-unreadable"
        ) from None
    except (ValueError, TypeError, KeyError):
        raise broken from None
    if not is_complete or any(
        array.size != size
        for array, (_, _, size) in zip(arrays.values(), header["arrays"], strict=True)
    ):
        raise broken
    return header, arrays
