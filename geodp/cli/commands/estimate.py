"""``geodp estimate``: numbers of regions of a release of any kind, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from geodp.cli.figures import LAYERS, ShownRows, is_layer, show_answers, write_layer
from geodp.cli.help import with_options
from geodp.cli.output import require_free
from geodp.cli.running import report_progress
from geodp.cli.using import (
    AS_JSON,
    Parts,
    UsingCommand,
    diff_quantities,
    estimate_quantities,
    find_answer,
    list_periods,
    open_used,
    say_smoothed,
)
from geodp.errors import UsageError
from geodp.options.shared import (
    AREAS,
    AS_FILE,
    CHANGES,
    INTERVAL,
    LABEL,
    SIMULTANEOUS,
    TIME,
    WITHIN,
)

AS_LAYER = replace(
    AS_FILE[0],
    help="CSV file to write instead of printing, or the polygons with their numbers as a layer: "
    "FILE.gpkg, FILE.geojson or FILE.fgb.",
)
"""Option of the file of an answer."""


@click.command(cls=UsingCommand, door="estimate", no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@with_options(
    TIME, AREAS, WITHIN, LABEL, CHANGES, INTERVAL, SIMULTANEOUS, AS_JSON, AS_LAYER, *AS_FILE[1:]
)
def estimate(**options: Any) -> None:
    """Estimate numbers of regions of a RELEASE of any kind, with 95 % intervals; costs no budget.

    \b
    geodp estimate release-2025 --area 5339 --area 5340
    geodp estimate release-2025 --polygons cities.geojson
    geodp estimate release-of-tracts --polygons counties.shp --polygon-name GEOID
    geodp estimate release-2025 --polygons schools.gpkg --output schools-with-counts.gpkg
    geodp estimate release-by-sex --area 5339 --label sex=f
    geodp estimate release-2025 --polygons districts.gpkg --within land:japan
    geodp estimate series --area 5339 --changes previous
    geodp estimate series --box 139.5 35.5 139.75 35.75 --output numbers.csv
    geodp estimate incomes --area 5339 --quantile 0.9 --below 150
    geodp estimate census --area 5339 --share "EMP/T" --simultaneous
    geodp estimate trips --from 533945 --to 533946

    Counts; persons, households and mean size; records, sum, mean and median; or trips, between all
    pairs of at most 32 polygons. Of a series all periods are estimated, or those of --time, and
    with --changes what changed between them. A mean that may be anything is left out.
    """
    output = options["output"]
    require_free(output, "--output", (".csv", *LAYERS), overwrite=options["overwrite"])
    opened = open_used(options["release"], "estimate")
    parts = list_periods(opened, options["times"])
    if options["changes"] is not None and len(parts) < 2:
        raise UsageError(
            "--changes are those between two periods of a series or more.", code="changes-of-series"
        )
    answer = find_answer([*parts.values()], "estimate", estimate_quantities)
    with report_progress():
        found = {"estimate": answer(parts, options)}
        if options["changes"] is not None:
            found["difference"] = _estimate_changes(parts, options)
    if is_layer(output):
        write_layer(found["estimate"].rows, options)
        click.echo(str(output))
        return
    show_answers(found, options)


def _estimate_changes(parts: Parts, options: Mapping[str, Any]) -> ShownRows:
    """Estimate what changed from the period before each, or from the first one."""
    from geodp.release.series import pair_times

    since = {
        later: earlier
        for earlier, later in pair_times([str(time) for time in parts], options["changes"])
    }
    pairs = {time: (parts[earlier], parts[time]) for time, earlier in since.items()}
    answer = find_answer([*parts.values()], "diff", diff_quantities)
    found = answer(pairs, options)
    rows = [
        # The numbers of both sides are among the estimates.
        replace(one, place={**one.place, "since": since[one.place["time"]]}, more={}, columns=())
        for one in found.rows
    ]
    # As levels are shown: the changes of a region below each other.
    order = {name: at for at, name in enumerate(dict.fromkeys(one.place["name"] for one in rows))}
    rows.sort(key=lambda one: order[one.place["name"]])
    return replace(found, rows=rows, head=(), notes=say_smoothed(parts.values()))
