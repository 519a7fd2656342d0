"""``geodp amounts estimate`` and ``compare``: regions of releases with intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from geodp.cli.comparing import mark_below, pair_regions
from geodp.cli.help import json_option, option
from geodp.cli.options import StrictCommand
from geodp.cli.regions import AREA, POLYGON_NAME, polygons_option, read_shapes, require_named
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.kinds.amounts.running.inputs import open_all, open_amounts, read_known_prior
from geodp.kinds.amounts.running.options import PriorCommand, label_option, time_option

if TYPE_CHECKING:
    from geodp.accuracy.interval import Interval
    from geodp.grid.region import Region
    from geodp.kinds.amounts.amounts import Amounts
    from geodp.kinds.amounts.comparison import AmountDifference
    from geodp.kinds.amounts.kind import StatedAmount
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


def round_plain(value: Any, places: int) -> Any:
    """Round the numbers of plain values to so many decimals; None in place of what is no number.

    Examples
    --------
    >>> round_plain({"value": 0.1 + 0.2, "low": float("nan"), "high": 1, "is": True}, 3)
    {'value': 0.3, 'low': None, 'high': 1, 'is': True}
    """
    if isinstance(value, dict):
        return {name: round_plain(one, places) for name, one in value.items()}
    if not isinstance(value, float):
        return value
    return round(value, places) if math.isfinite(value) else None


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


AMOUNTS = ("sum", "mean", "median", "standard deviation")
"""Columns in the unit of the amount; quantiles are, too."""


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
    multiple=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Also estimate a quantile, such as 0.9, by classes; repeatable.",
)
@option(
    "--below",
    group="Options",
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
    regions = _find_regions(release, shapes, labels)
    with report_progress():
        prior = read_known_prior(click.get_current_context(), release)
        rows = dict(zip(shapes, _rows(release, regions, options, prior), strict=True))
    if options["as_json"]:
        places, limit = decimals_of(release.scale), release.count.card().display_below
        document = {
            "amount": asdict(release.index.amount),
            "labels": labels,
            "regions": [
                {
                    "name": name,
                    "outside": outside[name],
                    **_mark(row, limit),
                    **_plain(row, places),
                }
                for name, row in rows.items()
            ],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))
        return
    click.echo("\n".join([*_tabulate(rows, release, labels), *_list_outside(outside)]))


def _rows(
    release: Amounts, regions: dict[str, Region], options: dict[str, Any], prior: Any
) -> Iterator[dict[str, Interval | None]]:
    """Yield the columns of every region: name and estimate."""
    shares, lines = options["quantile"], options["below"]
    places = regions.values()
    found = release.estimate_all(places, quantiles=shares, below=lines, prior=prior)
    for one in found:
        count = one.count
        row: dict[str, Interval | None] = {"count": count.interval}
        if release.sum is not None:
            row |= {"sum": one.sum, "mean": one.mean}
        if release.classes:
            row["median"] = one.median
        row |= {f"quantile {share:g}": one.quantiles[share] for share in shares}
        row |= {f"below {line:g}": one.below[line] for line in lines}
        yield row


def _mark(row: dict[str, Interval | None], limit: int | None) -> dict[str, bool]:
    """Return the field that tells programs whether an office's limit of display hides a region."""
    from geodp.table.display import is_below

    count = row["count"]
    return mark_below(count is not None and is_below(count.value, limit), [limit])


def _plain(row: dict[str, Interval | None], places: int) -> dict[str, Any]:
    """Convert the columns of a region to plain values; what is no amount has six decimals."""
    return {
        name: None
        if one is None
        else round_plain(asdict(one), places if name in AMOUNTS or name[:9] == "quantile " else 6)
        for name, one in row.items()
    }


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


def _tabulate(
    rows: dict[str, dict[str, Interval | None]], release: Amounts, labels: dict[str, list[str]]
) -> Iterator[str]:
    """Yield the lines of a table of estimates; small counts are shown as the office does."""
    from geodp.kinds.amounts.scale import show_amount
    from geodp.table.display import is_below, show_count, show_interval

    amount, limit = release.index.amount, release.count.card().display_below
    yield _head(amount, labels)
    width = max(len("region"), *map(len, rows))
    wide = max(len(name) for row in rows.values() for name in row)
    yield f"{'region':<{width}}  {'':<{wide}}  {'estimate':>14}  {'95 % interval':>31}"
    for name, row in rows.items():
        count = row["count"]
        hidden = limit is not None and count is not None and is_below(count.value, limit)
        for number, (column, one) in enumerate(row.items()):
            value, ends = "-", "-"
            if one is not None and column == "count":
                value = show_count(one.value, limit)
                ends = show_interval(one.value, one.low, one.high, limit)
            elif one is not None and not hidden:
                value, low, high = map(show_amount, (one.value, one.low, one.high))
                # The end of the sum would reveal that of the count.
                shown = column != "sum" or count is None or not is_below(count.high, limit)
                ends = f"{low} to {high}" if shown else "-"
            yield f"{'' if number else name:<{width}}  {column:<{wide}}  {value:>14}  {ends:>31}"


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
    limits = [one.count.card().display_below for one in releases]
    rows = dict(zip(pairs, _differences(releases, [*pairs.values()]), strict=True))
    below = _below(releases, limits, pairs)
    # Two releases have one grid, so that regions lie alike in both.
    outside = _share_outside(releases[0], shapes)
    if options["as_json"]:
        places = decimals_of(releases[0].scale)
        document = {
            "amount": asdict(releases[0].index.amount),
            "labels": labels,
            "outside": outside,
            "differences": [
                {
                    "name": name,
                    **round_plain(asdict(one), places),
                    **mark_below(below[name], limits),
                }
                for name, one in rows.items()
            ],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))
        return
    head = _head(releases[0].index.amount, labels if not against else {})
    table = _tabulate_differences(rows, below, releases)
    click.echo("\n".join([head, *table, *_list_outside(outside)]))


Side: TypeAlias = "tuple[int, Region]"
"""Position of a release, and a region in its grid."""


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


def _differences(releases: list[Amounts], pairs: list[tuple[Side, Side]]) -> list[AmountDifference]:
    """Compare the regions of one release, or those of two."""
    from geodp.kinds.amounts.comparison import compare_regions, compare_releases

    regions = [(one, other) for (_, one), (_, other) in pairs]
    if len(releases) == 1:
        return [compare_regions(releases[0], *both) for both in regions]
    return compare_releases(releases[0], releases[1], regions)


def _below(
    releases: list[Amounts], limits: list[int | None], pairs: dict[str, tuple[Side, Side]]
) -> dict[str, bool]:
    """Return which differences would reveal a count that a limit of display hides."""
    from geodp.table.display import is_below

    if all(limit is None for limit in limits):
        return dict.fromkeys(pairs, False)
    return {
        name: any(
            (limit := limits[i]) is not None
            and is_below(releases[i].count.estimate(region).count, limit)
            for i, region in pair
        )
        for name, pair in pairs.items()
    }


def _head(amount: StatedAmount, labels: dict[str, list[str]]) -> str:
    """Write the first line of a table: what amounts are, and of which labels."""
    of_labels = f"; {show_labels(labels)}" if labels else ""
    return f"{amount.name} in {amount.unit}, from {amount.lower} to {amount.upper}{of_labels}"


def _tabulate_differences(
    rows: dict[str, AmountDifference], below: dict[str, bool], releases: list[Amounts]
) -> Iterator[str]:
    """Yield the lines of a table of differences; ``below``: those that are not shown."""
    from geodp.kinds.amounts.scale import show_amount

    columns = ["count"]
    columns += ["sum", "mean"] if all(one.sum is not None for one in releases) else []
    columns += ["median"] if all(one.classes for one in releases) else []
    width, wide = max(len("regions"), *map(len, rows)), max(map(len, columns))
    yield f"{'regions':<{width}}  {'':<{wide}}  {'difference':>14}  {'95 % interval':>31}"
    for name, row in rows.items():
        for number, column in enumerate(columns):
            value, ends, mark = "-", "-", ""
            one = getattr(row, column)
            if one is not None and not below[name]:
                value, low, high = (show_amount(x, "+") for x in (one.value, one.low, one.high))
                ends, mark = f"{low} to {high}", "  *" if one.is_certain else ""
            head = "" if number else name
            yield f"{head:<{width}}  {column:<{wide}}  {value:>14}  {ends:>31}{mark}"
