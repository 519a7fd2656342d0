"""Files of reports: Parquet, or JSON lines, each with the digest of its round.

A report is a record of whole numbers. No file says which device a report is of, or when it came.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from geodp.errors import InputError, Rule, UsageError
from geodp.io.folder.whole import require_absent, write_atomically
from geodp.io.opening import open_parquet, parse_json, require_regular
from geodp.typing import ReportArray

SCHEMA = "geodp-reports-1"

ENDINGS = (".parquet", ".jsonl")

AT_ONCE = 1 << 20
"""Reports that are read together."""

LONGEST = 4096
"""Bytes of a line of JSON."""

BROKEN = (OSError, ValueError, TypeError, KeyError, OverflowError, pa.ArrowException)


def write_reports(path: Path, digest: str, reports: ReportArray) -> None:
    """Write a new file of reports, whole or not at all, in the order that they have.

    Parameters
    ----------
    path : path
        Ends in .parquet or .jsonl.
    digest : str
        Of the round.
    reports : structured array

    Raises
    ------
    UsageError
        Another ending, or a file that exists.
    OutputError
        The file cannot be written.
    """
    require_new(path)
    with write_atomically(path, _there(path)) as file:
        if path.suffix == ".parquet":
            schema = pa.schema(_columns(reports.dtype), {"geodp": json.dumps(_head(digest))})
            columns = [pa.array(reports[name]) for name in reports.dtype.names or ()]
            rows = pa.table(columns, schema)
            pq.write_table(rows, file, compression="zstd", row_group_size=AT_ONCE)
        else:
            file.writelines(_lines(digest, reports))


def read_reports(path: Path, digest: str, kind: np.dtype[Any]) -> Iterator[ReportArray]:
    """Yield the reports of a file, many at a time.

    Parameters
    ----------
    path : path
    digest : str
        Of the round.
    kind : dtype
        Of a report.

    Raises
    ------
    InputError
        A file of another round, of other fields, that is cut off or none of reports; where one
        report is at fault, with its row.
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
            "This is no whole file of reports: it was cut off, changed or is something else; get "
            "it again.",
            file=path.name,
            code="reports-damaged",
        ) from None


def require_new(path: Path) -> None:
    """Raise UsageError where a file of reports exists or is called otherwise."""
    if path.suffix not in ENDINGS:
        raise UsageError(
            f"{path.name}: files of reports end in {' or '.join(ENDINGS)}.",
            code="reports-ending-named",
        )
    require_absent(path, _there(path))


def _there(path: Path) -> str:
    return Rule("reports-file-exists", f"{path} exists; choose a new file.")


def row_of(path: Path, position: int) -> int:
    """Return the row of a file, of lines of JSON the line, in which a report stands, from 1."""
    return position + (2 if path.suffix == ".jsonl" else 1)


def _head(digest: str) -> dict[str, str]:
    return {"schema": SCHEMA, "round": digest}


def _columns(kind: np.dtype[Any]) -> list[Any]:
    return [
        pa.field(name, pa.from_numpy_dtype(kind[name]), nullable=False) for name in kind.names or ()
    ]


def _require_head(found: Any, digest: str, path: Path) -> None:
    """Refuse a file that is of another round, or of none."""
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise InputError("This is no file of reports.", file=path.name, code="reports-expected")
    if found.get("round") != digest:
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
    said = (file.schema_arrow.metadata or {}).get(b"geodp", b"null")
    _require_head(parse_json(said), digest, path)
    columns = [(one.name, one.type) for one in file.schema_arrow]
    _require_fields(columns == [(one.name, one.type) for one in _columns(kind)], path)
    read = 0
    for batch in file.iter_batches(AT_ONCE):
        found = np.empty(batch.num_rows, kind)
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
            found[name] = column.to_numpy()
        yield found
        read += batch.num_rows


def _lines(digest: str, reports: ReportArray) -> Iterator[bytes]:
    """Yield the lines of a file: what it is, the reports, and how many they are."""
    yield json.dumps(_head(digest)).encode() + b"\n"
    names = reports.dtype.names or ()
    for row in reports.tolist():
        yield json.dumps(dict(zip(names, row, strict=True))).encode() + b"\n"
    yield json.dumps({"reports": reports.size}).encode() + b"\n"


def _read_lines(path: Path, digest: str, kind: np.dtype[Any]) -> Iterator[ReportArray]:
    most = {name: int(np.iinfo(kind[name]).max) for name in kind.names or ()}
    with path.open("rb") as file:
        _require_head(parse_json(file.readline(LONGEST)), digest, path)
        rows, read, last = list[tuple[int, ...]](), 0, None
        while line := file.readline(LONGEST):
            try:
                if last is not None:
                    raise ValueError("there is more after the line that ends the file")
                one = _parse_line(line)
                if set(one) == {"reports"}:
                    last = one["reports"]
                    continue
                rows.append(_fields_of(one, most))
            except ValueError as error:
                place = row_of(path, read + len(rows)) + (last is not None)
                raise InputError(
                    f"This is no report of the round: {error}; the file was cut off, changed or is "
                    "something else, so get it again.",
                    file=path.name,
                    row=place,
                    code="report-broken",
                ) from None
            if len(rows) == AT_ONCE:
                yield np.array(rows, kind)
                read, rows = read + len(rows), []
        if last != read + len(rows):
            raise ValueError("the end is missing")
        yield np.array(rows, kind)


def _parse_line(line: bytes) -> dict[str, Any]:
    """Return the object of a line; ValueError, which quotes nothing, where there is none."""
    if not line.endswith(b"\n"):
        raise ValueError(f"the line has no end, or is longer than {LONGEST} bytes")
    try:
        one = parse_json(line)
    except ValueError:
        raise ValueError("the line is no JSON") from None
    if not isinstance(one, dict):
        raise ValueError("the line is no JSON object")
    return one


def _fields_of(one: dict[str, Any], most: dict[str, int]) -> tuple[int, ...]:
    """Return the fields of a report, each with the most that it can be; ValueError without them."""
    if set(one) != set(most):
        raise ValueError(f"its fields must be {', '.join(most)}")
    for name, largest in most.items():
        if type(one[name]) is not int or not 0 <= one[name] <= largest:
            raise ValueError(f"{name} must be a whole number from 0 to {largest}")
    return tuple(one[name] for name in most)
