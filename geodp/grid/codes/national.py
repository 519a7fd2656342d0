"""Codes of national grids in metres: Dutch squares, Swiss hectares, ids after INSPIRE's pattern.

Sources: CBS, "Kaart van 100 meter bij 100 meter" (E and N of the lower left corner, easting
first); BFS, GEOSTAT, "RELI" (hectometres of LV03, easting first); Eurostat, ids
``CRS<epsg>RES<m>mN<n>E<e>`` on the CRS of a country, as INSEE, Statistics Finland and others write
them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError
from geodp.grid.codes.arrays import (
    BLANK,
    MISSING,
    Indices,
    Pair,
    as_array,
    characters_of,
    flat_pair,
    read_digits,
    require,
    snap_floor,
    text_at,
    within,
)

EXTENTS = {
    # EPSG: south, west, north, east in kilometres: the country, rounded outwards.
    28992: (300, 0, 700, 300),
    2056: (1000, 2400, 1400, 2900),
    2180: (100, 100, 900, 900),
    2975: (7600, 300, 7700, 400),
    3006: (6100, 200, 7700, 1000),
    3067: (6600, 0, 7800, 800),
    5490: (1500, 400, 2100, 800),
    25832: (5200, 200, 6500, 1000),
}
SIZES = {100: "100m", 200: "200m", 250: "250m", 500: "500m", 1000: "1km", 10_000: "10km"}
FAMILIES = {"cbs": (28992, (100, 500)), "statpop": (2056, (100,))}
"""Family: EPSG, sides in metres; the others are ``national:<epsg>:<size>``."""

OUTSIDE = "the cell has no code: it is outside the country's grid"
_METRES = 10**8
_WIDTH = 40
_EAST, _NORTH = ord("E"), ord("N")


@dataclass(frozen=True, slots=True)
class NationalGrid:
    """Squares of one side on the CRS of a country, counted from the CRS's origin.

    Parameters
    ----------
    family : {"cbs", "statpop", "national"}
        How codes are written: ``E85900N436000`` (read also in hectometres, ``E0859N4360``);
        ``60002000`` for the hectare E 2600000 N 1200000; ``CRS3067RES1000mN6672000E385000``.
    epsg : int
        One of ``EXTENTS``.
    resolution : int
        Side of a cell in metres.

    Examples
    --------
    >>> NationalGrid("cbs", 28992, 100).parse(["E85900N436000", "E0859N4360"])
    (array([4360, 4360]), array([859, 859]))
    >>> str(NationalGrid("statpop", 2056, 100).format(12000, 26000))
    '60002000'
    >>> NationalGrid("national", 3067, 1000).parse(["CRS3067RES1000mN6672000E385000"])
    (array([6672]), array([385]))
    """

    family: str
    epsg: int
    resolution: int
    zeros: ClassVar[bool] = False

    def __post_init__(self) -> None:
        epsg, sides = FAMILIES.get(self.family, (self.epsg, tuple(SIZES)))
        known = self.family in (*FAMILIES, "national") and self.epsg == epsg
        if not known or self.epsg not in EXTENTS or self.resolution not in sides:
            raise UsageError(RULE)

    @property
    def name(self) -> str:
        """Such as "cbs:100m" or "national:3067:1km"."""
        middle = f"{self.epsg}:" if self.family == "national" else ""
        return f"{self.family}:{middle}{SIZES[self.resolution]}"

    @property
    def crs(self) -> str:
        """Such as "EPSG:28992"."""
        return f"EPSG:{self.epsg}"

    @property
    def origin(self) -> Pair:
        """Return the CRS's own."""
        return Fraction(0), Fraction(0)

    @property
    def step(self) -> Pair:
        """Metres."""
        return Fraction(self.resolution), Fraction(self.resolution)

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """Return the country's, in cells; see ``EXTENTS``."""
        south, west, north, east = (1000 * km // self.resolution for km in EXTENTS[self.epsg])
        return south, west, north - south, east - west

    @property
    def around(self) -> None:
        """Nothing: the extent is a part of the Earth."""
        return

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Coarser squares of the family that nest, and the cell."""
        sides = FAMILIES.get(self.family, (0, (10_000, 1000, 100)))[1]
        nested = sorted((m for m in sides if m % self.resolution == 0), reverse=True)
        chosen = [m for m in nested if m > self.resolution] + [self.resolution]
        others = (NationalGrid(self.family, self.epsg, m) for m in chosen)
        return tuple((grid.name, grid.resolution // self.resolution) for grid in others)

    def parse(self, codes: ArrayLike) -> tuple[Indices, Indices]:
        """Turn codes into lattice indices; see `CodeSystem.parse`."""
        array = as_array(codes)
        if array.dtype.kind in "iu":
            array = array.astype("U20")
        characters = characters_of(array, _WIDTH)
        if self.family == "statpop":
            value, length = read_digits(characters[:, :9])
            good = (length == 8) & (characters[:, 8] == 0)
            east, north = (value // 10**4 + 20_000) * 100, (value % 10**4 + 10_000) * 100
        elif self.family == "cbs":
            good, east, north = _read_pair(characters, "E", _NORTH)
        else:
            good, north, east = _read_pair(characters, self._prefix, _EAST)
        good &= within(east, _METRES) & within(north, _METRES)
        good &= (east % self.resolution == 0) & (north % self.resolution == 0)
        require(good, lambda position: self._rule(text_at(array, position)))
        row, col = north // self.resolution, east // self.resolution
        return row.reshape(array.shape), col.reshape(array.shape)

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Turn lattice indices into codes; see `CodeSystem.format`."""
        row, col, shape = flat_pair(row, col, np.int64, "row and col are integers of one shape")
        north, east = row * self.resolution, col * self.resolution
        if self.family == "statpop":
            first, second = east // 100 - 20_000, north // 100 - 10_000
            require(within(first, 10**4) & within(second, 10**4), lambda _: OUTSIDE)
            # A 1 in front keeps the zeros in front; it is cut off again.
            text = (10**8 + first * 10**4 + second).astype("U9").view(np.uint32).reshape(-1, 9)
            return np.ascontiguousarray(text[:, 1:]).view("U8").reshape(shape)
        require(within(north, _METRES) & within(east, _METRES), lambda _: OUTSIDE)
        pair = (east, north) if self.family == "cbs" else (north, east)
        parts = ("E", "N") if self.family == "cbs" else (self._prefix, "E")
        head = np.strings.add(parts[0], pair[0].astype("U9"))
        return np.strings.add(np.strings.add(head, parts[1]), pair[1].astype("U9")).reshape(shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[Indices, Indices]:
        """Find the cells of eastings x and northings y, metres; see `CodeSystem.locate`."""
        x, y, shape = flat_pair(x, y, np.float64, "x and y are numbers of one shape")
        rule = f"points are finite: x is easting, y is northing, metres of {self.crs} below 2e7"
        require((np.abs(x) < 2e7) & (np.abs(y) < 2e7), lambda _: rule)
        row, col = snap_floor(y) // self.resolution, snap_floor(x) // self.resolution
        return row.reshape(shape), col.reshape(shape)

    @property
    def _prefix(self) -> str:
        return f"CRS{self.epsg}RES{self.resolution}mN"

    def _rule(self, text: str) -> str:
        if text.strip() in BLANK:
            return MISSING
        written = {
            "cbs": "E<easting>N<northing>, easting first",
            "statpop": "eight digits, hectometres of LV03 with the easting first (RELI)",
            "national": f"{self._prefix}<northing>E<easting>",
        }[self.family]
        return (
            f"codes of {self.name} read {written}, of the lower left corner in metres that are "
            f"multiples of {self.resolution}; check the column and the size"
        )


def _read_pair(
    characters: NDArray[np.uint32], prefix: str, split: int
) -> tuple[NDArray[np.bool_], Indices, Indices]:
    """Read two numbers after a prefix with a letter between; two of four digits are hectometres."""
    start, end = np.frombuffer(prefix.encode(), np.uint8), len(prefix)
    good = (characters[:, :end] == start).all(axis=1)
    pair, places = characters[:, end : end + 18], np.arange(9)
    middle = (pair == split).argmax(axis=1)[:, np.newaxis]
    good &= (pair == split).any(axis=1)
    first = np.where(places < middle, pair[:, :9], 0)
    second = np.take_along_axis(pair, np.minimum(middle + 1 + places, 17), axis=1)
    (one, length), (other, width) = read_digits(first), read_digits(second)
    scale = np.where((length == 4) & (width == 4), 100, 1)
    return good & (length > 0) & (width > 0), one * scale, other * scale


RULE = (
    "national grids are cbs:100m, cbs:500m, statpop:100m and national:<epsg>:<size>, epsg one of "
    f"{', '.join(map(str, EXTENTS))}, size one of {', '.join(SIZES.values())}"
)


def national_grid(spec: str) -> NationalGrid | None:
    """Return the grid of a name such as "cbs:100m" or "national:3067:1km"; None of another family.

    UsageError where the family is one of these and the rest is not.
    """
    family, _, rest = spec.partition(":")
    if family not in (*FAMILIES, "national"):
        return None
    found = re.fullmatch(r"(?:(\d+):)?(\w+)", rest)
    sizes = {label: metres for metres, label in SIZES.items()}
    sizes |= {str(metres): metres for metres in SIZES}
    if found is None or found[2] not in sizes or (found[1] is None) == (family == "national"):
        raise UsageError(RULE)
    epsg = int(found[1]) if found[1] else FAMILIES[family][0]
    return NationalGrid(family, epsg, sizes[found[2]])
