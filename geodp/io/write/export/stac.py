"""A SpatioTemporal Asset Catalog item (STAC 1.0) that points to the files of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from geodp.grid.lattice import Lattice
from geodp.io.write.format import Export
from geodp.io.write.geometry import has_geometry, projjson
from geodp.io.write.view import View
from geodp.table.caption import list_captioned

EDGE = 21
"""Points along a side of the extent, as its sides are curves in degrees."""


class Stac(Export):
    """One item: where, when, and the release's files by their names."""

    name: ClassVar[str] = "stac"
    ending: ClassVar[str] = "stac.json"
    help: ClassVar[str] = "STAC item for catalogues; needs a reference date (--metadata)"

    def why_not(self, view: View) -> str | None:
        """Ask for a place on the Earth, and a date."""
        said, grid = view.card.metadata, view.table.grid
        if view.level is not None:
            return "an item is of the whole release"
        if not has_geometry(grid) or grid.places[0].crs is None:
            return "the grid lies nowhere on the Earth"
        if said is None or said.reference_date is None:
            return "an item needs a reference_date: publish with --metadata office.toml"
        return None

    def write(self, view: View, path: Path) -> None:
        """Write the item; its assets are named as they stand in the release's public folder."""
        card, place = view.card, view.table.grid.places[0]
        said = card.metadata
        assert said is not None  # see why_not
        west, south, east, north = _degrees(view)
        words = {"title": card.name, "description": card.guarantee.in_words}
        for name, one, value in list_captioned(said):
            if name != "reference_date":  # that is when
                words[one.stac or f"geodp:{name}"] = value
        document = {
            "type": "Feature",
            "stac_version": "1.0.0",
            "stac_extensions": [
                "https://stac-extensions.github.io/projection/v1.1.0/schema.json",
            ],
            "id": f"{card.name}-{card.release_id}",
            "bbox": [west, south, east, north],
            "geometry": _outline(west, south, east, north),
            "properties": {
                **words,
                **_when(str(said.reference_date)),
                "proj:epsg": None,
                "proj:projjson": projjson(place.crs),
                "proj:bbox": list(place.bounds),
                "geodp:spends": card.guarantee.spends,
                "geodp:private": card.private,
            },
            "links": [],
            "assets": {
                file.name: {
                    "href": f"./{file.name}",
                    "title": file.what,
                    "roles": ["data"],
                    **({} if file.media_type is None else {"type": file.media_type}),
                }
                for file in card.files
            },
        }
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")


def _degrees(view: View) -> tuple[float, float, float, float]:
    """Return the extent in degrees of WGS 84, from points along its sides.

    Across 180 degrees the west is above the east (RFC 7946, 5.2).
    """
    from pyproj import Transformer

    place = view.table.grid.places[0]
    across = Transformer.from_crs(place.crs, "EPSG:4326", always_xy=True)
    found = across.transform_bounds(*place.bounds, densify_pts=EDGE)
    if place.period is not None:
        found = (_degrees_east(place, 0), found[1], _degrees_east(place, 2), found[3])
    west, south, east, north = (round(float(edge), 7) for edge in found)
    return west, south, east, north


def _degrees_east(place: Lattice, side: int) -> float:
    """Return the longitude of one of the bounds of a lattice across 180 degrees."""
    assert place.period is not None
    return float((place.bounds[side] / place.period * 360 + 180) % 360 - 180)


def _outline(west: float, south: float, east: float, north: float) -> dict[str, Any]:
    """Return a box as a geometry of GeoJSON: across 180 degrees in two parts."""
    sides = [(west, east)] if west < east else [(west, 180.0), (-180.0, east)]
    rings = [
        [[[left, south], [right, south], [right, north], [left, north], [left, south]]]
        for left, right in sides
    ]
    if len(rings) == 1:
        return {"type": "Polygon", "coordinates": rings[0]}
    return {"type": "MultiPolygon", "coordinates": rings}


def _when(text: str) -> dict[str, Any]:
    """Return the times of a reference date, or of a period of two."""
    first, _, last = text.partition("/")
    if not last:
        return {"datetime": f"{first}T00:00:00Z"}
    ends = {"start_datetime": f"{first}T00:00:00Z", "end_datetime": f"{last}T23:59:59Z"}
    return {"datetime": None, **ends}


EXPORTS = (Stac(),)
