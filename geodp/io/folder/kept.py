"""A charged table, kept from its draw until its release is complete.

A charge is never taken back, so a disk that fills up or a machine that goes down while the formats
are written would cost the budget and leave nothing. The table is therefore written first, as it
was drawn and before anything else, and a run that was cut short goes on from it. It is a released
table: it was paid for, and shows no more than the release will.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from geodp import __version__
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.folder.disk import sync
from geodp.io.folder.staging import KEPT
from geodp.io.opening import parse_json
from geodp.privacy.event import Measurement
from geodp.privacy.key import NOISE_FORMAT, digest
from geodp.table.released import ReleasedTable

CELL_BYTES = 16
HEAD_BYTES = 1 << 16
"""Of everything but the cells."""


@dataclass(frozen=True)
class Kept:
    """A charged table and what completes its release.

    Attributes
    ----------
    table : ReleasedTable
    fingerprint : str
        Under which the ledger knows the charge.
    call : dict of str to str
        What the run was asked for, option by option: it is completed for the same call only.
    public_facts : tuple of str
        What the release states of its input.
    run : dict
        For the operator: what ``restricted/run.json`` says of the run so far.
    measured : mapping of str to array
        What else was drawn: nodes and noisy values, where they are published.
    """

    table: ReleasedTable
    fingerprint: str
    call: Mapping[str, str]
    public_facts: tuple[str, ...]
    run: Mapping[str, Any]
    measured: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def event(self) -> Measurement:
        """What was spent: only an office's own releases are kept."""
        return cast(Measurement, self.table.event)


def reserve(folder: Path, cells: int) -> None:
    """Take the space for a table of so many cells in a staged folder, before the charge.

    ``cells``: a guess from above; more are written where the disk has room.
    """
    size = CELL_BYTES * cells + HEAD_BYTES
    with _draft(folder).open("wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)  # Windows takes the space
        os.fsync(file.fileno())


def keep(folder: Path, kept: Kept) -> None:
    """Write a table into the space that was reserved; it is there completely or not at all."""
    head = {
        **_making(kept.table.grid),
        "fingerprint": kept.fingerprint,
        "call": dict(kept.call),
        "public_facts": kept.public_facts,
        "run": dict(kept.run),
        "event": asdict(kept.event),
    }
    text = np.frombuffer(json.dumps(head, default=str).encode(), np.uint8)
    arrays: dict[str, Any] = {"key": kept.table.key, "count": kept.table.count, **kept.measured}
    with _draft(folder).open("r+b") as file:
        np.savez(file, head=text, **arrays)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    os.rename(_draft(folder), folder / KEPT)
    sync((folder / KEPT).parent)


def read_kept(folder: Path, grid: Grid, call: Mapping[str, str]) -> Kept:
    """Read the kept table of a staged folder, for the call that it was made by.

    Raises
    ------
    UsageError
        Another call, another grid, as a public file may have changed, or another geodp; a file
        that is not what was written.
    """
    again = f"or remove {folder} to give it up."
    try:
        with np.load(folder / KEPT, allow_pickle=False) as file:
            head = parse_json(file["head"].tobytes())
            key, count = file["key"], file["count"]
            others = [name for name in file.files if name not in ("head", "key", "count")]
            measured = {name: file[name] for name in others}
        event = _event(head["event"])
        found = {name: head[name] for name in ("fingerprint", "call", "run")}
        facts = tuple(str(fact) for fact in head["public_facts"])
        made = {name: head[name] for name in _making(grid)}
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile):
        raise UsageError(
            f"{folder / KEPT} cannot be read back; restore it, or remove {folder} to give it up."
        ) from None
    require_same_call(found["call"], call, folder)
    for name, value in _making(grid).items():
        if made[name] != value:
            raise UsageError(
                f"The interrupted run had another {name}; go on with what it began with, {again}"
            )
    table = ReleasedTable(grid, key, count, event)
    return Kept(table, public_facts=facts, measured=measured, **found)


def require_same_call(kept: Mapping[str, str], call: Mapping[str, str], folder: Path) -> None:
    """Raise UsageError where an interrupted run was asked for something else, option by option."""
    other = sorted(name for name in {*kept, *call} if kept.get(name) != call.get(name))
    if other:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        raise UsageError(
            f"The interrupted run had other {options}; repeat its command, or remove {folder} to "
            "give it up."
        )


def _making(grid: Grid) -> dict[str, str]:
    """Return what must be the same when a run goes on."""
    return {"grid": digest(grid.identity).hex(), "geodp": f"{__version__}, {NOISE_FORMAT}"}


def _event(values: dict[str, Any]) -> Measurement:
    """Return an event from its fields, with the exact amounts as text."""
    amounts = ("epsilon", "rho", "delta")
    exact = {n: None if values[n] is None else Fraction(values[n]) for n in amounts}
    return Measurement(**{**values, **exact})


def discard_draft(folder: Path) -> None:
    """Give back space that was reserved for a table which was not charged, or could not be kept."""
    _draft(folder).unlink(missing_ok=True)


def _draft(folder: Path) -> Path:
    return (folder / KEPT).with_suffix(".draft")
