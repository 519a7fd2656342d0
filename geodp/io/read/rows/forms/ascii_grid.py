"""Completeness of ASCII grids: as many numbers as the header declares, and nothing else.

GDAL reads missing numbers and other texts as 0.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete.files import incomplete
from geodp.io.read.rows.input_files import FilePath, guard

CHUNK = 1 << 22
"""Bytes in a block, which is extended to the end of its line."""

NO_END = Rule(
    "ascii-grid-without-end",
    "The last line of the ASCII grid has no end, so that its last number may be cut; copy or "
    "download the file again, or end the line where it is whole.",
)

_HEADER = re.compile(rb"\s*(?:[A-Za-z_]+[ \t]+\S+[ \t]*\r?\n\s*)*")
# Possessive quantifiers (*+, ++) prevent backtracking, which would take minutes on a bad block.
_NUMBERS = re.compile(
    rb"(?:\s*+(?:[+-]?(?:\d++\.?\d*+|\.\d++)(?:e[+-]?\d++)?+|[+-]?nan)(?=\s|\Z))*+\s*+",
    re.IGNORECASE,
)


def require_numbers(path: FilePath, pixels: int) -> None:
    """Raise InputError unless an ASCII grid has this many numbers below its header."""
    number = guard(str(path), lambda: _count(path))
    if number is None:
        raise InputError(
            "The ASCII grid holds something that is no number, such as a decimal comma or a word "
            "for no data; write numbers with a decimal point, and NODATA_value in the header.",
            file=str(path),
            code="ascii-grid-not-number",
        )
    if number != pixels:
        what = Rule(
            "ascii-grid-values-differ",
            "The ASCII grid has another number of values than its header's lines and columns",
        )
        raise incomplete(str(path), what)
    if not _ends(path):
        raise InputError(NO_END, file=str(path))


def _ends(path: FilePath) -> bool:
    """Whether a blank or line end follows the last number, which is then complete."""
    with open(path, "rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1).isspace()


def _count(path: FilePath) -> int | None:
    """Return the number of numbers; None if there is another text."""
    number = 0
    for part in _parts(path):
        if not _NUMBERS.fullmatch(part):
            return None
        number += len(part.split())
    return number


def _parts(path: FilePath) -> Iterator[bytes]:
    """Yield the text below the header in blocks of complete lines."""
    with open(path, "rb") as stream:
        first = stream.read(CHUNK) + stream.readline()
        header = _HEADER.match(first)
        yield first[header.end() if header else 0 :]
        while part := stream.read(CHUNK):
            yield part + stream.readline()
