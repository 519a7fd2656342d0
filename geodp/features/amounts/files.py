"""The folder of a release of amounts: a release of records, tables of all numbers, an index."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.features.amounts.card import COUNT, INDEX
from geodp.features.amounts.formats.joint import NAME, write_joint
from geodp.io.folder.staged_release import try_longest_name
from geodp.io.folder.staged_tables import StagedTables

if TYPE_CHECKING:
    from geodp.features.amounts.numbers import AmountNumbers


class StagedAmounts(StagedTables):
    """A folder for a release of amounts, created and tested before anything is charged."""

    def try_out(self, empty: AmountNumbers, example: AmountNumbers, cells: int) -> None:
        """Do everything that does not need the numbers, and reserve space for them.

        ``empty``: the release of no records; ``example``: one of one record; ``cells``: number of
        cells with records.
        """
        # The tables have as many rows as the release of records, and more columns.
        listed = 3 * self.try_tables({COUNT: (empty.count.view(COUNT), cells)})
        try_longest_name(self.folder, NAME)
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            for one in (empty, example):
                write_joint(one, Path(place))
        self.reserve(listed)

    def write(self, release: AmountNumbers, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the records, the tables and the index; return their paths."""
        written = self.write_tables({COUNT: release.count.view(COUNT)})
        files = write_joint(release, self.folder / "public")
        index = replace(release.index, tables=written, files=files)
        return self.complete(INDEX, index.to_json(), restricted)
