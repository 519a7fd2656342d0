"""``geodp amounts sql``: a query that clips and counts amounts where the data are."""

from __future__ import annotations

import shlex
from typing import Any

import click

from geodp.cli.commands.sql import locate_records
from geodp.cli.help import with_options
from geodp.cli.options import GridCommand
from geodp.kinds.amounts.options import QUERY


@click.command(cls=GridCommand, no_args_is_help=True)
@with_options(QUERY)
def sql(spec: str, bounds: Any, engine: str, points: tuple[str, str], **options: Any) -> None:
    """Print an SQL query that clips amounts and counts them by cell, to run where the data are.

    \b
    geodp amounts sql --grid jis:half --engine duckdb --amount income --clip 0 1000
        --unit-of-amount "10,000 yen" --person id > amounts.sql

    The query fails where an amount is missing, or no number. The result is a confidential table
    with the columns code, the amount, and geodp_records; a comment in the query shows how to
    publish it.
    """
    from geodp.grid.codes.sql import RECORDS
    from geodp.kinds.amounts.query import AmountQuery
    from geodp.kinds.amounts.scale import Scale, show_number

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
        f"--unit-of-amount {shlex.quote(scale.unit)} --decimal . --value {RECORDS} "
        f"--contribution {kept} ..."
        f"{why}\n{written}"
    )
