"""``geodp flows choose-trips``: the most trips of a person, with a charge of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check
from geodp.cli.help import with_options
from geodp.cli.options import inputs
from geodp.cli.request_options import read_request
from geodp.cli.running import carry_out
from geodp.errors import UsageError
from geodp.kinds.flows.options import CHOICE
from geodp.kinds.flows.running.inputs import NOT_COUNTED, RULES, make_trips_reader, split_grid
from geodp.kinds.flows.running.options import PersonsCommand
from geodp.kinds.selection.running import FIELDS, SelectionPublishing
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, REQUEST

if TYPE_CHECKING:
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
        self.request = read_request(begin_check(options), zones)
        # Of the bound it is only required that there is one.
        given = {**options, "trips": self.largest, "value": None, "attributes": None}
        given |= dict.fromkeys(RULES["trips"]) | NOT_COUNTED
        self.reader = make_trips_reader(given, zones, self.request, {})

    def prepare(self) -> Prepared[SelectionDesign, Selected]:
        """Count units by their trips, and prepare the choice."""
        from geodp.kinds.flows.trip_bound import count_units
        from geodp.kinds.selection.selected import prepare

        table = count_units(self.reader, [*self.options["inputs"]], self.largest)
        units = {"units": int(table.count.sum())}
        prepared = prepare(table, self.question, self.request)
        return replace(prepared, counted=units, record=units)

    def answer(self, release: Selected) -> list[str]:
        """Say which option of a release was chosen."""
        return [f"Use --trips {_find_trips(release)} with geodp flows publish."]

    def fields(self, release: Selected) -> dict[str, Any]:
        """Return the chosen number."""
        return {**super().fields(release), "trips": _find_trips(release)}


def _find_trips(release: Selected) -> int:
    from geodp.kinds.flows.trip_bound import find_trips

    return find_trips(release.chosen)
