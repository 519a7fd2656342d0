"""``geodp amounts plan``: upper ends of the clip compared before any data are read."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import click

from geodp.cli.help import json_option, option
from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand, grid_options
from geodp.cli.request_options import request_options
from geodp.kinds.amounts.running.options import method_option

PLANNED = ("epsilon", "rho", "delta", "neighbours", "people")
"""Fields of a request that a plan of the clip accepts."""


@click.command(cls=GridCommand, no_args_is_help=True)
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
@json_option
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
    told = {name: options[name] for name in (*names, "method", *PLANNED)}
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
