"""``geodp estimate``: sums of regions of a release, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodp.cli.figures import list_estimates, show_rows
from geodp.cli.options import StrictCommand
from geodp.cli.regions import AREA, POLYGON_NAME, polygons_option, read_regions, require_named
from geodp.cli.running import report_progress
from geodp.errors import UsageError

METHODS = ("closed-form", "simulation")


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@polygons_option("--polygons", "--regions", "polygons")
@POLYGON_NAME
@AREA
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default=METHODS[0],
    show_default=True,
    help="How errors are computed: simulation takes minutes, and gives narrower intervals.",
)
@click.option(
    "--prior",
    type=click.Path(path_type=Path),
    metavar="RELEASE",
    help="Folder of the earlier release that was the prior, for its simulation.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def estimate(**options: Any) -> None:
    """Estimate sums of regions of a RELEASE, with 95 % intervals; costs no budget.

    \b
    geodp estimate release-2025 --area 5339 --area 5340
    geodp estimate release-2025 --polygons cities.geojson --method simulation
    geodp estimate release-of-tracts --regions counties.shp --polygon-name GEOID
    """
    if options["polygons"] is None and not options["area"]:
        raise UsageError("Name what to estimate: --polygons or --area.", code="estimate-what")
    require_named(options)
    from geodp.release.opening import open_release

    release = open_release(options["release"])
    regions = read_regions(options, release)
    prior = None if options["prior"] is None else open_release(options["prior"])
    with report_progress():
        estimates = release.estimate_all(regions.values(), method=options["method"], prior=prior)
    limit = release.card().display_below
    rows = [
        row
        for name, one in zip(regions, estimates, strict=True)
        for row in list_estimates(name, {"count": one}, limit)
    ]
    show_rows(rows, "estimate", as_json=options["as_json"], method=options["method"])


COMMAND = estimate
