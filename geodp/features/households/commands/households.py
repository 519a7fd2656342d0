"""``geodp households``: persons and households, read, released and written together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check, check_options, describe_domain, write_check_file
from geodp.cli.commands.sql import locate_records, query_options
from geodp.cli.comparing import mark_below, pair_regions
from geodp.cli.draw_storage import Packed
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.layout import complete, layout_options
from geodp.cli.options import (
    GridCommand,
    StrictCommand,
    find_inputs,
    folder_options,
    grid_options,
    inputs,
)
from geodp.cli.output import require_unsealed
from geodp.cli.pages import (
    page_options,
    place_name_option,
    read_list,
    read_notice,
    require_list,
    write_html,
)
from geodp.cli.publishing import draw_in, read_charged_draw, write_release
from geodp.cli.readers import ReadingCommand, check_applicable, make_reader, read
from geodp.cli.regions import AREA, POLYGON_NAME, polygons_option, read_regions, require_named
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out, format_result, time_phase
from geodp.errors import UsageError, VerificationError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.households.comparison import HouseholdDifference
    from geodp.features.households.estimates import HouseholdEstimate
    from geodp.features.households.files import StagedHouseholds
    from geodp.features.households.households import Households
    from geodp.features.households.publish import PreparedSizes, PreparedStreams
    from geodp.grid.grid import Grid
    from geodp.io.write.map.captions import Language
    from geodp.release.request import Request
    from geodp.table.counts import CountTable
    from geodp.table.stated.reading import StatedReading

    Prepared = PreparedStreams | PreparedSizes


ELSEWHERE = (
    "method",
    "contribution",
    "unit",
    "measurements",
    "totals",
    "prior",
    "simulate",
)
"""Fields of a request that this release does not have, or has in another form."""


protect_option = option(
    "--protect",
    group="Privacy",
    everyday=True,
    type=click.Choice(("person", "household")),
    required=True,
    help="Whom the guarantee protects: a person, so that a household of k has k times epsilon; or "
    "a household, counted by size, which costs accuracy and gives a person epsilon, too.",
)
max_size_option = option(
    "--max-size",
    group="Privacy",
    everyday=True,
    type=click.IntRange(2, 100),
    default=7,
    show_default=True,
    help="Most persons of a household. Larger households by size are counted as of this size.",
)
method_option = option(
    "--method",
    group="Privacy",
    help="Method of persons and households, if persons are protected: pyramid, with settings "
    "after a colon.  [default: pyramid]",
)


@click.group()
def households() -> None:
    """Release persons and households of the same cells, possible in every area.

    \b
    geodp households publish FILE --value PERSONS --households HOUSEHOLDS
        --protect person --epsilon 1 --contribution 1 --output out
    geodp households plan --grid jis:half ... --protect person --epsilon 1 --people 2e7
    geodp households estimate out --area 5339
    geodp households report out --output out.html
    """


@households.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@layout_options
@partial(grid_options, required=False)
@protect_option
@option(
    "--households",
    "of_households",
    group="Input",
    everyday=True,
    metavar="COLUMN",
    help="Column of households; --value is then that of the persons who live in them.",
)
@option(
    "--households-file",
    group="Input",
    everyday=True,
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    callback=find_inputs,
    help="File of households, if INPUTS are those of persons; repeatable.",
)
@option(
    "--others",
    group="Input",
    metavar="COLUMN",
    help="Column of persons outside households, such as those in institutions, if persons are "
    "protected: a table of its own, at no further cost.",
)
@option(
    "--others-file",
    group="Input",
    metavar="FILE",
    multiple=True,
    type=click.Path(),
    callback=find_inputs,
    help="File of persons outside households; repeatable.",
)
@option(
    "--household",
    "household_id",
    group="Input",
    everyday=True,
    metavar="COLUMN",
    help="With --points: column of household ids. Every row is one person, at the place of the "
    "household, which geodp counts by size.",
)
@option(
    "--rows-are-persons",
    group="Input",
    is_flag=True,
    help="With --household: assert that every row is one person, where a column is named for the "
    "size of a household.",
)
@option(
    "--size-attribute",
    group="Input",
    metavar="NAME",
    help="Attribute of households by size, if it is not named size or household-size.",
)
@max_size_option
@method_option
@option(
    "--contribution",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    help="In how many households one person is counted at most, or how often a household, which "
    "you assert: 1, usually. Required unless a household is protected and --household names it.",
)
@request_options(without=ELSEWHERE)
@folder_options
@check_options
def publish(**options: Any) -> None:
    """Release persons and households of INPUTS under one budget, so that every area is possible.

    \b
    Two columns, two files, households by size, or records of persons:
    geodp households publish FILE --value PERSONS --households HOUSEHOLDS ...
    geodp households publish FILE --households-file FILE ...
    geodp households publish FILE --by size ...
    geodp households publish FILE --points --x LON --y LAT --household ID ...

    In every cell, and so in every area, households are at most persons, and persons at most
    --max-size for each household. Leave persons outside households out. Writes OUTPUT/public, with
    a folder for each table, and OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    carry_out(options, _publish)


PLANNED = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of persons and households accepts."""


@households.command(cls=GridCommand, no_args_is_help=True)
@grid_options
@protect_option
@max_size_option
@method_option
@option(
    "--contribution",
    group="Privacy",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="In how many households one person is counted at most, or how often a household.",
)
@option(
    "--mean-size",
    group="Privacy",
    type=float,
    default=2.3,
    show_default=True,
    help="With --people: a public guess of persons for each household.",
)
@request_options(*PLANNED)
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def plan(**options: Any) -> None:
    """Show errors of persons, households and mean size by area, before any data are read.

    \b
    geodp households plan --grid jis:half --bounds 139 35 140 36 --protect person
        --epsilon 1 --people 2e7

    Standard errors of blocks of cells where nothing is clamped. That of the mean size needs a
    guess of all --people; if households are protected, errors of persons depend on their sizes.
    """
    from geodp.features.households.plan import plan as make_plan

    names = ("protect", "max_size", "method", "contribution", "mean_size", *PLANNED)
    rows = make_plan(grid_of({**options, "inputs": ()}), **{name: options[name] for name in names})
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo(f"{'cells':>13}{'persons':>12}{'households':>12}{'mean size':>12}")
    for one in rows:
        errors = (one.persons, one.households, one.mean_size)
        shown = ("-" if error is None else f"{error:,.3g}" for error in errors)
        click.echo(f"{one.cells:>13,}" + "".join(f"{text:>12}" for text in shown))


@households.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@polygons_option("--polygons")
@POLYGON_NAME
@AREA
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def estimate(**options: Any) -> None:
    """Estimate persons, households and mean size of regions of a RELEASE; costs no budget.

    \b
    geodp households estimate out --area 5339 --area 5340
    geodp households estimate out --polygons cities.geojson

    All three have 95 % intervals. A region that may have no household, or any mean size, has none
    of the latter.
    """
    if options["polygons"] is None and not options["area"]:
        raise UsageError("Name what to estimate: --polygons or --area.", code="estimate-what")
    require_named(options)
    release = _open(options["release"])
    regions = read_regions(options, release.households)
    estimates = dict(zip(regions, release.estimate_all(regions.values()), strict=True))
    limit = release.persons.card().display_below
    if options["as_json"]:
        document = [
            {"name": name, **asdict(one), **mark_below(one.is_below(limit), [limit])}
            for name, one in estimates.items()
        ]
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(_tabulate(estimates, limit)))


@households.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("releases", nargs=-1, required=True, type=click.Path(path_type=Path))
@polygons_option("--polygons")
@POLYGON_NAME
@AREA
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def compare(**options: Any) -> None:
    """Compare two regions of a release, or the same regions in two RELEASES; costs no budget.

    \b
    geodp households compare out --area 533945 --area 533904
    geodp households compare out-2015 out-2020 --polygons cities.geojson

    Differences of persons, households and mean size, the second less the first, have 95 %
    intervals. Those between regions of one release are bounds, as their errors may be opposite.
    """
    from geodp.features.households.comparison import compare as subtract

    releases = [_open(path) for path in options["releases"]]
    require_named(options)
    regions = read_regions(options, releases[0].households)
    counts = [one.households for one in releases]
    limits = [one.card().display_below for one in counts]
    named = pair_regions([*regions], counts)
    found = [one.estimate_all(regions.values()) for one in releases]
    pairs = {name: (found[i][a], found[j][b]) for name, ((i, a), (j, b)) in named.items()}
    rows = {name: subtract(*pair, independent=len(releases) == 2) for name, pair in pairs.items()}
    # A difference would reveal the count that a limit of display hides.
    below = {
        name: any(
            one.is_below(limits[place[0]]) for one, place in zip(pairs[name], two, strict=True)
        )
        for name, two in named.items()
    }
    if options["as_json"]:
        document = [
            {"name": name, **asdict(one), **mark_below(below[name], limits)}
            for name, one in rows.items()
        ]
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return
    click.echo("\n".join(_tabulate_differences(rows, below)))


def _tabulate_differences(
    rows: dict[str, HouseholdDifference], below: dict[str, bool]
) -> Iterator[str]:
    """Yield the lines of a table of differences; ``below``: those that are not shown."""
    width = max(len("regions"), *map(len, rows))
    decimals = {"persons": 0, "households": 0, "mean size": 3}
    columns = "".join(f"  {head:>12}  {'95 % interval':>25}" for head in decimals)
    yield f"{'regions':<{width}}{columns}"
    for name, row in rows.items():
        cells = []
        for one, places in zip(
            (row.persons, row.households, row.mean_size), decimals.values(), strict=True
        ):
            if one is None or below[name]:
                cells += [f"{'-':>12}", f"{'-':>25}"]
                continue
            ends = _write_ends(one.low, one.high, places, "+")
            cells += [f"{one.value:>+12,.{places}f}", f"{ends:>25}"]
        yield f"{name:<{width}}  {'  '.join(cells)}"


def _write_ends(low: float, high: float, decimals: int, sign: str = "") -> str:
    """Write an interval, rounded outwards."""
    unit = 10**decimals
    ends = (math.floor(low * unit) / unit, math.ceil(high * unit) / unit)
    return " to ".join(f"{end:{sign},.{decimals}f}" for end in ends)


@households.command(cls=StrictCommand, no_args_is_help=True)
@click.argument("release", type=click.Path(path_type=Path))
@page_options
@option(
    "--places",
    group="Domain",
    type=click.Path(path_type=Path),
    help="Public list of places, as of geodp report --places. Default: areas of the grid's codes "
    "or of the release's table of regions.",
)
@place_name_option
def report(
    release: Path, output: Path, language: Language, places: Path | None, place_name: str | None
) -> None:
    """Write a page on persons, households and mean sizes of a RELEASE; costs no budget.

    \b
    geodp households report out --output out.html
    geodp households report out --places municipalities.geojson --language ja --output out.html

    One HTML file with maps, a table of places with 95 % intervals, and the guarantee in plain
    words. It loads nothing from the network.
    """
    from geodp.features.households.page import write_page

    require_list(places, place_name)
    require_unsealed(output)
    opened = _open(release)
    named = read_list(places, opened.households.grid, place_name)
    write_html(output, lambda: write_page(opened, language, named, read_notice(release)))


def _open(path: Path) -> Households:
    """Open a written release of persons and households; UsageError for another one."""
    from geodp.features.households.households import Households
    from geodp.release.opening import open_written

    release = open_written(path)
    if not isinstance(release, Households):
        raise UsageError(
            "This is no release of persons and households; geodp estimate and geodp report know "
            "others.",
            code="households-release-expected",
        )
    return release


def _tabulate(estimates: dict[str, HouseholdEstimate], limit: int | None) -> Iterator[str]:
    """Yield the lines of a table of estimates, in which small counts are shown as the office does.

    ``limit``: the office's limit of display, if it has one.
    """
    from geodp.table.display import show_count, show_interval

    width = max(len("region"), *map(len, estimates))
    heads = ("persons", "households", "mean size")
    columns = "".join(f"  {head:>12}  {'95 % interval':>25}" for head in heads)
    yield f"{'region':<{width}}{columns}"
    for name, one in estimates.items():
        cells = []
        for sums in (one.persons, one.households):
            interval = show_interval(sums.count, sums.low, sums.high, limit)
            cells += [f"{show_count(sums.count, limit):>12}", f"{interval:>25}"]
        size = one.mean_size
        if size is None or one.is_below(limit):
            cells += [f"{'-':>12}", f"{'-':>25}"]
        else:
            cells += [f"{size.value:>12.2f}", f"{_write_ends(size.low, size.high, 2):>25}"]
        yield f"{name:<{width}}  {'  '.join(cells)}"


@households.command(cls=GridCommand, no_args_is_help=True)
@query_options
@option(
    "--points",
    group="Input",
    nargs=2,
    default=("lon", "lat"),
    show_default=True,
    help="Columns of x and y of the household's place, in the grid's CRS.",
)
@option(
    "--table",
    group="Input",
    default="records",
    show_default=True,
    help="Table expression for the records, one row a person, inserted as it is.",
)
@option(
    "--household",
    group="Input",
    everyday=True,
    required=True,
    metavar="COLUMN",
    help="Column of household ids. Records without one are left out.",
)
@max_size_option
def sql(spec: str, bounds: Any, engine: str, points: tuple[str, str], **options: Any) -> None:
    """Print an SQL query that counts households by cell and size, to run where the data are.

    \b
    geodp households sql --grid jis:quarter --engine duckdb --household id > sizes.sql

    The query fails where records of a household lie in two cells. The result is a confidential
    table with the columns code, size and geodp_households; a comment in the query shows how to
    publish it.
    """
    from geodp.features.households.query import HOUSEHOLDS, SIZE, HouseholdQuery

    place, records = locate_records(spec, bounds, options["table"], points)
    query = HouseholdQuery(**records, person=options["household"], max_size=options["max_size"])
    edges = " ".join(f"{edge:.17g}" for edge in place.bounds)
    labels = ",".join(map(str, range(1, query.max_size + 1)))
    click.echo(
        f"-- {' and '.join(points)} are coordinates in {place.crs}; records outside the domain, "
        "without coordinates or\n-- without a household are left out, and are no members: give "
        "each record the place of its household.\n"
        f"-- Then: geodp households publish sizes.parquet --grid {spec} --bounds {edges} "
        f"--code code --by {SIZE} --column {SIZE}={SIZE} --labels {SIZE}={labels} "
        f"--value {HOUSEHOLDS} --contribution 1 ..."
        f"\n{query.write(engine)}"
    )


COMMAND = households


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish, and return the message for the operator; ``seconds`` gets those of each phase."""
    from geodp.features.households.kind import HouseholdsKind

    context = click.get_current_context()
    inferred = complete(context, options)
    check_applicable(context)
    complete_with_commit()
    options["unit"] = options["protect"]
    grid = grid_of(options)
    _require_columns(options, grid)
    asked = begin_check(options)
    request = read_request(asked, grid, method=options["method"], kind=HouseholdsKind())
    if options["resume"]:
        return _write(options, grid, request, seconds, inferred=inferred)
    from geodp.features.households.publish import prepare_households
    from geodp.io.folder.staging import require_free, require_uninterrupted
    from geodp.release.preview import list_warnings

    require_free(options["output"], overwrite=options["overwrite"])
    require_uninterrupted(options["output"])
    with time_phase("Reading", "reading", seconds):
        tables = (*_read(options, grid, request), _read_others(options, grid, request))
        prepared = prepare_households(
            *tables, options["max_size"], request, size_attribute=options["size_attribute"]
        )
    for sentence in list_warnings(prepared.preview.households):
        click.echo(f"Warning: {sentence}", err=True)
    if options["check"]:
        return _write_check(options, tables, prepared)
    return _write(options, grid, request, seconds, prepared, inferred=inferred)


TABLES = ("persons", "households", "households_by_size", "others")
"""What the tables that are read count, in their order."""


def _write_check(
    options: dict[str, Any], tables: Sequence[CountTable | None], prepared: Prepared
) -> str:
    """Write the summary of a check, and return the message for the operator."""
    from geodp.table.reading import join_readings

    named = {name: one for name, one in zip(TABLES, tables, strict=True) if one is not None}
    prepared.preview.check_place(options["output"], overwrite=options["overwrite"])
    counted = {
        **describe_domain(prepared.preview.households.grid),
        "occupied_cells": {name: int(one.key.size) for name, one in named.items()},
        "counted": {name: int(one.count.sum()) for name, one in named.items()},
    }
    readings = [one.reading for one in named.values() if one.reading is not None]
    card = prepared.preview.households.card()
    files = (*options["households_file"], *options["others_file"])
    return write_check_file(options, join_readings(readings), card, counted, files)


def _require_columns(options: dict[str, Any], grid: Grid) -> None:
    """Raise UsageError where it is left open which counts are those of households."""
    two = options["of_households"] is not None or bool(options["households_file"])
    records = options["household_id"] is not None
    if records and (two or grid.attributes or options["person"] is not None):
        raise UsageError(
            "Records with a --household have sizes and persons already: leave --households, "
            "--households-file, --by and --person out.",
            code="household-records-twice",
        )
    if options["rows_are_persons"] and not records:
        raise UsageError(
            "--rows-are-persons is said of records with a --household: leave it out.",
            code="rows-are-persons-unused",
        )
    # The other limits need --person, and are refused without it.
    if options["person"] is not None:
        raise UsageError(
            "A limit on the records of one person in one table limits no household and no other "
            "table: leave --person, --cells, --per-cell and --truncation out, and say "
            "--contribution; or count records of persons by their --household.",
            code="households-limits",
        )
    others = options["others"] is not None or bool(options["others_file"])
    if others and (records or grid.attributes):
        raise UsageError(
            "--others goes with persons and households in two columns or files: with sizes or "
            "records, publish persons outside households from Python, or alone.",
            code="households-others-of-columns",
        )
    if two and grid.attributes:
        raise UsageError(
            "Households by size (--by) have persons already: leave --households and "
            "--households-file out.",
            code="households-twice",
        )
    if not two and not records and not grid.attributes:
        raise UsageError(
            "Say where the households are: --households COLUMN, --households-file FILE, or by "
            "size: --by size with a --value LABEL=COLUMN for every size; or --household COLUMN of "
            "records of persons (--points).",
            code="households-column-missing",
        )


def _read(
    options: dict[str, Any], grid: Grid, request: Request
) -> tuple[CountTable | None, CountTable | None, CountTable | None]:
    """Read persons and households, or households by size."""
    if options["household_id"] is not None:
        return None, None, _read_records(options, grid, request)
    counts = read(options, grid, request.key)
    if grid.attributes:
        return None, None, counts
    return counts, _read_column(options, grid, request, "of_households", "households_file"), None


def _read_column(
    options: dict[str, Any], grid: Grid, request: Request, column: str, files: str
) -> CountTable:
    """Read another column of INPUTS, or that of other files."""
    named = options[column]
    changed = {
        **options,
        "inputs": options[files] or options["inputs"],
        "value": options["value"] if named is None else (named,),
    }
    return read(changed, grid, request.key)


def _read_others(options: dict[str, Any], grid: Grid, request: Request) -> CountTable | None:
    """Read persons outside households; None where there is no table of them."""
    if options["others"] is None and not options["others_file"]:
        return None
    return _read_column(options, grid, request, "others", "others_file")


def _read_records(options: dict[str, Any], grid: Grid, request: Request) -> CountTable:
    """Read households by size from records of persons."""
    from geodp.features.households.records import HouseholdRecords
    from geodp.io.read.points import Points

    reader = make_reader(options, grid, request.key)
    if not isinstance(reader, Points):
        raise UsageError(
            "--household goes with records of persons: add --points.",
            code="household-needs-points",
        )
    values = reader.shared(Points) | {"person": options["household_id"]}
    values |= {name: options[name] for name in ("max_size", "rows_are_persons")}
    return HouseholdRecords(grid=grid, **values).read(options["inputs"])


def _sized(options: dict[str, Any], grid: Grid) -> Grid:
    """Return the grid of households by size, of records or of columns."""
    from geodp.features.households.sizes import add_sizes

    return grid if options["household_id"] is None else add_sizes(grid, options["max_size"]).grid


def _write(
    options: dict[str, Any],
    grid: Grid,
    request: Request,
    seconds: dict[str, float],
    prepared: Prepared | None = None,
    *,
    inferred: bool,
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.features.households.files import StagedHouseholds

    if prepared is not None:
        prepared.preview.check_place(options["output"], overwrite=options["overwrite"])

    def make(place: StagedHouseholds) -> tuple[Households, dict[str, Any]]:
        if prepared is None:
            return _resume(place, grid, request, options)
        return _release(place, prepared, options)

    release, written = write_release(
        options, StagedHouseholds.stage, make, seconds, inferred=inferred
    )
    return _format_result(release, written, options)


def _release(
    place: StagedHouseholds, prepared: Prepared, options: dict[str, Any]
) -> tuple[Households, dict[str, Any]]:
    """Draw, store the draw before the charge, and return it with the operator's record."""
    from geodp.io.folder.pending_tables import pack_tables
    from geodp.table.plain import write_plain

    files = (*options["inputs"], *options["households_file"], *options["others_file"])
    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in files},
        "occupied_cells": prepared.cells,
    }
    previews = prepared.preview.drawn

    def pack(drawn: Any) -> Packed:
        tables = drawn if isinstance(drawn, list) else [drawn.table]
        plain, arrays = pack_tables(tables, previews[0].public_facts, {})
        # Each table has a reading of its own, as its column or its files are others.
        return {**plain, "readings": [write_plain(one.reading) for one in previews]}, arrays

    # Formats and disk space fail here, before the charge, and not after it.
    place.try_out(prepared.preview.tables, prepared.preview.joint, prepared.cells)
    return draw_in(place.folder, prepared, options, run, pack), run


def _resume(
    place: StagedHouseholds, grid: Grid, request: Request, options: dict[str, Any]
) -> tuple[Households, dict[str, Any]]:
    """Restore the release of an interrupted run, which was charged, with the operator's record."""
    from geodp.features.households.publish import restore_households
    from geodp.features.households.sizes import SizedGrid
    from geodp.io.folder.pending_tables import unpack_tables

    size, grid = options["max_size"], _sized(options, grid)
    if grid.attributes:
        sized = SizedGrid.choose(grid, options["size_attribute"]).fold(size)
        size = sized.max_size
        grid = sized.grid if request.terms.unit == "household" else sized.joint.map
    stored, charge = read_charged_draw(place.folder, request, options)
    drawn, facts, _ = unpack_tables(stored, grid, place.folder)
    readings = _unpack_readings(stored.card, place.folder)
    return restore_households(drawn, request, size, facts, readings, charge), dict(stored.run)


def _unpack_readings(card: Mapping[str, Any], folder: Path) -> list[StatedReading | None]:
    """Restore how each table was read; UsageError for a damaged file."""
    from geodp.io.folder.pending import unreadable
    from geodp.table.plain import read_plain
    from geodp.table.stated.reading import StatedReading

    try:
        return [
            None if one is None else read_plain(StatedReading, one, "reading")
            for one in card["readings"]
        ]
    except (LookupError, TypeError, VerificationError):
        raise unreadable(folder) from None


def _format_result(
    release: Households, written: dict[str, list[str]], options: dict[str, Any]
) -> str:
    """Format the final message of a run."""
    promise = release.index.guarantee
    fields = {
        "protects": release.index.protects,
        "max_size": release.max_size,
        "spends": promise.spends,
        "method": promise.mechanism,
        "private": release.index.private,
    }
    return format_result(options, written, fields, [promise.in_words, promise.other_unit])
