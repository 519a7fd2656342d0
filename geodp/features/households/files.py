"""The folder of a release of persons and households: a release for every table, and an index."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp import progress
from geodp.features.households.card import INDEX, HouseholdsCard, TableInfo
from geodp.features.households.formats.joint import NAME, write_files, write_joint
from geodp.io.folder.kinds import CARD
from geodp.io.folder.manifest import sha256
from geodp.io.folder.pending import discard_draft, reserve
from geodp.io.folder.publication import (
    RUN,
    list_written,
    make_restricted,
    write_index,
    write_public,
    write_restricted,
)
from geodp.io.folder.staged_release import (
    list_cells,
    require_space,
    try_formats,
    try_longest_name,
)
from geodp.io.folder.staging import stage
from geodp.io.opening import read_json
from geodp.io.write.view import View
from geodp.release.release import Release


@dataclass(frozen=True)
class StagedHouseholds:
    """A folder for a release, created and tested before anything is charged.

    Attributes
    ----------
    folder : Path
        The staged folder.
    target : Path
        The folder that it replaces.
    """

    folder: Path
    target: Path

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
        listed = 0
        for name, table in empty.items():
            view = table.view(name)
            try_formats(view)
            try_longest_name(self.folder, name, name)
            listed += list_cells(table.grid, view.card, cells)
        try_longest_name(self.folder, NAME)
        # The table of both counts, which has as many rows as that of persons.
        listed += list_cells(joint.table.grid, joint.card, cells)
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            write_files(joint, Path(place))
        require_space(self.folder, listed)
        reserve(self.folder, listed)

    def write(
        self,
        tables: Mapping[str, Release],
        joint: View,
        index: HouseholdsCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the tables, the table of both counts, and the index; return their paths."""
        public = self.folder / "public"
        # The draft has reserved the space that the files take now.
        discard_draft(self.folder)
        public.mkdir()
        written = []
        for name, table in tables.items():
            progress.begin(f"Writing {name}", public=True)
            (public / name).mkdir()
            write_public(table.view(name), public / name)
            written.append(_state(public / name, name))
        files, left_out = write_joint(joint, index.max_size, public)
        index = replace(index, tables=tuple(written), files=files, left_out=left_out)
        write_index(public, INDEX, index.to_json())
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


def _state(folder: Path, name: str) -> TableInfo:
    """Return the index's entry for a written table."""
    card = read_json(folder / CARD)
    return TableInfo(name, card["release_id"], sha256(folder / CARD))


@contextmanager
def stage_households(
    path: str | Path, *, overwrite: bool, resume: bool = False
) -> Iterator[StagedHouseholds]:
    """Yield a :class:`StagedHouseholds` that replaces ``path`` if the block ends without an error.

    Parameters and errors are those of :func:`geodp.io.folder.staged_release.stage_release`.
    """
    with stage(path, overwrite=overwrite, resume=resume) as folder:
        make_restricted(folder, path, again=resume)
        yield StagedHouseholds(folder, Path(path))
