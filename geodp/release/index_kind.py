"""Kinds of release whose card is an index: what differs between them, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from geodp.io.folder.kinds import Check, Kind
from geodp.io.opening import read_json
from geodp.table.index import IndexCard, PeriodsCard

OF_SERIES = {"explain": "tools.explain.card:explain_series"}
"""Doors of a series of any kind."""


IN_PERIODS = "name one of its periods (--time), or give the folder of one, inside its public folder"
"""Advice on a series where a table is requested."""


class IndexKind(Kind):
    """A kind of release whose card is an index of tables or of other releases.

    Attributes
    ----------
    index : type
        Class of the index.
    doors : mapping of str to str
        See :class:`Kind`, and ``verify`` where the index lists no tables.
    """

    index: ClassVar[type[IndexCard]]
    doors: ClassVar[Mapping[str, str]] = {"explain": "tools.explain.card:explain_tables"}
    instead: ClassVar[str] = (
        "name one of its tables (--table), or give the folder of one, inside its public folder"
    )

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
        own = self.find("open")
        return super().open(folder) if own is None else own(folder, self.read_card(folder))


class SeriesKind(IndexKind):
    """A kind of series, which has a release in a folder for every period.

    Attributes
    ----------
    index : type
        Class of the index.
    doors : mapping of str to str
        See :class:`Kind`; ``series`` is the class of an opened series.
    """

    index: ClassVar[type[PeriodsCard]]
    instead: ClassVar[str] = IN_PERIODS
    doors: ClassVar[Mapping[str, str]] = OF_SERIES

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index follows from its periods, and verify each of these."""
        from geodp.release.verifying_series import verify_periods

        return verify_periods(folder, self.index, errors)

    def open(self, folder: Path) -> Any:
        """Open all periods as one series."""
        from geodp.release.series import ReleasedPeriods, open_periods

        made: Any = self.find("series") or ReleasedPeriods
        return open_periods(folder, self.read_card(folder), made)
