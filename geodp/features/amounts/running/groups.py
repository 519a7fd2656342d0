"""Groups and regions that commands name: labels of attributes, and polygons beyond the map."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid

NEGLIGIBLE = 1e-4
"""Share of an area outside the map that is rounding, or a shore drawn otherwise."""


def read_labels(texts: Iterable[str], option: str) -> dict[str, list[str]]:
    """Read texts ``NAME=LABEL`` as labels by attribute; several of one attribute are added up.

    Raises UsageError for another form, and for a label that is named twice.

    Examples
    --------
    >>> read_labels(["sex=f", "age=30-34", "age=35-39"], "--label")
    {'sex': ['f'], 'age': ['30-34', '35-39']}
    """
    labels: dict[str, list[str]] = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not (name and equals and label):
            raise UsageError(
                f"{option} {text!r} names no label: write NAME=LABEL, such as sex=f.",
                code="amounts-label-form",
            )
        if label in labels.setdefault(name, []):
            raise UsageError(
                f"{option} {text!r} is there twice; a label is counted once.",
                code="amounts-label-twice",
            )
        labels[name].append(label)
    return labels


def show_labels(labels: dict[str, list[str]]) -> str:
    """Write labels by attribute as they are named in options.

    Examples
    --------
    >>> show_labels({"sex": ["f"], "age": ["30-34", "35-39"]})
    'sex=f, age=30-34+35-39'
    """
    return ", ".join(f"{name}={'+'.join(chosen)}" for name, chosen in labels.items())


def share_outside(grid: Grid, area: Any) -> float:
    """Return the share of a polygon's area that lies outside the only map of a grid, from 0 to 1.

    0 for codes, for units, of which none is cut, and for maps across 180 degrees.
    """
    if isinstance(area, str) or grid.outlines is not None or grid.maps.one is None:
        return 0.0
    import shapely

    place = grid.places[0]
    west, south, east, north = place.bounds
    if place.period is not None and (west < -place.period / 2 or east > place.period / 2):
        return 0.0
    within = area.intersection(shapely.box(west, south, east, north)).area
    share = 1 - within / area.area if area.area > 0 else 0.0
    return round(share, 6) if share > NEGLIGIBLE else 0.0
