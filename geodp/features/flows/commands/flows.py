"""``geodp flows``: trips bounded by person, released with both maps of their ends."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.commands.sql import locate_records, query_options
from geodp.cli.comparing import mark_below
from geodp.cli.draw_storage import Packed, store_before_charge
from geodp.cli.help import Command, add_options, option
from geodp.cli.inputs import (
    grid_of,
    is_input,
    open_labels,
    opening_of_public,
    read_attributes,
    sha256,
)
from geodp.cli.options import (
    GridCommand,
    StrictCommand,
    folder_options,
    grid_options,
    inputs,
    weight_options,
)
from geodp.cli.output import require_unsealed
from geodp.cli.pages import (
    page_options,
    place_name_option,
    read_list,
    require_list,
    write_html,
)
from geodp.cli.regions import POLYGON_NAME, polygons_option, require_named
from geodp.cli.request_options import prior_source_option, read_request, request_options
from geodp.cli.running import describe_call, report_progress, report_stored_draw
from geodp.cli.translation import translate_message
from geodp.errors import UsageError
from geodp.features.select.running import FIELDS, Shown, run_selection
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.accuracy.interval import Estimate
    from geodp.features.flows.comparison import Compared
    from geodp.features.flows.files import StagedFlows
    from geodp.features.flows.flows import Flows
    from geodp.features.flows.plan import PlannedFlows
    from geodp.features.flows.prior import FlowsPrior
    from geodp.features.flows.publish import DrawnFlows, PreparedFlows
    from geodp.features.flows.reading.trips import Trips
    from geodp.features.select.running import Card, Ready
    from geodp.grid.grid import Grid
    from geodp.release.request import Request

ELSEWHERE = (
    "method",
    "contribution",
    "unit",
    "people",
    "measurements",
    "totals",
    "prior",
    "simulate",
    "supersedes",
)
"""Fields of a request that this release does not have, or has in another form."""

UNITS = ("person", "person-day", "person-week", "person-month")
"""Values of the library, repeated so that ``--help`` imports nothing heavy."""

level_option = option(
    "--level",
    group="Privacy",
    multiple=True,
    metavar="SIDE=SHARE",
    help="Side of the blocks whose pairs are measured, in zones and a power of two, and their "
    "share of the budget: 4=2/5; repeatable. Both maps of ends share the rest.  [default: by the "
    "trips of a person for each unit of epsilon]",
)
label_share_option = option(
    "--label-share",
    group="Privacy",
    metavar="SHARE",
    help="Share of the budget for what is measured by label (--by).  [default: 3/20]",
)
by_option = option(
    "--by",
    "attributes",
    group="Input",
    everyday=True,
    metavar="NAMES",
    help="Attributes by which trips are published, separated by commas: hour,mode; a trip has one "
    "label of each, in a column of this name, or of another one: mode=COLUMN. hour and daytype "
    "(weekday, weekend) are made from --time where it is given; of pings and stays they are those "
    "of the departure. Other labels are listed by --labels; of stays a trip has them from the stay "
    "at which it ends, and of pings from the last ping before it.",
)
method_option = option(
    "--method",
    group="Privacy",
    help="Method of both maps of ends: pyramid, with settings after a colon.  [default: pyramid]",
)
_PRIOR = (
    option(
        "--prior",
        group="Input",
        type=click.Path(path_type=Path),
        help="Flows that are expected: the folder of an earlier release of flows, or a public file "
        "of trips with the columns of --from and --to, and with counts (--prior-value). The "
        "measurements stay the same; estimates use it as far as the noisy pairs show that it "
        "can be trusted. The release contains it.",
    ),
    prior_source_option,
    option(
        "--prior-value",
        group="Input",
        metavar="COLUMN",
        help="Column of counts in the file of the prior.  [default: --value; without it, a row is "
        "one trip]",
    ),
)
"""Options of a prior; those of other releases read another kind of file."""

trips_option = option(
    "--trips",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    help="Most trips that are kept of a person, chosen by a hash of the person's own trips. The "
    "noise grows with it.",
)

_RULES = (
    option(
        "--radius",
        group="Input",
        type=float,
        metavar="METRES",
        help="Distance from the first ping of a stay within which all others are.  [default: 200]",
    ),
    option(
        "--dwell",
        group="Input",
        metavar="DURATION",
        help="Least duration of a stay, such as 90s, 10min or 1h.  [default: 10min]",
    ),
    option(
        "--gap",
        group="Input",
        metavar="DURATION",
        help="Longest time without a ping that a stay or a trip may extend over; of stays, the "
        "longest time from one to the next with a trip.  [default: 2h for pings, none for stays]",
    ),
    option(
        "--speed",
        group="Input",
        type=float,
        metavar="KM/H",
        help="Speed above which a step from ping to ping is taken for an error: no stay or trip "
        "extends over it.  [default: 1000]",
    ),
    option(
        "--accuracy",
        group="Input",
        metavar="COLUMN",
        help="Column of accuracy radii of pings, in metres.",
    ),
    option(
        "--largest-accuracy",
        group="Input",
        type=float,
        metavar="METRES",
        help="Leave out pings with a larger accuracy radius.  [default: --radius]",
    ),
)
"""Options of the rules by which pings and stays become trips."""

simulations_option = option(
    "--simulations",
    group="Options",
    type=click.IntRange(20),
    default=40,
    show_default=True,
    help="Releases that are simulated from this one; more give steadier intervals.",
)

other_option = option(
    "--other",
    group="Input",
    multiple=True,
    metavar="NAME",
    help="Count trips from and to all other places in a zone of this name, which is added to areal "
    "units and to cells of H3 or S2; without it they are refused, or left out (--outside). "
    "Repeatable: each zone has the places whose code is its name, and the last one all others, "
    "also all coordinates outside.",
)

_PLACES = (
    option(
        "--from",
        "origins",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of the codes of origins; or two columns with a comma: latitude and longitude "
        "(y,x), or row and column on a grid that lies nowhere.",
    ),
    option(
        "--to",
        "destinations",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of the codes of destinations, or two columns, as for --from.",
    ),
    option(
        "--pings",
        group="Input",
        metavar="LAT,LON",
        help="In place of --from and --to: the two columns of coordinates of records of places, "
        "such as lat,lon, of which stays and trips are made; with --person and --time.",
    ),
    option(
        "--stays",
        group="Input",
        metavar="COLUMN",
        help="In place of --from and --to: the place of a stay, as for --from. A trip leads from a "
        "stay to the next one; with --person and --time.",
    ),
)
"""Options of the columns of places."""

_TIMES = (
    option(
        "--unit",
        group="Privacy",
        type=click.Choice(UNITS),
        default=UNITS[0],
        show_default=True,
        help="What is protected, and whose trips are bounded: a person, or a person in a day, a "
        "week or a month. The shorter the period, the weaker the protection of a person.",
    ),
    option(
        "--time",
        group="Input",
        metavar="COLUMN",
        help="Column of the times at which trips began, for units of periods, hours and day types; "
        "or of pings, or at which stays begin.",
    ),
    option(
        "--end",
        group="Input",
        metavar="COLUMN",
        help="Column of the times at which stays end.  [default: stays have no duration]",
    ),
    option(
        "--time-zone",
        group="Input",
        help="IANA name of the zone of days and hours, such as Asia/Tokyo, if times count from "
        "UTC.",
    ),
)
"""Options of the protected unit, and of times."""

_ROWS = (
    option("--points-crs", group="Input", help="CRS of coordinates, if it is not the grid's."),
    option(
        "--where",
        group="Input",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="Read only the rows with this value; repeatable.",
    ),
    option(
        "--outside",
        group="Input",
        type=click.Choice(("error", "crop", "drop")),
        help="What to do with trips of which an end lies outside the domain.  [default: error]",
    ),
    other_option,
    option("--encoding", group="Input", help="Encoding of text files.  [default: detected]"),
    option("--delimiter", group="Input", help="Delimiter of text files.  [default: detected]"),
    option(
        "--memory",
        group="Run",
        help="Memory limit for trips that are sorted, such as 4GiB; beyond it they are sorted on "
        "disk.  [default: half the machine's]",
    ),
    option(
        "--scratch",
        group="Run",
        type=click.Path(path_type=Path),
        help="Folder for temporary files, on a disk that may hold confidential data.  [default: "
        "the system's]",
    ),
)
"""Options on which rows are read, and how."""

_READING = (
    *_PLACES,
    option(
        "--person",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of person ids; rows without an id are refused. Without it, state the "
        "--contribution.",
    ),
    trips_option,
    option(
        "--per-pair",
        group="Privacy",
        type=click.IntRange(1),
        help="Most trips that are kept of a person between two zones.  [default: --trips]",
    ),
    *_TIMES,
    by_option,
    option(
        "--value",
        group="Input",
        everyday=True,
        metavar="COLUMN",
        help="Column of counts, if a row is several trips; state the --contribution then.",
    ),
    weight_options,
    *_RULES,
    *_ROWS,
)
"""Options that describe trips that are published."""

_CHOOSING = (
    *_PLACES,
    option(
        "--person",
        group="Input",
        everyday=True,
        required=True,
        metavar="COLUMN",
        help="Column of person ids; rows without an id are refused.",
    ),
    option(
        "--largest",
        group="Privacy",
        everyday=True,
        required=True,
        type=click.IntRange(1),
        metavar="TRIPS",
        help="Largest number that may be chosen, public and chosen without the data.",
    ),
    option(
        "--share",
        group="Privacy",
        everyday=True,
        default="0.1",
        show_default=True,
        help="Share of the persons with trips who may have more than the chosen number.",
    ),
    option(
        "--per-pair",
        group="Privacy",
        type=click.IntRange(1),
        help="Most trips that count of a person between two zones.  [default: all]",
    ),
    *_TIMES,
    *_RULES,
    *_ROWS,
)
"""Options that describe trips that are only counted by person."""


def reading_options(command: Command) -> Command:
    """Add the options that describe trips to a command."""
    return add_options(command, _READING)


def prior_options(command: Command) -> Command:
    """Add the options of a prior to a command."""
    return add_options(command, _PRIOR)


@click.group()
def flows() -> None:
    """Release trips between zones, protected by person, with both maps of their ends.

    \b
    geodp flows publish trips.csv --grid jis:basic --bounds tokyo --from o --to d
        --person id --trips 10 --epsilon 1 --output out
    geodp flows plan --grid jis:basic --bounds tokyo --trips 10 --epsilon 1
    geodp flows choose-trips trips.csv ... --person id --largest 100 --epsilon 0.01 --output trips
    geodp flows estimate out --from 5339 --to 5340
    geodp flows compare out-2019 out-2023 --from 5339 --to 5340
    geodp flows report out --output out.html
    """


@flows.command(cls=GridCommand, no_args_is_help=True)
@inputs
@grid_options
@reading_options
@level_option
@label_share_option
@method_option
@prior_options
@option(
    "--contribution",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    help="Most trips of one person in all inputs together, which you assert. Required unless "
    "--person names persons.",
)
@request_options(without=ELSEWHERE)
@folder_options
def publish(**options: Any) -> None:
    """Release the trips of INPUTS between zones, and from and to every zone, under one budget.

    \b
    One row for each trip, with a column of persons; or counted rows:
    geodp flows publish FILE --from O --to D --person ID --trips 10 ...
    geodp flows publish FILE --from O --to D --value N --contribution 10 ...
    geodp flows publish FILE --pings LAT,LON --time T --person ID --trips 10 ...
    geodp flows publish FILE --stays PLACE --time T --person ID --trips 10 ...

    Trips from every zone add up to its released origins, and trips to it to its destinations.
    Writes OUTPUT/public, with a folder for each table, and OUTPUT/restricted. Nothing that depends
    on the data is printed.
    """
    with report_progress(), report_stored_draw(options["output"]):
        message = _publish(options)
    click.echo(message)


@flows.command("choose-trips", cls=GridCommand, no_args_is_help=True)
@inputs
@grid_options
@partial(add_options, options=_CHOOSING)
@request_options(*FIELDS, without=("contribution", "unit"))
@folder_options
def choose_trips(**options: Any) -> None:
    """Choose the most trips of a person by the trips in INPUTS, with a charge of its own.

    \b
    geodp flows choose-trips trips.csv --grid jis:basic --bounds tokyo --from o --to d
        --person id --largest 100 --epsilon 0.01 --output trips

    One of the numbers up to --largest is drawn, so that about a share of the persons has more
    trips. Each person counts once, or each person in a day, a week or a month (--unit). Writes
    OUTPUT/public and OUTPUT/restricted, and prints the option of geodp flows publish, which spends
    a budget of its own.
    """
    run_selection(options, "choose-trips", lambda: _prepare_choice(options), _show_choice)


PLANNED = ("epsilon", "rho", "delta", "neighbours")
"""Fields of a request that a plan of flows accepts."""


@flows.command(cls=GridCommand, no_args_is_help=True)
@grid_options
@option(
    "--trips",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    multiple=True,
    required=True,
    help="Most trips that are kept of a person; repeatable, to compare.",
)
@other_option
@level_option
@by_option
@label_share_option
@method_option
@option(
    "--mean-trips",
    group="Privacy",
    type=float,
    help="A public guess of the mean trips of a person, for the share that each bound keeps.",
)
@request_options(*PLANNED)
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def plan(**options: Any) -> None:
    """Show the noise of a release by the trips of a person, before any data are read.

    \b
    geodp flows plan --grid regular:47x84 --trips 5 --trips 10 --epsilon 1 --mean-trips 7

    Standard errors of the ends of one zone and of noisy pairs of blocks, where nothing is clamped.
    """
    from geodp.features.flows.plan import plan as make_plan

    # A plan reads no inputs, of which a mask or regions might be one.
    options = {**options, "inputs": ()}
    grid, labels = split_grid(options)
    names = ("method", "mean_trips", "label_share", *PLANNED)
    given = {name: options[name] for name in names} | {"by": read_by(options), "labels": labels}
    levels = read_levels(options["level"])
    rows = [make_plan(grid, trips=one, levels=levels, **given) for one in options["trips"]]
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo(f"{'trips':>7}{'kept':>8}{'zone':>10}{'total':>10}   noisy pairs by side of blocks")
    for one in rows:
        kept = "-" if one.retained is None else f"{100 * one.retained:.0f} %"
        ends = ("-" if e is None else f"{e:,.3g}" for e in (one.end_error, one.total_error))
        pairs = ", ".join(f"{side}: {error:,.3g}" for side, error in one.pair_errors.items())
        shown = "".join(f"{text:>10}" for text in ends)
        click.echo(f"{one.trips:>7,}{kept:>8}{shown}   {pairs}{_show_labels(one)}")


def _show_labels(one: PlannedFlows) -> str:
    """Show the noise of counts by label; empty where flows have none."""
    if one.label_error is None:
        return ""
    side, of_pairs = one.label_sides
    return f"; by label {side}, pairs {of_pairs}: {one.label_error:,.3g}"


_FLOWS = (
    option(
        "--from",
        "origins",
        group="Options",
        everyday=True,
        multiple=True,
        metavar="AREA",
        help="Code of an area or of a zone from which trips begin; repeatable, together with --to.",
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


def flow_options(command: Command) -> Command:
    """Add the options that say which flows are estimated to a command."""
    return add_options(command, _FLOWS)


@flows.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@flow_options
@simulations_option
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def estimate(**options: Any) -> None:
    """Estimate trips between areas of a RELEASE, or across lines; costs no budget.

    \b
    geodp flows estimate out --from 5339 --to 5340 --from 5340 --to 5339
    geodp flows estimate out --polygons cities.geojson
    geodp flows estimate out --across river.geojson

    All have 95 % intervals. Between at most 32 polygons, all pairs are estimated. Across a line,
    trips from its left to its right, as seen along it, from its right to its left, and both
    together; zones lie where their centres do.
    """
    require_named(options)
    _require_what(options)
    release = _open(options["release"])
    with report_progress():
        rows = _estimate(release, options)
    if options["as_json"]:
        document = [{"from": start, "to": end, **asdict(one)} for start, end, one in rows]
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(_tabulate(rows, release.flows.card().display_below)))


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


Row = tuple[str, str, "Estimate"]
"""Names of both ends, and the estimate."""


def _estimate(release: Flows, options: Mapping[str, Any]) -> list[Row]:
    """Estimate what is asked for."""
    simulations, labels = options["simulations"], _read_wanted(options["labels"])
    asked = _list_groups(release, options)
    found = release.estimate_groups(
        [group for _, _, group in asked], simulations=simulations, labels=labels
    )
    return [(start, end, one) for (start, end, _), one in zip(asked, found, strict=True)]


def _list_groups(
    release: Flows, options: Mapping[str, Any]
) -> list[tuple[str, str, list[tuple[Any, Any]]]]:
    """List the flows that are asked for: names of both ends, and pairs of regions."""
    grid = release.origins.grid
    if options["across"] is not None:
        from geodp.features.flows.screenlines import divide_zones, read_lines

        rows = []
        for name, line in read_lines(options["across"], grid).items():
            left, right = divide_zones(grid, line)
            there, back = (left, right), (right, left)
            ends = f"{name}: left", f"{name}: right"
            rows += [(*ends, [there]), (*ends[::-1], [back])]
            rows.append((f"{name}: either side", f"{name}: the other", [there, back]))
        return rows
    names = [*zip(options["origins"], options["destinations"], strict=True)]
    regions: dict[str, Any] = {code: code for pair in names for code in pair}
    if options["polygons"] is not None:
        from geodp.features.flows.regions import find_named, ground_of
        from geodp.io.read.public.polygons import read_polygons

        name = options["polygon_name"]
        shapes = read_polygons(options["polygons"], ground_of(grid), name=name)
        if len(shapes) > MOST_POLYGONS:
            raise UsageError(
                f"Flows are estimated between at most {MOST_POLYGONS} polygons, as all pairs of "
                "them are.",
                code="flows-polygons-many",
            )
        regions = find_named(grid, shapes)
        names = [(start, end) for start in regions for end in regions]
    return [(start, end, [(regions[start], regions[end])]) for start, end in names]


def _read_wanted(texts: Sequence[str]) -> dict[str, list[str]]:
    """Read the labels to estimate by attribute; UsageError for another form than NAME=LABEL."""
    wanted: dict[str, list[str]] = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not equals:
            raise UsageError("--label takes NAME=LABEL.", code="flows-label-form")
        wanted.setdefault(name.strip(), []).append(label.strip())
    return wanted


def _open(path: Path) -> Flows:
    """Open a written release of flows; UsageError for another one."""
    from geodp.features.flows.flows import Flows
    from geodp.release.opening import open_written

    release = open_written(path)
    if not isinstance(release, Flows):
        raise UsageError(
            "This is no release of flows; geodp estimate and geodp report know others.",
            code="flows-release-expected",
        )
    return release


def _tabulate(rows: Sequence[Row], limit: int | None) -> list[str]:
    """Return the lines of a table of estimates; ``limit``: the office's limit of display."""
    from geodp.table.display import show_count, show_interval

    width = max(6, *(len(name) for row in rows for name in row[:2]))
    lines = [f"{'from':<{width}}  {'to':<{width}}  {'trips':>12}  {'95 % interval':>25}"]
    for start, end, one in rows:
        interval = show_interval(one.count, one.low, one.high, limit)
        count = show_count(one.count, limit)
        lines.append(f"{start:<{width}}  {end:<{width}}  {count:>12}  {interval:>25}")
    return lines


@flows.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("releases", nargs=-1, required=True, type=click.Path(path_type=Path))
@flow_options
@simulations_option
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def compare(**options: Any) -> None:
    """Compare two flows of a release, or the same flows in two RELEASES; costs no budget.

    \b
    geodp flows compare out --from 5339 --to 5340 --from 5340 --to 5339
    geodp flows compare out-2019 out-2023 --from 5339 --to 5340
    geodp flows compare out-2019 out-2023 --across river.geojson

    Differences of trips, the second less the first, have 95 % intervals; a star marks those that
    noise and model do not explain. In both releases the same unit must be protected, and as many
    trips of each counted.
    """
    require_named(options)
    _require_what(options)
    releases = [_open(path) for path in options["releases"]]
    with report_progress():
        rows = _compare(releases, options)
    limits = [one.flows.card().display_below for one in releases]
    # A difference would reveal the trips that a limit of display hides.
    below = [_is_hidden(one, limits) for _, one in rows]
    if options["as_json"]:
        document = [
            {"name": name, **asdict(one.difference), **mark_below(hidden, limits)}
            for (name, one), hidden in zip(rows, below, strict=True)
        ]
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    width = max(len("flows"), *(len(name) for name, _ in rows))
    click.echo(f"{'flows':<{width}}  {'difference':>12}  {'95 % interval':>25}")
    for (name, one), hidden in zip(rows, below, strict=True):
        click.echo(f"{name:<{width}}  {_show_difference(one, hidden)}")


def _compare(releases: Sequence[Flows], options: Mapping[str, Any]) -> list[tuple[str, Compared]]:
    """Compare what is asked for; UsageError for other numbers of releases or of flows."""
    from geodp.features.flows.comparison import Side, Simulation

    asked = _list_groups(releases[0], options)
    if len(releases) > 2 or (len(releases) == 1 and len(asked) != 2):
        raise UsageError(
            "Compare exactly two flows of one release (--from and --to, twice), or the same flows "
            "in two releases.",
            code="flows-compare-two",
        )
    labels, how = _read_wanted(options["labels"]), Simulation(options["simulations"])
    sides = [Side(group, labels) for _, _, group in asked]
    names = [f"{start} to {end}" for start, end, _ in asked]
    if len(releases) == 1:
        return [(" - ".join(names[::-1]), releases[0].compare_sides(sides[0], sides[1], how))]
    first, second = releases
    found = first.compare_all(second, [(one, one) for one in sides], how)
    return [*zip(names, found, strict=True)]


def _is_hidden(one: Compared, limits: Sequence[int | None]) -> bool:
    """Return whether an office's limit of display hides one of two compared flows."""
    from geodp.table.display import is_below

    return any(is_below(each.count, limit) for each in one[:2] for limit in limits)


def _show_difference(one: Compared, hidden: bool) -> str:
    """Show a difference with its interval, rounded outwards."""
    if hidden:
        return f"{'-':>12}  {'-':>25}"
    apart = one.difference
    ends = f"{math.floor(apart.low):+,} to {math.ceil(apart.high):+,}"
    return f"{apart.value:>+12,}  {ends:>25}{'  *' if apart.is_certain else ''}"


@flows.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@page_options
@option(
    "--from",
    "begins",
    group="Domain",
    everyday=True,
    metavar="AREA",
    help="Code of an area, or name of one of --places: the page is about trips out of it alone.",
)
@option(
    "--to",
    "ends",
    group="Domain",
    everyday=True,
    metavar="AREA",
    help="Area or place: the page is about trips into it alone; with --from, about both ways.",
)
@option(
    "--places",
    group="Domain",
    type=click.Path(path_type=Path),
    help="Public list of at most 100 places, as of geodp report --places. Default: areas of the "
    "grid's codes, or squares.",
)
@place_name_option
@simulations_option
def report(release: Path, output: Path, **options: Any) -> None:
    """Write a page on trips out of and into places of a RELEASE; costs no budget.

    \b
    geodp flows report out --output out.html
    geodp flows report out --from 533945 --language ja --output out.html
    geodp flows report out --places towns.geojson --output out.html

    One HTML file with maps, the largest flows of every place with 95 % intervals, and the
    guarantee in plain words. It loads nothing from the network.
    """
    from geodp.features.flows.page import write_page
    from geodp.features.flows.regions import ground_of

    require_list(options["places"], options["place_name"])
    require_unsealed(output)
    opened = _open(release)
    ground = ground_of(opened.origins.grid)
    named = read_list(options["places"], ground, options["place_name"])
    write_html(
        output,
        lambda: write_page(
            opened,
            options["language"],
            named,
            origin=options["begins"],
            destination=options["ends"],
            simulations=options["simulations"],
        ),
    )


@flows.command(cls=GridCommand, no_args_is_help=True)
@query_options
@option(
    "--points",
    group="Input",
    nargs=2,
    default=("from_lon", "from_lat"),
    show_default=True,
    help="Columns of x and y of where a trip begins, in the grid's CRS.",
)
@option(
    "--points-to",
    "to",
    group="Input",
    nargs=2,
    default=("to_lon", "to_lat"),
    show_default=True,
    help="Columns of x and y of where it ends.",
)
@option(
    "--table",
    group="Input",
    default="trips",
    show_default=True,
    help="Table expression for the trips, inserted as it is.",
)
@option(
    "--person",
    group="Input",
    everyday=True,
    required=True,
    metavar="COLUMN",
    help="Column of person ids. Trips without one are left out.",
)
@option(
    "--trips",
    group="Privacy",
    everyday=True,
    required=True,
    type=click.IntRange(1),
    help="Most trips that are kept of a person, chosen by a hash of the person's own trips. The "
    "noise grows with it.",
)
@option(
    "--per-pair",
    group="Privacy",
    type=click.IntRange(1),
    help="Most trips that are kept of a person between two zones.  [default: --trips]",
)
def sql(spec: str, bounds: Any, engine: str, points: tuple[str, str], **options: Any) -> None:
    """Print an SQL query that bounds the trips of persons, and counts them by pair of zones.

    \b
    geodp flows sql --grid jis:basic --engine duckdb --person id --trips 10 > flows.sql

    Which trips are kept depends on the person's own rows and a secret in the query alone: keep the
    query as you keep the data. The result is a confidential table with the columns origin,
    destination and geodp_records; a comment in the query shows how to publish it.
    """
    from geodp.features.flows.query import FlowQuery, draw_secret
    from geodp.grid.codes.sql import RECORDS

    place, records = locate_records(spec, bounds, options["table"], points)
    trips, to = options["trips"], options["to"]
    query = FlowQuery(
        **records,
        to=to,
        person=options["person"],
        trips=trips,
        per_pair=options["per_pair"] or trips,
        secret=draw_secret(),
    )
    written = query.write(engine)
    edges = " ".join(f"{edge:.17g}" for edge in place.bounds)
    click.echo(
        f"-- {', '.join((*points, to[0]))} and {to[1]} are coordinates in {place.crs}; trips with "
        "an end outside the domain, or without a person, are left out.\n"
        f"-- Then: geodp flows publish flows.parquet --grid {spec} --bounds {edges} --from origin "
        f"--to destination --value {RECORDS} --contribution {trips} ...\n{written}"
    )


COMMAND = flows


def read_levels(texts: Sequence[str]) -> dict[int, str] | None:
    """Read the levels of a command; None without one, UsageError for another form."""
    from geodp.features.flows.design import LEVELS_FORM

    levels: dict[int, str] = {}
    for text in texts:
        side, equals, share = (part.strip() for part in text.partition("="))
        if not equals or not side.isdecimal() or int(side) in levels:
            raise UsageError(LEVELS_FORM)
        levels[int(side)] = share
    return levels or None


def read_by(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the columns of the attributes of ``--by``; an empty one has the attribute's name."""
    from geodp.features.flows.reading.labels import split_names

    texts = split_names(options["attributes"])
    parts = [text.partition("=") for text in texts]
    return {name.strip(): column.strip() for name, _, column in parts}


def split_grid(options: Mapping[str, Any]) -> tuple[Grid, dict[str, tuple[str, ...]]]:
    """Return the grid of zones, and the labels of ``--labels`` by attribute."""
    for path in open_labels(options).values():
        if is_input(Path(path), options["inputs"]):
            raise UsageError(
                "The labels are read from the trips; a list of labels must be public.",
                code="flows-labels-are-input",
            )
    labels = {one.name: one.labels for one in read_attributes(options)}
    grid = grid_of({**options, "labels": ()})
    if options["other"]:
        from geodp.features.flows.reading.reader import find_other

        find_other(grid, options["other"])
    return grid, labels


def _publish(options: dict[str, Any]) -> str:
    """Publish, and return the message for the operator."""
    complete_with_commit()
    (grid, labels), levels = split_grid(options), read_levels(options["level"])
    # The prior of a request is one of counts, and is read from another kind of file.
    request = read_request(options, grid, method=options["method"], prior=None)
    reader = _make_reader(options, grid, request, labels)
    if options["resume"]:
        return _write(options, reader, request)
    from geodp.features.flows.publish import prepare_flows
    from geodp.io.folder.staging import require_free, require_uninterrupted
    from geodp.release.preview import list_warnings

    require_free(options["output"], overwrite=options["overwrite"])
    require_uninterrupted(options["output"])
    # A public file: what is wrong with it is told before trips are read.
    prior = read_prior(options, grid)
    progress.begin("Reading")
    table = reader.read(_paths(options))
    prepared = prepare_flows(table, request, levels, options["label_share"], prior)
    for sentence in list_warnings(prepared.preview.origins):
        click.echo(f"Warning: {sentence}", err=True)
    return _write(options, reader, request, prepared)


def read_prior(options: Mapping[str, Any], grid: Grid) -> FlowsPrior | None:
    """Read and declare the prior of the options, if any, of a release on a grid of zones."""
    from geodp.features.flows.declaring import declare_prior
    from geodp.features.flows.reading.trips import Trips
    from geodp.features.flows.zones import Zones

    path, source = options["prior"], options["prior_source"]
    if path is None:
        if source is not None or options["prior_value"] is not None:
            raise UsageError(
                "--prior-source and --prior-value describe a prior: name it (--prior).",
                code="flows-prior-missing",
            )
        return None
    if is_input(path, options["inputs"]):
        raise UsageError(
            "The prior is one of the inputs; it must be public, and not be made from them.",
            code="flows-prior-is-input",
        )
    zones = Zones.of(grid)
    if path.is_dir():
        return declare_prior(zones, _open(path), source)
    ends = [_place(options[name]) for name in ("origins", "destinations")]
    if None in ends:
        raise UsageError(
            "A file of a prior has one row for each trip or flow: name the columns of both ends "
            "(--from, --to), or give the folder of a release of flows.",
            code="flows-prior-places",
        )
    trips = Trips(
        grid=grid,
        origin=ends[0],
        destination=ends[1],
        value=options["prior_value"] or options["value"],
        crs=options["points_crs"],
        outside=options["outside"],
        other=options["other"],
        memory=options["memory"],
        scratch=options["scratch"],
        options=opening_of_public(options, "prior"),
    )
    return declare_prior(zones, trips.read([path]), source)


def _prepare_choice(options: dict[str, Any]) -> Ready:
    """Read the inputs, and prepare the choice of the most trips of a unit."""
    from geodp.features.flows.choice import (
        count_units,
        prepare_choice,
        require_largest,
        require_quantile,
    )

    q, largest = require_quantile(options["share"]), require_largest(options["largest"])
    grid, labels = split_grid(options)
    if labels:
        raise UsageError(
            "Trips of a person are counted whatever their labels: leave --labels out.",
            code="flows-choice-labels",
        )
    request = read_request(options, grid)
    # Of the bound it is only required that there is one.
    given = {**options, "trips": largest, "value": None, "attributes": None}
    given |= dict.fromkeys(RULES["trips"])
    reader = _make_reader(given, grid, request, {})
    progress.begin("Reading")
    table = count_units(reader, _paths(options), largest)
    facts = {"units": int(table.count.sum())}
    return prepare_choice(table, q, request), facts


def _show_choice(card: Card) -> Shown:
    """Say which option of a release was chosen."""
    from geodp.features.flows.choice import find_trips

    trips = find_trips(card.chosen)
    use = f"Use --trips {trips} with geodp flows publish."
    return Shown([translate_message(use)], {"trips": trips})


def _paths(options: Mapping[str, Any]) -> list[Any]:
    """Return the inputs of a call."""
    return [*options["inputs"]]


def _make_reader(
    options: dict[str, Any], grid: Grid, request: Request, labels: Mapping[str, Sequence[str]]
) -> Any:
    """Make the reader of trips, stays or pings from the options."""
    where = dict(_split_where(text) for text in options["where"])
    opening = {name: options[name] for name in ("encoding", "delimiter")}
    form = _find_form(options)
    common = {name: options[name] for name in COMMON} | {
        "grid": grid,
        "crs": options["points_crs"],
        "where": where,
        "by": read_by(options),
        "labels": labels,
        "key": request.key,
        "options": {name: one for name, one in opening.items() if one is not None},
    }
    rules = {name: options[name] for name in RULES[form]}
    # Imported when a command reads rows of this form.
    if form == "pings":
        from geodp.features.flows.reading.pings import Pings

        return Pings(place=_place(options["pings"]), **rules, **common)
    if form == "stays":
        from geodp.features.flows.reading.stays import Stays

        return Stays(place=_place(options["stays"]), **rules, **common)
    from geodp.features.flows.reading.bounding import TRIPS_MISSING
    from geodp.features.flows.reading.trips import Trips

    # Readers of stays and pings refuse it themselves.
    if options["person"] is not None and options["trips"] is None:
        raise UsageError(TRIPS_MISSING)
    ends = [_place(options[name]) for name in ("origins", "destinations")]
    return Trips(
        origin=ends[0],
        destination=ends[1],
        value=options["value"],
        **rules | {"max_weight": 1 if rules["max_weight"] is None else rules["max_weight"]},
        **common,
    )


COMMON = (
    *("person", "trips", "per_pair", "unit", "time", "time_zone"),
    *("outside", "other", "memory", "scratch"),
)
"""Options that readers of all forms have under the same name."""

RULES = {
    "trips": ("weight", "max_weight", "raked_to"),
    "stays": ("end", "gap"),
    "pings": ("radius", "dwell", "gap", "speed", "accuracy", "largest_accuracy"),
}
"""Forms of rows, and the options of rules that are for these alone."""


def _find_form(options: Mapping[str, Any]) -> str:
    """Return the form of the rows; UsageError for several, or for rules of another one."""
    named = {
        "trips": any(options[name] is not None for name in ("origins", "destinations", "value")),
        "stays": options["stays"] is not None,
        "pings": options["pings"] is not None,
    }
    if sum(named.values()) > 1:
        raise UsageError(
            "Rows are of one form: trips (--from and --to, perhaps --value), stays (--stays) or "
            "pings (--pings).",
            code="flows-forms-several",
        )
    form = next((one for one, is_named in named.items() if is_named), "trips")
    known = {name for names in RULES.values() for name in names}
    if any(options[name] is not None for name in known.difference(RULES[form])):
        raise UsageError(
            "--radius, --dwell, --speed, --accuracy and --largest-accuracy are for --pings, --end "
            "is for --stays, --gap for both, and --weight, --max-weight and --raked-to for trips: "
            "leave out what is for rows of another form.",
            code="flows-rules-unused",
        )
    return form


def _split_where(text: str) -> tuple[str, str]:
    """Split COLUMN=VALUE; UsageError without the sign."""
    column, equals, value = text.partition("=")
    if not equals:
        raise UsageError("--where takes COLUMN=VALUE.", code="flows-where-form")
    return column, value


def _place(text: str | None) -> str | tuple[str, str] | None:
    """Return one column, or two that a comma separates."""
    if text is None or "," not in text:
        return text
    first, _, second = text.partition(",")
    return first.strip(), second.strip()


def _write(
    options: dict[str, Any],
    reader: Trips,
    request: Request,
    prepared: PreparedFlows | None = None,
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.features.flows.files import StagedFlows

    overwrite, resume = options["overwrite"], options["resume"]
    if prepared is not None:
        prepared.preview.check_place(options["output"], overwrite=overwrite)
    with StagedFlows.stage(options["output"], overwrite=overwrite, resume=resume) as place:
        if prepared is None:
            release, run = _resume(place, reader, request, options)
        else:
            release, run = _release(place, prepared, options)
        written = release.write_into(place, run)
    return _format_result(release, written, options)


def _release(
    place: StagedFlows, prepared: PreparedFlows, options: dict[str, Any]
) -> tuple[Flows, dict[str, Any]]:
    """Draw, store the draw before the charge, and return it with the operator's record."""
    from geodp.features.flows.pending import pack_drawn

    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_pairs": int(prepared.table.key.size),
    }

    def pack(drawn: DrawnFlows) -> Packed:
        return pack_drawn(drawn, prepared.preview)

    # Formats and disk space fail here, before the charge, and not after it.
    place.try_out(
        prepared.preview.tables,
        (prepared.plan.empty_pairs, prepared.plan.empty_labels, prepared.preview.prior),
    )
    call = describe_call(options)
    with store_before_charge(place.folder, prepared.request, call, run, pack) as keep:
        release = prepared.release(keep)
    return release, run


def _resume(
    place: StagedFlows, reader: Trips, request: Request, options: dict[str, Any]
) -> tuple[Flows, dict[str, Any]]:
    """Restore the release of an interrupted run, which was charged, with the operator's record."""
    from geodp.features.flows.pending import restore_flows
    from geodp.io.folder.pending import read_pending_draw
    from geodp.release.charging import find_charge

    stored = read_pending_draw(place.folder, describe_call(options))
    charge = find_charge(request.ledger, stored.dataset, stored.fingerprint)
    attributes = reader.labelled.attributes
    release = restore_flows(stored, reader.grid, attributes, request, place.folder, charge)
    return release, dict(stored.run)


def _format_result(release: Flows, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Format the final message of a run."""
    promise = release.index.guarantee
    if options["as_json"]:
        document = {
            "output": str(options["output"]),
            **written,
            "unit": promise.unit,
            "trips": promise.contribution,
            "spends": promise.spends,
            "method": promise.mechanism,
            "private": release.index.private,
        }
        return json.dumps(document, ensure_ascii=False, indent=1)
    public, restricted = options["output"] / "public", options["output"] / "restricted"
    lines = (
        f"Published in {public}; for the operator only: {restricted}",
        promise.in_words,
    )
    return "\n".join(map(translate_message, lines))
