"""Released tables as what is kept of them: plain values, and arrays."""

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
from geodp.io.folder.kept import Kept, another, unreadable
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.table.plain import read_plain, write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading

_OWN = ("ends", "keys", "counts")


def pack_tables(
    tables: Sequence[ReleasedTable],
    public_facts: Sequence[str],
    beside: Mapping[str, Any],
    reading: StatedReading | None = None,
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return tables of one grid, drawn for one event, as plain values and arrays.

    Parameters
    ----------
    tables : sequence of ReleasedTable
    public_facts : sequence of str
        What the release states of its input.
    beside : mapping of str to array
        What else was drawn: nodes and noisy values, where they are published.
    reading : StatedReading, optional
        What the card states of how the input was read.
    """
    grid, event = tables[0].grid, cast(Measurement, tables[0].event)
    facts = list(public_facts)
    plain = {"grid": _name_grid(grid), "event": asdict(event), "public_facts": facts}
    plain["reading"] = write_plain(reading)
    arrays = {
        "ends": np.cumsum([one.key.size for one in tables]),
        "keys": np.concatenate([one.key for one in tables]),
        "counts": np.concatenate([one.count for one in tables]),
    }
    return plain, {**arrays, **beside}


def unpack_tables(
    kept: Kept, grid: Grid, folder: Path
) -> tuple[list[ReleasedTable], tuple[str, ...], dict[str, NDArray[Any]]]:
    """Return what :func:`pack_tables` was given.

    Raises
    ------
    UsageError
        Another grid, as a public file may have changed; or not what was written.
    """
    try:
        named, event = str(kept.card["grid"]), _read_event(dict(kept.card["event"]))
        facts = tuple(str(fact) for fact in kept.card["public_facts"])
        ends = kept.arrays["ends"][:-1]
        keys, counts = (np.split(kept.arrays[name], ends) for name in _OWN[1:])
    except (LookupError, TypeError, ValueError):
        raise unreadable(folder) from None
    if named != _name_grid(grid):
        raise another("grid", folder)
    tables = [ReleasedTable(grid, *cells, event) for cells in zip(keys, counts, strict=True)]
    return tables, facts, {name: kept.arrays[name] for name in kept.arrays if name not in _OWN}


def unpack_reading(kept: Kept, folder: Path) -> StatedReading | None:
    """Return what the card states of how the input was read; raises as :func:`unpack_tables`."""
    try:
        stated = kept.card["reading"]
        return None if stated is None else read_plain(StatedReading, stated, "reading")
    except (LookupError, VerificationError):
        raise unreadable(folder) from None


def _name_grid(grid: Grid) -> str:
    return digest(grid.identity).hex()


def _read_event(values: dict[str, Any]) -> Measurement:
    """Return an event from its fields, with the exact amounts as text."""
    amounts = ("epsilon", "rho", "delta")
    exact = {n: None if values[n] is None else Fraction(values[n]) for n in amounts}
    return Measurement(**{**values, **exact})
