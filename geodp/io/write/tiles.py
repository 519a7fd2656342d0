"""A released map in tiles: Cloud Optimized GeoTIFFs side by side, and a VRT that joins them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree as Xml

import numpy as np
import rasterio
from rasterio.windows import Window

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.write import geotiff, pixels
from geodp.io.write.geometry import has_raster
from geodp.io.write.tables import RowErrors, names_of
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray

SIDE = 2048
"""Number of rows and columns of a tile."""

MAX_TILES = 1 << 12

GDAL_TYPES = {"float32": "Float32", "float64": "Float64"}


@dataclass(frozen=True)
class Tiling:
    """Tiles of a map's raster, numbered from the north-west, row by row.

    Attributes
    ----------
    place : Lattice
    side : int
        Side of a tile in cells, a multiple of 512.
    """

    place: Lattice
    side: int

    @property
    def across(self) -> int:
        """Number of tiles side by side."""
        return -(-self.place.cols // self.side)

    @property
    def count(self) -> int:
        """Number of all tiles."""
        return self.across * -(-self.place.rows // self.side)

    def window(self, number: int) -> Window:
        """Return the window of a tile in the raster; at its edges it is smaller."""
        row, col = (at * self.side for at in divmod(number, self.across))
        height, width = self.place.rows - row, self.place.cols - col
        return Window(col, row, min(width, self.side), min(height, self.side))

    def touched(self, index: IntArray) -> IntArray:
        """Return numbers of the tiles that hold cells (int64[d, n]), each once."""
        row = pixels.raster_rows(self.place, index[0]) // self.side
        return np.unique(row * self.across + index[1] // self.side)

    def name(self, number: int) -> str:
        """Return the file name of a tile."""
        row, col = divmod(number, self.across)
        return f"tile-{row:04d}-{col:04d}.tif"


def why_no_mosaic(grid: Grid, side: int) -> str | None:
    """Return why a release in parts is written without a raster; None if there is one."""
    if not has_raster(grid):
        return "only a grid of one map has a raster"
    if geotiff.band_count(grid) > geotiff.MAX_BANDS:
        return f"a raster has at most {geotiff.MAX_BANDS} combinations of attributes"
    if Tiling(grid.places[0], side).count > MAX_TILES:
        return f"a raster in parts has at most {MAX_TILES} tiles of {side} by {side} cells"
    return None


def view_tiles(table: ReleasedTable, card: Card) -> View:
    """Return the view that tiles show of a release in parts.

    It has no intervals, as a cell's interval depends on other tiles; the tables have them, and so
    does a joined release.

    Parameters
    ----------
    table : ReleasedTable
        Cells of one or more tiles, or none.
    card : Card
        Card with the name of the count.
    """
    largest = card.expected_error.largest
    return View(table, card, None if largest is None else RowErrors(largest))


def tile_bands(view: View) -> list[str]:
    """Return the descriptions of the bands of tiles."""
    return geotiff.band_names(view.table.grid, view.name, names_of(view.errors))


def write_tile(view: View, window: Window, path: Path, dtype: str) -> bool:
    """Write a window of a released map; return False, without a file, if it is outside the domain.

    Parameters
    ----------
    view : View
        Result of :func:`view_tiles`, on a grid for which :func:`why_no_mosaic` is None; cells
        outside the window are left out.
    window : Window
    path : Path
    dtype : {"float32", "float64"}
        Type in which all counts are exact.

    Raises
    ------
    OSError
        GDAL could not write the file.
    """
    grid = view.table.grid
    empty = pixels.background(grid, window)
    # A VRT may have gaps, so tiles outside the domain need no file.
    if np.isnan(empty).all():
        return False
    counts = _dense(view.table, window, empty)
    token = secrets.token_hex(4)  # another worker may be writing the same tile
    # Hidden names keep unfinished tiles out of the public folder's listing.
    packed = path.with_name(f".{path.stem}.{token}.tif")
    placed = geotiff.georeference(grid.places[0])
    if placed:
        shift = rasterio.Affine.translation(window.col_off, window.row_off)
        placed["transform"] = placed["transform"] * shift
    names, count = tile_bands(view), geotiff.band_count(grid)
    look = geotiff.profile(dtype, len(names), window.height, window.width) | placed
    bands = [(one, view.counted) for one in names]
    drawn, held = (((n + 1, None, counts(n)) for n in range(count)) for _ in range(2))
    error = [] if view.errors is None else [empty + view.errors.standard_error]
    every = chain(drawn, ((len(names), None, values) for values in error))
    pack = partial(geotiff.pack, NUM_THREADS="1")
    geotiff.write_bands(packed, look, bands, geotiff.tags_of(view), every, held, pack)
    # Two workers may write the same tile; the rename makes either complete file win.
    os.replace(packed, path)
    return True


def _dense(table: ReleasedTable, window: Window, empty: FloatArray) -> Callable[[int], FloatArray]:
    """Return a function from a band, from 0, to its counts in a window: float64[rows, cols]."""
    grid, count = table.grid, table.count
    index = grid.decode(table.key)
    row = pixels.raster_rows(grid.places[0], index[0]) - window.row_off
    col = index[1] - window.col_off
    here = (row >= 0) & (row < window.height) & (col >= 0) & (col < window.width)
    row, col, count = row[here], col[here], count[here]
    band = np.zeros(row.size, np.int64)
    for attribute, axis in zip(grid.attributes, index[2:], strict=True):
        band = band * len(attribute.labels) + axis[here]

    def counts(number: int) -> FloatArray:
        values, chosen = empty.copy(), band == number
        values[row[chosen], col[chosen]] += count[chosen]
        return values

    return counts


def write_vrt(
    view: View, tiling: Tiling, files: Mapping[int, str], path: Path, *, dtype: str
) -> None:
    """Join tiles to one raster in GDAL's virtual format, which refers to them by relative paths.

    Parameters
    ----------
    view : View
        Result of :func:`view_tiles`.
    tiling : Tiling
    files : mapping of int to str
        Files of tiles by number, relative to the folder of ``path``; other tiles are outside the
        domain. A file that is larger than the tile is clipped.
    path : Path
    dtype : {"float32", "float64"}
    """
    place, kind = tiling.place, GDAL_TYPES[dtype]
    size = {"rasterXSize": str(place.cols), "rasterYSize": str(place.rows)}
    root = Xml.Element("VRTDataset", size)
    placed = geotiff.georeference(place)
    if placed:
        if placed["crs"]:
            Xml.SubElement(root, "SRS").text = placed["crs"].to_wkt()
        numbers = placed["transform"].to_gdal()
        Xml.SubElement(root, "GeoTransform").text = ", ".join(repr(float(n)) for n in numbers)
    metadata = Xml.SubElement(root, "Metadata")
    for key, value in sorted(geotiff.tags_of(view).items()):
        Xml.SubElement(metadata, "MDI", {"key": key}).text = value
    for number, name in enumerate(tile_bands(view), 1):
        band = Xml.SubElement(root, "VRTRasterBand", {"dataType": kind, "band": str(number)})
        Xml.SubElement(band, "Description").text = name
        Xml.SubElement(band, "NoDataValue").text = "nan"
        Xml.SubElement(band, "UnitType").text = view.counted
        for tile, file in sorted(files.items()):
            window = tiling.window(tile)
            source = Xml.SubElement(band, "SimpleSource")
            # Relative paths, as releases are moved and downloaded.
            Xml.SubElement(source, "SourceFilename", {"relativeToVRT": "1"}).text = file
            Xml.SubElement(source, "SourceBand").text = str(number)
            extent = {"xSize": str(window.width), "ySize": str(window.height)}
            Xml.SubElement(source, "SrcRect", {"xOff": "0", "yOff": "0", **extent})
            off = {"xOff": str(window.col_off), "yOff": str(window.row_off)}
            Xml.SubElement(source, "DstRect", {**off, **extent})
    Xml.indent(root)
    path.write_text(Xml.tostring(root, encoding="unicode") + "\n", encoding="utf-8", newline="\n")
