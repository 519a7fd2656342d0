"""Area partition codes of Japan (JIS X 0410:2002, with the integrated partitions)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.codes.system import (
    DECIMAL,
    MISSING,
    Pair,
    as_array,
    characters_of,
    flat_cells,
    flat_degrees,
    is_missing,
    read_digits,
    require,
    snap_floor,
    text_at,
    within,
)
from geodp.kernels import codes as kernels
from geodp.typing import IntArray

# factor: (digits, weight of the row, weight of the column, base, what is allowed); a cell in
# a parent of factor x factor cells adds the number row * weight + col * weight + base.
_SPLITS = {
    2: (1, 2, 1, 1, "a quadrant digit 1 to 4"),
    5: (3, 200, 20, 5, "two even digits and a final 5"),
    8: (2, 10, 1, 0, "two digits 0 to 7"),
    10: (2, 10, 1, 0, "two digits 0 to 9"),
}
LEVELS: dict[str, tuple[int, ...]] = {  # factors from a primary mesh down to the cell
    "primary": (),
    "secondary": (8,),
    "5km": (8, 2),
    "2km": (8, 5),
    "basic": (8, 10),
    "half": (8, 10, 2),
    "quarter": (8, 10, 2, 2),
    "eighth": (8, 10, 2, 2, 2),
}
_DIGITS = {level: 4 + sum(_SPLITS[f][0] for f in factors) for level, factors in LEVELS.items()}
_SIDES = {level: 640 // prod(factors) for level, factors in LEVELS.items()}  # in 125 m cells
_NORTH, _EAST = 960, 640  # 125 m cells per degree of latitude and of longitude


@dataclass(frozen=True, slots=True)
class JISMesh:
    """Area partitions of JIS X 0410 (standard area mesh codes of Japan) at one level.

    Parameters
    ----------
    level : str
        "primary" (80 km), "secondary" (10 km), "5km" and "2km" (integrated), "basic"
        (1 km), "half" (500 m), "quarter" (250 m) or "eighth" (125 m).
    crs : str
        Datum of the codes, EPSG:6668 (JGD2011) or for instance EPSG:4612 (JGD2000): a name
        only, no coordinate is moved.

    Notes
    -----
    On the 125 m lattice ``row = floor(960 latitude)``, ``col = floor(640 (longitude - 100))``;
    the other levels divide these by 2, 4, 8 (1 km), 16, 40, 80 and 640. Codes exist for
    0 to 66 2/3 N, 100 to 180 E; the extent is 20-46 N, 122-154 E. `locate` moves points up by
    1 mm at every level, so that corners printed with 8 decimals fall into their own cells.

    Examples
    --------
    >>> half = JISMesh("half")
    >>> half.parse(["533946113", "392725541"])
    (array([8563, 6290]), array([6362, 4428]))
    >>> half.format([8563, 6290], [6362, 4428])
    array(['533946113', '392725541'], dtype='<U9')
    >>> half.locate(139.767125, 35.681236)
    (array(8563), array(6362))
    >>> half.step, half.extent
    ((Fraction(1, 240), Fraction(1, 160)), (4800, 3520, 6240, 5120))
    >>> JISMesh("basic").areas
    (('jis:primary', 80), ('jis:secondary', 10), ('jis:5km', 5), ('jis:basic', 1))
    """

    level: str
    crs: str = "EPSG:6668"
    origin: Pair = field(default=(Fraction(0), Fraction(100)), init=False, repr=False)
    zeros: ClassVar[bool] = False
    definition: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(
                f"the level of a JIS mesh is one of {', '.join(LEVELS)}", code="jis-level"
            )

    @property
    def name(self) -> str:
        """Name of the system, such as "jis:half"."""
        return f"jis:{self.level}"

    @property
    def step(self) -> Pair:
        """Exact degrees of latitude and of longitude of a cell."""
        return Fraction(_SIDES[self.level], _NORTH), Fraction(_SIDES[self.level], _EAST)

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """20-46 N, 122-154 E, in cells."""
        side = _SIDES[self.level]
        return 20 * _NORTH // side, 22 * _EAST // side, 26 * _NORTH // side, 32 * _EAST // side

    @property
    def around(self) -> None:
        """None, as the extent is a part of the Earth."""
        return

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Areas of 80 km, 10 km, 5 km, 1 km, 500 m, 250 m and 125 m down to this level; or 2 km."""
        side = _SIDES[self.level]
        path = LEVELS[self.level]
        nested = [level for level in LEVELS if path[: len(LEVELS[level])] == LEVELS[level]]
        # The integrated 5 km mesh divides the 10 km one by 2, and 1 km cells divide both, so that
        # it nests between them although it is on another branch of the standard.
        if "basic" in nested:
            nested.insert(nested.index("basic"), "5km")
        return tuple((f"jis:{level}", _SIDES[level] // side) for level in nested)

    def parse(self, codes: ArrayLike) -> tuple[IntArray, IntArray]:
        """Convert codes (int, str or bytes) to lattice indices; see `CodeSystem.parse`."""
        array, digits = as_array(codes), _DIGITS[self.level]
        if array.dtype.kind in "iu":
            code = array.reshape(-1).astype(np.int64)
            valid = (code >= 10 ** (digits - 1)) & (code < 10**digits)
        else:
            code, length = read_digits(characters_of(array, digits + 1))
            valid = length == digits
        if not valid.all():
            # Codes of another length would index beyond the tables; 0 is read instead and stays
            # invalid.
            code = np.where(valid, code, 0)
        row, col, exists = _read_groups(LEVELS[self.level], code)
        valid &= exists
        require(valid, lambda position: self._rule(text_at(array, position)))
        return row.reshape(array.shape), col.reshape(array.shape)

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Convert lattice indices to codes of ASCII digits; see `CodeSystem.format`."""
        row, col, shape = flat_cells(row, col)
        rule = Rule(
            "jis-cell-outside",
            "codes exist for 0 to 66 2/3 N and 100 to 180 E: count cells from 0 N, 100 E",
        )
        require(self._has_code(row, col), lambda _: rule)
        digits = _DIGITS[self.level]
        text = np.empty((row.size, digits), np.uint32)
        kernels.write_digits(self._encode(row, col), text)
        return text.view(f"U{digits}").reshape(shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[IntArray, IntArray]:
        """Find the cells of longitudes x and latitudes y, degrees; see `CodeSystem.locate`."""
        x, y, shape = flat_degrees(x, y)
        row, col = snap_floor(y * _NORTH), snap_floor((x - 100) * _EAST)
        side = _SIDES[self.level]
        return (row // side).reshape(shape), (col // side).reshape(shape)

    def _has_code(self, row: IntArray, col: IntArray) -> NDArray[np.bool_]:
        cells = prod(LEVELS[self.level])
        return within(row, 100 * cells) & within(col, 80 * cells)  # to 66 2/3 N, to 180 E

    def _encode(self, row: IntArray, col: IntArray) -> IntArray:
        primary_row, primary_col, code, place = _write_groups(LEVELS[self.level], row, col)
        return code + (primary_row * 100 + primary_col) * place

    def _rule(self, text: str) -> str:
        digits = _DIGITS[self.level]
        if is_missing(text):
            return MISSING
        if "." in text and text.replace(".", "", 1).isdecimal():
            return DECIMAL
        if re.fullmatch(r"\d\.?\d*[eE]\+?\d+", text):
            return Rule(
                "codes-rounded-by-spreadsheet",
                "codes were rounded by a spreadsheet (5.33940E+07), which lost their last digits: "
                "import the original file with this column as text",
            )
        if not (text.isascii() and text.isdecimal()):
            return Rule(
                "jis-code-not-digits",
                f"codes of {self.name} are {digits} ASCII digits and nothing else: strip blanks "
                "and signs, and convert full-width digits (Unicode NFKC) first",
            )
        if len(text) == 10 and not set(text[-2:]) <= set("1234"):
            return Rule(
                "jis-code-of-100-m",
                "a 10-digit code whose last two digits are not both 1 to 4 looks like the 1/10 "
                "subdivision (100 m) of another standard, which is not the quarter (250 m) of "
                "JIS X 0410: sum such data by the first 8 digits and use jis:basic",
            )
        if len(text) != digits:
            return Rule(
                "jis-code-length",
                f"codes of {self.name} have {digits} digits; check the column and the level",
            )
        groups = ["two digits 00 to 79", *(_SPLITS[f][-1] for f in LEVELS[self.level])]
        nine = "; 9 digits are jis:2km if the last is 5, else jis:half" if digits == 9 else ""
        return Rule(
            "jis-code-form",
            f"a code of {self.name} is two digits, then {', then '.join(groups)}{nine}",
        )


def _read_groups(
    factors: tuple[int, ...], code: IntArray
) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Return rows, columns and validity of codes of full length: int64[n] each, bool[n] the last.

    Two look-up tables, of the two groups after the primary mesh and of the others, replace a
    division for each digit.
    """
    row, col, cells = np.zeros_like(code), np.zeros_like(code), 1
    valid = np.ones(code.shape, np.bool_)
    for group in (factors[2:], factors[:2]):
        size = 10 ** sum(_SPLITS[factor][0] for factor in group)
        parent = code // size
        number = code - parent * size
        rows, cols, exists = _table_of(group)
        row += rows[number] * cells
        col += cols[number] * cells
        valid &= exists[number]
        code, cells = parent, cells * prod(group)
    primary = code // 100
    east = code - primary * 100
    row += primary * cells
    col += east * cells
    return row, col, valid & (east < 80)  # to 180 E


@cache
def _table_of(factors: tuple[int, ...]) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Tabulate row and column, within their area, of every number that some digits can write.

    Returns int64[n] each, and which numbers are codes, bool[n]. ``factors``: those of the digits.
    """
    n = 10 ** sum(_SPLITS[factor][0] for factor in factors)
    row, col, exists = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_)
    side = np.arange(prod(factors))
    rows, cols = (one.reshape(-1) for one in np.meshgrid(side, side, indexing="ij"))
    code = _write_groups(factors, rows, cols)[2]
    row[code], col[code], exists[code] = rows, cols, True
    return row, col, exists


def _write_groups(
    factors: tuple[int, ...], row: IntArray, col: IntArray
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Return row and column of the areas above, the digits below them, and their base."""
    code, place = np.zeros(row.shape, np.int64), 1
    for factor in reversed(factors):
        digits, by_row, by_col, base, _ = _SPLITS[factor]
        parent_row, parent_col = row // factor, col // factor
        number = (row - parent_row * factor) * by_row + (col - parent_col * factor) * by_col
        code += (number + base) * place
        row, col, place = parent_row, parent_col, place * 10**digits
    return row, col, code, place


def infer_jis_level(code: str) -> str:
    """Infer the level of a JIS mesh code; CodeError (position 0) if it is ambiguous.

    The last of nine digits distinguishes "2km" from "half". Ten digits are always ambiguous:
    250 m cells and the 100 m cells of another standard look alike.

    >>> infer_jis_level("533946113"), infer_jis_level("533946005")
    ('half', '2km')
    """
    levels = [level for level in LEVELS if _DIGITS[level] == len(code)]
    if levels in ([], ["quarter"]):
        tens = "10 digits are jis:quarter (250 m) or 100 m cells of another standard: name it"
        raise CodeError(
            0,
            f"the level follows from 4, 6, 7, 8, 9 or 11 digits; {tens}",
            code="jis-level-of-digits",
        )
    level = "2km" if code[8:] == "5" else levels[-1]
    JISMesh(level).parse([code])
    return level
