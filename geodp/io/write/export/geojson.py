"""Export as GeoJSON (RFC 7946), which every map client in browsers draws without a library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from geodp.io.write.export.web import WebSquares, outlines_of, pieces_of, why_not_on_web
from geodp.io.write.format import Export
from geodp.io.write.view import View

MAX_FEATURES = 50_000
"""Largest number of features: about 15 MB, which a browser reads and draws without a delay."""


class GeoJSON(Export):
    """The cells, or else the smallest squares of 2 by 2 cells, 4 by 4 and so on that fit."""

    name: ClassVar[str] = "geojson"
    ending: ClassVar[str] = "geojson"
    help: ClassVar[str] = (
        f"GeoJSON for browsers: of more than {MAX_FEATURES:,} cells sums over squares"
    )

    def why_not(self, view: View) -> str | None:
        """Require one map on the Earth."""
        return why_not_on_web(view)

    def write(self, view: View, path: Path) -> None:
        """Write one collection, with one feature a line."""
        import shapely

        squares = fit_squares(WebSquares.of(view.table))
        about = {**view.about, "side": squares.side}
        with path.open("w", encoding="utf-8", newline="\n") as file:
            head = json.dumps(about, ensure_ascii=False)
            file.write(f'{{"type": "FeatureCollection", "geodp": {head}, "features": [')
            comma = ""
            for some, columns in pieces_of(view, squares, "Writing GeoJSON"):
                shapes = shapely.to_geojson(outlines_of(some)).tolist()
                for shape, properties in zip(shapes, columns.to_pylist(), strict=True):
                    text = json.dumps(properties, ensure_ascii=False)
                    file.write(f'{comma}\n{{"type": "Feature", "properties": {text}, ')
                    file.write(f'"geometry": {shape}}}')
                    comma = ","
            file.write("\n]}\n")


def fit_squares(squares: WebSquares, limit: int = MAX_FEATURES) -> WebSquares:
    """Merge squares, doubling their side, until there are at most ``limit`` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from geodp.grid.grid import Grid
    >>> row, col = np.indices((6, 6)).reshape(2, -1)
    >>> cells = WebSquares(Grid.regular((6, 6)), 1, row, col, np.ones(36, np.int64))
    >>> fit_squares(cells, 36).side, fit_squares(cells, 35).side, fit_squares(cells, 3).side
    (1, 2, 8)
    """
    # Merging depends on the public number of released cells only.
    while squares.count.size > limit:
        squares = squares.widen(2)
    return squares


EXPORTS = (GeoJSON(),)
