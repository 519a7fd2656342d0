"""Released maps as Cloud Optimized GeoTIFF, with a band for each combination of attributes."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import rasterio
import rasterio.shutil
from rasterio.crs import CRS
from rasterio.enums import Resampling
from rasterio.errors import NotGeoreferencedWarning
from rasterio.windows import Window

from geodp import progress
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.memory import fit
from geodp.io.opening import open_raster
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import has_raster
from geodp.io.write.pixels import (
    BLOCK,
    Backgrounds,
    Moments,
    Pixels,
    ends_in,
)
from geodp.io.write.tables import ERROR, RowErrors, name_of_counts, names_of, require_released
from geodp.io.write.view import View
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray

CACHE = 128 << 20
"""Size of GDAL's cache of blocks in bytes, unless the process has set it before."""

MEDIA_TYPE = "image/tiff; application=geotiff; profile=cloud-optimized"

MAX_BANDS = 64
MAX_VALUES = 1 << 31
"""Largest raster that is written: bands, and cells times bands (8 GiB before compression)."""

FAILED = "GDAL could not write the raster; the disk or a quota may be full"

Drawn = Iterable[tuple[int, Window | None, FloatArray]]
"""Numbers of bands, windows of them, and their values."""

EXACT_FLOAT32, EXACT_FLOAT64 = 1 << 24, 1 << 53
"""Largest integers up to which all are exact in such a float."""


class GeoTiff(Format):
    """The map as a raster."""

    name: ClassVar[str] = "geotiff"
    endings: ClassVar[tuple[str, ...]] = ("tif",)
    rank: ClassVar[int] = 40

    def unsupported(self, view: View) -> str | None:
        """Return why there is no raster."""
        return view.why_in_joint_table or why_no_raster(view.table)

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write the raster."""
        name, errors = view.card.name, errors_of_map(view)
        path = folder / f"{name}.tif"
        write_cog(view.table, path, name=name, errors=errors, tags=tags_of_map(view))
        yield describe_map(view)


def errors_of_map(view: View) -> RowErrors | None:
    """Return errors with one standard error for all cells, the largest: none is understated."""
    largest = view.card.expected_error.largest
    if view.errors is None or largest is None:
        return None
    return replace(view.errors, standard_error=largest)


def describe_map(view: View) -> Entry:
    """Return the card's entry for the raster of a release."""
    table, name = view.table, view.card.name
    return Entry(
        f"{name}.tif",
        MEDIA_TYPE,
        "the counts as a map, north up; cells of the domain that the tables do not list are 0",
        {
            "bands": band_names(table.grid, name, names_of(errors_of_map(view))),
            **view.values,
            "data_type": dtype_of(table),
            "nodata": "NaN, outside the domain",
            "overviews": "average, for display: read counts at full resolution",
            "unit": view.counted,
        },
    )


def tags_of_map(view: View) -> dict[str, str]:
    """Return the metadata of the raster of a release."""
    return {**tags_of(view), "GEODP_RELEASE_ID": view.card.release_id}


def tags_of(view: View) -> dict[str, str]:
    """Return a raster's metadata on its release, without the id."""
    event, software = view.table.event, view.card.software
    return {
        "TIFFTAG_SOFTWARE": str(software),
        "GEODP_BUDGET": event.spends,
        "GEODP_UNIT": event.unit,
        "GEODP_NEIGHBOURS": event.neighbours,
        "GEODP_CONTRIBUTION": str(event.contribution),
        "GEODP_PRIVATE": "yes" if event.is_private else "NO",
        "GEODP_REPORT": "release.json",
    }


def why_no_raster(table: ReleasedTable) -> str | None:
    """Return why a release is written without a raster; None if there is one."""
    grid = table.grid
    if not has_raster(grid):
        return "only a grid of one map has a raster"
    if band_count(grid) > MAX_BANDS:
        return f"a raster has at most {MAX_BANDS} combinations of attributes"
    if prod(grid.shape) > MAX_VALUES:
        return f"a raster has at most {MAX_VALUES} values"
    # A raster that rounds a count would contradict the tables of the same release.
    if table.count.dtype == np.int64 and _largest(table) > EXACT_FLOAT64:
        return "a count is too large to be exact in a raster"
    return None


def band_count(grid: Grid) -> int:
    """Return the number of `combinations`, without making them."""
    return prod(len(attribute.labels) for attribute in grid.attributes)


def combinations(grid: Grid) -> list[str]:
    """Return the attributes' labels of every band: ``""`` without attributes, else ``sex=male``."""
    bands = [""]
    for attribute in grid.attributes:
        bands = [f"{a} {attribute.name}={b}".strip() for a in bands for b in attribute.labels]
    return bands


def band_names(grid: Grid, name: str, extras: tuple[str, ...]) -> list[str]:
    """Return descriptions of a raster's bands: the counts, and the extra columns.

    Standard errors are one band; other columns of tables have one for each combination of
    attributes.
    """
    labels = combinations(grid)
    names = [f"{name} {label}".strip() for label in labels]
    for column in extras:
        each = [""] if column == ERROR else labels
        names += [f"{column} {label}".strip() for label in each]
    return names


def dtype_of(table: ReleasedTable) -> str:
    """Choose ``float32``, or ``float64`` if a count would not be exact in it."""
    if table.count.dtype == np.int64:
        return "float32" if _largest(table) <= EXACT_FLOAT32 else "float64"
    # Too large values become infinite in float32, which compares unequal, as it should.
    with np.errstate(over="ignore"):
        same = table.count.astype(np.float32) == table.count
    return "float32" if same.all() else "float64"


def _largest(table: ReleasedTable) -> int:
    """Return the largest absolute value of integer counts."""
    return max(int(table.count.max(initial=0)), -int(table.count.min(initial=0)))


def write_cog(
    table: ReleasedTable,
    path: Path,
    *,
    name: str,
    errors: RowErrors | None,
    tags: dict[str, str],
) -> None:
    """Write a Cloud Optimized GeoTIFF, north up, window by window.

    A band of counts for every combination of attributes, then one of standard errors and, for
    every combination, one of the low and one of the high ends, if there are any. Cells outside
    the domain are NaN, which is also the nodata value; empty cells of the domain are 0. Overviews
    are averages, so that sums of an overview times its cells' number agree with the counts as far
    as rounding allows. The counts are read back. Tiles without a cell of the domain are not stored.

    Parameters
    ----------
    table : ReleasedTable
        Table for which `why_no_raster` is None.
    path : Path
    name : str
        Name of the count, with which every band's description begins.
    errors : RowErrors or None
        Errors with one standard error for all cells; None leaves the bands out.
    tags : dict of str
        TIFF tags and metadata of the file.

    Raises
    ------
    UsageError
        The table is not a ReleasedTable.

    Notes
    -----
    The tiled draft beside ``path`` is removed. Memory: a window of all columns and its cells,
    a chunk of the table, and a bit for each pixel.
    """
    require_released(table)
    unit, pixels = name_of_counts(name, table.event.unit), Pixels(table)
    bands = [(band, unit) for band in band_names(table.grid, name, names_of(errors))]

    place = table.grid.places[0]
    look = profile(dtype_of(table), len(bands), place.rows, place.cols) | georeference(place)
    empty = Backgrounds(table.grid)
    draw = partial(draw_map, table.grid, pixels, empty, empty.inside)
    drawn, counts = draw(errors, "Writing the raster"), draw(None, "Checking the raster")
    write_bands(path, look, bands, tags, drawn, counts)


def write_bands(
    path: Path,
    look: dict[str, Any],
    bands: Sequence[tuple[str, str]],
    tags: dict[str, str],
    drawn: Drawn,
    held: Drawn,
    pack_draft: Callable[[Path, Path], None] | None = None,
) -> None:
    """Write a Cloud Optimized GeoTIFF from a draft beside it, and read it back.

    Parameters
    ----------
    path : Path
    look : dict
        Profile and georeference of the draft.
    bands : sequence of (str, str)
        Description and unit of every band.
    tags : dict of str
    drawn : iterable of (int, Window or None, float64[rows, cols])
        All values by the band's number, from 1, and the window; None stands for the whole raster.
    held : iterable of (int, Window or None, float64[rows, cols])
        Values that the file must hold.
    pack_draft : callable, optional
        Packs the draft; :func:`pack` in a thread by default.
    """
    draft = path.with_name(f".{path.stem}.draft.tif")
    with open_gdal():
        with rasterio.open(draft, "w", **look) as draw:
            draw.update_tags(**tags)
            for number, (band, unit) in enumerate(bands, 1):
                draw.set_band_description(number, band)
                draw.set_band_unit(number, unit)
            # GDAL's driver would read the entire raster again for the statistics.
            moments = [Moments() for _ in bands]
            for number, window, values in drawn:
                kept = values.astype(look["dtype"])
                draw.write(kept, number, window=window)
                moments[number - 1].add(kept)
            for number, one in enumerate(moments, 1):
                draw.update_tags(number, **one.tags(draw.width * draw.height))
        (pack_draft or _pack_in_thread)(draft, path)
        with open_raster(path) as raster:
            same = all(
                np.array_equal(raster.read(number, window=window), values, equal_nan=True)
                for number, window, values in held
            )
        if not same:  # GDAL does not report every write that fails at closing
            raise OSError(errno.EIO, FAILED)


@dataclass(frozen=True)
class Band:
    """A column of a table as bands of a raster, one for each combination of attributes.

    Attributes
    ----------
    name, unit : str
    absent : float
        Value of cells of the domain that the table does not list: 0, or NaN for no data.
    """

    name: str
    unit: str
    absent: float


def name_bands(grid: Grid, columns: Sequence[Band]) -> list[str]:
    """Return descriptions of the bands of columns: all combinations of one, then of the next."""
    return [f"{one.name} {label}".strip() for one in columns for label in combinations(grid)]


def why_no_bands(table: ReleasedTable, columns: Sequence[str]) -> str | None:
    """Return why there is no raster of the counts and further columns; None if there is one."""
    if band_count(table.grid) * (1 + len(columns)) > MAX_BANDS:
        return f"a raster has at most {MAX_BANDS} bands, columns times combinations of attributes"
    return why_no_raster(table)


def write_columns(view: View, path: Path, columns: Sequence[Band], *, report: str) -> None:
    """Write columns of numbers as bands of float64 of a Cloud Optimized GeoTIFF, north up.

    Outside the domain, and where a number is missing, bands are NaN, which is also the nodata
    value. Overviews are averages. What was written is read back.

    Parameters
    ----------
    view : View
        View whose columns of rows have these names, on a table for which `why_no_bands` is None.
    path : Path
    columns : sequence of Band
    report : str
        Name of the card, for the metadata.

    Notes
    -----
    Memory: one column of all rows, a window of its cells, and a bit for each pixel.
    """
    grid, empty = view.table.grid, Backgrounds(view.table.grid)
    units = [one.unit for one in columns for _ in combinations(grid)]
    bands = [*zip(name_bands(grid, columns), units, strict=True)]
    tags = {**tags_of(view), "GEODP_REPORT": report}

    place = grid.places[0]
    look = profile("float64", len(bands), place.rows, place.cols) | georeference(place)
    drawn, held = (_draw_columns(view, columns, empty) for _ in range(2))
    write_bands(path, look, bands, tags, drawn, held)


def _draw_columns(
    view: View, columns: Sequence[Band], empty: Backgrounds
) -> Iterator[tuple[int, Window, FloatArray]]:
    """Yield the values of every band and window, float64[rows, cols], with the band's number."""
    grid = view.table.grid
    labels = band_count(grid)
    for at, column in enumerate(columns):
        parts = [
            np.asarray(rows.columns[column.name].to_numpy(), np.float64)
            for rows in view.rows("Writing the raster")
        ]
        pixels = Pixels(view.table, np.concatenate([np.empty(0), *parts]))
        for window in empty.inside:
            cells = empty.of(window)
            for label in range(labels):
                values = cells + column.absent
                row, col, number = pixels.cells(window, label)
                values[row, col] = number
                yield at * labels + label + 1, window, values


def tile_side(height: int, width: int) -> int:
    """Return the side of the tiles of a raster in pixels: a multiple of 16, as TIFF has it.

    A tile is compressed as a whole, so that a small map in a large one would take longer.
    """
    return min(BLOCK, 16 * -(-max(height, width) // 16))


def overview_factors(height: int, width: int) -> list[int]:
    """Return by what the overviews of a raster are smaller, until all of it is in one block."""
    side = max(height, width)
    return [2 << n for n in range(side.bit_length()) if side >> n > BLOCK]


def profile(dtype: str, bands: int, height: int, width: int) -> dict[str, Any]:
    """Return the profile of a tiled draft, which GDAL then copies with ``COPY``."""
    small = np.dtype(dtype).itemsize * bands * height * width <= UNCOMPRESSED
    tile = tile_side(height, width)
    return {
        "driver": "GTiff",
        "dtype": dtype,
        "count": bands,
        "height": height,
        "width": width,
        "nodata": np.nan,
        "tiled": True,
        "blockxsize": tile,
        "blockysize": tile,
        "interleave": "band",
        **({} if small else {"compress": "DEFLATE", "zlevel": 1}),
        "bigtiff": "IF_SAFER",
        "sparse_ok": True,
    }


COPY = {
    "driver": "COG",
    "COMPRESS": "DEFLATE",
    "LEVEL": "3",
    "SPARSE_OK": "YES",
    "BIGTIFF": "IF_SAFER",
    "NUM_THREADS": "ALL_CPUS",
}
"""Options for copying a draft to a Cloud Optimized GeoTIFF, with its overviews and statistics.

Most counts are 0: the predictor for floating-point numbers would make files half as large again and
take longer, and level 6 would save some 7 % of a file in up to half as much time again.
"""

UNCOMPRESSED = 1 << 30
"""Largest draft that is not compressed, in bytes, as it is read again a moment later."""


_forked = False
"""Whether this process was forked from one that may have had threads of GDAL.

Threads are not copied by a fork, and GDAL would wait for them for ever.
"""


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@contextmanager
def open_gdal() -> Iterator[None]:
    """Configure GDAL for writing: bounded memory, no sidecar files, errors as OSError."""
    with quiet(), _explain(), rasterio.Env(GDAL_PAM_ENABLED="NO", GDAL_CACHEMAX=fit(CACHE, 1)):
        yield


def pack(draft: Path, path: Path, **others: str) -> None:
    """Convert a draft to a Cloud Optimized GeoTIFF, and remove it.

    Overviews are averages of 2 by 2 cells, 4 by 4 and on until all are one block. GDAL's driver
    would compute the same from a file interleaved by pixel, in five times as long.
    ``others``: options that override those of ``COPY``.
    """
    with rasterio.open(draft, "r+") as draw:
        tiled = {"BLOCKSIZE": str(tile_side(draw.height, draw.width))}
        if factors := overview_factors(draw.height, draw.width):
            draw.build_overviews(factors, Resampling.average)
    # GDAL's pool of threads does not survive a fork, and waiting for it would never end.
    threads = {"NUM_THREADS": "1"} if _forked else {}
    rasterio.shutil.copy(draft, path, **{**COPY, **tiled, **threads, **others})
    draft.unlink()


def _pack_in_thread(draft: Path, path: Path) -> None:
    """Pack in a thread that Ctrl-C does not wait for."""

    cache = fit(CACHE, 1)  # context variables, such as the limit, do not reach the thread

    def run() -> None:
        with rasterio.Env(GDAL_PAM_ENABLED="NO", GDAL_CACHEMAX=cache):  # each thread has its own
            pack(draft, path)

    progress.begin("Packing the raster", public=True)
    # GDAL does not return to Python while it packs, so that only another thread lets signals
    # through.
    pool = ThreadPoolExecutor(1)
    try:
        pool.submit(run).result()
    finally:
        pool.shutdown(wait=False)


@contextmanager
def _explain() -> Iterator[None]:
    """Raise GDAL's errors, which have no errno, as OSError.

    Errors of GDAL itself have no public class in rasterio: they are recognised by their module.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "rasterio":
            raise
        raise OSError(errno.EIO, FAILED) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the warning that a raster has no georeference: some grids have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        yield


def georeference(place: Lattice) -> dict[str, Any]:
    """Return the north-up transform and CRS of the raster, if the lattice has them."""
    if place.transform is None:
        return {}
    west, _, _, north = place.bounds
    a, _, _, _, e, _ = place.transform
    # Rasters are written north up, whatever the direction of the grid's rows.
    transform = rasterio.Affine(a, 0.0, west, 0.0, -abs(e), north)
    return {"transform": transform, "crs": place.crs and CRS.from_user_input(place.crs)}


def draw_map(
    grid: Grid,
    pixels: Pixels,
    empty: Backgrounds,
    every: Sequence[Window],
    errors: RowErrors | None,
    what: str,
) -> Iterator[tuple[int, Window, FloatArray]]:
    """Yield all bands of a released map in some windows: their number, from 1, and the values.

    Bands are ordered by column, then by combination, as :func:`band_names` lists them.

    Parameters
    ----------
    grid : Grid
    pixels : Pixels
        Counts of the table.
    empty : Backgrounds
    every : sequence of Window
    errors : RowErrors or None
        Errors with one standard error for all cells.
    what : str
        Label of the progress.
    """
    bands = band_count(grid)
    progress.begin(what, len(every), public=True)
    for window in every:
        for band in range(bands):
            values = empty.of(window)
            pixels.dense(window, band, values)
            yield band + 1, window, values
            if errors is not None and errors.intervals is not None:
                low, high = ends_in(grid, values, window, band, errors.intervals)
                yield bands + band + 2, window, low
                yield 2 * bands + band + 2, window, high
        if errors is not None:
            yield bands + 1, window, empty.of(window) + errors.standard_error
        progress.advance()


FORMATS = (GeoTiff(),)
