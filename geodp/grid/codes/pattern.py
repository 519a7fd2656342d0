"""Spellings of codes, as format strings: ``"{label}N{north/1000}E{east/1000}"``.

Text outside braces appears in the code unchanged. In braces are fields:

``{north}``, ``{east}``
    Coordinates of the cell's lower left corner, in units of the CRS.
``{row}``, ``{col}``
    The number of cells from the grid's origin, northwards and eastwards.
``{(east+2000000)/100:4}``
    One of these four, after a number is added or subtracted (``1000-row`` subtracts it from a
    number) and the sum is divided by a unit, with as many digits as the number behind the colon.
    Without a colon a number has the digits that it needs. ``{north/zeros}`` drops as many zeros as
    the size of a cell ends in.
``{EW}``, ``{NS}``, ``{ew}``, ``{ns}``
    The letter of a number's hemisphere; the number then has no sign.
``{size}``, ``{label}``, ``{epsg}``
    The size in units of the CRS, its label such as ``1km``, and the EPSG code of the CRS.
``{country}``
    Two capital letters, which are read and dropped, and never written.
``{square}``
    The letter of a square, by the name of its table in the description's ``letters``: the sides of
    squares and their letters, row by row from the north. A table of one row determines the easting
    alone, one of one column the northing.

Several fields may determine one axis, the coarsest first. They count from the grid's origin, each
within the square of the one before it: ``{square}{east/1000:2}{north/1000:2}``,
``{east/1000:3}{north/1000:3}{east/100:1}{north/100:1}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from string import Formatter

from geodp.errors import UsageError, printable

LONGEST = 15
"""Maximal digits of a number: 64 bits hold it together with a unit and an origin."""

_NUMBER = re.compile(
    r"(?P<open>\()?\s*(?:(?P<from>\d+)\s*-\s*)?(?P<axis>north|east|row|col)"
    r"(?:\s*(?P<sign>[+-])\s*(?P<offset>\d+))?\s*(?P<close>\))?"
    r"(?:\s*/\s*(?P<unit>\d+(?:\.\d+)?|zeros))?"
)
_LETTERS = {"EW": (1, "E", "W"), "NS": (0, "N", "S"), "ew": (1, "e", "w"), "ns": (0, "n", "s")}

FIELDS = (
    "{north}, {east}, {row} or {col}, such as {(east+2000000)/100:4}; {EW}, {NS}; {size}, {label}, "
    "{epsg}; {country}; a table of letters"
)


@dataclass(frozen=True)
class Literal:
    """Characters that appear in every code."""

    text: str


@dataclass(frozen=True)
class Number:
    """A coordinate or a number of cells, as ``(factor * number + offset) / unit``.

    Attributes
    ----------
    axis : int
        0 northwards, 1 eastwards.
    cells : bool
        Whether cells are counted from the origin, and not units of the CRS.
    factor, offset : int
    unit : Fraction or None
        None: drop as many zeros as the size ends in.
    width : int
        Number of digits; 0: as many as needed.
    """

    axis: int
    cells: bool = False
    factor: int = 1
    offset: int = 0
    unit: Fraction | None = Fraction(1)
    width: int = 0

    def unit_of(self, size: Fraction) -> Fraction:
        """Return the unit of the number, for cells of a size."""
        if self.unit is not None:
            return self.unit
        unit = 1
        while size % (10 * unit) == 0:
            unit *= 10
        return Fraction(unit)


@dataclass(frozen=True)
class Hemisphere:
    """The letter of an axis: one for numbers from 0, one for negative numbers."""

    axis: int
    positive: str
    negative: str


@dataclass(frozen=True)
class Country:
    """Two capital letters that identify a country."""


@dataclass(frozen=True)
class Square:
    """The letter of a square in a table.

    Attributes
    ----------
    side : Fraction
        Side of a square, in units of the CRS.
    rows : tuple of str
        Letters of rows of squares from the north, each from the west.
    """

    side: Fraction
    rows: tuple[str, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """Axes that the letter determines, at least in part."""
        return tuple(axis for axis in (0, 1) if self.shape[axis] > 1)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.rows), len(self.rows[0])


Part = Literal | Number | Hemisphere | Country | Square

RESERVED = {*_LETTERS, *("north", "east", "row", "col", "size", "label", "epsg", "country")}
"""Names of fields, which tables of letters may not have."""


def axes_of(part: Part) -> tuple[int, ...]:
    """Return the axes whose index a part determines, entirely or in part."""
    if isinstance(part, Square):
        return part.axes
    return (part.axis,) if isinstance(part, Number) else ()


def read_pattern(
    text: str, texts: Mapping[str, str], squares: Mapping[str, Square] | None = None
) -> tuple[Part, ...]:
    """Parse a spelling into its parts, adjacent literals joined.

    Parameters
    ----------
    text : str
    texts : mapping of str to str
        Values of ``{size}``, ``{label}`` and ``{epsg}``, as far as they are defined.
    squares : mapping of str to Square, optional
        Tables of letters by the names of their fields.

    Raises UsageError, whose message lacks its subject: which field is wrong, and what is allowed.
    """
    parts: list[Part] = []
    tables = squares or {}
    try:
        pieces = [*Formatter().parse(text)]
    except ValueError:
        raise UsageError(
            "has a brace that is not closed; write {{ for a brace itself", code="pattern-brace-open"
        ) from None
    for literal, name, width, conversion in pieces:
        if literal:
            parts.append(Literal(literal))
        if name is None:
            continue
        if name in texts and not width and not conversion:
            parts.append(Literal(texts[name]))
        elif name in _LETTERS and not width and not conversion:
            parts.append(Hemisphere(*_LETTERS[name]))
        elif name == "country" and not width and not conversion:
            parts.append(Country())
        elif name in tables and not width and not conversion:
            parts.append(tables[name])
        else:
            parts.append(_read_number(name, width or "", conversion))
    # Adjacent literals are joined, so that the first character of a literal decides whether a
    # number before it ends.
    joined: list[Part] = []
    for part in parts:
        before = joined[-1] if joined else None
        if isinstance(part, Literal) and isinstance(before, Literal):
            joined[-1] = replace(before, text=before.text + part.text)
        else:
            joined.append(part)
    _require_readable(joined)
    return tuple(joined)


def _read_number(name: str, width: str, conversion: str | None) -> Number:
    """Parse a field of a number; UsageError if it is not one."""
    field = printable(f"{{{name}{':' if width else ''}{width}}}")
    match = _NUMBER.fullmatch(name)
    good = match is not None and conversion is None and re.fullmatch(r"(0?[1-9][0-9]?)?", width)
    if match is None or not good or int(width or 0) > LONGEST:
        raise UsageError(
            f"has {field}, which is not a field; fields are {FIELDS}", code="pattern-field-unknown"
        )
    named = match.groupdict()
    sums = named["from"] is not None or named["offset"] is not None
    if (named["open"] is None) != (named["close"] is None) or (
        sums and named["unit"] is not None and named["open"] is None
    ):
        raise UsageError(
            f"has {field}; put brackets around the dividend, as in {{(east+2000000)/100}}",
            code="pattern-brackets-missing",
        )
    if named["from"] is not None and named["offset"] is not None:
        raise UsageError(f"has {field}; add or subtract one number only", code="pattern-addition")
    offset = int(named["offset"] or named["from"] or 0)
    unit = None if named["unit"] == "zeros" else Fraction(named["unit"] or 1)
    if unit == 0:
        raise UsageError(f"has {field}, which divides by 0", code="pattern-divides-by-0")
    return Number(
        axis=0 if named["axis"] in ("north", "row") else 1,
        cells=named["axis"] in ("row", "col"),
        factor=1 if named["from"] is None else -1,
        offset=-offset if named["sign"] == "-" else offset,
        unit=unit,
        width=int(width or 0),
    )


def _require_readable(parts: list[Part]) -> None:
    """Raise UsageError for parts that do not determine a cell, or do so twice."""
    axes = [axis for part in parts for axis in axes_of(part)]
    if {*axes} != {0, 1}:
        raise UsageError(
            "must have a northing ({north}, {row} or a letter's) and an easting ({east}, {col})",
            code="pattern-axis-missing",
        )
    letters = [part.axis for part in parts if isinstance(part, Hemisphere)]
    if len({*letters}) < len(letters):
        raise UsageError("has the letter of a hemisphere twice", code="pattern-hemisphere-twice")
    if sum(isinstance(part, Country) for part in parts) > 1:
        raise UsageError("has {country} twice", code="pattern-country-twice")
    for axis in {axis for axis in axes if axes.count(axis) > 1}:
        numbers = [part for part in parts if isinstance(part, Number) and part.axis == axis]
        # Fields of one axis are digits of one index. An offset or a sign in one of them would have
        # to carry into the others.
        if axis in letters or any(part.offset or part.factor < 0 for part in numbers):
            raise UsageError(
                "has several fields of one axis, which count from the grid's origin; do not add or "
                "subtract there, and leave out the letter of a hemisphere",
                code="pattern-fields-from-origin",
            )
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        # A number of variable width must end at something that is no digit; otherwise a code could
        # be split in two ways.
        if isinstance(part, Number) and not part.width:
            digit = isinstance(after, Literal) and after.text[0] in "0123456789"
            if digit or isinstance(after, Number):
                raise UsageError(
                    "has a number without a width right before another digit; give it one, such "
                    "as {east:7}",
                    code="pattern-width-missing",
                )
    for part in parts:
        if isinstance(part, Literal) and not (part.text.isascii() and part.text.isprintable()):
            raise UsageError(
                "may contain only printable ASCII characters and fields",
                code="pattern-not-ascii",
            )
