"""Conversion of a drawn series to the plain values and arrays of a stored draw, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from geodp.features.amounts.card import StatedAmountsPrior
from geodp.features.amounts.prior import state_learned
from geodp.features.amounts.series.publish import SeriesPlan
from geodp.features.amounts.streams import ReleasedAmounts
from geodp.grid.grid import Grid
from geodp.io.folder.pending import PendingDraw, unreadable
from geodp.io.folder.pending_tables import pack_tables, unpack_tables
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.table.released import ReleasedTable
from geodp.table.stated.prior import pack_prior, unpack_prior
from geodp.table.stated.reading import StatedReading

PARTS = ("above", "classes")
"""Arrays of all periods, one after the other along their cells."""


@dataclass(frozen=True)
class PriorsOfPeriods:
    """The prior of a series, with what every period learned of it."""

    periods: tuple[StatedAmountsPrior, ...]


class Restored(NamedTuple):
    """What was drawn of a series and stored.

    Attributes
    ----------
    drawn : list of ReleasedAmounts
        Of every period.
    bound : ContributionBound
        Of the records of a person.
    facts : tuple of str
        Public facts about the input of all periods.
    priors : tuple of StatedAmountsPrior
        Of every period, with what was learned of it; empty without a prior.
    """

    drawn: list[ReleasedAmounts]
    bound: ContributionBound
    facts: tuple[str, ...]
    priors: tuple[StatedAmountsPrior, ...]


def pack_drawn(
    drawn: Sequence[ReleasedAmounts],
    plan: SeriesPlan,
    facts: Sequence[str],
    reading: StatedReading | None,
    prior: StatedAmountsPrior | None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert what was drawn of all periods to plain values and arrays.

    ``facts``: public facts about the input of all periods; ``reading``: how they were read;
    ``prior``: that of every period, of which nothing is learned yet.
    """
    grid, whole = plan.shared.grid, plan.design.whole
    tables = [ReleasedTable(grid, one.key, one.number, whole) for one in drawn]
    extras = {
        name: np.concatenate([getattr(one, name) for one in drawn], axis=-1)
        for name in PARTS
        if getattr(drawn[0], name) is not None
    }
    learned = [state_learned(prior, one.learned) for one in drawn]
    if known := tuple(one for one in learned if one is not None):
        extras |= pack_prior(PriorsOfPeriods(known))
    return pack_tables(tables, facts, extras, reading)


def unpack_drawn(stored: PendingDraw, grid: Grid, folder: Path) -> Restored:
    """Restore what was drawn and stored.

    Raises UsageError as :func:`geodp.io.folder.pending_tables.unpack_tables` does.
    """
    tables, facts, arrays = unpack_tables(stored, grid, folder)
    ends = np.cumsum([one.key.size for one in tables])
    if any(arrays[name].shape[-1] != ends[-1] for name in PARTS if name in arrays):
        raise unreadable(folder)
    none: list[NDArray[Any] | None] = [None] * len(tables)
    above, classes = (
        np.split(arrays[name], ends[:-1], axis=-1) if name in arrays else none for name in PARTS
    )
    drawn = [
        ReleasedAmounts(table.key, np.asarray(table.count, np.int64), above[t], classes[t])
        for t, table in enumerate(tables)
    ]
    priors = unpack_prior(arrays, PriorsOfPeriods)
    bound = cast(Measurement, tables[0].event).bound
    return Restored(drawn, bound, facts, () if priors is None else priors.periods)
