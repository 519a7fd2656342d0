"""Headers of NetCDF files in the classic formats: dimensions, variables and attributes.

GDAL, which reads the pixels, returns attributes as rounded texts, looks at only three steps of a
coordinate, and does not identify dimensions; SciPy does not return where values begin. The format
is described in appendix B of the NetCDF User's Guide.
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
from geodp.io.read.rows.input_files import DAMAGED, FilePath, guard

TYPES = ("i1", "S1", ">i2", ">i4", ">f4", ">f8")
"""NumPy types for the types 1 to 6 of NetCDF."""

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
"""Tags of the lists in a header."""


@dataclass(frozen=True)
class Variable:
    """A variable of a file.

    Attributes
    ----------
    dimensions : tuple of str
        Dimensions, slowest first.
    dtype : dtype
        Stored type: big-endian.
    attributes : mapping of str to str or ndarray
        Numbers are one-dimensional arrays of their stored type.
    begin : int
        Offset of its first value, in bytes.
    """

    dimensions: tuple[str, ...]
    dtype: np.dtype[Any]
    attributes: Mapping[str, Any]
    begin: int


@dataclass(frozen=True)
class Header:
    """Header of a file.

    Attributes
    ----------
    path : path
    sizes : mapping of str to int
        Sizes of dimensions; 0 for the unlimited one.
    variables : mapping of str to Variable
    records : int
        Declared number of records along the unlimited dimension.
    end : int
        End of the header, in bytes.
    """

    path: FilePath
    sizes: Mapping[str, int]
    variables: Mapping[str, Variable]
    records: int
    end: int

    def is_record(self, variable: Variable) -> bool:
        """Whether a variable is stored record by record."""
        return bool(variable.dimensions) and self.sizes[variable.dimensions[0]] == 0

    def held(self, variable: Variable) -> int:
        """Return the size of a variable, or of one record of it, in bytes."""
        inner = variable.dimensions[1:] if self.is_record(variable) else variable.dimensions
        return int(variable.dtype.itemsize * prod(self.sizes[dimension] for dimension in inner))

    @property
    def step(self) -> int:
        """Bytes from one record to the next, over all variables with records."""
        sizes = [
            self.held(variable) for variable in self.variables.values() if self.is_record(variable)
        ]
        # The specification pads records to four bytes, unless a single variable has records.
        return sum(sizes) if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)

    def values(self, name: str) -> NDArray[Any]:
        """Read a variable: an array of its shape and type.

        Raises InputError if the file is too short.
        """
        variable = self.variables[name]
        shape = [self.sizes[dimension] for dimension in variable.dimensions]
        # Records of several variables are interleaved, so that each record is read by itself.
        parts, apart = 1, 0
        if self.is_record(variable):
            shape[0], parts, apart = self.records, self.records, self.step
        each = prod(shape) // max(parts, 1)

        def read() -> list[NDArray[Any]]:
            with open(self.path, "rb") as stream:
                return [
                    np.fromfile(_at(stream, variable.begin + apart * part), variable.dtype, each)
                    for part in range(parts)
                ]

        values = np.concatenate([*guard(str(self.path), read), np.empty(0, variable.dtype)])
        if values.size < prod(shape):
            raise InputError(DAMAGED, file=str(self.path))
        return values.reshape(shape)


def read_header(path: FilePath) -> Header:
    """Read the header of a classic file, CDF-1 or CDF-2.

    Raises InputError for other files, for one that ends in its header, and for CDF-5, which GDAL
    may not support.
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
                raise EOFError
            dimensions = tuple(names[number] for number in numbers)
            variables[name] = Variable(dimensions, dtype, attributes, cursor.offset())
        return Header(path, sizes, variables, records, stream.tell())


class _Cursor:
    """Sequential reader of a header that raises EOFError at the end of the file."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self._stream, self._size = stream, size
        version = self._take(4)
        if version[:3] != b"CDF" or version[3] not in (1, 2):
            raise EOFError
        self.number = self._unpack(">I")
        self.offset = self._unpack(">I" if version[3] == 1 else ">Q")

    def bounded(self) -> int:
        """Read a number of items, which cannot exceed the size of the file."""
        # A damaged number could otherwise ask for gigabytes of memory.
        number = self.number()
        if number > self._size:
            raise EOFError
        return number

    def items(self, tag: int) -> int:
        """Read the tag of a list and its number of entries."""
        actual, number = self.number(), self.bounded()
        if actual != tag and (actual, number) != (0, 0):
            raise EOFError
        return number

    def text(self) -> str:
        """Read a name."""
        size = self.bounded()
        return self._padded(size).decode("utf-8", "replace")

    def dtype(self) -> np.dtype[Any]:
        """Read a type."""
        number = self.number()
        if not 1 <= number <= len(TYPES):
            raise EOFError
        return np.dtype(TYPES[number - 1])

    def attributes(self) -> dict[str, Any]:
        """Read a list of attributes."""
        attributes: dict[str, Any] = {}
        for _ in range(self.items(ATTRIBUTE)):
            name, dtype = self.text(), self.dtype()
            data = self._padded(self.bounded() * dtype.itemsize)
            if dtype.kind == "S":
                attributes[name] = data.rstrip(b"\0").decode("utf-8", "replace")
            else:
                attributes[name] = np.frombuffer(data, dtype)
        return attributes

    def _padded(self, size: int) -> bytes:
        """Read bytes that are padded to a multiple of four."""
        return self._take(size + -size % 4)[:size]

    def _take(self, size: int) -> bytes:
        data = self._stream.read(size) if size <= self._size else b""
        if len(data) < size:
            raise EOFError
        return data

    def _unpack(self, form: str) -> Callable[[], int]:
        size = struct.calcsize(form)
        return lambda: int(struct.unpack(form, self._take(size))[0])


def _at(stream: IO[bytes], place: int) -> IO[bytes]:
    stream.seek(place)
    return stream
