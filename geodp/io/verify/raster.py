"""Compare the map of a release with its table, a window at a time, where it is not written again.

Writing a large raster takes several times as long as reading it, and the tiles of a release in
parts have been written by several processes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rasterio.enums import ColorInterp, MaskFlags

from geodp.grid.lattice import Lattice
from geodp.io.crs import same_crs
from geodp.io.verify.readback import open_map
from geodp.io.verify.rewritten import describe_raster, has_bands, same_pixels
from geodp.io.verify.tileset import Tileset
from geodp.io.write import geotiff
from geodp.io.write.pixels import Pixels
from geodp.io.write.view import View


def is_map(view: View, folder: Path, *, worded: bool) -> bool:
    """Test whether the map in a folder is that of a view.

    Parameters
    ----------
    view : View
    folder : Path
        The public folder.
    worded : bool
        Whether all bands and everything that the raster says of them is compared, and not only the
        place and the pixels of the bands that the view has.
    """
    grid, bands = view.table.grid, geotiff.describe_map(view).details["bands"]
    place = grid.places[0]
    with open_map(folder, view.card) as raster:
        if raster.shape != (place.rows, place.cols) or not _lies_at(raster, place):
            return False
        tiled = isinstance(raster, Tileset)
        if not (raster.count == len(bands) if tiled else has_bands(raster, len(bands))):
            return False
        if worded and not _says(raster, view, bands):
            return False
        errors = geotiff.errors_of_map(view)
        drawn = geotiff.draw_map(grid, Pixels(view.table), errors, "Checking the raster")
        return all(
            same_pixels(raster.read(band, window=window), values, bands[band - 1])
            for band, window, values in drawn
        )


def _says(raster: Any, view: View, names: list[str]) -> bool:
    """Test whether a raster says of its pixels what the one of a view does, as far as is known."""
    entry = geotiff.describe_map(view)
    rows, cols = raster.shape
    bands, tile = len(names), geotiff.tile_side(rows, cols)
    said = describe_raster(raster)
    expected = {
        "form": ("GTiff", raster.shape, bands, (entry.details["data_type"],) * bands, []),
        "numbers": (
            *(str((float("nan"),) * bands), (1.0,) * bands, (0.0,) * bands),
            ([MaskFlags.nodata],) * bands,
        ),
        "bands": (
            *(tuple(names), (view.counted,) * bands),
            (ColorInterp.gray, *[ColorInterp.undefined] * (bands - 1)),
        ),
        "storage": ([(tile, tile)] * bands, [geotiff.overview_factors(rows, cols)] * bands),
        "tags": {**geotiff.tags_of_map(view), "AREA_OR_POINT": "Area"},
        "spaces": ["IMAGE_STRUCTURE"],
        "other": [[]] * bands,
    }
    notes = [note for band in said["statistics"] for note in band]
    return all(said[part] == value for part, value in expected.items()) and all(
        note.startswith("STATISTICS_") for note in notes
    )


def _lies_at(raster: Any, place: Lattice) -> bool:
    """Test whether a raster has the transform and the CRS of a lattice."""
    if place.transform is None:
        return True
    expected, transform = geotiff.georeference(place), raster.transform
    # GeoTIFF keeps a corner and a size, from which a transform is not restored to the last bit.
    near = 0.0 if transform is None else 1e-6 * abs(transform.a)
    if transform is None or not transform.almost_equals(expected["transform"], near):
        return False
    if isinstance(raster, Tileset):
        return same_crs(raster.srs, place.crs)
    return bool(raster.crs == expected["crs"])
