"""``geodp amounts plan``: upper ends of the clip compared before any data are read."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand
from geodp.kinds.amounts.options import PLANNED
from geodp.options.shared import GIVEN_DOMAIN, JSON, REQUEST

FIELDS = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of the clip accepts."""


@click.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, PLANNED, REQUEST.of(*FIELDS), JSON)
def plan(**options: Any) -> None:
    """Compare upper ends of the clip by what they cost a mean, before any data are read.

    \b
    geodp amounts plan --grid jis:half --bounds 139 35 140 36 --median 250 --upper-tenth 600
        --people 1e7 --epsilon 1

    A low end cuts high amounts, which lowers the mean (bias); a high one adds noise. Amounts are
    taken as lognormal, by two public guesses; nobody looks at the data.
    """
    from geodp.kinds.amounts.plan import plan as make_plan

    names = ("median", "upper_tenth", "lower", "records", "share", "contribution")
    told = {name: options[name] for name in (*names, "method", *FIELDS)}
    grid = grid_of({**options, "inputs": ()})
    rows = make_plan(grid, clips=options["clips"], **told)
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo(f"{'upper end':>12}{'records above':>15}{'bias':>10}{'noise':>10}{'both':>10}")
    for one in rows:
        parts = "".join(f"{100 * x:>8.2f} %" for x in (one.bias, one.noise, one.error))
        mark = "  *" if one.best else ""
        click.echo(f"{one.upper:>12,.6g}{100 * one.beyond:>13.2f} %{parts}{mark}")
