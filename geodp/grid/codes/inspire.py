"""Codes of the pan-European grids (INSPIRE D2.8.I.2 v3.1; Regulation (EU) 2018/1799, article 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

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

SIZES = {
    metres: f"{metres // 1000}km" if metres % 1000 == 0 else f"{metres}m"
    for metres in (100, 200, 250, 500, *(1000 * n for n in (1, 2, 5, 10, 20, 25, 50, 100)))
}
_METRES = 10**7  # northings and eastings have at most seven digits
_LONGEST = len("CRS3035RES100000mN5500000E7400000")


@dataclass(frozen=True, slots=True)
class InspireGrid:
    """The pan-European equal-area grid (ETRS89-LAEA, EPSG:3035) at one resolution.

    Parameters
    ----------
    resolution : int
        Side of a cell in metres: 100, 200, 250, 500, 1000, 2000, 5000, 10000, 20000, 25000,
        50000 or 100000.
    form : {"long", "short"}
        What `format` writes; `parse` reads both. Long codes give northing and easting of the
        lower left corner in metres, short ones drop as many zeros as the resolution ends in.

    Notes
    -----
    Row and col are northing and easting divided by the resolution; codes exist for 0 to below
    10,000,000 m. The extent is that of the EEA reference grid: N 900,000-5,500,000 m,
    E 900,000-7,400,000 m. `locate` moves points up by 0.01 mm.

    Examples
    --------
    >>> InspireGrid(1000).parse(["CRS3035RES1000mN2599000E4695000", "1kmN2599E4695"])
    (array([2599, 2599]), array([4695, 4695]))
    >>> str(InspireGrid(1000).format(2599, 4695))
    'CRS3035RES1000mN2599000E4695000'
    >>> str(InspireGrid(10_000, "short").format(270, 440))
    '10kmN270E440'
    """

    resolution: int
    form: Literal["long", "short"] = "long"
    crs: str = field(default="EPSG:3035", init=False, repr=False)
    zeros: ClassVar[bool] = False
    origin: Pair = field(default=(Fraction(0), Fraction(0)), init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.resolution, int) or self.resolution not in SIZES:
            allowed = ", ".join(map(str, SIZES))
            raise UsageError(f"the resolution of an INSPIRE grid is one of {allowed} (metres)")
        if self.form not in ("long", "short"):
            raise UsageError('the form of an INSPIRE code is "long" or "short"')

    @property
    def name(self) -> str:
        """Such as "inspire:1km"."""
        return f"inspire:{SIZES[self.resolution]}"

    @property
    def step(self) -> Pair:
        """Metres."""
        return Fraction(self.resolution), Fraction(self.resolution)

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """N 900,000-5,500,000 m, E 900,000-7,400,000 m, in cells."""
        side = self.resolution
        return 900_000 // side, 900_000 // side, 4_600_000 // side, 6_500_000 // side

    @property
    def _forms(self) -> dict[str, tuple[str, int]]:
        """What stands before the northing, and the metres that coordinates are counted in."""
        metres, size = str(self.resolution), SIZES[self.resolution]
        unit = int(metres.replace(metres.rstrip("0"), "1"))
        return {"long": (f"CRS3035RES{metres}mN", 1), "short": (f"{size}N", unit)}

    @property
    def around(self) -> None:
        """Nothing: the extent is a part of the Earth."""
        return

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """100 km, 10 km, 1 km and 100 m as far as this resolution, and it."""
        tens = [100_000, 10_000, 1_000, 100]
        nested = [m for m in tens if m > self.resolution and m % self.resolution == 0]
        sides = [*nested, self.resolution]
        return tuple((f"inspire:{SIZES[m]}", m // self.resolution) for m in sides)

    def parse(self, codes: ArrayLike) -> tuple[Indices, Indices]:
        """Turn codes, long, short or mixed, into lattice indices; see `CodeSystem.parse`."""
        array, side = as_array(codes), self.resolution
        characters = characters_of(array, _LONGEST + 1)
        row, col = np.full(array.size, -1), np.full(array.size, -1)
        for prefix, unit in self._forms.values():
            start, end = np.frombuffer(prefix.encode(), np.uint8), len(prefix)
            chosen = np.flatnonzero((characters[:, :end] == start).all(axis=1))
            pair, places = characters[chosen, end : end + 16], np.arange(8)
            split = (pair == ord("E")).argmax(axis=1)[:, np.newaxis]
            north = np.where(places < split, pair[:, :8], 0)
            east = np.take_along_axis(pair, np.minimum(split + 1 + places, 15), axis=1)
            for index, digits in ((row, north), (col, east)):
                value, length = read_digits(digits)
                valid = (length > 0) & (value * unit < _METRES) & (value * unit % side == 0)
                index[chosen] = np.where(valid, value * unit // side, -1)
        require((row >= 0) & (col >= 0), lambda position: self._rule(text_at(array, position)))
        return row.reshape(array.shape), col.reshape(array.shape)

    def format(self, row: ArrayLike, col: ArrayLike) -> NDArray[np.str_]:
        """Turn lattice indices into codes of the grid's form; see `CodeSystem.format`."""
        row, col, shape = flat_pair(row, col, np.int64, "row and col are integers of one shape")
        end = _METRES // self.resolution
        rule = "codes exist for 0 to below 10,000,000 m: count cells from the origin of EPSG:3035"
        require(within(row, end) & within(col, end), lambda _: rule)
        prefix, unit = self._forms[self.form]
        north, east = ((index * (self.resolution // unit)).astype("U7") for index in (row, col))
        codes = np.strings.add(np.strings.add(prefix, north), np.strings.add("E", east))
        return codes.reshape(shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[Indices, Indices]:
        """Find the cells of eastings x and northings y, metres; see `CodeSystem.locate`."""
        x, y, shape = flat_pair(x, y, np.float64, "x and y are numbers of one shape")
        rule = "points are finite: x is easting, y is northing, metres of EPSG:3035 below 2e7"
        require((np.abs(x) < 2e7) & (np.abs(y) < 2e7), lambda _: rule)
        row, col = snap_floor(y) // self.resolution, snap_floor(x) // self.resolution
        return row.reshape(shape), col.reshape(shape)

    def _rule(self, text: str) -> str:
        (long, _), (short, unit) = self._forms.values()
        pattern = f"codes of {self.name} read {long}<metres>E<metres> or {short}<n>E<n>"
        pair = text.rpartition("m")[2]
        if text.strip() in BLANK:
            return MISSING
        if text[2:3] == "_":
            return f"{pattern}: drop the country in front and sum the cells that countries share"
        if pair[:1] == "E" and "N" in pair:
            return (
                f"{pattern}, northing first: codes with the easting first, such as those of "
                "Statistics Netherlands (CBS), need their two parts swapped"
            )
        for other in map(InspireGrid, SIZES):
            if other != self and text.startswith(tuple(p for p, _ in other._forms.values())):
                return f"{pattern}: this code has another resolution, use {other.name}"
        return (
            f"{pattern}; metres are multiples of {self.resolution} below 10,000,000, and n is "
            f"metres / {unit} (without the zeros that the resolution ends in)"
        )
