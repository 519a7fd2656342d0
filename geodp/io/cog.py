"""Released maps as Cloud Optimized GeoTIFF: one band a combination of attributes."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
import rasterio.shutil
from numpy.typing import NDArray
from rasterio._err import CPLE_BaseError  # no public name
from rasterio.crs import CRS
from rasterio.errors import NotGeoreferencedWarning, RasterioError
from rasterio.windows import Window

from geodp.grid import Grid
from geodp.io.tables import ERROR, chunks, counted, require_released
from geodp.lattice import Lattice
from geodp.table import ReleasedTable

BLOCK = 512
"""Side of a tile, and height of the window that is held in memory."""

CACHE = 128 << 20
"""Bytes of blocks that GDAL keeps, where nothing in the process has set it before."""

MOST_BANDS = 64
MOST_VALUES = 1 << 31
"""Largest raster that is written: bands, and cells times bands (8 GiB before compression)."""

FAILED = "GDAL could not write the raster; the disk or a quota may be full"

EXACT_FLOAT32, EXACT_FLOAT64 = 1 << 24, 1 << 53
"""Up to here every whole number is such a float."""


def why_no_raster(table: ReleasedTable) -> str | None:
    """Why a release is written without a raster; None where there is one."""
    grid = table.grid
    if len(grid.places) != 1 or grid.extents:
        return "only a grid of one map has a raster"
    if len(combinations(grid)) > MOST_BANDS:
        return f"a raster has at most {MOST_BANDS} combinations of attributes"
    if prod(grid.shape) > MOST_VALUES:
        return f"a raster has at most {MOST_VALUES} values"
    if table.count.max(initial=0) > EXACT_FLOAT64:
        return "a count is too large to be exact in a raster"
    return None


def combinations(grid: Grid) -> list[str]:
    """The attributes' labels of every band: ``""`` without attributes, else ``sex=male``."""
    found = [""]
    for attribute in grid.attributes:
        found = [f"{a} {attribute.name}={b}".strip() for a in found for b in attribute.labels]
    return found


@dataclass(frozen=True)
class Pixels:
    """A released table by windows of ``BLOCK`` raster rows; row 0 is the northernmost.

    Attributes
    ----------
    row, col : int32[m]
        Ordered by window; in key order within one.
    band : int32[m]
        From 0.
    count : int64[m]
    start : int64[windows + 1]
        Where each window's cells begin.
    """

    row: NDArray[np.int32]
    col: NDArray[np.int32]
    band: NDArray[np.int32]
    count: NDArray[np.int64]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, table: ReleasedTable) -> Pixels:
        """The pixels of a table on a grid that has a raster."""
        grid, place = table.grid, table.grid.places[0]
        row, col, band = (np.empty(table.key.size, np.int32) for _ in range(3))
        for part, index, _ in chunks(table):
            row[part] = raster_rows(place, index[0])
            col[part] = index[1]
            band[part] = 0
            for attribute, axis in zip(grid.attributes, index[2:], strict=True):
                band[part] = band[part] * len(attribute.labels) + axis
        window = row // BLOCK
        order = np.argsort(window, kind="stable")
        windows = np.arange(-(-place.rows // BLOCK) + 1)
        start = np.searchsorted(window[order], windows).astype(np.int64)
        return cls(row[order], col[order], band[order], table.count[order], start)

    def dense(self, window: int, band: int, out: NDArray[np.float64]) -> None:
        """Add the counts of a window's band to ``out`` (float64[rows, cols]), in place."""
        part = slice(self.start[window], self.start[window + 1])
        chosen = self.band[part] == band
        at = self.row[part][chosen] - window * BLOCK, self.col[part][chosen]
        out[at] += self.count[part][chosen]


def raster_rows(place: Lattice, row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows counted from the north, of index rows (int64[n]); and the other way round."""
    return place.rows - 1 - row if place.northwards else row


def windows(place: Lattice) -> Iterator[tuple[int, Window]]:
    """The windows of ``BLOCK`` rows, from the north."""
    for number, top in enumerate(range(0, place.rows, BLOCK)):
        yield number, Window(0, top, place.cols, min(BLOCK, place.rows - top))


def background(grid: Grid, window: Window) -> NDArray[np.float64]:
    """0 inside the domain, NaN outside: float64[rows, cols] of a window."""
    place = grid.places[0]
    values = np.zeros((window.height, window.width))
    if grid.mask is None:
        return values
    # Column blocks bound the memory of the test.
    for left in range(0, place.cols, 4 * BLOCK):
        piece = values[:, left : left + 4 * BLOCK]
        row, col = np.indices(piece.shape).reshape(2, -1)
        index = np.zeros((len(grid.shape), row.size), np.int64)
        index[0], index[1] = raster_rows(place, row + window.row_off), col + left
        piece[~grid.contains(index).reshape(piece.shape)] = np.nan
    return values


def dtype_of(table: ReleasedTable) -> str:
    """``float32``, or ``float64`` where a count is too large for it to be exact."""
    largest = int(table.count.max(initial=0))
    return "float32" if largest <= EXACT_FLOAT32 else "float64"


def write_cog(
    table: ReleasedTable,
    path: Path,
    *,
    name: str,
    standard_error: float,
    tags: dict[str, str],
) -> None:
    """Write a Cloud Optimized GeoTIFF, north up, window by window.

    A band of counts for every combination of attributes, then one of standard errors. Cells
    outside the domain are NaN, which is also the nodata value; empty cells of the domain are 0.
    Overviews are averages, so that sums of an overview times its cells' number agree with the
    counts as far as rounding allows.

    Parameters
    ----------
    table : ReleasedTable
        For which `why_no_raster` is None.
    path : Path
    name : str
        Of the count: the first words of every band's description.
    standard_error : float
        Of one cell where nothing is clamped, in persons.
    tags : dict of str
        TIFF tags and metadata of the file.

    Raises
    ------
    UsageError
        The table is no ReleasedTable.

    Notes
    -----
    The tiled draft beside ``path`` is removed. Memory: a window of all columns, and some 50 bytes
    for every cell above 0.
    """
    require_released(table)
    place = table.grid.places[0]
    bands = combinations(table.grid)
    draft = path.with_name(f".{path.stem}.draft.tif")
    dtype = dtype_of(table)
    profile = {
        "driver": "GTiff",
        "dtype": dtype,
        "count": len(bands) + 1,
        "height": place.rows,
        "width": place.cols,
        "nodata": np.nan,
        "tiled": True,
        "blockxsize": BLOCK,
        "blockysize": BLOCK,
        "interleave": "band",
        "compress": "DEFLATE",
        "zlevel": 1,
        "bigtiff": "IF_SAFER",
        "sparse_ok": True,
    }
    with quiet(), _explained(), rasterio.Env(GDAL_PAM_ENABLED="NO", GDAL_CACHEMAX=CACHE):
        with rasterio.open(draft, "w", **profile, **georeference(place)) as draw:
            draw.update_tags(**tags)
            for number, band in enumerate([f"{name} {b}".strip() for b in bands] + [ERROR], 1):
                draw.set_band_description(number, band)
                draw.set_band_unit(number, counted(name))
            _fill(draw, table, standard_error)
        rasterio.shutil.copy(
            draft,
            path,
            driver="COG",
            COMPRESS="DEFLATE",
            PREDICTOR="YES",
            BLOCKSIZE=str(BLOCK),
            OVERVIEW_RESAMPLING="AVERAGE",
            SPARSE_OK="YES",
            STATISTICS="YES",
            BIGTIFF="IF_SAFER",
            NUM_THREADS="ALL_CPUS",
        )
        draft.unlink()
        with rasterio.open(path) as written:
            found = sum(_people(written, window) for _, window in windows(place))
        if found != table.total:  # GDAL does not report every write that fails at closing
            raise OSError(errno.EIO, FAILED)


def _people(raster: rasterio.io.DatasetReader, window: Window) -> int:
    """Sum of a window's counts over all bands, exact."""
    counts = [raster.read(band, window=window) for band in range(1, raster.count)]
    return sum(int(np.nan_to_num(count).astype(np.int64).sum()) for count in counts)


@contextmanager
def _explained() -> Iterator[None]:
    """GDAL's errors, which know no errno, as an OSError."""
    try:
        yield
    except (RasterioError, CPLE_BaseError) as error:
        raise OSError(errno.EIO, FAILED) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warning that a raster lies nowhere on the Earth: some grids do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        yield


def georeference(place: Lattice) -> dict[str, Any]:
    """North-up transform and CRS of the raster, as far as the lattice has them."""
    if place.transform is None:
        return {}
    west, _, _, north = place.bounds
    a, _, _, _, e, _ = place.transform
    transform = rasterio.Affine(a, 0.0, west, 0.0, -abs(e), north)
    return {"transform": transform, "crs": place.crs and CRS.from_user_input(place.crs)}


def _fill(draw: rasterio.io.DatasetWriter, table: ReleasedTable, standard_error: float) -> None:
    pixels = Pixels.of(table)
    bands = draw.count - 1
    for number, window in windows(table.grid.places[0]):
        empty = background(table.grid, window)
        for band in range(bands):
            values = empty.copy()
            pixels.dense(number, band, values)
            draw.write(values.astype(draw.dtypes[0]), band + 1, window=window)
        draw.write((empty + standard_error).astype(draw.dtypes[0]), bands + 1, window=window)
