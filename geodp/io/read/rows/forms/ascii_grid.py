"""Whether the text of an ASCII grid holds as many numbers as its header says, and nothing else.

GDAL reads what is no number, or is not there, as 0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.error import incomplete
from geodp.io.read.rows.input_files import FilePath, guard

CHUNK = 1 << 22
"""Bytes that are looked at at once, and then to the end of the line."""

NO_END = Rule(
    "ascii-grid-without-end",
    "The last line of the ASCII grid has no end, so that its last number may be cut; copy or "
    "download the file again, or end the line where it is whole.",
)

_HEADER = re.compile(rb"\s*(?:[A-Za-z_]+[ \t]+\S+[ \t]*\r?\n\s*)*")
_NUMBERS = re.compile(
    rb"(?:\s*+(?:[+-]?(?:\d++\.?\d*+|\.\d++)(?:e[+-]?\d++)?+|[+-]?nan)(?=\s|\Z))*+\s*+",
    re.IGNORECASE,
)


def require_numbers(path: FilePath, pixels: int) -> None:
    """Raise InputError for an ASCII grid with other than so many numbers below its header."""
    found = guard(str(path), lambda: _count(path))
    if found is None:
        raise InputError(
            "The ASCII grid holds something that is no number, such as a decimal comma or a word "
            "for no data; write numbers with a decimal point, and NODATA_value in the header.",
            file=str(path),
            code="ascii-grid-not-number",
        )
    if found != pixels:
        raise incomplete(
            str(path),
            Rule(
                "ascii-grid-values-differ",
                "The ASCII grid has another number of values than its header's lines and columns",
            ),
        )
    if not _ends(path):
        raise InputError(NO_END, file=str(path))


def _ends(path: FilePath) -> bool:
    """Whether a blank or a line end follows the last number, which is whole then."""
    with open(path, "rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1).isspace()


def _count(path: FilePath) -> int | None:
    """Return how many numbers there are; None where something else is."""
    found = 0
    for part in _parts(path):
        if not _NUMBERS.fullmatch(part):
            return None
        found += len(part.split())
    return found


def _parts(path: FilePath) -> Iterator[bytes]:
    """Yield what stands below the header, some lines at a time."""
    with open(path, "rb") as stream:
        first = stream.read(CHUNK) + stream.readline()
        header = _HEADER.match(first)
        yield first[header.end() if header else 0 :]
        while part := stream.read(CHUNK):
            yield part + stream.readline()
