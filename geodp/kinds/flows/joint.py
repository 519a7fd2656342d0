"""Trips of all pairs of zones with their errors and lines as one table: ``flows.csv`` and on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.io.folder.publication import write_rows
from geodp.io.write.geometry import LENGTH, has_geometry, measure_lines
from geodp.io.write.scale import Shown
from geodp.io.write.tables import UNCERTAINTY_COLUMNS, RowErrors
from geodp.io.write.view import JointView
from geodp.kinds.flows.english import FILES, describe_file
from geodp.kinds.flows.kind import FLOWS, StatedPairErrors
from geodp.kinds.flows.pair_errors import look_up_errors
from geodp.kinds.flows.zones import pairs_of
from geodp.release.release import Release
from geodp.table.counts import ReleasedTable, coalesce
from geodp.table.index import Joint
from geodp.typing import KeyArray

TRIPS = "trips"
"""Column of the trips."""


@dataclass(frozen=True, eq=False)
class FlowColumns(RowErrors):
    """The columns after the trips: errors by the size of the flow, and the length of the line.

    Attributes
    ----------
    table : ReleasedTable
        Trips of all labels together.
    stated : StatedPairErrors or None
        Errors by size, as the index states them; None: no trips are released.
    """

    table: ReleasedTable | None = None
    stated: StatedPairErrors | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        assert self.table is not None  # as only `view_of` makes these columns
        length = (LENGTH,) if has_geometry(self.table.grid) else ()
        return (*UNCERTAINTY_COLUMNS, *length)

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[Any]]:
        """Return the columns of pairs; lengths are masked where an end lies nowhere."""
        assert self.table is not None
        count = np.asarray(self.table.count[rows], np.float64)
        errors = look_up_errors(self.stated, count)
        grid = self.table.grid
        lines = [measure_lines(grid, grid.decode(key))] if has_geometry(grid) else []
        return [*errors, *lines]


@dataclass(frozen=True, eq=False)
class FlowsView(JointView):
    """The view of all pairs of zones with trips as one table."""

    @property
    def shown(self) -> Shown:
        """Trips, as lines have no area."""
        return Shown(self.name, self.counted, by_area=False)


def view_of(flows: Release, zones: Grid, stated: StatedPairErrors | None) -> JointView:
    """Return the view of all pairs of zones with trips, those of all labels together.

    Parameters
    ----------
    flows : Release
        The table of flows.
    zones : Grid
        The grid of the zones.
    stated : StatedPairErrors or None
        Errors by size, as the index states them; None: no trips are released.
    """
    table = flows.table
    if table.grid.attributes:
        index = table.grid.decode(table.key)[: -len(table.grid.attributes)]
        pairs = pairs_of(zones)
        counts = coalesce(pairs.encode(index), np.asarray(table.count, np.int64))
        table = ReleasedTable(pairs, *counts, table.event)
    # The id of the table of flows is none of this table's.
    card = replace(flows.view(TRIPS).card, release_id="")
    columns = FlowColumns(0.0, None, table, stated)
    return FlowsView(table, card, columns, counts=flows.view(FLOWS), stem=FLOWS)


def write_flows(view: JointView, folder: Path) -> Joint:
    """Write the table in every format that its zones can have; return the index's entries."""
    return write_rows(view, FLOWS, folder, describe_file(FILES, FLOWS), unit=view.counted)
