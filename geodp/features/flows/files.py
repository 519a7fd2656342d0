"""The folder of a release of flows: a release for every table, noisy pairs, and an index."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from geodp.features.flows.card import INDEX, FlowsCard
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.formats.noisy import write_noisy
from geodp.io.folder.staged_tables import StagedTables
from geodp.release.release import Release

PAIRS = 1 << 20
"""Pairs that space is required for before the charge, if there are as many: how many are released
follows from the trips, which no outcome may tell. Where a disk is too small for more, the run ends
after its charge, and ``--resume`` completes it on a disk with space."""


class StagedFlows(StagedTables):
    """A folder for a release of flows, created and tested before anything is charged."""

    def try_out(self, empty: Mapping[str, Release], noisy: Sequence[NoisyPairs]) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        ``empty``: the tables without cells, by name; ``noisy``: pairs of the right sizes. How much
        space is required depends on the grid alone.
        """
        zones = {name: min(one.grid.size, PAIRS) for name, one in empty.items()}
        listed = self.try_tables(
            {name: (one.view(name), zones[name]) for name, one in empty.items()}
        )
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            write_noisy(noisy, Path(place))
        self.reserve(listed)

    def write(
        self,
        tables: Mapping[str, Release],
        noisy: Sequence[NoisyPairs],
        index: FlowsCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the tables, the noisy pairs, and the index; return their paths."""
        written = self.write_tables({name: one.view(name) for name, one in tables.items()})
        files = write_noisy(noisy, self.folder / "public")
        index = replace(index, tables=written, files=files)
        return self.complete(INDEX, index.to_json(), restricted)
