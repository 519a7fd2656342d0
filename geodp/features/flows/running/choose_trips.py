"""``geodp flows choose-trips``: the most trips of a person, with a charge of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.options import folder_options, grid_options, inputs
from geodp.cli.request_options import read_request, request_options
from geodp.cli.translation import translate_message
from geodp.errors import UsageError
from geodp.features.flows.running.inputs import (
    NOT_COUNTED,
    RULES,
    list_paths,
    make_trips_reader,
    split_grid,
)
from geodp.features.flows.running.options import PersonsCommand, choosing_options
from geodp.features.select.running import FIELDS, Shown, run_selection

if TYPE_CHECKING:
    from geodp.features.select.running import Card, Ready


@click.command("choose-trips", cls=PersonsCommand, no_args_is_help=True)
@inputs
@grid_options
@choosing_options
@request_options(*FIELDS, without=("contribution", "unit"))
@folder_options
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
    run_selection(options, "choose-trips", lambda: _prepare(options), _show)


def _prepare(options: dict[str, Any]) -> Ready:
    """Read the inputs, and prepare the choice of the most trips of a unit."""
    from geodp.features.flows.choice import (
        count_units,
        prepare_choice,
        require_largest,
        require_quantile,
    )

    q, largest = require_quantile(options["share"]), require_largest(options["largest"])
    grid, labels = split_grid(options)
    if labels:
        raise UsageError(
            "Trips of a person are counted whatever their labels: leave --labels out.",
            code="flows-choice-labels",
        )
    request = read_request(options, grid)
    # Of the bound it is only required that there is one.
    given = {**options, "trips": largest, "value": None, "attributes": None}
    given |= dict.fromkeys(RULES["trips"]) | NOT_COUNTED
    reader = make_trips_reader(given, grid, request, {})
    progress.begin("Reading")
    table = count_units(reader, list_paths(options), largest)
    facts = {"units": int(table.count.sum())}
    return prepare_choice(table, q, request), facts


def _show(card: Card) -> Shown:
    """Say which option of a release was chosen."""
    from geodp.features.flows.choice import find_trips

    trips = find_trips(card.chosen)
    use = f"Use --trips {trips} with geodp flows publish."
    return Shown([translate_message(use)], {"trips": trips})
