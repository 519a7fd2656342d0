"""Export as an item of a SpatioTemporal Asset Catalog (STAC 1.0) with the files of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from geodp.grid.crs import open_transformer
from geodp.grid.lattice import Lattice
from geodp.io.write.format import Export
from geodp.io.write.geometry import NOWHERE, has_geometry, projjson, why_no_geometry
from geodp.io.write.view import View
from geodp.table.plain import list_captioned

EDGE = 21
"""Number of points along a side of the extent, as its sides are curves in degrees."""


class Stac(Export):
    """One item: place, time, and the release's files by their names."""

    name: ClassVar[str] = "stac"
    ending: ClassVar[str] = "stac.json"
    help: ClassVar[str] = "STAC item for catalogues; needs a reference date (--metadata)"

    def why_not(self, view: View) -> str | None:
        """Require a place on the Earth, and a date."""
        metadata, grid = view.card.metadata, view.table.grid
        if view.level is not None:
            return "an item is of the whole release"
        if not has_geometry(grid) or grid.places[0].crs is None:
            return why_no_geometry(grid) or NOWHERE
        if metadata is None or metadata.reference_date is None:
            return "an item needs a reference_date: publish with --metadata office.toml"
        return None

    def write(self, view: View, path: Path) -> None:
        """Write the item; its assets have the names of files in the release's public folder."""
        card, place = view.card, view.table.grid.places[0]
        metadata = card.metadata
        assert metadata is not None  # see why_not
        west, south, east, north = _degrees(view)
        captions = {"title": card.name, "description": card.guarantee.in_words}
        for name, one, value in list_captioned(metadata):
            if name != "reference_date":  # becomes `datetime`
                captions[one.stac or f"geodp:{name}"] = value
        document = {
            "type": "Feature",
            "stac_version": "1.0.0",
            "stac_extensions": [
                "https://stac-extensions.github.io/projection/v1.1.0/schema.json",
            ],
            "id": f"{card.name}-{card.release_id}",
            "bbox": [west, south, east, north],
            "geometry": _box_geometry(west, south, east, north),
            "properties": {
                **captions,
                **_when(str(metadata.reference_date)),
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
    """Compute the extent in degrees of WGS 84, from points along its sides.

    Across 180 degrees the west exceeds the east (RFC 7946, 5.2).
    """
    place = view.table.grid.places[0]
    across = open_transformer(place.crs, "EPSG:4326")
    bounds = across.transform_bounds(*place.bounds, densify_pts=EDGE)
    # PROJ wraps each longitude, so that the bounds of such a lattice would span the entire Earth.
    if place.period is not None:
        bounds = (_degrees_east(place, 0), bounds[1], _degrees_east(place, 2), bounds[3])
    west, south, east, north = (round(float(edge), 7) for edge in bounds)
    return west, south, east, north


def _degrees_east(place: Lattice, side: int) -> float:
    """Return the longitude of one of the bounds of a lattice across 180 degrees."""
    assert place.period is not None
    return float((place.bounds[side] / place.period * 360 + 180) % 360 - 180)


def _box_geometry(west: float, south: float, east: float, north: float) -> dict[str, Any]:
    """Build a GeoJSON geometry of a box: across 180 degrees in two parts."""
    sides = [(west, east)] if west < east else [(west, 180.0), (-180.0, east)]
    rings = [
        [[[left, south], [right, south], [right, north], [left, north], [left, south]]]
        for left, right in sides
    ]
    if len(rings) == 1:
        return {"type": "Polygon", "coordinates": rings[0]}
    return {"type": "MultiPolygon", "coordinates": rings}


def _when(text: str) -> dict[str, Any]:
    """Return the times of a reference date, or of a period between two."""
    first, _, last = text.partition("/")
    # A single date stands for its beginning; STAC requires a time.
    if not last:
        return {"datetime": f"{first}T00:00:00Z"}
    ends = {"start_datetime": f"{first}T00:00:00Z", "end_datetime": f"{last}T23:59:59Z"}
    return {"datetime": None, **ends}


EXPORTS = (Stac(),)
