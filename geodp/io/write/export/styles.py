"""Exports of styles with the classes of all maps: for QGIS, and for MapLibre with the tiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from geodp.io.write.export.web import CLASS, list_colours, why_not_on_web
from geodp.io.write.format import Export
from geodp.io.write.qgis_style import qml, why_no_style
from geodp.io.write.scale import area_of
from geodp.io.write.view import View


class Qml(Export):
    """The style in every release, for a file of the same name."""

    name: ClassVar[str] = "qml"
    ending: ClassVar[str] = "qml"
    help: ClassVar[str] = "style for QGIS, which loads it with a file of the same name"

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
    colours = list_colours(view.card)
    has_area = area_of(view.table.grid.places[0]) is not None
    # Classes come with the features, so that the style needs no thresholds.
    match: list[Any] = ["match", ["get", CLASS]]
    for name, colour in colours:
        match += [name, colour]
    return {
        "version": 8,
        "name": view.name,
        "metadata": {
            "geodp": view.about,
            "legend": {
                "title": f"{view.counted} per {'km²' if has_area else 'cell'}",
                "classes": [{"class": name, "colour": colour} for name, colour in colours],
            },
        },
        "sources": {view.name: {"type": "vector", "url": f"pmtiles://{tiles}"}},
        "layers": [
            {
                "id": view.name,
                "type": "fill",
                "source": view.name,
                "source-layer": view.name,
                "paint": {"fill-color": [*match, "#808080"], "fill-antialias": False},
            }
        ],
    }


EXPORTS = (MapLibre(), Qml())
