"""``geodp select``: read, choose, write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import option
from geodp.cli.inputs import grid_of
from geodp.cli.options import folder_options, grid_options, inputs
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request, request_options
from geodp.cli.translation import translate_message
from geodp.features.select.running import FIELDS, Shown, run_selection

if TYPE_CHECKING:
    from geodp.features.select.question import Question
    from geodp.features.select.running import Card, Ready

MECHANISMS = ("permute-and-flip", "exponential")
"""Names of the mechanisms, repeated so that ``--help`` imports nothing heavy."""


@click.group()
def select() -> None:
    """Select places with differential privacy: their codes are released, without counts.

    \b
    geodp select top FILE --grid jis:half ... --k 10 --epsilon 1 --contribution 1 --output out
    """


@select.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@grid_options
@request_options(*FIELDS)
@option(
    "--mechanism",
    group="Privacy",
    type=click.Choice(MECHANISMS),
    default=MECHANISMS[0],
    show_default=True,
    help="Mechanism that draws the candidates; the first is never worse.",
)
@folder_options
@option("--k", group="Privacy", type=int, required=True, help="Number of cells or areas to select.")
@option(
    "--level",
    group="Domain",
    help="Select areas instead of cells: a published area such as jis:basic, a number of cells "
    "per side, or a level of --regions.",
)
def top(**options: Any) -> None:
    """Select the K cells or areas of INPUTS with the most people."""
    from geodp.features.select.hot_spots import Top

    _run(options, Top(options["k"], options["level"]))


COMMAND = select


def _run(options: dict[str, Any], question: Question) -> None:
    """Choose, write, and print what was chosen."""
    check_applicable(click.get_current_context())
    run_selection(options, repr(question), lambda: _prepare(options, question), _show)


def _prepare(options: dict[str, Any], question: Question) -> Ready:
    """Read the inputs, and prepare the question about them."""
    from geodp.features.select.selected import prepare

    grid = grid_of(options)
    # Before reading: a question that does not suit the grid must not wait for a large file.
    question.candidates(grid)
    request = read_request(options, grid)
    progress.begin("Reading")
    table = read(options, grid, request.key)
    facts = {"occupied_cells": int(table.key.size), "people": int(table.count.sum())}
    return prepare(table, question, request, options["mechanism"]), facts


def _show(card: Card) -> Shown:
    """Say which candidates were chosen."""
    below = None if card.false_hot_spots is None else card.false_hot_spots.count
    lines = [" ".join(map(str, candidate.values())) for candidate in card.chosen]
    if below is not None:
        false = f"Below {below:,.0f} people false hot spots are to be expected."
        lines.append(translate_message(false))
    return Shown(lines, {"false_hot_spots_below": below})
