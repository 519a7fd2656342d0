"""Flows as a kind of release: an index, and a release of flows, of origins and of destinations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from geodp.errors import VerificationError
from geodp.features.flows.card import FLOWS_SCHEMA, INDEX, FlowsCard
from geodp.io.folder.kinds import Check, Kind
from geodp.io.opening import read_json

if TYPE_CHECKING:
    from geodp.features.explain.page import Explanation
    from geodp.features.flows.flows import Flows


class FlowsKind(Kind):
    """The kind of release that ``geodp flows publish`` writes."""

    name: ClassVar[str] = "flows"
    title: ClassVar[str] = "a release of flows"
    file: ClassVar[str] = INDEX
    schemas: ClassVar[tuple[str, ...]] = (FLOWS_SCHEMA,)

    def read_card(self, folder: Path) -> FlowsCard:
        """Read the index."""
        return FlowsCard.from_json(read_json(folder / INDEX))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index matches the tables, that both ends are met, and each table."""
        # Imported here, so that reading an index does not load the verification.
        from geodp.features.flows.verify import verify_flows

        return verify_flows(folder, errors)

    def open(self, folder: Path) -> Flows:
        """Open the tables as one release."""
        from geodp.features.flows.opening import open_flows

        return open_flows(folder, self.read_card(folder))

    def explain(self, card: Any, language: str) -> Explanation:
        """Explain what all tables together reveal, in plain sentences."""
        from geodp.features.flows.explanation import explain_flows

        return explain_flows(card, language)

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError, as each of its tables has a folder of its own."""
        raise VerificationError(
            "This is a release of flows; give the folder of one of its tables, inside its public "
            "folder.",
            code="flows-are-tables",
        )


KINDS = (FlowsKind(),)
