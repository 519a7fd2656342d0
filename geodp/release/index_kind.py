"""Kinds of release whose card is an index: what differs between them, as data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from geodp.errors import Rule, VerificationError
from geodp.io.folder.kinds import Check, Kind
from geodp.io.opening import read_json
from geodp.io.verify.card import find_day
from geodp.table.index import IndexCard, PeriodsCard


class IndexKind(Kind):
    """A kind of release whose card is an index of tables or of other releases.

    Attributes
    ----------
    index : type
        Class of the index.
    refusal : Rule
        Error where a table is requested, with what to do instead.
    doors : mapping of str to str
        ``open`` (of the public folder and the index), ``explain`` (of the index and the language),
        ``view`` and ``draw`` (of what was opened), ``verify`` where the index lists no tables, and
        commands whose answers only this kind has (:mod:`geodp.cli.using`).
    """

    index: ClassVar[type[IndexCard]]
    refusal: ClassVar[Rule]

    def __init_subclass__(cls) -> None:
        """Take the names of the kind, its file and its schema from the class of the index."""
        if "index" in vars(cls):
            cls.name, cls.file, cls.schemas = (
                cls.index.kind,
                cls.index.file,
                (cls.index.identifier,),
            )

    def read_card(self, folder: Path) -> Any:
        """Read the index."""
        return self.index.from_json(read_json(folder / self.file))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index follows from what it lists, and verify that."""
        if (own := self.find("verify")) is not None:
            checks: list[Check] = own(folder, errors)
            return checks
        # Imported here, so that reading an index does not load the verification.
        from geodp.io.verify.index import verify_tables

        return verify_tables(folder, self.index, self.open, errors)

    def open(self, folder: Path) -> Any:
        """Open all that the index lists as one release."""
        return self._find("open")(folder, self.read_card(folder))

    def view(self, folder: Path) -> Any:
        """Return the view of all cells as one table; VerificationError for a kind without one."""
        return self._find("view")(self.open(folder))

    def draw(self, folder: Path, look: Any) -> Any:
        """Lay out the map; VerificationError for a kind without one."""
        return self._find("draw")(self.open(folder), look, find_day(folder))

    def explain(self, card: Any, language: str) -> Any:
        """Explain what all that the index lists reveals together, in plain sentences."""
        return (self.find("explain") or super().explain)(card, language)

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError, as every table has a folder of its own."""
        raise VerificationError(self.refusal)

    def _find(self, door: str) -> Callable[..., Any]:
        """Import the function of a door; VerificationError for a kind without it."""
        return self.find(door) or self.refuse_table()


EXPLAIN_SERIES = "tools.explain.card:explain_series"
"""Explanation of a series of any kind."""


class SeriesKind(IndexKind):
    """A kind of series, which has a release in a folder for every period.

    Attributes
    ----------
    index : type
        Class of the index.
    doors : mapping of str to str
        ``series`` is the class of an opened series.
    """

    index: ClassVar[type[PeriodsCard]]
    doors: ClassVar[dict[str, str]] = {"explain": EXPLAIN_SERIES}

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index follows from its periods, and verify each of these."""
        from geodp.release.verifying_series import verify_periods

        return verify_periods(folder, self.index, errors)

    def open(self, folder: Path) -> Any:
        """Open all periods as one series."""
        from geodp.release.series import ReleasedPeriods, open_periods

        made: Any = self.find("series") or ReleasedPeriods
        return open_periods(folder, self.read_card(folder), made)
