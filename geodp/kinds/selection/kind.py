"""Selection as a kind of release: one card, which names the chosen candidates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from geodp.io.folder.kinds import CARD, Check, Kind
from geodp.io.opening import read_json
from geodp.kinds.selection.card import NO_COUNTS, SELECTION_SCHEMA, SelectionCard


class SelectionKind(Kind):
    """Releases that ``geodp select`` writes."""

    name: ClassVar[str] = "selection"
    title: ClassVar[str] = "a selection"
    schemas: ClassVar[tuple[str, ...]] = (SELECTION_SCHEMA,)
    doors: ClassVar[dict[str, str]] = {
        "explain": "kinds.selection.explanation:explain_selection",
    }
    lacks: ClassVar[dict[str, str]] = dict.fromkeys(
        ("estimate", "compare", "diff", "statistics"), NO_COUNTS
    )

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

    def open(self, folder: Path) -> Any:
        """Open the selection; ``chosen`` are the codes of the chosen candidates."""
        from geodp.kinds.selection.selected import WrittenSelection

        return WrittenSelection(self.read_card(folder))


KINDS = (SelectionKind(),)
