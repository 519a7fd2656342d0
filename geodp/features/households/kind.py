"""Persons and households as a kind of release: an index, and a release of each table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from geodp.errors import VerificationError
from geodp.features.households.card import HOUSEHOLDS_SCHEMA, INDEX, HouseholdsCard
from geodp.io.folder.kinds import Check, Kind
from geodp.io.opening import read_json

if TYPE_CHECKING:
    from geodp.features.explain.page import Explanation
    from geodp.features.households.households import Households


class HouseholdsKind(Kind):
    """The kind of release that ``geodp households publish`` writes."""

    name: ClassVar[str] = "households"
    title: ClassVar[str] = "a release of persons and households"
    file: ClassVar[str] = INDEX
    schemas: ClassVar[tuple[str, ...]] = (HOUSEHOLDS_SCHEMA,)

    def read_card(self, folder: Path) -> HouseholdsCard:
        """Read the index."""
        return HouseholdsCard.from_json(read_json(folder / INDEX))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index matches the tables, that cells are possible, and each table."""
        # Imported here, so that reading an index does not load the verification.
        from geodp.features.households.verify import verify_households

        return verify_households(folder, errors)

    def open(self, folder: Path) -> Households:
        """Open the tables as one release."""
        from geodp.features.households.households import Households

        return Households.open(folder, self.read_card(folder))

    def explain(self, card: Any, language: str) -> Explanation:
        """Explain what both tables together reveal, in plain sentences."""
        from geodp.features.households.explanation import explain_households

        return explain_households(card, language)

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError, as each of its tables has a folder of its own."""
        raise VerificationError(
            "This is a release of persons and households; give the folder of one of its tables, "
            "inside its public folder.",
            code="households-are-tables",
        )


KINDS = (HouseholdsKind(),)
