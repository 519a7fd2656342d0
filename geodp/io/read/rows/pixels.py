"""Pixels of rasters: GeoTIFF, ASCII grid and NetCDF, on a lattice of the same cells."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from geodp.errors import CodeError, InputError, UsageError, printable
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.crs import same_crs
from geodp.io.opening import RASTERS, open_raster, require_regular
from geodp.io.read.rows.complete.raster import check_pixels, check_raster
from geodp.io.read.rows.input_files import FilePath, guard, kind_of
from geodp.table.source import Fact

ALIGNED = 1e-3
"""How far, in cells, the corners of a raster may lie from those of the grid's cells."""

WHOLE = 1e-4
"""How far a value divided by the unit may be from a whole number, besides its own rounding."""

NO_RASTER = (
    "The file is no raster that is read (GeoTIFF, ASCII grid, classic NetCDF), or it is truncated "
    "or damaged."
)
HDF5 = (
    "NetCDF-4 and HDF5 can keep pixels in other files and are not read; rewrite the file in a "
    "classic format (nccopy -k nc6) or as a GeoTIFF (gdal_translate)."
)

WORLD_FILES = (".tfw", ".tifw", ".tiffw", ".wld")
DECISIVE = (b"<NoDataValue", b"<GeoTransform", b"<SRS")
"""Files beside a raster, and what in GDAL's own says more than statistics."""

PIXELS = 1 << 22
"""Pixels that are in memory at once."""


def grid_like(path: FilePath) -> Grid:
    """Return the grid of a raster's cells: ``Grid.regular`` from its shape, CRS and transform.

    Nothing but the header is read. The header is public from then on: take it from a raster
    whose extent was not chosen by looking at where people are.
    """
    with open_raster_file(path) as raster:
        crs = raster.crs
        name = None if crs is None else crs.to_string()
        return Grid.regular(raster.shape, crs=name, transform=raster.transform)


@dataclass(frozen=True)
class Lines:
    """Where the pixels of a raster stand, as a table without columns."""

    name: str
    width: int
    facts: tuple[Fact, ...] = ()

    columns: tuple[str, ...] = ()

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[Any]]:
        """Return nothing, as a raster has no columns."""
        return iter(())

    def line(self, record: int) -> int:
        """Line, counted from 1, of a pixel counted from 0."""
        return record // self.width + 1


@dataclass(frozen=True)
class Part:
    """Some lines of a raster on a lattice.

    Attributes
    ----------
    lines : Lines
        Of the whole raster.
    first : int
        Pixels before.
    rows, cols : int64[n], int64[m]
        The lattice's indices of lines and columns, possibly outside.
    values : ndarray[n, m]
    valid : bool[n, m]
        Neither nodata nor NaN.
    """

    lines: Lines
    first: int
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    values: NDArray[Any]
    valid: NDArray[np.bool_]


def align_parts(path: FilePath, lattice: Lattice, band: int | None = None) -> Iterator[Part]:
    """Return a raster's lines on the lattice whose cells are its own, some at a time.

    Raises InputError for a raster that is not aligned, is damaged or has several bands of
    which none was chosen.
    """
    with open_raster_file(path) as raster:
        name = str(path)
        if band is None and raster.count != 1:
            raise InputError(
                f"The raster has {raster.count} bands; choose one (--band, band=).", file=name
            )
        if band is not None and not 1 <= band <= raster.count:
            raise InputError(f"The raster has the bands 1 to {raster.count}.", file=name)
        if np.dtype(raster.dtypes[(band or 1) - 1]).kind not in "iuf":
            raise InputError("The raster's values must be real numbers.", file=name)
        rows, cols = _align(raster, lattice, name)
        said = guard(name, partial(check_pixels, path, kind_of(path)), NO_RASTER)
        lines = Lines(name, raster.width, said)
        step = max(1, PIXELS // raster.width)
        for line in range(0, raster.height, step):
            height = min(step, raster.height - line)
            window = Window(0, line, raster.width, height)
            read = guard(
                name, partial(raster.read, band or 1, window=window, masked=True), NO_RASTER
            )
            values, valid = read.data, ~np.ma.getmaskarray(read)
            if values.dtype.kind == "f":
                valid &= ~np.isnan(values)
            yield Part(lines, line * raster.width, rows[line : line + height], cols, values, valid)


@contextmanager
def open_raster_file(path: FilePath) -> Iterator[Any]:
    """Open a raster file in GDAL; InputError for what is none."""
    name = str(path)
    kind = kind_of(path)
    if kind not in RASTERS:
        raise InputError(HDF5 if kind == "hdf5" else NO_RASTER, file=name)
    _require_alone(Path(path), name)
    guard(name, partial(check_raster, path, kind), NO_RASTER)
    with contextlib.ExitStack() as held:
        raster = guard(name, lambda: held.enter_context(open_raster(path, kind)), NO_RASTER)
        if raster.count == 0:
            rule = "The file holds several variables; write one alone (ncks -v, gdal_translate)."
            raise InputError(rule, file=name)
        yield raster


def _require_alone(path: Path, name: str) -> None:
    """InputError for a file beside a raster that would change what its pixels mean."""
    beside = [path.with_name(path.name + ending) for ending in (".msk", ".aux.xml")]
    beside += [path.with_suffix(ending) for ending in WORLD_FILES]
    for other in beside:
        require_regular(other)
    for other in (file for file in beside if file.is_file()):
        if other.suffix == ".xml":  # of statistics alone, QGIS leaves one at every look
            said = guard(name, other.read_bytes)
            if not any(word in said for word in DECISIVE):
                continue
        raise InputError(
            f"What stands beside a raster is not read, and {printable(other.name)} would change "
            "it; write it into the raster (gdal_translate), or move it away.",
            file=name,
        )


def _align(raster: Any, lattice: Lattice, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lattice's indices of the raster's lines and columns."""
    if lattice.transform is None:
        raise UsageError("A raster needs a grid with a transform.")
    unsaid = raster.crs is None and raster.driver == "AAIGrid"  # as it cannot say it
    if not unsaid and not same_crs(raster.crs.to_wkt() if raster.crs else None, lattice.crs):
        raise InputError(
            f"The raster must have the grid's CRS ({lattice.crs}); warping would make counts "
            "of fractions, so choose a grid in the raster's CRS.",
            file=name,
        )
    a, b, c, d, e, f = tuple(raster.transform)[:6]
    wide, _, west, _, tall, base = lattice.transform
    edges: list[tuple[int, int] | None] = []
    for size, step, first, cell, origin in (
        (raster.height, e, f, tall, base),
        (raster.width, a, c, wide, west),
    ):
        start, end = (first - origin) / cell, (first + size * step - origin) / cell
        whole = round(start), round(end)
        if max(abs(start - whole[0]), abs(end - whole[1])) > ALIGNED:
            edges.append(None)
        else:
            edges.append(whole if abs(whole[1] - whole[0]) == size else None)
    rows, cols = edges
    if b or d or rows is None or cols is None:
        raise InputError(
            "The raster's cells must be the grid's: same size, no rotation, shifted by whole "
            "cells; counts are not resampled.",
            file=name,
        )
    return _run(*rows), _run(*cols)


def _run(start: int, end: int) -> NDArray[np.int64]:
    """Return indices of the cells between two edges, from the first to the second."""
    return np.arange(start, end) if start < end else np.arange(start - 1, end - 1, -1)


def counts_of(values: NDArray[Any], unit: float) -> NDArray[np.int64]:
    """Values that are not 0 as counts; CodeError at the first that is none."""
    people = values.astype(np.float64) / unit
    nearest = np.rint(people)
    rounding = np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.0
    allowed = np.minimum(WHOLE + rounding * np.abs(nearest), 0.1)
    with np.errstate(invalid="ignore"):
        rules = (
            (np.isfinite(people), "a value must be finite; nodata or NaN mean nobody."),
            (
                people >= 0,
                "a value is negative; if it means nobody, name it as missing "
                "(--missing, missing=).",
            ),
            (
                np.abs(people - nearest) <= allowed,
                "a value is no whole number of units (--raster-unit, unit=); counts that a model "
                "makes of fractions are rounded on request (--round, rounding=).",
            ),
            (people < 2**53, "a value is above 2**53; check the unit."),
        )
    for good, rule in rules:
        if not good.all():
            raise CodeError(int(good.argmin()), rule)
    return nearest.astype(np.int64)
