"""Read a written release of amounts back into memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from geodp.features.amounts.amounts import Amounts, with_drawn
from geodp.features.amounts.card import COUNT, SUM, AmountsCard
from geodp.features.amounts.formats.joint import NAME, name_classes
from geodp.features.amounts.methods import CountOfAmounts, SumOfAmounts, stream_event
from geodp.features.amounts.numbers import SumRelease
from geodp.features.amounts.scale import exact
from geodp.features.amounts.streams import ReleasedAmounts
from geodp.io.opening import read_parquet
from geodp.io.verify.readback import explain_errors
from geodp.privacy.event import Measurement
from geodp.release.opening import open_release
from geodp.release.release import Release
from geodp.table.released import ReleasedTable
from geodp.typing import IntArray


def open_amounts(folder: Path, card: AmountsCard) -> Amounts:
    """Open a release from its public folder."""
    count = open_release(folder / COUNT)
    empty = reopen(count, card)
    with explain_errors(folder):
        drawn = read_drawn(folder, empty)
    opened = with_drawn(empty, drawn, None)
    # The records come with a card of their own; nothing of it is made again.
    return Amounts(count, opened.sum, opened.classes, card)


def reopen(count: Release, card: AmountsCard) -> Amounts:
    """Make the release without sums and classes that goes with released records."""
    event, method = cast(Measurement, count.event), cast(CountOfAmounts, count.method)
    none = np.empty(0, np.int64)
    empty: tuple[Any, IntArray] = (none.astype(np.uint64), none)
    made = Amounts(count, None, (), card)
    total: Release | None = None
    classes: tuple[ReleasedTable, ...] = ()
    share = exact(card.amount.share or 1, "share")
    if card.amount.notches:
        scale = made.scale
        adding = SumOfAmounts.of(
            method.pyramid, scale.lower, scale.upper, share, card.amount.notches
        )
        table = ReleasedTable(count.grid, *empty, replace(event, mechanism=adding.spec))
        total = SumRelease(table, reading=count.reading, public_facts=count.public_facts)
    if card.amount.edges:
        rest = 1 - share if card.amount.notches else share
        one = ReleasedTable(count.grid, *empty, stream_event(event, method.pyramid, rest, 1))
        classes = (one,) * (len(card.amount.edges) - 1)
    return Amounts(count, total, classes, card)


def read_drawn(folder: Path, release: Amounts) -> ReleasedAmounts:
    """Read the numbers of all cells from the table of a public folder."""
    key = release.count.table.key
    number = np.asarray(release.count.table.count, np.int64)
    names = [SUM] * (release.sum is not None) + (
        name_classes(release.index.amount) if release.classes else []
    )
    rows = read_parquet(folder / f"{NAME}.parquet", key.size, names)
    above = classes = None
    if release.sum is not None:
        amounts = np.asarray(rows[SUM].to_numpy())
        scale = release.scale
        if scale.step.denominator == 1:
            steps = amounts // int(scale.step)
        else:
            steps = np.rint(amounts / float(scale.step)).astype(np.int64)
        above = (steps - number * scale.lower) // release.notch
    if release.classes:
        columns = [np.asarray(rows[name].to_numpy(), np.int64) for name in names if name != SUM]
        classes = np.stack(columns)
    return ReleasedAmounts(key, number, above, classes)
