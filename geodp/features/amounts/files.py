"""The folder of a release of amounts: a release of records, tables of all numbers, an index."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp import progress
from geodp.features.amounts.card import COUNT, INDEX
from geodp.features.amounts.formats.joint import NAME, write_joint
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

if TYPE_CHECKING:
    from geodp.features.amounts.numbers import AmountNumbers


@dataclass(frozen=True)
class StagedAmounts:
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

    def try_out(self, empty: AmountNumbers, example: AmountNumbers, cells: int) -> None:
        """Do everything that does not need the numbers, and reserve space for them.

        ``empty``: the release of no records; ``example``: one of one record; ``cells``: number of
        cells with records.
        """
        view = empty.count.view(COUNT)
        try_formats(view)
        try_longest_name(self.folder, COUNT, COUNT)
        try_longest_name(self.folder, NAME)
        # The tables have as many rows as the release of records, and more columns.
        listed = 3 * list_cells(empty.count.grid, view.card, cells)
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            for one in (empty, example):
                write_joint(one, Path(place))
        require_space(self.folder, listed)
        reserve(self.folder, listed)

    def write(self, release: AmountNumbers, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the records, the tables and the index; return their paths."""
        public = self.folder / "public"
        # The draft has reserved the space that the files take now.
        discard_draft(self.folder)
        (public / COUNT).mkdir(parents=True)
        progress.begin("Writing records", public=True)
        write_public(release.count.view(COUNT), public / COUNT)
        card = public / COUNT / CARD
        index = replace(
            release.index,
            count_id=read_json(card)["release_id"],
            count_sha256=sha256(card),
            files=write_joint(release, public),
        )
        write_index(public, INDEX, index.to_json())
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


@contextmanager
def stage_amounts(
    path: str | Path, *, overwrite: bool, resume: bool = False
) -> Iterator[StagedAmounts]:
    """Yield a :class:`StagedAmounts` that replaces ``path`` if the block ends without an error.

    Parameters and errors are those of :func:`geodp.io.folder.staged_release.stage_release`.
    """
    with stage(path, overwrite=overwrite, resume=resume) as folder:
        make_restricted(folder, path, again=resume)
        yield StagedAmounts(folder, Path(path))
