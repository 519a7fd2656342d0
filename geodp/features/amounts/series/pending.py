"""Conversion of a drawn series to the plain values and arrays of a stored draw, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from geodp.features.amounts.series.publish import SeriesPlan
from geodp.features.amounts.streams import ReleasedAmounts
from geodp.grid.grid import Grid
from geodp.io.folder.pending import PendingDraw, unreadable
from geodp.io.folder.pending_tables import pack_tables, unpack_tables
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading

PARTS = ("above", "classes")
"""Arrays of all periods, one after the other along their cells."""


def pack_drawn(
    drawn: Sequence[ReleasedAmounts],
    plan: SeriesPlan,
    facts: Sequence[str],
    reading: StatedReading | None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert what was drawn of all periods to plain values and arrays.

    ``facts``: public facts about the input of all periods; ``reading``: how they were read.
    """
    grid, whole = plan.shared.grid, plan.design.whole
    tables = [ReleasedTable(grid, one.key, one.number, whole) for one in drawn]
    extras = {
        name: np.concatenate([getattr(one, name) for one in drawn], axis=-1)
        for name in PARTS
        if getattr(drawn[0], name) is not None
    }
    return pack_tables(tables, facts, extras, reading)


def unpack_drawn(
    stored: PendingDraw, grid: Grid, folder: Path
) -> tuple[list[ReleasedAmounts], ContributionBound, tuple[str, ...]]:
    """Restore what was drawn, the bound of a person's records, and the public facts.

    Raises UsageError as :func:`geodp.io.folder.pending_tables.unpack_tables` does.
    """
    tables, facts, arrays = unpack_tables(stored, grid, folder)
    ends = np.cumsum([one.key.size for one in tables])
    if any(one.shape[-1] != ends[-1] for one in arrays.values()):
        raise unreadable(folder)
    none: list[NDArray[Any] | None] = [None] * len(tables)
    above, classes = (
        np.split(arrays[name], ends[:-1], axis=-1) if name in arrays else none for name in PARTS
    )
    drawn = [
        ReleasedAmounts(table.key, np.asarray(table.count, np.int64), above[t], classes[t])
        for t, table in enumerate(tables)
    ]
    return drawn, cast(Measurement, tables[0].event).bound, facts
