"""The folder of a release of flows: a release for every table, noisy pairs, and an index."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from geodp.features.flows.card import FLOWS, INDEX, ORIGINS, FlowsCard
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.formats.noisy import write_measured
from geodp.features.flows.labels import NoisyLabels
from geodp.features.flows.prior import FlowsPrior
from geodp.features.flows.zones import Zones
from geodp.io.folder.staged_tables import StagedTables
from geodp.release.release import Release
from geodp.table.card import File

PAIRS = 1 << 20
"""Pairs that space is required for before the charge, if there are as many: how many are released
follows from the trips, which no outcome may tell. Where a disk is too small for more, the run ends
after its charge, and ``--resume`` completes it on a disk with space."""


Measured: TypeAlias = tuple[Sequence[NoisyPairs], Sequence[NoisyLabels], FlowsPrior | None]
"""Noisy pairs, noisy trips by label, which are none where flows have no labels, and a prior."""


class StagedFlows(StagedTables):
    """A folder for a release of flows, created and tested before anything is charged."""

    def try_out(self, empty: Mapping[str, Release], measured: Measured) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        ``empty``: the tables without cells, by name; ``measured``: of the right sizes. How much
        space is required depends on the grid and a public prior alone.
        """
        zones = {name: min(one.grid.size, PAIRS) for name, one in empty.items()}
        listed = self.try_tables(
            {name: (one.view(name), zones[name]) for name, one in empty.items()}
        )
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            _write_measured(measured, empty, Path(place))
        self.reserve(listed)

    def write(
        self,
        tables: Mapping[str, Release],
        measured: Measured,
        index: FlowsCard,
        restricted: dict[str, Any],
    ) -> dict[str, list[str]]:
        """Write the tables, what was measured, the prior and the index; return their paths."""
        written = self.write_tables({name: one.view(name) for name, one in tables.items()})
        files = _write_measured(measured, tables, self.folder / "public")
        index = replace(index, tables=written, files=files)
        return self.complete(INDEX, index.to_json(), restricted)


def _write_measured(
    measured: Measured, tables: Mapping[str, Release], folder: Path
) -> tuple[File, ...]:
    """Write noisy pairs, noisy trips by label and a prior; return the entries of their files."""
    zones, attributes = Zones.of(tables[ORIGINS].grid), tables[FLOWS].grid.attributes
    return write_measured(*measured, zones, attributes, folder)
