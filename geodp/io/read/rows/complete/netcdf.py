"""NetCDF's classic formats: the header's variables and number of records against the file.

GDAL gives fill values for what lies behind the end of the file.
"""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass
from typing import IO

from geodp.errors import InputError
from geodp.io.read.rows.complete.error import incomplete

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8}
"""Bytes of a value, by the number of its type."""

DIMENSIONS, VARIABLES, ATTRIBUTES = 10, 11, 12

STREAMING = 0xFFFFFFFF
"""Number of records of a file whose writer never came to state it."""

MOST_HEADER = 1 << 26
"""Bytes of a header."""

ENDS = "The NetCDF file ends before its variables do"
NEWER = (
    "NetCDF's format CDF-5 is not read; rewrite the file in an older classic format "
    "(nccopy -k nc6) or as a GeoTIFF."
)


@dataclass
class _Header:
    """The header, read from its start on."""

    name: str
    stream: IO[bytes]
    size: int

    def take(self, length: int) -> bytes:
        """Return the next bytes; those that fill four are passed over."""
        length = -(-length // 4) * 4
        at = self.stream.tell()
        if at + length > min(self.size, MOST_HEADER):
            raise incomplete(self.name, "The NetCDF file ends in its header")
        return self.stream.read(length)

    def number(self) -> int:
        """Return the next whole number."""
        return int(struct.unpack(">L", self.take(4))[0])

    def many(self, tag: int) -> int:
        """Return how many entries the list of this tag has that begins here."""
        found, many = self.number(), self.number()
        if found not in (0, tag) or (found == 0 and many):
            raise incomplete(self.name, "The header of the NetCDF file cannot be read")
        return many

    def skip_attributes(self) -> None:
        """Read over a list of attributes."""
        for _ in range(self.many(ATTRIBUTES)):
            self.take(self.number())
            kind = self.number()
            self.take(self.number() * SIZES.get(kind, 1))


def check_netcdf(path: str | os.PathLike[str]) -> None:
    """Compare the header of a classic NetCDF file with its length.

    Raises
    ------
    InputError
        Variables or records lie behind the end of the file or over one another, records are there
        that the header does not count, their number was never stated, or it is of the format CDF-5.
    """
    name, size = os.fspath(path), os.path.getsize(path)
    with open(path, "rb") as stream:
        version = stream.read(4)[3:]
        if version == b"\x05":
            raise InputError(NEWER, file=name)
        file = _Header(name, stream, size)
        records = file.number()
        lengths = []
        for _ in range(file.many(DIMENSIONS)):
            file.take(file.number())
            lengths.append(file.number())
        file.skip_attributes()
        fixed: list[tuple[int, int]] = []
        in_records: list[tuple[int, int]] = []
        for _ in range(file.many(VARIABLES)):
            file.take(file.number())
            axes = [file.number() for _ in range(file.number())]
            file.skip_attributes()
            kind, _ = file.number(), file.number()
            begin = file.number()
            if version == b"\x02":
                begin = begin << 32 | file.number()
            if kind not in SIZES or any(axis >= len(lengths) for axis in axes):
                raise incomplete(name, "The header of the NetCDF file cannot be read")
            shape = [lengths[axis] for axis in axes]
            unlimited = bool(shape) and shape[0] == 0
            held = SIZES[kind] * math.prod(shape[1:] if unlimited else shape)
            (in_records if unlimited else fixed).append((begin, held))
        end = stream.tell()
    _check_places(name, size, end, fixed, in_records, records)


def _check_places(
    name: str,
    size: int,
    end: int,
    fixed: list[tuple[int, int]],
    in_records: list[tuple[int, int]],
    records: int,
) -> None:
    """Raise InputError where variables, (begin, bytes) each, are not all in the file.

    ``in_records`` have a record after another, each of them their bytes of it.
    """
    for begin, held in sorted(fixed):
        if begin < end:
            raise incomplete(name, "Variables of the NetCDF file lie over one another")
        end = begin + held
    if end > size:
        raise incomplete(name, ENDS)
    if not in_records:
        return
    if records == STREAMING:
        rule = "The NetCDF file does not state how many records it has; rewrite it (nccopy)."
        raise InputError(rule, file=name)
    alone = len(in_records) == 1  # then nothing fills its records to four bytes
    step = sum(held if alone else -(-held // 4) * 4 for _, held in in_records)
    first = end
    for begin, held in sorted(in_records):
        if begin < first:
            raise incomplete(name, "Variables of the NetCDF file lie over one another")
        first = begin + held
        if records and begin + (records - 1) * step + held > size:
            raise incomplete(name, ENDS)
    if step and size - min(begin for begin, _ in in_records) >= (records + 1) * step:
        raise incomplete(name, "The NetCDF file has more records than its header says")
