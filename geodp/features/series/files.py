"""The folder of a series: a release in a separate folder for every snapshot, and an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp.features.series.card import SeriesCard, SnapshotInfo
from geodp.features.series.formats import netcdf, sheet
from geodp.io.folder.publication import list_file, write_index
from geodp.io.folder.staged_release import Staged, list_cells, try_formats, try_longest_name
from geodp.io.folder.staged_tables import LONGEST_TIME, write_tables
from geodp.io.write.view import View
from geodp.release.periods import Periods
from geodp.table.card import LeftOut
from geodp.table.index import Joint


class StagedSeries(Staged):
    """A folder for a series, created and tested before anything is charged."""

    def try_out(self, empty: View, cells: Sequence[int]) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        ``empty``: view of a snapshot without cells; ``cells``: number of occupied cells of each.
        """
        # All snapshots have the same formats, so that one of them is tried.
        try_formats(empty)
        try_longest_name(self.folder, empty.card.name, LONGEST_TIME)
        self.reserve(sum(list_cells(empty, one) for one in cells))

    def write(
        self,
        periods: Periods,
        views: Iterable[View],
        card: SeriesCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the snapshots, the files for all of them, and the index; return their paths."""
        shown = [one.named(card.name) for one in views]
        public = self.make_public()
        written = write_tables(dict(zip(periods.names, shown, strict=True)), public)
        snapshots = [SnapshotInfo(one.name, one.release_id, one.card_sha256) for one in written]
        card = replace(card, snapshots=tuple(snapshots))
        files, left_out = write_shared(public, periods, shown, card)
        write_index(public, replace(card, files=files, left_out=left_out))
        return self.finish(restricted)


def write_shared(folder: Path, periods: Periods, shown: Sequence[View], card: SeriesCard) -> Joint:
    """Write the files that show all snapshots together; return the index's entries of them."""
    files, left_out = [], []
    # Both are views of the snapshots: a series without them, such as one of pairs, is complete.
    forms: tuple[Any, ...] = (netcdf, sheet)
    for form in forms:
        path = folder / f"{card.name}.{form.ENDING}"
        if (reason := form.why_not(shown)) is not None:
            left_out.append(LeftOut(path.name, reason))
            continue
        form.write(path, periods, shown, card)
        files.append(list_file(path, form.MEDIA_TYPE, form.WHAT))
    return tuple(files), tuple(left_out)
