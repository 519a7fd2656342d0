"""``geodp households``: persons and households, read, released and written together."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.commands.sql import locate_records
from geodp.cli.help import Room, with_options
from geodp.cli.inputs import grid_of
from geodp.cli.layout import complete
from geodp.cli.options import GridCommand, inputs
from geodp.cli.periods import PeriodsPublishing, part_inputs
from geodp.cli.publishing import TablesPublishing
from geodp.cli.readers import ReadingCommand, check_applicable, make_reader, read
from geodp.cli.running import carry_out
from geodp.errors import UsageError
from geodp.kinds.households.options import PLANNED, PUBLISHED, QUERY, SERIES
from geodp.options.shared import (
    CHECK,
    DOMAIN,
    FOLDER,
    GIVEN_DOMAIN,
    GUESSED_PEOPLE,
    JSON,
    LAYOUT,
    REQUEST,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from geodp.grid.grid import Grid
    from geodp.io.folder.kinds import Kind
    from geodp.release.request import Request
    from geodp.release.transaction import Inputs, Prepared, StoredDesign
    from geodp.table.counts import CountTable

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


@click.group(cls=Room)
def households() -> None:
    """Release persons and households of the same cells, possible in every area.

    \b
    geodp households publish FILE --value PERSONS --households HOUSEHOLDS
        --protect person --epsilon 1 --contribution 1 --output out
    geodp households publish-series 2015=FILE 2020=FILE ... --person-in all --output years
    geodp households plan --grid jis:half ... --protect person --epsilon 1 --people 2e7
    geodp estimate out --area 5339
    """


@households.command(
    cls=ReadingCommand, rare=("mask", "points", "x", "y", "person"), no_args_is_help=True
)
@inputs
@with_options(LAYOUT, DOMAIN, PUBLISHED, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish(**options: Any) -> None:
    """Release persons and households of INPUTS under one budget, so that every area is possible.

    \b
    A row for each person, or for each household with its size:
    geodp households publish FILE --household ID --x LON --y LAT ...
    geodp households publish FILE --household ID --size SIZE --code CODE ...

    \b
    Counts by cell: two columns, two files, or households by size:
    geodp households publish FILE --value PERSONS --households HOUSEHOLDS ...
    geodp households publish FILE --households-file FILE ...
    geodp households publish FILE --by size ...

    In every cell, and so in every area, households are at most persons, and persons at most
    --max-size for each household. Leave persons outside households out. Writes OUTPUT/public, with
    a folder for each table, and OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    carry_out(options, lambda *run: HouseholdsPublishing(*run).run())


@households.command(
    "publish-series",
    cls=ReadingCommand,
    rare=("mask", "points", "x", "y", "by", "where", "person", "delta"),
    no_args_is_help=True,
)
@click.argument("inputs", nargs=-1, required=True, callback=part_inputs)
@with_options(LAYOUT, DOMAIN, SERIES, REQUEST.without(*ELSEWHERE), FOLDER, CHECK)
def publish_series(**options: Any) -> None:
    """Release persons and households of several periods: a file for each, or one for all.

    \b
    geodp households publish-series 2015=persons-2015.csv 2020=persons-2020.csv --household ID
        --grid jis:half --bounds 139 35 140 36 --protect household --epsilon 1
        --contribution 1 --person-in all --output out
    geodp households publish-series FILE --period year --periods 2015..2020 ...

    Files of all periods are of one form, as geodp households publish reads it. They share one
    budget, which is charged once. Times are years, months, days or hours: 2024, 2024-05,
    2024-05-31, 2024-05-31T23, each given once; FILE may be a folder or a pattern. Writes
    OUTPUT/public, with a release in a folder for every period, and OUTPUT/restricted. Nothing that
    depends on the data is printed.
    """
    carry_out(options, lambda *run: HouseholdsSeriesPublishing(*run).run())


FIELDS = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of persons and households accepts."""


@households.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, PLANNED, GUESSED_PEOPLE, REQUEST.of(*FIELDS), JSON)
def plan(**options: Any) -> None:
    """Show errors of persons, households and mean size by area, before any data are read.

    \b
    geodp households plan --grid jis:half --bounds 139 35 140 36 --protect person
        --epsilon 1 --people 2e7

    Standard errors of blocks of cells where nothing is clamped. That of the mean size needs a
    guess of all --people; if households are protected, errors of persons depend on their sizes.
    """
    from geodp.kinds.households.plan import plan as make_plan

    names = ("protect", "max_size", "method", "contribution", "mean_size", *FIELDS)
    rows = make_plan(grid_of({**options, "inputs": ()}), **{name: options[name] for name in names})
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo(f"{'cells':>13}{'persons':>12}{'households':>12}{'mean size':>12}")
    for one in rows:
        errors = (one.persons, one.households, one.mean_size)
        shown = ("-" if error is None else f"{error:,.3g}" for error in errors)
        click.echo(f"{one.cells:>13,}" + "".join(f"{text:>12}" for text in shown))


@households.command(cls=GridCommand, no_args_is_help=True)
@with_options(QUERY)
def sql(spec: str, bounds: Any, engine: str, points: tuple[str, str], **options: Any) -> None:
    """Print an SQL query that counts households by cell and size, to run where the data are.

    \b
    geodp households sql --grid jis:quarter --engine duckdb --household id > sizes.sql

    The query fails where records of a household lie in two cells. The result is a confidential
    table with the columns code, size and geodp_households; a comment in the query shows how to
    publish it.
    """
    from geodp.kinds.households.records import HOUSEHOLDS, SIZE, HouseholdQuery

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


class HouseholdsPublishing(TablesPublishing):
    """A run of ``geodp households publish``, checked before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        context = click.get_current_context()
        self.inferred = complete(context, options, _imply_points)
        check_applicable(context)
        options["unit"] = options["protect"]
        self.grid = grid_of(options)
        _require_columns(options, self.grid)
        self.request = self.read_request(method=options["method"])
        self.files = (*options["households_file"], *options["others_file"])

    @property
    def kind(self) -> Kind:
        """The kind of release."""
        from geodp.kinds.households.kind import HouseholdsKind

        return HouseholdsKind()

    def prepare(self) -> Prepared[Any, Any]:
        """Read all tables, and prepare their release."""
        from geodp.kinds.households.publish import prepare_households

        asked, tables = self.options, self.read_tables(self.options)
        size, sizes = asked["max_size"], asked["size_attribute"]
        return prepare_households(tables, size, self.request, size_attribute=sizes)

    def read_tables(self, options: dict[str, Any]) -> dict[str, CountTable | None]:
        """Read the tables that options name, by their names."""
        grid, request = self.grid, self.request
        return {**_read(options, grid, request), "others": _read_others(options, grid, request)}

    def find_domain(self) -> tuple[Grid, int]:
        """Find the grid of the design, and the largest size, without reading inputs."""
        from geodp.kinds.households.inputs import SizedGrid, add_sizes

        size, grid = self.options["max_size"], self.grid
        if _are_records(self.options):
            grid = add_sizes(grid, size).grid
        if grid.attributes:
            sized = SizedGrid.choose(grid, self.options["size_attribute"]).fold(size)
            size = sized.max_size
            grid = sized.grid if self.request.terms.unit == "household" else sized.joint.map
        return grid, size

    def design(self, inputs: Inputs) -> StoredDesign:
        """Design the release from the inputs of an interrupted run."""
        from geodp.kinds.households.publish import design_households

        return design_households(*self.find_domain(), self.request, inputs)

    def fields(self, release: Any) -> dict[str, Any]:
        """Return whom the guarantee protects, and the largest size."""
        return {"protects": release.index.protects, "max_size": release.max_size}

    def sentences(self, release: Any) -> list[str]:
        """Say what the guarantee means for the other unit."""
        return [release.index.guarantee.other_unit]


class HouseholdsSeriesPublishing(PeriodsPublishing, HouseholdsPublishing):
    """A run of ``geodp households publish-series``, checked before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        # Each period has one set of files: the columns of both are in it.
        super().__init__({**options, "households_file": (), "others_file": ()}, seconds)

    @property
    def kind(self) -> Kind:
        """The kind of series."""
        from geodp.kinds.households.kind import HouseholdsSeriesKind

        return HouseholdsSeriesKind()

    def read_period(self, options: dict[str, Any]) -> dict[str, CountTable | None]:
        """Read the tables of one period by their names."""
        return self.read_tables(options)

    def prepare_periods(self, tables: Sequence[Any], **known: Any) -> Prepared[Any, Any]:
        """Prepare the release of the tables of all periods."""
        from geodp.kinds.households.series import prepare_series

        asked, size = self.options, self.options["max_size"]
        more = {"person": asked["person_in"], "size_attribute": asked["size_attribute"]}
        return prepare_series(tables, self.periods, size, self.request, **more, **known)

    def design(self, inputs: Inputs) -> StoredDesign:
        """Design the series from the inputs of an interrupted run."""
        from geodp.kinds.households.series import design_series

        (grid, size), person = self.find_domain(), self.options["person_in"]
        return design_series(grid, self.periods, size, self.request, inputs, person=person)


def _imply_points(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the option of points, which records of households are."""
    return {"points": True} if _are_records(options) else {}


def _are_records(options: Mapping[str, Any]) -> bool:
    """Test whether rows are persons of households, or households with their sizes."""
    return options["household_id"] is not None or options["size_column"] is not None


def _require_columns(options: dict[str, Any], grid: Grid) -> None:
    """Raise UsageError where it is left open which counts are those of households."""
    two = options["of_households"] is not None or bool(options["households_file"])
    records = _are_records(options)
    if records and (two or grid.attributes or options["person"] is not None):
        raise UsageError(
            "Records with a --household or a --size have sizes and persons already: leave "
            "--households, --households-file, --by and --person out.",
            code="household-records-twice",
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
            "size: --by size with a --value LABEL=COLUMN for every size. Where every row is one "
            "person, name the --household; where every row is a household, name its --size.",
            code="households-column-missing",
        )


def _read(options: dict[str, Any], grid: Grid, request: Request) -> dict[str, CountTable]:
    """Read persons and households, or households by size, by their names."""
    if _are_records(options):
        return {"by_size": _read_records(options, grid, request)}
    counts = read(options, grid, request.key)
    if grid.attributes:
        return {"by_size": counts}
    households = _read_column(options, grid, request, "of_households", "households_file")
    return {"persons": counts, "households": households}


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
    """Read households by size from records of persons, or of households."""
    from geodp.io.read.points import Points
    from geodp.kinds.households.records import HouseholdRecords

    values = make_reader(options, grid, request.key).shared(Points)
    names = ("max_size", "rows_are_persons", "weight", "max_weight", "raked_to")
    values |= {name: options[name] for name in names}
    ids = (options["household_id"] or "").split(",")
    reader = HouseholdRecords.of(
        grid, **values, household=[one for one in ids if one], size=options["size_column"]
    )
    return reader.read(options["inputs"])
