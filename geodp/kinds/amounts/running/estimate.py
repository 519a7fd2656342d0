"""``geodp amounts estimate`` and ``compare``: regions of releases with intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.figures import (
    Row,
    Side,
    list_differences,
    list_estimates,
    pair_regions,
    show_rows,
)
from geodp.cli.help import json_option, option
from geodp.cli.options import StrictCommand
from geodp.cli.regions import (
    AREA,
    POLYGON_NAME,
    polygons_option,
    read_labels,
    read_shapes,
    require_named,
    show_labels,
)
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.kinds.amounts.running.options import (
    PriorCommand,
    label_option,
    open_all,
    open_amounts,
    read_known_prior,
    time_option,
)

if TYPE_CHECKING:
    from geodp.grid.region import Region
    from geodp.kinds.amounts.amounts import Amounts
    from geodp.kinds.amounts.scale import Scale


def decimals_of(scale: Scale) -> int:
    """Return the decimals of amounts: those of the tables, and at least those of the step.

    Examples
    --------
    >>> from geodp.kinds.amounts.scale import Scale
    >>> decimals_of(Scale.of((0, 1000), "0.01", "EUR", "income"))
    3
    >>> decimals_of(Scale.of((0, 1000), "0.00001", "EUR", "income"))
    5
    """
    from geodp.kinds.amounts.joint import count_places
    from geodp.kinds.amounts.scale import show_number

    _, _, decimals = show_number(scale.step).partition(".")
    return max(count_places(scale), len(decimals))


SHARES = 6
"""Decimals of shares in documents."""


@click.command(cls=PriorCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@time_option
@polygons_option("--polygons")
@POLYGON_NAME
@AREA
@label_option
@option(
    "--quantile",
    group="Options",
    everyday=True,
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Also estimate a quantile, such as 0.9, by classes; repeatable.",
)
@option(
    "--below",
    group="Options",
    everyday=True,
    multiple=True,
    type=float,
    help="Also estimate the share of records below an amount, by classes; repeatable.",
)
@option(
    "--prior",
    group="Options",
    type=click.Path(path_type=Path),
    help="The prior of the release, as geodp amounts publish took it: a folder, or a file that is "
    "read with the options below. Intervals of counts, sums and means are narrowed by simulation "
    "with it.",
)
@option(
    "--prior-value",
    group="Options",
    multiple=True,
    help="Label or name of the column of counts in a file of the prior; repeatable.",
)
@json_option
def estimate(**options: Any) -> None:
    """Estimate counts, sums, means and medians of regions of a RELEASE; costs no budget.

    \b
    geodp amounts estimate out --area 5339 --area 5340
    geodp amounts estimate out --polygons cities.geojson --quantile 0.9 --below 150
    geodp amounts estimate series --time 2020 --area 5339
    geodp amounts estimate out --area 5339 --label sex=f --label age=30-34 --label age=35-39
    geodp amounts estimate out --area 5339 --prior census.csv --code mesh --prior-value people

    All have 95 % intervals. A region that may have no record, or any amount of the clip, has no
    mean and no median.
    """
    if options["polygons"] is None and not options["area"]:
        raise UsageError("Name what to estimate: --polygons or --area.", code="estimate-what")
    require_named(options)
    release = open_amounts(options["release"], options["time"])
    shapes, labels = (
        read_shapes(options, release.count),
        read_labels(options["labels_of"], "--label"),
    )
    outside = _share_outside(release, shapes)
    regions, limit = _find_regions(release, shapes, labels), release.count.card().display_below
    with report_progress():
        found = release.list_figures(
            regions.values(),
            quantiles=options["quantile"],
            below=options["below"],
            prior=read_known_prior(click.get_current_context(), release),
        )
        rows = [
            row
            for name, one in zip(shapes, found, strict=True)
            for row in list_estimates(name, one, limit)
        ]
    _show([release], rows, "estimate", labels, outside, as_json=options["as_json"])


def _show(
    releases: list[Amounts],
    rows: list[Row],
    what: str,
    labels: dict[str, list[str]],
    outside: dict[str, float],
    *,
    as_json: bool,
) -> None:
    """Print numbers with what amounts are, and which regions lie partly outside the map."""
    amount = releases[0].index.amount
    of_labels = f"; {show_labels(labels)}" if labels else ""
    show_rows(
        rows,
        what,
        as_json=as_json,
        # Shares have six.
        decimals=max(decimals_of(releases[0].scale), SHARES),
        head=[f"{amount.name} in {amount.unit}, from {amount.lower} to {amount.upper}{of_labels}"],
        notes=_list_outside(outside),
        amount=asdict(amount),
        labels=labels,
        outside=outside,
    )


def _find_regions(
    release: Amounts, shapes: dict[str, Any], labels: dict[str, list[str]]
) -> dict[str, Region]:
    """Find the cells of labels in areas by name; an error says which area it is about."""
    from geodp.grid.region import Region, choose_labels, find_named

    grid = release.count.grid
    # Wrong labels are the fault of no area: they are refused before any is found.
    choose_labels(grid, labels)
    return find_named(shapes, lambda one: Region.of(grid, one, labels))


def _share_outside(release: Amounts, shapes: dict[str, Any]) -> dict[str, float]:
    """Compute by name which share of each region lies outside the map of a release."""
    from geodp.kinds.amounts.estimates import share_outside

    return {name: share_outside(release.count.grid, one) for name, one in shapes.items()}


def _list_outside(outside: dict[str, float]) -> Iterator[str]:
    """List a sentence for every region that lies partly outside the map."""
    from geodp.kinds.amounts.english import PAGE
    from geodp.kinds.amounts.estimates import list_outside

    return list_outside(outside, PAGE["outside"])


@click.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("releases", nargs=-1, required=True, type=click.Path(path_type=Path))
@option(
    "--time",
    "times",
    group="Options",
    multiple=True,
    metavar="TIME",
    help="Two periods of a series whose folder is RELEASES, by two of these options.",
)
@polygons_option("--polygons")
@POLYGON_NAME
@AREA
@label_option
@option(
    "--against",
    group="Options",
    multiple=True,
    metavar="NAME=LABEL",
    help="Compare two groups of each region of one release: the second has this label in place of "
    "those of --label; repeatable.",
)
@json_option
def compare(**options: Any) -> None:
    """Compare two regions of a release, or the same regions in two RELEASES; costs no budget.

    \b
    geodp amounts compare out --area 5339 --area 5340
    geodp amounts compare out-2015 out-2020 --polygons cities.geojson
    geodp amounts compare series --time 2015 --time 2020 --polygons cities.geojson
    geodp amounts compare out --area 5339 --label sex=m --against sex=f

    Differences of counts, sums, means and medians, the second less the first, have 95 % intervals;
    a star marks those that the noise alone does not explain. The two releases must have amounts of
    the same unit and clip, and the same largest weight.
    """
    releases = open_all(options["releases"], options["times"])
    require_named(options)
    shapes = read_shapes(options, releases[0].count)
    labels = read_labels(options["labels_of"], "--label")
    against = read_labels(options["against"], "--against")
    pairs = _pair(releases, shapes, labels, against)
    rows = [*list_differences(releases, pairs)]
    # Two releases have one grid, so that regions lie alike in both.
    outside = _share_outside(releases[0], shapes)
    shown = {} if against else labels
    _show(releases, rows, "difference", shown, outside, as_json=options["as_json"])


def _pair(
    releases: list[Amounts],
    shapes: dict[str, Any],
    labels: dict[str, list[str]],
    against: dict[str, list[str]],
) -> dict[str, tuple[Side, Side]]:
    """Pair what is compared, by its name: regions, releases, or two groups of each region."""
    if not against:
        named = pair_regions([*shapes], [one.count for one in releases])
        found = [[*_find_regions(one, shapes, labels).values()] for one in releases]
        return {
            name: ((i, found[i][a]), (j, found[j][b])) for name, ((i, a), (j, b)) in named.items()
        }
    if len(releases) != 1 or not shapes:
        raise UsageError(
            "--against compares two groups of each region of one release: give one release, and "
            "--area or --polygons.",
            code="amounts-against-one",
        )
    second = {**labels, **against}
    groups = [_find_regions(releases[0], shapes, of) for of in (labels, second)]
    between = f"{show_labels(second)} - {show_labels(labels) or 'all'}"
    return {f"{name}: {between}": ((0, groups[0][name]), (0, groups[1][name])) for name in shapes}
