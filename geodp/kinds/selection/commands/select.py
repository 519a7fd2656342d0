"""``geodp select``: read, choose, write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from geodp.cli.help import Room, with_options
from geodp.cli.inputs import grid_of
from geodp.cli.options import inputs
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.running import carry_out
from geodp.kinds.selection.running import FIELDS, SelectionPublishing
from geodp.options.option import Option, joined
from geodp.options.shared import CHECK, FOLDER, GIVEN_DOMAIN, REQUEST

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
    geodp select top FILE --grid jis:half ... --k 10 --epsilon 1 --contribution 1 --output out
    """


@select.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@with_options(GIVEN_DOMAIN, REQUEST.of(*FIELDS), SELECTION, FOLDER, CHECK)
def top(**options: Any) -> None:
    """Select the K cells or areas of INPUTS with the most people."""
    carry_out(options, lambda *run: TopPublishing(*run).run())


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
            lines.append(f"Below {below:,.0f} people false hot spots are to be expected.")
        return lines

    def fields(self, release: Selected) -> dict[str, Any]:
        """Return the chosen places."""
        return {**super().fields(release), "false_hot_spots_below": self._false_below(release)}

    @staticmethod
    def _false_below(release: Selected) -> float | None:
        false = release.card().false_hot_spots
        return None if false is None else false.count
