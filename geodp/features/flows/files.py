"""The folder of a release of flows: a release for every table, noisy pairs, and an index."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from geodp import progress
from geodp.features.flows.card import FLOWS, INDEX, FlowsCard, TableInfo
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.formats.noisy import write_noisy
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
from geodp.release.release import Release


@dataclass(frozen=True)
class StagedFlows:
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

    def try_out(
        self, empty: Mapping[str, Release], noisy: Sequence[NoisyPairs], pairs: int, zones: int
    ) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        ``empty``: the tables without cells, by name; ``noisy``: pairs of the right sizes;
        ``pairs``, ``zones``: how many of them may be listed.
        """
        listed = 0
        for name, table in empty.items():
            view = table.view(name)
            try_formats(view)
            try_longest_name(self.folder, name, name)
            listed += list_cells(table.grid, view.card, pairs if name == FLOWS else zones)
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            write_noisy(noisy, Path(place))
        require_space(self.folder, listed)
        reserve(self.folder, listed)

    def write(
        self,
        tables: Mapping[str, Release],
        noisy: Sequence[NoisyPairs],
        index: FlowsCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the tables, the noisy pairs, and the index; return their paths."""
        public = self.folder / "public"
        # The draft has reserved the space that the files take now.
        discard_draft(self.folder)
        public.mkdir()
        written = []
        for name, table in tables.items():
            progress.begin(f"Writing {name}", public=True)
            (public / name).mkdir()
            write_public(table.view(name), public / name)
            card = read_json(public / name / CARD)
            written.append(TableInfo(name, card["release_id"], sha256(public / name / CARD)))
        files = write_noisy(noisy, public)
        index = replace(index, tables=tuple(written), files=files)
        write_index(public, INDEX, index.to_json())
        write_restricted(self.folder / "restricted", RUN, restricted)
        return list_written(self.folder, self.target)


@contextmanager
def stage_flows(
    path: str | Path, *, overwrite: bool, resume: bool = False
) -> Iterator[StagedFlows]:
    """Yield a :class:`StagedFlows` that replaces ``path`` if the block ends without an error.

    Parameters and errors are those of :func:`geodp.io.folder.staged_release.stage_release`.
    """
    with stage(path, overwrite=overwrite, resume=resume) as folder:
        make_restricted(folder, path, again=resume)
        yield StagedFlows(folder, Path(path))
