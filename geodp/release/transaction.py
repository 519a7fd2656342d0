"""A release from its inputs to its files: prepared, drawn, stored, charged, completed, resumed.

Everything of a release that is public before a draw is its :class:`Design`: it follows from the
call and from the :class:`Inputs`, which are what the release states of the files that it was read
from. :class:`Prepared` adds the confidential part. What is drawn is plain arrays and numbers, which
are stored by their fields before the charge. A run that was cut short makes the same design from
the same call and the stored inputs, and completes it with the stored draw: nothing is read, drawn
or charged again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from geodp.errors import UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.io.folder.packing import Packed, pack, unpack
from geodp.io.folder.pending import PendingDraw, another, unreadable
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement, TableEvent
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.privacy.selected import Selection
from geodp.release.charging import Keep, release_and_charge
from geodp.release.request import Request
from geodp.table.counts import Cells
from geodp.table.reading import Reading
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading
from geodp.typing import CountArray, KeyArray

Made = TypeVar("Made")


@dataclass(frozen=True)
class Inputs:
    """What a release states of its inputs, which reading them has shown.

    Attributes
    ----------
    facts : tuple of str
        Public facts, a sentence each.
    readings : tuple of StatedReading or None
        How each table was read; None: it was made in Python.
    bound : ContributionBound
        The most that one unit of privacy contributes.
    """

    facts: tuple[str, ...]
    readings: tuple[StatedReading | None, ...]
    bound: ContributionBound


@dataclass(frozen=True, eq=False)
class DrawnCells:
    """Drawn counts of cells, in key order.

    Attributes
    ----------
    key : uint64[m]
    count : int64[m] or float64[m]
    """

    key: KeyArray
    count: CountArray

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """Take the keys and counts of cells."""
        return cls(cells.key, cells.count)

    def on(self, grid: Grid, event: TableEvent) -> ReleasedTable:
        """Return them as a released table."""
        return ReleasedTable(grid, self.key, self.count, event)


class Design(Protocol):
    """A release before anything is drawn; it follows from public things and its inputs alone."""

    @property
    def request(self) -> Request:
        """What was asked for."""

    @property
    def event(self) -> Measurement | Selection:
        """The privacy event of everything that is drawn, as a ledger names it."""

    @property
    def draws(self) -> Draws:
        """All draws, as they are declared to the key."""

    def complete(self, drawn: Any, charge: Charge | None) -> Any:
        """Return the release of what was drawn."""


class StoredDesign(Design, Protocol):
    """A design whose draw is stored, so that a run which was cut short can be completed."""

    @property
    def drawn(self) -> Any:
        """Type of what is drawn: a dataclass of arrays and plain values, or a tuple of such."""

    @property
    def inputs(self) -> Inputs:
        """What is stated of the inputs."""

    @property
    def shown(self) -> Any:
        """The release without data whose grid, reading and card stand for all of it."""


AnyDesign = TypeVar("AnyDesign", bound=Design, covariant=True)


@dataclass(frozen=True, eq=False)
class Prepared(Generic[AnyDesign, Made]):
    """A release that is ready to be drawn; nothing is charged and nothing drawn.

    Attributes
    ----------
    design : Design
    identify : callable
        Returns the SHA-256 of everything that the release depends on except the key.
    draw : callable
        Draws with a key; nothing is charged.
    reading : Reading or None
        How the inputs were read: confidential.
    cells : int or tuple of int
        Number of occupied cells; of every period of a series: confidential.
    counted : mapping
        Summary of what is counted, for the operator: confidential.
    record : mapping
        Entries of the record of the run, for the operator: confidential.
    """

    design: AnyDesign
    identify: Callable[[], bytes]
    draw: Callable[[NoiseKey], Any]
    reading: Reading | None = field(default=None, repr=False)
    cells: Any = field(default=0, repr=False)
    counted: Mapping[str, Any] = field(default_factory=dict, repr=False)
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def release(self, keep: Keep[Any] | None = None) -> Made:
        """Draw, charge once, and complete; ``keep`` stores the draw before the charge."""
        design = self.design
        drawn, charge = release_and_charge(
            design.request, design.event, design.draws, self.identify, self.draw, keep
        )
        made: Made = design.complete(drawn, charge)
        return made


def pack_draw(design: StoredDesign, drawn: Any) -> Packed:
    """Convert a draw, and what its design follows from besides the call, to plain values."""
    plain, arrays = pack({"inputs": design.inputs, "drawn": drawn})
    return {**plain, "design": _name(design), "grid": _name_grid(design)}, arrays


def restore(
    stored: PendingDraw,
    make: Callable[[Any], StoredDesign],
    kind: type[Inputs],
    folder: Path,
    charge: Charge,
) -> Any:
    """Complete a release from a draw that was charged and stored by the same call.

    Parameters
    ----------
    stored : PendingDraw
    make : callable
        Makes the design from the inputs, which are of the class ``kind``.
    kind : type
    folder : path
        Where the draw is stored, for messages.
    charge : Charge

    Raises
    ------
    UsageError
        The file is damaged, or a public file that the design follows from is another one now.
    """
    try:
        design = make(unpack(kind, stored.card["inputs"], stored.arrays))
        names = stored.card["grid"], stored.card["design"]
        drawn = unpack(design.drawn, stored.card["drawn"], stored.arrays)
    except UsageError:
        # Of the design: a public file is another one now, and the file of the draw is whole.
        raise
    except (LookupError, TypeError, ValueError, VerificationError):
        raise unreadable(folder) from None
    if names[0] != _name_grid(design):
        raise another("grid", folder)
    if names[1] != _name(design):
        raise another("public file", folder)
    return design.complete(drawn, charge)


def _name_grid(design: StoredDesign) -> str:
    return digest(design.shown.grid.identity).hex()


def _name(design: StoredDesign) -> str:
    """Return a digest of all that the card of a design states."""
    return digest(json.dumps(design.shown.card().to_json(), sort_keys=True).encode()).hex()
