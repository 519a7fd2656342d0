"""Run a selection as a command, also those of other kinds that choose a setting of theirs."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from geodp.cli.check import begin_check
from geodp.cli.publishing import Publishing
from geodp.cli.request_options import read_request
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.kinds.selection.question import Question
    from geodp.kinds.selection.selected import Selected, SelectionDesign, StagedSelection
    from geodp.release.request import Request
    from geodp.release.transaction import Inputs, Prepared

FIELDS = (
    *("epsilon", "neighbours", "contribution", "unit"),
    *("key", "ledger", "dataset", "records", "allow_empty", "metadata", "supersedes"),
)
"""Fields of a request that a selection takes."""


class SelectionPublishing(Publishing):
    """A run that chooses among public candidates.

    Attributes
    ----------
    question : Question
    grid : Grid
        The domain, or the candidates, of which the question is asked.
    """

    question: Question

    def __init__(self, options: dict[str, Any], seconds: dict[str, float]) -> None:
        super().__init__(options, seconds)
        # A selection has a budget of epsilon alone, which a check does not need.
        if options["epsilon"] is None and not options["check"]:
            raise UsageError(
                "Add --epsilon, the budget, such as --epsilon 0.1.", code="epsilon-missing"
            )

    @property
    def mechanism(self) -> str:
        """Name of the mechanism that draws."""
        from geodp.kinds.selection.selected import DEFAULT

        mechanism: str = self.options.get("mechanism", DEFAULT)
        return mechanism

    def read_request(self, grid: Grid) -> Request:
        """Make the request from the options; ``grid``: the domain of the records."""
        from geodp.kinds.selection.kind import SelectionKind

        return read_request(begin_check(self.options), grid, kind=SelectionKind())

    def design(self, inputs: Inputs) -> SelectionDesign:
        """Design the selection from the inputs of an interrupted run."""
        from geodp.kinds.selection.selected import design_selection

        return design_selection(self.grid, self.question, self.request, self.mechanism, inputs)

    def choose_area(self) -> None:
        """Return nothing: what is chosen is a list without numbers."""

    def list_notes(self, prepared: Prepared[SelectionDesign, Selected]) -> list[str]:
        """List nothing: warnings are about errors of counts."""
        return []

    def stage(self) -> AbstractContextManager[StagedSelection]:
        """Yield the folder of the selection."""
        from geodp.kinds.selection.selected import StagedSelection

        return StagedSelection.stage(**self.place)

    def try_out(self, place: StagedSelection, prepared: Prepared[Any, Selected]) -> None:
        """Write a card of full length."""
        place.try_out(prepared.design.shown.card())

    def fields(self, release: Selected) -> dict[str, Any]:
        """Return the answer."""
        return {"chosen": [dict(candidate) for candidate in release.chosen]}
