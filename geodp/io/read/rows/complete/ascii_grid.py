"""ASCII grids: as many numbers as the header says there are lines and columns."""

from __future__ import annotations

import math
import os

import numpy as np

from geodp.errors import InputError
from geodp.io.read.rows.complete.error import incomplete

HEAD = 1 << 12
"""Bytes in which the header ends."""

CHUNK = 1 << 22
"""Bytes that are looked at at once."""

LENGTHS = ("ncols", "nrows")
CORNERS = ("xllcorner", "yllcorner", "xllcenter", "yllcenter", "cellsize", "dx", "dy")
KEYS = {*LENGTHS, *CORNERS, "nodata_value", "nodata"}


NO_END = (
    "The last line of the ASCII grid has no end, so that its last number may be cut; copy or "
    "download the file again, or end the line where it is whole."
)


def check_ascii_grid(path: str | os.PathLike[str]) -> None:
    """Compare the header of an ASCII grid with how many numbers follow it.

    Raises
    ------
    InputError
        There are fewer or more, or nothing behind the last shows that it is whole.
    """
    name, numbers, before = os.fspath(path), 0, True
    with open(path, "rb") as stream:
        words = stream.read(HEAD).decode("latin-1").split()
        header: dict[str, str] = {}
        while len(words) > 2 * len(header) + 1 and words[2 * len(header)].lower() in KEYS:
            header[words[2 * len(header)].lower()] = words[2 * len(header) + 1]
        stream.seek(0)
        while chunk := stream.read(CHUNK):
            blank = np.frombuffer(chunk, np.uint8) <= ord(" ")
            begins = ~blank[1:] & blank[:-1]
            numbers += int(np.count_nonzero(begins)) + int(before and not blank[0])
            before = bool(blank[-1])
    lengths = [header.get(key, "") for key in LENGTHS]
    if not all(length.isdecimal() for length in lengths):
        return  # GDAL says what is wrong with it
    if not before:
        raise InputError(NO_END, file=name)
    if numbers - 2 * len(header) != math.prod(map(int, lengths)):
        raise incomplete(
            name, "The ASCII grid has another number of values than its header's lines and columns"
        )
