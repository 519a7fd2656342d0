"""``geodp estimate``: sums of regions of a release, with intervals."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

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
    from geodp.table.display import is_below, show_count, show_interval

    release = open_release(options["release"])
    regions = read_regions(options, release)
    prior = None if options["prior"] is None else open_release(options["prior"])
    with report_progress():
        estimates = release.estimate_all(regions.values(), method=options["method"], prior=prior)
    rows = [{"name": name, **asdict(one)} for name, one in zip(regions, estimates, strict=True)]
    limit = release.card().display_below
    if options["as_json"]:
        # JSON has the exact counts in any case; programs learn which of them people see as <k.
        if limit is not None:
            rows = [{**row, "below": is_below(row["count"], limit)} for row in rows]
        document = {"method": options["method"], "estimates": rows}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    width = max(len("region"), *(len(row["name"]) for row in rows))
    click.echo(f"{'region':<{width}}  {'count':>14}  {'standard error':>14}  {'95 % interval':>27}")
    for row in rows:
        interval = show_interval(row["count"], row["low"], row["high"], limit)
        count, error = show_count(row["count"], limit), f"{row['standard_error']:,.1f}"
        click.echo(f"{row['name']:<{width}}  {count:>14}  {error:>14}  {interval:>27}")


COMMAND = estimate
