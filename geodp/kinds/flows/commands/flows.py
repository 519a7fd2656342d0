"""``geodp flows``: trips bounded by person, released with both maps of their ends."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import option, with_options
from geodp.cli.options import GridCommand, StrictCommand
from geodp.cli.output import require_unsealed
from geodp.cli.pages import (
    page_options,
    place_name_option,
    read_list,
    read_notice,
    require_list,
    write_html,
)
from geodp.kinds.flows.options import PLANNED
from geodp.kinds.flows.running.choose_trips import choose_trips
from geodp.kinds.flows.running.estimate import compare, estimate
from geodp.kinds.flows.running.evaluate import evaluate
from geodp.kinds.flows.running.inputs import open_flows, read_by, read_levels, split_grid
from geodp.kinds.flows.running.options import simulations_option
from geodp.kinds.flows.running.publish import publish
from geodp.kinds.flows.running.sql import sql
from geodp.options.shared import GIVEN_DOMAIN, JSON, REQUEST

if TYPE_CHECKING:
    from geodp.kinds.flows.trip_bound import PlannedFlows


@click.group()
def flows() -> None:
    """Release trips between zones, protected by person, with both maps of their ends.

    \b
    geodp flows publish trips.csv --grid jis:basic --bounds tokyo --from o --to d
        --person id --trips 10 --epsilon 1 --output out
    geodp flows plan --grid jis:basic --bounds tokyo --trips 10 --epsilon 1
    geodp flows choose-trips trips.csv ... --person id --largest 100 --epsilon 0.01 --output trips
    geodp flows estimate out --from 533945 --to 533946
    geodp flows compare out-2019 out-2023 --from 533945 --to 533946
    geodp flows report out --output out.html
    """


for one in (publish, choose_trips, estimate, compare, evaluate, sql):
    flows.add_command(one)


FIELDS = ("epsilon", "rho", "delta", "neighbours")
"""Fields of a request that a plan of flows accepts."""


@flows.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, PLANNED, REQUEST.of(*FIELDS), JSON)
def plan(**options: Any) -> None:
    """Show the noise of a release by the trips of a person, before any data are read.

    \b
    geodp flows plan --grid regular:47x84 --trips 5 --trips 10 --epsilon 1 --mean-trips 7

    Standard errors of the ends of one zone and of noisy pairs of blocks, where nothing is clamped.
    """
    from geodp.kinds.flows.trip_bound import plan as make_plan

    # A plan reads no inputs, of which a mask or regions might be one.
    options = {**options, "inputs": ()}
    grid, labels = split_grid(options)
    names = ("method", "mean_trips", "label_share", *FIELDS)
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

    One HTML file with maps, the largest flows of every place with 95 % intervals (which fail more
    often where trips concentrate on few pairs: docs/flows.md), and the guarantee in plain words. It
    loads nothing from the network.
    """
    from geodp.kinds.flows.page import write_page
    from geodp.kinds.flows.regions import ground_of

    require_list(options["places"], options["place_name"])
    require_unsealed(output)
    opened = open_flows(release)
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
            notice=read_notice(release),
        ),
    )


COMMAND = flows
