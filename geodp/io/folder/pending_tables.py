"""Conversion of released tables to the plain values and arrays of a stored draw, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from geodp.errors import VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.pending import PendingDraw, another, unreadable
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.table.plain import read_plain, write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading

_TABLE_ARRAYS = ("ends", "keys", "counts")


def pack_tables(
    tables: Sequence[ReleasedTable],
    public_facts: Sequence[str],
    extras: Mapping[str, Any],
    reading: StatedReading | None = None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Convert tables of one grid, drawn for one event, to plain values and arrays.

    Parameters
    ----------
    tables : sequence of ReleasedTable
    public_facts : sequence of str
        Public facts about the input that the release states.
    extras : mapping of str to array
        Further drawn arrays: nodes and noisy values, where they are published.
    reading : StatedReading, optional
        The card's record of how the input was read.
    """
    grid, event = tables[0].grid, cast(Measurement, tables[0].event)
    facts = list(public_facts)
    plain = {"grid": _name_grid(grid), "event": asdict(event), "public_facts": facts}
    plain["reading"] = write_plain(reading)
    arrays = {
        # All tables share two long arrays, split at these ends: an npz member for every table of
        # a long series would cost more than its cells.
        "ends": np.cumsum([one.key.size for one in tables]),
        "keys": np.concatenate([one.key for one in tables]),
        "counts": np.concatenate([one.count for one in tables]),
    }
    return plain, {**arrays, **extras}


def unpack_tables(
    pending: PendingDraw, grid: Grid, folder: Path
) -> tuple[list[ReleasedTable], tuple[str, ...], dict[str, NDArray[Any]]]:
    """Restore the tables, public facts and further arrays from :func:`pack_tables`.

    Raises
    ------
    UsageError
        Another grid, as a public file may have changed; or a damaged file.
    """
    try:
        grid_digest, event = str(pending.card["grid"]), _read_event(dict(pending.card["event"]))
        facts = tuple(str(fact) for fact in pending.card["public_facts"])
        ends = pending.arrays["ends"][:-1]
        keys, counts = (np.split(pending.arrays[name], ends) for name in _TABLE_ARRAYS[1:])
    except (LookupError, TypeError, ValueError):
        raise unreadable(folder) from None
    if grid_digest != _name_grid(grid):
        raise another("grid", folder)
    tables = [ReleasedTable(grid, *cells, event) for cells in zip(keys, counts, strict=True)]
    return (
        tables,
        facts,
        {name: pending.arrays[name] for name in pending.arrays if name not in _TABLE_ARRAYS},
    )


def unpack_reading(pending: PendingDraw, folder: Path) -> StatedReading | None:
    """Restore the card's record of how the input was read; raises as :func:`unpack_tables`."""
    try:
        recorded = pending.card["reading"]
        return None if recorded is None else read_plain(StatedReading, recorded, "reading")
    except (LookupError, VerificationError):
        raise unreadable(folder) from None


def _name_grid(grid: Grid) -> str:
    return digest(grid.identity).hex()


def _read_event(values: dict[str, Any]) -> Measurement:
    """Build an event from its fields, with the exact amounts as text."""
    amounts = ("epsilon", "rho", "delta", "share")
    # JSON has no fractions; a float in between would change the privacy loss that is published.
    exact = {n: None if values[n] is None else Fraction(values[n]) for n in amounts if n in values}
    return Measurement(**{**values, **exact})
