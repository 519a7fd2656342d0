"""``geodp amounts plan``: upper ends of the clip compared before any data are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import option
from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand, grid_options
from geodp.cli.request_options import request_options
from geodp.cli.running import report_progress
from geodp.errors import UsageError
from geodp.features.amounts.running.options import method_option

if TYPE_CHECKING:
    from geodp.features.amounts.planned_prior import PlannedPrior
    from geodp.grid.grid import Grid

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
