"""Files of sums: a line of JSON that says what it is, and plain arrays one after another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.folder.whole import write_atomically
from geodp.io.opening import parse_json, require_regular

SCHEMA = "geodp-sums-2"

MOST_HEAD = 1 << 26
"""Bytes of the first line."""

KINDS = ("uint8", "int64", "uint64")


def write_sums(
    path: Path, said: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, overwrite: bool
) -> None:
    """Write a whole file, or leave the one before.

    Parameters
    ----------
    path : path
    said : mapping
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
    pieces = [np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for a in arrays.values()]
    listed = [[name, a.dtype.name, a.size] for name, a in arrays.items()]
    head = {"schema": SCHEMA, **said, "arrays": listed}
    digest = hashlib.sha256(_encode_head(head))
    for piece in pieces:
        digest.update(piece.data)
    refusal = Rule("sums-file-exists", f"{path} exists; replace it with --overwrite.")
    with write_atomically(path, refusal, overwrite=overwrite) as file:
        file.write(json.dumps({**head, "sha256": digest.hexdigest()}).encode() + b"\n")
        for piece in pieces:
            file.write(piece.data)


def _encode_head(head: Mapping[str, Any]) -> bytes:
    """Return what a file says of itself, the same bytes for the same, for its SHA-256."""
    return json.dumps(head, sort_keys=True).encode()


def read_sums(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a file of sums says, and its arrays.

    Raises
    ------
    InputError
        A file that is none of these, was cut off or changed.
    """
    require_regular(path)
    broken = InputError(
        "This is no whole file of sums: it was cut off, changed or is something else; aggregate "
        "the reports again.",
        file=path.name,
        code="sums-damaged",
    )
    try:
        with path.open("rb") as file:
            head = parse_json(file.readline(MOST_HEAD))
            if head["schema"] != SCHEMA:
                raise broken
            body = file.read()
        found, at = dict[str, NDArray[Any]](), 0
        for name, kind, size in head["arrays"]:
            if kind not in KINDS or type(size) is not int or size < 0 or name in found:
                raise broken
            end = at + size * np.dtype(kind).itemsize
            found[name] = np.frombuffer(body[at:end], np.dtype(kind).newbyteorder("<")).astype(kind)
            at = end
        stated = head.pop("sha256")
        digest = hashlib.sha256(_encode_head(head))
        digest.update(body)
        whole = at == len(body) and digest.hexdigest() == stated
    except OSError as error:
        raise InputError(
            f"The file cannot be read ({error.strerror}).", file=path.name, code="file-unreadable"
        ) from None
    except (ValueError, TypeError, KeyError):
        raise broken from None
    if not whole or any(
        array.size != size
        for array, (_, _, size) in zip(found.values(), head["arrays"], strict=True)
    ):
        raise broken
    return head, found
