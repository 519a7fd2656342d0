"""Code systems of square cells whose codes are composed of coordinates, by a description."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError, printable
from geodp.grid.codes.description import GridDescription
from geodp.grid.codes.pattern import (
    LONGEST,
    Country,
    Hemisphere,
    Literal,
    Number,
    Part,
    Square,
    axes_of,
)
from geodp.grid.codes.system import (
    LOST_ZEROS,
    MISSING,
    Pair,
    as_array,
    characters_of,
    flat_cells,
    flat_points,
    is_missing,
    require,
    snap_floor,
    text_at,
)
from geodp.kernels import codes as kernels
from geodp.typing import IntArray

STANDARD = ("inspire",)
"""Descriptions that releases omit, as a regulation defines them and every verifier has them."""

FAR = 2e7
"""Coordinates beyond this are on no map."""

TOKEN_COLUMNS = 9
"""Columns of a token, as the kernels expect them."""

MAX_CELLS = 1 << 31
"""Maximal rows or columns of an extent, and of its distance from the origin."""


@dataclass(frozen=True)
class Spelling:
    """One spelling of the codes of one size, compiled for the kernels.

    Attributes
    ----------
    parts : tuple of Part
    tokens : int64[m, 9]
        See :mod:`geodp.kernels.codes`.
    letters : uint32[k]
        Letters of the tables of its squares.
    length : int
        Length of the longest code.
    """

    parts: tuple[Part, ...]
    tokens: IntArray
    letters: NDArray[np.uint32]
    length: int

    @property
    def fixed(self) -> bool:
        """Whether all codes have one length."""
        return all(part.width for part in self.parts if isinstance(part, Number))

    @property
    def digits(self) -> int | None:
        """Number of digits of a code, if all codes are digits of one length; otherwise None."""
        plain = all(
            part.text.isdecimal() if isinstance(part, Literal) else isinstance(part, Number)
            for part in self.parts
        )
        return self.length if plain and self.fixed else None

    def form(self) -> str:
        """Return a regular expression that all codes match, and few other texts."""
        return "".join(map(_form_of_part, self.parts))

    def write(self) -> str:
        """Return the spelling for people: ``CRS3035RES1000mN<northing>E<easting>``."""
        return "".join(map(_write_part, self.parts))


@dataclass(frozen=True, slots=True)
class PatternGrid:
    """Cells of one size on the plane of a CRS, whose codes follow a description.

    Parameters
    ----------
    description : GridDescription
    label : str
        One of its sizes.

    Notes
    -----
    Row and col count cells from the description's origin or, if the extent begins south or west
    of it, from a corner beyond the extent that cells of all sizes share. `locate` moves points up
    by 0.01 mm, or by 1/100,000 of a cell if sizes are not integers.

    Raises UsageError if the description spells no codes, or codes that would be read as others.

    Examples
    --------
    >>> from geodp.grid.codes import code_system
    >>> code_system("inspire:1km").parse(["CRS3035RES1000mN2599000E4695000", "1kmN2599E4695"])
    (array([2599, 2599]), array([4695, 4695]))
    >>> str(code_system("ssb:250m").format(*code_system("ssb:250m").locate(245_100, 6_449_900)))
    '22450006449750'
    """

    description: GridDescription
    label: str
    zeros: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check(self)

    @property
    def name(self) -> str:
        """Name of the system, such as "inspire:1km" or "national:3067:1km"."""
        return f"{self.description.name}:{self.label.lower()}"

    @property
    def crs(self) -> str:
        """The CRS, such as "EPSG:3035", or a PROJ string or WKT."""
        return self.description.crs

    @property
    def size(self) -> Fraction:
        """Side of a cell in units of the CRS."""
        return self.description.size(self.label)

    @property
    def origin(self) -> Pair:
        """(y, x) of the corner that cells are counted from."""
        return _origin(self.description)

    @property
    def step(self) -> Pair:
        """The side, for both axes."""
        return self.size, self.size

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """The smallest range of cells that contains the description's extent."""
        west, south, east, north = self.description.extent
        (y, x), size = self.origin, self.size
        row0, col0 = (math.floor((low - start) / size) for low, start in ((south, y), (west, x)))
        row1, col1 = (math.ceil((high - start) / size) for high, start in ((north, y), (east, x)))
        return row0, col0, row1 - row0, col1 - col0

    @property
    def around(self) -> None:
        """None, as the extent is a part of the Earth."""
        return

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Published cells that nest, from the coarsest to this one."""
        return tuple(
            (f"{self.description.name}:{label.lower()}", int(size / self.size))
            for label, size in _areas(self.description, self.label)
        )

    @property
    def definition(self) -> dict[str, Any] | None:
        """The description for the card of a release; None for a standard one."""
        return None if self.description.name in STANDARD else self.description.describe()

    @property
    def unit(self) -> Fraction:
        """Unit that points are rounded down to: 1, or the largest common divisor of all sizes."""
        return _unit(self.description)

    @property
    def spellings(self) -> tuple[Spelling, ...]:
        """Spellings that are read; the first is the one written."""
        return _spellings(self.description, self.label)

    def parse(self, codes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Convert codes, of one spelling or mixed, to lattice indices; see `CodeSystem.parse`."""
        array = as_array(codes)
        if array.dtype.kind in "iu":
            # Wide enough for every integer of 64 bits with its sign.
            array = array.astype("U21")
        (row, col), done = self._read(array)
        require(done, lambda position: self._rule(text_at(array, position), position > 0))
        return row.reshape(array.shape), col.reshape(array.shape)

    def _read(self, array: NDArray[Any]) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return indices, int64[2, n], and which texts are codes, bool[n]."""
        spellings = self.spellings
        text = characters_of(array, max(one.length for one in spellings) + 1)
        index, done = np.zeros((2, array.size), np.int64), np.zeros(array.size, np.bool_)
        # A number without a width would also be read from one that has a width and another unit.
        for one in sorted(spellings, key=lambda one: not one.fixed):
            kernels.read_codes(text, one.tokens, one.letters, index, done)
        return index, done

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Convert lattice indices to codes of the first spelling; see `CodeSystem.format`."""
        row, col, shape = flat_cells(row, col)
        one = self.spellings[0]
        text = np.zeros((row.size, one.length), np.uint32)
        done = np.zeros(row.size, np.bool_)
        kernels.write_codes(np.stack([row, col]), one.tokens, one.letters, text, done)
        rule = Rule(
            "pattern-cell-outside",
            f"codes exist for numbers of as many digits as the extent of {self.name} has: count "
            "cells from the origin of its CRS",
        )
        require(done, lambda _: rule)
        return text.view(f"U{one.length}").reshape(shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Find the cells of points in the CRS; see `CodeSystem.locate`."""
        x, y, shape = flat_points(x, y)
        rule = Rule(
            "pattern-point-outside",
            "points are finite: x is easting or longitude, y is northing or latitude, in units of "
            f"{_short(self.crs)}, below 2e7",
        )
        require((np.abs(x) < FAR) & (np.abs(y) < FAR), lambda _: rule)
        unit, cells = float(self.unit), int(self.size / self.unit)
        row, col = (
            snap_floor(values if start == 0 and unit == 1 else (values - float(start)) / unit)
            // cells
            for values, start in zip((y, x), self.origin, strict=True)
        )
        return row.reshape(shape), col.reshape(shape)

    def _rule(self, text: str, mixed: bool) -> str:
        """Explain why a text is not a code, and name the remedy."""
        if is_missing(text):
            return MISSING
        spelt = " or ".join(one.write() for one in self.spellings if _has_country(one) is False)
        rule = f"codes of {self.name} read {spelt}"
        for pattern, note in self.description.notes:
            if fnmatchcase(text, pattern):
                return f"{rule}: {note}"
        # The likeliest mistakes are tried first, by reading the corrected text: the message then
        # names the remedy and not only the form.
        if text != text.strip() and self._reads(text.strip()):
            return Rule("pattern-code-blanks", f"{rule}: strip the blanks around them")
        if text != text.upper() and self._reads(text.upper()):
            return Rule("pattern-code-capitals", f"{rule}: write their letters as capitals")
        others = [label for label, _ in self.description.sizes if label != self.label]
        # Publishers' tables mix resolutions under one column name: naming the right grid saves a
        # search.
        for other in (PatternGrid(self.description, label) for label in others):
            if other._reads(text):
                several = (
                    f", and codes before it have {self.label}; a table of cells of several sizes "
                    "does not fit one grid: use the publisher's table of one size"
                    if mixed
                    else ""
                )
                return Rule(
                    "pattern-code-resolution",
                    f"{rule}: this code has another resolution; use {other.name}{several}",
                )
        if swapped := self._swapped(text):
            return f"{rule}, {swapped}"
        digits = {one.digits for one in self.spellings}
        if text.isdecimal() and None not in digits and len(text) < min(map(int, digits)):  # type: ignore[arg-type]
            return Rule(
                "pattern-code-lost-zeros",
                f"{rule}: this one has fewer digits; {LOST_ZEROS.format(self.name)}",
            )
        return Rule(
            "pattern-code-corner",
            f"{rule}, of the lower left corner, whose coordinates are multiples of "
            f"{_write(self.size)} in units of {_short(self.crs)}; check the column and the size",
        )

    def _reads(self, text: str) -> bool:
        """Whether a text is a code."""
        return bool(self._read(np.array([text], object))[1][0])

    def _swapped(self, text: str) -> str:
        """Return the remedy for a text with northing and easting swapped, or an empty text."""
        for one in self.spellings:
            pairs = [
                (part.text[-1], after.axis)
                for part, after in zip(one.parts, one.parts[1:], strict=False)
                if isinstance(part, Literal) and isinstance(after, Number)
            ]
            if len(pairs) == 2 and all(letter.isalpha() for letter, _ in pairs):
                (first, axis), (second, _) = pairs
                if re.search(rf"{second}\d+{first}\d+$", text, re.ASCII):
                    named = ("northing", "easting")
                    return (
                        f"{named[axis]} first: codes with the {named[1 - axis]} first need their "
                        "two parts swapped, or a grid of their own (--grid)"
                    )
        return ""


def _has_country(spelling: Spelling) -> bool:
    return any(isinstance(part, Country) for part in spelling.parts)


def _write(number: Fraction) -> str:
    """Format a number for people."""
    return str(number) if number.denominator == 1 else f"{float(number):g}"


def _short(crs: str) -> str:
    return crs if len(crs) < 30 else "its CRS"


def _form_of_part(part: Part) -> str:
    if isinstance(part, Literal):
        return re.escape(part.text)
    if isinstance(part, Country):
        return "[A-Z]{2}"
    if isinstance(part, Hemisphere):
        return f"[{part.positive}{part.negative}]"
    if isinstance(part, Square):
        return f"[{''.join(part.rows)}]"
    return rf"-?[0-9]{{{part.width or f'1,{LONGEST}'}}}"


def _write_part(part: Part) -> str:
    if isinstance(part, Literal):
        return part.text
    if isinstance(part, Country):
        return "<country>"
    if isinstance(part, Hemisphere):
        return f"<{part.positive} or {part.negative}>"
    if isinstance(part, Square):
        return f"<letter of {_write(part.side)}>"
    word = (("northing", "easting"), ("row", "column"))[part.cells][part.axis]
    if part.offset or part.factor < 0:
        sign = "-" if part.factor < 0 else ""
        word = f"{sign}{word}{part.offset:+d}"
    if part.unit is None or part.unit != 1:
        word += " without zeros" if part.unit is None else f"/{_write(part.unit)}"
    return f"<{word}, {part.width} digits>" if part.width else f"<{word}>"


@cache
def _origin(description: GridDescription) -> Pair:
    """Return the corner that cells are counted from, never north or east of the extent's corner."""
    west, south = description.extent[:2]
    sizes = [size for _, size in description.sizes]
    # Least common multiple of the sizes: a shift by it keeps the corners of cells of all sizes, so
    # that areas still nest.
    together = Fraction(
        math.lcm(*(size.numerator for size in sizes)),
        math.gcd(*(size.denominator for size in sizes)),
    )
    y, x = (
        start - max(0, math.ceil((start - low) / together)) * together
        for start, low in zip(description.origin, (south, west), strict=True)
    )
    return y, x


@cache
def _unit(description: GridDescription) -> Fraction:
    """Return the common unit of all sizes and of the origin."""
    numbers = [*(size for _, size in description.sizes), *description.origin]
    if all(number.denominator == 1 for number in numbers):
        return Fraction(1)
    sizes = [size for _, size in description.sizes]
    # Points are rounded on one lattice for all sizes, so that a cell and the areas around it never
    # disagree about a point.
    common = math.lcm(*(size.denominator for size in sizes))
    return Fraction(math.gcd(*(int(size * common) for size in sizes)), common)


@cache
def _areas(description: GridDescription, label: str) -> tuple[tuple[str, Fraction], ...]:
    """Return labels and sizes of the published cells that nest, the cell last."""
    areas = [(label, description.size(label))]
    for other, size in description.sizes:
        listed = not description.areas or other in description.areas
        if listed and size > areas[-1][1] and (size / areas[-1][1]).denominator == 1:
            areas.append((other, size))
    return tuple(reversed(areas))


@cache
def _spellings(description: GridDescription, label: str) -> tuple[Spelling, ...]:
    """Return the spellings of the codes of a size; UsageError for an impossible one."""
    return tuple(_compile(parts, description, label) for parts in description.spellings(label))


def _compile(parts: tuple[Part, ...], description: GridDescription, label: str) -> Spelling:
    """Compile a spelling for the kernels; UsageError, without its description, for a wrong one."""
    axes = [axis for part in parts for axis in axes_of(part)]
    shared = {
        axis: _Shared(description, label, axis)
        for axis in (0, 1)
        if axes.count(axis) > 1 or any(isinstance(p, Square) and axis in p.axes for p in parts)
    }
    lines = {
        part.axis: _line(part, description, label)
        for part in parts
        if isinstance(part, Number) and part.axis not in shared
    }
    lettered = {part.axis for part in parts if isinstance(part, Hemisphere)}
    tokens: list[list[int]] = []
    letters = ""
    for part in parts:
        if isinstance(part, Literal):
            tokens += [[kernels.LITERAL, ord(letter)] for letter in part.text]
        elif isinstance(part, Country):
            tokens.append([kernels.COUNTRY])
        elif isinstance(part, Hemisphere):
            a, b = lines[part.axis][:2]
            tokens.append(
                [kernels.HEMISPHERE, part.axis, ord(part.positive), ord(part.negative), a, b]
            )
        elif isinstance(part, Square):
            tokens.append([kernels.SQUARE, len(letters), *part.shape, *_take_square(part, shared)])
            letters += "".join(part.rows)
        elif part.axis in shared:
            tokens.append(shared[part.axis].take_number(part))
        else:
            tokens.append(_number_token(part, lines[part.axis], part.axis in lettered))
    for one in shared.values():
        one.require_complete()
    length = sum(_length(token) for token in tokens)
    table = np.array([[*token, *[0] * (TOKEN_COLUMNS - len(token))] for token in tokens], np.int64)
    table[:, 5][(table[:, 5] == 0) & (table[:, 0] < kernels.PLACE)] = 1
    return Spelling(parts, table, np.array([*map(ord, letters)], np.uint32), length)


def _length(token: list[int]) -> int:
    """Return the maximal number of characters of a token."""
    if token[0] == kernels.COUNTRY:
        return 2
    if token[0] in (kernels.NUMBER, kernels.PLACE):
        return (token[2] or token[3]) + (token[6] == kernels.MINUS)
    return 1


def _number_token(number: Number, line: tuple[int, int, int, int], lettered: bool) -> list[int]:
    """Return the token of a number that determines its axis alone."""
    a, b, low, high = line
    digits = max(len(str(abs(low))), len(str(abs(high))))
    if lettered:
        sign = kernels.LETTER
    elif low < 0 and number.width:
        raise UsageError(
            f"codes {_write_part(number)} would be negative in the extent; add a number, as in "
            "{east+2000000:7}, or add the letter of a hemisphere",
            code="pattern-negative",
        )
    else:
        sign = kernels.MINUS if low < 0 else kernels.UNSIGNED
    _require_digits(number, digits)
    return [kernels.NUMBER, number.axis, number.width, digits, a, b, sign]


def _require_digits(number: Number, digits: int) -> None:
    if digits > (number.width or LONGEST):
        raise UsageError(
            f"codes {_write_part(number)} would have {digits} digits in the extent; give it "
            f"a larger width, at most {LONGEST}",
            code="pattern-too-few-digits",
        )


class _Shared:
    """An axis that several fields determine in part, taken one by one from the coarsest.

    Parameters
    ----------
    description : GridDescription
    label : str
        Label of the size.
    axis : int

    Attributes
    ----------
    first : int
        Index that the fields count from, that of the grid's origin.
    within : int
        Cells between which the fields so far do not distinguish; 0 before the first field.
    """

    def __init__(self, description: GridDescription, label: str, axis: int) -> None:
        self._size, self._axis = description.size(label), axis
        start = _origin(description)[axis]
        self.first = int((description.origin[axis] - start) / self._size)
        low, high = _ends(description, label, axis)
        if low < self.first:
            raise UsageError(
                "codes has fields that count from the grid's origin, and the extent begins south "
                "or west of it; give an origin beyond",
                code="pattern-before-origin",
            )
        self._last = high - self.first
        self.within = 0

    def take(self, side: Fraction, count: int | None) -> int:
        """Take a field of squares of a side, `count` of them, and return their cells."""
        cells = side / self._size
        if cells.denominator != 1 or (self.within and self.within % cells):
            raise UsageError(
                f"codes has a field of {_write(side)}, which does not divide the one before it, or "
                "is not a multiple of the cell; write the coarsest field of an axis first",
                code="pattern-not-nested",
            )
        side_cells = int(cells)
        # The first field counts squares in the extent, every later one the squares within the one
        # before.
        squares = self.within // side_cells if self.within else self._last // side_cells + 1
        if squares == 1 and self.within:
            raise UsageError(
                f"codes has {_write(side)} twice; leave one of the fields out",
                code="pattern-told-twice",
            )
        if count is not None and (squares > count or (self.within and squares != count)):
            raise UsageError(
                f"codes has letters for {count} squares of {_write(side)} in a row, and there are "
                f"{squares}; check rows and side of the letters, and the origin",
                code="pattern-letters-do-not-fit",
            )
        self.within = side_cells
        return side_cells

    def take_number(self, number: Number) -> list[int]:
        """Return the token of the number that determines the next part."""
        within, unit = self.within, number.unit_of(self._size)
        unit *= self._size if number.cells else 1
        times = self._size / unit
        # A unit finer than a cell: the number counts cells in steps of `times` units.
        if times >= 1 and times.denominator == 1:
            self.take(self._size, None)
            cells, largest = 1, ((within or self._last + 1) - 1) * int(times)
        else:
            times, cells = Fraction(1), self.take(unit, None)
            largest = ((within or self._last + 1) - 1) // cells
        digits = len(str(largest))
        _require_digits(number, digits)
        place = [kernels.PLACE, self._axis, number.width, digits, self.first, int(times), 0]
        return [*place, within, cells]

    def require_complete(self) -> None:
        """Raise UsageError unless the fields identify every cell."""
        if self.within != 1:
            raise UsageError(
                f"codes does not distinguish cells of {_write(self._size)}; write a number after "
                "the letters, such as {east/1000:2}",
                code="pattern-cells-alike",
            )


def _take_square(square: Square, shared: Mapping[int, _Shared]) -> list[int]:
    """Return a square's values of its axes for a token: first index, cells within, cells by."""
    within = [shared[axis].within if axis in square.axes else 0 for axis in (0, 1)]
    cells = [shared[axis].take(square.side, square.shape[axis]) for axis in square.axes]
    first = [shared[axis].first if axis in square.axes else 0 for axis in (0, 1)]
    return [*first, *within, cells[0]]


def _ends(description: GridDescription, label: str, axis: int) -> tuple[int, int]:
    """Return the first and the last index of the extent."""
    low, high = description.extent[1 - axis], description.extent[3 - axis]
    start, size = _origin(description)[axis], description.size(label)
    first, last = math.floor((low - start) / size), math.ceil((high - start) / size) - 1
    if last >= MAX_CELLS:
        raise UsageError(
            f"the extent has more than {MAX_CELLS:,} cells of {label} on a side",
            code="pattern-cells-too-many",
        )
    return first, last


def _line(number: Number, description: GridDescription, label: str) -> tuple[int, int, int, int]:
    """Return a and b, where ``a + b * index`` is written, and the range of this in the extent."""
    size, start = description.size(label), _origin(description)[number.axis]
    unit, step = number.unit_of(size), size
    if number.cells:
        start, step = (start - description.origin[number.axis]) / size, Fraction(1)
    a = (number.factor * start + number.offset) / unit
    b = number.factor * step / unit
    if a.denominator != 1 or b.denominator != 1:
        raise UsageError(
            f"codes {_write_part(number)} is not an integer for cells of {label}; divide it by a "
            "unit that divides the origin, the size and any number added",
            code="pattern-not-whole",
        )
    indices = _ends(description, label, number.axis)
    ends = sorted(int(a + b * index) for index in indices)
    # The kernels compute with int64 without checking for overflow.
    if max(abs(number) for number in [*ends, int(a), int(b)]) >= 10**LONGEST:
        raise UsageError(
            f"codes {_write_part(number)} has more than {LONGEST} digits",
            code="pattern-too-many-digits",
        )
    return int(a), int(b), ends[0], ends[1]


@cache
def _check(grid: PatternGrid) -> None:
    """Raise UsageError for impossible codes, and for codes that would be read as others."""
    where, sizes = f"The description of {grid.description.name}", dict(grid.description.sizes)
    if grid.label not in sizes:
        raise UsageError(f"{where} has cells of {', '.join(sizes)}.", code="own-grid-size-unknown")
    try:
        spellings = grid.spellings
    except UsageError as error:
        raise UsageError(f"{where}: {str(error).removesuffix('.')}.", code=error.code) from None
    if _has_country(spellings[0]):
        raise UsageError(
            f"{where}: codes begins with a country, which is unknown when codes are written.",
            code="pattern-begins-with-country",
        )
    row0, col0, rows, cols = grid.extent
    ends = [(first, first + n // 2, first + n - 1) for first, n in ((row0, rows), (col0, cols))]
    # Corners, middles of edges and the centre of the extent: nine cells, enough to meet a spelling
    # that another one reads, as widths and signs change at the ends.
    index = np.ascontiguousarray(np.array([*product(*ends)], np.int64).T)
    for one in spellings:
        # A country is dropped when read and unknown when written, so a spelling with one cannot be
        # tested by writing it.
        if _has_country(one):
            continue
        text, done = np.zeros((index.shape[1], one.length), np.uint32), np.zeros(9, np.bool_)
        kernels.write_codes(index, one.tokens, one.letters, text, done)
        again, read = grid._read(text.view(f"U{one.length}").reshape(-1))
        if not (done & read).all() or (again != index).any():
            raise UsageError(
                f"{where}: codes {one.write()} are read as other cells by another spelling; give "
                "numbers a width, or leave one spelling out.",
                code="pattern-read-otherwise",
            )


def check_examples(description: GridDescription, where: str) -> None:
    """Raise UsageError if an example is not a code of any size, or has another corner."""
    grids = [PatternGrid(description, label) for label, _ in description.sizes]
    for code, corner in description.examples:
        corners = []
        for grid in grids:
            try:
                row, col = (int(one[0]) for one in grid.parse([code]))
            except CodeError:
                continue
            at = zip((row, col), grid.origin, grid.step, strict=True)
            corners.append(tuple(start + index * step for index, start, step in at))
        if not corners:
            raise UsageError(
                f"{where}: the example {printable(code)!r} is not a code of the grid.",
                code="example-is-no-code",
            )
        if corner not in corners:
            (y, x) = corners[0]
            raise UsageError(
                f"{where}: the example {printable(code)!r} has its lower left corner at "
                f"{_write(x)} {_write(y)} (x y), not where the file says; check codes and origin.",
                code="example-elsewhere",
            )
