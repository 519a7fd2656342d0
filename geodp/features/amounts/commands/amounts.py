"""``geodp amounts``: records, sums, means and medians of amounts, read, released and written."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.commands.sql import locate_records, query_options
from geodp.cli.comparing import mark_below, pair_regions
from geodp.cli.draw_storage import Packed
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.options import (
    GridCommand,
    StrictCommand,
    folder_options,
    grid_options,
    inputs,
    weight_options,
)
from geodp.cli.output import require_unsealed
from geodp.cli.pages import page_options, read_notice, write_html
from geodp.cli.publishing import draw_in, read_charged_draw, write_release
from geodp.cli.readers import ReadingCommand, read_prior
from geodp.cli.regions import AREA, POLYGON_NAME, polygons_option, read_shapes, require_named
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import format_result, report_progress, report_stored_draw
from geodp.cli.translation import translate_message
from geodp.errors import UsageError
from geodp.features.amounts.running.options import (
    amount_option,
    check_reading,
    clip_option,
    contribution_option,
    make_records_reader,
    method_option,
    read_scale,
    release_options,
    split_amounts,
    step_option,
    unit_of_amount_option,
)
from geodp.features.amounts.running.publish_series import publish_series
from geodp.features.select.running import FIELDS, Shown, run_selection
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.cli.comparing import Place
    from geodp.features.amounts.amounts import Amounts
    from geodp.features.amounts.comparison import AmountDifference
    from geodp.features.amounts.estimates import Interval
    from geodp.features.amounts.files import StagedAmounts
    from geodp.features.amounts.planned_prior import PlannedPrior
    from geodp.features.amounts.publish import PreparedAmounts
    from geodp.features.amounts.streams import AmountTable
    from geodp.features.select.running import Card, Ready
    from geodp.grid.grid import Grid
    from geodp.release.request import Request

ELSEWHERE = (
    "method",
    "contribution",
    "measurements",
    "totals",
    "simulate",
)
"""Fields of a request that this release does not have, or has in another form."""


@click.group()
def amounts() -> None:
    """Release counts, sums, means and medians of amounts, such as incomes, by area.

    \b
    geodp amounts publish FILE --grid jis:half --code mesh --amount income --clip 0 1000
        --unit-of-amount "10,000 yen" --contribution 1 --epsilon 1 --output out
    geodp amounts publish-series 2015=FILE 2020=FILE ... --person-in all --output out
    geodp amounts plan --grid jis:half ... --median 250 --upper-tenth 600 --people 1e7 --epsilon 1
    geodp amounts choose-clip FILE ... --lowest 100 --highest 10000 --epsilon 0.02 --output clip
    geodp amounts choose-edges FILE ... --clip 0 1000 --classes 8 --epsilon 0.02 --output edges
    geodp amounts estimate out --area 5339
    geodp amounts compare out --area 5339 --area 5340
    """


amounts.add_command(publish_series)

TIME = option(
    "--time",
    group="Options",
    metavar="TIME",
    help="Period of a series whose folder is RELEASE, such as 2020.",
)


@amounts.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@partial(grid_options, required=True)
@release_options
@request_options(without=ELSEWHERE)
@folder_options
def publish(**options: Any) -> None:
    """Release counts, sums and means of the records of INPUTS, and their medians, under one budget.

    \b
    A row for each record, located by codes, coordinates or point geometries:
    geodp amounts publish FILE --code mesh --amount income ...
    geodp amounts publish FILE --x LON --y LAT --amount income --person ID ...

    Counts, sums and means agree in every area, and means are within the clip. Writes
    OUTPUT/public, with a table of all numbers and a folder with a map of the records, and
    OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    with report_progress(), report_stored_draw(options["output"]):
        message = _publish(options)
    click.echo(message)


@amounts.command("choose-clip", cls=ReadingCommand, no_args_is_help=True)
@inputs
@partial(grid_options, required=True)
@amount_option
@unit_of_amount_option
@option(
    "--candidates",
    group="Privacy",
    everyday=True,
    metavar="UPPER,UPPER...",
    help="Public upper ends among which one is chosen, in increasing order.",
)
@option(
    "--lowest",
    group="Privacy",
    everyday=True,
    metavar="UPPER",
    help="In place of --candidates, with --highest: the lowest upper end of a logarithmic scale of "
    "round ones.",
)
@option(
    "--highest",
    group="Privacy",
    everyday=True,
    metavar="UPPER",
    help="With --lowest: the highest upper end that may be chosen.",
)
@option("--lower", group="Privacy", default="0", show_default=True, help="Lower end of the clip.")
@option(
    "--share",
    group="Privacy",
    everyday=True,
    default="0.01",
    show_default=True,
    help="Share of the records that may lie above the chosen end.",
)
@step_option
@weight_options
@contribution_option
@request_options(*FIELDS, without=("contribution",))
@folder_options
def choose_clip(**options: Any) -> None:
    """Choose the upper end of the clip by the records in INPUTS, with a charge of its own.

    \b
    geodp amounts choose-clip FILE --grid jis:half --code mesh --amount income --lowest 100
        --highest 10000 --unit-of-amount "10,000 yen" --contribution 1 --epsilon 0.02 --output clip

    One of public candidates is drawn, so that about a share of the records lies above it. Writes
    OUTPUT/public and OUTPUT/restricted, and prints the option of geodp amounts publish, which
    spends a budget of its own.
    """
    check_reading(click.get_current_context(), options)
    show = partial(_show_clip, options)
    run_selection(options, "choose-clip", lambda: _prepare_clip(options), show)


@amounts.command("choose-edges", cls=ReadingCommand, no_args_is_help=True)
@inputs
@partial(grid_options, required=True)
@amount_option
@unit_of_amount_option
@clip_option
@option(
    "--classes",
    group="Privacy",
    everyday=True,
    required=True,
    type=int,
    metavar="NUMBER",
    help="Number of classes, which have about as many records each.",
)
@option(
    "--edge-step",
    group="Privacy",
    everyday=True,
    metavar="AMOUNT",
    help="Edges are multiples of it, and it is one of --step.  [default: --step]",
)
@step_option
@weight_options
@contribution_option
@request_options(*FIELDS, without=("contribution",))
@folder_options
def choose_edges(**options: Any) -> None:
    """Choose the edges of classes by the records in INPUTS, with a charge of its own.

    \b
    geodp amounts choose-edges FILE --grid jis:half --code mesh --amount income --clip 0 1000
        --classes 8 --edge-step 10 --unit-of-amount "10,000 yen" --contribution 1 --epsilon 0.02
        --output edges

    Edges are drawn inside the clip, so that each class has about as many records as any other.
    Writes OUTPUT/public and OUTPUT/restricted, and prints the option of geodp amounts publish,
    which spends a budget of its own.
    """
    check_reading(click.get_current_context(), options)
    run_selection(options, "choose-edges", lambda: _prepare_edges(options), _show_edges)


PLANNED = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of the clip accepts."""


@amounts.command(cls=GridCommand, no_args_is_help=True)
@grid_options
@option(
    "--median",
    group="Options",
    type=float,
    required=True,
    help="A public guess of the amount that one record in two exceeds.",
)
@option(
    "--upper-tenth",
    group="Options",
    type=float,
    required=True,
    help="A public guess of the amount that one record in ten exceeds.",
)
@option(
    "--clip",
    "clips",
    group="Options",
    multiple=True,
    metavar="UPPER",
    help="Upper end of the clip to compare; repeatable.  [default: those that 20 % to 0.1 % of "
    "records would exceed]",
)
@option("--lower", group="Options", default="0", show_default=True, help="Lower end of the clip.")
@option(
    "--area-records",
    "records",
    group="Options",
    type=float,
    default=1000.0,
    show_default=True,
    help="Records of the area whose mean is to be right.",
)
@option(
    "--share",
    group="Privacy",
    default="1",
    show_default=True,
    help="Part of the budget for sums, if classes are released, too.",
)
@option(
    "--contribution",
    group="Privacy",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Most records of one person.",
)
@method_option
@request_options(*PLANNED)
@option(
    "--prior",
    group="Options",
    type=click.Path(path_type=Path),
    help="Folder of a public map of people on the same grid, to be the prior of the release: also "
    "simulate what it leaves of the errors of areas, at the best end of the clip.",
)
@option(
    "--releases",
    group="Options",
    type=click.IntRange(1),
    help="With --prior: number of simulated releases with it, and without.  [default: 4]",
)
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def plan(**options: Any) -> None:
    """Compare upper ends of the clip by what they cost a mean, before any data are read.

    \b
    geodp amounts plan --grid jis:half --bounds 139 35 140 36 --median 250 --upper-tenth 600
        --people 1e7 --epsilon 1

    A low end cuts high amounts, which lowers the mean (bias); a high one adds noise. Amounts are
    taken as lognormal, by two public guesses; nobody looks at the data. With --prior, errors of
    areas are also simulated with a public map of people as the prior, and without.
    """
    from geodp.features.amounts.plan import plan as make_plan

    if options["releases"] is not None and options["prior"] is None:
        raise UsageError("--releases goes with --prior only.", code="option-needs-option")
    names = ("median", "upper_tenth", "lower", "records", "share", "contribution")
    told = {name: options[name] for name in (*names, "method", *PLANNED)}
    grid = grid_of({**options, "inputs": ()})
    rows = make_plan(grid, clips=options["clips"], **told)
    found = None
    if options["prior"] is not None:
        best = next(one.upper for one in rows if one.best)
        found = _simulate_prior(options, grid, told, best)
    if options["as_json"]:
        listed: Any = [asdict(one) for one in rows]
        if found is not None:
            listed = {"clips": listed, "prior": _plain_prior(found)}
        click.echo(json.dumps(listed, indent=1))
        return
    click.echo(f"{'upper end':>12}{'records above':>15}{'bias':>10}{'noise':>10}{'both':>10}")
    for one in rows:
        parts = "".join(f"{100 * x:>8.2f} %" for x in (one.bias, one.noise, one.error))
        mark = "  *" if one.best else ""
        click.echo(f"{one.upper:>12,.6g}{100 * one.beyond:>13.2f} %{parts}{mark}")
    if found is not None:
        click.echo("\n".join(_tabulate_prior(found)))


@amounts.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@TIME
@polygons_option("--polygons")
@POLYGON_NAME
@AREA
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
    "--spread",
    group="Options",
    is_flag=True,
    help="Also estimate the standard deviation, the Gini coefficient, and the share of records "
    "that the clip may have cut, by classes.",
)
@option(
    "--prior",
    group="Options",
    type=click.Path(path_type=Path),
    help="Folder of the release that was the prior: intervals of counts, sums and means are "
    "narrowed by simulation with it.",
)
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def estimate(**options: Any) -> None:
    """Estimate counts, sums, means and medians of regions of a RELEASE; costs no budget.

    \b
    geodp amounts estimate out --area 5339 --area 5340
    geodp amounts estimate out --polygons cities.geojson --quantile 0.9 --below 150 --spread
    geodp amounts estimate series --time 2020 --area 5339

    All have 95 % intervals. A region that may have no record, or any amount of the clip, has no
    mean and no median.
    """
    if options["polygons"] is None and not options["area"]:
        raise UsageError("Name what to estimate: --polygons or --area.", code="estimate-what")
    require_named(options)
    release = _open(options["release"], options["time"])
    shapes = read_shapes(options, release.count)
    with report_progress():
        rows = dict(zip(shapes, _rows(release, shapes, options), strict=True))
    if options["as_json"]:
        document = {
            "amount": asdict(release.index.amount),
            "regions": [{"name": name, **_plain(row)} for name, row in rows.items()],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(_tabulate(rows, release)))


@amounts.command(cls=StrictCommand, no_args_is_help=True)
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
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def compare(**options: Any) -> None:
    """Compare two regions of a release, or the same regions in two RELEASES; costs no budget.

    \b
    geodp amounts compare out --area 5339 --area 5340
    geodp amounts compare out-2015 out-2020 --polygons cities.geojson
    geodp amounts compare series --time 2015 --time 2020 --polygons cities.geojson

    Differences of counts, sums, means and medians, the second less the first, have 95 % intervals;
    a star marks those that the noise alone does not explain. The two releases must have amounts of
    the same unit and clip, and the same largest weight.
    """
    releases = _open_all(options["releases"], options["times"])
    require_named(options)
    shapes = read_shapes(options, releases[0].count)
    counts = [one.count for one in releases]
    named = pair_regions([*shapes], counts)
    limits = [one.card().display_below for one in counts]
    rows = dict(zip(named, _differences(releases, [*shapes.values()]), strict=True))
    below = _below(releases, limits, shapes, named)
    if options["as_json"]:
        document = {
            "amount": asdict(releases[0].index.amount),
            "differences": [
                {"name": name, **asdict(one), **mark_below(below[name], limits)}
                for name, one in rows.items()
            ],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(_tabulate_differences(rows, below, releases)))


@amounts.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@TIME
@page_options
@polygons_option("--polygons")
@POLYGON_NAME
@AREA
def report(**options: Any) -> None:
    """Write a page on means and regions of a RELEASE; costs no budget.

    \b
    geodp amounts report out --area 5339 --output out.html

    One HTML file with a map of means, and a table of the regions with 95 % intervals, in the unit
    of the amount. It loads nothing from the network.
    """
    require_named(options)
    from geodp.features.amounts.page import write_page

    output, language = options["output"], options["language"]
    require_unsealed(output)
    release = _open(options["release"], options["time"])
    regions = read_shapes(options, release.count)
    notice = read_notice(options["release"])
    write_html(output, lambda: write_page(release, regions, language, notice))


@amounts.command(cls=GridCommand, no_args_is_help=True)
@query_options
@option(
    "--points",
    group="Input",
    nargs=2,
    default=("lon", "lat"),
    show_default=True,
    help="Columns of x and y of the record, in the grid's CRS.",
)
@option(
    "--table",
    group="Input",
    default="records",
    show_default=True,
    help="Table expression for the records, inserted as it is.",
)
@amount_option
@unit_of_amount_option
@clip_option
@step_option
@option(
    "--person",
    group="Input",
    everyday=True,
    metavar="COLUMN",
    help="Column of person ids. Records without one are left out.",
)
@option(
    "--contribution",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --person: most records that are kept of a person.",
)
@option(
    "--order-by",
    "by",
    group="Input",
    help="Column, such as a time, whose first records of a person are kept. Default: a random "
    "sample.",
)
def sql(spec: str, bounds: Any, engine: str, points: tuple[str, str], **options: Any) -> None:
    """Print an SQL query that clips amounts and counts them by cell, to run where the data are.

    \b
    geodp amounts sql --grid jis:half --engine duckdb --amount income --clip 0 1000
        --unit-of-amount "10,000 yen" --person id > amounts.sql

    The query fails where an amount is missing, or no number. The result is a confidential table
    with the columns code, the amount, and geodp_records; a comment in the query shows how to
    publish it.
    """
    from geodp.features.amounts.query import AmountQuery
    from geodp.features.amounts.scale import Scale, show_number
    from geodp.grid.codes.sql import RECORDS

    place, records = locate_records(spec, bounds, options["table"], points)
    scale = Scale.of(options["clip"], options["step"], options["unit_of_amount"], options["amount"])
    person, most = options["person"], options["contribution"]
    query = AmountQuery(**records, scale=scale, person=person, records=most, by=options["by"])
    written = query.write(engine)
    edges = " ".join(f"{edge:.17g}" for edge in place.bounds)
    lower, upper, step = map(show_number, (*scale.clip, scale.step))
    kept, why = str(most), ""
    if person is None:
        # Without a column of persons nothing bounds the contribution.
        kept, why = "N", "; N: the most records that one person has, for which you vouch"
    click.echo(
        f"-- {' and '.join(points)} are coordinates in {place.crs}; records outside the domain"
        f"{' or without a person' if person is not None else ''} are left out.\n"
        f"-- Then: geodp amounts publish amounts.parquet --grid {spec} --bounds {edges} "
        f"--code code --amount {shlex.quote(scale.name)} --clip {lower} {upper} --step {step} "
        f"--unit-of-amount {shlex.quote(scale.unit)} --value {RECORDS} --contribution {kept} ..."
        f"{why}\n{written}"
    )


COMMAND = amounts


def _simulate_prior(
    options: dict[str, Any], grid: Grid, told: dict[str, Any], upper: float
) -> PlannedPrior:
    """Simulate what a prior leaves of the errors of a plan."""
    from geodp.features.amounts.planned_prior import plan_prior
    from geodp.release.opening import open_written

    with report_progress():
        prior: Any = open_written(options["prior"])
        return plan_prior(grid, prior, upper=upper, releases=options["releases"] or 4, **told)


def _plain_prior(found: PlannedPrior) -> dict[str, Any]:
    """Convert a simulated prior to plain values."""
    errors = {"without": found.without, "with_prior": found.with_prior}
    return {"areas": found.areas} | {name: asdict(one) for name, one in errors.items()}


def _tabulate_prior(found: PlannedPrior) -> Iterator[str]:
    """Yield the lines of a table of errors without a prior and with it."""
    yield ""
    yield f"Mean errors of {found.areas:,} areas of the prior, if changes since are by chance:"
    yield f"{'':<16}{'count':>12}{'sum':>14}{'mean':>10}"
    for name, one in (("without a prior", found.without), ("with the prior", found.with_prior)):
        yield f"{name:<16}{one.count:>12,.4g}{one.sum:>14,.4g}{100 * one.mean:>8.2f} %"
    yield "Changes beyond chance, and means that differ from place to place, are not simulated:"
    yield "with many of them errors with the prior are larger."


def _open(path: Path, time: str | None = None) -> Amounts:
    """Open a written release of amounts, or a period of a series; UsageError for another kind."""
    from geodp.features.amounts.amounts import Amounts
    from geodp.features.amounts.series.series import AmountsSeries
    from geodp.release.opening import open_written

    release = open_written(path)
    if isinstance(release, AmountsSeries):
        if time is None:
            raise UsageError(
                "This is a series of amounts: name one of its periods (--time), or give the folder "
                "of one, inside its public folder.",
                code="amounts-period-unnamed",
            )
        period: Amounts = release[time]
        return period
    if not isinstance(release, Amounts):
        raise UsageError(
            "This is no release of amounts; geodp estimate knows it.",
            code="amounts-release-expected",
        )
    if time is not None:
        raise UsageError(
            "This release of amounts is no series and has no periods: leave out --time.",
            code="amounts-time-unused",
        )
    return release


def _open_all(paths: tuple[Path, ...], times: tuple[str, ...]) -> list[Amounts]:
    """Open the releases to compare, or two periods of one series."""
    if not times:
        return [_open(path) for path in paths]
    if len(paths) != 1 or len(times) != 2:
        raise UsageError(
            "Two periods of one series are compared: give its folder, and --time twice.",
            code="amounts-two-times",
        )
    return [_open(paths[0], time) for time in times]


def _rows(
    release: Amounts, shapes: dict[str, Any], options: dict[str, Any]
) -> Iterator[dict[str, Interval | None]]:
    """Yield the columns of every region: name and estimate."""
    from geodp.features.amounts.estimates import Interval

    shares, lines = options["quantile"], options["below"]
    prior: Any = None
    if options["prior"] is not None:
        from geodp.release.opening import open_written

        prior = open_written(options["prior"])
    found = release.estimate_all(shapes.values(), quantiles=shares, below=lines, prior=prior)
    spreads = release.spread_all(shapes.values()) if options["spread"] else [None] * len(found)
    for one, spread in zip(found, spreads, strict=True):
        count = one.count
        row: dict[str, Interval | None] = {"count": Interval(count.count, count.low, count.high)}
        if release.sum is not None:
            row |= {"sum": one.sum, "mean": one.mean}
        if release.classes:
            row["median"] = one.median
        row |= {f"quantile {share:g}": one.quantiles[share] for share in shares}
        row |= {f"below {line:g}": one.below[line] for line in lines}
        if spread is not None:
            row |= {"standard deviation": spread.standard_deviation, "gini": spread.gini}
            row["clipped at most"] = spread.clipped
        yield row


def _differences(releases: list[Amounts], shapes: list[Any]) -> list[AmountDifference]:
    """Compare two regions of one release, or all regions in two."""
    from geodp.features.amounts.comparison import compare_releases
    from geodp.grid.region import Region

    if len(releases) == 1:
        return [releases[0].compare(*shapes)]
    first, second = releases
    grid = first.count.grid
    return compare_releases(first, second, [(Region.of(grid, one),) * 2 for one in shapes])


def _below(
    releases: list[Amounts],
    limits: list[int | None],
    shapes: dict[str, Any],
    named: dict[str, tuple[Place, Place]],
) -> dict[str, bool]:
    """Return which differences would reveal a count that a limit of display hides."""
    from geodp.table.display import is_below

    if all(limit is None for limit in limits):
        return dict.fromkeys(named, False)
    found = [one.count.estimate_all(shapes.values()) for one in releases]
    return {
        name: any(
            (limit := limits[i]) is not None and is_below(found[i][at].count, limit)
            for i, at in pair
        )
        for name, pair in named.items()
    }


def _tabulate_differences(
    rows: dict[str, AmountDifference], below: dict[str, bool], releases: list[Amounts]
) -> Iterator[str]:
    """Yield the lines of a table of differences; ``below``: those that are not shown."""
    from geodp.features.amounts.scale import show_amount

    amount = releases[0].index.amount
    yield f"{amount.name} in {amount.unit}, from {amount.lower} to {amount.upper}"
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


def _plain(row: dict[str, Interval | None]) -> dict[str, Any]:
    """Convert the columns of a region to plain values."""
    return {name: None if one is None else asdict(one) for name, one in row.items()}


def _tabulate(rows: dict[str, dict[str, Interval | None]], release: Amounts) -> Iterator[str]:
    """Yield the lines of a table of estimates; small counts are shown as the office does."""
    from geodp.features.amounts.scale import show_amount
    from geodp.table.display import is_below, show_count, show_interval

    amount, limit = release.index.amount, release.count.card().display_below
    yield f"{amount.name} in {amount.unit}, from {amount.lower} to {amount.upper}"
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
                ends = f"{low} to {high}"
            yield f"{'' if number else name:<{width}}  {column:<{wide}}  {value:>14}  {ends:>31}"


def _publish(options: dict[str, Any]) -> str:
    """Publish, and return the message for the operator."""
    from geodp.features.amounts.kind import AmountsKind

    check_reading(click.get_current_context(), options)
    complete_with_commit()
    grid = grid_of(options)
    # Its prior may be a release of amounts, which has one for every stream.
    request = read_request(options, grid, method=options["method"], kind=AmountsKind(), prior=None)
    if options["resume"]:
        return _write(options, grid, request)
    from geodp.features.amounts.publish import prepare_amounts
    from geodp.io.folder.staging import require_free, require_uninterrupted
    from geodp.release.preview import list_warnings

    require_free(options["output"], overwrite=options["overwrite"])
    require_uninterrupted(options["output"])
    reader = make_records_reader(options, grid, request)
    progress.begin("Reading")
    table = reader.read_amounts(options["inputs"])
    prior, source = _read_prior(options, grid)
    prepared = prepare_amounts(
        table,
        request,
        means=not options["no_means"],
        share=options["share"],
        prior=prior,
        prior_source=source,
    )
    for sentence in list_warnings(prepared.preview.count):
        click.echo(f"Warning: {sentence}", err=True)
    return _write(options, grid, request, prepared)


def _read_prior(options: dict[str, Any], grid: Grid) -> tuple[Any, str | None]:
    """Read the prior of the options, if any, and return it with the source that it still needs."""
    path, source = options["prior"], options["prior_source"]
    if path is None:
        if options["prior_value"]:
            raise UsageError(
                "--prior-value is a column of the prior: name its file, too (--prior).",
                code="amounts-prior-missing",
            )
        return None, source
    # An earlier release of amounts has a prior for every stream.
    if path.is_dir():
        from geodp.io.verify.verify import verify
        from geodp.release.opening import open_written

        if options["prior_value"]:
            raise UsageError(
                "--prior-value is a column of a file, and the prior is a release: leave it out.",
                code="amounts-prior-value-unused",
            )
        # Its charge vouches for what was released, and not for what was changed afterwards.
        if failed := [check.name for check in verify(path) if not check.ok]:
            raise UsageError(
                f"The prior {path} is no consistent release ({', '.join(failed)}): geodp verify "
                "says what differs; take it as it was published.",
                code="amounts-prior-inconsistent",
            )
        return open_written(path), source
    # A file has counts of people: no persons, and nothing of what selects records.
    return read_prior({**options, "person": None, "where": ()}, grid), None


def _prepare_clip(options: dict[str, Any]) -> Ready:
    """Read the inputs, and prepare the choice of the upper end of the clip."""
    from geodp.features.amounts.clip import list_candidates, prepare_choice, require_quantile

    q = require_quantile(options["share"])
    candidates = split_amounts(options["candidates"])
    uppers = list_candidates(candidates, options["lowest"], options["highest"])
    # Records are counted between candidates, of which the last one ends the clip.
    counted = {"clip": (options["lower"], uppers[-1]), "classes": ",".join(uppers[:-1])}
    grid = grid_of(options)
    request = read_request(options, grid)
    reader = make_records_reader({**options, **counted}, grid, request)
    progress.begin("Reading")
    table = reader.read_amounts(options["inputs"])
    return prepare_choice(table, uppers, q, request), _facts(table)


def _prepare_edges(options: dict[str, Any]) -> Ready:
    """Read the inputs, and prepare the choice of edges."""
    from geodp.features.amounts.edges import divide_clip, prepare_edges

    number = options["classes"]
    uncounted = {**options, "classes": None}
    scale, _ = read_scale(uncounted)
    coarse, _ = read_scale({**uncounted, "step": options["edge_step"] or options["step"]})
    parts = divide_clip(number, scale, coarse)
    grid = grid_of(options)
    request = read_request(options, grid)
    reader = replace(make_records_reader(uncounted, grid, request), by_amount=parts)
    progress.begin("Reading")
    table = reader.read_amounts(options["inputs"])
    return prepare_edges(table, number, request), _facts(table)


def _facts(table: AmountTable) -> dict[str, Any]:
    """Return what the operator may know of the records of a choice."""
    number = int(table.records.count.sum())
    return {"records": number, "records_beyond_clip": dict(table.beyond)}


def _show_clip(options: dict[str, Any], card: Card) -> Shown:
    """Say which option of a release was chosen."""
    from geodp.features.amounts.clip import find_upper
    from geodp.features.amounts.scale import exact, show_number

    lower, upper = show_number(exact(options["lower"], "lower")), find_upper(card.chosen)
    use = f"Use --clip {lower} {upper} with geodp amounts publish."
    return Shown([translate_message(use)], {"clip": (lower, upper)})


def _show_edges(card: Card) -> Shown:
    """Say which option of a release was chosen."""
    from geodp.features.amounts.edges import list_edges

    edges = list_edges(card.chosen)
    listed = ",".join(edges)
    use = f"Use --classes {listed} with geodp amounts publish."
    return Shown([translate_message(use)], {"classes": edges})


def _write(
    options: dict[str, Any],
    grid: Grid,
    request: Request,
    prepared: PreparedAmounts | None = None,
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.features.amounts.files import StagedAmounts

    if prepared is not None:
        prepared.preview.check_place(options["output"], overwrite=options["overwrite"])

    def make(place: StagedAmounts) -> tuple[Amounts, dict[str, Any]]:
        if prepared is None:
            return _resume(place, grid, request, options)
        return _release(place, prepared, options)

    release, written = write_release(options, StagedAmounts.stage, make)
    return _format_result(release, written, options)


def _release(
    place: StagedAmounts, prepared: PreparedAmounts, options: dict[str, Any]
) -> tuple[Amounts, dict[str, Any]]:
    """Draw, store the draw before the charge, and return it with the operator's record."""
    from geodp.features.amounts.prior import state_learned
    from geodp.io.folder.pending_tables import pack_tables
    from geodp.table.released import ReleasedTable
    from geodp.table.stated.prior import pack_prior

    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": prepared.cells,
        "records_beyond_clip": dict(prepared.table.beyond),
    }
    count = prepared.preview.count
    if prepared.prior is not None:
        run["prior"] = {"file": str(options["prior"]), "cells_sha256": prepared.prior.sha256}

    def pack(drawn: Any) -> Packed:
        table = ReleasedTable(count.grid, drawn.key, drawn.number, prepared.design.whole)
        names = ("above", "classes")
        extras = {n: one for n in names if (one := getattr(drawn, n)) is not None}
        extras |= pack_prior(state_learned(prepared.preview.index.prior, drawn.learned))
        return pack_tables([table], prepared.facts, extras, count.reading)

    # Formats and disk space fail here, before the charge, and not after it.
    place.try_out(prepared.preview, prepared.example, prepared.cells)
    return draw_in(place.folder, prepared, options, run, pack), run


def _resume(
    place: StagedAmounts, grid: Grid, request: Request, options: dict[str, Any]
) -> tuple[Amounts, dict[str, Any]]:
    """Restore the release of an interrupted run, which was charged, with the operator's record."""
    import numpy as np

    from geodp.features.amounts.card import StatedAmountsPrior
    from geodp.features.amounts.publish import restore_amounts
    from geodp.features.amounts.streams import ReleasedAmounts
    from geodp.io.folder.pending_tables import unpack_reading, unpack_tables
    from geodp.privacy.assumption import ContributionBound
    from geodp.table.stated.prior import unpack_prior

    stored, charge = read_charged_draw(place.folder, request, options)
    (table,), facts, arrays = unpack_tables(stored, grid, place.folder)
    reading, event = unpack_reading(stored, place.folder), table.event
    number = np.asarray(table.count, np.int64)
    drawn = ReleasedAmounts(table.key, number, arrays.get("above"), arrays.get("classes"))
    bound = ContributionBound(event.contribution, event.assumption.stated_by)
    release = restore_amounts(
        drawn, (*read_scale(options), grid), request, bound, facts, reading, charge,
        means=not options["no_means"], share=options["share"],
        max_weight=options["max_weight"] or 1, prior=unpack_prior(arrays, StatedAmountsPrior),
    )  # fmt: skip
    return release, dict(stored.run)


def _format_result(release: Amounts, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Format the final message of a run."""
    promise = release.index.guarantee
    fields = {
        "amount": asdict(release.index.amount),
        "spends": promise.spends,
        "method": promise.mechanism,
        "private": release.index.private,
    }
    return format_result(options, written, fields, [promise.in_words])
