"""``geodp sql``: records to counts of cells as a query, for the engine where the data are."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import add_options, option
from geodp.cli.options import BoundsType, GridCommand
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.lattice import Lattice

ENGINES = ("duckdb", "spark", "bigquery", "postgres", "snowflake")
"""Names of ``geodp.grid.codes.sql.ENGINES``, so that ``--help`` imports nothing heavy."""

query_options = add_options(
    option(
        "--grid",
        "spec",
        group="Domain",
        everyday=True,
        required=True,
        help="Code system, such as jis:quarter or inspire:1km.",
    ),
    option(
        "--bounds",
        group="Domain",
        everyday=True,
        type=BoundsType(),
        help="West south east north of the public domain, as of geodp sql.  [default: the code "
        "system's extent]",
    ),
    option(
        "--engine",
        group="Output",
        everyday=True,
        required=True,
        type=click.Choice(ENGINES),
        help="SQL dialect of the query.",
    ),
)
"""Options of a query of a feature: its grid and its dialect."""


@click.command(cls=GridCommand)
@click.option(
    "--grid", "spec", required=True, help="Code system, such as jis:quarter or inspire:1km."
)
@click.option(
    "--engine", required=True, type=click.Choice(ENGINES), help="SQL dialect of the query."
)
@click.option(
    "--bounds",
    type=BoundsType(),
    help="West south east north of the public domain, along cell edges, in units of the grid's "
    "CRS; in degrees with the word degrees after them; or a public area by name (germany, 東京都). "
    "Records outside are left out.  [default: the code system's extent]",
)
@click.option(
    "--points",
    nargs=2,
    default=("lon", "lat"),
    show_default=True,
    help="Columns of x and y: longitude and latitude, or easting and northing, in the grid's CRS.",
)
@click.option(
    "--points-to",
    "to",
    nargs=2,
    metavar="X Y",
    help="Columns of a second place, if records are trips: count pairs of cells.",
)
@click.option(
    "--table",
    default="records",
    show_default=True,
    help="Table expression for the records, inserted as it is: a table's name, "
    "read_parquet('p.parquet').",
)
@click.option("--person", help="Column of person ids; bounds the contribution of each person.")
@click.option(
    "--cells",
    type=int,
    default=1,
    show_default=True,
    help="Maximum number of cells or pairs kept per person.",
)
@click.option(
    "--per-cell",
    type=int,
    default=1,
    show_default=True,
    help="Maximum number of records counted per person and cell.",
)
@click.option(
    "--order-by",
    "by",
    help="Column, such as a time, whose first cells of a person are kept. Default: a random "
    "sample.",
)
def sql(
    spec: str,
    engine: str,
    bounds: tuple[float, float, float, float] | str | None,
    points: tuple[str, str],
    to: tuple[str, str] | None,
    table: str,
    person: str | None,
    **bound: Any,
) -> None:
    """Print an SQL query that counts records by cell, to run where the data are.

    \b
    geodp sql --grid jis:quarter --engine duckdb --table pings --person id > cells.sql
    geodp sql --grid jis:basic --engine snowflake --table trips --points from_lon from_lat
        --points-to to_lon to_lat --person id --cells 5 > pairs.sql

    Records go to the same cells as in ``geodp publish --points``, also on edges. The result is a
    confidential table with the columns code (for pairs: origin and destination) and geodp_records;
    a comment in the query shows how to publish it.
    """
    from geodp.grid.codes.sql import RECORDS, SqlQuery

    place, records = locate_records(spec, bounds, table, points)
    query = SqlQuery(**records, to=to, person=person, **bound)
    x, y = points
    written = query.write(engine)
    lost = "outside the domain"
    # Without a column of persons nothing bounds the contribution, so the operator must state it.
    most, why = "N", "; N: the most records that one person has, for which you vouch"
    if person is not None:
        most, why = str(query.cells * query.per_cell), ""
        lost += " or without a person"
    where = repeat_domain(spec, bounds)
    columns = "--code code"
    if to is not None:
        x, y = f"{x}, {y}, {to[0]}", to[1]
        columns = "--pairs --column origin=origin --column destination=destination"
    click.echo(
        f"-- {x} and {y} are coordinates in {place.crs}; records {lost} are left out.\n"
        f"-- Then: geodp publish counts.parquet {where} {columns} --value {RECORDS} "
        f"--contribution {most} ...{why}\n{written}"
    )


def repeat_domain(spec: str, bounds: Any) -> str:
    """Return the options of the domain of a query, which the counts are published on, too."""
    words = f"--grid {shlex.quote(spec)}"
    if isinstance(bounds, str):
        return f"{words} --bounds {shlex.quote(' '.join(bounds.split()))}"  # it has one line
    edges = " ".join(f"{edge:.17g}" for edge in bounds or ())
    return f"{words} --bounds {edges}" if edges else words


def locate_records(
    spec: str, bounds: Any, table: str, points: tuple[str, str]
) -> tuple[Lattice, dict[str, Any]]:
    """Return the map of a query, and its parameters on where records are and lie.

    ``spec``, ``bounds``, ``table`` and ``points``: the options of those names.
    """
    from geodp.cli.inputs import choose_bounds
    from geodp.grid.codes import code_system
    from geodp.grid.lattice import Lattice

    system = code_system(spec)
    place = Lattice.of_system(system, choose_bounds(bounds, system))
    # A lattice of a code system always has one.
    assert place.system is not None
    extent, (x, y) = (place.row0, place.col0, place.rows, place.cols), points
    return place, {**name_records(table), "system": place.system, "extent": extent, "x": x, "y": y}


def name_records(table: str) -> dict[str, Any]:
    """Return the parameters of a query on its records: their table, and texts of no person."""
    from geodp.grid.markers import NOBODY

    if not table.strip() or not table.isprintable():
        raise UsageError(
            "--table names the records in the engine, on one line.", code="sql-table-name"
        )
    return {"table": table, "unknown": ("", *NOBODY)}


COMMAND = sql
