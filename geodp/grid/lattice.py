"""Lattices: two spatial axes, and where their rows and columns lie on the Earth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import tau
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.grid.codes import CodeSystem
from geodp.grid.codes.quadkey import HALF
from geodp.grid.crs import MAX_NAME_LENGTH, name_crs
from geodp.kernels import codes as kernels

Transform = tuple[float, float, float, float, float, float]
"""Affine coefficients a, b, c, d, e, f: ``x = a col + b row + c``, ``y = d col + e row + f``."""

SNAP = Fraction(1, 100)
"""Tolerance, in cells, of a bound's distance from a cell's edge (coordinates of 6 decimals)."""


@dataclass(frozen=True)
class Lattice:
    """Two spatial axes: rows and columns of equal cells.

    Attributes
    ----------
    rows, cols : int
    system : CodeSystem, optional
        The published code system whose cells these are.
    row0, col0 : int
        Index in the code system of the lattice's first row and column.
    crs : str, optional
        Any text that pyproj and GDAL accept, such as ``"EPSG:3035"``.
    transform : Transform, optional
        From (column, row) to the CRS; without it the cells have no location on the Earth.
    """

    rows: int
    cols: int
    system: CodeSystem | None = None
    row0: int = 0
    col0: int = 0
    crs: str | None = None
    transform: Transform | None = None

    def __post_init__(self) -> None:
        if self.rows < 1 or self.cols < 1:
            raise UsageError("A grid needs at least one row and one column.", code="lattice-empty")
        if self.transform is not None:
            a, b, _, d, e, _ = self.transform
            finite = bool(np.isfinite(np.array(self.transform, float)).all())
            # Rotated grids have no rows of constant northing, on which all formats here rely.
            if b or d or not a > 0 or not e or not finite:
                raise UsageError(
                    "The transform must be finite, without rotation; columns must run eastwards.",
                    code="transform-not-plain",
                )

    @property
    def label(self) -> str:
        """Short label: the name of the code system, or else the CRS; empty without either."""
        if self.system is not None:
            return self.system.name
        crs = self.crs or ""
        return crs if len(crs) <= MAX_NAME_LENGTH else f"{crs[:MAX_NAME_LENGTH]}..."

    def __repr__(self) -> str:
        where = [self.label] if self.label else []
        return f"Lattice({', '.join([*where, f'rows={self.rows}', f'cols={self.cols}'])})"

    @classmethod
    def of_system(
        cls, system: CodeSystem, bounds: Sequence[float | Fraction] | None = None
    ) -> Lattice:
        """Create the lattice of a code system inside bounds (west, south, east, north) in its CRS.

        Without bounds: its full public extent. If the system covers all longitudes, a west that is
        not below the east means bounds across 180 degrees. Raises UsageError for bounds that do not
        run along cell edges or extend beyond the extent.
        """
        row0, col0, rows, cols = system.extent
        if bounds is not None:
            west, south, east, north = _edges(system, bounds)
            last = col0 + cols
            if system.around is not None:
                east += system.around if west >= east else 0  # across 180 degrees
                # Bounds across 180 degrees may not go around the Earth more than once.
                last = min(west, col0 + cols - 1) + system.around
            if not (row0 <= south < north <= row0 + rows and col0 <= west < east <= last):
                y, x = _corner(system, row0, col0)
                top, right = _corner(system, row0 + rows, col0 + cols)
                raise UsageError(
                    f"The bounds must enclose cells inside the extent of {system.name}: "
                    f"west, south, east, north within {float(x):g} {float(y):g} "
                    f"{float(right):g} {float(top):g}, in units of {name_crs(system.crs)}.",
                    code="bounds-not-in-extent",
                )
            row0, col0, rows, cols = south, west, north - south, east - west
        return cls(rows, cols, system, row0, col0, system.crs, transform_of(system, row0, col0))

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east, north in the CRS; in cells if there is no transform."""
        if self.transform is None:
            return (0.0, 0.0, float(self.cols), float(self.rows))
        if self.system is not None:
            south, west = _corner(self.system, self.row0, self.col0)
            north, east = _corner(self.system, self.row0 + self.rows, self.col0 + self.cols)
            return (float(west), float(south), float(east), float(north))
        a, _, c, _, e, f = self.transform
        ys = (f, f + e * self.rows)
        return (c, min(ys), c + a * self.cols, max(ys))

    @property
    def period(self) -> float | None:
        """Width of the Earth in units of the CRS, if the lattice crosses 180 degrees.

        Otherwise None.

        The coordinates of such a lattice continue beyond 180 degrees: -178 becomes 182.
        """
        if self.transform is None or self.crs is None:
            return None
        west, _, east, _ = self.bounds
        if self.system is not None:
            around = self.system.around
            circle = None if around is None else float(self.system.step[1] * around)
        # Bounds within +-180 cross nothing, in degrees as in metres: no need to load PROJ.
        elif west >= -180 and east <= 180:
            return None
        else:
            circle = longitude_period(self.crs)
        return circle if circle is not None and (west < -circle / 2 or east > circle / 2) else None

    def wrap(self, x: ArrayLike) -> NDArray[np.float64]:
        """Shift x, float64[n], by entire periods into a lattice across 180 degrees.

        For other lattices of no code system, longitudes from 180 to 360 become negative.
        """
        values, period = np.asarray(x, np.float64), self.period
        if self.transform is None:
            return values
        if period is None:
            beyond = self.system is None and self.crs is not None and (values > 180).any()
            circle = longitude_period(str(self.crs)) if beyond else None
            if circle is None:
                return values
            return np.where(values > circle / 2, values - circle, values)
        west, slack = self.bounds[0], 1e-6 * self.transform[0]
        low, high = values < west - slack, values >= west + period - slack
        return np.asarray(
            values + np.where(low, period, 0.0) - np.where(high, period, 0.0), np.float64
        )

    @property
    def northwards(self) -> bool:
        """Whether row 0 is the southernmost row."""
        return self.transform is not None and self.transform[4] > 0

    def edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the edges of all columns and rows: x float64[cols + 1], y float64[rows + 1]."""
        cols, rows = np.arange(self.cols + 1), np.arange(self.rows + 1)
        if self.system is not None:
            (y0, x0), (dy, dx) = self.system.origin, self.system.step
            # Fractions and not the transform: grids of one system have equal floats at equal
            # edges.
            return _ratio(x0, dx, self.col0 + cols), _ratio(y0, dy, self.row0 + rows)
        a, _, c, _, e, f = self.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        return c + a * cols.astype(np.float64), f + e * rows.astype(np.float64)

    def edges_at(
        self, row: NDArray[np.int64], col: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return west, south, east, north of cells: float64[n] each, equal where cells meet."""
        if self.system is not None:
            (y0, x0), (dy, dx) = self.system.origin, self.system.step
            row, col = self.row0 + row, self.col0 + col
            west, east = _ratio(x0, dx, col), _ratio(x0, dx, col + 1)
            return west, _ratio(y0, dy, row), east, _ratio(y0, dy, row + 1)
        a, _, c, _, e, f = self.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        x, y = col.astype(np.float64), row.astype(np.float64)
        low, high = (y, y + 1) if e > 0 else (y + 1, y)
        return c + a * x, f + e * low, c + a * (x + 1), f + e * high

    def parse(self, codes: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column (int64[n] each, possibly outside) of published codes."""
        if self.system is None:
            raise UsageError(
                "The grid has no code system; give coordinates or cell indices.",
                code="grid-without-codes",
            )
        row, col = self.system.parse(codes)
        return row - self.row0, self._columns(col)

    def _columns(self, col: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert columns of the code system, int64[n], to columns of the lattice."""
        columns = col - self.col0
        if self.period is None or self.system is None or self.system.around is None:
            return columns
        return np.asarray(np.where(columns < 0, columns + self.system.around, columns), np.int64)

    def format(self, row: NDArray[np.int64], col: NDArray[np.int64]) -> NDArray[np.str_]:
        """Return the published codes of cells; ``row_col`` if the lattice has no code system."""
        if self.system is not None:
            across, around = col + self.col0, self.system.around
            return self.system.format(row + self.row0, across % around if around else across)
        width = 1 + _longest(row) + _longest(col)
        text = np.zeros((row.size, width), np.uint32)
        kernels.write_pairs(np.ascontiguousarray(row), np.ascontiguousarray(col), text)
        return text.view(f"U{width}").reshape(row.shape)

    def locate(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column (int64[n] each, possibly outside) of points in the CRS."""
        if self.system is not None:
            row, col = self.system.locate(x, y)
            return row - self.row0, self._columns(col)
        if self.transform is None:
            raise UsageError(
                "The grid has no transform; give cell indices instead.",
                code="grid-without-transform",
            )
        a, _, c, _, e, f = self.transform
        at = np.stack([(np.asarray(y, float) - f) / e, (self.wrap(x) - c) / a])
        # Beyond 2**52 floats have no fractions, and the conversion to int64 may overflow.
        bad = np.flatnonzero(~np.isfinite(at).all(axis=0) | (np.abs(at) > 2**52).any(axis=0))
        if bad.size:
            raise CodeError(
                int(bad[0]), "A coordinate must be a finite number.", code="coordinate-not-finite"
            )
        # Rounding may put a cell's corner just below its edge.
        row, col = np.floor(at + 1e-7).astype(np.int64)
        return row, col

    def describe(self) -> dict[str, Any]:
        """Return plain values for the release card, enough to recreate the lattice."""
        definition = None if self.system is None else self.system.definition
        return {
            "rows": self.rows,
            "cols": self.cols,
            "code": None if self.system is None else self.system.name,
            "first": [self.row0, self.col0],
            "crs": self.crs,
            "transform": None if self.transform is None else list(self.transform),
            "bounds": list(self.bounds),
            **({} if definition is None else {"definition": definition}),
        }


def _corner(system: CodeSystem, row: int, col: int) -> tuple[Fraction, Fraction]:
    """Return the exact lower left corner (y, x) of a lattice cell."""
    return system.origin[0] + row * system.step[0], system.origin[1] + col * system.step[1]


def _ratio(origin: Fraction, step: Fraction, index: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute ``origin + step * index`` with one rounding, so that equal corners are equal floats.

    Three roundings where the numerators exceed 64 bits, as for quadkeys.
    """
    common = origin.denominator * step.denominator
    first = origin.numerator * step.denominator
    each = step.numerator * origin.denominator
    if abs(first) + abs(each) * int(np.abs(index).max(initial=0)) >= 1 << 63:
        return np.asarray(float(origin) + float(step) * index, np.float64)
    return np.asarray((first + each * index) / common, np.float64)


def _edges(system: CodeSystem, bounds: Sequence[float | Fraction]) -> list[int]:
    """Return column, row, column, row of the cell edges nearest to the four bounds."""
    if len(bounds) != 4 or not np.isfinite(np.array(bounds, float)).all():
        raise UsageError(
            "Bounds are four finite numbers: west, south, east, north.", code="bounds-not-finite"
        )
    edges = []
    for value, i, name in zip(
        bounds, (1, 0, 1, 0), ("west", "south", "east", "north"), strict=True
    ):
        # In fractions, so that a printed bound such as 35.6666667 is off by its own rounding only.
        exact = (Fraction(value) - system.origin[i]) / system.step[i]
        edge = round(exact)
        if abs(exact - edge) > SNAP:
            near = float(system.origin[i] + edge * system.step[i])
            raise UsageError(
                f"The {name} bound must run along cell edges of {system.name}, in units of "
                f"{name_crs(system.crs)}; the nearest edge is {near!r}. Bounds in degrees are "
                "widened to entire cells: add the word degrees after them (--bounds W S E N "
                "degrees, degrees=True).",
                code="bounds-off-edges",
            )
        edges.append(edge)
    return edges


@cache
def longitude_period(crs: str) -> float | None:
    """Return the period of longitudes in units of a CRS; None for projections that have none.

    This is 360 degrees, 400 grads, or the width of web Mercator in metres.

    >>> longitude_period("EPSG:4326"), longitude_period("EPSG:3035")
    (360.0, None)
    """
    from pyproj import CRS  # late: it is slow, and most grids do without

    parsed = CRS.from_user_input(crs)
    if parsed.is_geographic:
        return round(tau / parsed.axis_info[0].unit_conversion_factor, 9)
    return 2 * float(HALF) if parsed.equals(CRS("EPSG:3857"), ignore_axis_order=True) else None


def transform_of(system: CodeSystem, row: int, col: int) -> Transform:
    """Return the transform of a map of a code system whose first cell is at a row and column."""
    y, x = _corner(system, row, col)
    dy, dx = system.step
    return (float(dx), 0.0, float(x), 0.0, float(dy), float(y))


def affine_coefficients(transform: Sequence[float]) -> Transform:
    """Return the six coefficients of an affine transform (an ``Affine`` has nine)."""
    values = tuple(transform)[:6]
    if len(values) != 6:
        raise UsageError(
            "A transform has six coefficients: a, b, c, d, e, f.", code="transform-form"
        )
    a, b, c, d, e, f = (float(value) for value in values)
    return (a, b, c, d, e, f)


def parse_codes(place: Lattice, codes: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row and column (int64[n] each) of written codes; the inverse of ``Lattice.format``."""
    if place.system is not None:
        return place.parse(codes)
    texts = np.array(codes, np.str_, order="C").reshape(-1)
    row, col = np.empty(texts.size, np.int64), np.empty(texts.size, np.int64)
    characters = texts.view(np.uint32).reshape(texts.size, texts.dtype.itemsize // 4)
    read = kernels.read_pairs(characters, row, col)
    if read < texts.size:
        raise CodeError(
            read, "a code must read row_col, as this grid writes it", code="code-not-row-col"
        )
    return row, col


def _longest(numbers: NDArray[np.int64]) -> int:
    """Return the length of the longest of some integers as text."""
    ends = (int(numbers.min(initial=0)), int(numbers.max(initial=0)))
    return max(len(str(end)) for end in ends)
