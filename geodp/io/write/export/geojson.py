"""Export as GeoJSON (RFC 7946), which every map client in browsers draws without a library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from geodp.io.write.export.web import find_layer, why_not_on_web
from geodp.io.write.format import Export
from geodp.io.write.view import View

MAX_FEATURES = 50_000
"""Largest number of squares or lines: about 15 MB, which a browser reads and draws without a delay.
"""


class GeoJSON(Export):
    """The cells, or else the smallest squares of 2 by 2 cells, 4 by 4 and so on that fit.

    Of units all are written, and of lines from origins to destinations the largest.
    """

    name: ClassVar[str] = "geojson"
    ending: ClassVar[str] = "geojson"
    help: ClassVar[str] = (
        f"GeoJSON for browsers: of more than {MAX_FEATURES:,} cells sums over squares, of as many "
        "lines the largest"
    )
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require a map on the Earth, or lines on it."""
        return why_not_on_web(view)

    def write(self, view: View, path: Path) -> None:
        """Write one collection, with one feature a line."""
        import shapely

        layer = find_layer(view).fit(MAX_FEATURES)
        about = {**view.about, **layer.about}
        with path.open("w", encoding="utf-8", newline="\n") as file:
            head = json.dumps(about, ensure_ascii=False)
            file.write(f'{{"type": "FeatureCollection", "geodp": {head}, "features": [')
            comma = ""
            for columns, shapes in layer.pieces("Writing GeoJSON"):
                texts = shapely.to_geojson(shapes).tolist()
                for shape, properties in zip(texts, columns.to_pylist(), strict=True):
                    text = json.dumps(properties, ensure_ascii=False)
                    file.write(f'{comma}\n{{"type": "Feature", "properties": {text}, ')
                    file.write(f'"geometry": {shape}}}')
                    comma = ","
            file.write("\n]}\n")


EXPORTS = (GeoJSON(),)
