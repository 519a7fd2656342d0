"""``geodp flows estimate`` and ``compare``: flows between regions with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.figures import Row, show_rows
from geodp.cli.help import add_options, json_option, option
from geodp.cli.options import StrictCommand
from geodp.cli.regions import POLYGON_NAME, polygons_option, read_labels, require_named
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.kinds.flows.running.inputs import open_flows
from geodp.kinds.flows.running.options import simulations_option

if TYPE_CHECKING:
    from geodp.kinds.flows.comparison import Compared
    from geodp.kinds.flows.flows import Flows


flow_options = add_options(
    option(
        "--from",
        "origins",
        group="Options",
        everyday=True,
        multiple=True,
        metavar="AREA",
        help="Code of an area or of a zone from which trips begin; on a grid without codes "
        "ROW_COL, or ROW_COL:ROW_COL for the box between two zones; repeatable, together with "
        "--to.",
    ),
    option(
        "--to",
        "destinations",
        group="Options",
        everyday=True,
        multiple=True,
        metavar="AREA",
        help="Code of the area in which they end.",
    ),
    polygons_option("--polygons"),
    POLYGON_NAME,
    option(
        "--across",
        group="Domain",
        type=click.Path(path_type=Path),
        help="File of lines that trips cross, in any CRS: GeoJSON, GeoPackage, Shapefile, "
        "FlatGeobuf or GeoParquet. Each divides the map in two.",
    ),
    option(
        "--label",
        "labels",
        group="Options",
        multiple=True,
        metavar="NAME=LABEL",
        help="Estimate trips with this label: hour=8; repeatable. Several labels of one attribute "
        "are added up.",
    ),
)
"""Options that say which flows are estimated."""


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@flow_options
@simulations_option
@option(
    "--prior",
    group="Options",
    type=click.Path(path_type=Path),
    metavar="RELEASE",
    help="Folder of the earlier release of flows that was the prior, where RELEASE does not have "
    "it.",
)
@json_option
def estimate(**options: Any) -> None:
    """Estimate trips between areas of a RELEASE, or across lines; costs no budget.

    \b
    geodp flows estimate out --from 533945 --to 533946 --from 533946 --to 533945
    geodp flows estimate out --polygons cities.geojson
    geodp flows estimate out --across river.geojson

    All have 95 % intervals, of which far fewer hold the truth where the trips from a zone go to one
    or two others (docs/flows.md). Between at most 32 polygons, all pairs are estimated. Across a
    line, trips from its left to its right, as seen along it, from its right to its left, and both
    together; zones lie where their centres do.
    """
    require_named(options)
    _require_what(options)
    release = open_flows(options["release"])
    if options["prior"] is not None:
        from geodp.kinds.flows.publish import give_prior

        release = give_prior(release, open_flows(options["prior"]))
    with report_progress():
        rows = _estimate(release, options)
    show_rows(rows, "estimate", as_json=options["as_json"])


MOST_POLYGONS = 32
"""Most polygons between all of which flows are estimated."""


def _require_what(options: Mapping[str, Any]) -> None:
    """Raise UsageError unless it is said in one way what is estimated."""
    if len(options["origins"]) != len(options["destinations"]):
        raise UsageError(
            "Every --from needs a --to: give as many of both.", code="flows-from-without-to"
        )
    ways = (options["origins"] or None, options["polygons"], options["across"])
    if sum(one is not None for one in ways) != 1:
        raise UsageError(
            "Say in one way what to estimate: --from and --to, --polygons or --across.",
            code="flows-estimate-what",
        )


def _estimate(release: Flows, options: Mapping[str, Any]) -> list[Row]:
    """Estimate what is asked for; what a limit of display hides is told."""
    from geodp.table.display import is_below

    simulations, labels = options["simulations"], read_labels(options["labels"], "--label")
    asked, limit = _list_groups(release, options), release.flows.card().display_below
    found = release.estimate_groups(
        [group for _, _, group in asked], simulations=simulations, labels=labels
    )
    hidden = [bool(is_below(one.count, limit)) for one in found]
    if options["across"] is not None:
        _hide_sums(hidden)
    return [
        Row({"from": start, "to": end}, "trips", one, limit, below)
        for (start, end, _), one, below in zip(asked, found, hidden, strict=True)
    ]


def _hide_sums(hidden: list[bool]) -> None:
    """Hide the sum of both directions across a line, every third row, where one of them is hidden.

    The direction that is shown would reveal the hidden one.
    """
    for at in range(0, len(hidden), 3):
        hidden[at + 2] |= hidden[at] != hidden[at + 1]


def _list_groups(
    release: Flows, options: Mapping[str, Any]
) -> list[tuple[str, str, list[tuple[Any, Any]]]]:
    """List the flows that are asked for: names of both ends, and pairs of regions."""
    grid = release.origins.grid
    if options["across"] is not None:
        from geodp.kinds.flows.regions import divide_zones, read_lines

        rows = []
        for name, line in read_lines(options["across"], grid).items():
            left, right = divide_zones(grid, line)
            there, back = (left, right), (right, left)
            ends = f"{name}: left", f"{name}: right"
            rows += [(*ends, [there]), (*ends[::-1], [back])]
            rows.append((f"{name}: either side", f"{name}: the other", [there, back]))
        return rows
    names = [*dict.fromkeys(zip(options["origins"], options["destinations"], strict=True))]
    regions: dict[str, Any] = {code: code for pair in names for code in pair}
    if options["polygons"] is not None:
        from geodp.grid.region import find_named
        from geodp.io.read.public.polygons import read_polygons
        from geodp.kinds.flows.regions import find_region, ground_of

        name = options["polygon_name"]
        shapes = read_polygons(options["polygons"], ground_of(grid), name=name)
        if len(shapes) > MOST_POLYGONS:
            raise UsageError(
                f"Flows are estimated between at most {MOST_POLYGONS} polygons, as all pairs of "
                "them are.",
                code="flows-polygons-many",
            )
        regions = find_named(shapes, partial(find_region, grid))
        names = [(start, end) for start in regions for end in regions]
    return [(start, end, [(regions[start], regions[end])]) for start, end in names]


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("releases", nargs=-1, required=True, type=click.Path(path_type=Path))
@flow_options
@option(
    "--other-label",
    "other_labels",
    group="Options",
    multiple=True,
    metavar="NAME=LABEL",
    help="Label of the second flow, where it differs: --label hour=8 --other-label hour=18 "
    "compares two hours of one release; repeatable, as --label.",
)
@simulations_option
@json_option
def compare(**options: Any) -> None:
    """Compare two flows of a release, or the same flows in two RELEASES; costs no budget.

    \b
    geodp flows compare out --from 533945 --to 533946 --from 533946 --to 533945
    geodp flows compare out --from 533945 --to 533946 --label hour=8 --other-label hour=18
    geodp flows compare out-2019 out-2023 --from 533945 --to 533946
    geodp flows compare out-2019 out-2023 --across river.geojson

    Differences of trips, the second less the first, have 95 % intervals; a star marks those that
    noise and model do not explain. In both releases the same unit must be protected, and as many
    trips of each counted.
    """
    require_named(options)
    _require_what(options)
    releases = [open_flows(path) for path in options["releases"]]
    with report_progress():
        found = _compare(releases, options)
    limits = [one.flows.card().display_below for one in releases]
    limit = next((one for one in limits if one is not None), None)
    # A difference would reveal the trips that a limit of display hides.
    hidden = [_is_hidden(one, limits) for _, one in found]
    if options["across"] is not None:
        _hide_sums(hidden)
    rows = [
        Row({"name": name}, "trips", one.difference, limit, below)
        for (name, one), below in zip(found, hidden, strict=True)
    ]
    show_rows(rows, "difference", as_json=options["as_json"])


def _compare(releases: Sequence[Flows], options: Mapping[str, Any]) -> list[tuple[str, Compared]]:
    """Compare what is asked for; UsageError for other numbers of releases or of flows."""
    from geodp.kinds.flows.comparison import FlowSide, SimulationSettings

    asked, by_label = _list_groups(releases[0], options), bool(options["other_labels"])
    if len(releases) > 2 or (len(releases) == 1 and not by_label and len(asked) != 2):
        raise UsageError(
            "Compare exactly two flows of one release (--from and --to, twice), flows of one "
            "release with two labels (--label and --other-label), or the same flows in two "
            "releases.",
            code="flows-compare-two",
        )
    how = SimulationSettings(options["simulations"])
    labels = read_labels(options["labels"], "--label")
    others = read_labels(options["other_labels"], "--other-label") if by_label else labels
    sides = [(FlowSide(group, labels), FlowSide(group, others)) for _, _, group in asked]
    names = [f"{start} to {end}" for start, end, _ in asked]
    if by_label:
        shown = " - ".join(", ".join(options[one]) for one in ("other_labels", "labels"))
        named = [f"{name}: {shown}" for name in names]
    if len(releases) == 2:
        first, second = releases
        found = first.compare_all(second, sides, how)
        return [*zip(named if by_label else names, found, strict=True)]
    if by_label:
        groups = [group for _, _, group in asked]
        return [*zip(named, releases[0].compare_labels(groups, (labels, others), how), strict=True)]
    one, other = (side for side, _ in sides)
    return [(" - ".join(names[::-1]), releases[0].compare_sides(one, other, how))]


def _is_hidden(one: Compared, limits: Sequence[int | None]) -> bool:
    """Return whether an office's limit of display hides one of two compared flows."""
    from geodp.table.display import is_below

    return any(is_below(each.count, limit) for each in one[:2] for limit in limits)
