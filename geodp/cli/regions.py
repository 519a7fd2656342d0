"""Options for regions of a release: polygons of a file, and areas by code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.cli.help import with_options
from geodp.errors import UsageError
from geodp.options.option import Option, grouped

if TYPE_CHECKING:
    from geodp.grid.region import Region
    from geodp.release.release import Release


REGIONS = grouped(
    "Domain",
    Option(
        "--polygons",
        "File of areas to sum over, in any CRS: GeoJSON, GeoPackage, Shapefile, FlatGeobuf "
        "or GeoParquet. Units with outlines are never split.",
        type=Path,
        everyday=True,
    ),
    Option(
        "--polygon-name",
        "Field that names the polygons; default: name, id or code.",
        needs=("polygons",),
    ),
)
"""Polygons of a file."""

POLYGONS, POLYGON_NAME = map(with_options, REGIONS)


def polygons_option(*flags: str) -> Callable[[Any], Any]:
    """Return the option that names a file of polygons, by these flags."""
    return with_options(REGIONS.one("polygons", others=flags[1:2]))


AREA = with_options(
    Option(
        "--area",
        "Code of an area of the grid, or of a region or unit; for pairs of units "
        "ORIGIN:DESTINATION; repeatable.",
        many=True,
        everyday=True,
    )
)


def require_named(options: dict[str, Any]) -> None:
    """Raise UsageError for --polygon-name without --polygons."""
    if options["polygon_name"] is not None and options["polygons"] is None:
        raise UsageError(
            "--polygon-name goes with --polygons only.", code="polygon-name-needs-polygons"
        )


def read_shapes(options: dict[str, Any], release: Release) -> dict[str, Any]:
    """Return the requested areas by name: codes, and polygons in the CRS of a release's grid."""
    shapes: dict[str, Any] = {code: code for code in options["area"]}
    if options["polygons"] is not None:
        from geodp.io.read.public.polygons import read_polygons

        path, name = options["polygons"], options["polygon_name"]
        shapes |= read_polygons(path, release.grid, name=name)
    return shapes


def read_regions(options: dict[str, Any], release: Release) -> dict[str, Region]:
    """Find the requested regions by name, in a release's grid; an error says which it is about."""
    from geodp.grid.region import Region, find_named

    return find_named(read_shapes(options, release), partial(Region.of, release.grid))


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


def show_labels(labels: dict[str, list[str]]) -> str:
    """Write labels by attribute as they are named in options.

    Examples
    --------
    >>> show_labels({"sex": ["f"], "age": ["30-34", "35-39"]})
    'sex=f, age=30-34+35-39'
    """
    return ", ".join(f"{name}={'+'.join(chosen)}" for name, chosen in labels.items())
