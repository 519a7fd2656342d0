"""``geodp select``: read, choose, write."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Room, with_options
from geodp.cli.inputs import grid_of
from geodp.cli.options import GridCommand, inputs
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.running import carry_out
from geodp.cli.translation import translate_message
from geodp.kinds.selection.running import FIELDS, SelectionPublishing
from geodp.options.option import Option, joined
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, JSON, RECIPE, REQUEST

if TYPE_CHECKING:
    from geodp.kinds.selection.selected import Selected, SelectionDesign
    from geodp.release.transaction import Prepared

MECHANISMS = ("permute-and-flip", "exponential")
"""Names of the mechanisms, repeated so that ``--help`` imports nothing heavy."""


SELECTION = joined(
    Option(
        "--mechanism",
        "Mechanism that draws the candidates; the first is never worse.",
        group="Privacy",
        choices=MECHANISMS,
        default=MECHANISMS[0],
    ),
    Option("--k", "Number of cells or areas to select.", group="Privacy", type=int, required=True),
    Option(
        "--level",
        "Select areas instead of cells: a published area such as jis:basic, a number of cells "
        "per side, or a level of --regions.",
        group="Domain",
    ),
)


@click.group(cls=Room)
def select() -> None:
    """Select places with differential privacy: their codes are released, without counts.

    \b
    geodp select plan --grid jis:half ... --k 10 --epsilon 1 --contribution 1
    geodp select top FILE --grid jis:half ... --k 10 --epsilon 1 --contribution 1 --output out
    """


@select.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@with_options(RECIPE, GIVEN_DOMAIN, REQUEST.of(*FIELDS), SELECTION, FOLDER, CHECK)
def top(**options: Any) -> None:
    """Select the K cells or areas of INPUTS with the most people."""
    carry_out(options, lambda *run: TopPublishing(*run).run())


PLANNED = "{candidates} candidates, of which {chosen} are named."

NEAR = "One that is {people} people behind another is at most half as likely to be named."

BELOW = "Below {people} people false hot spots are to be expected."

PLANNED_FIELDS = ("epsilon", "neighbours", "contribution", "unit")
"""Fields of a request that a plan of a selection accepts."""


@select.command(cls=GridCommand, no_args_is_help=True)
@with_options(GIVEN_DOMAIN, REQUEST.of(*PLANNED_FIELDS), SELECTION, JSON)
def plan(**options: Any) -> None:
    """Show which counts a selection tells apart, before any data are read.

    \b
    geodp select plan --grid jis:half --bounds 138 35 141.2 37.1333333333 --k 10 --epsilon 1
        --contribution 1
    """
    from geodp.kinds.selection.plan import plan as make_plan

    names = ("k", "level", "mechanism", *PLANNED_FIELDS)
    one = make_plan(grid_of({**options, "inputs": ()}), **{name: options[name] for name in names})
    if options["as_json"]:
        click.echo(json.dumps(asdict(one), indent=1))
        return
    said = (
        PLANNED.format(candidates=f"{one.candidates:,}", chosen=f"{one.chosen:,}"),
        NEAR.format(people=f"{one.half_as_likely:,.3g}"),
        BELOW.format(people=f"{one.false_hot_spots_below:,.0f}"),
    )
    click.echo("\n".join(map(translate_message, said)))


class TopPublishing(SelectionPublishing):
    """A run of ``geodp select top``, checked before anything is read."""

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        from geodp.kinds.selection.question import Top

        check_applicable(click.get_current_context())
        self.grid = grid_of(options)
        self.question = Top(options["k"], options["level"])
        # Before reading: a question that does not suit the grid must not wait for a large file.
        self.question.candidates(self.grid)
        self.request = self.read_request(self.grid)

    def prepare(self) -> Prepared[SelectionDesign, Selected]:
        """Read the inputs, and prepare the question about them."""
        from geodp.kinds.selection.selected import prepare

        table = read(self.options, self.grid, self.request.key)
        return prepare(table, self.question, self.request, self.mechanism)

    def answer(self, release: Selected) -> list[str]:
        """List the chosen places, and below which count empty ones are to be expected."""
        lines = [" ".join(map(str, candidate.values())) for candidate in release.chosen]
        if (below := self._false_below(release)) is not None:
            lines.append(BELOW.format(people=f"{below:,.0f}"))
        return lines

    def fields(self, release: Selected) -> dict[str, Any]:
        """Return the chosen places."""
        return {**super().fields(release), "false_hot_spots_below": self._false_below(release)}

    @staticmethod
    def _false_below(release: Selected) -> float | None:
        false = release.card().false_hot_spots
        return None if false is None else false.count
