"""The folder of a series of amounts: a release in a folder for every period, and an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from geodp import progress
from geodp.features.amounts.card import COUNT, AmountsCard
from geodp.features.amounts.formats.joint import NAME
from geodp.features.amounts.series.card import AmountsSeriesCard, PeriodInfo
from geodp.features.series.files import LONGEST_TIME
from geodp.io.folder.manifest import sha256
from geodp.io.folder.staged_release import list_cells, try_formats, try_longest_name
from geodp.io.folder.staged_tables import StagedIndex, write_release

if TYPE_CHECKING:
    from geodp.features.amounts.amounts import Amounts


class StagedAmountsSeries(StagedIndex):
    """A folder for a series of amounts, created and tested before anything is charged."""

    def try_out(self, empty: Amounts, example: Amounts, cells: Sequence[int]) -> None:
        """Do everything that does not need the numbers, and reserve space for them.

        Parameters
        ----------
        empty, example : Amounts
            A period of no records, and one of one record.
        cells : sequence of int
            Number of cells with records, of every period.
        """
        # All periods have the same formats, so that one of them is tried.
        view = empty.count.view(COUNT)
        try_formats(view)
        try_longest_name(self.folder, COUNT, f"{LONGEST_TIME}/{COUNT}")
        try_longest_name(self.folder, NAME, LONGEST_TIME)
        self.try_joint(empty, example)
        grid = view.table.grid
        often = 1 + empty.joint_rows[COUNT]
        self.reserve(often * sum(list_cells(grid, view.card, one) for one in cells))

    def write(
        self,
        releases: Mapping[str, Amounts],
        card: AmountsSeriesCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the periods by their times, and the index; return the paths."""
        public = self.make_public()
        written = []
        for time, release in releases.items():
            progress.begin(f"Writing {time}", public=True)
            (public / time).mkdir()
            write_release(release, public / time)
            written.append(PeriodInfo(time, sha256(public / time / AmountsCard.file)))
        return self.complete(replace(card, periods=tuple(written)), restricted)
