"""Counts of coarser cells."""

from __future__ import annotations

from geodp.grid.coarsen import Coarsening
from geodp.table.counts import CountTable


def coarsen(table: CountTable, onto: Coarsening) -> CountTable:
    """Return confidential counts summed to coarser cells; what bounds a person's part stays."""
    key = onto.grid.encode(onto.index(onto.fine.decode(table.key)))
    return CountTable.from_keys(
        onto.grid,
        key,
        table.count,
        bound=table.bound,
        enforced=table.enforced,
        reading=table.reading,
    )
