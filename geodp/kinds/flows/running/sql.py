"""``geodp flows sql``: trips bounded by person as a query, for the engine where the data are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.commands.sql import locate_records, name_records, repeat_domain
from geodp.cli.help import with_options
from geodp.cli.options import GridCommand
from geodp.errors import UsageError
from geodp.kinds.flows.options import QUERY, UNITS
from geodp.kinds.flows.running.inputs import read_by
from geodp.options.shared import DOMAIN

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.kinds.flows.query import CodedTrips, LocatedTrips
    from geodp.typing import IntArray

POINTS, POINTS_TO = ("from_lon", "from_lat"), ("to_lon", "to_lat")
"""Columns of coordinates, unless others are named."""


@click.command(cls=GridCommand, no_args_is_help=True)
@with_options(QUERY)
def sql(spec: str, bounds: Any, engine: str, **options: Any) -> None:
    """Print an SQL query that bounds the trips of persons, and counts them by pair of zones.

    \b
    geodp flows sql --grid jis:basic --engine duckdb --person id --trips 10 > flows.sql
    geodp flows sql --grid units:zones.csv --from home --to work --engine spark --person id
        --trips 5 --by hour --unit person-day --period day > flows.sql

    Which trips are kept depends on the person's own rows and a secret in the query alone: keep the
    query as you keep the data. The result is a confidential table with the columns origin,
    destination, those of --by, and geodp_records; a comment in the query shows how to publish it.
    """
    from geodp.grid.codes.sql import RECORDS
    from geodp.kinds.flows.query import FlowQuery, draw_secret

    unit, trips, by = options["unit"], options["trips"], read_by(options)
    if (unit == UNITS[0]) != (options["period"] is None):
        raise UsageError(
            "A unit of periods, such as person-day (--unit), and the column of its periods "
            "(--period) go together: give both, or leave both out.",
            code="flows-sql-period",
        )
    common = {name: options[name] for name in ("person", "period")}
    labels = {name: column or name for name, column in by.items()}
    records, where, note = _records_of(spec, bounds, options, labels=labels, **common)
    query = FlowQuery(
        records=records,
        trips=trips,
        per_pair=options["per_pair"] or trips,
        secret=draw_secret(),
    )
    written = query.write(engine)
    words = ["--from origin --to destination", f"--value {RECORDS} --contribution {trips}"]
    # Spellings of one code are rows of their own, and so are places outside of one zone for them.
    words.append("--duplicates sum")
    if by:
        words.append(f"--by {shlex.quote(','.join(by))}")
    if options["period"] is not None:
        words.append(f"--unit {unit}")
    lost = "a person"
    if options["period"] is not None:
        lost = f"a person or {options['period']}, of which each value is one period,"
    click.echo(
        f"-- {note}; trips without {lost} are left out.\n"
        f"-- Then: geodp flows publish flows.parquet {where} {' '.join(words)} ...\n{written}"
    )


def _records_of(
    spec: str, bounds: Any, options: Mapping[str, Any], **common: Any
) -> tuple[CodedTrips | LocatedTrips, str, str]:
    """Return the records of a query, the options of their grid, and a note on their places.

    ``spec``, ``bounds``: the options of those names; ``common``: what codes and coordinates share.
    """
    from geodp.kinds.flows.query import CodedTrips, LocatedTrips

    zones = options["origins"], options["destinations"]
    points = options["points"], options["to"]
    if zones == (None, None):
        begins, ends = points[0] or POINTS, points[1] or POINTS_TO
        place, located = locate_records(spec, bounds, options["table"], begins)
        columns = f"{', '.join((*begins, ends[0]))} and {ends[1]}"
        mask, domain = _read_mask(spec, bounds, options), repeat_domain(spec, place.bounds)
        domain += _repeat(options, "mask", "mask_source")
        outside = "outside the bounds" if mask is None else "outside the mask"
        note = f"{columns} are coordinates in {place.crs}; trips with an end {outside} are left out"
        if mask is None:
            note += (
                ", and those outside a mask are with --mask, as they count among a person's trips "
                "otherwise"
            )
        return LocatedTrips(**located, to=ends, mask=mask, **common), domain, note
    if options["mask"] is not None:
        raise UsageError(
            "A mask (--mask) goes with coordinates in a query: codes of cells have several "
            "spellings. Leave trips of other cells out in --table.",
            code="flows-sql-mask-codes",
        )
    known, domain = _list_units(spec, options), repeat_domain(spec, bounds)
    note = f"{zones[0]} and {zones[1]} are codes of zones; trips "
    if known:
        note += "from or to other zones than the units are left out"
    else:
        note += (
            "without one are left out, and those from or to other zones than the grid's have to be "
            "left out in --table, as they count among a person's trips here, and are refused when "
            "the counts are published"
        )
    records = CodedTrips(zones=zones, known=known, **name_records(options["table"]), **common)
    return records, domain + _repeat(options, "units_source", "units_columns"), note


def _list_units(spec: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the codes of the units whose source is named; none without it."""
    if options["units_source"] is None:
        return ()
    if not spec.startswith("units:"):
        raise UsageError(
            "--units-source names the source of units, which are a grid units:FILE (--grid).",
            code="flows-sql-no-units",
        )
    grid = _grid_of(options, "units_source", "units_columns", spec=spec, bounds=None)
    return tuple(grid.names.require_table("").codes[-1])


def _read_mask(spec: str, bounds: Any, options: Mapping[str, Any]) -> IntArray | None:
    """Return rows and columns of the cells of ``--mask``, int64[2, n]; None without a mask."""
    import numpy as np

    if options["mask"] is None:
        if options["mask_source"] is not None:
            raise UsageError(
                "--mask-source names the source of a mask: give --mask, or leave it out.",
                code="flows-sql-source-alone",
            )
        return None
    grid = _grid_of(options, "mask", "mask_source", spec=spec, bounds=bounds)
    return grid.decode(grid.domain.keys_of_ranks(np.arange(grid.size)))


def _grid_of(options: Mapping[str, Any], *names: str, **more: Any) -> Grid:
    """Return the grid of zones by the options of these names, and further ones."""
    from geodp.cli.inputs import grid_of

    none = dict.fromkeys(one.name for one in DOMAIN)
    chosen = {name: options[name] for name in names}
    # No file of the public has options on how it is opened.
    fixed = {"order": "morton", "inputs": (), "public_file": ()}
    return grid_of({**none, **fixed, **chosen, **more})


def _repeat(options: Mapping[str, Any], *names: str) -> str:
    """Return the options of these names that are given, for the command that publishes."""
    given = [name for name in names if options[name] is not None]
    return "".join(f" --{name.replace('_', '-')} {shlex.quote(options[name])}" for name in given)
