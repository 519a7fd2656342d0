"""The header of a NetCDF file in a classic format: dimensions, variables and attributes.

GDAL, which reads the pixels, passes attributes on as rounded texts, looks at three steps of a
coordinate, and does not tell which dimension is which; SciPy does not tell where values begin. The
format is that of appendix B of the NetCDF User's Guide.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.read.rows.input_files import FilePath, guard

TYPES = ("i1", "S1", ">i2", ">i4", ">f4", ">f8")
"""NumPy's names of types 1 to 6."""

ENDS = Rule(
    "netcdf-ends-in-header",
    "The NetCDF file ends in its header, or is none. The file is incomplete or damaged; copy or "
    "download it again.",
)
NEWER = Rule(
    "netcdf-cdf5",
    "NetCDF's format CDF-5 is not read; rewrite the file in an older classic format "
    "(nccopy -k nc6) or as a GeoTIFF.",
)

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
"""Tags of lists."""


@dataclass(frozen=True)
class Variable:
    """A variable of a file.

    Attributes
    ----------
    dimensions : tuple of str
        Slowest first.
    dtype : dtype
        As it is stored: big-endian.
    attributes : mapping of str to str or ndarray
        Numbers are one-dimensional arrays in their own type.
    begin : int
        Where its first value is, in bytes.
    """

    dimensions: tuple[str, ...]
    dtype: np.dtype[Any]
    attributes: Mapping[str, Any]
    begin: int


@dataclass(frozen=True)
class Header:
    """What a file says of its variables.

    Attributes
    ----------
    path : path
    sizes : mapping of str to int
        Of dimensions; 0 for the one that is unlimited.
    variables : mapping of str to Variable
    records : int
        How many records the file declares along the unlimited dimension.
    end : int
        Where the header ends, in bytes.
    """

    path: FilePath
    sizes: Mapping[str, int]
    variables: Mapping[str, Variable]
    records: int
    end: int

    def is_record(self, one: Variable) -> bool:
        """Whether a variable is written record by record."""
        return bool(one.dimensions) and self.sizes[one.dimensions[0]] == 0

    def held(self, one: Variable) -> int:
        """Return the bytes of a variable, or of a record of it."""
        inner = one.dimensions[1:] if self.is_record(one) else one.dimensions
        return int(one.dtype.itemsize * prod(self.sizes[dimension] for dimension in inner))

    @property
    def step(self) -> int:
        """Bytes from a record to the next: of all variables that have some."""
        held = [self.held(one) for one in self.variables.values() if self.is_record(one)]
        # Where one alone has records, nothing fills them to four bytes.
        return sum(held) if len(held) == 1 else sum(-(-one // 4) * 4 for one in held)

    def values(self, name: str) -> NDArray[Any]:
        """Read a variable: an array of its shape and type.

        InputError for a file that is too short.
        """
        one = self.variables[name]
        shape = [self.sizes[dimension] for dimension in one.dimensions]
        parts, apart = 1, 0
        if self.is_record(one):
            shape[0], parts, apart = self.records, self.records, self.step
        each = prod(shape) // max(parts, 1)

        def read() -> list[NDArray[Any]]:
            with open(self.path, "rb") as stream:
                return [
                    np.fromfile(_at(stream, one.begin + apart * part), one.dtype, each)
                    for part in range(parts)
                ]

        found = np.concatenate([*guard(str(self.path), read), np.empty(0, one.dtype)])
        if found.size < prod(shape):
            guard(str(self.path), _end)
        return found.reshape(shape)


def read_header(path: FilePath) -> Header:
    """Read the header of a classic file, CDF-1 or CDF-2.

    InputError for a file that is none or ends in it, and for CDF-5, which GDAL may not know.
    """
    with open(path, "rb") as stream:
        if stream.read(4) == b"CDF\x05":
            raise InputError(NEWER, file=str(path))
    return guard(str(path), lambda: _read(path), ENDS)


def _read(path: FilePath) -> Header:
    with open(path, "rb") as stream:
        cursor = _Cursor(stream, os.path.getsize(path))
        records = cursor.number()
        names: list[str] = []
        sizes: dict[str, int] = {}
        for _ in range(cursor.items(DIMENSION)):
            names.append(cursor.text())
            sizes[names[-1]] = cursor.number()
        cursor.attributes()
        variables = {}
        for _ in range(cursor.items(VARIABLE)):
            name = cursor.text()
            numbers = [cursor.number() for _ in range(cursor.bounded())]
            attributes = cursor.attributes()
            dtype = cursor.dtype()
            cursor.number()  # bytes, which follow from the shape
            if max(numbers, default=-1) >= len(names):
                _end()
            dimensions = tuple(names[number] for number in numbers)
            variables[name] = Variable(dimensions, dtype, attributes, cursor.offset())
        return Header(path, sizes, variables, records, stream.tell())


class _Cursor:
    """A walk through a header, which ends with EOFError where the file does."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._size = stream, size
        version = self._take(4)
        if version[:3] != b"CDF" or version[3] not in (1, 2):
            _end()
        self.number = self._unpack(">I")
        self.offset = self._unpack(">I" if version[3] == 1 else ">Q")

    def bounded(self) -> int:
        """Read how many things follow, of which the file can hold so many."""
        number = self.number()
        if number > self._size:
            _end()
        return number

    def items(self, tag: int) -> int:
        """Read how many entries a list has."""
        found, number = self.number(), self.bounded()
        if found != tag and (found, number) != (0, 0):
            _end()
        return number

    def text(self) -> str:
        """Read a name."""
        size = self.bounded()
        return self._padded(size).decode("utf-8", "replace")

    def dtype(self) -> np.dtype[Any]:
        """Read a type."""
        number = self.number()
        if not 1 <= number <= len(TYPES):
            _end()
        return np.dtype(TYPES[number - 1])

    def attributes(self) -> dict[str, Any]:
        """Read a list of attributes."""
        found: dict[str, Any] = {}
        for _ in range(self.items(ATTRIBUTE)):
            name, dtype = self.text(), self.dtype()
            data = self._padded(self.bounded() * dtype.itemsize)
            if dtype.kind == "S":
                found[name] = data.rstrip(b"\0").decode("utf-8", "replace")
            else:
                found[name] = np.frombuffer(data, dtype)
        return found

    def _padded(self, size: int) -> bytes:
        return self._take(size + -size % 4)[:size]

    def _take(self, size: int) -> bytes:
        data = self._stream.read(size) if size <= self._size else b""
        if len(data) < size:
            _end()
        return data

    def _unpack(self, form: str) -> Callable[[], int]:
        size = struct.calcsize(form)
        return lambda: int(struct.unpack(form, self._take(size))[0])


def _at(stream: IO[bytes], place: int) -> IO[bytes]:
    stream.seek(place)
    return stream


def _end() -> None:
    raise EOFError
