"""Files of sums: a header line of JSON, then plain arrays one after another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.folder.atomic import write_atomically
from geodp.io.opening import parse_json, require_regular

SCHEMA = "geodp-sums-2"

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
    header = {"schema": SCHEMA, **metadata, "arrays": listed}
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
    broken = InputError(
        "This is not a complete file of sums: it was cut off, changed or is something else; "
        "aggregate the reports again.",
        file=path.name,
        code="sums-damaged",
    )
    try:
        with path.open("rb") as file:
            header = parse_json(file.readline(MAX_HEADER))
            if header["schema"] != SCHEMA:
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
