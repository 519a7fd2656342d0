"""Exports of styles with the classes of all maps: for QGIS, and for MapLibre with the tiles."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from geodp.io.write.export.web import CLASS, list_colours, name_legend, why_not_on_web
from geodp.io.write.format import Export
from geodp.io.write.qgis_style import qml, why_no_style
from geodp.io.write.view import View


class Qml(Export):
    """The style in every release, for a file of the same name."""

    name: ClassVar[str] = "qml"
    ending: ClassVar[str] = "qml"
    help: ClassVar[str] = "style for QGIS, which loads it with a file of the same name"
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require a grid with coloured cells."""
        return why_no_style(view.table.grid)

    def write(self, view: View, path: Path) -> None:
        """Write one document."""
        text = qml(view)
        path.write_text(text, encoding="utf-8", newline="\n")


class MapLibre(Export):
    """A style of version 8, whose source is the file of tiles of the same name."""

    name: ClassVar[str] = "maplibre"
    ending: ClassVar[str] = "style.json"
    help: ClassVar[str] = "style for MapLibre, with a legend, for the PMTiles of the same name"
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require the same as the tiles."""
        return why_not_on_web(view)

    def write(self, view: View, path: Path) -> None:
        """Write one document."""
        tiles = path.name.removesuffix(self.ending) + "pmtiles"
        text = json.dumps(style_of(view, tiles), ensure_ascii=False, indent=1) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")


def style_of(view: View, tiles: str) -> dict[str, Any]:
    """Return a style of MapLibre as plain values; ``tiles``: name of the file of tiles."""
    colours, of_class = list_colours(view), ["get", CLASS]
    # Classes come with the features, so that the style needs no thresholds.
    colour = ["match", of_class, *chain.from_iterable(colours), "#808080"]
    layer = {"type": "fill", "paint": {"fill-color": colour, "fill-antialias": False}}
    if view.table.grid.maps.one is None:
        widths = [(name, THINNEST * (1 + at)) for at, (name, _) in enumerate(colours)]
        width = ["match", of_class, *chain.from_iterable(widths), THINNEST]
        layout = {"line-cap": "round", "line-sort-key": ["get", view.name]}
        paint = {"line-color": colour, "line-width": width}
        layer = {"type": "line", "layout": layout, "paint": paint}
    name = view.layer
    return {
        "version": 8,
        "name": name,
        "metadata": {
            "geodp": view.about,
            "legend": {
                "title": name_legend(view),
                "classes": [{"class": one, "colour": each} for one, each in colours],
            },
        },
        "sources": {name: {"type": "vector", "url": f"pmtiles://{tiles}"}},
        "layers": [{"id": name, **layer, "source": name, "source-layer": name}],
    }


THINNEST = 0.75
"""Width of the thinnest lines in pixels; those of the second class are twice as wide, and so on."""

EXPORTS = (MapLibre(), Qml())
