"""Pixels of rasters (GeoTIFF, ASCII grid, classic NetCDF) on a lattice with the same cells."""

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

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.crs import name_plane, same_plane
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, longitude_period
from geodp.io.opening import RASTERS, open_raster, require_regular
from geodp.io.read.rows.forms.raster import check_pixels, check_raster, require_numbers
from geodp.io.read.rows.input_files import FilePath, guard, kind_of, unpack
from geodp.io.read.rows.members import Unpacked
from geodp.io.read.rows.raster_header import ALIGNED, RasterHeader
from geodp.table.source import Fact
from geodp.table.stored import Stored

NO_RASTER = Rule(
    "raster-unreadable",
    "The file is no raster that is read (GeoTIFF, ASCII grid, classic NetCDF), or it is truncated "
    "or damaged.",
)
HDF5 = Rule(
    "raster-is-hdf5",
    "NetCDF-4 and HDF5 can keep pixels in other files and are not read; rewrite the file in a "
    "classic format (nccopy -k nc6) or as a GeoTIFF (gdal_translate).",
)

WORLD_FILES = (".tfw", ".tifw", ".tiffw", ".wld")
DECISIVE_ELEMENTS = (
    *(b"<NoDataValue", b"<GeoTransform", b"<SRS", b"<GCPList", b'"RPC"', b'"GEOLOCATION"'),
    *(b"<Scale", b"<Offset", b"<UnitType", b"<ColorInterp", b"<MaskBand"),
)
"""Elements of GDAL's sidecar file that change what the pixels mean, unlike statistics."""

DEFAULT_FILL = Rule(
    "raster-default-fill",
    "a value equals NetCDF's default for cells that were never written, and may also be a count; "
    "declare in the file which number is missing (the attribute _FillValue), or name it "
    "(--missing, missing=).",
)

PIXELS = 1 << 22
"""Pixels in memory at once."""


def grid_like(path: FilePath) -> Grid:
    """Return the grid of a raster's cells: ``Grid.regular`` from its shape, CRS and transform.

    Only the header is read, and it becomes public: use a raster whose extent was not chosen by
    where people are. A compound CRS is reduced to its horizontal part, and longitudes from 0 to 360
    are turned to those from -180 to 180.

    Raises InputError for a raster without a transform.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import TemporaryDirectory; import geodp, rasterio
    >>> place = {"crs": "EPSG:3035", "transform": rasterio.Affine(1000, 0, 4e6, 0, -1000, 3e6)}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "template.tif")
    ...     size = {"width": 8, "height": 4, "count": 1, "dtype": "uint8"}
    ...     rasterio.open(path, "w", driver="GTiff", **size, **place).close()
    ...     geodp.grid_like(path).shape
    (4, 8)
    """
    with unpack(path) as local, open_raster_file(local) as raster:
        header = RasterHeader(raster, local)
        header.require_affine()
        crs = None if header.crs is None else name_plane(header.crs)
        transform = tuple(raster.transform)[:6]
        if crs is not None:
            transform = _wrap(transform, raster.width, crs)
        return Grid.regular(raster.shape, crs=crs, transform=transform)


def _wrap(transform: tuple[float, ...], columns: int, crs: str) -> tuple[float, ...]:
    """Return the coefficients of a map turned to longitudes from -180 to 180, where it is exact.

    A map once around the Earth from 0 to 360 begins at -180 then, and one east of 180 lies west of
    0: what is released on its cells is drawn where it lies. Maps across 180 degrees stay.
    """
    period = longitude_period(crs)
    width, _, first = transform[:3]
    if period is None or width <= 0:
        return transform
    cells, half = round(period / width), period / 2
    slack = ALIGNED * width
    if abs(cells * width - period) > slack or first + columns * width <= half + width / 2 + slack:
        return transform
    if first >= half - slack:
        turned = first - period
    elif columns == cells:
        turned = first - round((first + half) / width) * width
    else:
        return transform
    return (*transform[:2], turned, *transform[3:])


@dataclass(frozen=True)
class Lines:
    """Lines of a raster as a table without columns, for the positions in errors."""

    name: str
    width: int
    facts: tuple[Fact, ...] = ()

    columns: tuple[str, ...] = ()

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[Any]]:
        """Return an empty iterator, as a raster has no columns."""
        return iter(())

    def line(self, record: int) -> int:
        """Return the line, counted from 1, of a pixel counted from 0."""
        return record // self.width + 1


@dataclass(frozen=True)
class RasterBlock:
    """A block of lines of a raster on a lattice.

    Attributes
    ----------
    lines : Lines
        The entire raster.
    first : int
        Number of pixels before the block.
    rows, cols : int64[n], int64[m]
        The lattice's indices of lines and columns, possibly outside.
    values : ndarray[n, m]
        As they are stored.
    valid : bool[n, m]
        Neither nodata nor NaN.
    stored : Stored
        How the values mean counts.
    """

    lines: Lines
    first: int
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    values: NDArray[Any]
    valid: NDArray[np.bool_]
    stored: Stored


def align_blocks(
    path: FilePath,
    lattice: Lattice,
    band: int | None = None,
    *,
    unit: float | None = None,
    missing: Sequence[float] = (),
    counted: bool = True,
) -> Iterator[RasterBlock]:
    """Yield a raster in blocks of lines, on the lattice whose cells are its own.

    Parameters
    ----------
    path : path
    lattice : Lattice
    band : int, optional
        Counted from 1; needed where there are several.
    unit : float, optional
        Value of one person, if it was declared. Default: 1.
    missing : sequence of float
        Stored numbers that count as 0, besides nodata.
    counted : bool
        Whether the numbers are counts. A mask may hold classes and rates.

    Raises
    ------
    InputError
        A raster that is not aligned or is damaged, has several bands of which none was chosen, or
        holds numbers that are no counts.
    """
    with unpack(path) as local, open_raster_file(local) as raster:
        name = str(local)
        member_facts = local.facts if isinstance(local, Unpacked) else ()
        if band is None and raster.count != 1:
            raise InputError(
                f"The raster has {raster.count} bands; choose one (--band, band=), or write it "
                "alone (gdal_translate -b).",
                file=name,
                code="band-missing",
            )
        chosen = band or 1
        if not 1 <= chosen <= raster.count:
            raise InputError(
                f"The raster has the bands 1 to {raster.count}.", file=name, code="band-unknown"
            )
        header = RasterHeader(raster, local)
        stored = header.stored(chosen, unit, missing, counted=counted)
        slack = header.require_affine()
        rows, cols = _align(header, lattice, slack)
        if raster.driver == "AAIGrid":
            require_numbers(local, raster.width * raster.height)
        # Checksums are verified before the first block is used.
        pixel_facts = guard(name, partial(check_pixels, local, kind_of(local)), NO_RASTER)
        lines = Lines(
            name,
            raster.width,
            (*member_facts, *header.facts(chosen, stored, unit, missing), *pixel_facts),
        )
        # Whole lines in blocks of limited size, so that rasters larger than memory can be read.
        step = max(1, PIXELS // raster.width)
        for line in range(0, raster.height, step):
            height = min(step, raster.height - line)
            window = Window(0, line, raster.width, height)
            read = guard(name, partial(raster.read, chosen, window=window, masked=True), NO_RASTER)
            # An attribute _Unsigned gives the stored bits another type than GDAL's.
            values = header.typed(chosen, read.data)
            valid = stored.present(values)
            hidden = np.ma.getmaskarray(read)
            if header.ambiguous_fill and (hidden & valid).any():
                at = int((hidden & valid).any(axis=1).argmax())
                raise InputError(DEFAULT_FILL, file=name, row=line + at + 1)
            valid &= ~hidden
            first = line * raster.width
            yield RasterBlock(lines, first, rows[line : line + height], cols, values, valid, stored)


@contextmanager
def open_raster_file(path: FilePath) -> Iterator[Any]:
    """Open a raster file in GDAL; InputError for any other file."""
    name = str(path)
    kind = kind_of(path)
    if kind not in RASTERS:
        raise InputError(HDF5 if kind == "hdf5" else NO_RASTER, file=name)
    # Checked before GDAL opens the raster, as it would apply such files silently.
    _require_alone(Path(path), name)
    guard(name, partial(check_raster, path, kind), NO_RASTER)
    with contextlib.ExitStack() as stack:
        raster = guard(name, lambda: stack.enter_context(open_raster(path, kind)), NO_RASTER)
        if raster.count == 0:
            rule = Rule(
                "raster-several-variables",
                "The file holds several variables; write one alone (ncks -v, gdal_translate).",
            )
            raise InputError(rule, file=name)
        try:
            yield raster
        except Exception as error:
            # GDAL reports an unreadable tag at any later call, by a private class of rasterio.
            if type(error).__module__.partition(".")[0] != "rasterio":
                raise
            raise InputError(NO_RASTER, file=name) from None


def _require_alone(path: Path, name: str) -> None:
    """Raise InputError for a file beside a raster that would change what its pixels mean."""
    sidecars = [path.with_name(path.name + ending) for ending in (".msk", ".aux.xml")]
    sidecars += [path.with_suffix(ending) for ending in WORLD_FILES]
    for other in sidecars:
        require_regular(other)
    for other in (file for file in sidecars if file.is_file()):
        if other.suffix == ".xml":  # QGIS writes one with statistics whenever it shows a raster
            content = guard(name, other.read_bytes)
            if not any(element in content for element in DECISIVE_ELEMENTS):
                continue
        raise InputError(
            f"Files beside a raster are not read, and {printable(other.name)} would change what "
            "its pixels mean; write it into the raster (gdal_translate), or move it away.",
            file=name,
            code="raster-changed-by-file",
        )


def _align(
    header: RasterHeader, lattice: Lattice, slack: tuple[float, float]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the lattice's indices of the raster's lines and columns.

    ``slack`` is the tolerance of x and y, besides a thousandth of a cell.
    """
    raster, name = header.raster, header.name
    if lattice.transform is None:
        raise UsageError("A raster needs a grid with a transform.", code="raster-needs-transform")
    unstated = header.crs is None and raster.driver == "AAIGrid"  # its format has no CRS
    # Warping would split counts into fractions, so that another CRS is refused.
    if not unstated and not same_plane(header.crs, lattice.crs):
        raise InputError(
            f"The raster must have the grid's CRS ({lattice.crs}); warping would make counts "
            "of fractions, so choose a grid in the raster's CRS. Where the file leaves out its "
            "CRS, write it into the file (gdal_translate -a_srs).",
            file=name,
            code="raster-crs-differs",
        )
    a, b, c, d, e, f = tuple(raster.transform)[:6]
    wide, _, west, _, tall, base = lattice.transform
    edges: list[tuple[int, int] | None] = []
    # Compare both outer edges: an error of the cell size adds up over the raster.
    for size, step, first, cell, origin, off in (
        (raster.height, e, f, tall, base, slack[1]),
        (raster.width, a, c, wide, west, slack[0]),
    ):
        start, end = (first - origin) / cell, (first + size * step - origin) / cell
        nearest = round(start), round(end)
        if max(abs(start - nearest[0]), abs(end - nearest[1])) > ALIGNED + off / abs(cell):
            edges.append(None)
        else:
            edges.append(nearest if abs(nearest[1] - nearest[0]) == size else None)
    rows, cols = edges
    if b or d or rows is None or cols is None:
        raise InputError(
            "The raster's cells must be the grid's: same size, no rotation, shifted by whole "
            "cells; counts are not resampled.",
            file=name,
            code="raster-cells-differ",
        )
    return _cells_between(*rows), _wrap_longitudes(_cells_between(*cols), lattice)


def _cells_between(start: int, end: int) -> NDArray[np.int64]:
    """Return indices of the cells between two edges, from the first to the second."""
    # Rasters may run southwards while the lattice runs northwards, so edges may decrease.
    return np.arange(start, end) if start < end else np.arange(start - 1, end - 1, -1)


def _wrap_longitudes(cols: NDArray[np.int64], lattice: Lattice) -> NDArray[np.int64]:
    """Shift columns by full rotations around the Earth into the lattice, where that is exact.

    Longitudes run from -180 to 180 or from 0 to 360. Columns stay where they are if the raster
    spans more than one rotation, or if a rotation is not a whole number of cells.
    """
    assert lattice.transform is not None
    inside = cols.min() >= 0 and cols.max() < lattice.cols
    circumference = None if inside or lattice.crs is None else longitude_period(lattice.crs)
    if circumference is None:
        return cols
    rotation = round(circumference / lattice.transform[0])
    divides = abs(rotation * lattice.transform[0] - circumference) <= ALIGNED * lattice.transform[0]
    return cols % rotation if divides and max(cols.size, lattice.cols) <= rotation else cols
