"""Regions of a release: polygons of a file, areas by code, and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.grid.region import Region

Labels = Mapping[str, Sequence[str]]
"""Labels by attribute."""


def read_shapes(options: Mapping[str, Any], grid: Grid) -> dict[str, Any]:
    """Return the requested areas by name: codes, boxes, and polygons in the CRS of a grid.

    Raises UsageError where none is named.
    """
    area, boxes = options["area"], options["box"]
    if options["polygons"] is None and not area and not boxes:
        raise UsageError(
            "Name one area or more: --area CODE or --box WEST SOUTH EAST NORTH, both repeatable, "
            "or --polygons FILE.",
            code="areas-unnamed",
        )
    shapes = {**area} if isinstance(area, Mapping) else {code: code for code in area}
    shapes |= {" ".join(f"{edge:.10g}" for edge in box): box for box in boxes}
    if options["polygons"] is not None:
        from geodp.io.read.public.polygons import read_polygons

        path, name = options["polygons"], options["polygon_name"]
        shapes |= read_polygons(path, grid, name=name)
    return shapes


def keep_shapes(options: Mapping[str, Any], grid: Grid) -> dict[str, Any]:
    """Return options with the requested areas as they were read, so that no file is read again."""
    return {**options, "area": read_shapes(options, grid), "box": (), "polygons": None}


def find_regions(shapes: Mapping[str, Any], grid: Grid, labels: Labels) -> dict[str, Region]:
    """Find the cells of labels in areas by name; an error says which area it is about."""
    from geodp.grid.region import Region, choose_labels, find_named

    # Wrong labels are the fault of no area: they are refused before any is found.
    choose_labels(grid, labels)
    return find_named(shapes, lambda one: Region.of(grid, one, labels))


def find_filled(
    shapes: Mapping[str, Any], grid: Grid, labels: Labels
) -> tuple[dict[str, Region], list[str]]:
    """Find regions as :func:`find_regions`; return the names of polygons without a cell, too.

    A layer of many polygons may have some that are smaller than a cell, or lie outside. All are
    found at once.

    Raises UsageError where no area has a cell.
    """
    from geodp.grid.region import regions_of_polygons

    if len(shapes) < 2 or grid.outlines is not None or not all(map(_is_polygon, shapes.values())):
        return find_regions(shapes, grid, labels), []
    found = dict(zip(shapes, regions_of_polygons(grid, [*shapes.values()], labels), strict=True))
    filled = {name: one for name, one in found.items() if one.cells}
    if not filled:
        return find_regions(shapes, grid, labels), []
    return filled, [name for name in found if name not in filled]


def _is_polygon(shape: Any) -> bool:
    return hasattr(shape, "geom_type")


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
                code="label-form",
            )
        if label in labels.setdefault(name, []):
            raise UsageError(
                f"{option} {text!r} is there twice; a label is counted once.",
                code="label-named-twice",
            )
        labels[name].append(label)
    return labels


def show_labels(labels: Labels) -> str:
    """Write labels by attribute as they are named in options.

    Examples
    --------
    >>> show_labels({"sex": ["f"], "age": ["30-34", "35-39"]})
    'sex=f, age=30-34+35-39'
    """
    return ", ".join(f"{name}={'+'.join(chosen)}" for name, chosen in labels.items())
