"""Amounts as kinds of release: one with all its numbers, and a series of these."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from geodp.errors import VerificationError
from geodp.features.amounts.card import AMOUNTS_SCHEMA, INDEX, AmountsCard
from geodp.features.amounts.series.card import SERIES_INDEX, SERIES_SCHEMA, AmountsSeriesCard
from geodp.io.folder.kinds import Check, Kind
from geodp.io.opening import read_json

if TYPE_CHECKING:
    from geodp.features.amounts.amounts import Amounts
    from geodp.features.amounts.formats.joint import AmountsView
    from geodp.features.amounts.series.series import AmountsSeries
    from geodp.features.explain.page import Explanation
    from geodp.io.write.drawing.sheet import Sheet
    from geodp.io.write.map.look import Look


class AmountsKind(Kind):
    """The kind of release that ``geodp amounts publish`` writes: index, numbers, and records."""

    name: ClassVar[str] = "amounts"
    title: ClassVar[str] = "a release of amounts"
    file: ClassVar[str] = INDEX
    schemas: ClassVar[tuple[str, ...]] = (AMOUNTS_SCHEMA,)

    def read_card(self, folder: Path) -> AmountsCard:
        """Read the index."""
        return AmountsCard.from_json(read_json(folder / INDEX))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index matches the numbers, that these agree, and the records."""
        # Imported here, so that reading an index does not load the verification.
        from geodp.features.amounts.verify import verify_amounts

        return verify_amounts(folder, errors)

    def open(self, folder: Path) -> Amounts:
        """Open the records, sums and classes as one release."""
        from geodp.features.amounts.formats.reading import open_amounts

        return open_amounts(folder, self.read_card(folder))

    def view(self, folder: Path) -> AmountsView:
        """Return the view of records, sums, means, classes and medians of the cells."""
        from geodp.features.amounts.formats.joint import view_of

        return view_of(self.open(folder))

    def draw(self, folder: Path, look: Look) -> Sheet:
        """Lay out the map of means, or of medians where there are no means."""
        from geodp.features.amounts.drawing import draw_amounts
        from geodp.io.verify.withdrawn import find_day

        return draw_amounts(self.open(folder), look, find_day(folder))

    def explain(self, card: Any, language: str) -> Explanation:
        """Explain what all numbers together reveal, in plain sentences."""
        from geodp.features.amounts.explanation import explain_amounts

        return explain_amounts(card, language)

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError, as its records have a folder of their own."""
        raise VerificationError(
            "This is a release of amounts; use geodp amounts, or give the folder count, inside its "
            "public folder, for what concerns the map of its records.",
            code="amounts-are-tables",
        )


class AmountsSeriesKind(Kind):
    """The kind that ``geodp amounts publish-series`` writes: an index, and a release a period."""

    name: ClassVar[str] = "amounts-series"
    title: ClassVar[str] = "a series of amounts"
    file: ClassVar[str] = SERIES_INDEX
    schemas: ClassVar[tuple[str, ...]] = (SERIES_SCHEMA,)

    def read_card(self, folder: Path) -> AmountsSeriesCard:
        """Read the index."""
        return AmountsSeriesCard.from_json(read_json(folder / SERIES_INDEX))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index matches the periods, and verify each of these."""
        from geodp.features.amounts.series.verify import verify_series

        return verify_series(folder, errors)

    def open(self, folder: Path) -> AmountsSeries:
        """Open all periods as one series."""
        from geodp.features.amounts.series.series import open_series

        return open_series(folder, self.read_card(folder))

    def explain(self, card: Any, language: str) -> Explanation:
        """Explain what all periods together reveal, in plain sentences."""
        from geodp.features.amounts.explanation import explain_series

        return explain_series(card, language)

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError, as the records of each period have a folder of their own."""
        raise VerificationError(
            "This is a series of amounts; give the folder count of one of its periods, inside its "
            "public folder, for the map of its records, or use geodp amounts.",
            code="amounts-series-are-tables",
        )


KINDS = (AmountsKind(), AmountsSeriesKind())
