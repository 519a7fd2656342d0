"""Selection as a kind of release: one card, which names the chosen candidates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from geodp.errors import VerificationError
from geodp.io.folder.kinds import CARD, Check, Kind
from geodp.io.opening import read_json
from geodp.kinds.selection.card import SELECTION_SCHEMA, SelectionCard

NO_COUNTS = (
    "This is a selection, which names places and has no counts: geodp explain says what they mean."
)


class SelectionKind(Kind):
    """Releases that ``geodp select`` writes."""

    name: ClassVar[str] = "selection"
    title: ClassVar[str] = "a selection"
    schemas: ClassVar[tuple[str, ...]] = (SELECTION_SCHEMA,)
    lacks: ClassVar[dict[str, str]] = dict.fromkeys(("estimate", "compare", "diff"), NO_COUNTS)

    def read_card(self, folder: Path) -> SelectionCard:
        """Read the card."""
        return SelectionCard.from_json(read_json(folder / CARD))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that parameters follow from each other and answers are candidates."""
        from geodp.kinds.selection.selected import verify_selection

        return verify_selection(folder)

    def identify(self, folder: Path) -> str:
        """Return the id of the card."""
        return self.read_card(folder).release_id

    def open(self, folder: Path) -> SelectionCard:
        """Read the card: ``chosen`` are the codes of the chosen candidates."""
        return self.read_card(folder)

    def explain(self, card: Any, language: str) -> Any:
        """Explain the selection in plain sentences."""
        from geodp.kinds.selection.explanation import explain_selection

        return explain_selection(card, language)

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError: a selection shows no counts."""
        raise VerificationError(
            "This is a selection, which has no table; geodp verify and geodp explain read it.",
            code="selection-has-no-table",
        )


KINDS = (SelectionKind(),)
