"""``geodp sql``: records to counts of cells as a query, for the engine where the data are."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import with_options
from geodp.cli.options import GridCommand
from geodp.errors import UsageError
from geodp.options.option import Option, grouped, joined
from geodp.options.shared import QUERY

if TYPE_CHECKING:
    from geodp.grid.lattice import Lattice

OPTIONS = joined(
    QUERY.one(
        "points",
        help="Columns of x and y: longitude and latitude, or easting and northing, in the grid's "
        "CRS.",
    ),
    QUERY.one(
        "table",
        help="Table expression for the records, inserted as it is: a table's name, "
        "read_parquet('p.parquet').",
    ),
    QUERY.one("person", help="Column of person ids; bounds the contribution of each person."),
    grouped(
        "Input",
        Option(
            "--points-to",
            "Columns of a second place, if records are trips: count pairs of cells.",
            name="to",
            values=2,
            metavar="X Y",
        ),
        Option("--cells", "Maximum number of cells or pairs kept per person.", low=1, default=1),
        Option(
            "--per-cell", "Maximum number of records counted per person and cell.", low=1, default=1
        ),
        Option(
            "--order-by",
            "Column, such as a time, whose first cells of a person are kept. Default: a random "
            "sample.",
            name="by",
        ),
    ),
    QUERY,
)


@click.command(cls=GridCommand)
@with_options(OPTIONS)
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
