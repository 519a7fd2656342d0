"""Export as PMTiles: one file of vector tiles, of which a browser fetches only those it shows.

GDAL cuts and encodes the tiles of each size of squares; the files are then joined. No square is
left out of a tile with many of them: the smaller the scale, the larger the squares, whose counts
are the sums of their cells. Units are in all tiles. Of lines there are the fewer, and the larger
ones, the smaller the scale.
"""

from __future__ import annotations

import errno
import gzip
import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import UsageError, require_library
from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.write.export.geojson import MAX_FEATURES
from geodp.io.write.export.web import POLE, WebLayer, WebLines, WebMap, find_layer, why_not_on_web
from geodp.io.write.format import Export
from geodp.io.write.frame import cell_size, crs_of
from geodp.io.write.geometry import geometry_bounds, geometry_crs
from geodp.io.write.view import View

EQUATOR = 40_075.016685
"""Length of the equator in kilometres."""

TILE = 512
"""Pixels along a side of a tile, as clients draw them."""

MIN_PIXELS = 5
"""Side of the smallest squares that are shown, in pixels."""

MAX_ZOOM = 22
"""Largest zoom that GDAL writes."""

DRIVER = "PMTiles"
"""GDAL's name of the driver."""

OPTIONS = {"MAX_SIZE": str(1 << 30), "MAX_FEATURES": str(1 << 30)}
"""GDAL's options: no feature is left out of a tile, which holds at most
``(TILE / MIN_PIXELS + 2)**2`` squares."""

FEWER, FEWEST = 4, 1000
"""By what there are fewer lines at the next smaller scale, and the smallest number there."""

MIN_UNIT = 20
"""Square root of the area of most units at the last zoom, in pixels."""


@dataclass(frozen=True)
class Zooms:
    """Zooms at which squares of one size are shown.

    Attributes
    ----------
    side : int
        Number of cells along a side: a power of 2.
    first, last : int
    """

    side: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class TilesOfSize:
    """Tiles of squares of one size, of units or of lines, as written by GDAL.

    Attributes
    ----------
    last : int
        Last zoom.
    path : Path
    extent : list of float
        West, south, east and north of the features, in degrees.
    fields : dict of str
        Types of the columns by name, in the terms of clients.
    """

    last: int
    path: Path
    extent: list[float]
    fields: dict[str, str]


class PMTiles(Export):
    """Cells where they are large enough to be visible, and squares of them at smaller scales.

    Units are at all scales, and of lines the largest.
    """

    name: ClassVar[str] = "pmtiles"
    ending: ClassVar[str] = "pmtiles"
    help: ClassVar[str] = "vector tiles for MapLibre and others (pip install geodp[tiles])"
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require a map on the Earth, away from the poles."""
        reason = why_not_on_web(view)
        if reason is None and abs(_latitude(view.table.grid)) > POLE:
            return "the middle of the map lies beyond 85 degrees of latitude, where tiles end"
        return reason

    def write(self, view: View, path: Path) -> None:
        """Write one file with one layer.

        Raises OSError if GDAL cannot write, for any reason; UsageError if it has no PMTiles or a
        library is missing.
        """
        require_tiles()
        from pyogrio.errors import DataLayerError, DataSourceError, FeatureError

        try:
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=".tiles-") as folder:
                join_sizes(view, list(_write_sizes(view, Path(folder)))[::-1], path)
        except (DataLayerError, DataSourceError, FeatureError):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from None


def require_tiles() -> None:
    """Raise UsageError if tiles cannot be written here."""
    require_library("pmtiles", "PMTiles", "tiles")
    require_library("pyogrio", "PMTiles", "tiles")
    from pyogrio import list_drivers

    if DRIVER not in list_drivers(write=True):
        raise UsageError(
            "The GDAL of this pyogrio writes no PMTiles; pip install 'geodp[tiles]' has one that "
            "does.",
            code="gdal-without-pmtiles",
        )


def plan_zooms(place: Lattice) -> list[Zooms]:
    """Plan the squares for every zoom, the largest first, with one size at each zoom.

    Cells have two zooms; clients enlarge the last one for higher zooms. The plan does not depend on
    counts.

    Examples
    --------
    >>> place = Lattice(8, 8, crs="EPSG:3035", transform=(1000, 0, 4321000, 0, 1000, 3210000))
    >>> [(one.side, one.first, one.last) for one in plan_zooms(place)][-2:]
    [(2, 7, 7), (1, 8, 9)]
    """
    # Mercator enlarges by the reciprocal of the cosine of the latitude.
    shrinking = math.cos(math.radians(_latitude(Grid((place,)))))
    kilometres = float(min(cell_size(place))) / shrinking
    zooms: list[Zooms] = []
    for zoom in range(MAX_ZOOM):
        pixels = kilometres / EQUATOR * TILE * 2**zoom
        # Powers of 2, so that squares of one zoom contain those of the next.
        side = 1 << max(0, math.ceil(math.log2(MIN_PIXELS / pixels)))
        if side == 1:
            return [*zooms, Zooms(1, zoom, zoom + 1)]
        zooms.append(Zooms(side, zoom, zoom))
    return [*zooms, Zooms(1, MAX_ZOOM, MAX_ZOOM)]


def plan_layers(view: View) -> Iterator[tuple[WebLayer, int, int]]:
    """Yield what is shown, each with its first and its last zoom; the largest scale comes first."""
    grid, layer = view.table.grid, find_layer(view)
    if isinstance(layer, WebMap) and not layer.has_units:
        for zooms in reversed(plan_zooms(grid.places[0])):
            times = zooms.side // layer.squares.side
            layer = layer.widen(times) if zooms.side > 1 else layer
            yield layer, zooms.first, zooms.last
        return
    last = _last_zoom(grid)
    if not isinstance(layer, WebLines):
        yield layer, 0, last
        return
    number = MAX_FEATURES
    for zoom in range(last, -1, -1):
        layer = layer.fit(number)
        if number == FEWEST or zoom == 0:
            yield layer, 0, zoom
            return
        yield layer, zoom, zoom
        number = max(number // FEWER, FEWEST)


def _last_zoom(grid: Grid) -> int:
    """Return the zoom from which on clients enlarge units, or the zones of lines."""
    if grid.known_outlines is None:
        return plan_zooms(grid.places[0])[-1].last
    known = grid.known_outlines
    areas = known.take(np.flatnonzero(known.located)).areas
    kilometres = math.sqrt(np.quantile(areas, 0.1)) / math.cos(math.radians(_latitude(grid)))
    zoom = math.ceil(math.log2(MIN_UNIT * EQUATOR / TILE / kilometres))
    return min(max(zoom, 0), MAX_ZOOM)


def _latitude(grid: Grid) -> float:
    """Return the latitude of the centre of a map, in degrees."""
    west, south, east, north = geometry_bounds(grid)
    across = open_transformer(crs_of(str(geometry_crs(grid))), "EPSG:4326")
    _, latitude = across.transform((west + east) / 2, (south + north) / 2)
    return float(latitude)


def _write_sizes(view: View, folder: Path) -> Iterator[TilesOfSize]:
    """Write a file for each size of squares, the smallest first, for units, or for lines."""
    from pyogrio.raw import write_arrow

    for layer, first, last in plan_layers(view):
        if not layer.size:
            return  # GDAL does not write a file without a tile
        pieces = layer.pieces("Writing PMTiles")
        schema = next(pieces)[0].schema.append(pa.field("geometry", pa.binary()))
        boxes: list[Any] = []
        batches = (batch for piece in pieces for batch in _draw(*piece, boxes).to_batches())
        path = folder / f"{last}.pmtiles"
        write_arrow(
            pa.RecordBatchReader.from_batches(schema, batches),
            str(path),
            layer=view.layer,
            driver=DRIVER,
            geometry_name="geometry",
            geometry_type="Unknown",
            crs="EPSG:4326",
            dataset_options={**OPTIONS, "MINZOOM": str(first), "MAXZOOM": str(last)},
        )
        extents = np.array(boxes)
        extent = [*extents[:, :2].min(axis=0).tolist(), *extents[:, 2:].max(axis=0).tolist()]
        fields = {
            field.name: "String" if pa.types.is_string(field.type) else "Number"
            for field in schema
            if field.name != "geometry"
        }
        yield TilesOfSize(last, path, extent, fields)


def _draw(columns: Any, shapes: NDArray[Any], boxes: list[Any]) -> Any:
    """Append shapes to columns of features, and their extent to a list."""
    import shapely

    shapes = shapely.clip_by_rect(shapes, -180, -POLE, 180, POLE)
    # Features beyond the latitude where Mercator's square ends are in no tile.
    there = ~shapely.is_empty(shapes)
    boxes += [shapely.total_bounds(shapes)] if there.any() else []
    wkb = pa.array(shapely.to_wkb(shapes), pa.binary())
    return columns.append_column("geometry", wkb).filter(pa.array(there))


def join_sizes(view: View, sizes: list[TilesOfSize], path: Path) -> None:
    """Join tiles of all sizes into one file; the largest squares come first."""
    from pmtiles.reader import MmapSource, all_tiles
    from pmtiles.tile import Compression, TileType, zxy_to_tileid
    from pmtiles.writer import write

    west, south, east, north = sizes[-1].extent if sizes else [0, 0, 0, 0]
    header = {
        "tile_type": TileType.MVT,
        "tile_compression": Compression.GZIP,
        "center_zoom": 0,
        "center_lon_e7": round((west + east) / 2 * 1e7),
        "center_lat_e7": round((south + north) / 2 * 1e7),
    }
    ends = {"min_lon": west, "min_lat": south, "max_lon": east, "max_lat": north}
    header |= {f"{name}_e7": round(degrees * 1e7) for name, degrees in ends.items()}
    with write(path) as joined:
        for size in sizes:
            with size.path.open("rb") as tiles:
                for place, data in all_tiles(MmapSource(tiles)):
                    joined.write_tile(zxy_to_tileid(*place), data)
        if not sizes:
            # A file needs at least one tile, here one without a layer.
            joined.write_tile(0, gzip.compress(b"", mtime=0))
        joined.finalize(header, describe_tiles(view, sizes))


def describe_tiles(view: View, sizes: list[TilesOfSize]) -> dict[str, Any]:
    """Return the metadata of a file of tiles, as plain values."""
    metadata = view.card.metadata
    captions = {
        "name": (metadata.title if metadata else None) or view.layer,
        "description": (metadata.description if metadata else None) or view.card.guarantee.in_words,
        "attribution": " – ".join(
            text for text in (metadata.publisher, metadata.source, metadata.licence) if text
        )
        if metadata
        else "",
    }
    fields = {name: kind for size in sizes for name, kind in size.fields.items()}
    ends = {"minzoom": 0, "maxzoom": sizes[-1].last if sizes else 0}
    layer = {"id": view.layer, **ends, "fields": fields}
    return {
        **{name: text for name, text in captions.items() if text},
        "type": "overlay",
        "vector_layers": [layer],
        "geodp": view.about,
    }


EXPORTS = (PMTiles(),)
