"""Features of formats for the web: squares of cells in degrees, with their counts and classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyproj import Transformer

from geodp.io.write.geometry import NOWHERE, has_geometry, why_no_geometry
from geodp.io.write.squares import Squares
from geodp.io.write.tables import CHUNK
from geodp.io.write.uncertainty import ERROR, six_digits
from geodp.io.write.view import View

CLASS, SIDE = ADDED = ("class", "side")
"""Columns after those of the tables: the class on maps, and the number of cells along a side."""

DECIMALS = 7
"""Decimals of degrees: about a centimetre."""

POLE = 85.06
"""Latitude in degrees where Mercator's square ends."""


def why_not_on_web(view: View) -> str | None:
    """Require one map on the Earth, and columns of different names."""
    grid = view.table.grid
    if grid.raster_map is None:
        return "only a grid of one map has squares"
    if not has_geometry(grid) or grid.places[0].crs is None:
        return why_no_geometry(grid) or NOWHERE
    if view.name in ADDED:
        return f"the count is called {view.name}, as another column is"
    return None


def pieces_of(view: View, squares: Squares, what: str) -> Iterator[tuple[Squares, Any]]:
    """Yield squares in chunks, with their columns as an Arrow table; the first chunk is empty.

    Cells have the columns of the release's tables; sums have a count, and a standard error if
    the card has one. ``what`` labels the progress for the operator.
    """
    if squares.side == 1 and not view.table.grid.attributes:
        for rows in chain([view.empty], view.rows(what)):
            row, col = rows.index
            cells = replace(squares, row=row, col=col, count=rows.count)
            yield cells, _add(rows.columns, cells, view)
        return
    error = None if view.level is not None else squares.standard_error(view.card)
    for start in chain([squares.count.size], range(0, squares.count.size, CHUNK)):
        some = squares.part(slice(start, start + CHUNK))
        columns = pa.table({view.name: some.count})
        if error is not None:
            each = np.broadcast_to(six_digits(np.array([error])), some.count.shape)
            columns = columns.append_column(ERROR, pa.array(each))
        yield some, _add(columns, some, view)


def _add(columns: Any, squares: Squares, view: View) -> Any:
    """Append the columns that all squares have."""
    names = squares.classes(view.limit)
    columns = columns.append_column(CLASS, pa.array(names.tolist(), pa.string()))
    return columns.append_column(SIDE, pa.array(np.full(squares.count.size, squares.side)))


def outlines_of(squares: Squares) -> NDArray[np.object_]:
    """Compute the outlines of squares in degrees of WGS 84, as RFC 7946 requires.

    Longitudes lie between -180 and 180; a square across 180 degrees is cut in two. Squares with a
    common corner have the same coordinates there.

    Returns
    -------
    object[n]
        Polygons of Shapely, and multipolygons for squares that are cut.
    """
    import shapely

    west, south, east, north = squares.edges()
    x = np.stack([west, east, east, west, west], axis=1)
    y = np.stack([south, south, north, north, south], axis=1)
    across = Transformer.from_crs(squares.grid.places[0].crs, "EPSG:4326", always_xy=True)
    lon, lat = across.transform(x, y)
    # The transformation wraps longitudes: corners of one square must be on the same side of 180.
    far = lon - lon[:, :1]
    lon = lon - 360 * np.sign(far) * (np.abs(far) > 180)
    middle = (lon.min(axis=1) + lon.max(axis=1)) / 2
    # The centre decides on which side of 180 degrees a square counts.
    lon -= 360 * np.floor((middle + 180) / 360)[:, None]
    shapes = shapely.polygons(np.round(np.stack([lon, lat], axis=-1), DECIMALS))
    for at in np.flatnonzero((lon.min(axis=1) < -180) | (lon.max(axis=1) > 180)):
        shapes[at] = _cut(shapes[at])
    return np.asarray(shapes, object)


def _cut(outline: Any) -> Any:
    """Cut an outline across 180 degrees into its parts on both sides, counter-clockwise."""
    import shapely
    from shapely.affinity import translate
    from shapely.geometry.polygon import orient

    offsets = (-360, 0, 360)
    cut = [shapely.clip_by_rect(outline, offset - 180, -90, offset + 180, 90) for offset in offsets]
    parts = [(part, offset) for part, offset in zip(cut, offsets, strict=True) if part.area]
    return shapely.multipolygons([orient(translate(part, -offset)) for part, offset in parts])
