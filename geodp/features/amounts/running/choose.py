"""``geodp amounts choose-clip``: the upper end of the clip, chosen by the records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import option
from geodp.cli.inputs import grid_of
from geodp.cli.options import folder_options, grid_options, inputs, weight_options
from geodp.cli.request_options import read_request, request_options
from geodp.cli.translation import translate_message
from geodp.features.amounts.running.options import (
    BEYOND,
    RecordsCommand,
    amount_option,
    check_reading,
    contribution_option,
    make_records_reader,
    split_amounts,
    step_option,
    unit_of_amount_option,
)
from geodp.features.select.running import FIELDS, Shown, run_selection

if TYPE_CHECKING:
    from geodp.features.amounts.streams import AmountTable
    from geodp.features.select.running import Card, Ready


TOLD = BEYOND.format("restricted/run.json")
"""Sentence of every choice, whatever the data are."""


@click.command("choose-clip", cls=RecordsCommand, no_args_is_help=True)
@inputs
@partial(grid_options, required=True)
@amount_option
@unit_of_amount_option
@option(
    "--candidates",
    group="Privacy",
    everyday=True,
    metavar="UPPER,UPPER...",
    help="Public upper ends among which one is chosen, in increasing order.",
)
@option(
    "--lowest",
    group="Privacy",
    everyday=True,
    metavar="UPPER",
    help="In place of --candidates, with --highest: the lowest upper end of a logarithmic scale of "
    "round ones.",
)
@option(
    "--highest",
    group="Privacy",
    everyday=True,
    metavar="UPPER",
    help="With --lowest: the highest upper end that may be chosen.",
)
@option("--lower", group="Privacy", default="0", show_default=True, help="Lower end of the clip.")
@option(
    "--share",
    group="Privacy",
    everyday=True,
    default="0.01",
    show_default=True,
    help="Share of the records that may lie above the chosen end.",
)
@step_option
@weight_options
@contribution_option
@request_options(*FIELDS, without=("contribution",))
@folder_options
def choose_clip(**options: Any) -> None:
    """Choose the upper end of the clip by the records in INPUTS, with a charge of its own.

    \b
    geodp amounts choose-clip FILE --grid jis:half --code mesh --amount income --lowest 100
        --highest 10000 --unit-of-amount "10,000 yen" --contribution 1 --epsilon 0.02 --output clip

    One of public candidates is drawn, so that about a share of the records lies above it. Writes
    OUTPUT/public and OUTPUT/restricted, and prints the option of geodp amounts publish, which
    spends a budget of its own.
    """
    check_reading(click.get_current_context(), options)
    show = partial(_show_clip, options)
    run_selection(options, "choose-clip", lambda: _prepare_clip(options), show)


def _prepare_clip(options: dict[str, Any]) -> Ready:
    """Read the inputs, and prepare the choice of the upper end of the clip."""
    from geodp.features.amounts.clip import list_candidates, prepare_choice, require_quantile

    q = require_quantile(options["share"])
    candidates = split_amounts(options["candidates"])
    uppers = list_candidates(candidates, options["lowest"], options["highest"])
    # Records are counted between candidates, of which the last one ends the clip.
    counted = {"clip": (options["lower"], uppers[-1]), "classes": ",".join(uppers[:-1])}
    grid = grid_of(options)
    request = read_request(options, grid)
    reader = make_records_reader({**options, **counted}, grid, request)
    progress.begin("Reading")
    table = reader.read_amounts(options["inputs"])
    return prepare_choice(table, uppers, q, request), _facts(table)


def _facts(table: AmountTable) -> dict[str, Any]:
    """Return what the operator may know of the records of a choice."""
    number = int(table.records.count.sum())
    return {"records": number, "records_beyond_clip": dict(table.beyond)}


def _show_clip(options: dict[str, Any], card: Card) -> Shown:
    """Say which option of a release was chosen."""
    from geodp.features.amounts.clip import find_upper
    from geodp.features.amounts.scale import exact, show_number

    lower, upper = show_number(exact(options["lower"], "lower")), find_upper(card.chosen)
    use = f"Use --clip {lower} {upper} with geodp amounts publish."
    return Shown([*map(translate_message, (use, TOLD))], {"clip": (lower, upper)})
