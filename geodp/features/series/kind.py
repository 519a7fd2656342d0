"""A series as a kind of release: an index, and a release of a table for every snapshot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from geodp.errors import VerificationError
from geodp.features.series.card import INDEX, SERIES_SCHEMA, SeriesCard
from geodp.io.folder.kinds import Check, Kind
from geodp.io.opening import read_json

if TYPE_CHECKING:
    from geodp.release.opening import WrittenRelease


class SeriesOfReleases(Kind):
    """The kind of release that ``geodp publish-series`` writes."""

    name: ClassVar[str] = "series"
    title: ClassVar[str] = "a series"
    file: ClassVar[str] = INDEX
    schemas: ClassVar[tuple[str, ...]] = (SERIES_SCHEMA,)

    def read_card(self, folder: Path) -> SeriesCard:
        """Read the index."""
        return SeriesCard.from_json(read_json(folder / INDEX))

    def verify(self, folder: Path, errors: Callable[..., Any] | None) -> list[Check]:
        """Check that the index matches the snapshots, and verify each of these."""
        # Imported here, so that reading an index does not load the verification.
        from geodp.features.series.verify import verify_series

        return verify_series(folder, errors)

    def open(self, folder: Path) -> dict[str, WrittenRelease]:
        """Open the snapshots, by their times, in order."""
        from geodp.release.opening import open_release

        snapshots = self.read_card(folder).snapshots
        return {one.time: open_release(folder / one.time) for one in snapshots}

    def refuse_table(self) -> NoReturn:
        """Raise VerificationError, as each snapshot has a table and the series has none."""
        raise VerificationError(
            "This is a series of releases; give the folder of one of its snapshots, inside its "
            "public folder.",
            code="series-is-no-release",
        )


KINDS = (SeriesOfReleases(),)
