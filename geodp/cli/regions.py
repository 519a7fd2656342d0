"""Regions of a release that a command is asked about: polygons of a file, and areas by code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import option
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.release.release import Release

POLYGONS = option(
    "--regions",
    group="Domain",
    type=click.Path(path_type=Path),
    help="Polygons: GeoJSON; with pyogrio also GeoPackage and others, in the grid's CRS.",
)
POLYGON_NAME = option(
    "--polygon-name",
    group="Domain",
    help="Field that names the polygons; default: name, id or code.",
)
AREA = option(
    "--area",
    group="Options",
    multiple=True,
    help="Code of an area of the grid's codes, or of a region or unit of an office; of pairs of "
    "units ORIGIN:DESTINATION; repeatable.",
)


def require_named(options: dict[str, Any]) -> None:
    """Raise UsageError for a name of polygons where there are none."""
    if options["polygon_name"] is not None and options["regions"] is None:
        raise UsageError(
            "--polygon-name goes with --regions only.", code="polygon-name-needs-regions"
        )


def read_shapes(options: dict[str, Any], release: Release) -> dict[str, Any]:
    """Return the regions that are asked for, by name, in a release's grid."""
    found: dict[str, Any] = {code: code for code in options["area"]}
    if options["regions"] is not None:
        from geodp.io.read.public.polygons import read_polygons

        path, name = options["regions"], options["polygon_name"]
        found |= read_polygons(path, release.grid, name=name)
    return found
