"""Polygons on the map of all kinds, as files that commands read."""

import json
from pathlib import Path

from tests.contract.kinds import BOUNDS

Box = tuple[float, float, float, float]

WEST, SOUTH, EAST, NORTH = BOUNDS
MIDDLE = (WEST + EAST) / 2
LEFT_AND_RIGHT = {"left": (WEST, SOUTH, MIDDLE, NORTH), "right": (MIDDLE, SOUTH, EAST, NORTH)}
OUTSIDE = {"far": (10.0, 10.0, 11.0, 11.0)}


def write_regions(folder: Path, boxes: dict[str, Box]) -> Path:
    """Write rectangles by name, as west, south, east, north in degrees, into a GeoJSON file."""
    path = folder / f"{'-'.join(boxes)}.geojson"
    features = []
    for name, (west, south, east, north) in boxes.items():
        ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": {"name": name}, "geometry": shape})
    document = {"type": "FeatureCollection", "features": features}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
