"""The folder of a release of amounts: a release of records, tables of all numbers, an index."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.features.amounts.card import COUNT, INDEX
from geodp.features.amounts.formats.joint import NAME, write_joint
from geodp.io.folder.publication import write_index, write_member
from geodp.io.folder.staged_release import try_longest_name
from geodp.io.folder.staged_tables import StagedTables
from geodp.table.stated.release import TableInfo

if TYPE_CHECKING:
    from geodp.features.amounts.numbers import AmountNumbers

TABLES = 3
"""Listed cells of the records, for which space is reserved: the tables have as many rows as the
release of records, and more columns."""


class StagedAmounts(StagedTables):
    """A folder for a release of amounts, created and tested before anything is charged."""

    def try_out(self, empty: AmountNumbers, example: AmountNumbers, cells: int) -> None:
        """Do everything that does not need the numbers, and reserve space for them.

        ``empty``: the release of no records; ``example``: one of one record; ``cells``: number of
        cells with records.
        """
        listed = TABLES * self.try_tables({COUNT: (empty.count.view(COUNT), cells)})
        try_longest_name(self.folder, NAME)
        try_joint(self.folder, empty, example)
        self.reserve(listed)

    def write(self, release: AmountNumbers, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the records, the tables and the index; return their paths."""
        write_amounts(release, self.make_public())
        return self.finish(restricted)


def try_joint(staged: Path, empty: AmountNumbers, example: AmountNumbers) -> None:
    """Write the tables of a release of no record and of one of one record, and remove them."""
    for one in (empty, example):
        with tempfile.TemporaryDirectory(dir=staged) as place:
            write_joint(one, Path(place))


def write_amounts(release: AmountNumbers, folder: Path) -> None:
    """Write the records, the tables and the index of a release into an empty public folder."""
    records = TableInfo(COUNT, *write_member(release.count.view(COUNT), folder / COUNT))
    files, left_out = write_joint(release, folder)
    index = replace(release.index, tables=(records,), files=files, left_out=left_out)
    write_index(folder, INDEX, index.to_json())
