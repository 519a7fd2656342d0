"""The folder of a release of persons and households: a release for every table, and an index."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp.features.households.card import INDEX, HouseholdsCard
from geodp.features.households.formats.joint import NAME, write_files, write_joint
from geodp.io.folder.staged_release import list_cells, try_longest_name
from geodp.io.folder.staged_tables import StagedTables
from geodp.io.write.view import View
from geodp.release.release import Release


class StagedHouseholds(StagedTables):
    """A folder for persons and households, created and tested before anything is charged."""

    def try_out(self, empty: Mapping[str, Release], joint: View, cells: int) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        Parameters
        ----------
        empty : mapping of str to Release
            The tables without cells, by name.
        joint : View
            The table of both counts without cells.
        cells : int
            Number of cells with households.
        """
        listed = self.try_tables({name: (one.view(name), cells) for name, one in empty.items()})
        try_longest_name(self.folder, NAME)
        # The table of both counts, which has as many rows as that of persons.
        listed += list_cells(joint.table.grid, joint.card, cells)
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            write_files(joint, Path(place))
        self.reserve(listed)

    def write(
        self,
        tables: Mapping[str, Release],
        joint: View,
        index: HouseholdsCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the tables, the table of both counts, and the index; return their paths."""
        written = self.write_tables({name: one.view(name) for name, one in tables.items()})
        files, left_out = write_joint(joint, index.max_size, self.folder / "public")
        index = replace(index, tables=written, files=files, left_out=left_out)
        return self.complete(INDEX, index.to_json(), restricted)
