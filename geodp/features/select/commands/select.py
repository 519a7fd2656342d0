"""``geodp select``: read, choose, write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from geodp import progress
from geodp.cli.help import add_options, option
from geodp.cli.inputs import grid_of
from geodp.cli.options import folder_options, grid_options, inputs
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request, request_options
from geodp.cli.translation import translate_message
from geodp.features.select.running import FIELDS, Shown, run_selection

if TYPE_CHECKING:
    from geodp.features.select.question import Question
    from geodp.features.select.running import Card, Ready

Command = TypeVar("Command", bound=Callable[..., Any])

MECHANISMS = ("permute-and-flip", "exponential")
"""Names of the mechanisms, repeated so that ``--help`` imports nothing heavy."""

_mechanism_option = option(
    "--mechanism",
    group="Privacy",
    type=click.Choice(MECHANISMS),
    default=MECHANISMS[0],
    show_default=True,
    help="Mechanism that draws the candidates; the first is never worse.",
)


def _with_shared_options(command: Command) -> Command:
    """Add the options for inputs, grid, budget and output to a command."""
    command = add_options(folder_options(command), [_mechanism_option])
    return inputs(grid_options(request_options(*FIELDS)(command)))


@click.group()
def select() -> None:
    """Select places with differential privacy: their codes are released, without counts.

    \b
    geodp select top FILE --grid jis:half ... --k 10 --epsilon 1 --contribution 1 --output out
    geodp select level FILE --grid jis:half ... --next-epsilon 1 --epsilon 1/10 ...
    """


@select.command(cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
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


@select.command(cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
@option(
    "--next-epsilon",
    group="Privacy",
    required=True,
    help="Budget of the release that follows at the selected level.",
)
def level(**options: Any) -> None:
    """Select the level at which publishing INPUTS has the smallest error."""
    from geodp.features.select.resolution import Level
    from geodp.privacy.budget import rational

    _run(options, Level(rational(options["next_epsilon"], "next_epsilon")))


@select.command(cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
@option(
    "--q",
    group="Privacy",
    required=True,
    help="Share of all people, above 0 and below 1: 0.5 or 1/4.",
)
@option(
    "--along", group="Domain", required=True, help="Axis: row, col, or the name of an attribute."
)
def quantile(**options: Any) -> None:
    """Select the position along an axis that a share of all people of INPUTS lies before."""
    from geodp.features.select.quantiles import Quantile
    from geodp.privacy.budget import rational

    _run(options, Quantile(rational(options["q"], "q"), options["along"]))


@select.command("median-centre", cls=ReadingCommand, no_args_is_help=True)
@_with_shared_options
def median_centre(**options: Any) -> None:
    """Select the cell at the medians of the rows and columns of INPUTS."""
    from geodp.features.select.quantiles import MedianCentre

    _run(options, MedianCentre())


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
