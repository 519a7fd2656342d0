"""``geodp flows plan`` and ``choose-trips``: what the most trips of a person cost, and choose."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import with_options
from geodp.cli.options import GridCommand, inputs
from geodp.cli.running import carry_out
from geodp.errors import UsageError
from geodp.kinds.flows.options import CHOICE, PLANNED
from geodp.kinds.flows.running.inputs import (
    NOT_COUNTED,
    RULES,
    PersonsCommand,
    make_trips_reader,
    read_by,
    read_measured,
    split_grid,
)
from geodp.kinds.selection.running import FIELDS, SelectionPublishing
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, JSON, REQUEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from geodp.kinds.flows.trip_bound import PlannedFlows
    from geodp.kinds.selection.selected import Selected, SelectionDesign
    from geodp.release.transaction import Prepared


@click.command("choose-trips", cls=PersonsCommand, no_args_is_help=True)
@inputs
@with_options(
    GIVEN_DOMAIN, CHOICE, REQUEST.of(*FIELDS).without("contribution", "unit"), FOLDER, CHECK
)
def choose_trips(**options: Any) -> None:
    """Choose the most trips of a person by the trips in INPUTS, with a charge of its own.

    \b
    geodp flows choose-trips trips.csv --grid jis:basic --bounds tokyo --from o --to d
        --person id --largest 100 --epsilon 0.01 --output trips

    One of the numbers up to --largest is drawn, so that about a share of the persons has more
    trips. Each person counts once, or each person in a day, a week or a month (--unit). Writes
    OUTPUT/public and OUTPUT/restricted, and prints the option of geodp flows publish, which spends
    a budget of its own.
    """
    carry_out(options, lambda *run: TripsPublishing(*run).run())


class TripsPublishing(SelectionPublishing):
    """A run of ``geodp flows choose-trips``, checked before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        from geodp.kinds.flows.trip_bound import ask, require_largest, require_quantile

        q, self.largest = require_quantile(options["share"]), require_largest(options["largest"])
        zones, labels = split_grid(options)
        if labels:
            raise UsageError(
                "Trips of a person are counted whatever their labels: leave --labels out.",
                code="flows-choice-labels",
            )
        self.question, self.grid = ask(q, self.largest)
        self.request = self.read_request(zones)
        # Of the bound it is only required that there is one.
        given = {**options, "trips": self.largest, "value": None, "attributes": None}
        given |= dict.fromkeys(RULES["trips"]) | NOT_COUNTED
        self.reader = make_trips_reader(given, zones, self.request, {})

    def prepare(self) -> Prepared[SelectionDesign, Selected]:
        """Count units by their trips, and prepare the choice."""
        from geodp.kinds.flows.trip_bound import count_units
        from geodp.kinds.selection.selected import prepare

        table = count_units(self.reader, [*self.options["inputs"]], self.largest)
        prepared = prepare(table, self.question, self.request)
        return replace(prepared, counted={"counted_units": int(table.count.sum())})

    def answer(self, release: Selected) -> list[str]:
        """Say which option of a release was chosen."""
        return [f"Use --trips {_find_trips(release)} with geodp flows publish."]

    def fields(self, release: Selected) -> dict[str, Any]:
        """Return the chosen number."""
        return {**super().fields(release), "trips": _find_trips(release)}


def _find_trips(release: Selected) -> int:
    from geodp.kinds.flows.trip_bound import find_trips

    return find_trips(release.chosen)


PLANNED_FIELDS = ("epsilon", "rho", "delta", "neighbours")
"""Fields of a request that a plan of flows accepts."""


@click.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, PLANNED, REQUEST.of(*PLANNED_FIELDS), JSON)
def plan(**options: Any) -> None:
    """Show the noise of a release by the trips of a person, before any data are read.

    \b
    geodp flows plan --grid regular:47x84 --trips 5 --trips 10 --epsilon 1 --mean-trips 7

    Standard errors of the ends of one zone and of noisy pairs of blocks, where nothing is clamped:
    of the blocks that are measured (*), and of those that another guess would choose
    (--expected-trips, --concentrated).
    """
    from geodp.kinds.flows.trip_bound import plan as make_plan

    # A plan reads no inputs, of which a mask or regions might be one.
    options = {**options, "inputs": ()}
    grid, labels = split_grid(options)
    given = {name: options[name] for name in ("method", "mean_trips", *PLANNED_FIELDS)}
    given |= {"by": read_by(options), "labels": labels, **read_measured(options)}
    rows = [make_plan(grid, trips=one, **given) for one in options["trips"]]
    if options["as_json"]:
        click.echo(json.dumps([asdict(one) for one in rows], indent=1))
        return
    click.echo("\n".join(_tabulate(rows)))


def _tabulate(plans: Sequence[PlannedFlows]) -> list[str]:
    """Return the lines of the table of plans for people, each with what other guesses choose."""
    rows = [(one, one is plan) for plan in plans for one in (plan, *plan.others)]
    sides = sorted({side for one, _ in rows for side in one.pair_errors})
    lines = [
        f"{'trips':>7}{'kept':>8}{'zone':>10}{'total':>10}   noisy pairs by side of blocks",
        " " * 35 + "".join(f"{side:>8,}" for side in sides),
    ]
    for one, chosen in rows:
        kept = "-" if one.retained is None else f"{100 * one.retained:.0f} %"
        ends = "".join(f"{_show(e):>10}" for e in (one.end_error, one.total_error))
        pairs = "".join(f"{_show(one.pair_errors.get(side)):>8}" for side in sides)
        why = f"{'*' if chosen else ' '} {one.reason}{_show_labels(one)}"
        lines.append(f"{one.trips:>7,}{kept:>8}{ends}{pairs}  {why}")
    return [*lines, "* measured with these options; other rows: with another guess."]


def _show(error: float | None) -> str:
    """Show an error; that of what is not measured is a line."""
    return "-" if error is None else f"{error:,.3g}"


def _show_labels(one: PlannedFlows) -> str:
    """Show the noise of counts by label; empty where flows have none."""
    if one.label_error is None:
        return ""
    side, of_pairs = one.label_sides
    return f"; by label {side}, pairs {of_pairs}: {one.label_error:,.3g}"
